# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Works through many items, each a short conversation with the model, so many at a time; results come as they are done.

The event loop has a thread of its own: the network goes on while the caller works on a result. Answers that are on
their way when a run ends early are waited for a moment, because they may be paid for already.
"""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from groundset.errors import ServiceError
from groundset.llm.client import NoAnswerError, open_line
from groundset.llm.config import Config, Key, read_key
from groundset.llm.desk import Ask, Desk, Recorder, Result, answer
from groundset.llm.journal import Journal
from groundset.llm.pacing import Clock
from groundset.llm.progress import Notice, Tally
from groundset.llm.request import Request

Item = TypeVar("Item")
Made = TypeVar("Made")
Talk = Callable[[Ask, Item], Awaitable[Made]]

DRAIN_S = 5.0
_SHOWN = 5


class _GivenUp:
    """The items that the server gave no answer for; too many in a row end the run."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._in_a_row = 0
        self.told: list[str] = []

    def note(self, error: NoAnswerError) -> None:
        self._in_a_row += 1
        self.told.append(str(error))
        if self._in_a_row >= self._config.failed_requests:
            raise self.summary()

    def end_row(self) -> None:
        self._in_a_row = 0

    def summary(self) -> ServiceError:
        shown = "".join(f"\n  {line}" for line in self.told[-_SHOWN:])
        more = f"\n  and {len(self.told) - _SHOWN} more" if len(self.told) > _SHOWN else ""
        return ServiceError(
            f"{self._config.base_url}: the server gave no answer to {len(self.told)} requests; all others are kept, "
            f"run again to ask these once more{shown}{more}"
        )


@dataclass(frozen=True)
class _End:
    """The last that comes out of a run: what it failed with, or None."""

    error: BaseException | None


@dataclass(frozen=True)
class _Out:
    """Where the results go: a queue that the caller empties, and room for so many that it has not taken yet."""

    results: queue.SimpleQueue[Any]
    room: asyncio.Semaphore


async def _work(desk: Desk, items: Iterator[Item], talk: Talk[Item, Made], out: _Out, given_up: _GivenUp) -> None:
    async def ask(request: Request) -> Result:
        return await answer(desk, request)

    end = object()
    number = desk.tally.numbers
    while desk.line is None or not desk.line.stopping.is_set():
        # one item at a time is taken, so that memory does not grow with their number
        item = next(items, end)
        if item is end:
            return
        number["at_work"] += 1
        try:
            made = await talk(ask, item)  # type: ignore[arg-type]
            number["done"] += 1
            given_up.end_row()
        except NoAnswerError as error:
            number["given_up"] += 1
            given_up.note(error)
            continue
        finally:
            number["at_work"] -= 1
            desk.tell()
        await out.room.acquire()
        out.results.put(made)


async def _until_stopped(workers: set[asyncio.Task[None]], stop: asyncio.Event) -> BaseException | None:
    """Waits until all workers are done, one of them fails, or the caller wants no more; returns what failed."""
    stopped = asyncio.create_task(stop.wait())
    left = set(workers)
    try:
        while left and not stop.is_set():
            done, _ = await asyncio.wait({*left, stopped}, return_when=asyncio.FIRST_COMPLETED)
            left -= done
            for task in done - {stopped}:
                error = task.exception()
                if error is not None:
                    return error
    finally:
        stopped.cancel()
    return None


async def _drain(desk: Desk, workers: set[asyncio.Task[None]]) -> None:
    """Ends the workers: at once, or where an answer is on its way when it is there, at the latest after `DRAIN_S`."""
    posting = desk.line.posting if desk.line is not None else set()
    if desk.line is not None:
        desk.line.stopping.set()
    for task in workers:
        if task not in posting:
            task.cancel()
    await asyncio.wait(workers, timeout=DRAIN_S)
    for task in workers:
        task.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


async def _run(
    desk: Desk, items: Iterator[Item], talk: Talk[Item, Made], out: _Out, stop: asyncio.Event
) -> BaseException | None:
    given_up = _GivenUp(desk.config)
    # a replay goes item by item, so that what it misses first does not depend on chance
    count = desk.config.concurrency if desk.line is not None else 1
    workers = {asyncio.create_task(_work(desk, items, talk, out, given_up)) for _ in range(count)}
    try:
        error = await _until_stopped(workers, stop)
        await _drain(desk, workers)
        await desk.recorder.end()
    finally:
        if desk.line is not None:
            await desk.line.api.close()
    return error or (given_up.summary() if given_up.told and not stop.is_set() else None)


@contextmanager
def _terminable() -> Iterator[None]:
    """Lets SIGTERM end a run as Ctrl-C does; only the main thread can."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _results(out: _Out, loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    while True:
        made = out.results.get()
        if isinstance(made, _End):
            if made.error is not None:
                raise made.error
            return
        with suppress(RuntimeError):
            # the loop is closed already when the last results are taken
            loop.call_soon_threadsafe(out.room.release)
        yield made


@contextmanager
def converse(
    items: Iterable[Item],
    talk: Talk[Item, Made],
    config: Config,
    journal: Journal,
    *,
    offline: bool = False,
    notice: Notice | None = None,
    clock: Clock | None = None,
) -> Iterator[Iterator[Made]]:
    """Has a conversation about each item, and gives what came of each, as they end; for a `with` statement.

    Leaving the block early, by an interrupt say, ends the run.

    Args:
        items: What to talk about; taken one by one, in the thread of the event loop, as others end.
        talk: Asks the model about one item, one question at a time, and makes something of the answers. It gets a
            function that asks, whose results are always of answers that are on disk.
        config: How the model is asked; at most `concurrency` items are at work at a time.
        journal: Where answers are looked up and kept.
        offline: Ask nobody, and need no key.
        notice: Called with the counts whenever they have changed, in the thread of the event loop.
        clock: Time.

    Raises:
        MissingAnswerError: Offline, and the journal lacks an answer: the first that the items, in order, ask for.
        ServiceError: The key, quota, model or address is wrong, or the server gives no answers; everything that was
            answered is in the journal.
        UsageError: The key's variable is not set.
        GroundsetError: The disk is full, a photograph is not there, or what `talk` raises.
    """
    tally = Tally()
    key = None if offline else read_key(config)
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    out = _Out(queue.SimpleQueue(), asyncio.Semaphore(2 * config.concurrency))

    def tell() -> None:
        if notice is not None:
            notice(tally.counts())

    async def main(key: Key | None) -> BaseException | None:
        line = None if key is None else open_line(config, key, clock or Clock(), tally)
        desk = Desk(config, journal, tally, tell, line, Recorder(journal), {})
        return await _run(desk, iter(items), talk, out, stop)

    def serve() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                error = runner.run(main(key))
        except BaseException as raised:
            error = raised
        out.results.put(_End(error))

    # a daemon: a second Ctrl-C ends the process without waiting for answers
    thread = threading.Thread(target=serve, name="groundset-llm", daemon=True)
    with _terminable():
        try:
            thread.start()
            yield _results(out, loop)
        finally:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(stop.set)
            if thread.is_alive():
                thread.join()


@contextmanager
def ask_all(
    requests: Iterable[Request], config: Config, journal: Journal, **options: Any
) -> Iterator[Iterator[tuple[Request, Result]]]:
    """Asks questions that do not depend on one another; `converse` with one question an item, and its options."""

    async def talk(ask: Ask, request: Request) -> tuple[Request, Result]:
        return request, await ask(request)

    with converse(requests, talk, config, journal, **options) as results:
        yield results
