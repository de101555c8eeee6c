# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What may be said beside a description in a question, and of which thing it is said."""

from __future__ import annotations

from collections.abc import Sequence

from groundset.fpco.phrases import Phrase
from groundset.fpco.reading import Read, same_noun
from groundset.fpco.words import is_content_word

OTHERS = frozenset({"other", "another", "others", "different", "more", "else", "second", "same", "own"})
_LINKING = "is are was were be been being look looks appear appears seem seems really"
COPULAS = frozenset(_LINKING.split())
# What may stand between the target and what is said of it.
_BETWEEN = "still also just currently actually really right now located positioned placed resting situated found or"
STILL = frozenset(_BETWEEN.split()) | {"standing", "sitting", "lying", "parked", "seated"}


def lowered(words: Sequence[str]) -> list[str]:
    """Words in lower case."""
    return [word.casefold() for word in words]


def noun_behind(words: Sequence[str], index: int, read: Read) -> str:
    """The noun that a word modifies: the last word of the run it stands in, or nothing."""
    noun = ""
    for word in words[index + 1 : index + 4]:
        if not is_content_word(word) or read.grammar.relation_at([word.casefold()], 0):
            break
        if noun and (word.casefold() in read.grammar.postures or word.casefold().endswith(("ing", "ed"))):
            break
        noun = word
    return noun


def tells_of(noun: str, owned: str, phrase: Phrase, read: Read) -> bool:
    """Whether what is told of a noun is told of the described thing: a car's paint is the car's, its flag is not."""
    whole = owned.casefold() in (phrase.words[head] for head in phrase.heads)
    surface = whole and noun.casefold() in read.grammar.surfaces
    return bool(noun and owned) and (surface or same_noun(noun, owned, read.lexicon))
