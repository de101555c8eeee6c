# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Plans scenes: what stands where, for one complexity and one category, from seed and number alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from groundset import geometry
from groundset.miniworld.backdrop import HEIGHT_PX, SETTINGS, WIDTH_PX, Patch, backdrop
from groundset.miniworld.chance import Chance
from groundset.miniworld.kinds import CATEGORIES, KINDS, Kind

Box = tuple[float, float, float, float]

COMPLEXITIES = ("single", "separated", "overlapping")
CELLS = tuple((complexity, category) for complexity in COMPLEXITIES for category in CATEGORIES)

# The limits of design section 8; scenes keep a little inside them.
SINGLE_SHARE = (0.05, 0.85)
MAX_AREA_RATIO = 20.0
SEPARATED_MAX_OVERLAP = 0.02
OVERLAPPING_MIN_OVERLAP = 0.2
# More than this and a person no longer recognises the thing behind.
_OVERLAPPING_MAX_OVERLAP = 0.4
_MIN_SHARE = 0.012
# How many scenes with several things show one kind only.
_ONE_KIND_SHARE = 0.25
_EDGE_PX = 4.0

_PLACES_OF = {
    "person": ("meadow", "farm", "road", "street", "beach", "room"),
    "vehicle": ("road", "street", "road", "street", "lake"),
    "animal": ("meadow", "farm", "beach", "room"),
    "food": ("table", "cloth"),
}
# What has several colours comes up more often: of an orange one cannot say a colour that tells anything.
_FOOD = (*("apple", "banana", "donut", "carrot", "cake") * 2, "orange", "pizza", "hot dog")
_FITTING = {
    ("food", "table"): _FOOD,
    ("food", "cloth"): _FOOD,
    ("vehicle", "lake"): ("boat",),
    ("vehicle", "road"): ("car", "bus", "truck", "bicycle"),
    ("vehicle", "street"): ("car", "bus", "truck", "bicycle"),
    ("animal", "room"): ("cat", "dog"),
    ("animal", "beach"): ("dog", "horse", "bird"),
    ("animal", "farm"): ("cow", "sheep", "horse", "dog", "cat", "bird"),
}
_BYSTANDERS = {
    "meadow": ("bench", "dog", "man", "woman", "bird", "bicycle"),
    "farm": ("man", "woman", "horse", "cow", "child"),
    "road": ("man", "woman", "dog", "bicycle"),
    "street": ("man", "woman", "child", "dog", "bench", "car"),
    "beach": ("woman", "child", "dog", "bird"),
    "lake": ("boat",),
    "room": ("cat", "dog", "child"),
    "table": ("cup", "cup", "apple"),
    "cloth": ("cup", "cup", "donut"),
}

# Colours that one person calls this and another that; things of one name get others where they can.
_CONFUSED = {
    "red": ("purple", "orange", "pink", "brown"),
    "orange": ("red", "yellow", "brown", "pink"),
    "yellow": ("orange", "green", "white", "pink"),
    "green": ("yellow", "blue"),
    "blue": ("purple", "black", "green", "grey"),
    "purple": ("red", "blue", "black", "pink"),
    "pink": ("red", "orange", "white", "purple", "yellow"),
    "brown": ("red", "orange", "black", "grey"),
    "black": ("blue", "purple", "brown", "grey"),
    "white": ("grey", "yellow", "pink"),
    "grey": ("white", "black", "brown", "blue"),
}


@dataclass(frozen=True)
class Thing:
    """One thing in a scene.

    Attributes:
        kind: What it is.
        colour: Name of its colour.
        bbox_xyxy_px: Full extent of what is drawn, hidden parts included, in pixels with 2 decimals.
        tone: Which skin and hair.
        mirrored: Whether it looks the other way.
        marked: Whether the annotation has it; what is not marked is drawn all the same.
    """

    kind: Kind
    colour: str
    bbox_xyxy_px: Box
    tone: int
    mirrored: bool
    marked: bool = True

    @property
    def centre_px(self) -> tuple[float, float]:
        """Centre of its box."""
        x_min, y_min, x_max, y_max = self.bbox_xyxy_px
        return (x_min + x_max) / 2, (y_min + y_max) / 2

    @property
    def place(self) -> str:
        """Third of the scene that its centre lies in: left, middle or right."""
        return ("left", "middle", "right")[min(2, int(self.centre_px[0] / (WIDTH_PX / 3)))]


@dataclass(frozen=True)
class Scene:
    """A planned scene: where it is and what stands in it."""

    setting: str
    backdrop: tuple[Patch, ...]
    things: tuple[Thing, ...]

    def boxes_of(self, category: str) -> list[Box]:
        """Boxes of one category's things."""
        return [thing.bbox_xyxy_px for thing in self.things if thing.kind.category == category and thing.marked]


def visible_colours(kind: Kind, setting: str) -> list[str]:
    """Colours of the kind that stand out from that ground."""
    return [colour for colour in kind.colours if colour not in SETTINGS[setting].unseen_colours]


def fitting_kinds(category: str, setting: str) -> list[Kind]:
    """Kinds of the category that one may meet there in a colour that stands out."""
    names = _FITTING.get((category, setting), tuple(name for name in KINDS if KINDS[name].category == category))
    return [KINDS[name] for name in names if visible_colours(KINDS[name], setting)]


def stand(kind: Kind, colour: str, x_px: float, foot_px: float, height_px: float, chance: Chance, name: str) -> Thing:
    """A thing of that height on its feet around `x_px`, moved sideways into the scene if it sticks out."""
    width = height_px * kind.shape.width / kind.shape.height
    left = min(max(x_px - width / 2, _EDGE_PX), WIDTH_PX - _EDGE_PX - width)
    box = (round(left, 2), round(foot_px - height_px, 2), round(left + width, 2), round(foot_px, 2))
    return Thing(kind, colour, box, chance.whole(f"{name} tone", 0, 3), chance.unit(f"{name} mirrored") < 0.5)


def _inside(box: Box) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH_PX and box[3] <= HEIGHT_PX


def largest_overlap(boxes: Sequence[Box]) -> float:
    """Largest intersection over the smaller box of all pairs; 0 for fewer than two boxes."""
    if len(boxes) < 2:
        return 0.0
    overlaps = geometry.intersection_over_smaller_matrix(np.array(boxes, dtype=np.float64))
    np.fill_diagonal(overlaps, 0.0)
    return float(overlaps.max())


def complexity_of(boxes: Sequence[Box], width_px: float = WIDTH_PX, height_px: float = HEIGHT_PX) -> str | None:
    """What the boxes of one category make of an image (design section 8); None if it is no clear case."""
    if not boxes:
        return None
    array = np.array(boxes, dtype=np.float64)
    shares = geometry.area(array) / (width_px * height_px)
    if len(boxes) == 1:
        return "single" if SINGLE_SHARE[0] <= float(shares[0]) <= SINGLE_SHARE[1] else None
    if geometry.area_ratio(array) > MAX_AREA_RATIO:
        return None
    overlap = largest_overlap(boxes)
    if overlap <= SEPARATED_MAX_OVERLAP:
        return "separated"
    return "overlapping" if overlap >= OVERLAPPING_MIN_OVERLAP else None


def _clear(scene: Scene, complexity: str, category: str) -> bool:
    boxes = scene.boxes_of(category)
    shares = [(x_max - x_min) * (y_max - y_min) / (WIDTH_PX * HEIGHT_PX) for x_min, y_min, x_max, y_max in boxes]
    return (
        all(_inside(thing.bbox_xyxy_px) for thing in scene.things)
        and min(shares) >= _MIN_SHARE
        and complexity_of(boxes) == complexity
        and largest_overlap(boxes) <= _OVERLAPPING_MAX_OVERLAP
    )


def _foot(setting: str, height_px: float, chance: Chance, name: str) -> float:
    lowest = HEIGHT_PX - 8.0
    return chance.between(f"{name} foot", min(max(SETTINGS[setting].ground_top_px + 14, height_px + 8), lowest), lowest)


def _unit_height(kinds: Sequence[Kind], slot_px: float) -> float:
    fits = min(slot_px * 0.88 / (kind.shape.width / kind.shape.height * _relative(kind)) for kind in kinds)
    return min(fits, *(250 / _relative(kind) for kind in kinds))


def _relative(kind: Kind) -> float:
    # Sizes are drawn closer together than they are, or an elephant would leave a bird no room.
    return math.sqrt(kind.size)


def _one(setting: str, category: str, chance: Chance) -> list[Thing]:
    kind = chance.pick("kind", fitting_kinds(category, setting))
    colour = chance.pick("colour", visible_colours(kind, setting))
    aspect = kind.shape.width / kind.shape.height
    wanted = math.sqrt(chance.between("share", 0.07, 0.17) * WIDTH_PX * HEIGHT_PX / aspect)
    height = min(wanted, 300.0, 240.0 / aspect)
    x = chance.pick("place", (0.24, 0.5, 0.76)) * WIDTH_PX
    return [stand(kind, colour, x, _foot(setting, height, chance, "one"), height, chance, "one")]


def _several_kinds(setting: str, category: str, number: int, chance: Chance) -> list[tuple[Kind, str]]:
    kinds = chance.order("kinds", fitting_kinds(category, setting))
    if chance.unit("mixed") < _ONE_KIND_SHARE and len(visible_colours(kinds[0], setting)) >= number:
        kinds = kinds[:1]
    # Mostly no two things of a name have one colour, so that words can tell them apart.
    alike = chance.unit("alike") < 0.06
    chosen: list[tuple[Kind, str]] = []
    for n in range(number):
        kind = kinds[n % len(kinds)]
        taken = [] if alike else [colour for other, colour in chosen if other.coco == kind.coco]
        colours = chance.order(f"colours {n}", visible_colours(kind, setting))
        chosen.append((kind, min(colours, key=lambda colour: _alikeness(colour, taken))))
    return chosen


def _alikeness(colour: str, others: Sequence[str]) -> int:
    return sum(10 if colour == other else colour in _CONFUSED[other] for other in others)


def _apart(setting: str, category: str, chance: Chance) -> list[Thing]:
    number = chance.pick("number", (2, 2, 3, 3, 4, 5))
    chosen = _several_kinds(setting, category, number, chance)
    slot = (WIDTH_PX - 2 * _EDGE_PX) / number
    unit = _unit_height([kind for kind, _ in chosen], slot)
    # Of one kind some are clearly smaller; persons are not, for a small one would be a child.
    least = 0.55 if category != "person" and len({kind.name for kind, _ in chosen}) == 1 else 0.8
    things = []
    for n, (kind, colour) in enumerate(chosen):
        height = unit * _relative(kind) * chance.between(f"height {n}", least, 1.0)
        x = _EDGE_PX + slot * (n + 0.5)
        things.append(stand(kind, colour, x, _foot(setting, height, chance, f"{n}"), height, chance, f"{n}"))
    return things


def _together(setting: str, category: str, chance: Chance) -> list[Thing]:
    number = chance.pick("number", (2, 2, 2, 3, 3))
    chosen = _several_kinds(setting, category, number, chance)
    # The pair that overlaps stays on one side of the scene, a third thing on the other.
    slot = WIDTH_PX * 0.32
    unit = _unit_height([kind for kind, _ in chosen], slot)
    left = chance.unit("side") < 0.5
    things: list[Thing] = []
    for n, (kind, colour) in enumerate(chosen):
        height = unit * _relative(kind) * chance.between(f"height {n}", 0.85, 1.0)
        if n == 1:
            # The second stands in front of the first and covers part of it.
            x_min, _, x_max, foot = things[0].bbox_xyxy_px
            width = (x_max - x_min + height * kind.shape.width / kind.shape.height) / 2
            x = (x_min + x_max) / 2 + (width if left else -width) * chance.between("shift", 0.6, 0.76)
            foot = min(foot + chance.between("nearer", 6, 26), HEIGHT_PX - 3.0)
        else:
            at = (slot * 0.52 + 6) if n == 0 else WIDTH_PX - slot * 0.6
            x = at if left else WIDTH_PX - at
            foot = min(_foot(setting, height, chance, f"{n}"), HEIGHT_PX - 12.0)
        things.append(stand(kind, colour, x, foot, height, chance, f"{n}"))
    return things


def _bystander(setting: str, category: str, things: Sequence[Thing], chance: Chance) -> list[Thing]:
    options = [KINDS[name] for name in _BYSTANDERS[setting] if KINDS[name].category != category]
    if not options or chance.unit("bystander") > 0.4:
        return []
    kind = chance.pick("bystander kind", options)
    taken = [thing.colour for thing in things if thing.kind.coco == kind.coco]
    colours = chance.order("bystander colours", visible_colours(kind, setting))
    colour = min(colours, key=lambda colour: _alikeness(colour, taken))
    for n in range(8):
        height = chance.between(f"bystander height {n}", 90, 150) * _relative(kind)
        foot = _foot(setting, height, chance, f"bystander {n}")
        x = chance.between(f"bystander x {n}", 30, WIDTH_PX - 30)
        thing = stand(kind, colour, x, foot, height, chance, "bystander")
        pairs = [largest_overlap((thing.bbox_xyxy_px, other.bbox_xyxy_px)) for other in things]
        if max(pairs) <= SEPARATED_MAX_OVERLAP and _inside(thing.bbox_xyxy_px):
            return [thing]
    return []


def plan_scene(seed: str, place: str, complexity: str, category: str) -> Scene:
    """Plans a scene that is a clear case of that complexity for that category's boxes.

    Args:
        seed: Seed of the world.
        place: What the scene is for, such as `scene 12`; another place gives another scene.
        complexity: single, separated or overlapping.
        category: person, vehicle, animal or food.

    Returns:
        A scene of `WIDTH_PX` x `HEIGHT_PX` that meets the limits of design section 8; things of other categories may
        stand beside, apart from all others.
    """
    planners = {"single": _one, "separated": _apart, "overlapping": _together}
    for attempt in count():
        chance = Chance(seed, f"{place} {attempt}")
        setting = chance.pick("setting", _PLACES_OF[category])
        things = planners[complexity](setting, category, chance)
        things += _bystander(setting, category, things, chance)
        scene = Scene(setting, backdrop(setting, chance), tuple(things))
        if _clear(scene, complexity, category):
            return scene
    raise AssertionError("unreachable")


def numbered_scene(seed: str, number: int) -> Scene:
    """Scene `number` of the world, from 0; the cells take turns, so it does not depend on how many there are."""
    complexity, category = CELLS[number % len(CELLS)]
    return plan_scene(seed, f"scene {number}", complexity, category)
