# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How hosts are treated: requests a second, connections at once, and how long to wait before asking again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from threading import BoundedSemaphore, Event, Lock


@dataclass(frozen=True)
class Manners:
    """Limits towards hosts; none of them can change a byte of what is fetched.

    Attributes:
        jobs: Files at a time.
        per_host: Connections at a time to one host.
        requests_per_second: Requests a second to one host.
        attempts: Attempts in a row that bring nothing new before a file has failed.
        failed_files: Files in a row that a host may fail before no more is asked of it.
        first_wait_s: Longest wait before the second attempt; doubled for each further one.
        max_wait_s: Longest wait that doubling leads to.
        max_retry_after_s: Longest wait that a server may ask for.
        max_redirects: Redirects that are followed for one answer.
        connect_timeout_s: Seconds to wait for a connection.
        read_timeout_s: Seconds to wait for any next byte.
        answer_timeout_s: Seconds for a connection and the head of an answer together.
        slow_window_s: Seconds over which the rate is measured.
        slow_bytes_per_s: An answer below this rate is given up and asked for again.
    """

    jobs: int = 8
    per_host: int = 8
    requests_per_second: float = 20.0
    attempts: int = 5
    failed_files: int = 8
    first_wait_s: float = 1.0
    max_wait_s: float = 60.0
    max_retry_after_s: float = 600.0
    max_redirects: int = 8
    connect_timeout_s: float = 20.0
    read_timeout_s: float = 60.0
    answer_timeout_s: float = 120.0
    slow_window_s: float = 60.0
    slow_bytes_per_s: float = 1024.0


@dataclass(frozen=True)
class Clock:
    """Time as the download sees it, so that a test need not wait.

    Attributes:
        monotonic: Seconds that never go back.
        wall: Seconds since 1970.
        sleep: Waits that many seconds; None waits so that an interrupt ends it at once.
    """

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] | None = None


class StoppedError(Exception):
    """The fetch is being interrupted."""


def backoff_s(key: str, failures: int, manners: Manners) -> float:
    """Seconds to wait after so many failures in a row: between half of the doubled wait and all of it.

    The place in between follows from the key, so that many files do not ask again at once and a run can be repeated.

    >>> 0.5 <= backoff_s("a", 1, Manners()) <= 1.0 < backoff_s("a", 3, Manners()) <= 4.0
    True
    """
    longest = min(manners.max_wait_s, manners.first_wait_s * 2.0 ** min(failures - 1, 30))
    digest = hashlib.sha256(f"{key}\0{failures}\0backoff".encode("utf-8", "surrogatepass")).digest()
    return longest * (0.5 + 0.5 * int.from_bytes(digest[:4], "big") / 0xFFFFFFFF)


def _seconds(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def retry_after_s(value: str | None, answered: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for, as seconds or as a date (RFC 9110, 10.2.3); None for nonsense.

    Args:
        value: The header.
        answered: The answer's own Date header: against it a date means the same whatever the clock here says.
        now: Seconds since 1970, where there is no Date.

    >>> retry_after_s("120", None, 0.0)
    120.0
    >>> retry_after_s("Thu, 01 Jan 1970 00:00:07 GMT", "Thu, 01 Jan 1970 00:00:02 GMT", 9.0)
    5.0
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    until = _seconds(text) if text else None
    since = _seconds(answered) if answered else None
    return None if until is None else max(0.0, until - (now if since is None else since))


class Pace:
    """Keeps the manners towards each host, for all threads of one fetch."""

    def __init__(self, manners: Manners, clock: Clock, stop: Event) -> None:
        self._manners, self._clock, self._stop = manners, clock, stop
        self._lock = Lock()
        self._free_at: dict[str, float] = {}
        self._slots: dict[str, BoundedSemaphore] = {}
        self._failed: dict[str, int] = {}

    def check(self) -> None:
        """Raises StoppedError once the fetch is being interrupted."""
        if self._stop.is_set():
            raise StoppedError

    def wait(self, seconds: float) -> None:
        """Waits; an interrupt ends it."""
        if seconds > 0:
            (self._clock.sleep or self._stop.wait)(seconds)
        self.check()

    def hold(self, host: str, seconds: float) -> None:
        """Sends nothing to the host for so long: it has said that there is too much."""
        with self._lock:
            self._free_at[host] = max(self._free_at.get(host, 0.0), self._clock.monotonic() + seconds)

    def tell(self, host: str, *, has_failed: bool) -> None:
        """Takes note of whether a file of the host could be had in the end, or the host could say that it has none."""
        with self._lock:
            self._failed[host] = self._failed.get(host, 0) + 1 if has_failed else 0

    def is_down(self, host: str) -> bool:
        """Whether the host has failed so often that asking it for more would only take time."""
        with self._lock:
            return self._failed.get(host, 0) >= self._manners.failed_files

    def _own_wait(self, host: str) -> float:
        with self._lock:
            now = self._clock.monotonic()
            mine = max(now, self._free_at.get(host, 0.0))
            self._free_at[host] = mine + 1.0 / self._manners.requests_per_second
        return mine - now

    @contextmanager
    def turn(self, host: str) -> Iterator[None]:
        """One request to the host: waits until it may be sent, and counts as a connection until it is over."""
        with self._lock:
            slot = self._slots.setdefault(host, BoundedSemaphore(self._manners.per_host))
        while not slot.acquire(timeout=0.2):
            self.check()
        try:
            self.wait(self._own_wait(host))
            yield
        finally:
            slot.release()
