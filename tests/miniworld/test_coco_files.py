# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""COCO's format as COCO ships it, with each planned fault there and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask
from pycocotools.coco import COCO

from groundset import geometry
from groundset.miniworld.coco_files import write_coco
from groundset.miniworld.scene import CELLS, complexity_of

SHARED = Path(__file__).parents[2].parent / "shared"
FAULTY = 900_000


@pytest.fixture(scope="module")
def coco(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("coco") / "coco"
    truth = write_coco(folder, "seed", 1)
    return folder, json.loads((folder / "instances_miniworld.json").read_text(encoding="utf-8")), truth


def _boxes(instances: dict[str, Any], image_id: int) -> np.ndarray:
    rows = [each["bbox"] for each in instances["annotations"] if each["image_id"] == image_id]
    boxes = np.array(rows, dtype=np.float64).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def _of_image(instances: dict[str, Any], image_id: int) -> list[dict[str, Any]]:
    return [each for each in instances["annotations"] if each["image_id"] == image_id]


def test_keys_categories_and_licences_are_the_publishers(coco: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    real_file = SHARED / "data" / "coco" / "instances_val2014_100.json"
    if not real_file.is_file():
        pytest.skip("the real COCO file is not beside the repository")
    real, (_, ours, _) = json.loads(real_file.read_text(encoding="utf-8")), coco
    assert set(ours) == set(real)
    assert ours["categories"] == real["categories"]
    assert ours["licenses"][:8] == real["licenses"]
    assert set(ours["info"]) == set(real["info"])
    assert {frozenset(image) for image in ours["images"]} == {frozenset(real["images"][0])}
    assert {frozenset(each) for each in ours["annotations"]} == {frozenset(real["annotations"][0])}


def test_nobody_else_is_credited(coco: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    _, instances, _ = coco
    assert {image["license"] for image in instances["images"]} == {9}
    assert instances["licenses"][8]["url"] == "https://creativecommons.org/publicdomain/zero/1.0/"
    assert {image["flickr_url"] for image in instances["images"]} == {None}
    assert all(image["coco_url"].startswith("https://groundset.invalid/") for image in instances["images"])


def test_healthy_scenes_are_clear_cases(coco: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    folder, instances, truth = coco
    names = {category["id"]: category for category in instances["categories"]}
    for number, (complexity, category) in enumerate(CELLS):
        image_id = 100_000 + number
        rows = [row for row in _of_image(instances, image_id) if names[row["category_id"]]["supercategory"] == category]
        boxes = [(x, y, x + width, y + height) for x, y, width, height in (row["bbox"] for row in rows)]
        assert complexity_of(boxes) == complexity == truth[str(image_id)]["complexity"][category]
        with Image.open(folder / "images" / f"{image_id:012d}.jpg") as picture:
            picture.load()
            assert (picture.size, picture.mode) == ((480, 360), "RGB")


def test_outlines_fit_boxes_and_areas(coco: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    _, instances, _ = coco
    for row in instances["annotations"]:
        if row["iscrowd"] or row["image_id"] > FAULTY:
            continue
        (outline,) = row["segmentation"]
        xs, ys = outline[::2], outline[1::2]
        x, y, width, height = row["bbox"]
        assert (min(xs), min(ys), max(xs), max(ys)) == pytest.approx((x, y, x + width, y + height), abs=0.011)
        encoded = mask.merge(mask.frPyObjects(row["segmentation"], 360, 480))
        assert float(mask.area(encoded)) == pytest.approx(row["area"], rel=0.05)


def test_pycocotools_reads_it(
    coco: tuple[Path, dict[str, Any], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, instances, _ = coco
    read = COCO(str(folder / "instances_miniworld.json"))
    capsys.readouterr()
    assert len(read.getImgIds()) == 21
    assert len(read.anns) == len(instances["annotations"])


def test_truth_names_the_annotations(coco: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    _, instances, truth = coco
    rows = {row["id"]: row for row in instances["annotations"]}
    names = {category["id"]: category["name"] for category in instances["categories"]}
    for known in truth.values():
        for thing in known["objects"]:
            row = rows[thing["annotation_id"]]
            x, y, width, height = row["bbox"]
            assert names[row["category_id"]] == thing["label"]
            assert thing["bbox_xyxy_px"] == pytest.approx([x, y, x + width, y + height], abs=0.01)


def test_faults(coco: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    folder, instances, truth = coco
    images = folder / "images"
    flat, twice, crowd, empty, truncated, missing, grey, turned, strange = range(FAULTY + 1, FAULTY + 10)

    assert [row["bbox"][3] for row in _of_image(instances, flat)].count(0.0) == 1
    assert geometry.iou_matrix(_boxes(instances, twice)[[0, -1]])[0, 1] > 0.9
    assert {row["id"] for row in _of_image(instances, twice)} > {
        row["annotation_id"] for row in truth[str(twice)]["objects"]
    }

    (herd,) = (row for row in _of_image(instances, crowd) if row["iscrowd"])
    assert herd["id"] == 900_000_000_000 + herd["category_id"] * 10**8 + crowd > 2**31
    assert sum(herd["segmentation"]["counts"]) == 360 * 480
    encoded = mask.frPyObjects(herd["segmentation"], 360, 480)
    assert int(mask.area(encoded)) == herd["area"]
    assert mask.toBbox(encoded).tolist() == herd["bbox"]

    assert _of_image(instances, empty) == []
    assert (images / f"{empty:012d}.jpg").is_file()

    with pytest.raises(OSError, match="truncated"), Image.open(images / f"{truncated:012d}.jpg") as picture:
        picture.load()
    assert not (images / f"{missing:012d}.jpg").exists()
    with Image.open(images / f"{grey:012d}.jpg") as picture:
        assert picture.mode == "L"
    assert {thing["colour"] for thing in truth[str(grey)]["objects"]} == {None}
    with Image.open(images / f"{turned:012d}.jpg") as picture:
        assert picture.getexif()[0x0112] == 6
    known = {category["id"] for category in instances["categories"]}
    assert [row["category_id"] for row in _of_image(instances, strange) if row["category_id"] not in known] == [12]


def test_healthy_images_have_no_fault(coco: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    _, instances, _ = coco
    known = {category["id"] for category in instances["categories"]}
    rows = [row for row in instances["annotations"] if row["image_id"] < FAULTY]
    assert all(row["iscrowd"] == 0 and row["category_id"] in known and min(row["bbox"][2:]) > 0 for row in rows)
    assert len({row["id"] for row in instances["annotations"]}) == len(instances["annotations"])
    for image in instances["images"]:
        if image["id"] < FAULTY:
            overlaps = geometry.iou_matrix(_boxes(instances, image["id"]))
            assert overlaps[~np.eye(len(overlaps), dtype=bool)].max(initial=0.0) < 0.9
