# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The corridor: accounts, receipts, atomic folders, and when a stage is up to date."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset import stage as corridor
from groundset.errors import DataError
from groundset.manifest import Manifest
from groundset.schema_types import arrow_schema
from groundset.stage import Inputs, Output, Place, Records, Stage
from groundset.verdicts import Verdict

Row = dict[str, Any]


def strata(*names: str) -> pa.Table:
    rows = [{"stratum": name, "want": 1, "eligible": 2} for name in names]
    return pa.Table.from_pylist(rows, schema=arrow_schema("stratum"))


def refused(name: str, rule: str = "too_small", *, hard: bool = True) -> Verdict:
    return Verdict(name, "item", rule, "for the test", 1.0, 2.0, hard)


def made(output: Output) -> Stage:
    return Stage(
        name="20_filter",
        run=lambda inputs: output,
        config=("seed",),
        reads=("10_import/kept",),
        writes={"kept": Records("stratum")},
        accounts={"item": ("kept", "stratum")},
    )


GOOD = Output(tables={"kept": strata("a", "c")}, verdicts=(refused("b"),), entered={"item": ["a", "b", "c"]})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    manifest = Manifest(tmp_path / "m.toml", {"seed": "one", "name": "n", "version": "0.1.0"}, tmp_path)
    work = tmp_path / "work"
    (work / "10_import").mkdir(parents=True)
    pq.write_table(strata("a", "b", "c"), work / "10_import" / "kept.parquet")
    records = {"10_import/kept": Records("stratum"), "20_filter/kept": Records("stratum")}
    return Place(manifest, work, tmp_path, {**records, "20_filter/rejected": Records("verdict")})


def seeded(place: Place, seed: str) -> Place:
    return replace(place, manifest=replace(place.manifest, content={**place.manifest.content, "seed": seed}))


def test_a_stage_leaves_its_tables_verdicts_and_a_receipt_that_adds_up(place: Place) -> None:
    corridor.run(place, made(GOOD))
    folder = place.work / "20_filter"
    assert sorted(path.name for path in folder.iterdir()) == [
        "flagged.parquet",
        "kept.parquet",
        "receipt.json",
        "rejected.parquet",
    ]
    receipt = corridor.read_receipt(place, "20_filter")
    assert receipt is not None
    assert receipt["accounts"] == {"item": {"in": 3, "kept": 2, "rejected": {"too_small": 1}}}
    assert corridor.read_table(place, "20_filter/rejected")["record_id"].to_pylist() == ["b"]
    assert corridor.why_stale(place, made(GOOD)) is None


@pytest.mark.parametrize(
    ("entered", "verdicts", "told"),
    [
        (["a", "b", "c"], (), "item b: has no verdict"),
        (["a", "b", "c"], (refused("b"), refused("c")), "item c: is kept or rejected more often"),
        (["a", "c"], (refused("b"),), "item b: is kept or rejected more often"),
        (["a", "b", "c"], (refused("b"), refused("b", "too_large")), "item b: is kept or rejected more often"),
        (["a", "c", "c"], (), "3 in, but 2 kept and 0 rejected"),
        (4, (refused("b"),), "4 in, but 2 kept and 1 rejected"),
        (["a", "c"], (Verdict("x", "image", "odd"),), "image: rejected, but the stage keeps no account of it"),
    ],
)
def test_what_does_not_add_up_is_refused_and_leaves_nothing(
    place: Place, entered: list[str] | int, verdicts: tuple[Verdict, ...], told: str
) -> None:
    output = replace(GOOD, entered={"item": entered}, verdicts=verdicts)
    with pytest.raises(DataError, match=told):
        corridor.run(place, made(output))
    assert not (place.work / "20_filter").exists()


@given(st.lists(st.sampled_from("kdlr"), max_size=12))
def test_an_account_holds_exactly_if_each_record_has_one_fate(fates: list[str]) -> None:
    """The fates: k kept, d rejected, l lost, r kept and rejected."""
    names = [f"r{number}" for number in range(len(fates))]
    kept = [name for name, fate in zip(names, fates, strict=True) if fate in "kr"]
    gone = [refused(name) for name, fate in zip(names, fates, strict=True) if fate in "dr"]
    output = Output(tables={"kept": strata(*kept)}, verdicts=tuple(gone), entered={"item": names})
    if set(fates) <= {"k", "d"}:
        account = corridor.account(made(output), output)["item"]
        assert account["in"] == account["kept"] + sum(account["rejected"].values()) == len(names)
    else:
        with pytest.raises(DataError):
            corridor.account(made(output), output)


def test_soft_verdicts_flag_and_do_not_count(place: Place) -> None:
    corridor.run(place, made(replace(GOOD, verdicts=(refused("b"), refused("a", "odd", hard=False)))))
    receipt = corridor.read_receipt(place, "20_filter")
    assert receipt is not None
    assert receipt["flagged"] == {"odd": 1}
    assert receipt["accounts"]["item"]["rejected"] == {"too_small": 1}


def test_a_row_that_breaks_the_schema_never_leaves_the_stage(place: Place) -> None:
    broken = strata("a", "").set_column(1, "want", pa.array([1, -1], type=pa.int64()))
    output = Output(tables={"kept": broken}, entered={"item": ["a", ""]})
    with pytest.raises(DataError) as error:
        corridor.run(place, made(output))
    assert "$.want" in str(error.value)
    assert "$.stratum" in str(error.value)
    assert not (place.work / "20_filter").exists()


def test_a_row_that_breaks_the_schema_never_enters_the_stage(place: Place) -> None:
    broken = strata("a").set_column(1, "want", pa.array([-1], type=pa.int64()))
    pq.write_table(broken, place.work / "10_import" / "kept.parquet")
    with pytest.raises(DataError, match=r"10_import/kept a \$\.want"):
        corridor.run(place, made(GOOD))


def test_a_table_that_is_cut_off_is_told_not_thrown(place: Place) -> None:
    path = place.work / "10_import" / "kept.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"kept\.parquet: the table cannot be read"):
        corridor.run(place, made(GOOD))


def change_input(place: Place) -> Place:
    pq.write_table(strata("a", "b", "d"), place.work / "10_import" / "kept.parquet")
    return place


def change_output(place: Place) -> Place:
    path = place.work / "20_filter" / "kept.parquet"
    path.write_bytes(path.read_bytes() + b"x")
    return place


def lose_output(place: Place) -> Place:
    (place.work / "20_filter" / "rejected.parquet").unlink()
    return place


def break_receipt(place: Place) -> Place:
    path = place.work / "20_filter" / "receipt.json"
    path.write_bytes(path.read_bytes()[:-30])
    return place


def change_file(place: Place) -> Place:
    (place.source_root / "photo.jpg").write_bytes(b"other")
    return place


def add_missing_file(place: Place) -> Place:
    (place.source_root / "missing.jpg").write_bytes(b"now there")
    return place


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda place: seeded(place, "two"), "the manifest has changed"),
        (change_input, "an earlier stage has changed"),
        (change_output, r"its output kept\.parquet has changed"),
        (lose_output, r"its output rejected\.parquet has changed"),
        (break_receipt, "it has not been done"),
        (change_file, r"photo\.jpg has changed"),
        (add_missing_file, r"missing\.jpg has changed"),
    ],
)
def test_what_makes_a_stage_stale(place: Place, change: Any, why: str) -> None:
    (place.source_root / "photo.jpg").write_bytes(b"bytes")
    read: Mapping[str, str | None] = {
        "source:photo.jpg": corridor.sha256_file(place.source_root / "photo.jpg"),
        "source:missing.jpg": None,
    }
    stage = made(replace(GOOD, read=read))
    corridor.run(place, stage)
    assert corridor.why_stale(place, stage) is None
    found = corridor.why_stale(change(place), stage)
    assert found is not None
    assert re.search(why, found)


def test_other_code_makes_a_stage_stale(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    corridor.run(place, made(GOOD))
    monkeypatch.setattr(corridor, "package_digest", lambda: "0" * 64)
    assert corridor.why_stale(place, made(GOOD)) == "the code has changed"


@pytest.mark.parametrize("broken", ["write_table", "replace_folder", "write_atomic"])
def test_a_crash_anywhere_leaves_no_receipt_and_the_next_run_mends_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    corridor.run(place, made(GOOD))
    other = replace(GOOD, tables={"kept": strata("a", "c")}, verdicts=(refused("b", "another"),))
    later = seeded(place, "two")

    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(corridor, broken, crash)
        with pytest.raises(KeyboardInterrupt):
            corridor.run(later, made(other))
    assert corridor.why_stale(later, made(other)) is not None
    corridor.run(later, made(other))
    assert corridor.why_stale(later, made(other)) is None
    assert corridor.read_table(place, "20_filter/rejected")["rule"].to_pylist() == ["another"]
    assert not [path for path in place.work.iterdir() if path.name.startswith(".")]


def test_waiting_writes_the_queue_and_keeps_what_was_there(place: Place) -> None:
    corridor.run(place, made(GOOD))
    before = (place.work / "20_filter" / "receipt.json").read_bytes()
    item = {"kind": "screening", "item_id": "a", "turn": None, "seen_sha256": "0" * 64, "shown": {}}
    corridor.run(place, made(replace(GOOD, waiting=(item,))))
    assert json.loads(corridor.queue_path(place, "20_filter").read_bytes()) == item
    assert (place.work / "20_filter" / "receipt.json").read_bytes() == before
    corridor.run(place, made(GOOD))
    assert not corridor.queue_path(place, "20_filter").exists()


def test_a_stage_gets_the_sections_it_names_and_no_others(place: Place) -> None:
    seen: list[Inputs] = []

    def look(inputs: Inputs) -> Output:
        seen.append(inputs)
        return GOOD

    corridor.run(place, replace(made(GOOD), run=look))
    assert dict(seen[0].config) == {"seed": "one"}
    assert list(seen[0].tables) == ["10_import/kept"]


def test_equal_input_gives_equal_bytes(place: Place) -> None:
    corridor.run(place, made(GOOD))
    first = {path.name: path.read_bytes() for path in (place.work / "20_filter").glob("*.parquet")}
    chunked = pa.concat_tables([strata("a"), strata("c")])
    corridor.run(seeded(place, "two"), made(replace(GOOD, tables={"kept": chunked})))
    assert {path.name: path.read_bytes() for path in (place.work / "20_filter").glob("*.parquet")} == first
