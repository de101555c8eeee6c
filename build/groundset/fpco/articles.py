# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The articles a and an: which of them the sound of the next word asks for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from groundset.fpco.words import at_sentence_start, is_word

# Before these letters the article is not what the first letter suggests.
_AN_BEFORE = (
    "hour",
    "honest",
    "heir",
    "honor",
    "honour",
    "x-ray",
    "xray",
    "f-",
    "l-",
    "m-",
    "n-",
    "s-",
    "x-",
    "r-",
    "h-",
)
_A_BEFORE = ("uni", "use", "usu", "eu", "ewe", "one", "once", "u-", "ute", "ufo", "ubiq", "uri", "ura", "uku", "uti")
_AN_AFTER_ALL = ("unin", "unim", "unid")
# Said with and without an h.
_EITHER = ("herb", "histor", "hotel", "humble")
_AN_LETTERS = frozenset("AEFHILMNORSX")
_AN_NUMBER = re.compile(r"8\d*|11|18|1[18](?:\d{3})+")


def article_slips(sentence: Sequence[str]) -> list[str]:
    """Every "a" or "an" that does not fit the sound of the word after it, with that word.

    >>> article_slips("Is an red car beside a SUV or a 18-wheeler ?".split())
    ['an red', 'a 18-wheeler']
    """
    slips = []
    for index, (article, word) in enumerate(itertools.pairwise(sentence)):
        # a capital inside a sentence is a letter: "vitamin A"
        letter = article == "A" and not at_sentence_start(sentence, index)
        if article.casefold() not in ("a", "an") or letter or not is_word(word):
            continue
        wants = _wants_an(word)
        if wants is not None and wants != (article.casefold() == "an"):
            slips.append(f"{article} {word}")
    return slips


def _wants_an(word: str) -> bool | None:
    """Whether "an" goes before a word; None if both are said."""
    first, low = re.split(r"[-']", word)[0], word.casefold()
    if first.isdigit():
        return _AN_NUMBER.fullmatch(first) is not None
    if not word[0].isascii() or not word[0].isalpha() or low.startswith(_EITHER):
        return None
    if first.isupper() and 1 < len(first) <= 5:
        # spelled out or read as a word: SUV, NASA, UFO
        return None if word[0] in "FHLMNRSXUAEIO" else False
    if len(first) == 1 and first.isupper():
        return first in _AN_LETTERS
    if low.startswith(_AN_BEFORE):
        return True
    if low.startswith(_A_BEFORE) and not low.startswith(_AN_AFTER_ALL):
        return False
    return low[0] in "aeiou"
