# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of thing in the miniature world: its shape, its colours and its name in each source."""

from __future__ import annotations

from dataclasses import dataclass

from groundset.miniworld.lifeless_shapes import LIFELESS
from groundset.miniworld.living_shapes import LIVING
from groundset.miniworld.primitives import Shape

CATEGORIES = ("person", "vehicle", "animal", "food")


@dataclass(frozen=True)
class Kind:
    """A kind of thing.

    Attributes:
        name: Our own word.
        category: person, vehicle, animal or food; None for a cup or a bench.
        coco: COCO's category name.
        open_images: Open Images' class name.
        invig: The class that an InViG dialogue names; the same for man, woman and child.
        colours: Names of the colours that it comes in.
        size: Height over that of a grown person, where both stand side by side.
    """

    name: str
    category: str | None
    coco: str
    open_images: str
    invig: str
    colours: tuple[str, ...]
    size: float

    @property
    def shape(self) -> Shape:
        """Its polygons."""
        return LIVING[self.name] if self.name in LIVING else LIFELESS[self.name]


# No pink, brown or white: too near to skin and to walls.
_CLOTHES = ("red", "blue", "yellow", "purple", "orange", "black", "green")
_PAINTS = ("red", "blue", "yellow", "orange", "white", "black", "green", "purple")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("man", "person", "person", "Man", "Person", _CLOTHES, 1.0),
        Kind("woman", "person", "person", "Woman", "Person", _CLOTHES, 0.95),
        Kind("child", "person", "person", "Boy", "Person", _CLOTHES, 0.62),
        Kind("car", "vehicle", "car", "Car", "Car", _PAINTS, 0.75),
        Kind("bus", "vehicle", "bus", "Bus", "Bus", _PAINTS, 1.2),
        Kind("truck", "vehicle", "truck", "Truck", "Truck", _PAINTS, 1.2),
        Kind("bicycle", "vehicle", "bicycle", "Bicycle", "Bicycle", _PAINTS, 0.7),
        Kind("boat", "vehicle", "boat", "Boat", "Boat", ("red", "yellow", "orange", "white", "black", "purple"), 1.4),
        Kind("dog", "animal", "dog", "Dog", "Dog", ("brown", "black", "white", "grey"), 0.5),
        Kind("cat", "animal", "cat", "Cat", "Cat", ("black", "orange", "grey", "white"), 0.45),
        Kind("horse", "animal", "horse", "Horse", "Horse", ("brown", "black", "white", "grey"), 1.1),
        Kind("bird", "animal", "bird", "Bird", "Bird", ("red", "blue", "yellow", "black", "white"), 0.35),
        Kind("cow", "animal", "cow", "Cattle", "Cattle", ("brown", "black", "white"), 0.85),
        Kind("sheep", "animal", "sheep", "Sheep", "Sheep", ("white", "grey", "brown"), 0.6),
        Kind("elephant", "animal", "elephant", "Elephant", "Elephant", ("grey",), 1.5),
        Kind("apple", "food", "apple", "Apple", "Apple", ("red", "green", "yellow"), 0.5),
        Kind("orange", "food", "orange", "Orange", "Orange", ("orange",), 0.5),
        Kind("banana", "food", "banana", "Banana", "Banana", ("yellow", "green"), 0.4),
        Kind("pizza", "food", "pizza", "Pizza", "Pizza", ("yellow",), 0.8),
        Kind("donut", "food", "donut", "Doughnut", "Doughnut", ("pink", "white", "brown", "blue"), 0.5),
        Kind("carrot", "food", "carrot", "Carrot", "Carrot", ("orange", "purple"), 0.3),
        Kind("cake", "food", "cake", "Cake", "Cake", ("pink", "white", "yellow", "blue"), 0.8),
        Kind("hot dog", "food", "hot dog", "Hot dog", "Hot dog", ("brown",), 0.4),
        Kind("cup", None, "cup", "Coffee cup", "Coffee cup", ("red", "blue", "white", "green"), 0.4),
        Kind("bench", None, "bench", "Bench", "Bench", ("brown", "blue", "red"), 0.45),
    )
}
