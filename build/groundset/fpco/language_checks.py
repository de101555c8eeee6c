# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks on the language: what gives the truth away, or says a thing twice (design, section 8). All are soft."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from groundset.fpco.dialogue import FIRST_FALSE_TURN
from groundset.fpco.phrases import Phrase
from groundset.fpco.reading import Read, head_noun, said, same_noun
from groundset.fpco.words import ARTICLES, Edit, is_content_word, is_word
from groundset.verdicts import Verdict

Words = tuple[str, ...]

_OTHERS = frozenset({"other", "another", "others", "different", "more", "else", "second", "same", "own"})
_SOME = "a an any some no many several two three few multiple"
_INDEFINITE = frozenset(_SOME.split())
_PRONOUNS = {"he": "male", "him": "male", "his": "male", "himself": "male"}
_PRONOUNS |= {"she": "female", "her": "female", "hers": "female", "herself": "female"}
_LINKING = "is are was were be being look looks appear appears seem seems really"
_COPULAS = frozenset(_LINKING.split())
_WHERE = frozenset(
    {"where", "is", "are", "located", "exactly", "positioned", "situated", "in", "the", "this", "within"}
)
_ASKING_COLOUR = (
    "what which color colour is are was were the main of does do have has be would you say could this it its"
)
_WHAT_COLOUR = frozenset(_ASKING_COLOUR.split())
# What goes on a compound: "dog collar", "train tracks".
_COMPOUNDING = "collar leash bed house food bowl tracks track station stop door driver lights horn park show tag"
_GEAR = frozenset(_COMPOUNDING.split())
# What may stand between the target and what is said of it.
_BETWEEN = "still also just currently actually really right now located positioned placed resting situated found or"
_STILL = frozenset(_BETWEEN.split()) | {"standing", "sitting", "lying", "parked", "seated"}
_ELSEWHERE = frozenset({"turning", "moving", "heading", "walking", "going", "leaning", "driving", "hand", "side"})


def gives_away(read: Read) -> Iterator[Verdict]:
    """gives_away: the true description, or a word that fits it alone, where the false one is asked about."""
    edit = read.edit
    if edit is None or not edit.new or not edit.old:
        return
    for word in _stray_pronouns((), read.false, edit, read):
        yield read.soft("gives_away", f"the modified description: {word!r} does not fit {said(edit.new)}")
    for turn in read.false_turns:
        if len(turn.false_at) != 1:
            continue
        at = turn.false_at[0]
        before, after = turn.modified[:at], turn.modified[at + len(read.false) :]
        words = [word for word in edit.old if is_content_word(word) or word.casefold() in read.grammar.sides]
        match read.dialogue.false_class:
            case "identity":
                told = [head_noun(edit.old, read.lexicon)] if read.renames else words
                found = [word for word in told if _named(before, after, word, read)]
                for pronoun in _stray_pronouns(before, after, edit, read):
                    yield read.soft("gives_away", f"turn {turn.id}: {pronoun!r} does not fit {said(edit.new)}")
            case "attribute":
                found = [word for word in words if _said_of_target(before, after, word, edit, read)]
            case _:
                found = [word for word in words if _placed(before, after, word, edit, read)]
                found += _related(_low(after), edit, read)
        for word in dict.fromkeys(found):
            yield read.soft("gives_away", f"turn {turn.id}: {word!r} of the true description is still said")


def _low(words: Sequence[str]) -> list[str]:
    return [word.casefold() for word in words]


def _named(before: Words, after: Words, noun: str, read: Read) -> bool:
    """Whether the true noun is said beside the description, but for "is there a dog" and "any dogs"."""
    size = len(noun.split())
    for part, behind in ((before, False), (after, True)):
        low = _low(part)
        for index in range(len(part) - size + 1):
            if not same_noun(" ".join(part[index : index + size]), noun, read.lexicon):
                continue
            if any(_is_compound(low, place, read) for place in (index - 1, index + size - 1)):
                continue
            lead = low[max(index - 3, 0) : index]
            if any(word in _OTHERS for word in lead[-2:]):
                return True
            article = next(
                (number for number in range(index - 1, max(index - 4, -1), -1) if low[number] in _INDEFINITE), -1
            )
            article = -1 if "of" in low[article + 1 : index] else article
            plural = read.lexicon.number(" ".join(low[index : index + size])) == "plural"
            # "Is {} a dog": said of the target itself
            of_target = behind and article == 0
            of_target |= article > 0 and low[article - 1] in ("like", "as", *_COPULAS) and "there" not in low
            loose = plural and (
                index == 0 or low[index - 1] not in ("the", "these", "those", "of", "his", "her", "its", "'s")
            )
            there = "there" in low[:index]
            # "a dog collar" tells of a dog, "a dog close by" does not
            of_kind = _goes_on_compound(low, index + size, read)
            if there or (article >= 0 and not of_target and not of_kind) or (loose and not (behind and index == 0)):
                continue
            return True
    return False


def _goes_on_compound(low: Sequence[str], index: int, read: Read) -> bool:
    word = low[index] if index < len(low) else ""
    known = read.lexicon.canonical(word) is not None or word in read.grammar.worn or word in _GEAR
    return bool(word) and known


def _is_compound(low: Sequence[str], index: int, read: Read) -> bool:
    """Whether the words at an index and behind it are a listed noun of their own, as hot dog is."""
    if index < 0 or index + 1 >= len(low):
        return False
    found = read.lexicon.canonical(f"{low[index]} {low[index + 1]}")
    return found is not None and found not in (
        read.lexicon.canonical(low[index]),
        read.lexicon.canonical(low[index + 1]),
    )


def _stray_pronouns(before: Words, after: Words, edit: Edit, read: Read) -> Iterator[str]:
    """Pronouns of the true person's sex that do not fit the false identity and can mean nobody else."""
    lexicon = read.lexicon
    if read.dialogue.false_class != "identity" or not read.renames:
        return
    old, new = (lexicon.canonical(head_noun(words, lexicon)) for words in (edit.old, edit.new))
    sex = lexicon.genders.get(old or "")
    if sex is None or new is None:
        return
    fits = "person" in lexicon.categories(new) and lexicon.genders.get(new, sex) == sex
    # "the girl with her dog": another person may be meant
    inside = [
        word
        for index, word in enumerate(_low(read.false))
        if index not in range(edit.start, edit.start + len(edit.new))
    ]
    others = [lexicon.canonical(word) for word in (*_low(before), *_low(after), *inside)]
    someone = any(
        other is not None and "person" in lexicon.ancestors(other) and lexicon.genders.get(other, sex) == sex
        for other in others
    )
    if not fits and not someone:
        found = {word for word in (*_low(before), *_low(after)) if _PRONOUNS.get(word) == sex}
        yield from sorted(found)


def _noun_behind(words: Sequence[str], index: int, read: Read) -> str:
    """The noun that a word modifies: the last word of the run it stands in, or nothing."""
    noun = ""
    for word in words[index + 1 : index + 4]:
        if not is_content_word(word) or read.grammar.relation_at([word.casefold()], 0):
            break
        if noun and (word.casefold() in read.grammar.postures or word.casefold().endswith(("ing", "ed"))):
            break
        noun = word
    return noun


def _said_of_target(before: Words, after: Words, word: str, edit: Edit, read: Read) -> bool:
    """Whether a true property is said of the target, or of the thing of its that the description tells it of."""
    at = next(i for i in range(edit.start, edit.start + len(edit.old)) if read.true[i] == word)
    owned = _noun_behind(read.true, at, read)
    for part, behind in ((before, False), (after, True)):
        for index, other in enumerate(part):
            if not same_noun(other, word, read.lexicon):
                continue
            if any(lead in _OTHERS for lead in _low(part[max(index - 2, 0) : index])):
                continue
            noun = _noun_behind(part, index, read)
            of_it = bool(noun) and bool(owned) and same_noun(noun, owned, read.lexicon)
            # "Is {} red?" and "Is {} still red or blue?"
            does = word.casefold() in read.grammar.postures
            predicate = behind and (does or not noun) and all(w.casefold() in _STILL | _COPULAS for w in part[:index])
            # a thing that is told, as "umbrella" is in "holding an umbrella", is told wherever it is said
            thing = (
                not owned
                and read.lexicon.attributes.get(word.casefold()) in (None, "clothing")
                and not (read.lexicon.is_colour(word) or word.casefold().endswith(("ing", "ed")))
            )
            told = thing and index > 0 and part[index - 1].casefold() not in _INDEFINITE
            if of_it or predicate or told:
                return True
    return False


def _placed(before: Words, after: Words, word: str, edit: Edit, read: Read) -> bool:
    """Whether the true place is said of the target."""
    low_word = word.casefold()
    for part, behind in ((before, False), (after, True)):
        low = _low(part)
        for index, other in enumerate(low):
            if not same_noun(other, low_word, read.lexicon):
                continue
            lead = low[max(index - 3, 0) : index]
            if any(w in _OTHERS for w in lead[-2:]):
                continue
            if low_word in read.grammar.sides or read.grammar.relation_at([low_word], 0):
                if behind and _is_predicate(low, index, read):
                    return True
                continue
            # a thing: "on the couch" behind the target, or "of the couch", but not "is there a couch"
            loose = any(w in _INDEFINITE for w in lead[-2:])
            if not loose and behind and any(read.grammar.relation_at(low, number) for number in range(index)):
                return True
    return False


def _related(after: list[str], edit: Edit, read: Read) -> list[str]:
    """The true relation, if it is said right behind the target with the thing that the description names."""
    phrase = read.true_phrase
    index = 0
    while index < len(after) and after[index] in _STILL:
        index += 1
    for start, end in phrase.relations:
        touched = start < edit.start + len(edit.old) and edit.start < end
        things = {word for place, word in enumerate(phrase.words) if place >= end and phrase.roles[place] == "place"}
        follows = after[index : index + end - start] == [*phrase.words[start:end]]
        if touched and follows and any(is_content_word(w) and w in things for w in after[index + end - start :][:3]):
            return [" ".join(phrase.words[start:end])]
    return []


def _is_predicate(low: Sequence[str], index: int, read: Read) -> bool:
    """Whether a side is said of the target: "on the left" at once behind it, and no direction, hand or side of it."""
    looking = read.grammar.looking | _ELSEWHERE
    following = low[index + 1] if index + 1 < len(low) else ""
    if any(word in looking for word in low[:index]) or following in read.grammar.body | {
        "hand",
        "hands",
        "half",
        "end",
    }:
        return False
    if following in read.grammar.worn or (
        following and is_content_word(following) and following not in ("side", "corner")
    ):
        return False
    lead = [
        word for word in low[:index] if word not in ("on", "to", "at", "in", "the", "far", "more", "upper", "lower")
    ]
    return all(word in _STILL | _COPULAS for word in lead)


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
    for first, second in itertools.pairwise(_low(words)):
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
            if any(same_noun(word, other, read.lexicon) for other in second) and not _OTHERS & {*first, *second}:
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
    yield from _said_again(_low(after), phrase, read)
    rest = {word for word in _low((*before, *after)) if is_word(word)}
    yield from _asks_what_is_told(rest, phrase, read)


def _said_again(after: list[str], phrase: Phrase, read: Read) -> Iterator[str]:
    """What the sentence says of the target right behind a description that says it already."""
    index = 0
    while index < len(after) and after[index] in _STILL and after[index] not in phrase.words:
        index += 1
    if index == len(after) or any(word in _OTHERS for word in after[index : index + 4]):
        return
    size = read.grammar.relation_at(after, index)
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
        if any(same_noun(words[1], phrase.words[place], read.lexicon) for place in phrase.heads):
            yield f"{words[1]!r} is said in the description and again of it"
    elif words and is_content_word(words[0]) and words[0] not in read.grammar.sides:
        own = [
            word
            for place, word in enumerate(phrase.words)
            if phrase.roles[place] in ("modifier", "property", "posture")
        ]
        ends = len(words) == 1 or not is_word(words[1]) or words[1] == "or"
        in_hand = words[-1] == "in" and bool({"hand", "hands"} & set(after[index : index + 6]))
        if words[0] in own and (ends or in_hand or read.lexicon.is_colour(words[0])):
            yield f"{words[0]!r} is said in the description and again of it"


def _asks_what_is_told(rest: set[str], phrase: Phrase, read: Read) -> Iterator[str]:
    lexicon = read.lexicon
    if rest & {"color", "colour"}:
        for index, word in enumerate(phrase.words):
            if not lexicon.is_colour(word) or lexicon.is_shade(word) or index in phrase.heads:
                continue
            noun = _noun_behind(phrase.words, index, read)
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
