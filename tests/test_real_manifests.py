# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The manifests of the two real benchmarks: the papers' numbers, and every file that they read has an address."""

from __future__ import annotations

import json
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from groundset import manifest, source_files
from groundset.candvg.strata import BINS
from groundset.cli import main
from groundset.fetching.wanted import NO_URL, ORIGINAL_URL, photograph_address
from groundset.fpco.strata import CELLS
from groundset.manifest import Manifest

FOLDER = Path(__file__).parents[1] / "manifests"
NAMES = ("candvg", "fpco-dialog")


def read(name: str) -> Manifest:
    return manifest.read(FOLDER / f"{name}.toml", needs_sources=False)


def downloads(found: Manifest) -> list[dict[str, Any]]:
    return [entry for source in found.content["sources"] for entry in source["downloads"]]


@pytest.mark.parametrize("name", NAMES)
def test_they_show_and_plan_without_their_sources(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = FOLDER / f"{name}.toml"
    assert main.run(["manifest", "show", str(path)]) == 0
    capsys.readouterr()
    root = (FOLDER.parent / "sources").exists()
    assert main.run(["fetch", str(path), "--plan", "--json"]) == 0
    assert (FOLDER.parent / "sources").exists() is root
    rows = json.loads(capsys.readouterr().out)["files"]
    assert Counter(row["url"] for row in rows) == Counter(entry["url"] for entry in downloads(read(name)))
    assert max(Counter(row["url"] for row in rows).values()) == 1
    assert max(Counter(row["path"] for row in rows).values()) == 1
    assert all(row["bytes"] is None or row["bytes"] > 0 for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_read_is_fetched_or_unpacked(name: str) -> None:
    found = read(name)
    whole = {entry["path"] for entry in downloads(found) if not entry["unpack"]}
    members = [(entry["into"], pattern) for entry in downloads(found) for pattern in entry["unpack"]]
    patterns = [str(PurePosixPath(into, pattern)) for into, pattern in members]
    for source in found.content["sources"]:
        for path in source_files.named(source):
            assert path in whole or any(fnmatchcase(path, pattern) for pattern in patterns), path
        photograph = f"{source['images']}/00bf29ce5868629f.jpg"
        unpacked = any(fnmatchcase(photograph, pattern) for pattern in patterns)
        assert unpacked is (source["photograph_url"] == NO_URL)


@pytest.mark.parametrize("name", NAMES)
def test_no_two_pins_and_no_size_that_contradicts_another(name: str) -> None:
    found = read(name)
    sizes = {entry["path"]: entry["bytes"] for entry in downloads(found)}
    for source in found.content["sources"]:
        assert source["bytes"] == sizes.get(source["annotations"], 0)
    pins = [
        source_files.pin_name(source, path)
        for source in found.content["sources"]
        for path in source_files.named(source)
    ]
    assert len(pins) == len(set(pins))


def test_candvg_has_the_papers_numbers() -> None:
    content = read("candvg").content
    assert len(BINS) * content["strata"]["per_bin"] == 1620
    limits = content["filter"]
    assert (limits["min_candidates"], limits["max_candidates"], limits["max_area_ratio"]) == (2, 15, 20.0)
    assert [source["split"] for source in content["sources"]] == ["validation", "test"]
    assert len({source["initial_candidates"] for source in content["sources"]}) == 1
    assert content["card"]["texts_licence"] == "CC-BY-4.0"


def test_fpco_dialog_has_the_papers_numbers() -> None:
    content = read("fpco-dialog").content
    assert len(CELLS) == 36
    assert len(CELLS) * content["strata"]["per_cell"] == 1080
    assert {source["kind"] for source in content["sources"]} == {"coco", "openimages"}


@pytest.mark.parametrize("name", NAMES)
def test_people_decide_and_nothing_is_simulated(name: str) -> None:
    decisions = read(name).content["decisions"]
    assert (decisions["screening"], decisions["review"]) == ("people", "people")


def test_open_images_photographs_come_from_their_bucket_by_split_and_id() -> None:
    image = {"source_image_id": "000595fe6fee6369", "file_name": "000595fe6fee6369.jpg", "original_url": "http://x.org"}
    addresses = [
        photograph_address(image, source)
        for source in read("fpco-dialog").content["sources"]
        if source["photograph_url"] != ORIGINAL_URL
    ]
    bucket = "https://open-images-dataset.s3.amazonaws.com"
    assert addresses == [f"{bucket}/{split}/000595fe6fee6369.jpg" for split in ("validation", "test")]
