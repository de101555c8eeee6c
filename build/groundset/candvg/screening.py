# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG's screening: a person looks at each dialogue before points are set, and may exclude it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from groundset.candvg.filter import listed_boxes
from groundset.errors import DataError, Problem
from groundset.review.decisions import Decisions
from groundset.review.queue import Item, item, require_known, split
from groundset.verdicts import Verdict

# the paper's five, the second parted in two
REASONS = (
    "annotation_error",
    "referent_absent",
    "referent_not_specific",
    "group_box",
    "invalid_boxes",
    "no_ambiguity",
)


@dataclass(frozen=True)
class Screened:
    """What screening says of the dialogues in the queue.

    Attributes:
        accepted: Ids of accepted dialogues, sorted.
        rejected: A hard verdict on each excluded dialogue, sorted by record.
        waiting: Items that nobody has decided on yet, sorted by item.
    """

    accepted: tuple[str, ...]
    rejected: tuple[Verdict, ...]
    waiting: tuple[Item, ...]


def queue_items(dialogues: pa.Table, objects: pa.Table, image_sha256: Mapping[str, str]) -> list[Item]:
    """One screening item per dialogue, sorted by dialogue.

    The initial candidates are shown as the source lists them, not merged: what a person saw must not change with the
    limit of a rule.

    Args:
        dialogues: Table of `schemas/candvg_source_dialogue`, the selected rows only.
        objects: Table of `schemas/object`; boxes in pixels of the stored photograph.
        image_sha256: Image id to sha256 of its photograph.

    Raises:
        DataError: A dialogue has no photograph, or lists an object that its image does not have.
    """
    require_photographs(dialogues, image_sha256)
    boxes = listed_boxes(dialogues, objects, "initial_candidate_ids")
    columns = ("dialogue_id", "image_id", "turns", "initial_candidate_ids")
    items = []
    for row, dialogue in enumerate(dialogues.select(columns).to_pylist()):
        candidates = [
            {"object_id": object_id, "bbox_xyxy_px": box}
            for object_id, box in zip(dialogue["initial_candidate_ids"], boxes.of(row).tolist(), strict=True)
        ]
        shown = {
            "image_id": dialogue["image_id"],
            "image_sha256": image_sha256[dialogue["image_id"]],
            "turns": dialogue["turns"],
            "initial_candidates": candidates,
        }
        items.append(item("screening", dialogue["dialogue_id"], None, shown))
    return sorted(items, key=lambda entry: str(entry["item_id"]))


def apply(queue: Iterable[Item], decisions: Decisions) -> Screened:
    """Applies the decisions: an exclusion is a hard verdict `screening_<reason>`.

    Raises:
        DataError: A decision gives a reason that is none of `REASONS`, or corrects what is only accepted or excluded.
    """
    answered, waiting = split(queue, decisions)
    require_known(answered, ("accept", "exclude"), REASONS)
    accepted = [entry["item_id"] for entry, decision in answered if decision.value["verdict"] == "accept"]
    rejected = [
        Verdict(
            entry["item_id"],
            "dialogue",
            f"screening_{decision.value['reason']}",
            f"excluded by a person, decision {decision.decision_id}",
        )
        for entry, decision in answered
        if decision.value["verdict"] != "accept"
    ]
    return Screened(tuple(accepted), tuple(rejected), waiting)


def require_photographs(dialogues: pa.Table, image_sha256: Mapping[str, str]) -> None:
    """Raises one DataError that names every dialogue whose photograph has no hash."""
    pairs = zip(dialogues["dialogue_id"].to_pylist(), dialogues["image_id"].to_pylist(), strict=True)
    problems = [
        Problem("", dialogue_id, "$.image_id", f"the photograph {image_id} has not been read")
        for dialogue_id, image_id in pairs
        if image_id not in image_sha256
    ]
    if problems:
        raise DataError("Dialogues without a photograph cannot be shown", problems)
