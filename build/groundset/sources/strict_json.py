# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Decodes a JSON document against its schema, with every fault placed and nothing dropped on the way.

A decoder keeps the last of two equal keys and loses the first without a word; here that is a fault.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from groundset.schema import json_path
from groundset.sources import json_faults
from groundset.sources.json_keys import Parts

Pairs = list[tuple[str, Any]]


class _Object(Pairs):
    """An object as its file writes it, pair by pair."""


def _every_doubled_key(text: str) -> list[tuple[Parts, str]]:
    found: list[tuple[Parts, str]] = []
    todo: list[tuple[Any, Parts]] = [(json.loads(text, object_pairs_hook=_Object, parse_int=str, parse_float=str), ())]
    while todo:
        value, path = todo.pop()
        if isinstance(value, _Object):
            counts = Counter(key for key, _ in value)
            found += [(path, f"has the key {json_faults.shown(key)} {n} times") for key, n in counts.items() if n > 1]
            todo += [(child, (*path, key)) for key, child in value]
        elif isinstance(value, list):
            todo += [(child, (*path, index)) for index, child in enumerate(value)]
    return found


def doubled_keys(text: str) -> list[tuple[str, str]]:
    """Keys that an object of a JSON text has more than once, as (JSON path, message), sorted.

    For texts that a faster decoder has read already, such as the lines of a file: nothing is kept of a sound one.

    Raises:
        RecursionError: The text is nested too deeply.

    >>> doubled_keys('[{"a": 1}, {"a": 1, "b": 2, "a": 3}]')
    [('$[1]', 'has the key "a" 2 times')]
    """
    sound = True

    def look(pairs: Pairs) -> None:
        nonlocal sound
        sound = sound and len(dict(pairs)) == len(pairs)

    # numbers may be longer than Python reads
    json.loads(text, object_pairs_hook=look, parse_int=str, parse_float=str)
    return [] if sound else sorted((json_path(path), message) for path, message in _every_doubled_key(text))


def decode(data: bytes, schema_name: str) -> tuple[Any, list[tuple[str, str]]]:
    """The document and what is wrong with it, as (JSON path, message); use the document only if nothing is.

    Args:
        data: The bytes, without a byte order mark.
        schema_name: The schema that the document must keep.
    """
    fault = json_faults.text_fault(data)
    if fault:
        return None, [("", fault)]
    document, message = json_faults.parse(data)
    if message:
        return None, [("", message)]
    try:
        faults = _every_doubled_key(data.decode("utf-8"))
    except RecursionError:
        return None, [("", "is nested too deeply")]
    faults += json_faults.schema_faults(document, schema_name)
    return document, sorted((json_path(path), message) for path, message in faults)
