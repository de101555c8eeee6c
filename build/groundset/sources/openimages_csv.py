# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The header lines of Open Images' CSV files: columns by name, whatever their order, and what is near a missing one."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundset.errors import DataError, Problem
from groundset.sources.json_faults import open_fault, other_form, require_file, shown

DELIMITERS = (",", ";", "\t")
_LONGEST_HEADER = 1 << 16
_BOM = b"\xef\xbb\xbf"
LINE_ENDS = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Header:
    """The first line of a CSV file.

    Attributes:
        columns: Names of the columns in the file's order, without spaces around them.
        delimiter: What stands between the fields.
        start: Byte at which the line after it begins.
    """

    columns: tuple[str, ...]
    delimiter: str
    start: int


def fields_of(line: str, delimiter: str) -> list[str]:
    """The fields of one line without spaces around them.

    >>> fields_of('a, "b,c" ,d', ",")
    ['a', 'b,c', 'd']
    """
    if '"' not in line:
        return [field.strip() for field in line.split(delimiter)]
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        # a field longer than the module's limit
        row = line.split(delimiter)
    return [field.strip() for field in row]


def _first_line(path: Path) -> tuple[bytes, int]:
    require_file(path)
    try:
        with path.open("rb") as file:
            start = file.read(_LONGEST_HEADER)
    except OSError as error:
        raise DataError(f"{path} cannot be read", [Problem(str(path), "", "", open_fault(error))]) from None
    fault = other_form(start) if start.removeprefix(_BOM).strip() else "is empty"
    if fault:
        raise DataError(f"{path} cannot be read", [Problem(str(path), "", "", fault)])
    at = len(_BOM) if start.startswith(_BOM) else 0
    end = LINE_ENDS.search(start, at)
    if end is None and len(start) == _LONGEST_HEADER:
        fault = f"is no CSV file: its first {_LONGEST_HEADER} bytes hold no end of a line"
        raise DataError(f"{path} cannot be read", [Problem(str(path), "", "", fault)])
    return start[at : end.start() if end else len(start)], end.end() if end else len(start)


def read_header(path: Path, known: Collection[str]) -> Header:
    """The header of a CSV file; a byte order mark, CRLF, CR, quotes, semicolons and tabs do no harm.

    Args:
        path: The file.
        known: Columns that such a file may have; they tell the delimiter.

    Raises:
        DataError: The file cannot be opened or is empty, an archive or no text, or its first line is no header.
    """
    line, start = _first_line(path)
    file = str(path)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file} cannot be read", [Problem(file, "line 1", "", f"is not UTF-8 (byte {error.start})")]
        ) from None
    read = [(fields_of(text, delimiter), delimiter) for delimiter in DELIMITERS]
    columns, delimiter = max(read, key=lambda row: (sum(name in known for name in row[0]), len(row[0])))
    problems = [
        Problem(file, "line 1", "", f"has the column {shown(name)} {columns.count(name)} times")
        for name in sorted(set(columns))
        if columns.count(name) > 1
    ]
    if not set(columns) & set(known):
        told = f"is no header: it begins with {shown(text[:60])}"
        problems = [Problem(file, "line 1", "", told, f"the columns are {', '.join(known)}")]
    if problems:
        raise DataError(f"{file} cannot be read", problems)
    return Header(tuple(columns), delimiter, start)


def near(name: str, names: Collection[str]) -> list[str]:
    """Names that someone may have meant, the nearest first; letter case does not count.

    >>> near("IsDepicted", ["IsDepiction", "IsInside", "Source"])
    ['IsDepiction']
    """
    folded: dict[str, list[str]] = {}
    for other in sorted(set(names)):
        folded.setdefault(other.casefold(), []).append(other)
    found = difflib.get_close_matches(name.casefold(), sorted(folded), n=3, cutoff=0.6)
    return [other for key in found for other in folded[key]]


def column_problems(
    file: str, header: Header, required: Sequence[str], known: Collection[str], optional: Collection[str] = ()
) -> list[Problem]:
    """A problem for each column that is missing, with what is near.

    An optional column that is not there is no problem, unless a column that is not known has a name like it.

    Args:
        file: What to call the file.
        header: Its header.
        required: Columns that have to be there.
        known: Columns that such files have.
        optional: Columns that some versions of the file do not have.
    """
    strange = [name for name in header.columns if name not in known]
    problems = []
    for name in [*required, *optional]:
        if name in header.columns:
            continue
        alike = near(name, strange)
        if alike or name in required:
            hint = f"near: {', '.join(alike)}" if alike else f"the columns are {', '.join(header.columns)}"
            problems.append(Problem(file, "line 1", "", f"there is no column {name}", hint))
    return problems
