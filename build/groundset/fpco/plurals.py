# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Singular and plural of nouns, as far as their form tells."""

from __future__ import annotations

import functools
from collections.abc import Iterator

IRREGULAR_PLURALS = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "person": "people",
    "human": "humans",
    "mouse": "mice",
    "goose": "geese",
    "ox": "oxen",
    "foot": "feet",
    "tooth": "teeth",
    "cactus": "cacti",
    "die": "dice",
}
# Said of one and of many alike.
_NO_PLURAL = """
    sheep deer fish goldfish cattle shrimp squid broccoli bread sushi moose bison elk salmon trout tuna swine aircraft
    watercraft spacecraft rice pasta spaghetti corn lettuce spinach cabbage bacon beef pork meat cheese fruit food
"""
NO_PLURAL = frozenset(_NO_PLURAL.split())
# Listed under their plural.
ONLY_PLURAL = frozenset({"fries"})
_NOT_PLURAL = ("ss", "us", "is", "'s", "as")


@functools.lru_cache(maxsize=4096)
def singulars(noun: str) -> tuple[str, ...]:
    """The noun itself, and every singular that it could be the plural of.

    >>> singulars("wolves")
    ('wolves', 'wolf', 'wolfe', 'wolv', 'wolve')
    """
    return tuple(_singulars(noun))


def _singulars(noun: str) -> Iterator[str]:
    yield noun
    head, _, last = noun.rpartition(" ")
    prefix = f"{head} " if head else ""
    for singular, irregular in IRREGULAR_PLURALS.items():
        if last == irregular:
            yield prefix + singular
    if last.endswith("men") and last not in ("men", "women"):
        yield prefix + last[:-3] + "man"
    if last.endswith("ies"):
        yield prefix + last[:-3] + "y"
    if last.endswith("ves"):
        yield prefix + last[:-3] + "f"
        yield prefix + last[:-3] + "fe"
    if last.endswith("es"):
        yield prefix + last[:-2]
    if last.endswith("s"):
        yield prefix + last[:-1]


def is_plural_form(word: str) -> bool:
    """Whether the form of a word in lower case tells that it is a plural."""
    if word in IRREGULAR_PLURALS.values() or (word.endswith("men") and len(word) > 4):
        return True
    return len(word) > 3 and word.endswith("s") and not word.endswith(_NOT_PLURAL)
