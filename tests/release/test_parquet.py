# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.release import parquet
from groundset.release.facts import CONFIGS
from groundset.release.parquet import Embedded, read_photographs, read_rows, shard_bounds, shard_paths, write_config

DIALOGUES = CONFIGS["fpco-dialog"][0]
TURNS = CONFIGS["fpco-dialog"][1]


def embedded_of(material, ids=None) -> dict[str, Embedded]:
    rows = {row["image_id"]: row for row in material.photographs.to_pylist()}
    return {
        name: Embedded(material.paths[name], f"{name}.jpg", rows[name]["bytes"], rows[name]["sha256"])
        for name in (ids if ids is not None else rows)
    }


@given(
    st.lists(st.integers(0, 50), max_size=40),
    st.integers(1, 10),
    st.integers(1, 100),
)
def test_shards_cover_every_row_once_and_keep_their_bounds(weights: list[int], rows: int, size: int) -> None:
    bounds = shard_bounds(weights, rows, size)
    assert [row for start, stop in bounds for row in range(start, stop)] == list(range(len(weights)))
    for start, stop in bounds:
        assert stop - start <= rows
        assert stop - start <= 1 or sum(weights[start:stop]) <= size


def test_photographs_are_verbatim_uncompressed_and_without_huggingface_metadata(fpco, tmp_path: Path) -> None:
    ids = ["coco-101", "coco-104"]
    size = write_config(tmp_path, DIALOGUES, fpco.tables["dialogues"], embedded_of(fpco, ids))
    (path,) = shard_paths(tmp_path, "dialogues")
    assert path.name == "test-00000-of-00001.parquet"
    assert (size.rows, size.shards, size.download_bytes) == (8, 1, path.stat().st_size)
    cells = dict(read_photographs(path))
    assert sorted(name for name, cell in cells.items() if cell) == ids
    assert cells["coco-104"] == {"bytes": fpco.paths["coco-104"].read_bytes(), "path": "coco-104.jpg"}
    metadata = pq.read_metadata(path)
    assert b"huggingface" not in (metadata.metadata or {})
    columns = {
        metadata.row_group(0).column(n).path_in_schema: metadata.row_group(0).column(n)
        for n in range(metadata.num_columns)
    }
    assert columns["image.bytes"].compression == "UNCOMPRESSED"
    assert columns["questions.list.element.content"].compression == "ZSTD"
    assert all(column.has_offset_index for column in columns.values())
    assert columns["dialogue_id"].has_column_index


def test_bytes_do_not_depend_on_the_order_or_chunks_of_the_rows(fpco, tmp_path: Path) -> None:
    table = fpco.tables["dialogues"]
    shuffled = pa.concat_tables([table.slice(5), table.slice(0, 2), table.slice(2, 3)])
    files = []
    for number, rows in enumerate((table, shuffled)):
        write_config(tmp_path / str(number), DIALOGUES, rows, embedded_of(fpco))
        files += [path.read_bytes() for path in shard_paths(tmp_path / str(number), "dialogues")]
    assert files[0] == files[1]


def test_shards_are_bounded_and_groups_small(fpco, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    largest = max(fpco.photographs["bytes"].to_pylist())
    monkeypatch.setattr(parquet, "IMAGE_BYTES_PER_SHARD", 3 * largest)
    monkeypatch.setattr(parquet, "IMAGE_ROWS_PER_GROUP", 2)
    size = write_config(tmp_path, DIALOGUES, fpco.tables["dialogues"], embedded_of(fpco))
    paths = shard_paths(tmp_path, "dialogues")
    assert [path.name for path in paths] == [f"test-0000{n}-of-00003.parquet" for n in range(3)]
    assert size.shards == 3
    ids = [name for path in paths for name in read_rows(path)["image_id"].to_pylist()]
    assert ids == sorted(fpco.paths)
    metadata = pq.read_metadata(paths[0])
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [2, 1]


def test_table_without_photographs_is_sorted_by_its_whole_key(fpco, tmp_path: Path) -> None:
    write_config(tmp_path, TURNS, fpco.tables["turns"].slice(0, 25).take(list(range(24, -1, -1))), {})
    rows = read_rows(shard_paths(tmp_path, "turns")[0]).select(["dialogue_id", "turn"]).to_pylist()
    keys = [(row["dialogue_id"], row["turn"]) for row in rows]
    assert keys == sorted(keys)
    assert len(keys) == 25


def test_changed_and_missing_photographs_are_all_named(fpco, tmp_path: Path) -> None:
    embedded = embedded_of(fpco)
    changed = tmp_path / "changed.jpg"
    changed.write_bytes(b"another photograph")
    embedded["coco-101"] = Embedded(changed, "a.jpg", 18, hashlib.sha256(b"the first").hexdigest())
    embedded["coco-105"] = Embedded(tmp_path / "gone.jpg", "b.jpg", 18, "0" * 64)
    with pytest.raises(DataError) as raised:
        write_config(tmp_path / "out", DIALOGUES, fpco.tables["dialogues"], embedded)
    assert [(problem.record, problem.message.split(":")[0]) for problem in raised.value.problems] == [
        ("coco-101", "the photograph is not the one that was checked"),
        ("coco-105", "the photograph cannot be read"),
    ]
