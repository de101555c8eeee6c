# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""One FPCO dialogue in memory, and its way to and from the record of `fpco_draft.schema.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

QUESTION_COUNT = 10
FIRST_FALSE_TURN = 4
FALSE_CLASSES = ("identity", "attribute", "location")


@dataclass(frozen=True)
class Question:
    """One turn of the user.

    Attributes:
        id: Turn, 1 to 10.
        content: The question with the target description.
        modified: The question as it is asked, with the modified target description from turn 4 on.
        false_premise: Whether the question as asked carries the false premise.
    """

    id: int
    content: str
    modified: str
    false_premise: bool


@dataclass(frozen=True)
class Dialogue:
    """Ten questions about one target of one image (design, section 8).

    Attributes:
        dialogue_id: `<image_id>-<category>-<false_class>`.
        item_id: `<image_id>-<category>`.
        image_id: The image.
        category: person, vehicle, animal or food.
        target_label: The target's class name as its source writes it.
        false_class: identity, attribute or location.
        target_description: The correct referring expression.
        modified_target_description: The false referring expression.
        questions: Turns in order.
    """

    dialogue_id: str
    item_id: str
    image_id: str
    category: str
    target_label: str
    false_class: str
    target_description: str
    modified_target_description: str
    questions: tuple[Question, ...]


def to_record(dialogue: Dialogue) -> dict[str, Any]:
    """The dialogue as a record of `schemas/fpco_draft.schema.json`, which has no category and no target label."""
    return {
        "dialogue_id": dialogue.dialogue_id,
        "item_id": dialogue.item_id,
        "image_id": dialogue.image_id,
        "false_class": dialogue.false_class,
        "target_description": dialogue.target_description,
        "modified_target_description": dialogue.modified_target_description,
        "questions": [
            {
                "id": question.id,
                "content": question.content,
                "modified": question.modified,
                "false_premise": question.false_premise,
            }
            for question in dialogue.questions
        ],
    }


def from_record(record: Mapping[str, Any], *, category: str, target_label: str) -> Dialogue:
    """The dialogue of a record that is valid under `schemas/fpco_draft.schema.json`.

    Args:
        record: The record; validate it first, its shape is not looked at here.
        category: The item's category, which the record lacks.
        target_label: The target's class name, which the record lacks.
    """
    questions = tuple(
        Question(row["id"], row["content"], row["modified"], row["false_premise"]) for row in record["questions"]
    )
    return Dialogue(
        dialogue_id=record["dialogue_id"],
        item_id=record["item_id"],
        image_id=record["image_id"],
        category=category,
        target_label=target_label,
        false_class=record["false_class"],
        target_description=record["target_description"],
        modified_target_description=record["modified_target_description"],
        questions=questions,
    )
