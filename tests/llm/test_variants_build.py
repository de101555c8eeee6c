# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Lexical variants that come over HTTP: written after the dialogues, resumed, rebuilt, planned and counted."""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest
from scripted_writer import (
    KEY_ENV,
    Asked,
    Writer,
    build,
    command,
    end,
    left_to_ask,
    lines,
    receipt,
    rows,
    said_once,
    sums,
    write_manifest,
    writer_table,
)

from groundset.cli.main import run
from groundset.files import sha256_file
from groundset.fpco.check_set import check_folder
from groundset.release.verify import verify

KILLS = 4
WANTED = {"images_per_false_class": 3}


@pytest.fixture
def manifest(server: Any, tmp_path: Path) -> Path:
    return write_manifest(tmp_path / "m", writer_table(server.url, "checker-1"), **WANTED)


def asked_for_variants(server: Any) -> list[dict[str, Any]]:
    return [one.body for one in server.asked if "These other false descriptions" in json.dumps(one.body)]


def test_variants_are_written_checked_and_released_as_a_config_of_their_own(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world) == 0
    release = work / "80_package/release"
    assert verify(release) == []
    dialogues = {row["dialogue_id"]: row for row in rows(work, "70_validate/dialogues")}
    kept, rejected = rows(work, "72_vary/kept"), rows(work, "72_vary/rejected")
    account = receipt(work, "72_vary")["accounts"]["variant"]
    of = {row["variant_id"]: row["dialogue_id"] for row in kept}
    of |= {row["record_id"]: row["record_id"][:-2] for row in rejected}
    assert account["in"] == len(kept) + len(rejected) == len(of) == 2 * len(set(of.values()))
    classes = Counter(dialogues[name]["false_class"] for name in set(of.values()))
    there = Counter(row["false_class"] for row in dialogues.values())
    assert classes == {name: min(3, count) for name, count in there.items()}
    # the server had no second variant of some: it said the same again, and again
    assert {row["rule"] for row in rejected} == {"check_variant_repeats"}
    assert all("variant asked 2 times: variant_repeats: " in row["detail"] for row in rejected)
    history = lines(work / "72_vary/set_aside.jsonl")
    assert sorted(row["dialogue_id"] for row in history) == sorted(row["record_id"] for row in rejected)
    # and the first of some was mended
    again = [body for body in asked_for_variants(server) if len(body["messages"]) == 3]
    assert len(again) > len(rejected)
    assert all("variant_repeats" in json.dumps(body["messages"][2]) for body in again)
    loaded = datasets.load_dataset(str(release), "variants", split="test", cache_dir=str(tmp_path / "cache"))
    assert loaded["variant_id"] == sorted(row["variant_id"] for row in rows(work, "76_judge/kept"))
    for row in loaded:
        mine = dialogues[row["dialogue_id"]]
        assert [one["content"] for one in row["questions"]] == [one["content"] for one in mine["questions"]]
        assert row["questions"][:3] == mine["questions"][:3]
        assert row["target_bbox_xyxy_px"] == mine["target_bbox_xyxy_px"]
        assert row["modified_target_description"] != mine["modified_target_description"]
    found = check_folder(release)
    assert (found.records, found.records_with(hard=True)) == (len(dialogues) + len(loaded), 0)


def test_others_cross_check_a_variant_for_what_is_false_alone(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world, "--to", "70_validate") == 0
    before = sum(one.body["model"] == "checker-1" for one in server.asked)
    assert build(manifest, work, small_world) == 0
    asked = sum(one.body["model"] == "checker-1" for one in server.asked) - before
    assert asked == len(rows(work, "72_vary/kept")) > 0
    flagged = [row for row in rows(work, "72_vary/flagged") if row["rule"].startswith("crosscheck_")]
    assert {row["rule"] for row in flagged} <= {"crosscheck_false_present", "crosscheck_false_unsure"}
    assert {row["kind"] for row in flagged} == {"variant"}


def test_the_release_tells_of_variants_and_their_answers(
    writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world) == 0
    release = work / "80_package/release"
    record = json.loads((release / "manifest.json").read_bytes())
    assert record["facts"]["further_configs"] == ["variants"]
    assert record["manifest"]["variants"] == {"images_per_false_class": 3, "sets": ["A", "B"]}
    used = {name: sha256_file(work / name) for name in ("50_generate/journal.jsonl", "72_vary/journal.jsonl")}
    assert record["digests"]["journals"] == used
    assert "76_judge/decisions.jsonl" in record["digests"]["decisions"]
    assert "questions-1, variants-1)" in record["facts"]["writer"]
    assert record["facts"]["writer"].count("writer-1 at") == 1
    funnel = {(step["stage"], step["unit"]) for step in record["facts"]["funnel"]}
    assert {("72_vary", "variants"), ("76_judge", "variants")} <= funnel
    assert ["variant: accept", len(rows(work, "76_judge/kept"))] in record["facts"]["statistics"]
    capsys.readouterr()
    one = rows(work, "72_vary/kept")[0]["variant_id"]
    assert run(["explain", str(manifest), one, "--work", str(work), "--sources", str(small_world)]) == 0
    told = capsys.readouterr().out
    assert "70_validate" in told
    assert "72_vary" in told
    assert run(["status", str(manifest), "--work", str(work), "--sources", str(small_world)]) == 0
    assert "72_vary" in capsys.readouterr().out


def test_without_variants_a_release_has_no_such_config(
    server: Any, writer: Writer, small_world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    assert build(write_manifest(tmp_path / "m", writer_table(server.url)), work, small_world) == 0
    release = work / "80_package/release"
    assert verify(release) == []
    assert not (release / "data/variants").exists()
    assert not (tmp_path / "m/variants.jsonl").exists()
    assert asked_for_variants(server) == []
    assert "ariant" not in (release / "README.md").read_text("utf-8")


def test_a_fresh_clone_rebuilds_offline_from_both_journals(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build(manifest, tmp_path / "work", small_world) == 0
    lock = json.loads(manifest.with_suffix(".lock.json").read_bytes())
    assert set(lock["journals"]) == {"answers.jsonl", "variants.jsonl"}
    clone = Path(shutil.copytree(manifest.parent, tmp_path / "clone")) / manifest.name
    monkeypatch.delenv(KEY_ENV)
    asked = len(server.asked)
    assert build(clone, tmp_path / "again", small_world, "--offline", "--locked") == 0
    assert sums(tmp_path / "again") == sums(tmp_path / "work")
    # what is up to date stays so: the journal of variants is none of the dialogues'
    assert build(clone, tmp_path / "again", small_world, "--offline", "--locked") == 0
    assert len(server.asked) == asked


def test_offline_a_missing_variant_is_named_and_a_pinned_journal_is_not_added_to(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    assert build(manifest, work, small_world, "--to", "70_validate") == 0
    capfd.readouterr()
    assert build(manifest, work, small_world, "--offline") == 1
    assert "-A: variant" in said_once(capfd)
    assert build(manifest, work, small_world) == 0
    (manifest.parent / "variants.jsonl").unlink()
    asked = len(server.asked)
    capfd.readouterr()
    assert build(manifest, tmp_path / "empty", small_world) == 2
    assert "variants.jsonl: is pinned by the lock, and has not all answers" in said_once(capfd)
    assert len(server.asked) == asked


def test_killed_while_variants_are_written_a_build_ends_in_the_same_bytes_and_pays_no_answer_twice(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    work, dice = tmp_path / "work", random.Random(5)
    assert build(manifest, work, small_world, "--to", "70_validate") == 0
    writer.delay_s, writer.busy = 0.05, 0.05
    left: dict[Asked, int] = {}
    ended = []
    for turn in range(KILLS + 1):
        writer.answered.clear()
        after = len(server.asked) + dice.randrange(2, 8) if turn < KILLS else None
        code, _ = end(command(manifest, work, small_world), server, after)
        ended.append(code)
        assert not [asked for asked, count in writer.answered.items() if count > left.get(asked, 2)]
        left = left_to_ask(work, "variants_journal.sqlite")
    assert ended == [-signal.SIGKILL] * KILLS + [0]
    whole = Path(shutil.copytree(manifest.parent, tmp_path / "whole")) / manifest.name
    for name in ("answers.jsonl", "variants.jsonl", "fpco.lock.json"):
        (whole.parent / name).unlink()
    assert build(whole, tmp_path / "uninterrupted", small_world) == 0
    assert sums(tmp_path / "uninterrupted") == sums(work)
    assert (whole.parent / "variants.jsonl").read_bytes() == (manifest.parent / "variants.jsonl").read_bytes()


def test_a_plan_bounds_variants_before_and_after_the_dialogues_are_there(
    server: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"

    def plan() -> list[dict[str, Any]]:
        capsys.readouterr()
        assert build(manifest, work, small_world, "--plan", "--json") == 0
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["models"]
        return found

    first = plan()
    assert [(row["what"], row["model"]) for row in first] == [
        *(("dialogues", "writer-1"), ("dialogues", "checker-1")),
        *(("variants", "writer-1"), ("variants", "checker-1")),
    ]
    # of each class three, two sets: each is asked for once at least, twice with two attempts each at most
    assert first[2]["requests"] == {"least": 18, "most": 18 * 4}
    assert first[3]["requests"] == {"least": 18, "most": 18 * 2}
    assert first[2]["items"] == 18
    assert build(manifest, work, small_world, "--to", "70_validate") == 0
    second = plan()
    assert {row["what"] for row in second} == {"variants"}
    asked = len(server.asked)
    assert build(manifest, work, small_world) == 0
    assert second[0]["items"] == receipt(work, "72_vary")["accounts"]["variant"]["in"]
    assert len(asked_for_variants(server)) <= second[0]["requests"]["most"]
    assert second[0]["requests"]["least"] <= len(server.asked) - asked
    assert plan() == []


def test_a_plan_counts_variants_while_people_still_review(
    server: Any, writer: Writer, small_world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = {"review": '"people"', "files": '["said.jsonl"]'}
    manifest = write_manifest(tmp_path / "m", writer_table(server.url), **WANTED, **people)
    work = tmp_path / "work"
    assert build(manifest, work, small_world) == 4
    capsys.readouterr()
    assert build(manifest, work, small_world, "--plan", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["models"]
    assert (row["what"], row["requests"]) == ("variants", {"least": row["items"], "most": 4 * row["items"]})
    assert 0 < row["items"] <= 18


def test_by_batches_the_same_variants_are_written(
    server: Any, server_of: Any, writer: Writer, manifest: Path, small_world: Path, tmp_path: Path
) -> None:
    def reply(key: str, body: dict[str, Any]) -> tuple[int, Any]:
        return 200, json.loads(writer.reply(body).to_bytes())

    there = server_of(reply)
    text = writer_table(there.url, "checker-1").replace('mode = "direct"', 'mode = "batch"')
    by_batch, work = write_manifest(tmp_path / "batch", text, **WANTED), tmp_path / "by-batch"
    codes = []
    while not codes or codes[-1] == 4:
        codes.append(build(by_batch, work, small_world, "--to", "72_vary"))
        there.finish()
    assert codes[-1] == 0
    assert there.files == {}
    assert build(manifest, tmp_path / "direct", small_world, "--to", "72_vary") == 0
    for table in ("kept", "rejected", "flagged"):
        assert rows(work, f"72_vary/{table}") == rows(tmp_path / "direct", f"72_vary/{table}")
