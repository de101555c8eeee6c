# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads published FPCO-Dialog records (`<id>.json` beside `<id>.jpg`) and what a completions file adds to them.

A record names neither its photograph's origin, address, author and licence nor its target's box. What it lacks is told
record by record, and a completions file can add it (design, section 8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset import licences
from groundset.errors import DataError, Problem
from groundset.files import plain, sha256_bytes, sha256_file
from groundset.fpco.filter import CATEGORIES, COMPLEXITIES
from groundset.schema_types import arrow_schema
from groundset.sources import box_checks, fpco_completions, json_faults, strict_json
from groundset.sources.fpco_completions import Completion
from groundset.sources.fpco_files import LAYOUTS, Files, Photo, hashes, list_files
from groundset.sources.fpco_record import SOURCES, Record, faults, from_published, published_text, to_published
from groundset.sources.imported import id_text, object_record_id, sorted_verdicts
from groundset.verdicts import Verdict

SCHEMA = "sources/fpco_published"
# what a release needs or shows and a record does not say, in the order in which it is asked for
LACKABLE = (
    "size",
    "source_image_id",
    "licence",
    "landing_url",
    "author",
    "target_box",
    "original_url",
    "author_url",
    "title",
    "target_object_id",
)
# what no published record says and nothing can complete
NEVER_SAID = ("split", "writer_version", "reviewer")
NO_OBJECT = "target"

Row = dict[str, Any]


@dataclass(frozen=True)
class Published:
    """A folder of published records.

    For each kind in `rows_in`, rows_in == rows kept in the table + hard verdicts of that kind.

    Attributes:
        images: Table of `schemas/image`, sorted by image_id: the photographs of the dialogues that stay.
        objects: Table of `schemas/object`: the targets whose boxes the completions tell.
        dialogues: Table of `schemas/fpco_source_dialogue`, sorted by dialogue_id.
        records: Every record that the folder holds, sorted by file name.
        rejected: Hard verdicts, one for each row that was left out.
        flagged: Soft verdicts, `lacks_...` among them.
        lacking: What the dialogues that stay lack, to the number of them that lack it.
        rows_in: Photographs, completed boxes and records, by kind: image, object, dialogue.
        files: Records and photographs, as `groundset.sources.fpco_files.hashes` tells them.
    """

    images: pa.Table
    objects: pa.Table
    dialogues: pa.Table
    records: tuple[Record, ...]
    rejected: tuple[Verdict, ...]
    flagged: tuple[Verdict, ...]
    lacking: Mapping[str, int]
    rows_in: Mapping[str, int]
    files: Mapping[str, str | None]


def lacks(image: Mapping[str, Any], target: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What a release would need or show of a photograph and its target and does not have, in the order of `LACKABLE`.

    Args:
        image: Row of `schemas/image`, as this reader makes it.
        target: Row of `schemas/object`, or None without a box.
    """
    missing = {key for key in LACKABLE if key in image and image[key] is None}
    # what the tables cannot leave out is filled with a word of ours where it is not known
    missing |= {"size"} if (image["frame_width"], image["frame_height"]) == (1.0, 1.0) else set()
    missing |= {"source_image_id"} if image["source_image_id"] == image["image_id"] else set()
    missing |= {"target_box"} if target is None else set()
    missing |= {"target_object_id"} if target is None or target["object_id"] == NO_OBJECT else set()
    return tuple(key for key in LACKABLE if key in missing)


def _image_id(record: Record, completion: Completion | None) -> str:
    return completion.image_id if completion else f"published-{id_text(plain(record.name))}"


def _judge(
    records: Sequence[Record], files: Files, completions: Mapping[str, Completion]
) -> tuple[list[Record], list[Verdict]]:
    """The records that stay, and every verdict on records: the first fault of each is hard, its others are soft."""
    same_id = Counter(record.id for record in records)
    staying: list[Record] = []
    verdicts: list[Verdict] = []
    first: dict[str, str] = {}
    for record in records:
        found = list(faults(record))
        if record.name not in files.photos:
            found.append(("image_missing", files.why_no_photo(record.name)))
        image_id = _image_id(record, completions.get(record.name))
        if not found and first.setdefault(image_id, record.id) != record.id:
            found = [("same_photograph", f"{first[image_id]} has the photograph {image_id} already")]
        if not found:
            staying.append(record)
        verdicts += [
            Verdict(record.dialogue_id, "dialogue", rule, detail, hard=number == 0)
            for number, (rule, detail) in enumerate(found)
        ]
        if same_id[record.id] > 1:
            told = f"{same_id[record.id]} records are called {json_faults.shown(record.id)}"
            verdicts.append(Verdict(record.dialogue_id, "dialogue", "duplicate_id", told, hard=False))
    return staying, verdicts


def _image_row(record: Record, photo: Photo, told: Completion | None, source_name: str) -> Row:
    image_id = _image_id(record, told)
    row: Row = {
        "image_id": image_id,
        "source": SOURCES[record.source],
        "source_name": source_name,
        # where the id there is not known, nothing may look like one
        "source_image_id": told.source_image_id if told else image_id,
        "file_name": photo.path.name,
        "frame_width": float(photo.size_px[0]),
        "frame_height": float(photo.size_px[1]),
    }
    row = dict.fromkeys(arrow_schema("image").names) | row
    if told is None:
        return row
    licence = licences.by_spdx(told.licence_source) or licences.by_address(told.licence_source)
    page = licences.photo_page_from_flickr(told.landing_url) or licences.photo_page_from_flickr(told.original_url)
    return row | {
        **{key: getattr(told, key) for key in ("licence_source", "title", "author", "author_url", "original_url")},
        "licence": licence.spdx if licence and licence.photograph else None,
        "landing_url": told.landing_url or (page[1] if page else None),
        "flickr_id": page[0] if page else None,
    }


def _object_row(record: Record, told: Completion, image: Row) -> Row:
    return {
        "object_id": told.target_object_id or NO_OBJECT,
        "image_id": image["image_id"],
        "label": record.target,
        "category": CATEGORIES[record.category - 1],
        "specificity": 0,
        "bbox_xyxy": list(told.target_bbox_xyxy_px or ()),
        "frame_width": image["frame_width"],
        "frame_height": image["frame_height"],
        "is_group": -1,
        "is_depiction": -1,
        "mask_area": None,
    }


def _dialogue_row(record: Record, image_id: str) -> Row:
    document = to_published(record)
    return {
        "dialogue_id": record.dialogue_id,
        "image_id": image_id,
        "published_id": record.id,
        "published_source": record.source,
        "complexity": COMPLEXITIES[record.complexity - 1],
        "category": CATEGORIES[record.category - 1],
        "target_label": record.target,
        **document["base"],
        "questions": document["question"],
    }


def _box_verdict(target: Row, record_id: str) -> Verdict | None:
    width, height = target["frame_width"], target["frame_height"]
    if (width, height) == (1.0, 1.0):
        return Verdict(record_id, "object", "no_size", "the photograph's size is not known")
    x_min, y_min, x_max, y_max = target["bbox_xyxy"]
    outside = max(-x_min, -y_min, x_max - width, y_max - height)
    if outside <= box_checks.OUTSIDE_PX:
        return None
    told = f"bbox {target['bbox_xyxy']} leaves the image of {width:g} x {height:g}"
    return Verdict(record_id, "object", "box_outside_image", told, outside, box_checks.OUTSIDE_PX)


def _decode_all(files: Files) -> tuple[list[Record], list[Problem]]:
    records, problems = [], []
    for name, path in files.records.items():
        file = plain(str(path))
        try:
            document, wrong = strict_json.decode(json_faults.read_bytes(path), SCHEMA)
        except DataError as error:
            problems += [Problem(file, "", problem.path, problem.message) for problem in error.problems]
            continue
        problems += [Problem(file, "", place, message) for place, message in wrong]
        if not wrong:
            records.append(from_published(name, document))
    return records, problems


def _lacking(
    dialogues: Sequence[Row], images: Mapping[str, Row], objects: Mapping[str, Row]
) -> tuple[list[Verdict], dict[str, int]]:
    """A soft verdict on everything that a dialogue lacks, and how many lack what."""
    verdicts = []
    for row in dialogues:
        image = images[row["image_id"]]
        for key in lacks(image, objects.get(row["image_id"])):
            stated = image["licence_source"] if key == "licence" else None
            told = (
                f"{stated!r} is no licence of photographs in the licence table" if stated else "no completion tells it"
            )
            told = "the photograph cannot be read" if key == "size" else told
            verdicts.append(Verdict(row["dialogue_id"], "dialogue", f"lacks_{key}", told, hard=False))
    counts = Counter(verdict.rule.removeprefix("lacks_") for verdict in verdicts)
    return verdicts, {
        **{key: counts[key] for key in LACKABLE if counts[key]},
        **dict.fromkeys(NEVER_SAID, len(dialogues)),
    }


def _targets(
    records: Mapping[str, Record], images: Mapping[str, Row], completions: Mapping[str, Completion]
) -> tuple[dict[str, Row], list[Verdict]]:
    """The completed target of each record that stays, by image, and a verdict on each box that does not."""
    objects: dict[str, Row] = {}
    verdicts = []
    for name, told in sorted(completions.items()):
        if told.target_bbox_xyxy_px is None:
            continue
        record_id = object_record_id(told.image_id, told.target_object_id or NO_OBJECT)
        if name not in records:
            verdicts.append(Verdict(record_id, "object", "dialogue_rejected", f"its record {name} was rejected"))
            continue
        target = _object_row(records[name], told, images[told.image_id])
        verdict = _box_verdict(target, record_id)
        if verdict:
            verdicts.append(verdict)
        else:
            objects[told.image_id] = target
    return objects, verdicts


def _photo_verdicts(files: Files, staying: Collection[str], image_ids: Mapping[str, str]) -> list[Verdict]:
    verdicts = []
    for name in files.photos:
        if name not in image_ids:
            image_id = f"published-{id_text(plain(name))}"
            verdicts.append(Verdict(image_id, "image", "image_without_record", f"there is no {plain(name)}.json"))
        elif name not in staying:
            verdicts.append(Verdict(image_ids[name], "image", "dialogue_rejected", "its record was rejected"))
    return verdicts


def _flags(records: Sequence[Record], files: Files, images: Mapping[str, Row]) -> list[Verdict]:
    verdicts = [
        Verdict(image_id, "image", "unknown_licence", row["licence_source"], hard=False)
        for image_id, row in images.items()
        if row["licence_source"] and not row["licence"]
    ]
    for record in records:
        if sha256_bytes(published_text(record)) != sha256_file(files.records[record.name]):
            told = "its JSON is kept, its line breaks, order of keys or escapes are not the publisher's"
            verdicts.append(Verdict(record.dialogue_id, "dialogue", "written_otherwise", told, hard=False))
    return verdicts


def _table(schema_name: str, rows: Sequence[Row], sort_by: str) -> pa.Table:
    return pa.Table.from_pylist(sorted(rows, key=lambda row: str(row[sort_by])), schema=arrow_schema(schema_name))


def read(
    folder: Path,
    *,
    source_name: str,
    completions: Path | None,
    records: str = LAYOUTS[0][0],
    images: str = LAYOUTS[0][1],
) -> Published:
    """Reads a folder of published records.

    Boxes of the completions are in pixels of the photograph beside the record, so its header is read for its size; it
    is decoded and checked later. A box may leave its photograph by up to 1 px (ours).

    Args:
        folder: The published set.
        source_name: Name of the source in the manifest.
        completions: JSON Lines of `schemas/fpco_completion`, or None.
        records: Folder of the records below the set; image_metadata in the older layout.
        images: Folder of the photographs below the set.

    Returns:
        The tables and verdicts. Rules of dialogues, in this order: id_not_file_name, id_form,
        complexity_contradicts_id, category_contradicts_id, false_class_unknown, false_class_contradicts_id,
        source_unknown, target_empty, description_empty, modified_description_empty, question_count or question_ids or
        question_empty, image_missing, same_photograph; the first that speaks rejects, the others are soft. Rules of
        images: image_without_record, dialogue_rejected. Rules of objects: dialogue_rejected, no_size,
        box_outside_image. Soft: duplicate_id, lacks_..., unknown_licence, written_otherwise (the file is not the
        publisher's form of its own JSON, so it cannot be given back byte by byte), hidden_file, other_file.

    Raises:
        DataError: A folder or file cannot be read, a record is not of the published form, or a completion is wrong or
            of no record; names every problem.
    """
    files = list_files(folder, records, images)
    read_records, problems = _decode_all(files)
    known: dict[str, str | None] = dict.fromkeys(files.records)
    known |= {record.name: SOURCES.get(record.source) for record in read_records}
    told: dict[str, Completion] = {}
    if completions is not None:
        told, wrong = fpco_completions.read(completions, known)
        problems += wrong
    if problems:
        raise DataError(f"{plain(str(folder))} cannot be read as published FPCO-Dialog records", problems)

    staying, verdicts = _judge(read_records, files, told)
    image_ids = {record.name: _image_id(record, told.get(record.name)) for record in read_records}
    image_rows = {
        image_ids[record.name]: _image_row(record, files.photos[record.name], told.get(record.name), source_name)
        for record in staying
    }
    by_name = {record.name: record for record in staying}
    targets, box_verdicts = _targets(by_name, image_rows, told)
    dialogue_rows = [_dialogue_row(record, image_ids[record.name]) for record in staying]
    lacking, summary = _lacking(dialogue_rows, image_rows, targets)
    verdicts += [*box_verdicts, *_photo_verdicts(files, by_name, image_ids), *lacking, *files.others]
    verdicts += _flags(read_records, files, image_rows)
    return Published(
        images=_table("image", list(image_rows.values()), "image_id"),
        objects=_table("object", list(targets.values()), "image_id"),
        dialogues=_table("fpco_source_dialogue", dialogue_rows, "dialogue_id"),
        records=tuple(read_records),
        rejected=sorted_verdicts(verdict for verdict in verdicts if verdict.hard),
        flagged=sorted_verdicts(verdict for verdict in verdicts if not verdict.hard),
        lacking=summary,
        rows_in={
            "image": len(files.photos),
            "object": sum(row.target_bbox_xyxy_px is not None for row in told.values()),
            "dialogue": len(read_records),
        },
        files=hashes(folder, files),
    )
