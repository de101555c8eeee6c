# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads InViG in every form that it is published in: images, boxes and dialogues.

Which form a file has is found out from its content and told in the notes (`invig_forms`); what a form says is brought
to one shape (`invig_lines`, `invig_hf`) and judged here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundset.errors import DataError, Problem, UsageError
from groundset.images import stored_size
from groundset.sources import box_checks, invig_forms, invig_hf, invig_lines, json_faults
from groundset.sources.imported import (
    MAX_ID_LENGTH,
    Imported,
    object_record_id,
    one_per_id,
    path_fault,
    sorted_verdicts,
)
from groundset.sources.invig_forms import CANDIDATE_FIELDS
from groundset.sources.invig_records import (
    Box,
    Content,
    Photo,
    Record,
    dialogue_id,
    file_label,
    image_id,
    open_images_id,
    ref_keys,
)
from groundset.sources.invig_tables import Objects, dialogue_table, image_table, object_table
from groundset.verdicts import Verdict

# ours: a photograph that no box comes near the far edges of may be larger than the one the boxes were drawn on
REACH = 0.9
_PHOTOGRAPHS_THAT_TELL = 20


def _too_long(record_id: str, kind: str) -> Verdict:
    detail = "what the source calls it is too long for an id"
    return Verdict(record_id, kind, "id_too_long", detail, float(len(record_id)), float(MAX_ID_LENGTH))


def _image_rejection(name: str, photos: Sequence[Photo]) -> Verdict | None:
    said = partial(Verdict, name, "image")
    first = photos[0]
    fault = path_fault(first.filename)
    if fault:
        return said("path_outside_folder", f"file name {json_faults.shown(first.filename)}: {fault}")
    if len(name) > MAX_ID_LENGTH:
        return _too_long(name, "image")
    facts = {(photo.filename, photo.width, photo.height, photo.bboxes, photo.labels) for photo in photos}
    if len(facts) > 1:
        return said("conflicting_records", f"{len(facts)} records of this image differ in name, size or boxes")
    if first.width is None or first.height is None:
        told = f"no record gives one, and no photograph {json_faults.shown(first.filename)} was found that does"
        return said("no_size", told)
    if not box_checks.is_size(first.width, first.height):
        return said("no_size", f"width {first.width:g}, height {first.height:g}")
    return None


@dataclass(frozen=True)
class _Judged:
    """Everything that was read, put in order by its ids.

    Attributes:
        images: For each image id all that records say of it.
        records: The dialogues that stay so far, sorted by id.
        object_ids: For each of them, by id, the objects that its ref boxes are.
        objects: Every object once, as (image_id, object_id, box), in the source's order within an image.
    """

    images: dict[str, list[Photo]]
    records: list[tuple[str, Record]]
    object_ids: dict[str, list[str]]
    objects: list[tuple[str, str, Box]]


def _order(row: tuple[str, str, Box]) -> tuple[str, bool, int, str, Box]:
    name, object_id, box = row
    place = re.match(r"[0-9]+", object_id[1:])
    return name, object_id[0] == "r", int(place[0]) if place else 0, object_id, box


def _gather(content: Content, staying: Sequence[Record], split: str) -> _Judged:
    images: dict[str, list[Photo]] = {}
    for photo in (*(record.photo for record in content.records), *content.photos):
        images.setdefault(image_id(photo.filename), []).append(photo)
    objects = {
        (name, f"b{place}", box)
        for name, same in images.items()
        for photo in same
        for place, box in enumerate(photo.bboxes)
    }
    records = sorted(((dialogue_id(record, split), record) for record in staying), key=lambda row: row[0])
    keys = {name: ref_keys(record) for name, record in records}
    own: dict[tuple[str, str], set[Box]] = {}
    for name, record in records:
        for key, box in keys[name]:
            if key.startswith("r"):
                own.setdefault((image_id(record.photo.filename), key), set()).add(box)
    object_ids = {}
    for name, record in records:
        image = image_id(record.photo.filename)
        # two dialogues about one image may each have a ref box of their own at the same place of their lists
        named = [(f"{key}-{name}" if len(own.get((image, key), ())) > 1 else key, box) for key, box in keys[name]]
        object_ids[name] = [object_id for object_id, _ in named]
        objects |= {(image, object_id, box) for object_id, box in named}
    return _Judged(images, records, object_ids, sorted(objects, key=_order))


def _judge_objects(
    judged: _Judged, boxes: NDArray[np.float64], sizes: NDArray[np.float64], rejected_images: set[str]
) -> tuple[NDArray[np.bool_], list[Verdict]]:
    """Which objects stay, and a verdict for each that does not; the first rule that speaks is the one given."""
    side, outside = box_checks.shorter_side(boxes), box_checks.outside_px(boxes, sizes)
    homeless = np.fromiter((row[0] in rejected_images for row in judged.objects), bool, len(judged.objects))
    bad = (side <= 0) | homeless | (outside > box_checks.OUTSIDE_PX)
    rejected = []
    for index in np.flatnonzero(bad).tolist():
        name, object_id, box = judged.objects[index]
        said = partial(Verdict, object_record_id(name, object_id), "object")
        if side[index] <= 0:
            rejected.append(said("degenerate_box", f"box {list(box)}", float(side[index]), 0.0))
        elif homeless[index]:
            rejected.append(said("image_rejected", "its image was rejected"))
        else:
            detail = f"box {list(box)} leaves the image of {sizes[index, 0]:g} x {sizes[index, 1]:g}"
            rejected.append(said("box_outside_image", detail, float(outside[index]), box_checks.OUTSIDE_PX))
    return ~bad, rejected


def _judge_dialogue(name: str, record: Record, about: Sequence[str], lost: set[str]) -> Verdict | None:
    said = partial(Verdict, name, "dialogue")
    image = image_id(record.photo.filename)
    if image in lost:
        return said("image_rejected", "its image was rejected")
    bad = [key for key in about if object_record_id(image, key) in lost]
    if bad:
        return said("invalid_boxes", f"the boxes it is about are degenerate or leave the image: {', '.join(bad)}")
    return None


def _flag_texts(name: str, record: Record) -> list[Verdict]:
    texts = record.utterances
    parts = {"the first utterance": texts[:1], "questions": texts[1::2], "answers": texts[2::2]}
    blank = [part for part, values in parts.items() if any(not value.strip() for value in values)]
    detail = f"blank text in {', '.join(blank)}"
    return [Verdict(name, "dialogue", "blank_text", detail, hard=False)] if blank else []


def _flag_ids(images: Mapping[str, Sequence[Photo]], stays: set[str]) -> list[Verdict]:
    """Photographs whose file name shows another Open Images id than the id beside it."""
    flagged = []
    for name in sorted(stays):
        shown = open_images_id(images[name][0].filename)
        others = sorted({open_images_id(photo.global_id) for photo in images[name]} - {"", shown})
        if shown and others:
            detail = f"the file name says {shown}, the id beside it {', '.join(others)}; the file name is believed"
            flagged.append(Verdict(name, "image", "ids_differ", detail, hard=False))
    return flagged


def _require_unit(file: str, boxes: NDArray[np.float64], box_unit: str) -> str:
    """Holds the declared unit against how large the numbers are (limits ours); returns what was found, as a note."""
    if len(boxes) == 0:
        return f"no box tells whether the unit is {box_unit}, as declared"
    largest = np.abs(boxes).max(axis=1)
    is_pixel = largest > 1.01
    is_unit = ~is_pixel & (boxes % 1 != 0).any(axis=1)
    shares = {"unit": float(is_unit.mean()), "pixel": float(is_pixel.mean())}
    told = (
        f"{shares['unit']:.1%} of {len(boxes)} boxes are fractions of at most 1,"
        f" {shares['pixel']:.1%} have a value above 1"
    )
    other = "pixel" if box_unit == "unit" else "unit"
    few = shares[other] * len(boxes) < box_checks.MISFIT_BOXES - 0.5 and shares[other] < 1
    if shares[other] > box_checks.MISFIT_SHARE and not few:
        hint = f"declare box_unit = {other} if that is what the file has"
        problem = Problem(file, "", "", f"declared in {box_unit}s, but {told}", hint)
        raise DataError(f"{file}: the boxes do not fit the declared unit", [problem])
    return f"boxes in {box_unit}s, as declared: {told}"


def _with_sizes(content: Content, folder: Path | None) -> tuple[Content, tuple[Path, ...], set[str]]:
    """Sizes that no record gives, taken from the photographs; the files looked for, and the images measured."""
    photos = [record.photo for record in content.records] + content.photos
    names = sorted({photo.filename for photo in photos if photo.width is None and not path_fault(photo.filename)})
    if not names or folder is None:
        return content, (), set()
    sizes = {name: stored_size(Path(name), folder) for name in names}

    def sized(photo: Photo) -> Photo:
        size = sizes.get(photo.filename) if photo.width is None else None
        return photo if size is None else replace(photo, width=float(size[0]), height=float(size[1]))

    measured = {image_id(name) for name, size in sizes.items() if size is not None}
    notes = (
        f"no record gives a size: that of {len(measured)} of {len(names)} photographs was read from the image folder,"
        " so they have to be those that the boxes were drawn on",
    )
    records = [replace(record, photo=sized(record.photo)) for record in content.records]
    sized_content = replace(
        content, records=records, photos=[sized(photo) for photo in content.photos], notes=(*content.notes, *notes)
    )
    return sized_content, tuple(folder / name for name in names), measured


def _reach_note(judged: _Judged, boxes: NDArray[np.float64], sizes: NDArray[np.float64], measured: set[str]) -> str:
    """Says so if the boxes of measured photographs stay far from their far edges; empty if they do not."""
    of_measured = np.fromiter((row[0] in measured for row in judged.objects), bool, len(judged.objects))
    if len({row[0] for row in judged.objects} & measured) < _PHOTOGRAPHS_THAT_TELL:
        return ""
    farthest = (boxes[of_measured, 2:] / sizes[of_measured]).max(axis=0)
    if farthest.max() >= REACH:
        return ""
    return (
        f"no box reaches beyond {farthest[0]:.1%} of the width and {farthest[1]:.1%} of the height of its photograph:"
        " the photographs may be larger than those that the boxes were drawn on"
    )


def _candidate_field(content: Content, form: invig_forms.Form, wanted: str) -> None:
    if wanted in content.candidate_fields:
        return
    can = ", ".join(content.candidate_fields)
    message = f"{wanted!r} is not one of {', '.join(CANDIDATE_FIELDS)}"
    if wanted in CANDIDATE_FIELDS:
        message = f"{wanted!r} cannot be given by {form.name}, which has {can}"
    problem = Problem("", "", "initial_candidates", message)
    raise UsageError("the field of the initial candidates cannot be read", [problem])


def read(
    annotations: Path,
    *,
    split: str,
    source_name: str,
    initial_candidates: str,
    photograph_licence: str | None,
    box_format: str = "xyxy",
    box_unit: str = "pixel",
    images_folder: Path | None = None,
    executor: Executor | None = None,
) -> Imported:
    """Reads one split of InViG.

    Boxes come out as x_min, y_min, x_max, y_max in pixels of the record's width and height. An image that several
    dialogues talk about appears once. A ref box that equals no box of the image's objects is an object of its own. A
    box may leave its image by up to 1 px (ours).

    Args:
        annotations: The publisher's JSONL, a Parquet file or JSONL of the Hugging Face copy, or a folder of its shards.
        split: Name of the split, kept as a column and part of every dialogue id; of a folder, its shards are taken.
        source_name: Name of the source in the manifest.
        initial_candidates: What the first utterance may mean (the publisher's page leaves it open, so it has to be
            said): `ref_bboxes`, the boxes that the dialogue is about; `bboxes`, every object of the image; `label`, the
            objects of the referent's class; `raw_target`, the objects that the annotators named. Not every form has
            each of them.
        photograph_licence: SPDX id of the photographs, since no form names one; None if not known.
        box_format: xyxy (the publisher's) or xywh.
        box_unit: pixel (the publisher's, and revision 0189f8c) or unit (revision 456ac78).
        images_folder: Folder of the photographs, for the sizes that some forms do not give; if None, an image without a
            size is rejected.
        executor: Who decodes the pieces of a JSONL file; threads of this machine if none is given.

    Returns:
        Images, objects and dialogues. Rules of images: path_outside_folder, id_too_long, conflicting_records, no_size.
        Rules of objects, in this order: degenerate_box, image_rejected, box_outside_image. Rules of dialogues, in this
        order: duplicate_id, id_too_long, image_rejected, invalid_boxes. Soft: blank_text, ids_differ,
        no_object_of_class.

    Raises:
        DataError: A file cannot be read, a record is wrong, or the boxes do not keep the declared convention.
        UsageError: The box convention is not known, or the form cannot give these initial candidates.
    """
    box_checks.check_convention_names(box_format, box_unit)
    if initial_candidates not in CANDIDATE_FIELDS:
        _candidate_field(Content([]), invig_forms.OFFICIAL, initial_candidates)
    found = invig_forms.find(annotations, split)
    is_official = found.form == invig_forms.OFFICIAL
    content = invig_lines.read(annotations, executor) if is_official else invig_hf.read(found, executor)
    _candidate_field(content, found.form, initial_candidates)
    content, looked_for, measured = _with_sizes(content, images_folder)

    staying, doubled = one_per_id(content.records, lambda record: record.id)
    rejected = [Verdict(dialogue_id(record, split), "dialogue", "duplicate_id", detail) for record, detail in doubled]
    long = [record for record in staying if len(dialogue_id(record, split)) > MAX_ID_LENGTH]
    rejected += [_too_long(dialogue_id(record, split), "dialogue") for record in long]
    staying = [record for record in staying if len(dialogue_id(record, split)) <= MAX_ID_LENGTH]
    judged = _gather(content, staying, split)

    said = {name: _image_rejection(name, photos) for name, photos in judged.images.items()}
    lost = {name for name, verdict in said.items() if verdict}
    rejected += [verdict for verdict in said.values() if verdict]
    stays_images = set(said) - lost

    # the least, since the records of a rejected image may differ
    size_of = {
        name: min((photo.width or 0.0, photo.height or 0.0) for photo in photos)
        for name, photos in judged.images.items()
    }
    sizes = np.array([size_of[row[0]] for row in judged.objects], dtype=np.float64).reshape(-1, 2)
    written = box_checks.box_values([row[2] for row in judged.objects])
    housed = np.fromiter((row[0] not in lost for row in judged.objects), bool, len(judged.objects))
    unit_note = _require_unit(file_label(annotations), written[housed], box_unit)
    box_checks.require_convention(file_label(annotations), written[housed], sizes[housed], box_format, box_unit)
    boxes = box_checks.to_xyxy_px(written, np.clip(sizes, *box_checks.SIDE_PX), box_format, box_unit)
    stays, verdicts = _judge_objects(judged, boxes, sizes, lost)
    rejected += verdicts
    lost |= {verdict.record_id for verdict in verdicts}
    reach_note = _reach_note(judged, boxes, sizes, measured)

    dialogues, flagged = [], _flag_ids(judged.images, stays_images)
    for name, record in judged.records:
        targets = [f"b{target}" for target in record.targets] if initial_candidates == "raw_target" else []
        verdict = _judge_dialogue(name, record, [*judged.object_ids[name], *targets], lost)
        if verdict:
            rejected.append(verdict)
        else:
            dialogues.append((name, record))
            flagged += _flag_texts(name, record)
    labels = {name: photos[0].labels for name, photos in judged.images.items()}
    kept = [row for row, stay in zip(judged.objects, stays.tolist(), strict=True) if stay]
    objects = Objects(kept, boxes[stays], sizes[stays], labels)
    table, flags = dialogue_table(dialogues, judged.object_ids, objects, split, initial_candidates)
    form_note = f"{found.form.name}, {len(found.files)} {'Parquet' if found.is_parquet else 'JSONL'} file(s)"
    return Imported(
        images=image_table({name: judged.images[name] for name in stays_images}, source_name, photograph_licence),
        objects=object_table(objects),
        dialogues=table,
        rejected=sorted_verdicts(rejected),
        flagged=sorted_verdicts([*flagged, *flags]),
        rows_in={"image": len(judged.images), "object": len(judged.objects), "dialogue": len(content.records)},
        notes=tuple(note for note in (form_note, *content.notes, unit_note, reach_note) if note),
        opened=tuple(path for path in (*found.files, *looked_for) if path != annotations),
    )
