# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The life of a record: what it comes from, what comes from it, and which rule ended it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from groundset import stage as corridor
from groundset.errors import UsageError
from groundset.explaining import explain
from groundset.manifest import Manifest
from groundset.schema_types import arrow_schema
from groundset.stage import Output, Place, Records, Stage
from groundset.verdicts import Verdict

Row = dict[str, Any]


def table(schema: str, *rows: Row) -> pa.Table:
    fields = arrow_schema(schema)
    empty: Row = {"frame_width": 4.0, "frame_height": 3.0, "is_group": 0, "is_depiction": 0, "specificity": 0}
    blank = {name: empty.get(name, "x" if fields.field(name).type == pa.string() else None) for name in fields.names}
    return pa.Table.from_pylist([{**blank, **row} for row in rows], schema=fields)


def an_image(image_id: str) -> Row:
    return {"image_id": image_id, "source": "coco", "flickr_id": None, "rotation": None}


def an_item(image_id: str) -> Row:
    return {
        "item_id": f"{image_id}-food",
        "image_id": image_id,
        "category": "food",
        "complexity": "single",
        "target_bbox_xyxy": [0.0, 0.0, 1.0, 1.0],
        "object_ids": ["a1"],
        "object_labels": ["x"],
        "objects_raw": 1,
        "objects_unique": 1,
        "target_area_share": 0.5,
        "area_ratio": 1.0,
        "overlap": 0.0,
    }


def a_rank(image_id: str) -> Row:
    return {
        "item_id": f"{image_id}-food",
        "image_id": image_id,
        "stratum": "single-food-identity",
        "rank": 0,
        "want": 1,
    }


def a_draft(image_id: str) -> Row:
    return {"item_id": f"{image_id}-food", "image_id": image_id, "dialogue_id": f"{image_id}-food-identity"}


OBJECT = {"object_id": "a1", "category": "food", "bbox_xyxy": [0.0, 0.0, 1.0, 1.0]}
RATIO = Verdict("coco-2-food", "item", "area_ratio", "too unlike", 30.0, 20.0)
STALE = Verdict("d7", "decision", "stale_decision", "decide again", hard=False)
OUTPUTS = {
    "10_import": Output(
        tables={
            "images": table("image", an_image("coco-1"), an_image("coco-10"), an_image("coco-2")),
            "objects": table("object", {**OBJECT, "image_id": "coco-1"}, {**OBJECT, "image_id": "coco-10"}),
        },
        verdicts=(
            Verdict("coco-9", "image", "no_size"),
            Verdict("coco-1/a3", "object", "degenerate_box"),
            Verdict("coco-1/a1", "object", "box_and_area_disagree", hard=False),
        ),
        entered={"image": 4, "object": 3},
    ),
    "20_filter": Output(
        tables={"kept": table("fpco_item", an_item("coco-1"), an_item("coco-10"))},
        verdicts=(RATIO,),
        entered={"item": 3},
    ),
    "30_stratify": Output(
        tables={"kept": table("ranked", a_rank("coco-1"), a_rank("coco-10"))}, verdicts=(STALE,), entered={"item": 2}
    ),
}


def stage(name: str, writes: dict[str, str], accounts: dict[str, tuple[str, str]]) -> Stage:
    held = {key: Records(schema) for key, schema in writes.items()}
    return Stage(name, lambda inputs: OUTPUTS[name], (), (), held, accounts)


STAGES = (
    stage("10_import", {"images": "image", "objects": "object"}, {"image": ("images", ""), "object": ("objects", "")}),
    stage("20_filter", {"kept": "fpco_item"}, {"item": ("kept", "item_id")}),
    stage("30_stratify", {"kept": "ranked"}, {"item": ("kept", "item_id")}),
    stage("40_images", {"kept": "selected"}, {"item": ("kept", "item_id")}),
)
Life = Callable[[str], list[tuple[str, str, str]]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("build")
    manifest = Manifest(folder / "m.toml", {"name": "n", "version": "0.1.0"}, folder)
    records = {f"{each.name}/{name}": held for each in STAGES for name, held in each.writes.items()}
    records |= {f"{each.name}/{name}": Records("verdict") for each in STAGES for name in ("rejected", "flagged")}
    made = Place(manifest, folder / "work", folder, records)
    made.work.mkdir()
    for each in STAGES[:3]:
        corridor.run(made, each)
    return made


@pytest.fixture
def life(place: Place) -> Life:
    return lambda record_id: [
        (step.stage, step.record_id, f"{step.outcome} {step.record.get('rule', '')}".strip())
        for step in explain(place, STAGES, record_id)
    ]


def test_an_item_is_told_from_its_image_on_and_alone(life: Life) -> None:
    assert life("coco-1-food") == [
        ("10_import", "coco-1", "kept"),
        ("20_filter", "coco-1-food", "kept"),
        ("30_stratify", "coco-1-food", "kept"),
    ]


def test_an_image_is_told_with_what_comes_from_it_even_if_that_was_rejected_at_once(life: Life) -> None:
    assert life("coco-1") == life("coco-1-food")
    assert life("coco-2") == [("10_import", "coco-2", "kept"), ("20_filter", "coco-2-food", "rejected area_ratio")]
    assert life("coco-2-food") == life("coco-2")


def test_what_never_came_in_has_its_rule(life: Life) -> None:
    assert life("coco-9") == [("10_import", "coco-9", "rejected no_size")]
    assert life("d7") == [("30_stratify", "d7", "flagged stale_decision")]


def test_an_object_is_named_by_its_image_and_its_own_id(life: Life) -> None:
    assert life("coco-10/a1") == [("10_import", "coco-10/a1", "kept")]
    assert life("coco-1/a3") == [("10_import", "coco-1/a3", "rejected degenerate_box")]
    assert life("coco-1/a1") == [
        ("10_import", "coco-1/a1", "kept"),
        ("10_import", "coco-1/a1", "flagged box_and_area_disagree"),
    ]


def test_the_whole_verdict_and_the_whole_row_are_given(place: Place) -> None:
    *_, last = explain(place, STAGES, "coco-2-food")
    assert (last.table, last.record["measured"], last.record["limit"]) == ("rejected", 30.0, 20.0)
    *_, last = explain(place, STAGES, "coco-1-food")
    assert (last.table, last.record["stratum"]) == ("kept", "single-food-identity")


@pytest.mark.parametrize(
    "unknown", ["coco-3", "coco-1-fod", "coco-1/a9", "a1", "", "/", "coco-1/", "single-food-identity"]
)
def test_an_unknown_record_is_said_to_be_unknown(place: Place, unknown: str) -> None:
    with pytest.raises(UsageError, match=f"no stage that has been done knows {unknown}"):
        explain(place, STAGES, unknown)


def test_what_is_near_is_named(place: Place) -> None:
    with pytest.raises(UsageError, match="near are coco-1-food"):
        explain(place, STAGES, "coco-1-fod")


def test_before_any_stage_nothing_is_known(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path / "m.toml", {"name": "n", "version": "0.1.0"}, tmp_path)
    with pytest.raises(UsageError, match=r"no stage that has been done knows coco-1; nothing has been built there"):
        explain(Place(manifest, tmp_path / "work", tmp_path, {}), STAGES, "coco-1")
