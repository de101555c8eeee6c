# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset explain`: the life of one record through every stage."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from groundset import benchmarks, explaining, runner
from groundset import manifest as manifests
from groundset.cli import talk


def _line(step: explaining.Step) -> str:
    if step.outcome == "kept":
        told = ", ".join(
            f"{key} {value}"
            for key, value in step.record.items()
            if isinstance(value, str | int | float) and value != step.record_id
        )
        return f"{step.stage}  {step.record_id}  kept ({step.table}): {told}"
    limit = step.record["limit"]
    measured = f" (measured {step.record['measured']}, limit {limit})" if limit is not None else ""
    return f"{step.stage}  {step.record_id}  {step.outcome} by {step.record['rule']}{measured}: {step.record['detail']}"


def explain(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    record: Annotated[str, typer.Argument(help="Id of an image, item, dialogue, sample, or <image>/<object>.")],
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Show what every stage did with one record, and by which rule."""
    checked = manifests.read(manifest, sources)
    place = runner.place_of(checked, work)
    steps = explaining.explain(place, benchmarks.stages(checked), record)
    if as_json:
        talk.print_json([asdict(step) for step in steps])
    else:
        for step in steps:
            typer.echo(_line(step))
