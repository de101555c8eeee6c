# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Broken inputs of every kind, through the command: a clear message or a counted verdict, and nothing half done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groundset.cli.main import run

Demo = Callable[..., Path]
Change = Callable[[Path], None]


def coco(world: Path) -> Path:
    return world / "coco" / "instances_miniworld.json"


def edited(change: Callable[[Any], None]) -> Change:
    def apply(world: Path) -> None:
        content = json.loads(coco(world).read_bytes())
        change(content)
        coco(world).write_text(json.dumps(content), encoding="utf-8")

    return apply


def raw(replacement: Callable[[str], str]) -> Change:
    def apply(world: Path) -> None:
        coco(world).write_text(replacement(coco(world).read_text(encoding="utf-8")), encoding="utf-8")

    return apply


def without(key: str) -> Change:
    return edited(lambda content: content.pop(key))


def annotation(**values: Any) -> Change:
    return edited(lambda content: content["annotations"][0].update(values))


REFUSED: list[tuple[str, Change, str]] = [
    ("not JSON", raw(lambda text: "<html>"), "is HTML or XML"),
    ("cut off", raw(lambda text: text[:-200]), "not JSON"),
    ("empty", raw(lambda text: ""), "empty"),
    ("no images", without("images"), "images"),
    ("no annotations", without("annotations"), "annotations"),
    ("no categories", without("categories"), "categories"),
    ("a text for a box", annotation(bbox="1,2,3,4"), "$.annotations[0].bbox"),
    ("three numbers for a box", annotation(bbox=[1, 2, 3]), "$.annotations[0].bbox"),
    ("NaN in a box", annotation(bbox=[1, 2, float("nan"), 4]), "$.annotations[0].bbox[2]"),
    ("a text for an id", annotation(id="12"), "$.annotations[0].id"),
    ("a missing key", edited(lambda content: content["annotations"][0].pop("category_id")), "category_id"),
    ("a list of results", raw(lambda text: "[]"), "list"),
]


@pytest.mark.parametrize(("change", "told"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_broken_file_is_refused_by_place_and_leaves_nothing(
    change: Change, told: str, demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(world)
    work = tmp_path / "work"
    assert run(["build", str(demo("fpco-dialog")), "--work", str(work), "--sources", str(world)]) == 1
    message = capsys.readouterr().err
    assert told in message
    assert "instances_miniworld.json" in message
    assert "Traceback" not in message
    assert not [path for path in work.iterdir() if path.name != ".lock"]


def test_all_problems_of_a_file_are_told_at_once(
    demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(content: Any) -> None:
        content["annotations"][0]["bbox"] = [1, 2]
        content["annotations"][5]["id"] = "x"
        content["images"][3]["width"] = "wide"

    edited(change)(world)
    arguments = ["build", str(demo("fpco-dialog")), "--work", str(tmp_path / "work"), "--sources", str(world), "--json"]
    assert run(arguments) == 1
    paths = [problem["path"] for problem in json.loads(capsys.readouterr().out)["problems"]]
    assert {"$.annotations[0].bbox", "$.annotations[5].id", "$.images[3].width"} <= set(paths)
    assert paths == sorted(paths)


def doubled(content: Any) -> None:
    content["annotations"].append({**content["annotations"][0], "bbox": [1, 1, 5, 5]})


def outside(content: Any) -> None:
    content["images"][0]["file_name"] = "../../secret.jpg"


def truncated(world: Path) -> None:
    path = world / "coco" / "images" / json.loads(coco(world).read_bytes())["images"][0]["file_name"]
    path.write_bytes(path.read_bytes()[:2000])


def missing(world: Path) -> None:
    (world / "coco" / "images" / json.loads(coco(world).read_bytes())["images"][0]["file_name"]).unlink()


def linked_away(world: Path) -> None:
    path = world / "coco" / "images" / json.loads(coco(world).read_bytes())["images"][0]["file_name"]
    target = world.parent / "elsewhere.jpg"
    path.rename(target)
    path.symlink_to(target)


COUNTED: list[tuple[str, Change, str, str, int]] = [
    ("unknown category", annotation(category_id=999), "10_import", "unknown_category", 2),
    ("unknown image", annotation(image_id=31337), "10_import", "unknown_image", 1),
    ("doubled id", edited(doubled), "10_import", "duplicate_id", 2),
    ("path that leaves", edited(outside), "10_import", "path_outside_folder", 1),
    ("negative box", annotation(bbox=[5, 5, -3, 4]), "10_import", "degenerate_box", 2),
    ("truncated photograph", truncated, "40_images", "truncated", 2),
    ("missing photograph", missing, "40_images", "missing_file", 2),
    ("photograph linked away", linked_away, "40_images", "path_outside_folder", 1),
]


@pytest.mark.parametrize(
    ("change", "stage", "rule", "count"), [case[1:] for case in COUNTED], ids=[case[0] for case in COUNTED]
)
def test_a_broken_record_is_counted_by_its_rule(
    change: Change, stage: str, rule: str, count: int, demo: Demo, world: Path, tmp_path: Path
) -> None:
    change(world)
    work = tmp_path / "work"
    # with as many wanted as there are, every photograph is looked at
    arguments = ["build", str(demo("fpco-dialog", per_cell=30)), "--work", str(work), "--sources", str(world)]
    assert run([*arguments, "--to", stage]) == 0
    rules = pq.read_table(work / stage / "rejected.parquet")["rule"].to_pylist()
    assert rules.count(rule) == count


def test_a_source_that_is_not_there(
    demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coco(world).unlink()
    arguments = ["build", str(demo("fpco-dialog")), "--work", str(tmp_path / "work")]
    assert run([*arguments, "--sources", str(world)]) == 1
    assert "is not there" in capsys.readouterr().err
    assert run([*arguments, "--sources", str(tmp_path / "nowhere")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_broken_decision_file_is_told_by_line(
    demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = demo("candvg", screening='"people"', files='["decisions.jsonl"]')
    (manifest.parent / "decisions.jsonl").write_text('{"seq": 1}\nnot json\n', encoding="utf-8")
    assert run(["build", str(manifest), "--work", str(tmp_path / "work"), "--sources", str(world)]) == 1
    message = capsys.readouterr().err
    assert "line 1" in message
    assert "line 2" in message
    assert "decisions.jsonl" in message


def test_a_broken_lock_is_told(demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = demo("candvg")
    manifest.with_suffix(".lock.json").write_text('{"sources": 3}', encoding="utf-8")
    assert run(["build", str(manifest), "--work", str(tmp_path / "work"), "--sources", str(world)]) == 2
    assert "$.sources" in capsys.readouterr().err
