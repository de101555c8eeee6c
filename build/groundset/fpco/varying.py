# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog's lexical variants: the stage 72_vary writes them, 76_judge has people decide on them.

They come after the dialogues are settled: a variant is one of a dialogue as it is released, with what people edited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset.asking import ask
from groundset.fpco import shown
from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.joins import rows_by
from groundset.fpco.template_writer import WriterInput, write_variant
from groundset.fpco.variants import check_variant, chosen, of_variant, read, to_row, variant_id
from groundset.fpco.writing import read_pixels, scenes
from groundset.schema_types import arrow_schema
from groundset.splits import walk
from groundset.stage import Inputs, Output
from groundset.verdicts import Verdict

Row = Mapping[str, Any]


def vary(inputs: Inputs) -> Output:
    """Writes the variants of some of the dialogues; what is declined or fails a check is a verdict on the variant.

    No other dialogue takes the place of one whose variant is rejected: a set has what could be written for it.
    """
    wanted, dialogues = inputs.config["variants"], inputs.tables["70_validate/dialogues"]
    sets: list[str] = wanted["sets"]
    names = set(chosen(dialogues.to_pylist(), inputs.config["seed"], wanted["images_per_false_class"]))
    rows = [row for row in dialogues.sort_by("dialogue_id").to_pylist() if row["dialogue_id"] in names]
    places = {variant_id(row["dialogue_id"], name): (row, name) for row in rows for name in sets}
    more: dict[str, Any] = {}
    if inputs.config["writer"]["kind"] == "llm":
        # as in `writing`
        from groundset.fpco import llm_variants

        done = llm_variants.write_variants(inputs, rows, sets)
        written = [one.dialogue for one in done.written if one.dialogue is not None]
        verdicts = list(done.verdicts)
        more = {"read": done.read, "facts": done.facts, "attachments": done.attachments}
    else:
        written, verdicts = _by_template(inputs, rows, sets)
    kept = [to_row(one, places[one.dialogue_id][1], places[one.dialogue_id][0]) for one in written]
    return Output(tables=_kept(kept), verdicts=tuple(of_variant(verdicts)), entered={"variant": list(places)}, **more)


def _kept(rows: Sequence[Row]) -> dict[str, pa.Table]:
    return {"kept": pa.Table.from_pylist(list(rows), schema=arrow_schema("fpco_variant")).sort_by("variant_id")}


def _by_template(inputs: Inputs, rows: Sequence[Row], sets: Sequence[str]) -> tuple[list[Dialogue], list[Verdict]]:
    items = [{**row, "item_id": row["dialogue_id"].removesuffix(f"-{row['false_class']}")} for row in rows]
    found = zip(scenes(inputs, [(item, item) for item in items]), rows, strict=True)
    jobs = [(scene, path, read(row)) for (scene, path), row in found]
    written: list[Dialogue] = []
    verdicts: list[Verdict] = []
    for made in walk(lambda job: _all_of(*job, inputs.config["seed"], sets), jobs):
        for one in made:
            if isinstance(one, Verdict):
                verdicts.append(one)
            else:
                written.append(one)
                verdicts += check(one)
    return written, verdicts


def _all_of(
    scene: WriterInput, path: Path, dialogue: Dialogue, seed: str, sets: Sequence[str]
) -> list[Dialogue | Verdict]:
    pixels, taken = read_pixels(path), list[str]()
    made: list[Dialogue | Verdict] = []
    for set_name in sets:
        name = variant_id(dialogue.dialogue_id, set_name)
        found = write_variant(scene, pixels, seed, dialogue, taken)
        if isinstance(found, Verdict):
            made.append(replace(found, record_id=name))
        else:
            made.append(replace(found, dialogue_id=name))
            taken.append(found.modified_target_description)
    return made


def review(inputs: Inputs) -> Output:
    """People accept, reject or edit variants; what they edit is checked again, and against the other variants."""
    rows = inputs.tables["72_vary/kept"].to_pylist()
    dialogues = rows_by(inputs.tables["70_validate/dialogues"], "dialogue_id")
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    queue = [shown.variant_item(row, sizes[row["image_id"]]["sha256"]) for row in rows]
    answers = ask(inputs, queue, inputs.config["decisions"]["review"])
    judged = shown.judge(queue, answers.decisions, "review")
    kept: list[Row] = []
    verdicts: list[Verdict] = of_variant(judged.rejected)
    taken: dict[str, list[str]] = {}
    for row in rows:
        decision = judged.accepted.get(row["variant_id"])
        if decision is None:
            continue
        final = shown.edited(row, decision)
        if final != row:
            told = f"decision {decision.decision_id} of {decision.annotator}"
            verdicts.append(Verdict(row["variant_id"], "variant", "edited_by_a_person", told, hard=False))
        others = taken.setdefault(row["dialogue_id"], [])
        found = of_variant(check_variant(read(final), read(dialogues[row["dialogue_id"]]), others))
        hard = [verdict for verdict in found if verdict.hard]
        if hard:
            told = "; ".join(f"{verdict.rule}: {verdict.detail}" for verdict in hard)
            verdicts.append(replace(hard[0], rule=f"edited_{hard[0].rule}", detail=told))
        else:
            kept.append(final)
            others.append(final["modified_target_description"])
            verdicts += found
    return Output(
        tables=_kept(kept),
        verdicts=(*verdicts, *answers.stale),
        entered={"variant": [row["variant_id"] for row in rows]},
        read=answers.read,
        attachments={"decisions.jsonl": answers.attachment()},
        waiting=judged.waiting,
    )
