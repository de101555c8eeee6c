# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A photograph that must go, from the command to the card, in both benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groundset.cli.main import run
from groundset.release.verify import verify
from groundset.withdrawals import read

Demo = Callable[..., Path]
NOTE = "letter of 30 November"


def table(work: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(work / f"{name}.parquet").to_pylist()
    return rows


def everything(folder: Path) -> str:
    """All that a release says, its tables written out."""
    texts = [
        json.dumps(pq.read_table(path).to_pylist(), default=repr)
        if path.suffix == ".parquet"
        else path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    return "\n".join(texts)


@pytest.mark.parametrize("name", ["candvg", "fpco-dialog"])
def test_the_next_build_leaves_it_out_everywhere_and_the_card_lists_it(
    name: str, demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, work = demo(name), tmp_path / "work"
    build = ["build", str(manifest), "--work", str(work), "--sources", str(world)]
    assert run(build) == 0
    release = work / "80_package" / "release"
    before = {row["image_id"]: row for row in table(work, "70_validate/images")}
    ranking = {row["image_id"]: row for row in table(work, "30_stratify/kept")}
    # one that has somebody to take its place
    spare = {row["stratum"] for row in ranking.values()} & {
        row["stratum"] for row in table(work, "40_images/kept") if row["reserve"]
    }
    gone = next(image_id for image_id in before if ranking[image_id]["stratum"] in spare)
    selected = {row["image_id"] for row in table(work, "40_images/kept") if not row["reserve"]}
    capsys.readouterr()
    assert run(["withdraw", str(manifest), gone, "--reason", "owner", "--note", NOTE, "--work", str(work)]) == 0
    listed = manifest.with_suffix(".withdrawn.jsonl")
    assert capsys.readouterr().out == f"{listed}\n"
    (row,) = read(listed)
    measured = {row["image_id"]: row["pixels_sha256"] for row in table(work, "40_images/photographs")}
    assert (row.image_id, row.reason, row.note, row.pixels_sha256) == (gone, "owner", NOTE, measured[gone])

    assert run(build) == 0
    after = {row["image_id"] for row in table(work, "70_validate/images")}
    # nothing else moves out, and the next of its stratum is looked at; whether it stays is for people to say
    assert set(before) - after == {gone}
    (verdict,) = [row for row in table(work, "40_images/rejected") if row["rule"] == "withdrawn"]
    assert verdict["record_id"] == ranking[gone]["item_id"]
    fresh = {row["image_id"] for row in table(work, "40_images/kept") if not row["reserve"]} - selected
    assert {ranking[image_id]["stratum"] for image_id in fresh} == {ranking[gone]["stratum"]}
    assert verify(release, load=False) == []
    card = (release / "README.md").read_text("utf-8")
    assert f"| {gone} | who made it asks for it |" in card
    told = everything(release)
    assert NOTE not in told
    assert told.replace(card, "").count(gone) == 1, "manifest.json lists it, and nothing else has it"

    capsys.readouterr()
    assert run(["explain", str(manifest), gone, "--work", str(work), "--sources", str(world)]) == 0
    at_images = [line for line in capsys.readouterr().out.splitlines() if line.startswith("40_images")]
    assert len(at_images) == 1
    assert "rejected by withdrawn: withdrawn for the reason owner" in at_images[0]

    # what the lock pins now may not be changed by hand, nor taken away
    content = listed.read_bytes()
    for changed in (content.replace(b"owner", b"fault"), b""):
        listed.write_bytes(changed)
        assert run(build) == 1
        assert run(["withdraw", str(manifest), gone, "--reason", "owner", "--note", "x", "--work", str(work)]) == 1
    listed.unlink()
    assert run(build) == 1
    listed.write_bytes(content)
    first = (release / "SHA256SUMS").read_bytes()
    assert run([*build, "--locked"]) == 0
    assert run(["withdraw", str(manifest), gone, "--reason", "owner", "--note", "else", "--work", str(work)]) == 0
    assert read(listed)[0].pixels_sha256 == measured[gone]
    assert run([*build, "--locked"]) == 0
    assert (release / "SHA256SUMS").read_bytes() == first, "a note enters no release"


def test_what_is_no_photograph_is_refused_with_those_near_it(
    demo: Demo, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, work = demo("fpco-dialog"), tmp_path / "work"
    common = ["--reason", "fault", "--work", str(work)]
    assert run(["withdraw", str(manifest), "coco-1", "--note", "blurred", *common]) == 0
    assert "the id is not checked" in capsys.readouterr().err
    listed = manifest.with_suffix(".withdrawn.jsonl")
    before = listed.read_bytes()
    build = ["build", str(manifest), "--work", str(work), "--sources", str(world), "--to", "40_images"]
    assert run(build) == 0
    (flag,) = [row for row in table(work, "40_images/flagged") if row["rule"] == "unknown_withdrawal"]
    assert flag["record_id"] == "coco-1"
    image_id = table(work, "10_import/images")[0]["image_id"]
    capsys.readouterr()
    assert run(["withdraw", str(manifest), f"{image_id}x", "--note", "blurred", *common]) == 2
    assert image_id in capsys.readouterr().err
    assert run(["withdraw", str(manifest), image_id, "--note", " ", *common]) == 2
    assert run(["withdraw", str(manifest), image_id, "--reason", "whim", "--note", "n"]) == 2
    assert listed.read_bytes() == before
    assert run(["withdraw", str(manifest), image_id, "--note", "blurred", *common, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["image_id"] for row in told["withdrawn"]] == sorted(["coco-1", image_id])
    listed.write_text("{\n")
    assert run(build) == 1


@pytest.mark.parametrize("image_id", ["", " ", "a|b", "../x", "a\nb", "x" * 201])
def test_what_can_be_no_id_is_not_written_even_where_nothing_has_been_imported(
    image_id: str, demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = demo("candvg")
    command = ["withdraw", str(manifest), image_id, "--reason", "owner", "--note", "n", "--work", str(tmp_path / "w")]
    assert run(command) == 2
    assert "can be no photograph's id" in capsys.readouterr().err
    assert not manifest.with_suffix(".withdrawn.jsonl").exists()
