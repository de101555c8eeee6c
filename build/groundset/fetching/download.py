# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Fetches files over HTTP, several at a time: resumed, checked, and in their place only when whole.

Nothing here raises for what a server does: each file ends as fetched, already there, missing or failed, with the
reason. An interrupt leaves what has come in `.part` files, and the next fetch goes on there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Literal

import httpx2

from groundset.errors import Problem, UsageError
from groundset.fetching.lines import Lines
from groundset.fetching.pacing import Clock, Manners, Pace, backoff_s
from groundset.fetching.part_file import BusyError, PartFile
from groundset.fetching.transfer import (
    AgainError,
    Desk,
    MissingError,
    RefusedError,
    WrongError,
    client_of,
    host_of,
    pull,
)
from groundset.files import sha256_file

# a whole file with other content than expected is fetched once more: the fault may have been on the way
WRONG_TRIES = 2
PROGRESS_BYTES = 2**20
STOP_S = 1.0


@dataclass(frozen=True)
class Download:
    """One file to fetch.

    Attributes:
        url: Its http or https address; not shown, it may hold a token.
        path: Where the whole file will lie.
        sha256: Its hash, in hex; None if not known yet.
        bytes: Its length; None if not known yet.
        max_bytes: Length that it may not exceed whatever it is; keeps an endless answer off the disk.
    """

    url: str = field(repr=False)
    path: Path
    sha256: str | None = None
    bytes: int | None = None
    max_bytes: int = 2**42


@dataclass(frozen=True)
class Outcome:
    """What became of a download.

    Attributes:
        download: The download.
        state: fetched; already_there; missing: the server does not have it; failed.
        reason: Why it is missing or has failed; empty otherwise.
        sha256: Hash of the file in its place; None if it is not there.
        bytes: Length of the file in its place.
        received: Bytes that came over the wire for it this time.
    """

    download: Download
    state: Literal["fetched", "already_there", "missing", "failed"]
    reason: str = ""
    sha256: str | None = None
    bytes: int = 0
    received: int = 0


Watch = Callable[[Download, int, int | None], None]
End = Callable[[Outcome], None]


def _already_there(download: Download) -> Outcome | None:
    if not download.path.is_file():
        return None
    size = download.path.stat().st_size
    if download.bytes not in (None, size) or (size == 0 and download.bytes != 0):
        return None
    found = sha256_file(download.path)
    return Outcome(download, "already_there", "", found, size) if download.sha256 in (None, found) else None


def _step(part: PartFile, download: Download) -> int:
    """Bytes that count as progress: so few that a small file shows it, so many that it can come only so often."""
    return max(1, min(PROGRESS_BYTES, (part.size(download.bytes) or PROGRESS_BYTES) // 100))


def _attempt(desk: Desk, download: Download, part: PartFile, watch: Watch) -> None:
    """Asks for what is lacking; returns when the answer has ended as it should, or nothing is lacking."""
    if part.have and part.have == part.size(download.bytes):
        return
    most = download.max_bytes if download.bytes is None else download.bytes
    if part.have > most:
        part.restart()
    is_pinned = download.sha256 is not None
    pull(desk, download.url, part, download.bytes, most, is_pinned, lambda have, total: watch(download, have, total))


def _fetch_into(desk: Desk, download: Download, part: PartFile, watch: Watch) -> Outcome:
    idle = wrong = 0
    best = part.have
    while True:
        reason, has_ended = "", False
        try:
            _attempt(desk, download, part, watch)
            has_ended = True
        except MissingError as error:
            return Outcome(download, "missing", str(error), received=part.added)
        except RefusedError as error:
            return Outcome(download, "failed", str(error), received=part.added)
        except AgainError as error:
            reason = str(error)
        except WrongError as error:
            reason, wrong = str(error), wrong + 1
            part.restart()
        size = part.size(download.bytes)
        if has_ended and not part.have and download.bytes != 0:
            # neither a source nor a photograph is empty, while a server in trouble may well answer so
            reason, wrong = "the answer is empty", wrong + 1
        elif part.have == size or (has_ended and size is None):
            found = part.sha256()
            if download.sha256 in (None, found):
                part.finish()
                return Outcome(download, "fetched", "", found, part.have, part.added)
            reason, wrong = f"its sha256 is {found}, {download.sha256} expected", wrong + 1
            part.restart()
        elif has_ended:
            reason = f"the answer ended after {part.have} of {size} bytes"
        progressed = part.have - best >= _step(part, download)
        best = max(best, part.have)
        idle = 0 if progressed else idle + 1
        if wrong >= WRONG_TRIES:
            return Outcome(download, "failed", reason, received=part.added)
        if idle >= desk.manners.attempts:
            desk.pace.tell(host_of(download.url), has_failed=True)
            return Outcome(download, "failed", reason, received=part.added)
        if not (has_ended and progressed):
            desk.pace.wait(backoff_s(download.url, max(1, idle), desk.manners))


def _fetch_one(desk: Desk, download: Download, watch: Watch) -> Outcome:
    found = _already_there(download)
    if found is not None:
        return found
    host = host_of(download.url)
    if desk.pace.is_down(host):
        told = f"not asked for: its host has failed {desk.manners.failed_files} files in a row"
        return Outcome(download, "failed", told)
    try:
        with PartFile(download.path) as part:
            outcome = _fetch_into(desk, download, part, watch)
    except BusyError:
        return Outcome(download, "failed", "another fetch is writing it")
    if outcome.state != "failed":
        desk.pace.tell(host, has_failed=False)
    return outcome


@dataclass(frozen=True)
class _Ended:
    number: int
    outcome: Outcome | None
    error: BaseException | None


def _check_paths(downloads: Sequence[Download]) -> None:
    counts = Counter(download.path for download in downloads)
    problems = [Problem(str(path), "", "", "two downloads have this path") for path in counts if counts[path] > 1]
    problems += [Problem(str(path), "", "", "a folder is where the file belongs") for path in counts if path.is_dir()]
    if problems:
        raise UsageError("the files cannot be fetched", problems)


def _run_all(desk: Desk, downloads: Sequence[Download], stop: Event, watch: Watch, ended: End) -> dict[int, Outcome]:
    waiting: dict[str, deque[int]] = {}
    for number, download in enumerate(downloads):
        waiting.setdefault(host_of(download.url), deque()).append(number)
    busy: Counter[str] = Counter()
    results: SimpleQueue[_Ended] = SimpleQueue()
    outcomes: dict[int, Outcome] = {}

    def work(number: int) -> None:
        try:
            results.put(_Ended(number, _fetch_one(desk, downloads[number], watch), None))
        except BaseException as error:
            results.put(_Ended(number, None, error))

    def next_host() -> str | None:
        free = [host for host in waiting if waiting[host] and busy[host] < desk.manners.per_host]
        return min(free, key=lambda host: busy[host]) if free and busy.total() < desk.manners.jobs else None

    try:
        while busy.total() or any(waiting.values()):
            while (host := next_host()) is not None:
                busy[host] += 1
                # a thread that hangs in a read must not keep an interrupted command alive
                Thread(target=work, args=(waiting[host].popleft(),), daemon=True).start()
            end = results.get()
            busy[host_of(downloads[end.number].url)] -= 1
            if end.error is not None:
                raise end.error
            if end.outcome is not None:
                outcomes[end.number] = end.outcome
                ended(end.outcome)
    finally:
        stop.set()
        with suppress(Empty):
            while busy.total():
                busy[host_of(downloads[results.get(timeout=STOP_S).number].url)] -= 1
    return outcomes


def _no_watch(download: Download, have: int, total: int | None) -> None:
    pass


def _no_end(outcome: Outcome) -> None:
    pass


def fetch(
    downloads: Sequence[Download],
    manners: Manners | None = None,
    *,
    watch: Watch = _no_watch,
    ended: End = _no_end,
    clock: Clock | None = None,
) -> list[Outcome]:
    """Fetches files, several at a time.

    A file that is there and fits its length and hash, as far as they are known, is not asked for. What comes goes to
    `<name>.part`; a broken answer is asked for again, from where it broke, with growing waits. When the length and the
    hash are right, it is synced and moved into its place, and replaces what was there.

    Args:
        downloads: What to fetch; no path twice.
        manners: How to treat the hosts.
        watch: Called by many threads with a download, the bytes that are there and its length, or None if not known.
        ended: Called, one at a time, with each outcome as it comes.
        clock: Time; the real one if none is given.

    Returns:
        The outcomes, in the order of the downloads.

    Raises:
        UsageError: Two downloads have one path, or a folder is in the place of a file.
        OSError: The disk is full, or a folder cannot be written; what has come stays in `.part` files.
    """
    manners, clock, stop = manners or Manners(), clock or Clock(), Event()
    _check_paths(downloads)
    # reading the system's certificates takes longer than many a file
    with closing(Lines(partial(client_of, manners, httpx2.create_ssl_context()))) as lines:
        desk = Desk(lines, Pace(manners, clock, stop), manners, clock)
        outcomes = _run_all(desk, downloads, stop, watch, ended)
    return [outcomes[number] for number in range(len(downloads))]
