# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""One published FPCO-Dialog record: field by field, to its JSON and back, and what is wrong with it.

The id says which cell a record is of: complexity digit, category digit, index 01 to 90, of which 01-30 are identity,
31-60 attribute, 61-90 location (design, section 8).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundset.files import plain
from groundset.fpco.dialogue import QUESTION_COUNT, Question
from groundset.fpco.filter import CATEGORIES, COMPLEXITIES
from groundset.fpco.strata import FALSE_CLASSES
from groundset.sources.imported import id_text
from groundset.sources.json_faults import shown

SOURCES = {"COCO": "coco", "Open Images": "openimages"}
PUBLISHED_PREFIX = "fpco"
_ID = re.compile(r"([1-3])([1-4])(0[1-9]|[1-8][0-9]|90)")
_INDICES_PER_CLASS = 30

Row = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """One published record, field by field as its file has them.

    Attributes:
        name: The file's name without `.json`.
        id: `metadata.id`.
        source: `metadata.source`: COCO or Open Images.
        complexity: `metadata.complexity`: 1 single, 2 separated, 3 overlapping.
        category: `metadata.category`: 1 person, 2 vehicle, 3 animal, 4 food.
        target: `metadata.target`: what the target is.
        false_class: `base.false_class`.
        target_description: `base.target_description`.
        modified_target_description: `base.modified_target_description`.
        questions: `question`.
    """

    name: str
    id: str
    source: str
    complexity: int
    category: int
    target: str
    false_class: str
    target_description: str
    modified_target_description: str
    questions: tuple[Question, ...]

    @property
    def dialogue_id(self) -> str:
        """The id of its dialogue, made from the file's name, which for a sound record is its published id."""
        return f"{PUBLISHED_PREFIX}-{id_text(plain(self.name))}"


def cell_of(published_id: str) -> tuple[int, int, str] | None:
    """Complexity digit, category digit and false class of an id, or None if it is none.

    >>> cell_of("1131"), cell_of("3490"), cell_of("1191")
    ((1, 1, 'attribute'), (3, 4, 'location'), None)
    """
    match = _ID.fullmatch(published_id)
    if match is None:
        return None
    return int(match[1]), int(match[2]), FALSE_CLASSES[(int(match[3]) - 1) // _INDICES_PER_CLASS]


def from_published(name: str, document: Mapping[str, Any]) -> Record:
    """The record of a document that keeps `schemas/sources/fpco_published`.

    Args:
        name: The file's name without `.json`.
        document: Its JSON.
    """
    metadata, base = document["metadata"], document["base"]
    return Record(
        name=name,
        **{key: metadata[key] for key in ("id", "source", "complexity", "category", "target")},
        **{key: base[key] for key in ("false_class", "target_description", "modified_target_description")},
        questions=tuple(Question(**question) for question in document["question"]),
    )


def to_published(record: Record) -> Row:
    """The record's JSON exactly as its file has it; keys in the publisher's order."""
    questions = [
        {"id": row.id, "content": row.content, "modified": row.modified, "false_premise": row.false_premise}
        for row in record.questions
    ]
    return {
        "metadata": {key: getattr(record, key) for key in ("id", "source", "complexity", "category", "target")},
        "base": {
            "target_description": record.target_description,
            "modified_target_description": record.modified_target_description,
            "false_class": record.false_class,
        },
        "question": questions,
    }


def published_text(record: Record) -> bytes:
    """The record's file in the publisher's form: UTF-8, indented by 2, with a final line feed."""
    return (json.dumps(to_published(record), indent=2, ensure_ascii=False) + "\n").encode()


def from_row(row: Mapping[str, Any]) -> Record:
    """The record of a row of `schemas/fpco_source_dialogue`: nothing of it was lost on the way into the table."""
    return Record(
        name=row["published_id"],
        id=row["published_id"],
        source=row["published_source"],
        complexity=COMPLEXITIES.index(row["complexity"]) + 1,
        category=CATEGORIES.index(row["category"]) + 1,
        target=row["target_label"],
        **{key: row[key] for key in ("false_class", "target_description", "modified_target_description")},
        questions=tuple(Question(**question) for question in row["questions"]),
    )


def _questions_fault(record: Record) -> tuple[str, str] | None:
    ids = [question.id for question in record.questions]
    if len(ids) != QUESTION_COUNT:
        return "question_count", f"{len(ids)} questions, must be {QUESTION_COUNT}"
    if ids != list(range(1, QUESTION_COUNT + 1)):
        return "question_ids", f"ids {ids} are not 1 to {QUESTION_COUNT} in order"
    empty = [row.id for row in record.questions if not row.content.strip() or not row.modified.strip()]
    return ("question_empty", f"turn {', '.join(map(str, empty))} has no words") if empty else None


def faults(record: Record) -> Iterator[tuple[str, str]]:
    """What is wrong with a record in itself, as (rule, detail), in the order of the rules.

    How its texts keep the rules of a dialogue is for `groundset.fpco.checks`.
    """
    name, cell = shown(record.id), cell_of(record.id)
    if record.id != record.name:
        yield "id_not_file_name", f"the record is called {name}, its file {shown(record.name)}"
    if cell is None:
        yield "id_form", f"{name} is no complexity digit, category digit and index 01 to 90"
    else:
        for key, said, digit in (
            ("complexity", record.complexity, cell[0]),
            ("category", record.category, cell[1]),
        ):
            if said != digit:
                yield f"{key}_contradicts_id", f"{key} is {said}, the id {name} says {digit}"
    if record.false_class not in FALSE_CLASSES:
        yield "false_class_unknown", f"{shown(record.false_class)} is none of {', '.join(FALSE_CLASSES)}"
    elif cell is not None and record.false_class != cell[2]:
        yield "false_class_contradicts_id", f"false_class is {record.false_class}, the id {name} is of {cell[2]}"
    if record.source not in SOURCES:
        yield "source_unknown", f"{shown(record.source)} is none of {', '.join(SOURCES)}"
    for rule, text in (
        ("target_empty", record.target),
        ("description_empty", record.target_description),
        ("modified_description_empty", record.modified_target_description),
    ):
        if not text.strip():
            yield rule, "it has no words"
    fault = _questions_fault(record)
    if fault:
        yield fault
