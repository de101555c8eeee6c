# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Parses pieces of an Open Images box CSV: whole pieces by Arrow, and line by line where something is odd.

The careful way says what a row means; the quick way gives the same or gives way to it, so that no result depends on
where a file was cut.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from numpy.typing import NDArray

from groundset.errors import SHOWN_PROBLEMS, DataError, Problem
from groundset.geometry import Boxes
from groundset.sources.box_checks import COORDINATE
from groundset.sources.json_faults import shown
from groundset.sources.openimages_csv import LINE_ENDS, Header, fields_of
from groundset.sources.openimages_ids import IMAGE_ID, Keys, keys_of
from groundset.splits import Range

# the columns of V6 and V7 train; V4 and V5 end before the clicks, V3 before the flags
FLAGS = ("IsGroupOf", "IsDepiction")
EDGES = ("XMin", "YMin", "XMax", "YMax")
REQUIRED = ("ImageID", "LabelName", *EDGES)
COLUMNS = (
    *("ImageID", "Source", "LabelName", "Confidence", "XMin", "XMax", "YMin", "YMax"),
    *("IsOccluded", "IsTruncated", "IsGroupOf", "IsDepiction", "IsInside"),
    *(f"XClick{number}{axis}" for axis in "XY" for number in (1, 2, 3, 4)),
)
UNKNOWN = ("", "nan", "NaN")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SPREADSHEET = re.compile(r"[0-9]+(?:[.,][0-9]*)?[eE][+-]?[0-9]+|[0-9]+[.,][0-9]+", re.ASCII)

# larger blocks leave the processor's cache
_BLOCK = 1 << 20

# ours: so many faults are no slips, and would fill the memory
MOST_FAULTS, MOST_FAULTS_SHARE = 10_000, 0.1


@dataclass(frozen=True)
class Damaged:
    """A row that cannot be read.

    Attributes:
        line: Number of its line from 0, in the piece.
        message: What is wrong with it.
        key: Key of its image, if that can be read.
    """

    line: int
    message: str
    key: int | None


@dataclass(frozen=True)
class Rows:
    """The rows of one piece, n of them, in the file's order.

    Attributes:
        keys: Image keys, shape (n,).
        labels: Places in `names`, shape (n,).
        names: Class ids.
        boxes: x_min, y_min, x_max, y_max as shares of the image, shape (n, 4).
        flags: IsGroupOf and IsDepiction, 1 yes, 0 no, -1 unknown; shape (n, 2).
        damaged: Rows that cannot be read, besides.
        lines: Lines of the piece, blank ones included.
    """

    keys: Keys
    labels: NDArray[np.int32]
    names: tuple[str, ...]
    boxes: Boxes
    flags: NDArray[np.int8]
    damaged: tuple[Damaged, ...]
    lines: int


def too_many(faults: int, rows: int) -> bool:
    """Whether so many of the rows are at fault that the file as a whole is."""
    return faults > MOST_FAULTS and faults > MOST_FAULTS_SHARE * rows


def too_many_damaged(path: Path, damaged: Sequence[tuple[int, Damaged]], rows: int) -> tuple[str, list[Problem]]:
    """Summary and problems for a file whose rows are damaged by the thousand; the first fifty are named.

    Args:
        path: The file.
        damaged: Its damaged rows with the numbers of their lines, from 1.
        rows: How many rows it has, or the piece that they are in.
    """
    named = damaged[:SHOWN_PROBLEMS]
    problems = [Problem(str(path), f"line {line}", "", row.message) for line, row in named]
    return f"{path} cannot be read: {len(damaged)} of {rows} rows are damaged", problems


def _lines_before(piece: Range) -> int:
    """Number of a piece's first line, from 1."""
    count, left = 1, piece.start
    with piece.path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            count, left = count + block.count(b"\n"), left - len(block)
    return count


def _edges(values: Any, count: int) -> Boxes:
    boxes = np.clip(np.asarray(values, dtype=np.float64).reshape(count, 4), -COORDINATE, COORDINATE)
    return boxes + 0.0  # one zero, not two


def _arrow_table(data: bytes, header: Header, flags: Sequence[str]) -> Any:
    numbers = {name: pa.float64() for name in (*EDGES, *flags)}
    texts = {"ImageID": pa.binary(), "LabelName": pa.dictionary(pa.int32(), pa.string())}
    return csv.read_csv(
        pa.BufferReader(data),
        read_options=csv.ReadOptions(use_threads=False, column_names=header.columns, block_size=_BLOCK),
        parse_options=csv.ParseOptions(delimiter=header.delimiter),
        convert_options=csv.ConvertOptions(
            column_types={**texts, **numbers},
            include_columns=[*texts, *numbers],
            null_values=list(UNKNOWN),
            strings_can_be_null=False,
        ),
    ).unify_dictionaries()


def _quickly(data: bytes, header: Header, flag_columns: Sequence[str]) -> Rows | None:
    """The rows, if each line is a row and each row is sound; None otherwise."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    try:
        table = _arrow_table(data, header, flag_columns)
    except pa.ArrowException:
        return None
    if table.num_rows != lines:
        return None
    column = {name: table[name].combine_chunks() for name in table.column_names}
    keys, sound = keys_of(column["ImageID"])
    if not sound.all() or any(column[name].null_count for name in EDGES):
        return None
    boxes = np.stack([np.asarray(column[name]) for name in EDGES], axis=1)
    flags = np.full((lines, 2), -1, dtype=np.int8)
    for place, name in enumerate(FLAGS):
        if name in flag_columns:
            values = np.asarray(pc.fill_null(column[name], -1.0))
            if not np.isin(values, (-1.0, 0.0, 1.0)).all():
                return None
            flags[:, place] = values
    if not np.isfinite(boxes).all():
        return None
    names = tuple(name.strip() for name in column["LabelName"].dictionary.to_pylist())
    labels = np.asarray(column["LabelName"].indices)
    return Rows(keys, labels, names, _edges(boxes, lines), flags, (), lines)


def _id_fault(text: str) -> str:
    if text == "ImageID":
        return "is the header line once more"
    if _SPREADSHEET.fullmatch(text):
        return f"ImageID is {shown(text)}: a spreadsheet took it for a number, and the id is lost"
    if re.fullmatch(r"[0-9a-f]{1,15}", text):
        return f"ImageID is {shown(text)}, {len(text)} of 16 digits: zeros in front may have been cut off"
    return f"ImageID is {shown(text)}, not 16 of the digits 0 to 9 and a to f" if text else "ImageID is empty"


def _number(text: str) -> float | None:
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


Place = dict[str, int]


def _judge(fields: Sequence[str], place: Place, count: int) -> tuple[list[float], str]:
    """Four edges and two flags of a row, or what is wrong with it."""
    if len(fields) != count:
        return [], f"has {len(fields)} fields, the header has {count}"
    faults = [] if IMAGE_ID.fullmatch(fields[place["ImageID"]]) else [_id_fault(fields[place["ImageID"]])]
    if any("\udc80" <= character <= "\udcff" for character in fields[place["LabelName"]]):
        faults.append("LabelName is not UTF-8")
    values = []
    for name in EDGES:
        number = _number(fields[place[name]])
        values.append(number or 0.0)
        if number is None:
            text = fields[place[name]]
            faults.append(f"{name} is {shown(text)}, not a number" if text else f"{name} is empty")
    for name in FLAGS:
        text = fields[place[name]] if name in place else ""
        flag = -1.0 if text in UNKNOWN else _number(text)
        values.append(-1.0 if flag is None else flag)
        if flag not in (-1.0, 0.0, 1.0):
            faults.append(f"{name} is {shown(text)}, not 1, 0 or -1")
    if faults and faults[0].startswith("is the header"):
        faults = faults[:1]
    return values, "; ".join(faults)


def _carefully(data: bytes, header: Header, piece: Range) -> Rows:
    place = {name: index for index, name in enumerate(header.columns)}
    lines = LINE_ENDS.split(data)
    if not lines[-1]:
        lines.pop()
    ids, labels, values = [], [], []
    damaged = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        fields = fields_of(line.decode("utf-8", "surrogateescape"), header.delimiter)
        found, message = _judge(fields, place, len(header.columns))
        if not message:
            ids.append(int(fields[place["ImageID"]], 16))
            labels.append(fields[place["LabelName"]])
            values.append(found)
            continue
        whole = len(fields) == len(header.columns) and IMAGE_ID.fullmatch(fields[place["ImageID"]])
        damaged.append(Damaged(number, message, int(fields[place["ImageID"]], 16) if whole else None))
        if too_many(len(damaged), len(lines)):
            first = _lines_before(piece)
            raise DataError(*too_many_damaged(piece.path, [(first + row.line, row) for row in damaged], len(lines)))
    names = sorted(set(labels))
    code = {name: index for index, name in enumerate(names)}
    table = np.array(values, dtype=np.float64).reshape(-1, 6)
    return Rows(
        np.array(ids, dtype=np.uint64),
        np.array([code[label] for label in labels], dtype=np.int32),
        tuple(names),
        _edges(table[:, :4], len(table)),
        table[:, 4:].astype(np.int8),
        tuple(damaged),
        len(lines),
    )


def parse(piece: Range, header: Header) -> Rows:
    """The rows of a piece that ends with its last line.

    A number may have any number of digits and is kept as it is. An empty flag is unknown. Blank lines are no rows.

    Raises:
        DataError: So many rows are damaged that the file as a whole is.
    """
    try:
        data = piece.read()
    except OSError as error:
        raise DataError(f"{piece.path} cannot be read", [Problem(str(piece.path), "", "", str(error))]) from None
    rows = _quickly(data, header, [name for name in FLAGS if name in header.columns]) if data else None
    return _carefully(data, header, piece) if rows is None else rows
