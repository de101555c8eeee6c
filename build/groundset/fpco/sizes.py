# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether one object is surely larger than another one of its kind, as far as two boxes can tell.

The limits are ours. A box is only as large as what is seen of the object: one that the image cuts off, or that touches
another, tells nothing. Nor does a larger box that stands lower in the image, for that object may just be nearer.
"""

from __future__ import annotations

from groundset.fpco.places import BoxPx

MIN_AREA_RATIO = 1.8
MIN_SIDE_RATIO = 1.15
# In shares of the image: how far the larger one may stand below the smaller, and what counts as the image's edge.
_MAX_NEARER = 0.02
_EDGE = 0.004


def surely_larger(bbox_xyxy_px: BoxPx, other_xyxy_px: BoxPx, width_px: float, height_px: float) -> bool:
    """Whether nobody would deny that the first object is larger than the other.

    >>> surely_larger((10.0, 10.0, 50.0, 50.0), (60.0, 30.0, 80.0, 50.0), 100.0, 100.0)
    True
    >>> surely_larger((10.0, 10.0, 50.0, 50.0), (60.0, 10.0, 80.0, 30.0), 100.0, 100.0)
    False
    """
    a, b = bbox_xyxy_px, other_xyxy_px
    if any(_is_cut_off(box, width_px, height_px) for box in (a, b)):
        return False
    if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
        return False
    width, height, other_width, other_height = a[2] - a[0], a[3] - a[1], b[2] - b[0], b[3] - b[1]
    return (
        width * height >= MIN_AREA_RATIO * other_width * other_height
        and width >= MIN_SIDE_RATIO * other_width
        and height >= MIN_SIDE_RATIO * other_height
        and a[3] - b[3] <= _MAX_NEARER * height_px
    )


def _is_cut_off(box: BoxPx, width_px: float, height_px: float) -> bool:
    across, down = _EDGE * width_px, _EDGE * height_px
    return box[0] < across or box[1] < down or box[2] > width_px - across or box[3] > height_px - down
