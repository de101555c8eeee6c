# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The bins, how short ones spill over, and the hash order within them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.candvg.strata import BINS, bin_name, rank, wants
from groundset.errors import DataError
from groundset.sampling import hash_rank_key
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict, to_table


def items(unique: dict[str, int]) -> pa.Table:
    rows = [
        {
            "item_id": name,
            "image_id": f"invig-{name}",
            "candidates_raw": max(count, 2),
            "candidates_unique": count,
            "area_ratio": 1.0,
        }
        for name, count in unique.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema("candvg_item"))


def test_bins() -> None:
    assert [bin_name(unique) for unique in range(2, 10)] == ["2", "3", "4", "5", "6", "7+", "7+", "7+"]
    assert bin_name(10**6) == "7+"


@pytest.mark.parametrize("unique", [1, 0, -1])
def test_there_is_no_bin_below_two(unique: int) -> None:
    with pytest.raises(DataError, match="below the first bin"):
        bin_name(unique)


def test_the_papers_full_bins() -> None:
    assert wants(dict.fromkeys(BINS, 300), 270) == dict.fromkeys(BINS, 270)


def test_spare_places_go_round_in_bin_order() -> None:
    # two places are short in bin 5; the first two bins with rows get them
    have = {"2": 3, "3": 9, "4": 9, "5": 1, "6": 9, "7+": 9}
    assert wants(have, 3) == {"2": 3, "3": 4, "4": 4, "5": 1, "6": 3, "7+": 3}
    assert wants({"7+": 20}, 2) == {"2": 0, "3": 0, "4": 0, "5": 0, "6": 0, "7+": 12}


def test_an_unknown_bin_is_refused() -> None:
    with pytest.raises(DataError, match="7: is not a bin"):
        wants({"7": 3}, 2)


pools = st.fixed_dictionaries({name: st.integers(0, 12) for name in BINS})


@given(pools, st.integers(0, 10))
def test_wants_equals_dealing_place_by_place(have: dict[str, int], per_bin: int) -> None:
    dealt = dict.fromkeys(BINS, 0)
    spare = 0
    for name in BINS:
        for _ in range(per_bin):
            if dealt[name] < have[name]:
                dealt[name] += 1
            else:
                spare += 1
    turn = 0
    while spare and any(dealt[name] < have[name] for name in BINS):
        name = BINS[turn % len(BINS)]
        if dealt[name] < have[name]:
            dealt[name] += 1
            spare -= 1
        turn += 1
    assert wants(have, per_bin) == dealt
    assert sum(dealt.values()) == min(per_bin * len(BINS), sum(have.values()))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(0, 999).map(str), st.integers(0, 9), max_size=25), st.integers(0, 4))
def test_rank_equals_sorting_by_hash(unique: dict[str, int], per_bin: int) -> None:
    table, verdicts = rank(items(unique), "seed", per_bin)
    rows = table.to_pylist()
    assert [row["item_id"] for row in rows] == sorted(name for name, count in unique.items() if count >= 2)
    assert [verdict.record_id for verdict in verdicts] == sorted(name for name, count in unique.items() if count < 2)
    assert {verdict.rule for verdict in verdicts} <= {"below_first_bin"}
    for row in rows:
        stratum = bin_name(unique[row["item_id"]])
        assert row["stratum"] == stratum
        assert row["image_id"] == f"invig-{row['item_id']}"
        key = hash_rank_key("seed", stratum, row["item_id"])
        mates = [name for name, count in unique.items() if count >= 2 and bin_name(count) == stratum]
        assert row["rank"] == sum(hash_rank_key("seed", stratum, name) < key for name in mates)
    assert sum({row["stratum"]: row["want"] for row in rows}.values()) == min(6 * per_bin, len(rows))
    assert schema.table_problems("ranked", table) == []
    assert schema.table_problems("verdict", to_table(verdicts)) == []


def test_rank_does_not_depend_on_the_order_of_rows() -> None:
    unique = {f"d{index}": 2 + index % 7 for index in range(40)}
    backwards = dict(reversed(list(unique.items())))
    assert rank(items(unique), "s", 3) == rank(items(backwards), "s", 3)


def test_a_new_row_does_not_reorder_the_others_of_its_stratum() -> None:
    unique = {f"d{index}": 3 for index in range(20)}
    before = rank(items(unique), "s", 5)[0].to_pylist()
    after = [row for row in rank(items({**unique, "new": 3}), "s", 5)[0].to_pylist() if row["item_id"] != "new"]
    by_rank = [[row["item_id"] for row in sorted(rows, key=lambda row: row["rank"])] for rows in (before, after)]
    assert by_rank[0] == by_rank[1]


def test_one_unique_candidate_is_a_verdict_not_a_lost_row() -> None:
    table, verdicts = rank(items({"a": 1, "b": 2}), "s", 1)
    assert table["item_id"].to_pylist() == ["b"]
    assert verdicts == [
        Verdict("a", "dialogue", "below_first_bin", "unique initial candidates: 1; the first bin holds 2", 1.0, 2.0)
    ]


def test_a_dialogue_that_is_there_twice_is_refused() -> None:
    with pytest.raises(DataError, match="is there twice"):
        rank(pa.concat_tables([items({"a": 2}), items({"a": 3})]), "s", 1)
