# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Truthful dialogues about a crowd: questions and answers that narrow what the first utterance may mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundset.miniworld.backdrop import SETTINGS
from groundset.miniworld.chance import Chance
from groundset.miniworld.crowd import Crowd

_OPENINGS = (
    "The {}.",
    "I want the {}.",
    "Please find me the {}.",
    "Can you point at the {}?",
    "I am looking for {}.",
    "Show me that {} please",
)
_TURNS = (1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5)
_WHERE = {"left": "on the left", "middle": "in the middle", "right": "on the right"}
# Number of rows to the words for each of them, from the back.
_ROWS = {
    1: ("",),
    2: ("in the back row", "in the front row"),
    3: ("in the back row", "in the second row", "in the front row"),
}
# Turn to how the system asks whether it has understood, never twice alike.
_CONFIRMS = {2: "Do you mean", 3: "So you want", 4: "Are we talking about", 5: "Shall I take"}
# What else a system might have asked, and a user answered, where it would have been wrong.
_OTHER_QUESTIONS = tuple(
    f"{start} {thing}?"
    for start in ("Do you mean", "Is it near", "Is it behind", "Are you talking about")
    for thing in ("the fence", "the window", "the tall one", "the ladder", "the wheel", "the ball", "the chair", "it")
)
_OTHER_ANSWERS = tuple(
    f"{start} {thing}."
    for start in ("No, it is", "Yes, it is", "Neither, it is", "I think it is")
    for thing in ("upside down", "made of glass", "asleep", "very old", "in a box", "wet", "half hidden", "broken")
)
WRONG_ANSWERS = 30


@dataclass(frozen=True)
class Conversation:
    """A dialogue and what it leaves plausible.

    Attributes:
        opening: The first utterance.
        questions: The system's questions from turn 2 on.
        answers: The user's answers, one for each question.
        plausible: For each turn, numbers of the crowd's members that are still plausible, ascending.
    """

    opening: str
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    plausible: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Step:
    question: str
    answer: str
    # Attribute to the values that remain possible; empty if nothing is learnt.
    allowed: dict[str, frozenset[str]]


def _traits(crowd: Crowd, number: int) -> dict[str, str]:
    member = crowd.members[number]
    thing, row = member.thing, _ROWS[crowd.rows][member.row]
    return {"colour": thing.colour, "place": thing.place, "row": row, "kind": thing.kind.name}


def _noun(crowd: Crowd) -> str:
    return {"Cattle": "cow", "Doughnut": "donut"}.get(crowd.invig_class, crowd.invig_class.lower())


def _listed(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else ", ".join(values[:-1]) + " or " + values[-1]


def _described(crowd: Crowd, allowed: dict[str, frozenset[str]]) -> str:
    known = {name: next(iter(values)) for name, values in allowed.items() if len(values) == 1}
    noun = known.get("kind", _noun(crowd))
    colour = known.get("colour")
    person = crowd.invig_class == "Person"
    words = ["the", *([colour] if colour and not person else []), noun, *(["in", colour] if colour and person else [])]
    words += [_WHERE[known["place"]]] if "place" in known else []
    words += [known["row"]] if "row" in known else []
    return " ".join(words)


def _asked(crowd: Crowd, trait: str, value: str, present: Sequence[str], plain: bool) -> tuple[str, str]:
    if trait == "place":
        where = _WHERE[value]
        return (
            ("Where is it?", f"{where.capitalize()}.")
            if plain
            else (
                f"Is it {_listed([_WHERE[each] for each in present])}?",
                f"It is {where}.",
            )
        )
    if trait == "row":
        return f"Is it {_listed(list(present))}?", f"{value.capitalize()}."
    if trait == "kind":
        return f"Is it a {_listed([f'a {each}' for each in present])[2:]}?", f"It is a {value}."
    if crowd.invig_class == "Person":
        return "What colour are the clothes?", f"{value.capitalize()}."
    return (
        ("What colour is it?", f"It is {value}.")
        if plain
        else (
            f"Which one, the {_listed(list(present))} one?",
            f"The {value} one.",
        )
    )


def _learn(crowd: Crowd, target: int, now: Sequence[int], chance: Chance, turn: int) -> _Step | None:
    mine = _traits(crowd, target)
    values = {trait: sorted({_traits(crowd, n)[trait] for n in now}) for trait in mine}
    telling = [trait for trait in chance.order(f"traits {turn}", sorted(mine)) if len(values[trait]) > 1]
    if not telling:
        return None
    if "colour" in telling and len(values["colour"]) > 2 and chance.unit(f"no {turn}") < 0.3:
        others = [colour for colour in values["colour"] if colour != mine["colour"]]
        wrong = chance.pick(f"wrong {turn}", others)
        question = f"Does it wear {wrong}?" if crowd.invig_class == "Person" else f"Is it the {wrong} one?"
        return _Step(question, "No.", {"colour": frozenset(values["colour"]) - {wrong}})
    trait = telling[0]
    question, answer = _asked(crowd, trait, mine[trait], values[trait], chance.unit(f"plain {turn}") < 0.5)
    return _Step(question, answer, {trait: frozenset({mine[trait]})})


def _widen(
    crowd: Crowd, allowed: dict[str, frozenset[str]], everything: Sequence[int], turn: int, chance: Chance
) -> _Step | None:
    named = allowed.get("colour", frozenset())
    others = sorted({_traits(crowd, n)["colour"] for n in everything} - named)
    if len(named) != 1 or not others:
        return None
    colour, other = next(iter(named)), chance.pick(f"other {turn}", others)
    return _Step(f"Does it have to be {colour}?", f"No, {other} is fine too.", {"colour": named | {other}})


def converse(crowd: Crowd, chance: Chance, widens: bool = False) -> Conversation:
    """Talks about one of the things that the crowd's class names.

    Args:
        crowd: The scene.
        chance: Where choices come from.
        widens: Whether the last turn, if it can, allows a further colour again.

    Returns:
        One to five turns; every question and answer is true of the target, and the plausible members are exactly
        those of the class that agree with everything said so far.
    """
    everything = crowd.of_class()
    target = chance.pick("target", everything)
    allowed: dict[str, frozenset[str]] = {}
    plausible = [tuple(everything)]
    questions, answers = [], []
    turns = max(3, chance.pick("turns", _TURNS)) if widens else chance.pick("turns", _TURNS)
    for turn in range(2, turns + 1):
        step = _widen(crowd, allowed, everything, turn, chance) if widens and turn == turns else None
        if step is None and (chance.unit(f"ask {turn}") < 0.8 or turn == 2):
            step = _learn(crowd, target, plausible[-1], chance, turn)
        if step is None:
            said = _described(crowd, allowed)
            words = SETTINGS[crowd.scene.setting].words
            step = (
                _Step(f"{_CONFIRMS[turn]} {said}?", "Yes, exactly.", {})
                if len(plausible[-1]) == 1
                else _Step(f"Is it {words}?", "Yes, like all of them here.", {})
            )
        allowed = {**allowed, **step.allowed}
        questions.append(step.question)
        answers.append(step.answer)
        plausible.append(
            tuple(n for n in everything if all(_traits(crowd, n)[trait] in values for trait, values in allowed.items()))
        )
    noun = _noun(crowd)
    article = "an" if noun[0] in "ao" else "a"
    opening = chance.pick("opening", _OPENINGS)
    opening = opening.format(f"{article} {noun}" if "for {}" in opening else noun)
    return Conversation(opening, tuple(questions), tuple(answers), tuple(plausible))


def wrong_candidates(conversation: Conversation, chance: Chance) -> tuple[list[list[str]], list[list[str]]]:
    """For each question and for each answer, `WRONG_ANSWERS` texts that were not said there."""
    questions = [
        chance.order(f"question {n}", [text for text in _OTHER_QUESTIONS if text != question])[:WRONG_ANSWERS]
        for n, question in enumerate(conversation.questions)
    ]
    answers = [
        chance.order(f"answer {n}", [text for text in _OTHER_ANSWERS if text != answer])[:WRONG_ANSWERS]
        for n, answer in enumerate(conversation.answers)
    ]
    return questions, answers
