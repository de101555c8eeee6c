# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a journal leads conversations, without asking anyone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from groundset.llm import run
from groundset.llm.config import Config
from groundset.llm.journal import Journal
from groundset.llm.replay import Missing, replay
from groundset.llm.request import Request


@pytest.fixture
def talk(ask_for: Callable[..., Request]) -> Callable[..., Any]:
    """Asks twice about an item, the second time only if the first answer was one."""

    async def both(ask: Any, item: str) -> str:
        first = await ask(ask_for(f"{item} first"))
        if first.outcome != "answered":
            return str(first.outcome)
        return str((await ask(ask_for(f"{item} second"))).outcome)

    return both


def test_settled_conversations_are_replayed_and_the_first_missing_question_is_told(
    server: Any, config: Config, journal: Journal, ask_for: Callable[..., Request], talk: Callable[..., Any]
) -> None:
    server.script = lambda question, number, body: (
        server.reply(refusal="no") if question.startswith("b") else server.good()
    )
    asked = [ask_for("a first"), ask_for("a second"), ask_for("b first"), ask_for("c first")]
    with run.ask_all(asked, config, journal) as results:
        assert len(list(results)) == len(asked)
    count = len(server.asked)
    a, b, c, d = replay(talk, ["a", "b", "c", "d"], config, journal)
    assert (a, b) == ("answered", "refused")
    assert isinstance(c, Missing)
    assert (c.request.label, c.attempts, [request.label for request in c.before]) == ("c second", 0, ["c first"])
    assert isinstance(d, Missing)
    assert (d.request.label, d.attempts, d.before) == ("d first", 0, ())
    assert len(server.asked) == count


def test_attempts_that_are_there_already_are_counted(
    server: Any, config: Config, journal: Journal, ask_for: Callable[..., Request], talk: Callable[..., Any]
) -> None:
    server.script = lambda question, number, body: server.reply(refusal="no")
    with run.ask_all([ask_for("a first")], replace(config, attempts=2), journal) as results:
        list(results)
    (again,) = replay(talk, ["a"], config, journal)
    assert isinstance(again, Missing)
    assert again.attempts == 2
    assert replay(talk, ["a"], replace(config, attempts=2), journal) == ["refused"]


def test_a_request_that_the_server_did_not_take_is_settled_for_a_replay(
    server: Any, config: Config, journal: Journal, ask_for: Callable[..., Request], talk: Callable[..., Any]
) -> None:
    server.script = lambda question, number, body: server.error(400, message="no such image")
    with run.ask_all([ask_for("a first")], config, journal) as results:
        list(results)
    assert replay(talk, ["a"], config, journal) == ["bad_request"]


def test_nothing_is_made_of_what_the_conversation_itself_gets_wrong(config: Config, journal: Journal) -> None:
    async def fails(ask: Any, item: str) -> str:
        raise ValueError(item)

    with pytest.raises(ValueError, match="a"):
        replay(fails, ["a"], config, journal)
