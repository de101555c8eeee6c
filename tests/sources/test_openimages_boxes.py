# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Boxes to objects against a plain reading of the rules, and the columns' names against the boxes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.sources import openimages_boxes as boxes
from groundset.sources.openimages_ids import image_id
from groundset.sources.openimages_rows import Rows

NAMES = {"/m/a": "Cat", "/m/b": "Dog", "/m/c": "Chair"}
CATEGORIES = {"/m/a": "animal", "/m/b": "animal"}
DEPTHS = {"/m/a": 2, "/m/b": 1}

Row = tuple[int, str, tuple[float, float, float, float], tuple[int, int]]


def rows_of(rows: list[Row]) -> Rows:
    names = tuple(sorted({row[1] for row in rows}, reverse=True))
    return Rows(
        np.array([row[0] for row in rows], dtype=np.uint64),
        np.array([names.index(row[1]) for row in rows], dtype=np.int32),
        names,
        np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 4),
        np.array([row[3] for row in rows], dtype=np.int8).reshape(-1, 2),
        (),
        len(rows),
    )


def judged(pieces: list[list[Row]]) -> tuple[list[dict[str, Any]], list[tuple[str, str]], list[str]]:
    """Objects, rejected ids with rules, and images, by the module."""
    parts = [rows_of(rows) for rows in pieces]
    ids = boxes.class_ids(parts)
    dealt = boxes.buckets(parts, ids)
    assert parts == []
    classes = [NAMES.get(i) for i in ids], [CATEGORIES.get(i) for i in ids], [DEPTHS.get(i, 0) for i in ids]
    found = [boxes.judge(bucket, *classes) for bucket in dealt]
    said = [verdict for part in found for verdict in boxes.verdicts(part.rejected, ids, "classes.csv")]
    images = [image_id(key) for part in found for key in part.images.tolist()]
    return boxes.object_table(found).to_pylist(), [(verdict.record_id, verdict.rule) for verdict in said], images


def by_hand(rows: list[Row]) -> tuple[list[dict[str, Any]], list[tuple[str, str]], list[str]]:
    objects, out = [], []
    for key in sorted({row[0] for row in rows}):
        counts = Counter(row for row in rows if row[0] == key)
        for number, row in enumerate(sorted(counts), 1):
            _, label, (x_min, y_min, x_max, y_max), (group, depiction) = row
            name = f"{image_id(key)}/o{number}"
            out += [(name, "duplicate_row")] * (counts[row] - 1)
            if x_max <= x_min or y_max <= y_min:
                out.append((name, "degenerate_box"))
            elif label not in NAMES:
                out.append((name, "unknown_class"))
            elif min(x_min, y_min) < -1e-6 or max(x_max, y_max) > 1 + 1e-6:
                out.append((name, "box_outside_image"))
            else:
                objects.append(
                    {
                        "object_id": f"o{number}",
                        "image_id": image_id(key),
                        "label": NAMES[label],
                        "category": CATEGORIES.get(label),
                        "specificity": DEPTHS.get(label, 0),
                        "bbox_xyxy": [x_min, y_min, x_max, y_max],
                        "frame_width": 1.0,
                        "frame_height": 1.0,
                        "is_group": group,
                        "is_depiction": depiction,
                        "mask_area": None,
                    }
                )
    objects.sort(key=lambda row: (row["image_id"], row["object_id"]))
    return objects, out, [image_id(key) for key in sorted({row[0] for row in rows})]


coordinate = st.sampled_from([-0.1, 0.0, 0.25, 0.5, 1.0, 1.0000005, 1.5])
flag = st.sampled_from([-1, 0, 1])
row = st.tuples(
    st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    st.sampled_from(["/m/a", "/m/b", "/m/c", "/m/zz", ""]),
    st.tuples(coordinate, coordinate, coordinate, coordinate),
    st.tuples(flag, flag),
)


@given(pieces=st.lists(st.lists(row, max_size=10), max_size=5))
@settings(max_examples=40, deadline=None)
def test_objects_are_those_of_a_plain_reading(pieces: list[list[Row]]) -> None:
    objects, out, images = judged(pieces)
    expected = by_hand([row for piece in pieces for row in piece])
    assert objects == expected[0]
    assert sorted(out) == sorted(expected[1])
    assert images == expected[2]


@given(rows=st.lists(row, min_size=1, max_size=30), data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_file_in_image_order_gives_the_same_however_it_is_cut(rows: list[Row], data: st.DataObject) -> None:
    rows.sort(key=lambda row: row[0])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    pieces = [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    assert judged(pieces) == judged([rows])


def test_hundreds_of_boxes_of_one_image_are_numbered_by_class_and_box() -> None:
    rows: list[Row] = [(7, "/m/b", (0.0, 0.001 * (200 - n), 0.5, 0.9), (0, 0)) for n in range(200)]
    objects, _, _ = judged([rows[:90], rows[90:]])
    number = {round(found["bbox_xyxy"][1], 3): found["object_id"] for found in objects}
    assert number == {round(0.001 * n, 3): f"o{n}" for n in range(1, 201)}


def test_rows_that_differ_in_their_flags_alone_are_two_objects_in_the_order_of_the_flags() -> None:
    flags = [(0, 1), (1, 0), (0, 1), (-1, 1), (1, -1), (0, 0), (1, 0)]
    rows: list[Row] = [(7, "/m/a", (0.0, 0.0, 0.5, 0.5), flag) for flag in flags]
    for order in (rows, rows[::-1]):
        objects, out, _ = judged([order])
        assert [(row["is_group"], row["is_depiction"]) for row in objects] == sorted(set(flags))
        assert out == [(f"{image_id(7)}/o3", "duplicate_row"), (f"{image_id(7)}/o5", "duplicate_row")]


def columns(dice: np.random.Generator, count: int) -> Any:
    low = dice.uniform(0, 0.7, (count, 2))
    high = low + dice.uniform(0.01, 0.3, (count, 2))
    return low[:, 0], low[:, 1], high[:, 0], high[:, 1]


def written_as(x_min: Any, x_max: Any, y_min: Any, y_max: Any) -> Rows:
    """Rows of a file whose columns XMin, XMax, YMin, YMax hold these."""
    count = len(x_min)
    return Rows(
        np.arange(count, dtype=np.uint64),
        np.zeros(count, dtype=np.int32),
        ("/m/a",),
        np.stack([x_min, y_min, x_max, y_max], axis=1),
        np.zeros((count, 2), dtype=np.int8),
        (),
        count,
    )


@pytest.mark.parametrize("count", [20, 500])
def test_other_conventions_are_refused_with_both_shares(count: int) -> None:
    x_min, y_min, x_max, y_max = columns(np.random.default_rng(count), count)
    wrong = {
        "x_min, y_min, x_max, y_max": written_as(x_min, y_min, x_max, y_max),
        "x_max, x_min, y_max, y_min": written_as(x_max, x_min, y_max, y_min),
        "x_min, y_min, width, height": written_as(x_min, y_min, x_max - x_min, y_max - y_min),
        "x_min, width, y_min, height": written_as(x_min, x_max - x_min, y_min, y_max - y_min),
    }
    for name, rows in wrong.items():
        with pytest.raises(DataError, match=rf"[0-9.]+% of {count} boxes .* read as .*{name}.*, 0\.0% do"):
            boxes.require_convention("boxes.csv", [rows], None)
    pixels = written_as(*(np.round(1024 * side) for side in (x_min, x_max, y_min, y_max)))
    with pytest.raises(DataError, match="as pixels do"):
        boxes.require_convention("boxes.csv", [pixels], None)
    boxes.require_convention("boxes.csv", [written_as(x_min, x_max, y_min, y_max)], None)


def test_faults_of_single_boxes_do_not_blame_the_convention() -> None:
    x_min, y_min, x_max, y_max = columns(np.random.default_rng(1), 20)
    x_max[:3] = x_min[:3] - 0.05
    y_max[3] = 1.5
    boxes.require_convention("boxes.csv", [written_as(x_min, x_max, y_min, y_max)], None)
    # sides of 0 never do, however many they are
    boxes.require_convention("boxes.csv", [written_as(x_min, x_min, y_min, y_max + 0.001)], None)
    boxes.require_convention("boxes.csv", [], None)
