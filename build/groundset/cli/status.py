# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset status`: the stages of a build, their row accounts, and what waits for whom."""

from __future__ import annotations

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
from groundset.stage import Place, Stage, queue_path, read_receipt, why_stale
from groundset.waiting import waits_for


def stage_state(place: Place, stage: Stage) -> dict[str, Any]:
    """State and account of one stage."""
    receipt, why = read_receipt(place, stage.name), why_stale(place, stage)
    queue = queue_path(place, stage.name)
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
    }


def _rejected(account: dict[str, Any]) -> str:
    return ", ".join(f"{rule} {count}" for rule, count in account["rejected"].items())


def _print(manifest: manifests.Manifest, states: list[dict[str, Any]], strata: tuple[shortfalls.Filled, ...]) -> None:
    console = Console(highlight=False, markup=False)
    table = Table(title=f"{manifest.title} ({manifest.benchmark})", box=SIMPLE_HEAD)
    for name, justify in (
        ("stage", "left"),
        ("state", "left"),
        ("records", "left"),
        ("in", "right"),
        ("kept", "right"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("rejected", overflow="fold")
    for state in states:
        waits = f"{state['waiting']} items wait for {state['waits_for']}" if state["waiting"] else state["why"]
        word = "up to date" if state["up_to_date"] else waits
        rows = list(state["accounts"].items()) or [("", None)]
        for number, (kind, account) in enumerate(rows):
            told = (kind, str(account["in"]), str(account["kept"]), _rejected(account)) if account else ("",) * 4
            table.add_row(*((state["stage"], word) if number == 0 else ("", "")), *told)
    console.print(table)
    for state in states:
        for source, notes in state["notes"].items():
            for note in notes:
                console.print(f"{state['stage']}: {source}: {note}")
        for rule, count in state["flagged"].items():
            console.print(f"{state['stage']}: flagged, not rejected: {rule} {count}")
    for line in shortfalls.told(strata):
        console.print(line)
    for state in states:
        if state["queue"]:
            console.print(
                f"{state['stage']}: {state['waiting']} items wait for {state['waits_for']} in {state['queue']}"
            )


def status(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Show the stages, their row accounts, and what waits for whom."""
    checked = manifests.read(manifest, sources)
    place = runner.place_of(checked, work)
    states = [stage_state(place, stage) for stage in benchmarks.stages(checked)]
    strata = runner.strata(place)
    if as_json:
        whole = {"benchmark": checked.benchmark, "name": checked.content["name"], "version": checked.content["version"]}
        talk.print_json({**whole, "stages": states, "strata": [asdict(row) for row in strata]})
    else:
        _print(checked, states, strata)
