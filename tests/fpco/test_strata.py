# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The 36 cells: as many places fill as can, by trying every assignment, and ranks that other strata do not move."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.fpco.strata import CELLS, FALSE_CLASSES, POOLS, assign, stratify
from groundset.sampling import hash_rank_key, select
from groundset.schema_types import arrow_schema
from groundset.verdicts import to_table

quick = settings(max_examples=60)
Row = dict[str, Any]
Served = dict[str, list[str]]

# image id to the pools that it could serve, at most one complexity a category
served = st.dictionaries(
    st.integers(0, 30).map(lambda number: f"coco-{number}"),
    st.lists(st.sampled_from(POOLS[:2] + POOLS[4:7]), min_size=1, max_size=4, unique_by=lambda p: p.partition("-")[2]),
    max_size=6,
)


def most_places(pools_of: Served, capacity: int) -> int:
    """Places filled by the best of all ways to give each image to one of its pools."""
    ways = itertools.product(*pools_of.values())
    return max(sum(min(capacity, count) for count in Counter(way).values()) for way in ways)


def tables(pools_of: Served, flickr: dict[str, str] | None = None) -> tuple[pa.Table, pa.Table]:
    items = []
    for image_id, pools in pools_of.items():
        for pool in pools:
            complexity, category = pool.split("-")
            items.append(
                dict.fromkeys(arrow_schema("fpco_item").names)
                | {"item_id": f"{image_id}-{category}", "image_id": image_id}
                | {"complexity": complexity, "category": category}
            )
    images = [
        dict.fromkeys(arrow_schema("image").names) | {"image_id": image_id, "flickr_id": (flickr or {}).get(image_id)}
        for image_id in [*pools_of, "coco-without-items"]
    ]
    return (
        pa.Table.from_pylist(items, schema=arrow_schema("fpco_item")),
        pa.Table.from_pylist(images, schema=arrow_schema("image")),
    )


def shuffled(table: pa.Table, data: st.DataObject) -> pa.Table:
    return table.take(pa.array(data.draw(st.permutations(range(table.num_rows))), type=pa.int64()))


def pool_of(stratum: str) -> str:
    return stratum.rpartition("-")[0]


@quick
@given(served, st.integers(1, 4), st.randoms(use_true_random=False))
def test_as_many_places_fill_as_any_assignment_could(pools_of: Served, capacity: int, random: Any) -> None:
    ranking: dict[str, list[str]] = {pool: [] for pool in POOLS}
    for image_id, pools in pools_of.items():
        for pool in pools:
            ranking[pool].append(f"{image_id}/{pool}")
    for members in ranking.values():
        random.shuffle(members)
    image_of = {item: item.partition("/")[0] for members in ranking.values() for item in members}
    found = assign(ranking, image_of, capacity)
    assert set(found) == set(pools_of)
    assert all(pool in pools_of[image_id] for image_id, pool in found.items())
    filled = sum(min(capacity, count) for count in Counter(found.values()).values())
    assert filled == most_places(pools_of, capacity)


@quick
@given(served, st.integers(1, 2))
def test_cells_fill_as_far_as_any_assignment_could(pools_of: Served, per_cell: int) -> None:
    items, images = tables(pools_of)
    ranked, _, _ = stratify(items, images, "seed", per_cell)
    taken = select(ranked, ()).taken
    assert len(taken) == most_places(pools_of, 3 * per_cell)
    shown = Counter(row["image_id"] for row in ranked.to_pylist())
    assert set(shown.values()) <= {1}


@quick
@given(served, st.integers(1, 3), st.data())
def test_every_item_is_ranked_or_rejected_once_in_any_order(
    pools_of: Served, per_cell: int, data: st.DataObject
) -> None:
    flickr = {image_id: data.draw(st.sampled_from(["1", "2", None, None])) for image_id in pools_of}
    items, images = tables(pools_of, flickr)
    ranked, strata, verdicts = stratify(items, images, "seed", per_cell)
    judged = [*ranked["item_id"].to_pylist(), *(verdict.record_id for verdict in verdicts)]
    assert sorted(judged) == sorted(items["item_id"].to_pylist())
    assert {verdict.rule for verdict in verdicts} <= {"same_photograph", "serves_another_pool"}
    for name, table in (("ranked", ranked), ("stratum", strata), ("verdict", to_table(verdicts))):
        assert schema.table_problems(name, table) == []
    again = stratify(
        shuffled(items, data),
        shuffled(images, data),
        "seed",
        per_cell,
    )
    assert again[0].equals(ranked)
    assert again[1].equals(strata)
    assert again[2] == verdicts


@quick
@given(served, st.integers(1, 3))
def test_each_pool_is_dealt_over_its_false_classes_by_hash_rank(pools_of: Served, per_cell: int) -> None:
    ranked, _, _ = stratify(*tables(pools_of), "seed", per_cell)
    for pool in POOLS:
        members = [row for row in ranked.to_pylist() if pool_of(row["stratum"]) == pool]
        members.sort(key=lambda row: hash_rank_key("seed", pool, row["item_id"]))
        dealt = [(f"{pool}-{FALSE_CLASSES[place % 3]}", place // 3) for place in range(len(members))]
        assert [(row["stratum"], row["rank"]) for row in members] == dealt
        assert all(row["want"] == per_cell for row in members)


@quick
@given(served, served, st.integers(1, 3))
def test_new_rows_of_other_strata_do_not_reorder_a_stratum(before: Served, more: Served, per_cell: int) -> None:
    first, second = POOLS[0], POOLS[5]
    here = {image_id: [first] for image_id in before}
    there = {f"{image_id}-new": [second] for image_id in more}
    alone, _, _ = stratify(*tables(here), "seed", per_cell)
    both, _, _ = stratify(*tables(here | there), "seed", per_cell)
    assert [row for row in both.to_pylist() if pool_of(row["stratum"]) == first] == alone.to_pylist()


@quick
@given(served, served, st.integers(1, 2))
def test_those_that_stay_in_a_pool_keep_their_order(before: Served, more: Served, per_cell: int) -> None:
    added = {f"{image_id}-new": pools for image_id, pools in more.items()}

    def orders(pools_of: Served) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {pool: [] for pool in POOLS}
        rows = stratify(*tables(pools_of), "seed", per_cell)[0].to_pylist()
        for row in sorted(rows, key=lambda row: (row["rank"], FALSE_CLASSES.index(row["stratum"].rpartition("-")[2]))):
            found[pool_of(row["stratum"])].append(row["item_id"])
        return found

    old, new = orders(before), orders(before | added)
    for pool in POOLS:
        common = set(old[pool]) & set(new[pool])
        assert [item for item in old[pool] if item in common] == [item for item in new[pool] if item in common]


def test_all_36_cells_are_named_even_if_none_has_a_row() -> None:
    ranked, strata, verdicts = stratify(*tables({}), "seed", 30)
    assert (ranked.num_rows, verdicts) == (0, [])
    assert strata["stratum"].to_pylist() == sorted(CELLS)
    assert len(set(CELLS)) == 36
    assert set(strata["want"].to_pylist()) == {30}
    assert set(strata["eligible"].to_pylist()) == {0}


def test_eligible_counts_the_reserve_too() -> None:
    pools_of = {f"coco-{number}": ["single-food"] for number in range(7)}
    _, strata, _ = stratify(*tables(pools_of), "seed", 1)
    counts = {row["stratum"]: row["eligible"] for row in strata.to_pylist() if row["eligible"]}
    assert counts == {"single-food-identity": 3, "single-food-attribute": 2, "single-food-location": 2}


def test_one_photograph_of_two_sources_counts_once() -> None:
    pools_of = {"coco-2": ["single-food"], "invig-1": ["single-food", "separated-animal"], "coco-3": ["single-food"]}
    ranked, _, verdicts = stratify(*tables(pools_of, {"coco-2": "77", "invig-1": "77"}), "seed", 1)
    assert sorted(ranked["image_id"].to_pylist()) == ["coco-2", "coco-3"]
    assert [(verdict.record_id, verdict.rule, verdict.hard) for verdict in verdicts] == [
        ("invig-1-animal", "same_photograph", True),
        ("invig-1-food", "same_photograph", True),
    ]
    assert verdicts[0].detail == "Flickr photo 77 is there as coco-2 too"


def test_an_image_that_two_pools_want_goes_where_it_is_needed() -> None:
    # food has only the shared image; animal has enough without it
    pools_of = {"coco-1": ["single-animal", "single-food"]} | {
        f"coco-{number}": ["single-animal"] for number in range(2, 9)
    }
    for seed in "abcdef":
        ranked, _, verdicts = stratify(*tables(pools_of), seed, 1)
        (row,) = [row for row in ranked.to_pylist() if row["image_id"] == "coco-1"]
        assert row["item_id"] == "coco-1-food"
        (verdict,) = verdicts
        assert (verdict.record_id, verdict.rule) == ("coco-1-animal", "serves_another_pool")
        assert verdict.detail == "its image serves single-food"


def test_wanting_all_of_a_large_source_is_no_matter_of_memory() -> None:
    pools_of = {f"coco-{number}": [POOLS[number % 12], POOLS[(number + 5) % 12]] for number in range(3000)}
    ranked, _, _ = stratify(*tables(pools_of), "seed", 1_000_000_000)
    assert ranked.num_rows == 3000


def test_the_seed_changes_the_order() -> None:
    pools_of = {f"coco-{number}": ["single-food"] for number in range(12)}
    ranks = {seed: stratify(*tables(pools_of), seed, 1)[0].to_pylist() for seed in "ab"}
    assert ranks["a"] != ranks["b"]
