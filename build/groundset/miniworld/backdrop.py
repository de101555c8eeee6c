# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Where scenes take place: sky and ground with a few simple things that nobody annotates."""

from __future__ import annotations

from dataclasses import dataclass

from groundset.miniworld.chance import Chance
from groundset.miniworld.primitives import Colour, Part, Point, bar, ellipse, polygon, rectangle

WIDTH_PX, HEIGHT_PX = 480, 360


@dataclass(frozen=True)
class Patch:
    """A filled polygon in pixels of the scene."""

    rgb: Colour
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Setting:
    """A kind of place.

    Attributes:
        name: Its name, as a person would say it.
        ground_top_px: Nothing stands above this line.
        unseen_colours: Colours that cannot be told from this ground.
        words: How a person says that something is there.
    """

    name: str
    ground_top_px: float
    unseen_colours: tuple[str, ...]
    words: str


SETTINGS: dict[str, Setting] = {
    "meadow": Setting("meadow", 170, ("green",), "on the grass"),
    "farm": Setting("farm", 170, ("green",), "on the grass"),
    "road": Setting("road", 210, ("grey", "black"), "on the road"),
    "street": Setting("street", 210, ("grey", "black"), "on the road"),
    "beach": Setting("beach", 190, ("yellow",), "on the sand"),
    "lake": Setting("lake", 160, ("blue", "green"), "on the water"),
    "room": Setting("room", 200, ("brown", "orange"), "on the floor"),
    "table": Setting("table", 190, ("brown",), "on the table"),
    "cloth": Setting("cloth", 190, ("white", "blue"), "on the tablecloth"),
}

_SKY: Colour = (206, 230, 248)
_FIELD: Colour = (156, 204, 124)
_TARMAC: Colour = (150, 152, 158)
_PAINT: dict[str, Colour] = {
    "crown": (72, 132, 68),
    "trunk": (132, 100, 72),
    "cloud": (240, 246, 250),
    "sun": (250, 232, 150),
    "barn": (186, 120, 104),
    "roof": (140, 96, 88),
    "wall": (226, 216, 198),
    "pane": (178, 200, 214),
    "kerb": (206, 204, 200),
    "line": (232, 232, 226),
    "fence": (214, 200, 176),
}


def _box(rgb: Colour, x_min: float, y_min: float, x_max: float, y_max: float) -> Patch:
    return Patch(rgb, rectangle("", x_min, y_min, x_max, y_max).points)


def _painted(*parts: Part) -> tuple[Patch, ...]:
    return tuple(Patch(_PAINT[part.fill], part.points) for part in parts)


def _tree(x: float, foot: float, size: float) -> tuple[Patch, ...]:
    return _painted(
        rectangle("trunk", x - 6 * size, foot - 60 * size, x + 6 * size, foot),
        ellipse("crown", x - 20 * size, foot - 70 * size, 24 * size, 22 * size),
        ellipse("crown", x + 20 * size, foot - 70 * size, 24 * size, 22 * size),
        ellipse("crown", x, foot - 90 * size, 28 * size, 26 * size),
    )


def _house(x: float, foot: float, width: float, height: float) -> tuple[Patch, ...]:
    panes = tuple(
        rectangle("pane", x + width * at, foot - height * 0.7, x + width * (at + 0.2), foot - height * 0.35)
        for at in (0.15, 0.6)
    )
    return _painted(
        rectangle("wall", x, foot - height, x + width, foot),
        polygon("roof", (x - 8, foot - height), (x + width / 2, foot - height * 1.5), (x + width + 8, foot - height)),
        *panes,
    )


def _sky(chance: Chance) -> tuple[Patch, ...]:
    sun, cloud = chance.between("sun", 40, 440), chance.between("cloud", 60, 420)
    return (
        _box(_SKY, 0, 0, WIDTH_PX, HEIGHT_PX),
        *_painted(
            ellipse("sun", sun, 36, 20, 20),
            ellipse("cloud", cloud - 24, 62, 26, 12),
            ellipse("cloud", cloud + 22, 62, 30, 13),
            ellipse("cloud", cloud, 52, 24, 14),
        ),
    )


def _outdoors(name: str, top: float, chance: Chance) -> tuple[Patch, ...]:
    tree = chance.between("tree", 30, 450)
    if name == "lake":
        shore = (*_sky(chance), _box(_FIELD, 0, top - 30, WIDTH_PX, top), *_tree(tree, top - 8, 0.7))
        waves = tuple(
            Patch((170, 208, 232), bar("", (x, y), (x + 40, y), 3).points)
            for x, y in ((30, 200), (330, 190), (180, 240), (410, 262), (60, 290), (270, 320), (130, 345))
        )
        return (*shore, _box((128, 184, 220), 0, top, WIDTH_PX, HEIGHT_PX), *waves)
    if name == "beach":
        return (
            *_sky(chance),
            _box((128, 184, 220), 0, top - 50, WIDTH_PX, top - 20),
            _box((236, 222, 184), 0, top - 20, WIDTH_PX, HEIGHT_PX),
        )
    if name in ("road", "street"):
        built = (
            tuple(
                patch for n in range(3) for patch in _house(20 + 160 * n, top - 40, 110, chance.between(f"{n}", 50, 80))
            )
            if name == "street"
            else _tree(tree, top - 30, 0.9)
        )
        kerb = _PAINT["kerb"] if name == "street" else _FIELD
        dashes = tuple(_box(_PAINT["line"], 20 + 120 * n, 284, 80 + 120 * n, 290) for n in range(4))
        return (
            *_sky(chance),
            _box(_FIELD, 0, top - 60, WIDTH_PX, top - 30),
            _box(kerb, 0, top - 40, WIDTH_PX, top - 10),
            *built,
            _box(_TARMAC, 0, top - 10, WIDTH_PX, HEIGHT_PX),
            *dashes,
        )
    grass = (*_sky(chance), _box(_FIELD, 0, top - 30, WIDTH_PX, HEIGHT_PX))
    if name == "farm":
        barn = chance.pick("barn", (24.0, 190.0, 340.0))
        fence = tuple(_box(_PAINT["fence"], 0, y, WIDTH_PX, y + 4) for y in (top - 26, top - 16))
        return (
            *grass,
            *_painted(
                rectangle("barn", barn, top - 90, barn + 110, top - 26),
                polygon("roof", (barn - 8, top - 90), (barn + 55, top - 126), (barn + 118, top - 90)),
                rectangle("roof", barn + 40, top - 66, barn + 70, top - 26),
            ),
            *fence,
        )
    return (*grass, *_tree(tree, top - 10, chance.between("size", 0.8, 1.1)))


def _indoors(name: str, top: float, chance: Chance) -> tuple[Patch, ...]:
    wall = chance.pick("wall", ((232, 226, 214), (216, 226, 222), (228, 220, 230)))
    window = chance.pick("window", (40.0, 190.0, 340.0))
    pane = (
        _box((246, 246, 244), window, 24, window + 100, 104),
        _box(_SKY, window + 6, 30, window + 47, 98),
        _box(_SKY, window + 53, 30, window + 94, 98),
    )
    ground: Colour = {"room": (206, 178, 144), "table": (204, 168, 124), "cloth": (214, 226, 240)}[name]
    edge: Colour = {"room": (240, 236, 228), "table": (160, 120, 80), "cloth": (184, 200, 222)}[name]
    return (
        _box(wall, 0, 0, WIDTH_PX, HEIGHT_PX),
        *pane,
        _box(ground, 0, top - 20, WIDTH_PX, HEIGHT_PX),
        _box(edge, 0, top - 26, WIDTH_PX, top - 20),
    )


def backdrop(name: str, chance: Chance, ground_top_px: float | None = None) -> tuple[Patch, ...]:
    """The place called `name`, from back to front, covering the whole scene.

    Args:
        name: A key of `SETTINGS`.
        chance: Where choices come from.
        ground_top_px: Where the ground begins; the setting's own line if None.
    """
    top = SETTINGS[name].ground_top_px if ground_top_px is None else ground_top_px
    return _indoors(name, top, chance) if name in ("room", "table", "cloth") else _outdoors(name, top, chance)
