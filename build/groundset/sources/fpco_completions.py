# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads the file that completes published FPCO-Dialog records: where each photograph and each target come from.

One JSON object a line, of `schemas/fpco_completion`. It is written by whoever maintains the set, so whatever is wrong
with a line is a problem to mend and no verdict on a record.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundset.errors import DataError, Problem
from groundset.files import plain
from groundset.sources import box_checks, json_faults, strict_json

SCHEMA = "fpco_completion"
_ID_FORMS = {
    "coco": (re.compile(r"0|[1-9][0-9]*"), "a whole number without zeros before it"),
    "openimages": (re.compile(r"[0-9a-f]{16}"), "16 hexadecimal digits in lower case"),
}
# two lines about one photograph have to agree on these
_OF_THE_PHOTOGRAPH = ("landing_url", "original_url", "author", "author_url", "title", "licence_source")

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Completion:
    """One line of the file, `schemas/fpco_completion`.

    Attributes:
        id: The published id.
        source: coco or openimages.
        source_image_id: The photograph's id there.
        landing_url: The page on which it was published.
        original_url: Where the file is served.
        author: Its author.
        author_url: The author's page.
        title: Its title.
        licence_source: Licence, as an address or SPDX id.
        target_object_id: The target among the source's objects.
        target_bbox_xyxy_px: The target's box in pixels of the published photograph.
    """

    id: str
    source: str
    source_image_id: str
    landing_url: str | None
    original_url: str | None
    author: str | None
    author_url: str | None
    title: str | None
    licence_source: str | None
    target_object_id: str | None
    target_bbox_xyxy_px: Box | None

    @property
    def image_id(self) -> str:
        """Source and the photograph's id there."""
        return f"{self.source}-{self.source_image_id}"


def _box_fault(box: list[float] | None) -> str:
    if box is None:
        return ""
    # a whole number in JSON may be too large for a float
    if any(abs(value) > box_checks.COORDINATE for value in box):
        return "is no box of a photograph"
    x_min, y_min, x_max, y_max = box
    return "" if x_min < x_max and y_min < y_max else "has no area: it has to be x_min, y_min, x_max, y_max"


def _line_faults(line: Mapping[str, Any], sources: Mapping[str, str | None]) -> list[tuple[str, str, str]]:
    found = []
    known, source = line["id"], line["source"]
    if known not in sources:
        near = difflib.get_close_matches(known, sorted(sources), n=3)
        hint = f"near are {', '.join(map(plain, near))}" if near else ""
        found.append(("$.id", f"there is no record {json_faults.shown(known)}", hint))
    elif sources[known] not in (None, source):
        told = f"is {source}, but the record says {sources[known]}"
        found.append(("$.source", told, "complete the photograph that the record was made from, or mend the record"))
    form, words = _ID_FORMS[source]
    if not form.fullmatch(line["source_image_id"]):
        found.append(("$.source_image_id", f"is {json_faults.shown(line['source_image_id'])}, must be {words}", ""))
    fault = _box_fault(line["target_bbox_xyxy_px"])
    if fault:
        found.append(("$.target_bbox_xyxy_px", fault, ""))
    return found


def _completion(line: Mapping[str, Any]) -> Completion:
    box = line["target_bbox_xyxy_px"]
    values = {key: line[key] for key in Completion.__dataclass_fields__}
    return Completion(**{**values, "target_bbox_xyxy_px": None if box is None else tuple(map(float, box))})


def _contradictions(file: str, placed: list[tuple[int, Completion]]) -> list[Problem]:
    problems = []
    first_line: dict[str, int] = {}
    first_of: dict[str, tuple[int, Completion]] = {}
    for number, row in placed:
        where = f"line {number}"
        if row.id in first_line:
            told = f"line {first_line[row.id]} completes {json_faults.shown(row.id)} already"
            problems.append(Problem(file, where, "$.id", told, "keep one of them"))
            continue
        first_line[row.id] = number
        before_number, before = first_of.setdefault(row.image_id, (number, row))
        for key in _OF_THE_PHOTOGRAPH:
            if getattr(row, key) != getattr(before, key):
                told = f"differs from line {before_number}, which is about the same photograph {row.image_id}"
                problems.append(Problem(file, where, f"$.{key}", told))
    return problems


def read(path: Path, sources: Mapping[str, str | None]) -> tuple[dict[str, Completion], list[Problem]]:
    """Reads a completions file.

    Args:
        path: The file; blank lines are passed over.
        sources: Published id to the source that its record names, coco or openimages; None where it names neither.

    Returns:
        Completions by published id, and every problem of the file, for the caller to raise with its own.
    """
    file = str(path)
    try:
        data = json_faults.read_bytes(path)
    except DataError as error:
        return {}, list(error.problems)
    if data.lstrip().startswith(b"["):
        return {}, [Problem(file, "", "", "is one JSON list; write JSON Lines, one object a line")]
    problems: list[Problem] = []
    placed: list[tuple[int, Completion]] = []
    for number, text in enumerate(data.split(b"\n"), 1):
        if not text.strip():
            continue
        line, faults = strict_json.decode(text, SCHEMA)
        told = [
            (place, re.sub(r"line 1, (column [0-9]+), byte [0-9]+", r"\1", message), "") for place, message in faults
        ]
        told = told or _line_faults(line, sources)
        problems += [Problem(file, f"line {number}", place, message, hint) for place, message, hint in told]
        if not told:
            placed.append((number, _completion(line)))
    problems += _contradictions(file, placed)
    return {row.id: row for _, row in placed}, problems
