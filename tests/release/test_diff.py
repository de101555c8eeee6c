# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.cli.main import run
from groundset.errors import DataError, UsageError
from groundset.release.diff import IDENTITY, ReleaseDiff, changelog_draft, changes, diff, reused_ids
from groundset.release.facts import CONFIGS

Rows = list[dict[str, Any]]


def rewrite(folder: Path, config: str, change: Callable[[Rows], object]) -> None:
    (path,) = (folder / "data" / config).glob("*.parquet")
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


@pytest.fixture
def copies(releases: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    """A copy of each release that a test may change."""
    return {name: Path(shutil.copytree(path, tmp_path / name)) for name, path in releases.items()}


def config_of(found: ReleaseDiff, name: str) -> Any:
    return next(row for row in found.configs if row.config == name)


@pytest.mark.parametrize("benchmark", ["fpco-dialog", "candvg"])
def test_a_release_is_the_same_as_itself(releases: dict[str, Path], benchmark: str) -> None:
    found = diff(releases[benchmark], releases[benchmark])
    assert found.is_empty
    assert [row.config for row in found.configs] == [config.name for config in CONFIGS[benchmark]]
    assert all(row.rows_old == row.rows_new > 0 for row in found.configs)
    assert changelog_draft(found) == "## 1.2.3\n\n### Data\n\n- Nothing has changed.\n"
    assert reused_ids(found) == []


def test_rows_that_came_and_went(releases: dict[str, Path], copies: dict[str, Path]) -> None:
    before, now = releases["fpco-dialog"], copies["fpco-dialog"]
    rewrite(now, "dialogues", lambda rows: rows.pop(0))
    gone = config_of(diff(before, now), "dialogues")
    assert (gone.removed, gone.added, gone.changed) == (("coco-101-animal-identity",), (), ())
    assert (gone.rows_old, gone.rows_new) == (8, 7)
    came = config_of(diff(now, before), "dialogues")
    assert (came.removed, came.added) == ((), ("coco-101-animal-identity",))
    assert "- dialogues: 1 removed; 7 rows, before 8." in changelog_draft(diff(before, now))
    assert [(row.name, row.old, row.new) for row in diff(before, now).strata] == [("single-animal-identity", 3, 2)]


def test_fields_that_differ_are_named_one_by_one(releases: dict[str, Path], copies: dict[str, Path]) -> None:
    def change(rows: Rows) -> None:
        rows[2]["questions"][3]["modified"] = "Another question about the black dog?"
        rows[2]["target_bbox_xyxy_px"][1] = 3.0

    rewrite(copies["fpco-dialog"], "dialogues", change)
    found = diff(releases["fpco-dialog"], copies["fpco-dialog"])
    (row,) = config_of(found, "dialogues").changed
    assert [(field.path, field.new) for field in row.fields] == [
        ("$.questions[3].modified", "Another question about the black dog?"),
        ("$.target_bbox_xyxy_px[1]", 3.0),
    ]
    assert not row.reused
    draft = changelog_draft(found)
    assert "- dialogues: 1 changed; 8 rows, before 8.\n  - `questions` differs in 1\n" in draft
    assert not found.is_empty


@pytest.mark.parametrize(
    ("benchmark", "config", "column", "value"),
    [
        ("fpco-dialog", "images", "sha256", "f" * 64),
        ("fpco-dialog", "images", "source_image_id", "999"),
        ("fpco-dialog", "dialogues", "image_id", "coco-999"),
        ("fpco-dialog", "dialogues", "target_object_id", "a8"),
        ("fpco-dialog", "turns", "image_id", "coco-999"),
        ("fpco-dialog", "variants", "set", "C"),
        ("candvg", "dialogues", "source_dialogue_id", "other"),
        ("candvg", "samples", "image_id", "invig-9z"),
    ],
)
def test_an_id_that_names_another_thing(
    releases: dict[str, Path], copies: dict[str, Path], benchmark: str, config: str, column: str, value: str
) -> None:
    was: list[str] = []

    def change(rows: Rows) -> None:
        was.append(rows[0][column])
        rows[0][column] = value

    rewrite(copies[benchmark], config, change)
    (problem,) = reused_ids(diff(releases[benchmark], copies[benchmark]))
    assert (problem.file, problem.path) == (config, f"$.{column}")
    assert problem.message == f"it was {was[0]!r} and is {value!r}"


def test_identity_names_only_columns_that_some_config_has() -> None:
    from groundset.schema_types import arrow_schema

    for name, columns in IDENTITY.items():
        known = {
            column
            for configs in CONFIGS.values()
            for config in configs
            if config.name == name
            for column in arrow_schema(config.schema).names
        }
        assert set(columns) <= known


def test_licence_shifts(make: dict[str, Callable[..., Any]], releases: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(releases["fpco-dialog"], tmp_path / "now"))
    rewrite(copy, "images", lambda rows: rows[0].update(licence="CC-BY-2.0"))
    found = diff(releases["fpco-dialog"], copy)
    assert [(row.name, row.old, row.new) for row in found.licences] == [
        ("CC-BY-2.0", 1, 2),
        ("CC-BY-NC-SA-2.0", 1, 0),
    ]
    assert "- By licence: CC-BY-2.0 1 to 2, CC-BY-NC-SA-2.0 1 to 0." in changelog_draft(found)
    assert reused_ids(found) == []


def test_a_config_that_one_of_two_releases_has(
    make: dict[str, Callable[..., Any]], releases: dict[str, Path], tmp_path: Path
) -> None:
    other = make["fpco-dialog"](tmp_path / "photographs", further_configs=())
    del other.tables["variants"]
    without = other.write(tmp_path / "without")
    assert [row.config for row in diff(without, without).configs] == ["dialogues", "turns", "images"]
    came = config_of(diff(without, releases["fpco-dialog"]), "variants")
    assert (came.rows_old, came.rows_new, len(came.added), came.columns_added) == (0, 6, 6, ())
    assert "- variants: 6 added; 6 rows, before 0." in changelog_draft(diff(without, releases["fpco-dialog"]))
    assert config_of(diff(releases["fpco-dialog"], without), "variants").removed == came.added


def test_policy_and_rules_are_compared(
    make: dict[str, Callable[..., Any]], releases: dict[str, Path], tmp_path: Path
) -> None:
    other = make["fpco-dialog"](tmp_path / "photographs", policy="reference-only")
    other = replace(other, facts=replace(other.facts, version="2.0.0"))
    found = diff(releases["fpco-dialog"], other.write(tmp_path / "release"))
    paths = {field.path: (field.old, field.new) for field in found.record}
    assert paths["$.manifest.images.policy"] == ("permissive", "reference-only")
    assert found.new == "fpco-dialog-test 2.0.0"
    draft = changelog_draft(found)
    assert draft.startswith("## 2.0.0\n")
    assert "- The manifest differs in `images.policy`." in draft
    embedded = [field for row in config_of(found, "images").changed for field in row.fields]
    assert {field.path for field in embedded} == {"$.embedded"}


def test_columns_that_only_one_has_are_told_and_not_compared(
    releases: dict[str, Path], copies: dict[str, Path]
) -> None:
    (path,) = (copies["fpco-dialog"] / "data/turns").glob("*.parquet")
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["category"]).append_column("mood", pa.array(["fine"] * len(table))), path)
    found = config_of(diff(releases["fpco-dialog"], copies["fpco-dialog"]), "turns")
    assert (found.columns_added, found.columns_removed, found.changed) == (("mood",), ("category",), ())


def test_what_is_no_release(releases: dict[str, Path], copies: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no release"):
        diff(releases["candvg"], tmp_path)
    with pytest.raises(UsageError, match="a release of fpco-dialog"):
        diff(releases["fpco-dialog"], releases["candvg"])
    (copies["candvg"] / "manifest.json").write_text('{"benchmark": 3}')
    with pytest.raises(DataError, match=r"manifest\.json"):
        diff(copies["candvg"], releases["candvg"])


def test_broken_files_and_doubled_keys_are_all_named(releases: dict[str, Path], copies: dict[str, Path]) -> None:
    now = copies["fpco-dialog"]
    (turns,) = (now / "data/turns").glob("*.parquet")
    turns.write_bytes(b"PAR1 not really")
    rewrite(now, "dialogues", lambda rows: rows.append(rows[0]))
    with pytest.raises(DataError) as caught:
        diff(releases["fpco-dialog"], now)
    said = [(problem.record, problem.message) for problem in caught.value.problems]
    assert ("coco-101-animal-identity", "2 rows have this key") in said
    assert any(message.startswith("it cannot be read") for _, message in said)
    assert len(said) == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


@given(value=json_values)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert list(changes(value, json.loads(json.dumps(value)))) == []


@given(old=json_values, new=json_values)
def test_changes_are_symmetric_and_empty_only_for_what_reads_the_same(old: Any, new: Any) -> None:
    forth, back = list(changes(old, new)), list(changes(new, old))
    assert [(change.path, change.old, change.new) for change in forth] == [
        (change.path, change.new, change.old) for change in back
    ]
    if json.dumps(old) == json.dumps(new):
        assert forth == []


def test_the_verb_as_text_json_and_draft(
    releases: dict[str, Path], copies: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before, now = str(releases["fpco-dialog"]), copies["fpco-dialog"]
    rewrite(now, "images", lambda rows: rows[0].update(sha256="f" * 64))
    assert run(["diff", before, str(now)]) == 0
    told = capsys.readouterr()
    assert '~ images coco-101 $.sha256: "' in told.out
    assert "an id names another thing: images coco-101 $.sha256" in told.err
    assert run(["diff", before, str(now), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["same"] is False
    assert [row["record"] for row in found["reused_ids"]] == ["coco-101"]
    assert run(["diff", before, str(now), "--changelog"]) == 0
    assert capsys.readouterr().out.startswith("## 1.2.3\n\n### Data\n")
    assert run(["diff", before, before]) == 0
    assert "the same rows" in capsys.readouterr().out
    assert run(["diff", before, str(now.parent)]) == 2
    assert "is no release" in capsys.readouterr().err
