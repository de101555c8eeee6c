# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset diff`: what changed between two releases."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from groundset.cli import talk
from groundset.release import diff as releases

SHOWN_KEYS = 20
SHOWN_CHARACTERS = 60


def diff(
    old: Annotated[Path, typer.Argument(help="Folder of the earlier release.")],
    new: Annotated[Path, typer.Argument(help="Folder of the later release.")],
    changelog: Annotated[bool, typer.Option("--changelog", help="Print a draft for CHANGELOG.md instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Show the rows that were added, removed or changed, field by field, and how licences and strata have shifted."""
    found = releases.diff(old, new)
    reused = releases.reused_ids(found)
    if as_json:
        talk.print_json({**asdict(found), "same": found.is_empty, "reused_ids": [asdict(row) for row in reused]})
    elif changelog:
        typer.echo(releases.changelog_draft(found), nl=False)
    else:
        _print(found)
    say = talk.sayer()
    for problem in reused:
        say(f"an id names another thing: {problem}")


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _print(found: releases.ReleaseDiff) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if found.is_empty:
        console.print(f"{found.old} and {found.new} hold the same rows and say the same of them")
        return
    table = Table(title=f"{found.old} -> {found.new} ({found.benchmark})")
    table.add_column("config")
    for name in ("rows before", "rows now", "added", "removed", "changed"):
        table.add_column(name, justify="right")
    for row in found.configs:
        counts = row.rows_old, row.rows_new, len(row.added), len(row.removed), len(row.changed)
        table.add_row(row.config, *map(str, counts))
    console.print(table)
    for name, shifts in (("licence", found.licences), ("stratum", found.strata)):
        for shift in shifts:
            console.print(f"{name} {shift.name}: {shift.old} -> {shift.new}")
    for row in found.configs:
        for sign, keys in (("+", row.added), ("-", row.removed)):
            for key in keys[:SHOWN_KEYS]:
                console.print(f"{sign} {row.config} {key}")
            if len(keys) > SHOWN_KEYS:
                console.print(f"{sign} {row.config}: {len(keys) - SHOWN_KEYS} more; --json lists all")
        for sign, columns in (("+", row.columns_added), ("-", row.columns_removed)):
            for column in columns:
                console.print(f"{sign} {row.config}: the column {column}")
        for change in row.changed[:SHOWN_KEYS]:
            for field in change.fields:
                console.print(f"~ {row.config} {change.key} {field.path}: {_value(field.old)} -> {_value(field.new)}")
        if len(row.changed) > SHOWN_KEYS:
            console.print(f"~ {row.config}: {len(row.changed) - SHOWN_KEYS} more; --json lists all")
    for field in found.record:
        console.print(f"~ manifest.json {field.path}: {_value(field.old)} -> {_value(field.new)}")
