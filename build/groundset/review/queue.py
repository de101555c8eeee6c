# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What people are asked: one item per question, with a hash of all that is shown."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset.errors import DataError, Problem
from groundset.files import canonical_json, sha256_bytes, write_atomic
from groundset.review.decisions import Decision, Decisions, effective

Item = dict[str, Any]


class Split(NamedTuple):
    """A queue, parted by what has been decided.

    Attributes:
        answered: Items with the decision that counts.
        waiting: Items that nobody has decided on yet.
    """

    answered: tuple[tuple[Item, Decision], ...]
    waiting: tuple[Item, ...]


def seen_sha256(shown: Mapping[str, Any]) -> str:
    """sha256 of the canonical JSON of what is shown: image, texts and boxes, never the limits of rules."""
    return sha256_bytes(canonical_json(shown))


def item(kind: str, item_id: str, turn: int | None, shown: Mapping[str, Any]) -> Item:
    """One item of the queue.

    Args:
        kind: `screening`, `points`, `dialogue` or `variant`.
        item_id: The record it is about.
        turn: Turn for points, else None.
        shown: All that the person sees, as plain JSON values.

    Raises:
        DataError: What is shown cannot be written as JSON, such as a box that is not finite.
    """
    try:
        seen = seen_sha256(shown)
    except (TypeError, ValueError) as error:
        problem = Problem("", item_id, "$.shown", f"cannot be written as JSON: {error}")
        raise DataError(f"The {kind} item cannot be shown", [problem]) from error
    return {"kind": kind, "item_id": item_id, "turn": turn, "seen_sha256": seen, "shown": dict(shown)}


def in_order(queue: Iterable[Item]) -> list[Item]:
    """The items sorted by item, turn and kind."""
    return sorted(queue, key=lambda entry: (entry["item_id"], entry["turn"] or 0, entry["kind"]))


def split(queue: Iterable[Item], decisions: Decisions) -> Split:
    """Parts a queue into answered and waiting items, both in order; stale decisions answer nothing."""
    answered: list[tuple[Item, Decision]] = []
    waiting: list[Item] = []
    for entry in in_order(queue):
        decision = effective(decisions, entry["kind"], entry["item_id"], entry["turn"], entry["seen_sha256"])
        if decision is None:
            waiting.append(entry)
        else:
            answered.append((entry, decision))
    return Split(tuple(answered), tuple(waiting))


def require_known(answered: Iterable[tuple[Item, Decision]], verdicts: Sequence[str], reasons: Sequence[str]) -> None:
    """Refuses decisions that say what this benchmark does not ask: the schema of decisions serves both.

    Raises:
        DataError: A decision has another verdict, or excludes for another reason; all of them are named.
    """
    problems = []
    for _, decision in answered:
        for key, known in (("verdict", (*verdicts,)), ("reason", (None, *reasons))):
            if decision.value[key] not in known:
                message = f"{decision.value[key]} is not asked about {decision.item_id}"
                hint = f"one of {', '.join(name for name in known if name)}"
                problems.append(Problem("", f"decision {decision.decision_id}", f"$.value.{key}", message, hint))
    if problems:
        raise DataError(f"Decisions do not fit the benchmark: {len(problems)}", problems)


def write(path: Path, queue: Iterable[Item]) -> None:
    """Writes a queue as sorted canonical JSON Lines; the old file stays whole until the new one is.

    Raises:
        DataError: Two items ask the same question.
    """
    entries = in_order(queue)
    keys = [(entry["kind"], entry["item_id"], entry["turn"]) for entry in entries]
    # equal keys are neighbours in this order
    doubled = [key for key, following in itertools.pairwise(keys) if key == following]
    if doubled:
        problems = [Problem(str(path), name, "", f"the {kind} item is there twice") for kind, name, _ in doubled]
        raise DataError("The queue cannot be written", problems)
    write_atomic(path, b"".join(canonical_json(entry) + b"\n" for entry in entries))
