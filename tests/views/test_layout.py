# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from groundset.views import layout, turns
from groundset.views.layout import COLOURS, FLAGGED_VIEW, box_fields_of, fields_of, saved_views
from groundset.views.reading import read_release
from groundset.views.rejections import read_work
from groundset.views.turns import Entry, Flags, entries

BENCHMARKS = ("candvg", "fpco-dialog")


def entry(
    dialogue_id: str, stratum: str, licence: str, *, tags: tuple[str, ...] = (), outcome: str = "released"
) -> Entry:
    facts = {"dialogue_id": dialogue_id, "stratum": stratum, "licence": licence, "outcome": outcome, "flags": tags}
    return Entry("photograph.jpg", 10, 10, facts, {}, (), tags)


def test_a_view_for_each_stratum_and_licence_with_what_it_holds() -> None:
    shown = [
        entry("d1", "2", "CC-BY-2.0"),
        entry("d1", "2", "CC-BY-2.0"),
        entry("d2", "7+", "CC-BY-2.0", tags=("near_duplicate",)),
        entry("d3", "2", "CC-BY-SA-2.0"),
        entry("d4", "2", "CC-BY-ND-2.0", outcome="rejected"),
    ]
    found = {view.name: (view.entries, view.dialogues, view.grouped) for view in saved_views(shown)}
    assert found == {
        "dialogues": (4, 3, True),
        "stratum 2": (3, 2, True),
        "stratum 7+": (1, 1, True),
        "licence CC-BY-2.0": (3, 2, True),
        "licence CC-BY-SA-2.0": (1, 1, True),
        "flagged": (1, 1, True),
        "rejected": (1, 1, False),
    }


def test_views_that_would_be_empty_are_left_out() -> None:
    assert FLAGGED_VIEW not in {view.name for view in saved_views([entry("d1", "2", "CC-BY-2.0")])}
    assert [view.entries for view in saved_views([])] == [0]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_fact_and_box_has_a_place(work: Callable[[str], Path], benchmark: str) -> None:
    rows = read_release(work(benchmark) / "80_package" / "release")
    found = entries(rows, {row["image_id"]: Path("x") for row in rows.tables["images"]}, Flags())
    assert {name for one in found for name in one.facts} == {field.name for field in fields_of(found)}
    assert {name for one in found for name in one.boxes} == set(box_fields_of(found))
    rejected = read_work(work(benchmark), None, rows).entries
    assert {name for one in rejected for name in one.facts} <= {field.name for field in fields_of(rejected)}
    assert {"rule", "detail"} <= {field.name for field in fields_of(rejected)} - {
        field.name for field in fields_of(found)
    }


def test_every_state_has_a_colour_of_its_own_among_those_seen_together() -> None:
    in_candvg = (
        turns.ONE_LEFT,
        turns.PLAUSIBLE,
        turns.ADDED,
        turns.RULED_OUT,
        turns.RULED_OUT_BEFORE,
        turns.NOT_IN_QUESTION,
    )
    in_fpco = (turns.TRUE_PREMISE, turns.FALSE_PREMISE, turns.REJECTED, turns.NOT_IN_QUESTION)
    for states in (in_candvg, in_fpco):
        assert len({COLOURS[state] for state in states}) == len(states)
    assert layout.POINT_COLOUR not in {COLOURS[state] for state in in_candvg}
