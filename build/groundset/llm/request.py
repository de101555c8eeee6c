# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A question to a model, and the key under which its answer is kept: all that changes the answer, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundset.files import canonical_json, sha256_bytes
from groundset.llm.config import Config
from groundset.llm.forms import Form

# the second half of the key's meaning: a change of what `described` says needs another number
VERSION = 1


@dataclass(frozen=True)
class Picture:
    """A photograph in a message.

    Its sha256 is known from the stage that measured it, so a replay need not open the file. How it is downscaled is the
    config's; with what encoder is the constraints' word, and no part of the key: a new Pillow does not make anyone pay
    again.

    Attributes:
        sha256: Of the file's own bytes.
        path: Where it lies; no part of the key.
    """

    sha256: str
    path: Path


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes:
        role: `system`, `user` or `assistant`.
        parts: Texts and photographs, in order.
    """

    role: str
    parts: tuple[str | Picture, ...]


@dataclass(frozen=True)
class Request:
    """One question.

    Attributes:
        messages: The conversation so far, the question last.
        form: What the answer must look like.
        prompt_version: Version of the prompt that the messages were made from.
        sample: Number of the sample, where one question is asked several times; from 0.
        label: What to call the question when a person is told of it; no part of the key.
    """

    messages: tuple[Message, ...]
    form: Form
    prompt_version: str
    sample: int = 0
    label: str = ""


def pictures(request: Request) -> tuple[Picture, ...]:
    """Every photograph in a request, in order."""
    return tuple(part for message in request.messages for part in message.parts if isinstance(part, Picture))


def _part(part: str | Picture) -> dict[str, str]:
    return {"text": part} if isinstance(part, str) else {"image_sha256": part.sha256}


def described(request: Request, config: Config) -> dict[str, Any]:
    """All that changes the answer, as the journal keeps it: a record of `schemas/journal_entry`, key `request`."""
    sizes = {
        "longest_side_px": config.longest_side_px,
        # without a limit nothing is encoded
        "jpeg_quality": config.jpeg_quality if config.longest_side_px else 0,
    }
    return {
        "version": VERSION,
        "api": config.api,
        "base_url": config.base_url,
        "model": config.model,
        "messages": [
            {"role": message.role, "parts": [_part(part) for part in message.parts]} for message in request.messages
        ],
        "images": sizes if pictures(request) else None,
        "parameters": {**config.parameters, config.max_tokens_name: config.max_tokens},
        "response_schema": {"name": request.form.name, "schema": request.form.sent},
        "prompt_version": request.prompt_version,
        "sample": request.sample,
    }


def key_of(description: dict[str, Any]) -> str:
    """The key of a described request: sha256 of its canonical JSON, in hex."""
    return sha256_bytes(canonical_json(description))
