# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Unpacks zip and tar archives of files from elsewhere, so that nothing in them can do more than become a file.

Every member that is wanted is judged before the first is written, and nothing of the archive is used but names and
bytes: no links, devices, owners, modes or dates.
"""

from __future__ import annotations

import gzip
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any

from groundset.errors import DataError, Problem
from groundset.files import sha256_bytes
from groundset.sources.imported import path_fault

CHUNK_BYTES = 2**20
MAX_MEMBERS = 500_000
MAX_NAME_BYTES = 255
# a header that asks for more at once is no header: tarfile would hold it in memory
MAX_READ_BYTES = 2**24
_ENCRYPTED = 0x1
# what zipfile, tarfile and gzip raise for broken archives; an OSError by seeking where nothing can be
_BROKEN = (
    OSError,
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
)


@dataclass(frozen=True)
class UnpackReport:
    """What an archive gave.

    Attributes:
        archive: The archive.
        unpacked: Paths of files that were written, below the folder, sorted.
        already_there: Paths of files that were there with the same length and content, sorted.
    """

    archive: Path
    unpacked: tuple[str, ...]
    already_there: tuple[str, ...]


@dataclass(frozen=True)
class _Member:
    """One member: its name as written and as a path, why it is refused, its length, and its checksum if known."""

    name: str
    path: str
    fault: str
    size: int
    crc: int | None
    is_folder: bool
    handle: Any


def _tidy(name: str) -> str:
    return PurePosixPath(name).as_posix()


def _name_fault(name: str, is_folder: bool) -> str:
    # tar calls the folder that was packed "./"
    if is_folder and _tidy(name) == ".":
        return ""
    fault = path_fault(name.rstrip("/") or name)
    try:
        parts = name.encode().split(b"/")
    except UnicodeEncodeError:
        return "its name is not Unicode"
    return fault or ("its name is too long" if max(map(len, parts)) > MAX_NAME_BYTES else "")


def _zip_member(info: zipfile.ZipInfo) -> _Member:
    kind = stat.S_IFMT(info.external_attr >> 16)
    fault = _name_fault(info.orig_filename, info.is_dir())
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        fault = fault or ("it is a link" if kind == stat.S_IFLNK else "it is neither file nor folder")
    if info.flag_bits & _ENCRYPTED:
        fault = fault or "it is encrypted"
    return _Member(info.orig_filename, _tidy(info.filename), fault, info.file_size, info.CRC, info.is_dir(), info)


def _tar_member(info: tarfile.TarInfo) -> _Member:
    fault = _name_fault(info.name, info.isdir())
    if info.issym() or info.islnk():
        fault = fault or "it is a link"
    elif info.issparse():
        fault = fault or "it is a sparse file"
    elif not (info.isreg() or info.isdir()):
        fault = fault or "it is neither file nor folder"
    return _Member(info.name, _tidy(info.name), fault, info.size, None, info.isdir(), info)


class _Sober:
    """A file that does not read much at once, whatever a header says."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > MAX_READ_BYTES:
            raise tarfile.ReadError("a header is too long")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


Opener = Callable[[_Member], IO[bytes]]


def _bytes_of(tar: tarfile.TarFile, member: _Member) -> IO[bytes]:
    content = tar.extractfile(member.handle)
    if content is None:
        raise tarfile.ReadError("a member has no content")
    return content


@contextmanager
def _opened(archive: Path) -> Iterator[tuple[Iterable[_Member], Opener]]:
    """Members in their order, and how to open one."""
    with archive.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic in (b"PK\x03\x04", b"PK\x05\x06"):
            with zipfile.ZipFile(file) as zipped:
                yield map(_zip_member, zipped.infolist()), lambda member: zipped.open(member.handle)
            return
        plain: IO[bytes] = gzip.GzipFile(fileobj=file) if magic.startswith(b"\x1f\x8b") else file  # type: ignore[assignment]
        with tarfile.open(fileobj=_Sober(plain), mode="r:") as tar:  # type: ignore[call-overload]
            yield map(_tar_member, tar), lambda member: _bytes_of(tar, member)


@contextmanager
def _broken_is_told(archive: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{archive}: there is no such archive") from None
    except _BROKEN as error:
        hint = "remove it and fetch it again"
        told = f"it is no zip or tar archive, or a broken one: {error}"
        raise DataError("an archive cannot be unpacked", [Problem(str(archive), "", "", told, hint)]) from None


def _all_members(archive: Path, members: Iterable[_Member], max_bytes: int) -> list[_Member]:
    """The list of members; stops as soon as there is too much of it, before anything long is read over."""
    found, size = [], 0
    for member in members:
        found.append(member)
        size += member.size
        # a negative length would lead a reader of tar round in a circle
        if member.size < 0:
            told = f"a length of {member.size} bytes"
            raise DataError("an archive is refused", [Problem(str(archive), repr(member.name), "", told)])
        if size > max_bytes:
            told = f"unpacked it would have more than {max_bytes} bytes"
            raise DataError("an archive is refused", [Problem(str(archive), repr(member.name), "", told)])
        if len(found) > MAX_MEMBERS:
            raise DataError(
                "an archive is refused", [Problem(str(archive), "", "", f"more than {MAX_MEMBERS} members")]
            )
    return found


def _is_wanted(member: _Member, patterns: Collection[str] | None) -> bool:
    return patterns is None or any(member.path == text or fnmatchcase(member.path, text) for text in patterns)


def _problems(archive: Path, members: list[_Member], wanted: list[_Member], patterns: Collection[str]) -> list[Problem]:
    file = str(archive)
    problems = [Problem(file, repr(member.name), "", member.fault) for member in wanted if member.fault]
    kinds: dict[str, bool] = {}
    for member in wanted:
        if member.path in kinds and not (member.is_folder and kinds[member.path]):
            problems.append(Problem(file, repr(member.name), "", "two members have this path"))
        kinds[member.path] = member.is_folder
    files = {path for path, is_folder in kinds.items() if not is_folder}
    for path in sorted(kinds):
        above = next((str(folder) for folder in PurePosixPath(path).parents if str(folder) in files), "")
        if above:
            problems.append(Problem(file, repr(path), "", f"it lies in {above!r}, which is a file"))
    for text in sorted(patterns):
        if not any(_is_wanted(member, (text,)) for member in members):
            files_in = sorted(member.path for member in members if not member.is_folder)
            near = [path for path in files_in if PurePosixPath(path).name == PurePosixPath(text).name] or files_in
            hint = f"it has {', '.join(map(repr, near[:5]))}" + (f" and {len(near) - 5} more" if len(near) > 5 else "")
            problems.append(Problem(file, "", "", f"no member fits {text!r}", hint))
    return problems


def _crc32(file: IO[bytes]) -> int:
    crc = 0
    while chunk := file.read(CHUNK_BYTES):
        crc = zlib.crc32(chunk, crc)
    return crc


def _is_there(archive: Path, member: _Member, target: Path, opener: Opener) -> bool:
    if not target.is_file() or target.stat().st_size != member.size:
        return False
    with target.open("rb") as file:
        found = _crc32(file)
    if member.crc is not None:
        return found == member.crc
    with _broken_is_told(archive), opener(member) as content:
        return found == _crc32(content)


def _write(archive: Path, member: _Member, target: Path, opener: Opener) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # the member's own name with more to it could be too long
    temporary = target.with_name(f".{sha256_bytes(target.name.encode())[:16]}.unpacking")
    size = 0
    try:
        with temporary.open("wb") as file:
            with _broken_is_told(archive):
                content = opener(member)
            with content:
                while True:
                    with _broken_is_told(archive):
                        chunk = content.read(CHUNK_BYTES)
                    size += len(chunk)
                    if not chunk or size > member.size:
                        break
                    file.write(chunk)
        if size != member.size:
            told = f"it has other than the {member.size} bytes that the archive says"
            raise DataError("an archive is broken", [Problem(str(archive), repr(member.name), "", told)])
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def unpack(archive: Path, into: Path, members: Collection[str] | None, *, max_bytes: int) -> UnpackReport:
    """Unpacks files of a zip, tar or tar.gz archive into a folder.

    A file that is there with the member's length and checksum is left alone; every other is written under another name
    and moved into its place when whole.

    Args:
        archive: The archive.
        into: The folder; it need not exist.
        members: Patterns of paths to unpack, in which `*` fits any text and also `/`; None for all.
        max_bytes: Length of all members together that the archive may not exceed.

    Raises:
        DataError: The archive is broken or too large, or, before anything is written, a wanted member leaves the
            folder, is a link, a device, encrypted or there twice, or a pattern fits nothing; all of them at once.
    """
    with ExitStack() as stack:
        with _broken_is_told(archive):
            listed, opener = stack.enter_context(_opened(archive))
            every = _all_members(archive, listed, max_bytes)
        wanted = [member for member in every if _is_wanted(member, members)]
        problems = _problems(archive, every, wanted, members or ())
        if problems:
            raise DataError("an archive is refused", problems)
        unpacked, there = [], []
        for member in wanted:
            target = into / member.path
            if member.is_folder:
                continue
            if target.is_dir():
                told = f"a folder is where it belongs: {target}"
                raise DataError("an archive cannot be unpacked", [Problem(str(archive), repr(member.name), "", told)])
            if _is_there(archive, member, target, opener):
                there.append(member.path)
            else:
                _write(archive, member, target, opener)
                unpacked.append(member.path)
    if unpacked:
        # one sync for all: a file at a time takes a hundred thousand photographs hours on a slow disk
        os.sync()
    return UnpackReport(archive, tuple(sorted(unpacked)), tuple(sorted(there)))
