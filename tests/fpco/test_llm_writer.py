# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The loop around the model, with scripted answers; `tests/llm` has the servers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundset.fpco.llm_writer import Rules, Written, write_one, write_variant
from groundset.fpco.prompting import Target, assembled
from groundset.llm.desk import Ask, Result
from groundset.llm.request import Picture, Request

TRUE, FALSE = "the brown dog on the sofa", "the white dog on the sofa"
WHATS = ("awake", "sitting", "wet", "alone", "barking", "tired", "clean", "eating", "moving", "visible")
RULES = Rules(mends=2, location_with_place=True)


def target(false_class: str = "attribute") -> Target:
    return Target(
        item_id="coco-7-animal",
        dialogue_id=f"coco-7-animal-{false_class}",
        image_id="coco-7",
        picture=Picture("f" * 64, Path("7.jpg")),
        category="animal",
        label="dog",
        box_px=(64.0, 48.0, 320.0, 480.0),
        size_px=(640, 480),
        false_class=false_class,
    )


def questions(description: str = TRUE, **changed: str) -> dict[str, Any]:
    rows = [{"id": number, "content": f"Is {TRUE} {what}?"} for number, what in enumerate(WHATS, 1)]
    return {
        "target_description": description,
        "questions": [{**row, "content": changed.get(f"q{row['id']}", row["content"])} for row in rows],
    }


def falsified(description: str = FALSE, **changed: str) -> dict[str, Any]:
    rows = [{"id": number, "modified": f"Is {description} {what}?"} for number, what in enumerate(WHATS, 1)]
    return {
        "modified_target_description": description,
        "questions": [{**row, "modified": changed.get(f"q{row['id']}", row["modified"])} for row in rows[3:]],
    }


def scripted(answers: Sequence[dict[str, Any] | str]) -> tuple[Ask, list[Request]]:
    """A model that gives these answers, and what it is asked; a text is an outcome other than answered."""
    script, asked = list(answers), list[Request]()

    async def ask(request: Request) -> Result:
        asked.append(request)
        said = script.pop(0)
        key = f"key{len(asked)}"
        if isinstance(said, str):
            return Result(key, said, None, "no more", 3, "m")
        return Result(key, "answered", said, "", 1, "m")

    return ask, asked


def write(*answers: dict[str, Any] | str, false_class: str = "attribute") -> tuple[Written, list[Request]]:
    """What comes of scripted answers, all of which have to be asked for."""
    ask, asked = scripted(answers)
    written = asyncio.run(write_one(ask, target(false_class), RULES))
    assert len(asked) == len(answers)
    return written, asked


def test_two_right_answers_make_a_dialogue() -> None:
    written, asked = write(questions(), falsified())
    assert written.dialogue is not None
    assert written.dialogue.modified_target_description == FALSE
    assert [step.asked for step in written.history] == ["questions", "false_premise"]
    assert [step.key for step in written.history] == ["key1", "key2"]
    assert [verdict for verdict in written.verdicts if verdict.hard] == []
    assert [request.form.name for request in asked] == ["fpco_questions", "fpco_false_premise"]
    assert TRUE in str(asked[1].messages[0].parts[1])


def test_what_breaks_a_check_goes_back_with_its_name() -> None:
    written, asked = write(questions(q2="Is the dog sitting?"), questions(), falsified())
    assert written.dialogue is not None
    assert [bool(step.faults) for step in written.history] == [True, False, False]
    assert written.history[0].faults[0].startswith("description_missing: turn 2")
    again = asked[1].messages
    assert [message.role for message in again] == ["user", "assistant", "user"]
    assert "description_missing: turn 2" in str(again[2].parts[0])
    assert asked[1].prompt_version.endswith("+mend-1")


def test_only_the_last_answer_goes_back() -> None:
    bad = questions(q2="Is the dog sitting?")
    _, asked = write(bad, questions(q3="Is it wet?"), questions(), falsified())
    assert len(asked[2].messages) == 3
    assert "Is it wet?" in str(asked[2].messages[1].parts[0])


def test_the_same_answer_to_the_same_faults_is_asked_for_anew_and_not_taken_from_the_journal() -> None:
    bad, other = questions(q2="Is the dog sitting?"), questions(q3="Is the dog wet?")
    ask, asked = scripted([bad, bad, bad, other, bad])
    written = asyncio.run(write_one(ask, target(), replace(RULES, mends=4)))
    assert written.dialogue is None
    assert len({(request.messages, request.sample) for request in asked}) == len(asked) == 5
    assert [request.sample for request in asked] == [0, 0, 100, 200, 0]


SPELLED = {
    "a line break": (f"Is {TRUE}\nwet?", "text_not_plain: turn 3", "U+000A"),
    "nothing that is printed": (f"Is {TRUE}\x00 wet?", "text_not_plain: turn 3", "U+0000"),
    "another direction": (f"Is {TRUE} \u202ewet?", "text_not_plain: turn 3", "U+202E"),
    "two spaces": (f"Is {TRUE}  wet?", "text_not_plain: turn 3", "a space too many"),
    "a space at the end": (f"Is {TRUE} wet? ", "text_not_plain: turn 3", "a space too many"),
    "a space that does not break": (f"Is {TRUE} wet?".replace(" dog", "\u00a0dog"), "text_not_plain: turn 3", "U+00A0"),
    "another hyphen": ("Is the brown dog\u2010on the sofa wet?", "", "turn 3"),
}


@pytest.mark.parametrize("name", SPELLED)
def test_a_text_that_is_not_plain_goes_back(name: str) -> None:
    text, rule, told = SPELLED[name]
    written, _ = write(questions(q3=text), questions(), falsified())
    assert any(rule in fault and told in fault for fault in written.history[0].faults), written.history[0].faults


def test_a_description_has_to_be_in_a_turn_letter_by_letter() -> None:
    true, false = "the dog\u2019s brown bowl", "the dog\u2019s white bowl"
    right = questions(true)
    right["questions"] = [{"id": n, "content": f"Is {true} {what}?"} for n, what in enumerate(WHATS, 1)]
    straight = {
        **right,
        "questions": [{**row, "content": row["content"].replace("\u2019", "'")} for row in right["questions"]],
    }
    wrong = falsified(false, q5=f"Is {false} barking?".replace("\u2019", "'"))
    written, _ = write(straight, right, wrong, falsified(false))
    assert written.dialogue is not None
    rules = [[fault.partition(":")[0] for fault in step.faults] for step in written.history]
    assert rules == [["description_spelled_differently"] * 10, [], ["modified_description_spelled_differently"], []]
    # a capital at the beginning is none
    capital = questions(q3=f"{TRUE.capitalize()} is wet, is it not?")
    assert [fault for fault in write(capital, falsified())[0].history[0].faults if "spelled" in fault] == []


def test_an_item_is_set_aside_with_its_history_after_so_many_times() -> None:
    bad = questions(q2="Is the dog sitting?")
    written, asked = write(bad, bad, bad)
    assert written.dialogue is None
    (verdict,) = written.verdicts
    assert (verdict.record_id, verdict.kind, verdict.rule, verdict.hard) == (
        "coco-7-animal",
        "item",
        "check_description_missing",
        True,
    )
    assert verdict.detail.startswith("questions asked 3 times: description_missing: turn 2")
    assert len(written.history) == len(asked) == 3


def test_a_false_premise_that_stays_wrong_sets_the_item_aside_and_the_questions_are_not_asked_again() -> None:
    bad = falsified("the white cat on a chair")
    written, asked = write(questions(), bad, bad, bad)
    assert written.dialogue is None
    assert [request.form.name for request in asked] == ["fpco_questions", *["fpco_false_premise"] * 3]
    assert written.verdicts[0].rule == "check_edit_not_contiguous"


@pytest.mark.parametrize("outcome", ["refused", "truncated", "filtered", "schema_breaking"])
def test_no_answer_sets_the_item_aside_at_once(outcome: str) -> None:
    written, _ = write(outcome)
    assert written.verdicts[0].rule == f"writer_{outcome}"
    assert written.verdicts[0].detail == "questions asked 1 times: writer_" + outcome + ": questions: no more"
    later, _ = write(questions(), outcome)
    assert later.verdicts[0].rule == f"writer_{outcome}"
    assert [step.outcome for step in later.history] == ["answered", outcome]


def test_soft_verdicts_go_along_with_the_dialogue() -> None:
    written, _ = write(questions(), falsified("the brown puppy on the sofa"), false_class="identity")
    assert written.dialogue is not None
    assert "identity_compatible" in {verdict.rule for verdict in written.verdicts}


def test_a_place_is_asked_for_in_location_cells_alone() -> None:
    _, asked = write("refused", false_class="location")
    assert asked[0].prompt_version == "questions-1+place-wanted-1"
    _, asked = write("refused", false_class="identity")
    assert asked[0].prompt_version == "questions-1+place-free-1"


def vary(*answers: dict[str, Any] | str, taken: tuple[str, ...] = (), number: int = 0) -> tuple[Written, list[Request]]:
    """What comes of a variant of the dialogue that the other tests have written."""
    main = assembled(target(), questions(), falsified())
    named = replace(target(), item_id="coco-7-animal-attribute-B", dialogue_id="coco-7-animal-attribute-B")
    ask, asked = scripted(answers)
    written = asyncio.run(write_variant(ask, named, main, taken, number, RULES))
    assert len(asked) == len(answers)
    return written, asked


def test_a_variant_has_the_true_questions_of_its_dialogue() -> None:
    written, asked = vary(falsified("the black dog on the sofa"))
    assert written.dialogue is not None
    assert written.dialogue.dialogue_id == "coco-7-animal-attribute-B"
    assert [row.content for row in written.dialogue.questions] == [row["content"] for row in questions()["questions"]]
    assert written.dialogue.questions[9].modified == "Is the black dog on the sofa visible?"
    assert [(step.asked, step.outcome) for step in written.history] == [("variant", "answered")]
    assert asked[0].prompt_version == "variants-1+kind-attribute-1"


def test_a_variant_that_says_what_is_there_already_goes_back_and_is_set_aside() -> None:
    gray, black = "the gray dog on the sofa", "the black dog on the sofa"
    written, asked = vary(falsified(), falsified(gray), falsified(black), taken=(gray,))
    assert written.dialogue is not None
    assert [step.faults[0].partition(":")[0] if step.faults else "" for step in written.history] == [
        *["variant_repeats"] * 2,
        "",
    ]
    assert "variant_repeats" in str(asked[1].messages[2].parts[0])
    aside, _ = vary(falsified(), falsified(), falsified())
    assert aside.dialogue is None
    assert (aside.verdicts[0].record_id, aside.verdicts[0].rule) == (
        "coco-7-animal-attribute-B",
        "check_variant_repeats",
    )


def test_another_set_is_another_sample_of_the_same_question() -> None:
    _, (first,) = vary("refused")
    _, (second,) = vary("refused", number=1)
    assert (first.sample, second.sample) == (0, 1)
    assert first.messages == second.messages
