# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset explain`: the life of one record through every stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from groundset import benchmarks, explaining, runner
from groundset import manifest as manifests
from groundset.cli import talk


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _line(step: explaining.Step) -> str:
    head = f"{step.stage}  {step.record_id}  {step.outcome}"
    if step.outcome == "kept":
        told = ", ".join(
            f"{key} {_shown(value)}"
            for key, value in step.record.items()
            if isinstance(value, str | int | float) and value != step.record_id
        )
        return f"{head}: {told}" if step.table == "kept" else f"{head} ({step.table}): {told}"
    rule, limit = step.record["rule"], step.record["limit"]
    measured = f" (measured {_shown(step.record['measured'])}, limit {_shown(limit)})" if limit is not None else ""
    return f"{head} by {rule}{measured}: {step.record['detail'].removeprefix(f'{rule}: ')}"


def _lines(steps: Iterable[explaining.Step]) -> Iterator[str]:
    """A line a step; many rows of one record in one table, such as its turns, are only counted."""
    for key, group in groupby(steps, key=lambda step: (step.stage, step.record_id, step.outcome, step.table)):
        rows = list(group)
        if key[2] == "kept" and len(rows) > 1:
            yield f"{rows[0].stage}  {rows[0].record_id}  kept ({rows[0].table}): {len(rows)} rows; --json has them"
        else:
            yield from map(_line, rows)


def explain(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    record: Annotated[str, typer.Argument(help="Id of an image, item, dialogue, sample, or <image>/<object>.")],
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Show what every stage did with one record, and by which rule; docs/rules.md says what each rule means."""
    checked = manifests.read(manifest, sources)
    place = runner.place_of(checked, work)
    steps = explaining.explain(place, benchmarks.stages(checked), record)
    if as_json:
        talk.print_json([asdict(step) for step in steps])
    else:
        for line in _lines(steps):
            typer.echo(line)
