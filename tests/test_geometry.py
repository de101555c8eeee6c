# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Boxes against scalar code written out, and against pycocotools."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pycocotools.mask
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.geometry import (
    Boxes,
    area,
    area_ratio,
    centres,
    exceeds,
    intersection_matrix,
    intersection_over_smaller_matrix,
    iou_matrix,
    merge_near_identical,
    reaches,
)

Box = tuple[float, float, float, float]
quick = settings(max_examples=150)

# a coarse grid makes boxes that touch, repeat, lie in each other and are degenerate
grid = st.integers(-2, 8).map(float)
anywhere = st.floats(-1e4, 1e4, allow_nan=False, width=32)
box = st.tuples(grid, grid, grid, grid) | st.tuples(anywhere, anywhere, anywhere, anywhere)
some = st.lists(box, max_size=7)
near = st.tuples(*[st.sampled_from([0.0, 0.05, 0.1, 0.3, 30.0])] * 2).map(lambda at: (*at, at[0] + 10, at[1] + 10))


def array(boxes: list[Any]) -> Boxes:
    return np.array(boxes, dtype=np.float64).reshape(-1, 4)


def scalar_area(one: Box) -> float:
    return max(one[2] - one[0], 0.0) * max(one[3] - one[1], 0.0)


def scalar_shared(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 and height > 0 else 0.0


def scalar_iou(one: Box, other: Box) -> float:
    shared = scalar_shared(one, other)
    union = scalar_area(one) + scalar_area(other) - shared
    return shared / union if union > 0 else 0.0


def scalar_over_smaller(one: Box, other: Box) -> float:
    smaller = min(scalar_area(one), scalar_area(other))
    return scalar_shared(one, other) / smaller if smaller > 0 else 0.0


def components(boxes: list[Box], iou: float) -> list[int]:
    lowest = list(range(len(boxes)))
    for _ in boxes:
        for one, other in itertools.product(range(len(boxes)), repeat=2):
            if one == other or scalar_iou(boxes[one], boxes[other]) >= iou:
                lowest[one] = lowest[other] = min(lowest[one], lowest[other])
    return lowest


@quick
@given(some)
def test_every_measure_equals_scalar_code(boxes: list[Box]) -> None:
    given_boxes = array(boxes)
    assert area(given_boxes).tolist() == [scalar_area(one) for one in boxes]
    for matrix, scalar in (
        (intersection_matrix, scalar_shared),
        (iou_matrix, scalar_iou),
        (intersection_over_smaller_matrix, scalar_over_smaller),
    ):
        found = matrix(given_boxes)
        assert found.shape == (len(boxes), len(boxes))
        assert found.tolist() == [[scalar(one, other) for other in boxes] for one in boxes]
    assert centres(given_boxes).tolist() == [[(one[0] + one[2]) / 2, (one[1] + one[3]) / 2] for one in boxes]


@quick
@given(some)
def test_shares_lie_between_nothing_and_all(boxes: list[Box]) -> None:
    for matrix in (iou_matrix, intersection_over_smaller_matrix):
        found = matrix(array(boxes))
        assert (found >= 0).all()
        assert (found <= 1).all()
        assert (found == found.T).all()
        assert np.diag(found).tolist() == [1.0 if scalar_area(one) > 0 else 0.0 for one in boxes]


positive = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 40), st.integers(1, 40))


@quick
@given(st.lists(positive, min_size=1, max_size=6))
def test_iou_equals_that_of_pycocotools(xywh: list[tuple[int, int, int, int]]) -> None:
    written = np.array(xywh, dtype=np.float64)
    boxes = np.concatenate([written[:, :2], written[:, :2] + written[:, 2:]], axis=1)
    crowd = [0] * len(xywh)
    np.testing.assert_allclose(iou_matrix(boxes), pycocotools.mask.iou(written, written, crowd), rtol=1e-12)


def test_a_side_is_continuous_and_has_no_plus_one() -> None:
    assert area(array([[10, 10, 20, 20]])).tolist() == [100.0]
    assert iou_matrix(array([[0, 0, 10, 10], [10, 0, 20, 10]]))[0, 1] == 0.0


@quick
@given(st.data())
def test_many_groups_at_once_equal_one_at_a_time(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    groups = data.draw(st.lists(st.lists(box, min_size=size, max_size=size), min_size=1, max_size=4))
    stacked = np.stack([array(group) for group in groups])
    for measure in (area, intersection_matrix, iou_matrix, intersection_over_smaller_matrix):
        whole = measure(stacked)
        assert whole.tolist() == [measure(array(group)).tolist() for group in groups]
        assert measure(stacked[None]).tolist() == [whole.tolist()]


@quick
@given(st.data())
def test_the_order_of_boxes_only_orders_the_result(data: st.DataObject) -> None:
    boxes = data.draw(st.lists(box | near, min_size=1, max_size=6))
    order = data.draw(st.permutations(range(len(boxes))))
    shuffled = array([boxes[place] for place in order])
    for matrix in (iou_matrix, intersection_over_smaller_matrix, intersection_matrix):
        assert matrix(shuffled).tolist() == matrix(array(boxes))[np.ix_(order, order)].tolist()
    assert area_ratio(shuffled) == area_ratio(array(boxes))
    together = merge_near_identical(array(boxes), 0.9)
    apart = merge_near_identical(shuffled, 0.9)
    for one, other in itertools.combinations(range(len(boxes)), 2):
        assert (apart[one] == apart[other]) == (together[order[one]] == together[order[other]])


@quick
@given(st.lists(near | box, max_size=7), st.sampled_from([0.5, 0.9, 0.98, 1.0]))
def test_merging_gives_connected_components_named_by_their_lowest_box(boxes: list[Box], iou: float) -> None:
    found = merge_near_identical(array(boxes), iou)
    assert found == components(boxes, iou)
    assert all(type(index) is int for index in found)


def test_merging_is_transitive_and_its_bound_inclusive() -> None:
    # neighbours overlap by 9 / 11, the ends by 8 / 12
    chain = array([[0, 0, 10, 1], [2, 0, 12, 1], [1, 0, 11, 1], [100, 0, 110, 1]])
    assert merge_near_identical(chain, 9 / 11) == [0, 0, 0, 3]
    assert merge_near_identical(chain, 9 / 11 * (1 + 1e-6)) == [0, 1, 2, 3]


def test_empty_boxes_merge_with_nothing_even_their_equals() -> None:
    assert merge_near_identical(array([[1, 1, 1, 5], [1, 1, 1, 5], [5, 5, 1, 1]]), 0.9) == [0, 1, 2]


@pytest.mark.parametrize("empty", [[3, 3, 3, 9], [3, 3, 9, 3], [3, 3, 3, 3], [9, 9, 3, 3], [9, 3, 3, 9]])
def test_a_box_without_area_has_no_area_no_overlap_and_an_infinite_ratio(empty: list[float]) -> None:
    boxes = array([empty, [0, 0, 10, 10]])
    assert area(boxes).tolist() == [0.0, 100.0]
    for matrix in (iou_matrix, intersection_over_smaller_matrix, intersection_matrix):
        assert matrix(boxes)[0].tolist() == [0.0, 0.0]
    assert area_ratio(boxes) == float("inf")
    assert area_ratio(boxes[:1]) == float("inf")


@quick
@given(st.lists(box, min_size=1, max_size=6))
def test_area_ratio_is_the_largest_over_the_smallest(boxes: list[Box]) -> None:
    areas = [scalar_area(one) for one in boxes]
    assert area_ratio(array(boxes)) == (max(areas) / min(areas) if min(areas) > 0 else float("inf"))


def test_no_box_at_all() -> None:
    assert area_ratio(array([])) == 1.0
    assert merge_near_identical(array([]), 0.9) == []
    assert iou_matrix(array([])).shape == (0, 0)


cents = st.integers(0, 60_000).map(lambda n: n / 100)
sides = st.integers(100, 20_000)


@quick
@given(cents, cents, cents, cents, sides, sides)
def test_where_a_box_lies_decides_no_bound(x: float, y: float, x2: float, y2: float, w: int, h: int) -> None:
    # sides in hundredths of a pixel, as COCO writes them: the second area is 20 times the first as written
    small = (x, y, x + w / 100, y + h / 100)
    large = (x2, y2, x2 + 4 * w / 100, y2 + 5 * h / 100)
    ratio = area_ratio(array([small, large]))
    assert not exceeds(ratio, 20.0)
    assert reaches(ratio, 20.0)
    assert exceeds(ratio, 20.0 - 1e-6)
    assert not reaches(ratio, 20.0 + 1e-6)
    nine_tenths = (x, y, x + w / 100, y + 0.9 * h / 100)
    assert merge_near_identical(array([small, nine_tenths]), 0.9) == [0, 0]
    assert merge_near_identical(array([small, nine_tenths]), 0.9 + 1e-6) == [0, 1]


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.2, 0.85, 0.9, 20.0])
def test_a_bound_is_inclusive_on_both_sides(limit: float) -> None:
    assert reaches(limit, limit)
    assert not exceeds(limit, limit)
    measured = np.array([limit * (1 - 1e-6), limit, limit * (1 + 1e-6)])
    assert reaches(measured, limit).tolist() == [False, True, True]
    assert exceeds(measured, limit).tolist() == [False, False, True]


def test_a_limit_of_nothing_and_an_infinite_measure() -> None:
    assert reaches(0.0, 0.0)
    assert not exceeds(0.0, 0.0)
    assert exceeds(5e-324, 0.0)
    assert exceeds(float("inf"), 20.0)
