# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the Parquet files of a config are laid out as readers rely on: names, columns, row groups, statistics.

A reader that filters trusts the statistics of a row group, and one that streams trusts that photographs lie
uncompressed in small groups; what the rows say is checked elsewhere.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from groundset import own_process
from groundset.errors import Problem
from groundset.release.facts import Config
from groundset.release.parquet import IMAGE_COLUMN, PHOTOGRAPHS, rows_per_group, shard_name
from groundset.schema_types import IMAGE_TYPE, arrow_schema

TIMEOUT_S = 3600
_SHARD = re.compile(r"-of-([0-9]{5})\.parquet$")


def name_problems(folder: Path, config: Config) -> list[Problem]:
    """Shards that are missing by the number in the others' names, and files that are no shard.

    Args:
        folder: The release.
        config: One of its configs.
    """
    place = f"data/{config.name}"
    names = {path.name for path in (folder / place).glob("*")}
    count = max((int(match[1]) for name in names if (match := _SHARD.search(name))), default=1)
    expected = {shard_name(number, count) for number in range(count)}
    problems = [Problem(f"{place}/{name}", "", "", "the shard is missing") for name in expected - names]
    return problems + [Problem(f"{place}/{name}", "", "", "no shard has this name") for name in names - expected]


def _column_faults(schema: pa.Schema, expected: pa.Schema) -> Iterator[tuple[str, str]]:
    """Faults of the columns that a check of the rows' types does not see."""
    metadata = sorted(key.decode("utf-8", "replace") for key in schema.metadata or {})
    if "huggingface" in metadata:
        yield "", "it carries huggingface metadata, which older datasets cannot read"
    others = [key for key in metadata if key != "huggingface"]
    if others:
        yield "", f"it carries schema metadata that no release has: {', '.join(others)}"
    if IMAGE_COLUMN in expected.names:
        if IMAGE_COLUMN not in schema.names:
            yield f"$.{IMAGE_COLUMN}", "the column is missing"
        elif schema.field(IMAGE_COLUMN).type != IMAGE_TYPE:
            yield f"$.{IMAGE_COLUMN}", f"the column is {schema.field(IMAGE_COLUMN).type}, not {IMAGE_TYPE}"
    if sorted(schema.names) != sorted(expected.names):
        return
    if schema.names != expected.names:
        yield "", f"its columns are in another order than the schema's: {', '.join(schema.names)}"
        return
    for field in schema:
        if field.metadata or not field.nullable:
            yield f"$.{field.name}", "the column has metadata, or forbids null, as no column of a release does"


def _group_faults(metadata: pq.FileMetaData, group_rows: int) -> Iterator[tuple[str, str]]:
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    if any(size != group_rows for size in sizes[:-1]) or any(size > group_rows for size in sizes):
        yield "", f"its row groups hold {', '.join(map(str, sizes[:9]))} rows, not {group_rows} each"


def _chunk_faults(metadata: pq.FileMetaData) -> Iterator[tuple[str, str]]:
    packed, unindexed = {}, set()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            leaf = chunk.path_in_schema
            if chunk.compression != ("UNCOMPRESSED" if leaf == PHOTOGRAPHS else "ZSTD"):
                packed[leaf] = chunk.compression
            if not chunk.has_offset_index:
                unindexed.add(leaf)
    yield from ((f"$.{leaf}", f"its bytes are {how}, as no release has them") for leaf, how in sorted(packed.items()))
    if unindexed:
        yield "", f"it has no page index of {', '.join(sorted(unindexed))}"


def _statistics_faults(shard: pq.ParquetFile) -> Iterator[tuple[str, str]]:
    """Flat columns whose stated range or nulls are not those of their values: a filter would lose rows by them."""
    flat = [field.name for field in shard.schema_arrow if not pa.types.is_nested(field.type)]
    places = {shard.metadata.schema.column(place).path: place for place in range(len(shard.metadata.schema))}
    wrong = set()
    for number in range(shard.metadata.num_row_groups):
        rows = shard.read_row_group(number, columns=flat)
        for name in flat:
            stated = shard.metadata.row_group(number).column(places[name]).statistics
            if stated is None:
                continue
            found = pc.min_max(rows[name]).as_py()
            nulls_differ = stated.has_null_count and stated.null_count != rows[name].null_count
            if nulls_differ or (stated.has_min_max and (stated.min, stated.max) != (found["min"], found["max"])):
                wrong.add(name)
    yield from ((f"$.{name}", "its statistics are not those of its values") for name in sorted(wrong))


def layout_problems(folder: Path, config: Config, path: Path) -> list[Problem]:
    """What readers would stumble over in the columns and row groups of a shard, whatever its rows say.

    Args:
        folder: The release.
        config: The shard's config.
        path: The shard.

    Raises:
        pyarrow.ArrowException, OSError: It is not Parquet, or is truncated.
    """
    expected = arrow_schema(config.schema)
    with pq.ParquetFile(path) as shard:
        faults = [
            *_column_faults(shard.schema_arrow, expected),
            *_group_faults(shard.metadata, rows_per_group(expected)),
        ]
    file = path.relative_to(folder).as_posix()
    return [Problem(file, "", where, message) for where, message in faults]


def chunk_faults(path: Path) -> list[tuple[str, str]]:
    """(JSON path, what is wrong) of how the columns of a shard are packed, indexed and counted.

    A shard that cannot be read has none: whoever reads its rows tells of it. Some damage in a footer ends the process,
    as pyarrow has no exception for it.
    """
    try:
        with pq.ParquetFile(path) as shard:
            return [*_chunk_faults(shard.metadata), *_statistics_faults(shard)]
    except (pa.ArrowException, OSError, ValueError):
        return []


def chunk_problems(folder: Path, paths: Sequence[Path]) -> list[Problem]:
    """The same of several shards, in a process of its own.

    Args:
        folder: The release.
        paths: Its shards.
    """
    problems: list[Problem] = []
    left = list(paths)
    while left:
        command = own_process.command("groundset.release.shards", *(str(path.resolve()) for path in left))
        environment = own_process.environment()
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return [*problems, Problem("data", "", "", f"the shards could not be looked at: {error}")]
        told = done.stdout.splitlines()
        for path, line in zip(left, told, strict=False):
            file = path.relative_to(folder).as_posix()
            problems += [Problem(file, "", where, message) for where, message in json.loads(line)]
        if len(told) < len(left):
            file = left[len(told)].relative_to(folder).as_posix()
            problems.append(Problem(file, "", "", f"a reader of its footer breaks down, with code {done.returncode}"))
        left = left[len(told) + 1 :]
    return problems


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(json.dumps(chunk_faults(Path(name))), flush=True)  # noqa: T201
