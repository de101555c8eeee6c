# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' class descriptions: class ids (MIDs) and their names, with or without a header, however separated."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundset.errors import DataError, Problem, UsageError
from groundset.sources.json_faults import read_bytes, shown
from groundset.sources.openimages_csv import DELIMITERS, LINE_ENDS, near
from groundset.verdicts import Verdict

CLASS_ID = re.compile(r"/[a-z]/[0-9a-z_]+")
_NAME_COLUMNS = ("displayname", "name", "label", "class", "label_display_name", "description")

# V4's name and the later one, where they differ; the ids have not changed
RENAMED = (
    ("Asparagus", "Garden Asparagus"),
    ("Bat", "Bat (Animal)"),
    ("Dairy", "Dairy Product"),
    ("Doughnut", "Donut"),
    ("Drill", "Drill (Tool)"),
    ("Egg", "Egg (Food)"),
    ("Horn", "French horn"),
    ("Jaguar", "Jaguar (Animal)"),
    ("Lavender", "Lavender (Plant)"),
    ("Lifejacket", "Personal flotation device"),
    ("Nail", "Nail (Construction)"),
    ("Organ", "Organ (Musical Instrument)"),
    ("Pitcher", "Pitcher (Container)"),
    ("Ratchet", "Ratchet (Device)"),
    ("Squash", "Squash (Plant)"),
    ("Sunflower", "Common sunflower"),
    ("Volleyball", "Volleyball (Ball)"),
)


@dataclass(frozen=True)
class Classes:
    """A class file.

    Attributes:
        file: What to call it.
        names: Name of each class, by id.
        nameless: Ids that are there without a readable name, with what is wrong.
        damaged: Line and fault of each row that gives no class.
    """

    file: str
    names: Mapping[str, str]
    nameless: Mapping[str, str]
    damaged: tuple[tuple[int, str], ...]


def _fields(line: str, delimiter: str) -> list[str] | None:
    """The fields of a line; None if a quote is not closed, since half a name is none."""
    try:
        row = next(csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True), [])
    except csv.Error:
        return None
    return [field.strip() for field in row]


def _id_place(rows: Sequence[list[str] | None]) -> tuple[int, int]:
    """How many rows of two or more fields hold a class id in one and the same place, and that place."""
    places = Counter(
        place for row in rows if row and len(row) > 1 for place, field in enumerate(row) if CLASS_ID.fullmatch(field)
    )
    place = min(places, key=lambda known: (-places[known], known), default=0)
    return places[place], place


def _name_place(header: Sequence[str], width: int, id_place: int) -> int:
    if width == 2:
        return 1 - id_place
    titled = [place for place, name in enumerate(header[:width]) if name.casefold() in _NAME_COLUMNS]
    beside = id_place + 1 if id_place + 1 < width else id_place - 1
    return next((place for place in titled if place != id_place), beside)


def read_classes(path: Path) -> Classes:
    """Reads class descriptions, such as class-descriptions-boxable.csv.

    One row is one line. Commas, semicolons or tabs separate; lines end in any way; a first row without a class id is a
    header. The name beside the id is taken as it is, without spaces around it.

    Raises:
        DataError: The file cannot be read, holds no class, or gives one id two names.
    """
    file = str(path)
    lines = [line.decode("utf-8") for line in LINE_ENDS.split(read_bytes(path))]
    read = {delimiter: [_fields(line, delimiter) for line in lines] for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=lambda delimiter: _id_place(read[delimiter])[0])
    rows = read[best]
    count, id_place = _id_place(rows)
    if count == 0:
        told = "no line holds a class id such as /m/01g317 and a name"
        raise DataError(f"{file} cannot be read", [Problem(file, "", "", told, "it should be the class descriptions")])
    widths = Counter(
        len(row) for row in rows if row and len(row) > 1 and CLASS_ID.fullmatch(row[min(id_place, len(row) - 1)])
    )
    width = min(widths, key=lambda known: (-widths[known], known))
    filled = [number for number, line in enumerate(lines) if line.strip()]
    first = rows[filled[0]] or []
    has_header = not any(CLASS_ID.fullmatch(field) for field in first)
    name_place = _name_place(first if has_header else [], width, id_place)
    names: dict[str, str] = {}
    nameless: dict[str, str] = {}
    damaged: list[tuple[int, str]] = []
    problems = []
    for number in filled[1 if has_header else 0 :]:
        row = rows[number]
        known = row[id_place] if row is not None and len(row) > id_place else _first_id(lines[number])
        if not CLASS_ID.fullmatch(known):
            damaged.append((number + 1, f"holds no class id: {shown(lines[number])}"))
            continue
        fault = ""
        if row is None:
            fault = "has a quote that is not closed" if '"' in lines[number] else "has a field that is too long"
        elif len(row) != width:
            fault = f"has {len(row)} fields, most rows have {width}"
        elif not row[name_place]:
            fault = "has no name"
        if fault or row is None:
            nameless.setdefault(known, f"line {number + 1} {fault}")
            continue
        if names.setdefault(known, row[name_place]) != row[name_place]:
            told = f"is called {shown(names[known])} and {shown(row[name_place])}"
            problems.append(Problem(file, f"line {number + 1}", known, told))
    if problems:
        raise DataError(f"{file} cannot be read", problems)
    return Classes(file, names, {key: told for key, told in nameless.items() if key not in names}, tuple(damaged))


def _first_id(line: str) -> str:
    found = CLASS_ID.search(line)
    return found.group() if found else ""


def used_problems(classes: Classes, used: Iterable[str]) -> list[Problem]:
    """A problem for each class that has boxes but no readable name."""
    return [
        Problem(classes.file, known, "", classes.nameless[known], "a class with boxes needs its name")
        for known in sorted(set(used) & set(classes.nameless))
    ]


def flags(classes: Classes) -> list[Verdict]:
    """A soft verdict on each damaged row of the class file that no box needs."""
    name = Path(classes.file).name
    rows = [(known, told) for known, told in classes.nameless.items()]
    rows += [(f"{name} line {line}", f"line {line} {told}") for line, told in classes.damaged]
    return [Verdict(record, "class", "damaged_class", f"{name} {told}", hard=False) for record, told in rows]


def find_class(name: str, classes: Classes) -> str:
    """The id of the class of exactly this name.

    Names changed between releases and ids did not, so a name of another release is suggested, but never taken.

    Raises:
        UsageError: No class has this name, or several have; says what is near and how other releases call it.
    """
    found = sorted(known for known, other in classes.names.items() if other == name)
    if len(found) == 1:
        return found[0]
    if found:
        told, hint = f"{shown(name)} is the name of {len(found)} classes", f"give the id: {', '.join(found)}"
    else:
        by_release = [new if old == name else old for old, new in RENAMED if name in (old, new)]
        here = [other for other in by_release if other in classes.names.values()]
        told = f"there is no class {shown(name)}"
        alike = near(name, classes.names.values())
        hint = f"this release calls it {', '.join(here)}" if here else f"near: {', '.join(alike)}" if alike else ""
    raise UsageError(f"{classes.file}: no such class", [Problem(classes.file, "", "", told, hint)])
