# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Draws a planned scene with Pillow: fixed polygons, no fonts, the same bytes every time."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw

from groundset.miniworld.backdrop import HEIGHT_PX, WIDTH_PX
from groundset.miniworld.primitives import COLOURS, FIXED, Colour, Point
from groundset.miniworld.scene import Scene, Thing

JPEG_QUALITY = 88
# Drawn larger and reduced, so that edges are smooth.
_OVERSAMPLE = 2
_SKINS: tuple[Colour, ...] = ((250, 214, 182), (232, 186, 146), (176, 122, 84), (118, 78, 54))
_HAIRS: tuple[Colour, ...] = ((60, 42, 30), (24, 22, 24), (150, 102, 50), (226, 190, 110))


def _mixed(first: Colour, second: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def _rgb(fill: str, thing: Thing) -> Colour:
    main = COLOURS[thing.colour]
    match fill:
        case "main":
            return main
        case "shade":
            return _mixed(main, (0, 0, 0), 0.15)
        case "light":
            return _mixed(main, (255, 255, 255), 0.3)
        case "patch":
            return _mixed(main, (255, 255, 255) if sum(main) < 380 else (0, 0, 0), 0.75)
        case "skin":
            return _SKINS[thing.tone]
        case "hair":
            return _HAIRS[thing.tone]
        case "hole":
            return (120, 84, 56)
        case _:
            return FIXED[fill]


def placed(points: Sequence[Point], thing: Thing) -> list[Point]:
    """Points of a thing's shape in pixels of the scene."""
    x_min, y_min, x_max, y_max = thing.bbox_xyxy_px
    shape = thing.kind.shape
    across, down = (x_max - x_min) / shape.width, (y_max - y_min) / shape.height
    if thing.mirrored:
        return [(x_max - x * across, y_min + y * down) for x, y in points]
    return [(x_min + x * across, y_min + y * down) for x, y in points]


def draw(scene: Scene) -> Image.Image:
    """The scene as an RGB image of `WIDTH_PX` x `HEIGHT_PX`; nearer things (lower feet) cover farther ones."""
    image = Image.new("RGB", (WIDTH_PX * _OVERSAMPLE, HEIGHT_PX * _OVERSAMPLE))
    pencil = ImageDraw.Draw(image)

    def fill(points: Sequence[Point], rgb: Colour) -> None:
        pencil.polygon([(x * _OVERSAMPLE, y * _OVERSAMPLE) for x, y in points], fill=rgb)

    for patch in scene.backdrop:
        fill(patch.points, patch.rgb)
    for thing in sorted(scene.things, key=lambda thing: thing.bbox_xyxy_px[3]):
        for part in thing.kind.shape.parts:
            fill(placed(part.points, thing), _rgb(part.fill, thing))
    return image.reduce(_OVERSAMPLE)


def jpeg(image: Image.Image, orientation: int | None = None) -> bytes:
    """The image as a JPEG file, with an EXIF orientation if one is given."""
    buffer = io.BytesIO()
    exif = Image.Exif()
    if orientation is not None:
        exif[0x0112] = orientation
    image.save(buffer, "JPEG", quality=JPEG_QUALITY, exif=exif)
    return buffer.getvalue()
