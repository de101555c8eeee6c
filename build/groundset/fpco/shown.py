# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a person is shown of an FPCO item, and what its decisions say: screening before writing, review after it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundset.errors import DataError, Problem
from groundset.review import queue
from groundset.review.decisions import Decision, Decisions
from groundset.verdicts import Verdict

Row = dict[str, Any]
Box = tuple[float, float, float, float]

REASONS = ("unsuitable", "wrong_complexity", "wrong_target", "annotation_error", "group_box", "invalid_boxes")


@dataclass(frozen=True)
class Judged:
    """What people said of a queue.

    Attributes:
        accepted: Item id to the decision that accepts, corrects or edits it.
        rejected: A hard verdict on each rejected item, sorted by item.
        waiting: Items that nobody has decided on yet.
    """

    accepted: Mapping[str, Decision]
    rejected: tuple[Verdict, ...]
    waiting: tuple[queue.Item, ...]


def box_px(bbox_xyxy: Sequence[float], frame: tuple[float, float], size_px: tuple[int, int]) -> Box:
    """A box of a frame in pixels of the stored photograph; equal to what it was where the frame is in pixels.

    >>> box_px([0.5, 0.0, 1.0, 1.0], (1.0, 1.0), (640, 480))
    (320.0, 0.0, 640.0, 480.0)
    """
    x_scale, y_scale = size_px[0] / frame[0], size_px[1] / frame[1]
    x_min, y_min, x_max, y_max = bbox_xyxy
    return x_min * x_scale, y_min * y_scale, x_max * x_scale, y_max * y_scale


def screening_item(item: Row, boxes_px: Mapping[str, Box], image_sha256: str) -> queue.Item:
    """The question whether image, complexity and target are right (design, FPCO-Dialog: screening before writing).

    Args:
        item: Row of `schemas/fpco_item`.
        boxes_px: Object id to box, of the item's objects.
        image_sha256: sha256 of the photograph.
    """
    shown = {
        "image_id": item["image_id"],
        "image_sha256": image_sha256,
        "category": item["category"],
        "complexity": item["complexity"],
        "target_object_id": item["target_object_id"],
        "target_label": item["target_label"],
        "target_bbox_xyxy_px": list(boxes_px[item["target_object_id"]]),
        "objects": [
            {"object_id": object_id, "label": label, "bbox_xyxy_px": list(boxes_px[object_id])}
            for object_id, label in zip(item["object_ids"], item["object_labels"], strict=True)
        ],
    }
    return queue.item("screening", item["item_id"], None, shown)


def dialogue_item(draft: Row, target_label: str, target_px: Box, image_sha256: str) -> queue.Item:
    """The question whether a written dialogue is right (design, FPCO-Dialog: people accept, reject or edit).

    Args:
        draft: Row of `schemas/fpco_draft`.
        target_label: The target's class name.
        target_px: The target's box.
        image_sha256: sha256 of the photograph.
    """
    return queue.item("dialogue", draft["item_id"], None, _texts(draft, target_label, target_px, image_sha256))


def variant_item(variant: Row, image_sha256: str) -> queue.Item:
    """The question whether a variant of a dialogue is right; what is shown of it is the same.

    Args:
        variant: Row of `schemas/fpco_variant`.
        image_sha256: sha256 of the photograph.
    """
    shown = _texts(variant, variant["target_label"], variant["target_bbox_xyxy_px"], image_sha256)
    return queue.item("variant", variant["variant_id"], None, shown)


def _texts(row: Row, target_label: str, target_px: Sequence[float], image_sha256: str) -> Row:
    return {
        "image_id": row["image_id"],
        "image_sha256": image_sha256,
        "false_class": row["false_class"],
        "target_label": target_label,
        "target_bbox_xyxy_px": list(target_px),
        "target_description": row["target_description"],
        "modified_target_description": row["modified_target_description"],
        "questions": row["questions"],
    }


def judge(items: Sequence[queue.Item], decisions: Decisions, prefix: str) -> Judged:
    """Applies decisions; an exclusion or rejection is a hard verdict `<prefix>_<reason>`.

    Args:
        items: Queue items of one kind.
        decisions: What people decided.
        prefix: screening or review.

    Raises:
        DataError: A screening decision excludes for a reason that is none of `REASONS`.
    """
    answered, waiting = queue.split(items, decisions)
    if prefix == "screening":
        queue.require_known(answered, ("accept", "exclude", "correct"), REASONS)
    accepted: dict[str, Decision] = {}
    rejected = []
    for entry, decision in answered:
        if decision.value["verdict"] in ("accept", "correct", "edit"):
            accepted[entry["item_id"]] = decision
        else:
            reason = decision.value["reason"] or "rejected"
            rule = f"{prefix}_{reason if re.fullmatch('[a-z0-9_]+', reason) else 'rejected'}"
            told = f"{reason} (decision {decision.decision_id} of {decision.annotator})"
            rejected.append(Verdict(entry["item_id"], "item", rule, told))
    return Judged(accepted, tuple(rejected), waiting)


def corrected(item: Row, decision: Decision) -> Row | Verdict:
    """The item as a screening decision leaves it (design, FPCO-Dialog: a person may choose another target).

    An image of another complexity than the boxes say belongs in another cell. Cells are dealt before people look, and
    what they say reruns nothing: the item is rejected, and the next of its own cell comes in.

    Args:
        item: Row of `schemas/fpco_item`.
        decision: A screening decision that does not exclude it.

    Returns:
        The item with the target that was chosen, or the hard verdict `screening_wrong_complexity`.

    Raises:
        DataError: The decision chooses an object that was not shown.
    """
    if decision.value["verdict"] != "correct":
        return item
    right = decision.value["corrected"]
    who = f"(decision {decision.decision_id} of {decision.annotator})"
    if right["complexity"] != item["complexity"]:
        told = f"a person says {right['complexity']}, not {item['complexity']} {who}"
        return Verdict(item["item_id"], "item", "screening_wrong_complexity", told)
    chosen = right["target_object_id"]
    if chosen not in item["object_ids"]:
        message = f"{chosen} is none of the objects that were shown: {', '.join(item['object_ids'])}"
        where = "$.value.corrected.target_object_id"
        problem = Problem("", f"decision {decision.decision_id}", where, message, "choose one of them, or exclude")
        raise DataError(f"The target of {item['item_id']} cannot be changed", [problem])
    place = item["object_ids"].index(chosen)
    return {**item, "target_object_id": chosen, "target_label": item["object_labels"][place]}


def edited(draft: Row, decision: Decision) -> Row:
    """The draft as the decision leaves it."""
    if decision.value["verdict"] != "edit":
        return draft
    return {**draft, **decision.value["edited"]}
