# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A dialogue read into words: where its descriptions stand, their one edit, and what class its words belong to."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from groundset.fpco.dialogue import FIRST_FALSE_TURN, Dialogue
from groundset.fpco.grammar import Grammar, load_grammar
from groundset.fpco.lexicon import Lexicon, load
from groundset.fpco.phrases import Phrase, read_phrase
from groundset.fpco.words import (
    ARTICLES,
    Difference,
    Edit,
    difference,
    hyphenated,
    is_word,
    joined,
    occurrences,
    phrase_tokens,
    tokens,
)
from groundset.verdicts import Verdict


@dataclass(frozen=True)
class Turn:
    """One question in words, and where the description stands in it."""

    id: int
    content: tuple[str, ...]
    modified: tuple[str, ...]
    true_at: tuple[int, ...]
    false_at: tuple[int, ...]


@dataclass(frozen=True)
class Read:
    """A dialogue in words."""

    dialogue: Dialogue
    lexicon: Lexicon
    grammar: Grammar
    true: tuple[str, ...]
    false: tuple[str, ...]
    true_phrase: Phrase
    false_phrase: Phrase
    changed: Difference
    turns: tuple[Turn, ...]

    @property
    def false_turns(self) -> tuple[Turn, ...]:
        """The turns that carry the false premise."""
        return tuple(turn for turn in self.turns if turn.id >= FIRST_FALSE_TURN)

    @functools.cached_property
    def edit(self) -> Edit | None:
        """The edit, if it is the only one; of an identity, a listed compound noun that it touches is taken whole."""
        if self.changed.edit is None or self.changed.places != 1:
            return None
        if self.dialogue.false_class != "identity":
            return self.changed.edit
        return _with_compounds(self.changed.edit, self.true, self.false, self.lexicon)

    @functools.cached_property
    def renames(self) -> bool:
        """Whether the edit puts another noun for the target's, or for a noun before it that tells its kind."""
        edit = self.edit
        if edit is None or not edit.old or not edit.new:
            return False
        if any(edit.start <= index < edit.start + len(edit.old) for index in self.true_phrase.heads):
            return True
        nouns = (self.lexicon.canonical(head_noun(words, self.lexicon)) for words in (edit.old, edit.new))
        return self.true_phrase.roles[edit.start] == "modifier" and all(noun is not None for noun in nouns)

    def hard(self, rule: str, detail: str, measured: float | None = None, limit: float | None = None) -> Verdict:
        """A verdict that rejects the dialogue."""
        return Verdict(self.dialogue.dialogue_id, "dialogue", rule, detail, measured, limit)

    def soft(self, rule: str, detail: str, measured: float | None = None, limit: float | None = None) -> Verdict:
        """A verdict that leaves the dialogue to a person."""
        return Verdict(self.dialogue.dialogue_id, "dialogue", rule, detail, measured, limit, hard=False)


def read_dialogue(dialogue: Dialogue) -> Read:
    """The dialogue in words; any text can be read, what is wrong with it is for the checks."""
    lexicon, grammar = load(), load_grammar()
    true = phrase_tokens(dialogue.target_description)
    false = phrase_tokens(dialogue.modified_target_description)
    asked = [(tokens(question.content), tokens(question.modified)) for question in dialogue.questions]
    compounds = hyphenated([true, false, *(words for pair in asked for words in pair)])
    true, false = joined(true, compounds), joined(false, compounds)
    turns = []
    for question, pair in zip(dialogue.questions, asked, strict=True):
        content, modified = joined(pair[0], compounds), joined(pair[1], compounds)
        turns.append(
            Turn(
                question.id,
                content,
                modified,
                tuple(occurrences(true, content)),
                tuple(occurrences(false, modified)),
            )
        )
    return Read(
        dialogue=dialogue,
        lexicon=lexicon,
        grammar=grammar,
        true=true,
        false=false,
        true_phrase=read_phrase(true, lexicon, grammar),
        false_phrase=read_phrase(false, lexicon, grammar),
        changed=difference(true, false, pronouns=dialogue.false_class == "identity"),
        turns=tuple(turns),
    )


def said(words: Sequence[str]) -> str:
    """Words as a verdict quotes them."""
    return repr(" ".join(words)) if words else "nothing"


def same_noun(first: str, second: str, lexicon: Lexicon) -> bool:
    """Whether two words are one, or listed as one noun in another number or under another name."""
    a, b = first.casefold(), second.casefold()
    named = lexicon.canonical(a)
    return a == b or (named is not None and named == lexicon.canonical(b))


def head_noun(words: tuple[str, ...], lexicon: Lexicon) -> str:
    """The noun of a few changed words: the longest listed one that ends them, or else the last word."""
    for start in range(len(words)):
        if lexicon.canonical(" ".join(words[start:])) is not None:
            return " ".join(words[start:])
    return words[-1] if words else ""


def edit_classes(phrase: Phrase, start: int, end: int, lexicon: Lexicon, grammar: Grammar) -> frozenset[str]:
    """The false classes that a changed span of a description can be of; empty if it changes no word of meaning."""
    found: set[str] = set()
    for index in range(start, end):
        word, role = phrase.words[index], phrase.roles[index]
        follows = index + 1 < len(phrase.words) and phrase.roles[index + 1] == role
        if not is_word(word) or word in ARTICLES or role == "link":
            continue
        if role == "head":
            found |= {"identity"}
        elif role in ("relation", "place"):
            # "the wooden bench": what stands before the noun of a place is no place
            tells = role == "place" and follows and (lexicon.is_attribute(word) or word.endswith(("ing", "ed", "en")))
            found |= {"attribute"} if tells and word not in grammar.sides else {"location"}
            if role == "place" and follows and not tells and word not in grammar.sides:
                found |= {"attribute"}
            if index in phrase.of_parts:
                found |= {"attribute"}
        elif role == "modifier":
            found |= {"location"} if word in grammar.sides else {"attribute"}
            # "the orange slices" and "the female player" are named by what stands before the noun as well
            found |= {"identity"} if lexicon.canonical(word) is not None else set()
        elif role in ("property", "posture"):
            found |= {"attribute", "location"} if word in grammar.sides else {"attribute"}
        # "facing left" says how the target is turned as much as where
        if word in grammar.sides and index > 0 and phrase.words[index - 1] in grammar.looking:
            found |= {"attribute", "location"}
    return frozenset(found)


def length_in_words(words: tuple[str, ...], lexicon: Lexicon, grammar: Grammar) -> int:
    """Length of an edit in words, where a listed compound noun, a relation and a shade of a color count as one.

    Articles count as nothing: they go with their noun.
    """
    low = [word.casefold() for word in words]
    count = index = 0
    while index < len(low):
        size = max(
            1,
            grammar.relation_at(low, index),
            *(
                size
                for size in range(2, min(4, len(low) - index) + 1)
                if lexicon.canonical(" ".join(low[index : index + size])) is not None
            ),
        )
        shade = (
            size == 1 and index + 1 < len(low) and lexicon.is_shade(low[index]) and lexicon.is_colour(low[index + 1])
        )
        counted = size > 1 or (is_word(low[index]) and low[index] not in ARTICLES)
        # "on the left" is one place, as "above" is
        of_relation = size >= 1 and index > 0 and low[index] in grammar.sides and low[index - 1] in ARTICLES
        count += counted and not shade and not of_relation
        index += size
    return max(count, 1)


def _with_compounds(edit: Edit, old: tuple[str, ...], new: tuple[str, ...], lexicon: Lexicon) -> Edit:
    """The edit widened to a listed compound that it cuts: "dog" to "hot dog" replaces one noun by another."""
    old_end, new_end = edit.start + len(edit.old), edit.start + len(edit.new)
    for left in (0, 1, 2):
        for right in (0, 1, 2):
            start = edit.start - left
            if (left, right) == (0, 0) or start < 0 or right > len(old) - old_end or right > len(new) - new_end:
                continue
            was, now = old[start : old_end + right], new[start : new_end + right]
            both_listed = all(lexicon.canonical(" ".join(words)) is not None for words in (was, now))
            if both_listed and max(len(was), len(now)) > 1:
                return Edit(start, was, now)
    return edit
