# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Who answers a stage's questions: people, through decision files, or the miniature world's simulated annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from groundset.errors import DataError
from groundset.files import sha256_file
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
        stale: A soft verdict on each decision that was made on other content; none of them is applied.
        read: Decision files that were read, to sha256.
    """

    decisions: log.Decisions
    used: tuple[log.Decision, ...]
    stale: tuple[Verdict, ...]
    read: dict[str, str | None]

    def attachment(self) -> bytes:
        """The decisions that were used, as canonical JSON lines."""
        return b"".join(decision.to_json_line() for decision in self.used)


def _simulated(inputs: Inputs, queue: Sequence[Item], seed: str) -> tuple[log.Decisions, dict[str, str | None]]:
    path = inputs.source_root / TRUTH
    truth: dict[str, Any] = {"coco": {}, "invig": {}}
    if path.is_file():
        try:
            truth = msgspec.json.decode(path.read_bytes())
        except msgspec.DecodeError as error:
            raise DataError(f"{path}: the miniature world's truth is not JSON: {error}") from None
    rows = [log.Decision(**row) for row in answer(queue, truth, seed)]
    return log.collect(rows), {f"source:{TRUTH}": sha256_file(path) if path.is_file() else None}


def _people(inputs: Inputs) -> tuple[log.Decisions, dict[str, str | None]]:
    paths = {name: inputs.manifest_folder / name for name in inputs.config["decisions"]["files"]}
    read = {f"manifest:{name}": sha256_file(path) if path.is_file() else None for name, path in paths.items()}
    return log.read(path for path in paths.values() if path.is_file()), read


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
    return Answers(found, used, stale, read)
