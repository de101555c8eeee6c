# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Imports a generated box CSV of the Open Images V6 train form, with groundset and with what one writes in pandas.

Each reader runs in processes of its own, in turns; the table shows medians and ratios to pandas.

    python benchmarks/openimages_import.py --rows 14610229 --repeat 1
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SEED = 7
BATCH_IMAGES = 60_000
ROOTS = {"/m/01g317": 5, "/m/07yv9": 30, "/m/0jbk": 111, "/m/02wbm": 77}
CATEGORIES = dict(zip(ROOTS, ("person", "vehicle", "animal", "food"), strict=True))
CLASSES = 600
BOXES_AN_IMAGE = 8.4
FLAGS = ("IsOccluded", "IsTruncated", "IsGroupOf", "IsDepiction", "IsInside")
CLICKS = tuple(f"XClick{number}{axis}" for axis in "XY" for number in (1, 2, 3, 4))
BOX_COLUMNS = ("ImageID", "Source", "LabelName", "Confidence", "XMin", "XMax", "YMin", "YMax", *FLAGS, *CLICKS)
METADATA_COLUMNS = (
    *("ImageID", "Subset", "OriginalURL", "OriginalLandingURL", "License", "AuthorProfileURL", "Author", "Title"),
    *("OriginalSize", "OriginalMD5", "Thumbnail300KURL", "Rotation"),
)
METADATA_LEFT_OUT = ("Subset", "OriginalSize", "OriginalMD5", "Thumbnail300KURL")
FILES = {
    "annotations": "train-annotations-bbox.csv",
    "image_metadata": "train-images-boxable-with-rotation.csv",
    "class_descriptions": "class-descriptions-boxable.csv",
    "hierarchy": "bbox_labels_600_hierarchy.json",
}
READERS = ("pandas", "groundset")


def _write_classes(folder: Path) -> list[str]:
    mids = [*ROOTS, *(f"/m/0z{number:04x}" for number in range(CLASSES - len(ROOTS)))]
    rows = [f"{mid},Class {number}\n" for number, mid in enumerate(mids)]
    (folder / FILES["class_descriptions"]).write_text("".join(rows), encoding="utf-8")
    others = iter(mids[len(ROOTS) :])
    below = [
        {"LabelName": root, "Subcategory": [{"LabelName": next(others)} for _ in range(count - 1)]}
        for root, count in ROOTS.items()
    ]
    tree = {"LabelName": "/m/0bl9f", "Subcategory": [*below, *({"LabelName": mid} for mid in others)]}
    (folder / FILES["hierarchy"]).write_text(json.dumps(tree), encoding="utf-8")
    return mids


def _unit(values: np.ndarray) -> Any:
    """Millionths as text with six decimals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = pa.array(values // 1_000_000).cast(pa.string())
    part = pc.utf8_lpad(pa.array(values % 1_000_000).cast(pa.string()), 6, "0")
    return pc.binary_join_element_wise(whole, part, ".")


def _lines(columns: list[Any]) -> bytes:
    import pyarrow.compute as pc

    rows: list[str] = pc.binary_join_element_wise(*columns, ",").to_pylist()
    return "\n".join([*rows, ""]).encode()


def _box_rows(dice: np.random.Generator, ids: list[str], mids: list[str]) -> list[Any]:
    import pyarrow as pa

    counts = dice.geometric(1 / BOXES_AN_IMAGE, len(ids))
    rows = int(counts.sum())
    image = pa.array(ids).take(pa.array(np.repeat(np.arange(len(ids)), counts)))
    # few classes are frequent, as in the publisher's file
    label = pa.array(mids).take(pa.array(np.minimum(dice.zipf(1.3, rows) - 1, len(mids) - 1)))
    edges = []
    for _ in "xy":
        low = dice.integers(0, 900_000, rows)
        high = np.minimum(low + dice.integers(10_000, 500_000, rows), 1_000_000)
        # one box in ten thousand has no width or height
        edges += [low, np.where(dice.random(rows) < 1e-4, low, high)]
    shares = (0.5, 0.2, 0.05, 0.04, 0.0)
    flags = [pa.array((dice.random(rows) < share).astype(np.int8)).cast(pa.string()) for share in shares]
    sides = [_unit(values) for values in edges]
    clicks = [sides[index] for index in (0, 0, 1, 1, 2, 2, 3, 3)]
    return [image, pa.repeat("xclick", rows), label, pa.repeat("1", rows), *sides, *flags, *clicks]


def _metadata_row(number: int, image_id: str) -> list[str]:
    photo = 1_000_000_000 + number
    title = f'A title, "number" {number}' if number % 7 == 0 else f"Ein Titel für {number}"
    return [
        image_id,
        "train",
        f"https://farm{number % 9}.staticflickr.com/{number % 9999}/{photo}_{image_id[:10]}_o.jpg",
        f"https://www.flickr.com/photos/someone/{photo}",
        "https://creativecommons.org/licenses/by/2.0/",
        "https://www.flickr.com/people/someone/",
        f"Someone {number % 1000}",
        title,
        str(100_000 + number),
        "KFukvivpCM5QXl5SqKe41g==",
        f"https://c1.staticflickr.com/{number % 9}/{number % 9999}/{photo}_{image_id[:10]}_z.jpg",
        ("0.0", "90.0", "180.0", "270.0", "")[number % 50 if number % 50 < 5 else 0],
    ]


def generate(folder: Path, rows: int, *, order: str = "image") -> int:
    """Writes files of the publisher's form.

    Args:
        folder: Where to.
        rows: About how many boxes.
        order: image (as the publisher's files), or shuffled within pieces of the file that hold all ids.

    Returns:
        How many boxes there are.
    """
    import pyarrow as pa

    mids = _write_classes(folder)
    dice = np.random.default_rng(SEED)
    count = max(1, round(rows / BOXES_AN_IMAGE))
    numbers = np.unique(dice.integers(0, 2**63, count).astype(np.uint64) * np.uint64(2) + np.uint64(1))
    numbers = numbers if order == "image" else dice.permutation(numbers)
    written = 0
    with (
        (folder / FILES["annotations"]).open("wb") as boxes,
        (folder / FILES["image_metadata"]).open("w", encoding="utf-8", newline="") as metadata,
    ):
        boxes.write(",".join(BOX_COLUMNS).encode() + b"\n")
        table = csv.writer(metadata, lineterminator="\n")
        table.writerow(METADATA_COLUMNS)
        for start in range(0, len(numbers), BATCH_IMAGES):
            ids = [f"{number:016x}" for number in numbers[start : start + BATCH_IMAGES].tolist()]
            columns = _box_rows(dice, ids, mids)
            if order != "image":
                mixed = pa.array(dice.permutation(len(columns[0])))
                columns = [column.take(mixed) for column in columns]
            boxes.write(_lines(columns))
            table.writerows(_metadata_row(start + place, image_id) for place, image_id in enumerate(ids))
            written += len(columns[0])
    return written


def read_with_groundset(folder: Path) -> dict[str, int]:
    import pyarrow.compute as pc

    from groundset.sources import openimages

    paths = {name: folder / file for name, file in FILES.items()}
    read = openimages.read(source_name="bench", **paths)
    persons = pc.sum(pc.equal(read.objects["category"], "person")).as_py()
    return {
        "images": read.images.num_rows,
        "objects": read.objects.num_rows,
        "degenerate": sum(verdict.rule == "degenerate_box" for verdict in read.rejected),
        "persons": persons,
        "turned": pc.sum(pc.greater(read.images["rotation"], 0)).as_py(),
    }


def _below(node: dict[str, Any]) -> set[str]:
    return {node["LabelName"]}.union(*(_below(child) for child in node.get("Subcategory", [])))


def read_with_pandas(folder: Path) -> dict[str, int]:
    import pandas as pd

    use = ["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax", "IsGroupOf", "IsDepiction"]
    boxes = pd.read_csv(folder / FILES["annotations"], usecols=use, dtype={"ImageID": str})
    names = pd.read_csv(folder / FILES["class_descriptions"], header=None, names=["LabelName", "label"])
    tree = json.loads((folder / FILES["hierarchy"]).read_text(encoding="utf-8"))
    category = {
        mid: CATEGORIES[node["LabelName"]]
        for node in tree["Subcategory"]
        if node["LabelName"] in CATEGORIES
        for mid in _below(node)
    }
    boxes = boxes.drop_duplicates()
    boxes = boxes.merge(names, on="LabelName", how="left")
    boxes["category"] = boxes["LabelName"].map(category)
    sound = (boxes["XMax"] > boxes["XMin"]) & (boxes["YMax"] > boxes["YMin"])
    kept = boxes[sound].sort_values(["ImageID", "LabelName", "XMin", "YMin", "XMax", "YMax"])
    kept["object_id"] = "o" + (kept.groupby("ImageID").cumcount() + 1).astype(str)
    columns = [name for name in METADATA_COLUMNS if name not in METADATA_LEFT_OUT]
    metadata = pd.read_csv(folder / FILES["image_metadata"], usecols=columns, dtype={"ImageID": str})
    images = pd.DataFrame({"ImageID": boxes["ImageID"].unique()}).merge(metadata, on="ImageID", how="left")
    images["flickr_id"] = images["OriginalURL"].str.extract(r"/([0-9]+)_[0-9a-f]+", expand=False)
    images = images.sort_values("ImageID")
    return {
        "images": len(images),
        "objects": len(kept),
        "degenerate": int((~sound).sum()),
        "persons": int((kept["category"] == "person").sum()),
        "turned": int((images["Rotation"].fillna(0) > 0).sum()),
    }


def _measure(reader: str, folder: Path) -> dict[str, Any]:
    started = time.monotonic()
    found = {"pandas": read_with_pandas, "groundset": read_with_groundset}[reader](folder)
    seconds = time.monotonic() - started
    # Linux gives kilobytes
    return {"found": found, "seconds": seconds, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _in_process(reader: str, folder: Path) -> dict[str, Any]:
    source = Path(__file__).parents[1] / "build"
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, __file__, "--measure", reader, "--folder", str(folder)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def compare(folder: Path, rows: int, repeat: int) -> str:
    """Runs both readers in turns and returns the table."""
    runs: dict[str, list[dict[str, Any]]] = {reader: [] for reader in READERS}
    for _ in range(repeat):
        for reader in READERS:
            runs[reader].append(_in_process(reader, folder))
    found = [run["found"] for results in runs.values() for run in results]
    if any(other != found[0] for other in found):
        raise SystemExit(f"the readers do not agree: {found}")
    median = {
        reader: {key: statistics.median(run[key] for run in results) for key in ("seconds", "mib")}
        for reader, results in runs.items()
    }
    lines = [
        f"{rows:,} boxes, {found[0]['images']:,} images, {os.cpu_count()} cores, median of {repeat}",
        "reader     wall s  x pandas  peak MiB  x pandas",
    ]
    for reader, told in median.items():
        seconds, mib = (told[key] / median["pandas"][key] for key in ("seconds", "mib"))
        lines.append(f"{reader:<9}{told['seconds']:>8.2f}{seconds:>10.2f}{told['mib']:>10,.0f}{mib:>10.2f}")
    return "\n".join(lines)


def main() -> None:
    """Generates, compares and prints; or measures one reader for the process that compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--order", choices=("image", "shuffled"), default="image")
    parser.add_argument("--folder", type=Path, help="keep the generated files here, and use them if they are there")
    parser.add_argument("--measure", choices=READERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(_measure(options.measure, options.folder)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        marker = folder / "rows"
        if not marker.is_file():
            marker.write_text(str(generate(folder, options.rows, order=options.order)))
        print(compare(folder, int(marker.read_text()), options.repeat))


if __name__ == "__main__":
    main()
