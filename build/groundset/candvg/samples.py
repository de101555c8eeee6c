# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG's samples: one per accumulated context, with the dialogues and the points they come from.

Boxes are in pixels of the stored photograph: the objects that points were resolved to were brought to its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from groundset.candvg.points import Resolved
from groundset.candvg.strata import bin_name
from groundset.errors import DataError, Problem
from groundset.schema_types import arrow_schema

# What packaging joins from the photographs.
JOINED_AT_PACKAGING = ("image", "licence", "credit")

Row = dict[str, Any]


class Initial(NamedTuple):
    """How many initial candidates a dialogue has: as the source lists them, and after merging."""

    raw: int
    unique: int


@dataclass(frozen=True)
class CandvgTables:
    """The annotation side of a CandVG release.

    Attributes:
        samples: `schemas/candvg_sample` without image, licence and credit, sorted by sample_id.
        dialogues: `schemas/candvg_dialogue`, sorted by dialogue_id.
        points: `schemas/candvg_point`, sorted by dialogue_id, turn and point.
    """

    samples: pa.Table
    dialogues: pa.Table
    points: pa.Table


def build(dialogues: pa.Table, initial: Mapping[str, Initial], resolved: Mapping[str, Resolved]) -> CandvgTables:
    """Makes the rows of every resolved dialogue (paper: one object left is CVG, several are CSVG).

    Args:
        dialogues: Table of `schemas/candvg_source_dialogue`; rows that are not resolved are passed over.
        initial: Dialogue id to its initial candidates.
        resolved: Dialogue id to its candidate sets, one a turn.

    Raises:
        DataError: A resolved dialogue is unknown, has no initial candidates, or has another number of turns.
    """
    known = {row["dialogue_id"]: row for row in dialogues.to_pylist() if row["dialogue_id"] in resolved}
    problems = []
    for dialogue_id in sorted(resolved):
        if dialogue_id not in known:
            problems.append(Problem("", dialogue_id, "", "is resolved but not among the dialogues"))
            continue
        turns, sets = len(known[dialogue_id]["turns"]), len(resolved[dialogue_id].candidate_ids_by_turn)
        if turns != sets:
            problems.append(Problem("", dialogue_id, "$.turns", f"has {turns} turns but {sets} candidate sets"))
        if dialogue_id not in initial:
            problems.append(Problem("", dialogue_id, "$.stratum", "has no initial candidates"))
    if problems:
        raise DataError("Samples cannot be made", problems)
    samples: list[Row] = []
    whole: list[Row] = []
    points: list[Row] = []
    for dialogue_id in sorted(resolved):
        row, result, counts = known[dialogue_id], resolved[dialogue_id], initial[dialogue_id]
        whole.append(_dialogue_row(row, result, counts))
        samples += _sample_rows(row, result, bin_name(counts.unique))
        points += _point_rows(row, result)
    samples.sort(key=lambda sample: str(sample["sample_id"]))
    return CandvgTables(
        pa.Table.from_pylist(samples, schema=arrow_schema("candvg_sample", without=JOINED_AT_PACKAGING)),
        pa.Table.from_pylist(whole, schema=arrow_schema("candvg_dialogue")),
        pa.Table.from_pylist(points, schema=arrow_schema("candvg_point")),
    )


def _boxes(result: Resolved) -> dict[str, list[float]]:
    return dict(zip(result.objects.object_ids, result.objects.boxes_px.tolist(), strict=True))


def _listed(object_ids: Iterable[str], boxes: Mapping[str, list[float]]) -> list[Row]:
    return [{"object_id": object_id, "bbox_xyxy_px": boxes[object_id]} for object_id in sorted(object_ids)]


def _dialogue_row(row: Row, result: Resolved, initial: Initial) -> Row:
    merged = {result.objects.representative[object_id] for object_id in row["initial_candidate_ids"]}
    return {
        "dialogue_id": row["dialogue_id"],
        "image_id": row["image_id"],
        "split": row["split"],
        "source_dialogue_id": row["source_dialogue_id"],
        "turns": row["turns"],
        "objects": _listed(result.objects.object_ids, _boxes(result)),
        "initial_candidate_ids": sorted(merged),
        "initial_candidates_raw": initial.raw,
        "initial_candidates_unique": initial.unique,
        "candidate_ids": [list(candidates) for candidates in result.candidate_ids_by_turn],
        "stratum": bin_name(initial.unique),
    }


def _sample_rows(row: Row, result: Resolved, stratum: str) -> list[Row]:
    boxes = _boxes(result)
    return [
        {
            "sample_id": f"{row['dialogue_id']}-t{turn}",
            "dialogue_id": row["dialogue_id"],
            "image_id": row["image_id"],
            "split": row["split"],
            "turn": turn,
            "context": row["turns"][:turn],
            "sample_type": "CVG" if len(candidates) == 1 else "CSVG",
            "candidates": _listed(candidates, boxes),
            "stratum": stratum,
        }
        for turn, candidates in enumerate(result.candidate_ids_by_turn, start=1)
    ]


def _point_rows(row: Row, result: Resolved) -> list[Row]:
    return [
        {
            "dialogue_id": row["dialogue_id"],
            "image_id": row["image_id"],
            "turn": turn,
            "point": number,
            "x_px": point.x_px,
            "y_px": point.y_px,
            "object_id": point.object_id,
        }
        for turn, placed in enumerate(result.points_by_turn, start=1)
        for number, point in enumerate(placed)
    ]
