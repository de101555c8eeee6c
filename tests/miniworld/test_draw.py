# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Shapes fill their frame, and what is drawn fills its box."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from groundset.miniworld.backdrop import HEIGHT_PX, WIDTH_PX
from groundset.miniworld.chance import Chance
from groundset.miniworld.draw import draw, jpeg
from groundset.miniworld.kinds import KINDS
from groundset.miniworld.primitives import COLOURS, extent
from groundset.miniworld.scene import Scene, numbered_scene, stand


@pytest.mark.parametrize("name", sorted(KINDS))
def test_shape_fills_its_frame(name: str) -> None:
    shape = KINDS[name].shape
    assert extent(shape) == pytest.approx((0, 0, shape.width, shape.height))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_drawn_pixels_end_where_the_box_ends(name: str) -> None:
    thing = stand(KINDS[name], KINDS[name].colours[0], 240, 330, 150, Chance("draw", name), "thing")
    alone = np.asarray(draw(Scene("meadow", (), (thing,)))).max(axis=2)
    rows, columns = np.flatnonzero(alone.max(axis=1)), np.flatnonzero(alone.max(axis=0))
    drawn = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    assert drawn == pytest.approx(thing.bbox_xyxy_px, abs=2)


@pytest.mark.parametrize("name", sorted(name for name, kind in KINDS.items() if kind.category and name != "bicycle"))
def test_own_colour_is_seen_in_the_box(name: str) -> None:
    kind = KINDS[name]
    thing = stand(kind, kind.colours[0], 240, 330, 150, Chance("draw", name), "thing")
    x_min, y_min, x_max, y_max = (round(edge) for edge in thing.bbox_xyxy_px)
    pixels = np.asarray(draw(Scene("meadow", (), (thing,))))[y_min:y_max, x_min:x_max].reshape(-1, 3)
    near = np.abs(pixels.astype(int) - COLOURS[thing.colour]).max(axis=1) < 10
    assert near.mean() > 0.12


def test_jpeg_is_a_picture_of_the_declared_size_and_the_same_every_time() -> None:
    scene = numbered_scene("draw", 4)
    picture = jpeg(draw(scene))
    assert picture == jpeg(draw(scene))
    with Image.open(io.BytesIO(picture)) as opened:
        assert (opened.format, opened.size, opened.mode) == ("JPEG", (WIDTH_PX, HEIGHT_PX), "RGB")


def test_mirrored_thing_keeps_its_box() -> None:
    things = {
        thing.mirrored: thing
        for n in range(20)
        for thing in [stand(KINDS["car"], "red", 240, 300, 90, Chance("mirror", str(n)), "thing")]
    }
    assert set(things) == {False, True}
    assert things[False].bbox_xyxy_px == things[True].bbox_xyxy_px
    straight, turned = (np.asarray(draw(Scene("road", (), (things[side],)))) for side in (False, True))
    assert not np.array_equal(straight, turned)
    assert np.abs(straight.astype(int) - turned[:, ::-1]).mean() < 3
