# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads a large instances file in two processes, a part of it each: decoding JSON cannot be shared among threads.

The other process is a new interpreter: a fork is not safe where there are threads, and the workers of multiprocessing
would run a user's own script again. Run as `python -m groundset.sources.coco_halves PATH GAP` it writes what it has
read, pickled. Whatever goes wrong in either half is left to the reader of the whole, which says what it is.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from groundset import own_process
from groundset.sources import coco_file, json_pieces
from groundset.sources.coco_file import INSTANCES, PIECE_BYTES, Annotations, Surroundings

# from here on another process is worth its start
HALVED_BYTES = 1 << 26

Half = tuple[Annotations, bytes]


def read_instances(path: Path) -> tuple[Surroundings, Annotations]:
    """The content of an instances file.

    Raises:
        DataError: The file cannot be read or is no instances file.
    """
    with _no_search_for_cycles():
        gap = _middle(path)
        found = None if gap is None else _in_halves(path, gap)
        return coco_file.read_instances(path) if found is None else coco_file.checked(path, *found)


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Pauses the garbage collector: it would look through hundreds of thousands of records, which make no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _middle(path: Path) -> int | None:
    """Place of a comma at which the file can be cut; None if it is small, or there is only one processor."""
    try:
        size = path.stat().st_size
        if size < HALVED_BYTES or len(os.sched_getaffinity(0)) < 2 or not sys.executable:
            return None
        # the other process has to start first
        return json_pieces.gap_after(path, size // 5 * 3)
    except (OSError, ValueError, AttributeError):
        # not every system says on which processors a process may run
        return None


def _in_halves(path: Path, gap: int) -> tuple[Surroundings, list[Annotations]] | None:
    parts: list[Annotations] = []
    with _second_half_elsewhere(path, gap) as second:
        take = coco_file.taker(INSTANCES, parts)
        head = json_pieces.pieces_before(path, "annotations", take, PIECE_BYTES, gap)
        half = None if head is None else second()
    if head is None or half is None:
        return None
    content = coco_file.around(json_pieces.remainder(head, bytearray(half[1])), INSTANCES)
    return None if content is None else (content, [*parts, half[0]])


@contextmanager
def _second_half_elsewhere(path: Path, gap: int) -> Iterator[Callable[[], Half | None]]:
    """Begins to read what stands behind the comma; gives a function that waits for it."""
    command = own_process.command("groundset.sources.coco_halves", str(path), str(gap))
    try:
        process = subprocess.Popen(
            command,
            env=own_process.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        yield lambda: None
        return

    assert process.stdout is not None
    # a pipe that nobody reads holds up who writes
    with process, ThreadPoolExecutor(1) as pool:
        written = pool.submit(process.stdout.read)

        def result() -> Half | None:
            found: Half | None = pickle.loads(written.result()) if written.result() and process.wait() == 0 else None
            return found

        try:
            yield result
        finally:
            process.kill()


def second_half(path: Path, gap: int) -> Half | None:
    """The annotations behind a comma of an instances file, and what stands behind them; None if it is no such comma."""
    parts: list[Annotations] = []
    tail = json_pieces.pieces_after(path, coco_file.taker(INSTANCES, parts), PIECE_BYTES, gap)
    return None if tail is None or not parts else (coco_file.joined(parts), bytes(tail))


def main() -> None:
    """Writes the second half to stdout; ends with 1 if it cannot be read so."""
    with _no_search_for_cycles():
        found = second_half(Path(sys.argv[1]), int(sys.argv[2]))
    if found is None:
        sys.exit(1)
    pickle.dump(found, sys.stdout.buffer, protocol=5)


if __name__ == "__main__":
    main()
