# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What can be held against a written dialogue without looking at the picture: every rule named, hard or soft.

The rules are those of the design, section 8. A hard verdict rejects the dialogue; a soft one asks a person. Each rule
is a function from a dialogue that has been read into words to its verdicts; what words mean comes from the lexicon.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from groundset.fpco.dialogue import FIRST_FALSE_TURN, QUESTION_COUNT, Dialogue
from groundset.fpco.lexicon import load
from groundset.fpco.reading import Read, head_noun, length_in_words, read_dialogue, same_noun, word_classes
from groundset.fpco.words import article_slips, is_content_word, is_word, same_case, same_word
from groundset.verdicts import Verdict

FALSE_CLASSES = ("identity", "attribute", "location")
LONGEST_INSERTION = 5
_PART_WORDS = frozenset({"with", "whose", "who", "that", "which", "has", "having", "wearing", "holding", "carrying"})
_BESIDE_WORDS = """
    on in at by to from into onto under over above below near next behind beside between against along across around
    inside outside through riding driving sitting standing
"""
_OTHER_THINGS = _PART_WORDS | frozenset(_BESIDE_WORDS.split())
_OTHERS = frozenset({"other", "another", "others", "different", "more"})
_GENDERED = {"he": "male", "him": "male", "his": "male", "himself": "male"}
_GENDERED |= {"she": "female", "her": "female", "hers": "female", "herself": "female"}


def check(dialogue: Dialogue) -> list[Verdict]:
    """Every verdict on a dialogue, whoever wrote it (design, section 8).

    Args:
        dialogue: The dialogue; the photograph is not needed.

    Returns:
        Hard and soft verdicts in the order of the rules, then of the turns; empty if nothing can be said against it.
        The record id is the dialogue's, the detail names the turn.
    """
    read = read_dialogue(dialogue, load())
    return [verdict for rule in RULES for verdict in rule(read)]


# ---- hard: the frame


def _frame(read: Read) -> Iterator[Verdict]:
    dialogue = read.dialogue
    ids = [question.id for question in dialogue.questions]
    if len(ids) != QUESTION_COUNT:
        yield read.hard("question_count", f"{len(ids)} questions", len(ids), QUESTION_COUNT)
    elif ids != list(range(1, QUESTION_COUNT + 1)):
        yield read.hard("question_ids", f"ids {ids} are not 1 to {QUESTION_COUNT} in order")
    for question in dialogue.questions:
        if question.false_premise != (question.id >= FIRST_FALSE_TURN):
            yield read.hard("false_premise_flag", f"turn {question.id}: false_premise is {question.false_premise}")
    if dialogue.false_class not in FALSE_CLASSES:
        yield read.hard("false_class_unknown", f"{dialogue.false_class!r} is none of {', '.join(FALSE_CLASSES)}")
    if not read.true:
        yield read.hard("description_empty", "the target description has no words")
    if not read.false:
        yield read.hard("modified_description_empty", "the modified target description has no words")


def _true_turns(read: Read) -> Iterator[Verdict]:
    for question in read.dialogue.questions:
        if question.id < FIRST_FALSE_TURN and question.content != question.modified:
            yield read.hard("true_turn_changed", f"turn {question.id}: differs from its content, but has to be true")


def _descriptions(read: Read) -> Iterator[Verdict]:
    for turn in read.turns:
        yield from _once(read, turn.id, "description", read.true, turn.content, turn.true_at)
    for turn in read.false_turns:
        yield from _once(read, turn.id, "modified_description", read.false, turn.modified, turn.false_at)


def _once(
    read: Read, turn: int, name: str, phrase: tuple[str, ...], sentence: tuple[str, ...], found: tuple[int, ...]
) -> Iterator[Verdict]:
    if not phrase:
        return
    if not found:
        yield read.hard(f"{name}_missing", f"turn {turn}: {_said(phrase)} is not in it word for word", 0, 1)
    elif len(found) > 1:
        yield read.hard(f"{name}_repeated", f"turn {turn}: {_said(phrase)} is in it {len(found)} times", len(found), 1)
    elif not same_case(phrase, sentence, found[0]):
        here = sentence[found[0] : found[0] + len(phrase)]
        yield read.hard(f"{name}_case", f"turn {turn}: {_said(here)} is written in other capitals than {_said(phrase)}")


# ---- hard: nothing but the description changes


def _rest(read: Read) -> Iterator[Verdict]:
    for turn in read.false_turns:
        if len(turn.true_at) != 1 or len(turn.false_at) != 1:
            continue
        true_at, false_at = turn.true_at[0], turn.false_at[0]
        before = turn.content[:true_at], turn.modified[:false_at]
        after = turn.content[true_at + len(read.true) :], turn.modified[false_at + len(read.false) :]
        for old, new, next_to_description in ((*before, True), (*after, False)):
            yield from _same_rest(read, turn.id, old, new, article_may_change=next_to_description)


def _same_rest(
    read: Read, turn: int, old: tuple[str, ...], new: tuple[str, ...], *, article_may_change: bool
) -> Iterator[Verdict]:
    if len(old) != len(new):
        yield read.hard("sentence_changed", f"turn {turn}: {_said(old)} became {_said(new)} beside the description")
        return
    for index, (was, now) in enumerate(zip(old, new, strict=True)):
        if was.casefold() == now.casefold():
            continue
        if {was.casefold(), now.casefold()} == {"a", "an"} and article_may_change and index == len(old) - 1:
            continue
        if same_word(was, now, pronouns=True) and {was.casefold(), now.casefold()} != {"a", "an"}:
            if read.dialogue.false_class != "identity":
                yield read.hard("pronoun_changed", f"turn {turn}: {was!r} became {now!r}, which only identity allows")
            continue
        yield read.hard("sentence_changed", f"turn {turn}: {was!r} became {now!r} beside the description")


# ---- hard and soft: one small edit


def _one_edit(read: Read) -> Iterator[Verdict]:
    if not read.true or not read.false:
        return
    if read.changed.edit is None:
        yield read.hard("no_edit", "the modified description says the same as the true one")
        return
    edit = read.edit()
    if edit is None:
        detail = f"{_said(read.changed.edit.old)} became {_said(read.changed.edit.new)}: not one contiguous edit"
        yield read.hard("edit_not_contiguous", detail, read.changed.places, 1)
        return
    location = read.dialogue.false_class == "location"
    grown = len(edit.new) - len(edit.old)
    if not edit.new:
        yield read.hard("words_deleted", f"{_said(edit.old)} is only left out, which makes nothing false")
    elif not edit.old and location and grown <= LONGEST_INSERTION:
        yield read.soft("inserted_phrase", f"{_said(edit.new)} is inserted", grown, LONGEST_INSERTION)
    elif not edit.old or grown > LONGEST_INSERTION:
        limit = LONGEST_INSERTION if location or edit.old else 0
        yield read.hard("words_inserted", f"{_said(edit.old)} became {_said(edit.new)}", grown, limit)
    else:
        length = max(length_in_words(edit.old, read.lexicon), length_in_words(edit.new, read.lexicon))
        if length > 1:
            yield read.soft("edit_long", f"{_said(edit.old)} became {_said(edit.new)}", length, 1)


# ---- soft: the edit fits its class and makes the description false


def _class_fit(read: Read) -> Iterator[Verdict]:
    edit = read.edit()
    false_class = read.dialogue.false_class
    if edit is None or not edit.new or false_class not in FALSE_CLASSES:
        return
    before = [word.casefold() for word in read.true[: edit.start]]
    # "on the sofa" to "on the chair" moves the target, although both words are things.
    by_a_thing = any(read.lexicon.is_place(word) for word in before[-3:])
    for words in (edit.old, edit.new):
        classes = word_classes(words, read.lexicon)
        if not words or false_class in classes or (false_class == "location" and by_a_thing and "identity" in classes):
            continue
        if classes:
            detail = f"{_said(words)} is a word of {' or '.join(sorted(classes))}, the class is {false_class}"
            yield read.soft("class_unfit", detail)
        elif false_class != "identity":
            yield read.soft("class_unknown", f"{_said(words)} is not known as a word of {false_class}")
    if false_class == "identity" and any(word in _OTHER_THINGS for word in before):
        yield read.soft("class_unfit", f"{_said(edit.old)} seems to name something beside the target")
    if false_class == "location" and any(word in _PART_WORDS for word in before):
        yield read.soft("location_of_part", f"{_said(edit.new)} seems to move a part, not the whole target")


def _truly_false(read: Read) -> Iterator[Verdict]:
    edit = read.edit()
    if edit is None or not edit.old or not edit.new:
        return
    lexicon = read.lexicon
    if read.dialogue.false_class == "identity":
        old, new = head_noun(edit.old, lexicon), head_noun(edit.new, lexicon)
        relation = lexicon.relation(old, new)
        label, named = lexicon.canonical(read.dialogue.target_label), lexicon.canonical(new)
        if relation in ("same", "compatible"):
            yield read.soft("identity_compatible", f"what is called {old!r} may truly be called {new!r}")
        elif label is not None and named is not None and named in lexicon.ancestors(label):
            yield read.soft("identity_compatible", f"the label {label!r} may truly be called {new!r}")
        elif relation == "unknown":
            yield read.soft("identity_unknown", f"the lexicon cannot tell whether {old!r} may be called {new!r}")
    if read.dialogue.false_class == "attribute":
        was = frozenset().union(*(lexicon.meanings(word) for word in edit.old))
        now = frozenset().union(*(lexicon.meanings(word) for word in edit.new))
        if was & now:
            yield read.soft("attribute_compatible", f"{_said(edit.old)} and {_said(edit.new)} may be one color")


# ---- soft: the language


def _gives_away(read: Read) -> Iterator[Verdict]:
    edit = read.edit()
    if edit is None or not edit.new:
        return
    gone = [word for word in edit.old if is_content_word(word)]
    new = read.lexicon.canonical(head_noun(edit.new, read.lexicon))
    for turn in read.false_turns:
        if len(turn.false_at) != 1:
            continue
        rest = _around(turn.modified, turn.false_at[0], len(read.false))
        for word in gone:
            if any(same_noun(word, other, read.lexicon) for other in rest):
                yield read.soft("gives_away", f"turn {turn.id}: {word!r} of the true description is still said")
        if read.dialogue.false_class != "identity" or new is None:
            continue
        for word in sorted({word.casefold() for word in rest} & set(_GENDERED)):
            if "person" not in read.lexicon.categories(new) or (
                read.lexicon.genders.get(new, _GENDERED[word]) != _GENDERED[word]
            ):
                yield read.soft("gives_away", f"turn {turn.id}: {word!r} does not fit {new!r}")


def _tautology(read: Read) -> Iterator[Verdict]:
    for turn in read.turns:
        found = [(turn.content, turn.true_at, read.true)]
        if turn.id >= FIRST_FALSE_TURN:
            found.append((turn.modified, turn.false_at, read.false))
        said = [text for sentence, at, phrase in found for text in _says_twice(sentence, at, phrase, read)]
        for text in dict.fromkeys(said):
            yield read.soft("tautology", f"turn {turn.id}: {text}")


def _says_twice(sentence: tuple[str, ...], at: tuple[int, ...], phrase: tuple[str, ...], read: Read) -> Iterator[str]:
    lexicon = read.lexicon
    low = [token.casefold() for token in sentence]
    for first, second in itertools.pairwise(low):
        if first == second and is_word(first) and first not in ("that", "had"):
            yield f"{first!r} twice in a row"
    if len(at) != 1:
        return
    inside = range(at[0], at[0] + len(phrase))
    for index, word in enumerate(sentence):
        if index in inside or not is_content_word(word) or any(other in _OTHERS for other in low[:index][-2:]):
            continue
        if any(is_content_word(own) and same_noun(word, own, lexicon) for own in phrase):
            yield f"{word!r} is said in the description and again beside it"
    rest = [token for token in _around(tuple(low), at[0], len(phrase)) if is_word(token)]
    told = any(lexicon.is_colour(word) and not _is_fruit(word, read) for word in phrase)
    if told and any(word in ("color", "colour") for word in rest):
        yield "asks for the color that the description tells"
    if rest in (["where", "is"], ["where", "are"], ["where", "is", "located"], ["where", "are", "located"]) and any(
        lexicon.is_place(word) for word in phrase
    ):
        yield "asks for the place that the description tells"


def _is_fruit(word: str, read: Read) -> bool:
    """Whether a color word is the target's noun, true or false: who says "the orange" need not tell its color."""
    edit = read.edit() if read.dialogue.false_class == "identity" else None
    nouns = [read.dialogue.target_label] + ([] if edit is None else [head_noun(edit.new, read.lexicon)])
    return any(same_noun(word, noun, read.lexicon) for noun in nouns)


def _slips(read: Read) -> Iterator[Verdict]:
    edit = read.edit()
    if edit is not None and edit.old and edit.new and read.dialogue.false_class == "identity":
        old, new = head_noun(edit.old, read.lexicon), head_noun(edit.new, read.lexicon)
        numbers = read.lexicon.number(old), read.lexicon.number(new)
        if "unknown" not in numbers and numbers[0] != numbers[1]:
            yield read.soft("number_slip", f"{old!r} is {numbers[0]}, {new!r} is {numbers[1]}")
    for turn in read.turns:
        sentences = (turn.content,) if turn.id < FIRST_FALSE_TURN else (turn.content, turn.modified)
        for slip in dict.fromkeys(slip for sentence in sentences for slip in article_slips(sentence)):
            yield read.soft("article_slip", f"turn {turn.id}: {slip!r}")


RULES: tuple[Callable[[Read], Iterator[Verdict]], ...] = (
    _frame,
    _true_turns,
    _descriptions,
    _rest,
    _one_edit,
    _class_fit,
    _truly_false,
    _gives_away,
    _tautology,
    _slips,
)


def _said(words: tuple[str, ...]) -> str:
    return repr(" ".join(words)) if words else "nothing"


def _around(sentence: tuple[str, ...], at: int, size: int) -> tuple[str, ...]:
    return sentence[:at] + sentence[at + size :]
