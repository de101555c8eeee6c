# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads the one long array of a JSON document in pieces, so that neither the file nor its records lie in memory whole.

A piece is cut where the text looks like the end of one record and the beginning of the next. Whether it is one is
proved by parsing: what comes before a cut, closed by one bracket, is JSON only if the cut lies between two values of
the array itself, neither in a text nor in anything inner. What does not fit is left to a reader of whole files.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import msgspec
import numpy as np

_GAP = re.compile(rb"\}(\s*),\s*\{")
# msgspec's error of a JSON text that ends before its bytes do; the number is about the place of the first one too many
_TOO_MANY = re.compile(r"trailing characters \(byte (\d+)\)")
_TRIES = 1000
_FIRST_STEP_BACK = 256

Take = Callable[[memoryview], None]
Fill = Callable[[memoryview], int]


@dataclass(frozen=True)
class Remainder:
    """What is left of a document without its long array.

    Attributes:
        document: The document's bytes, with a text in the array's place.
        stand_in: That text, which occurs nowhere else in the document.
    """

    document: bytearray
    stand_in: str


class _Unfit(Exception):  # noqa: N818
    """The file has to be read whole."""


# msgspec's errors and those of UTF-8 are ValueErrors
_FAULTS = (OSError, ValueError, RecursionError, _Unfit)


def each_piece(path: Path, key: str, take: Take, piece_bytes: int) -> Remainder | None:
    """Hands over the array under a key of the document in pieces, each of which is a JSON array of its own.

    Args:
        path: The file, UTF-8.
        key: A key of the outermost object, of ASCII letters.
        take: Gets each piece in order. It must raise a DecodeError before it keeps anything of a piece that is not
            JSON or not what it expects.
        piece_bytes: How much to read at a time; a file that is no longer is not read in pieces.

    Returns:
        The rest of the document. The array was the right one only if the caller finds `stand_in` under the key in it.
        None if the file cannot be read in pieces, for whatever reason: then nothing that was taken counts.
    """
    try:
        if path.stat().st_size <= piece_bytes:
            return None
        with path.open("rb", buffering=0) as file:
            fill = _filler(file)
            head, held = _head(fill, f'"{key}"'.encode(), piece_bytes)
            tail = _rest(fill, _array(fill, held, take, piece_bytes), held)
    except _FAULTS:
        return None
    return remainder(head, tail)


def remainder(head: bytearray, tail: bytearray) -> Remainder:
    """A document of what stands before its array and behind it; it takes the place of the first."""
    number = 0
    while any((stand_in := f"array {number}").encode() in part for part in (head, tail)):
        number += 1
    # both may be long: no copy
    head += f'"{stand_in}"'.encode()
    head += tail
    return Remainder(head, stand_in)


def gap_after(path: Path, place: int, window: int = 1 << 20) -> int | None:
    """The first comma behind a place of a file that looks like one between two records; None if none is near."""
    with path.open("rb") as file:
        file.seek(place)
        found = _GAP.search(file.read(window))
    return place + found.end(1) if found else None


def pieces_before(path: Path, key: str, take: Take, piece_bytes: int, gap: int) -> bytearray | None:
    """As `each_piece`, of the part of the array that ends at a comma of the file; gives what stands before the array.

    None as well if the array does not reach that comma.
    """
    try:
        with path.open("rb", buffering=0) as file:
            fill = _closed_at(_filler(file), gap)
            head, held = _head(fill, f'"{key}"'.encode(), piece_bytes)
            behind = _rest(fill, _array(fill, held, take, piece_bytes), held)
    except _FAULTS:
        return None
    return None if behind else head


def pieces_after(path: Path, take: Take, piece_bytes: int, gap: int) -> bytearray | None:
    """As `each_piece`, of the part of the array that begins after a comma; gives what stands behind the array."""
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(gap + 1)
            fill = _filler(file)
            return _rest(fill, _array(fill, bytearray(b"["), take, piece_bytes), bytearray(piece_bytes))
    except _FAULTS:
        return None


def _rest(fill: Fill, behind: bytearray, space: bytearray) -> bytearray:
    view = memoryview(space)
    while got := fill(view):
        behind += view[:got]
    return behind


def _closed_at(fill: Fill, end: int) -> Fill:
    """Gives the bytes before a place, then a closing bracket, then nothing."""
    left = end

    def closed(space: memoryview) -> int:
        nonlocal left
        if left > 0:
            got = fill(space[:left])
            left -= got
            return got
        if left == 0 and len(space):
            left = -1
            space[0] = ord("]")
            return 1
        return 0

    return closed


def _filler(file: FileIO) -> Fill:
    """Fills a space with the file's next bytes and says how many; raises UnicodeDecodeError where they are no UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()

    def fill(space: memoryview) -> int:
        got = file.readinto(space)
        plain = np.frombuffer(space, dtype=np.uint8, count=got).max(initial=0) < 0x80
        if not got or not plain or decoder.getstate()[0]:
            decoder.decode(bytes(space[:got]), final=not got)
        return got

    return fill


def _head(fill: Fill, quoted_key: bytes, size: int) -> tuple[bytearray, bytearray]:
    """The bytes before the array, and what was read from its bracket on."""
    opening = re.compile(re.escape(quoted_key) + rb"\s*:\s*\[")
    space = memoryview(bytearray(size))
    held = bytearray()
    start = 0
    while got := fill(space):
        held += space[:got]
        if len(held) == got:
            held = held.removeprefix(codecs.BOM_UTF8)
            if not held.lstrip().startswith(b"{"):
                break
        while (at := held.find(quoted_key, start)) >= 0:
            found = opening.match(held, at)
            if found:
                rest = held[found.end() - 1 :]
                del held[found.end() - 1 :]
                return held, rest
            if len(held) - at < len(quoted_key) + size:
                # what has to follow it may not have been read yet
                break
            start = at + 1
        start = at if at >= 0 else max(0, len(held) - len(quoted_key))
    raise _Unfit


def _array(fill: Fill, held: bytearray, take: Take, size: int) -> bytearray:
    """Takes the array that `held` begins with, piece by piece; returns what was read of the bytes behind it."""
    buffer, filled = held + bytearray(2 * size), len(held)
    while True:
        got = fill(memoryview(buffer)[filled:])
        filled += got
        buffer[0] = ord("[")
        taken, ended = _piece(buffer, filled, not got, take)
        filled -= taken
        buffer[:filled] = memoryview(buffer)[taken : taken + filled]
        if ended:
            return buffer[:filled]
        if filled == len(buffer):
            buffer = buffer + bytearray(filled)


def _piece(buffer: bytearray, filled: int, last: bool, take: Take) -> tuple[int, bool]:
    """Takes what it can of the array; returns how many bytes that were and whether the array ended there.

    Args:
        buffer: Begins with an opening bracket.
        filled: How many of its bytes are the file's.
        last: Whether the file ends there; then the array does so before.
        take: Gets the piece.
    """
    view = memoryview(buffer)
    cut = filled if last else _last_gap(buffer, filled)
    step = _FIRST_STEP_BACK
    while cut:
        if not last:
            buffer[cut] = ord("]")
        try:
            take(view[:filled] if last else view[: cut + 1])
        except msgspec.DecodeError as error:
            if not last:
                buffer[cut] = ord(",")
            too_many = _TOO_MANY.search(str(error))
            if too_many:
                end = buffer.rfind(b"]", 0, int(too_many[1])) + 1
                take(view[:end])
                return end, True
            if last or isinstance(error, msgspec.ValidationError):
                raise
        else:
            return cut, last
        # the gap was one inside a record: the record before it may be a long one
        cut = _last_gap(buffer, max(cut - step, 0))
        step *= 2
    return 0, False


def _last_gap(buffer: bytearray, end: int) -> int:
    """Place of the last comma between two objects, 0 if there is none."""
    at = end
    for _ in range(_TRIES):
        at = buffer.rfind(b"}", 0, at)
        if at < 0:
            return 0
        found = _GAP.match(buffer, at, end)
        if found:
            return found.end(1)
    raise _Unfit
