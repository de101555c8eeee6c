# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of the papers from made tables, and every count against its definition."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.candvg.strata import bin_name
from groundset.release.card_statistics import section, sentences
from groundset.release.statistics import (
    AREA_PERCENTS,
    RASTER,
    candvg,
    fpco,
    point_counts,
    statistics,
    target_areas,
)
from groundset.schema_types import arrow_schema

Sets = list[list[str]]


def dialogues_of(sets: list[Sets]) -> pa.Table:
    blank = dict.fromkeys(arrow_schema("candvg_dialogue").names)
    rows = [
        blank
        | {
            "dialogue_id": f"d{number}",
            "image_id": f"i{number}",
            "candidate_ids": turns,
            "initial_candidates_raw": len(turns[0]) + 1,
            "initial_candidates_unique": max(len(turns[0]), 2),
            "stratum": bin_name(max(len(turns[0]), 2)),
        }
        for number, turns in enumerate(sets)
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema("candvg_dialogue"))


def papers_sets() -> list[Sets]:
    """1,249 dialogues as the CandVG paper counts them: 15 of two turns, 133 of three, 1,101 of four."""
    one, other, both = ["a"], ["b"], ["a", "b"]
    two = [[both, one]] * 15
    three = [[both, both, both]] * 21 + [[both, one, one]] * (133 - 21)
    four = [[both, both, one, one]] * 993 + [[both, one, other, other]] * 37
    four += [[both, one, one, one]] * (1101 - 993 - 37)
    return [*two, *three, *four]


def test_the_papers_figures() -> None:
    found = candvg(dialogues_of(papers_sets()))
    assert found["dialogues"] == 1249
    assert (found["samples"], found["cvg"], found["csvg"]) == (4833, 2549, 2284)
    assert found["with_three_turns_or_more"] == 1234
    assert found["final_set_of_several"] == 21
    assert f"{found['final_set_of_several_share']:.2%}" == "1.68%"
    assert (found["pairs"], found["pairs_that_add"]) == (4833 - 1249, 37)
    assert f"{found['pairs_that_add_share']:.2%}" == "1.03%"
    told = " ".join(sentences("candvg", found))
    assert "21 dialogues (1.68 %) end with several candidates" in told
    assert "37 of 3584 pairs of consecutive turns (1.03 %) add a candidate" in told


later = st.lists(st.sampled_from("abcdefghi"), min_size=1, max_size=9, unique=True)
first = st.lists(st.sampled_from("abcdefghi"), min_size=2, max_size=9, unique=True)
dialogue = st.tuples(first, st.lists(later, max_size=4)).map(lambda parts: [parts[0], *parts[1]])


@given(st.lists(dialogue, max_size=6), st.randoms(use_true_random=False))
def test_every_count_is_what_its_definition_says(sets: list[Sets], random: Any) -> None:
    found = candvg(dialogues_of(sets))
    sizes = [len(names) for turns in sets for names in turns]
    pairs = [(set(one), set(two)) for turns in sets for one, two in itertools.pairwise(turns)]
    assert found["samples"] == len(sizes) == found["cvg"] + found["csvg"]
    assert found["cvg"] == sizes.count(1)
    assert found["set_sizes"] == {str(size): sizes.count(size) for size in sorted(set(sizes))}
    for turn, counts in found["set_sizes_by_turn"].items():
        assert sum(counts.values()) == sum(len(turns) >= int(turn) for turns in sets)
    assert found["unique_candidates"] == {
        str(size): sum(len({name for names in turns for name in names}) == size for turns in sets)
        for size in sorted({len({name for names in turns for name in names}) for turns in sets})
    }
    assert found["turns"] == {
        str(n): sum(len(turns) == n for turns in sets) for n in sorted({len(turns) for turns in sets})
    }
    assert found["pairs_that_add"] == sum(not two <= one for one, two in pairs)
    assert found["pairs_that_remove"] == sum(not one <= two for one, two in pairs)
    changes = found["changes_by_turn"]
    assert [row["turn"] for row in changes] == list(range(2, max(map(len, sets), default=1) + 1))
    assert sum(row["widens"] for row in changes) == found["pairs_that_add"]
    assert sum(row["stays"] for row in changes) == found["pairs_that_stay"]
    for row in changes:
        pairs_here = [
            (set(turns[row["turn"] - 2]), set(turns[row["turn"] - 1])) for turns in sets if len(turns) >= row["turn"]
        ]
        assert row["narrows"] == sum(two < one for one, two in pairs_here)
        assert row["narrows"] + row["stays"] + row["widens"] == len(pairs_here)
    assert found["pairs_that_stay"] == sum(one == two for one, two in pairs)
    assert sum(row["pairs"] for row in found["transitions"]) == found["pairs"] == len(pairs)
    assert {(row["before"], row["after"]) for row in found["transitions"]} == {(len(o), len(t)) for o, t in pairs}
    random.shuffle(sets)
    assert candvg(dialogues_of(sets)) == found
    assert section("candvg", found, {"changes": "here"}).count("here") == 1


def test_nothing_is_divided_by_no_dialogue() -> None:
    for benchmark, schema in (("candvg", "candvg_dialogue"), ("fpco-dialog", "fpco_dialogue")):
        empty = {"dialogues": arrow_schema(schema, without=("image",) if benchmark != "candvg" else ()).empty_table()}
        found = statistics(benchmark, empty)
        assert found["dialogues"] == 0
        assert sentences(benchmark, found) == ["no dialogue is left"]
        assert section(benchmark, found, {})


def written(false_class: str, true: str, false: str, number: int = 0, label: str = "dog") -> dict[str, Any]:
    asked = [{"id": n, "content": true, "modified": false, "false_premise": n > 3} for n in range(1, 11)]
    return dict.fromkeys(arrow_schema("fpco_dialogue", without=("image",)).names) | {
        "dialogue_id": f"coco-{number}-animal-{false_class}",
        "image_id": f"coco-{number}",
        "false_class": false_class,
        "complexity": "single",
        "category": "animal",
        "stratum": f"single-animal-{false_class}",
        "target_label": label,
        "target_description": true,
        "modified_target_description": false,
        "questions": asked,
    }


def counted(*rows: dict[str, Any]) -> dict[str, Any]:
    return fpco(pa.Table.from_pylist(list(rows), schema=arrow_schema("fpco_dialogue", without=("image",))))


@pytest.mark.parametrize(
    ("false_class", "true", "false", "kind", "length"),
    [
        ("identity", "the brown dog", "the brown cat", "replaced", 1),
        ("attribute", "the brown dog", "the black dog", "replaced", 1),
        ("attribute", "the brown dog", "the black and white dog", "replaced", 3),
        ("location", "the dog on the left", "the dog on the right", "replaced", 1),
        ("location", "the dog", "the dog behind a fence", "inserted", 3),
        ("identity", "the hot dog on the plate", "the pizza on the plate", "replaced", 1),
        ("attribute", "the dog\u2019s T-shirt", "the dog's T-shirt", "replaced", 0),
    ],
)
def test_an_edit_is_counted_by_kind_and_length_in_words(
    false_class: str, true: str, false: str, kind: str, length: int
) -> None:
    found = counted(written(false_class, true, false))["edits"]
    other = {"replaced": "inserted", "inserted": "replaced"}[kind]
    assert found[false_class] == {"dialogues": 1, kind: 1, other: 0, "words": {str(length): 1}}
    for name in {"identity", "attribute", "location"} - {false_class}:
        assert found[name] == {"dialogues": 0, "replaced": 0, "inserted": 0, "words": {}}


positions = st.floats(0, 1, allow_nan=False)


@given(st.lists(st.tuples(st.integers(1, 4), positions, positions), max_size=30), st.integers(1, 5000))
def test_every_point_is_counted_once_where_it_lies(made: list[tuple[int, float, float]], width: int) -> None:
    height = 3 * width + 1
    points = [
        {"image_id": "i", "turn": turn, "x_px": across * width, "y_px": down * height} for turn, across, down in made
    ]
    images = pa.Table.from_pylist([{"image_id": "i", "width": width, "height": height}])
    schema = pa.schema(
        [("image_id", pa.string()), ("turn", pa.int64()), ("x_px", pa.float64()), ("y_px", pa.float64())]
    )
    found = point_counts(pa.Table.from_pylist(points, schema=schema), images)
    assert list(found) == sorted({turn for turn, _, _ in made})
    for turn, raster in found.items():
        assert {len(row) for row in (*raster, raster)} == {RASTER}
        for at_row, row in enumerate(raster):
            for at_column, count in enumerate(row):
                inside = [
                    point
                    for point in points
                    if point["turn"] == turn
                    and _lies(point["x_px"], width, at_column)
                    and _lies(point["y_px"], height, at_row)
                ]
                assert count == len(inside)


def _lies(at: float, length: int, place: int) -> bool:
    share = Fraction(at) / length * RASTER
    return place <= share < place + 1 or (place == RASTER - 1 and share == RASTER)


@pytest.mark.parametrize(
    ("box", "place"),
    [
        ([0.0, 0.0, 9.0, 10.0], 0),
        ([0.0, 0.0, 10.0, 10.0], 1),
        ([0.0, 0.0, 20.0, 10.0], 2),
        ([0.0, 0.0, 50.0, 10.0], 3),
        ([50.0, 50.0, 100.0, 89.0], 4),
        ([0.0, 0.0, 100.0, 100.0], 6),
        ([-0.4, 0.0, 100.4, 100.0], 6),
    ],
)
def test_a_targets_share_of_its_photograph_is_counted_between_two_limits(box: list[float], place: int) -> None:
    rows = [{"image_id": "i", "complexity": "single", "target_bbox_xyxy_px": box}]
    images = pa.Table.from_pylist([{"image_id": "i", "width": 100, "height": 100}])
    (counts,) = target_areas(pa.Table.from_pylist(rows), images).values()
    assert counts == [int(number == place) for number in range(len(AREA_PERCENTS))]


def test_the_papers_size() -> None:
    edits = {
        "identity": ("the dog", "the cat"),
        "attribute": ("the red dog", "the black dog"),
        "location": ("the dog on the left", "the dog on the right"),
    }
    rows = [
        written(name, *edits[name], number=cell * 30 + place)
        for cell, name in enumerate(itertools.chain.from_iterable([edits] * 12))
        for place in range(30)
    ]
    found = counted(*rows)
    assert (found["dialogues"], found["photographs"]) == (1080, 1080)
    assert (found["user_turns"], found["user_turns_with_a_false_premise"]) == (10_800, 7_560)
    assert {name: edit["dialogues"] for name, edit in found["edits"].items()} == dict.fromkeys(edits, 360)
    assert "identity 360 (1 word: 360)" in sentences("fpco-dialog", found)[1]
