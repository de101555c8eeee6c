# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Two halves read apart are the whole read at once, or the reader of the whole has the word."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.sources import coco, coco_file, coco_halves, json_pieces


def document(count: int, **changes: Any) -> dict[str, Any]:
    return {
        "images": [{"id": 1, "file_name": "1.jpg", "width": 640, "height": 480}],
        "annotations": [
            {
                "segmentation": [[number, 1, 2, 3, 4, 5]],
                "area": 50.0,
                "iscrowd": 0,
                "image_id": 1,
                "bbox": [number, 10, 20.5, 30],
                "category_id": 18,
                "id": number,
            }
            for number in range(count)
        ],
        "categories": [{"id": 18, "name": "dog", "supercategory": "animal"}],
        **changes,
    }


@pytest.fixture
def halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size are cut, on machines with one processor too."""
    monkeypatch.setattr(coco_halves, "HALVED_BYTES", 1)
    monkeypatch.setattr(coco_halves.os, "sched_getaffinity", lambda _: {0, 1})


def whole_is(path: Path) -> None:
    content, rows = coco_halves.read_instances(path)
    right, right_rows = coco_file.read_instances(path)
    assert content == right
    for name in ("id", "image_id", "category_id", "bbox", "iscrowd", "area"):
        assert (getattr(rows, name) == getattr(right_rows, name)).all()


@pytest.mark.usefixtures("halved")
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("last", ["annotations", "images", "categories"])
def test_another_process_reads_the_second_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, last: str
) -> None:
    told = document(200)
    told[last] = told.pop(last)
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(told, indent=indent))
    asked = []
    around = coco_file.around
    monkeypatch.setattr(coco_file, "around", lambda *told: asked.append(told) or around(*told))
    content, rows = coco_halves.read_instances(path)
    # the rest of the document is looked at only once both halves are there
    assert len(asked) == 1
    assert rows.id.tolist() == list(range(200))
    assert [image.id for image in content.images] == [1]
    whole_is(path)


@pytest.mark.usefixtures("halved")
def test_the_tables_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(document(300)))
    in_halves = coco.read(path)
    monkeypatch.setattr(coco_halves, "HALVED_BYTES", 1 << 60)
    assert coco.read(path) == in_halves


@given(
    count=st.integers(0, 40), place=st.floats(0, 1), indent=st.sampled_from([None, 1]), size=st.sampled_from([60, 400])
)
@settings(max_examples=60, deadline=None)
def test_a_cut_anywhere_gives_the_whole_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, count: int, place: float, indent: int | None, size: int
) -> None:
    told = document(count)
    if count > 3:
        # what looks like a border between records, and is none
        told["annotations"][3]["segmentation"] = {"counts": [{"a": 1}, {"b": 2}], "size": [1, 1]}
    path = tmp_path_factory.mktemp("cut") / "instances.json"
    text = json.dumps(told, indent=indent)
    path.write_text(text)
    gap = json_pieces.gap_after(path, int(place * len(text)))
    if gap is None:
        return
    assert text[gap] == ","
    parts: list[coco_file.Annotations] = []
    take = coco_file.taker(coco_file.INSTANCES, parts)
    head = json_pieces.pieces_before(path, "annotations", take, size, gap)
    half = coco_halves.second_half(path, gap)
    if head is None or half is None:
        return
    rows = coco_file.joined([*parts, half[0]])
    assert rows.id.tolist() == list(range(count))
    assert coco_file.around(json_pieces.remainder(head, bytearray(half[1])), coco_file.INSTANCES) is not None


@pytest.mark.usefixtures("halved")
@pytest.mark.parametrize("place", [10, 190])
def test_what_is_wrong_in_either_half_is_told_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    told = copy.deepcopy(document(200))
    told["annotations"][place]["bbox"] = [1, 2, 3]
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(told))
    with pytest.raises(DataError) as caught:
        coco_halves.read_instances(path)
    with pytest.raises(DataError) as right:
        coco_file.read_instances(path)
    assert caught.value.problems == right.value.problems
    (problem,) = caught.value.problems
    assert f"annotations[{place}]" in problem.path


@pytest.mark.usefixtures("halved")
@pytest.mark.parametrize("executable", ["/nothing/here", sys.executable])
def test_without_the_other_process_the_whole_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(document(200)))
    monkeypatch.setattr(coco_halves.sys, "executable", executable)
    if executable == sys.executable:
        # one that ends before it has said anything
        monkeypatch.setattr(coco_halves.sys, "path", [])
        monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    assert coco_halves.read_instances(path)[1].id.tolist() == list(range(200))


def test_small_files_are_read_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess, "Popen", never)
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(document(20)))
    assert len(coco_halves.read_instances(path)[1]) == 20
