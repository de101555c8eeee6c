# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads COCO instances files into our tables, with a verdict on every row that is left out or odd."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from groundset import arrow_columns, licences
from groundset.errors import DataError, Problem
from groundset.sources import box_checks, coco_file, coco_halves, integer_keys, json_faults
from groundset.sources.coco_captions import read_captions
from groundset.sources.coco_file import Annotations, Category, Image, LicenceEntry
from groundset.sources.imported import (
    Imported,
    box_array,
    object_record_id,
    one_per_id,
    path_fault,
    sorted_verdicts,
    table,
)
from groundset.verdicts import Verdict

__all__ = ["CATEGORIES", "read", "read_captions"]

# COCO's own supercategories of these names are the design's categories (notes of section 8)
CATEGORIES = ("person", "vehicle", "animal", "food")
_SHOWN_NAMES = 3

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Images:
    """The images that stay, in the order of the table.

    Attributes:
        id: Ids of the source; shape (n,).
        size: Width and height in pixels; shape (n, 2).
        table: The table, sorted.
    """

    id: Integers
    size: Numbers
    table: pa.Table


def _ids(images: Sequence[Image]) -> Integers:
    return np.fromiter([image.id for image in images], np.int64, len(images))


def _judge_images(images: Sequence[Image]) -> tuple[Sequence[Image], Integers, Numbers, list[Verdict]]:
    """The images that stay, their ids and sizes as in `_Images`, and a verdict on each that does not."""
    kept, ids = images, _ids(images)
    doubled: list[tuple[Image, str]] = []
    if not integer_keys.are_distinct(ids):
        kept, doubled = one_per_id(images, lambda image: image.id)
        ids = _ids(kept)
    sizes = _sizes(kept)
    rejected = [Verdict(coco_file.image_id(image.id), "image", "duplicate_id", detail) for image, detail in doubled]
    odd = ~box_checks.are_sizes(sizes)
    names = [image.file_name for image in kept]
    joined = "".join(names)
    if any(character in joined for character in "/\\:\0") or not {".", ".."}.isdisjoint(names):
        odd |= np.fromiter((bool(path_fault(name)) for name in names), dtype=bool, count=len(names))
    for index in np.flatnonzero(odd).tolist():
        image = kept[index]
        fault = path_fault(image.file_name)
        if fault:
            detail = f"file name {json_faults.shown(image.file_name)}: {fault}"
            rejected.append(Verdict(coco_file.image_id(image.id), "image", "path_outside_folder", detail))
        else:
            detail = f"width {image.width}, height {image.height}"
            rejected.append(Verdict(coco_file.image_id(image.id), "image", "no_size", detail))
    if odd.any():
        good = np.flatnonzero(~odd)
        kept, ids, sizes = [kept[index] for index in good.tolist()], ids[good], sizes[good]
    return kept, ids, sizes, rejected


def _sizes(images: Sequence[Image]) -> Numbers:
    widths = np.array([image.width for image in images], dtype=np.float64)
    return np.stack([widths, np.array([image.height for image in images], dtype=np.float64)]).T


def _image_table(
    images: Sequence[Image], ids: Integers, sizes: Numbers, entries: Sequence[LicenceEntry], source_name: str
) -> tuple[_Images, list[Verdict]]:
    # records are sorted with less work than the rows of a table
    order = integer_keys.order_of_texts(np.zeros(len(ids), dtype=np.int64), ids)
    images, ids, sizes = [images[place] for place in order.tolist()], ids[order], sizes[order]
    addresses = {entry.id: entry.url for entry in entries}
    known = {entry.id: licences.by_address(entry.url) for entry in entries}
    spdx = {number: licence.spdx for number, licence in known.items() if licence}
    numbers = [image.license for image in images]
    flagged = []
    named = [*{*numbers} - {None}, None]
    places = {number: place for place, number in enumerate(named)}
    licence = arrow_columns.numbers(np.fromiter(map(places.__getitem__, numbers), np.int64, len(numbers)))
    if not {None, *spdx}.issuperset(named):
        for image, number in zip(images, numbers, strict=True):
            if number is not None and number not in spdx:
                detail = f"licence {number}: " + (addresses.get(number) or "no address in the file's licence table")
                flagged.append(Verdict(coco_file.image_id(image.id), "image", "unknown_licence", detail, hard=False))
    names = [image.file_name for image in images]
    flagged += _shared_names(images)
    photos, pages = licences.photo_pages_from_flickr([image.flickr_url for image in images])
    nothing = pa.nulls(len(images), pa.string())
    columns = {
        "image_id": arrow_columns.id_texts("coco-", ids),
        "source": arrow_columns.repeated("coco", len(images)),
        "source_name": arrow_columns.repeated(source_name, len(images)),
        "source_image_id": arrow_columns.id_texts("", ids),
        "file_name": names,
        "frame_width": sizes[:, 0],
        "frame_height": sizes[:, 1],
        "licence": arrow_columns.texts([None if n is None else spdx.get(n) for n in named]).take(licence),
        "licence_source": arrow_columns.texts([None if n is None else addresses.get(n) or str(n) for n in named]).take(
            licence
        ),
        "title": nothing,
        "author": nothing,
        "author_url": nothing,
        "landing_url": pages,
        "original_url": [image.coco_url for image in images],
        "flickr_id": photos,
        "rotation": pa.nulls(len(images), pa.int64()),
    }
    return _Images(ids, sizes, table("image", columns)), flagged


def _places(names: Sequence[str]) -> list[str]:
    """What names have in common that lead to one file, on a disk that tells no cases apart at the latest."""
    text = "\n".join(names)
    if text.isascii() and "//" not in text and "./" not in text:
        # one text is made small sooner than many
        return text.lower().split("\n") if text.count("\n") == len(names) - 1 else [name.lower() for name in names]
    return [unicodedata.normalize("NFC", posixpath.normpath(name)).casefold() for name in names]


def _shared_names(images: Sequence[Image]) -> list[Verdict]:
    places = _places([image.file_name for image in images])
    if len(set(places)) == len(places):
        return []
    by_place: dict[str, list[Image]] = {}
    for place, image in zip(places, images, strict=True):
        by_place.setdefault(place, []).append(image)
    flagged = []
    for same in by_place.values():
        names = sorted({image.file_name for image in same})
        told = " or ".join(map(json_faults.shown, names[:_SHOWN_NAMES]))
        told += " or another" if len(names) > _SHOWN_NAMES else ""
        told += ", one file on some disks" if len(names) > 1 else ""
        detail = f"{len(same)} images have the file name {told}, the first is {same[0].id}"
        flagged += [
            Verdict(coco_file.image_id(image.id), "image", "shared_file_name", detail, hard=False)
            for image in (same if len(same) > 1 else ())
        ]
    return flagged


def _record_id(annotation_id: int, image_id: int) -> str:
    return object_record_id(coco_file.image_id(image_id), f"a{annotation_id}")


def _one_per_id(rows: Annotations) -> tuple[Annotations, list[Verdict]]:
    if integer_keys.are_distinct(rows.id):
        return rows, []
    ordered = np.sort(rows.id)
    doubled = ordered[1:][ordered[1:] == ordered[:-1]]
    places = np.flatnonzero(np.isin(rows.id, doubled))
    some = rows.take(places)
    areas = [None if np.isnan(area) else area for area in some.area.tolist()]
    fields = (some.id, some.image_id, some.category_id, some.bbox.T, some.iscrowd)
    records = list(zip(*(field.tolist() for field in fields), areas, strict=True))
    _, out = one_per_id(range(len(records)), lambda place: some.id[place], lambda place: records[place])
    stays = np.ones(len(rows), dtype=bool)
    stays[places[[place for place, _ in out]]] = False
    said = [Verdict(_record_id(*records[place][:2]), "object", "duplicate_id", detail) for place, detail in out]
    return rows.take(np.flatnonzero(stays)), said


def _judge_boxes(
    rows: Annotations,
    side: Numbers,
    outside: Numbers,
    sizes: Numbers,
    kinds: Integers,
    images: Sequence[Image],
) -> tuple[Mask, list[Verdict]]:
    """Which annotations stay, and a verdict for each that does not; the first rule that speaks is the one given."""
    no_size = np.isnan(sizes[:, 0])
    bad = box_checks.misfits(side, outside) | (kinds < 0) | no_size
    known = {image.id for image in images} if bad.any() else set()
    rejected = []
    for index in np.flatnonzero(bad).tolist():
        image_id, written = int(rows.image_id[index]), rows.bbox[:, index].tolist()
        measured: float | None = None
        limit: float | None = None
        if side[index] <= 0:
            rule, detail = "degenerate_box", f"bbox {written}"
            measured, limit = float(side[index]), 0.0
        elif kinds[index] < 0:
            rule, detail = "unknown_category", f"category_id {rows.category_id[index]} is not in categories"
        elif image_id not in known:
            rule, detail = "unknown_image", f"image_id {image_id} is not in images"
        elif no_size[index]:
            rule, detail = "image_rejected", "its image was rejected"
        else:
            frame = f"{sizes[index, 0]:g} x {sizes[index, 1]:g}"
            rule, detail = "box_outside_image", f"bbox {written} leaves the image of {frame}"
            measured, limit = float(outside[index]), box_checks.OUTSIDE_PX
        record_id = _record_id(int(rows.id[index]), image_id)
        rejected.append(Verdict(record_id, "object", rule, detail, measured, limit))
    return ~bad, rejected


def _placed(
    file: str, rows: Annotations, content: coco_file.Surroundings, images: _Images, box_format: str, box_unit: str
) -> tuple[Annotations, Integers, Integers, list[Verdict]]:
    """The annotations that stay, in the table's order and with its boxes.

    Returns:
        The annotations, the places of their images and of their categories, and a verdict on each that does not stay.
    """
    image = integer_keys.places(rows.image_id, images.id)
    category_ids = np.array([category.id for category in content.categories], dtype=np.int64)
    kind = integer_keys.places(rows.category_id, category_ids)
    sizes = np.empty((2, len(rows))).T
    for place in range(2):
        # the place -1 is that of no image
        sizes[:, place] = np.take(np.append(images.size[:, place], np.nan), image)
    written, known = box_checks.box_values(rows.bbox.T), np.flatnonzero(image >= 0)
    # a box of an image without a size can still be degenerate, in whatever unit, but not be outside
    frames = sizes if len(known) == len(rows) else np.where(np.isnan(sizes), 1.0, sizes)
    boxes = box_checks.to_xyxy_px(written, frames, box_format, box_unit)
    side, outside = box_checks.shorter_side(boxes), np.nan_to_num(box_checks.outside_px(boxes, sizes), nan=0.0)
    misfit = float(box_checks.misfits(side, outside)[known].mean()) if len(known) else 0.0
    housed = _some(written, known), _some(sizes, known)
    box_checks.require_convention(file, housed[0], housed[1], box_format, box_unit, misfit)
    stays, said = _judge_boxes(rows, side, outside, sizes, kind, content.images)
    # from here on the boxes and the order are those of the table
    kept = np.flatnonzero(stays)
    kept = np.take(kept, integer_keys.order_of_texts(np.take(image, kept), np.take(rows.id, kept)))
    return replace(rows, bbox=boxes.T).take(kept), np.take(image, kept), np.take(kind, kept), said


def _flags(rows: Annotations, group: Integers) -> list[Verdict]:
    boxes = rows.bbox.T
    # a mask covers whole pixels, a box ends where it ends: a pixel a side is rounding
    most = (boxes[:, 2] - boxes[:, 0] + 1.0) * (boxes[:, 3] - boxes[:, 1] + 1.0)
    odd = np.flatnonzero((rows.area <= 0) | (rows.area > most))
    flagged = []

    def flag(index: int, rule: str, detail: str, measured: float, limit: float) -> None:
        record_id = _record_id(int(rows.id[index]), int(rows.image_id[index]))
        flagged.append(Verdict(record_id, "object", rule, detail, measured, limit, hard=False))

    for index, box_area in zip(odd.tolist(), box_checks.areas(boxes[odd]).tolist(), strict=True):
        mask_area = float(rows.area[index])
        detail = f"mask area {mask_area:g}, box area {box_area:g}"
        flag(index, "area_contradicts_box", detail, mask_area, box_area)
    # a crowd is in a group of its own, so that it lies on nothing
    group = np.where(rows.iscrowd == 1, -1 - np.arange(len(rows)), group)
    for one, other, iou in box_checks.near_duplicates(boxes, group, rows.id):
        detail = f"lies on a{rows.id[one]} of the same category"
        flag(other, "near_duplicate_box", detail, iou, box_checks.NEAR_DUPLICATE_IOU)
    return flagged


def _some(rows: Numbers, index: Integers) -> Numbers:
    """Rows at increasing places of an array whose columns lie one after the other, as do those of the result."""
    return rows if len(index) == len(rows) else np.take(rows.T, index, axis=1).T


def _read_file(path: Path, images_folder: Path | None) -> tuple[coco_file.Surroundings, Annotations]:
    problems = []
    if images_folder is not None and not images_folder.is_dir():
        problems.append(Problem(str(images_folder), "", "", "is no folder", "it should hold the source's photographs"))
    try:
        content = coco_halves.read_instances(path)
    except DataError as error:
        raise DataError(error.summary, [*error.problems, *problems]) from None
    if problems:
        raise DataError(f"{path} cannot be read as COCO instances", problems)
    return content


def _object_table(
    rows: Annotations, image: Integers, kind: Integers, images: _Images, categories: Sequence[Category]
) -> pa.Table:
    """Table of `schemas/object` of rows in its order."""
    kinds = arrow_columns.numbers(kind)
    named = [category.supercategory if category.supercategory in CATEGORIES else None for category in categories]
    columns = {
        "object_id": arrow_columns.id_texts("a", rows.id),
        "image_id": images.table["image_id"].combine_chunks().take(arrow_columns.numbers(image)),
        "label": arrow_columns.texts([category.name for category in categories]).take(kinds),
        "category": arrow_columns.texts(named).take(kinds),
        "specificity": np.zeros(len(rows), dtype=np.int64),
        "bbox_xyxy": box_array(np.ascontiguousarray(rows.bbox.T)),
        "frame_width": np.take(images.size[:, 0], image),
        "frame_height": np.take(images.size[:, 1], image),
        "is_group": rows.iscrowd,
        "is_depiction": np.full(len(rows), -1, dtype=np.int64),
        "mask_area": arrow_columns.numbers(rows.area + 0.0, missing=np.isnan(rows.area)),
    }
    return table("object", columns)


def read(
    annotations: Path,
    *,
    source_name: str = "coco",
    box_format: str = "xywh",
    box_unit: str = "pixel",
    images_folder: Path | None = None,
) -> Imported:
    """Reads a COCO instances file.

    Boxes come out as x_min, y_min, x_max, y_max in pixels of the image record (`frame_width` x `frame_height`), also
    where the file gives shares of the image. A box may leave its image by up to 1 px (ours). A crowd is a group.

    Args:
        annotations: The instances file; its keys may come in any order.
        source_name: Name of the source in the manifest.
        box_format: xywh (the publisher's) or xyxy.
        box_unit: pixel (the publisher's) or unit.
        images_folder: Folder of the photographs, if it has to exist; no photograph is opened here.

    Returns:
        Images and objects. Rules of images: duplicate_id, path_outside_folder, no_size. Rules of objects, in this
        order: duplicate_id, degenerate_box, unknown_category, unknown_image, image_rejected, box_outside_image. Soft:
        area_contradicts_box, near_duplicate_box, unknown_licence, shared_file_name.

    Raises:
        DataError: The file cannot be read, is no instances file, or does not keep the declared box convention.
        UsageError: The declared box convention is not known.
    """
    box_checks.check_convention_names(box_format, box_unit)
    content, rows = _read_file(annotations, images_folder)
    rows_in = {"image": len(content.images), "object": len(rows)}
    good, ids, sizes, rejected = _judge_images(content.images)
    images, flagged = _image_table(good, ids, sizes, content.licenses, source_name)
    rows, doubled = _one_per_id(rows)
    rows, image, kind, said = _placed(str(annotations), rows, content, images, box_format, box_unit)
    return Imported(
        images=images.table,
        objects=_object_table(rows, image, kind, images, content.categories),
        dialogues=None,
        rejected=sorted_verdicts([*rejected, *doubled, *said]),
        flagged=sorted_verdicts([*flagged, *_flags(rows, image * len(content.categories) + kind)]),
        rows_in=rows_in,
    )
