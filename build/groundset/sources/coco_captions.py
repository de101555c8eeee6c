# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads COCO captions files, which lie beside the instances files and tell of the same images."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from groundset import arrow_columns
from groundset.sources import coco_file
from groundset.sources.imported import object_record_id, one_per_id, sorted_table, sorted_verdicts
from groundset.verdicts import Verdict


@dataclass(frozen=True)
class Captions:
    """The content of a captions file; rows_in == rows of the table + hard verdicts.

    Attributes:
        captions: Table of `schemas/coco_caption`, sorted by image_id, then caption_id.
        rejected: Hard verdicts, one for each row that was left out.
        flagged: Soft verdicts.
        rows_in: Captions that the file holds.
    """

    captions: pa.Table
    rejected: tuple[Verdict, ...]
    flagged: tuple[Verdict, ...]
    rows_in: int


def _verdict(row: coco_file.Caption, rule: str, detail: str, *, hard: bool) -> Verdict:
    record_id = object_record_id(coco_file.image_id(row.image_id), f"c{row.id}")
    return Verdict(record_id, "caption", rule, detail, hard=hard)


def read_captions(captions: Path, *, image_ids: Collection[str] | None = None) -> Captions:
    """Reads a COCO captions file, of 2014 or 2017 alike.

    A caption is kept as it is written. Image ids are those of `groundset.sources.coco.read`.

    Args:
        captions: The captions file; its keys may come in any order.
        image_ids: Ids of the images that are there; a caption of another one is flagged.

    Returns:
        The captions. Hard rule: duplicate_id. Soft rules: unknown_image, blank_caption.

    Raises:
        DataError: The file cannot be read or is no captions file.
    """
    content = coco_file.read_captions(captions)
    rows, doubled = one_per_id(content, lambda row: row.id)
    flagged = [
        _verdict(row, "blank_caption", "the caption is blank", hard=False) for row in rows if not row.caption.strip()
    ]
    if image_ids is not None:
        known = set(image_ids)
        flagged += [
            _verdict(row, "unknown_image", f"image_id {row.image_id} is not among the images", hard=False)
            for row in rows
            if coco_file.image_id(row.image_id) not in known
        ]
    columns = {
        "image_id": arrow_columns.id_texts("coco-", np.array([row.image_id for row in rows], dtype=np.int64)),
        "caption_id": arrow_columns.id_texts("c", np.array([row.id for row in rows], dtype=np.int64)),
        "caption": [row.caption for row in rows],
    }
    return Captions(
        captions=sorted_table("coco_caption", columns, ["image_id", "caption_id"]),
        rejected=sorted_verdicts(_verdict(row, "duplicate_id", detail, hard=True) for row, detail in doubled),
        flagged=sorted_verdicts(flagged),
        rows_in=len(content),
    )
