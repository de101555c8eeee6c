# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Sentences of our own, right and subtly wrong, against the checks on a dialogue."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue, Question, from_record, to_record

FRAMES = (
    "Is {} fully visible?",
    "What can be seen behind {}?",
    "Does {} cast a shadow?",
    "Is {} in sharp focus?",
    "Is anything touching {}?",
    "What surrounds {}?",
    "Is {} moving?",
    "Is anyone looking at {}?",
    "Does {} stand out?",
    "Is {} indoors or outdoors?",
)


def dialogue(
    false_class: str,
    true: str,
    false: str,
    label: str = "dog",
    turn: int = 5,
    content: str | None = None,
    modified: str | None = None,
) -> Dialogue:
    """Ten sound questions, of which one may be replaced; `{}` stands for the description."""
    questions = []
    for number, frame in enumerate(FRAMES, start=1):
        asked = content if content is not None and number == turn else frame
        changed = modified if modified is not None and number == turn else asked
        told = false if number >= 4 else true
        questions.append(Question(number, asked.replace("{}", true), changed.replace("{}", told), number >= 4))
    return Dialogue(
        "x-1-animal-identity", "x-1-animal", "x-1", "animal", label, false_class, true, false, tuple(questions)
    )


def hard(item: Dialogue) -> set[str]:
    return {verdict.rule for verdict in check(item) if verdict.hard}


def soft(item: Dialogue) -> set[str]:
    return {verdict.rule for verdict in check(item) if not verdict.hard}


# false class, label, true description, modified description, hard rules, soft rules
DESCRIPTIONS = [
    # right
    ("identity", "dog", "the brown dog on the left", "the brown cat on the left", "", ""),
    ("identity", "person", "the woman in red", "the man in red", "", ""),
    ("identity", "person", "the man in his chair", "the woman in her chair", "", ""),
    ("identity", "person", "the man who holds a cup", "the dog that holds a cup", "", ""),
    ("identity", "car", "the car near the tree", "the boat near the tree", "", ""),
    ("identity", "hot dog", "the hot dog on a plate", "the pizza on a plate", "", ""),
    ("identity", "dog", "the dog on a plate", "the hot dog on a plate", "", ""),
    ("identity", "hot dog", "the hot dog on a plate", "the dog on a plate", "", ""),
    ("identity", "pizza", "the slice of pizza", "the slice of cake", "", ""),
    ("identity", "apple", "an apple on the table", "a banana on the table", "", ""),
    ("identity", "dog", "The brown dog on the left", "The brown cat on the left", "", ""),
    ("identity", "dog", "the brown dog on the left.", "the brown cat on the left.", "", ""),
    ("identity", "dog", "the dogs on the left", "the cats on the left", "", ""),
    ("identity", "dog", "the dog\u2019s owner", "the cat's owner", "", ""),
    ("attribute", "car", "the red car", "the blue car", "", ""),
    ("attribute", "car", "the car with a blue door", "the car with an orange door", "", ""),
    ("attribute", "person", "the person in red", "the person in green", "", ""),
    ("attribute", "person", "the dark-haired woman", "the blond-haired woman", "", ""),
    ("attribute", "dog", "the big dog", "the small dog", "", ""),
    ("attribute", "person", "the man in a striped shirt", "the man in a plaid shirt", "", ""),
    ("location", "dog", "the dog on the left side", "the dog on the right side", "", ""),
    ("location", "dog", "the dog in the upper left area", "the dog in the upper right area", "", ""),
    ("location", "cat", "the cat on the table", "the cat under the table", "", ""),
    ("location", "cat", "the cat on the chair", "the cat on the bench", "", ""),
    ("location", "dog", "the dog in the left-hand corner", "the dog in the right-hand corner", "", ""),
    # no edit, or more than one
    ("identity", "dog", "the brown dog", "the brown dog", "no_edit", ""),
    ("identity", "dog", "the brown dog", "The brown dog", "no_edit", ""),
    ("identity", "person", "the one with his hat", "the one with her hat", "no_edit", ""),
    ("identity", "dog", "the brown dog on the left", "the white cat on the right", "edit_not_contiguous", ""),
    ("identity", "dog", "the dog on the left", "the cat on the right", "edit_not_contiguous", ""),
    ("attribute", "car", "the red car near a blue bus", "the blue car near a red bus", "edit_not_contiguous", ""),
    ("attribute", "person", "the man in his red coat", "the man in her blue coat", "", "edit_long"),
    ("location", "cat", "the small cat on the table", "the big cat under the table", "edit_not_contiguous", ""),
    # inserted and deleted words
    ("location", "dog", "the dog", "the dog under the table", "", "inserted_phrase"),
    ("location", "dog", "the dog", "the dog on the left side of the image", "words_inserted", ""),
    ("attribute", "car", "the red car", "the dark red car", "words_inserted", ""),
    ("identity", "dog", "the dog", "the dog statue", "words_inserted", ""),
    ("attribute", "car", "the red car", "the car", "words_deleted", ""),
    ("location", "dog", "the dog on the left side", "the dog", "words_deleted", ""),
    # longer edits
    ("attribute", "car", "the red car", "the light blue car", "", "edit_long"),
    ("location", "dog", "the dog on the left of it", "the dog at the top of it", "", "edit_long"),
    ("identity", "car", "the red car", "the red garden shed", "", "edit_long identity_unknown"),
    # the class
    ("attribute", "dog", "the brown dog", "the brown cat", "", "class_unfit"),
    ("identity", "dog", "the brown dog", "the white dog", "", "class_unfit identity_unknown"),
    ("location", "car", "the red car", "the blue car", "", "class_unfit"),
    ("attribute", "dog", "the dog on the left", "the dog on the right", "", "class_unfit"),
    ("attribute", "dog", "the gloomy dog", "the cheerful dog", "", "class_unknown"),
    ("identity", "person", "the man near the car", "the man near the bus", "", "class_unfit"),
    ("identity", "person", "the man riding a horse", "the man riding a cow", "", "class_unfit"),
    (
        "location",
        "person",
        "the man with a bag in the left hand",
        "the man with a bag in the right hand",
        "",
        "location_of_part",
    ),
    # swaps that may be true
    ("identity", "car", "the car", "the vehicle", "", "identity_compatible"),
    ("identity", "car", "the car", "the automobile", "", "identity_compatible"),
    ("identity", "person", "the person", "the woman", "", "identity_compatible"),
    ("identity", "person", "the player", "the man", "", "identity_compatible"),
    ("identity", "Woman", "the player", "the woman", "", "identity_compatible"),
    ("identity", "person", "the batter", "the catcher", "", "identity_unknown"),
    ("identity", "dog", "the puppy", "the dog", "", "identity_compatible"),
    ("identity", "van", "the van", "the truck", "", "identity_compatible"),
    ("identity", "dog", "the dog", "the wombat", "", "identity_unknown"),
    ("identity", "Pastry", "the pastry", "the cake", "", "identity_compatible"),
    ("attribute", "car", "the gray car", "the grey car", "", "attribute_compatible"),
    ("attribute", "car", "the silver car", "the gray car", "", "attribute_compatible"),
    # slips
    ("identity", "dog", "the dog", "the cats", "", "number_slip"),
    ("identity", "person", "the women", "the man", "", "number_slip"),
    ("identity", "sheep", "the sheep", "the cows", "", ""),
    ("attribute", "car", "a red car", "a orange car", "", "article_slip"),
    ("identity", "car", "a car", "an unicycle", "", "article_slip"),
    ("attribute", "car", "the red red car", "the blue red car", "", "tautology"),
]


@pytest.mark.parametrize(("false_class", "label", "true", "false", "hard_rules", "soft_rules"), DESCRIPTIONS)
def test_descriptions(false_class: str, label: str, true: str, false: str, hard_rules: str, soft_rules: str) -> None:
    item = dialogue(false_class, true, false, label)
    assert (hard(item), soft(item)) == (set(hard_rules.split()), set(soft_rules.split()))


LEFT, RIGHT = "the brown dog on the left", "the brown dog on the right"
DOG, CAT = "the brown dog on the left", "the brown cat on the left"
# false class, true, false, turn, content, modified, hard rules, soft rules
SENTENCES = [
    # right
    ("identity", DOG, CAT, 5, "{}: is it asleep?", None, "", ""),
    ("identity", DOG, CAT, 5, "Look closely. The brown dog on the left, is it asleep?",
     "Look closely. The brown cat on the left, is it asleep?", "", ""),
    ("identity", DOG, CAT, 5, "The brown dog on the left: asleep or awake?",
     "The brown cat on the left: asleep or awake?", "", ""),
    ("identity", DOG, CAT, 5, "Is the bowl of {}, if any, full?", None, "", ""),
    ("identity", DOG, CAT, 5, "Is {}\u2019s bowl full?", "Is {}'s bowl full?", "", ""),
    ("identity", "the man on the left", "the woman on the left", 5, "Does {} carry his bag?", "Does {} carry her bag?",
     "", ""),
    ("identity", "the man on the left", "the dog on the left", 5, "Is {} the one who leads?",
     "Is {} the one that leads?", "", ""),
    ("attribute", "blue car", "orange car", 5, "Is there a {} in it?", "Is there an {} in it?", "", ""),
    ("identity", DOG, CAT, 5, "Are there other dogs near {}?", None, "", "gives_away"),
    ("identity", DOG, CAT, 2, "Are there other dogs near {}?", None, "", ""),
    # the description, word for word, once
    ("identity", DOG, CAT, 2, "Is the dog on the left asleep?", None, "description_missing", ""),
    ("identity", DOG, CAT, 5, "Is the brown dog at the left asleep?", "Is {} asleep?", "description_missing", ""),
    ("identity", DOG, CAT, 2, "Is {} bigger than {}?", None, "description_repeated", ""),
    ("identity", DOG, CAT, 5, "Is {} asleep?", "Is the brown cat asleep?", "modified_description_missing", ""),
    ("identity", DOG, CAT, 5, "Is {} asleep?", "Is {}, {}, asleep?", "modified_description_repeated", ""),
    ("identity", DOG, CAT, 2, "Is The Brown Dog on the left asleep?", None, "description_case", ""),
    ("identity", DOG, CAT, 2, "Is The brown dog on the left asleep?", None, "description_case", ""),
    ("identity", "the car", "the bus", 2, "Is the car-park full?", None, "description_missing", ""),
    ("identity", "the car", "the bus", 5, "Is {} full?", "Is the bus-stop full?", "modified_description_missing", ""),
    ("identity", DOG, CAT, 5, "Is {} asleep?", "Is the brown dog on the left asleep?",
     "modified_description_missing", ""),
    # true turns
    ("identity", DOG, CAT, 2, "Is {} asleep?", "Is {} awake?", "true_turn_changed", ""),
    ("identity", DOG, CAT, 3, "Is {} asleep?", "Is the brown cat on the left asleep?", "true_turn_changed", ""),
    # the rest of the sentence
    ("identity", DOG, CAT, 5, "Is {} asleep?", "Is {} awake?", "sentence_changed", ""),
    ("identity", DOG, CAT, 5, "Is {} asleep?", "Is {} fast asleep?", "sentence_changed", ""),
    ("identity", DOG, CAT, 5, "Is {} asleep?", "Was {} asleep?", "sentence_changed", ""),
    ("identity", DOG, CAT, 5, "Is {} asleep?", "Is {} asleep", "sentence_changed", ""),
    ("identity", DOG, CAT, 5, "Is a bowl near {}?", "Is an bowl near {}?", "sentence_changed", "article_slip"),
    ("attribute", "the man in red", "the man in blue", 5, "Does {} hold his bag?", "Does {} hold her bag?",
     "pronoun_changed", ""),
    ("location", LEFT, RIGHT, 5, "Is {} the one who sleeps?", "Is {} the one that sleeps?", "pronoun_changed", ""),
    ("identity", "the man on the left", "the woman on the left", 5, "Does {} know himself?", "Does {} know him?",
     "sentence_changed", "gives_away"),
    # what gives the truth away
    ("identity", DOG, CAT, 5, "Is {} a dog or a toy?", None, "", "gives_away tautology"),
    ("identity", DOG, CAT, 5, "Would puppies play with {}?", None, "", "gives_away tautology"),
    ("location", LEFT, RIGHT, 5, "Is anything to the left of {}?", None, "", "gives_away tautology"),
    ("identity", "the man on the left", "the woman on the left", 5, "Does {} carry his bag?", None, "", "gives_away"),
    ("identity", "the man on the left", "the dog on the left", 5, "Is {} hurting himself?", None, "", "gives_away"),
    ("identity", "the man on the left", "the boy on the left", 5, "Does {} carry his bag?", None, "", ""),
    # saying it twice
    ("attribute", "the red car", "the blue car", 2, "Is {} red?", None, "", "tautology"),
    ("attribute", "the red car", "the blue car", 2, "What color is {}?", None, "", "tautology"),
    ("identity", "the car", "the bus", 2, "What color is {}?", None, "", ""),
    ("identity", "the orange", "the apple", 2, "What color is {}?", None, "", ""),
    ("location", LEFT, RIGHT, 2, "Where is {}?", None, "", "tautology"),
    ("location", LEFT, RIGHT, 2, "Where is {} looking?", None, "", ""),
    ("location", LEFT, RIGHT, 2, "Is {} left of the tree?", None, "", "tautology"),
    ("identity", DOG, CAT, 2, "Is the the house behind {}?", None, "", "tautology"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("false_class", "true", "false", "turn", "content", "modified", "hard_rules", "soft_rules"), SENTENCES
)
def test_sentences(
    false_class: str,
    true: str,
    false: str,
    turn: int,
    content: str,
    modified: str | None,
    hard_rules: str,
    soft_rules: str,
) -> None:
    if content.startswith("{}"):
        content, modified = (
            text[0].upper() + text[1:] for text in (content.replace("{}", true), content.replace("{}", false))
        )
    item = dialogue(false_class, true, false, true.split()[-1], turn, content, modified)
    if "orange" in true:
        item = replace(item, target_label="orange")
    assert (hard(item), soft(item)) == (set(hard_rules.split()), set(soft_rules.split()))
    named = [verdict.detail for verdict in check(item)]
    assert all(f"turn {turn}" in detail for detail in named)


SOUND = dialogue("identity", DOG, CAT)


def renumbered(*ids: int) -> Dialogue:
    return replace(SOUND, questions=tuple(replace(q, id=i) for q, i in zip(SOUND.questions, ids, strict=False)))


@pytest.mark.parametrize(
    ("item", "rules"),
    [
        (replace(SOUND, questions=SOUND.questions[:9]), {"question_count"}),
        (replace(SOUND, questions=()), {"question_count"}),
        (renumbered(1, 2, 3, 5, 4, 6, 7, 8, 9, 10), {"question_ids"}),
        (renumbered(1, 2, 3, 4, 4, 6, 7, 8, 9, 10), {"question_ids"}),
        (replace(SOUND, false_class="colour"), {"false_class_unknown"}),
        (
            replace(SOUND, questions=tuple(replace(q, false_premise=True) for q in SOUND.questions)),
            {"false_premise_flag"},
        ),
    ],
)
def test_frame(item: Dialogue, rules: set[str]) -> None:
    assert hard(item) == rules


def test_a_dialogue_without_descriptions() -> None:
    assert hard(replace(SOUND, target_description=" ? ", modified_target_description="")) == {
        "description_empty",
        "modified_description_empty",
    }


def test_verdicts_carry_record_kind_and_measure() -> None:
    verdicts = check(replace(SOUND, questions=SOUND.questions[:9]))
    assert [(v.record_id, v.kind, v.measured, v.limit) for v in verdicts] == [(SOUND.dialogue_id, "dialogue", 9, 10)]


def test_record_and_back() -> None:
    record = to_record(SOUND)
    assert from_record(record, category="animal", target_label="dog") == SOUND
    assert "category" not in record


@given(
    turn=st.integers(4, 10),
    word=st.sampled_from(["very", "not", "cat", "left", "the"]),
    place=st.integers(0, 20),
    data=st.data(),
)
def test_any_word_put_beside_the_description_is_found(turn: int, word: str, place: int, data: st.DataObject) -> None:
    question = SOUND.questions[turn - 1]
    before, _, after = question.modified.partition(CAT)
    words = (before.split(), after.split())
    side = data.draw(st.sampled_from([0, 1]))
    words[side].insert(min(place, len(words[side])), word)
    changed = replace(question, modified=" ".join([*words[0], CAT, *words[1]]))
    item = replace(SOUND, questions=tuple(changed if q.id == turn else q for q in SOUND.questions))
    assert "sentence_changed" in hard(item)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=12), st.text(max_size=20), st.text(max_size=20))
def test_any_text_gets_verdicts_and_no_error(texts: list[str], true: str, false: str) -> None:
    questions = tuple(Question(n, text, text, n >= 4) for n, text in enumerate(texts, start=1))
    for false_class in ("identity", "attribute", "location"):
        item = replace(
            SOUND,
            false_class=false_class,
            target_description=true,
            modified_target_description=false,
            questions=questions,
        )
        assert all(verdict.rule and verdict.detail for verdict in check(item))
