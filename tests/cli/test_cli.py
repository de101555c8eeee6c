# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The verbs as a user runs them: exit codes, stdout for results, stderr for talk, JSON where asked."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groundset import __version__, schema
from groundset.cli.explain import _lines
from groundset.cli.main import run
from groundset.explaining import Step

Demo = Callable[..., Path]


@pytest.fixture
def built(demo: Demo, world: Path, tmp_path: Path) -> tuple[list[str], Path]:
    """Arguments that name a CandVG build that is done, and its work folder."""
    manifest, work = demo("candvg"), tmp_path / "work"
    arguments = [str(manifest), "--work", str(work), "--sources", str(world)]
    assert run(["build", *arguments]) == 0
    return arguments, work


def output_of(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int = 0) -> str:
    capsys.readouterr()
    assert run(arguments) == code
    return capsys.readouterr().out


def json_of(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int = 0) -> Any:
    return json.loads(output_of(capsys, [*arguments, "--json"], code))


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    told = output_of(capsys, ["--help"])
    for verb in ("build", "status", "manifest", "verify", "explain"):
        assert verb in told
    assert __version__ in output_of(capsys, ["--version"])
    assert run(["biuld"]) == 2
    assert run(["build"]) == 2


def test_help_waits_for_no_library_that_few_verbs_need() -> None:
    code = "import sys; from groundset.cli.main import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"datasets", "fiftyone", "huggingface_hub", "openai", "pandas", "scipy"} & set(done.stderr.split())


def test_build_prints_the_release_alone(built: tuple[list[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments, work = built
    release = work / "80_package" / "release"
    assert output_of(capsys, ["build", *arguments]) == f"{release}\n"
    found = json_of(capsys, ["build", *arguments])
    assert found["release"] == str(release)
    assert found["stages"][-1] == "80_package"
    assert all(have < want for have, want in found["short"].values())


def test_status_tells_states_and_accounts(built: tuple[list[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments, _ = built
    found = json_of(capsys, ["status", *arguments])
    assert [stage["up_to_date"] for stage in found["stages"]] == [True] * 8
    for stage in found["stages"]:
        for account in stage["accounts"].values():
            assert account["in"] == account["kept"] + sum(account["rejected"].values())
    assert {row["stratum"] for row in found["strata"]} == {"2", "3", "4", "5", "6", "7+"}
    assert schema.errors("status", found) == []
    figures = found["statistics"]
    last = {stage["stage"]: stage for stage in found["stages"]}["70_validate"]["accounts"]
    assert (figures["dialogues"], figures["samples"]) == (last["dialogue"]["kept"], last["sample"]["kept"])
    assert figures["strata"] == {row["stratum"]: row["have"] for row in found["strata"] if row["have"]}
    plain = output_of(capsys, ["status", *arguments])
    assert re.search(r"(?m)^ *20_filter +done +dialogue +\d", plain)
    assert "\nall stages are up to date\n" in plain


def test_status_before_and_after_a_change(
    demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--work", str(tmp_path / "work"), "--sources", str(world)]
    assert run(["status", str(demo("candvg")), *arguments]) == 0
    assert capsys.readouterr().err.startswith(f"nothing has been built in {tmp_path / 'work'}; ")
    first = json_of(capsys, ["status", str(demo("candvg")), *arguments])
    assert schema.errors("status", first) == []
    assert (first["statistics"], first["strata"]) == (None, [])
    assert not any(stage["up_to_date"] for stage in first["stages"])
    assert run(["build", str(demo("candvg")), "--to", "30_stratify", *arguments]) == 0
    capsys.readouterr()
    assert run(["status", str(demo("candvg")), *arguments]) == 0
    assert capsys.readouterr().err == ""
    changed = str(demo("candvg", max_candidates=9))
    found = json_of(capsys, ["status", changed, *arguments])
    assert schema.errors("status", found) == []
    assert {row["have"] for row in found["strata"]} == {None}
    states = {stage["stage"]: stage for stage in found["stages"]}
    assert states["10_import"]["up_to_date"]
    assert states["20_filter"]["why"] == "the manifest has changed"
    assert states["40_images"]["why"] == "it has not been done"


def words_of(plain: str) -> dict[str, str]:
    """Stage to its state, of a status that is printed."""
    return dict(re.findall(r"(?m)^ *(\d\d_[a-z]+) +(done|missing|outdated|waiting)\b", plain))


def test_status_has_a_word_a_stage_and_says_once_what_to_run(
    demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    work = ["--work", str(tmp_path / "work"), "--sources", str(world)]
    manifest = str(demo("candvg"))
    assert run(["build", manifest, "--to", "30_stratify", *work]) == 0
    manifest = str(demo("candvg", max_candidates=9))
    plain = output_of(capsys, ["status", manifest, *work])
    # what 30_stratify reads is still there as it was
    words = ["done", "outdated", "done", *["missing"] * 5]
    assert words_of(plain) == dict(zip(words_of(plain), words, strict=True))
    todo = f"groundset build {manifest} --sources {world} --work {tmp_path / 'work'}"
    assert f"\n20_filter is outdated: the manifest has changed. Run `{todo}`\n" in plain
    assert plain.count("has changed") == 1
    assert "it has not been done" not in plain
    assert run(shlex.split(todo)[1:]) == 0
    assert set(words_of(output_of(capsys, ["status", manifest, *work])).values()) == {"done"}


def test_status_of_a_build_of_another_version(
    built: tuple[list[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, work = built
    for stage in ("30_stratify", "60_review", "70_validate"):
        for path in (work / stage).glob("*.parquet"):
            table = pq.read_table(path)
            pq.write_table(table.drop_columns(table.column_names[-1:]), path)
    found = json_of(capsys, ["status", *arguments])
    assert schema.errors("status", found) == []
    assert (found["strata"], found["statistics"]) == ([], None)
    assert not {stage["stage"]: stage["up_to_date"] for stage in found["stages"]}["30_stratify"]


def test_manifest_show(built: tuple[list[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments, _ = built
    shown = [arguments[0], *arguments[3:]]
    found = json_of(capsys, ["manifest", "show", *shown])
    assert found["manifest"]["benchmark"] == "candvg"
    assert list(found["lock"]["sources"]) == ["miniworld-invig-validation"]
    assert found["lock"]["photographs"]
    plain = output_of(capsys, ["manifest", "show", *shown])
    assert found["lock"]["sources"]["miniworld-invig-validation"]["sha256"] in plain


def test_explain_tells_a_life(built: tuple[list[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments, _ = built
    states = json_of(capsys, ["status", *arguments])["stages"]
    assert states[1]["accounts"]["dialogue"]["rejected"]["too_many_candidates"] == 1
    rejected = pq.read_table(built[1] / "20_filter" / "rejected.parquet").to_pylist()
    crowded = next(row["record_id"] for row in rejected if row["rule"] == "too_many_candidates")
    steps = json_of(capsys, ["explain", *arguments[:1], crowded, *arguments[1:]])
    last = [step for step in steps if step["record_id"] == crowded][-1]
    assert (last["stage"], last["outcome"]) == ("20_filter", "rejected")
    assert (last["record"]["measured"], last["record"]["limit"]) == (17.0, 15.0)
    kept = pq.read_table(built[1] / "70_validate" / "dialogues.parquet")["dialogue_id"].to_pylist()[0]
    told = output_of(capsys, ["explain", *arguments[:1], kept, *arguments[1:]])
    for stage in ("10_import", "20_filter", "30_stratify", "40_images", "45_screen", "60_review", "70_validate"):
        assert stage in told
    assert f"{kept}-t1" in told
    assert "kept (kept)" not in told


def test_explain_counts_the_rows_of_one_record_and_shortens_numbers() -> None:
    turns = [Step("70_validate", "d1", "kept", "turns", {"dialogue_id": "d1", "turn": turn}) for turn in (1, 2)]
    kept = Step("20_filter", "d1", "kept", "kept", {"dialogue_id": "d1", "overlap": 0.4802051670820656, "width": 640.0})
    verdict = {"rule": "area_ratio", "measured": 103.3570130378912, "limit": 20.0, "detail": "area_ratio: too wide"}
    soft = Step("20_filter", "d1", "flagged", "flagged", verdict)
    assert list(_lines([kept, soft, soft, *turns])) == [
        "20_filter  d1  kept: overlap 0.480205, width 640",
        *["20_filter  d1  flagged by area_ratio (measured 103.357, limit 20): too wide"] * 2,
        "70_validate  d1  kept (turns): 2 rows; --json has them",
    ]


def test_explain_names_what_is_near(built: tuple[list[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments, _ = built
    capsys.readouterr()
    assert run(["explain", arguments[0], "invig-validation-", *arguments[1:]]) == 2
    assert "near are invig-validation-" in capsys.readouterr().err


def test_verify_says_yes_and_names_what_is_wrong(
    built: tuple[list[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = built[1] / "80_package" / "release"
    assert "everything is as it should be" in output_of(capsys, ["verify", str(release)])
    copy = Path(shutil.copytree(release, tmp_path / "copy"))
    card = copy / "README.md"
    card.write_text(card.read_text(encoding="utf-8").replace("CandVG demo", "CandVG"), encoding="utf-8")
    found = json_of(capsys, ["verify", str(copy)], code=1)
    assert any(problem["file"] == "README.md" for problem in found["problems"])
    assert run(["verify", str(tmp_path / "nowhere")]) == 2


def test_verify_says_what_it_cannot_compare_in_a_release_of_another_version(
    built: tuple[list[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(built[1] / "80_package" / "release", tmp_path / "copy"))
    record = copy / "manifest.json"
    now = f'"groundset_version":"{__version__}"'
    record.write_text(record.read_text(encoding="utf-8").replace(now, '"groundset_version":"9.9.9"'), encoding="utf-8")
    capsys.readouterr()
    assert run(["verify", str(copy)]) == 1
    told = capsys.readouterr()
    assert "groundset 9.9.9 made it" in told.err
    assert "only the counts were looked at" in told.err
    # the hash of manifest.json, in the two places that have it
    assert len(told.out.splitlines()) == 2


@pytest.mark.parametrize("verb", [["verify"], ["publish", "--repo", "org/name"], ["hydrate"], ["browse", "--no-app"]])
def test_a_folder_above_a_release_is_told_where_it_is(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = tmp_path / "work" / "80_package" / "release"
    release.mkdir(parents=True)
    (release / "manifest.json").write_text("{}")
    assert run([*verb, str(tmp_path / "work")]) == 2
    assert f"work is no release: manifest.json: No such file or directory; below it there is {release}" in (
        capsys.readouterr().err
    )
    assert run([*verb, str(tmp_path)]) == 2
    assert str(release) in capsys.readouterr().err


def test_errors_are_told_as_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.toml"
    path.write_text('benchmark = "candvg"\nname = "A b"\n', encoding="utf-8")
    found = json_of(capsys, ["build", str(path)], code=2)
    assert found["exit_code"] == 2
    assert {problem["path"] for problem in found["problems"]} >= {"$.name"}


def test_waiting_for_people_is_exit_code_4(
    demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = demo("fpco-dialog", screening='"people"', files='["decisions.jsonl"]')
    arguments = [str(manifest), "--work", str(tmp_path / "work"), "--sources", str(world)]
    assert run(["build", *arguments]) == 4
    told = capsys.readouterr().err
    assert "items wait for people" in told
    assert "45_screen.jsonl" in told
    found = json_of(capsys, ["status", *arguments])
    assert schema.errors("status", found) == []
    state = next(row for row in found["stages"] if row["stage"] == "45_screen")
    assert state["waiting"] > 0
    assert Path(state["queue"]).is_file()
    plain = output_of(capsys, ["status", *arguments])
    assert words_of(plain)["45_screen"] == "waiting"
    assert plain.count(f"{state['waiting']} items wait for people") == 1
