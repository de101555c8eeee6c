# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.release.charts import BLUE, GREY, ORANGE, SHADES, Cell, bars, grid, parted_bars, shade

counts = st.integers(0, 10**9)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def rectangles(parts: Sequence[str], fill: str) -> list[tuple[int, int]]:
    found = (re.fullmatch(rf'<rect x="(\d+)" y="\d+" width="(\d+)" height="\d+" fill="{fill}"/>', p) for p in parts)
    return [(int(match[1]), int(match[2])) for match in found if match]


def texts(parts: Sequence[str]) -> list[str]:
    return [match[1] for part in parts if (match := re.search(r">([^<]*)</text>", part))]


@given(counts, st.integers(1, 10**9))
def test_shade_grows_with_the_count_and_is_nothing_for_nothing(count: int, most: int) -> None:
    found = shade(count, most)
    assert 0 <= found < len(SHADES)
    assert (found == 0) == (count == 0)
    assert shade(count + 1, most) >= found
    assert (found == len(SHADES) - 1) == (count >= most)


@pytest.mark.parametrize("number", range(len(SHADES)))
def test_a_number_can_be_read_on_every_shade(number: int) -> None:
    (text,) = [part for part in grid(0, 0, 0, (30, 20), (), [("", [Cell(number, "7")])]).parts if "<text" in part]
    assert contrast(re.search(r'fill="(#[0-9a-f]{6})"', text)[1], SHADES[number]) >= 4.5


def test_colours_differ_in_lightness_too() -> None:
    steps = [luminance(colour) for colour in SHADES]
    assert steps == sorted(steps, reverse=True)
    parts = sorted(map(luminance, (BLUE, GREY, ORANGE)))
    assert parts[1] / parts[0] > 2


@given(st.lists(counts, min_size=3, max_size=3))
def test_parts_fill_their_bar_and_every_count_is_printed(row: list[int]) -> None:
    drawn = parted_bars(5, 7, 100, (("a", BLUE), ("b", GREY), ("c", ORANGE)), [("row", row)])
    # the first rectangle of a colour is its mark in the head
    bar = sorted(part for colour in (BLUE, GREY, ORANGE) for part in rectangles(drawn.parts, colour)[1:])
    if sum(row):
        assert bar[0][0] == 105
        assert sum(width for _, width in bar) == 300
        assert all(one[0] + one[1] == two[0] for one, two in itertools.pairwise(bar))
    assert len(bar) == sum(count > 0 for count in row)
    assert texts(drawn.parts) == ["a", "b", "c", "row", *map(str, row)]


@given(st.lists(counts, max_size=6))
def test_bars_are_as_long_as_their_counts(row: list[int]) -> None:
    drawn = bars(0, 0, 50, [(f"r{number}", count) for number, count in enumerate(row)])
    lengths = [width for _, width in rectangles(drawn.parts, BLUE)]
    assert all(
        length == max(1, count * 300 // max(row)) if max(row) else length == 1
        for length, count in zip(lengths, row, strict=True)
    )
    assert texts(drawn.parts) == [text for number, count in enumerate(row) for text in (f"r{number}", str(count))]


def test_a_grid_takes_the_room_that_it_says() -> None:
    drawn = grid(0, 0, 40, (30, 20), ("x", "y"), [("a", [Cell(1, "1"), Cell(0, "")]), ("b", [Cell(8, "9")])])
    assert (drawn.width, drawn.height) == (40 + 2 * 30 + 1, 22 + 2 * 20 + 1)
    assert texts(drawn.parts) == ["x", "y", "a", "1", "b", "9"]
