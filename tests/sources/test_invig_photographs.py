# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Photographs taken out of Parquet shards: by their names, whole or not at all, and never outside the folder."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.sources import invig, invig_photographs
from groundset.sources.invig_photographs import Extracted, extract_images

IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})
INFO = pa.struct({"file_name": pa.string(), "height": pa.int64(), "width": pa.int64()})
REFS = pa.list_(
    pa.struct({"id": pa.string(), "bbox": pa.list_(pa.float64()), "dialog": pa.list_(pa.list_(pa.string()))})
)
Named = tuple[str, bytes | None]


def shard(path: Path, *rows: Named) -> Path:
    """A shard of revision 456ac78."""
    columns = {
        "ref_list": pa.array([[]] * len(rows), REFS),
        "image_info": pa.array([{"file_name": name, "height": 3, "width": 4} for name, _ in rows], INFO),
        "image": pa.array([{"bytes": content, "path": "of another name.jpg"} for _, content in rows], IMAGE),
    }
    pq.write_table(pa.table(columns), path)
    return path


def older_shard(path: Path, *rows: tuple[str | None, str, bytes]) -> Path:
    """A shard of revision 6f51235: path, image_id and bytes."""
    columns = {
        "dialog": pa.array([[["a", ""]]] * len(rows)),
        "bbox": pa.array([[1.0, 1.0, 2.0, 2.0]] * len(rows)),
        "image": pa.array([{"bytes": content, "path": name} for name, _, content in rows], IMAGE),
        "image_id": [image_id for _, image_id, _ in rows],
    }
    pq.write_table(pa.table(columns), path)
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def rules(found: Extracted) -> list[tuple[str, str]]:
    assert all(verdict.hard and verdict.kind == "image" for verdict in found.refused)
    return [(verdict.record_id, verdict.rule) for verdict in found.refused]


def test_photographs_are_written_once_by_the_names_of_their_records(tmp_path: Path) -> None:
    shards = [
        shard(tmp_path / "a.parquet", ("00bf29ce5868629f_Fast food_2.jpg", b"one"), ("sub/b.jpg", b"two")),
        shard(tmp_path / "b.parquet", ("sub/./b.jpg", b"two")),
    ]
    folder = tmp_path / "photographs"
    found = extract_images(shards, folder)
    assert found == Extracted(("00bf29ce5868629f_Fast food_2.jpg", "sub/b.jpg"), (), ())
    assert files(folder) == {"00bf29ce5868629f_Fast food_2.jpg": b"one", "sub/b.jpg": b"two"}
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.jpg")}
    assert extract_images(shards, folder) == Extracted((), found.written, ())
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.jpg")} == before


def test_the_names_are_those_that_the_reader_gives(tmp_path: Path) -> None:
    path = older_shard(
        tmp_path / "a.parquet",
        ("x y.jpg", "openimages.00bf29ce5868629f", b"one"),
        (None, "openimages.00bf29ce5868629e", b"two"),
    )
    written = extract_images([path], tmp_path / "photographs").written
    assert written == ("00bf29ce5868629e.jpg", "x y.jpg")
    read = invig.read(
        path,
        split="test",
        source_name="mine",
        initial_candidates="ref_bboxes",
        photograph_licence=None,
        images_folder=tmp_path / "photographs",
    )
    # the bytes are no photographs, so that their names are told by what the reader looked for
    assert tuple(place.name for place in read.opened) == written


def test_what_lies_there_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "photographs"
    (folder / "folder.jpg").mkdir(parents=True)
    (folder / "a.jpg").write_bytes(b"mine")
    (folder / "link.jpg").symlink_to(folder / "nowhere.jpg")
    rows = [("a.jpg", b"one"), ("b.jpg", b"two"), ("folder.jpg", b"x"), ("a.jpg/c.jpg", b"x"), ("link.jpg", b"x")]
    found = extract_images([shard(tmp_path / "a.parquet", *rows)], folder)
    assert found.written == ("b.jpg",)
    assert rules(found) == [
        ("invig-a", "differs_on_disk"),
        ("invig-c", "unusable_name"),
        ("invig-folder", "unusable_name"),
        ("invig-link", "unusable_name"),
    ]
    assert files(folder) == {"a.jpg": b"mine", "b.jpg": b"two"}


def test_rows_that_disagree_write_nothing_whatever_their_order(tmp_path: Path) -> None:
    rows: list[Named] = [("a.jpg", b"one"), ("a.jpg", b"two"), ("b.jpg", b"x"), ("b.jpg", None), ("c.jpg", None)]
    for number, mixed in enumerate((rows, rows[::-1])):
        folder = tmp_path / str(number)
        found = extract_images([shard(tmp_path / "a.parquet", *mixed)], folder)
        assert (found.written, files(folder)) == (("b.jpg",), {"b.jpg": b"x"})
        assert rules(found) == [("invig-a", "differs_between_rows"), ("invig-c", "no_photograph")]


NAMES = ["../a.jpg", "/a.jpg", "a/../../b.jpg", "C:a.jpg", "a\\b.jpg", "a\0.jpg", "away/a.jpg", "away/b/c.jpg", "a/"]


def test_no_name_leaves_the_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "in" / "photographs", tmp_path / "outside"
    folder.mkdir(parents=True)
    outside.mkdir()
    (folder / "away").symlink_to(outside)
    path = shard(tmp_path / "a.parquet", *((name, b"x") for name in NAMES), ("x" * 300 + ".jpg", b"x"))
    found = extract_images([path], folder)
    assert (found.written, found.already_there) == ((), ())
    assert sorted(rule for _, rule in rules(found)) == ["path_outside_folder"] * len(NAMES) + ["unusable_name"]
    assert files(tmp_path / "in") == {}
    assert list(outside.iterdir()) == []


def test_shards_without_photographs_are_named(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"id": ["1"], "dialog": [[["a", "b"]]], "bbox": [[1.0]], "image_path": ["a.jpg"]}), tmp_path / "a"
    )
    with pytest.raises(DataError, match="revision 0189f8c and has no column image: it embeds no photographs"):
        extract_images([tmp_path / "a"], tmp_path)
    (tmp_path / "b").write_text('{"id": 1, "ann": {}}')
    with pytest.raises(DataError, match="only Parquet shards embed photographs"):
        extract_images([tmp_path / "b"], tmp_path)
    with pytest.raises(DataError, match="row 1: its photograph has no name"):
        extract_images([older_shard(tmp_path / "d", (None, "", b"x"))], tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    path = shard(tmp_path / "a.parquet", ("a.jpg", b"one"))
    (tmp_path / "file").write_bytes(b"")
    found = extract_images([path], tmp_path / "file" / "photographs")
    assert rules(found) == [("invig-a", "unusable_name")]


def test_an_interrupted_write_leaves_no_half_photograph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shard(tmp_path / "a.parquet", ("a.jpg", b"one"), ("b.jpg", b"two"))

    def stop(place: Path, content: bytes) -> None:
        if place.name == "b.jpg":
            raise KeyboardInterrupt
        place.write_bytes(content)

    monkeypatch.setattr(invig_photographs, "write_atomic", stop)
    with pytest.raises(KeyboardInterrupt):
        extract_images([path], tmp_path / "photographs")
    monkeypatch.undo()
    assert extract_images([path], tmp_path / "photographs") == Extracted(("b.jpg",), ("a.jpg",), ())


parts = st.sampled_from(["a", "b.jpg", "..", ".", "", "\\", "C:", "\0", "é", "x" * 260])


@given(
    rows=st.lists(
        st.tuples(st.lists(parts, min_size=1, max_size=4).map("/".join), st.none() | st.binary(max_size=2)), max_size=5
    ),
    seed=st.integers(0, 99),
)
@settings(max_examples=25)
def test_names_of_any_kind(tmp_path_factory: pytest.TempPathFactory, rows: list[Named], seed: int) -> None:
    rows = [(name or "a", content) for name, content in rows]
    base = tmp_path_factory.mktemp("names")
    found = extract_images([shard(base / "a.parquet", *rows)], base / "in" / "photographs")
    assert set(files(base / "in")) == {f"photographs/{name}" for name in found.written}
    random.Random(seed).shuffle(rows)
    again = extract_images([shard(base / "b.parquet", *rows)], base / "other" / "photographs")
    assert again == found
    assert files(base / "other") == files(base / "in")
