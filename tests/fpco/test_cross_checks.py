# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What other models say of a dialogue's descriptions, as soft verdicts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from groundset.fpco.cross_checks import Draft, Opinion, opinion
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.prompting import Target
from groundset.llm.desk import Result
from groundset.llm.request import Picture, Request

TRUE, FALSE = "the brown dog on the sofa", "the white dog on the sofa"
PICTURE = Picture("f" * 64, Path("7.jpg"))
TARGET = Target("i", "i-attribute", "7", PICTURE, "animal", "dog", (0.0, 0.0, 9.0, 9.0), (9, 9), "attribute")
DRAFT = Draft(TARGET, Dialogue("i-attribute", "i", "7", "animal", "dog", "attribute", TRUE, FALSE, ()))


def say(*answers: str, false_only: bool = False) -> tuple[Opinion, list[Request]]:
    """The opinion of a model that answers so; a word that is no answer is the outcome."""
    asked: list[Request] = []

    async def ask(request: Request) -> Result:
        said = answers[len(asked)]
        asked.append(request)
        is_answer = said in ("yes", "no", "unsure")
        outcome = "answered" if is_answer else said
        return Result(f"key-{len(asked)}", outcome, {"answer": said} if is_answer else None, "why", 1, "m")

    return asyncio.run(opinion(ask, DRAFT, "other-1", false_only=false_only)), asked


@pytest.mark.parametrize(
    ("of_true", "of_false", "rules"),
    [
        ("yes", "no", []),
        ("no", "no", ["crosscheck_true_absent"]),
        ("unsure", "no", ["crosscheck_true_unsure"]),
        ("yes", "yes", ["crosscheck_false_present"]),
        ("yes", "unsure", ["crosscheck_false_unsure"]),
        ("no", "yes", ["crosscheck_true_absent", "crosscheck_false_present"]),
        ("refused", "no", ["crosscheck_unanswered"]),
        ("truncated", "filtered", ["crosscheck_unanswered", "crosscheck_unanswered"]),
    ],
)
def test_answers_become_soft_verdicts(of_true: str, of_false: str, rules: list[str]) -> None:
    found, _ = say(of_true, of_false)
    assert [verdict.rule for verdict in found.verdicts] == rules
    assert {(verdict.record_id, verdict.kind, verdict.hard) for verdict in found.verdicts} <= {
        ("i-attribute", "dialogue", False)
    }
    assert found.keys == ("key-1", "key-2")


def test_of_a_variant_the_false_description_alone_is_asked_about() -> None:
    found, asked = say("yes", false_only=True)
    assert [verdict.rule for verdict in found.verdicts] == ["crosscheck_false_present"]
    assert FALSE in str(asked[0].messages[0].parts[1])
    assert len(asked) == len(found.keys) == 1


def test_a_verdict_names_model_description_and_answer() -> None:
    found, _ = say("refused", "yes")
    assert [verdict.detail for verdict in found.verdicts] == [
        f'other-1 on "{TRUE}": refused: why',
        f'other-1 on "{FALSE}": is it there? yes',
    ]


def test_both_descriptions_are_asked_about_in_the_same_words() -> None:
    _, (first, second) = say("yes", "no")
    assert first.messages[0].parts[0] == second.messages[0].parts[0] == PICTURE
    assert str(first.messages[0].parts[1]).replace(TRUE, FALSE) == second.messages[0].parts[1]
    assert first.form.name == second.form.name == "fpco_presence"
