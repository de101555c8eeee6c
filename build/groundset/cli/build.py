# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset build`: brings a manifest's stages up to date, ending with a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundset import benchmarks, runner
from groundset import manifest as manifests
from groundset.cli import talk
from groundset.shortfalls import short
from groundset.stage import read_receipt


def build(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    to: Annotated[str, typer.Option(help="Last stage to run, such as 30_stratify.")] = "",
    only: Annotated[str, typer.Option(help="The one stage to run.")] = "",
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    locked: Annotated[bool, typer.Option("--locked", help="Refuse to add a pin to the lock.")] = False,
    repin: Annotated[bool, typer.Option("--repin", help="Replace pins that differ from what is found.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Build a release from a manifest; what is up to date is not done again."""
    checked = manifests.read(manifest, sources)
    options = runner.Options(to=to, only=only, locked=locked, repin=repin)
    place = runner.build(checked, work, options, talk.sayer())
    done = [stage.name for stage in benchmarks.stages(checked) if read_receipt(place, stage.name)]
    release = place.work / "80_package" / "release"
    finished = "80_package" in done and not (to or only)
    if as_json:
        lacking = {row.stratum: [row.reaches, row.want] for row in short(runner.strata(place))}
        talk.print_json({"stages": done, "release": str(release) if finished else None, "short": lacking})
    elif finished:
        typer.echo(str(release))
