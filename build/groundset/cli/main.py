# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The command `groundset`: its verbs, its exit codes, and how it says that something is wrong."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from groundset import __version__
from groundset.cli import browse, build, diff, explain, fetch, hydrate, manifest, publish, status, verify, withdraw
from groundset.cli.talk import fail
from groundset.errors import INTERRUPTED, GroundsetError

app = typer.Typer(
    name="groundset",
    help="Builds and releases two visual-dialogue benchmarks, CandVG and FPCO-Dialog, from pinned inputs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("build")(build.build)
app.command("fetch")(fetch.fetch)
app.command("status")(status.status)
app.command("verify")(verify.verify)
app.command("explain")(explain.explain)
app.command("diff")(diff.diff)
app.command("hydrate")(hydrate.hydrate)
app.command("publish")(publish.publish)
app.command("withdraw")(withdraw.withdraw)
app.command("browse")(browse.browse)
app.add_typer(manifest.app, name="manifest")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"groundset {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Builds and releases two visual-dialogue benchmarks, CandVG and FPCO-Dialog, from pinned inputs."""


def run(arguments: list[str]) -> int:
    """Runs the command line and returns its exit code.

    0 done; 1 the data is wrong; 2 the command or manifest is wrong; 3 an outside service failed; 4 waiting for people;
    130 interrupted.
    """
    # what Pillow says of a photograph's odd EXIF is told by the stage's verdicts, if it matters
    warnings.filterwarnings("ignore", module=r"PIL\.")
    try:
        app(arguments, prog_name="groundset")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
        if code == INTERRUPTED:
            typer.echo("interrupted; the same command goes on where it was", err=True)
        return code
    except GroundsetError as error:
        fail(error, as_json="--json" in arguments)
        return error.exit_code
    except OSError as error:
        typer.echo(f"groundset: {error.filename or 'a file'}: {error.strerror or error}", err=True)
        return 1
    return 0
