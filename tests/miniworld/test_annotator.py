# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated annotators: valid decisions, true ones mostly, and the same whatever else is in the queue."""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.errors import UsageError
from groundset.miniworld.annotator import answer
from groundset.miniworld.scene import complexity_of
from groundset.miniworld.write import write_world
from groundset.paths import schema_dir

SHA = "0" * 64
Item = dict[str, Any]


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("annotator") / "world"
    write_world(folder, "seed", 1)
    return json.loads((folder / "truth.json").read_text(encoding="utf-8"))


def _item(kind: str, item_id: str, turn: int | None, shown: Item) -> Item:
    return {"kind": kind, "item_id": item_id, "turn": turn, "seen_sha256": SHA, "shown": shown}


def _screening(truth: dict[str, Any]) -> list[Item]:
    items = []
    for number, known in truth["coco"].items():
        for category, complexity in known["complexity"].items():
            things = [each for each in known["objects"] if each["category"] == category]
            if complexity is None:
                continue
            shown = {
                "image_id": f"coco-{number}",
                "image_sha256": SHA,
                "category": category,
                "complexity": complexity,
                "target_object_id": f"a{things[0]['annotation_id']}",
                "target_label": things[0]["label"],
                "target_bbox_xyxy_px": things[0]["bbox_xyxy_px"],
                "objects": [
                    {
                        "object_id": f"a{each['annotation_id']}",
                        "label": each["label"],
                        "bbox_xyxy_px": each["bbox_xyxy_px"],
                    }
                    for each in things
                ],
            }
            items.append(_item("screening", f"coco-{number}-{category}", None, shown))
    return items


def _candvg_screening(truth: dict[str, Any]) -> list[Item]:
    return [
        _item(
            "screening",
            f"invig-{split}-{number}",
            None,
            {
                "image_id": f"invig-{number}",
                "image_sha256": SHA,
                "turns": [],
                "initial_candidates": known["turns"][0]["candidates"],
            },
        )
        for split, records in truth["invig"].items()
        for number, known in records.items()
    ]


def _pointing(truth: dict[str, Any]) -> list[Item]:
    return [
        _item("points", f"invig-{split}-{number}", turn["turn"], {"image_id": "", "image_sha256": SHA, "turns": []})
        for split, records in truth["invig"].items()
        for number, known in records.items()
        for turn in known["turns"]
    ]


def _texts(known: Item, number: str, thing: Item, said: str, changed: str, false_class: str = "location") -> Item:
    shown = {
        "image_id": f"coco-{number}",
        "image_sha256": SHA,
        "false_class": false_class,
        "target_label": thing["label"],
        "target_bbox_xyxy_px": thing["bbox_xyxy_px"],
        "target_description": said,
        "modified_target_description": changed,
        "questions": [],
    }
    return _item("dialogue", f"coco-{number}-{thing['category']}", None, shown)


def _dialogues(truth: dict[str, Any]) -> list[Item]:
    return [
        _texts(known, number, known["objects"][0], f"the {colour} {known['objects'][0]['label']}", "the thing")
        for number, known in truth["coco"].items()
        if known["objects"] and (colour := known["objects"][0]["colour"])
    ]


def _whole_queue(truth: dict[str, Any]) -> list[Item]:
    return [*_screening(truth), *_candvg_screening(truth), *_pointing(truth), *_dialogues(truth)]


def test_decisions_are_valid_and_their_ids_unique(truth: dict[str, Any]) -> None:
    schema = json.loads((schema_dir() / "decision.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    decisions = answer(_whole_queue(truth), truth, "people")
    assert [error.message for decision in decisions for error in validator.iter_errors(decision)] == []
    assert len({decision["decision_id"] for decision in decisions}) == len(decisions)
    assert {decision["annotator"] for decision in decisions} == {"simulated-1", "simulated-2"}


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_decision_does_not_depend_on_the_rest_of_the_queue(truth: dict[str, Any], data: st.DataObject) -> None:
    queue = _whole_queue(truth)
    whole = {decision["decision_id"]: decision for decision in answer(queue, truth, "people")}
    part = data.draw(st.permutations(queue))[: data.draw(st.integers(1, 20))]
    assert all(decision == whole[decision["decision_id"]] for decision in answer(part, truth, "people"))


def test_most_are_accepted_and_a_few_excluded_for_a_fitting_reason(truth: dict[str, Any]) -> None:
    counts: Counter[str | None] = Counter()
    for n in range(20):
        decisions = answer(_screening(truth), truth, f"people {n}")
        assert all((each["value"]["verdict"] != "exclude") == (each["value"]["reason"] is None) for each in decisions)
        counts.update(each["value"]["reason"] for each in decisions)
    assert set(counts) == {None, "unsuitable"}
    assert 0.01 < counts["unsuitable"] / counts.total() < 0.08


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"complexity": "separated"}, "wrong_complexity"),
        ({"target_label": "teapot"}, "wrong_target"),
        ({"target_bbox_xyxy_px": [0.0, 0.0, 9.0, 9.0]}, "wrong_target"),
        ({"target_object_id": "a1"}, "annotation_error"),
    ],
)
def test_screening_sees_what_disagrees(truth: dict[str, Any], change: Item, reason: str) -> None:
    item = copy.deepcopy(_screening(truth)[0])
    assert item["shown"]["complexity"] == "single"
    item["shown"].update(change)
    assert answer([item], truth, "people")[0]["value"] == {"verdict": "exclude", "reason": reason}


def test_candvg_screening_sees_lone_and_strange_candidates(truth: dict[str, Any]) -> None:
    items = _candvg_screening(truth)
    reasons = Counter(each["value"]["reason"] for each in answer(items, truth, "people"))
    assert reasons["no_ambiguity"] == 3
    assert reasons[None] >= 0.85 * len(items)
    strange = copy.deepcopy(items[0])
    strange["shown"]["initial_candidates"][0]["bbox_xyxy_px"] = [1.0, 1.0, 5.0, 5.0]
    assert answer([strange], truth, "people")[0]["value"]["reason"] == "invalid_boxes"


def test_publishers_word_for_the_split_is_known_too(truth: dict[str, Any]) -> None:
    item = _item("points", "invig-valid-3", 1, {})
    assert answer([item], truth, "people")[0]["value"]["points_px"]


def _resolved(points: list[list[float]], objects: list[Item]) -> list[str]:
    found = []
    for point in points:
        nearest = min(objects, key=lambda each: math.dist(point, each["centre_px"]))
        x_min, y_min, x_max, y_max = nearest["bbox_xyxy_px"]
        inside = x_min <= point[0] <= x_max and y_min <= point[1] <= y_max
        found.append(nearest["object_id"] if inside else "miss")
    return found


def test_points_mean_what_is_plausible_save_a_few_slips(truth: dict[str, Any]) -> None:
    outcomes: Counter[str] = Counter()
    for n in range(5):
        queue = _pointing(truth)
        for item, decision in zip(queue, answer(queue, truth, f"people {n}"), strict=True):
            _, split, number = item["item_id"].split("-")
            known = truth["invig"][split][number]
            # The last box of the dialogue with an object boxed twice is the same thing again.
            centres = [tuple(each["centre_px"]) for each in known["objects"]]
            objects = [
                each
                for k, each in enumerate(known["objects"])
                if all(math.dist(centres[k], earlier) > 2 for earlier in centres[:k])
            ]
            wanted = [each["object_id"] for each in known["turns"][item["turn"] - 1]["candidates"]]
            found = _resolved(decision["value"]["points_px"], objects)
            outcome = "right" if found == wanted else "miss" if "miss" in found else "missed object"
            assert outcome != "missed object" or len(found) == len(wanted) - 1
            outcomes[outcome] += 1
    assert outcomes["miss"] > 0
    assert outcomes["missed object"] > 0
    assert 0.94 < outcomes["right"] / outcomes.total() < 0.995


def test_points_carry_over_from_turn_to_turn(truth: dict[str, Any]) -> None:
    queue = _pointing(truth)
    seen: dict[str, set[tuple[float, ...]]] = {}
    fresh = total = 0
    for item, decision in zip(queue, answer(queue, truth, "people"), strict=True):
        points = {tuple(point) for point in decision["value"]["points_px"]}
        if item["turn"] > 1:
            fresh += len(points - seen[item["item_id"]])
            total += len(points)
        seen.setdefault(item["item_id"], set()).update(points)
    assert fresh < 0.05 * total


@pytest.mark.parametrize(
    ("said", "changed", "false_class", "reason"),
    [
        ("the person", "the dog", "identity", None),
        ("the {colour} {kind}", "the thing", "identity", None),
        ("the person in {colour} on the {place}", "the person by the sea", "location", None),
        ("the person in turquoise", "the person", "attribute", None),
        ("the {other} person", "the person", "attribute", "wrong_colour"),
        ("the dog", "the cat", "identity", "wrong_thing"),
        ("the person", "the {colour} person", "attribute", "still_true"),
    ],
)
def test_dialogue_is_held_against_the_picture(
    truth: dict[str, Any], said: str, changed: str, false_class: str, reason: str | None
) -> None:
    known = truth["coco"]["100000"]
    (thing,) = (each for each in known["objects"] if each["category"] == "person")
    words = {**thing, "other": "green"}
    item = _texts(known, "100000", thing, said.format(**words), changed.format(**words), false_class)
    # Some annotators dislike a dialogue for no reason in the picture; most do not.
    reasons = [answer([item], truth, f"people {n}")[0]["value"]["reason"] for n in range(15)]
    assert Counter(reasons).most_common(1)[0][0] == reason


def test_a_hot_dog_is_no_dog(truth: dict[str, Any]) -> None:
    thing = {
        "annotation_id": 1,
        "label": "dog",
        "kind": "dog",
        "category": "animal",
        "colour": "brown",
        "place": "left",
        "bbox_xyxy_px": [0.0, 0.0, 9.0, 9.0],
    }
    world = {"coco": {"1": {"objects": [thing]}}, "invig": {}}
    item = _texts({}, "1", thing, "the hot dog", "the cake")
    assert answer([item], world, "people")[0]["value"]["reason"] == "wrong_thing"


def test_place_and_box_are_looked_at(truth: dict[str, Any]) -> None:
    number, known = next((n, k) for n, k in truth["coco"].items() for each in k["objects"] if each["place"] == "left")
    thing = next(each for each in known["objects"] if each["place"] == "left")
    item = _texts(known, number, thing, f"the {thing['label']} on the right", "the thing")
    assert answer([item], truth, "people")[0]["value"]["reason"] == "wrong_place"
    item["shown"]["target_bbox_xyxy_px"] = [0.0, 0.0, 1.0, 1.0]
    assert answer([item], truth, "people")[0]["value"]["reason"] == "wrong_target"


def test_real_photographs_are_accepted_but_not_pointed_at(truth: dict[str, Any]) -> None:
    screening = _screening(truth)[0]
    screening["shown"]["image_id"] = "coco-192"
    dialogue = _dialogues(truth)[0]
    dialogue["shown"]["image_id"] = "openimages-00007902a7b96e8c"
    for known in (truth, {}):
        assert [each["value"]["verdict"] for each in answer([screening, dialogue], known, "people")] == ["accept"] * 2
    with pytest.raises(UsageError, match="invig-train-1"):
        answer([_item("points", "invig-train-1", 1, {})], truth, "people")
    with pytest.raises(UsageError, match="turn 9"):
        answer([_item("points", "invig-test-1", 9, {})], truth, "people")


def test_unknown_kind_is_refused(truth: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="'poll' is not one of"):
        answer([_item("poll", "coco-1-food", None, {})], truth, "people")


def test_complexity_in_the_truth_follows_from_its_boxes(truth: dict[str, Any]) -> None:
    for known in truth["coco"].values():
        for category, complexity in known["complexity"].items():
            boxes = [each["bbox_xyxy_px"] for each in known["objects"] if each["category"] == category]
            assert complexity_of(boxes) == complexity
