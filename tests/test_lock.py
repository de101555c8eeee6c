# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The lock: read back as written, and a pin that has changed is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groundset import lock
from groundset.errors import DataError, UsageError
from groundset.lock import Lock

A, B = "a" * 64, "b" * 64


def source(sha256: str, size: int = 10) -> dict[str, Any]:
    return {"sha256": sha256, "bytes": size}


def test_a_lock_that_is_not_there_pins_nothing(tmp_path: Path) -> None:
    found = lock.read(tmp_path / "a.lock.json")
    assert found.pins == {"sources": {}, "photographs": {}, "decisions": {}, "journals": {}}
    assert lock.unpinned(found, "sources", ["b", "a"]) == ["a", "b"]


def test_what_is_written_is_read_back_and_bytes_do_not_depend_on_the_order_of_pins(tmp_path: Path) -> None:
    path = tmp_path / "a.lock.json"
    first, fresh = lock.merged(Lock(path), "sources", {"x": source(A), "é": source(B)})
    assert fresh == 2
    lock.write(first)
    assert lock.read(path) == first
    written = path.read_bytes()
    second, _ = lock.merged(Lock(path), "sources", {"é": source(B)})
    second, fresh = lock.merged(second, "sources", {"x": source(A), "é": source(B)})
    assert fresh == 1
    lock.write(second)
    assert path.read_bytes() == written
    assert "é" in written.decode()


def test_merging_adds_and_changes_neither_other_pins_nor_the_lock_it_is_given() -> None:
    decided = {"decisions": {"d.jsonl": {"sha256": A}}, "photographs": {}, "sources": {"x": source(A)}}
    before = Lock(Path("l"), decided)
    after, fresh = lock.merged(before, "sources", {"y": source(B)})
    assert fresh == 1
    assert after.pins == {**decided, "sources": {"x": source(A), "y": source(B)}}
    assert before.pins == decided
    assert lock.merged(after, "sources", {"y": source(B)}) == (after, 0)
    assert lock.unpinned(after, "sources", ["z", "y"]) == ["z"]


def test_every_pin_that_has_changed_is_told_with_what_to_do() -> None:
    before = Lock(Path("l.json"), {"sources": {"x": source(A), "y": source(A), "z": source(B, 2)}})
    found = {"z": source(B, 3), "y": source(B, 11), "x": source(A), "new": source(A)}
    with pytest.raises(DataError, match="2 pinned sources have changed") as error:
        lock.merged(before, "sources", found)
    hint = "put the pinned file back, or build with --repin if the change is meant"
    assert [str(problem) for problem in error.value.problems] == [
        f"l.json sources y: bytes is 11, pinned as 10, sha256 is {B}, pinned as {A} ({hint})",
        f"l.json sources z: bytes is 3, pinned as 2 ({hint})",
    ]
    after, fresh = lock.merged(before, "sources", found, repin=True)
    assert fresh == 3
    assert after.pins["sources"] == found


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the lock is not JSON"),
        (b"{", "the lock is not JSON"),
        (b"\xff\xfe{}", "the lock is not JSON"),
        (b'{"sources": {"\xff": 1}}', "the lock is not JSON"),
        (b"[" * 100_000, "the lock is not JSON"),
        (b"[]", '$: [] is not of type "object"'),
        (b"{}", '$: "decisions" is a required property'),
        (
            b'{"sources": {"x": {"sha256": "abc", "bytes": -1}}, "photographs": {}, "decisions": {}}',
            "$.sources.x.bytes: -1 is less than the minimum of 0",
        ),
        (
            b'{"sources": {"x": {"sha256": "%s", "bytes": 1, "at": 2}}, "photographs": {}, "decisions": {}}'
            % A.encode(),
            "$.sources.x: Additional properties are not allowed ('at' was unexpected)",
        ),
    ],
)
def test_a_file_that_is_no_lock_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "a.lock.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        lock.read(path)
    assert str(path) in str(error.value)
    assert told in str(error.value)


def test_a_lock_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the lock cannot be read"):
        lock.read(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="the lock cannot be written"):
        lock.write(Lock(tmp_path / "file" / "a.lock.json"))
