# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The hand list of words: complete for COCO, without contradictions, and cautious about what it does not know."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.fpco.lexicon import FILE, load, parse

LEXICON = load()
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
WORDS = st.sampled_from(sorted({*LEXICON.parents, *LEXICON.synonyms, *LEXICON.roles, "wombat"}))


@pytest.mark.parametrize(
    ("category", "label"),
    [(c, label) for source in (COCO, OPEN_IMAGES) for c, labels in source.items() for label in labels],
)
def test_labels_have_a_category_swaps_and_questions(category: str, label: str) -> None:
    word = LEXICON.canonical(label)
    assert word is not None
    assert category in LEXICON.categories(word)
    assert len(LEXICON.swaps[word]) >= 2
    for swap in LEXICON.swaps[word]:
        both = [form for form in LEXICON.questions if LEXICON.fits(form, word) and LEXICON.fits(form, swap)]
        assert len({form.topic for form in both}) >= 12, (word, swap)


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ("dog", "cat", "incompatible"),
        ("Dog", "puppies", "same"),
        ("dog", "animal", "compatible"),
        ("person", "man", "compatible"),
        ("person", "people", "same"),
        ("man", "woman", "incompatible"),
        ("man", "boy", "incompatible"),
        ("woman", "child", "incompatible"),
        ("boy", "kid", "compatible"),
        ("player", "woman", "compatible"),
        ("batter", "catcher", "unknown"),
        ("player", "dog", "incompatible"),
        ("car", "vehicle", "compatible"),
        ("car", "taxi", "compatible"),
        ("taxi", "van", "compatible"),
        ("car", "boat", "incompatible"),
        ("rabbit", "pet", "unknown"),
        ("tomato", "fruit", "compatible"),
        ("broccoli", "fruit", "unknown"),
        ("lobster", "food", "compatible"),
        ("crab", "fish", "incompatible"),
        ("dog", "hot dog", "incompatible"),
        ("wombat", "dog", "unknown"),
        ("wombat", "Wombat", "same"),
        ("person", "mannequin", "incompatible"),
    ],
)
def test_relations(first: str, second: str, relation: str) -> None:
    assert LEXICON.relation(first, second) == relation
    assert LEXICON.relation(second, first) == relation


@given(WORDS, WORDS)
def test_a_relation_has_no_direction_and_knows_itself(first: str, second: str) -> None:
    assert LEXICON.relation(first, second) == LEXICON.relation(second, first)
    assert LEXICON.relation(first, first) == "same"


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        *[("dog", "dogs"), ("bus", "buses"), ("bench", "benches"), ("man", "men"), ("person", "people")],
        *[("butterfly", "butterflies"), ("monkey", "monkeys"), ("tomato", "tomatoes"), ("fox", "foxes")],
        *[("hot dog", "hot dogs"), ("jet ski", "jet skis"), ("mouse", "mice"), ("goose", "geese"), ("horse", "horses")],
    ],
)
def test_a_plural_is_the_same_noun(word: str, plural: str) -> None:
    assert LEXICON.canonical(plural) == LEXICON.canonical(plural.upper()) == word
    assert (LEXICON.number(word), LEXICON.number(plural)) == ("singular", "plural")


@pytest.mark.parametrize(
    ("noun", "number"),
    [("sheep", "unknown"), ("wombats", "plural"), ("wombat", "unknown"), ("walrus", "unknown"), ("", "unknown")],
)
def test_a_number_is_only_told_where_the_form_tells(noun: str, number: str) -> None:
    assert LEXICON.number(noun) == number


def test_no_question_says_a_place_or_a_pronoun_that_stands_for_the_target() -> None:
    for form in LEXICON.questions:
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
    pizza = {form.text for form in LEXICON.questions if LEXICON.fits(form, "pizza")}
    assert "What is {target} wearing?" not in pizza
    assert "Is {target} whole or cut into pieces?" in pizza


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("swap = [\"woman\", \"girl\"]", "swap = [\"adult\", \"girl\"]", "could truly be called 'adult'"),
        ("swap = [\"woman\", \"girl\"]", "swap = [\"wombat\"]", "could truly be called 'wombat' (unknown)"),
        ("swap = [\"woman\", \"girl\"]", "swap = [\"tree\"]", "no question fits 'tree'"),
        ("red = [\"blue\"", "red = [\"red\"", "'red' is not another measured color"),
        ("grey = [\"gray\"]", "grey = [\"grey\"]", "$.colour_words.grey"),
        ("adult = { in = [\"person\"]", "adult = { in = [\"adult\"]", "is a kind of itself"),
        ("adult = { in = [\"person\"]", "adult = { in = [\"grown-up\"]", "'grown-up' is neither a kind nor a thing"),
        ("human = \"person\"", "human = \"humanoid\"", "$.synonyms.human"),
        ("top = { phrase = \"at the top", "top = { phrase = \"at the upper end", "the phrase does not hold the name"),
        ("swaps = [\"bottom\"]", "swaps = [\"floor\"]", "'floor' is not another place"),
        ("text = \"What is {target} doing?\"", "text = \"What is it doing?\"", "must hold {target} once"),
        ("text = \"What is {target} doing?\"", "text = \"What surrounds {target}?\"", "asked twice"),
        ("[kinds]", "[kind]", "$.kinds: this section is missing"),
        ("[kinds]", "[kinds", "lexicon.toml"),
        ("role = \"state\"", "rolle = \"state\"", "KeyError"),
    ],
)  # fmt: skip
def test_a_fault_is_named(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DataError) as raised:
        parse(TEXT.replace(old, new, 1))
    assert said in str(raised.value)
