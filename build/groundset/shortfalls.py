# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How far the strata are filled, and the words that name those which fall short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# up to so many short strata are named in a line each
_ONE_BY_ONE = 6


@dataclass(frozen=True)
class Filled:
    """How far a stratum has been filled.

    Attributes:
        stratum: The stratum.
        want: How many the manifest wants.
        eligible: How many could fill it when strata were ranked.
        have: How many it has after the last stage that may reject; None before that stage is done.
    """

    stratum: str
    want: int
    eligible: int
    have: int | None

    @property
    def reaches(self) -> int:
        """What it has, or could have at most."""
        return self.eligible if self.have is None else self.have


def short(strata: Sequence[Filled]) -> list[Filled]:
    """The strata that fall short, or will at best."""
    return [row for row in strata if row.reaches < row.want]


def told(strata: Sequence[Filled]) -> list[str]:
    """Lines that name every short stratum with have and want, and the total; of many, those of a kind in one line.

    >>> told([Filled("2", 4, 9, 5), Filled("3", 4, 3, 3)])
    ['strata: 1 of 2 falls short; in all there are 8 of 8, as others stand in', 'stratum 3 falls short: have 3, want 4']
    """
    if not strata:
        return []
    lacking = short(strata)
    have, want = sum(row.reaches for row in strata), sum(row.want for row in strata)
    if strata[0].have is None:
        have = sum(min(row.reaches, row.want) for row in strata)
        if not lacking:
            return [f"strata: all {len(strata)} have enough eligible records for the {want} that are wanted"]
        first = f"strata: {len(lacking)} of {len(strata)} cannot fill; at most {have} of {want} can be had"
    elif not lacking:
        return [f"strata: all {len(strata)} are full, {have} of {want}"]
    else:
        fall = "falls" if len(lacking) == 1 else "fall"
        first = f"strata: {len(lacking)} of {len(strata)} {fall} short; in all there are {have} of {want}"
        if any(row.reaches > row.want for row in strata):
            first += ", as others stand in"
    if len(lacking) <= _ONE_BY_ONE:
        return [first, *(f"stratum {row.stratum} falls short: have {row.reaches}, want {row.want}" for row in lacking)]
    return [first, *(f"short: {line}" for line in _grouped(lacking))]


def _grouped(lacking: Sequence[Filled]) -> list[str]:
    """One line for all that lack the same: overlapping-food, single-food: identity 0 of 1, location 0 of 1."""
    parts: dict[str, list[str]] = {}
    for row in lacking:
        group, _, last = row.stratum.rpartition("-")
        parts.setdefault(group or row.stratum, []).append(
            f"{last if group else ''} {row.reaches} of {row.want}".strip()
        )
    groups: dict[str, list[str]] = {}
    for group, members in sorted(parts.items()):
        groups.setdefault(", ".join(members), []).append(group)
    return [f"{', '.join(names)}: {lack}" for lack, names in groups.items()]
