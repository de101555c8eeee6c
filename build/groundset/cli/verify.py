# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset verify`: checks everything in a release that a reader relies on, or the texts of a set of dialogues."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from groundset import __version__
from groundset.cli import talk
from groundset.cli.release_folder import release_folder, require_release
from groundset.fpco.check_set import CheckedSet, check_folder
from groundset.release import verify as checks


def verify(
    release: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE|HUB_ID", help="Folder of a release or of published records; else ORG/NAME[@vX.Y.Z]."
        ),
    ],
    only_checks: Annotated[
        bool,
        typer.Option("--checks", help="Check the texts of FPCO dialogues only, of a release or of published records."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Check a release: hashes, schemas, invariants, licences, images, loading. Or, with --checks, what is written."""
    with release_folder(release) as folder:
        if only_checks:
            _checks(release, folder, as_json=as_json)
            return
        require_release(folder)
        problems = checks.verify(folder)
        other = checks.other_version(folder)
    if other:
        told = f"groundset {other} made it, and this is {__version__}"
        talk.sayer()(f"{told}: of its pages and figures only the counts were looked at, not the words")
    if as_json:
        talk.print_json({"release": release, "problems": [asdict(problem) for problem in problems]})
    elif problems:
        for problem in problems:
            typer.echo(str(problem))
        typer.echo(f"{release}: problems found: {len(problems)}", err=True)
    else:
        typer.echo(f"{release}: everything is as it should be")
    if problems:
        raise typer.Exit(1)


def _checks(release: str, folder: Path, *, as_json: bool) -> None:
    found = check_folder(folder)
    if as_json:
        talk.print_json(
            {
                "folder": release,
                "records": found.records,
                "records_with_hard": found.records_with(hard=True),
                "records_with_soft": found.records_with(hard=False),
                "rules": [asdict(row) for row in found.by_rule()],
                "verdicts": [asdict(verdict) for verdict in found.verdicts],
                "problems": [asdict(problem) for problem in found.problems],
                "not_read": found.not_read,
            }
        )
    else:
        _print(found)
    if found.problems or found.records_with(hard=True):
        raise typer.Exit(1)


def _print(found: CheckedSet) -> None:
    for problem in found.problems:
        typer.echo(f"{problem}")
    for verdict in found.verdicts:
        typer.echo(f"{verdict.record_id}: {_weight(verdict.hard)} {verdict.rule}: {verdict.detail}")
    for row in found.by_rule():
        typer.echo(f"{_weight(row.hard)} {row.rule}: verdicts {row.verdicts}, records {row.records}")
    hard, soft = found.records_with(hard=True), found.records_with(hard=False)
    typer.echo(f"{found.records} records checked: {hard} with hard verdicts, {soft} with soft ones")
    if found.problems:
        typer.echo(f"problems found: {len(found.problems)}; what they name could not be checked", err=True)
    if found.not_read:
        typer.echo(f"not read: {', '.join(found.not_read)}", err=True)


def _weight(hard: bool) -> str:
    return "hard" if hard else "soft"
