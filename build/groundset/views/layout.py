# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How entries are laid out for a curator: fields and their groups, colours, and the views that are saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundset.views.turns import (
    ADDED,
    FALSE_PREMISE,
    NOT_IN_QUESTION,
    ONE_LEFT,
    PLAUSIBLE,
    REJECTED,
    RELEASED,
    RULED_OUT,
    RULED_OUT_BEFORE,
    TRUE_PREMISE,
    Entry,
)

# after Okabe and Ito's palette, which people with any kind of colour vision can tell apart
GREEN, BLUE, ORANGE, VERMILION, PURPLE = "#009e73", "#1e88e5", "#e69f00", "#d55e00", "#cc79a7"
GREY, DARK_GREY, SLATE = "#b3b3b3", "#7a7a7a", "#6f8fae"

COLOURS: Mapping[str, str] = {
    ONE_LEFT: GREEN,
    PLAUSIBLE: BLUE,
    ADDED: ORANGE,
    RULED_OUT: VERMILION,
    RULED_OUT_BEFORE: GREY,
    NOT_IN_QUESTION: DARK_GREY,
    TRUE_PREMISE: GREEN,
    FALSE_PREMISE: VERMILION,
    REJECTED: PURPLE,
}
POINT_COLOUR = PURPLE
POINT = "point"
STATE = "state"

TEXT, WHOLE, NUMBER, TRUTH, TEXTS = "text", "whole", "number", "truth", "texts"


@dataclass(frozen=True)
class Field:
    """A fact as a field: its name, what it holds, the group it stands in, and what it is.

    Attributes:
        name: Key in the facts of an entry.
        kind: text, whole, number, truth or texts.
        group: Name of the sidebar group.
        about: What it is.
    """

    name: str
    kind: str
    group: str
    about: str


CHECKS, DIALOGUE, IMAGE, LABELS = "checks", "dialogue", "image & licence", "labels"

FIELDS: tuple[Field, ...] = (
    Field("outcome", TEXT, CHECKS, "released or rejected"),
    Field("flags", TEXTS, CHECKS, "what checks ask a person to look at"),
    Field("rule", TEXT, CHECKS, "rule that rejected it"),
    Field("detail", TEXT, CHECKS, "why, in words"),
    Field("measured", NUMBER, CHECKS, "what the rule measured"),
    Field("limit", NUMBER, CHECKS, "the limit that it was held against"),
    Field("rejected_by", TEXT, CHECKS, "stage that rejected it"),
    Field("stratum", TEXT, DIALOGUE, "the stratum that it fills"),
    Field("turn", WHOLE, DIALOGUE, "number of the turn, from 1"),
    Field("dialogue", TEXTS, DIALOGUE, "the dialogue up to this turn"),
    Field("question", TEXT, DIALOGUE, "what is asked at this turn"),
    Field("response", TEXT, DIALOGUE, "what the user says at this turn"),
    Field("true_question", TEXT, DIALOGUE, "the same question with the correct description"),
    Field("false_premise", TRUTH, DIALOGUE, "whether the question carries the false premise"),
    Field("target_description", TEXT, DIALOGUE, "the correct referring expression"),
    Field("modified_target_description", TEXT, DIALOGUE, "the false referring expression"),
    Field("variants", TEXTS, DIALOGUE, "further false referring expressions, by set of variants"),
    Field("target_label", TEXT, DIALOGUE, "class name of the target in the source"),
    Field("turns", WHOLE, DIALOGUE, "how many turns the dialogue has"),
    Field("sample_type", TEXT, DIALOGUE, "CVG: one object is left; CSVG: several"),
    Field("candidates_left", WHOLE, DIALOGUE, "how many objects are still plausible"),
    Field("complexity", TEXT, DIALOGUE, "single, separated or overlapping"),
    Field("category", TEXT, DIALOGUE, "category of the target"),
    Field("false_class", TEXT, DIALOGUE, "which property the false premise changes"),
    Field("writer", TEXT, DIALOGUE, "what wrote the questions"),
    Field("source_split", TEXT, DIALOGUE, "split that InViG put the dialogue in"),
    Field("dialogue_id", TEXT, DIALOGUE, "the dialogue"),
    Field("record_id", TEXT, DIALOGUE, "the sample, or the record that was rejected"),
    Field("licence", TEXT, IMAGE, "SPDX id or LicenseRef of the photograph"),
    Field("licence_url", TEXT, IMAGE, "address of the licence or statement"),
    Field("credit", TEXT, IMAGE, "one line that gives the credit the licence asks for"),
    Field("title", TEXT, IMAGE, "title of the photograph"),
    Field("author", TEXT, IMAGE, "who took it"),
    Field("landing_url", TEXT, IMAGE, "page on which it was published"),
    Field("embedded", TRUTH, IMAGE, "whether the release itself carries its bytes"),
    Field("source", TEXT, IMAGE, "coco, openimages or invig"),
    Field("source_image_id", TEXT, IMAGE, "the id that the publisher gave it"),
    Field("image_id", TEXT, IMAGE, "the photograph"),
)

ON_CARDS = ("stratum", "response", "rule")

BOX_FIELDS: Mapping[str, Mapping[str, str]] = {
    "candidates": {"about": "objects that are still plausible", "colour": BLUE},
    "target": {"about": "the target, coloured by its premise", "colour": GREEN},
    "other_objects": {"about": "objects that are not meant, or not any more", "colour": GREY},
}
POINT_FIELD = "points"


def fields_of(entries: Sequence[Entry]) -> tuple[Field, ...]:
    """The fields that some entry has."""
    names = {name for entry in entries for name in entry.facts}
    return tuple(field for field in FIELDS if field.name in names)


def box_fields_of(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The fields of boxes that some entry has."""
    names = {name for entry in entries for name in entry.boxes}
    return tuple(name for name in BOX_FIELDS if name in names)


@dataclass(frozen=True)
class SavedView:
    """A view that is saved with the dataset.

    Attributes:
        name: Its name.
        where: Field to the value that it has to have.
        flagged: Whether it holds only what has flags.
        grouped: Whether it shows a card a dialogue, whose turns lie behind it, or a card an entry.
        entries: How many entries it holds.
        dialogues: How many dialogues, or rejected records, they belong to.
        colour: Its mark in the App.
    """

    name: str
    where: Mapping[str, str]
    flagged: bool
    grouped: bool
    entries: int
    dialogues: int
    colour: str

    @property
    def about(self) -> str:
        """What it holds, in words."""
        return f"{self.dialogues} dialogues, {self.entries} turns" if self.grouped else f"{self.entries} entries"


ALL_VIEW, FLAGGED_VIEW, REJECTED_VIEW = "dialogues", "flagged", "rejected"


def _saved(
    name: str,
    where: Mapping[str, str],
    chosen: Sequence[Entry],
    colour: str,
    *,
    flagged: bool = False,
    grouped: bool = True,
) -> SavedView:
    dialogues = len({entry.facts["dialogue_id"] for entry in chosen})
    return SavedView(name, where, flagged, grouped, len(chosen), dialogues, colour)


def saved_views(entries: Sequence[Entry]) -> tuple[SavedView, ...]:
    """All dialogues; those of each stratum and of each licence; what is flagged; what was rejected.

    A view that would be empty is left out, but for the first.
    """
    released = [entry for entry in entries if entry.facts["outcome"] == RELEASED]
    only = {"outcome": RELEASED}
    views = [_saved(ALL_VIEW, only, released, BLUE)]
    for name, colour in (("stratum", GREEN), ("licence", ORANGE)):
        for value in sorted({entry.facts[name] for entry in released}):
            chosen = [entry for entry in released if entry.facts[name] == value]
            views.append(_saved(f"{name} {value}", {**only, name: value}, chosen, colour))
    flagged = [entry for entry in released if entry.facts["flags"]]
    if flagged:
        views.append(_saved(FLAGGED_VIEW, only, flagged, VERMILION, flagged=True))
    rejected = [entry for entry in entries if entry.facts["outcome"] == REJECTED]
    if rejected:
        views.append(_saved(REJECTED_VIEW, {"outcome": REJECTED}, rejected, PURPLE, grouped=False))
    return tuple(views)
