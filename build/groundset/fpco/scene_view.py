# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A scene as the template writer sees it: what may be called what, where it is, and which colour it has."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundset import geometry
from groundset.fpco.colours import Colour, box_colour, central_share, tells_colours
from groundset.fpco.lexicon import Lexicon
from groundset.fpco.phrasebook import Phrasebook, Place
from groundset.fpco.places import BoxPx, perhaps_at, surely_at, surely_number
from groundset.fpco.reading import same_noun
from groundset.fpco.sizes import surely_larger

# One object that its source labels twice; the limit of design section 8.
SAME_OBJECT_IOU = 0.9
# Upper shares of a person's box, and the share of the colour that their middle has to hold (ours): first the body
# without the feet, then head and chest, where the face takes its part.
_CLOTHES = ((0.8, 0.45), (0.6, 0.2))
# How flat the colour of clothes has to be. A box does not tell clothes from skin, hair and what is held: in 12
# photographs the flattest person had 0.47, and words for them were often wrong; drawn ones have 0.56 and more. So of
# people in photographs no colour is said.
_FLAT_CLOTHES = 0.52


@dataclass(frozen=True)
class SceneObject:
    """One object of the image; the box is in pixels of the stored image."""

    object_id: str
    label: str
    category: str | None
    bbox_xyxy_px: tuple[float, float, float, float]


@dataclass(frozen=True)
class WriterInput:
    """What a dialogue is written from.

    Attributes:
        dialogue_id: `<image_id>-<category>-<false_class>`.
        item_id: `<image_id>-<category>`.
        image_id: The image.
        category: person, vehicle, animal or food.
        complexity: single, separated or overlapping.
        false_class: identity, attribute or location.
        width: Width of the image in pixels.
        height: Height of the image in pixels.
        target: The object that the questions are about.
        others: Every other object of the image, of any category; groups and crowds too.
    """

    dialogue_id: str
    item_id: str
    image_id: str
    category: str
    complexity: str
    false_class: str
    width: int
    height: int
    target: SceneObject
    others: tuple[SceneObject, ...]


@dataclass(frozen=True)
class Description:
    """What is said of one object, true or false.

    Attributes:
        noun: A canonical word.
        size: large or small beside the others of its noun, or nothing.
        colour: A measured colour, or nothing.
        place: A place of the image or an order, or nothing.
        phrase: Which of the place's phrases is said.
        clothed: Whether the colour is that of clothes.
        rivals: How many others the noun may mean; a size without a place is a comparison with them.
    """

    noun: str
    size: str | None
    colour: str | None
    place: Place | None
    phrase: int
    clothed: bool
    rivals: int

    @property
    def details(self) -> int:
        """How many things it tells."""
        return 1 + sum(detail is not None for detail in (self.size, self.colour, self.place))

    @property
    def compares(self) -> bool:
        """Whether it says that there are others."""
        return (self.size is not None and self.place is None) or (self.place is not None and self.place.is_order)

    def text(self) -> str:
        """The referring expression."""
        noun = self.noun
        if self.colour is not None:
            noun = f"{noun} in {self.colour}" if self.clothed else f"{self.colour} {noun}"
        if self.size is not None:
            noun = f"{self._size_word(self.size)} {noun}"
        return f"the {noun}" if self.place is None else f"the {noun} {self.place.phrases[self.phrase]}"

    def _size_word(self, size: str) -> str:
        if self.place is not None:
            return size
        return {"large": "larg", "small": "small"}[size] + ("er" if self.rivals == 1 else "est")


class SceneView:
    """The scene with what has been measured in it; colours are measured when first asked for."""

    def __init__(
        self, scene: WriterInput, pixels: NDArray[np.uint8], noun: str, lexicon: Lexicon, book: Phrasebook
    ) -> None:
        self.scene, self.pixels, self.noun = scene, pixels, noun
        self.lexicon, self.book = lexicon, book
        self.is_person = "person" in lexicon.ancestors(noun)
        self.others = tuple(other for other in scene.others if not self._is_target(other))
        self.rivals = tuple(other for other in self.others if self.may_be_called(noun, other.label))
        self._colours: dict[str, Colour | None] = {}

    def _is_target(self, other: SceneObject) -> bool:
        boxes = np.array([self.scene.target.bbox_xyxy_px, other.bbox_xyxy_px], dtype=np.float64)
        same_place = bool(geometry.iou_matrix(boxes)[0, 1] >= SAME_OBJECT_IOU)
        return same_place and self.may_be_called(self.noun, other.label)

    def may_be_called(self, noun: str, label: str) -> bool:
        """Whether an object of that label might be called by the noun."""
        relation = self.lexicon.relation(noun, label)
        if relation == "unknown" and self.lexicon.canonical(label) is None:
            return any(same_noun(a, b, self.lexicon) for a in noun.split() for b in label.split())
        return relation != "incompatible"

    def is_figure(self, noun: str) -> bool:
        """Whether a canonical word means what only has the shape of a person."""
        return "figure" in self.lexicon.ancestors(noun)

    @functools.cached_property
    def _tells_colours(self) -> bool:
        return tells_colours(self.pixels)

    def colour(self, thing: SceneObject) -> Colour | None:
        """Its measured colour, or None."""
        if thing.object_id not in self._colours:
            rest = (self.scene.target, *self.others)
            covering = [other.bbox_xyxy_px for other in rest if other != thing and not self._holds(other, thing)]
            found = box_colour(self.pixels, thing.bbox_xyxy_px, covering) if self._tells_colours else None
            if found is not None and self._is_dressed(thing) and not self._is_clad(thing, found, covering):
                found = None
            self._colours[thing.object_id] = found
        return self._colours[thing.object_id]

    def _is_dressed(self, thing: SceneObject) -> bool:
        noun = self.lexicon.canonical(thing.label)
        return noun is not None and "person" in self.lexicon.ancestors(noun)

    def _is_clad(self, person: SceneObject, found: Colour, covering: Sequence[BoxPx]) -> bool:
        """Whether the colour is that of the chest too: white over black is not "in black", whatever is left of it."""
        return found.flat >= _FLAT_CLOTHES and all(
            central_share(self.pixels, person.bbox_xyxy_px, found.word, upper_share, covering) >= least
            for upper_share, least in _CLOTHES
        )

    @staticmethod
    def _holds(outer: SceneObject, inner: SceneObject) -> bool:
        """Whether a box lies in another one, as food on a table does: then the other one hides nothing of it."""
        boxes = np.array([outer.bbox_xyxy_px, inner.bbox_xyxy_px], dtype=np.float64)
        areas = geometry.area(boxes)
        overlap = geometry.intersection_over_smaller_matrix(boxes)[0, 1]
        return bool(areas[0] >= areas[1] and overlap >= SAME_OBJECT_IOU)

    def sure_places(self) -> list[Place]:
        """Every place that the target surely has in the image, or among what its noun may mean."""
        box, width, height = self.scene.target.bbox_xyxy_px, self.scene.width, self.scene.height
        rivals = [other.bbox_xyxy_px for other in self.rivals]
        return [
            *(place for place in self.book.places.values() if surely_at(place.name, box, width, height)),
            *(order for order in self.book.orders if surely_number(order.before, order.side, box, rivals, width)),
        ]

    def sure_size(self) -> str | None:
        """Large or small, if the target surely is so beside all that its noun may mean and there is one."""
        for size in ("large", "small"):
            if self.rivals and not any(self._perhaps_sized(size, other) for other in self.rivals):
                return size
        return None

    def perhaps(self, place: Place, thing: SceneObject) -> bool:
        """Whether the thing may be said to be at the place; an order is the target's own, if it is surely so."""
        if place.is_order:
            return thing == self.scene.target
        return perhaps_at(place.name, thing.bbox_xyxy_px, self.scene.width, self.scene.height)

    def _perhaps_sized(self, size: str, other: SceneObject) -> bool:
        """Whether another object may be said to have the size, beside the target."""
        boxes = (self.scene.target.bbox_xyxy_px, other.bbox_xyxy_px)
        larger, smaller = boxes if size == "large" else boxes[::-1]
        return not surely_larger(larger, smaller, self.scene.width, self.scene.height)

    def may_mean(self, description: Description, other: SceneObject) -> bool:
        """Whether somebody might take another object for the described one."""
        if not self.may_be_called(description.noun, other.label):
            return False
        if description.place is not None and not self.perhaps(description.place, other):
            return False
        if description.size is not None and other in self.rivals and not self._perhaps_sized(description.size, other):
            return False
        if description.colour is None:
            return True
        measured = self.colour(other)
        if measured is None or description.colour in measured.seen:
            return True
        return description.colour not in self.lexicon.colours[measured.word]

    def points_elsewhere(self, description: Description) -> bool:
        """Whether another object might be meant."""
        return any(self.may_mean(description, other) for other in self.others)
