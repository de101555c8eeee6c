# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Check on what gives the truth away from turn 4 on (design, section 8). It is soft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundset.fpco.beside import COPULAS, OTHERS, STILL, lowered, noun_behind, tells_of
from groundset.fpco.reading import Read, head_noun, said, same_noun
from groundset.fpco.words import ARTICLES, Edit, is_content_word
from groundset.verdicts import Verdict

Words = tuple[str, ...]

_SOME = "a an any some no many several two three few multiple"
_INDEFINITE = frozenset(_SOME.split())
_PRONOUNS = {"he": "male", "him": "male", "his": "male", "himself": "male"}
_PRONOUNS |= {"she": "female", "her": "female", "hers": "female", "herself": "female"}
# What goes on a compound: "dog collar", "train tracks".
_COMPOUNDING = "collar leash bed house food bowl tracks track station stop door driver lights horn park show tag"
_GEAR = frozenset(_COMPOUNDING.split())
# What joins a clause to the target: "the bus on the right, which is on the left".
_CLAUSE = frozenset({"which", "that", "who", "seen", "visible", "shown"})
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
                found += _related(lowered(after), edit, read)
        for word in dict.fromkeys(found):
            yield read.soft("gives_away", f"turn {turn.id}: {word!r} of the true description is still said")


def _named(before: Words, after: Words, noun: str, read: Read) -> bool:
    """Whether the true noun is said beside the description, but for "is there a dog" and "any dogs"."""
    size = len(noun.split())
    for part, behind in ((before, False), (after, True)):
        low = lowered(part)
        for index in range(len(part) - size + 1):
            if not same_noun(" ".join(part[index : index + size]), noun, read.lexicon):
                continue
            if any(_is_compound(low, place, read) for place in (index - 1, index + size - 1)):
                continue
            lead = low[max(index - 3, 0) : index]
            if any(word in OTHERS for word in lead[-2:]):
                return True
            article = next(
                (number for number in range(index - 1, max(index - 4, -1), -1) if low[number] in _INDEFINITE), -1
            )
            article = -1 if "of" in low[article + 1 : index] else article
            plural = read.lexicon.number(" ".join(low[index : index + size])) == "plural"
            # "Is {} a dog": said of the target itself
            of_target = behind and article == 0
            of_target |= article > 0 and low[article - 1] in ("like", "as", *COPULAS) and "there" not in low
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
        for index, word in enumerate(lowered(read.false))
        if index not in range(edit.start, edit.start + len(edit.new))
    ]
    others = [lexicon.canonical(word) for word in (*lowered(before), *lowered(after), *inside)]
    someone = any(
        other is not None and "person" in lexicon.ancestors(other) and lexicon.genders.get(other, sex) == sex
        for other in others
    )
    if not fits and not someone:
        found = {word for word in (*lowered(before), *lowered(after)) if _PRONOUNS.get(word) == sex}
        yield from sorted(found)


def _is_kind_of(noun: str, general: str, read: Read) -> bool:
    named, kind = read.lexicon.canonical(noun), read.lexicon.canonical(general)
    return named is not None and kind is not None and kind in read.lexicon.ancestors(named)


def _said_of_target(before: Words, after: Words, word: str, edit: Edit, read: Read) -> bool:
    """Whether a true property is said of the target, or of the thing of its that the description tells it of."""
    at = next(i for i in range(edit.start, edit.start + len(edit.old)) if read.true[i] == word)
    owned = noun_behind(read.true, at, read)
    # "Is the hat of {} white?" tells of the hat, "Is {}'s dress white?" of the dress
    other_thing = (
        len(before) > 1 and before[-1].casefold() == "of" and not tells_of(before[-2], owned, read.true_phrase, read)
    )
    owner = after[:1] == ("'s",)
    start = 2 if owner and len(after) > 1 and tells_of(after[1], owned, read.true_phrase, read) else 0
    for part, behind in ((before, False), (after, True)):
        for index, other in enumerate(part):
            if not same_noun(other, word, read.lexicon):
                continue
            if any(lead in OTHERS for lead in lowered(part[max(index - 2, 0) : index])):
                continue
            noun = noun_behind(part, index, read)
            of_it = tells_of(noun, owned, read.true_phrase, read)
            # "Is {} red?" and "Is {} still red or blue?"
            does = word.casefold() in read.grammar.postures
            linked = all(w.casefold() in STILL | COPULAS for w in part[start:index])
            predicate = behind and linked and (does or not (noun or other_thing))
            # "Is {} a black Labrador?"
            lead = set(lowered(part[start:index]))
            predicate |= (
                behind and "a" in lead and lead <= STILL | COPULAS | ARTICLES and _is_kind_of(noun, owned, read)
            )
            # a thing that is told, as "umbrella" is in "holding an umbrella", is told wherever it is said
            thing = (
                not owned
                and read.lexicon.attributes.get(word.casefold()) in (None, "clothing")
                and not (read.lexicon.is_colour(word) or word.casefold().endswith(("ing", "ed")))
            )
            told = thing and index > 0 and part[index - 1].casefold() not in _INDEFINITE
            # "Is the blue of {} light or dark?"
            colour = read.lexicon.is_colour(word) and tells_of("color", owned, read.true_phrase, read)
            told |= colour and not behind and lowered(part[index + 1 :]) == ["of"]
            # "How many pieces of pepperoni are on {}?"
            substance = not noun and not read.lexicon.is_attribute(word) and not word.casefold().endswith(("ing", "ed"))
            told |= substance and index > 0 and part[index - 1].casefold() in ("of", "the", "with")
            if of_it or predicate or told:
                return True
    return False


def _placed(before: Words, after: Words, word: str, edit: Edit, read: Read) -> bool:
    """Whether the true place is said of the target."""
    low_word = word.casefold()
    for part, behind in ((before, False), (after, True)):
        low = lowered(part)
        for index, other in enumerate(low):
            if not same_noun(other, low_word, read.lexicon):
                continue
            lead = low[max(index - 3, 0) : index]
            if any(w in OTHERS for w in lead[-2:]):
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
    leading = STILL | _CLAUSE | COPULAS | read.grammar.postures
    # "hidden behind the curtain", but not "looking behind the curtain"
    if after[:1] and after[0].endswith(("ed", "en", "ing")) and after[0] not in read.grammar.looking:
        index = 1
    while index < len(after) and (after[index] in leading or after[index] == ","):
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
    return all(word in STILL | COPULAS | _CLAUSE or word == "," for word in lead)
