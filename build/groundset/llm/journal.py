# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Every question and answer, in an SQLite file: an answer is on disk before anyone sees it.

Questions and answers can be exported and pinned (`journal_file`). Times and tokens are kept in a table of their own,
`receipts`, and leave it only for a stage's receipt.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

import msgspec

from groundset.errors import DataError, GroundsetError, UsageError
from groundset.files import canonical_json, sync_folder
from groundset.llm.answers import Answer, Received

VERSION = 1
# "gsjl": tells a journal from anyone else's SQLite file
APPLICATION_ID = 0x67736A6C
# what a question may lead to has to fit: an answer that cannot be kept is paid for all the same
LEAST_ROOM_BYTES = 16 << 20

_TABLES = """
CREATE TABLE requests (key TEXT PRIMARY KEY, request BLOB NOT NULL) STRICT;
CREATE TABLE answers (key TEXT NOT NULL, attempt INTEGER NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (key, attempt))
    STRICT;
CREATE TABLE receipts (key TEXT NOT NULL, attempt INTEGER NOT NULL, began TEXT NOT NULL, seconds REAL NOT NULL,
    sends INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    PRIMARY KEY (key, attempt)) STRICT;
"""


@dataclass(frozen=True)
class Entry:
    """An answer on its way into the journal.

    Attributes:
        key: Key of the request.
        request: The described request that it is the key of.
        received: The answer and what it took.
    """

    key: str
    request: dict[str, Any]
    received: Received


@dataclass(frozen=True)
class Spent:
    """What all answers of a journal took, as far as it was this journal that asked for them."""

    answers: int
    prompt_tokens: int
    completion_tokens: int


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turns what SQLite says into an error that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name == "SQLITE_FULL":
            message = f"{path}: the disk is full; make room and run again: all answers that were kept are still there"
            raise GroundsetError(message) from None
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            message = f"{path}: the journal is broken or no journal ({error}); put a copy back, or import its export"
            raise DataError(message) from None
        if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
            raise UsageError(f"{path}: the journal cannot be opened for writing ({error})") from None
        raise GroundsetError(f"{path}: the journal cannot be used ({name or type(error).__name__}: {error})") from None


def _connect(path: Path) -> sqlite3.Connection:
    # used by one thread at a time, though not always by the same
    return sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)


def _make_safe(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _is_new(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether the file holds nothing yet; checks that it is a journal of this version if it does.

    Raises:
        DataError: It is something else, or broken.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not (application or version or tables):
        return True
    if application != APPLICATION_ID:
        raise DataError(f"{path}: is an SQLite file, but no journal of groundset")
    if version != VERSION:
        raise DataError(
            f"{path}: is a journal of version {version}, this groundset reads version {VERSION} "
            "(export it with the groundset that wrote it, and import the export)"
        )
    (fault,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if fault != "ok":
        raise DataError(f"{path}: the journal is broken ({fault}); put a copy back, or import its export")
    return False


def _create(connection: sqlite3.Connection) -> None:
    # as one: a file that a kill leaves behind is empty, or a journal
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";")[:-1]:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _alone(path: Path) -> int:
    """Keeps other processes away for as long as the handle that is returned is open."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(f"{lock}: cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise UsageError(f"{path}: another process uses the journal; wait until it has ended, then run again") from None
    return handle


class Journal:
    """An open journal; for one process at a time, because two would pay twice for the same answer.

    Reading and writing have a connection each, so that a reader never waits for the disk.
    """

    def __init__(self, path: Path) -> None:
        """Opens a journal, or makes an empty one; the folder has to be there.

        Raises:
            UsageError: Another process uses it, or it may not be written.
            DataError: The file is no journal, of another version, or broken.
        """
        self.path = path
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent}: the journal's folder does not exist")
        self._lock, self._handle = Lock(), _alone(path)
        with ExitStack() as opened:
            opened.callback(os.close, self._handle)
            with told(path):
                self._writer = opened.enter_context(closing(_connect(path)))
                # before anything is written: the file may be someone else's
                is_new = _is_new(path, self._writer)
                _make_safe(self._writer)
                if is_new:
                    _create(self._writer)
                    sync_folder(path.parent)
                self._reader = opened.enter_context(closing(_connect(path)))
                _make_safe(self._reader)
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files and lets other processes in."""
        with self._lock, told(self.path):
            self._opened.close()

    def answers(self, key: str) -> tuple[Answer, ...]:
        """Every attempt at a request, in order."""
        with told(self.path):
            query = "SELECT answer FROM answers WHERE key = ? ORDER BY attempt"
            rows = self._reader.execute(query, (key,)).fetchall()
        return tuple(msgspec.json.decode(answer, type=Answer) for (answer,) in rows)

    def require_room(self) -> None:
        """Raises GroundsetError where an answer might not fit on the disk: better asked later than paid and lost."""
        found = os.statvfs(self.path.parent)
        if found.f_bavail * found.f_frsize < LEAST_ROOM_BYTES:
            raise GroundsetError(f"{self.path}: the disk is almost full; make room and run again, nothing is lost")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, told(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def record(self, entries: Sequence[Entry]) -> None:
        """Puts answers on the disk, all or none; returns when they are there.

        Raises:
            GroundsetError: The disk is full or fails; what was there before is still there.
        """
        rows = [
            (entry.key, entry.received.answer.attempt, canonical_json(asdict(entry.received.answer)))
            for entry in entries
        ]
        with self._transaction() as writer:
            requests = [(entry.key, canonical_json(entry.request)) for entry in entries]
            writer.executemany("INSERT OR IGNORE INTO requests VALUES (?, ?)", requests)
            writer.executemany("INSERT INTO answers VALUES (?, ?, ?)", rows)
            writer.executemany("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?)", [_receipt(one) for one in entries])

    def add(self, rows: Iterable[tuple[str, bytes, Sequence[tuple[int, bytes]]]]) -> None:
        """Adds requests with all their answers, all or none; those that are there already have to be the same.

        Args:
            rows: Key, canonical request, and its attempts with their canonical answers.

        Raises:
            DataError: Another answer is there for the same attempt.
        """
        with self._transaction() as writer:
            for key, request, answers in rows:
                writer.execute("INSERT OR IGNORE INTO requests VALUES (?, ?)", (key, request))
                for attempt, answer in answers:
                    query = "SELECT answer FROM answers WHERE key = ? AND attempt = ?"
                    (there,) = writer.execute(query, (key, attempt)).fetchone() or (answer,)
                    if there != answer:
                        raise DataError(
                            f"{self.path}: the journal has another answer for attempt {attempt} of {key} "
                            "(import into an empty journal)"
                        )
                    writer.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, attempt, answer))

    def rows(self) -> Iterator[tuple[str, bytes, list[bytes]]]:
        """Every key in order, with its canonical request and the canonical answers of its attempts."""
        query = (
            "SELECT requests.key, request, answer FROM requests JOIN answers USING (key) ORDER BY requests.key, attempt"
        )
        key, request, answers = "", b"", list[bytes]()
        with told(self.path):
            for found, asked, answer in self._reader.execute(query):
                if found != key and answers:
                    yield key, request, answers
                    answers = []
                key, request = found, asked
                answers.append(answer)
        if answers:
            yield key, request, answers

    def spent(self) -> Spent:
        """What the answers took that this journal asked for."""
        query = "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) FROM receipts"
        with told(self.path):
            return Spent(*self._reader.execute(query).fetchone())

    def spent_by_model(self) -> dict[str, Spent]:
        """The same by model, sorted."""
        query = (
            "SELECT json_extract(CAST(request AS TEXT), '$.model') AS model, count(*), sum(prompt_tokens), "
            "sum(completion_tokens) FROM receipts JOIN requests USING (key) GROUP BY model ORDER BY model"
        )
        with told(self.path):
            return {model: Spent(*counts) for model, *counts in self._reader.execute(query)}


def _receipt(entry: Entry) -> tuple[str, int, str, float, int, int, int]:
    received = entry.received
    began = datetime.fromtimestamp(received.began_s, UTC).isoformat(timespec="milliseconds")
    used = received.usage
    attempt = received.answer.attempt
    return entry.key, attempt, began, received.seconds, received.sends, used.prompt_tokens, used.completion_tokens
