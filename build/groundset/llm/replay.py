# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a journal leads conversations: what comes of each by its answers alone, or the first one that is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from groundset.llm.answers import BAD_REQUEST
from groundset.llm.config import Config
from groundset.llm.desk import Desk, MissingAnswerError, Recorder, Result, answer
from groundset.llm.journal import Journal
from groundset.llm.progress import Tally
from groundset.llm.request import Request, described, key_of
from groundset.llm.run import Talk

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Missing:
    """A conversation that the journal does not lead to its end.

    Attributes:
        request: The first question that it has no last word on.
        attempts: How many attempts at it the journal has.
        before: The questions before it, in order.
    """

    request: Request
    attempts: int
    before: tuple[Request, ...]


class _MissingError(Exception):
    def __init__(self, request: Request) -> None:
        super().__init__(request.label)
        self.request = request


def replay(
    talk: Talk[Item, Made],
    items: Sequence[Item],
    config: Config,
    journal: Journal,
    final: Collection[str] | None = None,
) -> list[Made | Missing]:
    """What comes of each item by the journal alone, in order; asks nobody.

    Args:
        talk: The conversation, as for `run.converse`.
        items: What to talk about.
        config: How the model would be asked.
        journal: Where answers are looked up.
        final: Keys of the questions that are not asked again though the server did not take them; None for all.
    """
    desk = Desk(config, journal, Tally(), lambda: None, None, Recorder(journal), {})

    async def one(item: Item) -> Made | Missing:
        before: list[Request] = []

        async def ask(request: Request) -> Result:
            try:
                result = await answer(desk, request)
            except MissingAnswerError:
                raise _MissingError(request) from None
            is_over = final is None or result.key in final or result.attempts >= config.attempts
            if result.outcome == BAD_REQUEST and not is_over:
                raise _MissingError(request)
            before.append(request)
            return result

        try:
            return await talk(ask, item)
        except _MissingError as error:
            attempts = len(journal.answers(key_of(described(error.request, config))))
            return Missing(error.request, attempts, tuple(before))

    async def every() -> list[Made | Missing]:
        return [await one(item) for item in items]

    return asyncio.run(every())
