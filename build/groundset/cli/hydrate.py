# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset hydrate`: a local copy of a release with the photographs that it only refers to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from groundset.cli import talk
from groundset.cli.fetch import Meter
from groundset.errors import SHOWN_PROBLEMS, DataError, ServiceError
from groundset.fetching.download import Download, Outcome
from groundset.fetching.download import fetch as fetch_files
from groundset.fetching.pacing import Manners
from groundset.release import hydrate as releases


def hydrate(
    release: Annotated[Path, typer.Argument(help="Folder of the release; it is not changed.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the copy; RELEASE-hydrated if none is given.")] = None,
    photographs: Annotated[
        list[Path] | None, typer.Option(help="A folder in which photographs lie already; may be given several times.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Files at a time.")] = 8,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Write a local copy of a release with its referenced photographs fetched, checked and filled in."""
    say = talk.sayer()
    target = out or release.resolve().with_name(f"{release.resolve().name}-hydrated")
    manners = Manners(jobs=jobs, per_host=min(jobs, Manners().per_host))

    def get(downloads: Sequence[Download]) -> Sequence[Outcome]:
        if not downloads:
            return []
        say(f"fetching {len(downloads)} photographs")
        with Meter(downloads, Console(stderr=True)) as meter:
            return fetch_files(downloads, manners, watch=meter.watch, ended=meter.ended)

    try:
        found = releases.hydrate(release, target, get, photographs or [])
    except OSError as error:
        told = f"{error.filename or target}: {error.strerror or error}"
        kept = f"what has been fetched stays in {target / releases.PHOTOGRAPHS}, and the same command goes on"
        raise DataError(f"the copy could not be finished: {told}; {kept}") from error
    say(f"{len(found.filled)} photographs filled in, {len(found.lacking)} lacking")
    for image_id, reason in list(found.lacking.items())[:SHOWN_PROBLEMS]:
        say(f"lacking: {image_id}: {reason}")
    if len(found.lacking) > SHOWN_PROBLEMS:
        say(f"lacking: {len(found.lacking) - SHOWN_PROBLEMS} more; --json lists all")
    if as_json:
        talk.print_json(
            {
                "copy": str(target),
                "filled": list(found.filled),
                "lacking": dict(found.lacking),
                "received_bytes": found.received_bytes,
            }
        )
    else:
        typer.echo(str(target))
    if found.lacking:
        raise typer.Exit(ServiceError.exit_code)
