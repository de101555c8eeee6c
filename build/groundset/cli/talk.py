# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How the verbs speak: results to stdout, talk and errors to stderr, JSON where it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from groundset.errors import DataError, GroundsetError, WaitingForPeopleError

MANIFEST_HELP = "The manifest, a TOML file."
WORK_HELP = "Work folder; work/<name>-<version> if none is given."
SOURCES_HELP = "Folder of the source files, in place of the manifest's source_root."
JSON_HELP = "Print the result as JSON."

ManifestPath = Path


def print_json(result: Any) -> None:
    """Writes a result to stdout as JSON with sorted keys."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(result, order="sorted"), indent=2) + b"\n")
    sys.stdout.flush()


def sayer() -> Callable[[str], None]:
    """A function that tells the user one line on stderr."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    return console.print


def fail(error: GroundsetError, *, as_json: bool) -> None:
    """Says what is wrong on stderr, and as JSON on stdout if that is asked for."""
    if as_json:
        problems = [asdict(problem) for problem in error.problems] if isinstance(error, DataError) else []
        summary = error.summary if isinstance(error, DataError) else str(error)
        print_json({"error": summary, "exit_code": error.exit_code, "problems": problems})
    waiting = isinstance(error, WaitingForPeopleError)
    sayer()(str(error) if waiting else f"groundset: {error}")
