# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog's 36 cells: each photograph serves one, as many cells fill as can, and the false class is dealt by rank.

Complexity x category makes 12 pools, three false classes make each pool three cells (paper: 3 x 4 x 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from groundset.fpco.filter import CATEGORIES, COMPLEXITIES
from groundset.sampling import ranked
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict

FALSE_CLASSES = ("identity", "attribute", "location")
POOLS = tuple(f"{complexity}-{category}" for complexity in COMPLEXITIES for category in CATEGORIES)
CELLS = tuple(f"{pool}-{false_class}" for pool in POOLS for false_class in FALSE_CLASSES)

Ranking = Mapping[str, Sequence[str]]


def assign(ranking: Ranking, photograph_of: Mapping[str, str], capacity: int) -> dict[str, str]:
    """Gives each photograph to one of the pools that it could serve, so that as many places fill as can.

    Each photograph goes to the pool in which it ranks highest, of equal ranks to the first pool by name. Where another
    choice fills more places, a maximum flow finds the exchanges that bring it about, and no more is moved.

    Args:
        ranking: Pool to item ids in rank order, one of each photograph.
        photograph_of: Item id to what may be shown once.
        capacity: Places of each pool.

    Returns:
        Photograph to its pool.
    """
    pools = sorted(ranking)
    best: dict[str, tuple[int, str]] = {}
    for pool in pools:
        for rank, item in enumerate(ranking[pool]):
            photograph = photograph_of[item]
            best[photograph] = min(best.get(photograph, (rank, pool)), (rank, pool))
    placed: dict[str, list[str]] = {pool: [] for pool in pools}
    for photograph, (_, pool) in sorted(best.items(), key=lambda entry: entry[1]):
        if len(placed[pool]) < capacity:
            placed[pool].append(photograph)
    moved = _exchanges(ranking, photograph_of, capacity, placed)
    return {photograph: moved.get(photograph, pool) for photograph, (_, pool) in sorted(best.items())}


def _exchanges(
    ranking: Ranking, photograph_of: Mapping[str, str], capacity: int, placed: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The photographs to move, each with its new pool, so that the places filled become as many as can be.

    A maximum flow through what the placed photographs leave of the network from photographs to pools: it enters by a
    photograph without a place, takes one from a pool for the next where it must, and leaves by a free place.
    """
    # it takes long to import, and only this stage needs it
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    pools = sorted(ranking)
    # a maximum needs no more than the first places-of-all-pools of each pool: a lower one can be exchanged
    deepest = capacity * len(pools)
    home = {photograph: pool for pool in pools for photograph in placed[pool]}
    served = sorted({(photograph_of[item], pool) for pool in pools for item in ranking[pool][:deepest]})
    served = [(photograph, pool) for photograph, pool in served if home.get(photograph) != pool]
    names = sorted({photograph for photograph, _ in served} | set(home))
    photograph_node = {photograph: node for node, photograph in enumerate(names, start=1)}
    pool_node = {pool: node for node, pool in enumerate(pools, start=len(names) + 1)}
    sink = len(names) + len(pools) + 1
    # from node, to node, how much may flow
    edges = [(0, photograph_node[photograph], 1) for photograph in names if photograph not in home]
    edges += [(pool_node[pool], photograph_node[photograph], 1) for photograph, pool in sorted(home.items())]
    edges += [(photograph_node[photograph], pool_node[pool], 1) for photograph, pool in served]
    edges += [(pool_node[pool], sink, min(capacity, len(names)) - len(placed[pool])) for pool in pools]
    starts, ends, limits = np.array(edges, dtype=np.int32).T
    graph = coo_array((limits, (starts, ends)), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(graph, 0, sink).flow.tocoo()
    return {
        names[start - 1]: pools[end - len(names) - 1]
        for start, end, amount in zip(flow.row.tolist(), flow.col.tolist(), flow.data.tolist(), strict=True)
        if amount > 0 and 0 < start <= len(names) < end < sink
    }


def stratify(items: pa.Table, images: pa.Table, seed: str, per_cell: int) -> tuple[pa.Table, pa.Table, list[Verdict]]:
    """Puts every eligible photograph in one cell with its rank, reserve included.

    Args:
        items: Table of `schemas/fpco_item`.
        images: Table of `schemas/image`; images with one Flickr id are one photograph, whichever source has them.
        seed: The manifest's seed.
        per_cell: How many dialogues each cell should give (paper: 30).

    Returns:
        Table of `schemas/ranked` sorted by item; table of `schemas/stratum` with all 36 cells; a hard verdict on each
        item whose image serves another pool (`serves_another_pool`) or whose photograph is shown as another image
        (`same_photograph`), sorted by item.
    """
    flickr = dict(zip(images["image_id"].to_pylist(), images["flickr_id"].to_pylist(), strict=True))
    image_of: dict[str, str] = {}
    photograph_of: dict[str, str] = {}
    members: dict[str, list[str]] = {pool: [] for pool in POOLS}
    for row in items.select(["item_id", "image_id", "category", "complexity"]).to_pylist():
        photo = flickr.get(row["image_id"])
        image_of[row["item_id"]] = row["image_id"]
        photograph_of[row["item_id"]] = row["image_id"] if photo is None else f"Flickr photo {photo}"
        members[f"{row['complexity']}-{row['category']}"].append(row["item_id"])
    ranking = {pool: _once(ranked(members[pool], seed, pool), photograph_of) for pool in POOLS}
    pool_of = assign(ranking, photograph_of, per_cell * len(FALSE_CLASSES))
    rows: list[dict[str, Any]] = []
    serving: dict[str, str] = {}
    for pool in POOLS:
        taken = [item for item in ranking[pool] if pool_of[photograph_of[item]] == pool]
        serving |= {photograph_of[item]: item for item in taken}
        for place, item in enumerate(taken):
            stratum = f"{pool}-{FALSE_CLASSES[place % len(FALSE_CLASSES)]}"
            rank = place // len(FALSE_CLASSES)
            row = {"item_id": item, "image_id": image_of[item], "stratum": stratum, "rank": rank, "want": per_cell}
            rows.append(row)
    rows.sort(key=lambda row: str(row["item_id"]))
    eligible = Counter(row["stratum"] for row in rows)
    strata = [{"stratum": cell, "want": per_cell, "eligible": eligible[cell]} for cell in sorted(CELLS)]
    verdicts = []
    for item in sorted(image_of):
        photograph = photograph_of[item]
        served = serving[photograph]
        if image_of[served] != image_of[item]:
            told = f"{photograph} is there as {image_of[served]} too, which serves {pool_of[photograph]}"
            verdicts.append(Verdict(item, "item", "same_photograph", told))
        elif served != item:
            verdicts.append(Verdict(item, "item", "serves_another_pool", f"its image serves {pool_of[photograph]}"))
    return (
        pa.Table.from_pylist(rows, schema=arrow_schema("ranked")),
        pa.Table.from_pylist(strata, schema=arrow_schema("stratum")),
        verdicts,
    )


def _once(items: Sequence[str], photograph_of: Mapping[str, str]) -> list[str]:
    """The items without those whose photograph an earlier one shows already."""
    first: dict[str, str] = {}
    return [item for item in items if first.setdefault(photograph_of[item], item) == item]
