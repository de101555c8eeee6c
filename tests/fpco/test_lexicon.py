# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The hand list of words: without contradictions, and cautious about what it does not know."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.fpco.lexicon import FILE, load, parse

LEXICON = load()
TEXT = resources.files("groundset.fpco").joinpath(FILE).read_text(encoding="utf-8")
WORDS = st.sampled_from(sorted({*LEXICON.parents, *LEXICON.synonyms, *LEXICON.roles, "wombat"}))


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ("dog", "cat", "incompatible"),
        ("Dog", "puppies", "same"),
        ("dog", "animal", "compatible"),
        ("person", "man", "compatible"),
        ("person", "people", "same"),
        ("man", "woman", "incompatible"),
        ("man", "boy", "unknown"),
        ("man", "girl", "incompatible"),
        ("baby", "man", "incompatible"),
        ("woman", "child", "unknown"),
        ("boy", "kid", "compatible"),
        ("player", "woman", "compatible"),
        ("batter", "catcher", "incompatible"),
        ("teacher", "tourist", "unknown"),
        ("bride", "man", "incompatible"),
        ("bicycle", "motorcycle", "incompatible"),
        ("bike", "motorcycle", "compatible"),
        ("hamburger", "hot dog", "incompatible"),
        ("policeman", "cop", "same"),
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
    [
        ("sheep", "unknown"),
        ("wombats", "plural"),
        ("wombat", "unknown"),
        ("cactus", "unknown"),
        ("walrus", "singular"),
        ("fries", "plural"),
        ("", "unknown"),
    ],
)
def test_a_number_is_only_told_where_the_form_tells(noun: str, number: str) -> None:
    assert LEXICON.number(noun) == number


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("red = [\"blue\"", "red = [\"red\"", "'red' is not another measured color"),
        ("grey = [\"gray\"]", "grey = [\"grey\"]", "$.colour_words.grey"),
        ("adult = { in = [\"person\"]", "adult = { in = [\"adult\"]", "is a kind of itself"),
        ("adult = { in = [\"person\"]", "adult = { in = [\"grown-up\"]", "'grown-up' is neither a kind nor a thing"),
        ("human = \"person\"", "human = \"humanoid\"", "$.synonyms.human"),
        ("[\"driver\", \"pedestrian\"]", "[\"driver\", \"stroller\"]", "'stroller' is no role"),
        ("bat = [\"mammal\", \"thing\"]", "bat = [\"mammal\", \"thingy\"]", "$.ambiguous.bat"),
        ("[kinds]", "[kind]", "$.kinds: this section is missing"),
        ("[kinds]", "[kinds", "lexicon.toml"),
    ],
)  # fmt: skip
def test_a_fault_is_named(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DataError) as raised:
        parse(TEXT.replace(old, new, 1))
    assert said in str(raised.value)
