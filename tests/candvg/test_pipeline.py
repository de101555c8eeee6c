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
from groundset.miniworld.backdrop import HEIGHT_PX, WIDTH_PX
from groundset.release.invariants import candvg_problems
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
    halve(world)
    refused = build(demo("candvg", "refused"), tmp_path / "refused", world, "40_images")
    receipt = read_receipt(refused, "40_images")
    assert receipt is not None
    account = receipt["accounts"]["dialogue"]
    assert account["kept"] == 0
    assert account["rejected"] == {"size_mismatch": account["in"]}

    scaled = build(demo("candvg", "scaled", on_other_size='"scale"'), tmp_path / "scaled", world, "70_validate")
    names = ("samples", "dialogues", "points", "images")
    rows = {name: read_table(scaled, f"70_validate/{name}").to_pylist() for name in names}
    assert candvg_problems(rows) == []
    receipt = read_receipt(scaled, "40_images")
    assert receipt is not None
    sizes = read_table(scaled, "40_images/photographs").to_pylist()
    assert {(row["width"], row["height"]) for row in sizes} == {(WIDTH_PX // 2, HEIGHT_PX // 2)}
    assert receipt["flagged"] == {"scaled_boxes": len(sizes)}
    for table in ("objects", "dialogues", "images"):
        assert read_table(scaled, f"10_import/{table}").equals(read_table(refused, f"10_import/{table}"))
    listed = read_table(scaled, "10_import/objects").to_pylist()
    boxes = {(row["image_id"], row["object_id"]): row["bbox_xyxy"] for row in listed}
    dialogues = rows["dialogues"]
    # the simulated annotators look at the smaller pictures: had they been shown other boxes, they would refuse all
    assert len(dialogues) >= 8
    for row in dialogues:
        for thing in row["objects"]:
            assert thing["bbox_xyxy_px"] == halved(boxes[row["image_id"], thing["object_id"]])


@pytest.mark.parametrize("choice", ['"stretch"', "true"])
def test_the_manifest_names_one_of_two_choices(choice: str, demo: Demo, world: Path) -> None:
    with pytest.raises(manifests.UsageError, match="on_other_size"):
        manifests.read(demo("candvg", on_other_size=choice), world)


def test_the_receipt_tells_what_either_count_would_keep(demo: Demo, world: Path, tmp_path: Path) -> None:
    kept = {}
    for count in ("raw", "unique"):
        place = build(demo("candvg", count, count=f'"{count}"'), tmp_path / count, world, "20_filter")
        receipt = read_receipt(place, "20_filter")
        assert receipt is not None
        kept[count] = receipt["accounts"]["dialogue"]["kept"]
        assert receipt["facts"]["counted"] == count
    assert receipt["facts"]["kept_by_count"] == kept
