# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG's strata: bins of unique initial candidates, filled evenly as far as the dialogues reach."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from groundset.errors import DataError, Problem
from groundset.sampling import ranked
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict

# The paper's six bins, in the order in which spare places are dealt.
BINS = ("2", "3", "4", "5", "6", "7+")
FIRST_BIN = 2
LAST_BIN = 7


def bin_name(unique: int) -> str:
    """Bin of a number of unique initial candidates (paper: 2, 3, 4, 5, 6, 7 and more).

    >>> bin_name(2), bin_name(7), bin_name(15)
    ('2', '7+', '7+')

    Raises:
        DataError: There is no bin below two; `rank` gives such rows the verdict `below_first_bin` instead.
    """
    if unique < FIRST_BIN:
        problem = Problem("", "", "$.candidates_unique", f"{unique} is below the first bin, {FIRST_BIN}")
        raise DataError("No stratum for so few candidates", [problem])
    return f"{LAST_BIN}+" if unique >= LAST_BIN else str(unique)


def wants(available: Mapping[str, int], per_bin: int) -> dict[str, int]:
    """How many rows each bin is to give (design, CandVG: stratify).

    Each bin gives `per_bin` or all it has. What short bins lack goes round-robin, one at a time in bin order, to bins
    that still have rows.

    >>> wants({"2": 9, "3": 1, "4": 9, "5": 3, "6": 3, "7+": 3}, 3)
    {'2': 4, '3': 1, '4': 4, '5': 3, '6': 3, '7+': 3}

    Args:
        available: Bin to number of eligible rows; a bin that is left out has none.
        per_bin: How many rows each bin should give.

    Raises:
        DataError: A bin is unknown.
    """
    unknown = sorted(set(available) - set(BINS))
    if unknown:
        raise DataError("Unknown strata", [Problem("", name, "", "is not a bin of candidates") for name in unknown])
    have = {name: available.get(name, 0) for name in BINS}
    want = {name: min(per_bin, have[name]) for name in BINS}
    spare = per_bin * len(BINS) - sum(want.values())
    while spare > 0:
        with_rows = [name for name in BINS if want[name] < have[name]][:spare]
        if not with_rows:
            break
        for name in with_rows:
            want[name] += 1
        spare -= len(with_rows)
    return want


def rank(items: pa.Table, seed: str, per_bin: int) -> tuple[pa.Table, list[Verdict]]:
    """Puts every eligible dialogue in its stratum's hash order, reserve included.

    Args:
        items: Table of `schemas/candvg_item`, in any order.
        seed: The manifest's seed.
        per_bin: How many dialogues each bin should give (paper: 270).

    Returns:
        Table of `schemas/ranked` sorted by item_id, and a verdict `below_first_bin` on each dialogue with fewer than
        two unique candidates (the filter lets them pass if it counts raw boxes), sorted by record.
    """
    columns = zip(*(items[name].to_pylist() for name in ("item_id", "image_id", "candidates_unique")), strict=True)
    images: dict[str, str] = {}
    members: dict[str, list[str]] = {name: [] for name in BINS}
    verdicts = []
    for item_id, image_id, unique in sorted(columns):
        if unique < FIRST_BIN:
            detail = f"unique initial candidates: {unique}; the first bin holds {FIRST_BIN}"
            verdicts.append(Verdict(item_id, "dialogue", "below_first_bin", detail, float(unique), float(FIRST_BIN)))
            continue
        if item_id in images:
            raise DataError("Dialogues cannot be ranked", [Problem("", item_id, "$.item_id", "is there twice")])
        images[item_id] = image_id
        members[bin_name(unique)].append(item_id)
    want = wants({name: len(ids) for name, ids in members.items()}, per_bin)
    rows = [
        {"item_id": item_id, "image_id": images[item_id], "stratum": name, "rank": place, "want": want[name]}
        for name in BINS
        for place, item_id in enumerate(ranked(members[name], seed, name))
    ]
    rows.sort(key=lambda row: str(row["item_id"]))
    return pa.Table.from_pylist(rows, schema=arrow_schema("ranked")), verdicts
