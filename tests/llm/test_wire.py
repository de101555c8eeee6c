# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundset.llm import run
from groundset.llm.answers import Attempt, Usage, judge
from groundset.llm.config import Config
from groundset.llm.request import Message, Picture
from groundset.llm.wire import body, read

FIRST = Attempt(1, 100)


@pytest.fixture
def conversation(ask_for: Any) -> Any:
    picture = Picture("a" * 64, Path("a.jpg"))
    messages = (
        Message("system", ("Be short.",)),
        Message("user", (picture, "Which?")),
        Message("assistant", ("That.",)),
        Message("user", ("Why?",)),
    )
    return replace(ask_for("x"), messages=messages)


def responses(config: Config) -> Config:
    return replace(config, api="responses", max_tokens_name="max_output_tokens")


def test_chat_body(conversation: Any, config: Config) -> None:
    made = json.loads(body(conversation, FIRST, config, {"a" * 64: "data:image/jpeg;base64,AA=="}))
    assert made["messages"] == [
        {"role": "system", "content": "Be short."},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AA=="}},
                {"type": "text", "text": "Which?"},
            ],
        },
        {"role": "assistant", "content": "That."},
        {"role": "user", "content": "Why?"},
    ]
    assert made["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "questions", "schema": conversation.form.sent, "strict": True},
    }


def test_responses_body(conversation: Any, config: Config) -> None:
    made = json.loads(body(conversation, FIRST, responses(config), {"a" * 64: "data:image/jpeg;base64,AA=="}))
    assert made == {
        "model": "writer-1",
        "temperature": 0.5,
        "max_output_tokens": 100,
        "store": False,
        "text": {
            "format": {"type": "json_schema", "name": "questions", "schema": conversation.form.sent, "strict": True}
        },
        "input": [
            {"role": "system", "content": [{"type": "input_text", "text": "Be short."}]},
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": "data:image/jpeg;base64,AA==", "detail": "auto"},
                    {"type": "input_text", "text": "Which?"},
                ],
            },
            {"role": "assistant", "content": [{"type": "output_text", "text": "That."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "Why?"}]},
        ],
    }


def test_a_seed_moves_on_with_sample_and_attempt(ask_for: Any, config: Config) -> None:
    seeded = replace(config, parameters={"seed": 7})
    seeds = {
        json.loads(body(ask_for("a", sample=sample), Attempt(attempt, 100), seeded, {}))["seed"]
        for sample in range(3)
        for attempt in (1, 2, 3)
    }
    assert len(seeds) == 9
    assert min(seeds) == 7


def output(text: str | None = None, refusal: str | None = None) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": text} if refusal is None else {"type": "refusal", "refusal": refusal}
    return [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [part]}]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"status": "completed", "output": output("WHOLE")}, "answered"),
        ({"status": "completed", "output": output("{}")}, "schema_breaking"),
        ({"status": "completed", "output": output(refusal="No.")}, "refused"),
        ({"status": "completed", "output": []}, "empty"),
        ({"status": "failed", "output": []}, "unfinished"),
        ({"output": output("WHOLE")}, "unfinished"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": output("WHOLE")},
            "truncated",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": output("WHOLE")},
            "filtered",
        ),
    ],
)
def test_outcomes_of_the_responses_api(
    answer: dict[str, Any], outcome: str, server: Any, ask_for: Any, config: Config
) -> None:
    text = json.dumps(answer).replace('"WHOLE"', json.dumps(json.dumps(server.ten())))
    found, _ = read(text.encode(), FIRST, responses(config))
    assert judge(found, ask_for("a").form).outcome == outcome


def test_tokens_of_both_apis(config: Config) -> None:
    chat = b'{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "more": {}}}'
    assert read(chat, FIRST, config)[1] == Usage(3, 4)
    other = b'{"status": "completed", "output": [], "usage": {"input_tokens": 3, "output_tokens": 4}}'
    assert read(other, FIRST, responses(config))[1] == Usage(3, 4)


@pytest.mark.parametrize("usage", ["null", '"many"', "[1]", '{"prompt_tokens": -1}', f'{{"prompt_tokens": {10**30}}}'])
def test_tokens_that_cannot_be_are_none_and_spoil_no_answer(config: Config, usage: str) -> None:
    chat = b'{"choices": [], "usage": %b}' % usage.encode()
    assert read(chat, FIRST, config)[1] == Usage(0, 0)


def test_the_responses_api_is_asked_at_its_own_path(server: Any, ask_for: Any, config: Config, journal: Any) -> None:
    answer = {"status": "completed", "model": "served-2", "output": output(json.dumps(server.ten()))}
    server.script = lambda question, number, body: server.reply(body=json.dumps(answer).encode())
    with run.ask_all([ask_for("a")], responses(config), journal) as results:
        ((_, result),) = results
    assert (result.outcome, result.model) == ("answered", "served-2")
    assert server.asked[0].path == "/v1/responses"
