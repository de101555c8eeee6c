# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated annotators: they answer the review queue from what is drawn, with a few of a real annotator's slips.

Every decision follows from the seed, the item and the truth alone, never from what else is in the queue.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groundset.errors import Problem, UsageError
from groundset.miniworld.backdrop import HEIGHT_PX, WIDTH_PX
from groundset.miniworld.chance import Chance
from groundset.miniworld.kinds import KINDS
from groundset.miniworld.primitives import COLOURS

Record = Mapping[str, Any]
Value = dict[str, Any]
PointPx = tuple[float, float]

# Shares, ours: enough to see every road of the build taken in a demo, too few to empty a stratum.
EXCLUDED_SHARE = 0.04
CORRECTED_SHARE = 0.04
REJECTED_SHARE = 0.04
SLIP_SHARE = 0.03

_SAME_BOX_PX = 1.0
# A point is at least this much nearer to its own centre than to any other.
_CLEAR_PX = 2.0
_SPLIT_WORDS = {"valid": "validation"}
_WORDS_FOR = {
    "man": ("man", "person", "guy"),
    "woman": ("woman", "person", "lady"),
    "child": ("child", "person", "boy", "girl", "kid"),
    "bicycle": ("bicycle", "bike"),
    "donut": ("donut", "doughnut"),
}
_NOUNS = frozenset(word for kind in KINDS for word in (kind, *_WORDS_FOR.get(kind, ()))) | {
    kind.coco for kind in KINDS.values()
}
_PLACES = {"left": "left", "right": "right", "middle": "middle", "center": "middle", "centre": "middle"}


def _words(text: str, vocabulary: Iterable[str]) -> set[str]:
    """Words and word pairs of the vocabulary in the text, longer ones first, so that a hot dog is no dog."""
    longest_first = sorted(vocabulary, key=lambda word: (-len(word), word))
    pattern = r"\b(" + "|".join(map(re.escape, longest_first)) + r")s?\b"
    return set(re.findall(pattern, text.lower().replace("gray", "grey")))


def _same_box(first: Sequence[float], second: Sequence[float]) -> bool:
    return all(abs(a - b) <= _SAME_BOX_PX for a, b in zip(first, second, strict=True))


def _photograph(image_id: str, truth: Record) -> Record | None:
    known: Record | None = (
        truth.get("coco", {}).get(image_id.removeprefix("coco-")) if image_id.startswith("coco-") else None
    )
    return known


def _dialogue(item_id: str, truth: Record) -> Record | None:
    kind, _, rest = item_id.partition("-")
    split, _, number = rest.partition("-")
    if kind != "invig":
        return None
    known: Record | None = truth.get("invig", {}).get(_SPLIT_WORDS.get(split, split), {}).get(number)
    return known


def _excluded(reason: str | None) -> Value:
    return {"verdict": "exclude" if reason else "accept", "reason": reason}


def _screen_photograph(shown: Record, truth: Record, chance: Chance) -> Value:
    known = _photograph(shown["image_id"], truth)
    if known is None:
        return _excluded(None)
    target = next((o for o in known["objects"] if f"a{o['annotation_id']}" == shown["target_object_id"]), None)
    if target is None:
        return _excluded("annotation_error")
    if target["label"] != shown["target_label"] or not _same_box(target["bbox_xyxy_px"], shown["target_bbox_xyxy_px"]):
        return _excluded("wrong_target")
    if known["complexity"][shown["category"]] != shown["complexity"]:
        return _excluded("wrong_complexity")
    if chance.unit("exclude") < EXCLUDED_SHARE:
        return _excluded("unsuitable")
    others = [each["object_id"] for each in shown["objects"] if each["object_id"] != shown["target_object_id"]]
    if others and chance.unit("correct") < CORRECTED_SHARE:
        chosen = {"target_object_id": chance.pick("target", others), "complexity": shown["complexity"]}
        return {"verdict": "correct", "reason": None, "corrected": chosen}
    return _excluded(None)


def _screen_dialogue(item_id: str, shown: Record, truth: Record, chance: Chance) -> Value:
    known = _dialogue(item_id, truth)
    if known is None:
        return _excluded(None)
    boxes = [each["bbox_xyxy_px"] for each in known["objects"]]
    candidates = [each["bbox_xyxy_px"] for each in shown["initial_candidates"]]
    if not all(any(_same_box(box, other) for other in boxes) for box in candidates):
        return _excluded("invalid_boxes")
    if len(known["turns"][0]["candidates"]) < 2:
        return _excluded("no_ambiguity")
    if chance.unit("exclude") < EXCLUDED_SHARE:
        return _excluded(chance.pick("reason", ("annotation_error", "referent_not_specific")))
    return _excluded(None)


def _point(candidate: Record, centres: Sequence[PointPx], chance: Chance) -> PointPx:
    """The centre of the box with a small tremble, in the box and clearly nearer to its own centre than to others."""
    x, y = candidate["centre_px"]
    x_min, y_min, x_max, y_max = candidate["bbox_xyxy_px"]
    # Two boxes on one thing have one centre; which of them is meant is for the build to say.
    others = [centre for centre in centres if math.dist(centre, (x, y)) > 2 * _CLEAR_PX]
    across = chance.between(f"{candidate['object_id']} x", -0.12, 0.12) * (x_max - x_min)
    down = chance.between(f"{candidate['object_id']} y", -0.12, 0.12) * (y_max - y_min)
    for shrink in (1.0, 0.5, 0.25, 0.1):
        point = (round(x + across * shrink, 1), round(y + down * shrink, 1))
        own = math.dist(point, (x, y))
        if all(math.dist(point, other) > own + _CLEAR_PX for other in others):
            return point
    return x, y


def _beside(boxes: Sequence[Sequence[float]], chance: Chance) -> PointPx | None:
    """A point in the picture that lies in no box, if one is found."""
    for n in range(50):
        x, y = round(chance.between(f"x {n}", 1, WIDTH_PX - 1), 1), round(chance.between(f"y {n}", 1, HEIGHT_PX - 1), 1)
        if not any(box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1 for box in boxes):
            return x, y
    return None


def _points(item: Record, truth: Record, chance: Chance) -> Value:
    known = _dialogue(item["item_id"], truth)
    turns = [] if known is None else [turn for turn in known["turns"] if turn["turn"] == item["turn"]]
    if known is None or not turns:
        message = f"the simulated annotators have not seen this picture or its turn {item['turn']}"
        hint = 'let people point: review = "people" in the manifest'
        raise UsageError("Points cannot be simulated", [Problem("", item["item_id"], "", message, hint)])
    centres = [(x, y) for x, y in (each["centre_px"] for each in known["objects"])]
    # The hand is the same at every turn, so that a point carries over until it is taken away.
    hand = Chance(chance.seed, f"points {item['item_id']}")
    points = [_point(candidate, centres, hand) for candidate in turns[0]["candidates"]]
    if points and chance.unit("slip") < SLIP_SHARE:
        slipped = chance.whole("slipped", 0, len(points) - 1)
        beside = _beside([each["bbox_xyxy_px"] for each in known["objects"]], chance)
        if chance.unit("beside") < 0.5:
            points[slipped] = beside or points[slipped]
        elif len(points) > 1:
            # One may overlook one of several, not the only one.
            points.pop(slipped)
    return {"points_px": [list(point) for point in points]}


def _objection(shown: Record, target: Record) -> str | None:
    description, modified = shown["target_description"], shown["modified_target_description"]
    nouns = _words(description, _NOUNS)
    fitting = {target["label"], target["kind"], *_WORDS_FOR.get(target["kind"], ())}
    if nouns and not nouns & fitting:
        return "wrong_thing"
    seen = {target["colour"], *nouns} if target["colour"] else {"grey", "black", "white", *nouns}
    colours = _words(description, COLOURS)
    if colours - seen:
        return "wrong_colour"
    places = {_PLACES[word] for word in _words(description, _PLACES)}
    if {target["place"], *places} >= {"left", "right"}:
        return "wrong_place"
    named = _words(modified, COLOURS) - nouns
    if shown["false_class"] == "attribute" and target["colour"] in named - colours:
        return "still_true"
    return None


def _judge_texts(shown: Record, truth: Record, chance: Chance) -> Value:
    def rejected(reason: str | None) -> Value:
        return {"verdict": "reject" if reason else "accept", "reason": reason, "edited": None}

    known = _photograph(shown["image_id"], truth)
    if known is None:
        return rejected(None)
    box = shown["target_bbox_xyxy_px"]
    fitting = [each for each in known["objects"] if _same_box(each["bbox_xyxy_px"], box)]
    target = next((each for each in fitting if each["label"] == shown["target_label"]), None)
    if target is None:
        return rejected("wrong_target")
    reason = _objection(shown, target)
    if reason is None and chance.unit("reject") < REJECTED_SHARE:
        reason = "unnatural"
    return rejected(reason)


def _value(item: Record, truth: Record, chance: Chance) -> Value:
    match item["kind"]:
        case "screening" if "initial_candidates" in item["shown"]:
            return _screen_dialogue(item["item_id"], item["shown"], truth, chance)
        case "screening":
            return _screen_photograph(item["shown"], truth, chance)
        case "points":
            return _points(item, truth, chance)
        case "dialogue" | "variant":
            return _judge_texts(item["shown"], truth, chance)
        case other:
            message = f"kind {other!r} is not one of screening, points, dialogue, variant"
            raise UsageError("Not a review queue", [Problem("", item["item_id"], "$.kind", message)])


def answer(queue: Sequence[Record], truth: Record, seed: str) -> list[dict[str, Any]]:
    """Decides on every item of a review queue as people would who look at the miniature world.

    Screening and dialogues are accepted where they agree with the truth, save a small share chosen by hash; points are
    the centres of the plausible things with a small tremble, save a small share of slips. Items that the truth knows
    nothing of (real photographs) are accepted.

    Args:
        queue: Review items: kind, item_id, turn, seen_sha256, shown.
        truth: Content of the world's `truth.json`; empty if the photographs are real ones.
        seed: Seed of the annotators.

    Returns:
        One record of `schemas/decision.schema.json` for each item, in the queue's order.

    Raises:
        UsageError: Points are asked for in a picture that the truth does not know, or an item is of no known kind.
    """
    decisions = []
    for item in queue:
        turn = item["turn"]
        suffix = "" if turn is None else f"-t{turn}"
        chance = Chance(seed, f"{item['kind']} {item['item_id']}{suffix}")
        who = Chance(seed, f"{item['kind']} {item['item_id']}").whole("annotator", 1, 2)
        decisions.append(
            {
                "decision_id": f"simulated-{item['kind']}-{item['item_id']}{suffix}",
                "seq": turn or 0,
                "kind": item["kind"],
                "item_id": item["item_id"],
                "turn": turn,
                "annotator": f"simulated-{who}",
                "seen_sha256": item["seen_sha256"],
                "value": _value(item, truth, chance),
                "purpose": "main",
            }
        )
    return decisions
