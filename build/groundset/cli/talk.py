# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How the verbs speak: results to stdout, talk and errors to stderr, JSON where it is asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from groundset.errors import DataError, GroundsetError, WaitingForPeopleError

MANIFEST_HELP = "The manifest, a TOML file."
WORK_HELP = "Work folder; work/<name>-<version> if none is given."
SOURCES_HELP = "Folder of the source files, in place of the manifest's source_root."
JSON_HELP = "Print the result as JSON."
LIVE_EVERY_S = 0.1

ManifestPath = Path


def print_json(result: Any) -> None:
    """Writes a result to stdout as JSON with sorted keys."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(result, order="sorted"), indent=2) + b"\n")
    sys.stdout.flush()


def sayer() -> Callable[[str], None]:
    """A function that tells the user one line on stderr."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    return console.print


@contextmanager
def live() -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Two functions that tell the user a line on stderr: one that stays, and one that the next of its kind replaces.

    The second says nothing where stderr is no terminal.
    """
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    with ExitStack() as opened:
        line: Live | None = None
        shown_s = 0.0

        def passing(text: str) -> None:
            nonlocal line, shown_s
            now = time.monotonic()
            if not console.is_terminal or (text and now - shown_s < LIVE_EVERY_S):
                return
            if line is None:
                line = Live(
                    console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
                )
                opened.enter_context(line)
            shown_s = now
            line.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

        yield console.print, passing


def fail(error: GroundsetError, *, as_json: bool) -> None:
    """Says what is wrong on stderr, and as JSON on stdout if that is asked for."""
    if as_json:
        problems = [asdict(problem) for problem in error.problems] if isinstance(error, DataError) else []
        summary = error.summary if isinstance(error, DataError) else str(error)
        print_json({"error": summary, "exit_code": error.exit_code, "problems": problems})
    waiting = isinstance(error, WaitingForPeopleError)
    sayer()(str(error) if waiting else f"groundset: {error}")
