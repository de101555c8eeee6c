# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole builds whose questions come over HTTP: from a scripted server that knows the template writer's texts."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import shutil
import signal
import socket
import sqlite3
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from scripted_writer import (
    KEY_ENV,
    PLANTED,
    Asked,
    Known,
    Writer,
    asked_of,
    build,
    command,
    end,
    left_to_ask,
    lines,
    receipt,
    rows,
    said_once,
    small_writer_table,
    sums,
    write_manifest,
    writer_table,
)

from groundset.files import sha256_file
from groundset.llm import journal as journals
from groundset.llm.journal import Journal
from groundset.release.verify import verify

KILLS = 4


@pytest.fixture
def manifest(server: Any, tmp_path: Path) -> Path:
    return write_manifest(tmp_path / "m", writer_table(server.url, "checker-1"))


def test_a_build_with_faults_ends_in_a_release_and_accounts_for_all(
    writer: Writer, known: dict[str, Known], manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    writer.busy = 0.1
    assert build(manifest, work, small_world) == 0
    assert verify(work / "80_package/release") == []
    by_item = {one.item_id: (one, writer.faults.get(sha256, "none")) for sha256, one in known.items()}
    kept = {row["item_id"]: row for row in rows(work, "50_generate/kept")}
    rejected = {row["record_id"]: row for row in rows(work, "50_generate/rejected")}
    assert kept
    assert set(kept) | set(rejected) == {row["item_id"] for row in rows(work, "45_screen/kept")}
    wanted = {
        "never_right": "check_modified_description_missing",
        "refused": "writer_refused",
        "filtered": "writer_filtered",
        "broken": "writer_schema_breaking",
    }
    for item_id in (*kept, *rejected):
        one, fault = by_item[item_id]
        rule = "writer_refused" if one.dialogue is None else wanted.get(fault, "")
        assert (rejected[item_id]["rule"] if item_id in rejected else "") == rule, fault
        if not rule and one.dialogue is not None:
            assert kept[item_id]["target_description"] == one.dialogue.target_description
    # both kinds of answers that are mended, and the truncated one, were among them
    assert {fault for _, fault in map(by_item.get, kept)} >= {"none", "mended", "false_mended", "truncated"}
    assert {row["rule"] for row in rejected.values()} == set(wanted.values())


def test_what_is_set_aside_keeps_its_history_and_gives_way_to_others(
    writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world) == 0
    rejected = rows(work, "50_generate/rejected")
    history = lines(work / "50_generate/set_aside.jsonl")
    assert [row["item_id"] for row in history] == sorted(row["record_id"] for row in rejected)
    (never, *_) = [row for row in history if row["rule"] == "check_modified_description_missing"]
    asked = [(step["asked"], step["outcome"], bool(step["faults"])) for step in never["steps"]]
    assert asked == [("questions", "answered", False), *[("false_premise", "answered", True)] * 2]
    keys = {line["key"] for line in lines(work / "50_generate/journal.jsonl")}
    assert {step["key"] for row in history for step in row["steps"]} <= keys
    strata = Counter(row["stratum"] for row in rows(work, "45_screen/kept"))
    assert max(strata.values()) > 1, "nothing was refilled"


def test_other_models_flag_and_decide_nothing(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world) == 0
    flagged = [row for row in rows(work, "50_generate/flagged") if row["rule"].startswith("crosscheck_")]
    assert {row["rule"] for row in flagged} == {
        *("crosscheck_true_absent", "crosscheck_true_unsure"),
        *("crosscheck_false_present", "crosscheck_false_unsure"),
    }
    assert {row["kind"] for row in flagged} == {"dialogue"}
    assert all(row["detail"].startswith('checker-1 on "the ') for row in flagged)
    # each draft was asked about twice, and without what to expect
    asked = [one.body for one in server.asked if one.body["model"] == "checker-1"]
    assert len(asked) == 2 * len(rows(work, "50_generate/kept"))
    assert not any("false premise" in json.dumps(body) for body in asked)


def test_the_release_tells_model_prompts_and_answers_and_no_time(
    writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world) == 0
    release = work / "80_package/release"
    record = json.loads((release / "manifest.json").read_bytes())
    told = record["facts"]["writer"]
    assert re.match(r"the language model writer-1 at http://127\.0\.0\.1:\d+/v1, which answered as served-1", told)
    assert "questions-1" in told
    assert "checker-1" in told
    assert told in (release / "README.md").read_text("utf-8")
    assert json.loads((release / "croissant.json").read_bytes())["rai:machineAnnotationTools"] == [told]
    used = sha256_file(work / "50_generate/journal.jsonl")
    assert record["digests"]["journals"]["50_generate/journal.jsonl"] == used
    assert {row["writer"] for row in rows(work, "70_validate/dialogues")} == {"llm"}
    paid = receipt(work)["facts"]["paid"]
    assert paid["writer-1"]["answers"] + paid["checker-1"]["answers"] == writer.answered.total()
    assert paid["writer-1"]["prompt_tokens"] == 11 * paid["writer-1"]["answers"]
    assert "began" not in (manifest.parent / "answers.jsonl").read_text("utf-8")


def test_a_fresh_clone_rebuilds_offline_without_server_and_key(
    server: Any,
    writer: Writer,
    manifest: Path,
    small_world: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert build(manifest, tmp_path / "work", small_world) == 0
    clone = Path(shutil.copytree(manifest.parent, tmp_path / "clone")) / manifest.name
    monkeypatch.delenv(KEY_ENV)
    asked = len(server.asked)
    assert build(clone, tmp_path / "again", small_world, "--offline", "--locked") == 0
    assert sums(tmp_path / "again") == sums(tmp_path / "work")
    # nor does a build that might ask
    assert build(clone, tmp_path / "third", small_world, "--locked") == 0
    assert sums(tmp_path / "third") == sums(tmp_path / "work")
    assert len(server.asked) == asked
    assert (clone.parent / "answers.jsonl").read_bytes() == (manifest.parent / "answers.jsonl").read_bytes()


def test_the_key_is_in_nothing_that_a_build_leaves_or_says(
    writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world) == 0
    said = capfd.readouterr()
    files = [path for folder in (work, manifest.parent) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 50
    assert [path for path in files if PLANTED.encode() in path.read_bytes()] == []
    assert PLANTED not in said.out + said.err
    assert "base64" not in said.out + said.err


def test_killed_at_any_moment_a_build_ends_in_the_same_bytes_and_pays_no_answer_twice(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work, dice = tmp_path / "work", random.Random(11)
    writer.delay_s, writer.busy = 0.02, 0.05
    left: dict[Asked, int] = {}
    seen: set[Asked] = set()
    ended = []
    for turn in range(KILLS + 1):
        writer.answered.clear()
        after = len(server.asked) + dice.randrange(3, 40) if turn < KILLS else None
        code, said = end(command(manifest, work, small_world), server, after)
        assert PLANTED.encode() not in said
        ended.append(code)
        twice = [asked for asked, count in writer.answered.items() if count > left.get(asked, 2)]
        assert not twice, "an answer that was on the disk was asked for again"
        seen |= set(writer.answered)
        left = left_to_ask(work)
        assert left
        assert set(left) <= seen
    assert ended == [-signal.SIGKILL] * KILLS + [0]
    whole = Path(shutil.copytree(manifest.parent, tmp_path / "whole")) / manifest.name
    (whole.parent / "answers.jsonl").unlink()
    whole.with_suffix(".lock.json").unlink()
    assert build(whole, tmp_path / "uninterrupted", small_world) == 0
    assert sums(tmp_path / "uninterrupted") == sums(work)
    assert (whole.parent / "answers.jsonl").read_bytes() == (manifest.parent / "answers.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (401, "invalid_api_key", "key"),
        (404, "model_not_found", "model"),
        (429, "insufficient_quota", "quota"),
    ],
)
def test_what_stops_a_build_is_told_in_a_line_and_the_build_goes_on_from_there(
    server: Any,
    writer: Writer,
    manifest: Path,
    small_world: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    status: int,
    code: str,
    told: str,
) -> None:
    work = tmp_path / "work"

    def script(question: str, number: int, body: dict[str, Any]) -> Any:
        if len(server.asked) > 20:
            return server.error(status, code, f"no more of {PLANTED}")
        return writer(question, number, body)

    server.script = script
    assert build(manifest, work, small_world) == 3
    assert told in said_once(capfd)
    paid = sum(writer.answered.values())
    server.script = writer
    assert build(manifest, work, small_world) == 0
    held = receipt(work)["facts"]["paid"]
    assert sum(one["answers"] for one in held.values()) == sum(writer.answered.values()) > paid > 0


def test_a_server_that_is_not_there_is_told_in_a_line(
    writer: Writer, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        # bound and not listening: nobody else can take it, and nobody answers
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        manifest = write_manifest(tmp_path / "m", writer_table(url))
        assert build(manifest, tmp_path / "work", small_world) == 3
    assert "cannot be reached" in said_once(capfd)
    assert not (tmp_path / "m/answers.jsonl").exists()


def test_a_key_that_is_not_set_is_told_before_anything_is_asked(
    server: Any,
    manifest: Path,
    small_world: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(KEY_ENV, raising=False)
    assert build(manifest, tmp_path / "work", small_world) == 2
    assert f"the environment variable {KEY_ENV} is not set" in said_once(capfd)
    assert server.asked == []


def test_a_disk_that_is_almost_full_is_told_in_a_line_and_the_build_goes_on_from_there(
    server: Any,
    writer: Writer,
    manifest: Path,
    small_world: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def script(question: str, number: int, body: dict[str, Any]) -> Any:
        if len(server.asked) > 20:
            monkeypatch.setattr(journals, "LEAST_ROOM_BYTES", 1 << 62)
        return writer(question, number, body)

    server.script = script
    assert build(manifest, tmp_path / "work", small_world) == 1
    assert "the disk is almost full; make room and run again" in said_once(capfd)
    monkeypatch.undo()
    monkeypatch.setenv(KEY_ENV, PLANTED)
    server.script = writer
    assert build(manifest, tmp_path / "work", small_world) == 0
    paid = receipt(tmp_path / "work")["facts"]["paid"]
    assert sum(one["answers"] for one in paid.values()) == sum(writer.answered.values())


def test_a_journal_that_could_not_be_exported_is_told_before_anything_is_asked(
    server: Any, writer: Writer, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = writer_table(server.url).replace('"answers.jsonl"', '"nowhere/answers.jsonl"')
    assert build(write_manifest(tmp_path / "m", text), tmp_path / "work", small_world) == 2
    assert "nowhere is no folder that the journal can be written to" in said_once(capfd)
    assert server.asked == []


def test_offline_the_first_missing_key_is_named(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world, "--offline") == 1
    line = said_once(capfd)
    assert server.asked == []
    assert build(manifest, work, small_world) == 0
    first = min(row["item_id"] for row in rows(work, "45_screen/kept"))
    (key,) = re.findall(r"[0-9a-f]{64}", line)
    assert f"({first}: questions," in line
    assert key in {row["key"] for row in lines(work / "50_generate/journal.jsonl")}


def test_a_plan_bounds_what_is_paid_and_asks_nobody(
    server: Any,
    writer: Writer,
    manifest: Path,
    small_world: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = tmp_path / "work"
    monkeypatch.delenv(KEY_ENV)
    assert build(manifest, work, small_world, "--plan", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert server.asked == []
    items = len(rows(work, "45_screen/kept"))
    # two questions with a second attempt each, the second time both with their faults; each draft twice by the other
    writing, checking = plan["models"]
    assert writing["requests"] == writing["images"] == {"least": 2 * items, "most": 8 * items}
    assert checking["requests"] == {"least": 2 * items, "most": 4 * items}
    assert plan["requests"] == {"least": 4 * items, "most": 12 * items}
    assert 0 < writing["tokens"]["least"] < writing["tokens"]["most"]
    monkeypatch.setenv(KEY_ENV, PLANTED)
    assert build(manifest, work, small_world) == 0
    capsys.readouterr()
    asked = len(server.asked)
    assert build(manifest, work, small_world, "--plan") == 0
    assert capsys.readouterr().out == "0 requests are still to be paid\n"
    assert build(manifest, tmp_path / "other", small_world, "--plan", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"requests": {"least": 0, "most": 0}, "models": []}
    assert len(server.asked) == asked


def test_a_plan_in_the_middle_counts_what_is_left(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    server.script = lambda *asked: server.error(401) if len(server.asked) > 30 else writer(*asked)
    assert build(manifest, work, small_world) == 3
    server.script = writer
    capsys.readouterr()
    assert build(manifest, work, small_world, "--plan", "--json") == 0
    plan = json.loads(capsys.readouterr().out)["requests"]
    writer.answered.clear()
    assert build(manifest, work, small_world, "--to", "50_generate") == 0
    assert plan["least"] <= sum(writer.answered.values()) + 2 * 2 * len(rows(work, "50_generate/rejected"))
    assert sum(writer.answered.values()) <= plan["most"]


def test_above_the_manifest_s_limit_nothing_is_asked_without_a_yes(
    server: Any, writer: Writer, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    manifest, work = write_manifest(tmp_path / "m", writer_table(server.url, limit=10)), tmp_path / "work"
    assert build(manifest, work, small_world) == 2
    line = said_once(capfd)
    assert re.search(r"\d+ to \d+ requests are still to be paid, above writer.max_paid_requests = 10 .*--yes", line)
    assert server.asked == []
    assert build(manifest, work, small_world, "--yes") == 0
    # what is paid for is no matter of limits any more
    assert build(manifest, tmp_path / "again", small_world) == 0


def test_a_pinned_journal_is_neither_changed_nor_added_to_unless_that_is_meant(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    work, exported = tmp_path / "work", manifest.parent / "answers.jsonl"
    assert build(manifest, work, small_world) == 0
    lock = json.loads(manifest.with_suffix(".lock.json").read_bytes())
    assert lock["journals"] == {"answers.jsonl": {"sha256": sha256_file(exported)}}
    whole, asked = exported.read_bytes(), len(server.asked)
    exported.write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
    capfd.readouterr()
    assert build(manifest, work, small_world) == 1
    assert "pinned files have changed" in said_once(capfd)
    exported.unlink()
    assert build(manifest, tmp_path / "empty", small_world) == 2
    assert "is pinned by the lock, and has not all answers" in said_once(capfd)
    assert len(server.asked) == asked
    # the work folder still has all of them
    assert build(manifest, work, small_world) == 0
    assert exported.read_bytes() == whole
    assert len(server.asked) == asked


def test_a_spoilt_journal_is_refused_with_its_lines(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (manifest.parent / "answers.jsonl").write_bytes(b'{"key": 1}\nnonsense\n')
    assert build(manifest, tmp_path / "work", small_world) == 1
    said = capfd.readouterr().err
    assert "answers.jsonl line 1" in said
    assert "answers.jsonl line 2: is no JSON" in said
    assert server.asked == []


def test_what_a_server_did_not_take_is_asked_again_until_a_stage_has_left_it_at_that(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    # a server without vision, say
    server.script = lambda *asked: server.error(400, message="no pictures here")
    assert build(manifest, work, small_world, "--to", "50_generate") == 3
    server.script = writer
    assert build(manifest, work, small_world, "--to", "50_generate") == 0
    assert "writer_bad_request" not in receipt(work)["accounts"]["item"]["rejected"]
    one = rows(work, "45_screen/kept")[0]["item_id"]
    (bad,) = [sha256 for sha256, known in writer.known.items() if known.item_id == one]

    def refuses_one(question: str, number: int, body: dict[str, Any]) -> Any:
        is_bad = asked_of(body)[1][0] == bad
        return server.error(400, message="not this one") if is_bad else writer(question, number, body)

    server.script = refuses_one
    other = write_manifest(tmp_path / "other", writer_table(server.url))
    assert build(other, tmp_path / "again", small_world, "--to", "50_generate") == 0
    assert receipt(tmp_path / "again")["accounts"]["item"]["rejected"]["writer_bad_request"] == 1
    asked = len(server.asked)
    assert build(other, tmp_path / "third", small_world, "--to", "50_generate") == 0
    assert len(server.asked) == asked
    tables = [(tmp_path / name / "50_generate/kept.parquet").read_bytes() for name in ("again", "third")]
    assert tables[0] == tables[1]


def test_by_batches_the_same_is_written_and_each_build_goes_a_step_on(
    server: Any, server_of: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    def reply(key: str, body: dict[str, Any]) -> tuple[int, Any]:
        found = writer.reply(body)
        return 200, json.loads(found.to_bytes())

    there = server_of(reply)
    text = writer_table(there.url, "checker-1").replace('mode = "direct"', 'mode = "batch"')
    by_batch, work = write_manifest(tmp_path / "batch", text), tmp_path / "by-batch"
    codes = []
    while not codes or codes[-1] == 4:
        codes.append(build(by_batch, work, small_world, "--to", "50_generate"))
        made = len(there.batches)
        # before anything is answered another build only waits
        assert codes[-1] == 0 or build(by_batch, work, small_world, "--to", "50_generate") == 4
        assert len(there.batches) == made
        there.finish()
    assert codes[-1] == 0
    assert len(codes) > 5
    assert there.files == {}
    assert build(manifest, tmp_path / "direct", small_world, "--to", "50_generate") == 0
    assert rows(work, "50_generate/kept") == rows(tmp_path / "direct", "50_generate/kept")
    assert rows(work, "50_generate/rejected") == rows(tmp_path / "direct", "50_generate/rejected")
    assert rows(work, "50_generate/flagged") == rows(tmp_path / "direct", "50_generate/flagged")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_live_line_is_shown_on_a_terminal_alone(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, is_terminal: bool
) -> None:
    writer.delay_s = 0.05
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    environment = {"TERM": "xterm", "COLUMNS": "200", "OPENAI_LOG": "" if is_terminal else "debug"}
    process = command(manifest, tmp_path / "work", small_world, stderr=theirs, environment=environment)
    os.close(theirs)
    said = bytearray()
    # a terminal whose last user has left gives an error, a pipe nothing
    with suppress(OSError):
        while piece := os.read(ours, 65_536):
            said += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0
    pattern = rb"writer-1: \d+ of \d+ done, \d+ waiting, \d+ retried, \d+ set aside, \d+ tokens, \d+ answers a minute"
    assert bool(re.search(pattern, said)) is is_terminal
    assert b"50_generate: " in said
    # the package's own log, if somebody turns it on, tells no more
    assert PLANTED.encode() not in said
    assert b"/9j/" not in said


def answers_on_disk(work: Path) -> int:
    """How many there are, read beside the process that writes them."""
    try:
        with closing(sqlite3.connect(f"file:{work / 'journal.sqlite'}?mode=ro", uri=True)) as reader:
            (count,) = reader.execute("SELECT count(*) FROM answers").fetchone()
    except sqlite3.OperationalError:
        return 0
    return int(count)


def keep_images(world: Path, count: int) -> None:
    """Leaves the world's file so many images of those that show animals."""
    path = world / "coco/instances_miniworld.json"
    content = json.loads(path.read_bytes())
    animals = {row["id"] for row in content["categories"] if row["supercategory"] == "animal"}
    shown = sorted({row["image_id"] for row in content["annotations"] if row["category_id"] in animals})[:count]
    content["images"] = [row for row in content["images"] if row["id"] in shown]
    content["annotations"] = [row for row in content["annotations"] if row["image_id"] in shown]
    path.write_text(json.dumps(content), "utf-8")


def test_a_real_small_model_writes_badly_and_that_is_counted(llama: str, world: Path, tmp_path: Path) -> None:
    keep_images(world, 3)
    manifest, work = write_manifest(tmp_path / "m", small_writer_table(llama)), tmp_path / "work"
    process = command(manifest, work, world, "--to", "50_generate")
    while not answers_on_disk(work) and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)
    with Journal(work / "journal.sqlite") as journal:
        before = {(key, answer) for key, _, answers in journal.rows() for answer in answers}
    assert before
    assert build(manifest, work, world, "--to", "50_generate") == 0
    account = receipt(work)["accounts"]["item"]
    assert account["in"] == len(rows(work, "45_screen/kept")) > 1
    assert sum(account["rejected"].values()) == account["in"] - account["kept"] > 0
    assert len(lines(work / "50_generate/set_aside.jsonl")) == sum(account["rejected"].values())
    with Journal(work / "journal.sqlite") as journal:
        after = {(key, answer) for key, _, answers in journal.rows() for answer in answers}
    assert before <= after
    # whatever it writes to its end is JSON: the server keeps the schema that it is sent
    said = [json.loads(answer) for _, answer in after]
    assert all(isinstance(json.loads(one["content"]), dict) for one in said if one["finish"] == "stop")
    assert {one["finish"] for one in said} <= {"stop", "length"}
    exported = Path(shutil.copytree(manifest.parent, tmp_path / "clone")) / manifest.name
    assert build(exported, tmp_path / "again", world, "--to", "50_generate", "--offline") == 0
    for name in ("kept.parquet", "rejected.parquet", "set_aside.jsonl", "journal.jsonl"):
        assert (work / "50_generate" / name).read_bytes() == (tmp_path / "again/50_generate" / name).read_bytes()
