# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What came back, and what it is worth: judged again on every reading, so that a verdict is never older than its rule.

Why the model stopped is looked at before what it wrote: an answer that was cut off may still be JSON, of seven
questions out of ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from groundset.llm.config import Config
from groundset.llm.forms import Form, read

ANSWERED = "answered"
TRUNCATED = "truncated"
REFUSED = "refused"
FILTERED = "filtered"
UNFINISHED = "unfinished"
EMPTY = "empty"
BROKEN = "schema_breaking"
UNREADABLE = "unreadable"
BAD_REQUEST = "bad_request"
OUTCOMES = (ANSWERED, TRUNCATED, REFUSED, FILTERED, UNFINISHED, EMPTY, BROKEN, UNREADABLE, BAD_REQUEST)

_SHOWN = 200


@dataclass(frozen=True)
class Answer:
    """What came back for one attempt, as the journal keeps it: a record of `schemas/journal_entry`, key `answers`.

    Attributes:
        attempt: Number of the attempt, from 1.
        max_tokens: Limit on the answer that this attempt was sent with.
        finish: Why the model stopped, in the words of Chat Completions (`stop`, `length`, `content_filter`); empty if
            the server did not say, `unreadable` if what it wrote cannot be kept as text.
        content: What it wrote.
        refusal: What it said where it would not answer.
        model: The model that answered, as the server calls it.
        error: What the server said of a request that it would not take (400, 413, 422), or why its answer is
            unreadable; else empty.
    """

    attempt: int
    max_tokens: int
    finish: str
    content: str | None
    refusal: str | None
    model: str
    error: str


@dataclass(frozen=True)
class Usage:
    """Tokens that the server counted."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Received:
    """One answer and what it took; only the answer enters a release.

    Attributes:
        answer: The answer.
        usage: Tokens.
        sends: How often the request was sent.
        seconds: Seconds that the last sending took.
        began_s: When it was sent, in seconds since 1970.
    """

    answer: Answer
    usage: Usage
    sends: int
    seconds: float
    began_s: float


@dataclass(frozen=True)
class Judged:
    """What an answer is worth.

    Attributes:
        outcome: One of `OUTCOMES`.
        value: What was answered, decoded; None unless the outcome is `answered`.
        detail: Why it was not answered.
    """

    outcome: str
    value: Any = None
    detail: str = ""


def judge(answer: Answer, form: Form) -> Judged:
    """The outcome of one attempt; nothing but a whole answer that keeps the full schema is `answered`."""
    if answer.error:
        outcomes = {"content_filter": FILTERED, UNREADABLE: UNREADABLE}
        return Judged(outcomes.get(answer.finish, BAD_REQUEST), detail=answer.error)
    if answer.finish == "length":
        return Judged(TRUNCATED, detail=f"cut off at {answer.max_tokens} tokens")
    if answer.finish == "content_filter":
        return Judged(FILTERED, detail="the server's filter kept it back")
    if answer.refusal:
        return Judged(REFUSED, detail=answer.refusal[:_SHOWN])
    if answer.finish != "stop":
        return Judged(UNFINISHED, detail=f"finish reason {answer.finish[:_SHOWN]!r}")
    if not (answer.content or "").strip():
        return Judged(EMPTY, detail="nothing was written")
    value, fault = read(answer.content or "", form)
    return Judged(BROKEN, detail=fault) if fault else Judged(ANSWERED, value)


@dataclass(frozen=True)
class Attempt:
    """The next attempt: its number, and the limit on its tokens."""

    number: int
    max_tokens: int


def settled(answers: Sequence[Answer], form: Form) -> Judged | None:
    """The first attempt that was answered, else the last one's outcome; None if there is no attempt yet."""
    judged = [judge(answer, form) for answer in answers]
    return next((one for one in judged if one.outcome == ANSWERED), judged[-1] if judged else None)


def next_attempt(answers: Sequence[Answer], form: Form, config: Config) -> Attempt | None:
    """What to ask next; None if an answer is there, or asking again is over.

    A request that the server would not take is asked again only by the next run: by then its settings may be better.

    After a truncated answer the limit doubles; where it was at its highest already, asking again would only cost the
    same once more.
    """
    judged = [judge(answer, form).outcome for answer in answers]
    if ANSWERED in judged or len(answers) >= config.attempts:
        return None
    if not answers:
        return Attempt(1, config.max_tokens)
    last = answers[-1]
    if judged[-1] != TRUNCATED:
        return Attempt(len(answers) + 1, max(last.max_tokens, config.max_tokens))
    if last.max_tokens >= config.max_tokens_limit:
        return None
    return Attempt(len(answers) + 1, min(2 * last.max_tokens, config.max_tokens_limit))


def is_last_word(answers: Sequence[Answer], form: Form, config: Config) -> bool:
    """Whether a replay can go by these attempts: one was answered, or a run would leave it at that."""
    if not answers:
        return False
    return next_attempt(answers, form, config) is None or judge(answers[-1], form).outcome == BAD_REQUEST
