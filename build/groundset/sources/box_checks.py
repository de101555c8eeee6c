# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What readers check of boxes: the declared convention, boxes that leave the image, one object boxed twice.

Sizes are arrays of shape (n, 2), width and height of each box's image in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groundset.errors import DataError, Problem, UsageError
from groundset.sources.integer_keys import order_of

FORMATS = ("xywh", "xyxy")
UNITS = ("pixel", "unit")

# all ours: the papers and the publishers give no tolerance
OUTSIDE_PX = 1.0
MISFIT_SHARE = 0.05
MISFIT_TIMES = 10.0
MISFIT_BOXES = 3
NORMALISED_SHARE = 0.5
NEAR_DUPLICATE_IOU = 0.9
# how far apart two sides can lie then, of the longer box's; with room for what `geometry.reaches` lets pass
_FARTHEST = (1.0 - NEAR_DUPLICATE_IOU) * (1 + 1e-7)

# beyond these nothing is a photograph or a box of one; within them no sum or product can overflow
SIDE_PX = (1.0, 1e6)
COORDINATE = 1e12
_STEPS = 64

Boxes = NDArray[np.float64]
Sizes = NDArray[np.float64]
Places = NDArray[np.int64]
Edges = NDArray[np.float64]


def is_size(width: float | None, height: float | None) -> bool:
    """Whether width and height, in pixels, can be those of a photograph; 1 x 1 is the frame of boxes without one."""
    sides = (width, height)
    return sides != (1, 1) and all(side is not None and SIDE_PX[0] <= side <= SIDE_PX[1] for side in sides)


def are_sizes(sizes: Sizes) -> NDArray[np.bool_]:
    """Which sizes can be those of photographs; NaN cannot; shape (n,)."""
    fits = (sizes >= SIDE_PX[0]) & (sizes <= SIDE_PX[1])
    return np.asarray(fits.all(axis=1) & (sizes != 1.0).any(axis=1))


def box_values(boxes: Sequence[Sequence[float]] | Boxes) -> Boxes:
    """Boxes as the file writes them; shape (n, 4). Absurd values are cut, so that they stay absurd but finite."""
    values = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
    # one zero, not two
    if _largest(values) > COORDINATE or (np.signbit(values) & (values == 0)).any():
        values = np.clip(values, -COORDINATE, COORDINATE) + 0.0
    return values


def check_convention_names(box_format: str, box_unit: str) -> None:
    """Raises UsageError unless the declared format and unit are known."""
    wrong = [
        Problem("", "", key, f"{value!r} is not one of {', '.join(known)}")
        for key, value, known in (("box_format", box_format, FORMATS), ("box_unit", box_unit, UNITS))
        if value not in known
    ]
    if wrong:
        raise UsageError("the box convention is not known", wrong)


def to_xyxy_px(boxes: Boxes, sizes: Sizes, box_format: str, box_unit: str) -> Boxes:
    """Boxes as x_min, y_min, x_max, y_max in pixels of their images; shape (n, 4)."""
    corners = np.array(boxes)
    if box_format == "xywh":
        corners[:, 2:] += corners[:, :2]
    if box_unit == "unit":
        corners[:, :2] *= sizes
        corners[:, 2:] *= sizes
    return corners


def shorter_side(boxes: Boxes) -> NDArray[np.float64]:
    """The shorter side of each box, not positive where the box is degenerate; shape (n,)."""
    sides: NDArray[np.float64] = np.minimum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    return sides


def outside_px(boxes: Boxes, sizes: Sizes) -> NDArray[np.float64]:
    """How far each box leaves its image at most, 0 if it does not; shape (n,)."""
    # column by column: several times faster than a maximum over rows of eight
    farthest = np.zeros(len(boxes))
    for column in range(4):
        np.maximum(farthest, -boxes[:, column], out=farthest)
        np.maximum(farthest, boxes[:, column] - sizes[:, column % 2], out=farthest)
    return farthest


def areas(boxes: Boxes) -> NDArray[np.float64]:
    """Area of each box; shape (n,)."""
    from groundset.geometry import area

    return area(boxes)


def misfits(side: Edges, outside: Edges) -> NDArray[np.bool_]:
    """Which boxes are degenerate or leave their image, from `shorter_side` and `outside_px`; shape (n,)."""
    return (side <= 0) | (outside > OUTSIDE_PX)


def misfit_share(boxes: Boxes, sizes: Sizes) -> float:
    """Share of the boxes that are degenerate or leave their image; 0 for no box."""
    return float(misfits(shorter_side(boxes), outside_px(boxes, sizes)).mean()) if len(boxes) else 0.0


def _largest(boxes: Boxes) -> float:
    """The largest absolute value."""
    return max(float(boxes.max(initial=0.0)), -float(boxes.min(initial=0.0)))


def normalised_share(boxes: Boxes) -> float:
    """Share of the boxes that are fractions of at most 1, as shares of an image are."""
    # pixels may be fractions too, but hardly ever all four of a box within the first one
    within = np.ones(len(boxes), dtype=bool)
    for column in range(4):
        within &= np.abs(boxes[:, column]) <= 1
    return int((boxes[within] % 1 != 0).any(axis=1).sum()) / max(len(boxes), 1)


def require_convention(
    file: str, boxes: Boxes, sizes: Sizes, box_format: str, box_unit: str, misfit: float | None = None
) -> None:
    """Holds the declared box convention against the boxes themselves (limits ours).

    Args:
        file: What to call the file.
        boxes: Boxes as the file writes them; shape (n, 4).
        sizes: Sizes of their images.
        box_format: xywh or xyxy, as declared.
        box_unit: pixel or unit, as declared.
        misfit: Share of the boxes that are degenerate or leave their image as declared, if it is known already.

    Raises:
        DataError: Another convention fits the boxes clearly better than the declared one.
    """
    if len(boxes) == 0:
        return
    normalised = normalised_share(boxes) if box_unit == "pixel" else 0.0
    if normalised > NORMALISED_SHARE and float(np.median(sizes)) > 2:
        message = (
            f"declared in pixels, but {normalised:.1%} of {len(boxes)} boxes are fractions of at most 1,"
            f" {(np.abs(boxes).max(axis=1) > 1).mean():.1%} have a value above 1"
        )
        hint = "the boxes look like shares of the image: declare box_unit = unit"
        raise DataError(f"{file}: the boxes do not fit the declared convention", [Problem(file, "", "", message, hint)])
    declared = misfit_share(to_xyxy_px(boxes, sizes, box_format, box_unit), sizes) if misfit is None else misfit
    if declared <= MISFIT_SHARE or declared * len(boxes) < MISFIT_BOXES:
        return
    shares = {
        (other_format, other_unit): misfit_share(to_xyxy_px(boxes, sizes, other_format, other_unit), sizes)
        for other_format in FORMATS
        for other_unit in UNITS
        # shares of an image read as pixels are specks that fit any image: that proves nothing
        if (other_format, other_unit) != (box_format, box_unit)
        and (other_unit == box_unit or box_unit == "pixel" or bool(np.median(np.abs(boxes).max(axis=1)) > 2))
    }
    (best_format, best_unit), best = min(shares.items(), key=lambda row: (row[1], row[0]))
    if declared < MISFIT_TIMES * best:
        return
    message = (
        f"read as {box_format} in {box_unit}s, as declared, {declared:.1%} of {len(boxes)} boxes leave their image or"
        f" are degenerate; read as {best_format} in {best_unit}s, {best:.1%} do"
    )
    hint = f"declare box_format = {best_format}, box_unit = {best_unit} if that is what the publisher uses"
    raise DataError(f"{file}: the boxes do not fit the declared convention", [Problem(file, "", "", message, hint)])


def near_duplicates(boxes: Boxes, group: NDArray[np.int64], rank: NDArray[np.int64]) -> list[tuple[int, int, float]]:
    """Boxes of one group that lie on a box of the same group at IoU >= 0.9.

    A box that lies on several others is listed once, so that n copies give n - 1 rows.

    Args:
        boxes: Boxes with positive sides; shape (n, 4).
        group: What may be compared, such as image and category; shape (n,).
        rank: Orders boxes that are equal; shape (n,).

    Returns:
        Index of the box of the lower rank, of the other one, and their IoU.
    """
    some = _near_another(boxes, group)
    if not len(some):
        return []
    from groundset.geometry import iou_matrix, reaches

    order = some[np.lexsort((rank[some], *boxes[some].T[::-1], group[some]))]
    boxes, group = boxes[order], group[order]
    taken = np.zeros(len(boxes), dtype=bool)
    found: list[tuple[int, int, float]] = []
    # an exact copy of the box before it finds nothing that the first of the copies does not find
    copy = np.append(False, (boxes[1:] == boxes[:-1]).all(axis=1) & (group[1:] == group[:-1]))
    first, step = np.flatnonzero(~copy), 1
    while len(first):
        first = first[first + step < len(boxes)]
        second = first + step
        first = first[(group[first] == group[second]) & _reach(boxes, first, second, 0.0)]
        # nothing is left to find where all the rest of the group has been
        first = first[_last_of_group(group, ~taken)[first] >= first + step]
        second = first + step
        close = _close(boxes, first, second) & ~taken[second]
        one, other = first[close], second[close]
        iou = iou_matrix(boxes[np.stack([one, other], axis=1)])[:, 0, 1]
        near = reaches(iou, NEAR_DUPLICATE_IOU)
        taken[other[near]] = True
        for pair, value in zip(order[np.stack([one, other], axis=1)[near]].tolist(), iou[near].tolist(), strict=True):
            lower, higher = sorted(pair, key=lambda index: int(rank[index]))
            found.append((lower, higher, value))
        step += 1
    return sorted(found)


def _reach(boxes: Boxes, first: Places, second: Places, blur: float) -> NDArray[np.bool_]:
    """Whether `second` begins no further right of `first` than a tenth of its width: no other reaches IoU 0.9."""
    starts = np.take(boxes[:, 0], first)
    limit = _FARTHEST * (np.take(boxes[:, 2], first) - starts) + blur
    within: NDArray[np.bool_] = np.take(boxes[:, 0], second) - starts <= limit
    return within


def _close(boxes: Boxes, first: Places, second: Places) -> NDArray[np.bool_]:
    """Whether no side of `second` is further from that of `first` than a tenth of the larger box."""
    close = np.ones(len(first), dtype=bool)
    one, other = np.take(boxes.T, first, axis=1), np.take(boxes.T, second, axis=1)
    for low, high in ((0, 2), (1, 3)):
        longer = np.maximum(one[high] - one[low], other[high] - other[low])
        limit = _FARTHEST * longer
        close &= np.abs(one[low] - other[low]) <= limit
        close &= np.abs(one[high] - other[high]) <= limit
    return close


def _last_of_group(group: Places, which: NDArray[np.bool_]) -> Places:
    """Place of the last row of its group for which `which` is true, -1 if there is none; the groups are in order."""
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    last = np.maximum.reduceat(np.where(which, np.arange(len(group)), -1), starts)
    return np.repeat(last, np.diff(np.append(starts, len(group))))


def _near_another(boxes: Boxes, group: NDArray[np.int64]) -> Places:
    """Boxes that may lie on another one of their group; in order, and few if few do."""
    near = np.zeros(len(boxes), dtype=bool)
    if len(boxes) == 0:
        return np.flatnonzero(near)
    # one whole number a box, to sort by: its group, then x_min in steps
    if int(group.max()) - int(group.min()) > 2**40:
        _, group = np.unique(group, return_inverse=True)
    group = group - group.min()
    groups = int(group.max()) + 1
    bits = min(max(62 - groups.bit_length() - len(group).bit_length(), 8), 20)
    left = boxes[:, 0] - boxes[:, 0].min()
    scale = (2**bits - 1) / max(float(left.max()), 1.0)
    order = order_of(group * 2**bits + (left * scale).astype(np.int64), groups * 2**bits)
    group = np.take(group, order)
    # boxes of one step of x_min may come in either order
    blur = 2.0 / scale
    first, step = np.flatnonzero(group[1:] == group[:-1]), 1
    while len(first) and step <= _STEPS:
        second = first + step
        within = _reach(boxes, order[first], order[second], blur)
        first, second = first[within], second[within]
        close = _close(boxes, order[first], order[second])
        near[order[first[close]]] = near[order[second[close]]] = True
        step += 1
        first = first[first + step < len(group)]
        first = first[group[first] == group[first + step]]
    if len(first):
        # crowded groups are left to the exact search whole
        near[order[np.isin(group, group[first])]] = True
    return np.flatnonzero(near)
