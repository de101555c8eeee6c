# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from groundset.release.checksums import CHECKSUMS, checksum_problems, checksums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "b c.txt").write_text("b")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / ".gitattributes").write_text("the Hub's")
    (tmp_path / CHECKSUMS).write_text(checksums(tmp_path))
    return tmp_path


def test_sums_are_sorted_by_path_and_leave_the_hubs_files_out(folder: Path) -> None:
    lines = (folder / CHECKSUMS).read_text().splitlines()
    assert lines == [
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.txt",
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  data/b c.txt",
    ]
    assert checksum_problems(folder) == []


def relist(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    lines = change((folder / CHECKSUMS).read_bytes().splitlines())
    (folder / CHECKSUMS).write_bytes(b"".join(line + b"\n" for line in lines))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda f: (f / "a.txt").write_text("x"), "a.txt: the file is not the one that SHA256SUMS lists"),
        (lambda f: (f / "a.txt").unlink(), "a.txt: SHA256SUMS lists the file, but it is not there"),
        (lambda f: (f / "data" / "new").write_text("x"), "data/new: SHA256SUMS does not list the file"),
        (lambda f: (f / "a.txt").unlink() or (f / "a.txt").symlink_to("/etc/hostname"), "a.txt: it is a link"),
        (lambda f: (f / CHECKSUMS).unlink(), "SHA256SUMS: it cannot be read"),
        (lambda f: (f / CHECKSUMS).write_bytes(b"\xff\n"), "SHA256SUMS line 1: the line is not a sha256"),
        (lambda f: (f / CHECKSUMS).write_text((f / CHECKSUMS).read_text() * 2), "line 3: a.txt is listed twice"),
        (lambda f: relist(f, lambda lines: lines[::-1]), "SHA256SUMS: it is not sorted by path"),
        (lambda f: relist(f, lambda lines: [line + b"\r" for line in lines]), "SHA256SUMS: it is not sorted by path"),
        (
            lambda f: (f / CHECKSUMS).rename(f.parent / "s") and (f / CHECKSUMS).symlink_to(f.parent / "s"),
            "it is a link",
        ),
        (lambda f: (f / CHECKSUMS).write_text("0" * 64 + "  ../x\n"), "../x: SHA256SUMS lists the file, but"),
    ],
)
def test_each_difference_is_named(change, expected: str, folder: Path) -> None:
    change(folder)
    assert any(expected in str(problem) for problem in checksum_problems(folder))
