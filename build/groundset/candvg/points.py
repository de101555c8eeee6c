# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG's points: people mark every plausible object at every turn, and each point must mean exactly one object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from groundset import geometry
from groundset.candvg.filter import listed_boxes
from groundset.candvg.screening import require_photographs
from groundset.review.decisions import Decisions
from groundset.review.queue import Item, item, split
from groundset.verdicts import Verdict

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MergedObjects:
    """The objects of one photograph that a point may mean.

    Attributes:
        object_ids: One id per object after merging, in the source's order.
        boxes_px: float64, shape (n, 4), xyxy in pixels of the photograph, in the same order.
        representative: Every listed object id to the id that stands for it.
    """

    object_ids: tuple[str, ...]
    boxes_px: geometry.Boxes
    representative: Mapping[str, str]


@dataclass(frozen=True)
class PlacedPoint:
    """A point in pixels of the photograph, and the object it means."""

    x_px: float
    y_px: float
    object_id: str


@dataclass(frozen=True)
class Resolved:
    """A dialogue whose every point means one object.

    Attributes:
        objects: The objects of its photograph.
        candidate_ids_by_turn: Candidate set of each turn, ids sorted.
        points_by_turn: Points of each turn, in the annotator's order.
    """

    objects: MergedObjects
    candidate_ids_by_turn: tuple[tuple[str, ...], ...]
    points_by_turn: tuple[tuple[PlacedPoint, ...], ...]


@dataclass(frozen=True)
class Resolution:
    """What the points say of the dialogues in the queue.

    Attributes:
        resolved: Dialogue id to its candidate sets, in order of the id.
        rejected: A hard verdict on each dialogue that cannot be resolved, sorted by record.
        waiting: Items of the other dialogues that nobody has answered yet, sorted by item and turn.
    """

    resolved: Mapping[str, Resolved]
    rejected: tuple[Verdict, ...]
    waiting: tuple[Item, ...]


def merge_objects(object_ids: Sequence[str], boxes_px: geometry.Boxes, merge_iou: float) -> MergedObjects:
    """Merges near-identical boxes; the first listed of a group stands for it (design, CandVG: filter).

    Args:
        object_ids: The photograph's objects in the source's order.
        boxes_px: float64, shape (n, 4), xyxy in pixels, in the same order.
        merge_iou: Boxes at this IoU or more are one object.
    """
    boxes = np.asarray(boxes_px, dtype=np.float64).reshape(-1, 4)
    lowest = geometry.merge_near_identical(boxes, merge_iou)
    kept = sorted(set(lowest))
    standing = {object_id: object_ids[low] for object_id, low in zip(object_ids, lowest, strict=True)}
    return MergedObjects(tuple(object_ids[index] for index in kept), boxes[kept].reshape(-1, 4), standing)


def queue_items(dialogues: pa.Table, image_sha256: Mapping[str, str]) -> list[Item]:
    """One item per dialogue and turn, sorted by both; no boxes, so that people point at what they see.

    Args:
        dialogues: Table of `schemas/candvg_source_dialogue`, the screened rows only.
        image_sha256: Image id to sha256 of its photograph.

    Raises:
        DataError: A dialogue has no photograph.
    """
    require_photographs(dialogues, image_sha256)
    items = []
    for dialogue in dialogues.select(["dialogue_id", "image_id", "turns"]).to_pylist():
        for turn in range(1, len(dialogue["turns"]) + 1):
            shown = {
                "image_id": dialogue["image_id"],
                "image_sha256": image_sha256[dialogue["image_id"]],
                "turns": dialogue["turns"][:turn],
            }
            items.append(item("points", dialogue["dialogue_id"], turn, shown))
    return sorted(items, key=lambda entry: (str(entry["item_id"]), int(entry["turn"])))


def resolve(
    dialogue_id: str, points_by_turn: Sequence[Points], objects: MergedObjects, tie_px: float
) -> Resolved | Verdict:
    """Takes every point to the object whose box centre is nearest, or rejects the dialogue (design, CandVG: resolve).

    The first turn that fails gives the verdict. Within a turn the rules are tried in this order, each over all points:

    1. `empty_set`: the turn has no point.
    2. `tie`: the two nearest centres of a point differ by less than `tie_px`. It comes before `miss`, because which box
       a point misses is open while two are equally near.
    3. `miss`: a point lies outside the box with the nearest centre; the border belongs to the box.
    4. `not_one_to_one`: two points mean the same object.
    5. `unambiguous_after_points`: turn 1 has a single object.

    No object is ever picked among several. Later sets may have one object or more; a last set of several stays.

    Args:
        dialogue_id: The dialogue.
        points_by_turn: For each turn float64 of shape (k, 2), x and y in pixels of the photograph.
        objects: The objects of the photograph, merged.
        tie_px: Least difference between the two nearest centres, in pixels.

    Returns:
        The candidate sets, or one hard verdict whose detail names the turn. It does not depend on the order of the
        points of a turn, nor on that of the objects.
    """
    placed_by_turn: list[tuple[PlacedPoint, ...]] = []
    for turn, given in enumerate(points_by_turn, start=1):
        found = _place(np.asarray(given, dtype=np.float64).reshape(-1, 2), objects, tie_px)
        if isinstance(found, _Fault):
            return _verdict(dialogue_id, turn, found)
        distinct = len({point.object_id for point in found})
        if distinct < len(found):
            detail = f"{len(found)} points mean {distinct} objects"
            return _verdict(dialogue_id, turn, _Fault("not_one_to_one", detail, len(found), distinct))
        if turn == 1 and distinct == 1:
            detail = "the first utterance leaves a single object"
            return _verdict(dialogue_id, turn, _Fault("unambiguous_after_points", detail, 1, 2))
        placed_by_turn.append(found)
    sets = tuple(tuple(sorted(point.object_id for point in placed)) for placed in placed_by_turn)
    return Resolved(objects, sets, tuple(placed_by_turn))


def apply(
    dialogues: pa.Table,
    objects: pa.Table,
    queue: Iterable[Item],
    decisions: Decisions,
    merge_iou: float,
    tie_px: float,
) -> Resolution:
    """Resolves every dialogue of the queue as far as it has been answered.

    A dialogue is rejected as soon as its answered turns, counted from the first without a gap, show it: the turns after
    could not change the verdict, and nobody needs to answer them.

    Args:
        dialogues: Table of `schemas/candvg_source_dialogue` with every dialogue of the queue.
        objects: Table of `schemas/object`; boxes in pixels of the stored photograph.
        queue: Items of `queue_items`.
        decisions: What people decided.
        merge_iou: Boxes at this IoU or more are one object.
        tie_px: Least difference between the two nearest centres, in pixels.

    Raises:
        DataError: A dialogue lists an object that its image does not have.
    """
    answered, waiting = split(queue, decisions)
    answers = {(entry["item_id"], entry["turn"]): decision.value["points_px"] for entry, decision in answered}
    asked = {entry["item_id"] for entry, _ in answered} | {entry["item_id"] for entry in waiting}
    boxes = listed_boxes(dialogues, objects, "object_ids")
    resolved: dict[str, Resolved] = {}
    rejected: list[Verdict] = []
    for row, dialogue in enumerate(dialogues.select(["dialogue_id", "turns", "object_ids"]).to_pylist()):
        dialogue_id, turns = dialogue["dialogue_id"], len(dialogue["turns"])
        if dialogue_id not in asked:
            continue
        given: list[Points] = []
        while (dialogue_id, len(given) + 1) in answers:
            given.append(np.asarray(answers[dialogue_id, len(given) + 1], dtype=np.float64).reshape(-1, 2))
        merged = merge_objects(dialogue["object_ids"], boxes.of(row), merge_iou)
        result = resolve(dialogue_id, given, merged, tie_px)
        if isinstance(result, Verdict):
            rejected.append(result)
        elif len(given) == turns:
            resolved[dialogue_id] = result
    settled = {verdict.record_id for verdict in rejected}
    return Resolution(
        {dialogue_id: resolved[dialogue_id] for dialogue_id in sorted(resolved)},
        tuple(sorted(rejected, key=lambda verdict: verdict.record_id)),
        tuple(entry for entry in waiting if entry["item_id"] not in settled),
    )


@dataclass(frozen=True)
class _Fault:
    rule: str
    detail: str
    measured: float | None
    limit: float


def _verdict(dialogue_id: str, turn: int, fault: _Fault) -> Verdict:
    measured = None if fault.measured is None else float(fault.measured)
    return Verdict(dialogue_id, "dialogue", fault.rule, f"turn {turn}: {fault.detail}", measured, float(fault.limit))


def _place(points: Points, objects: MergedObjects, tie_px: float) -> tuple[PlacedPoint, ...] | _Fault:
    if len(points) == 0:
        return _Fault("empty_set", "no object is marked", 0, 1)
    if not objects.object_ids:
        return _Fault("miss", "the photograph has no object", None, 0)
    # a square root of squares, not hypot: the same bits on every machine
    with np.errstate(over="ignore", invalid="ignore"):
        steps = points[:, None, :] - geometry.centres(objects.boxes_px)[None, :, :]
        distance = np.sqrt(steps[..., 0] * steps[..., 0] + steps[..., 1] * steps[..., 1])
        if distance.shape[1] > 1:
            two = np.partition(distance, 1, axis=1)
            gaps = two[:, 1] - two[:, 0]
            tied = int(np.count_nonzero(gaps < tie_px))
            if tied:
                detail = f"points whose two nearest centres differ by less than {tie_px:g} px: {tied}"
                return _Fault("tie", detail, float(np.min(gaps[gaps < tie_px])), tie_px)
    nearest = np.argmin(distance, axis=1)
    boxes = objects.boxes_px[nearest]
    outside = np.maximum(np.maximum(boxes[:, :2] - points, points - boxes[:, 2:]), 0.0).max(axis=1)
    missing = int(np.count_nonzero(~(outside <= 0)))
    if missing:
        furthest = float(outside.max())
        detail = f"points outside the box with the nearest centre: {missing}"
        return _Fault("miss", detail, furthest if math.isfinite(furthest) else None, 0)
    ids = [objects.object_ids[index] for index in nearest.tolist()]
    return tuple(PlacedPoint(x, y, object_id) for (x, y), object_id in zip(points.tolist(), ids, strict=True))
