# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a person is shown of an FPCO item, and what its decisions say: screening before writing, review after it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundset.review import queue
from groundset.review.decisions import Decision, Decisions
from groundset.verdicts import Verdict

Row = dict[str, Any]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Judged:
    """What people said of a queue.

    Attributes:
        accepted: Item id to the decision that accepts or edits it.
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
        "object_boxes_xyxy_px": [list(boxes_px[object_id]) for object_id in item["object_ids"]],
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
    shown = {
        "image_id": draft["image_id"],
        "image_sha256": image_sha256,
        "false_class": draft["false_class"],
        "target_label": target_label,
        "target_bbox_xyxy_px": list(target_px),
        "target_description": draft["target_description"],
        "modified_target_description": draft["modified_target_description"],
        "questions": draft["questions"],
    }
    return queue.item("dialogue", draft["item_id"], None, shown)


def judge(items: Sequence[queue.Item], decisions: Decisions, prefix: str) -> Judged:
    """Applies decisions; an exclusion or rejection is a hard verdict `<prefix>_<reason>`.

    Args:
        items: Queue items of one kind.
        decisions: What people decided.
        prefix: screening or review.
    """
    answered, waiting = queue.split(items, decisions)
    accepted: dict[str, Decision] = {}
    rejected = []
    for entry, decision in answered:
        if decision.value["verdict"] in ("accept", "edit"):
            accepted[entry["item_id"]] = decision
        else:
            reason = decision.value["reason"] or "rejected"
            rule = f"{prefix}_{reason if re.fullmatch('[a-z0-9_]+', reason) else 'rejected'}"
            told = f"{reason} (decision {decision.decision_id} of {decision.annotator})"
            rejected.append(Verdict(entry["item_id"], "item", rule, told))
    return Judged(accepted, tuple(rejected), waiting)


def edited(draft: Row, decision: Decision) -> Row:
    """The draft as the decision leaves it."""
    if decision.value["verdict"] != "edit":
        return draft
    return {**draft, **decision.value["edited"]}
