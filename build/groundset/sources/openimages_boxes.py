# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' boxes as objects: grouped by image whatever the file's order, numbered, judged, and put in a table.

The pieces of the file are dealt into buckets by borders in the range of image keys, so that all boxes of an image lie
in one bucket and the buckets in order are the table in order. A file in image order is only cut anew; any other is
sorted by bucket first. Neither the pieces nor the borders can change a row.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from groundset.errors import DataError, Problem
from groundset.geometry import Boxes
from groundset.schema_types import arrow_schema
from groundset.sources.box_checks import MISFIT_BOXES, MISFIT_TIMES, shorter_side
from groundset.sources.imported import box_array, object_record_id
from groundset.sources.json_faults import shown
from groundset.sources.openimages_ids import PREFIX, Keys, image_id, key_texts, text_array
from groundset.sources.openimages_rows import Rows, too_many
from groundset.splits import walk
from groundset.verdicts import Verdict

# ours: the publisher's six decimals, and rounding
OUTSIDE_SHARE = 1e-6
# ours: columns that hold something else misfit by the half
MISFIT_SHARE = 0.25
RULES = ("duplicate_row", "degenerate_box", "unknown_class", "box_outside_image")
_SAMPLE = 256

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Bucket:
    """All boxes of the images whose keys lie between two borders; n of them, in pieces."""

    keys: tuple[Keys, ...]
    labels: tuple[NDArray[np.int32], ...]
    boxes: tuple[Boxes, ...]
    flags: tuple[NDArray[np.int8], ...]


@dataclass(frozen=True)
class Rejected:
    """Rows that the rules leave out, n of them, sorted by image, number and rule.

    Attributes:
        keys: Image keys, shape (n,).
        numbers: Numbers of the objects in their images, shape (n,).
        rules: Places in `RULES`, shape (n,).
        measured: What the rule measured: copies, shorter side, nothing, or distance outside; shape (n,).
        labels: Places in the list of class ids, shape (n,).
        boxes: The boxes, shape (n, 4).
    """

    keys: Keys
    numbers: Indices
    rules: NDArray[np.int8]
    measured: NDArray[np.float64]
    labels: NDArray[np.int32]
    boxes: Boxes


@dataclass(frozen=True)
class Judged:
    """One bucket, judged.

    Attributes:
        objects: Columns of `schemas/object` that are not constant, sorted by image_id, then object_id.
        images: Keys of the images, each once, sorted.
        labels: Classes of the kept objects, as places in the list of class ids, each once.
        rejected: What was left out.
    """

    objects: pa.Table
    images: Keys
    labels: NDArray[np.int32]
    rejected: Rejected


def outside(boxes: Boxes) -> NDArray[np.float64]:
    """How far each box leaves the frame of 1 x 1 at most, 0 if it does not; shape (n,)."""
    farthest: NDArray[np.float64] = np.hstack([-boxes, boxes - 1.0]).max(axis=1, initial=0.0)
    return farthest


def _misfits(degenerate: Mask, boxes: Boxes) -> int:
    return int((degenerate | (outside(boxes) > OUTSIDE_SHARE)).sum())


# what else the columns XMin, XMax, YMin, YMax, in this order, could hold
_READINGS: Mapping[str, Callable[[Boxes], Boxes]] = {
    "x_min, y_min, x_max, y_max": lambda c: c,
    "x_max, x_min, y_max, y_min": lambda c: c[:, [1, 3, 0, 2]],
    "x_min, y_min, width, height": lambda c: np.hstack([c[:, :2], c[:, :2] + c[:, 2:]]),
    "x_min, width, y_min, height": lambda c: np.hstack([c[:, [0, 2]], c[:, [0, 2]] + c[:, [1, 3]]]),
}


def _misfits_as_named(rows: Rows) -> int:
    # a side of 0 is a slip under any convention and says nothing of which one it is
    return _misfits(shorter_side(rows.boxes) < 0, rows.boxes)


def _other_misfits(rows: Rows) -> NDArray[np.int64]:
    """How many boxes seem to be in pixels, and how many misfit by each of the other readings."""
    columns = rows.boxes[:, [0, 2, 1, 3]]
    in_pixels = (columns.max(axis=1, initial=0.0) > 2) & (columns.min(axis=1, initial=0.0) >= 0)
    others = [read(columns) for read in _READINGS.values()]
    return np.array([in_pixels.sum(), *(_misfits(shorter_side(boxes) <= 0, boxes) for boxes in others)], dtype=np.int64)


def require_convention(file: str, pieces: Sequence[Rows], executor: Executor | None) -> None:
    """Holds the columns' names against the boxes (limits ours).

    Args:
        file: What to call the file.
        pieces: Its rows.
        executor: Who counts.

    Raises:
        DataError: Another way to read the columns fits the boxes clearly better than their names.
    """
    boxes = sum(len(piece.keys) for piece in pieces)
    named = sum(walk(_misfits_as_named, pieces, executor))
    if named < MISFIT_BOXES or named <= MISFIT_SHARE * boxes:
        return
    in_pixels, *others = np.sum(walk(_other_misfits, pieces, executor), axis=0).tolist()
    told = f"read as shares of the image, {named / boxes:.1%} of {boxes} boxes leave it or end before they begin"
    if in_pixels > boxes / 2:
        message = f"{told}; {in_pixels / boxes:.1%} reach beyond 2, as pixels do"
        hint = "divide by the width and height of the stored image"
    else:
        best = min(others)
        if named < MISFIT_TIMES * best:
            return
        fitting = [name for name, count in zip(_READINGS, others, strict=True) if count == best]
        message = f"{told}; read as {' or '.join(fitting)}, {best / boxes:.1%} do"
        hint = "the columns have to hold what they are called"
    where = "XMin, XMax, YMin, YMax"
    raise DataError(f"{file}: the boxes do not fit the columns' names", [Problem(file, "", where, message, hint)])


def class_ids(pieces: Sequence[Rows]) -> list[str]:
    """Class ids of all pieces, sorted."""
    return sorted(set().union(*(piece.names for piece in pieces)))


def _borders(pieces: Sequence[Rows]) -> tuple[Keys, bool]:
    """First keys of the buckets after the first one, and whether the file is in image order."""
    full = [piece.keys for piece in pieces if len(piece.keys)]
    ordered = all(bool((keys[1:] >= keys[:-1]).all()) for keys in full)
    ordered = ordered and all(one[-1] <= other[0] for one, other in itertools.pairwise(full))
    if ordered:
        return np.unique(np.array([keys[0] for keys in full[1:]], dtype=np.uint64)), True
    drawn = np.sort(np.concatenate([keys[:: max(1, len(keys) // _SAMPLE)] for keys in full]))
    return np.unique(drawn[np.arange(1, len(full)) * len(drawn) // len(full)]), False


def buckets(pieces: list[Rows], ids: Sequence[str]) -> list[Bucket]:
    """Deals the rows into buckets in key order; empties the list, since the rows of a large file fit memory once.

    Args:
        pieces: Rows of all pieces of the file.
        ids: All class ids, sorted; the labels of the buckets are places in it.
    """
    place = {name: index for index, name in enumerate(ids)}
    borders, ordered = _borders(pieces)
    dealt: list[list[tuple[Any, ...]]] = [[] for _ in range(len(borders) + 1)]
    pieces.reverse()
    while pieces:
        piece = pieces.pop()
        codes = np.array([place[name] for name in piece.names], dtype=np.int32)
        columns = (piece.keys, codes[piece.labels] if len(codes) else piece.labels, piece.boxes, piece.flags)
        if ordered:
            cuts = np.searchsorted(piece.keys, borders)
        else:
            bucket = np.searchsorted(borders, piece.keys, side="right")
            order = np.argsort(bucket, kind="stable")
            columns = tuple(column[order] for column in columns)  # type: ignore[assignment]
            cuts = np.searchsorted(bucket[order], np.arange(1, len(borders) + 1))
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(piece.keys)], strict=True)):
            if stop > start:
                dealt[number].append(tuple(column[start:stop] for column in columns))
    return [Bucket(*zip(*parts, strict=True)) for parts in dealt if parts]


def _in_order(image: Indices, labels: NDArray[np.int32], boxes: Boxes, flags: NDArray[np.int8]) -> Indices:
    """Rows by image, class id, box and flags."""
    kind = flags[:, 0] * np.int8(3) + flags[:, 1]
    first = image * (int(labels.max(initial=0)) + 1) + labels
    order: Indices = np.lexsort((boxes[:, 0], first))
    first, x_min = first[order], boxes[order, 0]
    tied = np.append(False, (first[1:] == first[:-1]) & (x_min[1:] == x_min[:-1]))
    tied[:-1] |= tied[1:].copy()
    places = np.flatnonzero(tied)
    rows = order[places]
    keys = (kind[rows], boxes[rows, 3], boxes[rows, 2], boxes[rows, 1], x_min[places], first[places])
    order[places] = rows[np.lexsort(keys)]
    return order


def _numbers(image: Indices, fresh: Mask) -> Indices:
    """Number of each row among the different rows of its image, from 1; equal rows share one."""
    running = np.cumsum(fresh)
    starts = np.flatnonzero(np.append(True, image[1:] != image[:-1]))
    before = running[starts] - 1
    counts = np.diff(np.append(starts, len(image)))
    numbers: Indices = running - np.repeat(before, counts)
    return numbers


def _by_text(image: Indices, numbers: Indices) -> Indices:
    """Order of the rows by image and the text of their number."""
    most = int(numbers.max(initial=0))
    rank = np.empty(most + 1, dtype=np.int64)
    rank[np.argsort(np.array([str(number) for number in range(most + 1)], dtype=np.str_), kind="stable")] = np.arange(
        most + 1
    )
    order: Indices = np.argsort(image * (most + 1) + rank[numbers], kind="stable")
    return order


def judge(
    bucket: Bucket, names: Sequence[str | None], categories: Sequence[str | None], depths: Sequence[int]
) -> Judged:
    """Numbers and judges the boxes of a bucket.

    An object is `o` and its number among the different rows of its image, sorted by class id, box and flags. Rows that
    are left out are numbered too, so that an id depends on the file's content alone.

    Args:
        bucket: The boxes.
        names: Name of each class id, None if the class file does not have it.
        categories: Category of each class id.
        depths: How far below its category's root each class id is; 0 without a category.
    """
    keys, labels = np.concatenate(bucket.keys), np.concatenate(bucket.labels)
    boxes, flags = np.concatenate(bucket.boxes), np.concatenate(bucket.flags)
    images, image = np.unique(keys, return_inverse=True)
    order = _in_order(image, labels, boxes, flags)
    image, labels, boxes, flags = image[order], labels[order], boxes[order], flags[order]
    same = (image[1:] == image[:-1]) & (labels[1:] == labels[:-1])
    same &= (boxes[1:] == boxes[:-1]).all(axis=1) & (flags[1:] == flags[:-1]).all(axis=1)
    fresh = np.append(True, ~same)
    numbers = _numbers(image, fresh)
    copies = np.diff(np.append(np.flatnonzero(fresh), len(fresh)))[np.cumsum(fresh) - 1]

    side, beyond = shorter_side(boxes), outside(boxes)
    unknown = np.array([name is None for name in names], dtype=bool)[labels]
    # the first rule that speaks is the one given
    rule = np.select([~fresh, side <= 0, unknown, beyond > OUTSIDE_SHARE], range(len(RULES)), -1).astype(np.int8)
    measured = np.select([rule == 0, rule == 1, rule == 3], [copies.astype(np.float64), side, beyond], np.nan)
    out = np.flatnonzero(rule >= 0)
    kept = np.flatnonzero(rule < 0)
    kept = kept[_by_text(image[kept], numbers[kept])]
    classes = (names, categories, depths)
    return Judged(
        objects=_table(images[image[kept]], numbers[kept], labels[kept], boxes[kept], flags[kept], *classes),
        images=images,
        labels=np.unique(labels[kept]),
        rejected=Rejected(images[image[out]], numbers[out], rule[out], measured[out], labels[out], boxes[out]),
    )


def _table(
    keys: Keys,
    numbers: Indices,
    labels: NDArray[np.int32],
    boxes: Boxes,
    flags: NDArray[np.int8],
    names: Sequence[str | None],
    categories: Sequence[str | None],
    depths: Sequence[int],
) -> pa.Table:
    texts = pa.array([f"o{number}" for number in range(int(numbers.max(initial=0)) + 1)], type=pa.string())
    classes = pa.array(labels)
    return pa.table(
        {
            "object_id": texts.take(pa.array(numbers)),
            "image_id": text_array(key_texts(keys, PREFIX)),
            "label": pa.array(names, type=pa.string()).take(classes),
            "category": pa.array(categories, type=pa.string()).take(classes),
            "specificity": pa.array(depths, type=pa.int64()).take(classes),
            "bbox_xyxy": box_array(boxes),
            "is_group": pa.array(flags[:, 0].astype(np.int64)),
            "is_depiction": pa.array(flags[:, 1].astype(np.int64)),
        }
    )


def object_table(judged: Sequence[Judged]) -> pa.Table:
    """Table of `schemas/object` of all buckets, in as many chunks; frames are 1 x 1, masks there are none."""
    schema = arrow_schema("object")
    longest = max((bucket.objects.num_rows for bucket in judged), default=0)
    shared = {
        "frame_width": pa.array(np.ones(longest)),
        "mask_area": pa.nulls(longest, pa.float64()),
    }
    shared["frame_height"] = shared["frame_width"]
    columns = {}
    for field in schema:
        if field.name in shared:
            chunks = [shared[field.name].slice(0, bucket.objects.num_rows) for bucket in judged]
        else:
            chunks = [bucket.objects[field.name].chunk(0) for bucket in judged]
        columns[field.name] = pa.chunked_array(chunks, type=field.type)
    return pa.table(columns, schema=schema)


def require_few(file: str, class_file: str, rejected: Sequence[Rejected], ids: Sequence[str], rows: int) -> None:
    """Raises DataError if a rule leaves out so many rows that the files as a whole are wrong."""
    totals = np.zeros(len(RULES), dtype=np.int64)
    unknown: dict[str, int] = {}
    for part in rejected:
        totals += np.bincount(part.rules, minlength=len(RULES))
        places, counts = np.unique(part.labels[part.rules == RULES.index("unknown_class")], return_counts=True)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            unknown[ids[place]] = unknown.get(ids[place], 0) + count
    problems = []
    for rule, count in zip(RULES, totals.tolist(), strict=True):
        if not too_many(count, rows):
            continue
        if rule == "unknown_class":
            most = sorted(unknown, key=lambda name: (-unknown[name], name))[:3]
            told = f"{count} of {rows} boxes have classes that {class_file} does not have, first of all"
            problems.append(Problem(file, "", "LabelName", f"{told} {', '.join(most)}", "take the other class file"))
        elif rule == "duplicate_row":
            hint = "is the file joined to itself?"
            problems.append(Problem(file, "", "", f"{count} of {rows} rows repeat another row", hint))
        else:
            what = "have no width or height" if rule == "degenerate_box" else "leave their image"
            problems.append(Problem(file, "", "XMin, XMax, YMin, YMax", f"{count} of {rows} boxes {what}"))
    if problems:
        raise DataError(f"{file} cannot be imported", problems)


def verdicts(rejected: Rejected, ids: Sequence[str], class_file: str) -> list[Verdict]:
    """A hard verdict on each row that was left out."""
    said = []
    limits = {"degenerate_box": 0.0, "box_outside_image": OUTSIDE_SHARE}
    rows = zip(*(column.tolist() for column in vars(rejected).values()), strict=True)
    for key, number, rule, measured, label, box in rows:
        name = RULES[rule]
        if name == "duplicate_row":
            detail = f"{measured:.0f} rows are equal; one of them stays"
        elif name == "unknown_class":
            detail = f"LabelName {shown(ids[label])} is not in {class_file}"
        else:
            detail = f"bbox_xyxy {box}" + ("" if name == "degenerate_box" else " leaves the frame of 1 x 1")
        value = None if name == "unknown_class" else measured
        record_id = object_record_id(image_id(key), f"o{number}")
        said.append(Verdict(record_id, "object", name, detail, value, limits.get(name)))
    return said
