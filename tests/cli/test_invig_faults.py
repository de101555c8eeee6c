# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""InViG files with one fault each, through the command: never a traceback, never a row that goes without a word."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from groundset.cli import main

EXAMPLE = Path(__file__).parents[2] / "manifests" / "examples" / "own-invig.toml"
BOXES = [[10, 20, 110, 70], [300.5, 200.25, 360, 270], [10, 20, 120, 170.5]]
Row = dict[str, Any]


def line(number: int) -> Row:
    said = {"ref_exp": "the dog", "questions": ["Left?", "Big?"], "answers": ["Yes.", "No."]}
    name = f"{number:016x}_Dog_{number}.jpg"
    ann = {"bboxes": BOXES, **said, "ref_bboxes": BOXES[:2]}
    return {"filename": name, "width": 640, "height": 480, "id": number, "label": "Dog", "ann": ann}


def lines(**changes: Any) -> bytes:
    """Five lines; the third has other values, of `ann` where the name is one of its keys."""
    rows = [copy.deepcopy(line(number)) for number in range(1, 6)]
    for key, value in changes.items():
        (rows[2]["ann"] if key in rows[2]["ann"] else rows[2])[key] = value
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


SOUND = lines()
# what the third line loses of 5 dialogues, 5 images and 15 objects, by rule; or what is said of a file that is refused
TOLERATED: dict[str, tuple[bytes, str]] = {
    "byte order mark": (b"\xef\xbb\xbf" + SOUND, ""),
    "line ends of Windows": (SOUND.replace(b"\n", b"\r\n"), ""),
    "blank lines": (SOUND.replace(b"\n", b"\n\n \n"), ""),
    "no last line end": (SOUND[:-1], ""),
    "one flat ref box": (lines(ref_bboxes=BOXES[0]), ""),
    "no ref box": (lines(ref_bboxes=[]), ""),
    "only the first utterance": (lines(questions=[], answers=[]), ""),
    "class as a number": (lines(label=155), ""),
    "no class": (lines(label=None), ""),
    "a name without an id": (lines(filename="dog.jpg"), ""),
    "a name of any script": (lines(filename="00bf29ce5868629f_犬 é_2.jpg"), ""),
    "a line of megabytes": (lines(question_candidates=["x" * 3_000_000]), ""),
    "no width": (lines(width=0), "image_rejected 1 image no_size 1 object image_rejected 3"),
    "a path that leaves": (lines(filename="../a.jpg"), "image_rejected 1 image path_outside_folder 1"),
    "an id again": (SOUND + lines().splitlines()[1] + b"\n", "duplicate_id 1"),
    "an id again that differs": (SOUND + json.dumps({**line(2), "label": "Cat"}).encode(), "duplicate_id 2"),
    "a box outside": (lines(bboxes=[*BOXES[:2], [10, 20, 900, 70]]), "object box_outside_image 1"),
    "a box without width": (lines(bboxes=[*BOXES[:2], [10, 20, 10, 70]]), "object degenerate_box 1"),
}
REFUSED: dict[str, tuple[bytes, str]] = {
    "unequal": (lines(answers=["Yes."]), "line 3 $.ann.answers: 2 questions but 1 answers"),
    "five numbers": (lines(ref_bboxes=[1, 2, 3, 4, 5]), "line 3 $.ann.ref_bboxes: is neither one box"),
    "box of texts": (lines(ref_bboxes=["1", "2", "3", "4"]), 'line 3 $.ann.ref_bboxes[0]: is "1"'),
    "NaN": (lines(ref_bboxes=[[float("nan"), 1, 2, 3]]), "line 3 $.ann.ref_bboxes[0][0]: NaN is not a number of JSON"),
    "width as text": (lines(width="640"), 'line 3 $.width: is "640", must be a number'),
    "no id": (lines(id=None), "line 3 $.id: is null"),
    "half a surrogate": (lines(ref_exp="\ud83d"), "line 3 $.ann.ref_exp: holds half of a surrogate pair"),
    "a key again": (SOUND.replace(b'"id": 3', b'"id": 3, "id": 4'), 'line 3 $: has the key "id" 2 times'),
    "a key again inside": (
        SOUND.replace(b'"ref_exp"', b'"ref_exp": "a cat", "ref_exp"', 1),
        'line 1 $.ann: has the key "ref_exp" 2 times',
    ),
    "cut off": (SOUND[:-40], "line 5: is not JSON"),
    "nested": (SOUND + b"[" * 100_000, "line 6: is nested too deeply"),
    "Latin-1": (SOUND.replace(b"the dog", b"the d\xf6g", 1), "line 1: is not UTF-8"),
    "nothing": (b"\n", "is empty"),
    "a list": (b"[" + SOUND.replace(b"\n", b",")[:-1] + b"]", "is one JSON list"),
}


def build(content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (folder / "invig").mkdir()
    (folder / "invig" / "a.jsonl").write_bytes(content)
    text = EXAMPLE.read_text("utf-8").replace("invig21k_anns/invig21k_valid_anns.jsonl", "a.jsonl")
    text = text.replace('["validation-images-with-rotation.csv"]', "[]").replace('"ref_bboxes" ', '"bboxes" ')
    (folder / "candvg.toml").write_text(text, encoding="utf-8")
    command = ["build", str(folder / "candvg.toml"), "--to", "20_filter", "--work", str(folder / "work")]
    return main.run(command), " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("fault", TOLERATED)
def test_what_can_be_read_is_accounted_for(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, rejected = TOLERATED[fault]
    code, said = build(content, tmp_path, capsys)
    assert code == 0, said
    receipt = json.loads((tmp_path / "work" / "10_import" / "receipt.json").read_bytes())
    accounts = receipt["accounts"]
    found = []
    for kind in ("dialogue", "image", "object"):
        account = accounts[kind]
        assert account["in"] == account["kept"] + sum(account["rejected"].values())
        told = [f"{rule} {count}" for rule, count in account["rejected"].items()]
        found += [*([kind] if told and kind != "dialogue" else []), *told]
    assert accounts["dialogue"]["in"] == (6 if "again" in fault else 5)
    assert " ".join(found).startswith(rejected)
    assert bool(found) is bool(rejected)


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_read_is_named_and_leaves_nothing(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, told = REFUSED[fault]
    code, said = build(content, tmp_path, capsys)
    assert code == 1
    assert told in said
    assert not (tmp_path / "work" / "10_import").exists()
    assert not (tmp_path / "candvg.lock.json").exists()
