# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How much a language model would still have to be asked: bounds, before anything is paid.

The least is asked if every answer is right at once, the most if none is before the last try. Items that are set aside
may give way to others, which are not counted: nobody knows yet how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundset.counting import how_many
from groundset.errors import UsageError
from groundset.fpco.cross_checks import Draft
from groundset.fpco.prompting import Target, answer_form, ask_presence, ask_variant
from groundset.llm.config import Config
from groundset.llm.pacing import estimated_tokens
from groundset.llm.request import Request

if TYPE_CHECKING:
    from groundset.llm.replay import Missing


@dataclass(frozen=True)
class Bounds:
    """At least and at most so many."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"


NONE = Bounds(0, 0)


def total(bounds: Sequence[Bounds]) -> Bounds:
    """The sum."""
    return Bounds(sum(one.least for one in bounds), sum(one.most for one in bounds))


@dataclass(frozen=True)
class Unpaid:
    """What one model would still be asked.

    Attributes:
        what: What it is asked about: dialogues or variants.
        model: The model.
        base_url: Where it is asked.
        items: About how many items.
        requests: How many requests.
        images: How many photographs they carry.
        tokens: How many tokens they take, estimated; at least those that are sent, at most with the longest answers.
    """

    what: str
    model: str
    base_url: str
    items: int
    requests: Bounds
    images: Bounds
    tokens: Bounds


class UnpaidError(UsageError):
    """Something would have to be paid, and nobody has said that it may be; holds the plan."""

    def __init__(self, message: str, plan: Sequence[Unpaid]) -> None:
        super().__init__(message)
        self.plan = tuple(plan)


def requests(plan: Sequence[Unpaid]) -> Bounds:
    """How many requests a plan comes to."""
    return total([row.requests for row in plan])


def told(plan: Sequence[Unpaid]) -> list[str]:
    """A plan in words, a line a model."""
    return [
        f"{row.model} at {row.base_url}: {how_many(row.items, row.what.removesuffix('s'))}, "
        f"{how_many(row.requests, 'request')}, {how_many(row.images, 'image')}, about {how_many(row.tokens, 'token')}"
        for row in plan
    ]


def _unpaid(what: str, config: Config, asked: Sequence[tuple[Request, Bounds]]) -> Unpaid:
    # every question carries its photograph anew, and a mended one the answer before it
    longest = 2 * config.max_tokens_limit
    tokens = [
        Bounds(bounds.least * estimated_tokens(sample, 0), bounds.most * estimated_tokens(sample, longest))
        for sample, bounds in asked
    ]
    count = total([bounds for _, bounds in asked])
    return Unpaid(what, config.model, config.base_url, len(asked), count, count, total(tokens))


def of_writer(what: str, config: Config, mends: int, missing: Sequence[Missing], ahead: Sequence[Draft]) -> Unpaid:
    """What the writer would still be asked.

    Args:
        what: About what: dialogues or variants.
        config: How it is asked.
        mends: How often an answer goes back with its faults.
        missing: The conversations that are not at their end.
        ahead: Variants that come after those, or after people: their targets and dialogues, as far as they are known.
    """
    whole = (mends + 1) * config.attempts
    asked = [(ask_variant(one.target, one.dialogue, (), sample=0), Bounds(1, whole)) for one in ahead]
    for one in missing:
        form = one.request.form
        is_first = form == answer_form("fpco_questions")
        used = sum(request.form == form for request in one.before)
        most = config.attempts - one.attempts + (mends - used) * config.attempts
        asked.append((one.request, Bounds(1 + is_first, most + is_first * whole)))
    return _unpaid(what, config, asked)


def of_checker(
    what: str, config: Config, questions: int, missing: Sequence[Missing], unwritten: Sequence[Target]
) -> Unpaid:
    """What another model would still be asked.

    Args:
        what: About what: dialogues or variants.
        config: How it is asked.
        questions: How many questions it is asked about each.
        missing: Those that it has not answered for.
        unwritten: The targets of those that are not written yet.
    """
    asked = []
    for one in missing:
        left = questions - len(one.before)
        asked.append((one.request, Bounds(left, left * config.attempts - one.attempts)))
    whole = Bounds(questions, questions * config.attempts)
    asked += [(ask_presence(target, target.label), whole) for target in unwritten]
    return _unpaid(what, config, asked)
