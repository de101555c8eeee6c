# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.verdicts import Verdict
from groundset.views.reading import read_release
from groundset.views.turns import (
    ADDED,
    FALSE_PREMISE,
    NOT_IN_QUESTION,
    ONE_LEFT,
    PLAUSIBLE,
    RULED_OUT,
    RULED_OUT_BEFORE,
    TRUE_PREMISE,
    Flags,
    entries,
    states,
)

NAMES = "abcde"
SETS = st.lists(st.sets(st.sampled_from(NAMES), min_size=1), min_size=1, max_size=4)


@given(SETS)
def test_a_state_tells_where_an_object_has_been(sets: list[set[str]]) -> None:
    now, earlier = sets[-1], sets[:-1]
    for name, state in states(sets, NAMES).items():
        assert (name in now) == (state in (ONE_LEFT, PLAUSIBLE, ADDED))
        if state == ONE_LEFT:
            assert now == {name}
        if state == ADDED:
            assert earlier
            assert name not in earlier[-1]
        if state == RULED_OUT:
            assert name in earlier[-1]
        if state == RULED_OUT_BEFORE:
            assert name not in earlier[-1]
            assert any(name in before for before in earlier)
        if state == NOT_IN_QUESTION:
            assert not any(name in before for before in earlier)


def test_candvg_shows_every_sample_with_its_candidates_and_points(work: Callable[[str], Path]) -> None:
    rows = read_release(work("candvg") / "80_package" / "release")
    files = {row["image_id"]: Path("/photographs") / row["image_id"] for row in rows.tables["images"]}
    found = entries(rows, files, Flags())
    samples = {row["sample_id"]: row for row in rows.tables["samples"]}
    by_stratum = sorted(samples.values(), key=lambda row: (row["stratum"], row["dialogue_id"], row["turn"]))
    assert [entry.facts["record_id"] for entry in found] == [row["sample_id"] for row in by_stratum]
    assert sum(len(entry.dots) for entry in found) == len(rows.tables["points"])
    for entry in found:
        sample = samples[entry.facts["record_id"]]
        x_min, y_min, x_max, y_max = sample["candidates"][0]["bbox_xyxy_px"]
        box = {box.object_id: box for box in entry.boxes["candidates"]}[sample["candidates"][0]["object_id"]]
        assert box.xywh == pytest.approx(
            (
                x_min / entry.width,
                y_min / entry.height,
                (x_max - x_min) / entry.width,
                (y_max - y_min) / entry.height,
            )
        )
        assert {box.object_id for box in entry.boxes["candidates"]} == {
            one["object_id"] for one in sample["candidates"]
        }
        assert len(entry.facts["dialogue"]) == 2 * sample["turn"] - 1
        for dot in entry.dots:
            assert dot.object_id in {box.object_id for box in entry.boxes["candidates"]}
            assert all(0 <= value <= 1 for value in dot.xy)


def test_fpco_shows_every_question_with_what_it_says_of_the_target(work: Callable[[str], Path]) -> None:
    rows = read_release(work("fpco-dialog") / "80_package" / "release")
    files = {row["image_id"]: Path("/photographs") / row["image_id"] for row in rows.tables["images"]}
    found = entries(rows, files, Flags())
    assert len(found) == len(rows.tables["turns"]) == 10 * len(rows.tables["dialogues"])
    dialogues = {row["dialogue_id"]: row for row in rows.tables["dialogues"]}
    for entry in found:
        (box,), dialogue = entry.boxes["target"], dialogues[entry.facts["dialogue_id"]]
        is_false = entry.facts["turn"] >= 4
        assert box.state == (FALSE_PREMISE if is_false else TRUE_PREMISE)
        assert box.label == dialogue["modified_target_description" if is_false else "target_description"]
        assert entry.facts["dialogue"][-1] == f"{entry.facts['turn']}. {entry.facts['question']}"


def test_turns_without_photograph_are_left_out_and_flags_become_tags(work: Callable[[str], Path]) -> None:
    rows = read_release(work("candvg") / "80_package" / "release")
    gone, kept = (row["image_id"] for row in rows.tables["images"][:2])
    files = {row["image_id"]: Path(row["image_id"]) for row in rows.tables["images"] if row["image_id"] != gone}
    flagged = next(row["dialogue_id"] for row in rows.tables["dialogues"] if row["image_id"] == kept)
    soft = [Verdict(flagged, "image", rule, "alike", hard=False) for rule in ("b_rule", "a_rule", "b_rule")]
    found = entries(rows, files, Flags({flagged: soft}))
    assert len(found) == sum(row["image_id"] != gone for row in rows.tables["samples"])
    for entry in found:
        is_flagged = entry.facts["dialogue_id"] == flagged
        assert entry.tags == (("a_rule", "b_rule") if is_flagged else ())
        assert entry.facts["flags"] == (["a_rule: alike", "b_rule: alike"] if is_flagged else [])
