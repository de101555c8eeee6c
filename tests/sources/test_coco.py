# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""COCO reader: the real files, pycocotools as the oracle, the bad cases and fuzz."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import random
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.errors import DataError, UsageError
from groundset.geometry import iou_matrix, reaches
from groundset.sources import box_checks, coco, coco_file
from groundset.sources.imported import Imported, id_text, one_per_id, path_fault

ROOT = Path(__file__).parents[2]
BAD = ROOT / "tests" / "bad" / "coco"
SHARED = ROOT.parent / "shared" / "data"
CASES = sorted(path.name for path in BAD.iterdir())

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the real source files beside the checkout")

VALID: dict[str, Any] = {
    "images": [
        {"id": 1, "file_name": "1.jpg", "width": 640, "height": 480, "license": 4, "flickr_url": None},
        {"id": 2, "file_name": "2.jpg", "width": 427, "height": 640, "license": 7, "coco_url": "http://x.org/2.jpg"},
    ],
    "annotations": [
        {"id": 11, "image_id": 1, "category_id": 1, "bbox": [10.5, 20, 100, 50], "area": 40.5, "iscrowd": 0},
        {"id": 12, "image_id": 2, "category_id": 18, "bbox": [0, 0, 427, 640], "area": 9, "iscrowd": 1},
        {"id": 900100000257, "image_id": 2, "category_id": 0, "bbox": [1, 1, 9, 9], "segmentation": []},
    ],
    "categories": [
        {"id": 1, "name": "person", "supercategory": "person"},
        {"id": 18, "name": "dog", "supercategory": "animal"},
        {"id": 0, "name": "bird", "supercategory": None},
    ],
    "licenses": [
        {"id": 4, "url": "http://creativecommons.org/licenses/by/2.0/"},
        {"id": 7, "url": "http://flickr.com/commons/usage/"},
    ],
}


def check_account(result: Imported) -> None:
    lost = Counter(verdict.kind for verdict in result.rejected)
    tables = {"image": result.images, "object": result.objects, "dialogue": result.dialogues}
    for kind, rows in result.rows_in.items():
        assert rows == tables[kind].num_rows + lost[kind], kind
    assert all(verdict.hard for verdict in result.rejected)
    assert not any(verdict.hard for verdict in result.flagged)
    schema.require_table("image", result.images, "images", "image_id")
    schema.require_table("object", result.objects, "objects", "object_id")
    homes = set(result.images["image_id"].to_pylist())
    assert set(result.objects["image_id"].to_pylist()) <= homes


def read_document(folder: Path, document: Any, **options: Any) -> Imported:
    path = folder / "input.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    result = coco.read(path, **options)
    check_account(result)
    return result


@pytest.mark.parametrize("case", CASES)
def test_bad_case(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BAD / case)
    wrong = Path("message.txt")
    if wrong.exists():
        with pytest.raises(DataError) as caught:
            coco.read(Path("input.json"))
        assert str(caught.value) == wrong.read_text(encoding="utf-8").rstrip("\n")
    else:
        result = coco.read(Path("input.json"))
        check_account(result)
        said = [asdict(verdict) for verdict in (*result.rejected, *result.flagged)]
        assert said == json.loads(Path("verdicts.json").read_text(encoding="utf-8"))


def test_fields(tmp_path: Path) -> None:
    result = read_document(tmp_path, VALID, source_name="mine")
    one, two = result.images.to_pylist()
    assert (one["image_id"], one["source"], one["source_name"], one["source_image_id"]) == (
        "coco-1",
        "coco",
        "mine",
        "1",
    )
    assert (one["frame_width"], one["frame_height"], one["file_name"]) == (640.0, 480.0, "1.jpg")
    assert (one["licence"], one["licence_source"]) == ("CC-BY-2.0", "http://creativecommons.org/licenses/by/2.0/")
    assert (two["licence"], two["original_url"]) == ("LicenseRef-Flickr-Commons-NKCR", "http://x.org/2.jpg")
    assert one["landing_url"] is None
    person, dog, bird = result.objects.to_pylist()
    assert person["bbox_xyxy"] == [10.5, 20.0, 110.5, 70.0]
    assert (person["object_id"], person["category"], person["is_group"], person["mask_area"]) == (
        "a11",
        "person",
        0,
        40.5,
    )
    assert (dog["object_id"], dog["category"], dog["is_group"], dog["is_depiction"]) == ("a12", "animal", 1, -1)
    assert (bird["object_id"], bird["label"], bird["category"], bird["is_group"]) == ("a900100000257", "bird", None, -1)


@needs_shared
@pytest.mark.parametrize("name", ["instances_val2014_100.json", "instances_val2014_12.json"])
def test_same_as_pycocotools(name: str) -> None:
    from pycocotools.coco import COCO

    path = SHARED / "coco" / name
    with contextlib.redirect_stdout(None):
        oracle = COCO(str(path))
    result = coco.read(path)
    check_account(result)
    assert not result.rejected
    rows = {row["object_id"]: row for row in result.objects.to_pylist()}
    assert len(rows) == len(oracle.anns)
    for known, annotation in oracle.anns.items():
        row = rows[f"a{known}"]
        x, y, width, height = annotation["bbox"]
        category = oracle.cats[annotation["category_id"]]
        assert row["image_id"] == f"coco-{annotation['image_id']}"
        assert row["bbox_xyxy"] == pytest.approx([x, y, x + width, y + height])
        assert row["is_group"] == annotation["iscrowd"]
        assert row["label"] == category["name"]
        expected = category["supercategory"] if category["supercategory"] in coco.CATEGORIES else None
        assert row["category"] == expected
    images = {row["source_image_id"]: row for row in result.images.to_pylist()}
    assert {int(key) for key in images} == set(oracle.imgs)
    for known, image in oracle.imgs.items():
        row = images[str(known)]
        assert (row["frame_width"], row["frame_height"]) == (image["width"], image["height"])
        assert row["flickr_id"] is not None
        assert row["flickr_id"] in image["flickr_url"]
        assert row["licence"] is not None


@needs_shared
@pytest.mark.parametrize("name", sorted(path.name for path in (SHARED / "malformed").glob("*.json")))
def test_files_that_broke_other_tools(name: str) -> None:
    result = coco.read(SHARED / "malformed" / name)
    check_account(result)
    said = {verdict.record_id: verdict.rule for verdict in (*result.rejected, *result.flagged)}
    expected = {
        "coco-area-zero-bbox-nonzero.json": {"coco-890020/a890020000466": "area_contradicts_box"},
        "coco-empty-segmentation.json": {"coco-1": "path_outside_folder", "coco-1/a1": "image_rejected"},
        "coco-train2017-zero-height.json": {
            "coco-200365": "no_size",
            "coco-550395": "no_size",
            "coco-200365/a918": "degenerate_box",
            "coco-550395/a2206849": "degenerate_box",
        },
    }
    assert said == expected[name]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_order_of_rows_and_keys_does_not_matter(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder = tmp_path_factory.mktemp("order")
    document = copy.deepcopy(VALID)
    document["annotations"] += [
        {"id": 70, "image_id": 1, "category_id": 1, "bbox": [10.5, 20, 100, 51], "area": 40.5, "iscrowd": 0},
        {"id": 71, "image_id": 1, "category_id": 1, "bbox": [5, 5, 0, 3]},
        {"id": 71, "image_id": 1, "category_id": 1, "bbox": [5, 5, 1, 3]},
    ]
    dice = random.Random(seed)

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shuffled(value[key]) for key in dice.sample(list(value), len(value))}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return [shuffled(item) for item in dice.sample(value, len(value))]
        return value

    assert read_document(folder, document) == read_document(folder, shuffled(document))


@pytest.mark.parametrize(("box_format", "box_unit"), [("xywh", "unit"), ("xyxy", "pixel"), ("xyxy", "unit")])
def test_declared_conventions_give_the_same_boxes(tmp_path: Path, box_format: str, box_unit: str) -> None:
    document = copy.deepcopy(VALID)
    sizes = {image["id"]: (image["width"], image["height"]) for image in document["images"]}
    for row in document["annotations"]:
        x, y, width, height = row["bbox"]
        box = [x, y, x + width, y + height] if box_format == "xyxy" else [x, y, width, height]
        scale = sizes[row["image_id"]] if box_unit == "unit" else (1, 1)
        row["bbox"] = [value / scale[place % 2] for place, value in enumerate(box)]
    result = read_document(tmp_path, document, box_format=box_format, box_unit=box_unit)
    expected = read_document(tmp_path, VALID)
    got = np.array(result.objects["bbox_xyxy"].to_pylist())
    assert np.allclose(got, np.array(expected.objects["bbox_xyxy"].to_pylist()))


def test_shares_are_refused_even_beside_a_box_in_pixels(tmp_path: Path) -> None:
    document = copy.deepcopy(VALID)
    row = document["annotations"][0]
    boxes = [[0.25, 0.5, 0.125, 0.25]] * 9 + [[10, 10, 20, 20]]
    document["annotations"] = [{**row, "id": 10 + place, "bbox": box} for place, box in enumerate(boxes)]
    told = r"declared in pixels, but 90\.0% of 10 boxes are fractions of at most 1, 10\.0% have a value above 1"
    with pytest.raises(DataError, match=told):
        read_document(tmp_path, document)


def test_unknown_convention_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cxcywh"):
        coco.read(tmp_path / "x.json", box_format="cxcywh")


def test_a_few_boxes_outside_do_not_blame_the_convention(tmp_path: Path) -> None:
    document = copy.deepcopy(VALID)
    document["annotations"].append({"id": 5, "image_id": 1, "category_id": 1, "bbox": [10, 10, 635, 50]})
    (verdict,) = read_document(tmp_path, document).rejected
    assert (verdict.rule, verdict.measured) == ("box_outside_image", 5.0)


@pytest.mark.parametrize("place", ["missing.json", ".", "folder", "a\0b.json", "x" * 5000])
def test_unreadable_path(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        coco.read(tmp_path / place)


def test_missing_folder_of_photographs_is_named_with_the_other_problems(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text('{"images": [], "annotations": []}')
    with pytest.raises(DataError) as caught:
        coco.read(tmp_path / "input.json", images_folder=tmp_path / "photos")
    assert [problem.message for problem in caught.value.problems] == [
        "the key 'categories' is missing",
        "is no folder",
    ]


def test_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "input.json"
    path.write_text(json.dumps(VALID), encoding="utf-8-sig")
    assert coco.read(path).objects.num_rows == 3


def test_deep_nesting_and_long_numbers_are_problems(tmp_path: Path) -> None:
    for text in (
        "[" * 100_000,
        '{"images": ' + "9" * 5000 + "}",
        '{"images": [], "x": ' + "[" * 5000 + "]" * 5000 + "}",
    ):
        with pytest.raises(DataError):
            read_document(tmp_path, text)


def attempt(path: Path) -> Imported | DataError:
    """Reads a file that may be anything: only Imported or DataError may come of it."""
    try:
        result = coco.read(path)
    except DataError as error:
        return error
    check_account(result)
    return result


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("side", [640, 1e308, 5e-324])
@pytest.mark.parametrize("box_unit", ["pixel", "unit"])
def test_absurd_numbers_are_verdicts(tmp_path: Path, side: float, box_unit: str) -> None:
    values = [0, 5, 0.5, 1e308, -1e308, 5e-324]
    document = {
        "images": [{"id": 1, "file_name": "1.jpg", "width": side, "height": side}],
        "categories": [{"id": 1, "name": "a"}],
        "annotations": [
            {"id": number, "image_id": 1, "category_id": 1, "bbox": box, "area": 1e308}
            for number, box in enumerate(itertools.product(values, repeat=4))
        ],
    }
    result = read_document(tmp_path, document, box_unit=box_unit)
    assert all(verdict.measured is None or np.isfinite(verdict.measured) for verdict in result.rejected)
    assert (result.objects.num_rows > 0) == (side == 640)


@given(data=st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "input.json"
    path.write_bytes(data)
    attempt(path)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([2**63, -1, 10**400, 1e308, -1e308, 0.5, "", "\ud800", "a\0b", "../x.jpg"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "images", "annotations", "bbox", "categories", "\ud800"]), inner)
    ),
    max_leaves=12,
)


@given(document=anything)
@settings(max_examples=60, deadline=None)
def test_random_json(tmp_path_factory: pytest.TempPathFactory, document: object) -> None:
    path = tmp_path_factory.mktemp("json") / "input.json"
    path.write_text(json.dumps(document))
    attempt(path)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_mutated_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    document = copy.deepcopy(VALID)
    for _ in range(data.draw(st.integers(1, 3))):
        node: Any = document
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and data.draw(st.integers(0, 5)):
                node = node[key]
                continue
            if data.draw(st.booleans()) and data.draw(st.booleans()):
                del node[key]
            else:
                node[key] = data.draw(anything)
            break
    path = tmp_path_factory.mktemp("mutated") / "input.json"
    path.write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coco_file, "PIECE_BYTES", data.draw(st.sampled_from([40, 150])))
        in_pieces = attempt(path)
    whole = attempt(path)
    if isinstance(whole, DataError):
        assert isinstance(in_pieces, DataError)
        assert in_pieces.problems == whole.problems
    else:
        assert in_pieces == whole


boxes_strategy = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 30), st.integers(1, 30), st.integers(0, 1)),
    max_size=14,
)


@given(rows=boxes_strategy, unit=st.sampled_from([1.0, 0.1, 0.01]))
@settings(deadline=None)
def test_near_duplicates_are_those_of_the_full_matrix(rows: list[tuple[int, int, int, int, int]], unit: float) -> None:
    boxes = np.array([(x, y, x + w, y + h) for x, y, w, h, _ in rows], dtype=np.float64).reshape(-1, 4) * unit
    group = np.array([row[4] for row in rows], dtype=np.int64)
    found = box_checks.near_duplicates(boxes, group, np.arange(len(rows)))
    near = reaches(iou_matrix(boxes), box_checks.NEAR_DUPLICATE_IOU) & (group[:, None] == group[None, :])
    assert all(near[one, other] and one < other for one, other, _ in found)
    joined = {index for one, other, _ in found for index in (one, other)}
    assert joined == {index for index in range(len(rows)) if near[index].sum() > 1}


def test_many_copies_of_one_box_give_one_flag_each(tmp_path: Path) -> None:
    document = copy.deepcopy(VALID)
    document["annotations"] = [
        {"id": number, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9]} for number in range(3000)
    ]
    flagged = read_document(tmp_path, document).flagged
    assert len({verdict.record_id for verdict in flagged}) == 2999


@given(one=st.text(), other=st.text())
def test_id_texts_are_distinct_and_plain(one: str, other: str) -> None:
    with contextlib.suppress(UnicodeEncodeError):
        assert (id_text(one) == id_text(other)) == (one == other)
        assert id_text(one).isascii()


@pytest.mark.parametrize("name", ["a.jpg", "val/a.jpg", "a..b/c...jpg", "ü ß.jpg", "./a.jpg"])
def test_plain_file_names_have_no_fault(name: str) -> None:
    assert path_fault(name) == ""


def test_one_per_id_keeps_one_of_equals_and_none_of_different() -> None:
    rows = [(1, "a"), (2, "b"), (1, "a"), (3, "c"), (3, "d"), (1, "a")]
    kept, out = one_per_id(rows, lambda row: row[0])
    assert kept == [(1, "a"), (2, "b")]
    assert [row for row, _ in out] == [(1, "a"), (3, "c"), (3, "d"), (1, "a")]
