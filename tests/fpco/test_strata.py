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
from groundset.licences import photo_page_from_flickr
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


# every photograph is wanted by several pools, and there are fewer of them than places
adversarial = st.dictionaries(
    st.integers(0, 30).map(lambda number: f"coco-{number}"),
    st.lists(st.sampled_from(POOLS), min_size=2, max_size=4, unique_by=lambda p: p.partition("-")[2]),
    max_size=7,
)


@quick
@given(adversarial, st.integers(1, 2), st.data())
def test_no_photograph_serves_two_cells_and_none_fills_in_vain(
    pools_of: Served, per_cell: int, data: st.DataObject
) -> None:
    flickr = {image_id: data.draw(st.sampled_from(["1", "2", "3", None])) for image_id in pools_of}
    photographs: Served = {}
    for image_id, pools in pools_of.items():
        known = photographs.setdefault(flickr[image_id] or image_id, [])
        known += [pool for pool in pools if pool not in known]
    ranked, _, _ = stratify(*tables(pools_of, flickr), "seed", per_cell)
    shown = Counter(flickr[row["image_id"]] or row["image_id"] for row in ranked.to_pylist())
    assert set(shown) == set(photographs)
    assert set(shown.values()) <= {1}
    assert len(select(ranked, ()).taken) == most_places(photographs, 3 * per_cell)


@quick
@given(adversarial, adversarial, st.integers(1, 2))
def test_ranks_within_a_stratum_are_stable_under_new_rows(before: Served, more: Served, per_cell: int) -> None:
    added = {f"{image_id}-new": pools for image_id, pools in more.items()}
    old = {row["item_id"]: row for row in stratify(*tables(before), "seed", per_cell)[0].to_pylist()}
    new = {row["item_id"]: row for row in stratify(*tables(before | added), "seed", per_cell)[0].to_pylist()}
    for one, other in itertools.combinations(sorted(set(old) & set(new)), 2):
        if old[one]["stratum"] == old[other]["stratum"] and new[one]["stratum"] == new[other]["stratum"]:
            order = old[one]["rank"] < old[other]["rank"]
            assert (new[one]["rank"] < new[other]["rank"]) == order


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
    for seed in "abcdef":
        ranked, _, verdicts = stratify(*tables(pools_of, {"coco-2": "77", "invig-1": "77"}), seed, 1)
        (twin,) = set(ranked["image_id"].to_pylist()) - {"coco-3"}
        (row,) = [row for row in ranked.to_pylist() if row["image_id"] == twin]
        rules = {verdict.record_id: (verdict.rule, verdict.detail, verdict.hard) for verdict in verdicts}
        pool = pool_of(row["stratum"])
        for item in ("coco-2-food", "invig-1-animal", "invig-1-food"):
            if item == row["item_id"]:
                assert item not in rules
            elif item.startswith(twin):
                assert rules.pop(item) == ("serves_another_pool", f"its image serves {pool}", True)
            else:
                told = f"Flickr photo 77 is there as {twin} too, which serves {pool}"
                assert rules.pop(item) == ("same_photograph", told, True)
        assert rules == {}


def test_of_two_images_of_one_photograph_the_hash_chooses_and_not_the_name_of_the_source() -> None:
    pools_of = {"coco-2": ["single-food"], "openimages-00aa": ["single-food"]}
    flickr = dict.fromkeys(pools_of, "77")
    served = {stratify(*tables(pools_of, flickr), seed, 1)[0]["image_id"].to_pylist()[0] for seed in "abcdef"}
    assert served == set(pools_of)


def test_without_competition_every_photograph_serves_where_it_ranks_highest() -> None:
    pools_of = {f"coco-{number}": ["single-animal", "single-food", "overlapping-person"] for number in range(60)}
    ranked, _, _ = stratify(*tables(pools_of), "seed", 2)
    ranks = {
        pool: {
            image_id: place
            for place, image_id in enumerate(
                sorted(pools_of, key=lambda name: hash_rank_key("seed", pool, f"{name}-{pool.partition('-')[2]}"))
            )
        }
        for pool in POOLS
    }
    for row in ranked.to_pylist():
        assert pool_of(row["stratum"]) == min(pools_of["coco-0"], key=lambda pool: (ranks[pool][row["image_id"]], pool))


def test_a_new_photograph_moves_no_more_than_the_exchanges_need() -> None:
    pools_of = {f"coco-{number}": [POOLS[number % 12], POOLS[(number + 5) % 12]] for number in range(200)}
    before = {row["image_id"]: row["stratum"] for row in stratify(*tables(pools_of), "seed", 4)[0].to_pylist()}
    added = pools_of | {"coco-new": ["separated-food", "single-person"]}
    after = {row["image_id"]: row["stratum"] for row in stratify(*tables(added), "seed", 4)[0].to_pylist()}
    moved = [name for name, stratum in before.items() if pool_of(after[name]) != pool_of(stratum)]
    assert len(moved) <= 6


def test_a_photograph_serves_where_it_is_needed_by_whichever_image() -> None:
    # only the second image of the photograph shows what the scarce pool lacks
    pools_of = {f"coco-{number}": ["single-food"] for number in range(9)} | {"openimages-00aa": ["separated-animal"]}
    for seed in "abcdef":
        ranked, _, _ = stratify(*tables(pools_of, {"coco-0": "77", "openimages-00aa": "77"}), seed, 1)
        taken = {row["image_id"]: pool_of(row["stratum"]) for row in ranked.to_pylist()}
        assert taken["openimages-00aa"] == "separated-animal"
        assert "coco-0" not in taken


def test_coco_and_open_images_show_one_flickr_id() -> None:
    coco = "http://farm6.staticflickr.com/5310/5898076654_51085e157c_z.jpg"
    open_images = "https://farm3.staticflickr.com/5310/5898076654_51085e157c_o.jpg"
    other_host = "https://c1.staticflickr.com/6/5310/5898076654_00643a940c_o.jpg"
    found = {photo_page_from_flickr(address)[0] for address in (coco, open_images, other_host)}  # type: ignore[index]
    assert found == {"5898076654"}


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
