# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face features of a table, derived from its JSON Schema."""

from __future__ import annotations

from typing import Any

from groundset.schema_types import Schema, is_image, load, types

_DTYPES = {"string": "string", "integer": "int64", "number": "float64", "boolean": "bool"}


def _feature(node: Schema) -> Any:
    from datasets import Image, List, Value

    if is_image(node):
        return Image()
    (kind,), _ = types(node)
    if kind == "array":
        numbers = node["items"].get("type") == "number"
        fixed = numbers and "minItems" in node and node["minItems"] == node.get("maxItems")
        return List(_feature(node["items"]), length=node["minItems"]) if fixed else List(_feature(node["items"]))
    if kind == "object":
        return {key: _feature(child) for key, child in node["properties"].items()}
    return Value(_DTYPES[kind])


def features(name: str) -> Any:
    """`datasets.Features` of the schema `schemas/<name>.schema.json`, in the order of its properties.

    A list of numbers of fixed length, such as a box, is a `List` of that length here and a plain list in Parquet;
    datasets casts the one to the other.
    """
    from datasets import Features

    return Features({key: _feature(node) for key, node in load(name)["properties"].items()})


def yaml_features(name: str) -> list[dict[str, Any]]:
    """The features as the card's front matter lists them.

    The order of the keys matters to load_dataset: `list` has to come before `length`, so never sort them.
    """
    listed: list[dict[str, Any]] = features(name)._to_yaml_list()
    return listed
