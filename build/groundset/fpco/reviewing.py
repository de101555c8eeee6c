# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog's stages of people: screening before a dialogue is written, review after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from groundset.asking import ask
from groundset.fpco import shown
from groundset.fpco.checks import check
from groundset.fpco.dialogue import from_record
from groundset.fpco.joins import boxes_px, objects_of, rows_by
from groundset.fpco.writing import item_verdict
from groundset.geometry import area
from groundset.schema_types import arrow_schema
from groundset.stage import Inputs, Output
from groundset.verdicts import Verdict

Row = dict[str, Any]


def screen(inputs: Inputs) -> Output:
    """The stage 45_screen: what people exclude before a dialogue is written (design, FPCO-Dialog: screening)."""
    rows = [row for row in inputs.tables["40_images/kept"].to_pylist() if not row["reserve"]]
    items = rows_by(inputs.tables["20_filter/kept"], "item_id")
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    entered = [row["item_id"] for row in rows]
    who = inputs.config["decisions"]["screening"]
    if who == "none":
        tables = _screened(rows, [items[item_id] for item_id in entered])
        return Output(tables=tables, entered={"item": entered}, attachments={"decisions.jsonl": b""})
    objects = objects_of(inputs, {row["image_id"] for row in rows})
    boxes = boxes_px(objects, sizes)
    queue = [
        shown.screening_item(items[row["item_id"]], boxes[row["image_id"]], sizes[row["image_id"]]["sha256"])
        for row in rows
    ]
    answers = ask(inputs, queue, who)
    judged = shown.judge(queue, answers.decisions, "screening")
    kept: list[Row] = []
    seen: list[Row] = []
    verdicts: list[Verdict] = [*judged.rejected, *answers.stale]
    for row in rows:
        decision = judged.accepted.get(row["item_id"])
        if decision is None:
            continue
        item = items[row["item_id"]]
        right = shown.corrected(item, decision)
        if isinstance(right, Verdict):
            verdicts.append(right)
            continue
        if right["target_object_id"] != item["target_object_id"]:
            right = _with_box(right, objects[row["image_id"]])
            told = (
                f"{right['target_object_id']} in place of {item['target_object_id']}, decision {decision.decision_id}"
            )
            verdicts.append(Verdict(row["item_id"], "item", "target_chosen_by_a_person", told, hard=False))
        kept.append(row)
        seen.append(right)
    return Output(
        tables=_screened(kept, seen),
        verdicts=tuple(verdicts),
        entered={"item": entered},
        read=answers.read,
        attachments={"decisions.jsonl": answers.attachment()},
        waiting=judged.waiting,
    )


def _with_box(item: Row, objects: list[Row]) -> Row:
    """The item with the box of its target."""
    box = next(row["bbox_xyxy"] for row in objects if row["object_id"] == item["target_object_id"])
    share = float(area(np.array([box]))[0]) / (item["frame_width"] * item["frame_height"])
    return {**item, "target_bbox_xyxy": box, "target_area_share": share}


def _screened(rows: list[Row], items: list[Row]) -> dict[str, pa.Table]:
    return {
        "kept": pa.Table.from_pylist(rows, schema=arrow_schema("selected")),
        "items": pa.Table.from_pylist(items, schema=arrow_schema("fpco_item")),
    }


def review(inputs: Inputs) -> Output:
    """The stage 60_review: people accept, reject or edit; what they edit is checked again."""
    drafts = inputs.tables["50_generate/kept"].to_pylist()
    items = rows_by(inputs.tables["45_screen/items"], "item_id")
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    boxes = boxes_px(objects_of(inputs, {draft["image_id"] for draft in drafts}), sizes)
    queue = []
    for draft in drafts:
        item = items[draft["item_id"]]
        target = boxes[draft["image_id"]][item["target_object_id"]]
        sha256 = sizes[draft["image_id"]]["sha256"]
        queue.append(shown.dialogue_item(draft, item["target_label"], target, sha256))
    answers = ask(inputs, queue, inputs.config["decisions"]["review"])
    judged = shown.judge(queue, answers.decisions, "review")
    kept: list[Row] = []
    verdicts: list[Verdict] = [*judged.rejected, *answers.stale]
    for draft in drafts:
        if draft["item_id"] not in judged.accepted:
            continue
        decision = judged.accepted[draft["item_id"]]
        final = shown.edited(draft, decision)
        if final != draft:
            told = f"decision {decision.decision_id} of {decision.annotator}"
            verdicts.append(Verdict(draft["item_id"], "item", "edited_by_a_person", told, hard=False))
        item = items[draft["item_id"]]
        found = check(from_record(final, category=item["category"], target_label=item["target_label"]))
        hard = [verdict for verdict in found if verdict.hard]
        if hard:
            verdicts.append(item_verdict(draft["item_id"], "edited_", hard))
        else:
            kept.append(final)
            verdicts += found
    return Output(
        tables={"kept": pa.Table.from_pylist(kept, schema=arrow_schema("fpco_draft"))},
        verdicts=tuple(verdicts),
        entered={"item": [draft["item_id"] for draft in drafts]},
        read=answers.read,
        attachments={"decisions.jsonl": answers.attachment()},
        waiting=judged.waiting,
    )
