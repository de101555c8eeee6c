# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks on the edit: one, small, of its class, and such that it makes the description false (design, section 8)."""

from __future__ import annotations

from collections.abc import Iterator

from groundset.fpco.dialogue import FALSE_CLASSES
from groundset.fpco.lexicon import Lexicon
from groundset.fpco.phrases import Phrase
from groundset.fpco.reading import Read, edit_classes, head_noun, length_in_words, said
from groundset.fpco.words import ARTICLES, Edit, is_word
from groundset.verdicts import Verdict

LONGEST_INSERTION = 5
_AGES = frozenset({"child", "adult", "teenager", "toddler", "baby"})


def one_edit(read: Read) -> Iterator[Verdict]:
    """no_edit, edit_not_contiguous, words_deleted, words_inserted; soft inserted_phrase and edit_long."""
    if not read.true or not read.false:
        return
    if read.changed.edit is None:
        yield read.hard("no_edit", "the modified description says the same as the true one")
        return
    edit = read.edit
    if edit is None:
        detail = f"{said(read.changed.edit.old)} became {said(read.changed.edit.new)}: not one contiguous edit"
        yield read.hard("edit_not_contiguous", detail, read.changed.places, 1)
        return
    location = read.dialogue.false_class == "location"
    old, new = (tuple(filter(is_word, words)) for words in (edit.old, edit.new))
    grown = len(new) - len(old)
    if not new:
        yield read.hard("words_deleted", f"{said(edit.old)} is only left out, which makes nothing false")
    elif not old and location and grown <= LONGEST_INSERTION:
        yield read.soft("inserted_phrase", f"{said(edit.new)} is inserted", grown, LONGEST_INSERTION)
    elif not old or grown > LONGEST_INSERTION:
        limit = LONGEST_INSERTION if location or old else 0
        yield read.hard("words_inserted", f"{said(edit.old)} became {said(edit.new)}", grown, limit)
    else:
        length = max(length_in_words(words, read.lexicon, read.grammar) for words in (old, new))
        if length > 1:
            yield read.soft("edit_long", f"{said(edit.old)} became {said(edit.new)}", length, 1)


def class_fit(read: Read) -> Iterator[Verdict]:
    """class_unfit, class_unknown and location_of_part: what the edit changes against what its class says."""
    edit, false_class = read.edit, read.dialogue.false_class
    if edit is None or not edit.new or false_class not in FALSE_CLASSES:
        return
    sides = [(edit.old, read.true_phrase), (edit.new, read.false_phrase)]
    for words, phrase in sides:
        if not words:
            continue
        end = edit.start + len(words)
        classes = edit_classes(phrase, edit.start, end, read.lexicon, read.grammar)
        owner = any(phrase.roles[index] == "owner" for index in range(edit.start, end))
        if not classes and not owner:
            yield read.soft("class_unknown", f"{said(words)} is not known as a word of {false_class}")
        elif false_class not in classes:
            detail = f"{said(words)} is {_what(phrase, edit.start, end)}"
            yield read.soft("class_unfit", f"{detail}, the class is {false_class}")
        elif false_class != "identity" and edit.old and _changes_noun(phrase, edit.start, end):
            yield read.soft("class_unfit", f"{said(words)} holds the target's noun, the class is {false_class}")
    if false_class == "location" and any(
        index in phrase.of_parts for words, phrase in sides for index in range(edit.start, edit.start + len(words))
    ):
        yield read.soft("location_of_part", f"{said(edit.new)} seems to move a part, not the whole target")


def _changes_noun(phrase: Phrase, start: int, end: int) -> bool:
    return any(start <= index < end for index in phrase.heads)


def _what(phrase: Phrase, start: int, end: int) -> str:
    roles = {role for index, role in enumerate(phrase.roles) if start <= index < end and role != "link"}
    for role, told in (
        ("head", "the target's noun"),
        ("owner", "the owner of what is described"),
        ("relation", "a place"),
        ("place", "a place"),
        ("modifier", "a word before the noun"),
    ):
        if role in roles:
            return told
    return "a property"


def truly_false(read: Read) -> Iterator[Verdict]:
    """Whether the modified description could be true of the same target."""
    edit = read.edit
    if edit is None or not edit.old or not edit.new:
        return
    match read.dialogue.false_class:
        case "identity":
            yield from _other_identity(read, edit)
        case "attribute":
            yield from _other_attribute(read, edit)
        case "location":
            yield from _other_place(read, edit)


def _other_identity(read: Read, edit: Edit) -> Iterator[Verdict]:
    lexicon = read.lexicon
    if not read.renames:
        return
    old, new = head_noun(edit.old, lexicon), head_noun(edit.new, lexicon)
    relation = lexicon.relation(old, new)
    label, named = lexicon.canonical(read.dialogue.target_label), lexicon.canonical(new)
    if relation in ("same", "compatible"):
        yield read.soft("identity_compatible", f"what is called {old!r} may truly be called {new!r}")
    elif label is not None and named is not None and named in lexicon.ancestors(label):
        yield read.soft("identity_compatible", f"the label {read.dialogue.target_label!r} may truly be called {new!r}")
    elif relation == "unknown":
        yield read.soft("identity_unknown", _why_unknown(old, new, lexicon))
    else:
        for noun in (old, new):
            meanings = lexicon.ambiguous.get(lexicon.canonical(noun) or "", ())
            category = read.dialogue.category
            if meanings and sum(category in lexicon.categories(meaning) for meaning in meanings) != 1:
                told = f"{noun!r} may mean {' or '.join(meanings)}"
                yield read.soft("identity_unknown", f"{told}: whether {old!r} may be called {new!r} is unsure")
                return


def _why_unknown(old: str, new: str, lexicon: Lexicon) -> str:
    strange = [repr(noun) for noun in (old, new) if lexicon.canonical(noun) is None]
    if strange:
        return f"the lexicon does not know {' and '.join(strange)}: may {old!r} be called {new!r}?"
    a, b = lexicon.canonical(old) or "", lexicon.canonical(new) or ""
    if a in lexicon.roles and b in lexicon.roles:
        return f"{old!r} and {new!r} are roles that one person may have"
    if "person" in lexicon.ancestors(a) & lexicon.ancestors(b):
        return f"{old!r} and {new!r} may differ in age only, which a photograph need not show"
    return f"{old!r} and {new!r} are kinds of which one thing may be both"


def _other_attribute(read: Read, edit: Edit) -> Iterator[Verdict]:
    lexicon, grammar = read.lexicon, read.grammar
    was, now = (frozenset().union(*map(lexicon.meanings, words)) for words in (edit.old, edit.new))
    if was & now:
        yield read.soft("attribute_compatible", f"{said(edit.old)} and {said(edit.new)} may be one color")
        return
    if len(edit.old) != 1 or len(edit.new) != 1:
        return
    old, new = edit.old[0].casefold(), edit.new[0].casefold()
    if grammar.same_properties.get(old, frozenset()) & grammar.same_properties.get(new, frozenset()):
        yield read.soft("attribute_compatible", f"what is {old!r} may truly be called {new!r}")
        return
    sorts = ["color" if lexicon.is_colour(word) else lexicon.attributes.get(word, "") for word in (old, new)]
    if sorts[0] != sorts[1] and all(sort == "color" or sort in grammar.apart for sort in sorts):
        told = f"{old!r} is of {sorts[0]}, {new!r} of {sorts[1]}: both may be true"
        yield read.soft("attribute_compatible", told)


def _other_place(read: Read, edit: Edit) -> Iterator[Verdict]:
    """Two relations that say the same, with the same thing behind them."""
    found = []
    for words, phrase in ((edit.old, read.true_phrase), (edit.new, read.false_phrase)):
        end = edit.start + len(words)
        touched = [(first, last) for first, last in phrase.relations if first < end and edit.start < last]
        if len(touched) != 1:
            return
        first, last = touched[0]
        rest = [*phrase.words[:first], *phrase.words[last:]]
        found.append((" ".join(phrase.words[first:last]), [word for word in rest if word not in ARTICLES]))
    (old, old_rest), (new, new_rest) = found
    groups = read.grammar.same_relations
    if old_rest == new_rest and groups.get(old, frozenset()) & groups.get(new, frozenset()):
        yield read.soft("location_compatible", f"what is {old!r} something may truly be called {new!r} it")
