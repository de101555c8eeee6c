# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""OpenAI's Batch API, of which a server on the loopback interface keeps the part that is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundset.errors import DataError, ServiceError
from groundset.llm import batch
from groundset.llm.config import Config
from groundset.llm.journal import Journal
from groundset.llm.request import Request, described, key_of

PLANTED = "planted-0123456789-abcdefghij"


def keys(requests: list[Request], config: Config) -> list[str]:
    return [key_of(described(request, config)) for request in requests]


@pytest.fixture
def three(ask_for: Callable[..., Request]) -> list[Request]:
    return [ask_for(f"question {number}") for number in range(3)]


@pytest.fixture
def good(server: Any) -> str:
    return json.dumps(server.ten())


def test_what_is_handed_over_is_waited_for_and_then_kept(
    server_of: Any, config: Config, journal: Journal, three: list[Request], good: str, tmp_path: Path
) -> None:
    there = server_of(lambda key, body: (200, there.answer(good)))
    asked = replace(config, base_url=there.url)
    folder = tmp_path / "batches"
    assert batch.hand_over(three, asked, journal, folder) == 3
    assert batch.collect(asked, journal, folder) == (0, ["batch batch-1: in_progress, 0 of 3 answered"])
    there.finish()
    assert batch.collect(asked, journal, folder) == (1, [])
    for key in keys(three, asked):
        (answer,) = journal.answers(key)
        assert (answer.content, answer.finish, answer.attempt, answer.model) == (good, "stop", 1, "served-1")
    assert journal.spent().prompt_tokens == 33
    # nothing is left, here or there
    assert batch.collect(asked, journal, folder) == (0, [])
    assert there.files == {}
    assert batch.hand_over(three, asked, journal, folder) == 0


def test_a_batch_whose_number_never_arrived_is_found_again_and_not_paid_twice(
    server_of: Any, config: Config, journal: Journal, three: list[Request], good: str, tmp_path: Path
) -> None:
    there = server_of(lambda key, body: (200, there.answer(good)))
    asked = replace(config, base_url=there.url)
    folder = tmp_path / "batches"
    there.lose_answer_to = "/batches"
    with pytest.raises(ServiceError, match="cannot be reached"):
        batch.hand_over(three, asked, journal, folder)
    there.lose_answer_to = ""
    assert len(there.batches) == 1
    there.finish()
    assert batch.collect(asked, journal, folder) == (1, [])
    assert all(len(journal.answers(key)) == 1 for key in keys(three, asked))
    assert len(there.batches) == 1


def test_a_batch_that_never_got_there_is_handed_over_anew(
    server_of: Any, config: Config, journal: Journal, three: list[Request], good: str, tmp_path: Path
) -> None:
    there = server_of(lambda key, body: (200, there.answer(good)))
    asked = replace(config, base_url=there.url)
    folder = tmp_path / "batches"
    there.status = 401
    with pytest.raises(ServiceError, match="is the key right") as error:
        batch.hand_over(three, asked, journal, folder)
    assert PLANTED not in str(error.value)
    there.status = 200
    assert batch.collect(asked, journal, folder) == (1, [])
    assert batch.hand_over(three, asked, journal, folder) == 3


def test_each_outcome_is_what_it_would_be_if_asked_directly(
    server_of: Any, config: Config, journal: Journal, three: list[Request], good: str, tmp_path: Path
) -> None:
    first: dict[str, tuple[int, Any]] = {}
    there = server_of(lambda key, body: first[key])
    outcomes = [
        (200, there.answer('{"target', "length")),
        (400, {"error": {"message": "no such picture", "code": "bad"}}),
        (500, {"error": {"message": "later"}}),
    ]
    asked = replace(config, base_url=there.url)
    first |= dict(zip(keys(three, asked), outcomes, strict=True))
    folder = tmp_path / "batches"
    batch.hand_over(three, asked, journal, folder)
    there.finish()
    batch.collect(asked, journal, folder)
    (cut,), (bad,), none = (journal.answers(key) for key in keys(three, asked))
    assert (cut.finish, cut.max_tokens) == ("length", 100)
    assert bad.error == "400 bad: no such picture"
    assert none == ()
    # the truncated one is asked again with twice the tokens, as it would be
    batch.hand_over(three[:1], asked, journal, folder)
    (line,) = [json.loads(content) for content in there.files.values()]
    assert line["body"]["max_completion_tokens"] == 200


def test_many_questions_are_several_batches(
    server_of: Any,
    config: Config,
    journal: Journal,
    three: list[Request],
    good: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = server_of(lambda key, body: (200, there.answer(good)))
    asked = replace(config, base_url=there.url)
    monkeypatch.setattr(batch, "MOST_QUESTIONS", 2)
    folder = tmp_path / "batches"
    assert batch.hand_over([*three, three[0]], asked, journal, folder) == 3
    assert len(there.batches) == len(batch.noted(folder, asked)) == 2
    there.finish()
    assert batch.collect(asked, journal, folder) == (2, [])


def test_a_batch_that_is_refused_as_a_whole_stops_the_build_and_is_forgotten(
    server_of: Any, config: Config, journal: Journal, three: list[Request], tmp_path: Path
) -> None:
    there = server_of(lambda key, body: (500, {}))
    asked = replace(config, base_url=there.url)
    folder = tmp_path / "batches"
    batch.hand_over(three, asked, journal, folder)
    there.finish("failed")
    there.batches["batch-1"]["errors"] = {"object": "list", "data": [{"message": "no such model", "code": "m"}]}
    with pytest.raises(ServiceError, match="refuses the batch batch-1: no such model"):
        batch.collect(asked, journal, folder)
    assert batch.noted(folder, asked) == []


def test_a_note_that_is_none_is_named(config: Config, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(DataError, match=r"a\.json: the note of a batch cannot be read"):
        batch.noted(tmp_path, config)
