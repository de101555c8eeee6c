# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG's filter: how many initial candidates a dialogue may have, and how unequal their areas may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from groundset import geometry
from groundset.errors import DataError, Problem
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict

# Bounds the memory of one block of pairs; the result does not depend on it.
_PAIRS_PER_BLOCK = 500_000
# The block test only finds dialogues worth a closer look, so it may be a little too generous, never too strict.
_SLACK = 1e-6


@dataclass(frozen=True)
class FilterRules:
    """The limits of the filter; every bound is inclusive.

    Attributes:
        min_candidates: Fewest initial candidates (paper: fewer than 2 are excluded).
        max_candidates: Most initial candidates (paper: more than 15 are excluded).
        max_area_ratio: Largest over smallest candidate area (paper: exceeding 20 is excluded).
        merge_iou: Boxes at this IoU or more are one object (design).
        count: Whether the limits are held against the boxes as listed or after merging.
    """

    min_candidates: int
    max_candidates: int
    max_area_ratio: float
    merge_iou: float
    count: Literal["raw", "unique"]


@dataclass(frozen=True)
class CandvgItem:
    """A dialogue that passed, as `schemas/candvg_item`."""

    item_id: str
    image_id: str
    candidates_raw: int
    candidates_unique: int
    area_ratio: float


@dataclass(frozen=True)
class ListedBoxes:
    """The boxes of the objects that each dialogue lists, one dialogue after the other.

    Attributes:
        boxes: float64, shape (n, 4), x_min, y_min, x_max, y_max in the record's frame.
        offsets: int64, shape (dialogues + 1,): dialogue i has the boxes from offsets[i] up to offsets[i + 1].
    """

    boxes: geometry.Boxes
    offsets: NDArray[np.int64]

    def of(self, row: int) -> geometry.Boxes:
        """Boxes of the dialogue in that row, in the order of its list; shape (k, 4)."""
        return self.boxes[self.offsets[row] : self.offsets[row + 1]]


def judge(dialogue_id: str, image_id: str, candidate_boxes: geometry.Boxes, rules: FilterRules) -> CandvgItem | Verdict:
    """Judges one dialogue by the boxes of its initial candidates (paper, dataset construction; design, CandVG).

    The rules are tried in this order, and the first that fails is the verdict: `zero_area` (a box without an area can
    be neither counted nor compared), `too_few_candidates`, `too_many_candidates`, `area_ratio` (over all listed boxes,
    so that it depends on neither the merging nor the order).

    Args:
        dialogue_id: The dialogue.
        image_id: Its image.
        candidate_boxes: float64, shape (n, 4), xyxy in any one frame.
        rules: The limits.

    Returns:
        The item if it passes, else a hard verdict that reports both counts.
    """
    boxes = np.asarray(candidate_boxes, dtype=np.float64).reshape(-1, 4)
    with np.errstate(invalid="ignore", over="ignore"):
        without_area = int(np.count_nonzero(_without_area(boxes)))
        unique = len(set(geometry.merge_near_identical(boxes, rules.merge_iou)))
        ratio = geometry.area_ratio(boxes)
    fault = _fault(dialogue_id, len(boxes), unique, ratio, without_area, rules)
    return fault or CandvgItem(dialogue_id, image_id, len(boxes), unique, ratio)


def apply(dialogues: pa.Table, objects: pa.Table, rules: FilterRules) -> tuple[pa.Table, list[Verdict]]:
    """Judges every dialogue; the same verdicts as `judge`, in bulk.

    Args:
        dialogues: Table of `schemas/candvg_source_dialogue`, in any order.
        objects: Table of `schemas/object` with every object that the dialogues list, in any order.
        rules: The limits.

    Returns:
        Kept rows as `schemas/candvg_item`, sorted by item_id, and the verdicts on all others, sorted by record.

    Raises:
        DataError: A dialogue lists an object that its image does not have, or an object is there twice.
    """
    listed = listed_boxes(dialogues, objects, "initial_candidate_ids")
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        raw = np.diff(listed.offsets)
        unique = _unique_counts(listed, raw, rules.merge_iou)
        without_area = _sums(_without_area(listed.boxes), listed.offsets)
        ratio = _area_ratios(listed, raw)
    counted = raw if rules.count == "raw" else unique
    kept = (without_area == 0) & (counted >= rules.min_candidates) & (counted <= rules.max_candidates)
    kept &= ~geometry.exceeds(ratio, rules.max_area_ratio)
    table = pa.table(
        {
            "item_id": dialogues["dialogue_id"].filter(pa.array(kept)),
            "image_id": dialogues["image_id"].filter(pa.array(kept)),
            "candidates_raw": raw[kept],
            "candidates_unique": unique[kept],
            "area_ratio": ratio[kept],
        },
        schema=arrow_schema("candvg_item"),
    ).sort_by("item_id")
    refused = np.flatnonzero(~kept)
    ids = dialogues["dialogue_id"].take(pa.array(refused)).to_pylist()
    verdicts = []
    for name, row in zip(ids, refused.tolist(), strict=True):
        fault = _fault(name, int(raw[row]), int(unique[row]), float(ratio[row]), int(without_area[row]), rules)
        if fault is None:
            raise AssertionError(f"the bulk filter and the single one disagree on {name}")
        verdicts.append(fault)
    return table, sorted(verdicts, key=lambda verdict: verdict.record_id)


def listed_boxes(dialogues: pa.Table, objects: pa.Table, column: str) -> ListedBoxes:
    """The boxes of the objects that a column of object ids names.

    Args:
        dialogues: Table with `dialogue_id`, `image_id` and the list column.
        objects: Table of `schemas/object`.
        column: `initial_candidate_ids` or `object_ids`.

    Raises:
        DataError: An object is missing, is there twice, or has no four coordinates; all of them are named.
    """
    lists = _one_array(dialogues[column])
    parents = pc.list_parent_indices(lists)
    names = _keys(_one_array(dialogues["image_id"]).take(parents), pc.list_flatten(lists))
    known = _keys(_one_array(objects["image_id"]), _one_array(objects["object_id"]))
    _require_objects(known, objects)
    rows = pc.index_in(names, value_set=known)
    if rows.null_count:
        _refuse_missing(dialogues, column, parents, names, rows)
    boxes = pc.list_flatten(_one_array(objects["bbox_xyxy"])).to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    chosen = boxes.astype(np.float64).reshape(-1, 4)[rows.to_numpy(zero_copy_only=False).astype(np.int64)]
    return ListedBoxes(chosen, offsets)


def _fault(
    dialogue_id: str, raw: int, unique: int, ratio: float, without_area: int, rules: FilterRules
) -> Verdict | None:
    counts = f"{raw} initial candidates listed, {unique} after merging"
    counted = raw if rules.count == "raw" else unique

    def verdict(rule: str, detail: str, measured: float | None, limit: float | None) -> Verdict:
        return Verdict(dialogue_id, "dialogue", rule, f"{detail} ({counts})", measured, limit)

    if without_area:
        return verdict("zero_area", f"boxes without an area: {without_area}", float(without_area), 0.0)
    if counted < rules.min_candidates:
        detail = f"fewer than {rules.min_candidates} {rules.count} candidates"
        return verdict("too_few_candidates", detail, float(counted), float(rules.min_candidates))
    if counted > rules.max_candidates:
        detail = f"more than {rules.max_candidates} {rules.count} candidates"
        return verdict("too_many_candidates", detail, float(counted), float(rules.max_candidates))
    if geometry.exceeds(ratio, rules.max_area_ratio):
        detail = f"largest area over smallest is {ratio:.6g}, above {rules.max_area_ratio:g}"
        return verdict("area_ratio", detail, ratio if math.isfinite(ratio) else None, rules.max_area_ratio)
    return None


def _without_area(boxes: geometry.Boxes) -> NDArray[np.bool_]:
    areas = geometry.area(boxes)
    usable: NDArray[np.bool_] = (areas > 0) & np.isfinite(areas)
    return ~usable


def _sums(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    totals = np.concatenate([[0], np.cumsum(flags)])
    sums: NDArray[np.int64] = totals[offsets[1:]] - totals[offsets[:-1]]
    return sums


def _area_ratios(listed: ListedBoxes, raw: NDArray[np.int64]) -> NDArray[np.float64]:
    ratios = np.ones(len(raw))
    filled = raw > 0
    if not filled.any():
        return ratios
    areas, starts = geometry.area(listed.boxes), listed.offsets[:-1][filled]
    largest, smallest = np.maximum.reduceat(areas, starts), np.minimum.reduceat(areas, starts)
    ratios[filled] = np.where(smallest > 0, largest / smallest, np.inf)
    return ratios


def _unique_counts(listed: ListedBoxes, raw: NDArray[np.int64], iou: float) -> NDArray[np.int64]:
    unique = raw.copy()
    for row in np.flatnonzero(_may_merge(listed, raw, iou)).tolist():
        unique[row] = len(set(geometry.merge_near_identical(listed.of(row), iou)))
    return unique


def _may_merge(listed: ListedBoxes, raw: NDArray[np.int64], iou: float) -> NDArray[np.bool_]:
    """Which dialogues have a pair that may be one object: dialogues of one size are compared in one block."""
    found = np.zeros(len(raw), dtype=bool)
    for size in np.unique(raw[raw > 1]).tolist():
        members = np.flatnonzero(raw == size)
        first, second = np.triu_indices(size, k=1)
        step = max(1, _PAIRS_PER_BLOCK // len(first))
        for start in range(0, len(members), step):
            block = members[start : start + step]
            boxes = listed.boxes[listed.offsets[block][:, None] + np.arange(size)]
            one, other = boxes[:, first], boxes[:, second]
            sides = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
            sides = np.clip(sides, 0.0, None)
            shared = sides[..., 0] * sides[..., 1]
            areas = geometry.area(boxes.reshape(-1, 4)).reshape(-1, size)
            union = areas[:, first] + areas[:, second] - shared
            found[block] = (shared >= (iou - _SLACK) * union).any(axis=1)
    return found


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _keys(image_ids: pa.Array, object_ids: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(image_ids, object_ids, "\0")


def _require_objects(known: pa.Array, objects: pa.Table) -> None:
    problems = []
    if len(known.unique()) != len(known):
        counts = known.value_counts().to_pylist()
        doubled = sorted(row["values"] for row in counts if row["counts"] > 1)
        problems += [Problem("", key.replace("\0", " "), "$.object_id", "the object is there twice") for key in doubled]
    lengths = pc.fill_null(pc.list_value_length(_one_array(objects["bbox_xyxy"])), 0).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(lengths != 4).tolist():
        label = known[row].as_py().replace("\0", " ")
        problems.append(Problem("", label, "$.bbox_xyxy", "a box has four coordinates"))
    if problems:
        raise DataError("The objects of the dialogues cannot be used", problems)


def _refuse_missing(dialogues: pa.Table, column: str, parents: pa.Array, names: pa.Array, rows: pa.Array) -> None:
    absent = rows.is_null()
    ids = dialogues["dialogue_id"].take(parents.filter(absent)).to_pylist()
    problems = []
    for dialogue_id, key in zip(ids, names.filter(absent).to_pylist(), strict=True):
        image_id, _, object_id = (key or "").partition("\0")
        message = f"names the object {object_id}, which the image {image_id} does not have"
        problems.append(Problem("", dialogue_id, f"$.{column}", message))
    raise DataError("Dialogues name objects that do not exist", problems)
