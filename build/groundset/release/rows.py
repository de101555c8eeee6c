# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The rows of a config as a reader of a release takes them who goes on where a shard is at fault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset.errors import Problem
from groundset.release.facts import Config
from groundset.release.parquet import IMAGE_COLUMN, read_rows, shard_paths
from groundset.schema import table_problems
from groundset.schema_types import arrow_schema


def config_rows(folder: Path, config: Config, hint: str = "") -> tuple[list[Mapping[str, Any]], list[Problem]]:
    """Rows without photographs of the shards that keep their schema, and what is wrong with the others.

    Args:
        folder: The release.
        config: One of its configs.
        hint: What to do about a shard that cannot be read.
    """
    rows: list[Mapping[str, Any]] = []
    problems: list[Problem] = []
    without = {IMAGE_COLUMN} & set(arrow_schema(config.schema).names)
    for path in shard_paths(folder, config.name):
        file = path.relative_to(folder).as_posix()
        try:
            table = read_rows(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            message = f"it cannot be read as Parquet: {' '.join(str(error).split())}"
            problems.append(Problem(file, "", "", message, hint))
            continue
        broken = table_problems(config.schema, table, file, config.key[0], without)
        problems += broken
        rows += [] if broken else table.to_pylist()
    return rows, problems
