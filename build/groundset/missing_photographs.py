# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Which absent photographs have still to be fetched, and which their servers do not have.

A photograph that is not there may be gone, or nobody has run `groundset fetch` yet: the one gives way to another, for
the other a build has to wait. What servers said that they lack, fetch notes in a file in the source root, so that it
goes where the photographs go and a build elsewhere, without network, takes the same ones for missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from groundset.errors import DataError
from groundset.files import readable_json, write_atomic

NAME = "missing_photographs.json"
NO_URL = "none"

Row = Mapping[str, Any]


def key_of(image: Row, source: Row) -> str:
    """Name of a photograph in the note: its path below the source root."""
    return Path(source["images"], image["file_name"]).as_posix()


def read(root: Path) -> dict[str, str]:
    """What servers do not have: path below the source root to what they said; empty if nothing is noted.

    Raises:
        DataError: The note is broken.
    """
    path = root / NAME
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: it is no list of missing photographs: {error} (remove it and fetch again)") from None


def note(root: Path, missing: Mapping[str, str], there: set[str]) -> None:
    """Adds photographs that are missing, takes out those that are there now; the file changes only if the note does."""
    before = read(root)
    after = {key: reason for key, reason in {**before, **missing}.items() if key not in there}
    if after != before:
        write_atomic(root / NAME, readable_json(after))


def _waits_for_archive(source: Row, root: Path) -> bool:
    """Whether the source's photographs come from an archive that has not been fetched."""
    archives = [entry["path"] for entry in source.get("downloads", ()) if entry["unpack"]]
    folder = root / source["images"]
    is_empty = not folder.is_dir() or next(folder.iterdir(), None) is None
    return is_empty and any(not (root / path).exists() for path in archives)


def to_fetch(images: list[dict[str, Any]], sources: Mapping[str, Row], root: Path) -> list[dict[str, Any]]:
    """Those of the images whose photograph is absent, can be fetched, and has not been asked for in vain.

    Args:
        images: Records of `schemas/image`.
        sources: The manifest's sources by name.
        root: The source root.

    Raises:
        DataError: The note of what is missing is broken.
    """
    archives = {name: _waits_for_archive(source, root) for name, source in sources.items()}
    noted = read(root)
    waiting = []
    for image in images:
        source = sources[image["source_name"]]
        single = source.get("photograph_url", NO_URL) != NO_URL
        key = key_of(image, source)
        if (single and key not in noted) or archives[image["source_name"]]:
            waiting.append(image)
    return waiting
