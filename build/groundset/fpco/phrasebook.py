# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What the template writer may say (`phrasebook.toml`): swaps, places and question forms, held against the lexicon."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from groundset.errors import DataError, Problem
from groundset.fpco import lexicon as words
from groundset.fpco.lexicon import Lexicon

FILE = "phrasebook.toml"
TARGET_SLOT = "{target}"
ROLES = ("state", "action", "relation", "role")
ASKS = ("", "colour")
_SECTIONS = ("swaps", "patterned", "natural_colours", "places", "orders", "questions")


@dataclass(frozen=True)
class QuestionForm:
    """One way to ask about a target.

    Attributes:
        text: The sentence with `{target}` where the description goes.
        role: state, action, relation or role.
        fits: Kinds and things that it may be asked of.
        excepted: Kinds and things that it may not be asked of, although they fit.
        asks: The detail that it asks for (`colour`), or nothing.
        topic: What it is about, its own text if the file names nothing; a dialogue asks one form of a topic.
    """

    text: str
    role: str
    fits: frozenset[str]
    excepted: frozenset[str]
    asks: str
    topic: str

    def suits(self, word: str, lexicon: Lexicon) -> bool:
        """Whether it may be asked of a canonical word."""
        above = lexicon.ancestors(word)
        return bool(above & self.fits) and not above & self.excepted


@dataclass(frozen=True)
class Place:
    """A place of the image.

    Attributes:
        name: What `places.py` knows it by.
        phrase: What a description says.
        swaps: Names of the places that it may falsely be swapped for.
        is_order: Whether it is a place among objects of one noun, such as the farthest to the left.
    """

    name: str
    phrase: str
    swaps: tuple[str, ...]
    is_order: bool = False


@dataclass(frozen=True)
class Phrasebook:
    """All that may be said, by the lexicon's canonical words.

    Attributes:
        swaps: For each thing, and some kinds, what it may falsely be called.
        patterned: Things that no single colour describes.
        natural_colours: For some kinds the colours that one would believe of them.
        places: Places of the image.
        orders: Places among the objects of one noun.
        questions: Question forms in the order of the file.
    """

    swaps: Mapping[str, tuple[str, ...]]
    patterned: frozenset[str]
    natural_colours: Mapping[str, tuple[str, ...]]
    places: Mapping[str, Place]
    orders: Mapping[str, Place]
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
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError("the phrasebook cannot be read", [Problem(FILE, "", "", str(error))]) from error
    missing = [Problem(FILE, "", f"$.{name}", "this section is missing") for name in _SECTIONS if name not in raw]
    if missing:
        raise DataError("the phrasebook lacks sections", missing)
    try:
        book = _build(raw)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        problem = Problem(FILE, "", "", f"{type(error).__name__}: {error}")
        raise DataError("the phrasebook has an entry of the wrong shape", [problem]) from error
    problems = [Problem(FILE, "", path, message) for path, message in _faults(book, lexicon)]
    if problems:
        raise DataError("the phrasebook contradicts itself or the lexicon", problems)
    return book


def _build(raw: Mapping[str, Any]) -> Phrasebook:
    return Phrasebook(
        swaps={name: tuple(found) for name, found in raw["swaps"].items()},
        patterned=frozenset(raw["patterned"]["words"]),
        natural_colours={name: tuple(found) for name, found in raw["natural_colours"].items()},
        places={name: Place(name, place["phrase"], tuple(place["swaps"])) for name, place in raw["places"].items()},
        orders={name: Place(name, phrase, (), is_order=True) for name, phrase in raw["orders"].items()},
        questions=tuple(
            QuestionForm(
                text=form["text"],
                role=form["role"],
                fits=frozenset(form["fits"]),
                excepted=frozenset(form.get("not", ())),
                asks=form.get("asks", ""),
                topic=form.get("topic", form["text"]),
            )
            for form in raw["questions"]
        ),
    )


def _faults(book: Phrasebook, lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """Every contradiction: a word that is not listed, a swap that is no swap, a form that cannot be filled."""
    yield from _noun_faults(book, lexicon)
    for kind, natural in book.natural_colours.items():
        if kind not in lexicon.parents or set(natural) - set(lexicon.colours):
            yield f"$.natural_colours.{kind}", "must be a kind or thing with measured colors"
    for place in (*book.places.values(), *book.orders.values()):
        if place.name not in place.phrase:
            yield f"$.places.{place.name}", "the phrase does not hold the name"
        for swap in place.swaps:
            if swap == place.name or swap not in book.places:
                yield f"$.places.{place.name}", f"{swap!r} is not another place"
    for index, form in enumerate(book.questions):
        path = f"$.questions[{index}]"
        if form.text.count(TARGET_SLOT) != 1 or not form.text.endswith("?"):
            yield path, f"must hold {TARGET_SLOT} once and end with a question mark"
        if form.role not in ROLES or form.asks not in ASKS:
            yield path, "unknown role or detail asked for"
        for word in sorted((form.fits | form.excepted) - set(lexicon.parents)):
            yield path, f"{word!r} is neither a kind nor a thing"
    texts = [form.text for form in book.questions]
    for text in sorted({text for text in texts if texts.count(text) > 1}):
        yield "$.questions", f"asked twice: {text}"


def _noun_faults(book: Phrasebook, lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    for word in sorted(book.patterned - set(lexicon.parents)):
        yield "$.patterned", f"{word!r} is neither a kind nor a thing"
    for name, swaps in book.swaps.items():
        if name not in lexicon.parents:
            yield f"$.swaps.{name}", "is neither a kind nor a thing"
            continue
        for swap in swaps:
            relation = lexicon.relation(name, swap)
            if relation != "incompatible":
                yield f"$.swaps.{name}", f"could truly be called {swap!r} ({relation})"
            elif not any(form.suits(swap, lexicon) for form in book.questions):
                yield f"$.swaps.{name}", f"no question fits {swap!r}"
