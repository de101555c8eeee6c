# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Every planned scene is a clear case of its complexity, and depends on seed and number alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import geometry
from groundset.miniworld.backdrop import HEIGHT_PX, SETTINGS, WIDTH_PX
from groundset.miniworld.kinds import CATEGORIES, KINDS
from groundset.miniworld.scene import CELLS, Scene, complexity_of, numbered_scene


def _shares(boxes: np.ndarray) -> np.ndarray:
    return geometry.area(boxes) / (WIDTH_PX * HEIGHT_PX)


def _worst_overlap(boxes: np.ndarray) -> float:
    matrix = geometry.intersection_over_smaller_matrix(boxes)
    return max((float(matrix[a, b]) for a, b in itertools.combinations(range(len(boxes)), 2)), default=0.0)


def _of(scene: Scene, category: str) -> np.ndarray:
    return np.array([thing.bbox_xyxy_px for thing in scene.things if thing.kind.category == category])


@settings(max_examples=60, deadline=None)
@given(seed=st.text(max_size=8), number=st.integers(0, 5000))
def test_scene_meets_the_limits_of_its_cell(seed: str, number: int) -> None:
    complexity, category = CELLS[number % 12]
    scene = numbered_scene(seed, number)
    boxes = _of(scene, category)
    shares, overlap = _shares(boxes), _worst_overlap(boxes)

    assert shares.min() >= 0.01
    if complexity == "single":
        assert len(boxes) == 1
        assert 0.05 <= shares[0] <= 0.85
    else:
        assert 2 <= len(boxes) <= 15
        assert geometry.area_ratio(boxes) <= 20
        assert overlap <= 0.02 if complexity == "separated" else overlap >= 0.2


@settings(max_examples=40, deadline=None)
@given(seed=st.text(max_size=8), number=st.integers(0, 5000))
def test_things_lie_in_the_picture_and_stand_out(seed: str, number: int) -> None:
    scene = numbered_scene(seed, number)
    for thing in scene.things:
        x_min, y_min, x_max, y_max = thing.bbox_xyxy_px
        assert 0 <= x_min < x_max <= WIDTH_PX
        assert 0 <= y_min < y_max <= HEIGHT_PX
        assert thing.bbox_xyxy_px == tuple(round(edge, 2) for edge in thing.bbox_xyxy_px)
        assert thing.colour in thing.kind.colours
        assert thing.colour not in SETTINGS[scene.setting].unseen_colours


def test_scene_follows_from_seed_and_number() -> None:
    assert numbered_scene("a", 7) == numbered_scene("a", 7)
    assert numbered_scene("a", 7) != numbered_scene("b", 7)
    assert numbered_scene("a", 7) != numbered_scene("a", 19)


def test_scenes_show_every_category_in_many_kinds_and_colours() -> None:
    things = [thing for number in range(240) for thing in numbered_scene("variety", number).things]
    assert {thing.kind.name for thing in things} == set(KINDS)
    for category in CATEGORIES:
        assert len({thing.colour for thing in things if thing.kind.category == category}) >= 5
    assert {thing.place for thing in things} == {"left", "middle", "right"}


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ([], None),
        ([(0, 0, 100, 100)], "single"),
        ([(0, 0, 50, 50)], None),
        ([(0, 0, 480, 360)], None),
        ([(0, 0, 100, 100), (200, 0, 300, 100)], "separated"),
        ([(0, 0, 100, 100), (98, 0, 198, 100)], "separated"),
        ([(0, 0, 100, 100), (90, 0, 190, 100)], None),
        ([(0, 0, 100, 100), (80, 0, 180, 100)], "overlapping"),
        ([(0, 0, 100, 100), (200, 0, 220, 25)], "separated"),
        ([(0, 0, 100, 100), (200, 0, 220, 24)], None),
    ],
)
def test_complexity_at_its_limits(boxes: list[tuple[float, float, float, float]], expected: str | None) -> None:
    assert complexity_of(boxes) == expected
