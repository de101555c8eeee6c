# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Sentences as words: typography that does not count, phrases in sentences, and edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco.articles import article_slips
from groundset.fpco.words import difference, occurrences, phrase_tokens, same_case, tokens

WORDS = st.lists(
    st.sampled_from(["red", "blue", "dog", "cat", "on", "the", "left", "right", "of", "a", "table"]), max_size=7
).map(tuple)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is the dog\u2019s T-shirt red?", "Is the dog 's T-shirt red ?"),
        ("Isn\u2019t it? Don't!", "Is n't it ? Do n't !"),
        ("the dogs' bowl", "the dogs ' bowl"),
        ("\u201cThe dog\u201d", '" The dog "'),
        ("half\u2011eaten\u00a0cake", "half-eaten cake"),
        ("they're, I'll", "they 're , I 'll"),
        ("", ""),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert " ".join(tokens(text)) == expected


def test_composed_and_decomposed_letters_are_one_word() -> None:
    assert tokens("caf\u00e9") == tokens("cafe\u0301")


def test_a_description_loses_the_mark_at_its_end_only() -> None:
    assert phrase_tokens("the dog, on the left.") == ("the", "dog", ",", "on", "the", "left")


@pytest.mark.parametrize(
    ("phrase", "sentence", "right"),
    [
        ("the dog", "The dog sleeps.", True),
        ("the dog", "Look! The dog sleeps.", True),
        ("the dog", "\u201cThe dog\u201d is a name.", True),
        ("The dog", "Is the dog asleep?", True),
        ("the dog", "Is The dog asleep?", False),
        ("the dog", "THE dog sleeps.", False),
        ("the Dog", "Is the dog asleep?", False),
    ],
)
def test_case(phrase: str, sentence: str, right: bool) -> None:
    words = tokens(sentence)
    (at,) = occurrences(tokens(phrase), words)
    assert same_case(tokens(phrase), words, at) is right


@given(WORDS, WORDS)
def test_the_edit_rebuilds_the_new_phrase(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    found = difference(old, new, pronouns=False)
    if found.edit is None:
        assert old == new
        assert found.places == 0
        return
    start, end = found.edit.start, found.edit.start + len(found.edit.old)
    assert old[start:end] == found.edit.old
    assert (*old[:start], *found.edit.new, *old[end:]) == new
    assert found.places >= 1


@given(WORDS, st.sampled_from(["green", "horse", "top"]), st.data())
def test_one_word_put_for_another_is_one_edit(words: tuple[str, ...], word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words)))
    old = (*words[:at], "old", *words[at:])
    found = difference(old, (*words[:at], word, *words[at:]), pronouns=True)
    assert found.places == 1
    assert found.edit is not None
    assert (found.edit.old, found.edit.new) == (("old",), (word,))


@pytest.mark.parametrize(
    ("sentence", "slips"),
    [
        ("a dog and an apple", []),
        ("an dog", ["an dog"]),
        ("a orange car", ["a orange"]),
        ("An hour, a uniform, a unicycle, a European, a one-eyed cat, an X-ray, an umbrella", []),
        ("a hour", ["a hour"]),
        ("an unicycle", ["an unicycle"]),
        ("an unimportant, an uninjured dog", []),
        ("a 3 m pole", []),
    ],
)
def test_articles(sentence: str, slips: list[str]) -> None:
    assert article_slips(tokens(sentence)) == slips
