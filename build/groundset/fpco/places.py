# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Where in the image a box is, said twice: what is surely so, and what somebody might still call so.

The limits are ours. A description is only written if it surely holds of the target and nobody would say it of another
object; between the two lies what is left unsaid. Every function takes a box in pixels and the image's size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

BoxPx = tuple[float, float, float, float]

# A side holds a box whose centre lies well in it and that hardly reaches over the middle line.
_SURE_CENTRE = 0.38
_SURE_REACH = 0.55
# What is said to be at the top or bottom also comes near that edge.
_SURE_EDGE = 0.2
# What is near the edge lies wholly in that part.
_EDGE_NEAR = 0.05
_EDGE_REACH = 0.35
# Somebody might still speak of a side if the centre is not clearly on the other, or a part reaches far into it.
_LOOSE_CENTRE = 0.52
_LOOSE_REACH = 0.25


def _sure_low(low: float, high: float) -> bool:
    return (low + high) / 2 <= _SURE_CENTRE and high <= _SURE_REACH


def _loose_low(low: float, high: float) -> bool:
    return (low + high) / 2 <= _LOOSE_CENTRE or low <= _LOOSE_REACH


def _sure_high(low: float, high: float) -> bool:
    return _sure_low(1 - high, 1 - low)


def _loose_high(low: float, high: float) -> bool:
    return _loose_low(1 - high, 1 - low)


def _at_edge(low: float, high: float) -> bool:
    return _sure_low(low, high) and low <= _SURE_EDGE


def _sure_middle(box: BoxPx) -> bool:
    x0, y0, x1, y1 = box
    return 0.4 <= (x0 + x1) / 2 <= 0.6 and 0.3 <= (y0 + y1) / 2 <= 0.7 and x0 >= 0.2 and x1 <= 0.8


def _loose_middle(box: BoxPx) -> bool:
    x0, y0, x1, y1 = box
    return x0 < 0.65 and x1 > 0.35 and y0 < 0.75 and y1 > 0.25


def _sure_corner(box: BoxPx) -> bool:
    x0, y0, x1, y1 = box
    return (x1 <= 0.3 or x0 >= 0.7) and (y1 <= 0.35 or y0 >= 0.65)


def _loose_corner(box: BoxPx) -> bool:
    x0, y0, x1, y1 = box
    return (x0 <= 0.3 or x1 >= 0.7) and (y0 <= 0.35 or y1 >= 0.65)


def _sure_foreground(box: BoxPx) -> bool:
    # What fills a good part of the image and stands at its lower border has nothing but itself before it.
    x0, y0, x1, y1 = box
    return y1 >= 0.93 and y1 - y0 >= 0.5 and (x1 - x0) * (y1 - y0) >= 0.2


def _loose_foreground(box: BoxPx) -> bool:
    x0, y0, x1, y1 = box
    return y1 >= 0.6 or (x1 - x0) * (y1 - y0) >= 0.05


_SURE: Mapping[str, Callable[[BoxPx], bool]] = {
    "left": lambda box: _sure_low(box[0], box[2]),
    "left edge": lambda box: _sure_low(box[0], box[2]) and box[0] <= _EDGE_NEAR and box[2] <= _EDGE_REACH,
    "right edge": lambda box: _sure_high(box[0], box[2]) and box[2] >= 1 - _EDGE_NEAR and box[0] >= 1 - _EDGE_REACH,
    "foreground": _sure_foreground,
    "background": lambda _: False,
    "right": lambda box: _sure_high(box[0], box[2]),
    "top": lambda box: _at_edge(box[1], box[3]),
    "bottom": lambda box: _at_edge(1 - box[3], 1 - box[1]),
    "middle": _sure_middle,
    "corner": _sure_corner,
    "upper left": lambda box: _sure_low(box[0], box[2]) and _sure_low(box[1], box[3]),
    "upper right": lambda box: _sure_high(box[0], box[2]) and _sure_low(box[1], box[3]),
    "lower left": lambda box: _sure_low(box[0], box[2]) and _sure_high(box[1], box[3]),
    "lower right": lambda box: _sure_high(box[0], box[2]) and _sure_high(box[1], box[3]),
}
_LOOSE: Mapping[str, Callable[[BoxPx], bool]] = {
    "left": lambda box: _loose_low(box[0], box[2]),
    "left edge": lambda box: _loose_low(box[0], box[2]) and box[0] <= _LOOSE_REACH,
    "right edge": lambda box: _loose_high(box[0], box[2]) and box[2] >= 1 - _LOOSE_REACH,
    "foreground": _loose_foreground,
    "background": lambda box: not _sure_foreground(box),
    "right": lambda box: _loose_high(box[0], box[2]),
    "top": lambda box: _loose_low(box[1], box[3]),
    "bottom": lambda box: _loose_high(box[1], box[3]),
    "middle": _loose_middle,
    "corner": _loose_corner,
    "upper left": lambda box: _loose_low(box[0], box[2]) and _loose_low(box[1], box[3]),
    "upper right": lambda box: _loose_high(box[0], box[2]) and _loose_low(box[1], box[3]),
    "lower left": lambda box: _loose_low(box[0], box[2]) and _loose_high(box[1], box[3]),
    "lower right": lambda box: _loose_high(box[0], box[2]) and _loose_high(box[1], box[3]),
}
NAMES = tuple(_SURE)


def _shares(bbox_xyxy_px: BoxPx, width_px: float, height_px: float) -> BoxPx:
    x_min, y_min, x_max, y_max = bbox_xyxy_px
    return x_min / width_px, y_min / height_px, x_max / width_px, y_max / height_px


def surely_at(place: str, bbox_xyxy_px: BoxPx, width_px: float, height_px: float) -> bool:
    """Whether nobody would deny that the box is at the place of the image.

    >>> surely_at("left", (10.0, 10.0, 40.0, 90.0), 100.0, 100.0)
    True
    """
    return _SURE[place](_shares(bbox_xyxy_px, width_px, height_px))


def perhaps_at(place: str, bbox_xyxy_px: BoxPx, width_px: float, height_px: float) -> bool:
    """Whether somebody might say that the box is at the place of the image; true of all that surely is.

    >>> perhaps_at("left", (40.0, 10.0, 60.0, 90.0), 100.0, 100.0)
    True
    """
    return _LOOSE[place](_shares(bbox_xyxy_px, width_px, height_px))


# How far apart two boxes have to be, in shares of the image's width, for anybody to see which is farther out.
_ORDER_EDGE = 0.02
_ORDER_CENTRE = 0.05
_ORDER_MOST_OTHERS = 5


def surely_before(side: str, bbox_xyxy_px: BoxPx, other_xyxy_px: BoxPx, width_px: float) -> bool:
    """Whether anybody can see that the first box lies farther to the left or right than the other.

    >>> surely_before("left", (0.0, 0.0, 20.0, 20.0), (50.0, 0.0, 70.0, 20.0), 100.0)
    True
    """
    first, second = bbox_xyxy_px, other_xyxy_px
    sign, edge = (1, 0) if side == "left" else (-1, 2)
    between_edges = sign * (second[edge] - first[edge]) / width_px
    between_centres = sign * (second[0] + second[2] - first[0] - first[2]) / (2 * width_px)
    return between_edges >= _ORDER_EDGE and between_centres >= _ORDER_CENTRE


def surely_number(
    before: int, side: str, bbox_xyxy_px: BoxPx, others_xyxy_px: Sequence[BoxPx], width_px: float
) -> bool:
    """Whether so many of the others surely lie farther out on a side than the box, and all the rest surely do not.

    Of few objects an order from one side sounds odd: there have to be two more than lie before it, or one for none. Of
    many nobody sees it, and sources tend to miss some.
    """
    if len(others_xyxy_px) > _ORDER_MOST_OTHERS:
        return False
    outer = sum(surely_before(side, other, bbox_xyxy_px, width_px) for other in others_xyxy_px)
    inner = sum(surely_before(side, bbox_xyxy_px, other, width_px) for other in others_xyxy_px)
    return outer == before and outer + inner == len(others_xyxy_px) and inner >= (2 if before else 1)
