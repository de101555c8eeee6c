# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A source of one file and one of a folder of shards: what a receipt and the lock hold of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset import source_files
from groundset.errors import DataError
from groundset.files import sha256_file

Row = dict[str, Any]
SHARDS = ("hf/test-00000-of-00002.parquet", "hf/test-00001-of-00002.parquet")


@pytest.fixture
def source(tmp_path: Path) -> Row:
    (tmp_path / "hf").mkdir()
    for number, name in enumerate((*SHARDS, "hf/train-00000-of-00001.parquet")):
        pq.write_table(pa.table({"ref_list": [number], "image_info": [number]}), tmp_path / name)
    (tmp_path / "meta.csv").write_text("meta")
    return {"name": "hub", "kind": "invig", "annotations": "hf", "split": "test", "photograph_metadata": ["meta.csv"]}


def test_a_folder_is_its_shards_of_the_split(source: Row, tmp_path: Path) -> None:
    digests = source_files.digests(source, tmp_path)
    assert set(digests) == {*SHARDS, "hf/", "meta.csv"}
    assert digests[SHARDS[0]] == sha256_file(tmp_path / SHARDS[0])
    assert source_files.size(source, tmp_path) == sum((tmp_path / name).stat().st_size for name in SHARDS)


def test_a_file_is_itself(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    source = {"name": "coco", "kind": "coco", "annotations": "a.json"}
    known = source_files.digests(source, tmp_path)
    assert known == {"a.json": sha256_file(tmp_path / "a.json")}
    assert source_files.pins(source, tmp_path, known) == {"coco": {"sha256": known["a.json"], "bytes": 2}}


def test_every_shard_is_pinned_and_the_set_under_the_sources_name(source: Row, tmp_path: Path) -> None:
    pins = source_files.pins(source, tmp_path, source_files.digests(source, tmp_path))
    assert set(pins) == {"hub", *(f"hub/{name}" for name in SHARDS), "hub/meta.csv"}
    assert pins["hub"]["bytes"] == source_files.size(source, tmp_path)
    assert source_files.pinned(source, tmp_path, pins) == pins
    assert source_files.pinned(source, tmp_path, {}) == {}
    assert set(source_files.pinned(source, tmp_path, {"hub/meta.csv": {}})) == {"hub/meta.csv"}


def test_another_shard_changes_the_pin_of_the_set(source: Row, tmp_path: Path) -> None:
    pins = source_files.pins(source, tmp_path, source_files.digests(source, tmp_path))
    for name in SHARDS:
        (tmp_path / name).rename(tmp_path / name.replace("-of-00002", "-of-00003"))
    pq.write_table(pa.table({"ref_list": [7], "image_info": [7]}), tmp_path / "hf/test-00002-of-00003.parquet")
    found = source_files.pinned(source, tmp_path, pins)
    assert found["hub"] != pins["hub"]
    assert found["hub/meta.csv"] == pins["hub/meta.csv"]


def test_a_name_that_is_added_changes_the_receipt(source: Row, tmp_path: Path) -> None:
    before = source_files.digests(source, tmp_path)
    (tmp_path / "hf" / "more.txt").write_text("")
    after = source_files.digests(source, tmp_path)
    assert {path for path in before if before[path] != after[path]} == {"hf/"}


def test_what_is_not_there_is_named(source: Row, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"other\.csv"):
        source_files.digests({**source, "photograph_metadata": ["other.csv"]}, tmp_path)
    with pytest.raises(DataError, match="the source hub is not there"):
        source_files.digests({**source, "annotations": "elsewhere"}, tmp_path)
    with pytest.raises(DataError, match="no shard of the split validation"):
        source_files.digests({**source, "split": "validation"}, tmp_path)
    with pytest.raises(DataError, match="this is not a file"):
        source_files.digests({**source, "kind": "coco"}, tmp_path)
    assert source_files.pinned({**source, "annotations": "elsewhere"}, tmp_path, {"hub": {}}) == {}
