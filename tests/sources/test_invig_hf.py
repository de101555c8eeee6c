# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The revisions of InViG on Hugging Face: what each column means, shards, sizes, the bad cases and fuzz."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from groundset import schema
from groundset.errors import DataError, UsageError
from groundset.sources import invig
from groundset.sources.imported import Imported

BAD = Path(__file__).parents[1] / "bad" / "invig_hf"
CASES = sorted(path.name for path in BAD.iterdir())
Row = dict[str, Any]

TEXT, NUMBER, WHOLE = pa.string(), pa.float64(), pa.int64()
PAIRS = pa.list_(pa.list_(TEXT))
IMAGE = pa.struct({"bytes": pa.binary(), "path": TEXT})
SCHEMAS = {
    "0189f8c": pa.schema(
        {
            "id": TEXT,
            "dialog": PAIRS,
            "dialog_cn": PAIRS,
            "bbox": pa.list_(NUMBER),
            "category": TEXT,
            "image_path": TEXT,
            "global_image_id": TEXT,
            "raw_target": pa.list_(WHOLE),
            "raw_anns": TEXT,
        }
    ),
    "6f51235": pa.schema(
        {"dialog": PAIRS, "dialog_cn": PAIRS, "bbox": pa.list_(NUMBER), "image": IMAGE, "image_id": TEXT}
    ),
    "456ac78": pa.schema(
        {
            "ref_list": pa.list_(
                pa.struct({"bbox": pa.list_(NUMBER), "category": TEXT, "dialog": PAIRS, "dialog_cn": PAIRS, "id": TEXT})
            ),
            "image_info": pa.struct({"file_name": TEXT, "height": WHOLE, "id": TEXT, "width": WHOLE}),
            "image": IMAGE,
        }
    ),
}
TURNS = [
    {"turn": 1, "question": None, "response": "the dog"},
    {"turn": 2, "question": "Left?", "response": "Yes."},
]
AGENT_FIRST = [["What do you want?", "the dog"], ["Left?", "Yes."]]
USER_FIRST = [["the dog", "Left?"], ["Yes.", ""]]
OBJECTS = [
    {"bbox": [10, 20, 110, 70], "label": "Dog", "segs": [], "label_id": 3},
    {"bbox": [300.5, 200.25, 360, 270], "label": "Dog"},
    {"bbox": [200, 20, 620, 470], "label": "Animal"},
]


def hexadecimal(number: int) -> str:
    return f"{number:016x}"


def jpeg(size: tuple[int, int] = (640, 480), colour: int = 0) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (colour, 90, 90)).save(buffer, "JPEG")
    return buffer.getvalue()


PHOTOGRAPH = jpeg()


def first(number: int = 1, **changes: Any) -> Row:
    return {
        "id": f"d{number}",
        "dialog": AGENT_FIRST,
        "dialog_cn": [],
        "bbox": [300.5, 200.25, 360, 270],
        "category": "Dog",
        "image_path": f"imgs/{hexadecimal(number)}_Fast food_2.jpg",
        "global_image_id": f"openimages.{hexadecimal(number)}",
        "raw_target": [1],
        "raw_anns": json.dumps(OBJECTS),
        **changes,
    }


def second(number: int = 1, **changes: Any) -> Row:
    return {
        "dialog": USER_FIRST,
        "dialog_cn": [],
        "bbox": [300.5, 200.25, 360, 270],
        "image": {"bytes": PHOTOGRAPH, "path": f"{hexadecimal(number)}_Dog_2.jpg"},
        "image_id": f"openimages.{hexadecimal(number)}",
        **changes,
    }


def reference(number: int = 1, **changes: Any) -> Row:
    return {
        "bbox": [0.25, 0.5, 0.75, 0.875],
        "category": "Dog",
        "dialog": USER_FIRST,
        "dialog_cn": [],
        "id": f"d{number}",
        **changes,
    }


def third(number: int = 1, *references: Row, **changes: Any) -> Row:
    name = f"{hexadecimal(number)}_Dog_2.jpg"
    info = {"file_name": name, "height": 480, "id": f"openimages.{hexadecimal(number)}", "width": 640}
    return {
        "ref_list": list(references or (reference(number),)),
        "image_info": {**info, **changes.pop("image_info", {})},
        "image": {"bytes": PHOTOGRAPH, "path": name},
        **changes,
    }


MAKE = {"0189f8c": first, "6f51235": second, "456ac78": third}
UNITS = {"0189f8c": "pixel", "6f51235": "pixel", "456ac78": "unit"}


def write_parquet(path: Path, revision: str, rows: Sequence[Row], *, named: bool = False, **options: Any) -> Path:
    table = pa.Table.from_pylist(list(rows), schema=SCHEMAS[revision])
    if named:
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": {}}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def as_json(row: Row) -> Row:
    return {name: {"path": value["path"]} if name == "image" and value else value for name, value in row.items()}


def write_lines(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(as_json(row)) + "\n" for row in rows), encoding="utf-8")
    return path


def write_photographs(folder: Path, *numbers: int, size: tuple[int, int] = (640, 480)) -> Path:
    (folder / "imgs").mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / "imgs" / f"{hexadecimal(number)}_Fast food_2.jpg").write_bytes(jpeg(size))
    return folder


def check_account(result: Imported) -> None:
    lost = Counter(verdict.kind for verdict in result.rejected)
    assert result.dialogues is not None
    tables = {"image": result.images, "object": result.objects, "dialogue": result.dialogues}
    for kind, count in result.rows_in.items():
        assert count == tables[kind].num_rows + lost[kind], kind
    schema.require_table("image", result.images, "images", "image_id")
    schema.require_table("object", result.objects, "objects", "object_id")
    schema.require_table("candvg_source_dialogue", result.dialogues, "dialogues", "dialogue_id")
    known = {(row["image_id"], row["object_id"]) for row in result.objects.to_pylist()}
    assert len(known) == result.objects.num_rows
    for row in result.dialogues.to_pylist():
        named = {*row["object_ids"], *row["initial_candidate_ids"]}
        assert {(row["image_id"], object_id) for object_id in named} <= known


def read(path: Path, **options: Any) -> Imported:
    options = {"initial_candidates": "ref_bboxes", "photograph_licence": "CC-BY-2.0", "split": "test", **options}
    result = invig.read(path, source_name="mine", **options)
    check_account(result)
    return result


def dialogues(result: Imported) -> list[Row]:
    assert result.dialogues is not None
    found: list[Row] = result.dialogues.to_pylist()
    return found


def test_revision_0189f8c(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", "0189f8c", [first(255)])
    result = read(path, images_folder=write_photographs(tmp_path / "photographs", 255))
    (row,) = dialogues(result)
    assert (row["dialogue_id"], row["source_dialogue_id"], row["label"]) == ("invig-test-d255", "d255", "Dog")
    # (agent, user): the agent's first text is a filler
    assert row["turns"] == TURNS
    assert (row["object_ids"], row["initial_candidate_ids"]) == (["b0", "b1", "b2"], ["b1"])
    (image,) = result.images.to_pylist()
    assert image["image_id"] == "invig-00000000000000ff_Fast+food_2"
    assert image["file_name"] == "imgs/00000000000000ff_Fast food_2.jpg"
    assert (image["source_image_id"], image["frame_width"], image["frame_height"]) == ("00000000000000ff", 640, 480)
    objects = {thing["object_id"]: thing for thing in result.objects.to_pylist()}
    assert objects["b1"]["bbox_xyxy"] == [300.5, 200.25, 360, 270]
    assert [objects[name]["label"] for name in ("b0", "b1", "b2")] == ["Dog", "Dog", "Animal"]
    assert result.notes == (
        "the Hugging Face copy, revision 0189f8c, 1 Parquet file(s)",
        "pairs are (agent, user): as this revision has them",
        "no record gives a size: that of 1 of 1 photographs was read from the image folder, so they have to be those"
        " that the boxes were drawn on",
        "boxes in pixels, as declared: 0.0% of 3 boxes are fractions of at most 1, 100.0% have a value above 1",
    )
    assert result.opened == (tmp_path / "photographs" / "imgs" / "00000000000000ff_Fast food_2.jpg",)


def test_revision_6f51235(tmp_path: Path) -> None:
    rows = [second(1), second(2, image={"bytes": jpeg((400, 300)), "path": None}, dialog=[["the dog", None]])]
    rows[1]["bbox"] = [1, 2, 400, 300]
    result = read(write_parquet(tmp_path / "a.parquet", "6f51235", rows))
    by_image = {row["image_id"]: row for row in dialogues(result)}
    row = by_image[f"invig-{hexadecimal(1)}_Dog_2"]
    # (user, agent), since every dialogue ends in an empty text: the agent's last one is dropped
    assert row["turns"] == TURNS
    assert (row["object_ids"], row["initial_candidate_ids"], row["label"]) == (["r0"], ["r0"], None)
    # no photograph name: the id names it
    other = by_image[f"invig-{hexadecimal(2)}"]
    assert other["turns"] == TURNS[:1]
    sizes = {image["image_id"]: (image["frame_width"], image["frame_height"]) for image in result.images.to_pylist()}
    assert sizes == {row["image_id"]: (640, 480), other["image_id"]: (400, 300)}
    assert result.notes[1:3] == (
        "pairs are (user, agent): 100.0% of 2 dialogues end in an empty text",
        "the dialogues have no id: each is named by a hash of its photograph, box and texts",
    )


def test_pairs_of_6f51235_may_have_the_other_order(tmp_path: Path) -> None:
    result = read(write_parquet(tmp_path / "a.parquet", "6f51235", [second(1, dialog=AGENT_FIRST)]))
    assert dialogues(result)[0]["turns"] == TURNS
    assert "pairs are (agent, user): 0.0% of 1 dialogues end in an empty text" in result.notes


def test_dialogues_without_an_id_keep_their_name_wherever_they_stand(tmp_path: Path) -> None:
    rows = [second(1), second(2), second(2), second(2, bbox=[1, 2, 3, 4])]
    result = read(write_parquet(tmp_path / "a.parquet", "6f51235", rows))
    again = read(write_parquet(tmp_path / "b.parquet", "6f51235", rows[::-1]))
    assert again == result
    assert result.dialogues is not None
    assert result.dialogues.num_rows == 3
    assert [(verdict.rule, verdict.detail) for verdict in result.rejected] == [
        ("duplicate_id", "2 equal records carry this id; one of them stays")
    ]


def test_revision_456ac78(tmp_path: Path) -> None:
    later = reference(8, bbox=[0.5, 0.5, 1.0, 1.0], dialog=[["the dog", " "]], category=None)
    rows = [third(7, reference(7), later), {**third(9), "ref_list": []}]
    result = read(write_parquet(tmp_path / "a.parquet", "456ac78", rows), box_unit="unit")
    assert result.rows_in == {"image": 2, "object": 2, "dialogue": 2}
    one, other = dialogues(result)
    # (user, agent): the agent's last text is empty and dropped
    assert (one["turns"], other["turns"]) == (TURNS, TURNS[:1])
    assert (one["source_dialogue_id"], one["label"], other["label"]) == ("d7", "Dog", None)
    assert one["object_ids"] == other["object_ids"] == ["r0-invig-test-d7", "r0-invig-test-d8"]
    assert other["initial_candidate_ids"] == ["r0-invig-test-d8"]
    boxes = {row["object_id"]: row["bbox_xyxy"] for row in result.objects.to_pylist()}
    assert boxes["r0-invig-test-d7"] == [160.0, 240.0, 480.0, 420.0]
    assert result.images["source_image_id"].to_pylist() == [hexadecimal(7), hexadecimal(9)]
    assert result.notes[1] == "pairs are (user, agent): as this revision has them"
    assert result.opened == ()


@pytest.mark.parametrize("revision", sorted(SCHEMAS))
def test_every_way_of_writing_gives_the_same(revision: str, tmp_path: Path) -> None:
    rows = [MAKE[revision](number) for number in range(40)]
    options = {"box_unit": UNITS[revision], "images_folder": write_photographs(tmp_path / "p", *range(40))}
    expected = read(write_parquet(tmp_path / "plain.parquet", revision, rows), **options)
    assert expected.rows_in["dialogue"] == 40
    assert not expected.rejected
    shards = tmp_path / "shards"
    for number, part in enumerate((rows[30:], rows[:30])):
        write_parquet(shards / f"test-{number:05}-of-00002.parquet", revision, part, named=True, row_group_size=7)
    write_parquet(shards / "train-00000-of-00001.parquet", revision, rows[:1])
    other = pa.Table.from_pylist(rows[::-1], schema=SCHEMAS[revision])
    other = other.select(sorted(other.column_names)).drop_columns(["dialog_cn"] if revision != "456ac78" else [])
    pq.write_table(other, tmp_path / "other.parquet", compression="zstd", use_dictionary=False)
    ways = [shards, tmp_path / "other.parquet"]
    if revision != "6f51235":
        ways.append(write_lines(tmp_path / "lines.jsonl", rows))
    for way in ways:
        found = read(way, **options)
        assert (found.images, found.objects, found.dialogues) == (
            expected.images,
            expected.objects,
            expected.dialogues,
        )
    assert read(shards, **options).opened[:2] == (
        shards / "test-00000-of-00002.parquet",
        shards / "test-00001-of-00002.parquet",
    )


def test_lines_of_6f51235_take_the_size_from_the_image_folder(tmp_path: Path) -> None:
    folder = write_photographs(tmp_path / "photographs", 1)
    rows = [second(1, image={"path": f"imgs/{hexadecimal(1)}_Fast food_2.jpg"}), second(2, image=None)]
    result = read(write_lines(tmp_path / "a.jsonl", rows), images_folder=folder)
    assert [(image["frame_width"], image["frame_height"]) for image in result.images.to_pylist()] == [(640, 480)]
    assert {verdict.rule for verdict in result.rejected} == {"no_size", "image_rejected"}
    assert result.opened[-1] == folder / f"imgs/{hexadecimal(1)}_Fast food_2.jpg"


@pytest.mark.parametrize(
    ("field", "expected"),
    [("ref_bboxes", ["b1"]), ("bboxes", ["b0", "b1", "b2"]), ("label", ["b0", "b1"]), ("raw_target", ["b2", "b1"])],
)
def test_initial_candidates_of_0189f8c(field: str, expected: list[str], tmp_path: Path) -> None:
    folder = write_photographs(tmp_path, 1, 2)
    rows = [first(1, raw_target=[2, 1, 2]), first(2, category="Cat", raw_target=None, bbox=[1, 2, 3, 4])]
    result = read(
        write_parquet(tmp_path / "a.parquet", "0189f8c", rows), images_folder=folder, initial_candidates=field
    )
    one, other = dialogues(result)
    assert one["initial_candidate_ids"] == expected
    assert (
        other["initial_candidate_ids"]
        == {
            "ref_bboxes": ["r0"],
            "bboxes": ["b0", "b1", "b2"],
            "label": [],
            "raw_target": [],
        }[field]
    )
    flags = [(verdict.record_id, verdict.rule) for verdict in result.flagged]
    assert flags == ([("invig-test-d2", "no_object_of_class")] if field == "label" else [])


@pytest.mark.parametrize(
    ("revision", "field", "without", "can"),
    [
        ("456ac78", "bboxes", [], "ref_bboxes"),
        ("6f51235", "label", [], "ref_bboxes"),
        ("0189f8c", "raw_target", ["raw_target"], "bboxes, label, ref_bboxes"),
        ("0189f8c", "label", ["category"], "bboxes, raw_target, ref_bboxes"),
        ("0189f8c", "bboxes", ["raw_anns", "raw_target"], "ref_bboxes"),
    ],
)
def test_what_a_form_cannot_give_is_refused(
    revision: str, field: str, without: list[str], can: str, tmp_path: Path
) -> None:
    path = write_parquet(tmp_path / "a.parquet", revision, [MAKE[revision]()])
    pq.write_table(pq.read_table(path).drop_columns(without), path)
    with pytest.raises(UsageError) as caught:
        read(path, initial_candidates=field, box_unit=UNITS[revision])
    name = f"the Hugging Face copy, revision {revision}"
    assert f"'{field}' cannot be given by {name}, which has {can}" in str(caught.value)


def test_a_target_that_is_no_box_rejects_the_dialogue_it_is_wanted_for(tmp_path: Path) -> None:
    objects = [*OBJECTS, {"bbox": [5, 5, 5, 9], "label": "Dog"}]
    path = write_parquet(tmp_path / "a.parquet", "0189f8c", [first(raw_anns=json.dumps(objects), raw_target=[3])])
    folder = write_photographs(tmp_path, 1)
    assert [v.rule for v in read(path, images_folder=folder).rejected] == ["degenerate_box"]
    said = read(path, images_folder=folder, initial_candidates="raw_target").rejected
    assert [v.rule for v in said] == ["invalid_boxes", "degenerate_box"]


def test_a_key_of_raw_anns_there_twice_is_named(tmp_path: Path) -> None:
    row = first(raw_anns='[{"bbox": [10, 20, 110, 70], "label": "Dog", "bbox": [1, 2, 3, 4]}]', raw_target=[0])
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(DataError, match=r'line 1 \$\.raw_anns: \$\[0\] has the key "bbox" 2 times'):
        invig.read(path, split="test", source_name="mine", initial_candidates="bboxes", photograph_licence="CC-BY-2.0")


def test_ids_that_disagree_are_flagged(tmp_path: Path) -> None:
    row = third(1, image_info={"id": f"openimages.{hexadecimal(2)}"})
    result = read(write_parquet(tmp_path / "a.parquet", "456ac78", [row]), box_unit="unit")
    assert [verdict.rule for verdict in result.flagged] == ["ids_differ"]
    assert result.images["source_image_id"].to_pylist() == [hexadecimal(1)]
    row = third(1, image_info={"file_name": "plain.jpg"})
    result = read(write_parquet(tmp_path / "a.parquet", "456ac78", [row]), box_unit="unit")
    assert (result.flagged, result.images["source_image_id"].to_pylist()) == ((), [hexadecimal(1)])


def test_photographs_that_may_be_too_large_are_noted(tmp_path: Path) -> None:
    rows = [first(number) for number in range(20)]
    path = write_parquet(tmp_path / "a.parquet", "0189f8c", rows)
    fits = read(path, images_folder=write_photographs(tmp_path / "right", *range(20)))
    assert not any("reaches" in note for note in fits.notes)
    large = read(path, images_folder=write_photographs(tmp_path / "large", *range(20), size=(1024, 768)))
    assert "no box reaches beyond 60.5% of the width and 61.2% of the height" in large.notes[-1]


@pytest.mark.parametrize(
    ("revision", "unit", "told"),
    [
        ("456ac78", "pixel", "declared in pixels, but 100.0% of 4 boxes are fractions of at most 1, 0.0% have a value"),
        ("6f51235", "unit", "declared in units, but 0.0% of 4 boxes are fractions of at most 1, 100.0% have a value"),
    ],
)
def test_the_declared_unit_is_checked(revision: str, unit: str, told: str, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", revision, [MAKE[revision](number) for number in range(4)])
    with pytest.raises(DataError, match=told):
        read(path, box_unit=unit)


def test_one_box_of_another_unit_is_no_other_unit(tmp_path: Path) -> None:
    rows = [second(number) for number in range(30)]
    rows[3]["bbox"] = [0.25, 0.25, 0.5, 0.5]
    assert not read(write_parquet(tmp_path / "a.parquet", "6f51235", rows)).rejected
    for row in rows[:3]:
        row["bbox"] = [0.25, 0.25, 0.5, 0.75]
    with pytest.raises(DataError, match=r"13\.3% of 30 boxes are fractions of at most 1, 86\.7% have a value above 1"):
        read(write_parquet(tmp_path / "a.parquet", "6f51235", rows))


def test_shards_are_all_there_and_of_one_split_and_revision(tmp_path: Path) -> None:
    def refused(told: str, split: str = "test") -> None:
        with pytest.raises(DataError, match=told):
            read(tmp_path, split=split, box_unit="unit")

    refused("is a folder without a .parquet file")
    path = write_parquet(tmp_path / "test-00000-of-00002.parquet", "456ac78", [third(1)])
    refused("holds 1 of the 2 shards of the split test")
    refused("holds no shard of the split validation, but of test", "validation")
    second_path = write_parquet(tmp_path / "test-00001-of-00002.parquet", "6f51235", [second(2)])
    refused("holds shards of several revisions")
    second_path.rename(tmp_path / "more.parquet")
    refused("holds shards of splits, and beside them more.parquet")
    (tmp_path / "more.parquet").rename(tmp_path / "test-00000-of-00001-0123456789abcdef.parquet")
    refused("of more than one upload")
    (tmp_path / "test-00000-of-00001-0123456789abcdef.parquet").unlink()
    path.rename(tmp_path / "0000.parquet")
    assert read(tmp_path, box_unit="unit").rows_in["dialogue"] == 1


def test_a_pipe_or_a_broken_link_among_shards_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").symlink_to(tmp_path / "nowhere.parquet")
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_bad_case(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case is a file of lines; where its rows fit the columns of Parquet, that tells the same."""
    options = json.loads((BAD / case / "options.json").read_text(encoding="utf-8"))
    revision = options.pop("revision", "")
    rows = (BAD / case / "input.jsonl").read_bytes()
    (tmp_path / "input.jsonl").write_bytes(rows)
    ways = [("input.jsonl", "line ")]
    if revision:
        lines = [json.loads(line) for line in rows.splitlines()]
        ways.append((write_parquet(tmp_path / "input.parquet", revision, lines).name, "row "))
    monkeypatch.chdir(tmp_path)
    wrong = BAD / case / "message.txt"
    for name, place in ways:
        if wrong.exists():
            with pytest.raises(DataError) as caught:
                read(Path(name), **options)
            told = str(caught.value).replace(name, "input.jsonl").replace(f"input.jsonl {place}", "input.jsonl line ")
            assert told == wrong.read_text(encoding="utf-8").rstrip("\n")
        else:
            result = read(Path(name), **options)
            said = [asdict(verdict) for verdict in (*result.rejected, *result.flagged)]
            assert said == json.loads((BAD / case / "verdicts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"a": [1]}, "has the columns a, which are those of no revision"),
        ({"ann": ["{}"], "id": [1]}, "which are those of no revision"),
        ({"dialog": [[["a"]]], "image_path": ["x.jpg"]}, "revision 0189f8c, but lacks the columns id, bbox"),
        ({"ref_list": [[]]}, "revision 456ac78, but lacks the columns image_info"),
        ({"dialog": ["text"], "bbox": [[1.0]], "image_id": ["1"]}, r"\$\.dialog: the column is string, must be lists"),
        (
            {"dialog": [[["a"]]], "bbox": [["1"]], "image_id": [1.5]},
            r"(?s)\$\.bbox: the column is string, must be numbers.*\$\.image_id: the column is double, must be text or",
        ),
        (
            {"ref_list": [[{"id": "1", "dialog": [["a"]]}]], "image_info": ["x"]},
            r"(?s)\$\.image_info: the column is string, must be structs.*\$\.ref_list: the column has no field bbox",
        ),
        (
            {"dialog": [[["a"]]], "bbox": [[1.0]], "image": [b"x"]},
            r"\$\.image: the column is binary, must be photographs",
        ),
    ],
)
def test_columns_that_do_not_fit_are_named(columns: dict[str, Any], told: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=told):
        read(tmp_path / "a.parquet")


def test_a_column_there_twice_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["dialog", "dialog"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has two columns of one name: dialog"):
        read(tmp_path / "a.parquet")


def test_columns_of_nulls_and_other_widths_can_be_read(tmp_path: Path) -> None:
    types = {"bbox": pa.list_(pa.float32(), 4), "dialog": pa.large_list(pa.list_(pa.large_string()))}
    rows = [{key: first()[key] for key in ("id", "dialog", "bbox", "image_path")}]
    table = pa.table({key: pa.array([rows[0][key]], types.get(key)) for key in rows[0]})
    table = table.append_column("raw_anns", pa.nulls(1)).append_column(
        "category", pa.array(["Dog"]).dictionary_encode()
    )
    pq.write_table(table, tmp_path / "a.parquet")
    result = read(tmp_path / "a.parquet", images_folder=write_photographs(tmp_path, 1))
    assert (dialogues(result)[0]["turns"], dialogues(result)[0]["label"]) == (TURNS, "Dog")


def test_text_that_is_no_utf8_is_named(tmp_path: Path) -> None:
    bad = pa.array([b"the \xff dog"]).view(pa.string())
    table = pa.Table.from_pylist([first()], schema=SCHEMAS["0189f8c"]).set_column(0, "id", bad)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"is damaged: .*UTF8"):
        read(tmp_path / "a.parquet")


RAW = {
    "user_id": "1",
    "image_id": hexadecimal(3),
    "dialog": "one:狗\ntwo:哪只\none:左边",
    "objects": [{"bbox": [1, 2, 3, 4], "label": "Dog"}],
}


@pytest.mark.parametrize(("is_list", "indent"), [(True, None), (True, 1), (False, None)])
def test_the_raw_annotation_is_recognised(is_list: bool, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "anns.json"
    path.write_text(json.dumps([RAW] * 3 if is_list else RAW, ensure_ascii=False, indent=indent), encoding="utf-8")
    with pytest.raises(DataError, match=r"holds InViG's raw annotations \(v0\.1\).*use the publisher's invig21k_"):
        read(path)


HEADS = [
    b"PAR1",
    b"[",
    b"\xef\xbb\xbf",
    b'{"dialog": [["a", ""]], "image_id": ',
    b'[{"dialog": "a", "objects": ',
    b'{"ref_list": ',
]


@given(content=st.binary(max_size=60), head=st.sampled_from(HEADS))
@settings(max_examples=40)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes, head: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "a"
    path.write_bytes(head + content)
    with pytest.raises(DataError):
        read(path)


@given(data=st.data())
@settings(max_examples=50)
def test_damaged_parquet(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    revision = data.draw(st.sampled_from(sorted(SCHEMAS)))
    folder = tmp_path_factory.mktemp("damaged")
    path = write_parquet(folder / "a.parquet", revision, [MAKE[revision](number) for number in range(3)])
    content = bytearray(path.read_bytes())
    dice = random.Random(data.draw(st.integers(0, 2**32)))
    for _ in range(data.draw(st.integers(1, 8))):
        content[dice.randrange(4, len(content))] = dice.randrange(256)
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] if dice.random() < 0.2 else content)
    with contextlib.suppress(DataError, UsageError):
        read(path, box_unit=UNITS[revision])


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([2**63, 10**400, 1e308, -1e308, "", "\ud800", "a\0b", "../x.jpg", "x" * 300, "[]", "[{}]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def mutated(rows: list[Row], data: st.DataObject) -> list[Row]:
    for _ in range(data.draw(st.integers(1, 3))):
        rows = copy.deepcopy(rows)
        node: Any = rows
        while keys := list(node) if isinstance(node, dict) else list(range(len(node))):
            key = data.draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and data.draw(st.integers(0, 5)):
                node = node[key]
            elif data.draw(st.integers(0, 3)):
                node[key] = data.draw(anything)
                break
            else:
                del node[key]
                break
    return rows


@given(data=st.data())
@settings(max_examples=70)
def test_mutated_rows(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    revision = data.draw(st.sampled_from(sorted(SCHEMAS)))
    rows = mutated([as_json(MAKE[revision](number)) for number in range(3)], data)
    folder = tmp_path_factory.mktemp("mutated")
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    field = data.draw(st.sampled_from(["ref_bboxes", "bboxes", "label", "raw_target"]))
    with contextlib.suppress(DataError, UsageError):
        read(path, box_unit=UNITS[revision], initial_candidates=field, images_folder=folder)
    try:
        table = pa.Table.from_pylist(rows)
        pq.write_table(table, folder / "a.parquet")
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError):
        return
    with contextlib.suppress(DataError, UsageError):
        read(folder / "a.parquet", box_unit=UNITS[revision], initial_candidates=field, images_folder=folder)
