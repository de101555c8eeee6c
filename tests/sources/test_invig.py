# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""InViG reader: fields, ids, candidate fields, order, the bad cases and fuzz."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import importing, schema, splits
from groundset.errors import DataError, UsageError
from groundset.sources import invig, invig_lines
from groundset.sources.imported import Imported

BAD = Path(__file__).parents[1] / "bad" / "invig"
CASES = sorted(path.name for path in BAD.iterdir())


def line(number: object = 1, **changes: Any) -> dict[str, Any]:
    ann = {
        "bboxes": [[10, 20, 110, 70], [300.5, 200.25, 360, 270], [10, 20, 110, 70.5]],
        "ref_exp": "the dog",
        "questions": ["Left?", "Big?"],
        "answers": ["Yes.", "No."],
        "ref_bboxes": [[300.5, 200.25, 360, 270], [1, 2, 30, 40]],
        "question_candidates": [["a"] * 30] * 2,
        **changes.pop("ann", {}),
    }
    name = f"00bf29ce5868629f_Egg (Food)_{number}.jpg"
    return {"filename": name, "width": 640, "height": 480, "id": number, "label": "Dog", **changes, "ann": ann}


def check_account(result: Imported) -> None:
    lost = Counter(verdict.kind for verdict in result.rejected)
    assert result.dialogues is not None
    tables = {"image": result.images, "object": result.objects, "dialogue": result.dialogues}
    for kind, rows in result.rows_in.items():
        assert rows == tables[kind].num_rows + lost[kind], kind
    schema.require_table("image", result.images, "images", "image_id")
    schema.require_table("object", result.objects, "objects", "object_id")
    schema.require_table("candvg_source_dialogue", result.dialogues, "dialogues", "dialogue_id")
    known = {(row["image_id"], row["object_id"]) for row in result.objects.to_pylist()}
    assert len(known) == result.objects.num_rows
    for row in result.dialogues.to_pylist():
        named = {*row["object_ids"], *row["initial_candidate_ids"]}
        assert {(row["image_id"], object_id) for object_id in named} <= known


def read_path(path: Path, **options: Any) -> Imported:
    options = {"initial_candidates": "ref_bboxes", "photograph_licence": "CC-BY-2.0", "split": "test", **options}
    result = invig.read(path, source_name="mine", **options)
    check_account(result)
    return result


def read_lines(folder: Path, *rows: dict[str, Any], **options: Any) -> Imported:
    path = folder / "input.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_path(path, **options)


@pytest.mark.parametrize("case", CASES)
def test_bad_case(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BAD / case)
    wrong = Path("message.txt")
    if wrong.exists():
        with pytest.raises(DataError) as caught:
            read_path(Path("input.jsonl"))
        assert str(caught.value) == wrong.read_text(encoding="utf-8").rstrip("\n")
    else:
        result = read_path(Path("input.jsonl"))
        said = [asdict(verdict) for verdict in (*result.rejected, *result.flagged)]
        assert said == json.loads(Path("verdicts.json").read_text(encoding="utf-8"))


def test_fields(tmp_path: Path) -> None:
    result = read_lines(tmp_path, line(7))
    (image,) = result.images.to_pylist()
    assert image["image_id"] == "invig-00bf29ce5868629f_Egg+:28Food:29_7"
    assert (image["source"], image["source_name"], image["source_image_id"]) == ("invig", "mine", "00bf29ce5868629f")
    assert (image["licence"], image["landing_url"], image["author"]) == ("CC-BY-2.0", None, None)
    assert result.dialogues is not None
    (dialogue,) = result.dialogues.to_pylist()
    assert (dialogue["dialogue_id"], dialogue["source_dialogue_id"], dialogue["split"]) == ("invig-test-7", "7", "test")
    assert dialogue["label"] == "Dog"
    assert dialogue["turns"] == [
        {"turn": 1, "question": None, "response": "the dog"},
        {"turn": 2, "question": "Left?", "response": "Yes."},
        {"turn": 3, "question": "Big?", "response": "No."},
    ]
    assert dialogue["object_ids"] == ["b0", "b1", "b2", "r1"]
    assert dialogue["initial_candidate_ids"] == ["b1", "r1"]
    boxes = {row["object_id"]: row["bbox_xyxy"] for row in result.objects.to_pylist()}
    assert boxes["b1"] == [300.5, 200.25, 360.0, 270.0]
    assert boxes["r1"] == [1.0, 2.0, 30.0, 40.0]


def test_candidates_may_come_from_bboxes(tmp_path: Path) -> None:
    result = read_lines(tmp_path, line(), initial_candidates="bboxes")
    assert result.dialogues is not None
    assert result.dialogues["initial_candidate_ids"].to_pylist() == [["b0", "b1", "b2"]]
    with pytest.raises(UsageError, match="bbox"):
        read_lines(tmp_path, line(), initial_candidates="bbox")


@pytest.mark.parametrize(
    ("ref_bboxes", "expected"),
    [
        ([300.5, 200.25, 360, 270], ["b1"]),
        ([], []),
        ([[10, 20, 110, 70], [10, 20, 110, 70.5]], ["b0", "b2"]),
        ([[10, 20, 110, 70], [10, 20, 110, 70]], ["b0", "r1"]),
    ],
)
def test_ref_boxes(tmp_path: Path, ref_bboxes: list[Any], expected: list[str]) -> None:
    result = read_lines(tmp_path, line(ann={"ref_bboxes": ref_bboxes}))
    assert result.dialogues is not None
    assert result.dialogues["initial_candidate_ids"].to_pylist() == [expected]


def test_equal_boxes_each_take_one_ref_box(tmp_path: Path) -> None:
    same = [10, 20, 110, 70]
    result = read_lines(tmp_path, line(ann={"bboxes": [same, same], "ref_bboxes": [same, same]}))
    assert result.dialogues is not None
    assert result.dialogues["initial_candidate_ids"].to_pylist() == [["b0", "b1"]]


def test_a_dialogue_of_one_utterance(tmp_path: Path) -> None:
    result = read_lines(tmp_path, line(ann={"questions": [], "answers": []}, label=None, id="a b"))
    assert result.dialogues is not None
    (row,) = result.dialogues.to_pylist()
    assert (len(row["turns"]), row["label"], row["dialogue_id"]) == (1, None, "invig-test-a+b")


def test_dialogues_about_one_image_share_it(tmp_path: Path) -> None:
    shared = {"filename": "x.jpg"}
    first = line(1, **shared)
    second = line(2, **shared)
    third = line(3, **shared, ann={"ref_bboxes": [[9, 9, 20, 20], [5, 5, 50, 50]]})
    result = read_lines(tmp_path, first, second)
    assert result.rows_in == {"image": 1, "object": 4, "dialogue": 2}
    result = read_lines(tmp_path, first, second, third)
    assert result.dialogues is not None
    rows = {row["dialogue_id"]: row for row in result.dialogues.to_pylist()}
    assert result.images["source_image_id"].to_pylist() == ["x"]
    assert rows["invig-test-1"]["initial_candidate_ids"] == ["b1", "r1-invig-test-1"]
    assert rows["invig-test-3"]["initial_candidate_ids"] == ["r0", "r1-invig-test-3"]
    every = ["b0", "b1", "b2", "r0", "r1-invig-test-1", "r1-invig-test-2", "r1-invig-test-3"]
    assert all(row["object_ids"] == every for row in rows.values())


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_order_of_lines_and_keys_does_not_matter(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows = [line(number) for number in range(12)]
    rows += [
        line(3),
        line(4, label="Cat"),
        line(50, filename=rows[5]["filename"], width=9),
        line(51, filename="../x.jpg"),
    ]
    rows += [line(60, filename="y.jpg"), line(61, filename="y.jpg", ann={"ref_bboxes": [[3, 3, 9, 9]]})]
    rows += [line(62, ann={"ref_bboxes": [[3, 3, 3, 9]]})]
    dice = random.Random(seed)
    mixed = [{key: row[key] for key in dice.sample(list(row), len(row))} for row in dice.sample(rows, len(rows))]
    assert read_lines(folder, *rows) == read_lines(folder, *mixed)


def test_line_ends_marks_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    expected = read_lines(tmp_path, line(1), line(2))
    rows = [json.dumps(line(number)) for number in (1, 2)]
    for text in ("\r\n".join(rows), "\r\n".join([*rows, ""]), "\n\n".join([*rows, "", " "]), "\n".join(rows)):
        for mark in ("", "\ufeff"):
            (tmp_path / "other.jsonl").write_bytes((mark + text).encode())
            assert read_path(tmp_path / "other.jsonl") == expected


def test_pieces_give_what_the_whole_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [line(number) for number in range(40)]
    expected = read_lines(tmp_path, *rows)
    whole = splits.line_ranges
    monkeypatch.setattr(invig_lines.splits, "line_ranges", lambda path: whole(path, 1000))
    with ThreadPoolExecutor(2) as threads:
        assert read_lines(tmp_path, *rows, executor=threads) == expected
    rows[30]["ann"]["answers"] = []
    with pytest.raises(DataError, match=r"line 31 \$\.ann\.answers: 2 questions but 0 answers"):
        read_lines(tmp_path, *rows)


def test_what_the_publisher_leaves_open_may_be_one_or_the_other(tmp_path: Path) -> None:
    rows = [line(1, label=17, width=640.0, height=480.0), line("2", label="17"), line(3)]
    del rows[2]["label"]
    del rows[2]["ann"]["question_candidates"]
    result = read_lines(tmp_path, *rows)
    assert result.dialogues is not None
    assert result.dialogues["label"].to_pylist() == ["17", "17", None]
    assert result.images["frame_width"].to_pylist() == [640.0] * 3
    assert not result.rejected
    assert result.notes == (
        "the publisher's JSONL, 1 JSONL file(s)",
        "boxes in pixels, as declared: 0.0% of 12 boxes are fractions of at most 1, 100.0% have a value above 1",
    )
    assert result.opened == ()


def test_file_names_of_any_characters_keep_apart(tmp_path: Path) -> None:
    names = ["a b.jpg", "a+b.jpg", "a%20b.jpg", "Größe (1).jpg", "图.jpg", "a#?.jpg", "a'.jpg", 'a".jpg', "sub/x.y.jpg"]
    result = read_lines(tmp_path, *(line(number, filename=name) for number, name in enumerate(names)))
    assert sorted(result.images["file_name"].to_pylist()) == sorted(names)
    assert not result.rejected


def test_splits_may_share_images(tmp_path: Path) -> None:
    shared = {"filename": "00bf29ce5868629f_Dog_2.jpg"}
    alike, other = {"ref_bboxes": [10, 20, 110, 70]}, {"ref_bboxes": [9, 9, 50, 60]}
    parts = [
        read_lines(tmp_path, line(1, ann=alike, **shared), split="validation"),
        read_lines(tmp_path, line(1, ann=alike, **shared), line(2, ann=alike), split="test"),
        read_lines(tmp_path, line(1, ann=other, **shared), split="train"),
    ]
    joined = importing.join(parts)
    assert joined.images.num_rows == 2
    assert joined.dialogues["dialogue_id"].to_pylist() == ["invig-test-1", "invig-test-2", "invig-validation-1"]
    assert Counter(verdict.rule for verdict in joined.verdicts if verdict.kind != "object") == {
        "already_imported": 2,
        "objects_differ": 1,
    }


def test_unit_boxes_become_pixels(tmp_path: Path) -> None:
    ann = {"bboxes": [[0.25, 0.5, 0.75, 1.0]], "ref_bboxes": [[0.25, 0.5, 0.75, 1.0]]}
    result = read_lines(tmp_path, line(ann=ann), box_unit="unit")
    assert result.objects["bbox_xyxy"].to_pylist() == [[160.0, 240.0, 480.0, 480.0]]


@pytest.mark.parametrize("place", ["missing.jsonl", ".", "a\0b"])
def test_unreadable_path(tmp_path: Path, place: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_path(tmp_path / place)


@given(data=st.binary(max_size=120))
@settings(max_examples=50, deadline=None)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "input.jsonl"
    path.write_bytes(json.dumps(line()).encode() + b"\n" + data)
    with contextlib.suppress(DataError):
        read_path(path)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([2**63, 10**400, 1e308, -1e308, "", "\ud800", "a\0b", "../x.jpg", "x" * 300]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_mutated_lines(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    rows = [line(1), line(2), line(3, filename=line(2)["filename"])]
    for _ in range(data.draw(st.integers(1, 3))):
        node: Any = copy.deepcopy(rows)
        rows = node
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and data.draw(st.integers(0, 5)):
                node = node[key]
                continue
            if data.draw(st.integers(0, 3)):
                node[key] = data.draw(anything)
            else:
                del node[key]
            break
    path = tmp_path_factory.mktemp("mutated") / "input.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with contextlib.suppress(DataError):
        read_path(path)
