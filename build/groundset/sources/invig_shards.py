# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads rows and embedded photographs of InViG's Parquet shards, batch by batch: a shard is never held whole."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from groundset.errors import DataError, Problem
from groundset.images import header_size
from groundset.schema import json_path
from groundset.sources import json_faults
from groundset.sources.invig_forms import PARQUET_BROKEN, Form, first_line
from groundset.sources.invig_records import file_label

_ROWS = 1024
# photographs are some hundred kilobytes each
_ROWS_WITH_IMAGES = 32
_BUFFER_BYTES = 1 << 20
_PAIRS = [["text"]]
# what is read of each column; a name with ? may be missing
_READ: dict[str, dict[str, Any]] = {
    "0189f8c": {
        "id": "id",
        "dialog": _PAIRS,
        "bbox": ["number"],
        "image_path": "text",
        "category?": "id",
        "global_image_id?": "text",
        "raw_target?": ["whole"],
        "raw_anns?": "text",
    },
    "6f51235": {"dialog": _PAIRS, "bbox": ["number"], "image_id?": "id", "image?": "image"},
    "456ac78": {
        "ref_list": [{"id": "id", "dialog": _PAIRS, "bbox": ["number"], "category?": "id"}],
        "image_info": {"file_name": "text", "width": "number", "height": "number", "id?": "id"},
    },
}
_WORDS = {
    "text": "text",
    "number": "numbers",
    "whole": "whole numbers",
    "id": "text or whole numbers",
    "image": "photographs (a struct of bytes and path)",
}


@dataclass(frozen=True)
class ShardRow:
    """One row: its place, what it says, and the size of its embedded photograph if its header tells it."""

    label: str
    content: Any
    size_px: tuple[int, int] | None


@dataclass(frozen=True)
class Embedded:
    """A photograph that a row embeds: the row's place, what it says of its name, and the bytes; None if it has none."""

    label: str
    path: str | None
    info: dict[str, Any]
    content: bytes | None


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_image(kind: Any) -> bool:
    if not pa.types.is_struct(kind):
        return False
    parts = {field.name: field.type for field in kind}
    is_bytes = pa.types.is_binary(parts.get("bytes", pa.null())) or pa.types.is_large_binary(
        parts.get("bytes", pa.null())
    )
    return bool((is_bytes or pa.types.is_null(parts.get("bytes", pa.null()))) and set(parts) & {"bytes", "path"})


def _type_fault(kind: Any, wanted: Any) -> str:
    """Why a column's type cannot hold what is wanted; empty if it can. A column of nothing but nulls can."""
    if pa.types.is_null(kind):
        return ""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(wanted, list):
        return _type_fault(kind.value_type, wanted[0]) if _is_list(kind) else f"is {kind}, must be lists"
    if isinstance(wanted, dict):
        if not pa.types.is_struct(kind):
            return f"is {kind}, must be structs"
        parts = {field.name: field.type for field in kind}
        for name, inner in wanted.items():
            plain = name.removesuffix("?")
            if plain in parts and (fault := _type_fault(parts[plain], inner)):
                return f"{plain} {fault}"
            if plain not in parts and plain == name:
                return f"has no field {plain}"
        return ""
    fits = {
        "text": _is_text,
        "number": lambda found: pa.types.is_integer(found) or pa.types.is_floating(found),
        "whole": pa.types.is_integer,
        "id": lambda found: _is_text(found) or pa.types.is_integer(found),
        "image": _is_image,
    }[wanted]
    return "" if fits(kind) else f"is {kind}, must be {_WORDS[wanted]}"


def _refuse(path: Path, message: str) -> DataError:
    file = file_label(path)
    return DataError(f"{file} cannot be read as InViG", [Problem(file, "", "", message)])


def _batches(path: Path, columns: list[str], size: int) -> Iterator[Any]:
    try:
        # without a buffer the photographs of a whole row group are held at once
        with pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=size, columns=columns, use_threads=False):
                # Parquet promises UTF-8 and checks nothing
                batch.validate(full=True)
                yield batch
    except PARQUET_BROKEN as error:
        raise _refuse(path, f"is damaged: {first_line(error)}") from None


def _checked_columns(path: Path, wanted: dict[str, Any]) -> list[str]:
    try:
        with pq.ParquetFile(path) as file:
            types = {field.name: field.type for field in file.schema_arrow}
    except PARQUET_BROKEN as error:
        raise _refuse(path, f"is no Parquet file that can be read: {first_line(error)}") from None
    plain = {name.removesuffix("?"): inner for name, inner in wanted.items()}
    there = [name for name in plain if name in types]
    faults = [(name, _type_fault(types[name], plain[name])) for name in there]
    problems = [Problem(file_label(path), "", f"$.{name}", f"the column {fault}") for name, fault in faults if fault]
    if problems:
        raise DataError(f"{file_label(path)} cannot be read as InViG: its columns have other types", problems)
    return there


def _part(column: Any, name: str) -> list[Any]:
    """One field of an image column, as Python values; nulls where the column has no such field."""
    kind = column.type
    if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
        return [None] * len(column)
    values: list[Any] = pc.struct_field(column, name).to_pylist()
    return values


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return all(map(_is_finite, value.values())) if isinstance(value, dict) else True


def rows(path: Path, form: Form, kind: type[msgspec.Struct]) -> Iterator[ShardRow | Problem]:
    """The rows of a shard, each decoded, or a problem for everything that is wrong in it.

    Args:
        path: The shard.
        form: Its form.
        kind: What a row is decoded to.

    Raises:
        DataError: The file is damaged, or a column has another type.
    """
    columns = _checked_columns(path, _READ[form.revision])
    file, number = file_label(path), 0
    for batch in _batches(path, columns, _ROWS_WITH_IMAGES if "image" in columns else _ROWS):
        sizes: list[tuple[int, int] | None] = [None] * batch.num_rows
        images: list[Any] = [None] * batch.num_rows
        if "image" in columns:
            column = batch.column("image")
            sizes = [None if content is None else header_size(content) for content in _part(column, "bytes")]
            images = [None if text is None else {"path": text} for text in _part(column, "path")]
            batch = batch.drop_columns(["image"])
        for row, image, size in zip(batch.to_pylist(), images, sizes, strict=True):
            number += 1
            label = f"row {number}"
            said = {**row, "image": image}
            try:
                if not _is_finite(said):
                    raise ValueError("a number that is not finite")
                yield ShardRow(label, msgspec.convert(said, kind), size)
            except (msgspec.ValidationError, ValueError) as error:
                found = json_faults.schema_faults(said, form.record_schema) or [((), f"cannot be read: {error}")]
                for place, message in found:
                    yield Problem(file, label, json_path(place), message)


def embedded(path: Path, form: Form) -> Iterator[Embedded]:
    """The photographs that a shard embeds, row by row.

    Raises:
        DataError: The file is damaged, or a column has another type.
    """
    beside = {"456ac78": "image_info", "6f51235": "image_id"}.get(form.revision, "")
    wanted = {name: inner for name, inner in _READ[form.revision].items() if name.removesuffix("?") == beside}
    columns = _checked_columns(path, {**wanted, "image?": "image"})
    if "image" not in columns:
        raise _refuse(path, f"is {form.name} and has no column image: it embeds no photographs")
    number = 0
    for batch in _batches(path, columns, _ROWS_WITH_IMAGES):
        image = batch.column("image")
        others = batch.drop_columns(["image"]).to_pylist() or [{}] * batch.num_rows
        for other, name, content in zip(others, _part(image, "path"), _part(image, "bytes"), strict=True):
            number += 1
            yield Embedded(f"row {number}", name, other, content)
