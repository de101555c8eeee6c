# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a screener sees, and what an exclusion does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from groundset import schema
from groundset.candvg.screening import REASONS, apply, queue_items
from groundset.errors import DataError
from groundset.review.decisions import Decision, collect
from groundset.review.queue import Item
from groundset.schema_types import arrow_schema
from groundset.verdicts import to_table

TURNS = [
    {"turn": 1, "question": None, "response": "the cup"},
    {"turn": 2, "question": "The red one?", "response": "Yes"},
]
HASHES = {f"invig-{name}": name * 64 for name in "abc"}


def tables(*names: str) -> tuple[pa.Table, pa.Table]:
    dialogues = [
        {
            "dialogue_id": f"invig-test-{name}",
            "image_id": f"invig-{name}",
            "split": "test",
            "source_dialogue_id": name,
            "turns": TURNS,
            "object_ids": ["b0", "b1", "b2"],
            "initial_candidate_ids": ["b2", "b0"],
        }
        for name in names
    ]
    objects = [
        {"object_id": f"b{n}", "image_id": f"invig-{name}", "bbox_xyxy": [n * 10.0, 0.0, n * 10.0 + 9, 9.0]}
        for name in names
        for n in range(3)
    ]
    return (
        pa.Table.from_pylist(dialogues, schema=arrow_schema("candvg_source_dialogue")),
        pa.Table.from_pylist(objects, schema=arrow_schema("object")),
    )


def screen(entry: Item, decision_id: str, reason: str | None, seen: str | None = None) -> Decision:
    value: dict[str, Any] = {"verdict": "exclude" if reason else "accept", "reason": reason}
    return Decision(
        decision_id, 1, "screening", entry["item_id"], None, "ann-1", seen or entry["seen_sha256"], value, "main"
    )


def test_an_item_shows_photograph_texts_and_the_listed_boxes() -> None:
    (entry,) = queue_items(*tables("a"), HASHES)
    assert (entry["kind"], entry["item_id"], entry["turn"]) == ("screening", "invig-test-a", None)
    assert entry["shown"] == {
        "image_id": "invig-a",
        "image_sha256": "a" * 64,
        "turns": TURNS,
        "initial_candidates": [
            {"object_id": "b2", "bbox_xyxy_px": [20.0, 0.0, 29.0, 9.0]},
            {"object_id": "b0", "bbox_xyxy_px": [0.0, 0.0, 9.0, 9.0]},
        ],
    }


def test_the_queue_does_not_depend_on_the_order_of_rows() -> None:
    dialogues, objects = tables("a", "b", "c")
    backwards = dialogues.take(pa.array([2, 1, 0])), objects.take(pa.array(range(8, -1, -1)))
    assert queue_items(*backwards, HASHES) == queue_items(dialogues, objects, HASHES)


def test_every_missing_photograph_is_named() -> None:
    with pytest.raises(DataError) as error:
        queue_items(*tables("a", "b", "d"), {"invig-b": "b" * 64})
    assert [problem.record for problem in error.value.problems] == ["invig-test-a", "invig-test-d"]


def test_accepted_excluded_and_waiting() -> None:
    queue = queue_items(*tables("c", "b", "a"), HASHES)
    screened = apply(queue, collect([screen(queue[2], "d1", None), screen(queue[0], "d2", "group_box")]))
    assert screened.accepted == ("invig-test-c",)
    assert [(v.record_id, v.kind, v.rule, v.hard) for v in screened.rejected] == [
        ("invig-test-a", "dialogue", "screening_group_box", True)
    ]
    assert screened.waiting == (queue[1],)
    assert schema.table_problems("verdict", to_table(screened.rejected)) == []


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_a_rule(reason: str) -> None:
    (entry,) = queue_items(*tables("a"), HASHES)
    assert [verdict.rule for verdict in apply([entry], collect([screen(entry, "d1", reason)])).rejected] == [
        f"screening_{reason}"
    ]


def test_a_stale_decision_leaves_the_dialogue_waiting() -> None:
    (entry,) = queue_items(*tables("a"), HASHES)
    (changed,) = queue_items(*tables("a"), {"invig-a": "f" * 64})
    screened = apply([changed], collect([screen(entry, "d1", "group_box")]))
    assert (screened.accepted, screened.rejected, screened.waiting) == ((), (), (changed,))


def test_what_is_not_asked_of_a_dialogue_is_refused() -> None:
    queue = queue_items(*tables("a", "b"), HASHES)
    right = {"target_object_id": "b1", "complexity": "single"}
    other = replace(screen(queue[1], "d2", None), value={"verdict": "correct", "reason": None, "corrected": right})
    with pytest.raises(DataError) as error:
        apply(queue, collect([screen(queue[0], "d1", "wrong_target"), other]))
    assert [(problem.record, problem.path) for problem in error.value.problems] == [
        ("decision d1", "$.value.reason"),
        ("decision d2", "$.value.verdict"),
    ]
