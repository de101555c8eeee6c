# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Verdicts as a table."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict, to_table

measured = st.none() | st.sampled_from([0.0, 1.0, 2.5])
verdict = st.builds(
    Verdict,
    record_id=st.sampled_from(["coco-1", "coco-10", "coco-2"]),
    kind=st.sampled_from(["image", "item"]),
    rule=st.sampled_from(["area_ratio", "group_box"]),
    detail=st.sampled_from(["", "told"]),
    measured=measured,
    limit=measured,
    hard=st.booleans(),
)


@settings(max_examples=150)
@given(st.lists(verdict, max_size=6), st.data())
def test_the_table_does_not_depend_on_the_order_of_verdicts(rows: list[Verdict], data: st.DataObject) -> None:
    table = to_table(rows)
    assert table.equals(to_table(data.draw(st.permutations(rows))))
    assert table.num_rows == len(rows)
    keys = [(row["kind"], row["record_id"], row["rule"], row["detail"]) for row in table.to_pylist()]
    assert keys == sorted(keys)
    assert schema.table_problems("verdict", table, "verdicts", "record_id") == []


def test_no_verdict_makes_an_empty_table_of_the_same_types() -> None:
    assert to_table([]).schema == arrow_schema("verdict") == to_table([Verdict("a", "image", "no_size")]).schema


def test_the_defaults_are_a_hard_verdict_without_numbers() -> None:
    (row,) = to_table([Verdict("coco-1", "image", "no_size")]).to_pylist()
    assert row["measured"] is row["limit"] is None
    assert row["detail"] == ""
    assert Verdict("coco-1", "image", "no_size").hard


def test_a_verdict_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Verdict("a", "image", "no_size").hard = False  # type: ignore[misc]


def test_an_infinite_measure_is_found_by_the_schema() -> None:
    table = to_table([Verdict("a", "item", "area_ratio", "", math.inf, 20.0)])
    (problem,) = schema.table_problems("verdict", table, "f", "record_id")
    assert (problem.record, problem.path) == ("a", "$.measured")
