# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 40_images: opens and checks the photographs of the selected records and of a margin of the reserve."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from groundset import withdrawals
from groundset.files import sha256_if_there
from groundset.images import ImageRules, Job, Photograph, measure_all
from groundset.missing_photographs import NAME as MISSING
from groundset.missing_photographs import to_fetch
from groundset.near_duplicates import near_duplicates
from groundset.sampling import select
from groundset.schema_types import arrow_schema
from groundset.sources.box_checks import OUTSIDE_PX
from groundset.sources.imported import box_array
from groundset.stage import Inputs, Output
from groundset.verdicts import Verdict

Row = dict[str, Any]


def jobs_of(
    images: Iterable[Mapping[str, Any]], sources: Mapping[str, Mapping[str, Any]], source_root: Path
) -> list[Job]:
    """What is to be measured of images.

    Args:
        images: Records of `schemas/image`.
        sources: The manifest's sources by name.
        source_root: Folder of the source files.
    """
    return [
        Job(
            path=Path(image["file_name"]),
            root=source_root / sources[image["source_name"]]["images"],
            image_id=image["image_id"],
            frame_width=image["frame_width"],
            frame_height=image["frame_height"],
            frame_is_pixels=_is_pixels(image),
            # only the manifest's InViG sources have the choice
            may_scale=sources[image["source_name"]].get("on_other_size", "reject") == "scale",
        )
        for image in images
    ]


def _is_pixels(image: Mapping[str, Any]) -> bool:
    return (image["frame_width"], image["frame_height"]) != (1.0, 1.0)


def scaled_boxes(image: Mapping[str, Any], width_px: int, height_px: int) -> Verdict | None:
    """Says that boxes in pixels of the record are scaled to a photograph of another size; None if it is the same."""
    across, down = width_px / image["frame_width"], height_px / image["frame_height"]
    if not _is_pixels(image) or across == down == 1.0:
        return None
    record = f"{image['frame_width']:g} x {image['frame_height']:g}"
    detail = f"boxes times {across:.6g} x {down:.6g}: record {record}, stored {width_px} x {height_px}"
    return Verdict(image["image_id"], "image", "scaled_boxes", detail, across, 1.0, hard=False)


def in_stored_px(objects: pa.Table, photographs: pa.Table) -> pa.Table:
    """The objects of photographs that were read, with their boxes in pixels of the stored photograph.

    A box keeps its place in the picture; where the record's frame has the stored size it keeps its very numbers. A
    reader lets a box leave its image by up to 1 px: no more than that is left of it here, however much it grew.

    Args:
        objects: Table of `schemas/object`.
        photographs: Table of `schemas/photograph`.

    Returns:
        Table of `schemas/object`, in the same order; frame_width and frame_height are those of the photograph.
    """
    place = pc.index_in(objects["image_id"], value_set=photographs["image_id"].combine_chunks())
    objects, place = objects.filter(pc.is_valid(place)), pc.drop_null(place).combine_chunks()
    stored, frame = (
        np.column_stack([table[name].to_numpy().astype(np.float64) for name in names])
        for table, names in (
            (photographs.take(place), ("width", "height")),
            (objects, ("frame_width", "frame_height")),
        )
    )
    boxes = pc.list_flatten(objects["bbox_xyxy"]).to_numpy().reshape(-1, 4)
    scaled = np.clip(boxes * np.tile(stored / frame, 2), -OUTSIDE_PX, np.tile(stored, 2) + OUTSIDE_PX)
    new = {
        "bbox_xyxy": box_array(scaled),
        "frame_width": pa.array(stored[:, 0]),
        "frame_height": pa.array(stored[:, 1]),
    }
    columns = [new.get(name, objects[name]) for name in objects.column_names]
    return pa.table(columns, schema=objects.schema)


def rotation_fault(image: Mapping[str, Any], rules: Mapping[str, Any]) -> Verdict | None:
    """What the source itself says against the photograph's orientation (design, images: Open Images Rotation)."""
    if rules["reject_rotated"] and image["rotation"]:
        told = f"the source says to turn it by {image['rotation']} degrees"
        return Verdict(image["image_id"], "image", "rotated", told, float(image["rotation"]), 0.0)
    if rules["reject_rotation_unknown"] and image["source"] == "openimages" and image["rotation"] is None:
        return Verdict(image["image_id"], "image", "rotation_unknown", "the source does not know its orientation")
    return None


def _equal_pixels(rows: Iterable[Row], sound: Mapping[str, Photograph], seniors: Collection[str]) -> dict[str, str]:
    """Image id to the image that shows the same pixels and is a senior item's, or ranks before it."""
    first: dict[str, str] = {}
    again: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: (row["item_id"] not in seniors, row["rank"], row["image_id"])):
        if row["image_id"] in sound:
            before = first.setdefault(sound[row["image_id"]].pixels_sha256, row["image_id"])
            if before != row["image_id"]:
                again[row["image_id"]] = before
    return again


def _is_absent(path: Path) -> bool:
    try:
        return not os.path.lexists(path)
    # a NUL character; a name that is too long
    except (ValueError, OSError):
        return False


def _measure(
    inputs: Inputs,
    images: Mapping[str, Row],
    wanted: Iterable[str],
    found: dict[str, Photograph | Verdict],
    awaited: dict[str, Row],
) -> None:
    """Measures what has not been measured, and notes what has to be fetched first."""
    fresh = sorted(set(wanted) - set(found) - set(awaited))
    by_word = {image_id: rotation_fault(images[image_id], inputs.config["images"]) for image_id in fresh}
    found |= {image_id: fault for image_id, fault in by_word.items() if fault is not None}
    sources = {source["name"]: source for source in inputs.config["sources"]}
    asked = [images[image_id] for image_id in fresh if by_word[image_id] is None]
    jobs = jobs_of(asked, sources, inputs.source_root)
    absent = [image for image, job in zip(asked, jobs, strict=True) if _is_absent(job.root / job.path)]
    if absent:
        awaited |= {image["image_id"]: image for image in to_fetch(absent, sources, inputs.source_root)}
        jobs = [job for job in jobs if job.image_id not in awaited]
    rules = ImageRules(inputs.config["images"]["max_pixels"], inputs.config["images"]["reject_rotated"])
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found |= {job.image_id: result for job, result in zip(jobs, measure_all(jobs, rules, threads), strict=True)}


def _verdict(row: Row, result: Photograph | Verdict | None, equal: Mapping[str, str], kind: str) -> Verdict | None:
    if isinstance(result, Verdict):
        return Verdict(row["item_id"], kind, result.rule, result.detail, result.measured, result.limit)
    if row["image_id"] in equal:
        return Verdict(row["item_id"], kind, "equal_pixels", f"shows the same pixels as {equal[row['image_id']]}")
    return None


def _to_fetch(image: Row, inputs: Inputs) -> dict[str, Any]:
    folder = next(source["images"] for source in inputs.config["sources"] if source["name"] == image["source_name"])
    return {"kind": "photograph", "item_id": image["image_id"], "path": f"{folder}/{image['file_name']}"}


def run(inputs: Inputs, kind: str) -> Output:
    """Checks photographs until every stratum has what it wants or has run out.

    Photographs that are absent, and that `groundset fetch` could get and has not asked for in vain, are waited for: a
    build before the first fetch must not take the whole reserve for missing.

    A photograph that stays in spite of another size than its record's, since its source says `on_other_size = "scale"`,
    is flagged `scaled_boxes` with the factor. Photographs that look alike are flagged `near_duplicate`, those of the
    reserve too: which are flagged follows from which are kept, and from nothing that was opened or rejected on the way.

    A withdrawn photograph is rejected as a broken one is.

    Args:
        inputs: Config `sources`, `images`, `strata`; tables `10_import/images`, `30_stratify/kept`, `refill/rejected`.
        kind: What one ranked record is: item or dialogue.
    """
    ranking = inputs.tables["30_stratify/kept"]
    rows: dict[str, Row] = {row["item_id"]: row for row in ranking.to_pylist()}
    images: dict[str, Row] = {row["image_id"]: row for row in inputs.tables["10_import/images"].to_pylist()}
    later: set[str] = set(inputs.tables["refill/rejected"]["record_id"].to_pylist())
    margin = inputs.config["images"]["margin"]
    refills = "image" in inputs.config["strata"]["refill"]
    gone = withdrawals.read(inputs.manifest_folder / inputs.withdrawals)
    # not opened, nor waited for
    by_record = withdrawals.by_record(images.values(), gone)
    found: dict[str, Photograph | Verdict] = dict(by_record)
    awaited: dict[str, Row] = {}
    verdicts: dict[str, Verdict] = {}
    # items that need no later rejection to come in are settled first, so that no newcomer takes an equal one's place
    seniors: set[str] = set()
    for rejected in (set(), later):
        while True:
            selection = select(ranking, rejected | (set(verdicts) if refills else set()), margin)
            worked = [rows[item] for item in (*selection.taken, *selection.refused, *selection.reserve)]
            _measure(inputs, images, {row["image_id"] for row in worked}, found, awaited)
            found |= withdrawals.by_pixels(_pixels(found), gone)
            sound = {image_id: result for image_id, result in found.items() if isinstance(result, Photograph)}
            equal = _equal_pixels(worked, sound, seniors)
            judged = {row["item_id"]: _verdict(row, found.get(row["image_id"]), equal, kind) for row in worked}
            faults = {item: verdict for item, verdict in judged.items() if verdict is not None}
            if faults.keys() <= verdicts.keys():
                break
            verdicts |= faults
        seniors = {row["item_id"] for row in worked}
    if awaited:
        return Output(waiting=tuple(_to_fetch(awaited[image_id], inputs) for image_id in sorted(awaited)))
    reserve = set(selection.reserve)
    kept = [{**row, "reserve": row["item_id"] in reserve} for row in worked if row["item_id"] not in verdicts]
    kept.sort(key=lambda row: str(row["item_id"]))
    shown = sorted({str(row["image_id"]) for row in kept})
    photographs = [asdict(sound[image_id]) for image_id in shown]
    scaled = [scaled_boxes(images[name], sound[name].width, sound[name].height) for name in shown]
    hashes = {name: sound[name].difference_hash for name in shown}
    alike = near_duplicates(hashes, inputs.config["images"]["near_duplicate_distance"])
    return Output(
        tables={
            "kept": pa.Table.from_pylist(kept, schema=arrow_schema("selected")),
            "photographs": pa.Table.from_pylist(photographs, schema=arrow_schema("photograph")),
            "withdrawn": withdrawals.table(gone),
        },
        verdicts=(
            *verdicts.values(),
            *(verdict for verdict in scaled if verdict),
            *alike,
            *withdrawals.unknown(images, gone),
        ),
        entered={kind: sorted({row["item_id"] for row in worked} | set(verdicts))},
        read=_read(inputs, images, {name: result for name, result in found.items() if name not in by_record}),
    )


def _pixels(found: Mapping[str, Photograph | Verdict]) -> dict[str, str]:
    return {name: result.pixels_sha256 for name, result in found.items() if isinstance(result, Photograph)}


def _read(
    inputs: Inputs, images: Mapping[str, Row], found: Mapping[str, Photograph | Verdict]
) -> dict[str, str | None]:
    folders = {source["name"]: source["images"] for source in inputs.config["sources"]}
    withdrawn = inputs.withdrawals
    read: dict[str, str | None] = {f"manifest:{withdrawn}": sha256_if_there(inputs.manifest_folder / withdrawn)}
    photographs: dict[str, str | None] = {}
    for image_id, result in found.items():
        if isinstance(result, Verdict) and result.rule == "path_outside_folder":
            continue
        key = f"{folders[images[image_id]['source_name']]}/{images[image_id]['file_name']}"
        path = inputs.source_root / key
        known = result.sha256 if isinstance(result, Photograph) else None
        photographs[f"source:{key}"] = known or sha256_if_there(path)
    read |= photographs
    if None in photographs.values():
        # what it says of an absent photograph decides whether the build waits for it
        read[f"source:{MISSING}"] = sha256_if_there(inputs.source_root / MISSING)
    return read
