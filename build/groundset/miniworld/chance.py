# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Choices that look random but come from sha256 of seed, place and purpose alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Chance:
    """The choices of one place in the world; none depends on how many were made before it.

    Attributes:
        seed: Seed of the world.
        place: What is being chosen for, such as a scene's number.
    """

    seed: str
    place: str

    def digest(self, purpose: str) -> str:
        """The sha256 that a choice is made from, in hex."""
        return hashlib.sha256("\0".join((self.seed, self.place, purpose)).encode()).hexdigest()

    def unit(self, purpose: str) -> float:
        """A number from 0 up to, not including, 1.

        >>> 0 <= Chance("a", "b").unit("c") < 1
        True
        """
        return int(self.digest(purpose)[:13], 16) / 16**13

    def between(self, purpose: str, low: float, high: float) -> float:
        """A number from `low` up to `high`."""
        return low + (high - low) * self.unit(purpose)

    def whole(self, purpose: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self.unit(purpose) * (high - low + 1))

    def pick(self, purpose: str, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self.unit(purpose) * len(options))]

    def order(self, purpose: str, options: Sequence[T]) -> list[T]:
        """The options in another order."""
        keys = [self.digest(f"{purpose} {number}") for number in range(len(options))]
        return [options[number] for number in sorted(range(len(options)), key=lambda number: keys[number])]
