# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 50_generate of FPCO-Dialog: writes each dialogue and checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from groundset.fpco.checks import check
from groundset.fpco.dialogue import to_record
from groundset.fpco.joins import boxes_px, objects_of, photograph_folders, rows_by
from groundset.fpco.shown import Box
from groundset.fpco.template_writer import SceneObject, WriterInput, write
from groundset.schema_types import arrow_schema
from groundset.splits import walk
from groundset.stage import Inputs, Output
from groundset.verdicts import Verdict

Row = dict[str, Any]


def writer_input(row: Row, item: Row, objects: list[Row], boxes: Mapping[str, Box], size: Row) -> WriterInput:
    """What the template writer writes a dialogue from.

    Args:
        row: item_id, image_id and stratum.
        item: category, complexity and target_object_id.
        objects: The image's, rows of `schemas/object`.
        boxes: Object id to box in pixels.
        size: width and height of the photograph.
    """
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


def scenes(inputs: Inputs, rows: Sequence[tuple[Row, Row]]) -> list[tuple[WriterInput, Path]]:
    """What the template writer writes each dialogue from, and the file of its photograph.

    Args:
        inputs: Those of a stage that reads photographs and objects.
        rows: A row and an item of `writer_input` for each.
    """
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    objects, folders = objects_of(inputs, {row["image_id"] for row, _ in rows}), photograph_folders(inputs)
    boxes = boxes_px(objects, sizes)
    found = []
    for row, item in rows:
        image_id = row["image_id"]
        scene = writer_input(row, item, objects[image_id], boxes[image_id], sizes[image_id])
        found.append((scene, folders[image_id] / sizes[image_id]["path"]))
    return found


def read_pixels(path: Path) -> NDArray[np.uint8]:
    """A photograph as the template writer takes it: uint8 of shape (height, width, 3), RGB."""
    with Image.open(path) as photograph:
        return np.asarray(photograph.convert("RGB"))


def item_verdict(item_id: str, prefix: str, verdicts: list[Verdict]) -> Verdict:
    """One verdict on the item for what is wrong with its dialogue; the first rule names it, the rest is told."""
    first = sorted(verdicts, key=lambda verdict: verdict.rule)[0]
    told = "; ".join(f"{verdict.rule}: {verdict.detail}" for verdict in verdicts)
    return Verdict(item_id, "item", f"{prefix}{first.rule}", told, first.measured, first.limit)


def generate(inputs: Inputs) -> Output:
    """Writes a dialogue for every screened item; what is declined or fails a check is a verdict on the item."""
    if inputs.config["writer"]["kind"] == "llm":
        # the library that asks a model takes longer to import than all the rest
        from groundset.fpco import llm_writing

        return llm_writing.generate(inputs)
    rows = inputs.tables["45_screen/kept"].to_pylist()
    items = rows_by(inputs.tables["45_screen/items"], "item_id")
    jobs = scenes(inputs, [(row, items[row["item_id"]]) for row in rows])
    written = walk(lambda job: write(job[0], read_pixels(job[1]), inputs.config["seed"]), jobs)
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
