# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Which absent photographs a build waits for, and the note of those that no server has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groundset.errors import DataError
from groundset.missing_photographs import NAME, key_of, note, read, to_fetch

IMAGE = {"image_id": "coco-1", "source_name": "mine", "file_name": "a/1.jpg"}


def source(**changes: Any) -> dict[str, dict[str, Any]]:
    return {"mine": {"name": "mine", "images": "jpegs", "photograph_url": "none", "downloads": [], **changes}}


def test_the_note_grows_and_shrinks_and_is_written_only_when_it_changes(tmp_path: Path) -> None:
    note(tmp_path, {}, {"jpegs/1.jpg"})
    assert not (tmp_path / NAME).exists()
    note(tmp_path, {"jpegs/2.jpg": "answers 404", "jpegs/1.jpg": "answers 410"}, set())
    assert (tmp_path / NAME).read_bytes() == b'{\n  "jpegs/1.jpg": "answers 410",\n  "jpegs/2.jpg": "answers 404"\n}\n'
    before = (tmp_path / NAME).stat().st_mtime_ns
    note(tmp_path, {"jpegs/2.jpg": "answers 404"}, {"jpegs/3.jpg"})
    assert (tmp_path / NAME).stat().st_mtime_ns == before
    note(tmp_path, {}, {"jpegs/1.jpg"})
    assert read(tmp_path) == {"jpegs/2.jpg": "answers 404"}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": 1}', b"\xff", b"[" * 100_000])
def test_a_broken_note_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(DataError, match="remove it and fetch again"):
        read(tmp_path)


def test_only_what_can_be_fetched_and_is_not_noted_is_waited_for(tmp_path: Path) -> None:
    address = source(photograph_url="https://example.invalid/{file_name}")
    assert to_fetch([IMAGE], source(), tmp_path) == []
    assert to_fetch([IMAGE], address, tmp_path) == [IMAGE]
    note(tmp_path, {key_of(IMAGE, address["mine"]): "answers 404"}, set())
    assert to_fetch([IMAGE], address, tmp_path) == []
    assert to_fetch([IMAGE], {"mine": {"images": "jpegs"}}, tmp_path) == []


def test_an_archive_is_waited_for_until_it_or_a_photograph_is_there(tmp_path: Path) -> None:
    archive = {"path": "all.zip", "url": "https://example.invalid/all.zip", "bytes": 0, "unpack": ["*"], "into": "."}
    sources = source(downloads=[archive, archive | {"path": "boxes.json", "unpack": []}])
    assert to_fetch([IMAGE], sources, tmp_path) == [IMAGE]
    (tmp_path / "jpegs").mkdir()
    assert to_fetch([IMAGE], sources, tmp_path) == [IMAGE]
    (tmp_path / "jpegs" / "other.jpg").touch()
    assert to_fetch([IMAGE], sources, tmp_path) == []
    (tmp_path / "jpegs" / "other.jpg").unlink()
    (tmp_path / "all.zip").touch()
    assert to_fetch([IMAGE], sources, tmp_path) == []
