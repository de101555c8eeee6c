# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Agreement in number: of a determiner with its noun, and of a verb with the description behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundset.fpco.grammar import Grammar
from groundset.fpco.lexicon import Lexicon, Number
from groundset.fpco.phrases import Phrase
from groundset.fpco.plurals import is_plural_form, singulars
from groundset.fpco.words import folded, is_content_word

_SINGULAR_VERBS = frozenset({"is", "was", "does", "has"})
_PLURAL_VERBS = frozenset({"are", "were", "do", "have"})


def phrase_number(phrase: Phrase, lexicon: Lexicon, grammar: Grammar) -> Number:
    """Whether a description is one thing or many, where its noun tells."""
    if len(phrase.heads) != 1:
        return "unknown"
    head = phrase.heads[0]
    word = phrase.words[head]
    if word in grammar.either or "'s" in phrase.words[:head] or "and" in phrase.words[: head + 1]:
        return "unknown"
    return "plural" if word in grammar.plural_only else lexicon.number(word)


def determiner_slips(words: Sequence[str], lexicon: Lexicon, grammar: Grammar) -> list[str]:
    """Every determiner of one number with a listed noun of the other, with what stands between.

    Only words that are known to be properties may stand between, and the noun must end what it stands in: "a sports
    car" and "two dog beds" are right.
    """
    low = [folded(word) for word in words]
    slips = []
    for index, word in enumerate(low):
        if word not in grammar.singular and word not in grammar.plural:
            continue
        noun = index + 1
        while (
            noun < len(low)
            and (lexicon.is_attribute(low[noun]) or low[noun].endswith("ed"))
            and noun < index + 4
            and not _is_noun(low[noun], lexicon, grammar)
        ):
            noun += 1
        if noun >= len(low) or not _is_noun(low[noun], lexicon, grammar):
            continue
        # "the man that hands out cups"
        if word == "that" and _is_part(low[noun], grammar):
            continue
        goes_on = noun + 1 < len(low) and (is_content_word(low[noun + 1]) or low[noun + 1] in ("'s", "'", "of", "-"))
        wrong = "plural" if word in grammar.singular else "singular"
        if not goes_on and low[noun] not in grammar.either and _number(low[noun], lexicon, grammar) == wrong:
            slips.append(" ".join(words[index : noun + 1]))
    return slips


def _is_noun(word: str, lexicon: Lexicon, grammar: Grammar) -> bool:
    listed = lexicon.canonical(word) is not None or word in grammar.worn or word in grammar.plural_only
    return listed or _is_part(word, grammar)


def _is_part(word: str, grammar: Grammar) -> bool:
    return any(singular in grammar.body or singular in grammar.thing_parts for singular in singulars(word))


def _number(word: str, lexicon: Lexicon, grammar: Grammar) -> Number:
    if word in grammar.plural_only:
        return "plural"
    if lexicon.canonical(word) is not None:
        return lexicon.number(word)
    return "plural" if _is_part(word, grammar) and is_plural_form(word) else "unknown"


def verb_slip(sentence: Sequence[str], at: tuple[int, ...], size: int, number: Number) -> Iterator[str]:
    """A verb of one number right before a description of the other.

    Args:
        sentence: Tokens of the question.
        at: Where the description starts in it.
        size: Its length.
        number: Its number.
    """
    if len(at) != 1 or at[0] == 0 or number == "unknown":
        return
    verb = sentence[at[0] - 1].casefold()
    behind = sentence[at[0] + size].casefold() if at[0] + size < len(sentence) else ""
    # "Are the dog's ears up?", "Are the man and the boy tall?", "Are the pizza toppings fresh?"
    if behind in ("'s", "'", "and", "or", ",") or is_plural_form(behind):
        return
    if (verb in _SINGULAR_VERBS and number == "plural") or (verb in _PLURAL_VERBS and number == "singular"):
        yield f"{verb} {' '.join(sentence[at[0] : at[0] + size])}"
