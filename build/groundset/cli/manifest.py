# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset manifest show`: manifest and lock together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundset import lock
from groundset import manifest as manifests
from groundset.cli import talk

app = typer.Typer(help="Look at a manifest.", no_args_is_help=True)


@app.callback()
def _verbs() -> None:
    """Look at a manifest."""


@app.command("show")
def show(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Show a manifest and what its lock pins."""
    checked = manifests.read(manifest, sources, needs_sources=False)
    pins = lock.read(checked.lock_path)
    if as_json:
        talk.print_json(
            {"manifest": dict(checked.content), "lock": {kind: dict(rows) for kind, rows in pins.pins.items()}}
        )
        return
    typer.echo(manifest.read_text(encoding="utf-8").rstrip("\n"))
    typer.echo("")
    if checked.is_generated:
        typer.echo("# Its sources are generated: they are recorded and not pinned.")
        return
    typer.echo(f"# Pinned in {checked.lock_path.name}:")
    for kind, rows in sorted(pins.pins.items()):
        typer.echo(f"#   {kind}: {len(rows)}")
        if kind == "photographs":
            continue
        for name, pin in sorted(rows.items()):
            typer.echo(f"#     {name}: {', '.join(f'{key} {value}' for key, value in sorted(pin.items()))}")
    for source in checked.content["sources"]:
        if source["name"] not in pins.pins["sources"]:
            typer.echo(f"#   source {source['name']} is not pinned yet; the first build pins it")
