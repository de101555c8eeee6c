# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What several stages join: rows by key, the objects of some images, and their boxes in pixels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from groundset.fpco.shown import Box, box_px
from groundset.stage import Inputs

Row = dict[str, Any]


def rows_by(table: pa.Table, key: str) -> dict[str, Row]:
    """Rows of a table by one of their columns."""
    return {row[key]: row for row in table.to_pylist()}


def objects_of(inputs: Inputs, image_ids: set[str]) -> dict[str, list[Row]]:
    """Image id to its objects, of those images."""
    table = inputs.tables["10_import/objects"]
    wanted = pa.array(sorted(image_ids), type=pa.string())
    found: dict[str, list[Row]] = {image_id: [] for image_id in image_ids}
    for row in table.filter(pc.is_in(table["image_id"], value_set=wanted)).to_pylist():
        found[row["image_id"]].append(row)
    return found


def boxes_px(objects: Mapping[str, list[Row]], sizes: Mapping[str, Row]) -> dict[str, dict[str, Box]]:
    """Image id to object id to box in pixels."""
    boxes: dict[str, dict[str, Box]] = {}
    for image_id, rows in objects.items():
        size = (sizes[image_id]["width"], sizes[image_id]["height"])
        boxes[image_id] = {
            row["object_id"]: box_px(row["bbox_xyxy"], (row["frame_width"], row["frame_height"]), size) for row in rows
        }
    return boxes


def photograph_folders(inputs: Inputs) -> dict[str, Path]:
    """Image id to the folder its photograph lies in."""
    folders = {source["name"]: inputs.source_root / source["images"] for source in inputs.config["sources"]}
    images = inputs.tables["10_import/images"]
    names = zip(images["image_id"].to_pylist(), images["source_name"].to_pylist(), strict=True)
    return {image_id: folders[name] for image_id, name in names}
