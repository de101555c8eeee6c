# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The content of COCO's JSON files (cocodataset.org, "Data format"), and what is wrong with a file that is none.

Only the fields that are needed are decoded: masks are never parsed, so crowds in any run-length form are fine. The
annotations of a large file are decoded piece by piece into columns, so that no more than a piece of them is ever there
as objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import chain, compress
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from groundset.errors import DataError, Problem
from groundset.schema_types import load
from groundset.sources import json_faults, json_keys, json_pieces

# small enough for a processor's cache with all that is made of it
PIECE_BYTES = 1 << 18
_SOUGHT_BYTES = 1 << 10

Part = TypeVar("Part")

# ids are kept as text, but one that fits no 64-bit integer is a slip
Id = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def image_id(known: int) -> str:
    """Our id of an image of COCO.

    >>> image_id(192)
    'coco-192'
    """
    return f"coco-{known}"


class Image(msgspec.Struct, gc=False):
    """One image record."""

    id: Id
    file_name: Annotated[str, msgspec.Meta(min_length=1)]
    width: float | None = None
    height: float | None = None
    license: Id | None = None
    flickr_url: str | None = None
    coco_url: str | None = None


class Annotation(msgspec.Struct, gc=False, kw_only=True):
    """One annotation record; `bbox` as the file writes it."""

    # in the order of the publisher's files, which is the quickest
    area: float | None = None
    iscrowd: Literal[0, 1] | None = None
    image_id: Id
    bbox: tuple[float, float, float, float]
    category_id: Id
    id: Id


class _Usual(msgspec.Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    """One annotation record that has the publisher's seven keys and no other."""

    segmentation: msgspec.Raw
    area: float
    iscrowd: Literal[0, 1]
    image_id: Id
    bbox: tuple[float, float, float, float]
    category_id: Id
    id: Id


_USUAL = msgspec.json.Decoder(list[_Usual])


class Caption(msgspec.Struct, gc=False):
    """One annotation record of a captions file."""

    id: Id
    image_id: Id
    caption: str


class Category(msgspec.Struct, gc=False):
    """One category record."""

    id: Id
    name: Annotated[str, msgspec.Meta(pattern=r"\S")]
    supercategory: str | None = None


class LicenceEntry(msgspec.Struct, gc=False):
    """One entry of the file's licence table."""

    id: Id
    url: str | None = None


class _InstancesFile(msgspec.Struct):
    images: msgspec.Raw
    annotations: msgspec.Raw
    categories: list[Category]
    licenses: list[LicenceEntry] | None = None


class _CaptionsFile(msgspec.Struct):
    annotations: msgspec.Raw
    images: msgspec.Raw = msgspec.Raw(b"[]")


@dataclass(frozen=True)
class Surroundings:
    """What an instances file holds beside its annotations."""

    images: list[Image]
    categories: list[Category]
    licenses: list[LicenceEntry]


@dataclass(frozen=True)
class Annotations:
    """Annotation records as columns of n values.

    Attributes:
        id: Ids, int64.
        image_id: Ids of their images, int64.
        category_id: Ids of their categories, int64.
        bbox: Boxes, as the file writes them unless said otherwise, float64; shape (4, n).
        iscrowd: int8; -1 where the record does not say.
        area: Areas of the masks, float64; NaN where the record does not say.
    """

    id: NDArray[np.int64]
    image_id: NDArray[np.int64]
    category_id: NDArray[np.int64]
    bbox: NDArray[np.float64]
    iscrowd: NDArray[np.int8]
    area: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.id)

    def take(self, index: NDArray[np.int64]) -> Annotations:
        """The records at these places."""
        return Annotations(*(np.take(getattr(self, field.name), index, axis=-1) for field in fields(self)))


def columns(rows: Sequence[Annotation] | Sequence[_Usual]) -> Annotations:
    """The records as columns."""
    count = len(rows)
    boxes = np.fromiter(chain.from_iterable([row.bbox for row in rows]), np.float64, 4 * count)
    return Annotations(
        id=np.fromiter([row.id for row in rows], np.int64, count),
        image_id=np.fromiter([row.image_id for row in rows], np.int64, count),
        category_id=np.fromiter([row.category_id for row in rows], np.int64, count),
        bbox=np.ascontiguousarray(boxes.reshape(-1, 4).T),
        iscrowd=np.fromiter([-1 if row.iscrowd is None else row.iscrowd for row in rows], np.int8, count),
        area=np.array([row.area for row in rows], dtype=np.float64),
    )


def joined(parts: Sequence[Annotations]) -> Annotations:
    """Columns one after the other."""
    return Annotations(
        *(np.concatenate([getattr(part, field.name) for part in parts], axis=-1) for field in fields(Annotations))
    )


def read_instances(path: Path) -> tuple[Surroundings, Annotations]:
    """The content of an instances file.

    Raises:
        DataError: The file cannot be read or is no instances file.
    """
    return checked(path, *_read(path, INSTANCES))


def checked(path: Path, content: Surroundings, parts: Sequence[Annotations]) -> tuple[Surroundings, Annotations]:
    """The content, if its ids of categories and licences each mean one thing; else raises DataError."""
    problems = _ambiguous(path, "categories", content.categories) + _ambiguous(path, "licenses", content.licenses)
    if problems:
        raise DataError(f"{path} cannot be read as COCO instances", problems)
    return content, joined(parts)


def read_captions(path: Path) -> list[Caption]:
    """The captions of a captions file.

    Raises:
        DataError: The file cannot be read or is no captions file.
    """
    _, parts = _read(path, CAPTIONS)
    return [row for part in parts for row in part]


@dataclass(frozen=True)
class Kind(Generic[Part]):
    """One kind of file.

    Attributes:
        name: What to call it.
        schema: Its schema.
        outline: Its outermost object.
        records: What its annotations are decoded as.
        keep: What is kept of decoded annotations.
        occurrences: How many of the annotations that were kept have each key.
        hint: Tells another kind of file that is taken for it.
        usual: A quick way to decode annotations of the publisher's form.
    """

    name: str
    schema: str
    outline: Any
    records: Any
    keep: Callable[[Any], Part]
    occurrences: Callable[[Part], dict[str, int]]
    hint: Callable[[Any], str]
    usual: Callable[[memoryview], list[Any] | None] | None


def _usual_rows(piece: memoryview) -> list[_Usual] | None:
    """The records of a piece if all of them have the publisher's keys, each of them once; None otherwise.

    Seven keys take fourteen quotation marks. A key that is there twice takes more, and masks can only add to them.
    """
    try:
        rows = _USUAL.decode(piece)
    except msgspec.ValidationError:
        return None
    marks = np.count_nonzero(np.frombuffer(piece, dtype=np.uint8) == ord('"'))
    crowds = compress(rows, [row.iscrowd for row in rows])
    in_masks = sum(bytes(row.segmentation).count(b'"') for row in crowds)
    return rows if marks == 2 * len(_Usual.__struct_fields__) * len(rows) + in_masks else None


def _occurrences(rows: Annotations) -> dict[str, int]:
    """How many records have each key; 0 where null and missing are the same."""
    known = dict.fromkeys(("id", "image_id", "category_id", "bbox"), len(rows))
    told = {"area": np.isnan(rows.area), "iscrowd": rows.iscrowd < 0}
    return known | {key: 0 if missing.any() else len(rows) for key, missing in told.items()}


def _occurrences_of_fields(rows: Sequence[Any]) -> dict[str, int]:
    """The same of decoded records."""
    keys = rows[0].__struct_fields__ if rows else ()
    return {key: 0 if None in map(attrgetter(key), rows) else len(rows) for key in keys}


def _require_single_keys(text: bytes | memoryview, schema: Any, occurrences: dict[str, int]) -> None:
    if not json_keys.are_single(text, schema, occurrences):
        raise ValueError("a key is there twice")


def _cut_out(document: bytes | bytearray, array: msgspec.Raw) -> bytes | bytearray:
    """The document with nothing in the place of an array."""
    # a long text is sought by its beginning many times sooner
    beginning = bytes(memoryview(array)[:_SOUGHT_BYTES])
    at = document.find(beginning)
    while at >= 0 and not document.startswith(array, at):
        at = document.find(beginning, at + 1)
    return document if at < 0 else document[:at] + b"[]" + document[at + len(memoryview(array)) :]


def taker(kind: Kind[Part], parts: list[Part]) -> Callable[[memoryview], None]:
    """Adds what is kept of each piece to the parts; raises a ValueError before that if the piece is at fault."""
    annotations = load(kind.schema)["properties"]["annotations"]
    decoder = msgspec.json.Decoder(kind.records)
    usual = kind.usual

    def take(piece: memoryview) -> None:
        nonlocal usual
        rows = usual(piece) if usual else None
        if rows is not None:
            parts.append(kind.keep(rows))
            return
        part = kind.keep(decoder.decode(piece))
        # one record of another form is hardly ever alone
        usual = None
        _require_single_keys(piece, annotations, kind.occurrences(part))
        parts.append(part)

    return take


def around(rest: json_pieces.Remainder, kind: Kind[Part]) -> Surroundings | None:
    """What a document holds beside its annotations; None if these were not the array that was taken."""
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, ValueError):
        outline = msgspec.json.decode(rest.document, type=kind.outline)
        if bytes(outline.annotations) == msgspec.json.encode(rest.stand_in):
            return _surroundings(rest.document, outline, load(kind.schema))
    return None


def _read(path: Path, kind: Kind[Part]) -> tuple[Surroundings, list[Part]]:
    """The document without its annotations, and what is kept of these."""
    json_faults.require_file(path)
    parts: list[Part] = []
    rest = json_pieces.each_piece(path, "annotations", taker(kind, parts), PIECE_BYTES)
    content = None if rest is None else around(rest, kind)
    if content is not None:
        return content, parts
    parts.clear()
    data = json_faults.read_bytes(path)
    try:
        outline = msgspec.json.decode(data, type=kind.outline)
        taker(kind, parts)(memoryview(outline.annotations))
        return _surroundings(_cut_out(data, outline.annotations), outline, load(kind.schema)), parts
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        message = str(error)
    text = data.decode("utf-8")
    del data
    found = json_faults.document_problems(str(path), text, kind.schema, _label, kind.hint)
    problems = found or [Problem(str(path), "", "", f"cannot be decoded: {message}")]
    raise DataError(f"{path} cannot be read as COCO {kind.name}", problems)


def _surroundings(document: bytes | bytearray, outline: Any, schema: Any) -> Surroundings:
    """What a document holds beside its annotations, which are cut out of it; raises ValueError if it is at fault."""
    if json_keys.doubled(_cut_out(document, outline.images), schema):
        raise ValueError("a key is there twice")
    if isinstance(outline, _CaptionsFile):
        return Surroundings([], [], [])
    images = msgspec.json.decode(outline.images, type=list[Image])
    _require_single_keys(memoryview(outline.images), schema["properties"]["images"], _occurrences_of_fields(images))
    return Surroundings(images, outline.categories, outline.licenses or [])


def _records(sketch: Any) -> list[Any]:
    annotations = sketch.get("annotations")
    return [row for row in annotations if isinstance(row, dict)] if isinstance(annotations, list) else []


def _no_instances(sketch: Any) -> str:
    if isinstance(sketch, list):
        return "is a bare list, as results files are; the instances file is an object with images and annotations"
    if not isinstance(sketch, dict):
        return f"is {json_faults.shown(sketch)}, must be an object with images, annotations and categories"
    if "images" in sketch and "annotations" not in sketch:
        return "has no annotations, as image-info files have none; take the instances file"
    rows = _records(sketch)
    if any("segments_info" in row for row in rows):
        return "is a panoptic file (segments_info, no boxes); take the instances file"
    if rows and all("caption" in row and "bbox" not in row for row in rows):
        return "is a captions file (no boxes); take the instances file"
    return ""


def _no_captions(sketch: Any) -> str:
    if isinstance(sketch, list):
        return "is a bare list, as results files are; the captions file is an object with images and annotations"
    if not isinstance(sketch, dict):
        return f"is {json_faults.shown(sketch)}, must be an object with images and annotations"
    if "images" in sketch and "annotations" not in sketch:
        return "has no annotations, as image-info files have none; take the captions file"
    rows = _records(sketch)
    if rows and all("caption" not in row for row in rows):
        return "holds no captions, as instances files hold none; take the captions file"
    return ""


def _label(key: str, record: Any) -> str:
    names = {"images": "image", "annotations": "annotation", "categories": "category", "licenses": "licence"}
    known = record.get("id") if isinstance(record, dict) else None
    return f"{names[key]} {known}" if isinstance(known, int | str) else ""


def _ambiguous(path: Path, key: str, rows: Sequence[Category] | Sequence[LicenceEntry]) -> list[Problem]:
    by_id: dict[int, list[Any]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append(row)
    return [
        Problem(str(path), "", f"$.{key}", f"id {known} is there {len(same)} times, with different contents")
        for known, same in by_id.items()
        if any(row != same[0] for row in same)
    ]


INSTANCES = Kind(
    "instances",
    "sources/coco_instances",
    _InstancesFile,
    list[Annotation],
    columns,
    _occurrences,
    _no_instances,
    _usual_rows,
)
CAPTIONS = Kind(
    "captions", "sources/coco_captions", _CaptionsFile, list[Caption], list, _occurrences_of_fields, _no_captions, None
)
