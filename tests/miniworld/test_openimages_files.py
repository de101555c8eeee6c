# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' files under the publisher's names and columns, with each planned fault there."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from groundset.miniworld.openimages_files import CLASS_IDS, write_openimages

SHARED = Path(__file__).parents[2].parent / "shared"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("openimages") / "openimages"
    write_openimages(made, "seed")
    return made


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _boxes(folder: Path) -> list[dict[str, str]]:
    return _rows(folder / "validation-annotations-bbox.csv")


def _images(folder: Path) -> list[dict[str, str]]:
    return _rows(folder / "validation-images-with-rotation.csv")


def test_headers_are_the_publishers(folder: Path) -> None:
    real = SHARED / "data" / "openimages"
    if not real.is_dir():
        pytest.skip("the real Open Images files are not beside the repository")
    for ours, theirs in (
        ("validation-annotations-bbox.csv", "train-annotations-bbox.head3000.csv"),
        ("validation-images-with-rotation.csv", "train-images-boxable-with-rotation.quoted2.csv"),
    ):
        with (folder / ours).open() as mine, (real / theirs).open() as published:
            assert mine.readline().strip() == published.readline().strip()


def test_classes_and_hierarchy_are_part_of_the_publishers(folder: Path) -> None:
    real = SHARED / "data" / "openimages"
    if not real.is_dir():
        pytest.skip("the real Open Images files are not beside the repository")
    with (real / "class-descriptions-boxable.header.csv").open(encoding="utf-8", newline="") as file:
        published = {tuple(row) for row in csv.reader(file)}
    with (folder / "class-descriptions-boxable.csv").open(encoding="utf-8", newline="") as file:
        assert {tuple(row) for row in csv.reader(file)} <= published

    def edges(node: dict[str, Any]) -> set[tuple[str, str]]:
        below = node.get("Subcategory", [])
        found = {(node["LabelName"], child["LabelName"]) for child in below}
        return found.union(*(edges(child) for child in below))

    ours, theirs = (
        json.loads((root / "bbox_labels_600_hierarchy.json").read_text(encoding="utf-8")) for root in (folder, real)
    )
    assert edges(ours) <= edges(theirs)


def test_rows_are_well_formed(folder: Path) -> None:
    images = {row["ImageID"] for row in _images(folder)}
    boxes = _boxes(folder)
    assert [row["ImageID"] for row in boxes] == sorted(row["ImageID"] for row in boxes)
    assert {row["ImageID"] for row in boxes} == images
    for row in boxes:
        assert re.fullmatch("[0-9a-f]{16}", row["ImageID"])
        assert row["LabelName"] in CLASS_IDS.values()
        assert all(re.fullmatch(r"[01]\.[0-9]{6}", row[edge]) for edge in ("XMin", "XMax", "YMin", "YMax"))
        assert 0 <= float(row["XMin"]) < float(row["XMax"]) <= 1
        assert 0 <= float(row["YMin"]) < float(row["YMax"]) <= 1


def test_planned_faults(folder: Path) -> None:
    boxes, images = _boxes(folder), _images(folder)
    missing = [row["ImageID"] for row in images if not (folder / "images" / f"{row['ImageID']}.jpg").is_file()]
    assert len(images) == 13
    assert len(missing) == 1
    assert Counter(row["Rotation"] for row in images) == {"0.0": 11, "90.0": 1, "": 1}
    assert Counter(row["IsGroupOf"] for row in boxes)["1"] == 1
    assert Counter(row["IsDepiction"] for row in boxes)["1"] == 1
    assert {row["Source"] for row in boxes if row["IsGroupOf"] == "-1"} == {"activemil"}
    assert any(row["ImageID"].startswith("0000000") for row in images)
    assert any(re.fullmatch("[0-9]+e[0-9]+", row["ImageID"]) for row in images)
    titles = [row["Title"] for row in images]
    assert any("," in title and '"' in title for title in titles)
    assert any("赤" in title for title in titles)


def test_persons_are_boxed_under_two_classes(folder: Path) -> None:
    labels: dict[tuple[str, ...], set[str]] = {}
    for row in _boxes(folder):
        key = tuple(row[name] for name in ("ImageID", "XMin", "YMin", "XMax", "YMax"))
        labels.setdefault(key, set()).add(row["LabelName"])
    person = CLASS_IDS["Person"]
    pairs = [same for same in labels.values() if person in same]
    assert pairs
    assert all(len(same) == 2 and same & {CLASS_IDS[name] for name in ("Man", "Woman", "Boy")} for same in pairs)


def test_turned_picture_lies_on_its_side_with_its_boxes(folder: Path) -> None:
    (turned,) = (row for row in _images(folder) if row["Rotation"] == "90.0")
    with Image.open(folder / "images" / f"{turned['ImageID']}.jpg") as picture:
        assert picture.size == (360, 480)
        stored = np.asarray(picture).astype(int)
    upright = np.rot90(stored, 1)
    sky, ground = upright[5:40, 100:300].mean(axis=(0, 1)), upright[-8:, 100:300].mean(axis=(0, 1))
    # Turned counterclockwise by what the column says, what is above is lighter than what is below.
    assert sky.sum() > ground.sum()
    for row in (row for row in _boxes(folder) if row["ImageID"] == turned["ImageID"]):
        wide, tall = float(row["XMax"]) - float(row["XMin"]), float(row["YMax"]) - float(row["YMin"])
        assert wide * 360 > tall * 480
