# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The canonical tables of InViG, from what was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.sources.imported import box_array, sorted_table
from groundset.sources.invig_records import Box, Photo, Record, image_id, source_image_id
from groundset.verdicts import Verdict


@dataclass(frozen=True, eq=False)
class Objects:
    """The objects that stay.

    Attributes:
        rows: Each as (image_id, object_id, box as written), in the source's order within an image.
        boxes_px: float64, shape (n, 4), xyxy in pixels of the frame, in the same order.
        sizes: float64, shape (n, 2), width and height of the frame.
        labels: Image id to the classes of its objects b0, b1, ...; empty where the form names none.
    """

    rows: Sequence[tuple[str, str, Box]]
    boxes_px: NDArray[np.float64]
    sizes: NDArray[np.float64]
    labels: Mapping[str, tuple[str | None, ...]]

    def label(self, image: str, object_id: str) -> str | None:
        """Class of an object, if the form names it."""
        labels = self.labels.get(image, ())
        return labels[int(object_id[1:])] if labels and object_id.startswith("b") else None


def image_table(images: Mapping[str, Sequence[Photo]], source_name: str, photograph_licence: str | None) -> Any:
    """Table of `schemas/image`; the records of one image agree."""
    nothing = [None] * len(images)
    firsts = [photos[0] for photos in images.values()]
    global_ids = [min(photo.global_id for photo in photos) for photos in images.values()]
    columns = {
        **dict.fromkeys(("licence_source", "title", "author", "author_url", "landing_url", "original_url"), nothing),
        **dict.fromkeys(("flickr_id", "rotation"), nothing),
        "image_id": list(images),
        "source": ["invig"] * len(images),
        "source_name": [source_name] * len(images),
        "source_image_id": [
            source_image_id(photo.filename, global_id) for photo, global_id in zip(firsts, global_ids, strict=True)
        ],
        "file_name": [photo.filename for photo in firsts],
        "frame_width": [photo.width for photo in firsts],
        "frame_height": [photo.height for photo in firsts],
        "licence": [photograph_licence] * len(images),
    }
    return sorted_table("image", columns, ["image_id"])


def object_table(objects: Objects) -> Any:
    """Table of `schemas/object`."""
    nothing = [None] * len(objects.rows)
    unknown = np.full(len(objects.rows), -1, dtype=np.int64)
    columns = {
        "object_id": [object_id for _, object_id, _ in objects.rows],
        "image_id": [image for image, _, _ in objects.rows],
        "label": [objects.label(image, object_id) for image, object_id, _ in objects.rows],
        "category": nothing,
        "specificity": np.zeros(len(objects.rows), dtype=np.int64),
        "bbox_xyxy": box_array(objects.boxes_px),
        "frame_width": objects.sizes[:, 0],
        "frame_height": objects.sizes[:, 1],
        "is_group": unknown,
        "is_depiction": unknown,
        "mask_area": nothing,
    }
    return sorted_table("object", columns, ["image_id", "object_id"])


def _turns(record: Record) -> list[dict[str, Any]]:
    texts = record.utterances
    pairs = zip(texts[1::2], texts[2::2], strict=True)
    later = [{"turn": turn, "question": asked, "response": said} for turn, (asked, said) in enumerate(pairs, 2)]
    return [{"turn": 1, "question": None, "response": texts[0]}, *later]


def _candidates(
    field: str, image: str, record: Record, about: Sequence[str], there: Sequence[str], objects: Objects
) -> list[str]:
    boxed = [object_id for object_id in there if object_id.startswith("b")]
    if field == "ref_bboxes":
        return list(about)
    if field == "raw_target":
        return [f"b{target}" for target in record.targets]
    if field == "label":
        return [key for key in boxed if record.label is not None and objects.label(image, key) == record.label]
    return boxed


def dialogue_table(
    dialogues: Sequence[tuple[str, Record]],
    object_ids: Mapping[str, Sequence[str]],
    objects: Objects,
    split: str,
    field: str,
) -> tuple[Any, list[Verdict]]:
    """Table of `schemas/candvg_source_dialogue`, and a soft verdict on dialogues whose class no object has.

    Args:
        dialogues: The dialogues that stay, with their ids.
        object_ids: Dialogue id to the objects that its ref boxes are.
        objects: The objects that stay.
        split: Name of the split.
        field: What the initial candidates are: ref_bboxes, bboxes, label or raw_target.
    """
    of_image: dict[str, list[str]] = {}
    for image, object_id, _ in objects.rows:
        of_image.setdefault(image, []).append(object_id)
    images = [image_id(record.photo.filename) for _, record in dialogues]
    there = [of_image.get(image, []) for image in images]
    candidates = [
        _candidates(field, image, record, object_ids[name], ids, objects)
        for (name, record), image, ids in zip(dialogues, images, there, strict=True)
    ]
    told = "no object of its image is of class"
    flagged = [
        Verdict(name, "dialogue", "no_object_of_class", f"{told} {record.label}", hard=False)
        for (name, record), ids in zip(dialogues, candidates, strict=True)
        if field == "label" and not ids
    ]
    columns = {
        "dialogue_id": [name for name, _ in dialogues],
        "image_id": images,
        "split": [split] * len(dialogues),
        "source_dialogue_id": [record.id for _, record in dialogues],
        "label": [record.label for _, record in dialogues],
        "turns": [_turns(record) for _, record in dialogues],
        "object_ids": there,
        "initial_candidate_ids": candidates,
    }
    return sorted_table("candvg_source_dialogue", columns, ["dialogue_id"]), flagged
