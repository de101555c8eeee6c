# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Imports a generated file of the form and size of COCO's instances_train2017.json, with groundset and pycocotools.

Each reader runs in processes of its own, in turns, from the start of Python to its end; the table shows medians of what
the system says of these processes. What one writes with pycocotools is its `COCO` class and loops over the images and
their annotations. Machines differ: read the ratios.

    python benchmarks/coco_import.py --images 30000 --repeat 1
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

IMAGES = 118_287
ANNOTATIONS_AN_IMAGE = 860_001 / IMAGES
LARGEST_IMAGE_ID = 581_929
# share of all objects, as in the publisher's file: about one in three is a person, one in ninety a crowd
PERSONS = 0.3
CROWDS = 0.0115
UNLABELLED = 1_021 / IMAGES
SEED = 2017
READERS = ("pycocotools", "groundset")
SUPERCATEGORIES = ("person", "vehicle", "outdoor", "animal", "accessory", "sports", "kitchen", "food", "furniture")
LICENCES = ("by-nc-sa/2.0", "by-nc/2.0", "by-nc-nd/2.0", "by/2.0", "by-sa/2.0", "by-nd/2.0")


def _outlines(dice: random.Random) -> list[str]:
    """Polygons to choose from, as text; as long as the publisher's are on average."""

    def polygon() -> list[float]:
        return [round(dice.uniform(0, 600), 2) for _ in range(2 * dice.choice((6, 11, 16, 22, 36)))]

    return [json.dumps([polygon() for _ in range(dice.choice((1, 1, 1, 2)))]) for _ in range(5_000)]


def _boxes(dice: random.Random, count: int) -> Iterator[tuple[float, float, float, float]]:
    x = y = width = height = 1.0
    for number in range(count):
        if number and dice.random() < 0.0005:
            # an object that somebody marked twice
            yield x, y, width, round(height * 1.01, 2)
        x, y = round(dice.uniform(0, 500), 2), round(dice.uniform(0, 350), 2)
        width, height = round(dice.uniform(2, 135), 2), round(dice.uniform(2, 125), 2)
        yield x, y, width, height


def generate(path: Path, images: int) -> int:
    """Writes the file and returns how many annotations it has; two of them have no height, as in the real one."""
    dice = random.Random(SEED)
    outlines = _outlines(dice)
    ids = sorted(dice.sample(range(1, max(LARGEST_IMAGE_ID, images) + 1), images))
    labelled = [known for known in ids if dice.random() >= UNLABELLED]
    count = round(images * ANNOTATIONS_AN_IMAGE)
    with path.open("w", encoding="utf-8") as file:
        file.write('{"info": {"description": "Made up, of the form of COCO 2017", "year": 2017}, "licenses": ')
        licences = [
            {"url": f"http://creativecommons.org/licenses/{name}/", "id": number, "name": name}
            for number, name in enumerate(LICENCES, 1)
        ]
        file.write(json.dumps(licences) + ', "images": [')
        for number, known in enumerate(ids):
            name, photo = f"{known:012}.jpg", f"{8_000_000_000 + known}_{known:010x}_z.jpg"
            file.write(
                f'{", " if number else ""}{{"license": {dice.randint(1, len(LICENCES))}, "file_name": "{name}", '
                f'"coco_url": "http://images.cocodataset.org/train2017/{name}", "height": 480, "width": 640, '
                f'"date_captured": "2013-11-14 11:18:45", "flickr_url": "http://farm9.staticflickr.com/8186/{photo}", '
                f'"id": {known}}}'
            )
        file.write('], "annotations": [')
        numbers = dice.sample(range(1, 3 * count), count)
        for place, (box, known) in enumerate(zip(_boxes(dice, count), numbers, strict=False)):
            image = dice.choice(labelled)
            category = 1 if dice.random() < PERSONS else dice.randint(2, 90)
            crowd = int(dice.random() < CROWDS)
            x, y, width, height = box
            if place in (count // 3, count // 2):
                height = 0.0
            known = 900_000_000_000 + category * 10**8 + place if crowd else known
            mask = (
                '{"counts": [272, 2, 4, 4, 4, 4, 2, 9, 1, 2], "size": [480, 640]}' if crowd else dice.choice(outlines)
            )
            # a mask is smaller than its box; a few are wrong
            area = round(width * height * (1.4 if place % 50_000 == 0 else 0.6), 4)
            file.write(
                f'{", " if place else ""}{{"segmentation": {mask}, "area": {area}, "iscrowd": {crowd}, '
                f'"image_id": {image}, "bbox": [{x}, {y}, {width}, {height}], '
                f'"category_id": {category}, "id": {known}}}'
            )
        categories = [
            {
                "supercategory": SUPERCATEGORIES[number % 9] if number > 1 else "person",
                "id": number,
                "name": f"c{number}",
            }
            for number in range(1, 91)
        ]
        file.write('], "categories": ' + json.dumps(categories) + "}")
    return count


def read_with_groundset(path: Path) -> dict[str, int]:
    from groundset.sources import coco

    read = coco.read(path)
    return {
        "images": read.images.num_rows,
        "objects": read.objects.num_rows,
        "degenerate": sum(verdict.rule == "degenerate_box" for verdict in read.rejected),
    }


def read_with_pycocotools(path: Path) -> dict[str, int]:
    from pycocotools.coco import COCO

    with contextlib.redirect_stdout(None):
        coco = COCO(str(path))
    licences = {row["id"]: row["url"] for row in coco.dataset["licenses"]}
    images, objects, degenerate = [], [], 0
    for image in coco.loadImgs(coco.getImgIds()):
        size = image["width"], image["height"]
        photo = image["flickr_url"].rpartition("/")[2].partition("_")[0]
        images.append((image["id"], image["file_name"], *size, licences[image["license"]], photo, image["coco_url"]))
        for row in coco.loadAnns(coco.getAnnIds(imgIds=image["id"])):
            x, y, width, height = row["bbox"]
            if width <= 0 or height <= 0:
                degenerate += 1
                continue
            category = coco.cats[row["category_id"]]
            box = x, y, x + width, y + height
            objects.append((image["id"], row["id"], category["name"], category["supercategory"], box, row["iscrowd"]))
    return {"images": len(images), "objects": len(objects), "degenerate": degenerate}


def _run(reader: str, path: Path) -> tuple[dict[str, float], dict[str, int]]:
    """What the system says of a process that reads, and what it has found."""
    source = Path(__file__).parents[1] / "build"
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    started = time.monotonic()
    command = [sys.executable, __file__, "--measure", reader, "--file", str(path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    if process.returncode:
        raise SystemExit(f"{reader} has failed")
    # Linux gives kilobytes
    return {"wall": wall, "cpu": used.ru_utime + used.ru_stime, "mib": used.ru_maxrss / 1024}, json.loads(printed)


def compare(path: Path, repeat: int) -> str:
    """Runs both readers in turns and returns the table."""
    runs: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
    found: dict[str, dict[str, int]] = {}
    for _ in range(repeat):
        for reader in READERS:
            told, found[reader] = _run(reader, path)
            runs[reader].append(told)
    median = {
        reader: {key: statistics.median(run[key] for run in told) for key in ("wall", "cpu", "mib")}
        for reader, told in runs.items()
    }
    lines = [
        f"{path.stat().st_size / 1e6:.0f} MB, {os.cpu_count()} cores, medians of {repeat} whole processes in turns",
        "reader       wall s   CPU s  peak MiB    images   objects  without area",
    ]
    lines += [
        f"{reader:<11}{told['wall']:>8.2f}{told['cpu']:>8.2f}{told['mib']:>10,.0f}"
        f"{found[reader]['images']:>10,}{found[reader]['objects']:>10,}{found[reader]['degenerate']:>14,}"
        for reader, told in median.items()
    ]
    theirs, ours = (median[reader] for reader in READERS)
    wall, cpu = theirs["wall"] / ours["wall"], theirs["cpu"] / ours["cpu"]
    lines.append(
        f"groundset is {wall:.1f} times faster (CPU {cpu:.1f} times) at {ours['mib'] / theirs['mib']:.2f} of the memory"
    )
    return "\n".join(lines)


def main() -> None:
    """Generates, compares and prints; or reads with one reader for the process that compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=IMAGES, help="how many; train2017 has the default")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--file", type=Path, help="keep the generated file here, and use it if it is there")
    parser.add_argument("--measure", choices=READERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(
            json.dumps(
                {"pycocotools": read_with_pycocotools, "groundset": read_with_groundset}[options.measure](options.file)
            )
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "instances.json"
        if not path.is_file():
            count = generate(path, options.images)
            print(f"{options.images:,} images, {count:,} annotations ({options.images / IMAGES:.0%} of train2017)")
        print(compare(path, options.repeat))


if __name__ == "__main__":
    main()
