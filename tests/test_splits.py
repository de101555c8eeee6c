# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Splits cover everything once, never cut a line or a group, and are walked in order by any executor."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundset.splits import group_slices, line_ranges, walk

quick = settings(max_examples=120)
in_a_file = settings(quick, suppress_health_check=[HealthCheck.function_scoped_fixture])

contents = st.binary(max_size=60) | st.lists(
    st.sampled_from([b"\n", b"\r\n", b"a", b"bb", b"\0", b"\xff", b"long line of text"]), max_size=25
).map(b"".join)


@in_a_file
@given(content=contents, target=st.integers(1, 70))
def test_ranges_cover_the_file_once_and_end_at_line_ends(tmp_path: Path, content: bytes, target: int) -> None:
    path = tmp_path / "lines"
    path.write_bytes(content)
    ranges = line_ranges(path, target)
    assert ranges[0].start == 0
    assert ranges[-1].stop == len(content)
    assert all(one.stop == other.start for one, other in itertools.pairwise(ranges))
    pieces = [each.read() for each in ranges]
    assert b"".join(pieces) == content
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert [line for piece in pieces for line in piece.split(b"\n")[: piece.count(b"\n")]] == content.split(b"\n")[:-1]
    # only a piece that one long line fills is empty of others; none is smaller than asked but the last
    assert all(target <= len(piece) for piece in pieces[:-1])
    longest = max(map(len, content.split(b"\n"))) + 1
    assert all(len(piece) <= target + longest for piece in pieces)
    assert all(pieces) or content == b""


def test_an_empty_file_is_one_empty_range(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    (only,) = line_ranges(path)
    assert (only.start, only.stop, only.read()) == (0, 0, b"")


def keyed(keys: list[str]) -> pa.Table:
    return pa.table({"key": pa.array(keys, type=pa.string()), "row": pa.array(range(len(keys)), type=pa.int64())})


@quick
@given(st.lists(st.text("abé", max_size=2), max_size=20).map(sorted), st.integers(1, 8), st.integers(0, 20))
def test_slices_join_back_and_never_divide_a_group(keys: list[str], target: int, chunk_at: int) -> None:
    # Arrow and Python agree on the order of these letters
    table = keyed(keys)
    table = pa.concat_tables([table.slice(0, min(chunk_at, len(keys))), table.slice(min(chunk_at, len(keys)))])
    slices = group_slices(table, "key", target)
    assert pa.concat_tables(slices).equals(table)
    groups = [set(piece["key"].to_pylist()) for piece in slices]
    assert all(not one & other for one, other in itertools.combinations(groups, 2))
    assert all(piece.num_rows >= target for piece in slices[:-1])
    largest = max((len(list(group)) for _, group in itertools.groupby(keys)), default=0)
    assert all(piece.num_rows < target + largest for piece in slices[:-1])


@pytest.mark.parametrize("keys", [["b", "a"], ["a", "b", "a"], ["a", "a", "b", "b", "a", "c"]])
def test_an_unsorted_table_is_refused(keys: list[str]) -> None:
    with pytest.raises(ValueError, match="the table is not sorted by key"):
        group_slices(keyed(keys), "key", 1)


def test_an_empty_table_is_one_empty_slice() -> None:
    (only,) = group_slices(keyed([]), "key")
    assert only.equals(keyed([]))


class Backwards(Executor):
    """Another executor: it works from the last split to the first, in the caller's thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise AssertionError("walk uses map alone")

    def map(self, fn: Callable[..., Any], *iterables: Any, timeout: float | None = None, chunksize: int = 1) -> Any:
        splits = list(zip(*iterables, strict=True))
        return iter([fn(*split) for split in reversed(splits)][::-1])


def slow_first(number: int) -> int:
    time.sleep(0.02 if number == 0 else 0)
    return number * number


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_results_come_in_the_order_of_the_splits(count: int) -> None:
    expected = [number * number for number in range(count)]
    assert walk(slow_first, range(count)) == expected
    assert walk(slow_first, range(count), Backwards()) == expected
    with ThreadPoolExecutor(3) as threads:
        assert walk(slow_first, range(count), threads) == expected


def test_processes_can_walk_too() -> None:
    with ProcessPoolExecutor(1) as processes:
        assert walk(str, [3, 1, 2], processes) == ["3", "1", "2"]


@pytest.mark.parametrize("count", [1, 4])
def test_an_error_in_a_split_is_not_swallowed(count: int) -> None:
    def fail(number: int) -> int:
        raise ValueError(f"split {number}")

    with pytest.raises(ValueError, match="split 0"):
        walk(fail, range(count))
