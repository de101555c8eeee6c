# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The reviewed hand list of words (`lexicon.toml`): what is one of what, and what excludes what."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from groundset.fpco import word_file
from groundset.fpco.plurals import NO_PLURAL, ONLY_PLURAL, is_plural_form, singulars

FILE = "lexicon.toml"
CATEGORIES = ("person", "vehicle", "animal", "food")

Relation = Literal["same", "compatible", "incompatible", "unknown"]
Number = Literal["singular", "plural", "unknown"]

_ROOTS = frozenset({*CATEGORIES, "thing"})
_SECTIONS = (
    "kinds",
    "things",
    "members",
    "synonyms",
    "roles",
    "genders",
    "ambiguous",
    "overlaps",
    "colours",
    "colour_words",
    "attributes",
    "place_words",
)


@dataclass(frozen=True)
class Lexicon:
    """All words, looked up by their canonical singular in lower case.

    Attributes:
        kinds: Words for several things.
        parents: For each kind and thing the kinds and things that it directly is one of.
        synonyms: Other words for a kind or thing.
        roles: Words for persons by what they do.
        exclusive: Groups of roles of which a photograph shows one to be no other.
        infants: Persons whom nobody takes for a grown one.
        ambiguous: Words that mean things of several categories, to the kinds or things that they may mean.
        genders: male or female, for the nouns that tell.
        overlaps: Pairs that one thing can both be called.
        colours: Measured colour words, each with the incompatible ones.
        colour_words: Other colour words, with the measured ones that they may mean.
        attributes: Words of other properties, with the name of the property.
        sides: Words for a place in the image.
        place_relations: Words for a place by another thing.
    """

    kinds: frozenset[str]
    parents: Mapping[str, tuple[str, ...]]
    synonyms: Mapping[str, str]
    roles: frozenset[str]
    exclusive: tuple[frozenset[str], ...]
    infants: frozenset[str]
    ambiguous: Mapping[str, tuple[str, ...]]
    genders: Mapping[str, str]
    overlaps: frozenset[frozenset[str]]
    colours: Mapping[str, tuple[str, ...]]
    colour_words: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, str]
    sides: frozenset[str]
    place_relations: frozenset[str]

    def canonical(self, words: str) -> str | None:
        """The listed singular word for a noun or label in any case and number; None if it is not listed."""
        for form in singulars(" ".join(words.casefold().split())):
            word = self.synonyms.get(form, form)
            if word in self.parents or word in self.roles:
                return word
        return None

    def ancestors(self, word: str) -> frozenset[str]:
        """A canonical word and everything that it is one of."""
        found: set[str] = set()
        waiting = [word]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting.extend(self.parents.get(current, ("person",) if current in self.roles else ()))
        return frozenset(found)

    def categories(self, word: str) -> frozenset[str]:
        """The categories of a canonical word; several for what is an animal and food."""
        return self.ancestors(word) & frozenset(CATEGORIES)

    def relation(self, first: str, second: str) -> Relation:
        """Whether one object can be called both words.

        `same` for synonyms; `compatible` if one is a kind of the other or the hand list says so; `incompatible` if both
        are listed and neither holds; `unknown` if a word is not listed, or if the list cannot tell (two ages or roles
        of a person, or a kind beside a thing that it might hold).
        """
        a, b = self.canonical(first), self.canonical(second)
        if a is None or b is None:
            return "same" if first.casefold() == second.casefold() else "unknown"
        if a == b:
            return "same"
        above_a, above_b = self.ancestors(a), self.ancestors(b)
        if a in above_b or b in above_a:
            return "compatible"
        if frozenset((a, b)) in self.overlaps:
            return "compatible"
        if "person" in above_a and "person" in above_b:
            return self._between_persons(a, b)
        if above_a & above_b & _ROOTS and (a in self.kinds or b in self.kinds) and not above_a & above_b & {"thing"}:
            return "unknown"
        return "incompatible"

    def _between_persons(self, a: str, b: str) -> Relation:
        """Sex, and infancy beside anything grown, show in a photograph; age and most roles do not surely."""
        if {self.genders.get(a), self.genders.get(b)} == {"male", "female"}:
            return "incompatible"
        if a in self.roles and b in self.roles:
            return "incompatible" if any(a in group and b in group for group in self.exclusive) else "unknown"
        infant = {a, b} & self.infants
        if a in self.roles or b in self.roles:
            return "unknown" if infant else "compatible"
        return "incompatible" if infant and not {a, b} & {"boy", "girl", "child"} else "unknown"

    def is_shade(self, word: str) -> bool:
        """Whether a word only says how light a color is."""
        return self.is_colour(word) and not self.meanings(word)

    def meanings(self, word: str) -> frozenset[str]:
        """The measured colours that a colour word may mean; empty if it is none or says no hue."""
        lower = word.casefold()
        return frozenset((lower,)) if lower in self.colours else frozenset(self.colour_words.get(lower, ()))

    def is_colour(self, word: str) -> bool:
        """Whether a word is a colour word."""
        return word.casefold() in self.colours or word.casefold() in self.colour_words

    def is_attribute(self, word: str) -> bool:
        """Whether a word is a colour or another listed property."""
        return self.is_colour(word) or word.casefold() in self.attributes

    def is_place(self, word: str) -> bool:
        """Whether a word says where something is."""
        return word.casefold() in self.sides or word.casefold() in self.place_relations

    def number(self, noun: str) -> Number:
        """Whether a noun is written in the singular or the plural, where its form tells."""
        lower = noun.casefold()
        last = lower.split()[-1] if lower.split() else ""
        if not last or last in NO_PLURAL:
            return "unknown"
        if last in ONLY_PLURAL:
            return "plural"
        if self._listed(lower):
            return "singular"
        if self.canonical(lower) is not None or is_plural_form(last):
            return "plural"
        return "unknown"

    def _listed(self, word: str) -> bool:
        return word in self.parents or word in self.synonyms or word in self.roles


@functools.cache
def load() -> Lexicon:
    """The packaged lexicon, read and validated once.

    Raises:
        DataError: With every fault of the file.
    """
    text = resources.files("groundset.fpco").joinpath(FILE).read_text(encoding="utf-8")
    return parse(text)


def parse(text: str) -> Lexicon:
    """A lexicon from TOML text of the shape of `lexicon.toml`.

    Raises:
        DataError: If the text is no TOML, lacks a section or contradicts itself, with every fault.
    """
    return word_file.parse(text, FILE, "the lexicon", _SECTIONS, _build, _faults, "itself")


def _build(raw: Mapping[str, Any]) -> Lexicon:
    things = raw["things"]
    # the shorter form: what stands under a kind is one of it
    members: dict[str, tuple[str, ...]] = {}
    for kind, names in raw["members"].items():
        for name in names:
            members[name] = (*members.get(name, ()), kind)
    return Lexicon(
        kinds=frozenset(raw["kinds"]),
        parents={
            **{name: tuple(above) for name, above in raw["kinds"].items()},
            **members,
            **{name: tuple(thing["in"]) for name, thing in things.items()},
        },
        synonyms=dict(raw["synonyms"]),
        roles=frozenset(raw["roles"]["words"]),
        exclusive=tuple(frozenset(group) for group in raw["roles"]["exclusive"]),
        infants=frozenset(raw["roles"]["infants"]),
        ambiguous={word: tuple(meanings) for word, meanings in raw["ambiguous"].items()},
        genders={word: name for name, words in raw["genders"].items() for word in words},
        overlaps=frozenset(frozenset(pair) for pair in raw["overlaps"]["pairs"]),
        colours={name: tuple(words) for name, words in raw["colours"].items()},
        colour_words={name: tuple(words) for name, words in raw["colour_words"].items()},
        attributes={word: name for name, words in raw["attributes"].items() for word in words},
        sides=frozenset(raw["place_words"]["sides"]),
        place_relations=frozenset(raw["place_words"]["relations"]),
    )


def _faults(lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """Every contradiction: a word that is not listed."""
    yield from _noun_faults(lexicon)
    for colour, swaps in lexicon.colours.items():
        for swap in swaps:
            if swap == colour or swap not in lexicon.colours:
                yield f"$.colours.{colour}", f"{swap!r} is not another measured color"
    for word, meanings in lexicon.colour_words.items():
        if word in lexicon.colours or set(meanings) - set(lexicon.colours):
            yield f"$.colour_words.{word}", "must be no measured color and mean only measured ones"


def _noun_faults(lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    for name, above in lexicon.parents.items():
        for parent in above:
            if parent not in lexicon.parents:
                yield f"$.{name}", f"{parent!r} is neither a kind nor a thing"
        if any(name in lexicon.ancestors(parent) for parent in above):
            yield f"$.{name}", "is a kind of itself"
        elif not lexicon.ancestors(name) & _ROOTS:
            yield f"$.{name}", "leads to none of person, vehicle, animal, food, thing"
    for word, name in lexicon.synonyms.items():
        if name not in {*lexicon.parents, *lexicon.roles} or word in lexicon.parents:
            yield f"$.synonyms.{word}", f"must be another word for a listed one, not {name!r}"
    for word in lexicon.genders:
        if word not in lexicon.parents and word not in lexicon.roles:
            yield f"$.genders.{word}", "is neither a thing nor a role"
    for word in frozenset().union(*lexicon.exclusive) - lexicon.roles:
        yield "$.roles.exclusive", f"{word!r} is no role"
    for word, meanings in lexicon.ambiguous.items():
        if any(meaning not in lexicon.parents for meaning in meanings) or lexicon.canonical(word) is None:
            yield f"$.ambiguous.{word}", "must be a listed word that means listed kinds or things"
    for pair in lexicon.overlaps:
        if len(pair) != 2 or any(word not in lexicon.parents for word in pair):
            yield "$.overlaps", f"{' and '.join(sorted(pair))}: must be two listed words"
