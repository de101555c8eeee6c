# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What people decided: an append-only log of JSON lines, and which of its lines counts for an item.

The last `main` by `seq` counts, an `adjudication` overrides every `main`, an `agreement` never builds. A decision holds
only for what the person saw: one with another `seen_sha256` is stale and never applied.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from groundset import schema
from groundset.errors import DataError, Problem
from groundset.files import canonical_json, sha256_bytes

Key = tuple[str, str, int | None]

# The purposes that build, strongest first.
_BUILDING = ("adjudication", "main")
_EXACT_INTEGERS = 2**53


@dataclass(frozen=True)
class Decision:
    """One act of a person, as `schemas/decision`.

    Attributes:
        decision_id: Unique over all files of a build.
        seq: Order of the acts.
        kind: `screening`, `points`, `dialogue` or `variant`.
        item_id: The item that was shown.
        turn: Turn for points, else None.
        annotator: A pseudonym.
        seen_sha256: sha256 of what was shown.
        value: The decision itself; points are floats in pixels of the stored photograph.
        purpose: `main`, `agreement` or `adjudication`.
    """

    decision_id: str
    seq: int
    kind: str
    item_id: str
    turn: int | None
    annotator: str
    seen_sha256: str
    value: dict[str, Any]
    purpose: str

    @property
    def key(self) -> Key:
        """What was decided about: kind, item and turn."""
        return self.kind, self.item_id, self.turn

    def to_json_line(self) -> bytes:
        """The decision as one canonical JSON line, line end included."""
        return canonical_json({field.name: getattr(self, field.name) for field in fields(self)}) + b"\n"


@dataclass(frozen=True)
class Decisions:
    """All decisions of a build.

    Attributes:
        rows: In canonical order: kind, item, turn, seq, id.
        by_key: Kind, item and turn to the decisions on it, in the same order.
    """

    rows: tuple[Decision, ...]
    by_key: Mapping[Key, tuple[Decision, ...]]


@dataclass(frozen=True)
class _Located:
    file: str
    record: str
    decision: Decision

    def problem(self, path: str, message: str, hint: str = "") -> Problem:
        return Problem(self.file, self.record, path, message, hint)


def read(paths: Iterable[Path]) -> Decisions:
    """Reads and checks decision files; neither the order of files nor that of lines matters.

    Args:
        paths: JSON Lines files; empty lines are passed over.

    Raises:
        DataError: With every problem of every line: not JSON, against the schema, a contradiction in itself, an id that
            is used twice, or decisions on one item between which `seq` does not choose.
    """
    located: list[_Located] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as error:
            problems.append(Problem(str(path), "", "", f"cannot be read: {error.strerror}"))
            continue
        lines = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            if line.strip():
                cut = number == len(lines)
                found = _parse(str(path), f"line {number}", line, cut)
                if isinstance(found, _Located):
                    located.append(found)
                else:
                    problems += found
    return _collect(located, problems)


def collect(decisions: Iterable[Decision]) -> Decisions:
    """Indexes decisions that are in memory, with the same checks between them as `read`.

    Raises:
        DataError: An id is used twice, or decisions on one item contradict each other at the same `seq`.
    """
    return _collect([_Located("", decision.decision_id, decision) for decision in decisions], [])


def effective(decisions: Decisions, kind: str, item_id: str, turn: int | None, seen_sha256: str) -> Decision | None:
    """The decision that counts for an item as it is shown now, or None while nobody has decided.

    Among the decisions on exactly this content the last adjudication counts, else the last main (design, a release).
    """
    seen = [row for row in decisions.by_key.get((kind, item_id, turn), ()) if row.seen_sha256 == seen_sha256]
    deciding = _deciding(seen)
    return deciding[-1] if deciding else None


def stale(decisions: Decisions, queue: Iterable[Mapping[str, Any]]) -> tuple[Decision, ...]:
    """Decisions on items of the queue that were made on other content, in canonical order; they are not applied."""
    shown = {(item["kind"], item["item_id"], item["turn"]): item["seen_sha256"] for item in queue}
    return tuple(row for row in decisions.rows if shown.get(row.key, row.seen_sha256) != row.seen_sha256)


def digest(decisions: Decisions) -> str:
    """sha256 of the sorted canonical lines: what a lock pins, whatever the files looked like."""
    return sha256_bytes(b"".join(sorted(row.to_json_line() for row in decisions.rows)))


def _order(decision: Decision) -> tuple[str, str, int, int, str]:
    return decision.kind, decision.item_id, decision.turn or 0, decision.seq, decision.decision_id


def _deciding(rows: Sequence[Decision]) -> list[Decision]:
    """The decisions of the strongest purpose at its highest seq, in canonical order."""
    for purpose in _BUILDING:
        of_purpose = [row for row in rows if row.purpose == purpose]
        if of_purpose:
            last = max(row.seq for row in of_purpose)
            return [row for row in of_purpose if row.seq == last]
    return []


def _collect(located: Sequence[_Located], problems: list[Problem]) -> Decisions:
    by_id: dict[str, list[_Located]] = {}
    for row in located:
        by_id.setdefault(row.decision.decision_id, []).append(row)
    problems = [*problems, *_reused_ids(by_id), *_ambiguous(located)]
    if problems:
        raise DataError(f"The decisions cannot be used: problems found: {len(set(problems))}", problems)
    rows = sorted((same[0].decision for same in by_id.values()), key=_order)
    by_key: dict[Key, list[Decision]] = {}
    for decision in rows:
        by_key.setdefault(decision.key, []).append(decision)
    return Decisions(tuple(rows), {key: tuple(group) for key, group in by_key.items()})


def _reused_ids(by_id: Mapping[str, Sequence[_Located]]) -> Iterator[Problem]:
    for decision_id, same in by_id.items():
        if len({row.decision.to_json_line() for row in same}) > 1:
            for row in same:
                message = f"the id {decision_id} stands for decisions that differ"
                yield row.problem("$.decision_id", message, "give each decision an id of its own")


def _ambiguous(located: Sequence[_Located]) -> Iterator[Problem]:
    shown: dict[tuple[Key, str], list[_Located]] = {}
    for row in located:
        shown.setdefault((row.decision.key, row.decision.seen_sha256), []).append(row)
    for group in shown.values():
        last = _deciding([row.decision for row in group])
        if len({canonical_json(decision.value) for decision in last}) > 1:
            names = ", ".join(sorted({decision.decision_id for decision in last}))
            for row in group:
                if row.decision in last:
                    message = f"{row.decision.seq} is the seq of decisions that contradict each other: {names}"
                    yield row.problem("$.seq", message, "add a decision with a higher seq, or an adjudication")


def _parse(file: str, record: str, line: bytes, cut: bool) -> _Located | list[Problem]:
    try:
        row = json.loads(
            line.decode("utf-8"),
            object_pairs_hook=_distinct_keys,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_bounded,
        )
        canonical_json(row)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        hint = "the last line has no line end: if writing it was interrupted, remove it" if cut else ""
        return [Problem(file, record, "", f"not a JSON line: {reason}", hint)]
    wrong = schema.errors("decision", row) or list(_contradictions(row))
    if wrong:
        return [Problem(file, record, path, message) for path, message in wrong]
    if row["kind"] == "points":
        row["value"] = {"points_px": [[float(x), float(y)] for x, y in row["value"]["points_px"]]}
    return _Located(file, record, Decision(**row))


def _contradictions(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the schema cannot say in a form that a person understands."""
    value = row["value"]
    if row["kind"] == "screening":
        if value["verdict"] == "exclude" and value["reason"] is None:
            yield "$.value.reason", "an exclusion needs a reason"
        if value["verdict"] != "exclude" and value["reason"] is not None:
            yield "$.value.reason", "what is accepted has no reason for exclusion"
        if value["verdict"] == "correct" and "corrected" not in value:
            yield "$.value.corrected", "a correction needs the right target and complexity"
        if value["verdict"] != "correct" and "corrected" in value:
            yield "$.value.corrected", "corrected values belong to the verdict correct"
    if row["kind"] in ("dialogue", "variant"):
        if value["verdict"] == "edit" and value["edited"] is None:
            yield "$.value.edited", "an edit needs the edited texts"
        if value["verdict"] != "edit" and value["edited"] is not None:
            yield "$.value.edited", "edited texts belong to the verdict edit"
    if row["kind"] == "points":
        for number, point in enumerate(value["points_px"]):
            for axis, coordinate in enumerate(point):
                if coordinate < 0:
                    yield f"$.value.points_px[{number}][{axis}]", f"{coordinate} lies outside the photograph"


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        keys = [key for key, _ in pairs]
        doubled = ", ".join(sorted({key for key in keys if keys.count(key) > 1}))
        raise ValueError(f"a key is there twice: {doubled}")
    return row


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float | int:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text} is too large")
    # 3 and 3.0 are one number in JSON, and one decision must have one digest
    return int(number) if number.is_integer() and abs(number) <= _EXACT_INTEGERS else number


def _bounded(text: str) -> int:
    number = int(text)
    if abs(number) > _EXACT_INTEGERS:
        raise ValueError(f"the integer {text} is too large")
    return number
