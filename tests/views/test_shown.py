# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset.errors import UsageError
from groundset.fpco.variants import REPEATS
from groundset.views.shown import read_shown


def rows_of(folder: Path) -> tuple[Path, pa.Schema, list[dict[str, Any]]]:
    (shard,) = (folder / "data" / "dialogues").glob("*.parquet")
    table = pq.read_table(shard)
    return shard, table.schema, table.to_pylist()


def test_referenced_photographs_are_counted_by_licence(release: Callable[[str], Path], tmp_path: Path) -> None:
    folder = release("fpco-dialog")
    shard, schema, rows = rows_of(folder)
    for row in rows[:2]:
        row["image"] = None
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), shard)
    shown = read_shown(folder, tmp_path / "cache")
    assert shown.unseen == {"CC0-1.0": 2}
    assert shown.unseen_turns == 20
    assert len(shown.entries) == 10 * (len(rows) - 2)


def test_a_release_without_any_photograph_is_refused(release: Callable[[str], Path], tmp_path: Path) -> None:
    folder = release("fpco-dialog")
    shard, schema, rows = rows_of(folder)
    pq.write_table(pa.Table.from_pylist([{**row, "image": None} for row in rows], schema=schema), shard)
    with pytest.raises(UsageError, match=rf"only refers to its {len(rows)} photographs.*groundset hydrate"):
        read_shown(folder, tmp_path / "cache")


def test_variants_stand_beside_their_dialogue_with_what_is_said_of_them(
    release: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = release("fpco-dialog")
    _, _, rows = rows_of(folder)
    (shard,) = (folder / "data" / "variants").glob("*.parquet")
    table = pq.read_table(shard)
    before = {entry.facts["record_id"]: entry for entry in read_shown(folder, tmp_path / "cache").entries}
    variants = table.to_pylist()
    changed = variants[0]
    (dialogue,) = [row for row in rows if row["dialogue_id"] == changed["dialogue_id"]]
    # it says what the dialogue says already
    changed |= {name: dialogue[name] for name in ("modified_target_description", "questions")}
    pq.write_table(pa.Table.from_pylist(variants, schema=table.schema), shard)
    shown = read_shown(folder, tmp_path / "cache")
    assert len(shown.entries) == 10 * len(rows)
    for entry in shown.entries:
        own = [row for row in variants if row["dialogue_id"] == entry.facts["dialogue_id"]]
        assert entry.facts["variants"] == [f"{row['set']}. {row['modified_target_description']}" for row in own]
        new = set(entry.facts["flags"]) - set(before[entry.facts["record_id"]].facts["flags"])
        if changed in own:
            assert any(text.startswith(f"{REPEATS}: variant {changed['set']}: ") for text in new)
            assert REPEATS in entry.tags
        else:
            assert not new
