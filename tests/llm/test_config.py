# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from groundset.errors import UsageError
from groundset.llm.config import Config, Key, config_of, read_key


def test_a_config_is_read_from_a_table_that_holds_more(config: Config) -> None:
    assert config_of({**asdict(config), "kind": "llm", "base_url": f"{config.base_url}/"}) == config


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"base_url": "https://someone:planted-secret@example.invalid/v1"}, ["$.base_url"]),
        ({"base_url": "https://planted-secret@example.invalid/v1"}, ["$.base_url"]),
        ({"base_url": "https://example.invalid/v1?key=planted-secret"}, ["$.base_url"]),
        ({"base_url": "https://example.invalid/v1#planted-secret"}, ["$.base_url"]),
        ({"base_url": "ftp://example.invalid/v1"}, ["$.base_url"]),
        ({"base_url": "example.invalid/v1"}, ["$.base_url"]),
        ({"base_url": "http:///v1"}, ["$.base_url"]),
        ({"base_url": "http://example.invalid:99999/v1"}, ["$.base_url"]),
        ({"base_url": "http://[::1/v1"}, ["$.base_url"]),
        ({"base_url": "http://example.invalid/v 1"}, ["$.base_url"]),
        ({"api": "assistants"}, ["$.api"]),
        ({"api": "responses"}, ["$.max_tokens_name"]),
        ({"parameters": {"stream": True, "model": "x"}}, ["$.parameters"]),
        ({"parameters": {"seed": "7"}}, ["$.parameters.seed"]),
        ({"max_tokens_limit": 99}, ["$.max_tokens_limit"]),
        ({"max_tokens_limit": 99, "api": "x"}, ["$.api", "$.max_tokens_limit"]),
    ],
)
def test_what_a_schema_cannot_see_is_named_without_a_secret(
    config: Config, changes: dict[str, Any], paths: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        config_of({**asdict(config), **changes})
    assert [problem.path for problem in caught.value.problems] == paths
    assert "planted-secret" not in str(caught.value)


@pytest.mark.parametrize("value", ["", "  ", "planted secret", "planted\nsecret", "pl\u00e4nted-secret"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(config: Config, value: str) -> None:
    with pytest.raises(UsageError, match=config.key_env) as caught:
        read_key(config, {config.key_env: value})
    assert "secret" not in str(caught.value)


def test_a_key_shows_itself_to_nobody(config: Config) -> None:
    key = read_key(config, {config.key_env: "planted-secret-01\n"})
    assert key.value == "planted-secret-01"
    assert "planted" not in f"{key!r} {key} {[key]}"
    assert key.scrubbed("a planted-secret-01 b, sk-ab***yz9 c") == "a [key] b, [key] c"
    assert key.is_in(b'{"echo": "planted-secret-01"}')
    assert not Key("llama.cpp").is_in(b"llama.cpp says")
    assert key.scrubbed("unknown key temperature in the request") == "unknown key temperature in the request"
