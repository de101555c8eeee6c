# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""When the next request may go: requests and tokens a minute, and what the server asked to wait."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from groundset.fetching.pacing import retry_after_s
from groundset.llm.config import Config
from groundset.llm.request import Request, pictures

# rough, and only to keep below a limit before the server's own count is there
CHARACTERS_A_TOKEN = 4
TOKENS_A_PICTURE = 1000


@dataclass(frozen=True)
class Clock:
    """Time as a run sees it, so that a test need not wait.

    Attributes:
        monotonic: Seconds that never go back.
        wall: Seconds since 1970.
        sleep: Waits that many seconds.
    """

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def estimated_tokens(request: Request, max_tokens: int) -> int:
    """Tokens that a request may cost at most, estimated: its texts, its photographs, and the longest answer."""
    texts = sum(len(part) for message in request.messages for part in message.parts if isinstance(part, str))
    return texts // CHARACTERS_A_TOKEN + TOKENS_A_PICTURE * len(pictures(request)) + max_tokens


def asked_wait_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date; None if neither.

    Args:
        headers: The answer's headers, whose names may have any case.
        now: Seconds since 1970.

    >>> asked_wait_s({"retry-after-ms": "1500", "retry-after": "9"}, 0.0), asked_wait_s({"retry-after": "0.5"}, 0.0)
    (1.5, 0.5)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return retry_after_s(headers.get("retry-after"), headers.get("date"), now)


class Gate:
    """Lets requests go one after the other, as fast as the limits allow.

    Tokens are paid for after: a request goes when what was sent before has been worked off at the limit's rate. So the
    mean rate keeps to the limit, whatever a single request costs.
    """

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._requests_from = -math.inf
        self._tokens_from = -math.inf
        self._held_until = -math.inf

    def _seconds_of(self, tokens: float) -> float:
        rate = self._config.tokens_per_minute
        return tokens * 60.0 / rate if rate else 0.0

    async def turn(self, tokens: int) -> None:
        """Waits until a request that is estimated to cost so many tokens may go."""
        while True:
            now = self._clock.monotonic()
            wait = max(self._requests_from, self._tokens_from, self._held_until) - now
            if wait <= 0:
                break
            await self._clock.sleep(wait)
        if self._config.requests_per_minute:
            self._requests_from = now + 60.0 / self._config.requests_per_minute
        self._tokens_from = max(now, self._tokens_from) + self._seconds_of(tokens)

    def correct(self, estimated: int, used: int) -> None:
        """Puts the server's count in the place of the estimate."""
        self._tokens_from += self._seconds_of(used - estimated)

    def hold(self, seconds: float) -> None:
        """Lets nothing go for so long: the server has said that there is too much."""
        self._held_until = max(self._held_until, self._clock.monotonic() + seconds)

    def held_s(self) -> float:
        """Seconds for which nothing goes because the server asked so."""
        return max(0.0, self._held_until - self._clock.monotonic())
