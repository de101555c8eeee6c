# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog's eligibility against a judge written out in scalar code, and each rule at its bound."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.fpco.filter import CATEGORIES, FilterRules, Group, apply, groups, judge
from groundset.sampling import hash_rank_key
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict, to_table

RULES = FilterRules(
    single_min_area_share=0.05,
    single_max_area_share=0.85,
    min_objects=2,
    max_objects=5,
    max_area_ratio=20.0,
    separated_max_overlap=0.02,
    overlapping_min_overlap=0.2,
    merge_iou=0.9,
    target_min_area_share=0.01,
)
FRAME = (100.0, 100.0)
Box = tuple[float, float, float, float]
Row = dict[str, Any]
quick = settings(max_examples=100)


def group(
    *boxes: Box,
    frame: tuple[float, float] = FRAME,
    crowd: bool = False,
    drawn: bool = False,
    depths: tuple[int, ...] = (),
) -> Group:
    ids = tuple(f"a{number}" for number in range(len(boxes)))
    depths = depths or (0,) * len(boxes)
    labels = tuple(f"dog {number}" for number in range(len(boxes)))
    return Group("coco-1", "animal", ids, labels, depths, np.array(boxes, dtype=np.float64), frame, crowd, drawn)


def rule_of(found: Row | Verdict) -> str:
    return found.rule if isinstance(found, Verdict) else str(found["complexity"])


def box_area(box: Box) -> float:
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)


def shared(one: Box, other: Box) -> float:
    corners = (max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3]))
    return box_area(corners)


def iou(one: Box, other: Box) -> float:
    union = box_area(one) + box_area(other) - shared(one, other)
    return shared(one, other) / union if union > 0 else 0.0


def over_smaller(one: Box, other: Box) -> float:
    smaller = min(box_area(one), box_area(other))
    return shared(one, other) / smaller if smaller > 0 else 0.0


def by_the_book(given_group: Group, rules: FilterRules, seed: str) -> tuple[str, list[str], str | None]:
    """Complexity or rule, the objects that count and the target, in the words of the design."""
    boxes: list[Box] = [tuple(box) for box in given_group.boxes.tolist()]  # type: ignore[misc]
    if given_group.holds_group:
        return "group_box", [], None
    if given_group.holds_depiction:
        return "depiction", [], None
    left = set(range(len(boxes)))
    unique = []
    while left:
        component = {min(left)}
        while more := {b for a in component for b in left - component if iou(boxes[a], boxes[b]) >= rules.merge_iou}:
            component |= more
        unique.append(min(component, key=lambda index: (-given_group.specificities[index], index)))
        left -= component
    unique.sort()
    areas = [box_area(boxes[index]) for index in unique]
    shares = [area / (given_group.frame[0] * given_group.frame[1]) for area in areas]
    names = [given_group.object_ids[index] for index in unique]
    if len(unique) == 1:
        if shares[0] < rules.single_min_area_share or shares[0] == 0:
            return "single_too_small", names, None
        if shares[0] > rules.single_max_area_share:
            return "single_too_large", names, None
        word = "single"
    else:
        if len(unique) < rules.min_objects:
            return "too_few_objects", names, None
        if len(unique) > rules.max_objects:
            return "too_many_objects", names, None
        if min(areas) == 0 or max(areas) / min(areas) > rules.max_area_ratio:
            return "area_ratio", names, None
        most = max(over_smaller(boxes[a], boxes[b]) for a, b in itertools.combinations(unique, 2))
        if rules.separated_max_overlap < most < rules.overlapping_min_overlap:
            return "overlap_unclear", names, None
        word = "separated" if most <= rules.separated_max_overlap else "overlapping"
    large = [name for name, share in zip(names, shares, strict=True) if share >= rules.target_min_area_share]
    if not large:
        return "target_too_small", names, None
    return word, names, min(large, key=lambda name: hash_rank_key(seed, given_group.item_id, name))


side = st.sampled_from([0.0, 2.0, 10.0, 19.5, 20.0, 21.0, 30.0, 40.0, 60.0, 100.0])
corner = st.sampled_from([0.0, 0.5, 18.0, 20.0, 40.0, 50.0, 70.0])
box = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), corner, corner, side, side)
strict = st.builds(
    FilterRules,
    single_min_area_share=st.sampled_from([0.0, 0.04, 0.05]),
    single_max_area_share=st.sampled_from([0.16, 0.85, 1.0]),
    min_objects=st.integers(2, 3),
    max_objects=st.integers(3, 6),
    max_area_ratio=st.sampled_from([1.0, 4.0, 20.0]),
    separated_max_overlap=st.sampled_from([0.0, 0.02, 0.1]),
    overlapping_min_overlap=st.sampled_from([0.1, 0.2, 0.5]),
    merge_iou=st.sampled_from([0.5, 0.9, 1.0]),
    target_min_area_share=st.sampled_from([0.0, 0.01, 0.04, 0.2]),
)


@quick
@given(
    st.lists(st.tuples(box, st.integers(0, 2)), min_size=1, max_size=7),
    strict,
    st.sampled_from(["s", "t"]),
    st.integers(0, 9),
)
def test_every_group_is_judged_by_the_book(
    marked: list[tuple[Box, int]], rules: FilterRules, seed: str, odd: int
) -> None:
    boxes, depths = zip(*marked, strict=True)
    given_group = group(*boxes, crowd=odd == 0, drawn=odd == 1, depths=depths)
    found = judge(given_group, rules, seed)
    word, names, target = by_the_book(given_group, rules, seed)
    assert rule_of(found) == word
    if isinstance(found, Verdict):
        assert (found.record_id, found.kind, found.hard) == ("coco-1-animal", "item", True)
        assert schema.table_problems("verdict", to_table([found])) == []
        return
    assert found["object_ids"] == names
    assert found["target_object_id"] == target
    index = given_group.object_ids.index(str(target))
    assert found["target_label"] == given_group.labels[index]
    assert found["target_bbox_xyxy"] == given_group.boxes[index].tolist()
    assert (found["objects_raw"], found["objects_unique"]) == (len(boxes), len(names))
    table = pa.Table.from_pylist([found], schema=arrow_schema("fpco_item"))
    assert schema.table_problems("fpco_item", table) == []


A, B = (0.0, 0.0, 10.0, 10.0), (50.0, 50.0, 60.0, 60.0)


def beyond(limit: float, toward: float) -> float:
    """A limit that is missed by a millionth: more than rounding, less than anything that can be seen."""
    return limit * (1 + 1e-6 if toward > limit else 1 - 1e-6)


@pytest.mark.parametrize(
    ("boxes", "rules", "word"),
    [
        ([(0, 0, 10, 50)], RULES, "single"),
        ([(0, 0, 10, 50)], replace(RULES, single_min_area_share=beyond(0.05, 1)), "single_too_small"),
        ([(0, 0, 85, 100)], RULES, "single"),
        ([(0, 0, 85, 100)], replace(RULES, single_max_area_share=beyond(0.85, 0)), "single_too_large"),
        ([(0, 0, 100, 100)], replace(RULES, single_max_area_share=1.0), "single"),
        ([A, B], RULES, "separated"),
        ([A, B], replace(RULES, min_objects=3), "too_few_objects"),
        ([(20 * n, 0, 20 * n + 10, 10) for n in range(5)], RULES, "separated"),
        ([(20 * n, 0, 20 * n + 10, 10) for n in range(5)], replace(RULES, max_objects=4), "too_many_objects"),
        ([(0, 0, 10, 10), (20, 0, 60, 50)], RULES, "separated"),
        ([(0, 0, 10, 10), (20, 0, 60, 50)], replace(RULES, max_area_ratio=beyond(20.0, 0)), "area_ratio"),
        # 2 or 20 of the smaller box's 100 are shared
        ([A, (9, 8, 30, 30)], RULES, "separated"),
        ([A, (9, 8, 30, 30)], replace(RULES, separated_max_overlap=beyond(0.02, 0)), "overlap_unclear"),
        ([A, (9, 7, 30, 30)], RULES, "overlap_unclear"),
        ([A, (8, 0, 30, 10)], RULES, "overlapping"),
        ([A, (8, 0, 30, 10)], replace(RULES, overlapping_min_overlap=beyond(0.2, 1)), "overlap_unclear"),
        ([A, (0, 0, 10, 9)], replace(RULES, single_min_area_share=0.0), "single"),
        ([A, (0, 0, 10, 9)], replace(RULES, merge_iou=beyond(0.9, 1)), "overlapping"),
        ([A, B], replace(RULES, target_min_area_share=beyond(0.01, 1)), "target_too_small"),
    ],
)
def test_every_bound_is_inclusive(boxes: list[Box], rules: FilterRules, word: str) -> None:
    assert rule_of(judge(group(*boxes), rules, "s")) == word
    assert by_the_book(group(*boxes), rules, "s")[0] == word


def test_a_verdict_says_what_was_measured_and_against_which_limit() -> None:
    found = judge(group((0, 0, 10, 10), (20, 0, 60, 60)), RULES, "s")
    assert found == Verdict(
        "coco-1-animal", "item", "area_ratio", "2 animal objects after merging, 2 before: area_ratio 24", 24.0, 20.0
    )


def test_an_overlap_between_the_limits_is_told_with_both() -> None:
    found = judge(group(A, (9.0, 7.0, 30.0, 30.0)), RULES, "s")
    assert isinstance(found, Verdict)
    assert (found.rule, found.measured, found.limit) == ("overlap_unclear", 0.03, 0.2)
    assert found.detail.endswith("overlap_unclear 0.03, above 0.02 and below 0.2")


def test_a_frame_scales_nothing() -> None:
    unit = group((0.0, 0.0, 0.5, 0.25), (0.5, 0.5, 0.75, 1.0), frame=(1.0, 1.0))
    pixels = group((0.0, 0.0, 320.0, 120.0), (320.0, 240.0, 480.0, 480.0), frame=(640.0, 480.0))
    one, other = judge(unit, RULES, "s"), judge(pixels, RULES, "s")
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    for key in ("complexity", "target_object_id", "area_ratio", "overlap", "target_area_share"):
        assert one[key] == other[key]


@pytest.mark.parametrize("flat", [(5, 5, 5, 9), (5, 5, 9, 5), (9, 9, 5, 5)])
def test_a_box_without_area_divides_nothing(flat: Box) -> None:
    loose = replace(RULES, single_min_area_share=0.0, target_min_area_share=0.0)
    with np.errstate(all="raise"):
        alone = judge(group(flat), loose, "s")
        pair = judge(group(A, flat), loose, "s")
        doubled = judge(group(flat, flat), loose, "s")
    assert rule_of(alone) == "single_too_small"
    assert rule_of(pair) == rule_of(doubled) == "area_ratio"
    for found in (alone, pair, doubled):
        assert isinstance(found, Verdict)
        assert schema.table_problems("verdict", to_table([found])) == []


def test_one_object_boxed_twice_is_one_and_the_first_box_stands_for_it() -> None:
    found = judge(group((0, 0, 50, 50), (0, 0, 50, 50.4), (0, 0, 50.4, 50)), RULES, "s")
    assert isinstance(found, dict)
    assert (found["complexity"], found["object_ids"], found["target_object_id"]) == ("single", ["a0"], "a0")
    assert (found["objects_raw"], found["objects_unique"]) == (3, 1)
    assert (found["area_ratio"], found["overlap"]) == (1.0, 0.0)


# the second lies on both others, which do not lie on each other
CHAIN = ((0.0, 0.0, 50.0, 50.0), (0.0, 0.0, 53.0, 50.0), (0.0, 0.0, 56.0, 50.0))


@pytest.mark.parametrize(
    ("depths", "stands"),
    [((0, 0, 0), 0), ((0, 1, 0), 1), ((0, 0, 1), 2), ((2, 1, 2), 0), ((0, 1, 2), 2), ((1, 3, 2), 1), ((0, 1, 1), 1)],
)
def test_the_most_specific_of_one_objects_labels_stands_for_it(depths: tuple[int, ...], stands: int) -> None:
    assert iou(CHAIN[0], CHAIN[2]) < RULES.merge_iou < min(iou(CHAIN[0], CHAIN[1]), iou(CHAIN[1], CHAIN[2]))
    apart = (70.0, 70.0, 80.0, 80.0)
    found = judge(group(*CHAIN, apart, depths=(*depths, 9)), replace(RULES, max_area_ratio=100.0), "s")
    assert isinstance(found, dict)
    assert found["object_ids"] == [f"a{stands}", "a3"]
    alone = judge(group(*CHAIN, depths=depths), RULES, "s")
    assert isinstance(alone, dict)
    assert (alone["target_object_id"], alone["target_label"]) == (f"a{stands}", f"dog {stands}")
    assert alone["target_bbox_xyxy"] == list(CHAIN[stands])


def test_a_group_box_rejects_whatever_it_merges_with() -> None:
    found = judge(group(*CHAIN, crowd=True, depths=(0, 1, 2)), RULES, "s")
    assert rule_of(found) == "group_box"


@pytest.mark.parametrize(
    ("labels", "depths", "told"),
    [
        (("Person", "Man"), (0, 1), None),
        (("Man", "Man"), (1, 1), None),
        (("Woman", "Man"), (1, 1), "a0 (Woman) and a1 (Man) are one thing by their boxes, taken as Woman"),
        (("Person", "Man", "Boy"), (0, 1, 1), "a1 (Man) and a2 (Boy) are one thing by their boxes, taken as Man"),
    ],
)
def test_labels_of_one_object_that_contradict_are_flagged(
    labels: tuple[str, ...], depths: tuple[int, ...], told: str | None
) -> None:
    members = zip(labels, depths, CHAIN, strict=False)
    rows = [
        an_object(0, number, label=label, specificity=depth, bbox_xyxy=list(one))
        for number, (label, depth, one) in enumerate(members)
    ]
    found = apply(images(1), objects(rows), RULES, "s")
    assert found.items.num_rows == 1
    said = [(entry.record_id, entry.rule, entry.detail, entry.hard) for entry in found.verdicts]
    assert said == ([("coco-0-animal", "labels_contradict", told, False)] if told else [])
    assert found.entered == ("coco-0-animal",)


def test_the_target_depends_on_seed_and_item_and_only_on_large_enough_objects() -> None:
    boxes = [(20.0 * n, 0.0, 20.0 * n + 10, 15.0) for n in range(4)] + [(0.0, 50.0, 9.0, 59.0)]
    found = {judge(group(*boxes), RULES, f"s{number}")["target_object_id"] for number in range(60)}  # type: ignore[index]
    assert found == {"a0", "a1", "a2", "a3"}


IMAGE = dict.fromkeys(arrow_schema("image").names) | {
    "source": "coco",
    "source_name": "s",
    "file_name": "1.jpg",
    "frame_width": 100.0,
    "frame_height": 100.0,
}


def images(count: int) -> pa.Table:
    rows = [{**IMAGE, "image_id": f"coco-{number}", "source_image_id": str(number)} for number in range(count)]
    return pa.Table.from_pylist(rows, schema=arrow_schema("image"))


def objects(rows: list[Row]) -> pa.Table:
    table = pa.Table.from_pylist(rows, schema=arrow_schema("object"))
    return table.sort_by([("image_id", "ascending")])


def an_object(image: int, number: int, **changes: Any) -> Row:
    return {
        "object_id": f"a{number}",
        "image_id": f"coco-{image}",
        "label": "dog",
        "category": "animal",
        "specificity": 0,
        "bbox_xyxy": [0.0, 0.0, 40.0, 40.0],
        "frame_width": 100.0,
        "frame_height": 100.0,
        "is_group": -1,
        "is_depiction": -1,
        "mask_area": None,
        **changes,
    }


seldom = st.sampled_from([0, 0, 0, -1, 1])
drawn_changes = st.fixed_dictionaries(
    {
        "label": st.sampled_from(["dog", "cup"]),
        "category": st.sampled_from(["animal", "animal", "food", None]),
        "specificity": st.integers(0, 2),
        "bbox_xyxy": box.map(list),
        "is_group": seldom,
        "is_depiction": seldom,
    }
)
object_rows = st.lists(st.lists(drawn_changes, max_size=6), max_size=4).map(
    lambda images: [an_object(i, n, **each) for i, members in enumerate(images) for n, each in enumerate(members)]
)


@quick
@given(object_rows, st.data())
def test_a_whole_table_is_judged_as_its_groups_one_by_one_in_any_order(rows: list[Row], data: st.DataObject) -> None:
    pictures = images(5)
    found = apply(pictures, objects(rows), RULES, "seed")
    single = [judge(one, RULES, "seed") for one in groups(objects(rows))]
    assert found.items.to_pylist() == sorted(
        (entry for entry in single if isinstance(entry, dict)), key=lambda row: str(row["item_id"])
    )
    rejected = [entry for entry in single if isinstance(entry, Verdict)]
    hard = [entry for entry in found.verdicts if entry.hard]
    shown = {row["image_id"] for row in rows if row["category"]}
    bare = {f"coco-{number}" for number in range(5)} - shown
    assert {entry.record_id for entry in hard if entry.rule == "no_object_of_a_category"} == bare
    assert [entry for entry in hard if entry.record_id not in bare] == sorted(
        rejected, key=lambda entry: entry.record_id
    )
    shuffled = apply(
        pictures.take(data.draw(st.permutations(range(5)))), objects(data.draw(st.permutations(rows))), RULES, "seed"
    )
    assert shuffled.items.equals(found.items)
    assert (shuffled.verdicts, shuffled.entered) == (found.verdicts, found.entered)


@quick
@given(object_rows)
def test_what_enters_is_kept_or_rejected_once(rows: list[Row]) -> None:
    found = apply(images(5), objects(rows), RULES, "seed")
    judged = [*found.items["item_id"].to_pylist(), *(entry.record_id for entry in found.verdicts if entry.hard)]
    assert sorted(judged) == list(found.entered)
    assert len(set(judged)) == len(judged)
    pairs = {(row["image_id"], row["category"]) for row in rows if row["category"]}
    assert len(judged) == len(pairs) + 5 - len({image for image, _ in pairs})
    assert schema.table_problems("fpco_item", found.items) == []
    assert schema.table_problems("verdict", to_table(found.verdicts)) == []


@quick
@given(object_rows)
def test_groups_hold_one_category_of_one_image_each(rows: list[Row]) -> None:
    found = groups(objects(rows))
    keys = [(one.image_id, one.category) for one in found]
    assert keys == sorted(set(keys))
    assert sum(len(one.object_ids) for one in found) == sum(row["category"] is not None for row in rows)
    for one in found:
        members = [row for row in rows if (row["image_id"], row["category"]) == (one.image_id, one.category)]
        members.sort(key=lambda row: row["object_id"])
        assert one.object_ids == tuple(row["object_id"] for row in members)
        assert one.labels == tuple(row["label"] for row in members)
        assert one.boxes.tolist() == [row["bbox_xyxy"] for row in members]
        assert one.holds_group == any(row["is_group"] == 1 for row in members)
        assert one.holds_depiction == any(row["is_depiction"] == 1 for row in members)


def test_an_image_of_every_category_gives_four_items() -> None:
    rows = [an_object(0, number, category=category) for number, category in enumerate(CATEGORIES)]
    found = apply(images(1), objects(rows), RULES, "s")
    assert found.items["item_id"].to_pylist() == [f"coco-0-{category}" for category in sorted(CATEGORIES)]
    assert found.verdicts == ()
