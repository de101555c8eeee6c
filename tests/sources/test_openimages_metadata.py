# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' image metadata, as the publisher writes it and as copies of it come."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.licences import photo_page_from_flickr
from groundset.sources import openimages_metadata
from groundset.sources.openimages_ids import keys_of
from groundset.sources.openimages_metadata import COLUMNS, image_table, read_metadata

HEADER = ",".join(COLUMNS) + "\n"
ONE, OTHER, THIRD = "000000011961367c", "1e00000000000001", "ffffffffffffffff"


def row(image_id: str, author: str = "An Author", title: str = "A title", rotation: str = "0.0") -> str:
    photo = "https://farm3.staticflickr.com/5310/5898076654_51085e157c_o.jpg"
    page = "https://www.flickr.com/photos/someone/5898076654"
    licence = "https://creativecommons.org/licenses/by/2.0/"
    return f"{image_id},train,{photo},{page},{licence},https://a.invalid/,{author},{title},1,x==,t,{rotation}\n"


def written(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    path = tmp_path / "images.csv"
    path.write_bytes((header + "".join(rows)).encode())
    return path


def test_the_real_rows_give_a_full_credit(shared: Path) -> None:
    path = shared / "openimages" / "train-images-boxable-with-rotation.quoted2.csv"
    found = read_metadata(path, ["4fa8054781a4c382", "0000000000000000", "no id"])
    assert list(found) == ["4fa8054781a4c382"]
    told = found["4fa8054781a4c382"]
    assert told["author"] == "Michael Beat"
    assert told["title"] == "...die FNF-Kerze"
    assert told["licence"] == "CC-BY-2.0"
    assert told["landing_url"] == "https://www.flickr.com/photos/michael-beat/5898076654"
    assert (told["flickr_id"], told["rotation"]) == ("5898076654", 0)


def test_every_field_is_that_of_the_csv_module(shared: Path) -> None:
    path = shared / "openimages" / "train-images-boxable-with-rotation.quoted2.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["ImageID"]: row for row in csv.DictReader(file)}
    found = read_metadata(path, rows)
    assert found.keys() == rows.keys()
    for image_id, told in found.items():
        for name, column in openimages_metadata.TEXTS.items():
            assert told[name] == (rows[image_id][column] or None)


@pytest.mark.parametrize(
    ("rotation", "degrees"),
    [("0.0", 0), ("90.0", 90), ("180.0", 180), ("270.0", 270), ("90", 90), ("90.", 90), ("", None), ("nan", None)],
)
def test_rotation_is_read_and_unknown_is_not_zero(tmp_path: Path, rotation: str, degrees: int | None) -> None:
    found = read_metadata(written(tmp_path, row(ONE, rotation=rotation)), [ONE])
    assert found[ONE]["rotation"] == degrees


def test_a_file_of_v3_has_no_rotation(tmp_path: Path) -> None:
    header = HEADER.replace(",Rotation", "")
    path = written(tmp_path, row(ONE).rpartition(",")[0] + "\n", header=header)
    assert read_metadata(path, [ONE])[ONE]["rotation"] is None


TITLES = [
    '"Red, blue and ""green"""',
    '"two\nlines"',
    '"two\r\n\r\nlines, one blank"',
    "Собака на траве",
    "صورة",
    "NULL",
    "nan",
    "=1+1",
    "O'Brien’s lunch",
    '12" record',
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_titles_of_every_kind_come_through(tmp_path: Path, end: str) -> None:
    ids = [f"{number:016x}" for number in range(len(TITLES))]
    rows = [row(image_id, title=title).removesuffix("\n") for image_id, title in zip(ids, TITLES, strict=True)]
    path = written(tmp_path, end.join([*rows, ""]), header=HEADER.replace("\n", end))
    found = read_metadata(path, ids)
    plain = [title[1:-1].replace('""', '"') if title.startswith('"') else title for title in TITLES]
    assert [found[image_id]["title"] for image_id in ids] == plain


def test_line_ends_in_titles_may_lie_on_the_borders_of_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openimages_metadata, "_BLOCK", 1000)
    monkeypatch.delattr(openimages_metadata, "_batches_carefully")
    titles = ["x" * (number % 90) + "\n" * (number % 5) for number in range(1, 301)]
    rows = [row(f"{number:016x}", title=f'"{title}"') for number, title in enumerate(titles)]
    found = read_metadata(written(tmp_path, *rows), [f"{number:016x}" for number in range(300)])
    assert [told["title"] for told in found.values()] == [title or None for title in titles]


def test_what_is_not_there_is_null(tmp_path: Path) -> None:
    found = read_metadata(written(tmp_path, row(ONE, author="", title="")), [ONE])
    assert (found[ONE]["author"], found[ONE]["title"]) == (None, None)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ((row(ONE), row(ONE, title="Another")), "two rows tell different things"),
        ((row(ONE, rotation="45.0"),), '"45.0" is no rotation'),
        ((f"{ONE},too,few\n",), "line 2 000000011961367c: has 3 fields"),
        ((row(OTHER), row(ONE, title="Red, blue")), "line 3 000000011961367c: has 13 fields"),
        ((row(OTHER), "torn off\n"), "line 3: has 1 fields"),
        ((row(ONE, title='"open'), row(OTHER, title='"closed"')), "a quote is not closed"),
        ((row(ONE, title='"' + "open" * 60_000), row(OTHER)), "line 2"),
    ],
)
def test_a_wrong_file_is_refused_by_place(tmp_path: Path, rows: tuple[str, ...], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        read_metadata(written(tmp_path, *rows), [ONE])


@pytest.mark.parametrize(
    "bad",
    [
        row(OTHER, rotation="45.0"),
        f"{OTHER},too,few\n",
        row(OTHER, title="Red, blue and green"),
        row(OTHER) + row(OTHER, author="Another"),
        "\n  \n",
    ],
)
def test_rows_of_other_images_do_no_harm(tmp_path: Path, bad: str) -> None:
    path = written(tmp_path, row(ONE), bad, row(THIRD))
    found = read_metadata(path, [THIRD, ONE])
    assert list(found) == [ONE, THIRD]
    assert found[ONE] == found[THIRD]


def test_bytes_that_are_no_text_matter_only_where_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    path.write_bytes((HEADER + row(ONE) + row(OTHER, title="Caf\xe9")).encode("latin-1"))
    assert read_metadata(path, [ONE])[ONE]["title"] == "A title"
    with pytest.raises(DataError, match="is not UTF-8"):
        read_metadata(path, [ONE, OTHER])


def test_equal_rows_are_one(tmp_path: Path) -> None:
    path = written(tmp_path, row(OTHER), row(ONE), row(OTHER))
    assert list(read_metadata(path, [ONE, OTHER])) == [ONE, OTHER]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"{ONE},x\n", header="ImageID,Source\n")
    with pytest.raises(DataError, match="OriginalLandingURL"):
        read_metadata(path, [ONE])
    with pytest.raises(DataError, match="cannot be read"):
        read_metadata(tmp_path / "missing.csv", [ONE])


def test_order_of_rows_does_not_matter_to_the_table(tmp_path: Path) -> None:
    rows = [row(f"{number:016x}", title=f"Title {number}") for number in range(50)]
    keys = np.arange(0, 60, 2, dtype=np.uint64)
    table, flagged = image_table(keys, written(tmp_path, *rows), "mine")
    other, again = image_table(keys, written(tmp_path, *reversed(rows)), "mine")
    assert table.equals(other)
    assert flagged == again
    assert [verdict.rule for verdict in flagged] == ["no_metadata"] * 5
    assert table["title"].to_pylist() == [f"Title {number}" if number < 50 else None for number in range(0, 60, 2)]
    assert table["source_name"].to_pylist() == ["mine"] * 30


address = st.from_regex(
    r"\Ahttps?://(?:farm3|c1|a-b)\.static\.?flickr\.com(?:/[0-9]{1,4}){0,2}/[0-9]{1,12}_[0-9a-f]{2}(?:_[a-z0-9]){0,2}"
    r"(?:\.jpg|\.JPG|\.jpg\?zz=1|)\Z"
)


@given(addresses=st.lists(st.none() | address | st.text(max_size=12), max_size=8))
def test_flickr_ids_by_the_column_are_those_of_the_single_address(addresses: list[str | None]) -> None:
    addresses = [None if text is None else text.encode("utf-8", "replace").decode() for text in addresses]
    found = openimages_metadata._flickr_ids(pa.array(addresses, type=pa.string())).to_pylist()
    assert found == [page[0] if (page := photo_page_from_flickr(text)) else None for text in addresses]


def test_keys_are_in_the_order_of_the_ids() -> None:
    ids = [ONE, OTHER, THIRD, "0000000000000000", "8000000000000000"]
    keys, sound = keys_of(pa.array(ids))
    assert sound.all()
    assert [ids[place] for place in np.argsort(keys)] == sorted(ids)
