# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from groundset.sources.integer_keys import are_distinct, order_of, order_of_texts, places

close = st.integers(-20, 40)
wide = st.integers(-(2**63), 2**63 - 1)


@given(
    values=st.lists(close | wide, max_size=20),
    among=st.lists(close, unique=True, max_size=20) | st.lists(wide, unique=True, max_size=5),
)
def test_places_are_those_of_the_list(values: list[int], among: list[int]) -> None:
    found = places(np.array(values, dtype=np.int64), np.array(among, dtype=np.int64))
    assert found.tolist() == [among.index(value) if value in among else -1 for value in values]


@given(keys=st.lists(st.integers(0, 2**20) | st.integers(0, 2**62 - 1), max_size=30))
def test_keys_are_in_order_and_equal_ones_in_that_of_their_places(keys: list[int]) -> None:
    order = order_of(np.array(keys, dtype=np.int64), max(keys, default=0) + 1)
    assert order.tolist() == sorted(range(len(keys)), key=lambda place: keys[place])


ids = st.integers(0, 3000) | st.integers(0, 10**13) | st.sampled_from([1, 10, 100, 1000, 900100000257])


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), ids), unique=True, max_size=30)
    | st.lists(st.tuples(st.integers(0, 3), ids | wide), unique=True, max_size=10)
)
def test_ids_are_in_the_order_of_their_texts(rows: list[tuple[int, int]]) -> None:
    groups, known = (np.array([row[part] for row in rows], dtype=np.int64) for part in (0, 1))
    expected = sorted(range(len(rows)), key=lambda place: (rows[place][0], str(rows[place][1])))
    assert order_of_texts(groups, known).tolist() == expected


@given(st.lists(st.one_of(st.integers(-3, 40), st.integers(-(2**63), 2**63 - 1)), max_size=60))
def test_are_distinct_says_what_a_set_says(values: list[int]) -> None:
    assert are_distinct(np.array(values, dtype=np.int64)) == (len(set(values)) == len(values))
