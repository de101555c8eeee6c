# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 40_images on small photographs: what is bad gives way to the next, and nothing accepted moves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from groundset import photographs, schema
from groundset.files import sha256_if_there
from groundset.missing_photographs import NAME, note
from groundset.photographs import in_stored_px, rotation_fault, scaled_boxes
from groundset.schema_types import arrow_schema
from groundset.stage import Inputs, Output
from groundset.verdicts import Verdict, to_table
from groundset.withdrawals import Withdrawal, encode

Row = dict[str, Any]
RULES = {
    "max_pixels": 1000,
    "margin": 0,
    "reject_rotated": True,
    "reject_rotation_unknown": True,
    "near_duplicate_distance": 0,
}


def ranked(stratum: str, rank: int, want: int) -> Row:
    item = f"{stratum}{rank}"
    return {"item_id": f"coco-{item}-food", "image_id": f"coco-{item}", "stratum": stratum, "rank": rank, "want": want}


def draw_photograph(folder: Path, name: str, colour: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    # no two look alike
    Image.frombytes("RGB", (4, 3), hashlib.sha512(str(colour).encode()).digest()[:36]).save(path)
    return path


def image(image_id: str, **changes: Any) -> Row:
    return dict.fromkeys(arrow_schema("image").names) | {
        "image_id": image_id,
        "source": "coco",
        "source_name": "mine",
        "source_image_id": "1",
        "file_name": f"{image_id}.png",
        "frame_width": 4.0,
        "frame_height": 3.0,
        **changes,
    }


ADDRESS = "https://example.invalid/{file_name}"


def run(
    root: Path,
    rows: list[Row],
    *,
    images: Iterable[Row] = (),
    later: Iterable[str] = (),
    refill: Iterable[str] = ("image",),
    on_other_size: str = "",
    photograph_url: str = "none",
    **rules: Any,
) -> Output:
    known = {row["image_id"]: image(row["image_id"]) for row in rows} | {row["image_id"]: row for row in images}
    return photographs.run(
        Inputs(
            config={
                "sources": [
                    {"name": "mine", "images": "jpegs", "photograph_url": photograph_url}
                    | ({"on_other_size": on_other_size} if on_other_size else {})
                ],
                "images": {**RULES, **rules},
                "strata": {"refill": list(refill)},
            },
            tables={
                "10_import/images": pa.Table.from_pylist(list(known.values()), schema=arrow_schema("image")),
                "30_stratify/kept": pa.Table.from_pylist(rows, schema=arrow_schema("ranked")),
                "refill/rejected": to_table(Verdict(item, "item", "refilled") for item in later),
            },
            source_root=root,
            manifest_folder=root,
            work=root,
        ),
        kind="item",
    )


def kept(output: Output, *, reserve: bool = False) -> list[str]:
    rows = output.tables["kept"].to_pylist()
    return [row["item_id"].split("-")[1] for row in rows if row["reserve"] is reserve]


def rules(output: Output) -> dict[str, str]:
    return {verdict.record_id.split("-")[1]: verdict.rule for verdict in output.verdicts}


def check_account(output: Output) -> None:
    judged = [*output.tables["kept"]["item_id"].to_pylist(), *(verdict.record_id for verdict in output.verdicts)]
    assert sorted(judged) == output.entered["item"]
    assert all(verdict.hard and verdict.kind == "item" for verdict in output.verdicts)
    for name, held in (("kept", "selected"), ("photographs", "photograph")):
        assert schema.table_problems(held, output.tables[name], name) == []
    assert schema.table_problems("verdict", to_table(output.verdicts)) == []
    measured = output.tables["photographs"]["image_id"].to_pylist()
    assert measured == sorted(set(output.tables["kept"]["image_id"].to_pylist()))


def ten(root: Path, *bad: str, want: int = 2, strata: str = "A") -> list[Row]:
    rows = [ranked(stratum, rank, want) for stratum in strata for rank in range(5)]
    for number, row in enumerate(rows):
        path = draw_photograph(root / "jpegs", row["image_id"], number)
        if row["item_id"].split("-")[1] in bad:
            path.write_bytes(path.read_bytes()[:60])
    return rows


def test_sound_photographs_are_measured_and_only_those_that_are_needed(tmp_path: Path) -> None:
    output = run(tmp_path, ten(tmp_path), margin=1)
    assert (kept(output), kept(output, reserve=True)) == (["A0", "A1"], ["A2"])
    assert output.verdicts == ()
    check_account(output)
    (first, *_) = output.tables["photographs"].to_pylist()
    stored = (tmp_path / "jpegs" / "coco-A0.png").read_bytes()
    assert (first["path"], first["sha256"]) == ("coco-A0.png", hashlib.sha256(stored).hexdigest())
    assert (first["bytes"], first["width"], first["height"], first["format"]) == (len(stored), 4, 3, "PNG")
    assert set(output.read) == {"manifest:withdrawn.jsonl", *(f"source:jpegs/coco-A{rank}.png" for rank in range(3))}
    assert output.read["source:jpegs/coco-A0.png"] == first["sha256"]


def test_a_bad_photograph_gives_way_to_the_next(tmp_path: Path) -> None:
    output = run(tmp_path, ten(tmp_path, "A0", "A2"))
    assert (kept(output), rules(output)) == (["A1", "A3"], {"A0": "truncated", "A2": "truncated"})
    check_account(output)


def test_without_refill_the_place_stays_empty(tmp_path: Path) -> None:
    output = run(tmp_path, ten(tmp_path, "A0", "A2"), refill=("screening",))
    assert (kept(output), rules(output)) == (["A1"], {"A0": "truncated"})
    check_account(output)


def test_a_stratum_may_run_out(tmp_path: Path) -> None:
    output = run(tmp_path, ten(tmp_path, "A0", "A1", "A3", "A4"))
    assert (kept(output), len(output.verdicts)) == (["A2"], 4)
    check_account(output)


def withdraw(root: Path, name: str, **changes: Any) -> None:
    row = Withdrawal(name, "owner", "asked", None, None)
    (root / "withdrawn.jsonl").write_bytes(encode([replace(row, **changes)]))


def test_a_withdrawn_photograph_gives_way_unopened_or_leaves_its_place_empty(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    (tmp_path / "jpegs" / "coco-A0.png").unlink()
    withdraw(tmp_path, "coco-A0")
    for refill, stay in ((("image",), ["A1", "A2"]), (("screening",), ["A1"])):
        # an absent one that could be fetched is not waited for
        output = run(tmp_path, rows, refill=refill, photograph_url=ADDRESS)
        assert (kept(output), rules(output)) == (stay, {"A0": "withdrawn"})
        check_account(output)
        assert output.tables["withdrawn"].to_pylist() == [{"image_id": "coco-A0", "reason": "owner"}]
        assert "source:jpegs/coco-A0.png" not in output.read
        assert output.read["manifest:withdrawn.jsonl"] == sha256_if_there(tmp_path / "withdrawn.jsonl")


def test_the_same_photograph_under_another_id_goes_too(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    known = {row["image_id"]: row["pixels_sha256"] for row in run(tmp_path, rows).tables["photographs"].to_pylist()}
    withdraw(tmp_path, "coco-gone", pixels_sha256=known["coco-A0"], flickr_id="77")
    output = run(tmp_path, rows, images=[image("coco-A1", flickr_id="77")])
    assert kept(output) == ["A2", "A3"]
    told = {verdict.record_id: (verdict.rule, verdict.detail, verdict.hard) for verdict in output.verdicts}
    same = "withdrawn for the reason owner: it is the same photograph as coco-gone"
    assert told == {
        "coco-A0-food": ("withdrawn", same, True),
        "coco-A1-food": ("withdrawn", same, True),
        "coco-gone": ("unknown_withdrawal", "it is withdrawn, but no image of the sources has this id", False),
    }


def test_what_a_later_stage_rejected_is_still_shown_and_the_next_comes_in(tmp_path: Path) -> None:
    output = run(tmp_path, ten(tmp_path, "A2"), later=["coco-A0-food"], refill=("image", "review"))
    assert kept(output) == ["A0", "A1", "A3"]
    assert rules(output) == {"A2": "truncated"}
    check_account(output)


def test_a_photograph_that_is_not_there_is_noted_as_such(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    (tmp_path / "jpegs" / "coco-A0.png").unlink()
    outside = image("coco-A1", file_name="../secret.png")
    draw_photograph(tmp_path, "secret", 1)
    output = run(tmp_path, rows, images=[outside])
    assert rules(output) == {"A0": "missing_file", "A1": "path_outside_folder"}
    assert output.read["source:jpegs/coco-A0.png"] is None
    assert not any("secret" in name for name in output.read)
    check_account(output)


def awaited(output: Output) -> list[str]:
    assert (output.tables, output.verdicts, output.entered) == ({}, (), {})
    return [row["item_id"] for row in output.waiting]


def test_photographs_that_can_be_fetched_are_waited_for(tmp_path: Path) -> None:
    rows = ten(tmp_path, "A0")
    for rank in (1, 2, 3):
        (tmp_path / "jpegs" / f"coco-A{rank}.png").unlink()
    first = run(tmp_path, rows, photograph_url=ADDRESS)
    assert awaited(first) == ["coco-A1", "coco-A2"]
    assert first.waiting[0] == {"kind": "photograph", "item_id": "coco-A1", "path": "jpegs/coco-A1.png"}
    assert awaited(run(tmp_path, rows, photograph_url=ADDRESS, later=["coco-A1-food"])) == [
        "coco-A1",
        "coco-A2",
        "coco-A3",
    ]
    note(tmp_path, {"jpegs/coco-A1.png": "answers 404 (Not Found)"}, set())
    draw_photograph(tmp_path / "jpegs", "coco-A2", 2)
    assert awaited(run(tmp_path, rows, photograph_url=ADDRESS)) == ["coco-A3"]
    draw_photograph(tmp_path / "jpegs", "coco-A3", 3)
    last = run(tmp_path, rows, photograph_url=ADDRESS)
    assert (kept(last), rules(last)) == (["A2", "A3"], {"A0": "truncated", "A1": "missing_file"})
    # the build is done again when it is known of more that they are missing
    assert last.read[f"source:{NAME}"] == hashlib.sha256((tmp_path / NAME).read_bytes()).hexdigest()
    check_account(last)


def test_what_stands_in_a_photographs_place_is_not_waited_for(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    for rank in (0, 1, 2):
        (tmp_path / "jpegs" / f"coco-A{rank}.png").unlink()
    (tmp_path / "jpegs" / "coco-A0.png").mkdir()
    (tmp_path / "jpegs" / "coco-A1.png").symlink_to("coco-A1.png")
    (tmp_path / "jpegs" / "coco-A2.png").symlink_to("none.png")
    output = run(tmp_path, rows, photograph_url=ADDRESS)
    assert rules(output) == {"A0": "missing_file", "A1": "path_outside_folder", "A2": "missing_file"}
    check_account(output)


def test_a_rotated_photograph_need_not_be_there(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    (tmp_path / "jpegs" / "coco-A0.png").unlink()
    turned = image("coco-A0", source="openimages", rotation=90)
    assert rules(run(tmp_path, rows, images=[turned], photograph_url=ADDRESS)) == {"A0": "rotated"}


def test_photographs_that_look_alike_are_flagged_and_stay(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    wide = Image.effect_mandelbrot((40, 30), (-2, -1.5, 1, 1.5), 60).convert("RGB")
    for name, size in (("coco-A0", (40, 30)), ("coco-A1", (44, 33)), ("coco-A4", (48, 36))):
        wide.resize(size).save(tmp_path / "jpegs" / f"{name}.png")
    frames = [
        image(f"coco-A{rank}", frame_width=size[0], frame_height=size[1])
        for rank, size in ((0, (40.0, 30.0)), (1, (44.0, 33.0)), (4, (48.0, 36.0)))
    ]
    rules_here = {"near_duplicate_distance": 10, "max_pixels": 2000}
    output = run(tmp_path, rows, images=frames, **rules_here)
    assert kept(output) == ["A0", "A1"]
    flags = [(row.record_id, row.kind, row.rule, row.hard) for row in output.verdicts]
    assert flags == [(name, "image", "near_duplicate", False) for name in ("coco-A0", "coco-A1")]
    assert output.verdicts[0].detail.startswith("looks like coco-A1 (")
    # what is not kept is compared with nothing, whatever came in on the way
    after = run(tmp_path, rows, images=frames, later=["coco-A0-food", "coco-A1-food"], margin=1, **rules_here)
    assert {row.record_id for row in after.verdicts} == {"coco-A0", "coco-A1", "coco-A4"}
    shuffled = run(tmp_path, rows[::-1], images=frames[::-1], **rules_here)
    assert shuffled.verdicts == output.verdicts


def test_of_equal_photographs_the_one_that_ranks_first_stays(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    for name in ("coco-A1", "coco-A3"):
        (tmp_path / "jpegs" / f"{name}.png").write_bytes((tmp_path / "jpegs" / "coco-A0.png").read_bytes())
    output = run(tmp_path, rows, margin=2)
    assert (kept(output), kept(output, reserve=True)) == (["A0", "A2"], ["A4"])
    assert rules(output) == {"A1": "equal_pixels", "A3": "equal_pixels"}
    assert {verdict.detail for verdict in output.verdicts} == {"shows the same pixels as coco-A0"}
    check_account(output)


def test_a_photograph_that_comes_in_later_does_not_push_out_its_equal(tmp_path: Path) -> None:
    rows = ten(tmp_path, "B0", want=1, strata="AB")
    (tmp_path / "jpegs" / "coco-A1.png").write_bytes((tmp_path / "jpegs" / "coco-B1.png").read_bytes())
    before = run(tmp_path, rows)
    assert kept(before) == ["A0", "B1"]
    after = run(tmp_path, rows, later=["coco-A0-food"])
    assert kept(after) == ["A0", "A2", "B1"]
    assert rules(after) == {"A1": "equal_pixels", "B0": "truncated"}
    check_account(after)


def test_two_records_of_one_image_are_no_equal_photographs(tmp_path: Path) -> None:
    rows = [{**ranked("A", rank, 2), "image_id": "coco-A0"} for rank in range(2)]
    draw_photograph(tmp_path / "jpegs", "coco-A0", 1)
    output = run(tmp_path, rows)
    assert kept(output) == ["A0", "A1"]
    assert output.tables["photographs"].num_rows == 1


@pytest.mark.parametrize(
    ("source", "rotation", "changes", "rule"),
    [
        ("openimages", 0, {}, None),
        ("openimages", 90, {}, "rotated"),
        ("openimages", 90, {"reject_rotated": False}, None),
        ("openimages", None, {}, "rotation_unknown"),
        ("openimages", None, {"reject_rotation_unknown": False}, None),
        ("coco", None, {}, None),
    ],
)
def test_what_the_source_says_of_the_orientation(
    source: str, rotation: int | None, changes: Row, rule: str | None
) -> None:
    found = rotation_fault(image("x-1", source=source, rotation=rotation), {**RULES, **changes})
    assert (found.rule if found else None) == rule


def test_a_rotated_photograph_is_rejected_unopened(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    output = run(tmp_path, rows, images=[image("coco-A0", source="openimages", rotation=270)])
    assert rules(output) == {"A0": "rotated"}
    assert output.verdicts[0].measured == 270.0
    check_account(output)


def test_a_unit_frame_says_nothing_of_the_size(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    fits = run(tmp_path, rows, images=[image("coco-A0", frame_width=1.0, frame_height=1.0)])
    assert kept(fits) == ["A0", "A1"]
    differs = run(tmp_path, rows, images=[image("coco-A0", frame_width=3.0, frame_height=4.0)])
    assert rules(differs) == {"A0": "size_mismatch"}


def test_another_size_is_refused_or_scaled_and_said_so(tmp_path: Path) -> None:
    rows = ten(tmp_path)
    double = image("coco-A0", frame_width=8.0, frame_height=6.0)
    other = image("coco-A1", frame_width=8.0, frame_height=12.0)
    for choice in ("", "reject"):
        refused = run(tmp_path, rows, images=[double, other], on_other_size=choice)
        assert rules(refused) == {"A0": "size_mismatch", "A1": "size_mismatch"}
    output = run(tmp_path, rows, images=[double, other], on_other_size="scale")
    assert kept(output) == ["A0", "A2"]
    flags = [verdict for verdict in output.verdicts if not verdict.hard]
    assert [(flag.record_id, flag.kind, flag.rule, flag.measured, flag.limit) for flag in flags] == [
        ("coco-A0", "image", "scaled_boxes", 0.5, 1.0)
    ]
    assert flags[0].detail == "boxes times 0.5 x 0.5: record 8 x 6, stored 4 x 3"
    assert [verdict.rule for verdict in output.verdicts if verdict.hard] == ["size_mismatch"]
    assert schema.table_problems("verdict", to_table(output.verdicts)) == []
    size = output.tables["photographs"].to_pylist()[0]
    assert (size["image_id"], size["width"], size["height"]) == ("coco-A0", 4, 3)


def test_nothing_is_said_of_the_same_size_or_of_a_unit_frame() -> None:
    assert scaled_boxes(image("x-1"), 4, 3) is None
    assert scaled_boxes(image("x-1", frame_width=1.0, frame_height=1.0), 4, 3) is None
    assert scaled_boxes(image("x-1"), 4, 4) is not None


def objects_and_photographs(
    boxes: list[list[float]], frame: tuple[float, float], stored: tuple[int, int]
) -> tuple[pa.Table, pa.Table]:
    rows = [
        {
            "object_id": f"b{number}",
            "image_id": "invig-a",
            "label": "Dog",
            "bbox_xyxy": box,
            "frame_width": frame[0],
            "frame_height": frame[1],
            "specificity": 0,
            "is_group": -1,
            "is_depiction": -1,
        }
        for number, box in enumerate(boxes)
    ]
    rows.append({**rows[0], "image_id": "invig-unread"} if rows else {})
    photograph = {"image_id": "invig-a", "width": stored[0], "height": stored[1]}
    return (
        pa.Table.from_pylist(rows if boxes else [], schema=arrow_schema("object")),
        pa.Table.from_pylist([photograph], schema=arrow_schema("photograph")),
    )


def boxes_of(table: pa.Table) -> list[list[float]]:
    found: list[list[float]] = table["bbox_xyxy"].to_pylist()
    return found


sides = st.integers(1, 4000)
share = st.floats(0, 1)


@settings(max_examples=50)
@given(
    shares=st.lists(st.tuples(share, share, share, share), max_size=4),
    frame=st.tuples(sides, sides),
    stored=st.tuples(sides, sides),
)
def test_boxes_scale_there_and_back_and_not_at_all_at_the_same_size(
    shares: list[tuple[float, float, float, float]], frame: tuple[int, int], stored: tuple[int, int]
) -> None:
    boxes = [[x * frame[0], y * frame[1], u * frame[0], v * frame[1]] for x, y, u, v in shares]
    objects, _ = objects_and_photographs(boxes, frame, stored)
    same = in_stored_px(*objects_and_photographs(boxes, frame, frame))
    assert boxes_of(same) == boxes
    there = in_stored_px(*objects_and_photographs(boxes, frame, stored))
    schema.require_table("object", there, "objects", "object_id")
    assert there.num_rows == len(boxes)
    assert there.drop_columns(["bbox_xyxy", "frame_width", "frame_height"]).equals(
        objects.slice(0, len(boxes)).drop_columns(["bbox_xyxy", "frame_width", "frame_height"])
    )
    for box, (x, y, u, v) in zip(boxes_of(there), shares, strict=True):
        expected = [x * stored[0], y * stored[1], u * stored[0], v * stored[1]]
        assert box == pytest.approx(expected, rel=1e-12, abs=1e-9)
    back = in_stored_px(*objects_and_photographs(boxes_of(there), stored, frame))
    for box, before in zip(boxes_of(back), boxes, strict=True):
        assert box == pytest.approx(before, rel=1e-12, abs=1e-9)


def test_the_pixel_that_a_box_may_leave_its_image_by_does_not_grow() -> None:
    boxes = [[-1.0, 0.0, 64.0, 49.0], [-0.5, -0.25, 10.0, 10.0]]
    large = in_stored_px(*objects_and_photographs(boxes, (64, 48), (256, 192)))
    assert boxes_of(large) == [[-1.0, 0.0, 256.0, 193.0], [-1.0, -1.0, 40.0, 40.0]]
    assert boxes_of(in_stored_px(*objects_and_photographs(boxes, (64, 48), (64, 48)))) == boxes


COLOURS = st.lists(st.sampled_from([None, 1, 2, 3, 4, 5, 6, 7, 8, 9]), min_size=10, max_size=10)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(colours=COLOURS, want=st.integers(1, 3), margin=st.integers(0, 2), data=st.data())
def test_an_accepted_photograph_never_moves_out(
    tmp_path: Path, colours: list[int | None], want: int, margin: int, data: st.DataObject
) -> None:
    rows = [ranked(stratum, rank, want) for stratum in "AB" for rank in range(5)]
    for row, colour in zip(rows, colours, strict=True):
        path = draw_photograph(tmp_path / "jpegs", row["image_id"], colour or 0)
        if colour is None:
            path.write_bytes(b"")
    before = run(tmp_path, rows, margin=margin)
    check_account(before)
    assert len(set(before.tables["photographs"]["pixels_sha256"].to_pylist())) == len(before.tables["photographs"])
    refused = data.draw(st.sets(st.sampled_from(kept(before)))) if kept(before) else set()
    after = run(tmp_path, rows, margin=margin, later=[f"coco-{name}-food" for name in refused])
    check_account(after)
    assert set(kept(before)) <= set(kept(after))
    assert rules(before).items() <= rules(after).items()
    shuffled = run(tmp_path, data.draw(st.permutations(rows)), margin=margin)
    assert shuffled.tables == before.tables
    assert set(shuffled.verdicts) == set(before.verdicts)
