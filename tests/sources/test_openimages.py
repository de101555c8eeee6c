# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images reader: the bad cases, real and drawn files, pandas as the oracle, order, pieces and fuzz."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.errors import DataError
from groundset.sources import openimages, openimages_rows
from groundset.sources.imported import Imported

BAD = Path(__file__).parents[1] / "bad" / "openimages"
CASES = sorted(path.name for path in BAD.iterdir())
SOUND = BAD / "sound"
NAMES = {
    "annotations": "boxes.csv",
    "image_metadata": "images.csv",
    "class_descriptions": "classes.csv",
    "hierarchy": "hierarchy.json",
}
COLUMNS = openimages_rows.COLUMNS
EDGES, FLAGS = ["XMin", "YMin", "XMax", "YMax"], ["IsGroupOf", "IsDepiction"]


def check_account(result: Imported) -> None:
    lost = Counter(verdict.kind for verdict in result.rejected)
    for kind, table in (("image", result.images), ("object", result.objects)):
        assert result.rows_in[kind] == table.num_rows + lost[kind], kind
    assert all(verdict.hard for verdict in result.rejected)
    assert not any(verdict.hard for verdict in result.flagged)
    schema.require_table("image", result.images, "images", "image_id")
    schema.require_table("object", result.objects, "objects", "object_id")
    assert set(result.objects["image_id"].to_pylist()) <= set(result.images["image_id"].to_pylist())
    assert result.images["image_id"].to_pylist() == sorted(result.images["image_id"].to_pylist())
    ids = list(zip(result.objects["image_id"].to_pylist(), result.objects["object_id"].to_pylist(), strict=True))
    assert ids == sorted(set(ids))


def read(folder: Path, **options: Any) -> Imported:
    paths = {key: folder / name for key, name in NAMES.items()}
    result = openimages.read(**{**paths, **options})
    check_account(result)
    return result


def same(one: Imported, other: Imported) -> bool:
    tables = one.images.equals(other.images) and one.objects.equals(other.objects)
    return tables and (one.rows_in, one.flagged) == (other.rows_in, other.flagged)


def copied(folder: Path, **files: str | bytes) -> Path:
    """A sound source in a folder, with some of its files replaced."""
    shutil.copytree(SOUND, folder, dirs_exist_ok=True)
    for key, content in files.items():
        (folder / NAMES[key]).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def box(
    image: str = "000002b66c9c498e",
    label: str = "/m/04yx4",
    edges: tuple[object, ...] = (0.1, 0.3, 0.2, 0.4),
    flags: str = "0,0,0,0,0",
) -> str:
    return f"{image},xclick,{label},1,{','.join(map(str, edges))},{flags}"


HEADER = ",".join(COLUMNS[:13])


def box_file(*rows: str, header: str = HEADER, end: str = "\n") -> str:
    return end.join([header, *rows, ""])


@pytest.mark.parametrize("case", CASES)
def test_bad_case(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(BAD / case, copied(tmp_path), dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    wrong = BAD / case / "message.txt"
    if wrong.exists():
        with pytest.raises(DataError) as caught:
            read(Path())
        assert str(caught.value) == wrong.read_text(encoding="utf-8").rstrip("\n")
    else:
        result = read(Path())
        said = [asdict(verdict) for verdict in (*result.rejected, *result.flagged)]
        assert said == json.loads((BAD / case / "verdicts.json").read_text(encoding="utf-8"))


def test_fields(tmp_path: Path) -> None:
    rows = [
        box(edges=("0.243542", "0.4345020000000001", "0.805204", "0.90225"), flags="1,0,1,0,0"),
        box("00000b4dcff7f799", "/m/0bt9lr", edges=("0.000000", "1.000000", "0", "1"), flags="-1,-1,-1,-1,-1"),
        box("00000b4dcff7f799", "/m/01mzpv", flags="0,0,0,1,0"),
    ]
    result = read(copied(tmp_path, annotations=box_file(*rows)), source_name="mine")
    chair, dog, man = sorted(result.objects.to_pylist(), key=lambda row: row["label"])
    assert man == {
        "object_id": "o1",
        "image_id": "openimages-000002b66c9c498e",
        "label": "Man",
        "category": "person",
        "specificity": 1,
        "bbox_xyxy": [0.243542, 0.805204, 0.4345020000000001, 0.90225],
        "frame_width": 1.0,
        "frame_height": 1.0,
        "is_group": 1,
        "is_depiction": 0,
        "mask_area": None,
    }
    assert (dog["bbox_xyxy"], dog["category"]) == ([0.0, 0.0, 1.0, 1.0], "animal")
    assert (dog["is_group"], dog["is_depiction"]) == (-1, -1)
    assert (chair["category"], chair["is_group"], chair["is_depiction"]) == (None, 0, 1)
    one, two = result.images.to_pylist()
    assert (one["image_id"], two["image_id"]) == ("openimages-000002b66c9c498e", "openimages-00000b4dcff7f799")
    assert (one["source"], one["source_name"], one["source_image_id"]) == ("openimages", "mine", "000002b66c9c498e")
    assert (one["file_name"], one["frame_width"], one["frame_height"]) == ("000002b66c9c498e.jpg", 1.0, 1.0)
    assert (one["licence"], one["author"], one["title"]) == ("CC-BY-2.0", "Karen", "Three boys")
    assert (one["flickr_id"], one["rotation"]) == ("5898076654", 0)
    assert result.notes == ("boxes.csv: the columns of V4, V5 and all validation and test files",)


def test_the_drawn_world(small_world: Path) -> None:
    folder = small_world / "openimages"
    result = openimages.read(
        folder / "validation-annotations-bbox.csv",
        image_metadata=folder / "validation-images-with-rotation.csv",
        class_descriptions=folder / "class-descriptions-boxable.csv",
        hierarchy=folder / "bbox_labels_600_hierarchy.json",
    )
    check_account(result)
    assert result.rejected == ()
    assert result.images.num_rows == 13
    assert Counter(result.images["rotation"].to_pylist()) == {0: 11, 90: 1, None: 1}
    assert Counter(result.objects["is_depiction"].to_pylist())[1] == 1
    assert Counter(result.objects["is_group"].to_pylist())[1] == 1
    persons = [row["label"] for row in result.objects.to_pylist() if row["category"] == "person"]
    assert persons.count("Person") * 2 == len(persons) > 0
    assert all(row["category"] for row in result.objects.to_pylist() if row["label"] not in ("Bench", "Coffee cup"))


def by_pandas(boxes: Path, classes: Path) -> pd.DataFrame:
    names = pd.read_csv(classes)
    names.columns = ["LabelName", "label"]
    table = pd.read_csv(boxes, dtype=str)
    table[EDGES] = table[EDGES].map(float)
    table[FLAGS] = table[FLAGS].map(int)
    return table.merge(names, on="LabelName", how="left")


@pytest.mark.parametrize("name", ["train-annotations-bbox.head3000.csv", "oidv6-train-annotations-bbox.quoted3.csv"])
def test_same_as_pandas_on_the_real_files(name: str, shared: Path) -> None:
    folder = shared / "openimages"
    classes = folder / "class-descriptions-boxable.header.csv"
    expected = by_pandas(folder / name, classes)
    metadata = folder / "train-images-boxable-with-rotation.quoted2.csv"
    tree = folder / "bbox_labels_600_hierarchy.json"
    result = openimages.read(
        folder / name, image_metadata=metadata, class_descriptions=classes, hierarchy=tree, piece_bytes=20_000
    )
    check_account(result)
    assert not result.rejected
    rows = sorted(expected[["ImageID", "label", *EDGES, *FLAGS]].itertuples(index=False, name=None))
    found = [
        (
            row["image_id"].removeprefix("openimages-"),
            row["label"],
            *row["bbox_xyxy"],
            row["is_group"],
            row["is_depiction"],
        )
        for row in result.objects.to_pylist()
    ]
    assert sorted(found) == rows
    assert result.images.num_rows == expected["ImageID"].nunique()
    assert {verdict.rule for verdict in result.flagged} == {"no_metadata"}
    assert len(result.flagged) == result.images.num_rows


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_line_ends_marks_and_delimiters_do_no_harm(tmp_path: Path, end: str, mark: bytes, delimiter: str) -> None:
    rows = [box(), box("00000b4dcff7f799", "/m/0bt9lr"), box("00000b4dcff7f799", "/m/014j1m")]
    text = box_file(*rows, end=end).replace(",", delimiter)
    written = copied(tmp_path / "other", annotations=mark + text.encode())
    written.joinpath("images.csv").write_bytes(mark + (SOUND / "images.csv").read_text().replace("\n", end).encode())
    assert same(read(written), read(copied(tmp_path / "plain", annotations=box_file(*rows))))


def test_columns_are_taken_by_name_in_any_order_and_number(tmp_path: Path) -> None:
    rows = [box(), box("00000b4dcff7f799", "/m/0bt9lr", edges=(0.25, 0.5, 0.125, 0.75), flags="0,0,1,1,0")]
    expected = read(copied(tmp_path, annotations=box_file(*rows)))
    clicks = ",".join(COLUMNS[13:])
    values = ",".join(["0.5"] * 8)
    longer = box_file(*(f"{row},{values}" for row in rows), header=f"{HEADER},{clicks}")
    assert same(read(copied(tmp_path, annotations=longer)), expected)
    order = random.Random(3).sample(range(21), 21)
    table = [line.split(",") for line in longer.splitlines()]
    mixed = "".join(",".join(line[place] for place in order) + "\n" for line in table)
    assert same(read(copied(tmp_path, annotations=mixed)), expected)
    quoted = io.StringIO()
    csv.writer(quoted, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    assert same(read(copied(tmp_path, annotations=quoted.getvalue())), expected)
    shorter = "".join(",".join(line[:8]) + "\n" for line in table)
    result = read(copied(tmp_path, annotations=shorter))
    assert result.objects["is_group"].to_pylist() == result.objects["is_depiction"].to_pylist() == [-1, -1]
    assert result.notes == ("boxes.csv: the columns of V3; all flags are unknown",)


def test_ids_do_not_depend_on_rules_or_other_images(tmp_path: Path) -> None:
    rows = [box(edges=(0.01 * place, 0.9, 0.2, 0.4)) for place in range(12)]
    rows.insert(4, box(edges=(0.035, 0.03, 0.2, 0.4)))
    result = read(copied(tmp_path, annotations=box_file(*rows, box("00000b4dcff7f799"))))
    of_first = {row["bbox_xyxy"][0]: row["object_id"] for row in result.objects.to_pylist()[:12]}
    # the degenerate box stays out, and keeps its number
    assert (of_first[0.03], of_first[0.04]) == ("o4", "o6")
    assert result.rejected[0].record_id == "openimages-000002b66c9c498e/o5"
    assert [row["object_id"] for row in result.objects.to_pylist()][:4] == ["o1", "o10", "o11", "o12"]


IMAGES = ("000002b66c9c498e", "00000b4dcff7f799", "1234567890e12345", "ffffffffffffffff", "8000000000000000")
edge = st.sampled_from(["0", "-0.0", "0.5", "0.25", "0.750000", "1.000000", "1.0000005", "1.1", "1e-3", ".5"])
good_rows = st.builds(
    box,
    st.sampled_from(IMAGES),
    st.sampled_from(["/m/04yx4", "/m/0bt9lr", "/m/0zzzz", " /m/04yx4"]),
    st.tuples(edge, edge, edge, edge),
    st.sampled_from(["0,0,0,0,0", "-1,-1,-1,-1,-1", "0,0,1.0,0,0", "0,0,,nan,0"]),
)
odd_rows = st.sampled_from(
    [
        "",
        "   ",
        "a,b",
        box("1.2E+15"),
        box(edges=("x", 0.3, 0.2, 0.4)),
        box(flags="0,0,7,0,0"),
        box(edges=('"0.1', 0.3, 0.2, 0.4)),
    ]
)


@given(rows=st.lists(good_rows | odd_rows, max_size=24), seed=st.integers(0, 2**32), piece=st.integers(1, 600))
@settings(max_examples=15, deadline=None)
def test_neither_order_nor_pieces_matter(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], seed: int, piece: int
) -> None:
    # enough sound boxes that the convention is not in doubt
    rows = rows + [box("0123456789abcdef", edges=(0.01 * place, 0.9, 0.1, 0.9)) for place in range(80)]
    folder = tmp_path_factory.mktemp("order")
    expected = read(copied(folder, annotations=box_file(*rows)))
    with ThreadPoolExecutor(3) as threads:
        by_pieces = read(folder, piece_bytes=piece * 5, executor=threads)
    assert same(by_pieces, expected)
    assert by_pieces.rejected == expected.rejected
    mixed = read(copied(folder, annotations=box_file(*random.Random(seed).sample(rows, len(rows)))), piece_bytes=900)
    assert same(mixed, expected)
    # a damaged row is named by its line, and that has changed
    rules = [Counter((v.rule, v.detail.partition(": ")[2]) for v in result.rejected) for result in (mixed, expected)]
    assert rules[0] == rules[1]


def test_an_image_that_spans_pieces_stays_whole(tmp_path: Path) -> None:
    rows = [box(edges=(round(0.001 * place, 3), 0.9, 0.2, 0.4)) for place in range(300)]
    folder = copied(tmp_path, annotations=box_file(box("0000000000000001"), *rows, box("fffffffffffffff0")))
    result = read(folder, piece_bytes=1000)
    ids = [row["object_id"] for row in result.objects.to_pylist() if row["image_id"].endswith("498e")]
    assert set(ids) == {f"o{number}" for number in range(1, 301)}


def test_a_file_without_rows_is_empty_and_not_wrong(tmp_path: Path) -> None:
    for text in (HEADER, HEADER + "\n\n"):
        result = read(copied(tmp_path, annotations=text))
        assert (result.images.num_rows, result.objects.num_rows, result.rejected) == (0, 0, ())


MANY = 10_001


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda n: f"{n:x},xclick,broken", "line 2: has 3 fields"),
        (lambda n: box(f"{n:016x}", "/m/0other", (0.1, 0.3, 0.2, 0.4)), "10001 of 10001 boxes have classes"),
        (lambda n: box("0000000000000001"), "10000 of 10001 rows repeat"),
        (lambda n: box(f"{n:016x}", edges=(0.5, 0.5, 0.2, 0.2)), "10001 of 10001 boxes have no width or height"),
        (lambda n: box(f"{n:016x}"), "has no row of 10001 of the 10001 images"),
    ],
)
def test_faults_by_the_thousand_are_the_files_fault(tmp_path: Path, make: Callable[[int], str], told: str) -> None:
    folder = copied(tmp_path, annotations=box_file(*map(make, range(MANY))))
    if "repeat" in told:
        assert len(read(copied(folder, annotations=box_file(*map(make, range(500))))).rejected) == 499
        copied(folder, annotations=box_file(*map(make, range(MANY + 1))))
        told = told.replace("10000 of 10001", "10001 of 10002")
    with pytest.raises(DataError, match=told):
        read(folder)


def test_damage_far_into_the_file_is_named_by_its_line(tmp_path: Path) -> None:
    rows = [box(edges=(round(0.0001 * place, 4), 0.9, 0.2, 0.4)) for place in range(3000)]
    rows[2500] = "x"
    (verdict,) = read(copied(tmp_path, annotations=box_file(*rows, end="\r\n")), piece_bytes=4096).rejected
    assert (verdict.record_id, verdict.detail) == ("boxes.csv line 2502", "line 2502: has 1 fields, the header has 13")


def test_one_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openimages, "LONGEST_PIECE_BYTES", 1000)
    with pytest.raises(DataError, match="CR alone"):
        read(copied(tmp_path, annotations=box_file(*[box()] * 50, end="\r")))


@pytest.mark.parametrize("key", NAMES)
@pytest.mark.parametrize("place", ["missing", ".", "a\0b", "x" * 5000])
def test_unreadable_path(tmp_path: Path, key: str, place: str) -> None:
    folder = copied(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read(folder, **{key: folder / place})


def attempt(folder: Path) -> None:
    """Reads files that may be anything: only Imported or DataError may come of it."""
    with contextlib.suppress(DataError):
        read(folder, piece_bytes=200)


@given(key=st.sampled_from(sorted(NAMES)), data=st.binary(max_size=200), headed=st.booleans())
@settings(max_examples=60, deadline=None)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, key: str, data: bytes, headed: bool) -> None:
    folder = copied(tmp_path_factory.mktemp("bytes"))
    start = (SOUND / NAMES[key]).read_bytes().partition(b"\n")[0] + b"\n" if headed else b""
    (folder / NAMES[key]).write_bytes(start + data)
    attempt(folder)


SNIPPETS = """\n \r \r\n " , ,, ; \t \0 nan inf -1 2 1e999 0x1 /m/04yx4 000002b66c9c498e { ] null é"""
pieces = st.sampled_from([b"", b" ", b"\xff", codecs.BOM_UTF8, b"9" * 400, *SNIPPETS.encode().split(b" ")])


@given(key=st.sampled_from(sorted(NAMES)), data=st.data())
@settings(max_examples=80, deadline=None)
def test_mutated_files(tmp_path_factory: pytest.TempPathFactory, key: str, data: st.DataObject) -> None:
    folder = copied(tmp_path_factory.mktemp("mutated"))
    content = bytearray((SOUND / NAMES[key]).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        stop = min(len(content), start + data.draw(st.integers(0, 12)))
        content[start:stop] = data.draw(pieces)
    (folder / NAMES[key]).write_bytes(bytes(content))
    attempt(folder)
