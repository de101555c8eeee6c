# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The life of one record through every stage: where it was kept, flagged or rejected, and by which rule."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from groundset.errors import UsageError
from groundset.fpco.filter import CATEGORIES
from groundset.stage import Place, Stage, read_receipt, read_table

Row = dict[str, Any]

LINKS = ("image_id", "item_id", "dialogue_id")
# the items after screening are those of the filter; where a person changed one, a verdict says so
NOT_RECORDS = ("strata", "objects", "items", "withdrawn")


@dataclass(frozen=True)
class Step:
    """What one stage did with one record.

    Attributes:
        stage: The stage.
        record_id: The record: the one asked for, or one that it comes from or that comes from it.
        outcome: kept, rejected or flagged.
        table: The table it stands in.
        record: The row, or the verdict.
    """

    stage: str
    record_id: str
    outcome: str
    table: str
    record: Row


def _tables(place: Place, stages: tuple[Stage, ...]) -> Iterator[tuple[str, str, pa.Table]]:
    for stage in stages:
        if read_receipt(place, stage.name) is None:
            continue
        for table in (*stage.writes, "rejected", "flagged"):
            if table not in NOT_RECORDS:
                yield stage.name, table, read_table(place, f"{stage.name}/{table}")


def _matching(table: pa.Table, column: str, ids: set[str]) -> list[Row]:
    wanted = pa.array(sorted(ids), type=pa.string())
    rows: list[Row] = table.filter(pc.is_in(table[column], value_set=wanted)).to_pylist()
    return rows


def _related(tables: list[tuple[str, str, pa.Table]], record_id: str) -> set[str]:
    """The record, what it comes from and what comes from it; not what else comes from the same image."""
    above, below = {record_id}, {record_id}
    # an item that the filter rejects stands in no table of kept ones: its id alone says which image it is of
    for category in CATEGORIES:
        below.add(f"{record_id}-{category}")
        above.add(record_id.removesuffix(f"-{category}"))
    for _, name, table in reversed(tables):
        if name in ("rejected", "flagged"):
            continue
        for row in _matching(table, table.column_names[0], above):
            above |= {row[link] for link in LINKS if link in row}
    for _, name, table in tables:
        if name in ("rejected", "flagged"):
            continue
        for link in LINKS:
            if link in table.column_names:
                below |= {row[table.column_names[0]] for row in _matching(table, link, below)}
    return above | below


def _kept_objects(place: Place, stages: tuple[Stage, ...], record_id: str) -> list[Step]:
    """An object's own id is unique only within its image, so its table is asked for both."""
    image_id, _, object_id = record_id.partition("/")
    steps = []
    for stage in stages:
        if object_id and "objects" in stage.writes and read_receipt(place, stage.name) is not None:
            table = read_table(place, f"{stage.name}/objects")
            wanted = pc.and_(pc.equal(table["image_id"], image_id), pc.equal(table["object_id"], object_id))
            rows = table.filter(wanted).to_pylist()
            steps += [Step(stage.name, record_id, "kept", "objects", row) for row in rows]
    return steps


def explain(place: Place, stages: tuple[Stage, ...], record_id: str) -> list[Step]:
    """Every step of a record, in the order of the stages.

    Args:
        place: The build's place.
        stages: The benchmark's stages.
        record_id: An image, item, dialogue or sample; an object as `<image_id>/<object_id>`; a decision.

    Raises:
        UsageError: No stage that has been done knows the record; names what is near.
    """
    tables = list(_tables(place, stages))
    ids = _related(tables, record_id)
    steps = _kept_objects(place, stages, record_id)
    for stage, name, table in tables:
        outcome = name if name in ("rejected", "flagged") else "kept"
        key = table.column_names[0]
        steps += [Step(stage, row[key], outcome, name, row) for row in _matching(table, key, ids)]
    if not steps:
        known = sorted({value for _, _, table in tables for value in table[table.column_names[0]].to_pylist()})
        near = difflib.get_close_matches(record_id, known, n=3)
        hint = f"; near are {', '.join(near)}" if near else ""
        if not place.work.is_dir():
            hint = "; nothing has been built there: where a build lies elsewhere, say so with --work"
        raise UsageError(f"{place.work}: no stage that has been done knows {record_id}{hint}")
    return steps
