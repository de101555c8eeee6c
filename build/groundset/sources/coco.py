# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads COCO instances and captions files into our tables, with a verdict on every row that is left out or odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from groundset import licences
from groundset.errors import DataError, Problem
from groundset.sources import box_checks, coco_file, json_faults
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

# COCO's own supercategories of these names are the design's categories (notes of section 8)
CATEGORIES = ("person", "vehicle", "animal", "food")
# a name that can have none of the faults of a path
_PLAIN_NAME = r"\A[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\z"

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Images:
    """The images that stay, in the order of the file.

    Attributes:
        id: Ids of the source; shape (n,).
        size: Width and height in pixels; shape (n, 2).
        rank: Each image's row in the table; shape (n,).
        table: The table, sorted.
    """

    id: Integers
    size: NDArray[np.float64]
    rank: Integers
    table: pa.Table


def _image_id(known: int) -> str:
    return f"coco-{known}"


def _texts(prefix: str, ids: Integers) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pc.cast(pa.array(ids), pa.string()), "")


def _judge_images(images: Sequence[Image]) -> tuple[list[Image], list[Verdict]]:
    kept, doubled = one_per_id(images, lambda image: image.id)
    rejected = [Verdict(_image_id(image.id), "image", "duplicate_id", detail) for image, detail in doubled]
    plain = pc.match_substring_regex(pa.array([image.file_name for image in kept], pa.string()), _PLAIN_NAME)
    good = np.asarray(plain, dtype=bool) & box_checks.are_sizes(_sizes(kept))
    stays = np.ones(len(kept), dtype=bool)
    for index in np.flatnonzero(~good).tolist():
        image = kept[index]
        fault = path_fault(image.file_name)
        if fault:
            detail = f"file name {json_faults.shown(image.file_name)}: {fault}"
            rejected.append(Verdict(_image_id(image.id), "image", "path_outside_folder", detail))
        elif not box_checks.is_size(image.width, image.height):
            detail = f"width {image.width}, height {image.height}"
            rejected.append(Verdict(_image_id(image.id), "image", "no_size", detail))
        stays[index] = not fault and box_checks.is_size(image.width, image.height)
    return kept if stays.all() else [kept[index] for index in np.flatnonzero(stays).tolist()], rejected


def _sizes(images: Sequence[Image]) -> NDArray[np.float64]:
    sides = [[image.width for image in images], [image.height for image in images]]
    return np.array(sides, dtype=np.float64).reshape(2, -1).T


def _image_table(
    images: Sequence[Image], entries: Sequence[LicenceEntry], source_name: str
) -> tuple[_Images, list[Verdict]]:
    addresses = {entry.id: entry.url for entry in entries}
    known = {entry.id: licences.by_address(entry.url) for entry in entries}
    stated = pa.array([image.license for image in images], pa.int64()).dictionary_encode()
    numbers, of_image = stated.dictionary.to_pylist(), stated.indices
    found = [known.get(number) for number in numbers]
    flagged = []
    unknown = pa.array([place for place, licence in enumerate(found) if licence is None], of_image.type)
    for index in np.flatnonzero(pc.is_in(of_image, value_set=unknown)).tolist():
        number = numbers[of_image[index].as_py()]
        detail = f"licence {number}: " + (addresses.get(number) or "no address in the file's licence table")
        flagged.append(Verdict(_image_id(images[index].id), "image", "unknown_licence", detail, hard=False))
    ids, sizes = np.array([image.id for image in images], dtype=np.int64), _sizes(images)
    photos, pages = licences.photo_pages_from_flickr(pa.array([image.flickr_url for image in images], pa.string()))
    image_ids = _texts("coco-", ids)
    nothing = [None] * len(images)
    columns = {
        "image_id": image_ids,
        "source": ["coco"] * len(images),
        "source_name": [source_name] * len(images),
        "source_image_id": _texts("", ids),
        "file_name": [image.file_name for image in images],
        "frame_width": sizes[:, 0],
        "frame_height": sizes[:, 1],
        "licence": pa.array([licence.spdx if licence else None for licence in found], pa.string()).take(of_image),
        "licence_source": pa.array([addresses.get(n) or str(n) for n in numbers], pa.string()).take(of_image),
        "title": nothing,
        "author": nothing,
        "author_url": nothing,
        "landing_url": pages,
        "original_url": [image.coco_url for image in images],
        "flickr_id": photos,
        "rotation": nothing,
    }
    order = np.asarray(pc.sort_indices(image_ids))
    rank = np.empty(len(images), dtype=np.int64)
    rank[order] = np.arange(len(images))
    return _Images(ids, sizes, rank, table("image", columns).take(order).combine_chunks()), flagged


def _record_id(annotation_id: int, image_id: int) -> str:
    return object_record_id(_image_id(image_id), f"a{annotation_id}")


def _one_per_id(rows: Annotations) -> tuple[Annotations, list[Verdict]]:
    ordered = np.sort(rows.id)
    doubled = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(doubled):
        return rows, []
    places = np.flatnonzero(np.isin(rows.id, doubled))
    some = rows.take(places)
    areas = [None if np.isnan(area) else area for area in some.area.tolist()]
    fields = (some.id, some.image_id, some.category_id, some.bbox.T, some.iscrowd)
    records = list(zip(*(field.tolist() for field in fields), areas, strict=True))
    _, out = one_per_id(range(len(records)), lambda place: some.id[place], lambda place: records[place])
    stays = np.ones(len(rows), dtype=bool)
    stays[places[[place for place, _ in out]]] = False
    said = [Verdict(_record_id(*records[place][:2]), "object", "duplicate_id", detail) for place, detail in out]
    return rows.take(stays), said


def _places(values: Integers, among: Integers) -> Integers:
    """Where each value stands in `among`, -1 where it does not."""
    found: Integers = np.asarray(pc.fill_null(pc.index_in(pa.array(values), value_set=pa.array(among)), -1))
    return found


def _judge_boxes(
    rows: Annotations,
    boxes: NDArray[np.float64],
    sizes: NDArray[np.float64],
    kinds: Integers,
    images: Sequence[Image],
) -> tuple[Mask, list[Verdict]]:
    """Which annotations stay, and a verdict for each that does not; the first rule that speaks is the one given."""
    side = box_checks.shorter_side(boxes)
    no_size = np.isnan(sizes[:, 0])
    outside = np.nan_to_num(box_checks.outside_px(boxes, sizes), nan=0.0)
    # without a size nothing can be outside: such rows are rejected for their image
    leaves = ~no_size & (outside > box_checks.OUTSIDE_PX)
    bad = (side <= 0) | (kinds < 0) | no_size | leaves
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


def _flags(rows: Annotations, boxes: NDArray[np.float64], group: Integers) -> list[Verdict]:
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
    single = np.flatnonzero(rows.iscrowd != 1)
    for one, other, iou in box_checks.near_duplicates(boxes[single], group[single], rows.id[single]):
        detail = f"lies on a{rows.id[single[one]]} of the same category"
        flag(int(single[other]), "near_duplicate_box", detail, iou, box_checks.NEAR_DUPLICATE_IOU)
    return flagged


def _order(image_rank: Integers, ids: Integers) -> Integers:
    """The order of rows by image, then by the text of the object's id, for which a10 comes before a9."""
    digits = len(str(int(ids.max(initial=0))))
    images = int(image_rank.max(initial=0)) + 1
    if ids.min(initial=0) < 0 or images * 10**digits * (digits + 1) >= 2**63:
        keys = pa.table({"image": image_rank, "object": _texts("a", ids)})
        order: Integers = np.asarray(pc.sort_indices(keys, [("image", "ascending"), ("object", "ascending")]))
        return order
    tens = 10 ** np.arange(digits, dtype=np.int64)
    length = np.maximum(np.searchsorted(tens, ids, side="right"), 1)
    # as text, ids compare like numbers that were filled up with zeros to one length; of equal ones the shorter is first
    return np.argsort((image_rank * 10**digits + ids * tens[digits - length]) * (digits + 1) + length)


def _some(rows: NDArray[np.float64], which: Mask) -> NDArray[np.float64]:
    """Rows of an array whose columns lie one after the other in memory, as do those of the result."""
    return rows if which.all() else rows.T[:, which].T


def _read_file(path: Path, images_folder: Path | None) -> tuple[coco_file.InstancesFile[None], Annotations]:
    problems = []
    if images_folder is not None and not images_folder.is_dir():
        problems.append(Problem(str(images_folder), "", "", "is no folder", "it should hold the source's photographs"))
    try:
        content = coco_file.read_instances(path)
    except DataError as error:
        raise DataError(error.summary, [*error.problems, *problems]) from None
    if problems:
        raise DataError(f"{path} cannot be read as COCO instances", problems)
    return content


def _object_table(
    rows: Annotations,
    boxes: NDArray[np.float64],
    places: tuple[Integers, Integers],
    images: _Images,
    categories: Sequence[Category],
) -> pa.Table:
    order = _order(images.rank[places[0]], rows.id)
    rows, boxes, image, kind = rows.take(order), boxes.T[:, order].T, places[0][order], pa.array(places[1][order])
    sizes = images.size[image]
    named = [category.supercategory if category.supercategory in CATEGORIES else None for category in categories]
    columns = {
        "object_id": _texts("a", rows.id),
        "image_id": images.table["image_id"].combine_chunks().take(pa.array(images.rank[image])),
        "label": pa.array([category.name for category in categories], pa.string()).take(kind),
        "category": pa.array(named, pa.string()).take(kind),
        "bbox_xyxy": box_array(boxes),
        "frame_width": sizes[:, 0],
        "frame_height": sizes[:, 1],
        "is_group": rows.iscrowd,
        "is_depiction": np.full(len(rows), -1, dtype=np.int64),
        "mask_area": pa.array(rows.area + 0.0, pa.float64(), mask=np.isnan(rows.area)),
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
        area_contradicts_box, near_duplicate_box, unknown_licence.

    Raises:
        DataError: The file cannot be read, is no instances file, or does not keep the declared box convention.
        UsageError: The declared box convention is not known.
    """
    box_checks.check_convention_names(box_format, box_unit)
    content, rows = _read_file(annotations, images_folder)
    rows_in = {"image": len(content.images), "object": len(rows)}
    good, rejected = _judge_images(content.images)
    images, flagged = _image_table(good, content.licenses, source_name)
    rows, doubled = _one_per_id(rows)

    image = _places(rows.image_id, images.id)
    kind = _places(rows.category_id, np.array([category.id for category in content.categories], dtype=np.int64))
    # the place -1 is that of no image
    sizes = np.stack([np.append(side, np.nan)[image] for side in images.size.T]).T
    written, known = box_checks.box_values(rows.bbox.T), image >= 0
    file = str(annotations)
    box_checks.require_convention(file, _some(written, known), _some(sizes, known), box_format, box_unit)
    # a box of an image without a size can still be degenerate, in whatever unit
    boxes = box_checks.to_xyxy_px(written, np.where(np.isnan(sizes), 1.0, sizes), box_format, box_unit)
    stays, said = _judge_boxes(rows, boxes, sizes, kind, content.images)
    kept, boxes, image, kind = rows.take(stays), _some(boxes, stays), image[stays], kind[stays]
    return Imported(
        images=images.table,
        objects=_object_table(kept, boxes, (image, kind), images, content.categories),
        dialogues=None,
        rejected=sorted_verdicts([*rejected, *doubled, *said]),
        flagged=sorted_verdicts([*flagged, *_flags(kept, boxes, image * len(content.categories) + kind)]),
        rows_in=rows_in,
    )
