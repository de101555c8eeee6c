# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A scene as the template writer sees it: what may be called what, where it is, and which colour it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundset import geometry
from groundset.fpco.colours import Colour, box_colour, central_share
from groundset.fpco.lexicon import Lexicon
from groundset.fpco.phrasebook import Phrasebook, Place
from groundset.fpco.places import BoxPx, perhaps_at, surely_at, surely_farthest
from groundset.fpco.reading import same_noun

# One object that its source labels twice; the limit of design section 8.
SAME_OBJECT_IOU = 0.9
# Upper shares of a person's box, and the share of the colour that their middle has to hold (ours): first the body
# without the feet, then head and chest, where the face takes its part.
_CLOTHES = ((0.8, 0.45), (0.6, 0.2))


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
    """Noun, colour and place of one object, true or false."""

    noun: str
    colour: str | None
    place: Place | None
    clothed: bool

    def text(self) -> str:
        """The referring expression."""
        noun = self.noun
        if self.colour is not None:
            noun = f"{noun} in {self.colour}" if self.clothed else f"{self.colour} {noun}"
        if self.place is not None:
            return f"the {noun} {self.place.phrase}"
        return f"the {noun}" if self.colour is not None else f"the {noun} in the image"


class SceneView:
    """The scene with what has been measured in it; colours are measured when first asked for."""

    def __init__(
        self, scene: WriterInput, pixels: NDArray[np.uint8], noun: str, lexicon: Lexicon, book: Phrasebook
    ) -> None:
        self.scene, self.pixels, self.noun = scene, pixels, noun
        self.lexicon, self.book = lexicon, book
        self.is_person = "person" in lexicon.ancestors(noun)
        self.others = tuple(other for other in scene.others if not self._is_target(other))
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

    def colour(self, thing: SceneObject) -> Colour | None:
        """Its measured colour, or None."""
        if thing.object_id not in self._colours:
            rest = (self.scene.target, *self.others)
            covering = [other.bbox_xyxy_px for other in rest if other != thing and not self._holds(other, thing)]
            found = box_colour(self.pixels, thing.bbox_xyxy_px, covering)
            if found is not None and self._is_dressed(thing) and not self._is_clad(thing, found.word, covering):
                found = None
            self._colours[thing.object_id] = found
        return self._colours[thing.object_id]

    def _is_dressed(self, thing: SceneObject) -> bool:
        noun = self.lexicon.canonical(thing.label)
        return noun is not None and "person" in self.lexicon.ancestors(noun)

    def _is_clad(self, person: SceneObject, word: str, covering: Sequence[BoxPx]) -> bool:
        """Whether the colour is that of the chest too: white over black is not "in black", whatever is left of it."""
        return all(
            central_share(self.pixels, person.bbox_xyxy_px, word, upper_share, covering) >= least
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
        scene, box = self.scene, self.scene.target.bbox_xyxy_px
        rivals = [other.bbox_xyxy_px for other in self.others if self.may_be_called(self.noun, other.label)]
        return [
            *(p for p in self.book.places.values() if surely_at(p.name, box, scene.width, scene.height)),
            *(p for p in self.book.orders.values() if surely_farthest(p.name, box, rivals, scene.width)),
        ]

    def perhaps(self, place: Place, thing: SceneObject) -> bool:
        """Whether the thing may be said to be at the place; the order is the target's own, if it is surely first."""
        if place.is_order:
            return thing == self.scene.target
        return perhaps_at(place.name, thing.bbox_xyxy_px, self.scene.width, self.scene.height)

    def may_mean(self, description: Description, other: SceneObject) -> bool:
        """Whether somebody might take another object for the described one."""
        if not self.may_be_called(description.noun, other.label):
            return False
        if description.place is not None and not self.perhaps(description.place, other):
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
