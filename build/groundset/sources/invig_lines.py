# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Decodes the lines of an InViG JSONL file and names every line that is wrong."""

from __future__ import annotations

import codecs
import re
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from groundset import splits
from groundset.errors import DataError, Problem
from groundset.schema import json_path
from groundset.sources import json_faults

SCHEMA = "sources/invig_line"

Box = tuple[float, float, float, float]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class Ann(msgspec.Struct):
    """What a line says of its image: boxes and the dialogue."""

    bboxes: list[Box]
    ref_exp: str
    questions: list[str]
    answers: list[str]
    ref_bboxes: list[float | Box]


class Line(msgspec.Struct):
    """One line of the file, as far as it is read."""

    id: Int64 | Name
    filename: Name
    width: float
    height: float
    ann: Ann
    label: Int64 | str | None = None


@dataclass(frozen=True)
class _Part:
    """What one split of the file holds."""

    lines: tuple[Line, ...]
    problems: tuple[tuple[int, str, str], ...]
    line_count: int


def _line_problems(line: bytes) -> list[tuple[str, str]]:
    message = json_faults.text_fault(line)
    if message:
        return [("", message.replace(" (line 1)", ""))]
    document, message = json_faults.parse(line)
    if message:
        return [("", re.sub(r"line 1, (column [0-9]+), byte [0-9]+", r"\1", message))]
    if isinstance(document, dict) and "ann" not in document and ("dialog" in document or "ref_list" in document):
        return [("", "is a record of the Hugging Face copy; this reader takes the publisher's JSONL")]
    return [(json_path(path), message) for path, message in json_faults.schema_faults(document, SCHEMA)]


def _content_problems(line: Line) -> list[tuple[str, str]]:
    found = []
    questions, answers = len(line.ann.questions), len(line.ann.answers)
    if questions != answers:
        found.append(("$.ann.answers", f"{questions} questions but {answers} answers"))
    flat = [not isinstance(box, tuple) for box in line.ann.ref_bboxes]
    if any(flat) and not (all(flat) and len(flat) == 4):
        found.append(("$.ann.ref_bboxes", "is neither one box of 4 numbers nor a list of such boxes"))
    return found


def _read_part(split: splits.Range) -> _Part:
    decoder = msgspec.json.Decoder(Line)
    data = split.read()
    if split.start == 0:
        data = data.removeprefix(codecs.BOM_UTF8)
    rows = data.removesuffix(b"\n").split(b"\n")
    lines, problems = [], []
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            line = decoder.decode(row)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            found = _line_problems(row) or [("", f"cannot be decoded: {error}")]
        else:
            found = _content_problems(line)
            if not row.isascii() and (fault := json_faults.text_fault(row)):
                found = [("", fault.replace(" (line 1)", ""))]
            lines.append(line)
        problems += [(number, path, message) for path, message in found]
    return _Part(tuple(lines), tuple(problems), len(rows))


def read_lines(path: Path, executor: Executor | None) -> list[Line]:
    """All lines of the file, in order.

    Raises:
        DataError: The file cannot be read or a line is wrong; names every wrong line.
    """
    file = str(path)
    json_faults.require_file(path)
    try:
        with path.open("rb") as opened:
            head = opened.read(4096)
        ranges = splits.line_ranges(path)
    except OSError as error:
        raise DataError(f"{file} cannot be read", [Problem(file, "", "", json_faults.open_fault(error))]) from None
    whole = json_faults.text_fault(head) if head.startswith((*json_faults.UTF16, *json_faults.MAGIC)) else ""
    if head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
        whole = "is one JSON list; this reader takes the publisher's JSONL, one object a line"
    if whole:
        raise DataError(f"{file} cannot be read as InViG JSONL", [Problem(file, "", "", whole)])
    lines: list[Line] = []
    problems, before = [], 0
    for part in splits.walk(_read_part, ranges, executor):
        lines += part.lines
        problems += [Problem(file, f"line {before + n}", place, message) for n, place, message in part.problems]
        before += part.line_count
    if not lines and not problems:
        problems = [Problem(file, "", "", "is empty")]
    if problems:
        raise DataError(f"{file} cannot be read as InViG JSONL", problems)
    return lines


def _ref_boxes(line: Line) -> list[Box]:
    boxes = [box for box in line.ann.ref_bboxes if isinstance(box, tuple)]
    flat = [box for box in line.ann.ref_bboxes if not isinstance(box, tuple)]
    return [(flat[0], flat[1], flat[2], flat[3])] if flat else boxes


def ref_keys(line: Line) -> list[tuple[str, Box]]:
    """For each ref box the object it is: a box of `bboxes` that equals it, else one of its own."""
    free = list(enumerate(line.ann.bboxes))
    keys = []
    for number, box in enumerate(_ref_boxes(line)):
        match = next((place for place, (_, other) in enumerate(free) if other == box), None)
        keys.append((f"r{number}" if match is None else f"b{free.pop(match)[0]}", box))
    return keys
