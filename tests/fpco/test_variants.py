# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Which dialogues have variants, and what is held against one; the stages are tested with whole builds."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco.dialogue import Dialogue, Question
from groundset.fpco.variants import check_variant, chosen, of_variant, read, same_words, to_row, variant_id

TRUE = "the brown dog on the sofa"


def dialogue(false: str, name: str = "coco-7-animal-attribute", true: str = TRUE) -> Dialogue:
    asked = ("awake", "sitting", "wet", "alone", "barking", "tired", "clean", "eating", "moving", "visible")
    return Dialogue(
        dialogue_id=name,
        item_id=name,
        image_id="coco-7",
        category="animal",
        target_label="dog",
        false_class="attribute",
        target_description=true,
        modified_target_description=false,
        questions=tuple(
            Question(number, f"Is {true} {what}?", f"Is {false if number > 3 else true} {what}?", number > 3)
            for number, what in enumerate(asked, 1)
        ),
    )


def rows(count: int) -> list[dict[str, Any]]:
    """So many dialogues of each of three strata of each class."""
    return [
        {
            "dialogue_id": f"coco-{cell}{number}-animal-{kind}",
            "false_class": kind,
            "stratum": f"{('single', 'separated', 'overlapping')[cell - 1]}-animal-{kind}",
        }
        for kind in ("identity", "attribute", "location")
        for cell in (1, 2, 3)
        for number in range(count)
    ]


def test_so_many_of_each_class_are_chosen_and_spread_over_the_strata() -> None:
    told = rows(5)
    found = [row for row in told if row["dialogue_id"] in chosen(told, "seed", 4)]
    assert Counter(row["false_class"] for row in found) == {"identity": 4, "attribute": 4, "location": 4}
    assert sorted(Counter(row["stratum"] for row in found).values()) == [1] * 6 + [2] * 3
    assert chosen(told, "seed", 0) == []
    assert len(chosen(told, "seed", 100)) == len(told)


@given(st.integers(0, 20), st.integers(0, 2**32))
def test_the_choice_depends_on_no_order_and_grows_with_what_is_wanted(count: int, dice: int) -> None:
    told = rows(6)
    shuffled = random.Random(dice).sample(told, len(told))
    assert chosen(shuffled, "seed", count) == chosen(told, "seed", count)
    assert set(chosen(told, "seed", count)) <= set(chosen(told, "seed", count + 1))


def test_another_row_of_a_stratum_moves_no_other_stratum() -> None:
    told = rows(3)
    more = [*told, {**told[0], "dialogue_id": "coco-999-animal-identity"}]
    before, after = (set(chosen(each, "seed", 3)) for each in (told, more))
    assert {name for name in before ^ after if not name.endswith("identity")} == set()
    assert len(before - after) <= 1


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("the red car", "the blue car", False),
        ("The red car.", "the red car", True),
        ("the light-blue car", "the light blue car", True),
        ("a apple", "an apple", True),
        ("the dog\u2019s bed", "the dog's bed", True),
        ("the red car", "the red cars", False),
        ("the red car", "the car", False),
    ],
)
def test_two_descriptions_are_one_whatever_their_typography(first: str, second: str, same: bool) -> None:
    assert same_words(first, second) is same
    assert same_words(second, first) is same


def variant(false: str) -> Dialogue:
    return dialogue(false, "coco-7-animal-attribute-B")


@pytest.mark.parametrize(
    ("false", "rules"),
    [
        ("the black dog on the sofa", set()),
        ("the white dog on the sofa", {"variant_repeats"}),
        ("The gray dog on the sofa", {"variant_repeats"}),
        (TRUE, {"no_edit"}),
        ("the brown dog on the old sofa", {"words_inserted"}),
    ],
)
def test_a_variant_is_held_to_every_check_and_has_other_words(false: str, rules: set[str]) -> None:
    main = dialogue("the white dog on the sofa")
    found = check_variant(variant(false), main, ["the gray dog on the sofa"])
    assert {row.record_id for row in found} <= {"coco-7-animal-attribute-B"}
    hard = {row.rule for row in found if row.hard}
    assert hard == rules
    assert {row.kind for row in of_variant(found)} <= {"variant"}
    assert [row.rule for row in of_variant(found)] == [row.rule for row in found]


def test_a_variant_keeps_the_truth_of_its_dialogue() -> None:
    main = dialogue("the white dog on the sofa")
    other = dialogue("the black dog on a sofa", "coco-7-animal-attribute-A", "the brown dog on a sofa")
    assert "variant_truth_changed" in {row.rule for row in check_variant(other, main, ())}
    asked = replace(main.questions[1], content=f"Is {TRUE} old?", modified=f"Is {TRUE} old?")
    changed = variant("the black dog on the sofa")
    changed = replace(changed, questions=(changed.questions[0], asked, *changed.questions[2:]))
    assert [row.rule for row in check_variant(changed, main, ()) if row.hard] == ["variant_truth_changed"]


def test_a_variant_goes_to_a_row_and_back() -> None:
    main, other = dialogue("the white dog on the sofa"), variant("the black dog on the sofa")
    shared = {
        "dialogue_id": main.dialogue_id,
        "image_id": "coco-7",
        "complexity": "single",
        "category": "animal",
        "false_class": "attribute",
        "stratum": "single-animal-attribute",
        "target_object_id": "a7",
        "target_label": "dog",
        "target_bbox_xyxy_px": [0.0, 0.0, 9.0, 9.0],
        "target_description": TRUE,
    }
    row = to_row(other, "B", shared)
    assert row["variant_id"] == variant_id(row["dialogue_id"], row["set"]) == other.dialogue_id
    assert read(row) == replace(other, item_id=other.dialogue_id)
