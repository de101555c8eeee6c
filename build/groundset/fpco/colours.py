# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The colour word that the pixels of a box clearly deserve, or none.

The rule (ours):

1. Each pixel gets one of eleven words by fixed ranges of lightness, chroma and hue in Oklab (Ottosson 2020), in which
   equal distances look about equal. Between neighbouring words lie gaps: what lies there (skin, beige, cyan, shadow) is
   `unclear` and speaks against every word.
2. Only the central half of the box in each direction counts: the edges hold background.
3. Of it, pixels that look like the background are taken away. The background is what lies around the box in the
   image, or else the rim of the box.
4. What is left has to be at least a quarter of the centre. The commonest word has to hold half of it and lead the
   next by a quarter. Otherwise there is no colour: a writer then says nothing rather than something false.
5. An image tells no colours if it is gray, tinted in one hue, dark or washed out; and nothing is black in the dark.
"""

from __future__ import annotations

import functools
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

_MAX_SIDE_PX = 64
_MOST_AROUND = 4096
_RIM = 0.08
_BIN_LEVELS = 8
_BACKGROUND_BIN = 0.04
_BACKGROUND_DISTANCE = 0.06
# What is flat lies this near to its commonest colour; folds, fur and shadows do not.
_FLAT_DISTANCE = 0.03
# Of an image that tells colours: some pixels are that colourful and not all of one hue, and light is neither lacking
# nor all there is.
_COLOURFUL = 0.03
_TINT_CHROMA, _TINT_HUE_DEGREES, _TINT_SHARE = 0.02, 15.0, 0.99
_DARK_LIGHTNESS, _WASHED_OUT_LIGHTNESS = 0.45, 0.95
_LIT_LIGHTNESS = 0.4
# Colours are looked up by the six highest bits of each channel; the gaps between words are wider than such a step.
_STEP_BITS = 2
_LEVELS = 256 >> _STEP_BITS
# Linear sRGB to the cone responses of Oklab, and their cube roots to L, a, b (Ottosson, "A perceptual color space").
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@dataclass(frozen=True)
class Colour:
    """A measured colour.

    Attributes:
        word: One of `WORDS`.
        share: Share of the object's central pixels that have it, 0 to 1.
        margin: How much that is more than the next word's share.
        flat: Share of the object's central pixels that are nearly of one shade of it.
        seen: Every word that a noticeable share of the pixels has, this one included, in the order of `WORDS`.
    """

    word: str
    share: float
    margin: float
    flat: float
    seen: tuple[str, ...]


def oklab(pixels: Pixels) -> NDArray[np.float64]:
    """Lightness (0 to 1), a and b of sRGB pixels.

    Args:
        pixels: uint8 of shape (..., 3), RGB.

    Returns:
        float64 of shape (..., 3).
    """
    encoded = pixels.astype(np.float64) / 255.0
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _TO_CONES.T) @ _TO_LAB.T)


def _words_of(lab: NDArray[np.float64]) -> NDArray[np.int64]:
    light, chroma = lab[..., 0], np.hypot(lab[..., 1], lab[..., 2])
    hue = np.degrees(np.arctan2(lab[..., 2], lab[..., 1])) % 360

    def between(start: float, end: float) -> NDArray[np.bool_]:
        return np.asarray((hue >= start) & (hue <= end))

    rules = {
        "black": ((light <= 0.3) & (chroma <= 0.03)) | (light <= 0.18),
        "white": (light >= 0.9) & (chroma <= 0.02),
        "gray": (light >= 0.45) & (light <= 0.76) & (chroma <= 0.02),
        "red": between(14, 36) & (chroma >= 0.13) & (light >= 0.4) & (light <= 0.64),
        "orange": between(46, 69) & (chroma >= 0.13) & (light >= 0.62),
        "brown": between(40, 75) & (chroma >= 0.045) & (chroma <= 0.115) & (light >= 0.3) & (light <= 0.53),
        "yellow": between(84, 112) & (chroma >= 0.12) & (light >= 0.72),
        "green": between(122, 166) & (chroma >= 0.07) & (light >= 0.35),
        "blue": between(236, 278) & (chroma >= 0.07) & (light >= 0.3) & (light <= 0.76),
        "purple": between(292, 322) & (chroma >= 0.07) & (light >= 0.3) & (light <= 0.66),
        "pink": ((between(338, 360) | between(0, 12)) & (chroma >= 0.07) & (light >= 0.66))
        | (between(12, 24) & (chroma >= 0.06) & (chroma <= 0.13) & (light >= 0.72)),
    }
    return np.select(list(rules.values()), [WORDS.index(word) for word in rules], UNCLEAR).astype(np.int64)


@functools.cache
def _tables() -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Word and Oklab of the middle of every cell, in the order of `_cells`."""
    steps = ((np.arange(_LEVELS) << _STEP_BITS) + (1 << _STEP_BITS >> 1)).astype(np.uint8)
    lab = oklab(np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3))
    return _words_of(lab).astype(np.uint8), lab.astype(np.float32)


def _cells(pixels: Pixels) -> NDArray[np.int64]:
    cells = (pixels >> _STEP_BITS).astype(np.int64)
    return np.asarray((cells[..., 0] * _LEVELS + cells[..., 1]) * _LEVELS + cells[..., 2])


def word_indices(pixels: Pixels) -> NDArray[np.int64]:
    """Index into `WORDS` of each pixel's word, `UNCLEAR` between two words.

    Args:
        pixels: uint8 of shape (..., 3), RGB.

    Returns:
        int64 of shape (...).
    """
    return _tables()[0][_cells(pixels)].astype(np.int64)


def tells_colours(image: Pixels) -> bool:
    """Whether colours can be read off an image at all: not if it is gray, tinted, dark or washed out (rule 5).

    Args:
        image: uint8 of shape (h, w, 3), RGB.
    """
    rows, columns = (
        np.unique(np.linspace(0, side - 1, min(side, _MAX_SIDE_PX)).round().astype(np.int64))
        for side in image.shape[:2]
    )
    lab = _tables()[1][_cells(image[np.ix_(rows, columns)])].reshape(-1, 3)
    chroma = np.hypot(lab[:, 1], lab[:, 2])
    if np.quantile(lab[:, 0], 0.9) < _DARK_LIGHTNESS or np.quantile(lab[:, 0], 0.1) > _WASHED_OUT_LIGHTNESS:
        return False
    if np.quantile(chroma, 0.95) < _COLOURFUL:
        return False
    tinted = lab[chroma >= _TINT_CHROMA, 1:]
    unit = tinted / np.hypot(tinted[:, :1], tinted[:, 1:])
    mean = unit.mean(axis=0)
    length = float(np.hypot(*mean))
    if length == 0:
        return True
    near = unit @ (mean / length) >= np.cos(np.radians(_TINT_HUE_DEGREES))
    return bool(len(tinted) < 0.5 * len(lab) or near.mean() < _TINT_SHARE)


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
    words = word_indices(foreground)
    shares = np.bincount(words, minlength=UNCLEAR + 1) / len(foreground)
    order = np.argsort(-shares[:UNCLEAR], kind="stable")
    share, margin = float(shares[order[0]]), float(shares[order[0]] - shares[order[1]])
    if share < MIN_SHARE or margin < MIN_MARGIN:
        return None
    word = WORDS[int(order[0])]
    if (
        word == "black"
        and background is not None
        and len(around)
        and np.median(_tables()[1][_cells(around), 0]) < _LIT_LIGHTNESS
    ):
        return None
    seen = tuple(word for word, held in zip(WORDS, shares, strict=False) if held >= SEEN_SHARE)
    return Colour(word, share, margin, _flat_share(foreground[words == order[0]]) * share, seen)


def _flat_share(pixels: Pixels) -> float:
    """Share of pixels near the commonest of their colours."""
    lab = _tables()[1][_cells(pixels)]
    cells = _coarse(pixels)
    commonest = lab[cells == np.argmax(np.bincount(cells))].mean(axis=0)
    return float((np.linalg.norm(lab - commonest, axis=-1) <= _FLAT_DISTANCE).mean())


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
    margin = max(2, round(0.08 * max(x_max - x_min, y_max - y_min)))
    left, top = max(0, x_min - margin), max(0, y_min - margin)
    right, bottom = min(width, x_max + margin), min(height, y_max + margin)
    free = _free((left, top, right, bottom), covering_xyxy_px)
    around = free.copy()
    inside = (slice(y_min - top, y_max - top), slice(x_min - left, x_max - left))
    around[inside] = False
    window = image[top:bottom, left:right]
    background = window[around]
    return dominant_colour(window[inside], background[:: len(background) // _MOST_AROUND + 1], free[inside])


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
    window = _free((x_min, y_min, x_max, y_max), covering_xyxy_px)
    counted = image[at][window[_central(y_max - y_min)[:, None], _central(x_max - x_min)]]
    return float((word_indices(counted) == WORDS.index(word)).mean()) if len(counted) else 0.0


def _free(
    window: tuple[int, int, int, int], covering_xyxy_px: Sequence[tuple[float, float, float, float]]
) -> NDArray[np.bool_]:
    """False where one of the boxes lies; boolean of the shape of the window (x_min, y_min, x_max, y_max)."""
    x_min, y_min, x_max, y_max = window
    free = np.ones((y_max - y_min, x_max - x_min), dtype=np.bool_)
    for covering in covering_xyxy_px:
        left, top, right, bottom = _pixel_box(covering, x_max, y_max)
        free[max(top - y_min, 0) : max(bottom - y_min, 0), max(left - x_min, 0) : max(right - x_min, 0)] = False
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


def _coarse(pixels: Pixels) -> NDArray[np.int64]:
    """Cell of each pixel in a coarse colour grid."""
    cells = pixels.astype(np.int64) * _BIN_LEVELS // 256
    return np.asarray((cells[:, 0] * _BIN_LEVELS + cells[:, 1]) * _BIN_LEVELS + cells[:, 2])


def _background_colours(around: Pixels) -> NDArray[np.float64]:
    """Mean Oklab colours of the well filled cells of a coarse colour grid; float64 of shape (k, 3)."""
    if len(around) == 0:
        return np.zeros((0, 3))
    keys, lab = _coarse(around), _tables()[1][_cells(around)]
    counts = np.bincount(keys, minlength=_BIN_LEVELS**3)
    common = np.flatnonzero(counts >= _BACKGROUND_BIN * len(around))
    sums = np.stack([np.bincount(keys, lab[:, c], _BIN_LEVELS**3) for c in range(3)], axis=-1)
    means: NDArray[np.float64] = sums[common] / counts[common][:, None]
    return means


def _like(pixels: Pixels, colours: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each pixel is near one of the Oklab colours; boolean of shape (n,)."""
    if len(colours) == 0:
        return np.zeros(len(pixels), dtype=np.bool_)
    # Of the many pixels only a few hundred differ, as far as the table goes.
    cells, back = np.unique(_cells(pixels), return_inverse=True)
    apart = np.linalg.norm(_tables()[1][cells][:, None, :] - colours.astype(np.float32), axis=-1)
    return np.asarray((apart.min(axis=1) <= _BACKGROUND_DISTANCE)[back])
