# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The two forms of a request and of its answer on the wire: Chat Completions, and OpenAI's Responses API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from groundset.llm.answers import UNREADABLE, Answer, Attempt, Usage
from groundset.llm.config import Config
from groundset.llm.request import Message, Request

PATHS = {"chat": "/chat/completions", "responses": "/responses"}
# far enough apart that samples and attempts never share a seed
SEEDS_A_SAMPLE = 1000
# sums of more would not fit where they are kept
_COUNTS = range(2**40)
_COUNTED = {"chat": ("prompt_tokens", "completion_tokens"), "responses": ("input_tokens", "output_tokens")}


class UnreadableError(Exception):
    """The server answered 200, but not with an answer of a model."""


class ServerFaultError(Exception):
    """The server answered 200 with an error in it, as some do.

    Attributes:
        code: The server's code, or empty.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Chat(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None


class _Content(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    content: list[_Content] | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Responses(msgspec.Struct):
    status: str | None = None
    output: list[_Item] | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


def _chat_message(message: Message, uris: Mapping[str, str]) -> dict[str, Any]:
    # a single text goes as such: servers without vision know no parts
    if len(message.parts) == 1 and isinstance(message.parts[0], str):
        return {"role": message.role, "content": message.parts[0]}
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": uris[part.sha256]}}
        for part in message.parts
    ]
    return {"role": message.role, "content": parts}


def _responses_message(message: Message, uris: Mapping[str, str]) -> dict[str, Any]:
    said = "output_text" if message.role == "assistant" else "input_text"
    parts = [
        {"type": said, "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "image_url": uris[part.sha256], "detail": "auto"}
        for part in message.parts
    ]
    return {"role": message.role, "content": parts}


def body(request: Request, attempt: Attempt, config: Config, uris: Mapping[str, str]) -> bytes:
    """The body of one attempt, as JSON.

    A seed, if the parameters have one, is moved on for each sample and attempt: the same seed would bring the same
    unusable answer.

    Args:
        request: The question.
        attempt: Which attempt.
        config: How the model is asked.
        uris: sha256 of each photograph to its data URI.
    """
    parameters = {**config.parameters, config.max_tokens_name: attempt.max_tokens}
    if "seed" in parameters:
        parameters["seed"] += SEEDS_A_SAMPLE * request.sample + attempt.number - 1
    asked = {"name": request.form.name, "schema": request.form.sent, "strict": True}
    if config.api == "chat":
        told: dict[str, Any] = {
            "messages": [_chat_message(message, uris) for message in request.messages],
            "response_format": {"type": "json_schema", "json_schema": asked},
        }
    else:
        told = {
            "input": [_responses_message(message, uris) for message in request.messages],
            "text": {"format": {"type": "json_schema", **asked}},
            # nothing is to be kept at the server
            "store": False,
        }
    return msgspec.json.encode({"model": config.model, **told, **parameters})


def error_of(found: Any) -> tuple[str, str]:
    """Code and message of an error as servers write it: an object, or a text."""
    if isinstance(found, Mapping):
        code = found.get("code") or found.get("type") or ""
        return str(code), str(found.get("message") or found.get("error") or "")
    return "", str(found)


def _raise_error(found: Any) -> None:
    if found:
        raise ServerFaultError(*error_of(found))


def _usage(found: Any, sent: str, received: str) -> Usage:
    """The server's count; what is no count is none, for the answer is as good without it."""
    told = [found.get(name) if isinstance(found, Mapping) else None for name in (sent, received)]
    return Usage(*(count if type(count) is int and count in _COUNTS else 0 for count in told))


def _read_chat(content: bytes, attempt: Attempt) -> tuple[Answer, Usage]:
    found = msgspec.json.decode(content, type=_Chat)
    _raise_error(found.error)
    if found.choices is None:
        raise UnreadableError("the answer has no choices")
    used = _usage(found.usage, *_COUNTED["chat"])
    if not found.choices:
        return Answer(attempt.number, attempt.max_tokens, "stop", None, None, found.model or "", ""), used
    first = found.choices[0]
    said = first.message
    finish, model = first.finish_reason or "", found.model or ""
    return Answer(attempt.number, attempt.max_tokens, finish, said.content, said.refusal, model, ""), used


def _read_responses(content: bytes, attempt: Attempt) -> tuple[Answer, Usage]:
    found = msgspec.json.decode(content, type=_Responses)
    _raise_error(found.error)
    if found.output is None:
        raise UnreadableError("the answer has no output")
    parts = [part for item in found.output if item.type == "message" for part in item.content or []]
    texts = [part.text for part in parts if part.type == "output_text" and part.text is not None]
    refusals = [part.refusal for part in parts if part.refusal]
    why = found.incomplete_details.reason if found.incomplete_details else None
    words = {"max_output_tokens": "length", "content_filter": "content_filter"}
    finish = "stop" if found.status == "completed" else words.get(why or "", why or found.status or "")
    answer = Answer(
        attempt.number,
        attempt.max_tokens,
        finish,
        "".join(texts) if texts else None,
        "".join(refusals) or None,
        found.model or "",
        "",
    )
    return answer, _usage(found.usage, *_COUNTED["responses"])


def _usage_of_unreadable(content: bytes, config: Config) -> Usage | None:
    """What an answer took that a model gave and nobody can read; None if it is no model's answer."""
    name = "choices" if config.api == "chat" else "output"
    try:
        found = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not (isinstance(found, dict) and isinstance(found.get(name), list)):
        return None
    return _usage(found.get("usage"), *_COUNTED[config.api])


def read(content: bytes, attempt: Attempt, config: Config) -> tuple[Answer, Usage]:
    """The answer in a body that came with status 200; what the content type says does not matter.

    What a model wrote and no text can hold (bytes that are no UTF-8, half a character, parts in the place of a text) is
    an answer of its own kind: it may be paid for, and asking for it again has to come to an end.

    Args:
        content: The body.
        attempt: The attempt that it answers.
        config: How the model was asked.

    Raises:
        UnreadableError: The body is cut off, no JSON, or JSON without a model's answer.
        ServerFaultError: The body is an error.
    """
    try:
        return (_read_chat if config.api == "chat" else _read_responses)(content, attempt)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = "another kind of JSON" if isinstance(error, msgspec.ValidationError) else "no JSON"
        usage = _usage_of_unreadable(content, config)
        if usage is not None:
            told = f"the answer is {kind} ({error})"
            return Answer(attempt.number, attempt.max_tokens, UNREADABLE, None, None, "", told), usage
        raise UnreadableError(f"the answer is {kind} ({error})" if content else "the answer is empty") from None
