# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Has language models write what a stage wants, and others cross-check it: the stages 50_generate and 72_vary.

What the journal leads to its end is replayed, and only the rest is asked: so an interrupted stage goes on where it was,
and a finished one asks nobody. All that leaves the stage follows from the journal, whatever the order of the answers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from groundset.counting import how_many
from groundset.errors import UsageError, WaitingForPeopleError
from groundset.files import canonical_json, sha256_bytes, sha256_if_there
from groundset.fpco import llm_plan
from groundset.fpco.cross_checks import Draft, Opinion, opinion
from groundset.fpco.llm_plan import Unpaid, UnpaidError
from groundset.fpco.llm_writer import Rules, Written
from groundset.llm import batch, journal_file
from groundset.llm.config import Config, config_of
from groundset.llm.desk import Ask
from groundset.llm.journal import Journal
from groundset.llm.progress import Counts
from groundset.llm.replay import Missing, replay
from groundset.llm.run import Talk, converse
from groundset.stage import Inputs
from groundset.verdicts import Verdict

# what a stage attaches: the answers it used, all that was asked about what is set aside, and the models that answered
USED, HISTORY, MODELS = "journal.jsonl", "set_aside.jsonl", "models.json"

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Models:
    """The manifest's word on the models.

    Attributes:
        writer: How the writer is asked.
        rules: How it is held to the checks.
        checkers: How those are asked that cross-check it.
    """

    writer: Config
    rules: Rules
    checkers: tuple[Config, ...]


def models_of(writer: dict[str, Any]) -> Models:
    """The models of the manifest's table `writer`."""
    rules = Rules(writer["mends"], writer["location_with_place"])
    return Models(config_of(writer), rules, tuple(config_of(checker) for checker in writer["cross_checks"]))


@dataclass(frozen=True)
class Task(Generic[Item]):
    """What a stage wants to have written.

    Attributes:
        stage: Name of the stage, for messages.
        prefix: Of the manifest's key of the exported journal, and of the live one's file.
        items: What to write first.
        write: The conversation with the writer.
        following: What to write after an item of which this came, if anything.
        false_only: Whether checkers are asked about the false description alone.
        plan: What would still have to be paid.
    """

    stage: str
    prefix: str
    items: Sequence[Item]
    write: Talk[Item, Written]
    following: Callable[[Item, Written], Item | None]
    false_only: bool
    plan: Callable[[Reached[Item]], list[Unpaid]]


@dataclass(frozen=True)
class Reached(Generic[Item]):
    """How far the journal leads: items to what came of them, and each checker's drafts to its opinions."""

    written: list[tuple[Item, Written | Missing]]
    opinions: list[list[tuple[Draft, Opinion | Missing]]]

    def missing(self) -> list[Missing]:
        """The writer's conversations that are not at their end."""
        return [one for _, one in self.written if isinstance(one, Missing)]


@dataclass(frozen=True)
class Done:
    """What came of a task.

    Attributes:
        written: What was written or set aside, in order.
        verdicts: The verdicts on it, and those of the checkers.
        attachments: Files for the stage's folder.
        read: The exported journal and its sha256, as for `Output.read`.
        facts: What this work folder has paid for, for the receipt alone.
    """

    written: list[Written]
    verdicts: tuple[Verdict, ...]
    attachments: dict[str, bytes]
    read: dict[str, str | None]
    facts: dict[str, Any]


async def _opine(model: str, ask: Ask, draft: Draft, *, false_only: bool) -> Opinion:
    return await opinion(ask, draft, model, false_only=false_only)


def _opines(task: Task[Item], checker: Config) -> Talk[Draft, Opinion]:
    return partial(_opine, checker.model, false_only=task.false_only)


def _drafts(written: Sequence[Written | Missing]) -> list[Draft]:
    return [Draft(one.target, one.dialogue) for one in written if isinstance(one, Written) and one.dialogue is not None]


def _following(task: Task[Item], found: Sequence[tuple[Item, Written | Missing]]) -> list[Item]:
    after = [task.following(item, one) for item, one in found if isinstance(one, Written)]
    return [item for item in after if item is not None]


def _reached(task: Task[Item], models: Models, journal: Journal, final: Collection[str]) -> Reached[Item]:
    written: list[tuple[Item, Written | Missing]] = []
    items = list(task.items)
    while items:
        found = list(zip(items, replay(task.write, items, models.writer, journal, final), strict=True))
        written += found
        items = _following(task, found)
    drafts = _drafts([one for _, one in written])
    opinions = [replay(_opines(task, checker), drafts, checker, journal, final) for checker in models.checkers]
    return Reached(written, [list(zip(drafts, found, strict=True)) for found in opinions])


def _require_leave(inputs: Inputs, stage: str, plan: Sequence[Unpaid], exported: Path, name: str) -> None:
    """Raises where something would be paid that nobody has agreed to.

    Raises:
        UnpaidError: The limit is passed, the journal is pinned as it is, or a plan is all that was asked for.
        UsageError: What is paid for could not be exported.
    """
    asking, limit = inputs.asking, inputs.config["writer"]["max_paid_requests"]
    if not plan or asking.offline:
        return
    count = llm_plan.requests(plan)
    unpaid = f"{how_many(count, 'request is', 'requests are')} still to be paid"
    lines = "".join(f"\n  {line}" for line in llm_plan.told(plan))
    if asking.plan:
        raise UnpaidError(f"{stage}: {unpaid}{lines}", plan)
    if name in asking.pinned:
        asked = how_many(count, "request")
        told = f"{exported}: is pinned by the lock, and has not all answers: {asked} would have to be paid"
        raise UnpaidError(f"{told} (put the pinned file back, or build with --repin if that is meant){lines}", plan)
    if count.most > limit and not asking.confirmed:
        told = f"{stage}: {unpaid}, above writer.max_paid_requests = {limit}"
        raise UnpaidError(f"{told} (build with --yes to ask them){lines}", plan)
    if not (exported.parent.is_dir() and os.access(exported.parent, os.W_OK)):
        told = f"{exported.parent} is no folder that the journal can be written to"
        raise UsageError(f"$.writer: {name}: {told}")


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


def _collect(models: Models, journal: Journal, folder: Path, stage: str) -> int:
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
        raise WaitingForPeopleError(f"{stage}: a model still works; build again later to go on\n  {told}")
    return ended


def _addresses(models: Models) -> list[tuple[str, str]]:
    return [(config.base_url, config.model) for config in (models.writer, *models.checkers)]


def _config_at(models: Models, address: tuple[str, str]) -> Config:
    return next(one for one in (models.writer, *models.checkers) if (one.base_url, one.model) == address)


def _hand_over(models: Models, reached: Reached[Item], journal: Journal, folder: Path, stage: str) -> None:
    """Hands over the next question of every conversation that is not at its end.

    Raises:
        WaitingForPeopleError: There were some.
    """
    asked: list[tuple[Config, list[Missing]]] = [(models.writer, reached.missing())]
    for config, found in zip(models.checkers, reached.opinions, strict=True):
        asked.append((config, [one for _, one in found if isinstance(one, Missing)]))
    count = 0
    for config, conversations in asked:
        if conversations:
            count += batch.hand_over([one.request for one in conversations], config, journal, folder)
    if count:
        handed = how_many(count, "question is", "questions are")
        told = f"{handed} handed over to the Batch API; build again later, within a day, to go on"
        raise WaitingForPeopleError(f"{stage}: {told}")


def _history(written: Sequence[Written]) -> bytes:
    """All that was asked about what is set aside, a line each."""
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
    # where nothing was asked, no file has to say so
    if (content or exported.exists()) and sha256_if_there(exported) != sha256_bytes(content):
        journal_file.export(journal, exported)


def have_written(inputs: Inputs, models: Models, task: Task[Item]) -> Done:
    """Has everything written and cross-checked that a task wants.

    Raises:
        UnpaidError: More would have to be paid than was agreed to.
        MissingAnswerError: Offline, and the journal lacks an answer; names the first.
        ServiceError: The model cannot be asked; all that it answered is kept.
        DataError: The exported journal is wrong.
    """
    table = inputs.config["writer"]
    name = table[f"{task.prefix}journal"]
    exported, batches = inputs.manifest_folder / name, inputs.work / f"{task.prefix}batches"
    with Journal(inputs.work / f"{task.prefix}journal.sqlite") as journal:
        if exported.exists():
            journal_file.load(journal, exported)
        # what a server did not take may be the server's fault, until a whole stage has left it at that
        final = journal_file.keys(exported)
        reached = _reached(task, models, journal, final)
        is_batch = table["mode"] == "batch" and not inputs.asking.offline
        if is_batch and not inputs.asking.plan and _collect(models, journal, batches, task.stage):
            reached = _reached(task, models, journal, final)
        _require_leave(inputs, task.stage, [row for row in task.plan(reached) if row.requests.most], exported, name)
        if is_batch:
            _hand_over(models, reached, journal, batches, task.stage)
        written, found = list[Written](), reached.written[: len(task.items)]
        while found:
            made = _completed(inputs, task.write, found, models.writer, journal)
            written += made
            items = _following(task, [(item, one) for (item, _), one in zip(found, made, strict=True)])
            found = list(zip(items, replay(task.write, items, models.writer, journal, final), strict=True))
        drafts, opinions = _drafts(written), list[Opinion]()
        for checker in models.checkers:
            talk = _opines(task, checker)
            judged = list(zip(drafts, replay(talk, drafts, checker, journal, final), strict=True))
            opinions += _completed(inputs, talk, judged, checker, journal)
        keys = {step.key for one in written for step in one.history} | {key for one in opinions for key in one.keys}
        used = b"".join(journal_file.lines(journal, keys))
        _export(journal, exported)
        facts = _spent(journal)
    verdicts = [verdict for one in written for verdict in one.verdicts]
    verdicts += [verdict for one in opinions for verdict in one.verdicts]
    return Done(
        written=written,
        verdicts=tuple(verdicts),
        attachments={USED: used, HISTORY: _history(written), MODELS: _models_told(used)},
        read={f"manifest:{name}": sha256_if_there(exported)},
        facts=facts,
    )
