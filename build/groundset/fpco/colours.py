# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The colour word that the pixels of a box clearly deserve, or none.

The rule (ours):

1. Each pixel gets one of eleven words by fixed ranges of hue, saturation and value. Between neighbouring words lie
   gaps: what lies there (skin, beige, cyan, shadow) is `unclear` and speaks against every word.
2. Only the central half of the box in each direction counts: the edges hold background.
3. Of it, pixels that look like the background are taken away. The background is what lies around the box in the
   image, or else the rim of the box.
4. What is left has to be at least a quarter of the centre. The commonest word has to hold half of it and lead the
   next by a quarter. Otherwise there is no colour: a writer then says nothing rather than something false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

WORDS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray")
UNCLEAR = len(WORDS)

MIN_SHARE = 0.5
MIN_MARGIN = 0.25
MIN_FOREGROUND = 0.25
SEEN_SHARE = 0.08

_MAX_SIDE_PX = 96
_RIM = 0.08
_BIN_LEVELS = 8
_BACKGROUND_BIN = 0.04
_BACKGROUND_DISTANCE = 36.0


@dataclass(frozen=True)
class Colour:
    """A measured colour.

    Attributes:
        word: One of `WORDS`.
        share: Share of the object's central pixels that have it, 0 to 1.
        margin: How much that is more than the next word's share.
        seen: Every word that a noticeable share of the pixels has, this one included, in the order of `WORDS`.
    """

    word: str
    share: float
    margin: float
    seen: tuple[str, ...]


def word_indices(pixels: Pixels) -> NDArray[np.int64]:
    """Index into `WORDS` of each pixel's word, `UNCLEAR` between two words.

    Args:
        pixels: uint8 of shape (..., 3), RGB.

    Returns:
        int64 of shape (...).
    """
    rgb = pixels.astype(np.float64) / 255.0
    high, low = rgb.max(axis=-1), rgb.min(axis=-1)
    spread = high - low
    sat = np.divide(spread, high, out=np.zeros_like(high), where=high > 0)
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    scale = np.where(spread > 0, spread, 1.0)
    hue = np.select(
        [spread == 0, high == red, high == green],
        [np.zeros_like(high), ((green - blue) / scale) % 6, (blue - red) / scale + 2],
        (red - green) / scale + 4,
    )
    hue = hue * 60.0

    def between(start: float, end: float) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = (hue >= start) & (hue <= end)
        return inside

    near_red = between(0, 9) | between(349, 360)
    rules = {
        "black": (high <= 0.2) | ((high <= 0.26) & (sat <= 0.3)),
        "white": (high >= 0.87) & (sat <= 0.1),
        "gray": (high >= 0.34) & (high <= 0.74) & (sat <= 0.12),
        "red": near_red & (sat >= 0.6) & (high >= 0.38),
        "orange": between(16, 40) & (sat >= 0.65) & (high >= 0.8),
        "brown": between(10, 42) & (sat >= 0.35) & (high >= 0.26) & (high <= 0.68),
        "yellow": between(44, 66) & (sat >= 0.45) & (high >= 0.62),
        "green": between(80, 165) & (sat >= 0.25) & (high >= 0.24),
        "blue": between(195, 248) & (sat >= 0.35) & (high >= 0.28),
        "purple": between(258, 310) & (sat >= 0.25) & (high >= 0.28),
        "pink": (between(312, 346) & (sat >= 0.2) & (high >= 0.72))
        | ((near_red | between(340, 349)) & (sat >= 0.18) & (sat <= 0.5) & (high >= 0.85)),
    }
    conditions = list(rules.values())
    return np.select(conditions, [WORDS.index(word) for word in rules], UNCLEAR).astype(np.int64)


def dominant_colour(
    pixels: Pixels, background: Pixels | None = None, usable: NDArray[np.bool_] | None = None
) -> Colour | None:
    """The colour of the object that a box holds, by the rule of this module.

    Args:
        pixels: The box's pixels, uint8 of shape (h, w, 3), RGB.
        background: Pixels from around the box, uint8 of shape (n, 3). Without them the rim of the box stands in, and
            a box whose rim and centre are alike is taken as filled by its object.
        usable: Boolean of shape (h, w), False where another object may cover this one; without it all count.

    Returns:
        The colour, or None if no word is clear.
    """
    height, width = pixels.shape[:2]
    if height < 2 or width < 2:
        return None
    rows, columns = _central(height), _central(width)
    centre = pixels[np.ix_(rows, columns)].reshape(-1, 3)
    total = len(centre)
    if usable is not None:
        centre = centre[usable[np.ix_(rows, columns)].reshape(-1)]
    if len(centre) < MIN_FOREGROUND * total:
        return None
    around = _rim(pixels) if background is None else background
    foreground = centre[~_like(centre, _background_colours(around))]
    if len(foreground) < MIN_FOREGROUND * total:
        if background is not None:
            return None
        foreground = centre
    shares = np.bincount(word_indices(foreground), minlength=UNCLEAR + 1) / len(foreground)
    order = np.argsort(-shares[:UNCLEAR], kind="stable")
    share, margin = float(shares[order[0]]), float(shares[order[0]] - shares[order[1]])
    if share < MIN_SHARE or margin < MIN_MARGIN:
        return None
    seen = tuple(word for word, held in zip(WORDS, shares, strict=False) if held >= SEEN_SHARE)
    return Colour(WORDS[int(order[0])], share, margin, seen)


def box_colour(
    image: Pixels,
    bbox_xyxy_px: tuple[float, float, float, float],
    covering_xyxy_px: Sequence[tuple[float, float, float, float]] = (),
) -> Colour | None:
    """The colour of an object in an image, with the background taken from around its box.

    Args:
        image: uint8 of shape (h, w, 3), RGB.
        bbox_xyxy_px: The object's box in pixels; what lies outside the image is cut off.
        covering_xyxy_px: Boxes of other objects that may hide a part of it; their pixels do not count.

    Returns:
        The colour, or None if no word is clear or the box holds no pixels.
    """
    height, width = image.shape[:2]
    x_min, y_min, x_max, y_max = _pixel_box(bbox_xyxy_px, width, height)
    if x_max - x_min < 2 or y_max - y_min < 2:
        return None
    free = _free(width, height, covering_xyxy_px)
    margin = max(2, round(0.08 * max(x_max - x_min, y_max - y_min)))
    around = np.zeros((height, width), dtype=np.bool_)
    around[max(0, y_min - margin) : y_max + margin, max(0, x_min - margin) : x_max + margin] = True
    around[y_min:y_max, x_min:x_max] = False
    inside = (slice(y_min, y_max), slice(x_min, x_max))
    return dominant_colour(image[inside], image[around & free], free[inside])


def central_share(
    image: Pixels,
    bbox_xyxy_px: tuple[float, float, float, float],
    word: str,
    upper_share: float,
    covering_xyxy_px: Sequence[tuple[float, float, float, float]] = (),
) -> float:
    """Share of one colour word in the central half of the upper part of a box, background included.

    Args:
        image: uint8 of shape (h, w, 3), RGB.
        bbox_xyxy_px: The object's box in pixels.
        word: One of `WORDS`.
        upper_share: How much of the box's height counts, from the top.
        covering_xyxy_px: Boxes of other objects that may hide a part of it; their pixels do not count.

    Returns:
        0 to 1; 0 if no pixels count.
    """
    height, width = image.shape[:2]
    x_min, y_min, x_max, y_max = _pixel_box(bbox_xyxy_px, width, height)
    y_max = y_min + round(upper_share * (y_max - y_min))
    if x_max <= x_min or y_max <= y_min:
        return 0.0
    at = np.ix_(y_min + _central(y_max - y_min), x_min + _central(x_max - x_min))
    counted = image[at][_free(width, height, covering_xyxy_px)[at]]
    return float((word_indices(counted) == WORDS.index(word)).mean()) if len(counted) else 0.0


def _free(width: int, height: int, covering_xyxy_px: Sequence[tuple[float, float, float, float]]) -> NDArray[np.bool_]:
    """False where one of the boxes lies; boolean of shape (height, width)."""
    free = np.ones((height, width), dtype=np.bool_)
    for covering in covering_xyxy_px:
        left, top, right, bottom = _pixel_box(covering, width, height)
        free[top:bottom, left:right] = False
    return free


def _pixel_box(box: tuple[float, float, float, float], width: int, height: int) -> tuple[int, int, int, int]:
    x_min, y_min, x_max, y_max = box
    return (
        min(max(round(x_min), 0), width),
        min(max(round(y_min), 0), height),
        min(max(round(x_max), 0), width),
        min(max(round(y_max), 0), height),
    )


def _central(size: int) -> NDArray[np.int64]:
    """Indices of the central half of a side, thinned evenly to at most `_MAX_SIDE_PX`."""
    low, high = size // 4, max(size - size // 4, size // 4 + 1)
    return np.unique(np.linspace(low, high - 1, min(high - low, _MAX_SIDE_PX)).round().astype(np.int64))


def _rim(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    down, across = max(1, round(_RIM * height)), max(1, round(_RIM * width))
    edge = np.ones((height, width), dtype=np.bool_)
    edge[down : height - down, across : width - across] = False
    return pixels[edge]


def _background_colours(around: Pixels) -> NDArray[np.float64]:
    """Mean colours of the well filled cells of a coarse colour grid; float64 of shape (k, 3)."""
    if len(around) == 0:
        return np.zeros((0, 3))
    cells = around.astype(np.int64) * _BIN_LEVELS // 256
    keys = (cells[:, 0] * _BIN_LEVELS + cells[:, 1]) * _BIN_LEVELS + cells[:, 2]
    counts = np.bincount(keys, minlength=_BIN_LEVELS**3)
    common = np.flatnonzero(counts >= _BACKGROUND_BIN * len(around))
    sums = np.stack([np.bincount(keys, around[:, c].astype(np.float64), _BIN_LEVELS**3) for c in range(3)], axis=-1)
    means: NDArray[np.float64] = sums[common] / counts[common][:, None]
    return means


def _like(pixels: Pixels, colours: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each pixel is near one of the colours; boolean of shape (n,)."""
    near = np.zeros(len(pixels), dtype=np.bool_)
    for colour in colours:
        near |= np.linalg.norm(pixels.astype(np.float64) - colour, axis=-1) <= _BACKGROUND_DISTANCE
    return near
