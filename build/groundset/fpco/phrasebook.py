# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What the template writer may say (`phrasebook.toml`): swaps, details and question forms, held against the lexicon."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from groundset.fpco import lexicon as words
from groundset.fpco import word_file
from groundset.fpco.lexicon import Lexicon

FILE = "phrasebook.toml"
TARGET_SLOT = "{target}"
ROLES = ("state", "action", "relation", "role")
ASKS = ("", "colour", "depth", "company")
SIDES = ("left", "right")
_SECTIONS = ("swaps", "said", "unsaid", "patterned", "natural_colours", "places", "orders", "sizes", "questions")


@dataclass(frozen=True)
class QuestionForm:
    """One way to ask about a target.

    Attributes:
        text: The sentence with `{target}` where the description goes.
        role: state, action, relation or role.
        fits: Kinds and things that it may be asked of.
        excepted: Kinds and things that it may not be asked of, although they fit.
        asks: The detail that it asks for, one of `ASKS`.
        topic: What it is about; a dialogue asks one form of a topic.
    """

    text: str
    role: str
    fits: frozenset[str]
    excepted: frozenset[str]
    asks: str
    topic: str

    @property
    def opening(self) -> str:
        """Its first two words, by which one hears whether questions are alike."""
        return " ".join(self.text.split()[:2])

    def suits(self, word: str, lexicon: Lexicon, category: str) -> bool:
        """Whether it may be asked of a canonical word; of what is animal and food, as one of the category only."""
        above = lexicon.ancestors(word)
        if category in above:
            above = frozenset(name for name in above if category in lexicon.ancestors(name))
        return bool(above & self.fits) and not above & self.excepted


@dataclass(frozen=True)
class Place:
    """A place of the image, or in an order of objects.

    Attributes:
        name: What `places.py` knows it by.
        phrases: What a description may say; the swaps have as many, in the same order.
        swaps: Names of the places that it may falsely be swapped for.
        side: For an order, the side that it starts from; empty for a place of the image.
        before: For an order, how many objects stand before it.
    """

    name: str
    phrases: tuple[str, ...]
    swaps: tuple[str, ...] = ()
    side: str = ""
    before: int = 0

    @property
    def is_order(self) -> bool:
        """Whether it is a place among the objects that a noun may mean."""
        return bool(self.side)


@dataclass(frozen=True)
class Phrasebook:
    """All that may be said, by the lexicon's canonical words.

    Attributes:
        swaps: For each thing, and some kinds, what it may falsely be called.
        said: What is said for a word that is no name of one thing.
        unsaid: Words that name no single thing in the singular.
        patterned: Things that no single colour describes.
        natural_colours: For some kinds the colours that one would believe of them.
        places: Places of the image.
        orders: Places among the objects that the noun may mean.
        sizes: Size words, each with the false one.
        questions: Question forms in the order of the file.
    """

    swaps: Mapping[str, tuple[str, ...]]
    said: Mapping[str, str]
    unsaid: frozenset[str]
    patterned: frozenset[str]
    natural_colours: Mapping[str, tuple[str, ...]]
    places: Mapping[str, Place]
    orders: tuple[Place, ...]
    sizes: Mapping[str, str]
    questions: tuple[QuestionForm, ...]


@functools.cache
def load() -> Phrasebook:
    """The packaged phrasebook, read and held against the packaged lexicon once.

    Raises:
        DataError: With every fault of the file.
    """
    return parse(resources.files("groundset.fpco").joinpath(FILE).read_text(encoding="utf-8"), words.load())


def parse(text: str, lexicon: Lexicon) -> Phrasebook:
    """A phrasebook from TOML text of the shape of `phrasebook.toml`.

    Raises:
        DataError: If the text is no TOML, lacks a section or contradicts itself or the lexicon, with every fault.
    """
    return word_file.parse(
        text,
        FILE,
        "the phrasebook",
        _SECTIONS,
        _build,
        lambda book: _faults(book, lexicon),
        "itself or the lexicon",
    )


def _build(raw: Mapping[str, Any]) -> Phrasebook:
    return Phrasebook(
        swaps={name: tuple(found) for name, found in raw["swaps"].items()},
        said=dict(raw["said"]),
        unsaid=frozenset(raw["unsaid"]["words"]),
        patterned=frozenset(raw["patterned"]["words"]),
        natural_colours={name: tuple(found) for name, found in raw["natural_colours"].items()},
        places={
            name: Place(name, tuple(place["phrases"]), tuple(place["swaps"])) for name, place in raw["places"].items()
        },
        orders=tuple(
            Place(name, tuple(order["phrases"]), (), order["side"], order["before"])
            for name, order in raw["orders"].items()
        ),
        sizes=dict(raw["sizes"]),
        questions=tuple(
            QuestionForm(
                text=text,
                role=entry["role"],
                fits=frozenset(entry["fits"]),
                excepted=frozenset(entry.get("not", ())),
                asks=entry.get("asks", ""),
                topic=entry["topic"],
            )
            for entry in raw["questions"]
            for text in entry["texts"]
        ),
    )


def _faults(book: Phrasebook, lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """Every contradiction: a word that is not listed, a swap that is no swap, a form that cannot be filled."""
    yield from _noun_faults(book, lexicon)
    for kind, natural in book.natural_colours.items():
        if kind not in lexicon.parents or set(natural) - set(lexicon.colours):
            yield f"$.natural_colours.{kind}", "must be a kind or thing with measured colors"
    yield from _place_faults(book)
    for size, false in book.sizes.items():
        if lexicon.attributes.get(size) != "size" or book.sizes.get(false) != size:
            yield f"$.sizes.{size}", f"{false!r} is not its opposite size"
    for form in book.questions:
        path = f"$.questions.{form.topic}"
        if form.text.count(TARGET_SLOT) != 1 or not form.text.endswith("?"):
            yield path, f"must hold {TARGET_SLOT} once and end with a question mark"
        if form.role not in ROLES or form.asks not in ASKS:
            yield path, "unknown role or detail asked for"
        for word in sorted((form.fits | form.excepted) - set(lexicon.parents)):
            yield path, f"{word!r} is neither a kind nor a thing"
    texts = [form.text for form in book.questions]
    for text in sorted({text for text in texts if texts.count(text) > 1}):
        yield "$.questions", f"asked twice: {text}"


def _place_faults(book: Phrasebook) -> Iterator[tuple[str, str]]:
    for place in book.places.values():
        for name in place.swaps:
            swap = book.places.get(name)
            if swap is None or swap == place:
                yield f"$.places.{place.name}", f"{name!r} is not another place"
            elif len(swap.phrases) < len(place.phrases):
                yield f"$.places.{place.name}", f"{name!r} has fewer phrases"
            elif any(not _one_word_apart(*pair) for pair in zip(place.phrases, swap.phrases, strict=False)):
                yield f"$.places.{place.name}", f"{name!r} differs in more than one word"
    for order in book.orders:
        if order.side not in SIDES or not any(order.side in phrase for phrase in order.phrases):
            yield f"$.orders.{order.name}", f"{order.side!r} is no side, or not said"


def _one_word_apart(first: str, second: str) -> bool:
    a, b = first.split(), second.split()
    return len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1


def _noun_faults(book: Phrasebook, lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    for section, listed in (("patterned", book.patterned), ("unsaid", book.unsaid), ("said", frozenset(book.said))):
        for word in sorted(listed - set(lexicon.parents)):
            yield f"$.{section}", f"{word!r} is neither a kind nor a thing"
    for word, name in book.said.items():
        if name not in lexicon.parents:
            yield f"$.said.{word}", f"{name!r} is not listed"
    for name, swaps in book.swaps.items():
        if name not in lexicon.parents:
            yield f"$.swaps.{name}", "is neither a kind nor a thing"
            continue
        for swap in swaps:
            relation = lexicon.relation(name, swap)
            if relation != "incompatible":
                yield f"$.swaps.{name}", f"could truly be called {swap!r} ({relation})"
            elif not any(form.suits(swap, lexicon, "") for form in book.questions):
                yield f"$.swaps.{name}", f"no question fits {swap!r}"
