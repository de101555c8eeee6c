# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset browse`: a release in the FiftyOne App."""

from __future__ import annotations

import os
import socket
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from groundset.cli import talk
from groundset.cli.release_folder import release_folder
from groundset.errors import ServiceError, UsageError
from groundset.views import fiftyone_view
from groundset.views.layout import ALL_VIEW
from groundset.views.shown import Shown, read_shown

ADDRESS = "127.0.0.1"
PORT = 5151


def browse(
    release: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE|HUB_ID", help="Folder of a release or a hydrated copy; else ORG/NAME[@vX.Y.Z]."
        ),
    ],
    no_app: Annotated[bool, typer.Option("--no-app", help="Only make the dataset, and print its views.")] = False,
    rejected: Annotated[
        Path | None,
        typer.Option(metavar="WORK_DIR", help="Work folder of the build: show what it rejected and flagged, too."),
    ] = None,
    sources: Annotated[
        Path | None, typer.Option(help="Folder of the source files, for the photographs of rejected records.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for the photographs; one below ~/.cache if none is given.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the App on this machine.")] = PORT,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make the dataset anew, without the tags that you have put on it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Look at a release in the FiftyOne App: dialogues turn by turn, by stratum and by licence."""
    # the App is for the one who looks: it need not report its use, nor warn of the database that it brings along
    os.environ.setdefault("FIFTYONE_DO_NOT_TRACK", "true")
    os.environ.setdefault("FIFTYONE_DATABASE_VALIDATION", "false")
    os.environ.setdefault("FIFTYONE_LOGGING_LEVEL", "ERROR")
    if not no_app:
        _require_free(port)

    say = talk.sayer()
    fiftyone_view.require_fiftyone()
    with release_folder(release) as folder:
        shown = read_shown(folder, cache, rejected, sources)
    say(f"opening {shown.name} in FiftyOne")
    with redirect_stdout(sys.stderr):
        dataset = fiftyone_view.open_dataset(shown, fresh=fresh)
    _tell_unseen(shown, say)
    if as_json:
        talk.print_json(_as_json(shown))
    else:
        _print(shown)
    if not no_app:
        address = f"http://{ADDRESS}:{port}/datasets/{quote(dataset.name)}?view={quote(ALL_VIEW)}"
        say(f"look at {address} and end with Ctrl-C")
        _serve(port)
        say(f"the dataset {dataset.name} stays in FiftyOne")


def _tell_unseen(shown: Shown, say: Callable[[str], None]) -> None:
    if shown.unseen:
        counts = ", ".join(f"{licence} {count}" for licence, count in shown.unseen.items())
        say(
            f"not shown: {shown.unseen_turns} turns on {sum(shown.unseen.values())} photographs that the release only "
            f"refers to ({counts}); groundset hydrate makes a copy that has them"
        )
    found = shown.rejections
    for name, count in found.without_photograph.items():
        say(f"not shown, as their photographs are not there: {count} rejected by {name}")
    for name, count in found.beyond.items():
        say(f"not shown: {count} more records that {name} rejected")


def _as_json(shown: Shown) -> dict[str, Any]:
    return {
        "dataset": shown.name,
        "samples": len(shown.entries),
        "views": [
            {
                "name": view.name,
                "grouped": view.grouped,
                "samples": view.entries,
                "dialogues": view.dialogues,
            }
            for view in shown.views
        ],
        "tags": dict(Counter(tag for entry in shown.entries for tag in entry.tags)),
        "photographs_not_shown": dict(shown.unseen),
        "turns_not_shown": shown.unseen_turns,
        "rejected_without_photograph": dict(shown.rejections.without_photograph),
        "rejected_beyond": dict(shown.rejections.beyond),
    }


def _print(shown: Shown) -> None:
    table = Table(title=f"{shown.title}: {shown.name} in FiftyOne")
    table.add_column("view")
    table.add_column("dialogues", justify="right")
    table.add_column("samples", justify="right")
    for view in shown.views:
        table.add_row(view.name, str(view.dialogues), str(view.entries))
    Console(highlight=False, markup=False, soft_wrap=True).print(table)


def _require_free(port: int) -> None:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((ADDRESS, port))
        except OSError as error:
            raise UsageError(f"port {port} cannot be had: {error.strerror}; name another with --port") from error


def _serve(port: int) -> None:
    # stdout is for results
    with redirect_stdout(sys.stderr):
        try:
            fiftyone_view.serve(ADDRESS, port)
        except OSError as error:
            raise ServiceError(f"the FiftyOne App does not start on port {port}: {error.strerror or error}") from error
