# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Places of boxes: what is sure is also possible, and a false place is never possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco.phrasebook import load
from groundset.fpco.places import NAMES, BoxPx, perhaps_at, surely_at, surely_before, surely_number

SHARES = st.floats(0, 1)
BOXES = st.tuples(SHARES, SHARES, SHARES, SHARES).map(
    lambda s: (min(s[0], s[2]) * 640, min(s[1], s[3]) * 480, max(s[0], s[2]) * 640, max(s[1], s[3]) * 480)
)


def mirrored(box: BoxPx) -> BoxPx:
    return 640 - box[2], box[1], 640 - box[0], box[3]


@given(BOXES, st.sampled_from(NAMES))
def test_what_is_sure_is_possible(box: BoxPx, place: str) -> None:
    assert perhaps_at(place, box, 640, 480) or not surely_at(place, box, 640, 480)


@given(BOXES, st.sampled_from([name for name in NAMES if name not in ("middle", "corner")]))
def test_a_swapped_place_is_not_even_possible(box: BoxPx, place: str) -> None:
    if surely_at(place, box, 640, 480):
        assert not any(perhaps_at(swap, box, 640, 480) for swap in load().places[place].swaps)


@given(BOXES)
def test_left_mirrors_right(box: BoxPx) -> None:
    for judge in (surely_at, perhaps_at):
        assert judge("left", box, 640, 480) == judge("right", mirrored(box), 640, 480)
    others = [(200.0, 0.0, 300.0, 10.0), (400.0, 0.0, 500.0, 10.0)]
    for before in (0, 1):
        assert surely_number(before, "left", box, others, 640) == surely_number(
            before, "right", mirrored(box), [mirrored(other) for other in others], 640
        )


@given(BOXES, BOXES)
def test_of_two_at_most_one_is_before_the_other(first: BoxPx, second: BoxPx) -> None:
    for side in ("left", "right"):
        assert not (surely_before(side, first, second, 640) and surely_before(side, second, first, 640))


@given(st.lists(BOXES, min_size=1, max_size=6))
def test_only_one_has_a_number(boxes: list[BoxPx]) -> None:
    for before in (0, 1):
        others = [[box for n, box in enumerate(boxes) if n != number] for number in range(len(boxes))]
        found = [surely_number(before, "left", box, rest, 640) for box, rest in zip(boxes, others, strict=True)]
        assert sum(found) <= 1


def test_names_are_those_of_the_phrasebook() -> None:
    assert set(NAMES) == set(load().places)


@pytest.mark.parametrize(
    ("place", "box", "sure", "possible"),
    [
        ("left", (0, 0, 200, 480), True, True),
        ("left", (200, 0, 420, 480), False, True),
        ("left", (330, 0, 420, 480), False, False),
        ("left", (0, 0, 640, 480), False, True),
        ("bottom", (0, 400, 100, 470), True, True),
        ("bottom", (0, 280, 100, 330), False, True),
        ("middle", (260, 200, 380, 280), True, True),
        ("middle", (0, 0, 100, 100), False, False),
        ("corner", (0, 0, 100, 100), True, True),
        ("left edge", (10, 100, 120, 300), True, True),
        ("left edge", (90, 100, 200, 300), False, True),
        ("right edge", (10, 100, 120, 300), False, False),
        ("foreground", (100, 100, 500, 470), True, True),
        ("foreground", (300, 100, 350, 200), False, False),
        ("background", (100, 100, 500, 470), False, False),
        ("lower right", (500, 400, 600, 470), True, True),
    ],
)
def test_places(place: str, box: BoxPx, sure: bool, possible: bool) -> None:
    assert (surely_at(place, box, 640, 480), perhaps_at(place, box, 640, 480)) == (sure, possible)


def test_the_farthest_is_farther_than_each_and_never_alone() -> None:
    box = (100.0, 0.0, 200.0, 100.0)
    assert surely_number(0, "left", box, [(150.0, 0.0, 300.0, 100.0)], 640)
    assert not surely_number(0, "left", box, [], 640)
    assert not surely_number(0, "left", box, [(105.0, 0.0, 300.0, 100.0)], 640)
    assert not surely_number(0, "left", box, [(150.0, 0.0, 300.0, 100.0), (0.0, 0.0, 90.0, 100.0)], 640)


def test_the_second_has_one_before_it_and_more_behind() -> None:
    row = [(x, 0.0, x + 60.0, 100.0) for x in (0.0, 150.0, 300.0, 450.0)]
    assert surely_number(1, "left", row[1], [row[0], *row[2:]], 640)
    assert not surely_number(1, "left", row[2], [*row[:2], row[3]], 640)
    assert not surely_number(1, "left", row[1], [row[0], row[2]], 640), "of three it is the middle one"
    assert not surely_number(1, "left", row[1], [(145.0, 0.0, 205.0, 100.0), *row[2:]], 640)
    crowd = [(x, 0.0, x + 40.0, 100.0) for x in (60.0, 130.0, 200.0, 270.0, 340.0, 410.0)]
    assert surely_number(0, "left", (0.0, 0.0, 40.0, 100.0), crowd[:5], 640)
    assert not surely_number(0, "left", (0.0, 0.0, 40.0, 100.0), crowd, 640), "of many nobody sees it"
