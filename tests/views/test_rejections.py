# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset.errors import DataError, UsageError
from groundset.views import rejections
from groundset.views.reading import read_release
from groundset.views.rejections import read_work

BENCHMARKS = ("candvg", "fpco-dialog")


def rejected(work: Path) -> Counter[str]:
    return Counter(
        f"{path.parent.name} {row['rule']}"
        for path in work.glob("[0-9]*/rejected.parquet")
        for row in pq.read_table(path).to_pylist()
        if row["kind"] in ("image", "item", "dialogue", "variant")
    )


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_rejected_record_is_shown_or_counted(work: Callable[[str], Path], benchmark: str) -> None:
    folder = work(benchmark)
    found = read_work(folder, None, read_release(folder / "80_package" / "release"))
    shown = Counter(f"{entry.facts['rejected_by']} {entry.facts['rule']}" for entry in found.entries)
    assert shown + Counter(found.without_photograph) == rejected(folder)
    assert shown.total() > 3
    assert not found.beyond
    for entry in found.entries:
        assert Path(entry.file).is_file()
        assert entry.facts["outcome"] == "rejected"
        assert entry.facts["licence"]
        assert entry.facts["detail"]
        assert entry.tags == (entry.facts["rule"],)


def test_a_missing_photograph_is_counted_under_the_rule(work: Callable[[str], Path]) -> None:
    folder = work("fpco-dialog")
    found = read_work(folder, None, read_release(folder / "80_package" / "release"))
    assert found.without_photograph.get("40_images missing_file", 0) == rejected(folder)["40_images missing_file"]


def test_what_is_beyond_the_first_of_a_rule_is_counted(
    work: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = work("fpco-dialog")
    monkeypatch.setattr(rejections, "PER_RULE", 1)
    found = read_work(folder, None, read_release(folder / "80_package" / "release"))
    assert found.beyond
    shown = Counter(f"{entry.facts['rejected_by']} {entry.facts['rule']}" for entry in found.entries)
    assert set(shown.values()) == {1}
    assert shown + Counter(found.without_photograph) + Counter(found.beyond) == rejected(folder)


def test_a_rejected_item_shows_its_target_and_a_rejected_dialogue_its_candidates(work: Callable[[str], Path]) -> None:
    for benchmark, field in (("fpco-dialog", "target"), ("candvg", "candidates")):
        folder = work(benchmark)
        found = read_work(folder, None, read_release(folder / "80_package" / "release"))
        boxed = [entry for entry in found.entries if entry.boxes.get(field)]
        assert boxed
        for entry in boxed:
            assert all(0 <= value <= 1.001 for box in entry.boxes[field] for value in box.xywh)


def test_flags_of_item_and_photograph_reach_the_dialogue(work: Callable[[str], Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(work("fpco-dialog"), tmp_path / "work"))
    rows = read_release(folder / "80_package" / "release")
    first, second, third = rows.tables["dialogues"][:3]
    item = {row["dialogue_id"]: row["item_id"] for row in pq.read_table(folder / "60_review/kept.parquet").to_pylist()}
    schema = pq.read_schema(folder / "40_images/flagged.parquet")
    flags = [
        {"record_id": first["image_id"], "kind": "image", "rule": "near_duplicate", "detail": "alike"},
        {"record_id": item[second["dialogue_id"]], "kind": "item", "rule": "target_chosen", "detail": "other"},
        {
            "record_id": f"{third['image_id']}/a1",
            "kind": "object",
            "rule": "near_duplicate_box",
            "detail": "on another",
        },
    ]
    pq.write_table(pa.Table.from_pylist(flags, schema=schema), folder / "40_images/flagged.parquet")
    for path in folder.glob("[0-9]*/flagged.parquet"):
        if path.parent.name != "40_images":
            pq.write_table(schema.empty_table(), path)
    found = read_work(folder, None, rows).flags
    assert {name: [verdict.rule for verdict in verdicts] for name, verdicts in found.items()} == {
        first["dialogue_id"]: ["near_duplicate"],
        second["dialogue_id"]: ["target_chosen"],
    }
    assert not any(verdict.hard for verdicts in found.values() for verdict in verdicts)


def test_a_folder_that_is_not_the_builds_own_is_told_so(work: Callable[[str], Path], tmp_path: Path) -> None:
    rows = read_release(work("candvg") / "80_package" / "release")
    with pytest.raises(UsageError, match="is no work folder"):
        read_work(tmp_path, None, rows)
    with pytest.raises(UsageError, match="another release"):
        read_work(work("fpco-dialog"), None, rows)
    with pytest.raises(UsageError, match="no such folder"):
        read_work(work("candvg"), tmp_path / "nothing", rows)


def test_a_broken_table_is_told_with_its_name(work: Callable[[str], Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(work("candvg"), tmp_path / "work"))
    rows = read_release(folder / "80_package" / "release")
    broken = folder / "45_screen" / "rejected.parquet"
    broken.write_bytes(b"PAR1 cut off")
    with pytest.raises(DataError, match=r"45_screen/rejected\.parquet"):
        read_work(folder, None, rows)
    pq.write_table(pa.table({"something": [1]}), broken)
    with pytest.raises(DataError, match=r"45_screen/rejected\.parquet"):
        read_work(folder, None, rows)
