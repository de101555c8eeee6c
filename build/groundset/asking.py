# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Who answers a stage's questions: people, through decision files, or the miniature world's simulated annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec

from groundset.errors import DataError
from groundset.files import sha256_if_there
from groundset.miniworld.annotator import answer
from groundset.review import decisions as log
from groundset.review.queue import Item
from groundset.stage import Inputs
from groundset.verdicts import Verdict

TRUTH = "truth.json"


@dataclass(frozen=True)
class Answers:
    """The decisions on a queue.

    Attributes:
        decisions: All decisions that may count.
        used: Those on items of the queue as it is shown now, in canonical order.
        stale: A soft verdict on each decision that was made on other content, or on an item that is not asked about;
            none of them is applied.
        read: Decision files that were read, to sha256.
    """

    decisions: log.Decisions
    used: tuple[log.Decision, ...]
    stale: tuple[Verdict, ...]
    read: dict[str, str | None]

    def attachment(self) -> bytes:
        """The decisions that were used, as canonical JSON lines."""
        return b"".join(decision.to_json_line() for decision in self.used)


@dataclass(frozen=True)
class _Truth:
    """What the miniature world's annotators know, by source; nothing of files that it did not draw."""

    coco: dict[str, Any] = field(default_factory=dict)
    invig: dict[str, dict[str, Any]] = field(default_factory=dict)


def _simulated(inputs: Inputs, queue: Sequence[Item], seed: str) -> tuple[log.Decisions, dict[str, str | None]]:
    path = inputs.source_root / TRUTH
    truth = _Truth()
    if path.is_file():
        try:
            truth = msgspec.json.decode(path.read_bytes(), type=_Truth)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}: this is not the miniature world's truth: {error}") from None
    rows = [log.Decision(**row) for row in answer(queue, asdict(truth), seed)]
    return log.collect(rows), {f"source:{TRUTH}": sha256_if_there(path)}


def _people(inputs: Inputs) -> tuple[log.Decisions, dict[str, str | None]]:
    paths = {name: inputs.manifest_folder / name for name in inputs.config["decisions"]["files"]}
    read = {f"manifest:{name}": sha256_if_there(path) for name, path in paths.items()}
    return log.read(path for path in paths.values() if path.is_file()), read


def _not_asked(decisions: log.Decisions, queue: Sequence[Item]) -> list[Verdict]:
    kinds = {item["kind"] for item in queue}
    asked = {(item["kind"], item["item_id"], item["turn"]) for item in queue}
    return [
        Verdict(
            row.decision_id,
            "decision",
            "item_not_asked",
            f"{row.kind} of {row.item_id}: no such item is asked about now",
            hard=False,
        )
        for row in decisions.rows
        if row.kind in kinds and row.key not in asked
    ]


def ask(inputs: Inputs, queue: Sequence[Item], who: Literal["people", "simulated"]) -> Answers:
    """The decisions that answer a queue.

    Args:
        inputs: Config `decisions` and `seed`.
        queue: What is asked.
        who: Who answers.

    Raises:
        DataError: A decision file is wrong; all problems at once.
    """
    found, read = _simulated(inputs, queue, inputs.config["seed"]) if who == "simulated" else _people(inputs)
    shown = {(item["kind"], item["item_id"], item["turn"], item["seen_sha256"]) for item in queue}
    used = tuple(row for row in found.rows if (*row.key, row.seen_sha256) in shown and row.purpose != "agreement")
    told = "made on other content than is shown now; decide again"
    stale = tuple(
        Verdict(row.decision_id, "decision", "stale_decision", f"{told} ({row.kind} of {row.item_id})", hard=False)
        for row in log.stale(found, queue)
    )
    return Answers(found, used, (*stale, *_not_asked(found, queue)), read)
