# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Plans scenes with many things of one class in rows, which dialogues then tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from groundset.miniworld.backdrop import HEIGHT_PX, SETTINGS, WIDTH_PX, backdrop
from groundset.miniworld.chance import Chance
from groundset.miniworld.kinds import KINDS, Kind
from groundset.miniworld.scene import Scene, Thing, fitting_kinds, stand, visible_colours

CLASSES = tuple(sorted({kind.invig for kind in KINDS.values() if kind.category} - {"Elephant"}))

_SETTINGS_OF = {
    "person": ("meadow", "farm", "road", "beach"),
    "vehicle": ("road", "street", "lake"),
    "animal": ("meadow", "farm", "beach", "room"),
    "food": ("table", "cloth"),
}


@dataclass(frozen=True)
class Member:
    """A thing and its row, from 0 at the back."""

    thing: Thing
    row: int


@dataclass(frozen=True)
class Crowd:
    """A scene with its members in the order of the annotation, and the number of its rows."""

    scene: Scene
    members: tuple[Member, ...]
    rows: int
    invig_class: str

    def of_class(self) -> list[int]:
        """Numbers of the members that the first utterance may mean."""
        return [n for n, member in enumerate(self.members) if member.thing.kind.invig == self.invig_class]


def _kinds_there(invig_class: str, setting: str) -> list[Kind]:
    category = next(kind.category for kind in KINDS.values() if kind.invig == invig_class)
    return [kind for kind in fitting_kinds(str(category), setting) if kind.invig == invig_class]


def _settings(invig_class: str) -> list[str]:
    category = next(kind.category for kind in KINDS.values() if kind.invig == invig_class)
    return [setting for setting in _SETTINGS_OF[str(category)] if _kinds_there(invig_class, setting)]


def _chosen(invig_class: str, setting: str, number: int, others: int, chance: Chance) -> list[tuple[Kind, str]]:
    kinds = _kinds_there(invig_class, setting)
    category = str(kinds[0].category)
    # Few colours among many things, so that a colour alone leaves several.
    palette = chance.order("palette", visible_colours(kinds[0], setting))[: chance.whole("colours", 2, 4)]
    wanted = [
        (chance.pick(f"kind {n}", kinds), palette[n] if n < 2 <= len(palette) else chance.pick(f"colour {n}", palette))
        for n in range(number)
    ]
    strangers = [kind for kind in fitting_kinds(category, setting) if kind.invig != invig_class]
    for n in range(others if strangers else 0):
        kind = chance.pick(f"other {n}", strangers)
        wanted.append((kind, chance.pick(f"other colour {n}", visible_colours(kind, setting))))
    return wanted


def plan_crowd(chance: Chance, invig_class: str, number: int, others: int, spread: float = 0.15) -> Crowd:
    """Plans a scene with things in slots that do not touch.

    Args:
        chance: Where choices come from.
        invig_class: Class of the things that the dialogue is about.
        number: How many of them.
        others: How many things of other classes stand among them.
        spread: Share by which a thing may be smaller than its slot allows; the first thing is always that much
            smaller and the second not at all, so that near 1 the area ratio is large.

    Returns:
        The crowd; its members are in an order that tells nothing.
    """
    setting = chance.pick("setting", _settings(invig_class))
    wanted = _chosen(invig_class, setting, number, others, chance)
    rows = 1 if len(wanted) <= 4 else 2 if len(wanted) <= 10 else 3
    columns = math.ceil(len(wanted) / rows)
    top = {1: SETTINGS[setting].ground_top_px - 60, 2: 90.0, 3: 60.0}[rows]
    slot_w, slot_h = (WIDTH_PX - 12) / columns, (HEIGHT_PX - 10 - top) / rows
    slots = chance.order("slots", [(row, column) for row in range(rows) for column in range(columns)])
    members = []
    for n, ((kind, colour), (row, column)) in enumerate(zip(wanted, slots, strict=False)):
        aspect = kind.shape.width / kind.shape.height
        shrink = spread if n == 0 else 0.0 if n == 1 else min(spread, 0.2) * chance.unit(f"size {n}")
        grown = max(other.size for other in KINDS.values() if other.invig == kind.invig)
        height = min(slot_h * 0.9, slot_w * 0.84 / aspect) * (1 - shrink) * kind.size / grown
        slack_x, slack_y = slot_w - height * aspect, slot_h - height
        x = 6 + slot_w * (column + 0.5) + slack_x * chance.between(f"x {n}", -0.4, 0.4)
        foot = top + slot_h * (row + 1) - slack_y * (0.1 + 0.3 * chance.unit(f"y {n}"))
        members.append(Member(stand(kind, colour, x, foot, height, chance, f"{n}"), row))
    ordered = tuple(chance.order("members", members))
    # The ground begins high enough for the back row to stand on it.
    ground_top = min(SETTINGS[setting].ground_top_px, top + slot_h * 0.6)
    scene = Scene(setting, backdrop(setting, chance, ground_top), tuple(member.thing for member in ordered))
    return Crowd(scene, ordered, rows, invig_class)
