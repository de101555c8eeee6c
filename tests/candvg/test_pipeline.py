# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG on photographs of another size than their records: refused, or built with boxes of the stored size."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from groundset import manifest as manifests
from groundset import runner
from groundset.release.verify import verify
from groundset.stage import Place, read_receipt, read_table

Demo = Callable[..., Path]


def build(manifest: Path, work: Path, sources: Path, to: str = "") -> Place:
    return runner.build(manifests.read(manifest, sources), work, runner.Options(to=to), lambda line: None)


def halved(value: Any) -> Any:
    return [halved(inner) for inner in value] if isinstance(value, list) else value / 2


def halve(world: Path) -> None:
    """Photographs of half the size, and annotators who look at these; the records stay as they are."""
    for path in sorted((world / "invig" / "invig21k_imgs").iterdir()):
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            image.resize((image.width // 2, image.height // 2)).save(path, "JPEG", quality=90)
    truth = json.loads((world / "truth.json").read_bytes())
    for records in truth["invig"].values():
        for record in records.values():
            for thing in [*record["objects"], *(each for turn in record["turns"] for each in turn["candidates"])]:
                thing |= {key: halved(thing[key]) for key in ("bbox_xyxy_px", "centre_px")}
    (world / "truth.json").write_text(json.dumps(truth), encoding="utf-8")


def test_photographs_of_half_the_size_are_refused_or_scaled(demo: Demo, world: Path, tmp_path: Path) -> None:
    whole = build(demo("candvg", "whole", tie_px=0.01), tmp_path / "whole", world)
    halve(world)
    refused = build(demo("candvg", "refused", tie_px=0.01), tmp_path / "refused", world, "40_images")
    receipt = read_receipt(refused, "40_images")
    assert receipt is not None
    account = receipt["accounts"]["dialogue"]
    assert account["kept"] == 0
    assert account["rejected"] == {"size_mismatch": account["in"]}

    scaled = build(demo("candvg", "scaled", tie_px=0.01, on_other_size='"scale"'), tmp_path / "scaled", world)
    assert verify(scaled.work / "80_package" / "release") == []
    receipt = read_receipt(scaled, "40_images")
    assert receipt is not None
    sizes = read_table(scaled, "40_images/photographs").to_pylist()
    assert {(row["width"], row["height"]) for row in sizes} == {(320, 240)}
    assert receipt["flagged"] == {"scaled_boxes": len(sizes)}
    for stage, table in (("10_import", "objects"), ("20_filter", "kept"), ("30_stratify", "kept")):
        assert read_table(scaled, f"{stage}/{table}").equals(read_table(whole, f"{stage}/{table}"))
    before = {row["dialogue_id"]: row for row in read_table(whole, "70_validate/dialogues").to_pylist()}
    after = {row["dialogue_id"]: row for row in read_table(scaled, "70_validate/dialogues").to_pylist()}
    # a trembling hand may slip elsewhere on a smaller picture
    assert len(after.keys() & before.keys()) >= len(before) - 2
    for name in after.keys() & before.keys():
        for one, other in zip(after[name]["objects"], before[name]["objects"], strict=True):
            assert one["object_id"] == other["object_id"]
            assert one["bbox_xyxy_px"] == halved(other["bbox_xyxy_px"])
        assert after[name]["candidate_ids"] == before[name]["candidate_ids"]
    for row in read_table(scaled, "70_validate/samples").to_pylist():
        for candidate in row["candidates"]:
            assert max(candidate["bbox_xyxy_px"][0::2]) <= 321


@pytest.mark.parametrize("choice", ['"stretch"', "true"])
def test_the_manifest_names_one_of_two_choices(choice: str, demo: Demo, world: Path) -> None:
    with pytest.raises(manifests.UsageError, match="on_other_size"):
        manifests.read(demo("candvg", on_other_size=choice), world)
