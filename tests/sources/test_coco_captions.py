# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Captions files: what is kept, what is said of it, and files that are none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from groundset import schema
from groundset.errors import DataError
from groundset.sources import coco, coco_file

ROWS = [
    {"image_id": 203564, "id": 37, "caption": "A bicycle replica with a clock as the front wheel."},
    {"image_id": 179765, "id": 38, "caption": "A black Honda motorcycle.\n"},
    {"image_id": 179765, "id": 182, "caption": "Ein Motorrad – schwarz, “neu” 日本"},
    {"image_id": 179765, "id": 9, "caption": ""},
    {"image_id": 9, "id": 900100000257, "caption": "A dog. "},
]
# the two releases differ in nothing but names of files
NAMES = {2014: "COCO_val2014_{:012}.jpg", 2017: "{:012}.jpg"}


def write(folder: Path, rows: Any, year: int = 2017, **more: Any) -> Path:
    images = [{"id": known, "file_name": NAMES[year].format(known)} for known in (203564, 179765, 9)]
    path = folder / "captions.json"
    document = {"info": {"year": year}, "images": images, "licenses": [], "annotations": rows, **more}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize("year", [2014, 2017])
@pytest.mark.parametrize("piece_bytes", [64, 1 << 20])
def test_captions_are_kept_as_written_and_sorted(
    tmp_path: Path, year: int, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coco_file, "PIECE_BYTES", piece_bytes)
    result = coco.read_captions(write(tmp_path, ROWS, year))
    table = result.captions
    schema.require_table("coco_caption", table, "captions", "caption_id")
    assert table.to_pylist() == [
        {"image_id": f"coco-{row['image_id']}", "caption_id": f"c{row['id']}", "caption": row["caption"]}
        for row in (ROWS[1 + 1], ROWS[1], ROWS[3], ROWS[0], ROWS[4])
    ]
    assert [(verdict.record_id, verdict.rule, verdict.hard) for verdict in result.flagged] == [
        ("coco-179765/c9", "blank_caption", False)
    ]
    assert (result.rejected, result.rows_in) == ((), 5)
    shuffled = random.Random(year).sample(ROWS, len(ROWS))
    assert coco.read_captions(write(tmp_path, shuffled, year)) == result


def test_a_caption_of_an_image_that_is_not_there_is_flagged_and_stays(tmp_path: Path) -> None:
    result = coco.read_captions(write(tmp_path, ROWS[:3]), image_ids=["coco-179765"])
    (verdict,) = result.flagged
    assert (verdict.record_id, verdict.kind, verdict.rule, verdict.hard) == (
        "coco-203564/c37",
        "caption",
        "unknown_image",
        False,
    )
    assert result.captions.num_rows == 3
    assert coco.read_captions(write(tmp_path, ROWS[:3]), image_ids=[]).rejected == ()


def test_doubled_ids_are_rejected_unless_the_captions_are_equal(tmp_path: Path) -> None:
    rows = [*ROWS[:2], ROWS[0], {**ROWS[1], "caption": "Another."}]
    result = coco.read_captions(write(tmp_path, rows))
    assert result.captions["caption_id"].to_pylist() == ["c37"]
    assert [(verdict.record_id, verdict.rule) for verdict in result.rejected] == [
        ("coco-179765/c38", "duplicate_id"),
        ("coco-179765/c38", "duplicate_id"),
        ("coco-203564/c37", "duplicate_id"),
    ]
    assert result.rows_in == result.captions.num_rows + len(result.rejected)


def test_a_file_without_captions_gives_an_empty_table_of_the_same_types(tmp_path: Path) -> None:
    empty = coco.read_captions(write(tmp_path, [])).captions
    assert empty.num_rows == 0
    assert empty.schema == coco.read_captions(write(tmp_path, ROWS)).captions.schema


@pytest.mark.parametrize(
    ("rows", "messages"),
    [
        (
            [{"id": "1", "image_id": 2.0, "caption": None}, {"id": 5, "image_id": 1}, 7],
            [
                " $.annotations[2]: is 7, must be an object",
                " annotation 1 $.annotations[0].caption: is null, must be text",
                ' annotation 1 $.annotations[0].id: is "1", must be a whole number',
                " annotation 1 $.annotations[0].image_id: is 2.0, must be a whole number",
                " annotation 5 $.annotations[1]: the key 'caption' is missing",
            ],
        ),
        (
            [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
            [": holds no captions, as instances files hold none; take the captions file"],
        ),
        ({"id": 1}, [' $.annotations: is {"id": 1}, must be a list']),
        ([{"id": 1, "image_id": 1, "caption": "\ud800"}], [None]),
    ],
)
@pytest.mark.parametrize("piece_bytes", [32, 1 << 20])
def test_every_problem_is_told(
    tmp_path: Path, rows: Any, messages: list[str | None], piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coco_file, "PIECE_BYTES", piece_bytes)
    path = write(tmp_path, rows)
    with pytest.raises(DataError) as caught:
        coco.read_captions(path)
    assert caught.value.summary == f"{path} cannot be read as COCO captions"
    if messages != [None]:
        assert [str(problem) for problem in caught.value.problems] == [f"{path}{message}" for message in messages]
    else:
        assert "half of a surrogate pair" in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is a bare list"),
        ("7", "is 7, must be an object"),
        ('{"images": []}', "has no annotations"),
        ("{}", "the key 'annotations' is missing"),
        ("", "is empty"),
        ('{"annotations": [', "is not JSON"),
    ],
)
def test_other_files_are_recognised(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "captions.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"cannot be read") as caught:
        coco.read_captions(path)
    assert message in caught.value.problems[0].message


def test_the_same_images_as_those_of_the_instances_file(tmp_path: Path) -> None:
    instances = tmp_path / "instances.json"
    image = {"id": 203564, "file_name": "203564.jpg", "width": 9, "height": 9}
    instances.write_text(json.dumps({"images": [image], "annotations": [], "categories": []}))
    ids = coco.read(instances).images["image_id"].to_pylist()
    result = coco.read_captions(write(tmp_path, ROWS[:1]), image_ids=ids)
    assert result.captions["image_id"].to_pylist() == ids
    assert result.flagged == ()
