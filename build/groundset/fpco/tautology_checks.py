# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Check on what is said twice: in a description, and in a question that tells or asks what it says. It is soft."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from groundset.fpco.beside import OTHERS, STILL, lowered, noun_behind, tells_of
from groundset.fpco.dialogue import FIRST_FALSE_TURN
from groundset.fpco.phrases import Phrase
from groundset.fpco.plurals import singulars
from groundset.fpco.reading import Read, head_noun, same_noun
from groundset.fpco.words import ARTICLES, is_content_word, is_word
from groundset.verdicts import Verdict

Words = tuple[str, ...]

_WHERE = frozenset(
    {"where", "is", "are", "located", "exactly", "positioned", "situated", "in", "the", "this", "within"}
)
_ASKING_COLOUR = (
    "what which color colour is are was were the main of does do have has be would you say could this it its"
)
_WHAT_COLOUR = frozenset(_ASKING_COLOUR.split())


def tautology(read: Read) -> Iterator[Verdict]:
    """tautology: a phrase that says the same twice, or asks what it tells."""
    if read.true and (text := _twice_within(read.true_phrase, read)):
        yield read.soft("tautology", f"the description: {text}")
    if read.false and (text := _twice_within(read.false_phrase, read)):
        yield read.soft("tautology", f"the modified description: {text}")
    for turn in read.turns:
        found = [(turn.content, turn.true_at, read.true, read.true_phrase)]
        if turn.id >= FIRST_FALSE_TURN:
            found.append((turn.modified, turn.false_at, read.false, read.false_phrase))
        told = [text for sentence, at, words, phrase in found for text in _twice(sentence, at, words, phrase, read)]
        for text in dict.fromkeys(told):
            yield read.soft("tautology", f"turn {turn.id}: {text}")


def _doubled(words: Sequence[str]) -> str:
    for first, second in itertools.pairwise(lowered(words)):
        if first == second and is_word(first) and first not in ("that", "had", "very", "so"):
            return f"{first!r} twice in a row"
    return ""


def _twice_within(phrase: Phrase, read: Read) -> str:
    """What a description says twice: a word in a row, or one thing in two places that follow one another."""
    if doubled := _doubled(phrase.words):
        return doubled
    places: list[list[str]] = []
    for _start, end in phrase.relations:
        stop = next((i for i in range(end, len(phrase.words)) if phrase.roles[i] != "place"), len(phrase.words))
        places.append([*phrase.words[end:stop]])
    for first, second in itertools.pairwise(places):
        for word in first:
            if not is_content_word(word) or word in read.grammar.of_picture or read.lexicon.is_attribute(word):
                continue
            if any(same_noun(word, other, read.lexicon) for other in second) and not OTHERS & {*first, *second}:
                return f"{word!r} in two places of one phrase"
    sides = [
        word
        for index, word in enumerate(phrase.words)
        if phrase.roles[index] == "modifier" and word in read.grammar.sides
    ]
    for word in sides:
        if any(word in place for place in places) or any(word in phrase.words[a:b] for a, b in phrase.relations):
            return f"{word!r} before the noun and behind it"
    return ""


def _twice(sentence: Words, at: tuple[int, ...], words: Words, phrase: Phrase, read: Read) -> Iterator[str]:
    if len(at) != 1 or not words:
        if doubled := _doubled(sentence):
            yield doubled
        return
    before, after = sentence[: at[0]], sentence[at[0] + len(words) :]
    for part in (before, after, (*before[-1:], *words[:1]), (*words[-1:], *after[:1])):
        if doubled := _doubled(part):
            yield doubled
    yield from _said_again(lowered(before), lowered(after), phrase, read)
    rest = {word for word in lowered((*before, *after)) if is_word(word)}
    yield from _asks_what_is_told(rest, phrase, read)


def _said_again(before: list[str], after: list[str], phrase: Phrase, read: Read) -> Iterator[str]:
    """What the sentence says of the target right behind a description that says it already."""
    index = 0
    doing = STILL | read.grammar.postures
    while index < len(after) and after[index] in doing and after[index] not in phrase.words:
        index += 1
    does = bool(set(after[:index]) - STILL)
    if index == len(after) or any(word in OTHERS for word in after[index : index + 4]):
        return
    size = read.grammar.relation_at(after, index)
    # what leans against a railing is told more of than what is near it; so is what is in the middle of a board
    narrower = does or any(word in read.grammar.sides for word in after[index : index + size])
    if size and narrower and not _same_relation(after[index : index + size], phrase, read):
        return
    if size:
        noun = next((word for word in after[index + size :] if word not in ARTICLES), "")
        nouns = [word for place, word in enumerate(phrase.words) if phrase.roles[place] == "place"]
        nouns += [
            word for start, end in phrase.relations for word in phrase.words[start:end] if word in read.grammar.sides
        ]
        closes = after[index + size + len(ARTICLES & {*after[index + size : index + size + 1]}) + 1 :][:1]
        of_side = noun in read.grammar.sides and closes == ["of"]
        tells = (noun in read.grammar.sides or is_content_word(noun)) and noun not in read.grammar.of_picture
        if tells and not of_side and any(same_noun(noun, other, read.lexicon) for other in nouns):
            yield f"{noun!r} is said in the description and again beside it"
        return
    words = after[index : index + 2]
    if words and words[0] in ARTICLES and len(words) > 1 and not is_content_word("".join(after[index + 2 : index + 3])):
        # a kitten is a cat, and yet one may ask
        if any(words[1] in singulars(phrase.words[place]) for place in phrase.heads):
            yield f"{words[1]!r} is said in the description and again of it"
    elif words and is_content_word(words[0]) and words[0] not in read.grammar.sides:
        own = [
            word
            for place, word in enumerate(phrase.words)
            if phrase.roles[place] in ("modifier", "property", "posture")
            # "Is the hat of {} red?" is of the hat
            and (
                before[-1:] != ["of"]
                or tells_of("".join(before[-2:-1]), noun_behind(phrase.words, place, read), phrase, read)
            )
        ]
        ends = len(words) == 1 or not is_word(words[1]) or words[1] == "or"
        in_hand = words[-1] == "in" and bool({"hand", "hands"} & set(after[index : index + 6]))
        if words[0] in own and (ends or in_hand or read.lexicon.is_colour(words[0])):
            yield f"{words[0]!r} is said in the description and again of it"


def _same_relation(words: list[str], phrase: Phrase, read: Read) -> bool:
    """Whether a relation, or one that says the same, is in the description."""
    groups = read.grammar.same_relations
    told = [" ".join(phrase.words[start:end]) for start, end in phrase.relations]
    relation = " ".join(words)
    return any(one == relation or groups.get(one, frozenset()) & groups.get(relation, frozenset()) for one in told)


def _asks_what_is_told(rest: set[str], phrase: Phrase, read: Read) -> Iterator[str]:
    lexicon = read.lexicon
    if rest & {"color", "colour"}:
        for index, word in enumerate(phrase.words):
            if not lexicon.is_colour(word) or lexicon.is_shade(word) or index in phrase.heads:
                continue
            noun = noun_behind(phrase.words, index, read)
            of_target = phrase.roles[index] == "modifier" and not _is_fruit(word, read)
            if (of_target and rest <= _WHAT_COLOUR) or (noun and noun in rest and phrase.roles[index] == "property"):
                yield "asks for the color that the description tells"
                return
    where = _WHERE | read.grammar.of_picture
    sided = any(word in read.grammar.sides for word in phrase.words)
    if (
        "where" in rest
        and "place" in phrase.roles
        and rest <= (where if sided else _WHERE - {"in", "within", "this", "the"})
    ):
        yield "asks for the place that the description tells"


def _is_fruit(word: str, read: Read) -> bool:
    """Whether a color word is the target's noun, true or false: who says "the orange" need not tell its color."""
    edit = read.edit if read.dialogue.false_class == "identity" else None
    nouns = [read.dialogue.target_label] + ([] if edit is None else [head_noun(edit.new, read.lexicon)])
    return any(same_noun(word, noun, read.lexicon) for noun in nouns)
