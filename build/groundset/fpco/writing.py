# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 50_generate of FPCO-Dialog: writes each dialogue and checks it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from groundset.fpco import llm_writing
from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue, to_record
from groundset.fpco.joins import boxes_px, objects_of, photograph_folders, rows_by
from groundset.fpco.shown import Box
from groundset.fpco.template_writer import SceneObject, WriterInput, write
from groundset.schema_types import arrow_schema
from groundset.splits import walk
from groundset.stage import Inputs, Output
from groundset.verdicts import Verdict

Row = dict[str, Any]


def _writer_input(row: Row, item: Row, objects: list[Row], boxes: Mapping[str, Box], size: Row) -> WriterInput:
    false_class = row["stratum"].rpartition("-")[2]
    scene = [
        SceneObject(found["object_id"], found["label"] or "", found["category"], boxes[found["object_id"]])
        for found in objects
    ]
    return WriterInput(
        dialogue_id=f"{row['item_id']}-{false_class}",
        item_id=row["item_id"],
        image_id=row["image_id"],
        category=item["category"],
        complexity=item["complexity"],
        false_class=false_class,
        width=size["width"],
        height=size["height"],
        target=next(found for found in scene if found.object_id == item["target_object_id"]),
        others=tuple(found for found in scene if found.object_id != item["target_object_id"]),
    )


def _write_one(scene: WriterInput, path: Path, seed: str) -> Dialogue | Verdict:
    with Image.open(path) as photograph:
        pixels = np.asarray(photograph.convert("RGB"))
    return write(scene, pixels, seed)


def item_verdict(item_id: str, prefix: str, verdicts: list[Verdict]) -> Verdict:
    """One verdict on the item for what is wrong with its dialogue; the first rule names it, the rest is told."""
    first = sorted(verdicts, key=lambda verdict: verdict.rule)[0]
    told = "; ".join(f"{verdict.rule}: {verdict.detail}" for verdict in verdicts)
    return Verdict(item_id, "item", f"{prefix}{first.rule}", told, first.measured, first.limit)


def generate(inputs: Inputs) -> Output:
    """Writes a dialogue for every screened item; what is declined or fails a check is a verdict on the item."""
    if inputs.config["writer"]["kind"] == "llm":
        return llm_writing.generate(inputs)
    rows = inputs.tables["45_screen/kept"].to_pylist()
    items = rows_by(inputs.tables["45_screen/items"], "item_id")
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    objects, folders = objects_of(inputs, {row["image_id"] for row in rows}), photograph_folders(inputs)
    boxes = boxes_px(objects, sizes)
    jobs = []
    for row in rows:
        image_id = row["image_id"]
        scene = _writer_input(row, items[row["item_id"]], objects[image_id], boxes[image_id], sizes[image_id])
        jobs.append((scene, folders[image_id] / sizes[image_id]["path"]))
    written = walk(lambda job: _write_one(*job, inputs.config["seed"]), jobs)
    drafts: list[Row] = []
    verdicts: list[Verdict] = []
    for row, result in zip(rows, written, strict=True):
        if isinstance(result, Verdict):
            verdicts.append(item_verdict(row["item_id"], "", [result]))
            continue
        found = check(result)
        hard = [verdict for verdict in found if verdict.hard]
        if hard:
            verdicts.append(item_verdict(row["item_id"], "check_", hard))
        else:
            drafts.append(to_record(result))
            verdicts += found
    return Output(
        tables={"kept": pa.Table.from_pylist(drafts, schema=arrow_schema("fpco_draft")).sort_by("dialogue_id")},
        verdicts=tuple(verdicts),
        entered={"item": [row["item_id"] for row in rows]},
    )
