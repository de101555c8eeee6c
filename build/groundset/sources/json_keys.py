# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds keys that a JSON object has twice: decoders keep the last of them and lose the others without a word."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_QUOTE, _BACKSLASH = b'"\\'
# what fits a processor's cache
_STEP = 1 << 19
Parts = tuple[str | int, ...]


class Doubled(dict[str, Any]):
    """An object whose text has some keys more than once.

    Attributes:
        times: How often each of these keys is there.
    """

    times: Mapping[str, int]


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of the pairs that its text holds, for the `object_pairs_hook` of json."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    marked = Doubled(found)
    marked.times = {key: times for key, times in Counter(key for key, _ in pairs).items() if times > 1}
    return marked


def faults(schema: Mapping[str, Any], value: Any, path: Parts = ()) -> Iterator[tuple[Parts, str]]:
    """Each key that the schema names and a text has twice, as (place, message), in values made by `object_of`."""
    if isinstance(value, dict):
        named = schema.get("properties", {})
        for key, times in value.times.items() if isinstance(value, Doubled) else ():
            if key in named:
                yield path, f"has the key {json.dumps(key)} {times} times"
        for key in named:
            if key in value:
                yield from faults(named[key], value[key], (*path, key))
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from faults(schema["items"], item, (*path, index))


def _mark(key: bytes) -> int:
    """Tells a text by its length and two of its letters."""
    return (len(key) + 1 << 16) + (key[0] << 8) + key[-1]


def _at_most(octets: NDArray[np.uint8], marks: list[int]) -> NDArray[np.int64] | None:
    """How often texts of these marks stand in quotes, with what is like them by chance; None if it cannot be told."""
    counts = np.zeros(len(marks), dtype=np.int64)
    held = np.zeros(0, dtype=np.int64)
    for start in range(0, len(octets), _STEP):
        part = octets[start : start + _STEP]
        # behind a backslash a quote need be none, and letters may be written as numbers
        if (part == _BACKSLASH).any():
            return None
        quotes = np.append(held, np.flatnonzero(part == _QUOTE) + start)
        pairs = len(quotes) // 2 * 2
        opening, closing, held = quotes[:pairs:2], quotes[1:pairs:2], quotes[pairs:]
        found = ((closing - opening) << 16) + (octets[opening + 1] * np.int64(256)) + octets[closing - 1]
        counts += np.array([np.count_nonzero(found == mark) for mark in marks], dtype=np.int64)
    return counts


def are_single(text: bytes | memoryview, schema: Mapping[str, Any], occurrences: Mapping[str, int]) -> bool:
    """Whether no object of a text has a key of the schema twice.

    A key that is in each of n objects, and whose letters stand in quotes n times in all, is in each of them once. What
    cannot be proved by counting so is parsed.

    Args:
        text: JSON, UTF-8.
        schema: What the text holds, an array of objects or an object.
        occurrences: How many objects have each key of the objects in the array; 0 for one that is not known.
    """
    marks = [_mark(key.encode()) for key in occurrences]
    counts = _at_most(np.frombuffer(text, dtype=np.uint8), marks) if marks else None
    if counts is not None and all(
        count in (0, number) for count, number in zip(counts.tolist(), occurrences.values(), strict=True)
    ):
        return True
    return not doubled(text, schema)


def doubled(text: bytes | bytearray | memoryview, schema: Mapping[str, Any]) -> bool:
    """Whether some object of a JSON text has a key that its schema names more than once; raises ValueError for none."""
    return any(True for _ in faults(schema, json.loads(bytes(text), object_pairs_hook=object_of)))
