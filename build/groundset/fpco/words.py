# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Sentences as words: tokens that ignore typography, phrases found word for word, the edit between two phrases."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

_MARKS = {"'": "\u2018\u2019\u201b\u02bc\u2032\u00b4`", '"': "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"}
_MARKS |= {"-": "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", " - ": "\u2014\u2015", " ": "\u00a0\u2007\u202f"}
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_TYPOGRAPHY = str.maketrans(
    {mark: plain for plain, marks in _MARKS.items() for mark in marks} | dict.fromkeys(_INVISIBLE, "")
)
_TOKEN = re.compile(r"'(?:s|re|ve|ll|d|m)\b|n't\b|\w+?(?=n't\b)|\w+(?:-\w+)*|[^\w\s]", re.IGNORECASE)
_SENTENCE_END = frozenset(".?!:")
_OPENERS = frozenset("\"'([")

# Each group holds the forms that may stand for each other when only the thing meant changes.
PRONOUN_GROUPS = (
    frozenset({"he", "she", "it", "they"}),
    frozenset({"him", "her", "it", "them"}),
    frozenset({"his", "her", "its", "their"}),
    frozenset({"his", "hers", "its", "theirs"}),
    frozenset({"himself", "herself", "itself", "themselves", "themself"}),
    frozenset({"who", "which", "that"}),
    frozenset({"whom", "which", "that"}),
)
ARTICLES = frozenset({"a", "an", "the"})
_WITHIN_A_PHRASE = ARTICLES | {"of"}
_PREPOSITIONS = """
    on in at by of to from with into onto under over above below near behind beside between against along across around
    inside outside through for off
"""
_SMALL_WORDS = """
    is are was were be been being am do does did has have had can could will would should may might and or but not no
    this these those there here what where when why how whose i you we any some one other another else as than if so
    also very more most 's 're 've 'll 'd 'm n't
"""
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
FUNCTION_WORDS = ARTICLES | PREPOSITIONS | frozenset().union(*PRONOUN_GROUPS) | frozenset(_SMALL_WORDS.split())
_NUMERALS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
NUMERALS = {str(number): word for number, word in enumerate(_NUMERALS.split())}


@dataclass(frozen=True)
class Edit:
    """The one place where two phrases differ.

    Attributes:
        start: Index of the first changed word in the old phrase, and in the new one.
        old: The words that go; empty for an insertion.
        new: The words that come; empty for a deletion.
    """

    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """How two phrases differ: nowhere, in one place, or in several.

    Attributes:
        edit: From the first changed word to the last; None if nothing differs.
        places: How many separate edits it holds.
    """

    edit: Edit | None
    places: int


def tokens(text: str) -> tuple[str, ...]:
    """Words and marks in order; curly and straight quotes are one, a possessive 's is a word of its own.

    >>> tokens("Is the dog\u2019s T-shirt red?")
    ('Is', 'the', 'dog', "'s", 'T-shirt', 'red', '?')
    """
    plain = unicodedata.normalize("NFKC", text.translate(_TYPOGRAPHY))
    # what is composed of others may hold marks of its own
    return tuple(_TOKEN.findall(plain.translate(_TYPOGRAPHY).replace("--", " - ")))


def phrase_tokens(text: str) -> tuple[str, ...]:
    """Tokens of a description, without a full stop, comma or question mark at its end."""
    found = tokens(text)
    while found and found[-1] in {".", ",", "?", "!", ";"}:
        found = found[:-1]
    return found


def folded(token: str) -> str:
    """A token as it is compared: whatever its case, and a numeral up to twenty as its word.

    >>> folded("Two") == folded("2")
    True
    """
    low = token.casefold()
    return NUMERALS.get(low, low)


def hyphenated(texts: Iterable[Sequence[str]]) -> frozenset[tuple[str, ...]]:
    """The parts of every hyphenated word of several texts."""
    return frozenset(
        tuple(token.casefold().split("-")) for words in texts for token in words if "-" in token.strip("-")
    )


def joined(words: Sequence[str], compounds: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """Tokens in which what is hyphenated elsewhere is hyphenated too: "light blue" beside "light-blue" is no change.

    >>> joined(("a", "light", "blue", "car"), [("light", "blue")])
    ('a', 'light-blue', 'car')
    """
    if not compounds:
        return tuple(words)
    found: list[str] = []
    index = 0
    while index < len(words):
        sizes = [
            len(parts) for parts in compounds if tuple(map(str.casefold, words[index : index + len(parts)])) == parts
        ]
        size = max(sizes, default=1)
        found.append("-".join(words[index : index + size]))
        index += size
    return tuple(found)


def is_word(token: str) -> bool:
    """Whether a token is a word and not a punctuation mark."""
    return any(letter.isalnum() for letter in token)


def is_content_word(token: str) -> bool:
    """Whether a token is a word that carries meaning of its own."""
    return is_word(token) and token.casefold() not in FUNCTION_WORDS


def at_sentence_start(sentence: Sequence[str], index: int) -> bool:
    """Whether a sentence starts with the token at the index."""
    while index > 0 and sentence[index - 1] in _OPENERS:
        index -= 1
    return index == 0 or sentence[index - 1] in _SENTENCE_END


def occurrences(phrase: Sequence[str], sentence: Sequence[str]) -> list[int]:
    """Every index at which the words of a phrase stand in a sentence, whatever their case."""
    low_phrase = [folded(token) for token in phrase]
    low = [folded(token) for token in sentence]
    size = len(low_phrase)
    return [i for i in range(len(low) - size + 1) if low[i : i + size] == low_phrase] if size else []


def same_case(phrase: Sequence[str], sentence: Sequence[str], index: int) -> bool:
    """Whether a phrase found at an index is written as it is, but for the first letter at a sentence's start."""
    # a numeral has no case
    differing = [
        number
        for number, (word, other) in enumerate(zip(phrase, sentence[index : index + len(phrase)], strict=True))
        if word != other and word.casefold() == other.casefold()
    ]
    if not differing:
        return True
    if differing != [0] or phrase[0][1:] != sentence[index][1:]:
        return False
    # A description may itself be written as the start of a sentence; then its capital is dropped inside one.
    return at_sentence_start(sentence, index) or phrase[0][0].isupper()


def same_word(old: str, new: str, *, pronouns: bool) -> bool:
    """Whether two tokens count as unchanged: equal but for case, a and an, and, if allowed, two pronouns of a kind."""
    a, b = folded(old), folded(new)
    if a == b or {a, b} == {"a", "an"}:
        return True
    return pronouns and any(a in group and b in group for group in PRONOUN_GROUPS)


def difference(old: Sequence[str], new: Sequence[str], *, pronouns: bool) -> Difference:
    """Where two phrases differ, after the words that both start with and both end with are set aside.

    Words of the middle that both keep in order split it into several edits, unless only prepositions, articles and
    the like change around one changed word, or only an article or "of" stands between: "on the left" to "at the
    top" and "riding a horse" to "leading a cow" are one edit of a phrase, "dog on the left" to "cat on the right" is
    two.
    """

    def equal(i: int, j: int) -> bool:
        return same_word(old[i], new[j], pronouns=pronouns)

    start = 0
    while start < min(len(old), len(new)) and equal(start, start):
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and equal(len(old) - 1 - end, len(new) - 1 - end):
        end += 1
    middle_old, middle_new = tuple(old[start : len(old) - end]), tuple(new[start : len(new) - end])
    if not middle_old and not middle_new:
        return Difference(None, 0)
    blocks, kept = _blocks(middle_old, middle_new, lambda a, b: same_word(a, b, pronouns=pronouns))
    heavy = sum(1 for gone, come in blocks if any(map(is_content_word, (*gone, *come))))
    if any(map(is_content_word, kept)):
        return Difference(Edit(start, middle_old, middle_new), len(blocks))
    places = 1 if all(word.casefold() in _WITHIN_A_PHRASE for word in kept) else max(heavy, 1)
    return Difference(Edit(start, middle_old, middle_new), places)


def _blocks(
    old: tuple[str, ...], new: tuple[str, ...], equal: Callable[[str, str], bool]
) -> tuple[list[tuple[list[str], list[str]]], list[str]]:
    """The changed blocks between the longest common subsequence of two phrases, and that subsequence."""
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            longest[i][j] = (
                longest[i + 1][j + 1] + 1 if equal(old[i], new[j]) else max(longest[i + 1][j], longest[i][j + 1])
            )
    blocks: list[tuple[list[str], list[str]]] = []
    kept: list[str] = []
    gone: list[str] = []
    come: list[str] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and equal(old[i], new[j]):
            if gone or come:
                blocks.append((gone, come))
                gone, come = [], []
            kept.append(old[i])
            i, j = i + 1, j + 1
        elif j == len(new) or (i < len(old) and longest[i + 1][j] >= longest[i][j + 1]):
            gone.append(old[i])
            i += 1
        else:
            come.append(new[j])
            j += 1
    if gone or come:
        blocks.append((gone, come))
    return blocks, kept
