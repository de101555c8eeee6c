# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Decodes JSON Lines of InViG, names every line that is wrong, and reads the lines of the publisher's own form."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from groundset import splits
from groundset.errors import DataError, Problem
from groundset.schema import json_path
from groundset.sources import json_faults, strict_json
from groundset.sources.invig_forms import OFFICIAL, Form, candidate_fields, form_of
from groundset.sources.invig_records import Box, Content, Photo, Record

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
Fault = tuple[str, str]
Decoded = TypeVar("Decoded", bound=msgspec.Struct)


class Ann(msgspec.Struct):
    """What a line says of its image: boxes and the dialogue."""

    bboxes: list[Box]
    ref_exp: str
    questions: list[str]
    answers: list[str]
    ref_bboxes: list[float | Box]


class Line(msgspec.Struct):
    """One line of the publisher's file, as far as it is read."""

    id: Int64 | Name
    filename: Name
    width: float
    height: float
    ann: Ann
    label: Int64 | str | None = None


@dataclass(frozen=True)
class _Part:
    """What one split of the file holds."""

    lines: tuple[tuple[int, Any], ...]
    problems: tuple[tuple[int, str, str], ...]
    line_count: int


def _line_problems(line: bytes, form: Form) -> list[Fault]:
    message = json_faults.text_fault(line)
    if message:
        return [("", message.replace(" (line 1)", ""))]
    document, message = json_faults.parse(line)
    if message:
        return [("", re.sub(r"line 1, (column [0-9]+), byte [0-9]+", r"\1", message))]
    other = form_of(document) if isinstance(document, dict) else None
    if other is not None and other != form:
        return [("", f"is a record of {other.name}, but the file begins with one of {form.name}")]
    return [(json_path(path), message) for path, message in json_faults.schema_faults(document, form.record_schema)]


def _official_faults(line: Line) -> list[Fault]:
    found = []
    questions, answers = len(line.ann.questions), len(line.ann.answers)
    if questions != answers:
        found.append(("$.ann.answers", f"{questions} questions but {answers} answers"))
    flat = [not isinstance(box, tuple) for box in line.ann.ref_bboxes]
    if any(flat) and not (all(flat) and len(flat) == 4):
        found.append(("$.ann.ref_bboxes", "is neither one box of 4 numbers nor a list of such boxes"))
    return found


def _no_faults(line: msgspec.Struct) -> list[Fault]:
    return []


def _doubled_keys(row: bytes) -> list[Fault]:
    # the decoder keeps the last of two equal keys and loses the first without a word
    try:
        return strict_json.doubled_keys(row.decode("utf-8"))
    except RecursionError:
        return [("", "is nested too deeply")]


def _read_part(split: splits.Range, form: Form, kind: type[Decoded], faults: Callable[[Decoded], list[Fault]]) -> _Part:
    decoder = msgspec.json.Decoder(kind)
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
            found = _line_problems(row, form) or [("", f"cannot be decoded: {error}")]
        else:
            fault = "" if row.isascii() else json_faults.text_fault(row).replace(" (line 1)", "")
            found = [("", fault)] if fault else [*faults(line), *_doubled_keys(row)]
            lines.append((number, line))
        problems += [(number, path, message) for path, message in found]
    return _Part(tuple(lines), tuple(problems), len(rows))


def decode_lines(
    path: Path,
    form: Form,
    kind: type[Decoded],
    executor: Executor | None,
    faults: Callable[[Decoded], list[Fault]] = _no_faults,
) -> tuple[list[tuple[int, Decoded]], list[Problem]]:
    """All lines of a file that can be decoded, with their numbers from 1, and a problem for everything that is wrong.

    Args:
        path: The file.
        form: The form that its lines have.
        kind: What a line is decoded to.
        executor: Who decodes the pieces of the file; threads of this machine if none is given.
        faults: Further faults of a decoded line, as path and message.

    Raises:
        DataError: The file as a whole cannot be read as lines of JSON.
    """
    file = str(path)
    json_faults.require_file(path)
    try:
        with path.open("rb") as opened:
            head = opened.read(4096)
        ranges = splits.line_ranges(path)
    except OSError as error:
        raise DataError(f"{file} cannot be read", [Problem(file, "", "", json_faults.open_fault(error))]) from None
    whole = json_faults.other_form(head)
    if head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
        whole = "is one JSON list; this reader takes JSON Lines, one object a line"
    if whole:
        raise DataError(f"{file} cannot be read as InViG JSONL", [Problem(file, "", "", whole)])
    lines: list[tuple[int, Decoded]] = []
    problems, before = [], 0
    read = partial(_read_part, form=form, kind=kind, faults=faults)
    for part in splits.walk(read, ranges, executor):
        lines += [(before + number, line) for number, line in part.lines]
        problems += [Problem(file, f"line {before + n}", place, message) for n, place, message in part.problems]
        before += part.line_count
    if not lines and not problems:
        problems = [Problem(file, "", "", "is empty")]
    return lines, problems


def _record(line: Line) -> Record:
    boxes = tuple(box for box in line.ann.ref_bboxes if isinstance(box, tuple))
    flat = [box for box in line.ann.ref_bboxes if not isinstance(box, tuple)]
    pairs = zip(line.ann.questions, line.ann.answers, strict=True)
    return Record(
        id=str(line.id),
        photo=Photo(line.filename, line.width, line.height, tuple(line.ann.bboxes)),
        label=None if line.label is None else str(line.label),
        utterances=(line.ann.ref_exp, *(text for pair in pairs for text in pair)),
        ref_boxes=((flat[0], flat[1], flat[2], flat[3]),) if flat else boxes,
    )


def read(path: Path, executor: Executor | None) -> Content:
    """Reads the publisher's own JSONL (InViG-Dataset-API, README).

    Turn 1 is `ann.ref_exp`; each later turn is a question of `ann.questions` with the answer of `ann.answers` at the
    same place, so lists of unequal length are an error: cutting to the shorter would lose turns.

    Raises:
        DataError: The file cannot be read or a line is wrong; names every wrong line.
    """
    lines, problems = decode_lines(path, OFFICIAL, Line, executor, _official_faults)
    if problems:
        raise DataError(f"{path} cannot be read as InViG JSONL", problems)
    return Content([_record(line) for _, line in lines], candidate_fields=candidate_fields(OFFICIAL, ("ann",)))
