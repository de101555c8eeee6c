# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""One question of a run: looked up in the journal, asked if it is not there, kept, and only then answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from groundset.errors import GroundsetError, ServiceError
from groundset.llm.answers import ANSWERED, BAD_REQUEST, Answer, is_last_word, judge, next_attempt, settled
from groundset.llm.client import Line, StoppedError, send
from groundset.llm.config import Config
from groundset.llm.journal import Entry, Journal
from groundset.llm.progress import Tally
from groundset.llm.request import Request, described, key_of


@dataclass(frozen=True)
class Result:
    """What became of one question.

    Attributes:
        key: Its key in the journal.
        outcome: `answered`, or why there is no answer after all attempts.
        value: The answer, decoded; None unless answered.
        detail: Why it was not answered.
        attempts: How many attempts the journal holds.
        model: The model that answered last, as the server calls it.
    """

    key: str
    outcome: str
    value: Any
    detail: str
    attempts: int
    model: str


class MissingAnswerError(GroundsetError):
    """A replay came to a question that the journal has no last word on."""


Ask = Callable[[Request], Awaitable[Result]]


class Recorder:
    """Puts answers on the disk, those that wait together at once: one wait for the disk serves them all."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: list[tuple[Entry, asyncio.Future[None]]] = []
        self._work: asyncio.Task[None] | None = None

    async def record(self, entry: Entry) -> None:
        """Returns when the answer is on the disk."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, done))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._write())
        # whoever waits may be cancelled; the answer is kept all the same
        await asyncio.shield(done)

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._journal.record, [entry for entry, _ in batch])
            except Exception as error:
                for _, done in batch:
                    done.set_exception(error)
            else:
                for _, done in batch:
                    done.set_result(None)

    async def end(self) -> None:
        """Returns when all answers are on the disk, those too whose askers have left."""
        if self._work is not None:
            await self._work


@dataclass
class Desk:
    """What all conversations of a run share.

    Attributes:
        config: How the model is asked.
        journal: Where answers are looked up.
        tally: Counts.
        tell: Called when they have changed.
        line: The connection; None offline.
        recorder: Keeps answers.
        pending: Key to what ends when the question has been dealt with.
        bad_in_a_row: Requests in a row that the server would not take.
    """

    config: Config
    journal: Journal
    tally: Tally
    tell: Callable[[], None]
    line: Line | None
    recorder: Recorder
    pending: dict[str, asyncio.Future[None]]
    bad_in_a_row: int = 0


async def _receive(
    desk: Desk, line: Line, request: Request, key: str, description: dict[str, Any], answers: list[Answer]
) -> bool:
    """Asks the next attempt, keeps it and adds it to those there are; False if there is, or can be, no further one."""
    attempt = next_attempt(answers, request.form, desk.config)
    if attempt is None:
        return False
    desk.journal.require_room()
    received = await send(line, request, attempt, key)
    task = asyncio.current_task()
    line.posting.add(task)
    try:
        await desk.recorder.record(Entry(key, description, received))
    finally:
        line.posting.discard(task)
    answers.append(received.answer)
    outcome = judge(received.answer, request.form).outcome
    desk.tally.outcomes[outcome] += 1
    desk.tally.numbers["asked"] += 1
    desk.tally.numbers["prompt_tokens"] += received.usage.prompt_tokens
    desk.tally.numbers["completion_tokens"] += received.usage.completion_tokens
    desk.tell()
    desk.bad_in_a_row = desk.bad_in_a_row + 1 if outcome == BAD_REQUEST else 0
    if desk.bad_in_a_row >= desk.config.failed_requests:
        told = f"the server does not take {desk.bad_in_a_row} requests in a row, the last with {received.answer.error}"
        raise ServiceError(f"{desk.config.base_url}: {told} (look at the model's settings; all answers are kept)")
    if line.stopping.is_set():
        raise StoppedError
    return outcome not in (ANSWERED, BAD_REQUEST)


def _result(desk: Desk, request: Request, key: str, answers: Sequence[Answer]) -> Result:
    judged = settled(answers, request.form)
    if judged is None or (desk.line is None and not is_last_word(answers, request.form, desk.config)):
        have = f"only {len(answers)} of {desk.config.attempts} attempts, none answered" if answers else "no answer"
        raise MissingAnswerError(
            f"{desk.journal.path}: the journal has {have} for the key {key} ({request.label or 'no label'}, prompt "
            f"version {request.prompt_version}, sample {request.sample}); offline nobody is asked: build without "
            "--offline, or import the journal that has it"
        )
    return Result(key, judged.outcome, judged.value, judged.detail, len(answers), answers[-1].model)


async def answer(desk: Desk, request: Request) -> Result:
    """What becomes of a question, once that is on the disk.

    Raises:
        MissingAnswerError: Offline, and the journal has no last word on it.
        NoAnswerError: The server gives none.
        ServiceError: The run has to stop.
        StoppedError: It is being stopped.
        GroundsetError: The disk is full, or a photograph cannot be sent.
    """
    description = described(request, desk.config)
    key = key_of(description)
    while key in desk.pending:
        # the same question is on its way already
        await asyncio.wait([desk.pending[key]])
    desk.pending[key] = asyncio.get_running_loop().create_future()
    try:
        answers = list(desk.journal.answers(key))
        have = len(answers)
        if desk.line is not None:
            while await _receive(desk, desk.line, request, key, description, answers):
                pass
        result = _result(desk, request, key, answers)
        desk.tally.numbers["replayed"] += int(result.attempts == have)
        return result
    finally:
        desk.pending.pop(key).set_result(None)
