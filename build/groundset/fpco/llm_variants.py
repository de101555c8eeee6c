# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 72_vary of FPCO-Dialog where a language model writes: one set after the other, knowing those before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from groundset.fpco import llm_plan
from groundset.fpco.cross_checks import Draft
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.joins import photograph_folders, rows_by
from groundset.fpco.llm_asking import Done, Models, Reached, Task, have_written, models_of
from groundset.fpco.llm_plan import Unpaid
from groundset.fpco.llm_writer import Rules, Written, write_variant
from groundset.fpco.prompting import TRUE_TURNS, Target, assembled
from groundset.fpco.variants import read, variant_id
from groundset.llm.desk import Ask
from groundset.llm.replay import Missing
from groundset.llm.request import Picture
from groundset.stage import Inputs

Row = Mapping[str, Any]

# what a checker is asked about a variant: its truth has been asked about with the dialogue
CHECKS = 1


@dataclass(frozen=True)
class Commission:
    """A variant that is wanted.

    Attributes:
        target: What it is about, under the variant's own id.
        dialogue: The dialogue that it is a variant of.
        taken: The false descriptions of the sets before it.
        number: The how many-th set it is for, from 0.
    """

    target: Target
    dialogue: Dialogue
    taken: tuple[str, ...]
    number: int


def _named(target: Target, dialogue_id: str, set_name: str) -> Target:
    name = variant_id(dialogue_id, set_name)
    return replace(target, item_id=name, dialogue_id=name)


def _first(inputs: Inputs, rows: Sequence[Row], set_name: str) -> list[Commission]:
    sizes, folders = rows_by(inputs.tables["40_images/photographs"], "image_id"), photograph_folders(inputs)
    found = []
    for row in rows:
        size = sizes[row["image_id"]]
        target = Target(
            item_id=row["dialogue_id"],
            dialogue_id=row["dialogue_id"],
            image_id=row["image_id"],
            picture=Picture(size["sha256"], folders[row["image_id"]] / size["path"]),
            category=row["category"],
            label=row["target_label"],
            box_px=tuple(row["target_bbox_xyxy_px"]),
            size_px=(size["width"], size["height"]),
            false_class=row["false_class"],
        )
        found.append(Commission(_named(target, row["dialogue_id"], set_name), read(row), (), 0))
    return found


def _following(sets: Sequence[str], commission: Commission, written: Written) -> Commission | None:
    number = commission.number + 1
    if number == len(sets):
        return None
    new = () if written.dialogue is None else (written.dialogue.modified_target_description,)
    target = _named(commission.target, commission.dialogue.dialogue_id, sets[number])
    return Commission(target, commission.dialogue, (*commission.taken, *new), number)


async def _write(rules: Rules, ask: Ask, one: Commission) -> Written:
    return await write_variant(ask, one.target, one.dialogue, one.taken, one.number, rules)


def _plan(models: Models, sets: Sequence[str], reached: Reached[Commission]) -> list[Unpaid]:
    open_ones = [one for one, came in reached.written if isinstance(came, Missing)]
    ahead = [Draft(one.target, one.dialogue) for one in open_ones for _ in sets[one.number + 1 :]]
    unwritten = [*(one.target for one in open_ones), *(one.target for one in ahead)]
    plan = [llm_plan.of_writer("variants", models.writer, models.rules.mends, reached.missing(), ahead)]
    for checker, found in zip(models.checkers, reached.opinions, strict=True):
        asked = [one for _, one in found if isinstance(one, Missing)]
        plan.append(llm_plan.of_checker("variants", checker, CHECKS, asked, unwritten))
    return plan


def plan_ahead(content: Row, items: Iterable[tuple[str, str]]) -> list[Unpaid]:
    """What variants would have to be paid before it is settled of which dialogues there will be some.

    Args:
        content: The manifest.
        items: False class and target label of what there will be dialogues of.
    """
    models, wanted = models_of(content["writer"]), content["variants"]
    per_class, sets = wanted["images_per_false_class"], wanted["sets"]
    counts: Counter[str] = Counter()
    ahead: list[Draft] = []
    for false_class, label in items:
        counts[false_class] += 1
        if counts[false_class] <= per_class:
            # nobody is asked: the request has to be about as long as it will be, and needs no photograph
            target = Target("", "", "", Picture("", Path()), "", label, (0.0, 0.0, 1.0, 1.0), (1, 1), false_class)
            rows = [{"id": number, "content": label} for number in TRUE_TURNS]
            bare = assembled(target, {"target_description": label, "questions": rows}, None)
            ahead += [Draft(target, bare) for _ in sets]
    targets = [one.target for one in ahead]
    plan = [llm_plan.of_writer("variants", models.writer, models.rules.mends, (), ahead)]
    plan += [llm_plan.of_checker("variants", checker, CHECKS, (), targets) for checker in models.checkers]
    return [row for row in plan if row.requests.most]


def write_variants(inputs: Inputs, rows: Sequence[Row], sets: Sequence[str]) -> Done:
    """Has a language model write the variants of dialogues, and others cross-check them.

    Args:
        inputs: The stage's inputs.
        rows: The dialogues, rows of `schemas/fpco_dialogue` sorted by id.
        sets: Names of the sets, in order.

    Raises:
        UnpaidError: More would have to be paid than was agreed to.
        MissingAnswerError: Offline, and the journal lacks an answer; names the first.
        ServiceError: The model cannot be asked; all that it answered is kept.
        DataError: The exported journal is wrong.
    """
    models = models_of(inputs.config["writer"])
    task = Task(
        stage="72_vary",
        prefix="variants_",
        items=_first(inputs, rows, sets[0]),
        write=partial(_write, models.rules),
        following=partial(_following, sets),
        false_only=True,
        plan=partial(_plan, models, sets),
    )
    return have_written(inputs, models, task)
