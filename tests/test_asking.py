# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Who answers a queue, what is recorded of it, and that decisions on other content are never applied."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from groundset.asking import ask
from groundset.errors import DataError
from groundset.review import queue
from groundset.review.decisions import Decision
from groundset.stage import Inputs


def question(number: int, word: str = "dog") -> queue.Item:
    return queue.item("dialogue", f"coco-{number}-food", None, {"image_id": f"coco-{number}", "target_label": word})


def decision(number: int, seq: int = 1, word: str = "dog", **changes: Any) -> Decision:
    fields: dict[str, Any] = {
        "decision_id": f"d{number}-{seq}",
        "seq": seq,
        "kind": "dialogue",
        "item_id": f"coco-{number}-food",
        "turn": None,
        "annotator": "ann-1",
        "seen_sha256": question(number, word)["seen_sha256"],
        "value": {"verdict": "accept", "reason": None, "edited": None},
        "purpose": "main",
    }
    return Decision(**{**fields, **changes})


def inputs(folder: Path, *files: str, seed: str = "s") -> Inputs:
    (folder / "sources").mkdir(exist_ok=True)
    config = {"decisions": {"files": list(files)}, "seed": seed}
    return Inputs(config, {}, folder / "sources", folder, folder)


def save(path: Path, *rows: Decision) -> str:
    path.write_bytes(b"".join(row.to_json_line() for row in rows))
    return hashlib.sha256(path.read_bytes()).hexdigest()


QUEUE = [question(1), question(2), question(3)]


def test_people_answer_through_the_manifests_files(tmp_path: Path) -> None:
    first = save(tmp_path / "a.jsonl", decision(2), decision(9))
    (tmp_path / "more").mkdir()
    second = save(tmp_path / "more" / "b.jsonl", decision(1))
    found = ask(inputs(tmp_path, "a.jsonl", "more/b.jsonl"), QUEUE, "people")
    assert [row.decision_id for row in found.used] == ["d1-1", "d2-1"]
    assert [row.decision_id for row in found.decisions.rows] == ["d1-1", "d2-1", "d9-1"]
    assert [(row.record_id, row.rule) for row in found.stale] == [("d9-1", "item_not_asked")]
    assert found.read == {"manifest:a.jsonl": first, "manifest:more/b.jsonl": second}
    assert found.attachment() == decision(1).to_json_line() + decision(2).to_json_line()


def test_neither_the_order_of_lines_nor_of_files_is_seen_in_what_is_used(tmp_path: Path) -> None:
    rows = [decision(3), decision(1), decision(1, 2), decision(2)]
    save(tmp_path / "a.jsonl", *rows[:2])
    save(tmp_path / "b.jsonl", *rows[2:])
    save(tmp_path / "c.jsonl", *rows[::-1])
    split = ask(inputs(tmp_path, "b.jsonl", "a.jsonl"), QUEUE, "people")
    whole = ask(inputs(tmp_path, "c.jsonl"), QUEUE[::-1], "people")
    assert split.attachment() == whole.attachment()


def test_a_file_that_is_not_there_yet_is_noted_as_such(tmp_path: Path) -> None:
    found = ask(inputs(tmp_path, "later.jsonl"), QUEUE, "people")
    assert (found.used, found.attachment()) == ((), b"")
    assert found.read == {"manifest:later.jsonl": None}


def test_a_decision_on_other_content_is_flagged_and_not_used(tmp_path: Path) -> None:
    save(tmp_path / "a.jsonl", decision(1, word="cat"), decision(2))
    found = ask(inputs(tmp_path, "a.jsonl"), QUEUE, "people")
    assert [row.decision_id for row in found.used] == ["d2-1"]
    (verdict,) = found.stale
    assert (verdict.record_id, verdict.kind, verdict.rule, verdict.hard) == (
        "d1-1",
        "decision",
        "stale_decision",
        False,
    )
    assert "(dialogue of coco-1-food)" in verdict.detail
    assert queue.split(QUEUE, found.decisions).waiting == (question(1), question(3))


def test_an_agreement_never_builds(tmp_path: Path) -> None:
    save(tmp_path / "a.jsonl", decision(1, purpose="agreement"), decision(2, purpose="adjudication"))
    found = ask(inputs(tmp_path, "a.jsonl"), QUEUE, "people")
    assert [row.decision_id for row in found.used] == ["d2-1"]
    assert found.stale == ()


def test_every_fault_of_every_decision_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"seq": -1}) + "\n")
    with pytest.raises(DataError) as error:
        ask(inputs(tmp_path, "a.jsonl", "b.jsonl"), QUEUE, "people")
    assert {Path(problem.file).name for problem in error.value.problems} == {"a.jsonl", "b.jsonl"}


def test_simulated_annotators_answer_all_and_depend_on_the_seed_alone(tmp_path: Path) -> None:
    many = [question(number) for number in range(40)]
    found = ask(inputs(tmp_path), many, "simulated")
    assert len(found.used) == 40
    assert queue.split(many, found.decisions).waiting == ()
    assert {row.annotator.partition("-")[0] for row in found.used} == {"simulated"}
    assert ask(inputs(tmp_path), many[::-1], "simulated").attachment() == found.attachment()
    some = ask(inputs(tmp_path), many[:5], "simulated").used
    assert set(map(Decision.to_json_line, some)) <= set(found.attachment().splitlines(keepends=True))
    assert ask(inputs(tmp_path, seed="t"), many, "simulated").attachment() != found.attachment()


def test_the_truth_that_simulated_annotators_know_is_an_input(tmp_path: Path) -> None:
    assert ask(inputs(tmp_path), QUEUE, "simulated").read == {"source:truth.json": None}
    path = tmp_path / "sources" / "truth.json"
    path.write_text('{"coco": {}, "invig": {}}')
    found = ask(inputs(tmp_path), QUEUE, "simulated")
    assert found.read == {"source:truth.json": hashlib.sha256(path.read_bytes()).hexdigest()}


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"coco": "\xff"}', b"[" * 100_000, b"[]", b'{"coco": []}'])
def test_a_broken_truth_is_no_traceback(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "truth.json").write_bytes(content)
    with pytest.raises(DataError, match=r"truth\.json: this is not the miniature world's truth"):
        ask(inputs(tmp_path), QUEUE, "simulated")
