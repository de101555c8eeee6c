# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds out by its content in which form InViG lies in a file or a folder.

The forms are the publisher's JSONL and three revisions of the copy on Hugging Face (jxu124/invig), as Parquet shards or
as JSONL of the same columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from groundset.errors import DataError, Problem
from groundset.sources import json_faults
from groundset.sources.invig_records import file_label

# all that reading damaged Parquet was seen to raise; ArrowException covers most of it
PARQUET_BROKEN = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, MemoryError)

_MAGIC = b"PAR1"
_HEAD = 1 << 20
_LINES_TRIED = 20
_LINE = 1 << 24
# how `datasets` names the shards of a split
_SHARD = re.compile(r"(?P<split>.+)-(?P<number>[0-9]+)-of-(?P<count>[0-9]+)(-[0-9a-f]{16})?\.parquet")
_RAW = (
    "holds InViG's raw annotations (v0.1), whose dialogues are Chinese and whose translation is another file; use the"
    " publisher's invig21k_<split>_anns.jsonl or the copy on Hugging Face (jxu124/invig) instead"
)


@dataclass(frozen=True)
class Form:
    """A form in which InViG is published.

    Attributes:
        name: What messages call it.
        revision: Commit of the Hugging Face copy; empty for the publisher's own.
        record_schema: The schema that a record keeps, as far as it is read.
        columns: Columns that it has to have.
        candidates: For each value of `initial_candidates` that it can give, the columns needed for it.
    """

    name: str
    revision: str
    record_schema: str
    columns: tuple[str, ...]
    candidates: Mapping[str, tuple[str, ...]]


OFFICIAL = Form(
    "the publisher's JSONL",
    "",
    "sources/invig_line",
    ("id", "filename", "width", "height", "ann"),
    {"ref_bboxes": (), "bboxes": ()},
)
REVISION_0189F8C = Form(
    "the Hugging Face copy, revision 0189f8c",
    "0189f8c",
    "sources/invig_hf_0189f8c",
    ("id", "dialog", "bbox", "image_path"),
    {
        "ref_bboxes": (),
        "bboxes": ("raw_anns",),
        "label": ("raw_anns", "category"),
        "raw_target": ("raw_anns", "raw_target"),
    },
)
REVISION_6F51235 = Form(
    "the Hugging Face copy, revision 6f51235",
    "6f51235",
    "sources/invig_hf_6f51235",
    ("dialog", "bbox"),
    {"ref_bboxes": ()},
)
REVISION_456AC78 = Form(
    "the Hugging Face copy, revision 456ac78",
    "456ac78",
    "sources/invig_hf_456ac78",
    ("ref_list", "image_info"),
    {"ref_bboxes": ()},
)
FORMS = (OFFICIAL, REVISION_0189F8C, REVISION_6F51235, REVISION_456AC78)
CANDIDATE_FIELDS = tuple(sorted({value for form in FORMS for value in form.candidates}))


@dataclass(frozen=True)
class Found:
    """What lies at a path.

    Attributes:
        form: The form.
        files: Its files, sorted by name.
        is_parquet: Whether they are Parquet; else there is one file of JSON Lines.
    """

    form: Form
    files: tuple[Path, ...]
    is_parquet: bool


def form_of(keys: Collection[str]) -> Form | None:
    """The form that has such keys or columns, by those that no other form has; None if it is none of them."""
    if "ann" in keys:
        return OFFICIAL
    if "ref_list" in keys or "image_info" in keys:
        return REVISION_456AC78
    if "dialog" in keys and {"raw_anns", "raw_target", "image_path", "global_image_id"} & set(keys):
        return REVISION_0189F8C
    if "dialog" in keys and {"image", "image_id"} & set(keys):
        return REVISION_6F51235
    return None


def candidate_fields(form: Form, columns: Collection[str]) -> tuple[str, ...]:
    """The values of `initial_candidates` that a form can give with the columns that are there."""
    return tuple(sorted(value for value, needed in form.candidates.items() if set(needed) <= set(columns)))


def _refuse(file: str, message: str, hint: str = "") -> DataError:
    return DataError(f"{file} cannot be read as InViG", [Problem(file, "", "", message, hint)])


def _is_raw(document: Any) -> bool:
    return isinstance(document, dict) and "objects" in document and isinstance(document.get("dialog"), str)


def _first_of_list(head: bytes) -> Any:
    text = head.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n").removeprefix("[").lstrip()
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _json_form(path: Path) -> Form:
    """The form of a JSONL file, by its first lines; the publisher's own if they tell nothing."""
    with path.open("rb") as opened:
        head = opened.read(_HEAD)
        if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[") and _is_raw(_first_of_list(head)):
            raise _refuse(file_label(path), _RAW)
        opened.seek(0)
        for _ in range(_LINES_TRIED):
            document = _decoded(opened.readline(_LINE).removeprefix(b"\xef\xbb\xbf"))
            if _is_raw(document):
                raise _refuse(file_label(path), _RAW)
            form = form_of(document) if isinstance(document, dict) else None
            if form is not None:
                return form
    return OFFICIAL


def parquet_columns(path: Path) -> tuple[str, ...]:
    """Names of a Parquet file's columns.

    Raises:
        DataError: The file cannot be read, or two columns have one name.
    """
    try:
        with pq.ParquetFile(path) as file:
            names = tuple(str(name) for name in file.schema_arrow.names)
    except PARQUET_BROKEN as error:
        raise _refuse(file_label(path), f"is no Parquet file that can be read: {first_line(error)}") from None
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise _refuse(file_label(path), f"has two columns of one name: {', '.join(doubled)}")
    return names


def first_line(error: BaseException) -> str:
    """What an error says, cut to one line of bounded length."""
    said = str(error).strip().partition("\n")[0]
    return said[:200] or type(error).__name__


def _parquet_form(path: Path) -> Form:
    columns = parquet_columns(path)
    form = form_of(columns)
    if form is None or form is OFFICIAL:
        known = "; ".join(f"{other.revision}: {', '.join(other.columns)}" for other in FORMS if other.revision)
        message = f"has the columns {', '.join(columns)}, which are those of no revision of the Hugging Face copy"
        raise _refuse(file_label(path), message, f"a revision has at least: {known}")
    missing = [name for name in form.columns if name not in columns]
    if missing:
        raise _refuse(file_label(path), f"looks like {form.name}, but lacks the columns {', '.join(missing)}")
    return form


def shards(folder: Path, split: str) -> tuple[Path, ...]:
    """The Parquet files of a split in a folder, sorted by name.

    If they are named as `datasets` names shards (`test-00000-of-00002.parquet`), those of the split are taken, and all
    of them have to be there; files of any other names are all taken.

    Raises:
        DataError: There is no Parquet file, none of the split, or a shard is missing.
    """
    label = file_label(folder)
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
    except OSError as error:
        raise _refuse(label, json_faults.open_fault(error)) from None
    if not paths:
        raise _refuse(label, "is a folder without a .parquet file", "name the folder that the shards lie in")
    named = {path: _SHARD.fullmatch(path.name) for path in paths}
    if not any(named.values()):
        return tuple(paths)
    strange = [path.name for path, match in named.items() if match is None]
    if strange:
        raise _refuse(label, f"holds shards of splits, and beside them {', '.join(strange)}", "name one file instead")
    by_split: dict[str, list[tuple[Path, re.Match[str]]]] = {}
    for path, match in named.items():
        if match is not None:
            by_split.setdefault(match["split"], []).append((path, match))
    if split not in by_split:
        hint = "declare split as one of these, or name one file instead of the folder"
        raise _refuse(label, f"holds no shard of the split {split}, but of {', '.join(sorted(by_split))}", hint)
    chosen = by_split[split]
    counts = sorted({int(match["count"]) for _, match in chosen})
    numbers = sorted(int(match["number"]) for _, match in chosen)
    if len(counts) > 1 or len(numbers) != len(set(numbers)):
        raise _refuse(label, f"holds shards of the split {split} of more than one upload", "keep those of one")
    # a damaged name may ask for any number of shards
    missing = counts[0] - len(numbers)
    if missing or numbers != list(range(counts[0])):
        raise _refuse(label, f"holds {len(numbers)} of the {counts[0]} shards of the split {split}", "fetch the others")
    return tuple(path for path, _ in chosen)


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet does; False if it is not there or may not be read."""
    try:
        with path.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


def find(annotations: Path, split: str) -> Found:
    """Finds out what lies at a path.

    Args:
        annotations: A file, or a folder of Parquet shards.
        split: The split that is wanted of a folder.

    Raises:
        DataError: Nothing can be read there, it is InViG's raw annotation, or its shards are of several revisions.
    """
    try:
        is_folder = annotations.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if is_folder:
        files = shards(annotations, split)
        for file in files:
            json_faults.require_file(file)
        forms = [_parquet_form(file) for file in files]
        if len({form.revision for form in forms}) > 1:
            told = ", ".join(f"{file.name}: {form.revision}" for file, form in zip(files, forms, strict=True))
            raise _refuse(file_label(annotations), f"holds shards of several revisions ({told})")
        return Found(forms[0], files, is_parquet=True)
    json_faults.require_file(annotations)
    try:
        with annotations.open("rb") as opened:
            is_parquet = opened.read(len(_MAGIC)) == _MAGIC
        form = _parquet_form(annotations) if is_parquet else _json_form(annotations)
    except OSError as error:
        raise _refuse(file_label(annotations), json_faults.open_fault(error)) from None
    return Found(form, (annotations,), is_parquet)
