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
from groundset.geometry import Boxes, iou_matrix

FORMATS = ("xywh", "xyxy")
UNITS = ("pixel", "unit")

# all ours: the papers and the publishers give no tolerance
OUTSIDE_PX = 1.0
MISFIT_SHARE = 0.05
MISFIT_TIMES = 10.0
MISFIT_BOXES = 3
NEAR_DUPLICATE_IOU = 0.9

# beyond these nothing is a photograph or a box of one; within them no sum or product can overflow
SIDE_PX = (1.0, 1e6)
COORDINATE = 1e12

Sizes = NDArray[np.float64]


def is_size(width: float | None, height: float | None) -> bool:
    """Whether width and height, in pixels, can be those of a photograph."""
    return all(side is not None and SIDE_PX[0] <= side <= SIDE_PX[1] for side in (width, height))


def box_values(boxes: Sequence[Sequence[float]]) -> Boxes:
    """Boxes as the file writes them; shape (n, 4). Absurd values are cut, so that they stay absurd but finite."""
    values = np.clip(np.array(boxes, dtype=np.float64).reshape(-1, 4), -COORDINATE, COORDINATE)
    return values + 0.0  # one zero, not two


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
    corners = np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]) if box_format == "xywh" else boxes
    return corners * np.hstack([sizes, sizes]) if box_unit == "unit" else corners


def shorter_side(boxes: Boxes) -> NDArray[np.float64]:
    """The shorter side of each box, not positive where the box is degenerate; shape (n,)."""
    sides: NDArray[np.float64] = (boxes[:, 2:] - boxes[:, :2]).min(axis=1, initial=np.inf)
    return sides


def outside_px(boxes: Boxes, sizes: Sizes) -> NDArray[np.float64]:
    """How far each box leaves its image at most, 0 if it does not; shape (n,)."""
    beyond = np.hstack([-boxes, boxes - np.hstack([sizes, sizes])])
    farthest: NDArray[np.float64] = beyond.max(axis=1, initial=0.0)
    return farthest


def misfit_share(boxes: Boxes, sizes: Sizes) -> float:
    """Share of the boxes that are degenerate or leave their image; 0 for no box."""
    if len(boxes) == 0:
        return 0.0
    misfit = (shorter_side(boxes) <= 0) | (outside_px(boxes, sizes) > OUTSIDE_PX)
    return float(misfit.mean())


def _looks_normalised(boxes: Boxes) -> bool:
    return bool((np.abs(boxes) <= 1).all() and (boxes % 1 != 0).any())


def require_convention(file: str, boxes: Boxes, sizes: Sizes, box_format: str, box_unit: str) -> None:
    """Holds the declared box convention against the boxes themselves (limits ours).

    Args:
        file: What to call the file.
        boxes: Boxes as the file writes them; shape (n, 4).
        sizes: Sizes of their images.
        box_format: xywh or xyxy, as declared.
        box_unit: pixel or unit, as declared.

    Raises:
        DataError: Another convention fits the boxes clearly better than the declared one.
    """
    if len(boxes) == 0:
        return
    if box_unit == "pixel" and _looks_normalised(boxes) and bool((sizes > 2).all()):
        message = f"declared in pixels, but none of the {len(boxes)} boxes has a value above 1"
        hint = "the boxes look like shares of the image: declare box_unit = unit"
        raise DataError(f"{file}: the boxes do not fit the declared convention", [Problem(file, "", "", message, hint)])
    shares = {
        (other_format, other_unit): misfit_share(to_xyxy_px(boxes, sizes, other_format, other_unit), sizes)
        for other_format in FORMATS
        for other_unit in UNITS
        # shares of an image read as pixels are specks that fit any image: that proves nothing
        if other_unit == box_unit or box_unit == "pixel" or bool(np.median(np.abs(boxes).max(axis=1)) > 2)
    }
    declared = shares.pop((box_format, box_unit))
    (best_format, best_unit), best = min(shares.items(), key=lambda row: (row[1], row[0]))
    if declared <= MISFIT_SHARE or declared * len(boxes) < MISFIT_BOXES or declared < MISFIT_TIMES * best:
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
    slack = 1.0 - NEAR_DUPLICATE_IOU
    order = np.lexsort((rank, boxes[:, 3], boxes[:, 2], boxes[:, 1], boxes[:, 0], group))
    boxes, group, sides = boxes[order], group[order], boxes[order][:, 2:] - boxes[order][:, :2]
    taken = np.zeros(len(boxes), dtype=bool)
    found = []
    # an exact copy of the box before it finds nothing that the first of the copies does not find
    copy = np.append(False, (boxes[1:] == boxes[:-1]).all(axis=1) & (group[1:] == group[:-1]))
    first, step = np.flatnonzero(~copy), 1
    while len(first):
        # sorted by x_min within the group: a box further right than a tenth of the width cannot reach IoU 0.9
        first = first[first + step < len(boxes)]
        second = first + step
        reaches = boxes[second, 0] - boxes[first, 0] <= slack * sides[first, 0]
        first = first[(group[first] == group[second]) & reaches]
        second = first + step
        limit = slack * np.maximum(sides[first], sides[second])[:, [0, 1, 0, 1]]
        close = (np.abs(boxes[first] - boxes[second]) <= limit * (1 + 1e-9)).all(axis=1) & ~taken[second]
        for one, other in zip(first[close].tolist(), second[close].tolist(), strict=True):
            iou = float(iou_matrix(boxes[[one, other]])[0, 1])
            if iou >= NEAR_DUPLICATE_IOU:
                taken[other] = True
                pair = sorted((int(order[one]), int(order[other])), key=lambda index: int(rank[index]))
                found.append((pair[0], pair[1], iou))
        step += 1
    return sorted(found)
