# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""InViG's lines as its readers expect them, in enough of every kind, and dialogues that tell the truth."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from groundset import geometry
from groundset.miniworld.invig_files import write_invig

World = tuple[Path, dict[str, list[dict[str, Any]]], dict[str, Any]]


@pytest.fixture(scope="module", params=["seed", "miniworld-1"])
def invig(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> World:
    folder = tmp_path_factory.mktemp("invig") / "invig"
    truth = write_invig(folder, request.param)
    lines = {
        word: (folder / "invig21k_anns" / f"invig21k_{split}_anns.jsonl").read_text(encoding="utf-8").splitlines()
        for split, word in (("valid", "validation"), ("test", "test"))
    }
    return folder, {word: [json.loads(line) for line in split] for word, split in lines.items()}, truth


def _every(invig: World) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    _, records, truth = invig
    return [(record, truth[word][str(record["id"])]) for word, split in records.items() for record in split]


def _ref_boxes(record: dict[str, Any]) -> np.ndarray:
    return np.array(record["ann"]["ref_bboxes"])


def test_keys_and_files(invig: World) -> None:
    folder = invig[0]
    for record, _ in _every(invig):
        assert set(record) == {"filename", "width", "height", "ann", "id", "label"}
        texts = {"ref_exp", "questions", "answers", "question_candidates", "answer_candidates"}
        assert set(record["ann"]) == {"bboxes", "ref_bboxes"} | texts
        assert re.fullmatch(r"[0-9a-f]{16}_[A-Z][a-z]*( [a-z]+)*_[1-5]\.jpg", record["filename"])
        with Image.open(folder / "invig21k_imgs" / record["filename"]) as picture:
            assert picture.size == (record["width"], record["height"])
        assert all(0 <= low < high <= 480 for x0, _, x1, _ in record["ann"]["bboxes"] for low, high in [(x0, x1)])
        assert all(0 <= low < high <= 360 for _, y0, _, y1 in record["ann"]["bboxes"] for low, high in [(y0, y1)])
        assert all(box in record["ann"]["bboxes"] for box in record["ann"]["ref_bboxes"])


def test_turns_pair_up_and_have_thirty_wrong_texts(invig: World) -> None:
    lengths = Counter()
    for record, _ in _every(invig):
        ann = record["ann"]
        assert len(ann["questions"]) == len(ann["answers"]) <= 4
        lengths[1 + len(ann["questions"])] += 1
        for said, wrong in (("questions", "question_candidates"), ("answers", "answer_candidates")):
            assert [len(set(texts)) for texts in ann[wrong]] == [30] * len(ann[said])
            assert not any(right in texts for right, texts in zip(ann[said], ann[wrong], strict=True))
    assert set(lengths) == {1, 2, 3, 4, 5}
    assert lengths.most_common(1)[0][0] == 3


def test_every_bin_has_eligible_dialogues(invig: World) -> None:
    eligible = Counter()
    for record in invig[1]["validation"]:
        boxes = _ref_boxes(record)
        unique = len(set(geometry.merge_near_identical(boxes, 0.9)))
        if 2 <= unique <= 15 and geometry.area_ratio(boxes) <= 20:
            eligible[min(unique, 7)] += 1
    assert {count: eligible[count] >= 6 for count in range(2, 8)} == dict.fromkeys(range(2, 8), True)


def test_planned_faults(invig: World) -> None:
    boxes = [_ref_boxes(record) for record in invig[1]["validation"]]
    assert sum(len(each) == 1 for each in boxes) == 3
    assert sum(len(each) > 15 for each in boxes) == 1
    assert sum(geometry.area_ratio(each) > 20 for each in boxes) == 1
    assert sum(len(set(geometry.merge_near_identical(each, 0.9))) < len(each) for each in boxes) == 1


def test_first_turn_holds_all_of_the_class_and_answers_narrow_it(invig: World) -> None:
    ends, widened = Counter(), 0
    for record, known in _every(invig):
        turns = known["turns"]
        assert len(turns) == 1 + len(record["ann"]["questions"])
        first = [each["bbox_xyxy_px"] for each in turns[0]["candidates"]]
        merged = geometry.merge_near_identical(_ref_boxes(record), 0.9)
        assert first == [record["ann"]["ref_bboxes"][n] for n in sorted(set(merged))]
        sets = [{each["object_id"] for each in turn["candidates"]} for turn in turns]
        assert all(each and each <= sets[0] for each in sets)
        ends["several" if len(sets[-1]) > 1 else "one"] += 1
        widened += any(later - earlier for earlier, later in itertools.pairwise(sets))
        assert all(
            record["ann"]["bboxes"][int(each["object_id"][1:])] == each["bbox_xyxy_px"] for each in known["objects"]
        )
    assert ends["several"] >= 10
    assert ends["one"] >= 20
    assert 1 <= widened <= 8


def test_answers_are_true_of_what_stays(invig: World) -> None:
    heard = Counter()
    for record, known in _every(invig):
        things = {each["object_id"]: each for each in known["objects"]}
        pairs = zip(record["ann"]["questions"], record["ann"]["answers"], known["turns"][1:], strict=True)
        for question, answer, turn in pairs:
            staying = [things[each["object_id"]] for each in turn["candidates"]]
            place = re.search(r"(?:on|in) the (left|middle|right)\.", answer.lower())
            colour = re.fullmatch(r"(?:It is |The )?([a-z]+?)(?: one)?\.", answer, re.IGNORECASE)
            refused = re.fullmatch(r"(?:Is it the|Does it wear) ([a-z]+)(?: one)?\?", question)
            if place:
                heard["place"] += 1
                assert {each["place"] for each in staying} == {place[1]}
            elif answer == "No." and refused:
                heard["no"] += 1
                assert refused[1] not in {each["colour"] for each in staying}
            elif colour and ("colour" in question or "one?" in question):
                heard["colour"] += 1
                assert {each["colour"] for each in staying} == {colour[1].lower()}
            elif answer.startswith("It is a "):
                heard["kind"] += 1
                assert {each["kind"] for each in staying} == {answer[8:-1]}
    assert heard["place"] >= 10
    assert heard["colour"] >= 10
