# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset status`: the stages of a build, their row accounts, and what waits for whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from groundset import benchmarks, runner, shortfalls
from groundset import manifest as manifests
from groundset.cli import talk
from groundset.counting import how_many
from groundset.errors import DataError
from groundset.release.card_statistics import sentences
from groundset.release.statistics import Statistics, statistics
from groundset.stage import NOT_DONE, Place, Stage, not_applied_path, queue_path, read_receipt, read_table, why_stale
from groundset.waiting import command, waits_for, what_to_do

RESERVE_NOTE = (
    "40_images and later stages take in only what fills the strata (40_images a margin more); the rest is reserve"
)


def stage_state(place: Place, stage: Stage) -> dict[str, Any]:
    """State and account of one stage."""
    receipt, why = read_receipt(place, stage.name), why_stale(place, stage)
    queue = queue_path(place, stage.name)
    stale = not_applied_path(place, stage.name)
    waiting = len(queue.read_bytes().splitlines()) if queue.is_file() else 0
    return {
        "stage": stage.name,
        "up_to_date": why is None,
        "why": why or "",
        "accounts": receipt["accounts"] if receipt else {},
        "flagged": receipt["flagged"] if receipt else {},
        "notes": receipt["facts"].get("notes", {}) if receipt else {},
        "waiting": waiting,
        "waits_for": waits_for(stage) if waiting else None,
        "queue": str(queue) if waiting else None,
        "not_applied": str(stale) if stale.is_file() else None,
    }


def _word(state: dict[str, Any]) -> str:
    """A stage's state in a word."""
    if state["up_to_date"]:
        return "done"
    if state["waiting"]:
        return "waiting"
    return "missing" if state["why"] == NOT_DONE else "outdated"


def _next(place: Place, first: dict[str, Any] | None) -> str:
    """Why the first stage that is not done is not, and what to run."""
    if first is None:
        return "all stages are up to date"
    if first["waiting"]:
        stage = next(each for each in benchmarks.stages(place.manifest) if each.name == first["stage"])
        return what_to_do(place, stage, first["waiting"])
    return f"{first['stage']} is {_word(first)}: {first['why']}. Run `{command(place, 'build')}`"


def _rejected(account: dict[str, Any]) -> str:
    return "\n".join(f"{rule} {count}" for rule, count in account["rejected"].items())


def _statistics(place: Place) -> Statistics | None:
    """The figures of what would be released, once that is known."""
    stages = {stage.name: stage for stage in benchmarks.stages(place.manifest)}
    if why_stale(place, stages["70_validate"]) is not None:
        return None
    return statistics(place.manifest.benchmark, {"dialogues": read_table(place, "70_validate/dialogues")})


def _strata(place: Place) -> tuple[shortfalls.Filled, ...]:
    """How far the strata are filled; empty where another version of groundset wrote the tables in another form."""
    try:
        return runner.strata(place)
    except DataError:
        return ()


def state(place: Place) -> dict[str, Any]:
    """All that there is to say of a build, as `schemas/status`."""
    content = place.manifest.content
    return {
        "benchmark": place.manifest.benchmark,
        "name": content["name"],
        "version": content["version"],
        "stages": [stage_state(place, stage) for stage in benchmarks.stages(place.manifest)],
        "strata": [asdict(row) for row in _strata(place)],
        "statistics": _statistics(place),
    }


def _print(place: Place, found: dict[str, Any], strata: tuple[shortfalls.Filled, ...]) -> None:
    console = Console(highlight=False, markup=False)
    manifest = place.manifest
    table = Table(title=f"{manifest.title} ({manifest.benchmark})", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("records", no_wrap=True)
    table.add_column("in", justify="right", no_wrap=True)
    table.add_column("kept", justify="right", no_wrap=True)
    table.add_column("rejected", overflow="fold")
    for each in found["stages"]:
        head = (each["stage"], _word(each))
        for kind, account in each["accounts"].items():
            table.add_row(*head, kind, str(account["in"]), str(account["kept"]), _rejected(account))
            head = ("", "")
        if not each["accounts"]:
            table.add_row(*head)
    console.print(table)
    for line in _lines(place, found, strata):
        console.print(line, soft_wrap=True)


def _lines(place: Place, found: dict[str, Any], strata: tuple[shortfalls.Filled, ...]) -> Iterator[str]:
    """What the table has no room for."""
    states: list[dict[str, Any]] = found["stages"]
    first = next((each for each in states if not each["up_to_date"]), None)
    yield _next(place, first)
    if any(each["stage"] == "40_images" and each["accounts"] for each in states):
        yield RESERVE_NOTE
    for each in states:
        for source, notes in each["notes"].items():
            yield from (f"{each['stage']}: {source}: {note}" for note in notes)
        for rule, count in each["flagged"].items():
            yield f"{each['stage']}: flagged, not rejected: {rule} {count}"
    yield from shortfalls.told(strata)
    if found["statistics"]:
        yield from sentences(place.manifest.benchmark, found["statistics"])
    for each in states:
        if each is first and each["waiting"]:
            continue
        if each["queue"]:
            count = how_many(each["waiting"], "item waits", "items wait")
            yield f"{each['stage']}: {count} for {each['waits_for']} in {each['queue']}"
        if each["not_applied"]:
            yield f"{each['stage']}: decisions that are not applied, and why, are in {each['not_applied']}"


def status(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Show the stages, their row accounts, strata and figures, and what waits for whom."""
    checked = manifests.read(manifest, sources)
    place = runner.place_of(checked, work)
    found = state(place)
    if as_json:
        talk.print_json(found)
    else:
        _print(place, found, _strata(place))
        if not place.work.is_dir():
            talk.sayer()(f"nothing has been built in {place.work}; where a build lies elsewhere, say so with --work")
