# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Atomic files and canonical bytes: what is on disk is whole, and the same content has the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: one value, one form.

    >>> canonical_json({"b": 1, "a": [True, None]})
    b'{"a":[true,null],"b":1}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def readable_json(value: Any) -> bytes:
    """The same for people: indented, with a final line feed."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def sha256_bytes(content: bytes) -> str:
    """sha256 of bytes, in hex."""
    return hashlib.sha256(content).hexdigest()


def sha256_file(path: Path) -> str:
    """sha256 of a file, in hex, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_if_there(path: Path) -> str | None:
    """sha256 of a file, or None where there is none: nothing, a folder, a pipe, or a name that no file can have."""
    try:
        return sha256_file(path) if path.is_file() else None
    except (OSError, ValueError):
        return None


def plain(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 are written out.

    >>> plain("1101.json")
    '1101.json'
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def names_sha256(folder: Path) -> str:
    """One hash over the names in a folder: another one if a file is added or taken away, or takes a link's place."""
    names = sorted(os.fsencode(path.name) + (b"/link" if path.is_symlink() else b"") for path in folder.iterdir())
    return sha256_bytes(b"".join(name + b"\0" for name in names))


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Makes every file below a folder durable."""
    for path in sorted(folder.rglob("*")):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    sync_folder(folder)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Names a file in an error of the system's: of a failed write, as on a full disk, it tells no file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write_atomic(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all: temporary name, fsync, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with named(path), temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def fresh_folder(path: Path) -> Path:
    """An empty folder of that name; what was there before is removed."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    return path


def replace_folder(temporary: Path, final: Path) -> None:
    """Puts a whole folder in the place of another; a crash in between leaves none, never half of one."""
    sync_tree(temporary)
    discarded = fresh_folder(final.with_name(f".{final.name}.old"))
    if final.exists():
        final.rename(discarded / "old")
    temporary.rename(final)
    shutil.rmtree(discarded)
    sync_folder(final.parent)


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a stage's table as Parquet: one chunk a column, so the bytes depend on the content alone."""
    pq.write_table(table.combine_chunks(), path, compression="zstd", row_group_size=65_536)
