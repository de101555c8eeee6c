# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a language model is asked for an FPCO dialogue: prompts with their versions, the forms of its answers, and back.

The prompts lie in `prompts/`, one a file; the first line of each names its version, which is part of every request's
key in the journal: another wording needs another version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template
from typing import Any

import msgspec

from groundset.files import canonical_json
from groundset.fpco.dialogue import FIRST_FALSE_TURN, QUESTION_COUNT, Dialogue, Question
from groundset.fpco.shown import Box
from groundset.llm.forms import Form, form
from groundset.llm.request import Message, Picture, Request
from groundset.paths import schema_dir
from groundset.verdicts import Verdict

# boxes are told in thousandths: a model need not know how large the photograph is that it gets
STEPS = 1000
# ours; the longest question of a writer that keeps to the prompt is a fraction of it
MOST_CHARACTERS = 1000
# ours; class names of COCO and Open Images are a few words
MOST_OF_A_LABEL = 80
TRUE_TURNS = range(1, QUESTION_COUNT + 1)
FALSE_TURNS = range(FIRST_FALSE_TURN, QUESTION_COUNT + 1)
PRONOUN_RULE = ', except that a pronoun which stands for the target may follow the new noun, as "his" becomes "its"'


@dataclass(frozen=True)
class Prompt:
    """One prompt.

    Attributes:
        version: Its version.
        text: Its text, with `$names` to fill in.
    """

    version: str
    text: str


@dataclass(frozen=True)
class Target:
    """What a dialogue is to be about.

    Attributes:
        item_id: The item.
        dialogue_id: The dialogue to be.
        image_id: The image.
        picture: Its photograph.
        category: person, vehicle, animal or food.
        label: The target's class name as its source writes it.
        box_px: The target's box, x_min, y_min, x_max, y_max in pixels of the photograph.
        size_px: Width and height of the photograph.
        false_class: identity, attribute or location.
    """

    item_id: str
    dialogue_id: str
    image_id: str
    picture: Picture
    category: str
    label: str
    box_px: Box
    size_px: tuple[int, int]
    false_class: str


@cache
def prompt(name: str) -> Prompt:
    """The prompt `prompts/<name>.md`."""
    text = (resources.files("groundset.fpco") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    head, _, body = text.partition("\n")
    return Prompt(head.removeprefix("version: "), body.strip())


def _numbered(sent: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """The schema with the ids that there have to be and no endless text, which strict modes cannot be asked for."""
    full: dict[str, Any] = msgspec.json.decode(canonical_json(sent))
    items = full["properties"]["questions"].pop("items")
    for properties in (full["properties"], items["properties"]):
        for value in properties.values():
            if value["type"] == "string":
                value["maxLength"] = MOST_CHARACTERS
    full["properties"]["questions"] |= {
        "prefixItems": [
            {**items, "properties": {**items["properties"], "id": {"const": number}}} for number in numbers
        ],
        "minItems": len(numbers),
        "maxItems": len(numbers),
    }
    return full


@cache
def answer_form(name: str) -> Form:
    """The form of an answer: fpco_questions, fpco_false_premise or fpco_presence, as in `schemas/response/`."""
    document = msgspec.json.decode((schema_dir() / "response" / f"{name}.schema.json").read_bytes())
    # what only tells a reader what the document is; strict modes do not know it
    sent = {key: value for key, value in document.items() if key not in ("$schema", "$id", "title")}
    numbers = {"fpco_questions": TRUE_TURNS, "fpco_false_premise": FALSE_TURNS}.get(name)
    return form(name, sent, sent if numbers is None else _numbered(sent, numbers))


def _box(target: Target) -> dict[str, str]:
    width, height = target.size_px
    scaled = (value * STEPS / side for value, side in zip(target.box_px, (width, height) * 2, strict=True))
    # a box may lie a rounding outside of its photograph
    places = [str(min(max(round(value), 0), STEPS)) for value in scaled]
    return dict(zip(("left", "top", "right", "bottom"), places, strict=True))


def _named(label: str) -> str:
    """A class name as a prompt tells it: a source may hold anything, and no prompt is to go on in it."""
    printed = "".join(mark if mark.isprintable() else " " for mark in label)
    return " ".join(printed.split())[:MOST_OF_A_LABEL]


def _request(
    target: Target, prompts: Sequence[Prompt], text: str, answer: str, label: str, *, sample: int = 0
) -> Request:
    version = "+".join(used.version for used in prompts)
    told = (Message("user", (target.picture, text)),)
    return Request(told, answer_form(answer), version, sample, label=f"{target.item_id}: {label}")


def ask_questions(target: Target, *, with_place: bool) -> Request:
    """Asks for the target description and the ten true questions.

    Args:
        target: What they are to be about.
        with_place: Whether the description has to tell where the target is.
    """
    main, place = prompt("questions"), prompt("place_wanted" if with_place else "place_free")
    text = Template(main.text).substitute(label=_named(target.label), place_rule=f"{place.text}\n", **_box(target))
    return _request(target, (main, place), text, "fpco_questions", "questions")


def _listed(questions: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(f"{row['id']}. {row['content']}" for row in questions if row["id"] >= FIRST_FALSE_TURN)


def ask_false_premise(target: Target, written: Mapping[str, Any]) -> Request:
    """Asks for the false description and the seven questions that carry it.

    Args:
        target: What they are about.
        written: An answer of the form fpco_questions.
    """
    main, kind = prompt("false_premise"), prompt(f"kind_{target.false_class}")
    text = Template(main.text).substitute(
        label=_named(target.label),
        description=written["target_description"],
        kind_rule=kind.text,
        pronoun_rule=PRONOUN_RULE if target.false_class == "identity" else "",
        questions=_listed(written["questions"]),
        **_box(target),
    )
    return _request(target, (main, kind), text, "fpco_false_premise", "false premise")


def ask_variant(target: Target, dialogue: Dialogue, taken: Sequence[str], *, sample: int) -> Request:
    """Asks for another false description of the same class, and the seven questions that carry it.

    Args:
        target: What they are about.
        dialogue: The dialogue whose true turns are kept.
        taken: Other false descriptions that are there already, besides the dialogue's own.
        sample: The how many-th variant it is, from 0: another is asked for anew where none came of the one before.
    """
    main, kind = prompt("variants"), prompt(f"kind_{target.false_class}")
    text = Template(main.text).substitute(
        label=_named(target.label),
        description=dialogue.target_description,
        modified=dialogue.modified_target_description,
        taken=", ".join(f'"{phrase}"' for phrase in taken) or "none",
        kind_rule=kind.text,
        pronoun_rule=PRONOUN_RULE if target.false_class == "identity" else "",
        questions=_listed(as_written(dialogue)["questions"]),
        **_box(target),
    )
    return _request(target, (main, kind), text, "fpco_false_premise", "variant", sample=sample)


def ask_presence(target: Target, description: str) -> Request:
    """Asks whether something is there, without a word on whether it should be."""
    main = prompt("presence")
    text = Template(main.text).substitute(description=description)
    return _request(target, (main,), text, "fpco_presence", "presence")


def ask_again(request: Request, answer: Mapping[str, Any], faults: Sequence[Verdict]) -> Request:
    """The same question once more, with the answer that was given and what is wrong with it.

    Args:
        request: The question that was asked.
        answer: Its answer.
        faults: What the checks say of it.
    """
    main = prompt("mend")
    told = "\n".join(dict.fromkeys(f"- {fault.rule}: {fault.detail}" for fault in faults))
    text = Template(main.text).substitute(faults=told)
    given = Message("assistant", (canonical_json(dict(answer)).decode(),))
    return Request(
        (*request.messages, given, Message("user", (text,))),
        request.form,
        f"{request.prompt_version}+{main.version}",
        request.sample,
        request.label,
    )


def as_written(dialogue: Dialogue) -> dict[str, Any]:
    """What is true of a dialogue, as an answer of the form fpco_questions."""
    rows = [{"id": row.id, "content": row.content} for row in dialogue.questions]
    return {"target_description": dialogue.target_description, "questions": rows}


def assembled(target: Target, written: Mapping[str, Any], falsified: Mapping[str, Any] | None) -> Dialogue:
    """The dialogue that two answers make.

    Args:
        target: What it is about.
        written: An answer of the form fpco_questions.
        falsified: An answer of the form fpco_false_premise; None if there is none yet: then nothing is false.
    """
    modified = {} if falsified is None else {row["id"]: row["modified"] for row in falsified["questions"]}
    true = written["target_description"]
    return Dialogue(
        dialogue_id=target.dialogue_id,
        item_id=target.item_id,
        image_id=target.image_id,
        category=target.category,
        target_label=target.label,
        false_class=target.false_class,
        target_description=true,
        modified_target_description=true if falsified is None else falsified["modified_target_description"],
        questions=tuple(
            Question(row["id"], row["content"], modified.get(row["id"], row["content"]), row["id"] >= FIRST_FALSE_TURN)
            for row in written["questions"]
        ),
    )
