# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads a release for looking at it: rows held against their schemas, photographs against their hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from groundset.errors import DataError, Problem, UsageError
from groundset.files import sha256_bytes, write_atomic
from groundset.release.facts import CONFIGS, WITH_IMAGE, configs_of
from groundset.release.parquet import read_photographs, shard_paths
from groundset.release.record import ReleaseRecord, decode, no_release
from groundset.release.rows import config_rows

Row = Mapping[str, Any]

VERIFY_HINT = "groundset verify says more"


@dataclass(frozen=True)
class Rows:
    """A release as it is read.

    Attributes:
        folder: Its folder.
        record: Its manifest.json.
        tables: Config to its rows without the photographs, in the order of its shards.
    """

    folder: Path
    record: ReleaseRecord
    tables: Mapping[str, list[Row]]


def read_release(folder: Path) -> Rows:
    """Reads every config of a release.

    Raises:
        UsageError: The folder holds no release.
        DataError: A shard cannot be read, a row breaks its schema, or a row names a photograph that the release does
            not list; names all.
    """
    try:
        record = decode((folder / "manifest.json").read_bytes())
    except OSError as error:
        raise no_release(folder, error) from error
    except ValueError as error:
        raise UsageError(f"{folder} is no release: manifest.json: {' '.join(str(error).split())}") from error
    if record.facts.benchmark not in CONFIGS:
        raise DataError(f"{folder}: {record.facts.benchmark!r} is no benchmark that is known")
    problems: list[Problem] = []
    tables: dict[str, list[Row]] = {}
    for config in configs_of(record.facts):
        if not shard_paths(folder, config.name):
            problems.append(Problem(f"data/{config.name}", "", "", "it holds no shard", VERIFY_HINT))
        tables[config.name], wrong = config_rows(folder, config, VERIFY_HINT)
        problems += wrong
    problems = problems or _dangling(tables)
    if problems:
        raise DataError(f"{folder} cannot be shown", problems)
    return Rows(folder, record, tables)


def _dangling(tables: Mapping[str, list[Row]]) -> list[Problem]:
    images = {row["image_id"] for row in tables["images"]}
    dialogues = {row["dialogue_id"] for row in tables["dialogues"]}
    problems = []
    for config, rows in sorted(tables.items()):
        for row in rows:
            if row["image_id"] not in images:
                message = f"the config images has no {row['image_id']}"
            elif config != "images" and row["dialogue_id"] not in dialogues:
                message = f"the config dialogues has no {row['dialogue_id']}"
            else:
                continue
            where = row.get("dialogue_id", row["image_id"])
            problems.append(Problem(f"data/{config}", where, "", message, VERIFY_HINT))
    return problems


def write_photographs(release: Rows, cache: Path) -> dict[str, Path]:
    """Writes the photographs that a release carries to files called by their sha256; those that are there stay.

    Args:
        release: The release, or a hydrated copy of it.
        cache: Folder of the files; it may hold those of other releases.

    Returns:
        image_id to file; photographs that the release only refers to are not in it.

    Raises:
        DataError: A photograph is not the one that the release lists; names each.
    """
    config = WITH_IMAGE[release.record.facts.benchmark]
    listed = {row["image_id"]: row["sha256"] for row in release.tables["images"]}
    cache.mkdir(parents=True, exist_ok=True)
    places: dict[str, Path] = {}
    problems: list[Problem] = []
    for path in shard_paths(release.folder, config):
        for image_id, photograph in read_photographs(path):
            if photograph is None or image_id in places:
                continue
            content = photograph["bytes"]
            found = sha256_bytes(content) if isinstance(content, bytes) else "none"
            if found != listed[image_id] or not isinstance(content, bytes):
                message = f"sha256 {found} of the photograph is not {listed[image_id]}, as the config images says"
                problems.append(Problem(f"data/{config}/{path.name}", image_id, "$.image", message, VERIFY_HINT))
                continue
            places[image_id] = cache / f"{found}{PurePosixPath(str(photograph['path'])).suffix.lower() or '.jpg'}"
            if not places[image_id].is_file() or places[image_id].stat().st_size != len(content):
                write_atomic(places[image_id], content)
    if problems:
        raise DataError(f"{release.folder} cannot be shown", problems)
    return places
