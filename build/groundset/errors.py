# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Every error that groundset raises on purpose, with the exit code it ends the command with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SHOWN_PROBLEMS = 50
# exit code of a command that was interrupted, as shells have it
INTERRUPTED = 130


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong: where it is, what it is and what to do.

    Attributes:
        file: The file, as the user named it; empty if none.
        record: Record id, or `line 12`; empty if the file as a whole is wrong.
        path: JSON path inside the record, such as `$.bbox[2]`; empty if the record as a whole is wrong.
        message: What is wrong.
        hint: What to do; empty if the message says it.
    """

    file: str
    record: str
    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        where = " ".join(part for part in (self.file, self.record, self.path) if part)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text} ({self.hint})" if self.hint else text


class GroundsetError(Exception):
    """Root of all errors that groundset raises on purpose."""

    exit_code = 1


class DataError(GroundsetError):
    """The data is wrong; holds every problem that was found, sorted."""

    exit_code = 1

    def __init__(self, summary: str, problems: Iterable[Problem] = ()) -> None:
        self.summary = summary
        self.problems = tuple(sorted(set(problems)))
        shown = [f"  {problem}" for problem in self.problems[:SHOWN_PROBLEMS]]
        if len(self.problems) > SHOWN_PROBLEMS:
            shown.append(f"  and {len(self.problems) - SHOWN_PROBLEMS} more")
        super().__init__("\n".join([summary, *shown]))


class UsageError(DataError):
    """The command or the manifest is wrong."""

    exit_code = 2


class ServiceError(GroundsetError):
    """An outside service failed."""

    exit_code = 3


class WaitingForPeopleError(GroundsetError):
    """Nothing is wrong, but people have to do something before the build can go on: decide, or fetch photographs."""

    exit_code = 4
