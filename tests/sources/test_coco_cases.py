# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""COCO files of the kinds that broke other people's tools, and their neighbours."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from groundset.errors import DataError
from groundset.geometry import area_ratio
from groundset.schema_types import arrow_schema
from groundset.sources import coco, coco_file
from groundset.sources.imported import Imported

Row = dict[str, Any]

IMAGES = [{"id": known, "file_name": f"{known:012}.jpg", "width": 640, "height": 480} for known in (9, 10, 100)]
CATEGORIES = [
    {"id": 1, "name": "person", "supercategory": "person"},
    {"id": 3, "name": "car", "supercategory": "vehicle"},
    {"id": 52, "name": "banana", "supercategory": "food"},
    {"id": 88, "name": "teddy bear", "supercategory": "indoor"},
]


def box(known: int, bbox: list[float], **more: Any) -> Row:
    return {"id": known, "image_id": 9, "category_id": 1, "bbox": bbox, "iscrowd": 0, **more}


def read(folder: Path, annotations: list[Row], **changed: Any) -> Imported:
    path = folder / "instances.json"
    document = {"images": IMAGES, "annotations": annotations, "categories": CATEGORIES, **changed}
    path.write_text(json.dumps(document), encoding="utf-8")
    result = coco.read(path)
    rejected = Counter(verdict.kind for verdict in result.rejected)
    assert result.rows_in == {
        "image": result.images.num_rows + rejected["image"],
        "object": result.objects.num_rows + rejected["object"],
    }
    return result


def rules(result: Imported) -> dict[str, str]:
    return {verdict.record_id: verdict.rule for verdict in (*result.rejected, *result.flagged)}


@pytest.mark.parametrize(
    "bbox",
    [[10, 10, 50, 0], [10, 10, 0, 50], [10, 10, 0, 0], [10, 10, -5, 50], [940.79, 197.9, 77.73, 0], [10, 10, 1e-18, 9]],
)
@pytest.mark.parametrize("crowd", [0, 1])
def test_a_box_without_an_area_is_dropped_and_named_whatever_its_mask(
    tmp_path: Path, bbox: list[float], crowd: int
) -> None:
    result = read(tmp_path, [box(918, bbox, area=0.0, iscrowd=crowd), box(2, [10, 10, 20, 20]), box(3, [10, 10, 9, 9])])
    (verdict,) = result.rejected
    assert (verdict.record_id, verdict.rule, verdict.limit) == ("coco-9/a918", "degenerate_box", 0.0)
    assert verdict.measured is not None
    assert verdict.measured <= 0
    assert area_ratio(np.array(result.objects["bbox_xyxy"].to_pylist())) == pytest.approx(400 / 81)


@pytest.mark.parametrize(
    ("area", "flagged"),
    [(0.0, True), (-1, True), (108.0, False), (28 * 5, False), (28 * 5 + 0.5, True), (None, False), (0.1, False)],
)
def test_a_mask_that_cannot_be_in_its_box_is_flagged_and_stays(tmp_path: Path, area: float, flagged: bool) -> None:
    result = read(tmp_path, [box(1, [10, 10, 4, 27], area=area)])
    assert result.objects.num_rows == 1
    said = [(verdict.rule, verdict.measured, verdict.limit) for verdict in result.flagged]
    assert said == ([("area_contradicts_box", area, 108.0)] if flagged else [])


@pytest.mark.parametrize(
    ("other", "flagged"),
    [
        ({"bbox": [10, 10, 50, 50.4]}, True),
        ({"bbox": [10, 10, 50, 50]}, True),
        ({"bbox": [10, 10, 50, 54]}, True),
        ({"bbox": [10, 10, 50, 56]}, False),
        ({"bbox": [12, 12, 48, 48]}, True),
        ({"bbox": [10, 10, 50, 50.4], "category_id": 3}, False),
        ({"bbox": [10, 10, 50, 50.4], "image_id": 10}, False),
        ({"bbox": [10, 10, 50, 50.4], "iscrowd": 1}, False),
        ({"bbox": [10, 10, 50, 50.4], "iscrowd": None}, True),
    ],
)
def test_one_object_marked_twice_is_flagged_and_both_stay(tmp_path: Path, other: Row, flagged: bool) -> None:
    result = read(tmp_path, [box(7, [10, 10, 50, 50]), {**box(5, []), **other}])
    assert result.objects.num_rows == 2
    # the one of the higher id is the one too many
    assert rules(result) == ({"coco-9/a7": "near_duplicate_box"} if flagged else {})


def test_three_marks_of_one_object_are_two_too_many(tmp_path: Path) -> None:
    rows = [box(known, [10, 10, 50, 50 + known / 10]) for known in (3, 1, 2)]
    assert rules(read(tmp_path, [*rows, box(4, [200, 200, 50, 50])])) == dict.fromkeys(
        ["coco-9/a2", "coco-9/a3"], "near_duplicate_box"
    )


@pytest.mark.parametrize("annotations", [[], [box(1, [1, 1, 9, 9])]])
def test_images_without_annotations_are_kept(tmp_path: Path, annotations: list[Row]) -> None:
    result = read(tmp_path, annotations)
    # ids are text: 10 and 100 come before 9
    assert result.images["image_id"].to_pylist() == ["coco-10", "coco-100", "coco-9"]
    assert result.objects["image_id"].to_pylist() == ["coco-9"] * len(annotations)


@pytest.mark.parametrize(
    "mask",
    [
        {"counts": [272, 2, 4], "size": [480, 640]},
        {"counts": "VQi31m>0O2N100O", "size": [480, 640]},
        {"counts": 'P}], {"id": "', "size": []},
        {},
        [],
        [[]],
        [[1, 2, 3.5, 4, 5, 6], [1e3, 2, 3, 4, 5, 6]],
        None,
        "text",
    ],
)
def test_masks_of_any_form_are_passed_over(tmp_path: Path, mask: object) -> None:
    rows = [box(900100000009, [1, 1, 99, 99], segmentation=mask, iscrowd=1, area=5), box(2, [1, 1, 9, 9])]
    rows.append({**box(3, [300, 1, 9, 9], segmentation=mask), "iscrowd": None})
    objects = read(tmp_path, rows).objects.select(["object_id", "is_group"]).to_pylist()
    assert objects == [
        {"object_id": "a2", "is_group": 0},
        {"object_id": "a3", "is_group": -1},
        {"object_id": "a900100000009", "is_group": 1},
    ]


@pytest.mark.parametrize("size", [64, 1 << 18])
@pytest.mark.parametrize("more", [{}, {"note": 'a "b"'}])
@pytest.mark.parametrize("key", ["id", "image_id", "category_id", "bbox", "iscrowd", "area"])
def test_a_key_that_a_record_has_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, more: Row, key: str
) -> None:
    monkeypatch.setattr(coco_file, "PIECE_BYTES", size)
    masks = [[[1.5, 2]], {"counts": [2, 3], "size": [4, 4]}, {"counts": 'a"\\', "size": [4, 4]}]
    rows = [
        {"segmentation": mask, **box(known, [1, 1, 9, 9], iscrowd=int(known > 0)), "area": 9.5, **more}
        for known, mask in enumerate(masks)
    ]
    assert read(tmp_path, rows).objects.num_rows == 3
    written = json.dumps(rows[1])
    doubled = written[:-1] + f', "{key}": {json.dumps(rows[1][key])}' + "}"
    path = tmp_path / "instances.json"
    path.write_text(path.read_text().replace(written, doubled))
    with pytest.raises(DataError) as caught:
        coco.read(path)
    (problem,) = caught.value.problems
    assert (problem.record, problem.path) == ("annotation 1", "$.annotations[1]")
    assert problem.message == f'has the key "{key}" 2 times'


def test_a_category_is_what_the_table_says_and_never_a_place_in_it(tmp_path: Path) -> None:
    ids = (0, 1, 2, 52, 80, 88, -1, 2**40)
    rows = [box(place, [1 + 20 * place, 1, 9, 9], category_id=known) for place, known in enumerate(ids)]
    result = read(tmp_path, rows)
    known = {row["object_id"]: (row["label"], row["category"]) for row in result.objects.to_pylist()}
    assert known == {"a1": ("person", "person"), "a3": ("banana", "food"), "a5": ("teddy bear", None)}
    assert rules(result) == {f"coco-9/a{place}": "unknown_category" for place in (0, 2, 4, 6, 7)}


def test_a_box_belongs_to_the_frame_of_its_record_turned_or_not(tmp_path: Path) -> None:
    turned = {"id": 9, "file_name": "Portrait_6.jpg", "width": 1200, "height": 1800}
    rows = [box(1, [100, 1500, 200, 200])]
    (row,) = read(tmp_path, rows, images=[turned]).objects.to_pylist()
    assert (row["frame_width"], row["frame_height"]) == (1200.0, 1800.0)
    assert row["bbox_xyxy"] == [100.0, 1500.0, 300.0, 1700.0]
    stored = {**turned, "width": 1800, "height": 1200}
    assert rules(read(tmp_path, rows, images=[stored])) == {"coco-9/a1": "box_outside_image"}


def many_rows() -> list[Row]:
    ids = [1, 10, 100, 2, 20, 9, 900100000257, 12]
    return [
        box(known, [7 * place % 40, place, 9, 9], image_id=image)
        for place, (known, image) in enumerate(zip(ids, itertools.cycle((9, 10, 100)), strict=False))
    ]


def test_the_order_of_the_file_does_not_matter_and_ids_are_sorted_as_text(tmp_path: Path) -> None:
    result = read(tmp_path, many_rows())
    again = read(tmp_path, many_rows()[::-1], images=IMAGES[::-1], categories=CATEGORIES[::-1])
    assert result == again
    keys = [(row["image_id"], row["object_id"]) for row in result.objects.to_pylist()]
    assert keys == sorted(keys)


@pytest.mark.parametrize("big", [-5, 2**63 - 1, 10**17])
def test_ids_of_any_length_are_sorted_as_text_too(tmp_path: Path, big: int) -> None:
    rows = [*many_rows(), box(big, [200, 200, 9, 9])]
    keys = [(row["image_id"], row["object_id"]) for row in read(tmp_path, rows).objects.to_pylist()]
    assert keys == sorted(keys)
    assert len(keys) == len(rows)


def test_the_hash_seed_does_not_matter(tmp_path: Path) -> None:
    read(tmp_path, [*many_rows(), box(5, [1, 1, 0, 9]), box(6, [1, 1, 9, 9]), box(6, [1, 2, 9, 9])])
    code = "import sys; from pathlib import Path; from groundset.sources import coco; r = coco.read(Path(sys.argv[1]));"
    code += "print(r.images.to_pylist(), r.objects.to_pylist(), r.rejected, r.flagged)"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / "instances.json"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1


@pytest.mark.parametrize("annotations", [[], [box(1, [1, 2, 3, 4])], [box(2**40, [1, 2.5, 3, 4], area=1)]])
@pytest.mark.parametrize("images", [[], IMAGES])
def test_every_column_has_its_one_type_even_where_all_is_null_or_empty(
    tmp_path: Path, annotations: list[Row], images: list[Row]
) -> None:
    result = read(tmp_path, annotations, images=images)
    for table, name in ((result.images, "image"), (result.objects, "object")):
        assert table.schema.equals(arrow_schema(name))
        table.validate(full=True)
    assert result.objects.schema.field("bbox_xyxy").type == pa.list_(pa.float64())
