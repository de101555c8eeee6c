# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The rows of a CandVG release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.candvg.points import Resolved, merge_objects, resolve
from groundset.candvg.samples import JOINED_AT_PACKAGING, Initial, build
from groundset.errors import DataError
from groundset.schema_types import arrow_schema

# b1 is b0 once more; b10 sorts before b2
IDS = ["b0", "b1", "b2", "b10"]
BOXES = np.array([[0.0, 0, 10, 10], [0, 0, 10, 9.5], [20, 0, 30, 10], [40, 0, 50, 10]])
CENTRES = {"b0": [5.0, 5.0], "b2": [25.0, 5.0], "b10": [45.0, 5.0]}


def dialogues(turns_by_id: dict[str, int]) -> pa.Table:
    rows = [
        {
            "dialogue_id": name,
            "image_id": "invig-photo",
            "split": "validation",
            "source_dialogue_id": f"source {name}",
            "turns": [
                {"turn": n, "question": None if n == 1 else f"q{n}", "response": f"r{n}"} for n in range(1, turns + 1)
            ],
            "object_ids": IDS,
            "initial_candidate_ids": ["b2", "b1", "b0"],
        }
        for name, turns in turns_by_id.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema("candvg_source_dialogue"))


def resolved(*sets: list[str]) -> Resolved:
    points = [np.array([CENTRES[name] for name in chosen]) for chosen in sets]
    found = resolve("d", points, merge_objects(IDS, BOXES, 0.9), 1.0)
    assert isinstance(found, Resolved)
    return found


def test_a_sample_for_each_context() -> None:
    tables = build(
        dialogues({"d1": 3}), {"d1": Initial(3, 2)}, {"d1": resolved(["b2", "b10", "b0"], ["b10", "b2"], ["b2"])}
    )
    rows = tables.samples.to_pylist()
    assert [row["sample_id"] for row in rows] == ["d1-t1", "d1-t2", "d1-t3"]
    assert [row["sample_type"] for row in rows] == ["CSVG", "CSVG", "CVG"]
    assert rows[1] == {
        "sample_id": "d1-t2",
        "dialogue_id": "d1",
        "image_id": "invig-photo",
        "split": "validation",
        "turn": 2,
        "context": [
            {"turn": 1, "question": None, "response": "r1"},
            {"turn": 2, "question": "q2", "response": "r2"},
        ],
        "sample_type": "CSVG",
        "candidates": [
            {"object_id": "b10", "bbox_xyxy_px": [40.0, 0.0, 50.0, 10.0]},
            {"object_id": "b2", "bbox_xyxy_px": [20.0, 0.0, 30.0, 10.0]},
        ],
        "stratum": "2",
    }


def test_the_dialogue_holds_merged_objects_and_all_sets() -> None:
    (row,) = build(
        dialogues({"d1": 2}), {"d1": Initial(3, 2)}, {"d1": resolved(["b2", "b0"], ["b2"])}
    ).dialogues.to_pylist()
    assert [thing["object_id"] for thing in row["objects"]] == ["b0", "b10", "b2"]
    assert row["initial_candidate_ids"] == ["b0", "b2"]
    assert (row["initial_candidates_raw"], row["initial_candidates_unique"], row["stratum"]) == (3, 2, "2")
    assert row["candidate_ids"] == [["b0", "b2"], ["b2"]]
    assert row["source_dialogue_id"] == "source d1"


def test_points_keep_the_annotators_order() -> None:
    rows = build(dialogues({"d1": 2}), {"d1": Initial(3, 2)}, {"d1": resolved(["b2", "b0"], ["b0"])}).points.to_pylist()
    assert [(r["turn"], r["point"], r["x_px"], r["y_px"], r["object_id"]) for r in rows] == [
        (1, 0, 25.0, 5.0, "b2"),
        (1, 1, 5.0, 5.0, "b0"),
        (2, 0, 5.0, 5.0, "b0"),
    ]


def test_no_dialogue_leaves_typed_empty_tables() -> None:
    tables = build(dialogues({"d1": 1}), {}, {})
    assert tables.samples.schema == arrow_schema("candvg_sample", without=JOINED_AT_PACKAGING)
    assert (tables.samples.num_rows, tables.dialogues.num_rows, tables.points.num_rows) == (0, 0, 0)


def test_all_faults_are_named_at_once() -> None:
    both = resolved(["b0", "b2"])
    with pytest.raises(DataError) as error:
        build(dialogues({"d1": 2, "d2": 1}), {"d1": Initial(3, 2)}, {"d1": both, "d2": both, "d3": both})
    assert [(problem.record, problem.message) for problem in error.value.problems] == [
        ("d1", "has 2 turns but 1 candidate sets"),
        ("d2", "has no initial candidates"),
        ("d3", "is resolved but not among the dialogues"),
    ]


chosen = st.lists(st.sampled_from(sorted(CENTRES)), min_size=1, unique=True)
first = st.lists(st.sampled_from(sorted(CENTRES)), min_size=2, unique=True)
pools = st.dictionaries(
    st.from_regex(r"[a-c][0-9+.-]{0,2}", fullmatch=True),
    st.tuples(first, st.lists(chosen, max_size=10)).map(lambda t: [t[0], *t[1]]),
    max_size=4,
)


@settings(max_examples=25, deadline=None)
@given(pools, st.randoms(use_true_random=False))
def test_tables_hold_to_their_schemas_and_to_each_other_in_any_order(pool, random) -> None:  # type: ignore[no-untyped-def]
    results = {name: resolved(*sets) for name, sets in pool.items()}
    source = dialogues({name: len(sets) for name, sets in pool.items()})
    strata = dict.fromkeys(pool, Initial(3, 2))
    tables = build(source, strata, results)
    for name, table, without in (
        ("candvg_sample", tables.samples, JOINED_AT_PACKAGING),
        ("candvg_dialogue", tables.dialogues, ()),
        ("candvg_point", tables.points, ()),
    ):
        assert schema.table_problems(name, table, without=without) == []
    sample_ids = tables.samples["sample_id"].to_pylist()
    assert sample_ids == sorted(f"{name}-t{n}" for name, sets in pool.items() for n in range(1, len(sets) + 1))
    found = {
        (row["dialogue_id"], row["turn"]): sorted(thing["object_id"] for thing in row["candidates"])
        for row in tables.samples.to_pylist()
    }
    assert found == {(name, n): sorted(ids) for name, sets in pool.items() for n, ids in enumerate(sets, start=1)}
    placed = [(row["dialogue_id"], row["turn"], row["point"]) for row in tables.points.to_pylist()]
    assert placed == sorted(placed)
    assert len(placed) == sum(len(ids) for ids in found.values())
    order = list(range(len(pool)))
    random.shuffle(order)
    mixed = dict(random.sample(sorted(results.items()), len(results)))
    assert build(source.take(pa.array(order, pa.int64())), strata, mixed) == tables
