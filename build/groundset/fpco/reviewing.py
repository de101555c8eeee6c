# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog's stages of people: screening before a dialogue is written, review after it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from groundset.asking import ask
from groundset.fpco import shown
from groundset.fpco.checks import check
from groundset.fpco.dialogue import from_record
from groundset.fpco.joins import boxes_px, objects_of, rows_by
from groundset.fpco.writing import item_verdict
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
        kept = pa.Table.from_pylist(rows, schema=arrow_schema("selected"))
        return Output(tables={"kept": kept}, entered={"item": entered}, attachments={"decisions.jsonl": b""})
    boxes = boxes_px(objects_of(inputs, {row["image_id"] for row in rows}), sizes)
    queue = [
        shown.screening_item(items[row["item_id"]], boxes[row["image_id"]], sizes[row["image_id"]]["sha256"])
        for row in rows
    ]
    answers = ask(inputs, queue, who)
    judged = shown.judge(queue, answers.decisions, "screening")
    kept = [row for row in rows if row["item_id"] in judged.accepted]
    return Output(
        tables={"kept": pa.Table.from_pylist(kept, schema=arrow_schema("selected"))},
        verdicts=(*judged.rejected, *answers.stale),
        entered={"item": entered},
        read=answers.read,
        attachments={"decisions.jsonl": answers.attachment()},
        waiting=judged.waiting,
    )


def review(inputs: Inputs) -> Output:
    """The stage 60_review: people accept, reject or edit; what they edit is checked again."""
    drafts = inputs.tables["50_generate/kept"].to_pylist()
    items = rows_by(inputs.tables["20_filter/kept"], "item_id")
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
