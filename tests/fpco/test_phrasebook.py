# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What the template writer may say: complete for COCO, free of contradictions, and no question without sense."""

from __future__ import annotations

from importlib import resources

import pytest

from groundset.errors import DataError
from groundset.fpco import lexicon
from groundset.fpco.phrasebook import FILE, load, parse

LEXICON, BOOK = lexicon.load(), load()
TEXT = resources.files("groundset.fpco").joinpath(FILE).read_text(encoding="utf-8")
COCO = {
    "person": ["person"],
    "vehicle": ["bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"],
    "animal": ["bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"],
    "food": [
        *["banana", "apple", "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake"],
    ],
}
OPEN_IMAGES = {
    "person": ["Man", "Woman", "Boy", "Girl"],
    "vehicle": ["Taxi", "Van", "Helicopter", "Canoe", "Motorcycle"],
    "animal": ["Cattle", "Goat", "Duck", "Monkey", "Deer", "Rabbit", "Butterfly", "Lobster"],
    "food": ["Doughnut", "Hamburger", "Strawberry", "Tomato", "Croissant", "Lobster", "Bell pepper"],
}


@pytest.mark.parametrize(
    ("category", "label"),
    [(c, label) for source in (COCO, OPEN_IMAGES) for c, labels in source.items() for label in labels],
)
def test_labels_have_a_category_swaps_and_questions(category: str, label: str) -> None:
    word = LEXICON.canonical(label)
    assert word is not None
    assert category in LEXICON.categories(word)
    assert len(BOOK.swaps[word]) >= 2
    for swap in BOOK.swaps[word]:
        both = [
            form
            for form in BOOK.questions
            if form.suits(word, LEXICON, category) and form.suits(swap, LEXICON, category)
        ]
        assert len({form.topic for form in both}) >= 12, (word, swap)


def test_no_question_says_a_place_or_a_pronoun_that_stands_for_the_target() -> None:
    for form in BOOK.questions:
        words = set(form.text.rstrip("?").casefold().split())
        assert not words & {
            "left",
            "right",
            "top",
            "bottom",
            "upper",
            "lower",
            "middle",
            "corner",
            "he",
            "she",
            "his",
            "her",
        }


def test_no_question_asks_what_a_pizza_wears() -> None:
    pizza = {form.text for form in BOOK.questions if form.suits("pizza", LEXICON, "food")}
    assert "What is {target} wearing?" not in pizza
    assert "Is {target} whole or cut into pieces?" in pizza


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('\nman = ["woman", "girl"', '\nman = ["adult", "girl"', "could truly be called 'adult'"),
        ('\nman = ["woman", "girl"', '\nman = ["wombat"', "could truly be called 'wombat' (unknown)"),
        ('\nman = ["woman", "girl"', '\nman = ["tree"', "no question fits 'tree'"),
        ('cattle = "cow"', 'cattle = "moo"', "'moo' is not listed"),
        ('"baked goods", "dairy"', '"baked goodies", "dairy"', "'baked goodies' is neither a kind nor a thing"),
        ('cat = ["black", "white", "gray"', 'cat = ["blackish", "white", "gray"', "$.natural_colours.cat"),
        ('swaps = ["bottom"]', 'swaps = ["floor"]', "'floor' is not another place"),
        ('"at the top of the image"', '"at the upper end of the image"', "'bottom' differs in more than one word"),
        ('phrases = ["in the background"]', "phrases = []", "'background' has fewer phrases"),
        ('side = "left", before = 0', 'side = "top", before = 0', "'top' is no side"),
        ('large = "small"', 'large = "red"', "'red' is not its opposite size"),
        ('"What is {target} doing?"', '"What is it doing?"', "must hold {target} once"),
        ('"What is {target} doing?"', '"What surrounds {target}?"', "asked twice"),
        ("[swaps]", "[swap]", "$.swaps: this section is missing"),
        ("[swaps]", "[swaps", "phrasebook.toml"),
        ('role = "state"', 'rolle = "state"', "KeyError"),
        ('role = "state"', 'role = "mood"', "unknown role"),
    ],
)
def test_a_fault_is_named(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DataError) as raised:
        parse(TEXT.replace(old, new, 1), LEXICON)
    assert said in str(raised.value)


def test_every_noun_that_is_said_is_one_of_one_thing() -> None:
    nouns = {BOOK.said.get(word, word) for word in LEXICON.parents if LEXICON.categories(word)} - BOOK.unsaid
    not_plural = ("ss", "us", "ros", "is")
    assert [noun for noun in sorted(nouns) if noun.endswith("s") and not noun.endswith(not_plural)] == []
    assert "cattle" not in nouns


def test_no_form_says_near_the_target_and_asks_what_is_near_twice() -> None:
    phrases = [phrase for place in (*BOOK.places.values(), *BOOK.orders) for phrase in place.phrases]
    assert not [phrase for phrase in phrases if {"near", "next", "close"} & set(phrase.split())]


def test_a_lobster_is_asked_of_as_the_category_says() -> None:
    as_food = {form.text for form in BOOK.questions if form.suits("lobster", LEXICON, "food")}
    as_animal = {form.text for form in BOOK.questions if form.suits("lobster", LEXICON, "animal")}
    assert "Is anyone eating {target}?" in as_food - as_animal
    assert "What is {target} doing?" in as_animal - as_food
