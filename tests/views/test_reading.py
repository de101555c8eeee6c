# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset.errors import DataError, UsageError
from groundset.views.reading import read_release, write_photographs


def shard(release: Path, config: str) -> Path:
    (path,) = (release / "data" / config).glob("*.parquet")
    return path


def rewrite(path: Path, rows: list[dict[str, object]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(path)), path)


def test_every_row_is_read(release: Callable[[str], Path]) -> None:
    folder = release("candvg")
    for config, rows in read_release(folder).tables.items():
        assert len(rows) == pq.read_metadata(shard(folder, config)).num_rows > 0


def test_photographs_are_files_called_by_their_hash(release: Callable[[str], Path], tmp_path: Path) -> None:
    rows = read_release(release("fpco-dialog"))
    places = write_photographs(rows, tmp_path / "cache")
    assert set(places) == {row["image_id"] for row in rows.tables["images"]}
    for path in places.values():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
    before = {path: path.stat().st_mtime_ns for path in places.values()}
    cut = next(iter(places.values()))
    cut.write_bytes(b"cut off")
    assert write_photographs(rows, tmp_path / "cache") == places
    assert hashlib.sha256(cut.read_bytes()).hexdigest() == cut.stem
    assert all(path.stat().st_mtime_ns == time for path, time in before.items() if path != cut)


def test_a_referenced_photograph_is_left_out_and_a_changed_one_refused(
    release: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = release("candvg")
    rows = pq.read_table(shard(folder, "samples")).to_pylist()
    first, last = rows[0]["image_id"], rows[-1]["image_id"]
    for row in rows:
        row["image"] = None if row["image_id"] == first else row["image"]
    rewrite(shard(folder, "samples"), rows)
    read = read_release(folder)
    places = write_photographs(read, tmp_path / "cache")
    assert {row["image_id"] for row in read.tables["images"]} - set(places) == {first}
    for row in rows:
        if row["image_id"] == last:
            row["image"] = {**row["image"], "bytes": b"another photograph"}
    rewrite(shard(folder, "samples"), rows)
    with pytest.raises(DataError, match=re.escape(last)):
        write_photographs(read_release(folder), tmp_path / "cache")


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff", b"[1]"])
def test_a_folder_that_is_no_release_is_told_so(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(UsageError, match="is no release"):
        read_release(tmp_path)


def test_an_unknown_benchmark_is_refused(release: Callable[[str], Path]) -> None:
    folder = release("candvg")
    record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    record["facts"]["benchmark"] = "another"
    (folder / "manifest.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(DataError, match="another"):
        read_release(folder)


def test_all_that_cannot_be_read_is_told_at_once(release: Callable[[str], Path]) -> None:
    folder = release("candvg")
    shard(folder, "points").write_bytes(b"PAR1 cut off")
    shard(folder, "dialogues").unlink()
    pq.write_table(pq.read_table(shard(folder, "images")).drop_columns(["sha256"]), shard(folder, "images"))
    with pytest.raises(DataError) as caught:
        read_release(folder)
    assert {Path(problem.file).parts[1] for problem in caught.value.problems} == {"points", "dialogues", "images"}


def test_rows_that_name_what_is_not_there_are_told_one_by_one(release: Callable[[str], Path]) -> None:
    folder = release("candvg")
    images = pq.read_table(shard(folder, "images")).to_pylist()
    dialogues = pq.read_table(shard(folder, "dialogues")).to_pylist()
    rewrite(shard(folder, "images"), images[1:])
    lost = next(row for row in dialogues if row["image_id"] != images[0]["image_id"])
    rewrite(shard(folder, "dialogues"), [row for row in dialogues if row is not lost])
    with pytest.raises(DataError) as caught:
        read_release(folder)
    told = {problem.message for problem in caught.value.problems}
    assert told == {
        f"the config images has no {images[0]['image_id']}",
        f"the config dialogues has no {lost['dialogue_id']}",
    }
