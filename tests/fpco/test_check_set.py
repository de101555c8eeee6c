# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A folder of dialogues against the checks: both layouts, releases, and files that cannot be read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset.cli.main import run
from groundset.errors import DataError, UsageError
from groundset.fpco.check_set import check_folder

SET = Path(__file__).parents[1] / "published_set" / "metadata_and_questions"
HARD = {("3361", "edit_not_contiguous"), ("3431", "modified_description_missing")}


def changed(folder: Path, name: str, **metadata: Any) -> None:
    path = folder / f"{name}.json"
    document = json.loads(path.read_bytes())
    document["metadata"] |= metadata
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(
    "below",
    ["metadata_and_questions", "image_metadata", "dataset/metadata_and_questions", "dataset/image_metadata", "."],
)
def test_each_layout_gives_the_same_verdicts(tmp_path: Path, below: str) -> None:
    shutil.copytree(SET, tmp_path / "set" / below, dirs_exist_ok=True)
    found = check_folder(tmp_path / "set")
    assert found == check_folder(SET.parent)
    assert (found.records, found.problems, found.not_read) == (12, (), ())
    assert {(verdict.record_id, verdict.rule) for verdict in found.verdicts if verdict.hard} == HARD
    assert [row.rule for row in found.by_rule()][:2] == sorted(rule for _, rule in HARD)
    assert found.records_with(hard=True) == 2


def test_what_is_wrong_with_a_record_itself_is_a_hard_verdict(tmp_path: Path) -> None:
    shutil.copytree(SET, tmp_path / "records")
    changed(tmp_path / "records", "1101", complexity=2, source="Flickr")
    changed(tmp_path / "records", "1131", id="1132", category=7)
    found = {(v.record_id, v.rule) for v in check_folder(tmp_path / "records").verdicts if v.hard}
    assert found - HARD == {
        ("1101", "complexity_contradicts_id"),
        ("1101", "source_unknown"),
        ("1131", "id_not_file_name"),
        ("1131", "category_contradicts_id"),
    }


def test_unreadable_records_are_problems_and_the_others_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "metadata_and_questions"
    shutil.copytree(SET, folder)
    (folder / "1101.json").write_bytes(b"{")
    (folder / "1131.json").write_bytes(b"\xff\xfe")
    (folder / "1161.json").write_bytes(b'{"metadata": {}}')
    (folder / "1162.json").mkdir()
    (folder / "notes.txt").write_text("mine")
    found = check_folder(tmp_path)
    assert found.records == 9
    assert {Path(problem.file).stem for problem in found.problems} == {"1101", "1131", "1161", "1162"}
    assert found.not_read == ("notes.txt",)
    assert run(["verify", "--checks", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "1162.json" in told.out
    assert "notes.txt" in told.err


def test_a_folder_without_dialogues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="holds no dialogues"):
        check_folder(tmp_path)
    assert run(["verify", "--checks", str(tmp_path)]) == 1
    assert run(["verify", "--checks", str(tmp_path / "none")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_release_of_candvg_has_nothing_to_check(tmp_path: Path) -> None:
    for config in ("samples", "dialogues"):
        (tmp_path / "data" / config).mkdir(parents=True)
    with pytest.raises(UsageError, match="release of CandVG"):
        check_folder(tmp_path)


def test_the_command_tells_verdicts_summary_and_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--checks", str(SET.parent)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert any(line.startswith("3431: hard modified_description_missing: turn 7: ") for line in told)
    assert "hard edit_not_contiguous: verdicts 1, records 1" in told
    assert told[-1].startswith("12 records checked: 2 with hard verdicts")
    assert run(["verify", "--checks", str(SET.parent), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["records"], found["records_with_hard"]) == (12, 2)
    assert {(row["record_id"], row["rule"]) for row in found["verdicts"] if row["hard"]} == HARD
    shutil.copytree(SET, tmp_path, dirs_exist_ok=True)
    for record, _ in HARD:
        (tmp_path / f"{record}.json").unlink()
    assert run(["verify", "--checks", str(tmp_path)]) == 0


def test_a_release(demo: Callable[..., Path], world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = tmp_path / "work"
    arguments = [str(demo("fpco-dialog")), "--work", str(work), "--sources", str(world)]
    assert run(["build", *arguments]) == 0
    release = work / "80_package" / "release"
    capsys.readouterr()
    assert run(["verify", "--checks", str(release)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "records checked: 0 with hard verdicts" in told[-1]
    # of templates only a variant may ask a person, about a place that takes several words
    found = check_folder(release)
    assert {(verdict.kind, verdict.rule) for verdict in found.verdicts} == {("variant", "edit_long")}
    assert found.records > len(list(pq.read_table(release / "data" / "dialogues")["dialogue_id"]))
    (shard,) = (release / "data" / "dialogues").iterdir()
    table = pq.read_table(shard)
    place = table.schema.get_field_index("category")
    pq.write_table(table.set_column(place, "category", pa.array(["plant"] * table.num_rows)), shard)
    assert run(["verify", "--checks", str(release)]) == 1
    assert "plant" in capsys.readouterr().out
    shard.write_bytes(b"no table")
    assert "cannot be read as Parquet" in check_folder(release).problems[0].message
    shard.unlink()
    assert "holds no shard" in check_folder(release).problems[0].message
