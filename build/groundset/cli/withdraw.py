# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset withdraw`: records that a photograph must go, so that the next build leaves it out."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from groundset import lock, runner, schema, withdrawals
from groundset import manifest as manifests
from groundset.cli import talk
from groundset.errors import DataError, UsageError
from groundset.files import sha256_bytes, sha256_if_there, write_atomic
from groundset.stage import Place, read_receipt, read_table
from groundset.withdrawals import Withdrawal


class Reason(StrEnum):
    """Why a photograph must go, as `schemas/withdrawal` has it."""

    OWNER = "owner"
    LICENCE = "licence"
    FAULT = "fault"


def _known(place: Place, image_id: str) -> dict[str, Any] | None:
    """What the sources say of the image; None where they have not been imported.

    Raises:
        UsageError: They have no such image.
    """
    if read_receipt(place, "10_import") is None:
        return None
    rows: dict[str, dict[str, Any]] = {
        row["image_id"]: row for row in read_table(place, "10_import/images").to_pylist()
    }
    if image_id not in rows:
        near = difflib.get_close_matches(image_id, rows, n=3)
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise UsageError(f"{place.manifest.path}: no photograph of its sources is called {image_id}{hint}")
    return rows[image_id]


def _pixels(place: Place, image_id: str) -> str | None:
    if read_receipt(place, "40_images") is None:
        return None
    rows = read_table(place, "40_images/photographs").select(["image_id", "pixels_sha256"]).to_pylist()
    return next((row["pixels_sha256"] for row in rows if row["image_id"] == image_id), None)


def _check_pin(pinned: lock.Lock, path: Path) -> None:
    """Refuses a file that somebody has changed by hand: it would be pinned unseen."""
    problems = lock.differences(pinned, "decisions", {path.name: {"sha256": sha256_if_there(path)}})
    if problems:
        raise DataError(f"{path} is not what is pinned", problems)


def withdraw(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    image_id: Annotated[str, typer.Argument(help="Id of the photograph, as the column image_id has it.")],
    reason: Annotated[Reason, typer.Option(help="Who made it asks for it; its licence; a fault.")],
    note: Annotated[str, typer.Option(help="What is known of it; it enters no release.")],
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Record that a photograph must go: the next build leaves it out everywhere, and the card lists it."""
    if not note.strip():
        raise UsageError("--note is empty; say what is known, such as who asked for it and when")
    wrong = schema.errors("withdrawal", asdict(Withdrawal(image_id, reason.value, note.strip(), None, None)))
    if wrong:
        told = "; ".join(message for _, message in wrong)
        raise UsageError(f"{image_id!r} can be no photograph's id, as the column image_id has it: {told}")
    say = talk.sayer()
    checked = manifests.read(manifest, needs_sources=False)
    place, path = runner.place_of(checked, work), checked.withdrawals_path
    pinned = lock.read(checked.lock_path)
    _check_pin(pinned, path)
    rows = {row.image_id: row for row in withdrawals.read(path)}
    image, before = _known(place, image_id), rows.get(image_id)
    if image is None:
        say(f"nothing has been imported in {place.work}, so the id is not checked; the build flags one that is unknown")
    # a photograph that was left out by an earlier withdrawal is measured no more
    flickr_id = image["flickr_id"] if image else before.flickr_id if before else None
    pixels = _pixels(place, image_id) or (before.pixels_sha256 if before else None)
    row = Withdrawal(image_id, reason.value, note.strip(), flickr_id, pixels)
    if row == before:
        say(f"{path} says so already")
    else:
        rows[image_id] = row
        content = withdrawals.encode(rows.values())
        write_atomic(path, content)
        if not checked.is_generated or path.name in pinned.pins["decisions"]:
            pin = {path.name: {"sha256": sha256_bytes(content)}}
            lock.write(lock.merged(pinned, "decisions", pin, repin=True)[0])
        say(f"withdrawn: {len(rows)} in {path}; groundset build {manifest} leaves them out")
    if as_json:
        talk.print_json({"file": str(path), "withdrawn": [asdict(rows[name]) for name in sorted(rows)]})
    else:
        typer.echo(str(path))
