# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 70_validate of FPCO-Dialog: the release's rows, with licence and credit of each photograph."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from groundset.errors import DataError, Problem
from groundset.fetching.wanted import release_addresses
from groundset.fpco.filter import CATEGORIES, COMPLEXITIES
from groundset.fpco.joins import rows_by
from groundset.fpco.shown import Box, box_px
from groundset.release.package import build_image_rows
from groundset.schema_types import arrow_schema
from groundset.stage import Inputs, Output

Row = dict[str, Any]


def _box_problem(dialogue_id: str, box: Box, size: Row) -> list[Problem]:
    inside = box[0] >= -1 and box[1] >= -1 and box[2] <= size["width"] + 1 and box[3] <= size["height"] + 1
    told = f"the box {list(box)} leaves the photograph of {size['width']} x {size['height']} px"
    return [] if inside else [Problem("dialogues", dialogue_id, "$.target_bbox_xyxy_px", told)]


def validate(inputs: Inputs) -> Output:
    """Joins dialogues, items, photographs and rights into the tables that a release holds."""
    drafts = inputs.tables["60_review/kept"].to_pylist()
    items = rows_by(inputs.tables["45_screen/items"], "item_id")
    strata = rows_by(inputs.tables["30_stratify/kept"], "item_id")
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    used = {draft["image_id"] for draft in drafts}
    measured = pa.Table.from_pylist([sizes[image_id] for image_id in sorted(used)], schema=arrow_schema("photograph"))
    root, sources = inputs.config["source_root"], inputs.config["sources"]
    drawn = [source["name"] for source in sources] if root["kind"] == "miniworld" else []
    policy = inputs.config["images"]["policy"]
    described = inputs.tables["10_import/images"]
    shown = described.filter(pc.is_in(described["image_id"], value_set=measured["image_id"].combine_chunks()))
    images = build_image_rows(shown, measured, policy, release_addresses(shown.to_pylist(), sources), drawn)
    rights = rows_by(images, "image_id")
    dialogues, turns, problems = [], [], []
    for draft in drafts:
        item = items[draft["item_id"]]
        size = sizes[draft["image_id"]]
        frame = (item["frame_width"], item["frame_height"])
        box = box_px(item["target_bbox_xyxy"], frame, (size["width"], size["height"]))
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
