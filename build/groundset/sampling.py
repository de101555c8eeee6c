# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Hash-ranked sampling and the selection that refills what has been rejected.

A rank depends on seed, stratum and record id alone: not on file order, library version or machine, and a new record
does not reorder the others of its stratum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa


def hash_rank_key(seed: str, stratum: str, record_id: str) -> str:
    """Sort key of a record in its stratum: sha256 of seed, stratum and id, joined by NUL.

    >>> hash_rank_key("a", "b", "c") == hash_rank_key("a", "b", "c")
    True
    """
    return hashlib.sha256("\0".join((seed, stratum, record_id)).encode()).hexdigest()


def ranked(record_ids: Iterable[str], seed: str, stratum: str) -> list[str]:
    """The ids in hash order; equal keys cannot occur for different ids, the id breaks the tie all the same."""
    return sorted(record_ids, key=lambda record_id: (hash_rank_key(seed, stratum, record_id), record_id))


@dataclass(frozen=True)
class Selection:
    """What is worked on now: every stratum up to its reach.

    Attributes:
        taken: Item ids that fill their stratum.
        refused: Item ids that come before the last taken one and have been rejected.
        reserve: The next item ids of each stratum, up to the margin.
        short: Stratum to (have, want), for strata that have run out.
    """

    taken: tuple[str, ...]
    refused: tuple[str, ...]
    reserve: tuple[str, ...]
    short: Mapping[str, tuple[int, int]]


def select(ranking: pa.Table, rejected: Collection[str], margin: int = 0) -> Selection:
    """Takes the first `want` records of each stratum that have not been rejected.

    An accepted record never moves out: rejecting one record only lets the next of the same stratum in.

    Args:
        ranking: Table of `schemas/ranked`.
        rejected: Item ids whose place the next of their stratum takes.
        margin: How many further records of each stratum to name as reserve.
    """
    refused_ids = frozenset(rejected)
    strata: dict[str, list[tuple[int, str]]] = {}
    wants: dict[str, int] = {}
    for row in ranking.to_pylist():
        strata.setdefault(row["stratum"], []).append((row["rank"], row["item_id"]))
        wants[row["stratum"]] = row["want"]
    taken: list[str] = []
    refused: list[str] = []
    reserve: list[str] = []
    short: dict[str, tuple[int, int]] = {}
    for stratum in sorted(strata):
        have = ahead = 0
        for _, item in sorted(strata[stratum]):
            if have < wants[stratum]:
                (refused if item in refused_ids else taken).append(item)
                have += item not in refused_ids
            elif ahead < margin and item not in refused_ids:
                reserve.append(item)
                ahead += 1
        if have < wants[stratum]:
            short[stratum] = (have, wants[stratum])
    return Selection(tuple(sorted(taken)), tuple(sorted(refused)), tuple(sorted(reserve)), short)
