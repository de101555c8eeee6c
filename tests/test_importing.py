# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Several sources into one set of tables: nothing twice, nothing lost, and every fault told at once."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundset import importing, schema, source_files
from groundset.errors import DataError
from groundset.files import sha256_file
from groundset.stage import Inputs, Output
from groundset.verdicts import to_table

Row = dict[str, Any]
Run = Callable[[Inputs], Output]


def coco(folder: Path, name: str, image_ids: list[int], *, shift: int = 0) -> Row:
    """Writes a COCO file with two boxes an image; returns its source in a manifest."""
    images = [{"id": n, "file_name": f"{n}.jpg", "width": 64, "height": 48} for n in image_ids]
    annotations = [
        {"id": 10 * n + k, "image_id": n, "category_id": 1, "bbox": [8 * k + shift, 4, 6, 5], "iscrowd": 0, "area": 30}
        for n in image_ids
        for k in (1, 2)
    ]
    document = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "dog", "supercategory": "animal"}],
    }
    (folder / f"{name}.json").write_text(json.dumps(document))
    (folder / name).mkdir(exist_ok=True)
    kind = {"name": name, "kind": "coco", "annotations": f"{name}.json", "images": name, "bytes": 0}
    return {**kind, "box_format": "xywh", "box_unit": "pixel"}


def line(image: str, number: int, boxes: list[list[float]]) -> Row:
    ann = {"bboxes": boxes, "ref_bboxes": boxes[:2], "ref_exp": "the dog", "questions": ["Left?"], "answers": ["Yes."]}
    return {"filename": image, "width": 64, "height": 48, "id": number, "label": "Dog", "ann": ann}


def invig(folder: Path, name: str, split: str, lines: list[Row]) -> Row:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    (folder / "jpegs").mkdir(exist_ok=True)
    kind = {
        "name": name,
        "kind": "invig",
        "annotations": f"{name}.jsonl",
        "images": "jpegs",
        "split": split,
        "bytes": 0,
    }
    boxes = {"box_format": "xyxy", "box_unit": "pixel", "initial_candidates": "ref_bboxes"}
    return {**kind, **boxes, "photograph_licence": "CC-BY-2.0", "photograph_metadata": []}


BOXES = [[1.0, 2.0, 11.0, 12.0], [20.0, 2.0, 31.0, 12.0], [40.0, 2.0, 51.0, 12.0]]


def inputs(folder: Path, *sources: Row) -> Inputs:
    return Inputs({"sources": list(sources)}, {}, folder, folder, folder)


def ids(output: Output, table: str, column: str) -> list[str]:
    found: list[str] = output.tables[table][column].to_pylist()
    return found


def check(output: Output) -> None:
    lost = Counter(verdict.kind for verdict in output.verdicts if verdict.hard)
    tables = {"image": "images", "object": "objects", "dialogue": "dialogues"}
    for kind, entered in output.entered.items():
        assert entered == output.tables[tables[kind]].num_rows + lost[kind], kind
    for name, held in (("images", "image"), ("objects", "object"), ("dialogues", "candvg_source_dialogue")):
        if name in output.tables:
            assert schema.table_problems(held, output.tables[name], name) == []
    assert schema.table_problems("verdict", to_table(output.verdicts)) == []
    images = ids(output, "images", "image_id")
    assert images == sorted(set(images))
    objects = list(zip(ids(output, "objects", "image_id"), ids(output, "objects", "object_id"), strict=True))
    assert objects == sorted(set(objects))
    assert {image for image, _ in objects} <= set(images)


def test_two_sources_become_one_sorted_table(tmp_path: Path) -> None:
    sources = [coco(tmp_path, "b", [7, 30]), coco(tmp_path, "a", [200, 4])]
    output = importing.run_images(inputs(tmp_path, *sources))
    check(output)
    assert ids(output, "images", "image_id") == ["coco-200", "coco-30", "coco-4", "coco-7"]
    assert ids(output, "images", "source_name") == ["a", "b", "a", "b"]
    assert output.entered == {"image": 4, "object": 8}
    assert output.read == {f"source:{name}.json": sha256_file(tmp_path / f"{name}.json") for name in "ab"}
    assert "dialogues" not in output.tables


def test_the_order_of_sources_and_of_rows_does_not_matter_where_they_share_nothing(tmp_path: Path) -> None:
    sources = [coco(tmp_path, "b", [7, 30]), coco(tmp_path, "a", [200, 4])]
    before = importing.run_images(inputs(tmp_path, *sources))
    for source in sources:
        document = json.loads((tmp_path / source["annotations"]).read_text())
        for key in ("images", "annotations"):
            random.Random(3).shuffle(document[key])
        (tmp_path / source["annotations"]).write_text(json.dumps(document))
    after = importing.run_images(inputs(tmp_path, *sources[::-1]))
    for name in ("images", "objects"):
        assert after.tables[name].equals(before.tables[name])


def test_an_image_that_an_earlier_source_has_stays_as_it_is_and_is_accounted_for(tmp_path: Path) -> None:
    sources = [coco(tmp_path, "first", [1, 2]), coco(tmp_path, "second", [2, 3], shift=1)]
    output = importing.run_images(inputs(tmp_path, *sources))
    check(output)
    assert ids(output, "images", "source_name") == ["first", "first", "second"]
    assert {row["bbox_xyxy"][0] for row in output.tables["objects"].to_pylist() if row["image_id"] == "coco-2"} == {
        8,
        16,
    }
    assert {(v.record_id, v.kind) for v in output.verdicts if v.rule == "already_imported"} == {
        ("coco-2", "image"),
        ("coco-2/a21", "object"),
        ("coco-2/a22", "object"),
    }
    assert output.entered == {"image": 4, "object": 8}


def test_one_file_named_twice_is_imported_once(tmp_path: Path) -> None:
    source = coco(tmp_path, "a", [1, 2])
    output = importing.run_images(inputs(tmp_path, source, {**source, "name": "again"}))
    check(output)
    assert ids(output, "images", "source_name") == ["a", "a"]
    assert Counter(v.kind for v in output.verdicts) == {"image": 2, "object": 4}


def test_dialogues_of_two_splits_share_an_image(tmp_path: Path) -> None:
    sources = [
        invig(tmp_path, "valid", "validation", [line("p.jpg", 1, BOXES), line("q.jpg", 2, BOXES)]),
        invig(tmp_path, "test", "test", [line("p.jpg", 1, BOXES), line("r.jpg", 5, BOXES[:2])]),
    ]
    output = importing.run_dialogues(inputs(tmp_path, *sources))
    check(output)
    assert ids(output, "dialogues", "dialogue_id") == [
        "invig-test-1",
        "invig-test-5",
        "invig-validation-1",
        "invig-validation-2",
    ]
    assert ids(output, "images", "image_id") == ["invig-p", "invig-q", "invig-r"]
    known = set(zip(ids(output, "objects", "image_id"), ids(output, "objects", "object_id"), strict=True))
    for row in output.tables["dialogues"].to_pylist():
        assert {(row["image_id"], name) for name in row["initial_candidate_ids"]} <= known


METADATA = (
    "ImageID,Subset,OriginalURL,OriginalLandingURL,License,AuthorProfileURL,Author,Title,"
    "OriginalSize,OriginalMD5,Thumbnail300KURL,Rotation\n"
)


def test_metadata_of_the_photographs_is_read_hashed_and_missed_where_it_is_missing(tmp_path: Path) -> None:
    known, unknown = "00bf29ce5868629f_Dog_1.jpg", "11bf29ce5868629f_Dog_2.jpg"
    row = "00bf29ce5868629f,test,https://x.org/a.jpg,https://x.org/a,https://creativecommons.org/licenses/by/2.0/"
    (tmp_path / "meta.csv").write_text(f'{METADATA}{row},https://x.org/me,"Ann, B",Dog,1,x,,90.0\n')
    source = invig(tmp_path, "a", "test", [line(known, 1, BOXES), line(unknown, 2, BOXES)])
    output = importing.run_dialogues(inputs(tmp_path, {**source, "photograph_metadata": ["meta.csv"]}))
    check(output)
    first, second = output.tables["images"].to_pylist()
    assert (first["author"], first["licence"], first["rotation"]) == ("Ann, B", "CC-BY-2.0", 90)
    assert second["author"] is None
    assert [(v.record_id, v.rule, v.hard) for v in output.verdicts] == [(second["image_id"], "no_metadata", False)]
    assert output.read == {f"source:{name}": sha256_file(tmp_path / name) for name in ("a.jsonl", "meta.csv")}
    with pytest.raises(DataError, match="no-such"):
        importing.run_dialogues(inputs(tmp_path, {**source, "photograph_metadata": ["no-such.csv"]}))


def test_metadata_may_lie_in_several_files_of_which_the_first_is_believed(tmp_path: Path) -> None:
    names = ["00bf29ce5868629f_Dog_1.jpg", "11bf29ce5868629f_Dog_2.jpg", "22bf29ce5868629f_Dog_3.jpg"]
    row = "{}bf29ce5868629f,test,https://x.org/a.jpg,https://x.org/a,https://creativecommons.org/licenses/by/2.0/"
    tail = ",https://x.org/me,{},Dog,1,x,,90.0\n"
    (tmp_path / "validation.csv").write_text(
        METADATA + (row + tail).format("00", "Ann") + (row + tail).format("11", "B")
    )
    (tmp_path / "test.csv").write_text(METADATA + (row + tail).format("22", "Cy") + (row + tail).format("11", "Other"))
    source = invig(tmp_path, "a", "test", [line(name, number, BOXES) for number, name in enumerate(names)])
    source = {**source, "photograph_metadata": ["validation.csv", "test.csv"]}
    output = importing.run_dialogues(inputs(tmp_path, source))
    check(output)
    assert output.tables["images"]["author"].to_pylist() == ["Ann", "B", "Cy"]
    second = output.tables["images"]["image_id"][1].as_py()
    assert [(v.record_id, v.rule, v.hard) for v in output.verdicts] == [(second, "metadata_differs", False)]
    assert set(output.read) == {"source:a.jsonl", "source:validation.csv", "source:test.csv"}
    note = "Open Images' metadata (validation.csv, test.csv) has 3 of 3 photographs"
    assert note in output.facts["notes"]["a"]


def test_what_the_readers_found_out_is_a_fact_of_the_receipt(tmp_path: Path) -> None:
    source = invig(tmp_path, "a", "test", [line("p.jpg", 1, BOXES)])
    (notes,) = importing.run_dialogues(inputs(tmp_path, source)).facts["notes"].values()
    assert notes[0] == "the publisher's JSONL, 1 JSONL file(s)"
    assert any("boxes in pixels, as declared" in note for note in notes)


def test_a_dialogue_on_other_boxes_than_the_images_is_rejected(tmp_path: Path) -> None:
    moved = [[box[0] + 1, *box[1:]] for box in BOXES]
    sources = [
        invig(tmp_path, "valid", "validation", [line("p.jpg", 1, BOXES)]),
        invig(tmp_path, "test", "test", [line("p.jpg", 1, moved), line("q.jpg", 2, BOXES)]),
    ]
    output = importing.run_dialogues(inputs(tmp_path, *sources))
    check(output)
    assert ids(output, "dialogues", "dialogue_id") == ["invig-test-2", "invig-validation-1"]
    (verdict,) = [v for v in output.verdicts if v.kind == "dialogue"]
    assert (verdict.record_id, verdict.rule) == ("invig-test-1", "objects_differ")


def test_two_sources_of_one_split_cannot_have_one_dialogue(tmp_path: Path) -> None:
    sources = [
        invig(tmp_path, name, "test", [line("p.jpg", 1, BOXES), line("p.jpg", number, BOXES)])
        for name, number in (("one", 2), ("two", 3))
    ]
    with pytest.raises(DataError, match="the sources cannot be joined") as error:
        importing.run_dialogues(inputs(tmp_path, *sources))
    (problem,) = error.value.problems
    assert (
        str(problem)
        == "invig-test-1: two sources have this dialogue (give the sources of the manifest different splits)"
    )


def test_every_fault_of_every_source_is_told_at_once(tmp_path: Path) -> None:
    good, missing, folder, broken, twice = [coco(tmp_path, name, [1]) for name in "abcde"]
    (tmp_path / "b.json").unlink()
    (tmp_path / "c.json").unlink()
    (tmp_path / "c.json").mkdir()
    (tmp_path / "d.json").write_text("{")
    document = json.loads((tmp_path / "e.json").read_text())
    document["annotations"][0]["bbox"] = [1, 2, 3]
    document["annotations"][1]["category_id"] = "dog"
    (tmp_path / "e.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="the sources cannot be imported; problems found: 5") as error:
        importing.run_images(inputs(tmp_path, good, missing, folder, broken, twice))
    told = [str(problem).removeprefix(f"{tmp_path}/") for problem in error.value.problems]
    assert told[:2] == [
        "b.json: the source b is not there (check source_root and annotations in the manifest)",
        "c.json: this is not a file (check source_root and annotations in the manifest)",
    ]
    assert [text.partition(":")[0].partition(" ")[0] for text in told] == [
        "b.json",
        "c.json",
        "d.json",
        "e.json",
        "e.json",
    ]


def test_a_file_that_may_not_be_read_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(source_files, "sha256_file", refuse)
    with pytest.raises(DataError, match=r"a\.json: cannot be read: Permission denied"):
        importing.run_images(inputs(tmp_path, coco(tmp_path, "a", [1])))


def test_images_and_dialogues_that_the_reader_rejects_keep_their_verdicts(tmp_path: Path) -> None:
    source = coco(tmp_path, "a", [1, 2])
    document = json.loads((tmp_path / "a.json").read_text())
    document["images"][0]["width"] = 0
    document["annotations"][2]["bbox"] = [1, 1, 0, 5]
    (tmp_path / "a.json").write_text(json.dumps(document))
    output = importing.run_images(inputs(tmp_path, source))
    check(output)
    assert ids(output, "images", "image_id") == ["coco-2"]
    assert ids(output, "objects", "object_id") == ["a22"]


@pytest.mark.parametrize("run", [importing.run_images, importing.run_dialogues])
def test_every_kind_has_a_reader_that_gives_the_same_tables(tmp_path: Path, run: Run) -> None:
    sources = {
        "coco": coco(tmp_path, "a", [1]),
        "invig": invig(tmp_path, "b", "test", [line("p.jpg", 1, BOXES)]),
    }
    assert set(sources) <= set(importing.READERS)
    for source in sources.values():
        output = run(inputs(tmp_path, source))
        assert output.tables["images"].num_rows == 1
        assert schema.table_problems("image", output.tables["images"]) == []
