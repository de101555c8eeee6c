# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What every form of InViG says, in one shape: a photograph with its objects, and a dialogue about one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from groundset.sources.imported import id_text, path_fault

Box = tuple[float, float, float, float]

_OPEN_IMAGES_ID = re.compile(r"[0-9a-f]{16}")
_GLOBAL_PREFIX = "openimages."


@dataclass(frozen=True)
class Photo:
    """What a record says of its photograph.

    Attributes:
        filename: File name, relative to the image folder.
        width: Width of the frame that the boxes are in, in pixels; None if the form does not give it.
        height: The same for the height.
        bboxes: Every object of the photograph, as the file writes its box.
        labels: Class of each of them; empty if the form names no classes.
        global_id: The id that the source gives beside the file name, such as `openimages.00bf29ce5868629f`.
    """

    filename: str
    width: float | None
    height: float | None
    bboxes: tuple[Box, ...] = ()
    labels: tuple[str | None, ...] = ()
    global_id: str = ""


@dataclass(frozen=True)
class Record:
    """One dialogue.

    Attributes:
        id: The publisher's id, as text.
        photo: Its photograph.
        label: Class of the referent, if given.
        utterances: The first utterance, then question and answer by turns; an odd number.
        ref_boxes: The boxes that it is about, as the file writes them.
        targets: Indices of its targets among the objects, where the form has them.
    """

    id: str
    photo: Photo
    label: str | None
    utterances: tuple[str, ...]
    ref_boxes: tuple[Box, ...]
    targets: tuple[int, ...] = ()


@dataclass(frozen=True)
class Content:
    """All that the files of one source say.

    Attributes:
        records: The dialogues, in the files' order.
        photos: Photographs that the files list without a dialogue.
        candidate_fields: What `initial_candidates` can be, given the columns that are there.
        notes: What was found out about the form.
    """

    records: list[Record]
    photos: list[Photo] = field(default_factory=list)
    candidate_fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def image_id(filename: str) -> str:
    """Our id of a photograph.

    A name that leaves the folder keeps its whole path, so that it cannot be taken for the photograph of that name.
    """
    if path_fault(filename):
        return f"invig-:{id_text(filename)}"
    return f"invig-{id_text(PurePosixPath(filename).stem)}"


def dialogue_id(record: Record, split: str) -> str:
    """Our id of a dialogue."""
    return f"invig-{id_text(split)}-{id_text(record.id)}"


def open_images_id(name: str) -> str:
    """The Open Images id in a file name or a global id; empty if there is none.

    >>> open_images_id("imgs/00bf29ce5868629f_Fast food_2.jpg"), open_images_id("openimages.00bf29ce5868629f")
    ('00bf29ce5868629f', '00bf29ce5868629f')
    """
    if name.startswith(_GLOBAL_PREFIX):
        first = name.removeprefix(_GLOBAL_PREFIX)
    else:
        first = PurePosixPath(name).stem.split("_")[0]
    return first if _OPEN_IMAGES_ID.fullmatch(first) else ""


def source_image_id(filename: str, global_id: str) -> str:
    """The publisher's id of a photograph: Open Images' own if a name shows it, else the file name's stem."""
    return open_images_id(filename) or open_images_id(global_id) or PurePosixPath(filename).stem


def named_by(global_id: str, suffix: str) -> str:
    """A file name for a photograph that has none.

    >>> named_by("openimages.00bf29ce5868629f", ".jpg")
    '00bf29ce5868629f.jpg'
    """
    return f"{global_id.removeprefix(_GLOBAL_PREFIX)}{suffix}"


def ref_keys(record: Record) -> list[tuple[str, Box]]:
    """For each ref box the object it is: a box of `bboxes` that equals it, else one of its own."""
    free = list(enumerate(record.photo.bboxes))
    keys = []
    for number, box in enumerate(record.ref_boxes):
        match = next((place for place, (_, other) in enumerate(free) if other == box), None)
        keys.append((f"r{number}" if match is None else f"b{free.pop(match)[0]}", box))
    return keys


def file_label(path: Path) -> str:
    """A path as messages name it."""
    return str(path).replace("\0", "\\0")
