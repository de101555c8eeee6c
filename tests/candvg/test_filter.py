# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The filter's bounds, its counts, and that the bulk form says what the single one says."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.candvg import filter as candvg_filter
from groundset.candvg.filter import CandvgItem, FilterRules, apply, judge, listed_boxes
from groundset.errors import DataError
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict, to_table

RULES = FilterRules(min_candidates=2, max_candidates=15, max_area_ratio=20.0, merge_iou=0.9, count="unique")


def row_of_boxes(areas: list[float]) -> np.ndarray:
    """Boxes of height 1 beside each other, none touching."""
    return np.array([[100.0 * i, 0.0, 100.0 * i + area, 1.0] for i, area in enumerate(areas)]).reshape(-1, 4)


def tables(candidates: dict[str, list[list[float]]]) -> tuple[pa.Table, pa.Table]:
    dialogues, objects = [], []
    for dialogue_id, boxes in candidates.items():
        names = [f"b{index}" for index in range(len(boxes))]
        dialogues.append(
            {
                "dialogue_id": dialogue_id,
                "image_id": f"invig-{dialogue_id}",
                "split": "test",
                "source_dialogue_id": dialogue_id,
                "label": None,
                "turns": [{"turn": 1, "question": None, "response": "the cup"}],
                "object_ids": names,
                "initial_candidate_ids": names,
            }
        )
        objects += [
            {
                "object_id": name,
                "image_id": f"invig-{dialogue_id}",
                "bbox_xyxy": [float(side) for side in box],
                "frame_width": 640.0,
                "frame_height": 480.0,
                "is_group": -1,
                "is_depiction": -1,
            }
            for name, box in zip(names, boxes, strict=True)
        ]
    return (
        pa.Table.from_pylist(dialogues, schema=arrow_schema("candvg_source_dialogue")),
        pa.Table.from_pylist(objects, schema=arrow_schema("object")),
    )


def rule_of(found: CandvgItem | Verdict) -> str:
    return found.rule if isinstance(found, Verdict) else "kept"


@pytest.mark.parametrize(
    ("areas", "rule"),
    [
        ([], "too_few_candidates"),
        ([5], "too_few_candidates"),
        ([5, 5], "kept"),
        ([5] * 15, "kept"),
        ([5] * 16, "too_many_candidates"),
        ([1, 20], "kept"),
        ([1, 20.001], "area_ratio"),
        ([0, 20], "zero_area"),
        ([float("nan"), 20], "zero_area"),
        ([float("inf"), 20], "zero_area"),
        ([-3, 20], "zero_area"),
    ],
)
def test_bounds_are_inclusive_and_no_area_is_divided_by_zero(areas: list[float], rule: str) -> None:
    boxes = row_of_boxes(areas)
    assert rule_of(judge("d", "i", boxes, RULES)) == rule
    kept, verdicts = apply(*tables({"d": boxes.tolist()}), RULES)
    assert [rule] == ["kept"] * kept.num_rows + [verdict.rule for verdict in verdicts]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 900), st.integers(1, 900), st.integers(-1, 1))
def test_a_ratio_of_exactly_twenty_is_kept_and_a_pixel_more_is_not(width: int, height: int, more: int) -> None:
    # whole pixels: areas w * h and 20 * w * h, or one column of a pixel more or less
    boxes = np.array([[0.0, 0, width, height], [1000.0, 0, 1000 + 4 * width, 5 * height]])
    boxes[1, 2] += more
    assert rule_of(judge("d", "i", boxes, RULES)) == ("area_ratio" if more > 0 else "kept")
    kept, verdicts = apply(*tables({"d": boxes.tolist()}), RULES)
    assert (kept.num_rows, len(verdicts)) == ((0, 1) if more > 0 else (1, 0))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 15), st.integers(2, 15), st.integers(-1, 1), st.sampled_from(["raw", "unique"]))
def test_the_neighbours_of_both_counts(low: int, high: int, step: int, count: str) -> None:
    rules = replace(RULES, min_candidates=min(low, high), max_candidates=max(low, high), count=count)  # type: ignore[arg-type]
    for bound in (rules.min_candidates, rules.max_candidates):
        number = bound + step
        expected = "too_few_candidates" if number < min(low, high) else "too_many_candidates"
        expected = "kept" if min(low, high) <= number <= max(low, high) else expected
        found = judge("d", "i", row_of_boxes([5] * number), rules)
        assert rule_of(found) == expected
        if isinstance(found, Verdict):
            assert (found.measured, found.limit) == (
                float(number),
                float(min(low, high) if step < 0 else max(low, high)),
            )


def test_a_box_turned_inside_out_has_no_area() -> None:
    assert rule_of(judge("d", "i", np.array([[9.0, 9, 0, 0], [20, 0, 30, 9]]), RULES)) == "zero_area"


def test_the_setting_chooses_the_count_and_both_are_reported() -> None:
    twice = np.array([[0.0, 0, 10, 10], [0, 0, 10, 10]])
    refused = judge("d", "i", twice, RULES)
    assert isinstance(refused, Verdict)
    assert (refused.rule, refused.measured, refused.limit) == ("too_few_candidates", 1.0, 2.0)
    assert "2 initial candidates listed, 1 after merging" in refused.detail
    assert judge("d", "i", twice, replace(RULES, count="raw")) == CandvgItem("d", "i", 2, 1, 1.0)
    many = np.repeat(row_of_boxes([10] * 8), 2, axis=0)
    assert judge("d", "i", many, RULES) == CandvgItem("d", "i", 16, 8, 1.0)
    assert rule_of(judge("d", "i", many, replace(RULES, count="raw"))) == "too_many_candidates"


def test_boxes_merge_at_the_limit_and_along_a_chain() -> None:
    at_limit = np.array([[0.0, 0, 10, 10], [0, 0, 10, 9], [50, 0, 60, 10]])
    below = np.array([[0.0, 0, 10, 10], [0, 0, 10, 8.99], [50, 0, 60, 10]])
    # the first and the last overlap by 0.81 only
    chain = np.array([[0.0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 8.1], [50, 0, 60, 10]])
    counts = [judge("d", "i", boxes, RULES).candidates_unique for boxes in (at_limit, below, chain)]  # type: ignore[union-attr]
    assert counts == [2, 3, 2]
    for boxes, unique in zip((at_limit, below, chain), counts, strict=True):
        kept, _ = apply(*tables({"d": boxes.tolist()}), RULES)
        assert kept["candidates_unique"].to_pylist() == [unique]


def test_a_ratio_beyond_floats_is_still_a_verdict_that_can_be_written() -> None:
    boxes = np.array([[0.0, 0, 1e-160, 1e-160], [0, 0, 1e150, 1e150]])
    refused = judge("d", "i", boxes, RULES)
    assert isinstance(refused, Verdict)
    assert (refused.rule, refused.measured) == ("area_ratio", None)
    assert schema.table_problems("verdict", to_table([refused])) == []


corners = st.integers(0, 6)
box = st.tuples(corners, corners, st.integers(0, 5), st.integers(0, 5)).map(
    lambda b: [float(b[0]), float(b[1]), float(b[0] + b[2]), float(b[1] + b[3])]
)
pools = st.lists(st.lists(box, max_size=6), max_size=8)
limits = st.builds(
    FilterRules,
    min_candidates=st.integers(0, 3),
    max_candidates=st.integers(2, 5),
    max_area_ratio=st.sampled_from([1.0, 2.0, 4.0]),
    merge_iou=st.sampled_from([0.4, 0.5, 0.9, 1.0]),
    count=st.sampled_from(["raw", "unique"]),
)


@settings(max_examples=80, deadline=None)
@given(pools, limits, st.randoms(use_true_random=False))
def test_bulk_equals_single_in_any_order_of_rows(pool: list[list[list[float]]], rules: FilterRules, random) -> None:  # type: ignore[no-untyped-def]
    named = {f"d{index}": boxes for index, boxes in enumerate(pool)}
    single = {name: judge(name, f"invig-{name}", np.array(boxes), rules) for name, boxes in named.items()}
    dialogues, objects = tables(named)
    order, object_order = list(range(dialogues.num_rows)), list(range(objects.num_rows))
    random.shuffle(order)
    random.shuffle(object_order)
    kept, verdicts = apply(
        dialogues.take(pa.array(order, pa.int64())), objects.take(pa.array(object_order, pa.int64())), rules
    )
    assert [CandvgItem(**row) for row in kept.to_pylist()] == [
        single[name] for name in sorted(single) if isinstance(single[name], CandvgItem)
    ]
    assert verdicts == [single[name] for name in sorted(single) if isinstance(single[name], Verdict)]
    assert schema.table_problems("candvg_item", kept) == []
    assert schema.table_problems("verdict", to_table(verdicts)) == []


def brute_force(boxes: list[list[float]], rules: FilterRules) -> str:
    def area(b: list[float]) -> float:
        return (b[2] - b[0]) * (b[3] - b[1])

    def same(a: list[float], b: list[float]) -> bool:
        width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        shared = max(width, 0) * max(height, 0)
        return shared > 0 and shared / (area(a) + area(b) - shared) >= rules.merge_iou

    groups = [{index} for index in range(len(boxes))]
    for one, other in itertools.combinations(range(len(boxes)), 2):
        if same(boxes[one], boxes[other]):
            joined = [group for group in groups if group & {one, other}]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    counted = len(boxes) if rules.count == "raw" else len(groups)
    if any(area(b) == 0 for b in boxes):
        return "zero_area"
    if counted < rules.min_candidates:
        return "too_few_candidates"
    if counted > rules.max_candidates:
        return "too_many_candidates"
    if boxes and max(map(area, boxes)) > rules.max_area_ratio * min(map(area, boxes)):
        return "area_ratio"
    return "kept"


@settings(max_examples=150, deadline=None)
@given(st.lists(box, max_size=6), limits, st.randoms(use_true_random=False))
def test_judge_equals_brute_force_and_ignores_the_order_of_boxes(boxes, rules, random) -> None:  # type: ignore[no-untyped-def]
    found = judge("d", "i", np.array(boxes), rules)
    assert rule_of(found) == brute_force(boxes, rules)
    random.shuffle(boxes)
    assert judge("d", "i", np.array(boxes), rules) == found


def test_block_size_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    low = rng.integers(0, 40, size=(60, 4, 2)).astype(float)
    boxes = np.concatenate([low, low + 20], axis=2)
    boxes[:, 1] = boxes[:, 0] + 0.2
    pair = tables({f"d{index:02}": group.tolist() for index, group in enumerate(boxes)})
    whole = apply(*pair, RULES)
    monkeypatch.setattr(candvg_filter, "_PAIRS_PER_BLOCK", 1)
    assert apply(*pair, RULES) == whole
    assert whole[0]["candidates_unique"].to_pylist() == [3] * 60


def test_no_dialogue_at_all() -> None:
    kept, verdicts = apply(*tables({}), RULES)
    assert (kept.num_rows, verdicts) == (0, [])
    kept, verdicts = apply(arrow_schema("candvg_source_dialogue").empty_table(), tables({})[1], RULES)
    assert kept.schema == arrow_schema("candvg_item")


def test_slices_and_chunks_are_read_as_what_they_show() -> None:
    dialogues, objects = tables({f"d{i}": row_of_boxes([2, 3, i + 1]).tolist() for i in range(4)})
    chunked = pa.concat_tables([dialogues.slice(1, 1), dialogues.slice(3, 1)])
    kept, _ = apply(chunked, objects.slice(3), RULES)
    assert kept["item_id"].to_pylist() == ["d1", "d3"]
    assert kept["area_ratio"].to_pylist() == [1.5, 2.0]
    boxes = listed_boxes(chunked, objects, "object_ids")
    assert boxes.of(1).tolist() == row_of_boxes([2, 3, 4]).tolist()


def test_every_missing_object_is_named() -> None:
    dialogues, objects = tables({"d1": row_of_boxes([1, 2]).tolist(), "d2": row_of_boxes([1, 2]).tolist()})
    with pytest.raises(DataError) as error:
        apply(dialogues, objects.slice(1, 2), RULES)
    assert [(problem.record, problem.message) for problem in error.value.problems] == [
        ("d1", "names the object b0, which the image invig-d1 does not have"),
        ("d2", "names the object b1, which the image invig-d2 does not have"),
    ]


def test_objects_that_are_there_twice_or_have_no_box_are_named() -> None:
    dialogues, objects = tables({"d1": row_of_boxes([1, 2]).tolist()})
    short = objects.set_column(
        objects.schema.get_field_index("bbox_xyxy"),
        "bbox_xyxy",
        pa.array([[1.0, 2.0, 3.0], None], pa.list_(pa.float64())),
    )
    with pytest.raises(DataError) as error:
        apply(dialogues, pa.concat_tables([short, short.slice(0, 1)]), RULES)
    assert [(problem.record, problem.path) for problem in error.value.problems] == [
        ("invig-d1 b0", "$.bbox_xyxy"),
        ("invig-d1 b0", "$.object_id"),
        ("invig-d1 b1", "$.bbox_xyxy"),
    ]
