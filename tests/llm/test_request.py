# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What changes a key, part by part, and that nothing else does."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from groundset import schema
from groundset.llm.config import IN_THE_KEY, Config
from groundset.llm.forms import form
from groundset.llm.request import Message, Picture, Request, described, key_of

CONFIG_CHANGES: dict[str, Any] = {
    "api": "responses",
    "base_url": "http://127.0.0.1:1/v1",
    "model": "writer-2",
    "parameters": {"temperature": 0.6},
    "max_tokens_name": "max_tokens",
    "max_tokens": 101,
    "longest_side_px": 512,
    "jpeg_quality": 91,
    "max_tokens_limit": 1000,
    "attempts": 9,
    "key_env": "ANOTHER_KEY",
    "concurrency": 99,
    "requests_per_minute": 1,
    "tokens_per_minute": 1,
    "connect_timeout_s": 1.0,
    "request_timeout_s": 1.0,
    "failures": 9,
    "failed_requests": 9,
    "first_wait_s": 9.0,
    "max_wait_s": 9.0,
    "max_retry_after_s": 9.0,
}


@pytest.fixture
def sized(config: Config) -> Config:
    return replace(config, longest_side_px=768)


@pytest.fixture
def request_with_picture(ask_for: Any) -> Request:
    made: Request = ask_for("Which?")
    picture = Picture("a" * 64, Path("somewhere/a.jpg"))
    return replace(made, messages=(*made.messages[:1], Message("user", (picture, "Which?"))))


def key(request: Request, config: Config) -> str:
    return key_of(described(request, config))


@pytest.mark.parametrize("name", [field.name for field in fields(Config)])
def test_every_setting_is_in_the_key_or_is_not(request_with_picture: Request, sized: Config, name: str) -> None:
    changed = replace(sized, **{name: CONFIG_CHANGES[name]})
    assert getattr(changed, name) != getattr(sized, name)
    is_missed = key(request_with_picture, changed) != key(request_with_picture, sized)
    assert is_missed == (name in IN_THE_KEY)


def message_changes(request: Request) -> dict[str, tuple[Message, ...]]:
    system, user = request.messages
    picture = user.parts[0]
    assert isinstance(picture, Picture)
    return {
        "role": (replace(system, role="user"), user),
        "system text": (replace(system, parts=("You write questions!",)), user),
        "user text": (system, replace(user, parts=(picture, "What?"))),
        "image sha256": (system, replace(user, parts=(replace(picture, sha256="b" * 64), "Which?"))),
        "order of parts": (system, replace(user, parts=("Which?", picture))),
        "order of messages": (user, system),
        "another message": (system, user, Message("assistant", ("This.",))),
        "two texts in place of one": (system, replace(user, parts=(picture, "Wh", "ich?"))),
    }


NAMES = ["role", "system text", "user text", "image sha256", "order of parts", "order of messages"]


@pytest.mark.parametrize("name", [*NAMES, "another message", "two texts in place of one"])
def test_every_message_is_in_the_key(request_with_picture: Request, config: Config, name: str) -> None:
    changed = replace(request_with_picture, messages=message_changes(request_with_picture)[name])
    assert key(changed, config) != key(request_with_picture, config)


def test_schema_prompt_version_and_sample_are_in_the_key(request_with_picture: Request, config: Config) -> None:
    sent = request_with_picture.form.sent
    described_otherwise = {**sent, "description": "Ten questions."}
    variants = [
        request_with_picture,
        replace(request_with_picture, form=form("others", sent)),
        replace(request_with_picture, form=form("questions", described_otherwise)),
        replace(request_with_picture, prompt_version="v2"),
        replace(request_with_picture, sample=1),
    ]
    assert len({key(variant, config) for variant in variants}) == len(variants)


def test_label_path_and_what_only_we_check_are_not_in_the_key(
    request_with_picture: Request, config: Config, tmp_path: Path
) -> None:
    system, user = request_with_picture.messages
    picture = user.parts[0]
    assert isinstance(picture, Picture)
    moved = replace(user, parts=(replace(picture, path=tmp_path / "b.jpg"), *user.parts[1:]))
    changed = replace(
        request_with_picture,
        label="another",
        messages=(system, moved),
        form=form("questions", request_with_picture.form.sent),
    )
    assert key(changed, config) == key(request_with_picture, config)


def test_how_photographs_are_sent_is_not_in_the_key_of_a_question_without_one(ask_for: Any, config: Config) -> None:
    request = ask_for("Which?")
    assert key(request, replace(config, longest_side_px=512)) == key(request, config)


def test_the_order_of_keys_is_not_in_the_key(ask_for: Any, config: Config) -> None:
    one = replace(config, parameters={"temperature": 0.5, "seed": 7})
    other = replace(config, parameters={"seed": 7, "temperature": 0.5})
    assert key(ask_for("a"), one) == key(ask_for("a"), other)


def test_a_key_stays_what_it_is(ask_for: Any, config: Config) -> None:
    # a change here makes everyone pay again: it needs a new VERSION and a word in the changelog
    fixed = replace(config, base_url="http://127.0.0.1:8000/v1")
    assert key(ask_for("a"), fixed) == "1d93bba1cb503f350a9c90c626ee4c5056280959e64763042f3604e53328b6ef"


def test_a_described_request_keeps_its_schema(request_with_picture: Request, sized: Config) -> None:
    answer = {
        "attempt": 1,
        "max_tokens": 1,
        "finish": "stop",
        "content": None,
        "refusal": None,
        "model": "",
        "error": "",
    }
    description = described(request_with_picture, sized)
    entry = {"key": key_of(description), "request": description, "answers": [answer]}
    assert schema.errors("journal_entry", entry) == []
