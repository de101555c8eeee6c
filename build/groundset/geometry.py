# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Boxes: the only place where areas, overlaps and near-identity are computed.

A box is `x_min, y_min, x_max, y_max`; arrays are float64 of shape (n, 4), or (..., n, 4) for many groups of n boxes at
once. Everything is continuous: a box from 10 to 20 is 10 wide, never 11. Ratios of areas do not depend on the frame, so
unit boxes and pixel boxes give the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[np.float64]

# Decimal coordinates are not exact in binary, so the last digits of a measure depend on where a box lies; what is on a
# bound as written has to count as on it.
_ROUNDING = 1e-9


def area(boxes: Boxes) -> NDArray[np.float64]:
    """Area of each box, 0 where a side is not positive; shape (..., n).

    >>> area(np.array([[0.0, 0.0, 2.0, 3.0]])).tolist()
    [6.0]
    """
    sides: NDArray[np.float64] = np.clip(boxes[..., 2:] - boxes[..., :2], 0.0, None)
    return sides[..., 0] * sides[..., 1]


def intersection_matrix(boxes: Boxes) -> NDArray[np.float64]:
    """Area that each pair of boxes shares; shape (..., n, n)."""
    low = np.maximum(boxes[..., :, None, :2], boxes[..., None, :, :2])
    high = np.minimum(boxes[..., :, None, 2:], boxes[..., None, :, 2:])
    sides: NDArray[np.float64] = np.clip(high - low, 0.0, None)
    return sides[..., 0] * sides[..., 1]


def _divided(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def iou_matrix(boxes: Boxes) -> NDArray[np.float64]:
    """Intersection over union of each pair, 0 where the union is empty; shape (..., n, n).

    >>> iou_matrix(np.array([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0]]))[0, 1]
    np.float64(0.5)
    """
    shared, areas = intersection_matrix(boxes), area(boxes)
    return _divided(shared, areas[..., :, None] + areas[..., None, :] - shared)


def intersection_over_smaller_matrix(boxes: Boxes) -> NDArray[np.float64]:
    """Intersection over the smaller box of each pair, 0 where that box is empty; shape (..., n, n).

    >>> intersection_over_smaller_matrix(np.array([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0]]))[0, 1]
    np.float64(1.0)
    """
    areas = area(boxes)
    return _divided(intersection_matrix(boxes), np.minimum(areas[..., :, None], areas[..., None, :]))


def area_ratio(boxes: Boxes) -> float:
    """Largest area over the smallest; infinite if the smallest is 0, 1 for no box at all.

    >>> area_ratio(np.array([[0.0, 0.0, 4.0, 5.0], [0.0, 0.0, 1.0, 1.0]]))
    20.0
    """
    if len(boxes) == 0:
        return 1.0
    areas = area(boxes)
    smallest = float(areas.min())
    return float(areas.max()) / smallest if smallest > 0 else float("inf")


def merge_near_identical(boxes: Boxes, iou: float) -> list[int]:
    """For each box the lowest index of its connected component at IoU >= `iou` (design: one object boxed twice).

    >>> merge_near_identical(np.array([[0.0, 0.0, 9.0, 9.0], [20.0, 0.0, 29.0, 9.0], [0.0, 0.0, 9.0, 9.1]]), 0.9)
    [0, 1, 0]
    """
    if len(boxes) == 0:
        return []
    # nobody else here needs scipy, which takes longer to import than all the rest
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = np.nonzero(reaches(iou_matrix(boxes), iou))
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(len(boxes), len(boxes)))
    _, component = connected_components(graph, directed=False)
    _, lowest = np.unique(component, return_index=True)
    return [int(lowest[c]) for c in component]


def reaches(measured: Any, limit: float) -> Any:
    """Whether a measure is at its lower bound or above, rounding of the coordinates aside; elementwise for arrays.

    >>> reaches(0.1 + 0.2, 0.3), reaches(0.2999, 0.3)
    (True, False)
    """
    return measured >= limit * (1.0 - _ROUNDING)


def exceeds(measured: Any, limit: float) -> Any:
    """Whether a measure is above its upper bound, rounding of the coordinates aside; elementwise for arrays.

    >>> exceeds(0.1 + 0.2, 0.3), exceeds(0.3001, 0.3)
    (False, True)
    """
    return measured > limit * (1.0 + _ROUNDING)


def centres(boxes: Boxes) -> NDArray[np.float64]:
    """Centre of each box as x, y; shape (n, 2)."""
    return (boxes[:, :2] + boxes[:, 2:]) / 2.0
