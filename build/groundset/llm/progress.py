# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a run is: plain counts for whoever wants to show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """A run at one moment.

    Attributes:
        done: Items that are done.
        given_up: Items without an answer, because the server gave none.
        at_work: Items that are being worked on.
        in_flight: Requests that wait for the server.
        asked: Answers that came from the server.
        replayed: Questions whose answer, or last outcome, was in the journal.
        retried: Requests that were sent again after a failure.
        outcomes: Outcome to how many of the server's answers had it.
        prompt_tokens: Tokens sent, as the server counts them.
        completion_tokens: Tokens received.
        held_s: Seconds for which nothing is sent because the server asked so.
    """

    done: int
    given_up: int
    at_work: int
    in_flight: int
    asked: int
    replayed: int
    retried: int
    outcomes: Mapping[str, int]
    prompt_tokens: int
    completion_tokens: int
    held_s: float


Notice = Callable[[Counts], None]


class Tally:
    """Counts as they grow; `held` says how long the gate is shut."""

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.held: Callable[[], float] = float

    def counts(self) -> Counts:
        """The counts now."""
        number = self.numbers
        return Counts(
            done=number["done"],
            given_up=number["given_up"],
            at_work=number["at_work"],
            in_flight=number["in_flight"],
            asked=number["asked"],
            replayed=number["replayed"],
            retried=number["retried"],
            outcomes=dict(sorted(self.outcomes.items())),
            prompt_tokens=number["prompt_tokens"],
            completion_tokens=number["completion_tokens"],
            held_s=self.held(),
        )
