# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Archives as publishers make them, and archives made to do harm."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.fetching import archives
from groundset.fetching.archives import unpack

FILES = {"annotations/val.json": b'{"images": []}' * 50, "val/0001.jpg": bytes(range(256)), "val/0002.jpg": b""}
ROOM = 10**6

Make = Callable[[Path, dict[str, bytes]], Path]


@pytest.fixture(autouse=True, scope="module")
def _no_sync() -> Iterator[None]:
    """A sync waits for all that any process has written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sync", lambda: None)
        yield


def zipped(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(folder: Path, files: dict[str, bytes], mode: str = "w") -> Path:
    path = folder / "a.tar"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    return tarred(folder, files, "w:gz")


def odd_tar(folder: Path, *members: tarfile.TarInfo) -> Path:
    path = folder / "odd.tar"
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size) if member.size else None)
    return path


def tar_info(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


EVERY_FORM = pytest.mark.parametrize("make", [zipped, tarred, packed])


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusal(archive: Path, into: Path, members: list[str] | None = None, room: int = ROOM) -> str:
    before = tree(into) if into.exists() else {}
    with pytest.raises(DataError) as caught:
        unpack(archive, into, members, max_bytes=room)
    assert (tree(into) if into.exists() else {}) == before
    return str(caught.value)


@EVERY_FORM
def test_all_of_an_archive(tmp_path: Path, make: Make) -> None:
    report = unpack(make(tmp_path, FILES), tmp_path / "in" / "to", None, max_bytes=ROOM)
    assert tree(tmp_path / "in" / "to") == FILES
    assert report.unpacked == tuple(sorted(FILES))
    assert report.already_there == ()


@EVERY_FORM
def test_some_of_an_archive(tmp_path: Path, make: Make) -> None:
    archive = make(tmp_path, FILES)
    assert unpack(archive, tmp_path / "in", ["annotations/*"], max_bytes=ROOM).unpacked == ("annotations/val.json",)
    assert unpack(archive, tmp_path / "in", ["*/0001.jpg"], max_bytes=ROOM).unpacked == ("val/0001.jpg",)
    assert set(tree(tmp_path / "in")) == {"annotations/val.json", "val/0001.jpg"}
    assert unpack(archive, tmp_path / "in", [], max_bytes=ROOM).unpacked == ()


def test_a_name_with_brackets_names_itself(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"a[1].json": b"1"})
    assert unpack(archive, tmp_path / "in", ["a[1].json"], max_bytes=ROOM).unpacked == ("a[1].json",)


@EVERY_FORM
def test_what_is_there_is_left_alone_and_what_differs_is_replaced(tmp_path: Path, make: Make) -> None:
    archive, into = make(tmp_path, FILES), tmp_path / "in"
    unpack(archive, into, None, max_bytes=ROOM)
    os.utime(into / "val/0002.jpg", (1, 1))
    (into / "val/0001.jpg").write_bytes(bytes(256))
    (into / "annotations/val.json").write_bytes(b"{}")
    report = unpack(archive, into, None, max_bytes=ROOM)
    assert report.unpacked == ("annotations/val.json", "val/0001.jpg")
    assert report.already_there == ("val/0002.jpg",)
    assert tree(into) == FILES
    assert (into / "val/0002.jpg").stat().st_mtime == 1


@EVERY_FORM
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("../evil", "climbs out"),
        ("a/../../evil", "climbs out"),
        ("/evil", "absolute"),
        ("C:/evil", "absolute"),
        ("a\\..\\evil", "backslash"),
        ("a" * 256, "too long"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, make: Make, name: str, told: str) -> None:
    archive = make(tmp_path, {**FILES, name: b"evil"})
    text = refusal(archive, tmp_path / "in")
    assert told in text
    assert repr(name) in text
    assert not (tmp_path / "evil").exists()


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = refusal(zipped(tmp_path, {"../a": b"", "/b": b"", "c": b""}), tmp_path / "in", ["*", "nothing"])
    assert "climbs out" in text
    assert "absolute" in text
    assert "no member fits 'nothing'" in text


def test_what_is_not_wanted_may_be_odd(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"../a": b"", "c": b"c"})
    assert unpack(archive, tmp_path / "in", ["c"], max_bytes=ROOM).unpacked == ("c",)


@pytest.mark.parametrize(
    ("member", "told"),
    [
        (tar_info("a", tarfile.SYMTYPE, "/etc/passwd"), "link"),
        (tar_info("a", tarfile.LNKTYPE, "b"), "link"),
        (tar_info("a", tarfile.CHRTYPE), "neither file nor folder"),
        (tar_info("a", tarfile.BLKTYPE), "neither file nor folder"),
        (tar_info("a", tarfile.FIFOTYPE), "neither file nor folder"),
    ],
)
def test_members_of_a_tar_that_are_no_files(tmp_path: Path, member: tarfile.TarInfo, told: str) -> None:
    assert told in refusal(odd_tar(tmp_path, tar_info("b", size=3), member), tmp_path / "in")


@pytest.mark.parametrize(
    ("kind", "told"), [(stat.S_IFLNK, "link"), (stat.S_IFCHR, "neither"), (stat.S_IFIFO, "neither")]
)
def test_members_of_a_zip_that_are_no_files(tmp_path: Path, kind: int, told: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("a")
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert told in refusal(path, tmp_path / "in")


def test_a_link_and_a_file_behind_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    archive = odd_tar(tmp_path, tar_info("a", tarfile.SYMTYPE, str(outside)), tar_info("a/evil", size=3))
    refusal(archive, tmp_path / "in")
    assert tree(outside) == {}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("names", [("a", "a"), ("a", "./a"), ("a//b", "a/b")])
def test_one_path_twice(tmp_path: Path, names: tuple[str, str]) -> None:
    tar = odd_tar(tmp_path, *(tar_info(name, size=3) for name in names))
    assert "two members have this path" in refusal(tar, tmp_path / "in")
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    assert "two members have this path" in refusal(path, tmp_path / "in")


@EVERY_FORM
def test_a_file_that_is_a_folder_too(tmp_path: Path, make: Make) -> None:
    assert "which is a file" in refusal(make(tmp_path, {"a": b"1", "a/b/c": b"2"}), tmp_path / "in")
    (tmp_path / "on" / "a").mkdir(parents=True)
    assert "a folder is where it belongs" in refusal(make(tmp_path, {"a": b"1"}), tmp_path / "on")


def test_the_folder_itself_as_tar_writes_it(tmp_path: Path) -> None:
    archive = odd_tar(tmp_path, tar_info("./", tarfile.DIRTYPE), tar_info("./a/", tarfile.DIRTYPE), tar_info("./a/b"))
    assert unpack(archive, tmp_path / "in", None, max_bytes=ROOM).unpacked == ("a/b",)


@EVERY_FORM
def test_too_large_an_expansion(tmp_path: Path, make: Make) -> None:
    archive = make(tmp_path, {"a": bytes(600_000), "b": bytes(600_000)})
    assert "more than 1000000 bytes" in refusal(archive, tmp_path / "in")


def test_a_tar_bomb_is_not_read_through(tmp_path: Path) -> None:
    info = tar_info("huge")
    info.size = 2**50
    path = tmp_path / "a.tar.gz"
    with gzip.open(path, "wb") as file:
        file.write(info.tobuf() + bytes(1024))
    assert "more than 1000000 bytes" in refusal(path, tmp_path / "in")


def test_a_negative_length(tmp_path: Path) -> None:
    block = bytearray(tar_info("a").tobuf())
    block[124:136] = b"\xff" * 11 + b"\x00"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(block) + bytes(1024))
    refusal(path, tmp_path / "in")


def test_a_header_that_is_too_long(tmp_path: Path) -> None:
    info = tar_info("a", tarfile.XHDTYPE)
    info.size = archives.MAX_READ_BYTES + 1
    path = tmp_path / "a.tar"
    path.write_bytes(info.tobuf() + bytes(2048))
    assert "header is too long" in refusal(path, tmp_path / "in")


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    assert "more than 2 members" in refusal(zipped(tmp_path, FILES), tmp_path / "in")


def patched(path: Path, signature: bytes, at: int, value: bytes) -> Path:
    data = bytearray(path.read_bytes())
    start = data.index(signature) + at
    data[start : start + len(value)] = value
    path.write_bytes(data)
    return path


def test_a_zip_that_lies(tmp_path: Path) -> None:
    central = b"PK\x01\x02"
    shorter = patched(zipped(tmp_path, {"a": b"x" * 5000}), central, 24, struct.pack("<I", 10))
    refusal(shorter, tmp_path / "in")
    longer = patched(zipped(tmp_path, {"a": b"x" * 5000}), central, 24, struct.pack("<I", 9000))
    refusal(longer, tmp_path / "in")
    crc = patched(zipped(tmp_path, {"a": b"x" * 5000}), central, 16, b"\0\0\0\0")
    refusal(crc, tmp_path / "in")
    encrypted = patched(zipped(tmp_path, {"a": b"x" * 5000}), central, 8, b"\x01\0")
    assert "encrypted" in refusal(encrypted, tmp_path / "in")
    method = patched(zipped(tmp_path, {"a": b"x" * 5000}), central, 10, b"\x63\0")
    refusal(method, tmp_path / "in")


@EVERY_FORM
def test_a_truncated_archive(tmp_path: Path, make: Make) -> None:
    path = make(tmp_path, {"a": os.urandom(50_000), "b": b"b"})
    path.write_bytes(path.read_bytes()[:20_000])
    assert str(path) in refusal(path, tmp_path / "in")


@pytest.mark.parametrize("content", [b"", b"nothing like it", b"PK\x03\x04", b"\x1f\x8b", b"\xff\xd8\xff" * 400])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    assert "no zip or tar archive" in refusal(path, tmp_path / "in")
    assert "there is no such archive" in refusal(tmp_path / "none.zip", tmp_path / "in")


def test_modes_and_owners_are_not_taken_over(tmp_path: Path) -> None:
    info = tar_info("a", size=3)
    info.mode = 0o6777
    unpack(odd_tar(tmp_path, info), tmp_path / "in", None, max_bytes=ROOM)
    assert (tmp_path / "in" / "a").stat().st_mode & 0o7111 == 0


def test_a_failure_half_way_leaves_whole_files_only(tmp_path: Path) -> None:
    path = zipped(tmp_path, {"a": b"a" * 3000, "b": b"b" * 3000})
    data = path.read_bytes()
    at = data.rindex(b"PK\x01\x02")
    path.write_bytes(data[: at + 16] + b"\0\0\0\0" + data[at + 20 :])
    with pytest.raises(DataError):
        unpack(path, tmp_path / "in", None, max_bytes=ROOM)
    assert tree(tmp_path / "in") == {"a": b"a" * 3000}


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    make=st.sampled_from([zipped, tarred, packed]),
    changes=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=8),
    end=st.one_of(st.none(), st.integers(0, 3000)),
)
def test_damage_of_any_kind_is_a_clear_error(
    tmp_path: Path, make: Make, changes: list[tuple[int, int]], end: int | None
) -> None:
    path = make(tmp_path, {"a/b.json": b"content " * 40, "c": bytes(range(200))})
    data = bytearray(path.read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    path.write_bytes(data[:end])
    into = tmp_path / "in" / "deep"
    with suppress(DataError):
        unpack(path, into, None, max_bytes=ROOM)
    names = {found.relative_to(tmp_path).parts[0] for found in tmp_path.rglob("*") if found.is_file()}
    assert names <= {"a.zip", "a.tar", "in"}
    assert not list(tmp_path.rglob("*.unpacking"))
    assert [found.name for found in (tmp_path / "in").iterdir()] == ["deep"] if (tmp_path / "in").exists() else True
