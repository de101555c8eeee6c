# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Has a language model write a dialogue, or a variant of one, and holds each of its answers against the checks.

What breaks a hard check goes back to the model with the name of the rule, a bounded number of times; after that the
item is set aside with all that was asked. Nothing is mended here: what is released is what the model wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.prompting import (
    Target,
    as_written,
    ask_again,
    ask_false_premise,
    ask_questions,
    ask_variant,
    assembled,
)
from groundset.fpco.spelling import spelling_faults
from groundset.fpco.variants import check_variant
from groundset.llm.answers import ANSWERED
from groundset.llm.desk import Ask
from groundset.llm.request import Message, Request
from groundset.verdicts import Verdict

# what cannot hold yet while nothing has been made false
NOT_YET = frozenset({"no_edit"})
# far enough apart that no sample of a variant is taken for one of a question that is asked anew
ASKED_ANEW = 100


@dataclass(frozen=True)
class Rules:
    """What the manifest says of the loop.

    Attributes:
        mends: How often an answer goes back with its faults.
        location_with_place: Whether descriptions in location cells have to tell where the target is.
    """

    mends: int
    location_with_place: bool


@dataclass(frozen=True)
class Step:
    """One question to the model and what came of it.

    Attributes:
        asked: questions, false_premise or variant.
        key: Key in the journal.
        outcome: answered, or why there is no answer.
        faults: What is wrong, each with its rule.
    """

    asked: str
    key: str
    outcome: str
    faults: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """What came of one item.

    Attributes:
        target: What it was to be about.
        dialogue: The dialogue; None if the item is set aside.
        verdicts: Soft verdicts on the dialogue, or the hard one on the item.
        history: Every step, in order.
    """

    target: Target
    dialogue: Dialogue | None
    verdicts: tuple[Verdict, ...]
    history: tuple[Step, ...]


Judge = Callable[[Mapping[str, Any]], list[Verdict]]


@dataclass(frozen=True)
class _Said:
    """The last answer to a question, None if there is none, with what is wrong with it."""

    answer: Mapping[str, Any] | None
    faults: tuple[Verdict, ...]
    steps: tuple[Step, ...]


async def _until_right(ask: Ask, request: Request, asked: str, judge: Judge, mends: int) -> _Said:
    steps: list[Step] = []
    faults: list[Verdict] = []
    first = request
    before: list[tuple[Message, ...]] = []
    for _ in range(mends + 1):
        # the same answer to the same faults leads to the same question, which would be answered by the journal
        request = replace(request, sample=request.sample + ASKED_ANEW * before.count(request.messages))
        before.append(request.messages)
        result = await ask(request)
        if result.outcome != ANSWERED:
            told = Verdict("", "item", f"writer_{result.outcome}", f"{asked}: {result.detail}")
            steps.append(Step(asked, result.key, result.outcome, (result.detail,)))
            return _Said(None, (told,), tuple(steps))
        faults = judge(result.value)
        steps.append(
            Step(asked, result.key, result.outcome, tuple(f"{fault.rule}: {fault.detail}" for fault in faults))
        )
        if not faults:
            return _Said(result.value, (), tuple(steps))
        # only the last answer goes back: the ones before it would make the question longer each time
        request = ask_again(first, result.value, faults)
    return _Said(None, tuple(faults), tuple(steps))


def _set_aside(target: Target, said: _Said, steps: tuple[Step, ...]) -> Written:
    first = min(said.faults, key=lambda fault: fault.rule)
    rule = first.rule if first.rule.startswith("writer_") else f"check_{first.rule}"
    told = "; ".join(f"{fault.rule}: {fault.detail}" for fault in said.faults)
    detail = f"{steps[-1].asked} asked {len(said.steps)} times: {told}"
    return Written(target, None, (Verdict(target.item_id, "item", rule, detail),), steps)


def _new(faults: Iterable[Verdict], found: Sequence[Verdict]) -> list[Verdict]:
    """Without those that only say once more that a description is missing."""
    missing = {fault.rule for fault in found if fault.rule.endswith("_missing")}
    return [fault for fault in faults if fault.rule.replace("_spelled_differently", "_missing") not in missing]


def _misspelled(dialogue: Dialogue, found: Sequence[Verdict]) -> list[Verdict]:
    """How the false description and the turns that carry it are written."""
    sentences = {row.id: row.modified for row in dialogue.questions if row.false_premise}
    phrase = dialogue.modified_target_description
    return _new(spelling_faults(dialogue.dialogue_id, "modified_description", phrase, sentences), found)


async def write_one(ask: Ask, target: Target, rules: Rules) -> Written:
    """A dialogue about one target, or the verdict that sets it aside (design, section 8).

    Args:
        ask: Asks the model; what it returns is on disk already.
        target: What the dialogue is to be about.
        rules: How often to ask.
    """

    def hard(written: Mapping[str, Any], falsified: Mapping[str, Any] | None) -> list[Verdict]:
        dialogue = assembled(target, written, falsified)
        found = [fault for fault in check(dialogue) if fault.hard]
        if falsified is not None:
            return [*found, *_misspelled(dialogue, found)]
        sentences = {row.id: row.content for row in dialogue.questions}
        found = [fault for fault in found if fault.rule not in NOT_YET]
        return [
            *found,
            *_new(spelling_faults(target.dialogue_id, "description", dialogue.target_description, sentences), found),
        ]

    with_place = rules.location_with_place and target.false_class == "location"
    request = ask_questions(target, with_place=with_place)
    true = await _until_right(ask, request, "questions", lambda answer: hard(answer, None), rules.mends)
    if true.answer is None:
        return _set_aside(target, true, true.steps)
    written = true.answer
    request = ask_false_premise(target, written)
    false = await _until_right(ask, request, "false_premise", lambda answer: hard(written, answer), rules.mends)
    steps = (*true.steps, *false.steps)
    if false.answer is None:
        return _set_aside(target, false, steps)
    dialogue = assembled(target, written, false.answer)
    return Written(target, dialogue, tuple(check(dialogue)), steps)


async def write_variant(
    ask: Ask, target: Target, dialogue: Dialogue, taken: Sequence[str], number: int, rules: Rules
) -> Written:
    """A variant of a dialogue, or the verdict that sets it aside (design, section 8: lexical variants).

    Args:
        ask: Asks the model; what it returns is on disk already.
        target: What the dialogue is about, under the variant's own id.
        dialogue: The dialogue; its description and true questions are kept.
        taken: The false descriptions of its other variants.
        number: The how many-th variant it is, from 0.
        rules: How often to ask.
    """
    true = as_written(dialogue)

    def verdicts(falsified: Mapping[str, Any]) -> list[Verdict]:
        variant = assembled(target, true, falsified)
        found = check_variant(variant, dialogue, taken)
        return [*found, *_misspelled(variant, found)]

    request = ask_variant(target, dialogue, taken, sample=number)
    said = await _until_right(
        ask, request, "variant", lambda answer: [fault for fault in verdicts(answer) if fault.hard], rules.mends
    )
    if said.answer is None:
        return _set_aside(target, said, said.steps)
    return Written(target, assembled(target, true, said.answer), tuple(verdicts(said.answer)), said.steps)
