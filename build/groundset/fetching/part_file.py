# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A file on its way: its bytes in `<name>.part`, and beside it what the server said of them, so that it can go on."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from groundset.files import canonical_json, sha256_file, sync_folder, write_atomic


class Note(msgspec.Struct, frozen=True):
    """What the server said of the file that the bytes belong to.

    Attributes:
        address_sha256: sha256 of the address that was asked, which may hold a token and is not written down itself.
        etag: ETag, or None.
        last_modified: Last-Modified, or None.
        if_range: What may be sent as If-Range: a strong ETag or a strong date (RFC 9110, 13.1.5); None if neither.
        total: Length of the whole file, or None.
    """

    address_sha256: str
    etag: str | None
    last_modified: str | None
    if_range: str | None
    total: int | None


class BusyError(Exception):
    """Another process or thread is writing the same file."""


def address_sha256(url: str) -> str:
    """How a note names an address."""
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()


class PartFile:
    """The `.part` file of one download, locked against other writers while it is open.

    Attributes:
        have: Bytes that are there.
        added: Bytes that were added since it was opened.
        note: What the server said, or None.
        is_resumable: Whether to ask for the rest only; off once a server has shown that it cannot do it.
    """

    def __init__(self, final: Path) -> None:
        """Opens or makes the `.part` file of a final path.

        Raises:
            BusyError: Someone else has it open.
            OSError: It cannot be made.
        """
        self._final = final
        self._path = final.with_name(f"{final.name}.part")
        self._note_path = final.with_name(f"{final.name}.part.json")
        self._handle = self._locked()
        self.have = os.fstat(self._handle).st_size
        self.added = 0
        self.note = self._read_note() if self.have else None
        self.is_resumable = True

    def _locked(self) -> int:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found = self._path.stat()
            except BlockingIOError:
                os.close(handle)
                raise BusyError from None
            except FileNotFoundError:
                found = None
            # between opening and locking, whoever held it may have moved it into place
            if found is not None and os.path.samestat(found, os.fstat(handle)):
                return handle
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_note(self) -> Note | None:
        try:
            return msgspec.json.decode(self._note_path.read_bytes(), type=Note)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def keep_note(self, note: Note | None) -> None:
        """Writes down what the server says, before any byte of it."""
        self.note = note
        if note is None:
            self._note_path.unlink(missing_ok=True)
            return
        content = canonical_json(msgspec.structs.asdict(note))
        # where there is none yet, one that a power cut tears cannot be read and costs no more than starting over
        if self._note_path.exists():
            write_atomic(self._note_path, content)
        else:
            self._note_path.write_bytes(content)

    def restart(self, note: Note | None = None) -> None:
        """Throws the bytes away."""
        os.ftruncate(self._handle, 0)
        self.have = 0
        self.keep_note(note)

    def tail(self, count: int) -> bytes:
        """The last bytes."""
        return os.pread(self._handle, count, self.have - count)

    def append(self, content: bytes) -> None:
        """Adds bytes; they survive the death of this process."""
        left = memoryview(content)
        while left:
            written = os.pwrite(self._handle, left, self.have)
            left = left[written:]
            self.have += written
            self.added += written

    def size(self, expected: int | None) -> int | None:
        """How long the file will be, by what is expected or else by what the server said."""
        return expected if expected is not None else self.note.total if self.note else None

    def sha256(self) -> str:
        """sha256 of the bytes that are there."""
        return sha256_file(self._path)

    def finish(self) -> None:
        """Moves the whole file into its place."""
        os.fsync(self._handle)
        self._path.replace(self._final)
        self._note_path.unlink(missing_ok=True)
        sync_folder(self._final.parent)

    def close(self) -> None:
        """Lets go of the file; an empty one is removed."""
        if not self.have:
            self._path.unlink(missing_ok=True)
            self._note_path.unlink(missing_ok=True)
        os.close(self._handle)
