# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a dialogue from what is certain of a target: its label, its measured colour and its place in the image.

A description is written only if it surely holds of the target and nobody would take it for another object; a modified
one only if it is surely false of the target and points at nothing else. Where that cannot be had the writer declines
with a verdict that says why. What is chosen among several comes from sha256 of seed, dialogue id and purpose.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from groundset.errors import DataError, Problem
from groundset.fpco.checks import FALSE_CLASSES, check
from groundset.fpco.colours import Colour
from groundset.fpco.dialogue import FIRST_FALSE_TURN, QUESTION_COUNT, Dialogue, Question
from groundset.fpco.lexicon import load as load_lexicon
from groundset.fpco.phrasebook import ROLES, TARGET_SLOT, Place, QuestionForm
from groundset.fpco.phrasebook import load as load_phrasebook
from groundset.fpco.scene_view import Description, SceneObject, SceneView, WriterInput
from groundset.fpco.words import is_content_word, tokens
from groundset.verdicts import Verdict

__all__ = ["SceneObject", "WriterInput", "write"]

Choice = TypeVar("Choice")

# On a person the central colour is that of the clothes, unless it may be skin.
_SKIN_WORDS = frozenset({"brown", "pink"})


def write(scene: WriterInput, pixels: NDArray[np.uint8], seed: str) -> Dialogue | Verdict:
    """A dialogue about the target, or a hard verdict that says why none can be written (design, section 8).

    Args:
        scene: The target and every other object of the image.
        pixels: The whole image, uint8 of shape (height, width, 3), RGB.
        seed: The manifest's seed.

    Returns:
        A dialogue without hard verdicts, or a verdict `writer_declined_*` of kind dialogue.

    Raises:
        DataError: If pixels and scene do not belong together, or the false class is unknown.
    """
    _demand(scene, pixels)
    lexicon, book = load_lexicon(), load_phrasebook()
    noun = lexicon.canonical(scene.target.label)
    if noun is None or scene.category not in lexicon.categories(noun):
        return _declined(scene, "unknown_label", f"the lexicon has no {scene.category} {scene.target.label!r}")
    view = SceneView(scene, pixels, noun, lexicon, book)
    colour = _usable_colour(view)
    places = view.sure_places()
    if scene.false_class == "location":
        places = [place for place in places if place.swaps]
    if scene.false_class == "attribute" and colour is None:
        return _declined(scene, "no_colour", f"no color of the {noun} is clear")
    if scene.false_class == "location" and not places:
        return _declined(scene, "no_place", f"the {noun} is at no place of the image that a phrase names")
    unique = [true for true in _descriptions(view, colour, places) if not view.points_elsewhere(true)]
    if not unique:
        return _declined(scene, "not_unique", f"no description singles the {noun} out")
    pairs = [(true, false) for true in unique for false in _falsified(view, true, colour)]
    if not pairs:
        return _declined(scene, "no_swap", f"no false {scene.false_class} is both wrong and about nothing else")
    pairs = [pair for pair in pairs if len({form.topic for form in _forms(*pair, view)}) >= QUESTION_COUNT]
    if not pairs:
        return _declined(scene, "no_questions", f"fewer than {QUESTION_COUNT} questions fit the {noun}")
    true, false = _pick_pair(pairs, scene.dialogue_id, seed)
    dialogue = _assembled(scene, true, false, _chosen_forms(true, false, view, seed))
    faults = [verdict for verdict in check(dialogue) if verdict.hard]
    if faults:
        return _declined(scene, "checks", f"{faults[0].rule}: {faults[0].detail}")
    return dialogue


def _demand(scene: WriterInput, pixels: NDArray[np.uint8]) -> None:
    problems = []
    if pixels.dtype != np.uint8 or pixels.shape != (scene.height, scene.width, 3):
        found = f"{pixels.dtype} {pixels.shape}"
        problems.append(
            Problem("", scene.image_id, "", f"pixels are {found}, not uint8 {scene.height, scene.width, 3}")
        )
    if scene.false_class not in FALSE_CLASSES:
        problems.append(Problem("", scene.dialogue_id, "$.false_class", f"{scene.false_class!r} is unknown"))
    if problems:
        raise DataError("the template writer cannot read its input", problems)


def _declined(scene: WriterInput, reason: str, detail: str) -> Verdict:
    return Verdict(scene.dialogue_id, "dialogue", f"writer_declined_{reason}", detail)


def _usable_colour(view: SceneView) -> Colour | None:
    """The target's measured colour, if a description may use it."""
    if view.lexicon.ancestors(view.noun) & view.book.patterned:
        return None
    colour = view.colour(view.scene.target)
    if colour is None or colour.word == view.noun or (view.is_person and colour.word in _SKIN_WORDS):
        return None
    return colour


def _descriptions(view: SceneView, colour: Colour | None, places: Sequence[Place]) -> list[Description]:
    """Every description of the target that its false class can use, all of them true."""
    words = [None] if colour is None else [None, colour.word]
    false_class = view.scene.false_class
    return [
        Description(view.noun, word, place, view.is_person)
        for word in words
        for place in (None, *places)
        if (word is not None or false_class != "attribute")
        and (place is not None or false_class != "location")
        # An order needs no colour beside it, and reads as one among those of that colour.
        and not (word is not None and place is not None and place.is_order and false_class != "attribute")
    ]


def _falsified(view: SceneView, true: Description, colour: Colour | None) -> list[Description]:
    """Every false counterpart of a description: surely wrong of the target, and not said of another object."""
    match view.scene.false_class:
        case "identity":
            found = [Description(swap, true.colour, true.place, true.clothed) for swap in _identities(view, true)]
        case "attribute":
            swaps = [] if colour is None else _colour_swaps(view, colour)
            found = [Description(true.noun, swap, true.place, true.clothed) for swap in swaps]
            if true.place is not None and true.place.is_order:
                # "The blue car farthest to the left" may be read as the farthest of the blue ones.
                found = [false for false in found if not view.points_elsewhere(replace(false, place=None))]
        case _:
            elsewhere = () if true.place is None else true.place.swaps
            named = [view.book.places[swap] for swap in elsewhere]
            wrong = [place for place in named if not view.perhaps(place, view.scene.target)]
            found = [Description(true.noun, true.colour, place, true.clothed) for place in wrong]
    return [false for false in found if not view.points_elsewhere(false)]


def _identities(view: SceneView, true: Description) -> list[str]:
    lexicon = view.lexicon
    found = []
    for swap in view.book.swaps.get(view.noun, ()):
        human = not lexicon.ancestors(swap).isdisjoint(("person", "figure"))
        dressed = true.colour is not None and true.clothed and not human
        painted = true.colour is not None and (swap in view.book.patterned or lexicon.is_colour(swap))
        present = any(view.may_be_called(swap, other.label) for other in view.others)
        if not (dressed or painted or present):
            found.append(swap)
    return found


def _colour_swaps(view: SceneView, colour: Colour) -> list[str]:
    swaps = [swap for swap in view.lexicon.colours[colour.word] if swap not in colour.seen and swap != view.noun]
    above = view.lexicon.ancestors(view.noun)
    natural = {word for kind, words in view.book.natural_colours.items() if kind in above for word in words}
    return [swap for swap in swaps if swap in natural] or swaps


def _forms(true: Description, false: Description, view: SceneView) -> list[QuestionForm]:
    """The question forms that fit both descriptions and repeat no word of theirs."""
    lexicon = view.lexicon
    said = _said(true.text()) | _said(false.text())
    tells_colour = true.colour is not None or lexicon.is_colour(true.noun) or lexicon.is_colour(false.noun)
    return [
        form
        for form in view.book.questions
        if form.suits(true.noun, lexicon)
        and form.suits(false.noun, lexicon)
        and not (form.asks == "colour" and tells_colour)
        and said.isdisjoint(_said(form.text))
    ]


@functools.lru_cache(maxsize=1024)
def _said(text: str) -> frozenset[str]:
    """What a text says, word by word: its words of meaning, and the listed noun of each in whatever number."""
    words = [word.casefold() for word in tokens(text) if is_content_word(word)]
    return frozenset(words) | {noun for word in words if (noun := load_lexicon().canonical(word)) is not None}


def _pick_pair(
    pairs: Sequence[tuple[Description, Description]], dialogue_id: str, seed: str
) -> tuple[Description, Description]:
    """First the true description, one that says more than the label if there is any, then its false counterpart."""
    truths = list(dict.fromkeys(true for true, _ in pairs))
    telling = [true for true in truths if true.colour is not None or true.place is not None]
    true = _picked(telling or truths, seed, dialogue_id, "description")
    return true, _picked([false for told, false in pairs if told == true], seed, dialogue_id, "false premise")


def _chosen_forms(true: Description, false: Description, view: SceneView, seed: str) -> list[QuestionForm]:
    """Ten forms, dealt in turn over state, action, relation and role, in an order of their own."""

    def rank(purpose: str, form: QuestionForm) -> str:
        return _digest(seed, view.scene.dialogue_id, purpose, form.text)

    forms = sorted(_forms(true, false, view), key=lambda form: rank("question", form))
    first_of_topic: dict[str, QuestionForm] = {}
    for form in forms:
        first_of_topic.setdefault(form.topic, form)
    waiting = list(first_of_topic.values())
    chosen: list[QuestionForm] = []
    while len(chosen) < QUESTION_COUNT:
        for role in ROLES:
            of_role = [form for form in waiting if form.role == role]
            if of_role and len(chosen) < QUESTION_COUNT:
                chosen.append(of_role[0])
                waiting.remove(of_role[0])
    return sorted(chosen, key=lambda form: rank("order", form))


def _assembled(scene: WriterInput, true: Description, false: Description, forms: Sequence[QuestionForm]) -> Dialogue:
    questions = []
    for turn, form in enumerate(forms, start=1):
        is_false = turn >= FIRST_FALSE_TURN
        content = _asked(form, true.text())
        questions.append(Question(turn, content, _asked(form, false.text()) if is_false else content, is_false))
    return Dialogue(
        dialogue_id=scene.dialogue_id,
        item_id=scene.item_id,
        image_id=scene.image_id,
        category=scene.category,
        target_label=scene.target.label,
        false_class=scene.false_class,
        target_description=true.text(),
        modified_target_description=false.text(),
        questions=tuple(questions),
    )


def _asked(form: QuestionForm, description: str) -> str:
    sentence = form.text.replace(TARGET_SLOT, description)
    return sentence[0].upper() + sentence[1:]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _picked(options: Sequence[Choice], seed: str, dialogue_id: str, purpose: str) -> Choice:
    return options[int(_digest(seed, dialogue_id, purpose), 16) % len(options)]
