# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Hash ranks that never change, and the selection against its definition written out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.sampling import Selection, hash_rank_key, ranked, select
from groundset.schema_types import arrow_schema

quick = settings(max_examples=100)
Row = dict[str, Any]


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=arrow_schema("ranked"))


def row(stratum: str, rank: int, want: int) -> Row:
    item = f"{stratum}{rank}"
    return {"item_id": item, "image_id": f"i-{item}", "stratum": stratum, "rank": rank, "want": want}


@st.composite
def rankings(draw: st.DrawFn) -> list[Row]:
    found = []
    for stratum in "ABC"[: draw(st.integers(0, 3))]:
        want = draw(st.integers(0, 4))
        # ranks may have gaps, where a pool was dealt out
        ranks = draw(st.lists(st.integers(0, 12), unique=True, min_size=1, max_size=9))
        found += [row(stratum, rank, want) for rank in ranks]
    return found


def some_of(rows: list[Row]) -> st.SearchStrategy[set[str]]:
    ids = sorted(entry["item_id"] for entry in rows)
    return st.sets(st.sampled_from(ids)) if ids else st.just(set())


def by_definition(rows: list[Row], rejected: set[str], margin: int) -> Selection:
    taken, refused, reserve, short = [], [], [], {}
    for stratum in sorted({entry["stratum"] for entry in rows}):
        members = sorted((entry for entry in rows if entry["stratum"] == stratum), key=lambda entry: entry["rank"])
        want = members[0]["want"]
        sound = [entry["item_id"] for entry in members if entry["item_id"] not in rejected]
        taken += sound[:want]
        reserve += sound[want : want + margin]
        if len(sound) < want:
            short[stratum] = (len(sound), want)
        before = [entry["item_id"] for entry in members]
        if want == 0:
            before = []
        elif len(sound) >= want:
            before = before[: before.index(sound[want - 1])]
        refused += [item for item in before if item in rejected]
    return Selection(tuple(sorted(taken)), tuple(sorted(refused)), tuple(sorted(reserve)), short)


# fixed forever: a change here changes every sample that was ever drawn
@pytest.mark.parametrize(
    ("parts", "key"),
    [
        (("1", "2", "invig-test-1"), "6044e7bc8e0528aa019e11cbe7ad488d043b20c030e7421ce0dc6c90f640ce0b"),
        (("seed", "single-food", "coco-192-food"), "0fc5bd65fa5ec9589f2b41db14e45459c21eb9f0685d4449d28e9d31f81237bd"),
        (("", "", ""), "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"),
        (("ü", "7+", "openimages-0a"), "d0a2e4b0a7567e5dea3010915c6bd4ffc098f5e0fcc2e6467b8621e8648a37e8"),
    ],
)
def test_rank_key_is_fixed_forever(parts: tuple[str, str, str], key: str) -> None:
    assert hash_rank_key(*parts) == key


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert len({hash_rank_key(*parts) for parts in (("ab", "c", "d"), ("a", "bc", "d"), ("a", "b", "cd"))}) == 3


@quick
@given(st.sets(st.text("ab1-", min_size=1, max_size=4), max_size=8), st.data())
def test_a_new_record_does_not_reorder_the_others(ids: set[str], data: st.DataObject) -> None:
    before = ranked(ids, "s", "t")
    assert sorted(before) == sorted(ids)
    fewer = {item for item in ids if data.draw(st.booleans())}
    assert ranked(fewer, "s", "t") == [item for item in before if item in fewer]
    assert ranked(data.draw(st.permutations(sorted(ids))), "s", "t") == before


def test_seed_and_stratum_both_change_the_order() -> None:
    ids = [f"coco-{number}" for number in range(20)]
    orders = [ranked(ids, seed, stratum) for seed in "ab" for stratum in "xy"]
    assert len({tuple(order) for order in orders}) == 4


@quick
@given(st.data(), st.integers(0, 3))
def test_selection_is_what_its_definition_says(data: st.DataObject, margin: int) -> None:
    rows = data.draw(rankings())
    rejected = data.draw(some_of(rows)) | {"Z9"}
    shuffled = data.draw(st.permutations(rows))
    assert select(table(shuffled), rejected, margin) == by_definition(rows, rejected, margin)


@quick
@given(st.data())
def test_an_accepted_record_never_moves_out(data: st.DataObject) -> None:
    rows = data.draw(rankings())
    rejected: set[str] = set()
    taken: set[str] = set()
    for _ in range(4):
        selection = select(table(rows), rejected)
        # all that was taken and not rejected since is still taken
        assert taken - rejected <= set(selection.taken)
        assert not rejected & set(selection.taken)
        assert not set(selection.taken) & set(selection.refused)
        taken = set(selection.taken)
        rejected |= data.draw(some_of([entry for entry in rows if entry["item_id"] in taken]))


@quick
@given(st.data())
def test_each_stratum_gets_what_it_wants_or_is_named_as_short(data: st.DataObject) -> None:
    rows = data.draw(rankings())
    rejected = data.draw(some_of(rows))
    selection = select(table(rows), rejected)
    for stratum in {entry["stratum"] for entry in rows}:
        members = [entry for entry in rows if entry["stratum"] == stratum]
        have = sum(item[0] == stratum for item in selection.taken)
        left = sum(entry["item_id"] not in rejected for entry in members)
        assert have == min(members[0]["want"], left)
        assert (stratum in selection.short) == (left < members[0]["want"])


def test_rejecting_a_record_of_the_reserve_lets_a_later_one_into_the_reserve() -> None:
    rows = [row("A", rank, 2) for rank in range(6)]
    assert select(table(rows), set(), 1) == Selection(("A0", "A1"), (), ("A2",), {})
    assert select(table(rows), {"A2"}, 1) == Selection(("A0", "A1"), (), ("A3",), {})
    assert select(table(rows), {"A0", "A2"}, 1) == Selection(("A1", "A3"), ("A0", "A2"), ("A4",), {})
    assert select(table(rows[:2]), {"A0"}, 1) == Selection(("A1",), ("A0",), (), {"A": (1, 2)})


def test_nothing_to_select_from() -> None:
    assert select(table([]), {"A0"}, 3) == Selection((), (), (), {})
