# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Splits: pieces of a large input that can be worked on apart and joined in order.

A split is a byte range cut on line borders, or a slice of a table cut on group borders. The results are joined in split
order, so neither the number of workers nor the engine can change them. Any `concurrent.futures.Executor` walks them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Split = TypeVar("Split")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Range:
    """Bytes `start` (inclusive) to `stop` (exclusive) of a file; both lie on line borders."""

    path: Path
    start: int
    stop: int

    def read(self) -> bytes:
        """The bytes of the range."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read(self.stop - self.start)


def line_ranges(path: Path, target_bytes: int = 16 << 20) -> list[Range]:
    """Cuts a file of lines into ranges of about `target_bytes`, each ending after a line feed or at the end."""
    size = path.stat().st_size
    cuts = [0]
    with path.open("rb") as file:
        while cuts[-1] + target_bytes < size:
            file.seek(cuts[-1] + target_bytes)
            file.readline()
            cuts.append(file.tell())
    if cuts[-1] < size or size == 0:
        cuts.append(size)
    return [Range(path, start, stop) for start, stop in itertools.pairwise(cuts)]


def group_slices(table: pa.Table, column: str, target_rows: int = 65_536) -> list[pa.Table]:
    """Cuts a table that is sorted by `column` into slices that never divide a group.

    Raises:
        ValueError: The table is not sorted by that column, so a group could be divided.
    """
    if table.num_rows == 0:
        return [table]
    keys = table.column(column).combine_chunks()
    if table.num_rows > 1 and pc.any(pc.greater(keys[:-1], keys[1:])).as_py():
        raise ValueError(f"the table is not sorted by {column}")
    starts = np.flatnonzero(np.asarray(pc.not_equal(keys[:-1], keys[1:]))) + 1
    cuts, wanted = [0], target_rows
    for start in starts.tolist():
        if start >= wanted:
            cuts.append(start)
            wanted = start + target_rows
    cuts.append(table.num_rows)
    return [table.slice(start, stop - start) for start, stop in itertools.pairwise(cuts)]


def walk(
    function: Callable[[Split], Result], splits: Sequence[Split], executor: Executor | None = None
) -> list[Result]:
    """Applies a pure function to every split and returns the results in split order.

    Args:
        function: What to do with one split.
        splits: The splits.
        executor: Who does the work; a thread pool of this machine's cores if none is given.
    """
    if executor is not None:
        return list(executor.map(function, splits))
    if len(splits) <= 1:
        return [function(split) for split in splits]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as threads:
        return list(threads.map(function, splits))
