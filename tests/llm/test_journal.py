# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundset.errors import DataError, GroundsetError, UsageError
from groundset.files import canonical_json
from groundset.llm import journal as journals
from groundset.llm import journal_file
from groundset.llm.answers import Answer, Received, Usage
from groundset.llm.journal import Entry, Journal, Spent
from groundset.llm.request import described, key_of


@pytest.fixture
def entry(ask_for: Any, config: Any) -> Any:
    """Makes an entry out of a question and the number of its attempt."""

    def make(question: str, attempt: int = 1, content: str = "{}", began_s: float = 0.0) -> Entry:
        description = described(ask_for(question), config)
        answer = Answer(attempt, 100, "stop", content, None, "served-1", "")
        received = Received(answer, Usage(3, 4), sends=1, seconds=0.5, began_s=began_s)
        return Entry(key_of(description), description, received)

    return make


def test_answers_come_back_in_order(journal: Journal, entry: Any) -> None:
    journal.record([entry("a", 2), entry("b"), entry("a", 1)])
    assert [answer.attempt for answer in journal.answers(entry("a").key)] == [1, 2]
    assert journal.answers("0" * 64) == ()
    assert journal.spent() == Spent(3, 9, 12)


def test_an_answer_is_there_for_another_process_once_it_is_recorded(
    journal: Journal, entry: Any, tmp_path: Path
) -> None:
    journal.record([entry("a")])
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in tmp_path.glob("journal.sqlite*"):
        shutil.copy(path, copy)
    with Journal(copy / "journal.sqlite") as other:
        assert len(other.answers(entry("a").key)) == 1


def test_every_commit_waits_for_the_disk(journal: Journal) -> None:
    for connection in (journal._writer, journal._reader):
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_batch_is_kept_whole_or_not_at_all(journal: Journal, entry: Any) -> None:
    journal.record([entry("a")])
    with pytest.raises(GroundsetError, match="cannot be used"):
        journal.record([entry("b"), entry("a")])
    assert journal.answers(entry("b").key) == ()
    journal.record([entry("b")])
    assert len(journal.answers(entry("b").key)) == 1


def test_a_second_process_is_told_to_wait(journal: Journal) -> None:
    code = f"from pathlib import Path; from groundset.llm.journal import Journal; Journal(Path({str(journal.path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "UsageError" in done.stderr
    assert "another process uses the journal; wait until it has ended" in done.stderr


def test_a_closed_journal_can_be_opened_again(tmp_path: Path, entry: Any) -> None:
    for attempt in (1, 2, 3):
        with Journal(tmp_path / "j") as opened:
            opened.record([entry("a", attempt)])
            assert len(opened.answers(entry("a").key)) == attempt


def text_file(path: Path) -> None:
    path.write_text("no journal at all\n" * 100, "utf-8")


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE answers (a)")
    connection.close()


def later_version(path: Path) -> None:
    Journal(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()


def overwritten(path: Path) -> None:
    with Journal(path) as made:
        # enough for pages in the middle
        made._writer.execute("BEGIN")
        made._writer.executemany("INSERT INTO requests VALUES (?, ?)", [(f"{n:064x}", b"x" * 500) for n in range(2000)])
        made._writer.execute("COMMIT")
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 20] = random.Random(7).randbytes(4096 * 17)
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    overwritten(path)
    path.write_bytes(path.read_bytes()[: 4096 * 5 + 100])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (text_file, "broken or no journal"),
        (other_database, "no journal of groundset"),
        (later_version, "is a journal of version 2, this groundset reads version 1"),
        (overwritten, "broken"),
        (cut_short, "broken"),
    ],
)
def test_a_file_that_is_no_sound_journal_is_refused_and_left_alone(tmp_path: Path, make: Any, message: str) -> None:
    path = tmp_path / "journal.sqlite"
    make(path)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(DataError, match=message):
            Journal(path)
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_or_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder does not exist"):
        Journal(tmp_path / "none" / "journal.sqlite")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be opened"):
        Journal(tmp_path / "folder")


def test_a_full_disk_is_told_and_loses_nothing(journal: Journal, entry: Any) -> None:
    journal.record([entry("a")])
    (pages,) = journal._writer.execute("PRAGMA page_count").fetchone()
    journal._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(GroundsetError, match="the disk is full; make room and run again") as caught:
        journal.record([entry("b", content="x" * 100_000)])
    assert caught.value.exit_code == 1
    assert len(journal.answers(entry("a").key)) == 1
    journal._writer.execute("PRAGMA max_page_count = 1000000")
    journal.record([entry("b", content="x" * 100_000)])
    assert len(journal.answers(entry("b").key)) == 1


_FILLING = """
import resource, signal, sys
from pathlib import Path
from groundset.errors import GroundsetError
from groundset.llm.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Journal(Path(sys.argv[1])) as journal:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    for number in range(1000):
        try:
            journal.add([(f"{number:064x}", b"{}", [(1, b"x" * 5000)])])
        except GroundsetError as error:
            print(number, error)
            break
"""


def test_a_disk_that_takes_no_more_in_the_middle_of_a_write_loses_nothing(tmp_path: Path) -> None:
    assert resource.RLIMIT_FSIZE is not None
    path = tmp_path / "journal.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", _FILLING, str(path)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.stderr == ""
    number, _, message = done.stdout.partition(" ")
    assert str(path) in message
    with Journal(path) as journal:
        assert [key for key, _, _ in journal.rows()] == [f"{n:064x}" for n in range(int(number))]


def test_nothing_is_asked_where_the_answer_might_not_fit(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.require_room()
    monkeypatch.setattr(journals, "LEAST_ROOM_BYTES", 1 << 62)
    with pytest.raises(GroundsetError, match="almost full"):
        journal.require_room()


def exported(folder: Path, entries: list[Entry]) -> bytes:
    folder.mkdir()
    with Journal(folder / "journal.sqlite") as journal:
        for one in entries:
            journal.record([one])
        assert journal_file.export(journal, folder / "journal.jsonl") == len({one.key for one in entries})
    return (folder / "journal.jsonl").read_bytes()


def test_an_export_does_not_depend_on_order_or_times(tmp_path: Path, entry: Any) -> None:
    entries = [entry(question, attempt) for question in "abcdef" for attempt in (1, 2)]
    later = [entry(question, attempt, began_s=1e9) for question in "fdbace" for attempt in (2, 1)]
    first = exported(tmp_path / "first", entries)
    assert first == exported(tmp_path / "second", later)
    lines = [json.loads(line) for line in first.splitlines()]
    assert [line["key"] for line in lines] == sorted(line["key"] for line in lines)
    assert all(canonical_json(line) + b"\n" in first for line in lines)
    assert [answer["attempt"] for answer in lines[0]["answers"]] == [1, 2]


def test_an_import_brings_the_same_journal(tmp_path: Path, entry: Any) -> None:
    entries = [entry(question, attempt, content='{"a": "é\\n"}') for question in "abcdef" for attempt in (1, 2)]
    first = exported(tmp_path / "first", entries)
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.record(entries[:4])
        for _ in range(2):
            journal_file.load(journal, tmp_path / "first" / "journal.jsonl")
        journal_file.export(journal, tmp_path / "again.jsonl")
        assert journal.answers(entries[-1].key)[1] == entries[-1].received.answer
        assert journal.spent().answers == 4
    assert (tmp_path / "again.jsonl").read_bytes() == first


def test_an_empty_journal_is_exported_and_imported(journal: Journal, tmp_path: Path) -> None:
    assert journal_file.export(journal, tmp_path / "empty.jsonl") == 0
    journal_file.load(journal, tmp_path / "empty.jsonl")
    assert list(journal.rows()) == []


def test_another_answer_to_the_same_question_is_refused_whole(tmp_path: Path, journal: Journal, entry: Any) -> None:
    exported(tmp_path / "first", [entry(question) for question in "abcdef"])
    journal.record([entry("c", content="another")])
    with pytest.raises(DataError, match="has another answer for attempt 1"):
        journal_file.load(journal, tmp_path / "first" / "journal.jsonl")
    assert [key for key, _, _ in journal.rows()] == [entry("c").key]


def changed_answer(lines: list[bytes]) -> list[bytes]:
    return [lines[0].replace(b'"attempt":1', b'"attempt":2'), *lines[1:]]


DAMAGES: dict[str, tuple[Any, str]] = {
    "a changed request": (
        lambda lines: [lines[0], lines[1].replace(b"writer-1", b"writer-2"), *lines[2:]],
        r"line 2 \$\.key: is not the sha256 of the request",
    ),
    "a lost attempt": (changed_answer, r"line 1 \$\.answers: the attempts are not 1, 2, \.\.\. in order"),
    "a line twice": (lambda lines: [lines[0], *lines], r"line 2 \$\.key: is there twice"),
    "another order": (lambda lines: [lines[1], lines[0], *lines[2:]], r"line 2 \$\.key: .*not sorted"),
    "a cut line": (lambda lines: [*lines[:-1], lines[-1][:-30]], "line 6: is no JSON"),
    "no line end": (lambda lines: [*lines[:-1], lines[-1][:-1]], "line 6: is not in canonical form"),
    "spaces": (lambda lines: [lines[0].replace(b'":', b'": '), *lines[1:]], "line 1: is not in canonical form"),
    "no UTF-8": (lambda lines: [lines[0].replace(b"served-1", b"served\xff1"), *lines[1:]], "line 1: is no JSON"),
    "a foreign line": (lambda lines: [*lines, b'{"answers": []}\n'], r"line 7 \$: \"key\" is a required property"),
    "no text": (lambda lines: [b"[" * 5000 + b"\n"], "line 1: is no JSON"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_export_is_refused_whole_with_its_place(
    tmp_path: Path, journal: Journal, entry: Any, name: str
) -> None:
    damage, message = DAMAGES[name]
    exported(tmp_path / "first", [entry(question) for question in "abcdef"])
    path = tmp_path / "first" / "journal.jsonl"
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(DataError, match=message):
        journal_file.load(journal, path)
    assert list(journal.rows()) == []


def test_all_damages_are_told_at_once(tmp_path: Path, journal: Journal, entry: Any) -> None:
    exported(tmp_path / "first", [entry(question) for question in "abcdef"])
    path = tmp_path / "first" / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b"writer-1", b"writer-2"))
    with pytest.raises(DataError) as caught:
        journal_file.load(journal, path)
    assert len(caught.value.problems) == 6


def test_an_export_that_is_not_there_is_told(tmp_path: Path, journal: Journal) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        journal_file.load(journal, tmp_path / "none.jsonl")
