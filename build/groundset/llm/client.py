# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Asks a model's server once, and again where the server failed; what the model makes of it is judged elsewhere.

The `openai` package carries the request, with its own retries off so that each is counted and waited for here. Its raw
response is read, not its objects: a body that is no answer has to be told from one that is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httpx2
import msgspec
import openai

from groundset.errors import GroundsetError, ServiceError
from groundset.fetching.pacing import Manners, backoff_s
from groundset.llm import wire
from groundset.llm.answers import Answer, Attempt, Received, Usage
from groundset.llm.config import Config, Key
from groundset.llm.pacing import Clock, Gate, asked_wait_s, estimated_tokens
from groundset.llm.pictures import data_uri
from groundset.llm.progress import Tally
from groundset.llm.request import Request, pictures

ITEM_STATUS = frozenset((400, 413, 422))
AGAIN_STATUS = frozenset((408, 409, 425, 429))
# codes of servers, in whatever status they come
QUOTA_CODES = frozenset(
    ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits")
)
KEY_CODES = frozenset(("invalid_api_key", "account_deactivated", "API_KEY_INVALID"))
MODEL_CODES = frozenset(("model_not_found", "DeploymentNotFound"))
FILTER_CODES = frozenset(("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"))
AGAIN_CODES = frozenset(("server_error", "rate_limit_exceeded", "overloaded_error", "429", "500", "502", "503", "504"))
# a server that was never heard of need not be waited for as long as one that was there before
FIRST_FAILURES = 3
_SHOWN = 300


class AgainError(Exception):
    """The server failed in a way that may pass.

    Attributes:
        wait_s: Seconds that it asked to wait, or None.
        is_unheard: Whether there was not even a connection.
    """

    def __init__(self, reason: str, wait_s: float | None = None, *, is_unheard: bool = False) -> None:
        super().__init__(reason)
        self.wait_s, self.is_unheard = wait_s, is_unheard


class NoAnswerError(GroundsetError):
    """The server gave no answer to one request, however often it was asked; another request may fare better."""

    exit_code = ServiceError.exit_code


class StoppedError(Exception):
    """The run is being stopped."""


@dataclass(frozen=True)
class Line:
    """The connection of one run.

    Attributes:
        config: How the model is asked.
        key: The key.
        api: The client of the `openai` package.
        gate: Lets requests go.
        clock: Time.
        tally: Counts.
        stopping: Set once the run is being stopped.
        posting: The tasks that wait for an answer which may be paid for already.
    """

    config: Config
    key: Key
    api: openai.AsyncOpenAI
    gate: Gate
    clock: Clock
    tally: Tally
    stopping: asyncio.Event
    posting: set[asyncio.Task[object] | None]


def open_line(config: Config, key: Key, clock: Clock, tally: Tally) -> Line:
    """Opens the connection of a run; close it with `line.api.close()`."""
    # the package insists on a key, and servers that want none ignore it
    api = openai.AsyncOpenAI(
        api_key=key.value or "none",
        base_url=config.base_url,
        max_retries=0,
        timeout=httpx2.Timeout(config.request_timeout_s, connect=config.connect_timeout_s),
    )
    gate = Gate(config, clock)
    tally.held = gate.held_s
    return Line(config, key, api, gate, clock, tally, asyncio.Event(), set())


def _said(content: bytes, key: Key) -> tuple[str, str]:
    """Code and message of an error's body, short and without the key; a page for people says nothing."""
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = content.decode("utf-8", "replace").strip()
        found = "" if text.startswith("<") else text
    if isinstance(found, list) and found:
        found = found[0]
    if isinstance(found, Mapping) and found.get("error"):
        found = found["error"]
    code, message = wire.error_of(found)
    short = " ".join(key.scrubbed(message).split())
    return key.scrubbed(code), short[:_SHOWN]


def _phrase(status: int) -> str:
    known = HTTPStatus(status).phrase if status in set(HTTPStatus) else "no known status"
    return f"{status} ({known})"


def _stop(config: Config, what: str, message: str, hint: str) -> ServiceError:
    told = f"; it says: {message}" if message else ""
    return ServiceError(f"{config.base_url}: {what}{told} ({hint}; all answers so far are kept)")


def _fault(line: Line, status: int, code: str, message: str, headers: Mapping[str, str]) -> Exception | None:
    """What an error means: that the run stops, or that the request may be sent again; None if it is the request's."""
    config = line.config
    lowered = message.lower()
    if status == HTTPStatus.UNAUTHORIZED or code in KEY_CODES or (status in ITEM_STATUS and "api key" in lowered):
        # what servers say of a wrong key repeats parts of it
        where = f"the key in the environment variable {config.key_env}" if config.key_env else "a request without a key"
        return _stop(config, f"the server does not accept {where}", "", "give a valid key and run again")
    if status == HTTPStatus.PAYMENT_REQUIRED or code in QUOTA_CODES:
        return _stop(config, "the account's quota is used up", message, "raise it and run again")
    if status == HTTPStatus.FORBIDDEN:
        return _stop(config, "the server forbids it, 403", message, "look at what the key may do and run again")
    if status == HTTPStatus.NOT_FOUND or code in MODEL_CODES:
        what = f"the server has no model {config.model!r}, or no {wire.PATHS[config.api]} at this address"
        return _stop(config, what, message, "correct model or base_url and run again")
    if status in AGAIN_STATUS or status >= HTTPStatus.INTERNAL_SERVER_ERROR or code in AGAIN_CODES:
        reason = f"the server answers {_phrase(status)}" + (f": {message}" if message else "")
        wait = asked_wait_s(headers, line.clock.wall())
        if wait is not None and wait > config.max_retry_after_s:
            hint = f"it may ask for {config.max_retry_after_s:g} s at most; run again later"
            return _stop(config, f"the server asks to wait {wait:.0f} s", message, hint)
        return AgainError(reason, wait)
    if status in ITEM_STATUS:
        return None
    return _stop(config, f"the server answers {_phrase(status)}", message, "look at base_url and api and run again")


def _cut(error: openai.APIConnectionError, config: Config) -> AgainError:
    cause = error.__cause__
    if isinstance(cause, httpx2.ConnectTimeout):
        return AgainError(f"no connection within {config.connect_timeout_s:g} s", is_unheard=True)
    if isinstance(cause, (httpx2.ConnectError, httpx2.ProxyError)):
        # such as that the name is not known, or that it is no server for https
        told = " ".join(str(cause).split())[:_SHOWN]
        return AgainError(f"no connection: {told}" if told else "no connection", is_unheard=True)
    if isinstance(error, openai.APITimeoutError):
        return AgainError(f"no answer within {config.request_timeout_s:g} s")
    if isinstance(cause, httpx2.DecodingError):
        return AgainError("the answer's encoding is broken")
    if isinstance(cause, httpx2.TooManyRedirects):
        return AgainError("the server redirects without end")
    return AgainError("the connection was cut")


def _refused(attempt: Attempt, status: int, code: str, message: str) -> Answer:
    finish = "content_filter" if code in FILTER_CODES else ""
    told = f"{status} {code}: {message}" if code else f"{status}: {message}"
    return Answer(attempt.number, attempt.max_tokens, finish, None, None, "", told)


async def _post(line: Line, content: bytes, attempt: Attempt) -> tuple[Answer, Usage]:
    """Sends one request once.

    Raises:
        AgainError: It may be sent again.
        ServiceError: The run has to stop.
    """
    config = line.config
    try:
        # the package's limit is on the wait for each next byte; a trickle has to end too
        async with asyncio.timeout(config.request_timeout_s + config.connect_timeout_s):
            response = await line.api.post(
                wire.PATHS[config.api],
                cast_to=httpx2.Response,
                content=content,
                # else an admin key in the environment would be sent along
                options={"security": {"bearer_auth": True}},
            )
        line.tally.numbers["heard"] += 1
        if line.key.is_in(response.content):
            raise _stop(config, "the server's answer repeats the key", "", "do not trust it with one")
        return wire.read(response.content, attempt, config)
    except TimeoutError:
        raise AgainError(f"no whole answer within {config.request_timeout_s:g} s") from None
    except openai.APIConnectionError as error:
        raise _cut(error, config) from None
    except openai.APIStatusError as error:
        line.tally.numbers["heard"] += 1
        code, message = _said(error.response.content, line.key)
        status, headers = error.status_code, error.response.headers
    except wire.ServerFaultError as error:
        code, message = line.key.scrubbed(error.code), line.key.scrubbed(" ".join(str(error).split())[:_SHOWN])
        status, headers = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 200, httpx2.Headers()
        if status == HTTPStatus.OK and code not in QUOTA_CODES | KEY_CODES | MODEL_CODES | FILTER_CODES:
            raise AgainError(f"the server answers an error: {message}") from None
    except wire.UnreadableError as error:
        raise AgainError(line.key.scrubbed(str(error))) from None
    fault = None if code in FILTER_CODES else _fault(line, status, code, message, headers)
    if fault is not None:
        raise fault from None
    return _refused(attempt, status, code, message), Usage()


def _uris(request: Request, config: Config) -> dict[str, str]:
    return {picture.sha256: data_uri(picture, config) for picture in pictures(request)}


async def _send_once(line: Line, content: bytes, attempt: Attempt) -> tuple[Answer, Usage]:
    task = asyncio.current_task()
    line.posting.add(task)
    line.tally.numbers["in_flight"] += 1
    try:
        return await _post(line, content, attempt)
    finally:
        line.tally.numbers["in_flight"] -= 1
        line.posting.discard(task)


def _wait(line: Line, key: str, failures: int, again: AgainError) -> float:
    config = line.config
    # none at all is no advice: asking again at once would use up the attempts
    if again.wait_s:
        # the limit is everyone's: whoever asked now would be told the same
        line.gate.hold(again.wait_s)
        return again.wait_s
    return backoff_s(key, failures, Manners(first_wait_s=config.first_wait_s, max_wait_s=config.max_wait_s))


async def send(line: Line, request: Request, attempt: Attempt, key: str) -> Received:
    """Sends one attempt, and again where the server failed, until there is an answer of the model.

    Args:
        line: The run's connection.
        request: The question.
        attempt: Which attempt at it.
        key: The request's key in the journal; the place of its waits follows from it.

    Raises:
        NoAnswerError: The server failed too often in a row.
        ServiceError: The key, the quota, the model or the address is wrong, or the server cannot be reached at all.
        DataError: A photograph cannot be sent.
        StoppedError: The run is being stopped.
    """
    config = line.config
    has_pictures = bool(pictures(request))
    uris = await asyncio.to_thread(_uris, request, config) if has_pictures else {}
    content = wire.body(request, attempt, config, uris)
    estimate = estimated_tokens(request, attempt.max_tokens)
    failures = 0
    while True:
        await line.gate.turn(estimate)
        if line.stopping.is_set():
            raise StoppedError
        began, since = line.clock.wall(), time.monotonic()
        try:
            answer, usage = await _send_once(line, content, attempt)
        except AgainError as again:
            line.gate.correct(estimate, 0)
            failures += 1
            if again.is_unheard and failures >= FIRST_FAILURES and not line.tally.numbers["heard"]:
                hint = "is the server running, and the address right?"
                raise _stop(config, f"the server cannot be reached: {again}", "", hint) from None
            if failures >= config.failures:
                raise NoAnswerError(f"{request.label or key}: {again}; sent {failures} times") from None
            line.tally.numbers["retried"] += 1
            await line.clock.sleep(_wait(line, key, failures, again))
            continue
        line.gate.correct(estimate, usage.prompt_tokens + usage.completion_tokens or estimate)
        return Received(answer, usage, failures + 1, time.monotonic() - since, began)
