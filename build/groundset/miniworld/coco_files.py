# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes drawn scenes as COCO ships its instances, with a few of COCO's known faults on extra images."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from groundset.miniworld.backdrop import HEIGHT_PX, WIDTH_PX, backdrop
from groundset.miniworld.chance import Chance
from groundset.miniworld.coco_tables import CATEGORIES, CATEGORY_ID, CC0_ID, LICENCES
from groundset.miniworld.draw import draw, jpeg, placed
from groundset.miniworld.kinds import CATEGORIES as OUR_CATEGORIES
from groundset.miniworld.kinds import KINDS
from groundset.miniworld.primitives import Point
from groundset.miniworld.scene import (
    CELLS,
    Box,
    Scene,
    Thing,
    complexity_of,
    numbered_scene,
    plan_scene,
    stand,
)

_FIRST_IMAGE_ID = 100_000
_FIRST_FAULT_ID = 900_001
# COCO's ids have gaps; this one is in none of its tables of 80.
UNKNOWN_CATEGORY_ID = 12

Record = dict[str, Any]


@dataclass(frozen=True)
class _Page:
    """One image as it is written: the file's bytes, or None if it is missing, its annotations, and the truth."""

    image_id: int
    scene: Scene
    picture: bytes | None
    annotations: tuple[Record, ...]
    colourless: bool = False


def _hull(points: Sequence[Point]) -> list[Point]:
    """Convex hull, counterclockwise in a frame whose y points down, without repeated points."""

    def chain(ordered: Sequence[Point]) -> list[Point]:
        kept: list[Point] = []
        for x, y in ordered:
            while len(kept) > 1:
                (x0, y0), (x1, y1) = kept[-2], kept[-1]
                if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                    break
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    ordered = sorted(set(points))
    return chain(ordered) + chain(ordered[::-1])


def _enclosed(outline: Sequence[Point]) -> float:
    pairs = zip(outline, [*outline[1:], outline[0]], strict=True)
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2


def _xywh(box: Box) -> list[float]:
    return [box[0], box[1], round(box[2] - box[0], 2), round(box[3] - box[1], 2)]


def _annotation(number: int, image_id: int, thing: Thing) -> Record:
    points = [point for part in thing.kind.shape.parts for point in placed(part.points, thing)]
    outline = _hull([(round(x, 2), round(y, 2)) for x, y in points])
    return {
        "segmentation": [[value for point in outline for value in point]],
        "area": round(_enclosed(outline), 4),
        "iscrowd": 0,
        "image_id": image_id,
        "bbox": _xywh(thing.bbox_xyxy_px),
        "category_id": CATEGORY_ID[thing.kind.coco],
        "id": number,
    }


def _annotations(image_id: int, first: int, scene: Scene) -> tuple[Record, ...]:
    return tuple(_annotation(first + n, image_id, thing) for n, thing in enumerate(scene.things) if thing.marked)


def _run_lengths(boxes: Sequence[Box]) -> list[int]:
    """Uncompressed run lengths, column by column, beginning with how much lies outside (COCO's form for crowds)."""
    mask = np.zeros((HEIGHT_PX, WIDTH_PX), dtype=np.int8)
    for x_min, y_min, x_max, y_max in boxes:
        mask[round(y_min) : round(y_max), round(x_min) : round(x_max)] = 1
    flat = mask.ravel(order="F")
    borders = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff([0, *borders, len(flat)])
    return [int(run) for run in runs] if flat[0] == 0 else [0, *(int(run) for run in runs)]


def _flock(seed: str) -> Scene:
    """A dog, marked, and many sheep close together, not marked one by one."""
    chance = Chance(seed, "fault crowd")
    sheep = [
        stand(KINDS["sheep"], "white", 60.0 + 26 * n, 210.0 + 14 * (n % 3), 52, chance, f"sheep {n}") for n in range(9)
    ]
    dog = stand(KINDS["dog"], "brown", 380, 330, 120, chance, "dog")
    return Scene("meadow", backdrop("meadow", chance), (*(replace(each, marked=False) for each in sheep), dog))


def _crowd_annotation(image_id: int, scene: Scene) -> Record:
    boxes = [thing.bbox_xyxy_px for thing in scene.things if not thing.marked]
    low, high = np.min(boxes, axis=0).round(), np.max(boxes, axis=0).round()
    counts = _run_lengths(boxes)
    category = CATEGORY_ID["sheep"]
    return {
        "segmentation": {"counts": counts, "size": [HEIGHT_PX, WIDTH_PX]},
        "area": sum(counts[1::2]),
        "iscrowd": 1,
        "image_id": image_id,
        "bbox": [int(low[0]), int(low[1]), int(high[2] - low[0]), int(high[3] - low[1])],
        "category_id": category,
        "id": 900_000_000_000 + category * 10**8 + image_id,
    }


def _zero_height(image_id: int, number: int, scene: Scene) -> Record:
    x_min, _, x_max, y_max = scene.things[0].bbox_xyxy_px
    return {
        "segmentation": [[x_min, y_max, round(x_min + 20, 2), y_max, x_max, y_max]],
        "area": 0.0,
        "iscrowd": 0,
        "image_id": image_id,
        "bbox": [x_min, y_max, round(x_max - x_min, 2), 0.0],
        "category_id": CATEGORY_ID[scene.things[0].kind.coco],
        "id": number,
    }


def _faults(seed: str) -> Iterator[_Page]:
    def page(n: int, complexity: str, category: str, change: Callable[[bytes], bytes | None] = lambda b: b) -> _Page:
        image_id = _FIRST_FAULT_ID + n
        scene = plan_scene(seed, f"fault {n}", complexity, category)
        picture = change(jpeg(draw(scene)))
        return _Page(image_id, scene, picture, _annotations(image_id, image_id * 100, scene))

    flat = page(0, "single", "person")
    yield replace(
        flat, annotations=(*flat.annotations, _zero_height(flat.image_id, flat.image_id * 100 + 90, flat.scene))
    )

    twice = page(1, "single", "vehicle")
    again = dict(twice.annotations[0], id=twice.image_id * 100 + 90)
    x, y, width, height = again["bbox"]
    again["bbox"] = [x, y, width, round(height - 0.8, 2)]
    yield replace(twice, annotations=(*twice.annotations, again))

    flock, flock_id = _flock(seed), _FIRST_FAULT_ID + 2
    marked = _annotations(flock_id, flock_id * 100, flock)
    yield _Page(flock_id, flock, jpeg(draw(flock)), (*marked, _crowd_annotation(flock_id, flock)))

    empty_chance, empty_id = Chance(seed, "fault empty"), _FIRST_FAULT_ID + 3
    empty = Scene("meadow", backdrop("meadow", empty_chance), ())
    yield _Page(empty_id, empty, jpeg(draw(empty)), ())

    yield page(4, "separated", "food", lambda picture: picture[: len(picture) * 3 // 5])
    yield page(5, "overlapping", "animal", lambda picture: None)

    grey = page(6, "single", "animal")
    yield replace(grey, picture=jpeg(draw(grey.scene).convert("L")), colourless=True)

    turned = page(7, "separated", "vehicle")
    yield replace(turned, picture=jpeg(draw(turned.scene), orientation=6))

    strange = page(8, "single", "food")
    unknown = dict(strange.annotations[0], id=strange.image_id * 100 + 90, category_id=UNKNOWN_CATEGORY_ID)
    unknown["bbox"] = [10.0, 10.0, 40.0, 30.0]
    unknown["segmentation"] = [[10.0, 10.0, 50.0, 10.0, 50.0, 40.0, 10.0, 40.0]]
    yield replace(strange, annotations=(*strange.annotations, dict(unknown, area=1200.0)))


def _healthy(seed: str, number: int) -> _Page:
    scene = numbered_scene(seed, number)
    image_id = _FIRST_IMAGE_ID + number
    return _Page(image_id, scene, jpeg(draw(scene)), _annotations(image_id, image_id * 100, scene))


def _image(page: _Page) -> Record:
    name = f"{page.image_id:012d}.jpg"
    return {
        "license": CC0_ID,
        "file_name": name,
        "coco_url": f"https://groundset.invalid/miniworld/{name}",
        "height": HEIGHT_PX,
        "width": WIDTH_PX,
        "date_captured": "2026-01-01 00:00:00",
        "flickr_url": None,
        "id": page.image_id,
    }


def _truth(page: _Page) -> Record:
    things = {page.image_id * 100 + n: thing for n, thing in enumerate(page.scene.things) if thing.marked}
    return {
        "file_name": f"{page.image_id:012d}.jpg",
        "complexity": {category: complexity_of(page.scene.boxes_of(category)) for category in OUR_CATEGORIES},
        "objects": [
            {
                "annotation_id": number,
                "label": thing.kind.coco,
                "kind": thing.kind.name,
                "category": thing.kind.category,
                "colour": None if page.colourless else thing.colour,
                "place": thing.place,
                "bbox_xyxy_px": list(thing.bbox_xyxy_px),
            }
            for number, thing in things.items()
        ],
    }


def write_coco(folder: Path, seed: str, scenes_per_cell: int) -> dict[str, Record]:
    """Writes `instances_miniworld.json` and `images/` into the folder.

    Healthy scenes take turns over the twelve cells, so that scene n has the same id and bytes however many there are.
    Nine extra images have one fault each: a zero-height box; an object marked twice; a crowd with run lengths and an
    id over 32 bits; no annotations; a truncated file; a missing file; a grey file; an EXIF orientation; an annotation
    of a category that the file does not list (notes on COCO in real use).

    Args:
        folder: Where to write; made here.
        seed: Seed of the world.
        scenes_per_cell: Healthy scenes for each complexity and category.

    Returns:
        What annotators know: image id as text to the image's objects and each category's complexity.
    """
    images = folder / "images"
    images.mkdir(parents=True)
    pages = [*(_healthy(seed, number) for number in range(scenes_per_cell * len(CELLS))), *_faults(seed)]
    for page in pages:
        if page.picture is not None:
            (images / f"{page.image_id:012d}.jpg").write_bytes(page.picture)
    instances = {
        "info": {
            "description": "groundset miniature world, drawn scenes in COCO's format",
            "url": "https://groundset.invalid/miniworld",
            "version": "1.0",
            "year": 2026,
            "contributor": "groundset contributors",
            "date_created": "2026/01/01",
        },
        "licenses": LICENCES,
        "images": [_image(page) for page in pages],
        "annotations": [annotation for page in pages for annotation in page.annotations],
        "categories": CATEGORIES,
    }
    path = folder / "instances_miniworld.json"
    path.write_text(json.dumps(instances, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    return {str(page.image_id): _truth(page) for page in pages}
