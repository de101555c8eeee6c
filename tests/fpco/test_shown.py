# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a person is shown of an FPCO item, and what the answers mean."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.errors import DataError
from groundset.fpco.shown import REASONS, box_px, corrected, dialogue_item, edited, judge, screening_item
from groundset.review.decisions import Decision, collect
from groundset.review.queue import seen_sha256
from groundset.verdicts import Verdict, to_table

Row = dict[str, Any]
HASH = "0" * 64
QUESTIONS = [{"id": n, "content": f"c{n}", "modified": f"m{n}", "false_premise": n > 3} for n in range(1, 11)]
ITEM: Row = {
    "item_id": "coco-1-animal",
    "image_id": "coco-1",
    "category": "animal",
    "complexity": "separated",
    "target_object_id": "a2",
    "target_label": "dog",
    "target_bbox_xyxy": [5.0, 5.0, 6.0, 6.0],
    "object_ids": ["a1", "a2"],
    "object_labels": ["cat", "dog"],
    "area_ratio": 1.5,
}
DRAFT: Row = {
    "item_id": "coco-1-animal",
    "dialogue_id": "coco-1-animal-identity",
    "image_id": "coco-1",
    "false_class": "identity",
    "target_description": "the dog",
    "modified_target_description": "the cat",
    "questions": QUESTIONS,
}


@settings(max_examples=100)
@given(st.lists(st.integers(0, 8), min_size=4, max_size=4), st.integers(1, 3000), st.integers(1, 3000))
def test_a_box_of_a_unit_frame_is_scaled_and_one_of_pixels_stays(eighths: list[int], width: int, height: int) -> None:
    share = [part / 8 for part in eighths]
    assert box_px(share, (1.0, 1.0), (width, height)) == (
        share[0] * width,
        share[1] * height,
        share[2] * width,
        share[3] * height,
    )
    pixels = [share[0] * width, share[1] * height, share[2] * width, share[3] * height]
    assert box_px(pixels, (float(width), float(height)), (width, height)) == tuple(pixels)


def test_screening_shows_image_target_and_all_boxes_but_no_limit_of_a_rule() -> None:
    boxes = {"a1": (0.0, 0.0, 1.0, 1.0), "a2": (5.0, 5.0, 6.0, 6.0), "a9": (7.0, 7.0, 8.0, 8.0)}
    found = screening_item(ITEM, boxes, HASH)
    assert (found["kind"], found["item_id"], found["turn"]) == ("screening", "coco-1-animal", None)
    assert found["shown"] == {
        "image_id": "coco-1",
        "image_sha256": HASH,
        "category": "animal",
        "complexity": "separated",
        "target_object_id": "a2",
        "target_label": "dog",
        "target_bbox_xyxy_px": [5.0, 5.0, 6.0, 6.0],
        "objects": [
            {"object_id": "a1", "label": "cat", "bbox_xyxy_px": [0.0, 0.0, 1.0, 1.0]},
            {"object_id": "a2", "label": "dog", "bbox_xyxy_px": [5.0, 5.0, 6.0, 6.0]},
        ],
    }
    assert found["seen_sha256"] == seen_sha256(found["shown"])
    # another limit gives another measure, and decisions stay good
    assert screening_item({**ITEM, "area_ratio": 2.0}, boxes, HASH)["seen_sha256"] == found["seen_sha256"]


@pytest.mark.parametrize(
    "change", [{"target_object_id": "a1"}, {"target_label": "cat"}, {"object_ids": ["a2"], "object_labels": ["dog"]}]
)
def test_screening_is_asked_again_when_what_is_shown_changes(change: Row) -> None:
    boxes = {"a1": (0.0, 0.0, 1.0, 1.0), "a2": (5.0, 5.0, 6.0, 6.0)}
    before = screening_item(ITEM, boxes, HASH)["seen_sha256"]
    assert screening_item({**ITEM, **change}, boxes, HASH)["seen_sha256"] != before
    assert screening_item(ITEM, boxes, "1" * 64)["seen_sha256"] != before
    assert screening_item(ITEM, {**boxes, "a1": (0.0, 0.0, 1.0, 2.0)}, HASH)["seen_sha256"] != before


def test_a_dialogue_is_shown_with_its_target_and_both_descriptions() -> None:
    found = dialogue_item(DRAFT, "dog", (1.0, 2.0, 3.0, 4.0), HASH)
    assert (found["kind"], found["item_id"], found["turn"]) == ("dialogue", "coco-1-animal", None)
    assert found["shown"] == {
        "image_id": "coco-1",
        "image_sha256": HASH,
        "false_class": "identity",
        "target_label": "dog",
        "target_bbox_xyxy_px": [1.0, 2.0, 3.0, 4.0],
        "target_description": "the dog",
        "modified_target_description": "the cat",
        "questions": QUESTIONS,
    }


def question(number: int, text: str = "the dog") -> Row:
    draft = {**DRAFT, "item_id": f"coco-{number}-animal", "target_description": text}
    return dialogue_item(draft, "dog", (1.0, 2.0, 3.0, 4.0), HASH)


def answer(number: int, verdict: str, reason: str | None = None, edit: Row | None = None, seq: int = 1) -> Decision:
    value = {"verdict": verdict, "reason": reason, "edited": edit}
    seen = question(number)["seen_sha256"]
    return Decision(f"d{number}-{seq}", seq, "dialogue", f"coco-{number}-animal", None, "ann-1", seen, value, "main")


def test_accepted_rejected_and_waiting_items_are_told_apart() -> None:
    edit = {"target_description": "a", "modified_target_description": "b", "questions": QUESTIONS}
    decisions = collect(
        [answer(1, "accept"), answer(2, "edit", None, edit), answer(3, "reject", "Too easy!"), answer(4, "reject")]
    )
    found = judge([question(number) for number in (5, 4, 3, 2, 1)], decisions, "review")
    assert {item: decision.decision_id for item, decision in found.accepted.items()} == {
        "coco-1-animal": "d1-1",
        "coco-2-animal": "d2-1",
    }
    assert [(v.record_id, v.kind, v.rule, v.detail, v.hard) for v in found.rejected] == [
        ("coco-3-animal", "item", "review_rejected", "Too easy! (decision d3-1 of ann-1)", True),
        ("coco-4-animal", "item", "review_rejected", "rejected (decision d4-1 of ann-1)", True),
    ]
    assert [entry["item_id"] for entry in found.waiting] == ["coco-5-animal"]
    assert schema.table_problems("verdict", to_table(found.rejected)) == []


def test_a_reason_that_can_name_a_rule_does() -> None:
    (verdict,) = judge([question(1)], collect([answer(1, "reject", "wrong_class")]), "review").rejected
    assert verdict.rule == "review_wrong_class"


def test_the_last_decision_counts_and_one_on_other_content_does_not() -> None:
    both = collect([answer(1, "reject", "x"), answer(1, "accept", seq=2)])
    assert set(judge([question(1)], both, "review").accepted) == {"coco-1-animal"}
    changed = judge([question(1, "the brown dog")], both, "review")
    assert (changed.accepted, changed.rejected) == ({}, ())
    assert [entry["item_id"] for entry in changed.waiting] == ["coco-1-animal"]


def test_an_edit_replaces_the_texts_and_nothing_else() -> None:
    edit = {"target_description": "a", "modified_target_description": "b", "questions": QUESTIONS[::-1]}
    assert edited(DRAFT, answer(1, "edit", None, edit)) == {**DRAFT, **edit}
    assert edited(DRAFT, answer(1, "accept")) == DRAFT
    assert DRAFT["target_description"] == "the dog"


def screened(value: Row) -> Decision:
    seen = screening_item(ITEM, {"a1": (0.0, 0.0, 1.0, 1.0), "a2": (5.0, 5.0, 6.0, 6.0)}, HASH)["seen_sha256"]
    return Decision("s1", 1, "screening", "coco-1-animal", None, "ann-1", seen, value, "main")


def correct(target: str, complexity: str) -> Row:
    right = {"target_object_id": target, "complexity": complexity}
    return {"verdict": "correct", "reason": None, "corrected": right}


def test_a_person_may_choose_another_target() -> None:
    item = screening_item(ITEM, {"a1": (0.0, 0.0, 1.0, 1.0), "a2": (5.0, 5.0, 6.0, 6.0)}, HASH)
    decision = screened(correct("a1", "separated"))
    assert judge([item], collect([decision]), "screening").accepted == {"coco-1-animal": decision}
    assert corrected(ITEM, decision) == {**ITEM, "target_object_id": "a1", "target_label": "cat"}
    assert corrected(ITEM, screened(correct("a2", "separated"))) == ITEM
    assert corrected(ITEM, screened({"verdict": "accept", "reason": None})) == ITEM


def test_an_image_of_another_complexity_is_rejected_and_counted() -> None:
    found = corrected(ITEM, screened(correct("a1", "overlapping")))
    told = "a person says overlapping, not separated (decision s1 of ann-1)"
    assert found == Verdict("coco-1-animal", "item", "screening_wrong_complexity", told)
    assert schema.table_problems("verdict", to_table([found])) == []


def test_a_target_that_was_not_shown_is_refused() -> None:
    with pytest.raises(DataError, match="a9 is none of the objects that were shown: a1, a2"):
        corrected(ITEM, screened(correct("a9", "separated")))


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_a_rule(reason: str) -> None:
    item = screening_item(ITEM, {"a1": (0.0, 0.0, 1.0, 1.0), "a2": (5.0, 5.0, 6.0, 6.0)}, HASH)
    found = judge([item], collect([screened({"verdict": "exclude", "reason": reason})]), "screening")
    assert [verdict.rule for verdict in found.rejected] == [f"screening_{reason}"]


def test_the_other_benchmarks_reasons_are_refused() -> None:
    item = screening_item(ITEM, {"a1": (0.0, 0.0, 1.0, 1.0), "a2": (5.0, 5.0, 6.0, 6.0)}, HASH)
    with pytest.raises(DataError, match="no_ambiguity is not asked about coco-1-animal"):
        judge([item], collect([screened({"verdict": "exclude", "reason": "no_ambiguity"})]), "screening")
