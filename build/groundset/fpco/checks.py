# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What can be held against a written dialogue without looking at the picture: every rule named, hard or soft.

The rules are those of the design, section 8; `docs/checks.md` has them all with examples. A hard verdict rejects the
dialogue; a soft one asks a person. Each rule is a function from a dialogue that has been read into words to its
verdicts; what words mean comes from the lexicon, how they stand in a phrase from the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groundset.fpco.dialogue import FALSE_CLASSES, FIRST_FALSE_TURN, QUESTION_COUNT, Dialogue
from groundset.fpco.edit_checks import class_fit, one_edit, truly_false
from groundset.fpco.giveaway_checks import gives_away
from groundset.fpco.reading import Read, read_dialogue, said
from groundset.fpco.slip_checks import slips
from groundset.fpco.tautology_checks import tautology
from groundset.fpco.words import folded, same_case, same_word
from groundset.verdicts import Verdict

__all__ = ["FALSE_CLASSES", "RULE_NAMES", "check"]

# Every name that a verdict can have, in the order of the rules; docs/checks.md has them with examples.
RULE_NAMES = (
    "question_count",
    "question_ids",
    "false_premise_flag",
    "false_class_unknown",
    "description_empty",
    "modified_description_empty",
    "true_turn_changed",
    "description_missing",
    "description_repeated",
    "description_case",
    "modified_description_missing",
    "modified_description_repeated",
    "modified_description_case",
    "sentence_changed",
    "pronoun_changed",
    "no_edit",
    "edit_not_contiguous",
    "words_deleted",
    "words_inserted",
    "inserted_phrase",
    "edit_long",
    "class_unfit",
    "class_unknown",
    "location_of_part",
    "identity_compatible",
    "identity_unknown",
    "attribute_compatible",
    "location_compatible",
    "gives_away",
    "tautology",
    "number_slip",
    "article_slip",
)


def check(dialogue: Dialogue) -> list[Verdict]:
    """Every verdict on a dialogue, whoever wrote it (design, section 8).

    Args:
        dialogue: The dialogue; the photograph is not needed.

    Returns:
        Hard and soft verdicts in the order of the rules, then of the turns; empty if nothing can be said against it.
        The record id is the dialogue's, the detail names the turn.
    """
    read = read_dialogue(dialogue)
    return [verdict for rule in _RULES for verdict in rule(read)]


def _frame(read: Read) -> Iterator[Verdict]:
    dialogue = read.dialogue
    ids = [question.id for question in dialogue.questions]
    if len(ids) != QUESTION_COUNT:
        yield read.hard("question_count", f"{len(ids)} questions", len(ids), QUESTION_COUNT)
    elif ids != list(range(1, QUESTION_COUNT + 1)):
        yield read.hard("question_ids", f"ids {ids} are not 1 to {QUESTION_COUNT} in order")
    for question in dialogue.questions:
        if question.false_premise != (question.id >= FIRST_FALSE_TURN):
            yield read.hard("false_premise_flag", f"turn {question.id}: false_premise is {question.false_premise}")
    if dialogue.false_class not in FALSE_CLASSES:
        yield read.hard("false_class_unknown", f"{dialogue.false_class!r} is none of {', '.join(FALSE_CLASSES)}")
    if not read.true:
        yield read.hard("description_empty", "the target description has no words")
    if not read.false:
        yield read.hard("modified_description_empty", "the modified target description has no words")


def _true_turns(read: Read) -> Iterator[Verdict]:
    for question in read.dialogue.questions:
        if question.id < FIRST_FALSE_TURN and question.content != question.modified:
            yield read.hard("true_turn_changed", f"turn {question.id}: differs from its content, but has to be true")


def _descriptions(read: Read) -> Iterator[Verdict]:
    for turn in read.turns:
        yield from _once(read, turn.id, "description", read.true, turn.content, turn.true_at)
    for turn in read.false_turns:
        yield from _once(read, turn.id, "modified_description", read.false, turn.modified, turn.false_at)


def _once(
    read: Read, turn: int, name: str, phrase: tuple[str, ...], sentence: tuple[str, ...], found: tuple[int, ...]
) -> Iterator[Verdict]:
    if not phrase:
        return
    if not found:
        yield read.hard(f"{name}_missing", f"turn {turn}: {said(phrase)} is not in it word for word", 0, 1)
    elif len(found) > 1:
        yield read.hard(f"{name}_repeated", f"turn {turn}: {said(phrase)} is in it {len(found)} times", len(found), 1)
    elif not same_case(phrase, sentence, found[0]):
        here = sentence[found[0] : found[0] + len(phrase)]
        yield read.hard(f"{name}_case", f"turn {turn}: {said(here)} is written in other capitals than {said(phrase)}")


def _rest(read: Read) -> Iterator[Verdict]:
    """Nothing but the description changes."""
    for turn in read.false_turns:
        if len(turn.true_at) != 1 or len(turn.false_at) != 1:
            continue
        true_at, false_at = turn.true_at[0], turn.false_at[0]
        before = turn.content[:true_at], turn.modified[:false_at]
        after = turn.content[true_at + len(read.true) :], turn.modified[false_at + len(read.false) :]
        for old, new, next_to_description in ((*before, True), (*after, False)):
            yield from _same_rest(read, turn.id, old, new, article_may_change=next_to_description)


def _same_rest(
    read: Read, turn: int, old: tuple[str, ...], new: tuple[str, ...], *, article_may_change: bool
) -> Iterator[Verdict]:
    if len(old) != len(new):
        yield read.hard("sentence_changed", f"turn {turn}: {said(old)} became {said(new)} beside the description")
        return
    for index, (was, now) in enumerate(zip(old, new, strict=True)):
        if folded(was) == folded(now):
            continue
        if {was.casefold(), now.casefold()} == {"a", "an"}:
            if not article_may_change or index != len(old) - 1:
                yield read.hard("sentence_changed", f"turn {turn}: {was!r} became {now!r} beside the description")
        elif not same_word(was, now, pronouns=True):
            yield read.hard("sentence_changed", f"turn {turn}: {was!r} became {now!r} beside the description")
        elif read.dialogue.false_class != "identity":
            yield read.hard("pronoun_changed", f"turn {turn}: {was!r} became {now!r}, which only identity allows")


_RULES: tuple[Callable[[Read], Iterator[Verdict]], ...] = (
    _frame,
    _true_turns,
    _descriptions,
    _rest,
    one_edit,
    class_fit,
    truly_false,
    gives_away,
    tautology,
    slips,
)
