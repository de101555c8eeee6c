# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A journal as a file that a lock can pin: JSON Lines, one question with its answers a line, sorted by key.

The bytes follow from the questions and answers alone, whatever the order they came in. Times and tokens are not among
them: they never enter a release.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from groundset import schema
from groundset.errors import SHOWN_PROBLEMS, DataError, Problem
from groundset.files import canonical_json, named, sync_folder
from groundset.llm.journal import Journal
from groundset.llm.request import key_of

Row = tuple[str, bytes, Sequence[tuple[int, bytes]]]


def lines(journal: Journal, keys: Collection[str] | None = None) -> Iterator[bytes]:
    """The lines of a journal's file; of those keys alone if some are given."""
    for key, request, answers in journal.rows():
        if keys is None or key in keys:
            # canonical already, and "answers" < "key" < "request"
            yield b'{"answers":[%b],"key":"%b","request":%b}\n' % (b",".join(answers), key.encode(), request)


def export(journal: Journal, path: Path) -> int:
    """Writes a journal's file, whole or not at all; returns how many questions it holds."""
    temporary = path.with_name(f".{path.name}.tmp")
    count = 0
    try:
        with named(path), temporary.open("wb") as file:
            for line in lines(journal):
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return count


class _Keyed(msgspec.Struct):
    key: str


def keys(path: Path) -> frozenset[str]:
    """The keys in a file that `load` has found sound; none if it is not there."""
    if not path.exists():
        return frozenset()
    with path.open("rb") as file:
        return frozenset(msgspec.json.decode(line, type=_Keyed).key for line in file)


def _faults(entry: Any) -> list[tuple[str, str]]:
    faults = schema.errors("journal_entry", entry)
    if faults:
        return faults
    if key_of(entry["request"]) != entry["key"]:
        faults.append(("$.key", "is not the sha256 of the request: one of the two was changed"))
    if [answer["attempt"] for answer in entry["answers"]] != list(range(1, len(entry["answers"]) + 1)):
        faults.append(("$.answers", "the attempts are not 1, 2, ... in order"))
    return faults


def _rows(path: Path, problems: list[Problem]) -> Iterator[Row]:
    """The lines that are sound; what is wrong with the others goes to `problems`."""
    before = ""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            where = f"line {number}"
            try:
                entry = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                problems.append(Problem(str(path), where, "", f"is no JSON: {error}"))
                continue
            faults = _faults(entry)
            if not faults and canonical_json(entry) + b"\n" != line:
                faults = [("", "is not in canonical form; export the journal again")]
            if not faults and entry["key"] <= before:
                faults = [("$.key", "is there twice, or the lines are not sorted by key")]
            problems += [Problem(str(path), where, place, message) for place, message in faults]
            if not faults:
                before = entry["key"]
                answers = [(answer["attempt"], canonical_json(answer)) for answer in entry["answers"]]
                yield before, canonical_json(entry["request"]), answers


def _sound_rows(path: Path) -> Iterator[Row]:
    problems: list[Problem] = []
    for row in _rows(path, problems):
        # once something is wrong the rest is only read for what else is
        if not problems:
            yield row
        elif len(problems) > SHOWN_PROBLEMS:
            break
    if problems:
        raise DataError(f"{path}: is no sound export of a journal; problems found: {len(problems)}", problems)


def load(journal: Journal, path: Path) -> None:
    """Adds an exported file to a journal, all of it or nothing.

    Raises:
        DataError: The file is no sound export, or holds another answer than the journal.
    """
    try:
        journal.add(_sound_rows(path))
    except OSError as error:
        raise DataError(f"{path}: the exported journal cannot be read: {error.strerror}") from None
