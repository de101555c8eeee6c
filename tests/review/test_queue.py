# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Queue items, their hashes and files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from groundset.errors import DataError
from groundset.review.decisions import Decision, collect
from groundset.review.queue import Item, in_order, item, seen_sha256, split, write

SHOWN = {"image_id": "invig-1", "image_sha256": "c" * 64, "turns": [{"turn": 1, "question": None, "response": "é"}]}


def answer(entry: Item, decision_id: str, seq: int = 1, seen: str | None = None) -> Decision:
    value: dict[str, Any] = {"points_px": [[1.0, 2.0]]}
    if entry["kind"] == "screening":
        value = {"verdict": "accept", "reason": None}
    seen = seen or entry["seen_sha256"]
    return Decision(decision_id, seq, entry["kind"], entry["item_id"], entry["turn"], "ann-1", seen, value, "main")


def test_the_hash_is_that_of_the_canonical_form() -> None:
    text = (
        '{"image_id":"invig-1","image_sha256":"' + "c" * 64 + '","turns":[{"question":null,"response":"é","turn":1}]}'
    )
    assert seen_sha256(SHOWN) == hashlib.sha256(text.encode("utf-8")).hexdigest()
    assert seen_sha256(dict(reversed(SHOWN.items()))) == seen_sha256(SHOWN)
    assert seen_sha256({**SHOWN, "image_sha256": "d" * 64}) != seen_sha256(SHOWN)


def test_an_item_has_the_agreed_form() -> None:
    assert item("points", "d1", 2, SHOWN) == {
        "kind": "points",
        "item_id": "d1",
        "turn": 2,
        "seen_sha256": seen_sha256(SHOWN),
        "shown": SHOWN,
    }


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), {1, 2}, "\ud800"])
def test_what_is_not_json_cannot_be_shown(odd: Any) -> None:
    with pytest.raises(DataError, match=r"d1 \$.shown: cannot be written as JSON"):
        item("screening", "d1", None, {"odd": odd})


def test_items_are_answered_or_wait() -> None:
    queue = [item("points", "d2", 1, SHOWN), item("points", "d1", 10, SHOWN), item("points", "d1", 2, SHOWN)]
    queue.append(item("screening", "d1", None, SHOWN))
    decisions = collect([answer(queue[1], "a"), answer(queue[3], "b"), answer(queue[2], "c", seen="f" * 64)])
    answered, waiting = split(queue, decisions)
    assert [(entry["kind"], entry["turn"], found.decision_id) for entry, found in answered] == [
        ("screening", None, "b"),
        ("points", 10, "a"),
    ]
    assert [(entry["item_id"], entry["turn"]) for entry in waiting] == [("d1", 2), ("d2", 1)]


def test_a_queue_is_written_in_order(tmp_path: Path) -> None:
    queue = [item("points", name, turn, SHOWN) for name in ("d2", "d10", "d1") for turn in (10, 2, 1)]
    path = tmp_path / "queue" / "points.jsonl"
    write(path, queue)
    content = path.read_bytes()
    rows = [json.loads(line) for line in content.decode().split("\n")[:-1]]
    assert [(row["item_id"], row["turn"]) for row in rows] == [(n, t) for n in ("d1", "d10", "d2") for t in (1, 2, 10)]
    assert rows == in_order(queue)
    write(path, reversed(queue))
    assert path.read_bytes() == content
    assert [entry.name for entry in path.parent.iterdir()] == ["points.jsonl"]
    write(path, [])
    assert path.read_bytes() == b""


def test_the_same_question_twice_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "queue.jsonl"
    write(path, [item("points", "d1", 1, SHOWN)])
    before = path.read_bytes()
    with pytest.raises(DataError, match="the points item is there twice"):
        write(path, [item("points", "d1", 1, SHOWN), item("points", "d1", 1, {**SHOWN, "image_id": "other"})])
    assert path.read_bytes() == before
