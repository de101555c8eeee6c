# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog's 36 cells: each image serves one, as many cells fill as can, and the false class is dealt by rank.

Complexity x category makes 12 pools, three false classes make each pool three cells (paper: 3 x 4 x 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from groundset.fpco.filter import CATEGORIES, COMPLEXITIES
from groundset.sampling import hash_rank_key
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict

FALSE_CLASSES = ("identity", "attribute", "location")
POOLS = tuple(f"{complexity}-{category}" for complexity in COMPLEXITIES for category in CATEGORIES)
CELLS = tuple(f"{pool}-{false_class}" for pool in POOLS for false_class in FALSE_CLASSES)

Ranking = Mapping[str, Sequence[str]]


def assign(ranking: Ranking, image_of: Mapping[str, str], capacity: int) -> dict[str, str]:
    """Gives each image to one of the pools that it could serve, so that as many places fill as can.

    A maximum flow from the images through the pools decides where it matters. An image that the flow leaves free goes,
    in hash order of its pools, to the pool in which it ranks highest.

    Args:
        ranking: Pool to item ids in rank order.
        image_of: Item id to image id.
        capacity: Places of each pool.

    Returns:
        Image id to its pool.
    """
    pools = sorted(ranking)
    # a maximum needs no more than the first places-of-all-pools of each pool: a lower one can be exchanged
    deepest = capacity * len(pools)
    contested = sorted({image_of[item] for pool in pools for item in ranking[pool][:deepest]})
    image_node = {image_id: node for node, image_id in enumerate(contested, start=1)}
    pool_node = {pool: node for node, pool in enumerate(pools, start=len(contested) + 1)}
    sink = len(contested) + len(pools) + 1
    # from node, to node, how much may flow: an image is given once
    edges = [(0, image_node[image_id], 1) for image_id in contested]
    edges += [(image_node[image_of[item]], pool_node[pool], 1) for pool in pools for item in ranking[pool][:deepest]]
    edges += [(pool_node[pool], sink, min(capacity, len(contested))) for pool in pools]
    starts, ends, limits = np.array(edges, dtype=np.int32).T
    graph = coo_array((limits, (starts, ends)), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(graph, 0, sink).flow.tocoo()
    chosen = {
        contested[start - 1]: pools[end - len(contested) - 1]
        for start, end, amount in zip(flow.row.tolist(), flow.col.tolist(), flow.data.tolist(), strict=True)
        if amount > 0 and 0 < start <= len(contested) < end < sink
    }
    best: dict[str, tuple[int, str]] = {}
    for pool in pools:
        for rank, item in enumerate(ranking[pool]):
            image_id = image_of[item]
            best[image_id] = min(best.get(image_id, (rank, pool)), (rank, pool))
    return {image_id: chosen.get(image_id, pool) for image_id, (_, pool) in sorted(best.items())}


def stratify(items: pa.Table, images: pa.Table, seed: str, per_cell: int) -> tuple[pa.Table, pa.Table, list[Verdict]]:
    """Puts every eligible image in one cell with its rank, reserve included.

    Args:
        items: Table of `schemas/fpco_item`.
        images: Table of `schemas/image`; photographs with one Flickr id are one photograph.
        seed: The manifest's seed.
        per_cell: How many dialogues each cell should give (paper: 30).

    Returns:
        Table of `schemas/ranked` sorted by item; table of `schemas/stratum` with all 36 cells; a hard verdict on each
        item whose photograph is there twice (`same_photograph`) or serves another pool (`serves_another_pool`), sorted
        by item.
    """
    flickr = dict(zip(images["image_id"].to_pylist(), images["flickr_id"].to_pylist(), strict=True))
    verdicts: list[Verdict] = []
    first: dict[str, str] = {}
    for image_id in sorted(set(items["image_id"].to_pylist())):
        photo = flickr.get(image_id)
        if photo is not None:
            first.setdefault(photo, image_id)
    usable = []
    for row in items.select(["item_id", "image_id", "category", "complexity"]).to_pylist():
        photo = flickr.get(row["image_id"])
        if photo is not None and first[photo] != row["image_id"]:
            told = f"Flickr photo {photo} is there as {first[photo]} too"
            verdicts.append(Verdict(row["item_id"], "item", "same_photograph", told))
        else:
            usable.append((f"{row['complexity']}-{row['category']}", row["item_id"], row["image_id"]))
    image_of = {item: image_id for _, item, image_id in usable}
    ranking: dict[str, list[str]] = {pool: [] for pool in POOLS}
    for pool, item, _ in sorted(usable, key=lambda entry: (entry[0], hash_rank_key(seed, entry[0], entry[1]))):
        ranking[pool].append(item)
    pool_of = assign(ranking, image_of, per_cell * len(FALSE_CLASSES))
    rows = []
    for pool in POOLS:
        members = [item for item in ranking[pool] if pool_of[image_of[item]] == pool]
        for place, item in enumerate(members):
            stratum = f"{pool}-{FALSE_CLASSES[place % len(FALSE_CLASSES)]}"
            rank = place // len(FALSE_CLASSES)
            rows.append((item, image_of[item], stratum, rank, per_cell))
        for item in set(ranking[pool]) - set(members):
            told = f"its image serves {pool_of[image_of[item]]}"
            verdicts.append(Verdict(item, "item", "serves_another_pool", told))
    rows.sort()
    names = arrow_schema("ranked").names
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=arrow_schema("ranked"))
    strata = [
        {"stratum": cell, "want": per_cell, "eligible": sum(row[2] == cell for row in rows)} for cell in sorted(CELLS)
    ]
    verdicts.sort(key=lambda verdict: verdict.record_id)
    return table, pa.Table.from_pylist(strata, schema=arrow_schema("stratum")), verdicts
