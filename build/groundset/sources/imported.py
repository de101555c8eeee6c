# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What every source reader returns: the same tables, whatever the publisher's format and the order of the file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from groundset import arrow_columns
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict

Row = TypeVar("Row")

# the schemas allow 200; what is made from an id (object, sample, dialogue) needs some of that
MAX_ID_LENGTH = 160
_DRIVE = re.compile(r"[A-Za-z]:")
_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True)
class Imported:
    """The content of one source.

    For each kind in `rows_in`, rows_in == rows kept in the table + hard verdicts of that kind.

    Attributes:
        images: Table of `schemas/image`, sorted by image_id.
        objects: Table of `schemas/object`, sorted by image_id, then object_id.
        dialogues: Table of `schemas/candvg_source_dialogue`, sorted by dialogue_id; None if the source has none.
        rejected: Hard verdicts, one for each row that was left out.
        flagged: Soft verdicts.
        rows_in: Rows that the source holds, by kind: image, object, dialogue.
        notes: What the reader found out about the source as a whole, such as the revision of its format.
        opened: Files beside the one named that the tables depend on, there or not, such as shards of a folder.
    """

    images: pa.Table
    objects: pa.Table
    dialogues: pa.Table | None
    rejected: tuple[Verdict, ...]
    flagged: tuple[Verdict, ...]
    rows_in: dict[str, int]
    notes: tuple[str, ...] = ()
    opened: tuple[Path, ...] = ()


def object_record_id(image_id: str, object_id: str) -> str:
    """How verdicts name an object, whose own id is unique only within its image.

    >>> object_record_id("coco-192", "a918")
    'coco-192/a918'
    """
    return f"{image_id}/{object_id}"


def id_text(text: str) -> str:
    """A publisher's name as part of an id: a space becomes `+`, any other odd byte `:` and its hexadecimal value.

    Two names never become one id.

    >>> id_text("00bf_Egg (Food)_2")
    '00bf_Egg+:28Food:29_2'
    """

    def coded(found: re.Match[str]) -> str:
        character = found.group()
        return "+" if character == " " else "".join(f":{byte:02X}" for byte in character.encode())

    return _PLAIN.sub(coded, text)


def path_fault(file_name: str) -> str:
    """Why a file name cannot lie in the image folder, whatever the system; empty if it can.

    >>> path_fault("val/0001.jpg")
    ''
    >>> path_fault("../0001.jpg")
    'it climbs out with ..'
    """
    if "\0" in file_name:
        return "it holds a NUL character"
    if "\\" in file_name:
        return "it holds a backslash"
    if file_name.startswith("/") or _DRIVE.match(file_name):
        return "it is absolute"
    if ".." in file_name.split("/"):
        return "it climbs out with .."
    if file_name.split("/")[-1] in ("", "."):
        return "it names no file"
    return ""


def _itself(row: object) -> object:
    return row


def one_per_id(
    rows: Sequence[Row], id_of: Callable[[Row], Hashable], content_of: Callable[[Row], object] = _itself
) -> tuple[list[Row], list[tuple[Row, str]]]:
    """Takes out rows whose id occurs more than once.

    Rows that are equal in content are one row: the first stays. Rows that differ are all taken out, since nothing
    says which of them is right.

    Returns:
        The rows that stay, in their order, and the rows taken out, each with the reason.
    """
    counts = Counter(map(id_of, rows))
    if len(counts) == len(rows):
        return list(rows), []
    contents: dict[Hashable, list[object]] = defaultdict(list)
    for row in rows:
        if counts[id_of(row)] > 1:
            contents[id_of(row)].append(content_of(row))
    differ = {key: any(content != same[0] for content in same) for key, same in contents.items()}
    kept, out, seen = [], [], set()
    for row in rows:
        key = id_of(row)
        if counts[key] == 1:
            kept.append(row)
        elif differ[key]:
            out.append((row, f"{counts[key]} records carry this id and differ"))
        elif key in seen:
            out.append((row, f"{counts[key]} equal records carry this id; one of them stays"))
        else:
            seen.add(key)
            kept.append(row)
    return kept, out


def box_array(boxes: NDArray[np.float64]) -> pa.Array:
    """Boxes of shape (n, 4) as an Arrow list column."""
    ends = arrow_columns.numbers(np.arange(0, 4 * len(boxes) + 1, 4, dtype=np.int32))
    return pa.ListArray.from_arrays(ends, arrow_columns.numbers(boxes.reshape(-1)))


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array) and values.type == kind:
        return values
    if (
        isinstance(values, np.ndarray)
        and values.ndim == 1
        and values.dtype.kind in "iuf"
        and pa.types.is_primitive(kind)
    ):
        return arrow_columns.numbers(values.astype(kind.to_pandas_dtype(), copy=False))
    if isinstance(values, list) and kind == pa.string():
        return arrow_columns.texts(values)
    return pa.array(values, type=kind)


def table(schema_name: str, columns: dict[str, Any]) -> pa.Table:
    """A table with the types of `schemas/<schema_name>`, each column in one chunk."""
    schema = arrow_schema(schema_name)
    return pa.table([_column(columns[field.name], field.type) for field in schema], schema=schema)


def sorted_table(schema_name: str, columns: dict[str, Any], sort_by: Iterable[str]) -> pa.Table:
    """A table with the types of `schemas/<schema_name>`, sorted by the columns named, in one chunk."""
    return table(schema_name, columns).sort_by([(name, "ascending") for name in sort_by]).combine_chunks()


def sorted_verdicts(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Verdicts in an order that does not depend on the file's."""
    return tuple(sorted(verdicts, key=lambda v: (v.kind, v.record_id, v.rule, v.detail)))
