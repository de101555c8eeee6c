# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset verify`: checks everything in a release that a reader relies on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from groundset.cli import talk
from groundset.errors import UsageError
from groundset.release import verify as checks


def verify(
    release: Annotated[Path, typer.Argument(help="Folder of the release.")],
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Check a release: hashes, schemas, invariants, licences, images, loading."""
    if not release.is_dir():
        raise UsageError(f"{release}: there is no such folder")
    problems = checks.verify(release)
    if as_json:
        talk.print_json({"release": str(release), "problems": [asdict(problem) for problem in problems]})
    elif problems:
        for problem in problems:
            typer.echo(str(problem))
        typer.echo(f"{release}: {len(problems)} problems", err=True)
    else:
        typer.echo(f"{release}: everything is as it should be")
    if problems:
        raise typer.Exit(1)
