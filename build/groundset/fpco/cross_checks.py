# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Asks other models whether what is truly described is in the photograph, and whether what is falsely described is not.

They are not told what to expect. What they answer decides nothing: it is a soft verdict, for the people who review.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundset.fpco.dialogue import Dialogue
from groundset.fpco.prompting import Target, ask_presence
from groundset.llm.answers import ANSWERED
from groundset.verdicts import Verdict

if TYPE_CHECKING:
    from groundset.llm.desk import Ask, Result

# which answer is right of which description, and what the others are called
_TRUE = {"yes": "", "no": "crosscheck_true_absent", "unsure": "crosscheck_true_unsure"}
_FALSE = {"no": "", "yes": "crosscheck_false_present", "unsure": "crosscheck_false_unsure"}
UNANSWERED = "crosscheck_unanswered"


@dataclass(frozen=True)
class Draft:
    """A dialogue that passed the checks, and its target."""

    target: Target
    dialogue: Dialogue


@dataclass(frozen=True)
class Opinion:
    """What one model says of one dialogue.

    Attributes:
        verdicts: Soft verdicts on the dialogue.
        keys: Keys of its answers in the journal.
    """

    verdicts: tuple[Verdict, ...]
    keys: tuple[str, ...]


def _verdict(draft: Draft, model: str, phrase: str, result: Result, rules: dict[str, str]) -> list[Verdict]:
    if result.outcome != ANSWERED:
        rule, told = UNANSWERED, f"{result.outcome}: {result.detail}"
    else:
        said = result.value["answer"]
        rule, told = rules[said], f"is it there? {said}"
    detail = f'{model} on "{phrase}": {told}'
    return [Verdict(draft.dialogue.dialogue_id, "dialogue", rule, detail, hard=False)] if rule else []


async def opinion(ask: Ask, draft: Draft, model: str, *, false_only: bool = False) -> Opinion:
    """What a model says of a dialogue's two descriptions (the paper's cross-check, as an option).

    Args:
        ask: Asks the model.
        draft: What it is asked about.
        model: Its name, for the verdicts.
        false_only: Whether what is true has been asked about already, as with a variant.
    """
    verdicts: list[Verdict] = []
    keys = []
    asked = [(draft.dialogue.target_description, _TRUE), (draft.dialogue.modified_target_description, _FALSE)]
    for phrase, rules in asked[-1:] if false_only else asked:
        result = await ask(ask_presence(draft.target, phrase))
        verdicts += _verdict(draft, model, phrase, result, rules)
        keys.append(result.key)
    return Opinion(tuple(verdicts), tuple(keys))
