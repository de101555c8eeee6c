# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads InViG's official JSONL files (InViG-Dataset-API, README): images, boxes and dialogues.

One JSON object a line. Turn 1 is `ann.ref_exp`; each later turn is a question of `ann.questions` with the answer of
`ann.answers` at the same place, so lists of unequal length are an error: cutting to the shorter would lose turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundset.errors import Problem, UsageError
from groundset.sources import box_checks, json_faults
from groundset.sources.imported import (
    MAX_ID_LENGTH,
    Imported,
    box_array,
    id_text,
    object_record_id,
    one_per_id,
    path_fault,
    sorted_table,
    sorted_verdicts,
)
from groundset.sources.invig_lines import Box, Line, read_lines, ref_keys
from groundset.verdicts import Verdict

CANDIDATE_FIELDS = ("ref_bboxes", "bboxes")


def _image_id(file_name: str) -> str:
    # a name that leaves the folder keeps its whole path, so that it cannot be taken for the photograph of that name
    if path_fault(file_name):
        return f"invig-:{id_text(file_name)}"
    return f"invig-{id_text(PurePosixPath(file_name).stem)}"


def _dialogue_id(line: Line, split: str) -> str:
    return f"invig-{id_text(split)}-{id_text(str(line.id))}"


def _source_image_id(file_name: str) -> str:
    stem = PurePosixPath(file_name).stem
    first = stem.split("_")[0]
    return first if re.fullmatch(r"[0-9a-f]{16}", first) else stem


def _too_long(record_id: str, kind: str) -> Verdict:
    detail = "what the source calls it is too long for an id"
    return Verdict(record_id, kind, "id_too_long", detail, float(len(record_id)), float(MAX_ID_LENGTH))


def _image_rejection(image_id: str, lines: Sequence[Line]) -> Verdict | None:
    said = partial(Verdict, image_id, "image")
    first = lines[0]
    fault = path_fault(first.filename)
    if fault:
        return said("path_outside_folder", f"file name {json_faults.shown(first.filename)}: {fault}")
    if len(image_id) > MAX_ID_LENGTH:
        return _too_long(image_id, "image")
    facts = {(line.filename, line.width, line.height, tuple(line.ann.bboxes)) for line in lines}
    if len(facts) > 1:
        return said("conflicting_records", f"{len(facts)} records of this image differ in name, size or boxes")
    if not box_checks.is_size(first.width, first.height):
        return said("no_size", f"width {first.width:g}, height {first.height:g}")
    return None


@dataclass(frozen=True)
class _Content:
    """All lines, put in order by their ids.

    Attributes:
        images: For each image id all lines that speak of it.
        lines: The lines that stay as dialogues so far, sorted by dialogue id.
        object_ids: For each line that stays, by dialogue id, the objects that its ref boxes are.
        objects: Every object once, as (image_id, object_id, box), in the source's order within an image.
    """

    images: dict[str, list[Line]]
    lines: list[Line]
    object_ids: dict[str, list[str]]
    objects: list[tuple[str, str, Box]]


def _order(row: tuple[str, str, Box]) -> tuple[str, bool, int, str, Box]:
    image_id, object_id, box = row
    place = re.match(r"[0-9]+", object_id[1:])
    return image_id, object_id[0] == "r", int(place[0]) if place else 0, object_id, box


def _gather(lines: Sequence[Line], staying: Sequence[Line], split: str) -> _Content:
    images: dict[str, list[Line]] = {}
    for line in lines:
        images.setdefault(_image_id(line.filename), []).append(line)
    objects = {
        (image_id, f"b{place}", box)
        for image_id, same in images.items()
        for line in same
        for place, box in enumerate(line.ann.bboxes)
    }
    keys = {_dialogue_id(line, split): ref_keys(line) for line in staying}
    own: dict[tuple[str, str], set[Box]] = {}
    for line in staying:
        for key, box in keys[_dialogue_id(line, split)]:
            if key.startswith("r"):
                own.setdefault((_image_id(line.filename), key), set()).add(box)
    object_ids = {}
    for line in staying:
        image_id, dialogue_id = _image_id(line.filename), _dialogue_id(line, split)
        # two dialogues about one image may each have a ref box of their own at the same place of their lists
        named = [
            (f"{key}-{dialogue_id}" if len(own.get((image_id, key), ())) > 1 else key, box)
            for key, box in keys[dialogue_id]
        ]
        object_ids[dialogue_id] = [object_id for object_id, _ in named]
        objects |= {(image_id, object_id, box) for object_id, box in named}
    ordered = sorted(staying, key=lambda line: _dialogue_id(line, split))
    return _Content(images, ordered, object_ids, sorted(objects, key=_order))


def _judge_objects(
    content: _Content, boxes: NDArray[np.float64], sizes: NDArray[np.float64], rejected_images: set[str]
) -> tuple[NDArray[np.bool_], list[Verdict]]:
    """Which objects stay, and a verdict for each that does not; the first rule that speaks is the one given."""
    side, outside = box_checks.shorter_side(boxes), box_checks.outside_px(boxes, sizes)
    homeless = np.fromiter((row[0] in rejected_images for row in content.objects), bool, len(content.objects))
    bad = (side <= 0) | homeless | (outside > box_checks.OUTSIDE_PX)
    rejected = []
    for index in np.flatnonzero(bad).tolist():
        image_id, object_id, box = content.objects[index]
        said = partial(Verdict, object_record_id(image_id, object_id), "object")
        if side[index] <= 0:
            rejected.append(said("degenerate_box", f"box {list(box)}", float(side[index]), 0.0))
        elif homeless[index]:
            rejected.append(said("image_rejected", "its image was rejected"))
        else:
            detail = f"box {list(box)} leaves the image of {sizes[index, 0]:g} x {sizes[index, 1]:g}"
            rejected.append(said("box_outside_image", detail, float(outside[index]), box_checks.OUTSIDE_PX))
    return ~bad, rejected


def _judge_dialogue(line: Line, dialogue_id: str, object_ids: Sequence[str], lost: set[str]) -> Verdict | None:
    said = partial(Verdict, dialogue_id, "dialogue")
    image_id = _image_id(line.filename)
    if image_id in lost:
        return said("image_rejected", "its image was rejected")
    bad = [key for key in object_ids if object_record_id(image_id, key) in lost]
    if bad:
        return said("invalid_boxes", f"the boxes it is about are degenerate or leave the image: {', '.join(bad)}")
    return None


def _flag_texts(line: Line, dialogue_id: str) -> list[Verdict]:
    texts = {"ref_exp": [line.ann.ref_exp], "questions": line.ann.questions, "answers": line.ann.answers}
    blank = [name for name, values in texts.items() if any(not value.strip() for value in values)]
    detail = f"blank text in {', '.join(blank)}"
    return [Verdict(dialogue_id, "dialogue", "blank_text", detail, hard=False)] if blank else []


def _turns(line: Line) -> list[dict[str, Any]]:
    pairs = zip(line.ann.questions, line.ann.answers, strict=True)
    later = [{"turn": turn, "question": asked, "response": said} for turn, (asked, said) in enumerate(pairs, 2)]
    return [{"turn": 1, "question": None, "response": line.ann.ref_exp}, *later]


def _image_table(images: Sequence[tuple[str, Line]], source_name: str, photograph_licence: str | None) -> Any:
    nothing = [None] * len(images)
    columns = {
        **dict.fromkeys(("licence_source", "title", "author", "author_url", "landing_url", "original_url"), nothing),
        **dict.fromkeys(("flickr_id", "rotation"), nothing),
        "image_id": [image_id for image_id, _ in images],
        "source": ["invig"] * len(images),
        "source_name": [source_name] * len(images),
        "source_image_id": [_source_image_id(line.filename) for _, line in images],
        "file_name": [line.filename for _, line in images],
        "frame_width": [line.width for _, line in images],
        "frame_height": [line.height for _, line in images],
        "licence": [photograph_licence] * len(images),
    }
    return sorted_table("image", columns, ["image_id"])


def _object_table(
    objects: Sequence[tuple[str, str, Box]], boxes: NDArray[np.float64], sizes: NDArray[np.float64]
) -> Any:
    nothing = [None] * len(objects)
    unknown = np.full(len(objects), -1, dtype=np.int64)
    columns = {
        "object_id": [object_id for _, object_id, _ in objects],
        "image_id": [image_id for image_id, _, _ in objects],
        "label": nothing,
        "category": nothing,
        "bbox_xyxy": box_array(boxes),
        "frame_width": sizes[:, 0],
        "frame_height": sizes[:, 1],
        "is_group": unknown,
        "is_depiction": unknown,
        "mask_area": nothing,
    }
    return sorted_table("object", columns, ["image_id", "object_id"])


def _dialogue_table(
    dialogues: Sequence[tuple[str, Line]],
    content: _Content,
    kept: Sequence[tuple[str, str, Box]],
    split: str,
    field: str,
) -> Any:
    of_image: dict[str, list[str]] = {}
    for image_id, object_id, _ in kept:
        of_image.setdefault(image_id, []).append(object_id)
    objects = [of_image.get(_image_id(line.filename), []) for _, line in dialogues]
    if field == "ref_bboxes":
        candidates = [content.object_ids[dialogue_id] for dialogue_id, _ in dialogues]
    else:
        candidates = [[object_id for object_id in row if object_id.startswith("b")] for row in objects]
    columns = {
        "dialogue_id": [dialogue_id for dialogue_id, _ in dialogues],
        "image_id": [_image_id(line.filename) for _, line in dialogues],
        "split": [split] * len(dialogues),
        "source_dialogue_id": [str(line.id) for _, line in dialogues],
        "label": [None if line.label is None else str(line.label) for _, line in dialogues],
        "turns": [_turns(line) for _, line in dialogues],
        "object_ids": objects,
        "initial_candidate_ids": candidates,
    }
    return sorted_table("candvg_source_dialogue", columns, ["dialogue_id"])


def read(
    annotations: Path,
    *,
    split: str,
    source_name: str,
    initial_candidates: str,
    photograph_licence: str | None,
    box_format: str = "xyxy",
    box_unit: str = "pixel",
    executor: Executor | None = None,
) -> Imported:
    """Reads one split of InViG's official JSONL.

    Boxes come out as x_min, y_min, x_max, y_max in pixels of the record's width and height. An image that several
    dialogues talk about appears once. A ref box that equals no box of `bboxes` is an object of its own. A box may
    leave its image by up to 1 px (ours).

    Args:
        annotations: The JSONL file; a byte order mark, CRLF and blank lines do no harm.
        split: Name of the split, kept as a column and part of every dialogue id.
        source_name: Name of the source in the manifest.
        initial_candidates: Field with what the first utterance may mean: ref_bboxes or bboxes (the publisher's page
            leaves it open, so it has to be said).
        photograph_licence: SPDX id of the photographs, since the file names none; None if not known.
        box_format: xyxy (the publisher's) or xywh.
        box_unit: pixel (the publisher's) or unit.
        executor: Who decodes the pieces of the file; threads of this machine if none is given.

    Returns:
        Images, objects and dialogues. Rules of images: path_outside_folder, id_too_long, conflicting_records, no_size.
        Rules of objects, in this order: degenerate_box, image_rejected, box_outside_image. Rules of dialogues, in this
        order: duplicate_id, id_too_long, image_rejected, invalid_boxes. Soft: blank_text.

    Raises:
        DataError: The file cannot be read, a line is wrong, or the boxes do not keep the declared convention.
        UsageError: The box convention or the field of the initial candidates is not known.
    """
    box_checks.check_convention_names(box_format, box_unit)
    if initial_candidates not in CANDIDATE_FIELDS:
        message = f"{initial_candidates!r} is not one of {', '.join(CANDIDATE_FIELDS)}"
        raise UsageError(
            "the field of the initial candidates is not known", [Problem("", "", "initial_candidates", message)]
        )
    lines = read_lines(annotations, executor)
    staying, doubled = one_per_id(lines, lambda line: str(line.id))
    rejected = [Verdict(_dialogue_id(line, split), "dialogue", "duplicate_id", detail) for line, detail in doubled]
    long = [line for line in staying if len(_dialogue_id(line, split)) > MAX_ID_LENGTH]
    rejected += [_too_long(_dialogue_id(line, split), "dialogue") for line in long]
    staying = [line for line in staying if len(_dialogue_id(line, split)) <= MAX_ID_LENGTH]
    content = _gather(lines, staying, split)

    said = {image_id: _image_rejection(image_id, same) for image_id, same in content.images.items()}
    lost = {image_id for image_id, verdict in said.items() if verdict}
    rejected += [verdict for verdict in said.values() if verdict]

    # the least, since the records of a rejected image may differ
    size_of = {image_id: min((line.width, line.height) for line in same) for image_id, same in content.images.items()}
    sizes = np.array([size_of[row[0]] for row in content.objects], dtype=np.float64).reshape(-1, 2)
    written = box_checks.box_values([row[2] for row in content.objects])
    housed = np.fromiter((row[0] not in lost for row in content.objects), bool, len(content.objects))
    box_checks.require_convention(str(annotations), written[housed], sizes[housed], box_format, box_unit)
    boxes = box_checks.to_xyxy_px(written, np.clip(sizes, *box_checks.SIDE_PX), box_format, box_unit)
    stays, judged = _judge_objects(content, boxes, sizes, lost)
    rejected += judged
    lost |= {verdict.record_id for verdict in judged}

    dialogues, flagged = [], []
    for line in content.lines:
        dialogue_id = _dialogue_id(line, split)
        verdict = _judge_dialogue(line, dialogue_id, content.object_ids[dialogue_id], lost)
        if verdict:
            rejected.append(verdict)
        else:
            dialogues.append((dialogue_id, line))
            flagged += _flag_texts(line, dialogue_id)
    kept = [row for row, stay in zip(content.objects, stays.tolist(), strict=True) if stay]
    images = [(image_id, same[0]) for image_id, same in content.images.items() if not said[image_id]]
    return Imported(
        images=_image_table(images, source_name, photograph_licence),
        objects=_object_table(kept, boxes[stays], sizes[stays]),
        dialogues=_dialogue_table(dialogues, content, kept, split, initial_candidates),
        rejected=sorted_verdicts(rejected),
        flagged=sorted_verdicts(flagged),
        rows_in={"image": len(content.images), "object": len(content.objects), "dialogue": len(lines)},
    )
