# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a dialogue from what is certain of a target: its label, its size, its measured colour and its place.

A description tells two to four details. It is written only if it surely holds of the target and nobody would take it
for another object; a modified one only if it is surely false of the target and points at nothing else. Where that
cannot be had the writer declines with a verdict that says why. What is chosen among several comes from sha256 of seed,
dialogue id and what is chosen, so that another option does not disturb the order of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from groundset.errors import DataError, Problem
from groundset.fpco.checks import FALSE_CLASSES, check
from groundset.fpco.colours import Colour
from groundset.fpco.dialogue import FIRST_FALSE_TURN, QUESTION_COUNT, Dialogue, Question
from groundset.fpco.lexicon import load as load_lexicon
from groundset.fpco.phrasebook import TARGET_SLOT, Place, QuestionForm
from groundset.fpco.phrasebook import load as load_phrasebook
from groundset.fpco.questions import chosen, digest, forms
from groundset.fpco.scene_view import Description, SceneObject, SceneView, WriterInput
from groundset.fpco.variants import check_variant, same_words
from groundset.verdicts import Verdict

__all__ = ["SceneObject", "WriterInput", "write", "write_variant"]

LEAST_DETAILS = 2

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
    view = _view(scene, pixels)
    if isinstance(view, Verdict):
        return view
    true = _true_descriptions(view, seed)
    if isinstance(true, Verdict):
        return true
    pairs = _pairs(view, true)
    if not pairs:
        return _declined(scene, "no_swap", f"no false {scene.false_class} is both wrong and about nothing else")
    for told, false in _ranked(pairs, scene.dialogue_id, seed):
        fitting = forms(told, false, view)
        if len({form.topic for form in fitting}) >= QUESTION_COUNT:
            dialogue = _assembled(scene, told, false, chosen(fitting, scene.dialogue_id, seed))
            faults = [verdict for verdict in check(dialogue) if verdict.hard]
            return _declined(scene, "checks", f"{faults[0].rule}: {faults[0].detail}") if faults else dialogue
    return _declined(scene, "no_questions", f"fewer than {QUESTION_COUNT} questions fit the {view.noun}")


def write_variant(
    scene: WriterInput, pixels: NDArray[np.uint8], seed: str, dialogue: Dialogue, taken: Sequence[str]
) -> Dialogue | Verdict:
    """The dialogue with another false description, or a hard verdict that says why none can be written.

    Args:
        scene: What the dialogue was written from.
        pixels: The whole image, uint8 of shape (height, width, 3), RGB.
        seed: The manifest's seed.
        dialogue: The dialogue; a person may have edited it.
        taken: False descriptions that are there already, besides the dialogue's own.

    Raises:
        DataError: If pixels and scene do not belong together, or the false class is unknown.
    """
    view = _view(scene, pixels)
    if isinstance(view, Verdict):
        return view
    found = _true_descriptions(view, seed)
    true = [] if isinstance(found, Verdict) else [told for told in found if told.text() == dialogue.target_description]
    if not true:
        return _declined(scene, "foreign_text", f"'{dialogue.target_description}' is not of this writer's making")
    others = (dialogue.modified_target_description, *taken)
    # the opposite of a place is the dialogue's own
    pairs = _pairs(view, true, any_place=True)
    fresh = [pair for pair in pairs if not any(same_words(pair[1].text(), other) for other in others)]
    reason = f"no other false {scene.false_class} than {', '.join(map(repr, others))} is wrong and about nothing else"
    asked = [question.content for question in dialogue.questions]
    sound: list[tuple[int, Dialogue]] = []
    for told, false in _ranked(fresh, scene.dialogue_id, seed):
        fitting = {_asked(form, told.text()): form for form in forms(told, false, view)}
        if not all(content in fitting for content in asked):
            reason = f"the questions fit no other false {scene.false_class}"
            continue
        variant = _assembled(scene, told, false, [fitting[content] for content in asked])
        faults = check_variant(variant, dialogue, taken)
        if any(verdict.hard for verdict in faults):
            reason = "; ".join(f"{verdict.rule}: {verdict.detail}" for verdict in faults if verdict.hard)
        else:
            sound.append((len(faults), variant))
    if sound:
        # the first that leaves the least to a person
        return min(sound, key=lambda pair: pair[0])[1]
    return _declined(scene, "no_variant", reason)


def _view(scene: WriterInput, pixels: NDArray[np.uint8]) -> SceneView | Verdict:
    """The scene as it is written from, or why nothing can be said of the target."""
    _demand(scene, pixels)
    lexicon, book = load_lexicon(), load_phrasebook()
    listed = lexicon.canonical(scene.target.label)
    if listed is None or scene.category not in lexicon.categories(listed):
        return _declined(scene, "unknown_label", f"the lexicon has no {scene.category} {scene.target.label!r}")
    if listed in book.unsaid:
        return _declined(scene, "unsaid_label", f"{scene.target.label!r} names no single thing")
    return SceneView(scene, pixels, book.said.get(listed, listed), lexicon, book)


def _pairs(
    view: SceneView, true: Sequence[Description], *, any_place: bool = False
) -> list[tuple[Description, Description]]:
    """Each description with each of its false counterparts; shapes of persons only where there is nothing else.

    A place is swapped for its opposite, or for any place where the target is not.
    """
    pairs = [(told, false) for told in true for false in _falsified(view, told, any_place=any_place)]
    return [pair for pair in pairs if not view.is_figure(pair[1].noun)] or pairs


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


def _declined(
    scene: WriterInput, reason: str, detail: str, measured: float | None = None, limit: float | None = None
) -> Verdict:
    return Verdict(scene.dialogue_id, "dialogue", f"writer_declined_{reason}", detail, measured, limit)


def _usable_colour(view: SceneView) -> Colour | None:
    """The target's measured colour, if a description may use it."""
    if view.lexicon.ancestors(view.noun) & view.book.patterned:
        return None
    colour = view.colour(view.scene.target)
    if colour is None or colour.word == view.noun or (view.is_person and colour.word in _SKIN_WORDS):
        return None
    return colour


def _true_descriptions(view: SceneView, seed: str) -> list[Description] | Verdict:
    """Every description that is true of the target and of nothing else, or why there is none."""
    false_class, scene = view.scene.false_class, view.scene
    colour, size, places = _usable_colour(view), _usable_size(view), view.sure_places()
    if false_class == "location":
        places = [place for place in places if place.swaps]
        if not places:
            return _declined(scene, "no_place", f"the {view.noun} is at no place of the image that a phrase names")
    if false_class == "attribute" and colour is None and size is None:
        return _declined(scene, "no_attribute", f"neither a color nor a size of the {view.noun} is clear")
    found = [
        Description(view.noun, sized, word, place, _phrase(view, place, seed), view.is_person, len(view.rivals))
        for sized in dict.fromkeys((None, size))
        for word in dict.fromkeys((None, None if colour is None else colour.word))
        for place in (None, *places)
    ]
    told = [true for true in found if true.details >= LEAST_DETAILS]
    if not told:
        return _declined(scene, "no_detail", f"nothing but its label is certain of the {view.noun}", 1, LEAST_DETAILS)
    fitting = [true for true in told if _reads_well(true) and _serves(true, false_class)]
    unique = [true for true in fitting if not view.points_elsewhere(true)]
    return unique or _declined(scene, "not_unique", f"no description singles the {view.noun} out")


def _phrase(view: SceneView, place: Place | None, seed: str) -> int:
    if place is None:
        return 0
    return int(digest(seed, view.scene.dialogue_id, "phrase", place.name), 16) % len(place.phrases)


def _reads_well(true: Description) -> bool:
    """An order reads as one among those of the colour or size beside it, and so does a comparison."""
    return not (true.compares and true.colour is not None) and not (
        true.place is not None and true.place.is_order and true.size is not None
    )


def _serves(true: Description, false_class: str) -> bool:
    """Whether a description has what its false class swaps."""
    match false_class:
        case "attribute":
            return true.colour is not None or (true.size is not None and true.place is not None)
        case "location":
            return true.place is not None and bool(true.place.swaps)
        case _:
            # "The larger dog" speaks of another dog, "the larger cat" would of another cat.
            return not (true.size is not None and true.place is None)


def _falsified(view: SceneView, true: Description, *, any_place: bool) -> list[Description]:
    """Every false counterpart of a description: surely wrong of the target, and not said of another object."""
    match view.scene.false_class:
        case "identity":
            found = [replace(true, noun=swap) for swap in _identities(view, true)]
        case "attribute":
            found = [replace(true, colour=swap) for swap in _colour_swaps(view, true)]
            if true.size is not None and true.place is not None:
                found.append(replace(true, size=view.book.sizes[true.size]))
        case _:
            swaps = () if true.place is None else tuple(view.book.places) if any_place else true.place.swaps
            places = [view.book.places[swap] for swap in swaps]
            found = [replace(true, place=place, phrase=min(true.phrase, len(place.phrases) - 1)) for place in places]
            found = [false for false in found if false.place and not view.perhaps(false.place, view.scene.target)]
    return [false for false in found if not view.points_elsewhere(false)]


def _usable_size(view: SceneView) -> str | None:
    """The target's size; a large person is another thing than one that is large in the image."""
    return None if view.is_person else view.sure_size()


def _identities(view: SceneView, true: Description) -> list[str]:
    found = []
    for swap in view.book.swaps.get(view.noun, ()):
        present = any(view.may_be_called(swap, other.label) for other in view.others)
        if not present and (true.colour is None or _may_have(swap, true.colour, view, clothed=true.clothed)):
            found.append(swap)
    # A statue is a far-fetched name for a person: it is for what nothing else may wear.
    likely = [swap for swap in found if not view.is_figure(swap)]
    return likely or (found if true.colour is not None else [])


def _may_have(noun: str, colour: str, view: SceneView, *, clothed: bool) -> bool:
    """Whether one would believe the colour of what the noun means, or of its clothes."""
    above = view.lexicon.ancestors(noun)
    if clothed:
        return not above.isdisjoint(("person", "figure"))
    natural = _natural_colours(noun, view)
    return not (above & view.book.patterned or view.lexicon.is_colour(noun)) and (natural is None or colour in natural)


def _natural_colours(noun: str, view: SceneView) -> tuple[str, ...] | None:
    """The believable colours of a noun, or of its nearest kind that has any; None if any will do."""
    waiting = [noun]
    while waiting:
        named = [name for name in waiting if name in view.book.natural_colours]
        if named:
            return tuple(dict.fromkeys(word for name in named for word in view.book.natural_colours[name]))
        waiting = [parent for name in waiting for parent in view.lexicon.parents.get(name, ())]
    return None


def _colour_swaps(view: SceneView, true: Description) -> list[str]:
    colour = view.colour(view.scene.target)
    if true.colour is None or colour is None:
        return []
    swaps = [swap for swap in view.lexicon.colours[colour.word] if swap not in colour.seen and swap != view.noun]
    natural = None if true.clothed else _natural_colours(view.noun, view)
    return [swap for swap in swaps if natural is None or swap in natural]


def _ranked(
    pairs: Sequence[tuple[Description, Description]], dialogue_id: str, seed: str
) -> list[tuple[Description, Description]]:
    """By rank of the true description first, so that one with many false counterparts is taken no more often."""

    def rank(pair: tuple[Description, Description]) -> tuple[str, str]:
        true, false = (description.text() for description in pair)
        return digest(seed, dialogue_id, "description", true), digest(seed, dialogue_id, "false premise", false)

    return sorted(pairs, key=rank)


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
