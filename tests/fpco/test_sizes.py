# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Sizes of boxes: said only where nobody would deny them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco.places import BoxPx
from groundset.fpco.sizes import surely_larger

LARGE, SMALL = (100.0, 100.0, 200.0, 200.0), (300.0, 130.0, 370.0, 200.0)
SHARES = st.floats(0, 1)
BOXES = st.tuples(SHARES, SHARES, SHARES, SHARES).map(
    lambda s: (min(s[0], s[2]) * 640, min(s[1], s[3]) * 480, max(s[0], s[2]) * 640, max(s[1], s[3]) * 480)
)


@given(BOXES, BOXES)
def test_of_two_at_most_one_is_larger(first: BoxPx, second: BoxPx) -> None:
    assert not (surely_larger(first, second, 640, 480) and surely_larger(second, first, 640, 480))


@given(BOXES, BOXES)
def test_what_is_larger_has_the_larger_area(first: BoxPx, second: BoxPx) -> None:
    if surely_larger(first, second, 640, 480):
        areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
        assert areas[0] > areas[1]


@pytest.mark.parametrize(
    ("larger", "smaller", "surely"),
    [
        (LARGE, SMALL, True),
        (SMALL, LARGE, False),
        (LARGE, (300.0, 110.0, 390.0, 200.0), False),
        (LARGE, (300.0, 160.0, 440.0, 200.0), False),
        (LARGE, (300.0, 60.0, 370.0, 130.0), False),
        (LARGE, (300.0, 300.0, 370.0, 370.0), True),
        (LARGE, (180.0, 130.0, 250.0, 200.0), False),
        (LARGE, (570.0, 130.0, 640.0, 200.0), False),
        ((0.0, 100.0, 100.0, 200.0), SMALL, False),
    ],
    ids=[
        *("clear", "the other way", "nearly equal", "only higher", "may just be nearer", "farther and still larger"),
        *("touches it", "small because cut off", "large but cut off"),
    ],
)
def test_sizes(larger: BoxPx, smaller: BoxPx, surely: bool) -> None:
    assert surely_larger(larger, smaller, 640, 480) == surely
