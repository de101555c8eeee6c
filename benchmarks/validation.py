# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Records a second of the three validators, all in one run.

What a user would otherwise write is `jsonschema.Draft202012Validator(schema).iter_errors(record)` for every record: the
first line of each table, which the others are held against. It is slow enough to be measured on a sample of the same
records; all others see every record. Times are processor time, so that other work on the machine does not count; a
median of several runs is shown. Machines differ: read the ratios.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import jsonschema_rs
import pyarrow as pa

from groundset import schema
from groundset.schema_types import arrow_schema, load

Record = dict[str, Any]

OBJECTS = 200_000
DIALOGUES = 20_000
SAMPLE = 1_000
RUNS = 3


def share(number: int, purpose: str) -> float:
    """A number in [0, 1) that is the same in every run."""
    return int.from_bytes(hashlib.sha256(f"{purpose} {number}".encode()).digest()[:6], "big") / 2**48


def an_object(number: int) -> Record:
    """A record of `schemas/object`, as a COCO file gives it."""
    x, y = 500 * share(number, "x"), 350 * share(number, "y")
    width, height = 140 * share(number, "width"), 130 * share(number, "height")
    named = ("person", "person"), ("car", "vehicle"), ("dog", "animal"), ("pizza", "food"), ("chair", None)
    label, category = named[number % 5]
    return {
        "object_id": f"a{number}",
        "image_id": f"coco-{number // 7}",
        "label": label,
        "category": category,
        "specificity": 0,
        "bbox_xyxy": [x, y, x + width, y + height],
        "frame_width": 640.0,
        "frame_height": 480.0,
        "is_group": int(number % 90 == 0),
        "is_depiction": -1,
        "mask_area": 0.7 * width * height if number % 3 else None,
    }


def a_dialogue(number: int) -> Record:
    """A record of `schemas/fpco_dialogue` without its photograph: ten nested questions, about 2 kB as JSON."""
    true, false = f"the brown dog on the left of bench {number}", f"the brown cat on the left of bench {number}"
    ask = "Looking at {} once more, which of the things around it could it reach without any help?"
    return {
        "dialogue_id": f"coco-{number}-animal-identity",
        "image_id": f"coco-{number}",
        "complexity": "single",
        "complexity_code": 1,
        "category": "animal",
        "category_code": 3,
        "false_class": "identity",
        "stratum": "single-animal-identity",
        "target_object_id": f"a{number}",
        "target_label": "dog",
        "target_bbox_xyxy_px": [10.5, 20.0, 200.25, 310.0],
        "target_description": true,
        "modified_target_description": false,
        "questions": [
            {
                "id": turn,
                "content": ask.format(true),
                "modified": ask.format(false if turn > 3 else true),
                "false_premise": turn > 3,
            }
            for turn in range(1, 11)
        ],
        "writer": "template",
        "licence": "CC-BY-2.0",
        "credit": f"Photograph {number} by its photographer, CC BY 2.0",
    }


def seconds(work: Callable[[], int]) -> float:
    """Median processor time of a check that must find no fault."""
    taken = []
    for _ in range(RUNS):
        start = time.process_time()
        faults = work()
        taken.append(time.process_time() - start)
        if faults:
            raise SystemExit(f"the generated records have {faults} faults")
    return statistics.median(taken)


def compare(name: str, records: Sequence[Record], without: tuple[str, ...] = ()) -> None:
    """Prints one table.

    Args:
        name: Name of the schema.
        records: Sound records, with None for the fields left out.
        without: Fields that the Arrow table leaves out.
    """
    plain = jsonschema.Draft202012Validator(load(name))
    rust = jsonschema_rs.Draft202012Validator(load(name))
    sample = records[:: max(1, len(records) // SAMPLE)][:SAMPLE]
    table = pa.Table.from_pylist(list(records), schema=arrow_schema(name, without))
    rows = [
        (
            f"jsonschema, iter_errors a record (sample of {len(sample):,})",
            len(sample) / seconds(lambda: sum(1 for record in sample for _ in plain.iter_errors(record))),
        ),
        (
            "jsonschema-rs, iter_errors a record",
            len(records) / seconds(lambda: sum(1 for record in records for _ in rust.iter_errors(record))),
        ),
        (
            "groundset.schema.errors a record: the same, and no NaN passes",
            len(records) / seconds(lambda: sum(len(schema.errors(name, record)) for record in records)),
        ),
        (
            "groundset.schema.table_problems: compiled Arrow checks",
            len(records) / seconds(lambda: len(schema.table_problems(name, table, without=without))),
        ),
    ]
    print(f"\n{len(records):,} records of schemas/{name}: records a second of processor time, median of {RUNS}")
    for told, speed in rows:
        print(f"  {told:<62} {speed:>12,.0f}   {speed / rows[0][1]:>8,.1f} x jsonschema")


if __name__ == "__main__":
    compare("object", [an_object(number) for number in range(OBJECTS)])
    compare("fpco_dialogue", [{**a_dialogue(number), "image": None} for number in range(DIALOGUES)], ("image",))
