# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""manifest.json of a release: the rules it was built by, and the digests of all that went in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from groundset.errors import UsageError
from groundset.release.attribution import Rights
from groundset.release.facts import Facts

FORMAT = 1
# where a build puts a release, seen from the folders above it
_BELOW = ("release", "80_package/release", "*/80_package/release")


@dataclass(frozen=True)
class TableRecord:
    """One config as manifest.json names it."""

    schema: str
    rows: int


@dataclass(frozen=True)
class ReleaseRecord:
    """What manifest.json holds; with the rows it is enough to write the card, the licence page and croissant.json anew.

    Attributes:
        facts: What the release says of itself.
        rights: The rights that do not differ from photograph to photograph.
        tables: Config to its schema and rows.
        manifest: The manifest that it was built by.
        digests: Digests of imported tables, decisions and code as the build gives them, and `photographs`: image_id to
            sha256.
        format: Version of this file's form.
    """

    facts: Facts
    rights: Rights
    tables: Mapping[str, TableRecord]
    manifest: Mapping[str, Any]
    digests: Mapping[str, Any]
    format: int = FORMAT


def canonical_json(value: Any) -> str:
    """JSON in its one form: sorted keys, no blanks, UTF-8, no NaN.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'

    Raises:
        UsageError: The value holds something that JSON has no form for.
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"what the release would record is not JSON: {error}") from error


def encode(record: ReleaseRecord) -> str:
    """manifest.json."""
    return canonical_json(asdict(record)) + "\n"


def decode(content: bytes) -> ReleaseRecord:
    """Reads manifest.json.

    Raises:
        ValueError: It is not JSON, or not of this form; the message names the place.
    """
    try:
        return msgspec.json.decode(content, type=ReleaseRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def no_release(folder: Path, error: OSError) -> UsageError:
    """The error that a folder is no release, as its manifest.json cannot be read; names the releases right below it."""
    found = sorted(
        str(path) for pattern in _BELOW for path in folder.glob(pattern) if (path / "manifest.json").is_file()
    )
    hint = f"; below it there is {', '.join(found)}" if found else ""
    return UsageError(f"{folder} is no release: manifest.json: {error.strerror}{hint}")
