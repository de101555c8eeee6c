# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds keys that a JSON object has twice: decoders keep the last of them and lose the others without a word."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_QUOTE, _BACKSLASH = b'"\\'
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
    return (len(key) + 1 << 16) + (key[0] << 8) + key[-1]


def are_single(text: bytes | memoryview, schema: Mapping[str, Any], occurrences: Mapping[str, int]) -> bool:
    """Whether no object of a text has a key of the schema twice.

    A key that is in each of n objects, and whose letters stand in quotes n times in all, is in each of them once. What
    cannot be proved by counting so is parsed.

    Args:
        text: JSON, UTF-8.
        schema: What the text holds, an array of objects or an object.
        occurrences: How many objects have each key of the objects in the array; 0 for one that is not known.
    """
    octets = np.frombuffer(text, dtype=np.uint8)
    # behind a backslash a quote need be none, and letters may be written as numbers
    if not (octets == _BACKSLASH).any():
        quotes = np.flatnonzero(octets == _QUOTE)
        opening, closing = quotes[::2], quotes[1::2]
        # a text is told by its length and two of its letters: what is like it by chance is only counted too often
        marks = ((closing - opening) << 16) + (octets[opening + 1] * np.int64(256)) + octets[closing - 1]
        if all(np.count_nonzero(marks == _mark(key.encode())) in (0, number) for key, number in occurrences.items()):
            return True
    return not doubled(text, schema)


def doubled(text: bytes | bytearray | memoryview, schema: Mapping[str, Any]) -> bool:
    """Whether some object of a JSON text has a key that its schema names more than once; raises ValueError for none."""
    return any(True for _ in faults(schema, json.loads(bytes(text), object_pairs_hook=object_of)))
