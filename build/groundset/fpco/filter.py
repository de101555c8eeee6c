# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog's eligibility: which image can show which complexity of which category, by its boxes alone.

The paper selects by hand; these rules only propose, and a person confirms (design, FPCO-Dialog: eligibility).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from groundset import geometry
from groundset.sampling import ranked
from groundset.schema_types import arrow_schema
from groundset.splits import group_slices, walk
from groundset.verdicts import Verdict

CATEGORIES = ("person", "vehicle", "animal", "food")
COMPLEXITIES = ("single", "separated", "overlapping")


@dataclass(frozen=True)
class FilterRules:
    """The limits, all ours and all inclusive.

    Attributes:
        single_min_area_share: Smallest share of the image for the one object of `single`.
        single_max_area_share: Largest share of the image for it.
        min_objects: Fewest objects of `separated` and `overlapping`.
        max_objects: Most objects of them.
        max_area_ratio: Largest object's area over the smallest's.
        separated_max_overlap: Largest intersection over the smaller box of any pair for `separated`.
        overlapping_min_overlap: What some pair reaches in `overlapping`.
        merge_iou: Boxes at this IoU or more are one object.
        target_min_area_share: Smallest share of the image for a target.
    """

    single_min_area_share: float
    single_max_area_share: float
    min_objects: int
    max_objects: int
    max_area_ratio: float
    separated_max_overlap: float
    overlapping_min_overlap: float
    merge_iou: float
    target_min_area_share: float


@dataclass(frozen=True)
class Eligible:
    """What the filter says.

    Attributes:
        items: Table of `schemas/fpco_item`, sorted by item_id.
        verdicts: One hard verdict on each image and category that fits no cell, and on each image without any object
            of a category (under the image's own id); soft ones on items with a thing whose labels contradict.
        entered: Record id of everything that was judged, sorted.
    """

    items: pa.Table
    verdicts: tuple[Verdict, ...]
    entered: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """The objects of one category in one image, in order of their ids.

    Attributes:
        image_id: The image.
        category: The category.
        object_ids: Ids, n of them.
        labels: Class names, n of them.
        specificities: How specific their classes are within the category, n of them.
        boxes: float64, shape (n, 4), xyxy in the frame.
        frame: Width and height of the frame.
        holds_group: Whether some box is a group or crowd.
        holds_depiction: Whether some box is a picture or model of the thing.
    """

    image_id: str
    category: str
    object_ids: tuple[str, ...]
    labels: tuple[str, ...]
    specificities: tuple[int, ...]
    boxes: geometry.Boxes
    frame: tuple[float, float]
    holds_group: bool
    holds_depiction: bool

    @property
    def item_id(self) -> str:
        """image_id and category."""
        return f"{self.image_id}-{self.category}"


@dataclass(frozen=True)
class Measures:
    """What the rules look at, for n objects.

    Attributes:
        area_ratio: Largest area over the smallest.
        overlap: Largest intersection over the smaller box of any pair; 0 for one object.
        nearest_iou: Largest IoU of any pair; 0 for one object.
        area_shares: Each box's area over the frame's, shape (n,).
    """

    area_ratio: float
    overlap: float
    nearest_iou: float
    area_shares: NDArray[np.float64]


def measure(boxes: geometry.Boxes, frame_areas: NDArray[np.float64]) -> list[Measures]:
    """Measures many groups of equal size at once.

    Args:
        boxes: float64, shape (groups, n, 4).
        frame_areas: Area of each group's frame, shape (groups,).
    """
    areas = geometry.area(boxes)
    smallest = areas.min(axis=1)
    ratio = np.divide(areas.max(axis=1), smallest, out=np.full(len(boxes), np.inf), where=smallest > 0)
    first, second = np.triu_indices(boxes.shape[1], k=1)
    over_smaller = geometry.intersection_over_smaller_matrix(boxes)[:, first, second].max(axis=1, initial=0.0)
    iou = geometry.iou_matrix(boxes)[:, first, second].max(axis=1, initial=0.0)
    shares = areas / frame_areas[:, None]
    rows = zip(ratio.tolist(), over_smaller.tolist(), iou.tolist(), shares, strict=True)
    return [Measures(*row) for row in rows]


def _measured_alone(group: Group) -> Measures:
    return measure(group.boxes[None], np.array([group.frame[0] * group.frame[1]]))[0]


def _things(group: Group, rules: FilterRules) -> list[list[int]]:
    """The objects that are one thing each, by their boxes; the one that stands for the thing comes first.

    A thing that the source labels twice, as Person and Man, is what its most specific label says (design, section 8).
    Labels that are equally specific say nothing of each other: the lowest id stands.
    """
    found: dict[int, list[int]] = {}
    for index, lowest in enumerate(geometry.merge_near_identical(group.boxes, rules.merge_iou)):
        found.setdefault(lowest, []).append(index)
    return [sorted(same, key=lambda index: -group.specificities[index]) for same in found.values()]


def _merged(group: Group, rules: FilterRules) -> Group:
    kept = sorted(same[0] for same in _things(group, rules))
    return Group(
        group.image_id,
        group.category,
        tuple(group.object_ids[index] for index in kept),
        tuple(group.labels[index] for index in kept),
        tuple(group.specificities[index] for index in kept),
        group.boxes[kept],
        group.frame,
        group.holds_group,
        group.holds_depiction,
    )


def _complexity(count: int, measured: Measures, rules: FilterRules) -> tuple[str, str, float, float]:
    """Complexity and nothing, or nothing and the rule that fails with measured value and limit."""
    if count == 1:
        share = float(measured.area_shares[0])
        # a box without area is too small even for a limit of 0
        if share == 0 or not geometry.reaches(share, rules.single_min_area_share):
            return "", "single_too_small", share, rules.single_min_area_share
        if geometry.exceeds(share, rules.single_max_area_share):
            return "", "single_too_large", share, rules.single_max_area_share
        return "single", "", 0.0, 0.0
    if count < rules.min_objects:
        return "", "too_few_objects", count, rules.min_objects
    if count > rules.max_objects:
        return "", "too_many_objects", count, rules.max_objects
    if geometry.exceeds(measured.area_ratio, rules.max_area_ratio):
        return "", "area_ratio", measured.area_ratio, rules.max_area_ratio
    if not geometry.exceeds(measured.overlap, rules.separated_max_overlap):
        return "separated", "", 0.0, 0.0
    if geometry.reaches(measured.overlap, rules.overlapping_min_overlap):
        return "overlapping", "", 0.0, 0.0
    return "", "overlap_unclear", measured.overlap, rules.overlapping_min_overlap


def judge(group: Group, rules: FilterRules, seed: str, measured: Measures | None = None) -> dict[str, Any] | Verdict:
    """Judges one category of one image.

    The rules are tried in this order: `group_box`, `depiction`, then of the merged objects `single_too_small`,
    `single_too_large`, `too_few_objects`, `too_many_objects`, `area_ratio`, `overlap_unclear`, `target_too_small`.

    Args:
        group: The category's objects.
        rules: The limits.
        seed: Seed of the target's choice.
        measured: Measures of the group as it stands, if they are known.

    Returns:
        A row of `schemas/fpco_item`, or the verdict.
    """
    item_id = group.item_id
    if group.holds_group:
        return Verdict(item_id, "item", "group_box", f"a box of category {group.category} holds a group or crowd")
    if group.holds_depiction:
        return Verdict(item_id, "item", "depiction", f"a box of category {group.category} holds a depiction")
    found = measured or _measured_alone(group)
    unique = group
    if geometry.reaches(found.nearest_iou, rules.merge_iou):
        unique = _merged(group, rules)
        found = _measured_alone(unique)
    count = len(unique.object_ids)
    complexity, rule, value, limit = _complexity(count, found, rules)
    if not complexity:
        told = f"{count} {group.category} objects after merging, {len(group.object_ids)} before: {rule} {value:.4g}"
        if rule == "overlap_unclear":
            told += f", above {rules.separated_max_overlap:g} and below {rules.overlapping_min_overlap:g}"
        return Verdict(item_id, "item", rule, told, value if np.isfinite(value) else None, limit)
    large = {
        object_id: index
        for index, object_id in enumerate(unique.object_ids)
        if geometry.reaches(found.area_shares[index], rules.target_min_area_share)
    }
    if not large:
        share = float(found.area_shares.max())
        told = f"the largest {group.category} covers {share:.4f} of the image"
        return Verdict(item_id, "item", "target_too_small", told, share, rules.target_min_area_share)
    target = large[ranked(large, seed, item_id)[0]]
    return {
        "item_id": item_id,
        "image_id": group.image_id,
        "category": group.category,
        "complexity": complexity,
        "target_object_id": unique.object_ids[target],
        "target_label": unique.labels[target],
        "target_bbox_xyxy": unique.boxes[target].tolist(),
        "frame_width": group.frame[0],
        "frame_height": group.frame[1],
        "object_ids": list(unique.object_ids),
        "object_labels": list(unique.labels),
        "objects_raw": len(group.object_ids),
        "objects_unique": count,
        "target_area_share": float(found.area_shares[target]),
        "area_ratio": found.area_ratio,
        "overlap": found.overlap,
    }


def groups(objects: pa.Table) -> list[Group]:
    """The objects of each category of each image.

    Args:
        objects: Table of `schemas/object`, sorted by image; objects without a category are passed over.
    """
    named = objects.filter(pc.is_valid(objects["category"]))
    order = [("image_id", "ascending"), ("category", "ascending"), ("object_id", "ascending")]
    named = named.sort_by(order).combine_chunks()
    if named.num_rows == 0:
        return []
    image_ids, categories = named["image_id"].to_pylist(), named["category"].to_pylist()
    object_ids, labels = named["object_id"].to_pylist(), named["label"].to_pylist()
    specificities = named["specificity"].to_pylist()
    boxes = np.asarray(pc.list_flatten(named["bbox_xyxy"])).reshape(-1, 4)
    frames = list(zip(named["frame_width"].to_pylist(), named["frame_height"].to_pylist(), strict=True))
    keys = list(zip(image_ids, categories, strict=True))
    starts = [row for row, key in enumerate(keys) if row == 0 or keys[row - 1] != key]
    grouped = np.maximum.reduceat(np.asarray(named["is_group"]), starts).tolist()
    depicted = np.maximum.reduceat(np.asarray(named["is_depiction"]), starts).tolist()
    found = []
    for number, (start, stop) in enumerate(zip(starts, [*starts[1:], len(keys)], strict=True)):
        found.append(
            Group(
                image_ids[start],
                categories[start],
                tuple(object_ids[start:stop]),
                tuple(label or "" for label in labels[start:stop]),
                tuple(specificities[start:stop]),
                boxes[start:stop],
                frames[start],
                grouped[number] == 1,
                depicted[number] == 1,
            )
        )
    return found


def _measured(found: list[Group]) -> Iterator[tuple[Group, Measures]]:
    by_size: dict[int, list[Group]] = {}
    for group in found:
        by_size.setdefault(len(group.object_ids), []).append(group)
    for size, members in sorted(by_size.items()):
        step = max(1, 500_000 // (size * size))
        for start in range(0, len(members), step):
            block = members[start : start + step]
            areas = np.array([group.frame[0] * group.frame[1] for group in block])
            yield from zip(block, measure(np.stack([group.boxes for group in block]), areas), strict=True)


def contradictions(group: Group, rules: FilterRules) -> list[Verdict]:
    """Soft verdicts on an item of which one thing has several labels that are equally specific, as Man and Woman."""
    found = []
    for same in _things(group, rules):
        rivals = [index for index in same if group.specificities[index] == group.specificities[same[0]]]
        if len({group.labels[index] for index in rivals}) > 1:
            told = " and ".join(f"{group.object_ids[index]} ({group.labels[index]})" for index in rivals)
            detail = f"{told} are one thing by their boxes, taken as {group.labels[rivals[0]]}"
            found.append(Verdict(group.item_id, "item", "labels_contradict", detail, hard=False))
    return found


def _judge_slice(objects: pa.Table, rules: FilterRules, seed: str) -> list[dict[str, Any] | Verdict]:
    entries: list[dict[str, Any] | Verdict] = []
    for group, measured in _measured(groups(objects)):
        entry = judge(group, rules, seed, measured)
        entries.append(entry)
        if isinstance(entry, dict) and geometry.reaches(measured.nearest_iou, rules.merge_iou):
            entries += contradictions(group, rules)
    return entries


def apply(images: pa.Table, objects: pa.Table, rules: FilterRules, seed: str) -> Eligible:
    """Judges every category of every image.

    Args:
        images: Table of `schemas/image`.
        objects: Table of `schemas/object`, sorted by image.
        rules: The limits.
        seed: Seed of the targets' choice.
    """
    slices = walk(partial(_judge_slice, rules=rules, seed=seed), group_slices(objects, "image_id"))
    judged = [entry for piece in slices for entry in piece]
    rows = sorted((entry for entry in judged if isinstance(entry, dict)), key=lambda row: str(row["item_id"]))
    verdicts = [entry for entry in judged if isinstance(entry, Verdict)]
    named = objects.filter(pc.is_valid(objects["category"]))
    empty = images.filter(pc.invert(pc.is_in(images["image_id"], value_set=named["image_id"].combine_chunks())))
    verdicts += [
        Verdict(image_id, "item", "no_object_of_a_category", "no person, vehicle, animal or food is marked")
        for image_id in empty["image_id"].to_pylist()
    ]
    rejected = [verdict.record_id for verdict in verdicts if verdict.hard]
    entered = sorted([*(str(row["item_id"]) for row in rows), *rejected])
    table = pa.Table.from_pylist(rows, schema=arrow_schema("fpco_item"))
    return Eligible(
        table, tuple(sorted(verdicts, key=lambda verdict: (verdict.record_id, verdict.detail))), tuple(entered)
    )
