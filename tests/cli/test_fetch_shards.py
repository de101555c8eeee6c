# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""InViG's Hugging Face copy as a user has it: shards in a folder, photographs taken out by fetch, built to a queue."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from groundset import lock
from groundset.cli import main
from groundset.files import sha256_file

ROOT = Path(__file__).parents[2]
Shards = Callable[..., Path]

OBJECTS = [[10.0, 10.0, 50.0, 50.0], [60.0, 12.0, 100.0, 55.0], [110.0, 20.0, 150.0, 60.0]]


def jpeg(number: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (160, 120), (30 * number, 90, 90)).save(buffer, "JPEG")
    return buffer.getvalue()


def name(number: int) -> str:
    return f"{number:016x}_Dog_2.jpg"


def third(number: int) -> dict[str, Any]:
    dialog = [["the dog", "Left?"], ["Yes.", ""]]
    about = {"bbox": [0.25, 0.5, 0.75, 0.875], "category": "Dog", "dialog": dialog, "dialog_cn": dialog}
    return {
        "ref_list": [{**about, "id": f"d{number}"}],
        "image_info": {"file_name": name(number), "height": 120, "id": f"openimages.{number:016x}", "width": 160},
        "image": {"bytes": jpeg(number), "path": name(number)},
    }


def first(number: int) -> dict[str, Any]:
    return {
        "id": f"d{number}",
        "dialog": [["What do you want?", "the dog"], ["Left?", "Yes."]],
        "bbox": OBJECTS[0],
        "category": "Dog",
        "image_path": name(number),
        "global_image_id": f"openimages.{number:016x}",
        "raw_target": [0, 1],
        "raw_anns": json.dumps(
            [{"bbox": box, "label": label} for box, label in zip(OBJECTS, ["Dog", "Dog", "Cat"], strict=True)]
        ),
    }


def write(folder: Path, rows: list[dict[str, Any]], count: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        pq.write_table(pa.Table.from_pylist(rows[number::count]), folder / f"test-{number:05}-of-{count:05}.parquet")


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., Path]:
    def make(**changes: str) -> Path:
        text = (ROOT / "manifests" / "examples" / "own-invig.toml").read_text("utf-8")
        changed = {
            '"invig21k_anns/invig21k_valid_anns.jsonl"': '"hf/data"',
            'split = "validation"': 'split = "test"',
            '["validation-images-with-rotation.csv"]': "[]",
            **changes,
        }
        for before, after in changed.items():
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        path = tmp_path / "candvg.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return make


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main.run(list(arguments))
    told = capsys.readouterr()
    return code, told.out, " ".join(told.err.split())


def test_embedded_photographs_are_taken_out_and_found(
    manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "invig" / "hf" / "data", [third(number) for number in range(1, 6)])
    path = manifest()
    code, out, said = run(capsys, "fetch", str(path), "--json")
    assert code == 0, said
    embedded = json.loads(out)["embedded"]
    assert embedded == {"invig21k-validation": {"written": 5, "already_there": 0, "refused": []}}
    photograph = tmp_path / "invig" / "invig21k_imgs" / name(3)
    assert photograph.read_bytes() == jpeg(3)
    code, out, _ = run(capsys, "fetch", str(path), "--json")
    assert json.loads(out)["embedded"]["invig21k-validation"]["already_there"] == 5


def test_a_photograph_that_differs_is_refused_by_name_and_left_as_it_is(
    manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "invig" / "hf" / "data", [third(number) for number in range(1, 4)])
    photograph = tmp_path / "invig" / "invig21k_imgs" / name(2)
    photograph.parent.mkdir()
    photograph.write_bytes(b"mine")
    code, _, said = run(capsys, "fetch", str(manifest()))
    assert code == 0
    assert "2 photographs written, 0 already there, 1 refused" in said
    assert f'refused: "{name(2)}": another file of this name lies there' in said
    assert photograph.read_bytes() == b"mine"


def test_a_folder_that_lacks_a_shard_is_wrong_data(
    manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "invig" / "hf" / "data"
    write(folder, [third(number) for number in range(1, 4)])
    (folder / "test-00001-of-00002.parquet").unlink()
    for verb in (["fetch"], ["build"]):
        code, _, said = run(capsys, *verb, str(manifest()), "--work", str(tmp_path / "work"))
        assert code == 1
        assert "holds 1 of the 2 shards of the split test" in said


@pytest.mark.parametrize(("field", "count"), [("ref_bboxes", 1), ("bboxes", 3), ("label", 2), ("raw_target", 2)])
def test_every_candidate_field_can_be_chosen(
    field: str, count: int, manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "invig" / "hf" / "data", [first(number) for number in range(1, 6)])
    images = tmp_path / "invig" / "invig21k_imgs"
    images.mkdir()
    for number in range(1, 6):
        (images / name(number)).write_bytes(jpeg(number))
    path = manifest(**{'initial_candidates = "ref_bboxes"': f'initial_candidates = "{field}"'})
    work = tmp_path / "work"
    code, _, said = run(capsys, "build", str(path), "--to", "40_images", "--work", str(work))
    assert code == (0 if count > 1 else 1), said
    assert "a size" in said
    table = pq.read_table(work / "10_import" / "dialogues.parquet")
    assert {len(ids) for ids in table["initial_candidate_ids"].to_pylist()} == {count}
    assert ("40_images: 5 dialogues in, 5 kept" if count > 1 else "20_filter keeps no dialogue") in said


@pytest.mark.parametrize("choice", ["reject", "scale"])
def test_photographs_of_another_size_are_rejected_or_scaled_and_said_so(
    choice: str, manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = tmp_path / "invig" / "invig21k_imgs"
    images.mkdir(parents=True)
    ann = {"bboxes": OBJECTS, "ref_bboxes": OBJECTS, "ref_exp": "the dog", "questions": [], "answers": []}
    rows = [
        {"id": number, "filename": name(number), "width": 80, "height": 60, "label": "Dog", "ann": ann}
        for number in range(1, 6)
    ]
    for row in rows:
        row["ann"] = {**ann, "bboxes": (half := [[side / 2 for side in box] for box in OBJECTS]), "ref_bboxes": half}
        (images / str(row["filename"])).write_bytes(jpeg(int(row["id"])))
    (tmp_path / "invig" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    changes = {'"invig21k_anns/invig21k_valid_anns.jsonl"': '"a.jsonl"'}
    if choice == "scale":
        changes['on_other_size = "reject"'] = 'on_other_size = "scale"'
    path, work = manifest(**changes), ("--work", str(tmp_path / "work"))
    code, _, said = run(capsys, "build", str(path), "--to", "40_images", *work)
    assert code == 0, said
    expected = {
        "reject": "40_images: 5 dialogues in, 0 kept, rejected: size_mismatch 5",
        "scale": "scaled_boxes 5",
    }
    assert expected[choice] in said
    code, out, _ = run(capsys, "explain", str(path), "invig-test-3", *work)
    assert code == 0
    told = {"reject": "stored 160 x 120, record 80 x 60", "scale": "boxes times 2 x 2"}
    assert told[choice] in " ".join(out.split())


def test_a_field_that_the_revision_lacks_is_a_wrong_manifest(
    manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "invig" / "hf" / "data", [third(1), third(2)])
    path = manifest(**{'"ref_bboxes" ': '"bboxes" ', 'box_unit = "pixel"': 'box_unit = "unit"'})
    code, _, said = run(capsys, "build", str(path), "--work", str(tmp_path / "work"))
    assert code == 2, said
    assert "'bboxes' cannot be given by the Hugging Face copy, revision 456ac78, which has ref_bboxes" in said


def test_shards_are_pinned_and_another_set_is_refused(
    manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "invig" / "hf" / "data"
    write(folder, [third(number) for number in range(1, 7)])
    path = manifest(**{'box_unit = "pixel"': 'box_unit = "unit"'})
    build = ("build", str(path), "--to", "10_import", "--work", str(tmp_path / "work"))
    code, _, said = run(capsys, *build)
    assert code == 0, said
    assert "pinned 3 sources" in said
    pins = lock.read(path.with_suffix(".lock.json")).pins["sources"]
    shard = "test-00000-of-00002.parquet"
    assert pins[f"invig21k-validation/hf/data/{shard}"]["sha256"] == sha256_file(folder / shard)
    code, _, said = run(capsys, *build)
    assert "10_import: up to date" in said
    for number in range(2):
        (folder / f"test-{number:05}-of-00002.parquet").rename(folder / f"test-{number:05}-of-00003.parquet")
    write(folder / "more", [third(9)], 1)
    (folder / "more" / "test-00000-of-00001.parquet").rename(folder / "test-00002-of-00003.parquet")
    code, _, said = run(capsys, *build)
    assert code == 1
    assert "invig21k-validation: bytes is" in said
    code, _, said = run(capsys, *build, "--repin")
    assert code == 0
    assert "10_import: 7 dialogues in, 7 kept" in said


def test_status_tells_the_revision_and_what_was_flagged(
    manifest: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [third(number) for number in range(1, 4)]
    rows[0]["ref_list"][0]["dialog"] = [["the dog", " "], ["Yes.", ""]]
    write(tmp_path / "invig" / "hf" / "data", rows)
    path = manifest(**{'box_unit = "pixel"': 'box_unit = "unit"'})
    work = ("--work", str(tmp_path / "work"))
    run(capsys, "build", str(path), "--to", "10_import", *work)
    _, out, _ = run(capsys, "status", str(path), "--json", *work)
    (state,) = [row for row in json.loads(out)["stages"] if row["stage"] == "10_import"]
    assert any("revision 456ac78, 2 Parquet file(s)" in note for note in state["notes"]["invig21k-validation"])
    assert any("boxes in units, as declared: 100.0%" in note for note in state["notes"]["invig21k-validation"])
    assert state["flagged"] == {"blank_text": 1}
    _, out, _ = run(capsys, "status", str(path), *work)
    assert "revision 456ac78" in out
    assert "flagged, not rejected: blank_text 1" in out
