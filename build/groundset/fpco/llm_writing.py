# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 50_generate of FPCO-Dialog where a language model writes.

What the journal leads to its end is replayed, and only the rest is asked: so an interrupted stage goes on where it was,
and a finished one asks nobody. All that leaves the stage follows from the journal, whatever the order of the answers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from groundset.errors import UsageError, WaitingForPeopleError
from groundset.files import canonical_json, sha256_bytes, sha256_if_there
from groundset.fpco import llm_plan
from groundset.fpco.cross_checks import Draft, Opinion, opinion
from groundset.fpco.dialogue import to_record
from groundset.fpco.joins import boxes_px, objects_of, photograph_folders, rows_by
from groundset.fpco.llm_plan import Unpaid, UnpaidError
from groundset.fpco.llm_writer import Rules, Written, write_one
from groundset.fpco.prompting import Target
from groundset.llm import batch, journal_file
from groundset.llm.config import Config, config_of
from groundset.llm.desk import Ask
from groundset.llm.journal import Journal
from groundset.llm.progress import Counts
from groundset.llm.replay import Missing, replay
from groundset.llm.request import Picture
from groundset.llm.run import Talk, converse
from groundset.schema_types import arrow_schema
from groundset.stage import Inputs, Output

JOURNAL, BATCHES = "journal.sqlite", "batches"
USED, HISTORY, MODELS = "journal.jsonl", "set_aside.jsonl", "models.json"

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class _Models:
    """The manifest's word on the models."""

    writer: Config
    rules: Rules
    checkers: tuple[Config, ...]


@dataclass(frozen=True)
class _Reached:
    """How far the journal leads: targets in order to what came of them, and each checker's drafts to its opinions."""

    written: list[tuple[Target, Written | Missing]]
    opinions: list[list[tuple[Draft, Opinion | Missing]]]


def _targets(inputs: Inputs) -> list[Target]:
    rows = inputs.tables["45_screen/kept"].to_pylist()
    items = rows_by(inputs.tables["45_screen/items"], "item_id")
    sizes = rows_by(inputs.tables["40_images/photographs"], "image_id")
    boxes = boxes_px(objects_of(inputs, {row["image_id"] for row in rows}), sizes)
    folders = photograph_folders(inputs)
    targets = []
    for row in sorted(rows, key=lambda row: str(row["item_id"])):
        image_id, item = row["image_id"], items[row["item_id"]]
        size, false_class = sizes[image_id], row["stratum"].rpartition("-")[2]
        targets.append(
            Target(
                item_id=row["item_id"],
                dialogue_id=f"{row['item_id']}-{false_class}",
                image_id=image_id,
                picture=Picture(size["sha256"], folders[image_id] / size["path"]),
                category=item["category"],
                label=item["target_label"],
                box_px=boxes[image_id][item["target_object_id"]],
                size_px=(size["width"], size["height"]),
                false_class=false_class,
            )
        )
    return targets


def _writes(models: _Models) -> Talk[Target, Written]:
    return partial(_write, models.rules)


async def _write(rules: Rules, ask: Ask, target: Target) -> Written:
    return await write_one(ask, target, rules)


async def _opine(model: str, ask: Ask, draft: Draft) -> Opinion:
    return await opinion(ask, draft, model)


def _drafts(written: Sequence[Written | Missing]) -> list[Draft]:
    return [Draft(one.target, one.dialogue) for one in written if isinstance(one, Written) and one.dialogue is not None]


def _reached(models: _Models, journal: Journal, targets: Sequence[Target], final: Collection[str]) -> _Reached:
    written = replay(_writes(models), targets, models.writer, journal, final)
    drafts = _drafts(written)
    opinions = [replay(partial(_opine, checker.model), drafts, checker, journal, final) for checker in models.checkers]
    return _Reached(
        list(zip(targets, written, strict=True)), [list(zip(drafts, found, strict=True)) for found in opinions]
    )


def _plan(models: _Models, reached: _Reached) -> list[Unpaid]:
    missing = [one for _, one in reached.written if isinstance(one, Missing)]
    unwritten = [target for target, one in reached.written if isinstance(one, Missing)]
    plan = [llm_plan.of_writer(models.writer, models.rules.mends, missing)]
    for checker, found in zip(models.checkers, reached.opinions, strict=True):
        plan.append(llm_plan.of_checker(checker, [one for _, one in found if isinstance(one, Missing)], unwritten))
    return [row for row in plan if row.requests.most]


def _require_leave(inputs: Inputs, plan: Sequence[Unpaid], exported: Path) -> None:
    """Raises where something would be paid that nobody has agreed to.

    Raises:
        UnpaidError: The limit is passed, the journal is pinned as it is, or a plan is all that was asked for.
        UsageError: What is paid for could not be exported.
    """
    asking, limit = inputs.asking, inputs.config["writer"]["max_paid_requests"]
    if not plan or asking.offline:
        return
    count = llm_plan.requests(plan)
    lines = "".join(f"\n  {line}" for line in llm_plan.told(plan))
    if asking.plan:
        raise UnpaidError(f"50_generate: {count} requests are still to be paid{lines}", plan)
    if asking.is_pinned:
        told = f"{exported}: is pinned by the lock, and has not all answers: {count} requests would have to be paid"
        raise UnpaidError(f"{told} (put the pinned file back, or build with --repin if that is meant){lines}", plan)
    if count.most > limit and not asking.confirmed:
        told = f"50_generate: {count} requests are still to be paid, above writer.max_paid_requests = {limit}"
        raise UnpaidError(f"{told} (build with --yes to ask them){lines}", plan)
    if not (exported.parent.is_dir() and os.access(exported.parent, os.W_OK)):
        raise UsageError(f"$.writer.journal: {exported.parent} is no folder that the journal can be written to")


def _line(counts: Counts, model: str, total: int, set_aside: int, seconds: float) -> str:
    tokens = counts.prompt_tokens + counts.completion_tokens
    held = f", held by the server for {counts.held_s:.0f} s" if counts.held_s >= 1 else ""
    return (
        f"{model}: {counts.done} of {total} done, {total - counts.done} waiting, {counts.retried} retried, "
        f"{set_aside} set aside, {tokens} tokens, {counts.asked / max(seconds, 1.0) * 60:.0f} answers a minute{held}"
    )


def _ask(
    inputs: Inputs, talk: Talk[Item, Made], items: Sequence[Item], config: Config, journal: Journal
) -> dict[int, Made]:
    """Has the conversations; what came of each by its place in `items`."""
    found: dict[int, Made] = {}
    if not items:
        return found
    began, set_aside = time.monotonic(), 0

    def notice(counts: Counts) -> None:
        inputs.asking.passing(_line(counts, config.model, len(items), set_aside, time.monotonic() - began))

    async def numbered(ask: Ask, item: tuple[int, Item]) -> tuple[int, Made]:
        return item[0], await talk(ask, item[1])

    try:
        with converse(
            enumerate(items), numbered, config, journal, offline=inputs.asking.offline, notice=notice
        ) as results:
            for number, made in results:
                found[number] = made
                set_aside += isinstance(made, Written) and made.dialogue is None
    finally:
        inputs.asking.passing("")
    return found


def _completed(
    inputs: Inputs,
    talk: Talk[Item, Made],
    reached: Sequence[tuple[Item, Made | Missing]],
    config: Config,
    journal: Journal,
) -> list[Made]:
    """What came of each item, in order, with those asked that the journal did not lead to their end."""
    places = [place for place, (_, one) in enumerate(reached) if isinstance(one, Missing)]
    answered = _ask(inputs, talk, [reached[place][0] for place in places], config, journal)
    made = {places[number]: one for number, one in answered.items()}
    return [one if not isinstance(one, Missing) else made[place] for place, (_, one) in enumerate(reached)]


def _collect(models: _Models, journal: Journal, folder: Path) -> int:
    """Fetches the batches that have ended; returns how many.

    Raises:
        WaitingForPeopleError: Some have not.
    """
    ended, waiting = 0, list[str]()
    # one model may be asked twice, as writer and as checker
    for config in dict.fromkeys(_addresses(models)):
        count, lines = batch.collect(_config_at(models, config), journal, folder)
        ended, waiting = ended + count, waiting + lines
    if waiting:
        told = "\n  ".join(waiting)
        raise WaitingForPeopleError(f"50_generate: a model still works; build again later to go on\n  {told}")
    return ended


def _addresses(models: _Models) -> list[tuple[str, str]]:
    return [(config.base_url, config.model) for config in (models.writer, *models.checkers)]


def _config_at(models: _Models, address: tuple[str, str]) -> Config:
    return next(one for one in (models.writer, *models.checkers) if (one.base_url, one.model) == address)


def _hand_over(models: _Models, reached: _Reached, journal: Journal, folder: Path) -> None:
    """Hands over the next question of every conversation that is not at its end.

    Raises:
        WaitingForPeopleError: There were some.
    """
    asked: list[tuple[Config, list[object]]] = [(models.writer, [one for _, one in reached.written])]
    asked += [
        (config, [one for _, one in found]) for config, found in zip(models.checkers, reached.opinions, strict=True)
    ]
    count = 0
    for config, conversations in asked:
        wanted = [one.request for one in conversations if isinstance(one, Missing)]
        if wanted:
            count += batch.hand_over(wanted, config, journal, folder)
    if count:
        told = f"{count} questions are handed over to the Batch API; build again later, within a day, to go on"
        raise WaitingForPeopleError(f"50_generate: {told}")


def _history(written: Sequence[Written]) -> bytes:
    """All that was asked about the items that are set aside, a line each."""
    lines = [
        {
            "item_id": one.target.item_id,
            "dialogue_id": one.target.dialogue_id,
            "rule": one.verdicts[0].rule,
            "steps": [asdict(step) for step in one.history],
        }
        for one in written
        if one.dialogue is None
    ]
    return b"".join(canonical_json(line) + b"\n" for line in lines)


def _models_told(used: bytes) -> bytes:
    """Which models answered to which prompts, by the answers that were used."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in used.splitlines():
        entry = msgspec.json.decode(line)
        request = entry["request"]
        row = found.setdefault(
            (request["model"], request["base_url"]), {"served": set(), "prompts": set(), "questions": 0}
        )
        row["served"] |= {answer["model"] for answer in entry["answers"] if answer["model"]}
        row["prompts"] |= set(request["prompt_version"].split("+"))
        row["questions"] += 1
    return canonical_json(
        [
            {
                "model": model,
                "base_url": base_url,
                "served": sorted(row["served"]),
                "prompts": sorted(row["prompts"]),
                "questions": row["questions"],
            }
            for (model, base_url), row in sorted(found.items())
        ]
    )


def _spent(journal: Journal) -> dict[str, Any]:
    """What this work folder has paid for, by model; for the receipt alone."""
    spent = journal.spent_by_model()
    notes = {
        model: [f"{one.answers} answers paid, {one.prompt_tokens} tokens sent, {one.completion_tokens} received"]
        for model, one in spent.items()
    }
    return {"paid": {model: asdict(one) for model, one in spent.items()}, "notes": notes}


def _export(journal: Journal, exported: Path) -> None:
    content = b"".join(journal_file.lines(journal))
    if sha256_if_there(exported) != sha256_bytes(content):
        journal_file.export(journal, exported)


def generate(inputs: Inputs) -> Output:
    """Has a language model write a dialogue for every screened item, and others cross-check it (design, section 8).

    Raises:
        UnpaidError: More would have to be paid than was agreed to.
        MissingAnswerError: Offline, and the journal lacks an answer; names the first.
        ServiceError: The model cannot be asked; all that it answered is kept.
        DataError: The exported journal is wrong.
    """
    table = inputs.config["writer"]
    models = _Models(
        config_of(table),
        Rules(table["mends"], table["location_with_place"]),
        tuple(config_of(checker) for checker in table["cross_checks"]),
    )
    targets, exported = _targets(inputs), inputs.manifest_folder / table["journal"]
    with Journal(inputs.work / JOURNAL) as journal:
        if exported.exists():
            journal_file.load(journal, exported)
        # what a server did not take may be the server's fault, until a whole stage has left it at that
        final = journal_file.keys(exported)
        reached = _reached(models, journal, targets, final)
        is_batch = table["mode"] == "batch" and not inputs.asking.offline
        if is_batch and not inputs.asking.plan and _collect(models, journal, inputs.work / BATCHES):
            reached = _reached(models, journal, targets, final)
        _require_leave(inputs, _plan(models, reached), exported)
        if is_batch:
            _hand_over(models, reached, journal, inputs.work / BATCHES)
        written = _completed(inputs, _writes(models), reached.written, models.writer, journal)
        drafts, opinions = _drafts(written), list[Opinion]()
        for checker in models.checkers:
            talk = partial(_opine, checker.model)
            found = list(zip(drafts, replay(talk, drafts, checker, journal, final), strict=True))
            opinions += _completed(inputs, talk, found, checker, journal)
        keys = {step.key for one in written for step in one.history} | {key for one in opinions for key in one.keys}
        used = b"".join(journal_file.lines(journal, keys))
        _export(journal, exported)
        facts = _spent(journal)
    verdicts = [verdict for one in written for verdict in one.verdicts]
    verdicts += [verdict for one in opinions for verdict in one.verdicts]
    records = [to_record(one.dialogue) for one in written if one.dialogue is not None]
    return Output(
        tables={"kept": pa.Table.from_pylist(records, schema=arrow_schema("fpco_draft")).sort_by("dialogue_id")},
        verdicts=tuple(verdicts),
        entered={"item": [target.item_id for target in targets]},
        read={f"manifest:{table['journal']}": sha256_if_there(exported)},
        facts=facts,
        attachments={USED: used, HISTORY: _history(written), MODELS: _models_told(used)},
    )
