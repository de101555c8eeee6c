# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads a packaged TOML file of words: its sections, its shape, and whether it contradicts anything."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from groundset.errors import DataError, Problem

Words = TypeVar("Words")


def parse(
    text: str,
    file: str,
    what: str,
    sections: Iterable[str],
    build: Callable[[Mapping[str, Any]], Words],
    faults: Callable[[Words], Iterable[tuple[str, str]]],
    contradicts: str,
) -> Words:
    """What a file of words holds.

    Args:
        text: Its TOML.
        file: Its name, for messages.
        what: What to call it.
        sections: Sections that it has to have.
        build: Makes its content of the decoded TOML.
        faults: What is wrong with the content, as (JSON path, message).
        contradicts: What it contradicts if something is.

    Raises:
        DataError: It is no TOML, lacks a section, has an entry of another shape, or is at fault; with every fault.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{what} cannot be read", [Problem(file, "", "", str(error))]) from error
    missing = [Problem(file, "", f"$.{name}", "this section is missing") for name in sections if name not in raw]
    if missing:
        raise DataError(f"{what} lacks sections", missing)
    try:
        words = build(raw)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        problem = Problem(file, "", "", f"{type(error).__name__}: {error}")
        raise DataError(f"{what} has an entry of the wrong shape", [problem]) from error
    problems = [Problem(file, "", path, message) for path, message in faults(words)]
    if problems:
        raise DataError(f"{what} contradicts {contradicts}", problems)
    return words
