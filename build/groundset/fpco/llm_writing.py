# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 50_generate of FPCO-Dialog where a language model writes."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from groundset.fpco import llm_plan
from groundset.fpco.dialogue import to_record
from groundset.fpco.joins import boxes_px, objects_of, photograph_folders, rows_by
from groundset.fpco.llm_asking import Models, Reached, Task, have_written, models_of
from groundset.fpco.llm_plan import Unpaid
from groundset.fpco.llm_writer import Rules, Written, write_one
from groundset.fpco.prompting import Target
from groundset.llm.desk import Ask
from groundset.llm.replay import Missing
from groundset.llm.request import Picture
from groundset.schema_types import arrow_schema
from groundset.stage import Inputs, Output

# what a checker is asked about a dialogue: whether the truth is there, and whether the false thing is
CHECKS = 2


def _targets(inputs: Inputs) -> list[Target]:
    rows = inputs.tables["45_screen/kept"].to_pylist()
    items = rows_by(inputs.tables["45_screen/items"], "item_id")
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    boxes = boxes_px(objects_of(inputs, {row["image_id"] for row in rows}), sizes)
    folders = photograph_folders(inputs)
    targets = []
    for row in sorted(rows, key=lambda row: str(row["item_id"])):
        image_id, item = row["image_id"], items[row["item_id"]]
        size, false_class = sizes[image_id], row["stratum"].rpartition("-")[2]
        targets.append(
            Target(
                item_id=row["item_id"],
                dialogue_id=f"{row['item_id']}-{false_class}",
                image_id=image_id,
                picture=Picture(size["sha256"], folders[image_id] / size["path"]),
                category=item["category"],
                label=item["target_label"],
                box_px=boxes[image_id][item["target_object_id"]],
                size_px=(size["width"], size["height"]),
                false_class=false_class,
            )
        )
    return targets


async def _write(rules: Rules, ask: Ask, target: Target) -> Written:
    return await write_one(ask, target, rules)


def _plan(models: Models, reached: Reached[Target]) -> list[Unpaid]:
    missing, unwritten = reached.missing(), [target for target, one in reached.written if isinstance(one, Missing)]
    plan = [llm_plan.of_writer("dialogues", models.writer, models.rules.mends, missing, ())]
    for checker, found in zip(models.checkers, reached.opinions, strict=True):
        asked = [one for _, one in found if isinstance(one, Missing)]
        plan.append(llm_plan.of_checker("dialogues", checker, CHECKS, asked, unwritten))
    return plan


def generate(inputs: Inputs) -> Output:
    """Has a language model write a dialogue for every screened item, and others cross-check it (design, section 8).

    Raises:
        UnpaidError: More would have to be paid than was agreed to.
        MissingAnswerError: Offline, and the journal lacks an answer; names the first.
        ServiceError: The model cannot be asked; all that it answered is kept.
        DataError: The exported journal is wrong.
    """
    models, targets = models_of(inputs.config["writer"]), _targets(inputs)
    task = Task(
        stage="50_generate",
        prefix="",
        items=targets,
        write=partial(_write, models.rules),
        following=lambda target, written: None,
        false_only=False,
        plan=partial(_plan, models),
    )
    done = have_written(inputs, models, task)
    records = [to_record(one.dialogue) for one in done.written if one.dialogue is not None]
    return Output(
        tables={"kept": pa.Table.from_pylist(records, schema=arrow_schema("fpco_draft")).sort_by("dialogue_id")},
        verdicts=done.verdicts,
        entered={"item": [target.item_id for target in targets]},
        read=done.read,
        facts=done.facts,
        attachments=done.attachments,
    )
