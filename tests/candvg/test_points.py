# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Each point means exactly one object, or the dialogue is rejected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.candvg.points import MergedObjects, Resolved, apply, merge_objects, queue_items, resolve
from groundset.errors import DataError
from groundset.review.decisions import Decision, collect
from groundset.review.queue import Item
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict, to_table

# Three boxes of 10 x 10 beside each other; centres at x = 5, 25, 45 and y = 5.
BOXES = np.array([[0.0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 50, 10]])
OBJECTS = merge_objects(["b0", "b1", "b2"], BOXES, 0.9)
BOTH = [[5.0, 5.0], [25.0, 5.0]]


def points(*turns: list[list[float]]) -> list[np.ndarray]:
    return [np.array(turn, dtype=float).reshape(-1, 2) for turn in turns]


def outcome(*turns: list[list[float]], objects: MergedObjects = OBJECTS, tie_px: float = 1.0) -> Any:
    found = resolve("d", points(*turns), objects, tie_px)
    if isinstance(found, Resolved):
        return found.candidate_ids_by_turn
    assert schema.table_problems("verdict", to_table([found])) == []
    return found.rule, found.detail.split(":")[0]


def test_points_mean_the_object_with_the_nearest_centre() -> None:
    assert outcome([[26.0, 4.0], [5.0, 5.0]], [[24.0, 9.0]]) == (("b0", "b1"), ("b1",))


def test_points_keep_their_place_and_their_object() -> None:
    found = resolve("d", points([[26.0, 4.0], [5.0, 5.0]]), OBJECTS, 1.0)
    assert isinstance(found, Resolved)
    assert [(p.x_px, p.y_px, p.object_id) for p in found.points_by_turn[0]] == [(26.0, 4.0, "b1"), (5.0, 5.0, "b0")]


def test_sets_may_grow_and_the_last_may_hold_several() -> None:
    assert outcome(BOTH, [[45.0, 5.0]], BOTH) == (("b0", "b1"), ("b2",), ("b0", "b1"))


@pytest.mark.parametrize("corner", [[0.0, 0.0], [10.0, 10.0], [0.0, 10.0], [10.0, 4.0]])
def test_the_border_belongs_to_the_box(corner: list[float]) -> None:
    assert outcome([corner, [25.0, 5.0]]) == (("b0", "b1"),)


@pytest.mark.parametrize("point", [[10.001, 5.0], [5.0, 10.001], [5.0, -0.001], [-0.001, 0.0], [5.0, 1e200]])
def test_a_point_outside_the_nearest_box_is_a_miss(point: list[float]) -> None:
    assert outcome(BOTH, [point]) == ("miss", "turn 2")


def test_a_point_in_another_box_than_the_nearest_is_a_miss() -> None:
    # a wide box around a small one: the point lies in the wide one, but the small one's centre is nearer
    wide = merge_objects(["wide", "small"], np.array([[0.0, 0, 100, 20], [70, 5, 80, 15]]), 0.9)
    assert outcome([[66.0, 10.0], [40.0, 10.0]], objects=wide) == ("miss", "turn 1")


def test_a_miss_is_measured() -> None:
    found = resolve("d", points(BOTH, [[13.0, 5.0], [5.0, 11.0]]), OBJECTS, 1.0)
    assert isinstance(found, Verdict)
    assert (found.rule, found.kind, found.measured, found.limit, found.hard) == ("miss", "dialogue", 3.0, 0.0, True)
    assert found.detail == "turn 2: points outside the box with the nearest centre: 2"


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (15.0, ("tie", "turn 1")),
        (15.49, ("tie", "turn 1")),
        (14.51, ("tie", "turn 1")),
        (15.5, (("b1", "b2"),)),
        (14.5, (("b0", "b2"),)),
    ],
)
def test_centres_that_differ_by_less_than_the_limit_are_a_tie(x: float, expected: Any) -> None:
    # boxes that touch in the middle, so that the point lies in the nearest one on both sides
    touching = merge_objects(["b0", "b1", "b2"], np.array([[0.0, 0, 15, 10], [15, 0, 30, 10], [40, 0, 50, 10]]), 0.9)
    # centres at 7.5 and 22.5: the difference is 2 * |x - 15|
    assert outcome([[x, 5.0], [45.0, 5.0]], objects=touching) == expected


def test_two_objects_with_one_centre_are_never_picked_from() -> None:
    nested = merge_objects(["outer", "inner", "far"], np.array([[0.0, 0, 20, 20], [5, 5, 15, 15], [90, 0, 99, 9]]), 0.9)
    assert outcome([[10.0, 10.0], [95.0, 5.0]], objects=nested) == ("tie", "turn 1")
    # the smallest limit there is still keeps two centres at one place apart from a choice
    assert outcome([[10.0, 10.0], [95.0, 5.0]], objects=nested, tie_px=math.ulp(0.0)) == ("tie", "turn 1")


def test_near_identical_boxes_are_one_object_and_no_tie() -> None:
    twice = merge_objects(["b0", "b1", "b2"], np.array([[0.0, 0, 10, 10], [0, 0, 10, 9.5], [40, 0, 50, 10]]), 0.9)
    assert twice.object_ids == ("b0", "b2")
    assert twice.representative == {"b0": "b0", "b1": "b0", "b2": "b2"}
    assert twice.boxes_px.tolist() == [[0, 0, 10, 10], [40, 0, 50, 10]]
    assert outcome([[5.0, 5.0], [45.0, 5.0]], objects=twice) == (("b0", "b2"),)


def test_two_points_on_one_object() -> None:
    assert outcome(BOTH, [[4.0, 5.0], [6.0, 5.0], [25.0, 5.0]]) == ("not_one_to_one", "turn 2")


def test_a_turn_without_a_point() -> None:
    assert outcome(BOTH, []) == ("empty_set", "turn 2")


def test_one_object_is_too_few_at_turn_1_only() -> None:
    assert outcome([[5.0, 5.0]], BOTH) == ("unambiguous_after_points", "turn 1")
    assert outcome(BOTH, [[5.0, 5.0]]) == (("b0", "b1"), ("b0",))


def test_a_photograph_with_one_object_has_no_tie() -> None:
    alone = merge_objects(["b0"], BOXES[:1], 0.9)
    assert outcome([[5.0, 5.0]], objects=alone) == ("unambiguous_after_points", "turn 1")


def test_a_photograph_without_objects() -> None:
    assert outcome([[5.0, 5.0]], objects=merge_objects([], np.zeros((0, 4)), 0.9)) == ("miss", "turn 1")


def test_the_first_failing_turn_gives_the_verdict_then_the_fixed_order_of_rules() -> None:
    assert outcome(BOTH, [[4.0, 5.0], [6.0, 5.0]], []) == ("not_one_to_one", "turn 2")
    # a miss and a tie in one turn: the tie comes first
    assert outcome([[5.0, 11.0], [15.0, 5.0]]) == ("tie", "turn 1")
    # a miss and two points on one object: the miss comes first
    assert outcome([[5.0, 11.0], [4.0, 5.0], [6.0, 5.0]]) == ("miss", "turn 1")
    # two points on a single object at turn 1: not one to one comes first
    assert outcome([[4.0, 5.0], [6.0, 5.0]]) == ("not_one_to_one", "turn 1")


def brute_force(turns: list[list[list[float]]], ids: list[str], boxes: list[list[float]], tie_px: float) -> Any:
    sets = []
    for turn, given_points in enumerate(turns, start=1):
        tied = missed = False
        means = []
        for x, y in given_points:
            near = sorted((math.dist((x, y), ((b[0] + b[2]) / 2, (b[1] + b[3]) / 2)), i) for i, b in enumerate(boxes))
            tied |= len(near) > 1 and near[1][0] - near[0][0] < tie_px
            missed |= not near
            if near:
                b = boxes[near[0][1]]
                missed |= not (b[0] <= x <= b[2] and b[1] <= y <= b[3])
                means.append(ids[near[0][1]])
        for rule, failed in (
            ("empty_set", not given_points),
            ("tie", tied),
            ("miss", missed),
            ("not_one_to_one", len(set(means)) < len(means)),
            ("unambiguous_after_points", turn == 1 and len(means) == 1),
        ):
            if failed:
                return rule, f"turn {turn}"
        sets.append(tuple(sorted(means)))
    return tuple(sets)


coordinate = st.integers(0, 12).map(float)
box = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 6), st.integers(1, 6)).map(
    lambda b: [float(b[0]), float(b[1]), float(b[0] + b[2]), float(b[1] + b[3])]
)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[list[float]], list[list[list[float]]]]:
    """Boxes, and turns whose points mostly lie near a centre, so that dialogues pass as well as fail."""
    boxes = draw(st.lists(box, max_size=4))
    centres = [[(b[0] + b[2]) / 2, (b[1] + b[3]) / 2] for b in boxes]
    point = st.tuples(coordinate, coordinate).map(list)
    if centres:
        point = st.one_of(st.sampled_from(centres), st.sampled_from(centres), point)
    turn = st.lists(point, max_size=3, unique_by=tuple)
    return boxes, draw(st.lists(turn, min_size=1, max_size=3))


@settings(max_examples=200, deadline=None)
@given(scenes(), st.sampled_from([0.5, 1.0, 3.0]), st.randoms(use_true_random=False))
@example((BOXES.tolist(), [BOTH, BOTH, [[5.0, 5.0]]]), 1.0, None)
def test_resolve_equals_brute_force_in_any_order(scene: Any, tie_px: float, random: Any) -> None:
    boxes, turns = scene
    ids = [f"b{index}" for index in range(len(boxes))]
    objects = MergedObjects(tuple(ids), np.array(boxes).reshape(-1, 4), dict(zip(ids, ids, strict=True)))
    expected = brute_force(turns, ids, boxes, tie_px)
    assert outcome(*turns, objects=objects, tie_px=tie_px) == expected
    if random is None:
        return
    order = list(range(len(boxes)))
    random.shuffle(order)
    shuffled = MergedObjects(
        tuple(ids[index] for index in order), objects.boxes_px[order], dict(zip(ids, ids, strict=True))
    )
    mixed = [random.sample(turn, len(turn)) for turn in turns]
    first, second = resolve("d", points(*turns), objects, tie_px), resolve("d", points(*mixed), shuffled, tie_px)
    if isinstance(first, Verdict):
        assert second == first
    else:
        assert isinstance(second, Resolved)
        assert second.candidate_ids_by_turn == first.candidate_ids_by_turn


def dialogue_tables(turns: int, *names: str) -> tuple[pa.Table, pa.Table]:
    said = [{"turn": n, "question": None if n == 1 else "This one?", "response": f"r{n}"} for n in range(1, turns + 1)]
    dialogues = [
        {
            "dialogue_id": f"invig-test-{name}",
            "image_id": f"invig-{name}",
            "split": "test",
            "source_dialogue_id": name,
            "turns": said,
            "object_ids": ["b0", "b1", "b2"],
            "initial_candidate_ids": ["b0", "b1"],
        }
        for name in names
    ]
    objects = [
        {"object_id": f"b{n}", "image_id": f"invig-{name}", "bbox_xyxy": corners}
        for name in names
        for n, corners in enumerate(BOXES.tolist())
    ]
    return (
        pa.Table.from_pylist(dialogues, schema=arrow_schema("candvg_source_dialogue")),
        pa.Table.from_pylist(objects, schema=arrow_schema("object")),
    )


HASHES = {f"invig-{name}": name * 64 for name in "abc"}


def mark(entry: Item, marked: list[list[float]]) -> Decision:
    name = f"{entry['item_id']}-{entry['turn']}"
    value = {"points_px": marked}
    return Decision(name, 1, "points", entry["item_id"], entry["turn"], "ann-1", entry["seen_sha256"], value, "main")


def test_one_item_a_turn_shows_the_dialogue_so_far_and_no_boxes() -> None:
    dialogues, _ = dialogue_tables(11, "b", "a")
    queue = queue_items(dialogues, HASHES)
    asked = [(entry["item_id"], entry["turn"]) for entry in queue]
    assert asked == [(f"invig-test-{name}", turn) for name in "ab" for turn in range(1, 12)]
    shown = queue[1]["shown"]
    assert shown == {
        "image_id": "invig-a",
        "image_sha256": "a" * 64,
        "turns": [
            {"turn": 1, "question": None, "response": "r1"},
            {"turn": 2, "question": "This one?", "response": "r2"},
        ],
    }
    with pytest.raises(DataError, match="has not been read"):
        queue_items(dialogues, {})


def test_dialogues_are_resolved_rejected_or_wait() -> None:
    dialogues, objects = dialogue_tables(2, "a", "b", "c")
    queue = queue_items(dialogues, HASHES)
    asked = {(entry["item_id"][-1], entry["turn"]): entry for entry in queue}
    decisions = [
        mark(asked["a", 1], BOTH),
        mark(asked["a", 2], [[5.0, 5.0]]),
        mark(asked["b", 1], []),
        mark(asked["c", 2], []),
    ]
    found = apply(dialogues.take(pa.array([2, 0, 1])), objects, queue, collect(decisions), 0.9, 1.0)
    assert {name: result.candidate_ids_by_turn for name, result in found.resolved.items()} == {
        "invig-test-a": (("b0", "b1"), ("b0",))
    }
    # b is settled by its first turn; c waits for its first turn, though its second would reject it
    assert [(verdict.record_id, verdict.rule) for verdict in found.rejected] == [("invig-test-b", "empty_set")]
    assert found.waiting == (asked["c", 1],)


def test_dialogues_that_are_not_asked_about_are_passed_over() -> None:
    dialogues, objects = dialogue_tables(1, "a", "b")
    queue = queue_items(dialogues.slice(0, 1), HASHES)
    found = apply(dialogues, objects, queue, collect([mark(queue[0], BOTH)]), 0.9, 1.0)
    assert (list(found.resolved), found.rejected, found.waiting) == (["invig-test-a"], (), ())
