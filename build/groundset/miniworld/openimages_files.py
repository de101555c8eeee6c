# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a handful of drawn scenes as Open Images ships its boxes, image list, classes and hierarchy."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from groundset.miniworld.backdrop import HEIGHT_PX, WIDTH_PX
from groundset.miniworld.chance import Chance
from groundset.miniworld.draw import draw, jpeg
from groundset.miniworld.scene import CELLS, Box, plan_scene

BOX_COLUMNS = (
    "ImageID",
    "Source",
    "LabelName",
    "Confidence",
    "XMin",
    "XMax",
    "YMin",
    "YMax",
    "IsOccluded",
    "IsTruncated",
    "IsGroupOf",
    "IsDepiction",
    "IsInside",
)
IMAGE_COLUMNS = (
    "ImageID",
    "Subset",
    "OriginalURL",
    "OriginalLandingURL",
    "License",
    "AuthorProfileURL",
    "Author",
    "Title",
    "OriginalSize",
    "OriginalMD5",
    "Thumbnail300KURL",
    "Rotation",
)

# Class name to its id, as in the publisher's list of boxable classes.
CLASS_IDS = {
    "Animal": "/m/0jbk",
    "Apple": "/m/014j1m",
    "Baked goods": "/m/052lwg6",
    "Banana": "/m/09qck",
    "Bench": "/m/0cvnqh",
    "Bicycle": "/m/0199g",
    "Bicycle wheel": "/m/01bqk0",
    "Bird": "/m/015p6",
    "Boat": "/m/019jd",
    "Boy": "/m/01bl7v",
    "Bus": "/m/01bjv",
    "Cake": "/m/0fszt",
    "Car": "/m/0k4j",
    "Carnivore": "/m/01lrl",
    "Carrot": "/m/0fj52s",
    "Cat": "/m/01yrx",
    "Cattle": "/m/01xq0k1",
    "Coffee cup": "/m/02p5f1q",
    "Dessert": "/m/0270h",
    "Dog": "/m/0bt9lr",
    "Doughnut": "/m/0jy4k",
    "Elephant": "/m/0bwd_0j",
    "Fast food": "/m/01_bhs",
    "Food": "/m/02wbm",
    "Fruit": "/m/02xwb",
    "Furniture": "/m/0c_jw",
    "Girl": "/m/05r655",
    "Horse": "/m/03k3r",
    "Hot dog": "/m/01b9xk",
    "Human face": "/m/0dzct",
    "Kitchenware": "/m/03_wxk",
    "Land vehicle": "/m/01prls",
    "Mammal": "/m/04rky",
    "Man": "/m/04yx4",
    "Orange": "/m/0cyhj_",
    "Pastry": "/m/0hnyx",
    "Person": "/m/01g317",
    "Pizza": "/m/0663v",
    "Sheep": "/m/07bgp",
    "Tableware": "/m/04brg2",
    "Truck": "/m/07r04",
    "Vegetable": "/m/0f4s2w",
    "Vehicle": "/m/07yv9",
    "Watercraft": "/m/01rzcn",
    "Woman": "/m/03bt1vf",
}
# The publisher's root, which has no name in the class file.
_ROOT_ID = "/m/0bl9f"
_TREE: dict[str, Any] = {
    "Furniture": {"Bench": {}},
    "Kitchenware": {"Tableware": {"Coffee cup": {}}},
    "Person": {"Man": {}, "Woman": {}, "Boy": {}, "Girl": {}},
    "Vehicle": {"Land vehicle": {"Bicycle": {}, "Bus": {}, "Car": {}, "Truck": {}}, "Watercraft": {"Boat": {}}},
    "Animal": {
        "Bird": {},
        "Mammal": {"Carnivore": {"Cat": {}, "Dog": {}}, "Cattle": {}, "Elephant": {}, "Horse": {}, "Sheep": {}},
    },
    "Food": {
        "Baked goods": {"Pastry": {"Doughnut": {}}},
        "Dessert": {"Cake": {}},
        "Fast food": {"Hot dog": {}},
        "Fruit": {"Apple": {}, "Banana": {}, "Orange": {}},
        "Pizza": {},
        "Vegetable": {"Carrot": {}},
    },
}
_PARTS = {"Person": ("Human face",), "Bicycle": ("Bicycle wheel",)}

_TITLES = (
    'Red, blue and "green"',
    "Sommer, Straße & Bäume",
    "赤い車と犬",
    "Собака на траве",
    'He said "hello", twice',
    "صورة",
    "",
    "A quiet morning\\n",
    "=1+1",
    "O'Brien’s lunch",
    "नमस्ते, दुनिया",
    "plain title",
    "no photograph",
)
_MISSING, _TURNED, _UNSTATED, _GROUP, _DEPICTION, _UNKNOWN = 12, 4, 5, 6, 3, 7


@dataclass(frozen=True)
class _Page:
    image_id: str
    number: int
    picture: bytes
    boxes: tuple[tuple[str, Box], ...]


def _image_id(seed: str, number: int) -> str:
    digest = Chance(seed, f"openimages {number}").digest("id")
    # Two ids that a spreadsheet or a careless reader takes for a number.
    return {0: "0000000" + digest[:9], 1: "12345678901e" + "".join(str(int(c, 16) % 10) for c in digest[:4])}.get(
        number, digest[:16]
    )


def _page(seed: str, number: int) -> _Page:
    scene = plan_scene(seed, f"openimages {number}", *CELLS[number % len(CELLS)])
    image = draw(scene)
    boxes = []
    for thing in scene.things:
        x_min, y_min, x_max, y_max = thing.bbox_xyxy_px
        unit = (x_min / WIDTH_PX, y_min / HEIGHT_PX, x_max / WIDTH_PX, y_max / HEIGHT_PX)
        if number == _TURNED:
            # The stored file lies a quarter turn clockwise, and its boxes with it.
            unit = (1 - unit[3], unit[0], 1 - unit[1], unit[2])
        names = ["Person"] if thing.kind.category == "person" else []
        boxes += [(name, unit) for name in (*names, thing.kind.open_images)]
    if number == _TURNED:
        image = image.transpose(Image.Transpose.ROTATE_270)
    return _Page(_image_id(seed, number), number, jpeg(image), tuple(boxes))


def _box_row(page: _Page, n: int, name: str, box: Box) -> list[str]:
    flags = ["0", "0", "0", "0", "0"]
    source = "xclick" if n % 2 == 0 else "freeform"
    if page.number == _GROUP and n == 0:
        flags[2] = "1"
    if page.number == _DEPICTION and n == 0:
        flags[3] = "1"
    if page.number == _UNKNOWN:
        source, flags = "activemil", ["-1"] * 5
    edges = (box[0], box[2], box[1], box[3])
    return [page.image_id, source, CLASS_IDS[name], "1", *(f"{edge:.6f}" for edge in edges), *flags]


def _image_row(page: _Page) -> list[str]:
    address = f"https://groundset.invalid/miniworld/openimages/{page.image_id}"
    rotation = {_TURNED: "90.0", _UNSTATED: ""}.get(page.number, "0.0")
    md5 = hashlib.md5(page.picture, usedforsecurity=False).digest()
    return [
        page.image_id,
        "validation",
        f"{address}_o.jpg",
        address,
        "https://creativecommons.org/publicdomain/zero/1.0/",
        "https://groundset.invalid/people/groundset/",
        "groundset contributors",
        _TITLES[page.number],
        str(len(page.picture)),
        base64.b64encode(md5).decode(),
        f"{address}_z.jpg",
        rotation,
    ]


def _write_csv(path: Path, header: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if header is not None:
            writer.writerow(header)
        writer.writerows(rows)


def _node(name: str, below: dict[str, Any]) -> dict[str, Any]:
    node: dict[str, Any] = {"LabelName": CLASS_IDS[name]}
    if below:
        node["Subcategory"] = [_node(*item) for item in below.items()]
    if name in _PARTS:
        node["Part"] = [{"LabelName": CLASS_IDS[part]} for part in _PARTS[name]]
    return node


def write_openimages(folder: Path, seed: str) -> None:
    """Writes boxes, image list, classes, hierarchy and `images/` into the folder, under the publisher's names.

    Twelve scenes, one for each cell, and a thirteenth whose file is missing. Persons are boxed twice, as Person and as
    Man, Woman or Boy; one box holds a group, one a depiction, one image's flags are unknown (-1); one image has
    Rotation 90.0 and lies on its side, one has none; titles hold commas, quotes and several scripts.

    Args:
        folder: Where to write; made here.
        seed: Seed of the world.
    """
    images = folder / "images"
    images.mkdir(parents=True)
    pages = sorted((_page(seed, number) for number in range(_MISSING + 1)), key=lambda page: page.image_id)
    for page in pages:
        if page.number != _MISSING:
            (images / f"{page.image_id}.jpg").write_bytes(page.picture)
    rows = [_box_row(page, n, name, box) for page in pages for n, (name, box) in enumerate(page.boxes)]
    _write_csv(folder / "validation-annotations-bbox.csv", BOX_COLUMNS, rows)
    _write_csv(folder / "validation-images-with-rotation.csv", IMAGE_COLUMNS, map(_image_row, pages))
    classes = sorted((class_id, name) for name, class_id in CLASS_IDS.items())
    _write_csv(folder / "class-descriptions-boxable.csv", None, classes)
    root = {"LabelName": _ROOT_ID, "Subcategory": [_node(*item) for item in _TREE.items()]}
    hierarchy = folder / "bbox_labels_600_hierarchy.json"
    hierarchy.write_text(json.dumps(root, indent=4) + "\n", encoding="utf-8", newline="\n")
