# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Decision files: every fault is named with file, line and path, and which decision counts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.review.decisions import Decision, Decisions, collect, digest, effective, read, stale

BAD = Path(__file__).parents[1] / "bad" / "decision"
CASES = sorted(path for path in BAD.iterdir() if path.is_dir())
SEEN = "a" * 64
OTHER = "b" * 64


def decision(decision_id: str = "d1", seq: int = 1, **changes: Any) -> Decision:
    fields: dict[str, Any] = {
        "kind": "screening",
        "item_id": "invig-test-1",
        "turn": None,
        "annotator": "ann-1",
        "seen_sha256": SEEN,
        "value": {"verdict": "accept", "reason": None},
        "purpose": "main",
    }
    return Decision(decision_id, seq, **{**fields, **changes})


def exclude(reason: str) -> dict[str, Any]:
    return {"verdict": "exclude", "reason": reason}


def save(path: Path, *rows: Decision) -> Path:
    path.write_bytes(b"".join(row.to_json_line() for row in rows))
    return path


def counts(decisions: Decisions, seen: str = SEEN) -> str | None:
    found = effective(decisions, "screening", "invig-test-1", None, seen)
    return found.decision_id if found else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_decisions_are_named(case: Path, tmp_path: Path) -> None:
    path = case / "decisions.jsonl"
    if (case / "record.json").exists():
        path = tmp_path / "decisions.jsonl"
        path.write_text(json.dumps(json.loads((case / "record.json").read_text("utf-8"))), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read([path])
    told = [str(problem).removeprefix(f"{path} ") for problem in error.value.problems]
    expected = (case / "message.txt").read_text("utf-8").splitlines()
    assert len(told) == len(expected), told
    assert all(message in line for line, message in zip(told, expected, strict=True)), told


def test_there_are_bad_cases_of_both_kinds() -> None:
    assert {path.name for case in CASES for path in case.iterdir()} == {"decisions.jsonl", "record.json", "message.txt"}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    rows = [
        decision("d1", 1),
        decision("d2", 2, value=exclude("group_box")),
        decision("d3", 3, kind="points", turn=2, value={"points_px": [[3.0, 4.5]]}, annotator="é"),
        decision("d4", 4, kind="points", turn=1, value={"points_px": []}),
        decision("d5", 5, kind="dialogue", value={"verdict": "reject", "reason": None, "edited": None}),
    ]
    found = read([save(tmp_path / "a.jsonl", *rows)])
    assert [row.decision_id for row in found.rows] == ["d5", "d4", "d3", "d1", "d2"]
    assert sorted(found.rows, key=lambda row: row.seq) == rows


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    good = json.loads(decision().to_json_line())
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("not json\n\n" + json.dumps({**good, "seq": -1, "purpose": "fun"}) + "\n", encoding="utf-8")
    second.write_bytes(b'{"decision_id":"\xff"}\n' + json.dumps({**good, "seen_sha256": SEEN + "\n"}).encode())
    with pytest.raises(DataError) as error:
        read([first, second, tmp_path / "absent.jsonl"])
    where = [(Path(p.file).name, p.record, p.path) for p in error.value.problems]
    assert where == [
        ("absent.jsonl", "", ""),
        ("first.jsonl", "line 1", ""),
        ("first.jsonl", "line 3", "$.purpose"),
        ("first.jsonl", "line 3", "$.seq"),
        ("second.jsonl", "line 1", ""),
        ("second.jsonl", "line 2", "$.seen_sha256"),
    ]


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "1e999", '"\\ud800"', "\ufeff{}", "nul"]
)
def test_no_line_breaks_the_reader(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match="line 1: not a JSON line"):
        read([path])


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    path.write_bytes(content)
    if content.replace(b"\n", b"").strip():
        with pytest.raises(DataError):
            read([path])
    else:
        assert read([path]).rows == ()


def test_a_separator_that_is_not_a_line_feed_stays_in_the_text(tmp_path: Path) -> None:
    row = decision(annotator="one\u2028two\x85")
    assert read([save(tmp_path / "a.jsonl", row)]).rows == (row,)


def test_one_number_written_in_two_ways_is_one_decision(tmp_path: Path) -> None:
    points = decision(kind="points", turn=1, value={"points_px": [[3.0, 4.0]]})
    line = points.to_json_line().decode()
    other = line.replace("[3.0,4.0]", "[3,4e0]").replace('"seq":1', '"seq":1.0').replace('"turn":1', '"turn":1.0')
    assert other != line
    path = tmp_path / "a.jsonl"
    path.write_text(other + line, encoding="utf-8")
    assert read([path]).rows == (points,)
    assert digest(read([path])) == digest(collect([points]))
    zero = tmp_path / "zero.jsonl"
    zero.write_text(line.replace("[3.0,4.0]", "[-0.0,0]"), encoding="utf-8")
    assert b"[[0.0,0.0]]" in read([zero]).rows[0].to_json_line()


def test_the_last_main_counts_whatever_the_order() -> None:
    rows = [decision("d1", 1), decision("d2", 5, value=exclude("group_box")), decision("d3", 3)]
    assert {counts(collect(order)) for order in itertools.permutations(rows)} == {"d2"}


def test_an_adjudication_overrides_even_later_mains_and_an_agreement_never_builds() -> None:
    rows = [
        decision("main", 9),
        decision("old", 2, purpose="adjudication"),
        decision("new", 3, purpose="adjudication", value=exclude("group_box")),
        decision("twice", 11, purpose="agreement"),
    ]
    assert counts(collect(rows)) == "new"
    assert counts(collect(rows[:1] + rows[3:])) == "main"
    assert counts(collect(rows[3:])) is None


def test_a_stale_decision_is_listed_and_not_applied() -> None:
    decisions = collect([decision("d1", 1), decision("d2", 2, seen_sha256=OTHER, value=exclude("group_box"))])
    queue = [{"kind": "screening", "item_id": "invig-test-1", "turn": None, "seen_sha256": SEEN}]
    assert counts(decisions) == "d1"
    assert [row.decision_id for row in stale(decisions, queue)] == ["d2"]
    assert counts(decisions, OTHER) == "d2"
    assert counts(decisions, "c" * 64) is None
    assert stale(decisions, []) == ()
    assert stale(decisions, [{**queue[0], "item_id": "invig-test-2"}]) == ()


def test_look_ups_tell_kinds_items_and_turns_apart() -> None:
    turns = [decision(f"p{n}", 1, kind="points", turn=n, value={"points_px": [[1.0, n]]}) for n in (1, 2)]
    decisions = collect([decision("d1", 1), *turns])
    found = [effective(decisions, "points", "invig-test-1", turn, SEEN) for turn in (1, 2, 3)]
    assert found == [turns[0], turns[1], None]
    assert effective(decisions, "points", "invig-test-2", 1, SEEN) is None


def test_decisions_that_contradict_each_other_at_one_seq_are_ambiguous(tmp_path: Path) -> None:
    tied = [decision("d1", 4), decision("d2", 4, value=exclude("group_box"))]
    with pytest.raises(DataError) as error:
        read([save(tmp_path / "a.jsonl", tied[0]), save(tmp_path / "b.jsonl", tied[1])])
    assert [(Path(p.file).name, p.record, p.path) for p in error.value.problems] == [
        ("a.jsonl", "line 1", "$.seq"),
        ("b.jsonl", "line 1", "$.seq"),
    ]
    assert "4 is the seq of decisions that contradict each other: d1, d2" in str(error.value)


@pytest.mark.parametrize(
    ("second", "then"),
    [
        ({"value": {"verdict": "accept", "reason": None}}, None),
        ({"seen_sha256": OTHER}, None),
        ({"item_id": "invig-test-2"}, None),
        ({"purpose": "agreement"}, None),
        ({"purpose": "adjudication"}, None),
        ({}, {"seq": 5}),
        ({}, {"purpose": "adjudication"}),
    ],
)
def test_what_is_settled_is_not_ambiguous(second: Mapping[str, Any], then: Mapping[str, Any] | None) -> None:
    rows = [decision("d1", 4), decision("d2", 4, **{"value": exclude("group_box"), **second})]
    if then is not None:
        rows.append(decision("d3", **{"seq": 4, **then}))
    expected = "d3" if then else ("d2" if rows[1].purpose == "adjudication" or second.get("value") else "d1")
    assert counts(collect(rows)) == expected


def test_adjudications_can_be_ambiguous_too() -> None:
    rows = [
        decision("d1", 4, purpose="adjudication"),
        decision("d2", 4, purpose="adjudication", value=exclude("group_box")),
        decision("d3", 9),
    ]
    with pytest.raises(DataError, match="contradict"):
        collect(rows)


def test_an_id_stands_for_one_decision_only(tmp_path: Path) -> None:
    same = decision("d1", 1)
    assert read([save(tmp_path / "a.jsonl", same, same), save(tmp_path / "b.jsonl", same)]).rows == (same,)
    with pytest.raises(DataError, match="the id d1 stands for decisions that differ"):
        read([tmp_path / "a.jsonl", save(tmp_path / "c.jsonl", decision("d1", 2))])


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_the_digest_ignores_files_lines_and_copies(
    tmp_path_factory: pytest.TempPathFactory, random: Any, number: int
) -> None:
    rows = [decision(f"d{index}", index, item_id=f"i{index % 3}") for index in range(8)]
    shuffled = rows + random.sample(rows, 3)
    random.shuffle(shuffled)
    folder = tmp_path_factory.mktemp("files")
    paths = [save(folder / f"{n}.jsonl", *shuffled[n::number]) for n in range(number)]
    random.shuffle(paths)
    assert read(paths) == collect(rows)
    assert digest(read(paths)) == digest(collect(rows))
    assert digest(collect(rows[1:])) != digest(collect(rows))


def test_no_files_no_decisions() -> None:
    assert read([]).rows == ()
    assert digest(read([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
