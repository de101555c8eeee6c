# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A key that an object has twice is found, however it is written, and none is found that is not there."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.sources import json_keys

SCHEMA = {"items": {"properties": {"id": {}, "bbox": {}, "area": {}}}}
Pairs = list[tuple[str, Any]]

values = st.sampled_from(
    [1, None, "id", "ix", "area", "a:b", 'b"ox', "b\\x", "ü", [], [1.5, 2], {"id": 1}, {"area": {"id": "bbox"}}, ""]
)
keys = st.sampled_from(["id", "bbox", "area", "note", "ad", "", "ü", 'i"d'])
objects = st.lists(st.tuples(keys, values), max_size=6)


def written(key: str, escaped: bool) -> str:
    return '"' + "".join(f"\\u{ord(letter):04x}" for letter in key) + '"' if escaped else json.dumps(key)


def text_of(rows: list[Pairs], escaped: bool) -> str:
    members = [", ".join(f"{written(key, escaped)}: {json.dumps(value)}" for key, value in row) for row in rows]
    return "[" + ", ".join("{" + each + "}" for each in members) + "]"


@given(st.lists(objects, max_size=5), st.booleans(), st.sampled_from([1, 7, 1 << 19]))
def test_found_where_it_is_and_nowhere_else(rows: list[Pairs], escaped: bool, step: int) -> None:
    known = ("id", "bbox", "area")
    twice = [[key for key, _ in row if key in known] for row in rows]
    occurrences = {
        # what cannot be told apart is given as 0
        key: len(rows) if all(dict(row).get(key) is not None for row in rows) else 0
        for key in known
    }
    with mock.patch.object(json_keys, "_STEP", step):
        found = json_keys.are_single(text_of(rows, escaped).encode(), SCHEMA, occurrences)
    assert found == all(len(set(names)) == len(names) for names in twice)


def test_missing_in_one_object_and_doubled_in_another_is_no_balance() -> None:
    text = b'[{"id": 1, "area": 1, "area": 2}, {"id": 2}]'
    assert not json_keys.are_single(text, SCHEMA, {"id": 2, "area": 0})


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('[{"id": 1, "id": 1, "id": 2}]', [((0,), 'has the key "id" 3 times')]),
        ('[{"note": 1, "note": 2}]', []),
        ('[{}, {"id": {"id": 1, "id": 2}}]', []),
    ],
)
def test_places(text: str, places: list[Any]) -> None:
    document = json.loads(text, object_pairs_hook=json_keys.object_of)
    assert list(json_keys.faults(SCHEMA, document)) == places
    assert json_keys.doubled(text.encode(), SCHEMA) == bool(places)
