# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrow types and field tables, derived from the JSON Schemas so that each record is described once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa

from groundset.paths import schema_dir

Schema = dict[str, Any]

IMAGE_TYPE = pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])
_SCALARS = {"string": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}


@cache
def load(name: str) -> Schema:
    """The schema document `schemas/<name>.schema.json`."""
    document: Schema = msgspec.json.decode((schema_dir() / f"{name}.schema.json").read_bytes())
    return document


def types(node: Schema) -> tuple[tuple[str, ...], bool]:
    """JSON types that a schema node allows besides null, and whether it allows null.

    >>> types({"type": ["string", "null"]})
    (('string',), True)
    """
    declared = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return tuple(name for name in declared if name != "null"), "null" in declared


def is_image(node: Schema) -> bool:
    """Whether the node holds a photograph's bytes."""
    return node.get("x-huggingface") == "image"


def arrow_type(node: Schema) -> pa.DataType:
    """Arrow type of a schema node; a photograph is a struct of bytes and path."""
    if is_image(node):
        return IMAGE_TYPE
    (kind,), _ = types(node)
    if kind == "array":
        return pa.list_(arrow_type(node["items"]))
    if kind == "object":
        return pa.struct([pa.field(key, arrow_type(child)) for key, child in node["properties"].items()])
    return _SCALARS[kind]


def arrow_schema(name: str, without: Collection[str] = ()) -> pa.Schema:
    """Arrow schema of a record, in the order of the schema's properties.

    Every field is nullable in Arrow: whether null is allowed is the schema's word, checked in `groundset.schema`.

    Args:
        name: Name of the schema, such as `object`.
        without: Top-level fields to leave out.
    """
    properties = load(name)["properties"]
    return pa.schema([pa.field(key, arrow_type(node)) for key, node in properties.items() if key not in without])


@dataclass(frozen=True)
class Field:
    """One line of a card's field table.

    Attributes:
        name: Dotted path; `[]` marks the items of a list.
        type: What a reader calls it.
        nullable: Whether it may be null.
        description: The schema's description.
    """

    name: str
    type: str
    nullable: bool
    description: str


def _word(node: Schema) -> str:
    if is_image(node):
        return "image"
    (kind,), _ = types(node)
    if kind == "array":
        items = node["items"]
        fixed = node.get("minItems") if node.get("minItems") == node.get("maxItems") else None
        return f"list of {f'{fixed} ' if fixed else ''}{_word(items)}"
    return kind


def fields(name: str) -> list[Field]:
    """The record's fields as a card shows them, nested ones after their parent."""

    def walk(prefix: str, node: Schema) -> list[Field]:
        rows = []
        for key, child in node.get("properties", {}).items():
            rows.append(Field(prefix + key, _word(child), types(child)[1], child.get("description", "")))
            if is_image(child):
                continue
            inner, suffix = child, ""
            while "items" in inner:
                inner, suffix = inner["items"], suffix + "[]"
            rows += walk(f"{prefix}{key}{suffix}.", inner)
        return rows

    return walk("", load(name))
