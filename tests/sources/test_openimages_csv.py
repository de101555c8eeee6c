# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Header lines of Open Images' CSV files."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundset.errors import DataError
from groundset.sources.openimages_csv import column_problems, fields_of, near, read_header
from groundset.sources.openimages_rows import COLUMNS, FLAGS, REQUIRED


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "boxes.csv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b""])
def test_a_header_is_read_however_it_is_written(tmp_path: Path, delimiter: str, mark: bytes, end: bytes) -> None:
    line = mark + delimiter.join(['"ImageID"', " LabelName ", "XMin"]).encode() + end
    header = read_header(written(tmp_path, line + (b"1" + end if end else b"")), COLUMNS)
    assert header.columns == ("ImageID", "LabelName", "XMin")
    assert (header.delimiter, header.start) == (delimiter, len(line))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf\r\n", "is empty"),
        (b"a,b\n", "is no header"),
        (b"x" * 70_000, "no end of a line"),
        (b"ImageID,XMin,ImageID\n", 'ImageID" 2 times'),
        (b"ImageID,\xff\n", "not UTF-8"),
    ],
)
def test_what_is_no_header_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_header(written(tmp_path, content), COLUMNS)


def test_near_names_are_whole_names() -> None:
    assert near("IsDepicted", COLUMNS) == ["IsDepiction"]
    assert near("xmin", COLUMNS)[0] == "XMin"
    assert near("Egg", ["Egg (Food)", "Eggplant parmesan with cheese"]) == []


def test_a_missing_flag_is_a_problem_only_if_one_looks_like_it(tmp_path: Path) -> None:
    eight = ",".join(COLUMNS[:8])
    header = read_header(written(tmp_path, eight.encode()), COLUMNS)
    assert column_problems("f", header, REQUIRED, COLUMNS, FLAGS) == []
    header = read_header(written(tmp_path, f"{eight},is_group_of".encode()), COLUMNS)
    (problem,) = column_problems("f", header, REQUIRED, COLUMNS, FLAGS)
    assert (problem.message, problem.hint) == ("there is no column IsGroupOf", "near: is_group_of")


@pytest.mark.parametrize(
    ("line", "fields"),
    [("a,b", ["a", "b"]), ('"a,b",c', ["a,b", "c"]), ('a, "b" ', ["a", "b"]), ('"a', ["a"]), ("", [""])],
)
def test_fields_of_a_line(line: str, fields: list[str]) -> None:
    assert fields_of(line, ",") == fields
