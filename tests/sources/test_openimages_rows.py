# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of box files: what a row means, and the quick way against the careful one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.sources import openimages_rows
from groundset.sources.openimages_csv import Header
from groundset.sources.openimages_rows import COLUMNS, Rows, parse
from groundset.splits import Range

HEADER = Header(COLUMNS[:13], ",", 0)


def box(
    image: str = "000002b66c9c498e", label: str = "/m/04yx4", edges: str = "0.1,0.3,0.2,0.4", flags: str = "0,0"
) -> str:
    return f"{image},xclick,{label},1,{edges},0,0,{flags},0"


def parsed(tmp_path: Path, content: str | bytes) -> Rows:
    path = tmp_path / "boxes.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return parse(Range(path, 0, path.stat().st_size), HEADER)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (box(edges="x,0.3,0.2,0.4"), 'XMin is "x", not a number'),
        (box(edges=",0.3,0.2,"), "XMin is empty; YMax is empty"),
        (
            box(edges="nan,inf,1e999,0.4"),
            'XMin is "nan", not a number; YMin is "1e999", not a number; XMax is "inf", not',
        ),
        (box(edges="1_0,0.3,0.2,٠.٤"), 'XMin is "1_0", not a number; YMax is'),
        (box(flags="2,0"), 'IsGroupOf is "2", not 1, 0 or -1'),
        (box(flags="0,true"), 'IsDepiction is "true", not 1, 0 or -1'),
        (box("1.23457E+15"), "a spreadsheet took it for a number"),
        (box("2b66c9c498e"), "11 of 16 digits: zeros in front may have been cut off"),
        (box("000002B66C9C498E"), "not 16 of the digits 0 to 9 and a to f"),
        (box(""), "ImageID is empty"),
        (",".join(COLUMNS[:13]), "is the header line once more"),
        (box() + ",", "has 14 fields, the header has 13"),
        ("x", "has 1 fields, the header has 13"),
    ],
)
def test_a_damaged_row_says_everything_that_is_wrong(tmp_path: Path, row: str, told: str) -> None:
    rows = parsed(tmp_path, "\n".join([box(), row, box(), ""]))
    assert len(rows.keys) == 2
    (damaged,) = rows.damaged
    assert damaged.line == 1
    assert told in damaged.message


@pytest.mark.parametrize(
    ("flags", "values"),
    [("1,-1", (1, -1)), ("1.0,0.0", (1, 0)), (",nan", (-1, -1)), ('"0","1"', (0, 1)), (" 1, 0 ", (1, 0))],
)
def test_flags_are_numbers_and_unknown_if_empty(tmp_path: Path, flags: str, values: tuple[int, int]) -> None:
    assert tuple(parsed(tmp_path, box(flags=flags)).flags[0].tolist()) == values


@pytest.mark.parametrize(
    "text", ["0.6510319999999999", "1.000000", ".5", "5.", "+0.5", "1e-3", "-0.0", "1e300", " 0.25 "]
)
def test_numbers_are_kept_as_they_are(tmp_path: Path, text: str) -> None:
    value = parsed(tmp_path, box(edges=f"0.1,{text},0.2,0.4")).boxes[0, 2]
    assert value == min(float(text), 1e12)
    assert not np.signbit(value)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blank_lines_are_lines_and_no_rows(tmp_path: Path, end: str) -> None:
    rows = parsed(tmp_path, end.join(["", box(), "", "  ", "bad", box(), "", ""]))
    assert (len(rows.keys), rows.lines) == (2, 7)
    assert [row.line for row in rows.damaged] == [4]


def test_a_quote_that_is_not_closed_costs_its_own_row_only(tmp_path: Path) -> None:
    rows = parsed(tmp_path, "\n".join([box(), box(label='"/m/04yx4'), box(), '"' + box(), box(), ""]))
    assert [row.line for row in rows.damaged] == [1, 3]
    assert len(rows.keys) == 3


def test_text_that_is_not_utf8_matters_only_where_it_is_read(tmp_path: Path) -> None:
    good, bad = box().replace("xclick", "é").encode("latin-1"), box(label="é").encode("latin-1")
    rows = parsed(tmp_path, good + b"\n" + bad)
    assert (len(rows.keys), rows.damaged[0].message) == (1, "LabelName is not UTF-8")
    assert rows.damaged[0].key == 0x2B66C9C498E


values = st.sampled_from(
    ["0", "-0.0", "0.5", "0.750000", "1.0000005", "1e-3", ".5", " 0.5", "+1", "nan", "inf", "1e999", "", "0x1", '"0.5"']
)
flags = st.sampled_from(["0", "1", "-1", "1.0", "", "nan", "NaN", "2", " 0", '"1"', "x"])
cells = st.builds(
    lambda image, label, edges, one, two: box(image, label, ",".join(edges), f"{one},{two}"),
    st.sampled_from(["000002b66c9c498e", "ffffffffffffffff", '"00000b4dcff7f799"', "1e5", " 000002b66c9c498e"]),
    st.sampled_from(["/m/04yx4", " /m/04yx4", '"/m/04yx4"', "", "é", '"/m/04']),
    st.tuples(values, values, values, values),
    flags,
    flags,
)


@given(
    lines=st.lists(cells | st.sampled_from([box(), "", " ", "a,b"]), min_size=1, max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_quick_and_careful_ways_agree(lines: list[str], end: str) -> None:
    data = end.join([*lines, ""]).encode()
    careful = openimages_rows._carefully(data, HEADER, Range(Path("boxes.csv"), 0, len(data)))
    quick = openimages_rows._quickly(data, HEADER, openimages_rows.FLAGS)
    if quick is None:
        return
    assert careful.damaged == ()
    assert careful.lines == quick.lines
    for name in ("keys", "boxes", "flags"):
        assert np.array_equal(getattr(careful, name), getattr(quick, name))
    assert [careful.names[label] for label in careful.labels] == [quick.names[label] for label in quick.labels]


def test_sound_rows_go_the_quick_way(tmp_path: Path) -> None:
    for content in (box() + "\n", box(), '"' + box().replace(",", '","') + '"\r\n'):
        assert openimages_rows._quickly(content.encode(), HEADER, openimages_rows.FLAGS) is not None
