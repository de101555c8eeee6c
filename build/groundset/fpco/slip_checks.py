# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks on what a reader stumbles over: number and articles (design, section 8). All are soft."""

from __future__ import annotations

from collections.abc import Iterator

from groundset.fpco.agreement import determiner_slips, phrase_number, verb_slip
from groundset.fpco.articles import article_slips
from groundset.fpco.dialogue import FIRST_FALSE_TURN
from groundset.fpco.reading import Read, head_noun
from groundset.verdicts import Verdict


def slips(read: Read) -> Iterator[Verdict]:
    """number_slip and article_slip: what a reader stumbles over, told once if a description has it."""
    lexicon, grammar = read.lexicon, read.grammar
    edit = read.edit
    slipped = False
    if edit is not None and edit.old and edit.new and read.dialogue.false_class == "identity" and read.renames:
        old, new = head_noun(edit.old, lexicon), head_noun(edit.new, lexicon)
        numbers = lexicon.number(old), lexicon.number(new)
        if "unknown" not in numbers and numbers[0] != numbers[1]:
            slipped = True
            yield read.soft("number_slip", f"{old!r} is {numbers[0]}, {new!r} is {numbers[1]}")
    descriptions = (("the description", read.true), ("the modified description", read.false))
    known_numbers: set[str] = set()
    known_articles: set[str] = set()
    for name, words in descriptions:
        for slip in determiner_slips(words, lexicon, grammar):
            if slip not in known_numbers:
                known_numbers.add(slip)
                yield read.soft("number_slip", f"{name}: {slip!r}")
        for slip in article_slips(words):
            if slip not in known_articles:
                known_articles.add(slip)
                yield read.soft("article_slip", f"{name}: {slip!r}")
    true_number, false_number = (
        phrase_number(phrase, lexicon, grammar) for phrase in (read.true_phrase, read.false_phrase)
    )
    for turn in read.turns:
        asked = [(turn.content, turn.true_at, len(read.true), true_number)]
        if turn.id >= FIRST_FALSE_TURN and not slipped:
            asked.append((turn.modified, turn.false_at, len(read.false), false_number))
        numbered = [slip for sentence, at, size, number in asked for slip in verb_slip(sentence, at, size, number)]
        sentences = (turn.content, turn.modified) if turn.id >= FIRST_FALSE_TURN else (turn.content,)
        numbered += [slip for words in sentences for slip in determiner_slips(words, lexicon, grammar)]
        for slip in dict.fromkeys(numbered):
            if slip not in known_numbers:
                yield read.soft("number_slip", f"turn {turn.id}: {slip!r}")
        for slip in dict.fromkeys(slip for words in sentences for slip in article_slips(words)):
            if slip not in known_articles:
                yield read.soft("article_slip", f"turn {turn.id}: {slip!r}")
