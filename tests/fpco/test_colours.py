# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Measured colours on made patches: clear ones are named, unclear ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco.colours import WORDS, Pixels, box_colour, central_share, dominant_colour, oklab, tells_colours

CLEAR = {
    "red": (208, 30, 36),
    "orange": (242, 132, 28),
    "yellow": (246, 212, 36),
    "green": (38, 140, 58),
    "blue": (34, 84, 200),
    "purple": (122, 52, 158),
    "pink": (240, 130, 178),
    "brown": (124, 76, 40),
    "black": (30, 30, 32),
    "white": (246, 246, 244),
    "gray": (134, 136, 140),
}
SKY, GRASS, SAND = (190, 222, 240), (150, 200, 120), (222, 204, 160)
NAMES = st.sampled_from(WORDS)
GROUNDS = st.sampled_from([SKY, GRASS, SAND])


def patch(height: int, width: int, rgb: tuple[int, int, int]) -> Pixels:
    return np.full((height, width, 3), rgb, dtype=np.uint8)


def far_apart(first: tuple[int, int, int], second: tuple[int, int, int]) -> bool:
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) > 60**2


@given(NAMES, st.integers(2, 40), st.integers(2, 40))
def test_a_plain_patch_has_its_colour(word: str, height: int, width: int) -> None:
    found = dominant_colour(patch(height, width, CLEAR[word]))
    assert found is not None
    assert (found.word, found.share, found.margin, found.seen) == (word, 1.0, 1.0, (word,))


@given(NAMES, st.integers(0, 10**6), st.integers(1, 6))
def test_noise_does_not_change_it(word: str, seed: int, strength: int) -> None:
    noise = np.random.default_rng(seed).integers(-strength, strength + 1, (24, 24, 3))
    pixels = np.clip(patch(24, 24, CLEAR[word]).astype(np.int64) + noise, 0, 255).astype(np.uint8)
    found = dominant_colour(pixels)
    assert found is not None
    assert found.word == word


@given(NAMES, GROUNDS, st.integers(10, 30), st.integers(10, 30), st.integers(6, 30), st.integers(6, 30))
def test_an_object_on_a_ground(
    word: str, ground: tuple[int, int, int], x: int, y: int, width: int, height: int
) -> None:
    image = patch(80, 80, ground)
    image[y : y + height, x : x + width] = CLEAR[word]
    found = box_colour(image, (x, y, x + width, y + height))
    assert found is None or found.word == word
    if far_apart(CLEAR[word], ground):
        assert found is not None


@given(NAMES, GROUNDS, st.floats(0.1, 0.9))
def test_a_thin_object_never_gets_the_ground_s_colour(word: str, ground: tuple[int, int, int], share: float) -> None:
    image = patch(80, 80, ground)
    image[20:60, 20 : 20 + max(1, round(40 * share / 4))] = CLEAR[word]
    found = box_colour(image, (20, 20, 60, 60))
    assert found is None or found.word == word


@given(NAMES, NAMES)
def test_two_halves_have_no_colour(first: str, second: str) -> None:
    image = patch(60, 60, GRASS)
    image[10:50, 10:30], image[10:50, 30:50] = CLEAR[first], CLEAR[second]
    found = box_colour(image, (10, 10, 50, 50))
    if first != second:
        assert found is None
    else:
        assert found is None or found.word == first


@given(st.lists(st.integers(0, 255), min_size=12, max_size=300), st.integers(1, 12))
def test_any_pixels_give_a_word_or_none(values: list[int], width: int) -> None:
    height = max(1, len(values) // (3 * width))
    pixels = np.resize(np.array(values, dtype=np.uint8), (height, width, 3))
    found = dominant_colour(pixels)
    if found is not None:
        assert found.word in found.seen
        assert 0.5 <= found.share <= 1
        assert 0.25 <= found.margin <= found.share


@pytest.mark.parametrize(
    "rgb",
    [(250, 214, 182), (232, 186, 146), (214, 166, 130), (210, 190, 160), (60, 180, 190), (75, 60, 58), (205, 205, 205)],
)
def test_skin_beige_cyan_and_shadow_have_no_word(rgb: tuple[int, int, int]) -> None:
    assert dominant_colour(patch(20, 20, rgb)) is None


def test_what_covers_an_object_does_not_count() -> None:
    image = patch(100, 100, GRASS)
    image[20:80, 20:80] = CLEAR["red"]
    image[20:80, 20:55] = CLEAR["blue"]
    hidden = box_colour(image, (20, 20, 80, 80), [(20, 20, 55, 80)])
    assert hidden is not None
    assert hidden.word == "red"
    assert box_colour(image, (20, 20, 80, 80), [(0, 0, 70, 100)]) is None


def test_a_second_colour_is_seen() -> None:
    image = patch(100, 100, GRASS)
    image[20:80, 20:80] = CLEAR["white"]
    image[40:50, 20:80] = CLEAR["black"]
    found = box_colour(image, (20, 20, 80, 80))
    assert found is not None
    assert (found.word, found.seen) == ("white", ("black", "white"))


@pytest.mark.parametrize(
    "box", [(0, 0, 0, 0), (-50, -50, -10, -10), (90, 90, 200, 200), (10, 10, 11, 50), (50, 50, 20, 20)]
)
def test_boxes_without_pixels(box: tuple[float, float, float, float]) -> None:
    image = patch(60, 60, CLEAR["red"])
    assert box_colour(image, box) is None
    assert central_share(image, box, "red", 0.1) in (0.0, 1.0)


def test_the_upper_part_is_looked_at_alone() -> None:
    image = patch(100, 100, CLEAR["white"])
    image[50:] = CLEAR["black"]
    assert central_share(image, (0, 0, 100, 100), "black", 1.0) == pytest.approx(0.5)
    assert central_share(image, (0, 0, 100, 100), "black", 0.5) == 0.0


def test_oklab_of_what_its_author_lists() -> None:
    white, red = oklab(np.array([[255, 255, 255], [255, 0, 0]], dtype=np.uint8))
    assert white == pytest.approx([1.0, 0.0, 0.0], abs=1e-3)
    assert red == pytest.approx([0.628, 0.225, 0.126], abs=1e-3)


def test_what_is_flat() -> None:
    plain = dominant_colour(patch(40, 40, CLEAR["red"]))
    folds = patch(40, 40, CLEAR["red"])
    folds[::3], folds[1::3] = (170, 24, 30), (228, 44, 52)
    folded = dominant_colour(folds)
    assert plain is not None
    assert folded is not None
    assert plain.flat == 1.0
    assert folded.flat < 0.5


def scene_of_many_colours() -> Pixels:
    image = patch(60, 60, SKY)
    image[30:], image[35:50, 10:25], image[35:50, 35:50] = GRASS, CLEAR["red"], CLEAR["blue"]
    return image


def test_gray_tinted_dark_and_washed_out_images_tell_no_colours() -> None:
    image = scene_of_many_colours()
    assert tells_colours(image)
    gray = np.repeat(image.mean(axis=-1, keepdims=True), 3, axis=-1)
    assert not tells_colours(gray.astype(np.uint8))
    assert not tells_colours((gray * [1.0, 0.85, 0.65]).astype(np.uint8)), "sepia"
    assert not tells_colours(image // 4)
    assert not tells_colours(np.full((60, 60, 3), 253, dtype=np.uint8))


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (2, 2)])
def test_tiny_images_can_be_asked(size: tuple[int, int]) -> None:
    assert tells_colours(patch(*size, CLEAR["red"])) in (True, False)


def test_nothing_is_black_in_the_dark() -> None:
    lit, unlit = patch(80, 80, GRASS), patch(80, 80, (50, 50, 70))
    for image in (lit, unlit):
        image[20:60, 20:60] = CLEAR["black"]
    found = box_colour(lit, (20, 20, 60, 60))
    assert found is not None
    assert found.word == "black"
    assert box_colour(unlit, (20, 20, 60, 60)) is None
