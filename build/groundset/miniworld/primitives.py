# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What the shapes of the miniature world are made of: colours, and filled polygons in a frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]
Colour = tuple[int, int, int]

COLOURS: dict[str, Colour] = {
    "red": (208, 30, 36),
    "orange": (242, 132, 28),
    "yellow": (246, 212, 36),
    "green": (38, 140, 58),
    "blue": (34, 84, 200),
    "purple": (122, 52, 158),
    "pink": (240, 130, 178),
    "brown": (124, 76, 40),
    "black": (38, 38, 42),
    "white": (246, 246, 244),
    "grey": (134, 136, 140),
}

# What keeps its colour whatever the thing's own colour is.
FIXED: dict[str, Colour] = {
    "ink": (26, 26, 30),
    "snow": (250, 250, 250),
    "steel": (176, 180, 188),
    "glass": (190, 222, 240),
    "lamp": (255, 226, 120),
    "rose": (238, 164, 170),
    "beak": (240, 150, 30),
    "leaf": (58, 150, 56),
    "wood": (112, 72, 40),
    "crust": (196, 138, 74),
    "sauce": (188, 40, 32),
    "cream": (252, 240, 214),
    "mustard": (244, 206, 50),
}


@dataclass(frozen=True)
class Part:
    """A filled polygon; `fill` is main, shade, light (the thing's own colour), skin, hair or a name of `FIXED`."""

    fill: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Shape:
    """Parts from back to front, whose common extent is exactly 0, 0, width, height."""

    width: float
    height: float
    parts: tuple[Part, ...]


def polygon(fill: str, *points: Point) -> Part:
    """A polygon."""
    return Part(fill, points)


def rectangle(fill: str, x_min: float, y_min: float, x_max: float, y_max: float) -> Part:
    """An upright rectangle."""
    return Part(fill, ((x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)))


def _arc(x: float, y: float, rx: float, ry: float, steps: int = 24) -> tuple[Point, ...]:
    # Whole quarter turns are put in exactly, so that the extent is exactly the radius.
    corners = {0: (1.0, 0.0), 1: (0.0, 1.0), 2: (-1.0, 0.0), 3: (0.0, -1.0)}
    points = []
    for step in range(steps):
        turn = 2 * math.pi * step / steps
        cos, sin = corners[4 * step // steps] if 4 * step % steps == 0 else (math.cos(turn), math.sin(turn))
        points.append((x + rx * cos, y + ry * sin))
    return tuple(points)


def ellipse(fill: str, x: float, y: float, rx: float, ry: float) -> Part:
    """An ellipse around x, y."""
    return Part(fill, _arc(x, y, rx, ry))


def ring(fill: str, x: float, y: float, r: float, width: float) -> Part:
    """A circle's rim of this width, as one polygon with a seam."""
    outer, inner = _arc(x, y, r, r), _arc(x, y, r - width, r - width)
    return Part(fill, (*outer, outer[0], inner[0], *reversed(inner)))


def bar(fill: str, start: Point, end: Point, width: float) -> Part:
    """A straight bar between two points."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    dx, dy = (y0 - y1) / length * width / 2, (x1 - x0) / length * width / 2
    return polygon(fill, (x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy))


def wheel(x: float, y: float, r: float) -> tuple[Part, ...]:
    """A tyre and its hub."""
    return ellipse("ink", x, y, r, r), ellipse("steel", x, y, r * 0.5, r * 0.5)


def face(x: float, y: float, scale: float) -> tuple[Part, ...]:
    """Two eyes and a mouth; x, y lies between the eyes."""
    return (
        ellipse("ink", x - 5 * scale, y, 1.5 * scale, 1.8 * scale),
        ellipse("ink", x + 5 * scale, y, 1.5 * scale, 1.8 * scale),
        rectangle("sauce", x - 4 * scale, y + 6 * scale, x + 4 * scale, y + 7.5 * scale),
    )


def extent(shape: Shape) -> tuple[float, float, float, float]:
    """Smallest x, smallest y, largest x and largest y of all parts."""
    xs = [x for part in shape.parts for x, _ in part.points]
    ys = [y for part in shape.parts for _, y in part.points]
    return min(xs), min(ys), max(xs), max(ys)
