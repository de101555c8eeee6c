# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Photographs that must go: a canonical file beside the manifest, and which images of the sources it speaks of.

A withdrawn photograph is rejected by 40_images, where a photograph that is broken is rejected too: the next of its
stratum comes in, or the stratum gets shorter, as the manifest says, and no other record moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from groundset import schema
from groundset.errors import DataError, Problem
from groundset.files import canonical_json
from groundset.schema_types import arrow_schema
from groundset.verdicts import Verdict

RULE = "withdrawn"
REASONS = ("owner", "licence", "fault")
# what a release does not say of a withdrawn photograph
UNTOLD = ("note", "flickr_id", "pixels_sha256")


@dataclass(frozen=True)
class Withdrawal:
    """One photograph that must go, as `schemas/withdrawal`.

    Attributes:
        image_id: The photograph.
        reason: `owner`: who made it asks for it; `licence`: it is not as the source said; `fault`: it should not be
            shown, or is not what its record says.
        note: What is known of it, for whoever keeps the manifest; it enters no release.
        flickr_id: Its id at Flickr, by which the same photograph of another source is told; None if unknown.
        pixels_sha256: The hash of its pixels, for the same; None if unknown.
    """

    image_id: str
    reason: str
    note: str
    flickr_id: str | None
    pixels_sha256: str | None


def encode(rows: Iterable[Withdrawal]) -> bytes:
    """The file: one canonical JSON line each, sorted by image."""
    return b"".join(canonical_json(asdict(row)) + b"\n" for row in sorted(rows, key=lambda row: row.image_id))


def read(path: Path) -> tuple[Withdrawal, ...]:
    """Reads the file, sorted by image; one that is not there withdraws nothing.

    Raises:
        DataError: With every problem of every line: not JSON, against the schema, or an image named twice.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise DataError(f"{path}: it cannot be read: {error.strerror}") from None
    rows: dict[str, Withdrawal] = {}
    problems: list[Problem] = []
    for number, line in enumerate(lines, 1):
        where = f"line {number}"
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problems.append(Problem(str(path), where, "", f"it is not JSON: {error}"))
            continue
        wrong = schema.errors("withdrawal", record)
        problems += [Problem(str(path), where, place, message) for place, message in wrong]
        if wrong:
            continue
        if record["image_id"] in rows:
            problems.append(Problem(str(path), where, "$.image_id", f"{record['image_id']} is withdrawn twice"))
        rows[record["image_id"]] = Withdrawal(**record)
    if problems:
        raise DataError(f"{path}: problems found: {len(problems)}", problems)
    return tuple(rows[image_id] for image_id in sorted(rows))


def _verdict(image_id: str, row: Withdrawal) -> Verdict:
    same = "" if image_id == row.image_id else f": it is the same photograph as {row.image_id}"
    return Verdict(image_id, "image", RULE, f"withdrawn for the reason {row.reason}{same}")


def by_record(images: Iterable[Mapping[str, Any]], rows: Iterable[Withdrawal]) -> dict[str, Verdict]:
    """Image id to the verdict on it, of images that are withdrawn by their id or their id at Flickr.

    Args:
        images: Records of `schemas/image`.
        rows: What is withdrawn.
    """
    named = {row.image_id: row for row in rows}
    if not named:
        return {}
    known = list(images)
    at_flickr = {row.flickr_id: row for row in named.values() if row.flickr_id}
    # an image of the sources may tell what the record does not
    told = {image["flickr_id"]: named[image["image_id"]] for image in known if image["image_id"] in named}
    at_flickr = {flickr_id: row for flickr_id, row in told.items() if flickr_id} | at_flickr
    found = {}
    for image in known:
        row = named.get(image["image_id"]) or at_flickr.get(image["flickr_id"])
        if row is not None:
            found[image["image_id"]] = _verdict(image["image_id"], row)
    return found


def by_pixels(pixels: Mapping[str, str], rows: Iterable[Withdrawal]) -> dict[str, Verdict]:
    """The same of images that show the pixels of a withdrawn one.

    Args:
        pixels: Image id to the hash of its pixels.
        rows: What is withdrawn.
    """
    shown = {row.pixels_sha256: row for row in rows if row.pixels_sha256}
    return {image_id: _verdict(image_id, shown[digest]) for image_id, digest in pixels.items() if digest in shown}


def unknown(image_ids: Iterable[str], rows: Iterable[Withdrawal]) -> list[Verdict]:
    """Flags what is withdrawn and is no image of the sources: a slip of the pen would withdraw nothing."""
    known = set(image_ids)
    told = "it is withdrawn, but no image of the sources has this id"
    return [
        Verdict(row.image_id, "image", "unknown_withdrawal", told, hard=False)
        for row in rows
        if row.image_id not in known
    ]


def table(rows: Iterable[Withdrawal]) -> pa.Table:
    """What a release says of the withdrawn: image and reason."""
    listed = [{"image_id": row.image_id, "reason": row.reason} for row in rows]
    return pa.Table.from_pylist(listed, schema=arrow_schema("withdrawal", UNTOLD))
