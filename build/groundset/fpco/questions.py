# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Which ten questions a dialogue asks: each about something else, of all four roles, and not all alike in sound.

Topics, the wording of each, and their order are ranked by sha256 of seed, dialogue id and their own text. So a form
that is added to the phrasebook changes a dialogue only where it ranks before one that was chosen.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter

from groundset.fpco.dialogue import QUESTION_COUNT
from groundset.fpco.lexicon import load
from groundset.fpco.phrasebook import ROLES, TARGET_SLOT, QuestionForm
from groundset.fpco.phrasebook import load as load_phrasebook
from groundset.fpco.scene_view import Description, SceneView
from groundset.fpco.words import is_content_word, tokens

# Of ten questions at most so many begin with the same two words, unless there are no others.
_MOST_ALIKE = {f"Is {TARGET_SLOT}": 4}
_MOST_ALIKE_ELSE = 2


def digest(*parts: str) -> str:
    """Hexadecimal sha256 of the parts, in their order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def forms(true: Description, false: Description, view: SceneView) -> list[QuestionForm]:
    """The question forms that fit both descriptions, ask for nothing that they tell and repeat no word of theirs."""
    said = _said(true.text()) | _said(false.text())
    told = _told(true, view) | _told(false, view)
    fit_false = set(suiting(false.noun, view.scene.category))
    return [
        form
        for form in suiting(true.noun, view.scene.category)
        if form in fit_false and form.asks not in told and said.isdisjoint(_said(form.text))
    ]


@functools.cache
def suiting(noun: str, category: str) -> tuple[QuestionForm, ...]:
    """The forms of the packaged phrasebook that may be asked of a canonical word, as one of the category."""
    return tuple(form for form in load_phrasebook().questions if form.suits(noun, load(), category))


def _told(description: Description, view: SceneView) -> frozenset[str]:
    told = set()
    if description.colour is not None or any(map(view.lexicon.is_colour, description.noun.split())):
        told.add("colour")
    if description.place is not None and description.place.name in ("foreground", "background"):
        told.add("depth")
    if description.compares:
        told.add("company")
    return frozenset(told)


@functools.lru_cache(maxsize=4096)
def _said(text: str) -> frozenset[str]:
    """What a text says, word by word: its words of meaning, and the listed noun of each in whatever number."""
    words = [word.casefold() for word in tokens(text) if is_content_word(word)]
    return frozenset(words) | {noun for word in words if (noun := load().canonical(word)) is not None}


def chosen(fitting: list[QuestionForm], dialogue_id: str, seed: str) -> list[QuestionForm]:
    """Ten of the forms, dealt in turn over state, action, relation and role, in an order of their own.

    Args:
        fitting: Forms of at least ten topics.
        dialogue_id: What the choice is for.
        seed: The manifest's seed.
    """
    by_topic: dict[str, list[QuestionForm]] = {}
    for form in sorted(fitting, key=lambda form: digest(seed, dialogue_id, "question", form.text)):
        by_topic.setdefault(form.topic, []).append(form)
    topics = sorted(by_topic, key=lambda topic: digest(seed, dialogue_id, "topic", topic))
    found: list[QuestionForm] = []
    alike: Counter[str] = Counter()
    picky = True
    while len(found) < QUESTION_COUNT:
        before = len(found)
        for role in ROLES:
            taken = next((f for topic in topics for f in by_topic[topic] if _takes(f, role, alike, picky=picky)), None)
            if taken is not None and len(found) < QUESTION_COUNT:
                found.append(taken)
                alike[taken.opening] += 1
                topics.remove(taken.topic)
        picky = picky and len(found) > before
    return sorted(found, key=lambda form: digest(seed, dialogue_id, "order", form.text))


def _takes(form: QuestionForm, role: str, alike: Counter[str], *, picky: bool) -> bool:
    fresh = alike[form.opening] < _MOST_ALIKE.get(form.opening, _MOST_ALIKE_ELSE)
    return form.role == role and (fresh or not picky)
