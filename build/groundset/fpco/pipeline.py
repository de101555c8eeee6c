# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog from sources to release: its stages in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from groundset import importing, packaging, photographs
from groundset.asking import ask
from groundset.errors import DataError, Problem
from groundset.fpco import shown
from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue, from_record, to_record
from groundset.fpco.filter import CATEGORIES, COMPLEXITIES, FilterRules, apply
from groundset.fpco.strata import stratify
from groundset.fpco.template_writer import SceneObject, WriterInput, write
from groundset.release.package import build_image_rows
from groundset.schema_types import arrow_schema
from groundset.splits import walk
from groundset.stage import Inputs, Output, Records, Stage
from groundset.verdicts import Verdict

Row = dict[str, Any]


def _rows(table: pa.Table, key: str) -> dict[str, Row]:
    return {row[key]: row for row in table.to_pylist()}


def _filter(inputs: Inputs) -> Output:
    rules = FilterRules(**inputs.config["filter"])
    images, objects = inputs.tables["10_import/images"], inputs.tables["10_import/objects"]
    found = apply(images, objects, rules, inputs.config["seed"])
    return Output(tables={"kept": found.items}, verdicts=found.verdicts, entered={"item": found.entered})


def _stratify(inputs: Inputs) -> Output:
    items = inputs.tables["20_filter/kept"]
    per_cell = inputs.config["strata"]["per_cell"]
    ranked, strata, verdicts = stratify(items, inputs.tables["10_import/images"], inputs.config["seed"], per_cell)
    return Output(
        tables={"kept": ranked, "strata": strata},
        verdicts=tuple(verdicts),
        entered={"item": items["item_id"].to_pylist()},
    )


def _objects(inputs: Inputs, image_ids: set[str]) -> dict[str, list[Row]]:
    """Image id to its objects, of those images."""
    table = inputs.tables["10_import/objects"]
    wanted = pa.array(sorted(image_ids), type=pa.string())
    found: dict[str, list[Row]] = {image_id: [] for image_id in image_ids}
    for row in table.filter(pc.is_in(table["image_id"], value_set=wanted)).to_pylist():
        found[row["image_id"]].append(row)
    return found


def _boxes_px(objects: Mapping[str, list[Row]], sizes: Mapping[str, Row]) -> dict[str, dict[str, shown.Box]]:
    """Image id to object id to box in pixels."""
    boxes: dict[str, dict[str, shown.Box]] = {}
    for image_id, rows in objects.items():
        size = (sizes[image_id]["width"], sizes[image_id]["height"])
        boxes[image_id] = {
            row["object_id"]: shown.box_px(row["bbox_xyxy"], (row["frame_width"], row["frame_height"]), size)
            for row in rows
        }
    return boxes


def _screen(inputs: Inputs) -> Output:
    rows = [row for row in inputs.tables["40_images/kept"].to_pylist() if not row["reserve"]]
    items = _rows(inputs.tables["20_filter/kept"], "item_id")
    sizes = _rows(inputs.tables["40_images/photographs"], "image_id")
    entered = [row["item_id"] for row in rows]
    who = inputs.config["decisions"]["screening"]
    if who == "none":
        kept = pa.Table.from_pylist(rows, schema=arrow_schema("selected"))
        return Output(tables={"kept": kept}, entered={"item": entered}, attachments={"decisions.jsonl": b""})
    boxes = _boxes_px(_objects(inputs, {row["image_id"] for row in rows}), sizes)
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


def _writer_input(row: Row, item: Row, objects: list[Row], boxes: Mapping[str, shown.Box], size: Row) -> WriterInput:
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


def _folders(inputs: Inputs) -> dict[str, Path]:
    """Image id to the folder its photograph lies in."""
    folders = {source["name"]: inputs.source_root / source["images"] for source in inputs.config["sources"]}
    images = inputs.tables["10_import/images"]
    names = zip(images["image_id"].to_pylist(), images["source_name"].to_pylist(), strict=True)
    return {image_id: folders[name] for image_id, name in names}


def _write_one(scene: WriterInput, path: Path, seed: str) -> Dialogue | Verdict:
    with Image.open(path) as photograph:
        pixels = np.asarray(photograph.convert("RGB"))
    return write(scene, pixels, seed)


def item_verdict(item_id: str, prefix: str, verdicts: list[Verdict]) -> Verdict:
    """One verdict on the item for what is wrong with its dialogue; the first rule names it, the rest is told."""
    first = sorted(verdicts, key=lambda verdict: verdict.rule)[0]
    told = "; ".join(f"{verdict.rule}: {verdict.detail}" for verdict in verdicts)
    return Verdict(item_id, "item", f"{prefix}{first.rule}", told, first.measured, first.limit)


def _generate(inputs: Inputs) -> Output:
    rows = inputs.tables["45_screen/kept"].to_pylist()
    items = _rows(inputs.tables["20_filter/kept"], "item_id")
    sizes = _rows(inputs.tables["40_images/photographs"], "image_id")
    objects, folders = _objects(inputs, {row["image_id"] for row in rows}), _folders(inputs)
    boxes = _boxes_px(objects, sizes)
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


def _review(inputs: Inputs) -> Output:
    drafts = inputs.tables["50_generate/kept"].to_pylist()
    items = _rows(inputs.tables["20_filter/kept"], "item_id")
    sizes = _rows(inputs.tables["40_images/photographs"], "image_id")
    boxes = _boxes_px(_objects(inputs, {draft["image_id"] for draft in drafts}), sizes)
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
        final = shown.edited(draft, judged.accepted[draft["item_id"]])
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


def _box_problem(dialogue_id: str, box: shown.Box, size: Row) -> list[Problem]:
    inside = box[0] >= -1 and box[1] >= -1 and box[2] <= size["width"] + 1 and box[3] <= size["height"] + 1
    told = f"the box {list(box)} leaves the photograph of {size['width']} x {size['height']} px"
    return [] if inside else [Problem("dialogues", dialogue_id, "$.target_bbox_xyxy_px", told)]


def _validate(inputs: Inputs) -> Output:
    drafts = inputs.tables["60_review/kept"].to_pylist()
    items = _rows(inputs.tables["20_filter/kept"], "item_id")
    strata = _rows(inputs.tables["30_stratify/kept"], "item_id")
    sizes = _rows(inputs.tables["40_images/photographs"], "image_id")
    used = {draft["image_id"] for draft in drafts}
    measured = pa.Table.from_pylist([sizes[image_id] for image_id in sorted(used)], schema=arrow_schema("photograph"))
    root, sources = inputs.config["source_root"], inputs.config["sources"]
    drawn = [source["name"] for source in sources] if root["kind"] == "miniworld" else []
    policy = inputs.config["images"]["policy"]
    images = build_image_rows(inputs.tables["10_import/images"], measured, policy, drawn)
    rights = _rows(images, "image_id")
    dialogues, turns, problems = [], [], []
    for draft in drafts:
        item = items[draft["item_id"]]
        size = sizes[draft["image_id"]]
        frame = (item["frame_width"], item["frame_height"])
        box = shown.box_px(item["target_bbox_xyxy"], frame, (size["width"], size["height"]))
        problems += _box_problem(draft["dialogue_id"], box, size)
        dialogue = {
            **{key: draft[key] for key in ("dialogue_id", "image_id", "false_class", "questions")},
            **{key: draft[key] for key in ("target_description", "modified_target_description")},
            **{key: item[key] for key in ("complexity", "category", "target_object_id", "target_label")},
            "complexity_code": COMPLEXITIES.index(item["complexity"]) + 1,
            "category_code": CATEGORIES.index(item["category"]) + 1,
            "stratum": strata[draft["item_id"]]["stratum"],
            "target_bbox_xyxy_px": list(box),
            "writer": inputs.config["writer"]["kind"],
            **{key: rights[draft["image_id"]][key] for key in ("licence", "credit")},
        }
        dialogues.append(dialogue)
        turns += [
            {
                **{key: dialogue[key] for key in ("dialogue_id", "image_id", "false_class", "complexity", "category")},
                "turn": question["id"],
                "question": question["modified"],
                "true_question": question["content"],
                "false_premise": question["false_premise"],
            }
            for question in draft["questions"]
        ]
    if problems:
        raise DataError("the dialogues are wrong", problems)
    return Output(
        tables={
            "dialogues": pa.Table.from_pylist(dialogues, schema=arrow_schema("fpco_dialogue", without=("image",))),
            "turns": pa.Table.from_pylist(turns, schema=arrow_schema("fpco_turn")),
            "images": images,
        },
        entered={"dialogue": [draft["dialogue_id"] for draft in drafts]},
    )


def _package(inputs: Inputs) -> Output:
    tables = {name: inputs.tables[f"70_validate/{name}"] for name in ("dialogues", "turns")}
    dialogues = tables["dialogues"]
    statistics: dict[str, Any] = {"dialogues": dialogues.num_rows, "user turns": tables["turns"].num_rows}
    for false_class, count in sorted(Counter(dialogues["false_class"].to_pylist()).items()):
        statistics[f"dialogues with a false {false_class}"] = count
    return packaging.package(inputs, BEFORE_PACKAGE, tables, inputs.tables["70_validate/images"], statistics)


ITEMS = {"item": ("kept", "item_id")}
BEFORE_PACKAGE = (
    Stage(
        name="10_import",
        run=importing.run_images,
        config=("sources",),
        reads=(),
        writes={"images": Records("image"), "objects": Records("object")},
        accounts={"image": ("images", ""), "object": ("objects", "")},
    ),
    Stage(
        name="20_filter",
        run=_filter,
        config=("filter", "seed"),
        reads=("10_import/images", "10_import/objects"),
        writes={"kept": Records("fpco_item")},
        accounts=ITEMS,
    ),
    Stage(
        name="30_stratify",
        run=_stratify,
        config=("strata", "seed"),
        reads=("10_import/images", "20_filter/kept"),
        writes={"kept": Records("ranked"), "strata": Records("stratum")},
        accounts=ITEMS,
    ),
    Stage(
        name="40_images",
        run=partial(photographs.run, kind="item"),
        config=("sources", "images", "strata"),
        reads=("10_import/images", "30_stratify/kept", "refill/rejected"),
        writes={"kept": Records("selected"), "photographs": Records("photograph")},
        accounts=ITEMS,
        cause="image",
    ),
    Stage(
        name="45_screen",
        run=_screen,
        config=("decisions", "seed"),
        reads=("10_import/objects", "20_filter/kept", "40_images/kept", "40_images/photographs"),
        writes={"kept": Records("selected")},
        accounts=ITEMS,
        cause="screening",
    ),
    Stage(
        name="50_generate",
        run=_generate,
        config=("writer", "seed", "sources"),
        reads=(
            "10_import/images",
            "10_import/objects",
            "20_filter/kept",
            "40_images/photographs",
            "45_screen/kept",
        ),
        writes={"kept": Records("fpco_draft")},
        accounts=ITEMS,
        cause="writer",
    ),
    Stage(
        name="60_review",
        run=_review,
        config=("decisions", "seed"),
        reads=("10_import/objects", "20_filter/kept", "40_images/photographs", "50_generate/kept"),
        writes={"kept": Records("fpco_draft")},
        accounts=ITEMS,
        cause="review",
    ),
    Stage(
        name="70_validate",
        run=_validate,
        config=("images", "sources", "source_root", "writer"),
        reads=(
            "10_import/images",
            "20_filter/kept",
            "30_stratify/kept",
            "40_images/photographs",
            "60_review/kept",
        ),
        writes={
            "dialogues": Records("fpco_dialogue", ("image",)),
            "turns": Records("fpco_turn"),
            "images": Records("release_image"),
        },
        accounts={"dialogue": ("dialogues", "dialogue_id")},
    ),
)
STAGES = (
    *BEFORE_PACKAGE,
    Stage(
        name="80_package",
        run=_package,
        config=(*packaging.CONFIG, "writer"),
        reads=(
            *packaging.tables_read(BEFORE_PACKAGE),
            "30_stratify/strata",
            "40_images/photographs",
            "70_validate/turns",
            "70_validate/images",
        ),
        writes={},
        accounts={},
    ),
)
