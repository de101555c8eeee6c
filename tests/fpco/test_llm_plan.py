# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Bounds of what is still to be paid, held against the loop itself with the luckiest and the unluckiest model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco import llm_plan
from groundset.fpco.cross_checks import Draft
from groundset.fpco.llm_plan import Bounds, Unpaid, UnpaidError
from groundset.fpco.llm_writer import Rules, write_one
from groundset.fpco.prompting import (
    Target,
    ask_again,
    ask_false_premise,
    ask_presence,
    ask_questions,
    ask_variant,
    assembled,
)
from groundset.llm.config import Config
from groundset.llm.desk import Result
from groundset.llm.replay import Missing
from groundset.llm.request import Picture, Request

TRUE, FALSE = "the brown dog on the sofa", "the white dog on the sofa"
WHATS = ("awake", "sitting", "wet", "alone", "barking", "tired", "clean", "eating", "moving", "visible")
TARGET = Target(
    "i",
    "i-attribute",
    "7",
    Picture("f" * 64, Path("7.jpg")),
    "animal",
    "dog",
    (0.0, 0.0, 9.0, 9.0),
    (9, 9),
    "attribute",
)
WRITTEN = {
    "target_description": TRUE,
    "questions": [{"id": number, "content": f"Is {TRUE} {what}?"} for number, what in enumerate(WHATS, 1)],
}
FALSIFIED = {
    "modified_target_description": FALSE,
    "questions": [{"id": number, "modified": f"Is {FALSE} {WHATS[number - 1]}?"} for number in range(4, 11)],
}


def config(attempts: int) -> Config:
    return Config(
        api="chat",
        base_url="http://127.0.0.1:1/v1",
        model="writer-1",
        parameters={},
        max_tokens_name="max_tokens",
        max_tokens=100,
        longest_side_px=0,
        jpeg_quality=90,
        max_tokens_limit=400,
        attempts=attempts,
        key_env="",
        concurrency=1,
        requests_per_minute=0,
        tokens_per_minute=0,
        connect_timeout_s=1,
        request_timeout_s=1,
        failures=1,
        failed_requests=1,
        first_wait_s=0,
        max_wait_s=0,
        max_retry_after_s=0,
    )


def questions_asked(mends: int, *, is_lucky: bool) -> int:
    """How many questions the loop asks of a model that is always right, or that is right at the last try of each."""
    asked: list[Request] = []

    async def ask(request: Request) -> Result:
        asked.append(request)
        same = sum(one.form == request.form for one in asked)
        right = WRITTEN if request.form.name == "fpco_questions" else FALSIFIED
        texts: Any = {**right, "questions": [dict(row) for row in right["questions"]]}
        if not is_lucky and same <= mends:
            row = texts["questions"][-1]
            row["content" if "content" in row else "modified"] = "Is it there?"
        return Result("k", "answered", texts, "", 1, "m")

    written = asyncio.run(write_one(ask, TARGET, Rules(mends, location_with_place=True)))
    assert written.dialogue is not None
    return len(asked)


@given(mends=st.integers(0, 4), attempts=st.integers(1, 5))
def test_the_bounds_of_an_item_are_what_the_loop_asks_at_least_and_at_most(mends: int, attempts: int) -> None:
    missing = Missing(ask_questions(TARGET, with_place=False), 0, ())
    row = llm_plan.of_writer("dialogues", config(attempts), mends, [missing], [])
    least, most = questions_asked(mends, is_lucky=True), questions_asked(mends, is_lucky=False)
    assert row.requests == row.images == Bounds(least, attempts * most)


def test_what_was_asked_is_taken_off() -> None:
    first = ask_questions(TARGET, with_place=False)
    mended = ask_again(first, WRITTEN, [])
    false = ask_false_premise(TARGET, WRITTEN)

    def left(missing: list[Missing]) -> Bounds:
        return llm_plan.of_writer("dialogues", config(3), 2, missing, []).requests

    assert left([Missing(first, 1, ())]) == Bounds(2, 2 + 6 + 9)
    assert left([Missing(mended, 0, (first,))]) == Bounds(2, 3 + 3 + 9)
    assert left([Missing(false, 2, (first, mended))]) == Bounds(1, 1 + 6)
    assert left([]) == Bounds(0, 0)


def test_a_variant_that_nobody_has_begun_may_take_the_whole_loop() -> None:
    dialogue = assembled(TARGET, WRITTEN, FALSIFIED)
    asked = ask_variant(TARGET, dialogue, (), sample=0)
    row = llm_plan.of_writer("variants", config(3), 1, [Missing(asked, 2, ())], [Draft(TARGET, dialogue)] * 2)
    assert (row.what, row.items) == ("variants", 3)
    assert row.requests == Bounds(1 + 2, 1 + 3 + 2 * 6)


def test_another_model_is_asked_twice_a_dialogue_whether_it_is_written_yet_or_not() -> None:
    asked = [ask_presence(TARGET, TRUE), ask_presence(TARGET, FALSE)]
    missing = [Missing(asked[0], 1, ()), Missing(asked[1], 0, (asked[0],))]
    row = llm_plan.of_checker("dialogues", config(3), 2, missing, [TARGET])
    assert row.requests == Bounds(2 + 1 + 2, 5 + 3 + 6)
    assert row.items == 3


def test_a_plan_is_told_in_words_and_added_up() -> None:
    rows = [
        Unpaid("dialogues", "a", "http://a", 2, Bounds(4, 9), Bounds(4, 9), Bounds(10, 20)),
        Unpaid("variants", "b", "http://b", 1, *[Bounds(2, 2)] * 3),
    ]
    assert llm_plan.requests(rows) == Bounds(6, 11)
    assert llm_plan.told(rows) == [
        "a at http://a: 2 dialogues, 4 to 9 requests, 4 to 9 images, about 10 to 20 tokens",
        "b at http://b: 1 variant, 2 requests, 2 images, about 2 tokens",
    ]
    assert llm_plan.requests([]) == llm_plan.NONE


def test_what_is_unpaid_is_a_wrong_command() -> None:
    with pytest.raises(UnpaidError) as error:
        raise UnpaidError("more than agreed", ())
    assert (error.value.exit_code, error.value.plan, str(error.value)) == (2, (), "more than agreed")
