# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The reviewed hand list of words whose place in a phrase matters (`grammar.toml`)."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

FILE = "grammar.toml"


@dataclass(frozen=True)
class Grammar:
    """Words by how they stand in a description, in lower case.

    Attributes:
        relations: Words of each relation that puts the target somewhere, longest first.
        same_relations: Relations to the numbers of the groups in which all say the same.
        sides: Words for a place in the picture or in an order.
        of_picture: What a side is a side of, if it is one of the picture.
        postures: What the target does somewhere.
        looking: Verbs that take a direction, which is no place of the target.
        filled: Adjectives that take a phrase of their own.
        having: What opens a phrase about a thing that the target has.
        worn: What is worn.
        not_after_in: What is worn, but is no clothing when it follows "in".
        plural_only: Worn and other things that have no singular.
        body: Parts of a body.
        thing_parts: Parts of things.
        surfaces: What has the color of the whole.
        measures: Words before "of" that measure or gather.
        singular: Words that only a singular follows.
        plural: Words that only a plural follows.
        either: Nouns that tell no number.
        same_properties: Words of a property to the groups in which all can be said of one thing.
        apart: Names of properties of which one leaves the others open.
    """

    relations: tuple[tuple[str, ...], ...]
    same_relations: Mapping[str, frozenset[int]]
    sides: frozenset[str]
    of_picture: frozenset[str]
    postures: frozenset[str]
    looking: frozenset[str]
    filled: frozenset[str]
    having: frozenset[str]
    worn: frozenset[str]
    not_after_in: frozenset[str]
    plural_only: frozenset[str]
    body: frozenset[str]
    thing_parts: frozenset[str]
    surfaces: frozenset[str]
    measures: frozenset[str]
    singular: frozenset[str]
    plural: frozenset[str]
    either: frozenset[str]
    same_properties: Mapping[str, frozenset[int]]
    apart: frozenset[str]

    def relation_at(self, words: Sequence[str], index: int) -> int:
        """How many words the relation at an index of lower-case words has; 0 if there is none."""
        for relation in self._by_first.get(words[index], ()):
            if tuple(words[index : index + len(relation)]) == relation:
                return len(relation)
        return 0

    @functools.cached_property
    def _by_first(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        firsts = {relation[0] for relation in self.relations}
        return {first: tuple(relation for relation in self.relations if relation[0] == first) for first in firsts}


def _groups(lines: Sequence[Sequence[str]]) -> dict[str, frozenset[int]]:
    words = {word for line in lines for word in line}
    return {word: frozenset(number for number, line in enumerate(lines) if word in line) for word in words}


@functools.cache
def load_grammar() -> Grammar:
    """The packaged list."""
    raw = tomllib.loads(resources.files("groundset.fpco").joinpath(FILE).read_text(encoding="utf-8"))
    relations = {tuple(phrase.split()) for phrase in [*raw["relations"]["phrases"], *raw["relations"]["words"]]}
    return Grammar(
        relations=tuple(sorted(relations, key=lambda words: (-len(words), words))),
        same_relations=_groups(raw["relations"]["same"]),
        sides=frozenset(raw["sides"]["words"]),
        of_picture=frozenset(raw["sides"]["of_picture"]),
        postures=frozenset(raw["postures"]["words"]),
        looking=frozenset(raw["postures"]["looking"]),
        filled=frozenset(raw["postures"]["filled"]),
        having=frozenset(raw["postures"]["having"]),
        worn=frozenset(raw["worn"]["words"]),
        not_after_in=frozenset(raw["worn"]["not_after_in"]),
        plural_only=frozenset(raw["worn"]["plural_only"]),
        body=frozenset(raw["body"]["parts"]),
        thing_parts=frozenset(raw["body"]["of_things"]),
        surfaces=frozenset(raw["body"]["surfaces"]),
        measures=frozenset(raw["measures"]["words"]),
        singular=frozenset(raw["number"]["singular"]),
        plural=frozenset(raw["number"]["plural"]),
        either=frozenset(raw["number"]["either"]),
        same_properties=_groups(raw["properties"]["same"]),
        apart=frozenset(raw["properties"]["apart"]),
    )
