# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' image metadata, as the publisher writes it and as copies of it come."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundset.errors import DataError
from groundset.sources.openimages import read_metadata

HEADER = (
    "ImageID,Subset,OriginalURL,OriginalLandingURL,License,AuthorProfileURL,Author,Title,OriginalSize,OriginalMD5,"
    "Thumbnail300KURL,Rotation\n"
)


def row(image_id: str, author: str = "An Author", title: str = "A title", rotation: str = "0.0") -> str:
    photo = "https://farm3.staticflickr.com/5310/5898076654_51085e157c_o.jpg"
    page = "https://www.flickr.com/photos/someone/5898076654"
    licence = "https://creativecommons.org/licenses/by/2.0/"
    return f"{image_id},train,{photo},{page},{licence},https://a.invalid/,{author},{title},1,x==,t,{rotation}\n"


def written(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "images.csv"
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    return path


def test_the_real_rows_give_a_full_credit(shared: Path) -> None:
    path = shared / "openimages" / "train-images-boxable-with-rotation.quoted2.csv"
    found = read_metadata(path, ["4fa8054781a4c382", "0000000000000000"])
    assert list(found) == ["4fa8054781a4c382"]
    told = found["4fa8054781a4c382"]
    assert told["author"] == "Michael Beat"
    assert told["title"] == "...die FNF-Kerze"
    assert told["licence"] == "CC-BY-2.0"
    assert told["landing_url"] == "https://www.flickr.com/photos/michael-beat/5898076654"
    assert (told["flickr_id"], told["rotation"]) == ("5898076654", 0)


@pytest.mark.parametrize(
    ("rotation", "degrees"), [("0.0", 0), ("90.0", 90), ("180.0", 180), ("270.0", 270), ("", None), ("nan", None)]
)
def test_rotation_is_read_and_unknown_is_not_zero(tmp_path: Path, rotation: str, degrees: int | None) -> None:
    found = read_metadata(written(tmp_path, row("000000011961367c", rotation=rotation)), ["000000011961367c"])
    assert found["000000011961367c"]["rotation"] == degrees


@pytest.mark.parametrize(
    "title", ['"Red, blue and ""green"""', '"two\nlines"', "Собака на траве", "NULL", "=1+1", "O'Brien’s lunch"]
)
def test_titles_of_every_kind_come_through(tmp_path: Path, title: str) -> None:
    path = written(tmp_path, row("1e00000000000001", title=title), row("000000011961367c"))
    found = read_metadata(path, ["1e00000000000001", "000000011961367c"])
    plain = title[1:-1].replace('""', '"') if title.startswith('"') else title
    assert found["1e00000000000001"]["title"] == plain
    assert found["000000011961367c"]["title"] == "A title"


def test_an_author_that_is_not_there_is_null(tmp_path: Path) -> None:
    found = read_metadata(written(tmp_path, row("000000011961367c", author="")), ["000000011961367c"])
    assert found["000000011961367c"]["author"] is None


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ((row("000000011961367c"), row("000000011961367c", title="Another")), "two rows tell different things"),
        ((row("000000011961367c", rotation="45.0"),), "'45.0' is no rotation"),
        (("000000011961367c,too,few\n",), "image metadata CSV"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, rows: tuple[str, ...], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        read_metadata(written(tmp_path, *rows), ["000000011961367c"])


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    path.write_text("ImageID,Source\n000000011961367c,x\n", encoding="utf-8")
    with pytest.raises(DataError, match="OriginalLandingURL"):
        read_metadata(path, ["000000011961367c"])
    with pytest.raises(DataError, match="cannot be read"):
        read_metadata(tmp_path / "missing.csv", ["000000011961367c"])
