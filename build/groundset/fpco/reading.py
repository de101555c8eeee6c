# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A dialogue read into words: where its descriptions stand, their one edit, and what class its words belong to."""

from __future__ import annotations

from dataclasses import dataclass

from groundset.fpco.dialogue import FIRST_FALSE_TURN, Dialogue
from groundset.fpco.lexicon import Lexicon
from groundset.fpco.words import Difference, Edit, difference, is_word, occurrences, phrase_tokens, tokens
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
    true: tuple[str, ...]
    false: tuple[str, ...]
    changed: Difference
    turns: tuple[Turn, ...]

    @property
    def false_turns(self) -> tuple[Turn, ...]:
        """The turns that carry the false premise."""
        return tuple(turn for turn in self.turns if turn.id >= FIRST_FALSE_TURN)

    def edit(self) -> Edit | None:
        """The edit, if it is the only one; a listed compound noun that it touches is taken whole."""
        if self.changed.edit is None or self.changed.places != 1:
            return None
        return _with_compounds(self.changed.edit, self.true, self.false, self.lexicon)

    def hard(self, rule: str, detail: str, measured: float | None = None, limit: float | None = None) -> Verdict:
        """A verdict that rejects the dialogue."""
        return Verdict(self.dialogue.dialogue_id, "dialogue", rule, detail, measured, limit)

    def soft(self, rule: str, detail: str, measured: float | None = None, limit: float | None = None) -> Verdict:
        """A verdict that leaves the dialogue to a person."""
        return Verdict(self.dialogue.dialogue_id, "dialogue", rule, detail, measured, limit, hard=False)


def read_dialogue(dialogue: Dialogue, lexicon: Lexicon) -> Read:
    """The dialogue in words; any text can be read, what is wrong with it is for the checks."""
    true = phrase_tokens(dialogue.target_description)
    false = phrase_tokens(dialogue.modified_target_description)
    turns = []
    for question in dialogue.questions:
        content, modified = tokens(question.content), tokens(question.modified)
        turns.append(
            Turn(
                question.id,
                content,
                modified,
                tuple(occurrences(true, content)),
                tuple(occurrences(false, modified)),
            )
        )
    changed = difference(true, false, pronouns=dialogue.false_class == "identity")
    return Read(dialogue, lexicon, true, false, changed, tuple(turns))


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


def word_classes(words: tuple[str, ...], lexicon: Lexicon) -> frozenset[str]:
    """The false classes that changed words belong to; a word may belong to several (orange, baby)."""
    found = set()
    if lexicon.canonical(head_noun(words, lexicon)) is not None:
        found.add("identity")
    if any(lexicon.is_attribute(word) for word in words):
        found.add("attribute")
    if any(lexicon.is_place(word) for word in words):
        found.add("location")
    return frozenset(found)


def length_in_words(words: tuple[str, ...], lexicon: Lexicon) -> int:
    """Length in words, where a listed compound noun counts as one and an article before the changed word as none."""
    if len(words) > 1 and words[0].casefold() in ("a", "an"):
        words = words[1:]
    return 1 if lexicon.canonical(" ".join(words)) is not None else len([word for word in words if is_word(word)])


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
