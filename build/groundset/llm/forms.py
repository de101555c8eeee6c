# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What an answer must look like: the schema that is sent, and the fuller one that the answer is held against.

What is sent keeps to the part of JSON Schema that strict modes agree on: every object closed with every property
required, little else. What they refuse or overlook (patterns, lengths, which ids there must be) belongs in the full
schema, which only we see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from groundset.errors import Problem, UsageError
from groundset.files import canonical_json
from groundset.schema import json_path

# OpenAI's limits; other servers allow more
MOST_NESTED = 5
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEYWORDS = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "description"),
        *("anyOf", "$ref", "$defs", "minItems", "maxItems"),
    )
)
_WHOLE = range(-(2**63), 2**63)
SHOWN_FAULTS = 5
_SHOWN = 100

Parts = tuple[str | int, ...]


@dataclass(frozen=True)
class Form:
    """The form of an answer; made by `form`.

    Attributes:
        name: What the server is told that it is called.
        sent: The schema that the server is asked to keep.
        validator: Of the schema that the answer is held against.
    """

    name: str
    sent: Mapping[str, Any]
    validator: Any = field(compare=False, repr=False)


def _children(node: Mapping[str, Any], path: Parts) -> Iterator[tuple[Any, Parts, int]]:
    for keyword in ("properties", "$defs"):
        children = node.get(keyword, {})
        if isinstance(children, Mapping):
            yield from ((child, (*path, keyword, key), int(keyword == "properties")) for key, child in children.items())
    if "items" in node:
        yield node["items"], (*path, "items"), 0
    choices = node.get("anyOf", [])
    if isinstance(choices, list):
        yield from ((child, (*path, "anyOf", index), 0) for index, child in enumerate(choices))


def strict_faults(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a strict mode would refuse in a schema, or overlook, as (JSON path, message), sorted.

    >>> strict_faults({"type": "object", "properties": {"a": {"type": "string"}}, "required": []})
    [('$', 'additionalProperties has to be false'), ('$', 'every property has to be required: a')]
    """
    faults: list[tuple[str, str]] = []
    if schema.get("type") != "object" or "anyOf" in schema:
        faults.append(("$", "the whole has to be one object"))
    todo: list[tuple[Any, Parts, int]] = [(schema, (), 1)]
    while todo:
        node, path, depth = todo.pop()
        where = json_path(path)
        if not isinstance(node, Mapping):
            faults.append((where, "is no schema of its own"))
            continue
        faults += [(where, f"{key} is not known to every strict mode") for key in node if key not in _KEYWORDS]
        if "properties" in node or node.get("type") == "object":
            if depth > MOST_NESTED:
                faults.append((where, f"objects are nested more than {MOST_NESTED} deep"))
                continue
            if node.get("additionalProperties") is not False:
                faults.append((where, "additionalProperties has to be false"))
            lacking = sorted(set(node.get("properties", {})) - set(node.get("required", [])))
            if lacking:
                faults.append((where, f"every property has to be required: {', '.join(lacking)}"))
        todo += [(child, below, depth + deeper) for child, below, deeper in _children(node, path)]
    return sorted(faults)


def form(name: str, sent: Mapping[str, Any], full: Mapping[str, Any] | None = None) -> Form:
    """A form, if it can be asked for.

    Args:
        name: A name of letters, digits, `_` and `-`.
        sent: The schema to send.
        full: The schema to hold answers against, if it says more.

    Raises:
        UsageError: A strict mode would refuse the name or the schema that is sent; all problems at once.
    """
    faults = strict_faults(sent)
    if not _NAME.fullmatch(name):
        faults.append(("", "the name has to be 1 to 64 letters, digits, _ and -"))
    if faults:
        problems = [Problem(f"response schema {name}", "", path, message) for path, message in faults]
        raise UsageError("a response schema cannot be sent; it does not keep to what strict modes take", problems)
    return Form(name, sent, jsonschema_rs.Draft202012Validator(dict(sent if full is None else full)))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _whole(digits: str) -> int:
    number = int(digits) if len(digits) < 30 else 2**63
    if number not in _WHOLE:
        raise ValueError("a number does not fit 64 bits")
    return number


def _number(digits: str) -> int | float:
    # 4.0 is the integer 4 to JSON Schema
    number = float(digits)
    return int(number) if number.is_integer() and int(number) in _WHOLE else number


def _short(message: str) -> str:
    """A fault without most of the answer that it repeats: what is wrong stands at its end."""
    return message if len(message) <= 2 * _SHOWN else f"{message[:_SHOWN]} ... {message[-_SHOWN:]}"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def read(text: str, wanted: Form) -> tuple[Any, str]:
    """The value that a text holds, and why it is not what was asked for; empty if it is.

    Nothing is mended: no fence is cut off, no quote closed, no item left out.

    Args:
        text: What the model wrote.
        wanted: What it was asked for.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_int=_whole, parse_float=_number, parse_constant=_no_constant
        )
        # finds halves of characters, and numbers too large to be finite
        canonical_json(value)
        faults = [
            f"{json_path(fault.instance_path)}: {_short(fault.message)}"
            for fault in wanted.validator.iter_errors(value)
        ]
    except RecursionError:
        return None, "is nested too deeply"
    except UnicodeEncodeError:
        return None, "holds half a character"
    except ValueError as error:
        return None, f"is no JSON: {error}"
    if not faults:
        return value, ""
    more = f"; and {len(faults) - SHOWN_FAULTS} more" if len(faults) > SHOWN_FAULTS else ""
    return None, "; ".join(sorted(faults)[:SHOWN_FAULTS]) + more
