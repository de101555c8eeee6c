# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Every short stratum is named with have and want, in few lines."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from groundset.candvg.strata import BINS
from groundset.fpco.strata import CELLS
from groundset.shortfalls import Filled, short, told


def filled(names: tuple[str, ...], have: dict[str, int | None], want: int = 30, eligible: int = 40) -> list[Filled]:
    return [Filled(name, want, eligible, have.get(name, want)) for name in names]


def test_one_cell_that_lacks_one_image_is_named_with_have_and_want() -> None:
    lines = told(filled(CELLS, {"overlapping-food-location": 29}))
    assert lines == [
        "strata: 1 of 36 falls short; in all there are 1079 of 1080",
        "stratum overlapping-food-location falls short: have 29, want 30",
    ]


def test_nothing_is_short() -> None:
    assert told(filled(CELLS, {})) == ["strata: all 36 are full, 1080 of 1080"]
    assert told([]) == []


def test_a_bin_that_stands_in_for_a_short_one_counts_in_the_total() -> None:
    assert told(filled(BINS, {"2": 290, "5": 250}, want=270)) == [
        "strata: 1 of 6 falls short; in all there are 1620 of 1620, as others stand in",
        "stratum 5 falls short: have 250, want 270",
    ]


def test_all_that_lack_the_same_share_a_line() -> None:
    have: dict[str, int | None] = {cell: 0 for cell in CELLS if "food" in cell}
    assert told(filled(CELLS, have)) == [
        "strata: 9 of 36 fall short; in all there are 810 of 1080",
        "short: overlapping-food, separated-food, single-food: identity 0 of 30, attribute 0 of 30, location 0 of 30",
    ]


def test_before_review_what_can_be_had_is_told() -> None:
    rows = [Filled(name, 30, 12 if name == "single-food-location" else 40, None) for name in CELLS]
    assert told(rows) == [
        "strata: 1 of 36 cannot fill; at most 1062 of 1080 can be had",
        "stratum single-food-location falls short: have 12, want 30",
    ]
    enough = [Filled(name, 30, 40, None) for name in CELLS]
    assert told(enough) == ["strata: all 36 have enough eligible records for the 1080 that are wanted"]


@given(st.dictionaries(st.sampled_from(CELLS), st.integers(0, 40)))
def test_many_short_cells_take_a_line_a_pool_and_none_is_left_out(have: dict[str, int]) -> None:
    rows = filled(CELLS, dict(have))
    lines = told(rows)
    assert len(lines) <= 13
    named = {}
    for line in lines[1:]:
        one = re.fullmatch(r"stratum (\S+) falls short: have (\d+), want (\d+)", line)
        if one:
            named[one[1]] = (int(one[2]), int(one[3]))
            continue
        pools, _, cells = line.removeprefix("short: ").partition(": ")
        for pool, cell in itertools.product(pools.split(", "), cells.split(", ")):
            last, number, _, want = cell.split(" ")
            named[f"{pool}-{last}"] = (int(number), int(want))
    assert named == {row.stratum: (row.have, row.want) for row in short(rows)}
    assert set(named) == {name for name, number in have.items() if number < 30}
