# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads COCO instances files (cocodataset.org, "Data format"): images, boxes, categories, licences.

Only the fields that are needed are decoded: masks are never parsed, so crowds in any run-length form are fine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from groundset import licences
from groundset.errors import DataError, Problem
from groundset.geometry import area
from groundset.sources import box_checks, json_faults
from groundset.sources.imported import (
    Imported,
    box_array,
    object_record_id,
    one_per_id,
    path_fault,
    sorted_table,
    sorted_verdicts,
)
from groundset.verdicts import Verdict

SCHEMA = "sources/coco_instances"
# COCO's own supercategories of these names are the design's categories (notes of section 8)
CATEGORIES = ("person", "vehicle", "animal", "food")


# ids are kept as text, but one that fits no 64-bit integer is a slip
Id = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Image(msgspec.Struct, gc=False):
    """One image record."""

    id: Id
    file_name: Annotated[str, msgspec.Meta(min_length=1)]
    width: float | None = None
    height: float | None = None
    license: Id | None = None
    flickr_url: str | None = None
    coco_url: str | None = None


class Annotation(msgspec.Struct, gc=False):
    """One annotation record; `bbox` as the file writes it."""

    id: Id
    image_id: Id
    category_id: Id
    bbox: tuple[float, float, float, float]
    iscrowd: Literal[0, 1] | None = None
    area: float | None = None


class Category(msgspec.Struct, gc=False):
    """One category record."""

    id: Id
    name: str
    supercategory: str | None = None


class LicenceEntry(msgspec.Struct, gc=False):
    """One entry of the file's licence table."""

    id: Id
    url: str | None = None


class Instances(msgspec.Struct):
    """The file, as far as it is read."""

    images: list[Image]
    annotations: list[Annotation]
    categories: list[Category]
    licenses: list[LicenceEntry] = []


def _other_kind(document: Any) -> str:
    if isinstance(document, list):
        return "is a bare list, as results files are; the instances file is an object with images and annotations"
    if not isinstance(document, dict):
        return f"is {json_faults.shown(document)}, must be an object with images, annotations and categories"
    annotations = document.get("annotations")
    if "images" in document and "annotations" not in document:
        return "has no annotations, as image-info files have none; take the instances file"
    rows = [row for row in annotations if isinstance(row, dict)] if isinstance(annotations, list) else []
    if any("segments_info" in row for row in rows):
        return "is a panoptic file (segments_info, no boxes); take the instances file"
    if rows and all("caption" in row and "bbox" not in row for row in rows):
        return "is a captions file (no boxes); take the instances file"
    return ""


def _label(document: Any, path: json_faults.Parts) -> str:
    names = {"images": "image", "annotations": "annotation", "categories": "category", "licenses": "licence"}
    if len(path) < 2 or path[0] not in names or not isinstance(path[1], int):
        return ""
    record = document[path[0]][path[1]]
    known = record.get("id") if isinstance(record, dict) else None
    return f"{names[str(path[0])]} {known}" if isinstance(known, int | str) else ""


def _ambiguous(file: str, key: str, rows: Sequence[Category] | Sequence[LicenceEntry]) -> list[Problem]:
    by_id: dict[int, list[Any]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append(row)
    return [
        Problem(file, "", f"$.{key}", f"id {known} is there {len(same)} times, with different contents")
        for known, same in by_id.items()
        if any(row != same[0] for row in same)
    ]


def _decode(annotations: Path, images_folder: Path | None) -> Instances:
    file = str(annotations)
    problems = []
    if images_folder is not None and not images_folder.is_dir():
        problems.append(Problem(str(images_folder), "", "", "is no folder", "it should hold the source's photographs"))
    try:
        data = json_faults.read_bytes(annotations)
    except DataError as error:
        raise DataError(error.summary, [*error.problems, *problems]) from None
    decoded = None
    try:
        decoded = msgspec.json.decode(data, type=Instances)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        found = json_faults.document_problems(file, data, SCHEMA, _label, _other_kind)
        problems += found or [Problem(file, "", "", f"cannot be decoded: {error}")]
    if decoded is not None:
        problems += _ambiguous(file, "categories", decoded.categories)
        problems += _ambiguous(file, "licenses", decoded.licenses)
    if problems or decoded is None:
        raise DataError(f"{file} cannot be read as COCO instances", problems)
    return decoded


def _image_id(known: int) -> str:
    return f"coco-{known}"


def _judge_images(images: Sequence[Image]) -> tuple[list[Image], list[Verdict]]:
    kept, doubled = one_per_id(images, lambda image: image.id)
    rejected = [Verdict(_image_id(image.id), "image", "duplicate_id", detail) for image, detail in doubled]
    good = []
    for image in kept:
        fault = path_fault(image.file_name)
        if fault:
            detail = f"file name {json_faults.shown(image.file_name)}: {fault}"
            rejected.append(Verdict(_image_id(image.id), "image", "path_outside_folder", detail))
        elif not box_checks.is_size(image.width, image.height):
            detail = f"width {image.width}, height {image.height}"
            rejected.append(Verdict(_image_id(image.id), "image", "no_size", detail))
        else:
            good.append(image)
    return good, rejected


def _image_table(images: Sequence[Image], table: Sequence[LicenceEntry], source_name: str) -> tuple[Any, list[Verdict]]:
    addresses = {entry.id: entry.url for entry in table}
    known = {entry.id: licences.by_address(entry.url) for entry in table}
    flagged = []
    for image in images:
        if image.license is not None and known.get(image.license) is None:
            written = addresses.get(image.license)
            detail = f"licence {image.license}: " + (written or "no address in the file's licence table")
            flagged.append(Verdict(_image_id(image.id), "image", "unknown_licence", detail, hard=False))
    pages = [licences.photo_page_from_flickr(image.flickr_url) for image in images]
    spdx = [None if image.license is None else known.get(image.license) for image in images]
    nothing = [None] * len(images)
    columns = {
        "image_id": [_image_id(image.id) for image in images],
        "source": ["coco"] * len(images),
        "source_name": [source_name] * len(images),
        "source_image_id": [str(image.id) for image in images],
        "file_name": [image.file_name for image in images],
        "frame_width": [image.width for image in images],
        "frame_height": [image.height for image in images],
        "licence": [licence.spdx if licence else None for licence in spdx],
        "licence_source": [
            None if image.license is None else addresses.get(image.license) or str(image.license) for image in images
        ],
        "title": nothing,
        "author": nothing,
        "author_url": nothing,
        "landing_url": [page[1] if page else None for page in pages],
        "original_url": [image.coco_url for image in images],
        "flickr_id": [page[0] if page else None for page in pages],
        "rotation": nothing,
    }
    return sorted_table("image", columns, ["image_id"]), flagged


def _record_id(annotation: Annotation) -> str:
    return object_record_id(_image_id(annotation.image_id), f"a{annotation.id}")


def _judge_boxes(
    annotations: Sequence[Annotation],
    boxes: NDArray[np.float64],
    sizes: NDArray[np.float64],
    categories: dict[int, Category],
    images: set[int],
) -> tuple[NDArray[np.bool_], list[Verdict]]:
    """Which annotations stay, and a verdict for each that does not; the first rule that speaks is the one given."""
    side = box_checks.shorter_side(boxes)
    outside = np.nan_to_num(box_checks.outside_px(boxes, sizes), nan=0.0)
    no_category = np.fromiter((a.category_id not in categories for a in annotations), bool, len(annotations))
    no_size = np.isnan(sizes[:, 0])
    # without a size nothing can be outside: such rows are rejected for their image
    leaves = ~no_size & (outside > box_checks.OUTSIDE_PX)
    bad = (side <= 0) | no_category | no_size | leaves
    rejected = []
    for index in np.flatnonzero(bad).tolist():
        row = annotations[index]
        measured: float | None = None
        limit: float | None = None
        if side[index] <= 0:
            rule, detail = "degenerate_box", f"bbox {list(row.bbox)}"
            measured, limit = float(side[index]), 0.0
        elif no_category[index]:
            rule, detail = "unknown_category", f"category_id {row.category_id} is not in categories"
        elif row.image_id not in images:
            rule, detail = "unknown_image", f"image_id {row.image_id} is not in images"
        elif no_size[index]:
            rule, detail = "image_rejected", "its image was rejected"
        else:
            frame = f"{sizes[index, 0]:g} x {sizes[index, 1]:g}"
            rule, detail = "box_outside_image", f"bbox {list(row.bbox)} leaves the image of {frame}"
            measured, limit = float(outside[index]), box_checks.OUTSIDE_PX
        rejected.append(Verdict(_record_id(row), "object", rule, detail, measured, limit))
    return ~bad, rejected


def _flags(annotations: Sequence[Annotation], boxes: NDArray[np.float64]) -> list[Verdict]:
    box_areas = area(boxes)
    # a mask covers whole pixels, a box ends where it ends: a pixel a side is rounding
    most = (boxes[:, 2] - boxes[:, 0] + 1.0) * (boxes[:, 3] - boxes[:, 1] + 1.0)
    masks = np.array([np.nan if a.area is None else a.area for a in annotations], dtype=np.float64)
    flagged = []
    for index in np.flatnonzero((masks <= 0) | (masks > most)).tolist():
        detail = f"mask area {masks[index]:g}, box area {box_areas[index]:g}"
        record_id, measured, limit = _record_id(annotations[index]), float(masks[index]), float(box_areas[index])
        flagged.append(Verdict(record_id, "object", "area_contradicts_box", detail, measured, limit, hard=False))
    single = [index for index, a in enumerate(annotations) if a.iscrowd != 1]
    ids = np.array([annotations[index].id for index in single], dtype=np.int64)
    _, image = np.unique([annotations[index].image_id for index in single], return_inverse=True)
    kinds, kind = np.unique([annotations[index].category_id for index in single], return_inverse=True)
    rank = np.empty(len(single), dtype=np.int64)
    rank[np.argsort(ids)] = np.arange(len(single))
    group = image * len(kinds) + kind
    for one, other, iou in box_checks.near_duplicates(boxes[single], group, rank):
        detail = f"lies on a{annotations[single[one]].id} of the same category"
        record_id = _record_id(annotations[single[other]])
        limit = box_checks.NEAR_DUPLICATE_IOU
        flagged.append(Verdict(record_id, "object", "near_duplicate_box", detail, iou, limit, hard=False))
    return flagged


def _object_table(
    annotations: Sequence[Annotation],
    boxes: NDArray[np.float64],
    sizes: NDArray[np.float64],
    categories: dict[int, Category],
) -> Any:
    labels = {known: category.name for known, category in categories.items()}
    kinds = {
        known: category.supercategory if category.supercategory in CATEGORIES else None
        for known, category in categories.items()
    }
    columns = {
        "object_id": [f"a{row.id}" for row in annotations],
        "image_id": [_image_id(row.image_id) for row in annotations],
        "label": [labels[row.category_id] for row in annotations],
        "category": [kinds[row.category_id] for row in annotations],
        "bbox_xyxy": box_array(boxes),
        "frame_width": sizes[:, 0],
        "frame_height": sizes[:, 1],
        "is_group": [-1 if row.iscrowd is None else row.iscrowd for row in annotations],
        "is_depiction": np.full(len(annotations), -1, dtype=np.int64),
        "mask_area": [None if row.area is None else row.area + 0.0 for row in annotations],
    }
    return sorted_table("object", columns, ["image_id", "object_id"])


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
    content = _decode(annotations, images_folder)
    images, rejected = _judge_images(content.images)
    rows, doubled = one_per_id(content.annotations, lambda row: row.id)
    rejected += [Verdict(_record_id(row), "object", "duplicate_id", detail) for row, detail in doubled]

    size_of = {image.id: (image.width, image.height) for image in images}
    unknown = (np.nan, np.nan)
    sizes = np.array([size_of.get(row.image_id, unknown) for row in rows], dtype=np.float64).reshape(-1, 2)
    written = box_checks.box_values([row.bbox for row in rows])
    known = ~np.isnan(sizes[:, 0])
    box_checks.require_convention(str(annotations), written[known], sizes[known], box_format, box_unit)

    # a box of an image without a size can still be degenerate, in whatever unit
    frames = np.where(np.isnan(sizes), 1.0, sizes)
    boxes = box_checks.to_xyxy_px(written, frames, box_format, box_unit)
    categories = {category.id: category for category in content.categories}
    stays, said = _judge_boxes(rows, boxes, sizes, categories, {image.id for image in content.images})
    rejected += said
    kept = [row for row, stay in zip(rows, stays.tolist(), strict=True) if stay]
    boxes, sizes = boxes[stays], sizes[stays]
    image_table, flagged = _image_table(images, content.licenses, source_name)
    return Imported(
        images=image_table,
        objects=_object_table(kept, boxes, sizes, categories),
        dialogues=None,
        rejected=sorted_verdicts(rejected),
        flagged=sorted_verdicts([*flagged, *_flags(kept, boxes)]),
        rows_in={"image": len(content.images), "object": len(content.annotations)},
    )
