# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What is on disk is whole whenever a write stops, and the same content has the same bytes."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundset import files
from groundset.files import (
    canonical_json,
    fresh_folder,
    readable_json,
    replace_folder,
    sha256_bytes,
    sha256_file,
    write_atomic,
    write_table,
)
from groundset.schema_types import arrow_schema

quick = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Crash(BaseException):
    """The machine stops here."""


def stop(*_: Any, **__: Any) -> Any:
    raise Crash


# each is called once in a write: in the middle of the bytes, before the rename, at the rename, after it
@pytest.mark.parametrize(
    ("where", "name", "new"),
    [(os, "fsync", False), (Path, "replace", False), (files, "sync_folder", True)],
)
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_crash_leaves_the_old_file_or_the_new_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: Any, name: str, new: bool, before: bytes | None
) -> None:
    path = tmp_path / "folder" / "receipt.json"
    if before is not None:
        write_atomic(path, before)
    with monkeypatch.context() as patched:
        patched.setattr(where, name, stop)
        with pytest.raises(Crash):
            write_atomic(path, b"new")
    assert (path.read_bytes() if path.exists() else None) == (b"new" if new else before)
    write_atomic(path, b"later")
    assert path.read_bytes() == b"later"
    assert [entry.name for entry in path.parent.iterdir()] == ["receipt.json"]


def test_a_full_disk_is_told_with_the_file_that_found_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/a\.json'"):
        write_atomic(tmp_path / "a.json", b"new")


def test_a_crash_while_bytes_are_written_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomic(path, b"old")
    real_open = Path.open

    def half(self: Path, *args: Any, **options: Any) -> Any:
        file = real_open(self, *args, **options)
        file.write(b"ne")
        file.flush()
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", half)
        with pytest.raises(Crash):
            write_atomic(path, b"new")
    assert path.read_bytes() == b"old"


def content(folder: Path) -> dict[str, bytes] | None:
    if not folder.exists():
        return None
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def fill(folder: Path, word: bytes) -> dict[str, bytes]:
    fresh_folder(folder)
    (folder / "inner").mkdir()
    (folder / "a.parquet").write_bytes(word)
    (folder / "inner" / "b.txt").write_bytes(word)
    return {"a.parquet": word, "inner/b.txt": word}


@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.parametrize("call", range(7))
def test_a_crash_leaves_a_whole_folder_or_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, existed: bool, call: int
) -> None:
    final, temporary = tmp_path / "10_import", tmp_path / ".10_import.tmp"
    old = fill(final, b"old") if existed else None
    new = fill(temporary, b"new")
    calls, remove_tree = {"left": call}, shutil.rmtree

    def counted(real: Any) -> Any:
        def step(*args: Any, **options: Any) -> Any:
            if calls["left"] == 0:
                if real is remove_tree:
                    for path in [path for path in Path(args[0]).rglob("*") if path.is_file()][:1]:
                        path.unlink()
                raise Crash
            calls["left"] -= 1
            return real(*args, **options)

        return step

    with monkeypatch.context() as patched:
        patched.setattr(files, "sync_tree", counted(files.sync_tree))
        patched.setattr(files, "sync_folder", counted(files.sync_folder))
        patched.setattr(Path, "rename", counted(Path.rename))
        patched.setattr(shutil, "rmtree", counted(shutil.rmtree))
        try:
            replace_folder(temporary, final)
            crashed = False
        except Crash:
            crashed = True
    assert crashed == (call < 5 + existed)
    assert content(final) in ([old, new, None] if crashed else [new])
    # what a crash left behind is no obstacle
    again = fill(temporary, b"again")
    replace_folder(temporary, final)
    assert content(final) == again
    assert [entry.name for entry in tmp_path.iterdir()] == ["10_import"]


def test_a_fresh_folder_is_empty(tmp_path: Path) -> None:
    fill(tmp_path / "a", b"old")
    assert list(fresh_folder(tmp_path / "a").iterdir()) == []
    assert fresh_folder(tmp_path / "b" / "c").is_dir()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(each) for each in value] if isinstance(value, list) else value


@quick
@given(values)
def test_json_of_a_value_has_one_form(value: Any) -> None:
    canonical = canonical_json(value)
    assert canonical == canonical_json(reordered(value))
    assert json.loads(canonical) == value
    assert canonical_json(json.loads(canonical)) == canonical
    readable = readable_json(value)
    assert readable == readable_json(reordered(value))
    assert json.loads(readable) == value
    assert readable.endswith(b"\n")


def test_json_is_utf8_without_spaces() -> None:
    assert canonical_json({"é": [1, 2.5, "\n"], "a": {}}) == '{"a":{},"é":[1,2.5,"\\n"]}'.encode()


@pytest.mark.parametrize("value", [math.nan, {"a": math.inf}, [-math.inf]])
def test_a_number_that_is_not_finite_is_refused(value: Any) -> None:
    for write in (canonical_json, readable_json):
        with pytest.raises(ValueError, match="not JSON compliant"):
            write(value)


def test_hashes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 2000
    (tmp_path / "a").write_bytes(data)
    assert sha256_file(tmp_path / "a") == sha256_bytes(data) == hashlib.sha256(data).hexdigest()


rows = st.lists(
    st.fixed_dictionaries(
        {
            "item_id": st.none() | st.text(max_size=3),
            "target_bbox_xyxy": st.none() | st.lists(st.none() | st.floats(), max_size=3),
            "objects_raw": st.none() | st.integers(-9, 9),
        }
    ),
    max_size=8,
)


@quick
@given(records=rows, data=st.data())
def test_bytes_of_a_table_do_not_depend_on_its_chunks(tmp_path: Path, records: Any, data: st.DataObject) -> None:
    schema = pa.schema(
        [arrow_schema("fpco_item").field(name) for name in ("item_id", "target_bbox_xyxy", "objects_raw")]
    )
    table = pa.Table.from_pylist(records, schema=schema)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=3)))
    pieces = [table.slice(start, stop - start) for start, stop in zip([0, *cuts], [*cuts, len(records)], strict=True)]
    chunked = pa.concat_tables(pieces)
    longer = pa.concat_tables([table.slice(0, 1), table]).combine_chunks().slice(table.slice(0, 1).num_rows)
    written = []
    for variant in (table, chunked, longer):
        write_table(variant, tmp_path / "t.parquet")
        written.append((tmp_path / "t.parquet").read_bytes())
    assert written[0] == written[1] == written[2]
    with pq.ParquetFile(tmp_path / "t.parquet") as file:
        read = file.read()
    assert read.schema.names == schema.names
    assert str(read.to_pylist()) == str(table.to_pylist())


def test_a_large_table_is_written_in_groups_that_do_not_depend_on_its_chunks(tmp_path: Path) -> None:
    # texts that fill many pages, which the writer would cut where a chunk ends
    texts = [hashlib.sha512(str(number).encode()).hexdigest() for number in range(70_000)]
    table = pa.table({"item_id": texts})
    write_table(table, tmp_path / "a")
    write_table(pa.concat_tables([table.slice(0, 777), table.slice(777)]), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pq.ParquetFile(tmp_path / "a") as file:
        assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [65_536, 4_464]
