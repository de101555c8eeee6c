# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.llm import run
from groundset.llm.answers import (
    ANSWERED,
    BAD_REQUEST,
    OUTCOMES,
    TRUNCATED,
    Answer,
    Attempt,
    is_last_word,
    judge,
    next_attempt,
    settled,
)
from groundset.llm.desk import MissingAnswerError
from groundset.llm.forms import form

ANY = form("any", {"type": "object", "properties": {}, "required": [], "additionalProperties": False})

FINISHES = {
    "answered": ("stop", "{}", None, ""),
    "truncated": ("length", "{}", None, ""),
    "refused": ("stop", None, "No.", ""),
    "filtered": ("content_filter", "{}", None, ""),
    "unfinished": ("", "{}", None, ""),
    "empty": ("stop", " \n", None, ""),
    "schema_breaking": ("stop", '{"a": 1}', None, ""),
    "bad_request": ("", None, None, "400: no"),
    "unreadable": ("unreadable", None, None, "the answer is no JSON"),
}


def answer(outcome: str, attempt: int = 1, max_tokens: int = 100) -> Answer:
    finish, content, refusal, error = FINISHES[outcome]
    return Answer(attempt, max_tokens, finish, content, refusal, "served-1", error)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_has_its_answer_and_only_one_a_value(outcome: str) -> None:
    judged = judge(answer(outcome), ANY)
    assert judged.outcome == outcome
    assert (judged.value == {}) == (outcome == ANSWERED)
    assert bool(judged.detail) == (outcome != ANSWERED)


def test_the_first_attempt_that_was_answered_counts(config: Any) -> None:
    history = [answer("empty", 1), answer("answered", 2), answer("refused", 3)]
    found = settled(history, ANY)
    assert found is not None
    assert found.outcome == ANSWERED
    assert next_attempt(history, ANY, replace(config, attempts=9)) is None
    assert is_last_word(history, ANY, replace(config, attempts=9))
    assert settled([], ANY) is None


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], Attempt(1, 100)),
        (["empty"], Attempt(2, 100)),
        (["truncated"], Attempt(2, 200)),
        (["truncated", "empty"], Attempt(3, 200)),
        (["truncated", "truncated"], Attempt(3, 400)),
        (["truncated", "truncated", "truncated"], None),
        (["refused", "refused", "refused", "refused"], None),
        (["bad_request"], Attempt(2, 100)),
    ],
)
def test_what_is_asked_next(config: Any, outcomes: list[str], expected: Attempt | None) -> None:
    config = replace(config, attempts=4, max_tokens_limit=400)
    history: list[Answer] = []
    for outcome in outcomes:
        following = next_attempt(history, ANY, config)
        assert following is not None
        history.append(answer(outcome, following.number, following.max_tokens))
    assert next_attempt(history, ANY, config) == expected


@given(st.lists(st.sampled_from(OUTCOMES), max_size=12), st.integers(1, 6), st.integers(1, 500), st.integers(0, 4000))
def test_asking_ends_and_keeps_its_limits(outcomes: list[str], attempts: int, tokens: int, more: int) -> None:
    config: Any = type("Settings", (), {"attempts": attempts, "max_tokens": tokens, "max_tokens_limit": tokens + more})
    history: list[Answer] = []
    for outcome in outcomes:
        following = next_attempt(history, ANY, config)
        if following is None:
            break
        assert following.number == len(history) + 1 <= attempts
        assert (history[-1].max_tokens if history else tokens) <= following.max_tokens <= tokens + more
        if history and judge(history[-1], ANY).outcome == TRUNCATED:
            assert following.max_tokens > history[-1].max_tokens
        history.append(answer(outcome, following.number, following.max_tokens))
    over = next_attempt(history, ANY, config) is None
    last = judge(history[-1], ANY).outcome if history else ""
    assert is_last_word(history, ANY, config) == (bool(history) and (over or last == BAD_REQUEST))


def test_an_answer_that_a_stricter_rule_rejects_is_asked_for_again(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    strict = ask_for("a")
    loose = replace(strict, form=form(strict.form.name, strict.form.sent))
    nine = {**server.ten(), "questions": server.ten()["questions"][:9]}
    server.script = lambda question, number, body: (
        server.reply(content=json.dumps(nine)) if number == 1 else server.good()
    )
    with run.ask_all([loose], config, journal) as results:
        assert [result.value for _, result in results] == [nine]
    with pytest.raises(MissingAnswerError), run.ask_all([strict], config, journal, offline=True) as results:
        list(results)
    with run.ask_all([strict], config, journal) as results:
        assert [(result.value, result.attempts) for _, result in results] == [(server.ten(), 2)]
