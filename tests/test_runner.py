# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole builds: the same bytes whatever the order, the hash seed, the folder and the interruptions."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundset import manifest as manifests
from groundset import runner
from groundset.candvg import pipeline as candvg_pipeline
from groundset.errors import DataError, UsageError, WaitingForPeopleError
from groundset.fpco import pipeline as fpco_pipeline
from groundset.miniworld.annotator import answer
from groundset.release.verify import verify
from groundset.stage import read_receipt, read_table

Demo = Callable[..., Path]
STAGES = {"fpco-dialog": fpco_pipeline.STAGES, "candvg": candvg_pipeline.STAGES}
BENCHMARKS = tuple(STAGES)


def build(manifest: Path, work: Path, sources: Path | None = None, **options: Any) -> runner.Place:
    return runner.build(manifests.read(manifest, sources), work, runner.Options(**options), lambda line: None)


def sums(work: Path) -> str:
    return (work / "80_package" / "release" / "SHA256SUMS").read_text(encoding="utf-8")


def command(manifest: Path, work: Path, sources: Path | None, **environment: str) -> subprocess.Popen[bytes]:
    line = "from groundset.cli.entry import main; main()"
    chosen = ["--sources", str(sources)] if sources else []
    return subprocess.Popen(
        [sys.executable, "-c", line, "build", str(manifest), "--work", str(work), *chosen],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def shuffle_world(world: Path) -> None:
    """Other order of rows, of keys and of the files in the folders; nothing else."""
    chance = random.Random(7)
    path = world / "coco" / "instances_miniworld.json"
    content = json.loads(path.read_bytes())
    for key in ("images", "annotations", "categories", "licenses"):
        chance.shuffle(content[key])
    keys = list(content)
    chance.shuffle(keys)
    path.write_text(json.dumps({key: content[key] for key in keys}), encoding="utf-8")
    table = world / "openimages" / "validation-annotations-bbox.csv"
    header, *rows = table.read_text(encoding="utf-8").splitlines()
    chance.shuffle(rows)
    table.write_text("".join(f"{row}\n" for row in [header, *rows]), encoding="utf-8")
    for lines_path in sorted((world / "invig").rglob("*.jsonl")):
        lines = lines_path.read_text(encoding="utf-8").splitlines()
        chance.shuffle(lines)
        lines_path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for folder in (world / "coco" / "images", world / "invig" / "invig21k_imgs"):
        files = sorted(folder.iterdir(), reverse=True)
        moved = folder.with_name("moved")
        moved.mkdir()
        for file in files:
            shutil.move(file, moved / file.name)
        folder.rmdir()
        moved.rename(folder)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_demo_builds_a_release_that_verifies(name: str, demo: Demo, world: Path, tmp_path: Path) -> None:
    place = build(demo(name), tmp_path / "work", world)
    assert verify(place.work / "80_package" / "release") == []
    for stage in STAGES[name]:
        receipt = read_receipt(place, stage.name)
        assert receipt is not None
        for account in receipt["accounts"].values():
            assert account["in"] == account["kept"] + sum(account["rejected"].values())


@pytest.mark.parametrize("name", BENCHMARKS)
def test_order_hash_seed_and_folder_change_no_byte(name: str, demo: Demo, world: Path, tmp_path: Path) -> None:
    first = command(demo(name, "one"), tmp_path / "work-1", world, PYTHONHASHSEED="0")
    assert first.wait() == 0, first.stderr.read().decode() if first.stderr else ""
    shuffled = Path(shutil.copytree(world, tmp_path / "elsewhere" / "other"))
    shuffle_world(shuffled)
    second = command(demo(name, "two"), tmp_path / "deeper" / "work-2", shuffled, PYTHONHASHSEED="1")
    assert second.wait() == 0, second.stderr.read().decode() if second.stderr else ""
    assert sums(tmp_path / "work-1") == sums(tmp_path / "deeper" / "work-2")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_build_killed_in_every_stage_ends_in_the_same_bytes(
    name: str, demo: Demo, world: Path, tmp_path: Path
) -> None:
    build(demo(name, "whole"), tmp_path / "whole", world)
    manifest, work = demo(name, "killed"), tmp_path / "killed"
    killed = []
    for stage in STAGES[name]:
        process = command(manifest, work, world)
        # the stage's temporary folder is there only while its output is being written
        while process.poll() is None and not (work / f".{stage.name}.tmp").exists():
            time.sleep(0.0005)
        if process.poll() is None:
            process.kill()
            killed.append(stage.name)
        process.wait()
    assert len(killed) >= len(STAGES[name]) - 2, "the build was too quick to be killed in most stages"
    build(manifest, work, world)
    assert sums(work) == sums(tmp_path / "whole")
    assert not [path for path in work.iterdir() if path.name.endswith((".tmp", ".old"))]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_is_up_to_date_is_not_done_again(name: str, demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo(name)
    place = build(manifest, tmp_path / "work", world)
    before = {stage.name: read_receipt(place, stage.name) for stage in STAGES[name]}
    said: list[str] = []
    runner.build(manifests.read(manifest, world), tmp_path / "work", runner.Options(), said.append)
    assert {stage.name: read_receipt(place, stage.name) for stage in STAGES[name]} == before
    assert sum(line.endswith("up to date") for line in said) == len(STAGES[name])


def test_a_changed_limit_reruns_from_its_stage_on(demo: Demo, world: Path, tmp_path: Path) -> None:
    build(demo("candvg"), tmp_path / "work", world)
    changed = demo("candvg", max_candidates=6)
    place = runner.place_of(manifests.read(changed, world), tmp_path / "work")
    imported = read_receipt(place, "10_import")
    build(changed, tmp_path / "work", world)
    assert read_receipt(place, "10_import") == imported
    rules = read_receipt(place, "20_filter")
    assert rules is not None
    assert rules["accounts"]["dialogue"]["rejected"]["too_many_candidates"] > 1


def test_a_changed_photograph_is_refused_by_its_pin(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo("candvg")
    place = build(manifest, tmp_path / "work", world)
    shown = read_table(place, "40_images/photographs").to_pylist()[0]
    path = world / "invig" / "invig21k_imgs" / shown["path"]
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(DataError, match=shown["image_id"]):
        build(manifest, tmp_path / "work", world)
    build(manifest, tmp_path / "work", world, repin=True)
    assert verify(place.work / "80_package" / "release") == []


def test_locked_refuses_to_add_pins(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo("candvg")
    with pytest.raises(DataError, match="--locked"):
        build(manifest, tmp_path / "work", world, locked=True)
    assert not manifest.with_suffix(".lock.json").exists()
    build(manifest, tmp_path / "work", world)
    build(manifest, tmp_path / "fresh", world, locked=True)
    assert sums(tmp_path / "work") == sums(tmp_path / "fresh")


def test_generated_sources_are_not_pinned(demo: Demo, tmp_path: Path) -> None:
    manifest = demo("candvg")
    build(manifest, tmp_path / "work", to="30_stratify")
    assert not manifest.with_suffix(".lock.json").exists()


def test_open_images_and_coco_serve_one_release(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo("fpco-dialog")
    text = manifest.read_text(encoding="utf-8")
    folder = "openimages/"
    source = f"""[[sources]]
name = "miniworld-openimages"
kind = "openimages"
annotations = "{folder}validation-annotations-bbox.csv"
image_metadata = "{folder}validation-images-with-rotation.csv"
class_descriptions = "{folder}class-descriptions-boxable.csv"
hierarchy = "{folder}bbox_labels_600_hierarchy.json"
images = "{folder}images"
split = "miniworld"
box_format = "xyxy"
box_unit = "unit"
annotations_licence = "CC0-1.0"
annotations_credit = "groundset contributors"
url = "none"
bytes = 0
photograph_url = "none"
downloads = []

[filter]"""
    manifest.write_text(text.replace("[filter]", source, 1), encoding="utf-8")
    place = build(manifest, tmp_path / "work", world)
    assert verify(place.work / "80_package" / "release") == []
    kinds = set(read_table(place, "10_import/images")["source"].to_pylist())
    assert kinds == {"coco", "openimages"}
    boxes = {row["dialogue_id"]: row for row in read_table(place, "70_validate/dialogues").to_pylist()}
    assert any(name.startswith("openimages-") for name in boxes)
    assert all(max(row["target_bbox_xyxy_px"]) > 1 for row in boxes.values())
    pins = json.loads(manifest.with_suffix(".lock.json").read_bytes())["sources"]
    assert f"miniworld-openimages/{folder}validation-images-with-rotation.csv" in pins


def test_a_pinned_photograph_that_is_gone_is_refused_not_replaced(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo("candvg")
    place = build(manifest, tmp_path / "work", world)
    shown = read_table(place, "40_images/photographs").to_pylist()[0]
    (world / "invig" / "invig21k_imgs" / shown["path"]).unlink()
    with pytest.raises(DataError, match=f"{shown['image_id']}: missing_file"):
        build(manifest, tmp_path / "work", world)


def test_only_refuses_what_earlier_stages_made_of_another_manifest(demo: Demo, world: Path, tmp_path: Path) -> None:
    build(demo("candvg"), tmp_path / "work", world)
    with pytest.raises(UsageError, match="20_filter has to run first: the manifest has changed"):
        build(demo("candvg", max_candidates=6), tmp_path / "work", world, only="80_package")


def test_a_spoilt_drawing_is_drawn_again(demo: Demo, tmp_path: Path) -> None:
    place = build(demo("candvg"), tmp_path / "work")
    whole = sums(tmp_path / "work")
    drawing = next(iter(sorted((place.source_root / "invig" / "invig21k_imgs").iterdir())))
    before = drawing.read_bytes()
    drawing.write_bytes(before[:-40] + b"0" * 40)
    build(demo("candvg"), tmp_path / "work")
    assert drawing.read_bytes() == before
    assert sums(tmp_path / "work") == whole


def test_other_peoples_photographs_are_never_our_drawings(demo: Demo, world: Path, tmp_path: Path) -> None:
    (world / "truth.json").unlink()
    with pytest.raises(UsageError, match="use a manifest with kind = folder"):
        build(demo("fpco-dialog"), tmp_path / "work", world)


def test_rejections_refill_and_strata_tell_what_they_lack(demo: Demo, world: Path, tmp_path: Path) -> None:
    place = build(demo("fpco-dialog"), tmp_path / "work", world)
    refused = set(read_table(place, "refill/rejected")["record_id"].to_pylist())
    ranking = read_table(place, "30_stratify/kept").to_pylist()
    kept = set(read_table(place, "60_review/kept")["item_id"].to_pylist())
    assert refused
    assert not refused & kept
    strata = runner.strata(place)
    assert len(strata) == 36
    for row in strata:
        usable = [item for item in ranking if item["stratum"] == row.stratum and item["item_id"] not in refused]
        images = {verdict["record_id"] for verdict in read_table(place, "40_images/rejected").to_pylist()}
        sound = sorted((item["rank"], item["item_id"]) for item in usable if item["item_id"] not in images)
        taken = {item for _, item in sound[: row.want]}
        assert row.have == len(taken)
        assert taken <= kept


def test_a_short_stratum_stops_the_build_if_the_manifest_says_so(demo: Demo, world: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"have \d+, want 500"):
        build(demo("fpco-dialog", per_cell=500, when_short='"stop"'), tmp_path / "work", world)


def test_people_are_asked_and_their_decisions_build(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo("candvg", screening='"none"', review='"people"', files='["points.jsonl"]')
    work = tmp_path / "work"
    with pytest.raises(WaitingForPeopleError, match="60_review"):
        build(manifest, work, world)
    queue = [json.loads(line) for line in (work / "queue" / "60_review.jsonl").read_text().splitlines()]
    assert not (work / "60_review").exists()
    truth = json.loads((world / "truth.json").read_bytes())
    rows = answer(queue, truth, "people")
    (manifest.parent / "points.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    place = build(manifest, work, world)
    assert verify(place.work / "80_package" / "release") == []
    assert not (work / "queue" / "60_review.jsonl").exists()


def test_people_choose_another_target_and_correct_a_complexity(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo("fpco-dialog", screening='"people"', files='["screening.jsonl"]', per_cell=2)
    work, log = tmp_path / "work", manifest.parent / "screening.jsonl"
    with pytest.raises(WaitingForPeopleError, match="45_screen"):
        build(manifest, work, world)
    queue = [json.loads(line) for line in (work / "queue" / "45_screen.jsonl").read_text().splitlines()]
    several = [item for item in queue if len(item["shown"]["objects"]) > 1][:2]
    moved, misjudged = several
    chosen = next(
        thing for thing in moved["shown"]["objects"] if thing["object_id"] != moved["shown"]["target_object_id"]
    )
    rights = {
        moved["item_id"]: {"target_object_id": chosen["object_id"], "complexity": moved["shown"]["complexity"]},
        misjudged["item_id"]: {"target_object_id": misjudged["shown"]["target_object_id"], "complexity": "single"},
    }

    def decide(items: list[dict[str, object]]) -> None:
        with log.open("a", encoding="utf-8") as file:
            for item in items:
                row = {key: item[key] for key in ("kind", "item_id", "turn", "seen_sha256")}
                right = rights.get(str(item["item_id"]))
                value = {"verdict": "correct", "corrected": right} if right else {"verdict": "accept"}
                row |= {"decision_id": f"s-{item['item_id']}", "seq": 1, "annotator": "a", "purpose": "main"}
                file.write(json.dumps({**row, "value": {"reason": None, **value}}) + "\n")

    # what was decided on other content is listed beside the queue while people are waited for
    decide([{**queue[0], "item_id": queue[0]["item_id"], "seen_sha256": "0" * 64}])
    with pytest.raises(WaitingForPeopleError, match="not_applied"):
        build(manifest, work, world)
    stale = [json.loads(line) for line in (work / "queue" / "45_screen.not_applied.jsonl").read_text().splitlines()]
    assert [(row["record_id"], row["rule"]) for row in stale] == [(f"s-{queue[0]['item_id']}", "stale_decision")]
    log.unlink()
    decide(queue)
    while True:
        try:
            place = build(manifest, work, world)
            break
        except WaitingForPeopleError:
            # the next of a cell came in
            decide([json.loads(line) for line in (work / "queue" / "45_screen.jsonl").read_text().splitlines()])
    assert not (work / "queue" / "45_screen.not_applied.jsonl").exists()
    receipt = read_receipt(place, "45_screen")
    assert receipt is not None
    assert receipt["accounts"]["item"]["rejected"] == {"screening_wrong_complexity": 1}
    assert receipt["flagged"] == {"target_chosen_by_a_person": 1}
    items = {row["item_id"]: row for row in read_table(place, "45_screen/items").to_pylist()}
    assert misjudged["item_id"] not in items
    item = items[moved["item_id"]]
    assert (item["target_object_id"], item["target_label"]) == (chosen["object_id"], chosen["label"])
    assert item["target_bbox_xyxy"] == pytest.approx(chosen["bbox_xyxy_px"])
    before = {row["item_id"]: row for row in read_table(place, "20_filter/kept").to_pylist()}
    assert {name: row for name, row in before.items() if name in items and name != moved["item_id"]} == {
        name: row for name, row in items.items() if name != moved["item_id"]
    }
    released = read_table(place, "70_validate/dialogues").to_pylist()
    targets = {row["image_id"]: row["target_object_id"] for row in released}
    assert targets.get(moved["shown"]["image_id"], chosen["object_id"]) == chosen["object_id"]
    assert moved["item_id"] in read_table(place, "50_generate/kept")["item_id"].to_pylist() or moved["item_id"] in (
        read_table(place, "50_generate/rejected")["record_id"].to_pylist()
    )


def test_candvg_on_own_files_with_people_and_open_images_credits(world: Path, tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    text = (root / "manifests" / "examples" / "own-invig.toml").read_text(encoding="utf-8")
    manifest = tmp_path / "own.toml"
    manifest.write_text(text.replace("per_bin = 4", "per_bin = 1"), encoding="utf-8")
    sources = world / "invig"
    names = [json.loads(line)["filename"] for line in (sources / "invig21k_anns" / "invig21k_valid_anns.jsonl").open()]
    rows = ["ImageID,Subset,OriginalURL,OriginalLandingURL,License,AuthorProfileURL,Author,Title,Rotation\n"]
    for image_id in sorted({name.partition("_")[0] for name in names}):
        page = f"https://photos.invalid/{image_id}"
        licence = "https://creativecommons.org/licenses/by/2.0/"
        rows.append(f'{image_id},validation,{page}.jpg,{page},{licence},{page}/me,"Author, of {image_id}",,0.0\n')
    (sources / "validation-images-with-rotation.csv").write_text("".join(rows), encoding="utf-8")
    truth = json.loads((world / "truth.json").read_bytes())
    work, log = tmp_path / "work", tmp_path / "decisions.jsonl"
    for stage in ("45_screen", "60_review"):
        with pytest.raises(WaitingForPeopleError, match=stage):
            build(manifest, work, sources)
        queue = [json.loads(line) for line in (work / "queue" / f"{stage}.jsonl").read_text().splitlines()]
        with log.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in answer(queue, truth, "people"))
    place = build(manifest, work, sources)
    assert verify(place.work / "80_package" / "release") == []
    images = read_table(place, "70_validate/images").to_pylist()
    assert images
    for row in images:
        assert row["author"] == f"Author, of {row['source_image_id']}"
        assert row["author"] in row["credit"]
        assert row["licence"] == "CC-BY-2.0"
        assert row["embedded"]
    card = (place.work / "80_package" / "release" / "README.md").read_text(encoding="utf-8")
    assert "Simulated" not in card
    pinned = json.loads(manifest.with_suffix(".lock.json").read_bytes())
    assert list(pinned["decisions"]) == ["decisions.jsonl"]


def test_only_needs_what_it_reads_and_names_must_exist(demo: Demo, world: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="10_import"):
        build(demo("candvg"), tmp_path / "work", world, only="20_filter")
    with pytest.raises(UsageError, match="candvg has no stage 50_generate"):
        build(demo("candvg"), tmp_path / "work", world, only="50_generate")


def test_two_builds_in_one_folder_exclude_each_other(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest, work = demo("candvg"), tmp_path / "work"
    with runner._sole_user(work), pytest.raises(UsageError, match="another build"):
        build(manifest, work, world)


def test_real_coco_photographs_build_with_their_licences(shared: Path, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "manifests" / "examples" / "own-coco.toml").read_text(encoding="utf-8")
    text = text.replace("annotations/instances_val2017.json", "instances_val2014_12.json").replace('"val2017"', '"."')
    manifest = tmp_path / "own.toml"
    manifest.write_text(text, encoding="utf-8")
    place = build(manifest, tmp_path / "work", shared / "coco")
    assert verify(place.work / "80_package" / "release") == []
    source = json.loads((shared / "coco" / "instances_val2014_12.json").read_bytes())
    licence_of = {f"coco-{image['id']}": image["license"] for image in source["images"]}
    flickr_of = {f"coco-{image['id']}": image["flickr_url"] for image in source["images"]}
    by_id = {1: "CC-BY-NC-SA-2.0", 2: "CC-BY-NC-2.0", 3: "CC-BY-NC-ND-2.0", 4: "CC-BY-2.0", 5: "CC-BY-SA-2.0"}
    rows = read_table(place, "70_validate/images").to_pylist()
    assert rows
    for row in rows:
        assert row["licence"] == by_id[licence_of[row["image_id"]]]
        assert row["landing_url"].rpartition("=")[2] in flickr_of[row["image_id"]]
        assert row["embedded"] == ("NC" not in row["licence"])
    short = {row.stratum: (row.have, row.want) for row in runner.strata(place) if row.reaches < row.want}
    assert short["overlapping-food-location"] == (0, 1)


def test_annotations_without_photographs_are_counted_not_lost(shared: Path, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "manifests" / "examples" / "own-coco.toml").read_text(encoding="utf-8")
    text = text.replace("annotations/instances_val2017.json", "instances_val2014_100.json").replace('"val2017"', '"."')
    manifest = tmp_path / "own.toml"
    manifest.write_text(text, encoding="utf-8")
    place = build(manifest, tmp_path / "work", shared / "coco")
    receipt = read_receipt(place, "40_images")
    assert receipt is not None
    account = receipt["accounts"]["item"]
    assert account["rejected"]["missing_file"] == account["in"] - account["kept"] > 20
