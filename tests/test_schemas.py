# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The schema documents themselves: valid, closed, described, and covered by Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from groundset.candvg.pipeline import STAGES as CANDVG_STAGES
from groundset.fpco.pipeline import STAGES as FPCO_STAGES
from groundset.paths import package_dir
from groundset.schema_types import IMAGE_TYPE, arrow_schema, arrow_type, fields, is_image, load, types

SCHEMAS = Path(__file__).parents[1] / "schemas"
DOCUMENTS = sorted(path.relative_to(SCHEMAS).as_posix() for path in SCHEMAS.rglob("*.json"))
TABLES = sorted(
    {"verdict"} | {held.schema for stage in (*CANDVG_STAGES, *FPCO_STAGES) for held in stage.writes.values()}
)


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / name).read_text("utf-8"))
    return found


def inner_objects(node: Any, path: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every node with properties, whatever it stands in; the conditions of `if` only ask."""
    if isinstance(node, dict):
        if "properties" in node:
            yield path, node
        for key, child in node.items():
            if key != "if":
                yield from inner_objects(child, f"{path}.{key}")
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from inner_objects(child, f"{path}[{index}]")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_is_a_valid_schema_with_an_id_of_its_own(name: str) -> None:
    found = document(name)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"https://groundset.invalid/schemas/{name}"
    assert found["title"]
    jsonschema.Draft202012Validator.check_schema(found)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_required_key_is_a_property(name: str) -> None:
    for path, node in inner_objects(document(name)):
        if path.endswith((".then", ".else")) and "additionalProperties" not in node:
            continue
        assert set(node.get("required", ())) <= set(node["properties"]), path


@pytest.mark.parametrize("name", TABLES)
def test_record_of_a_table_is_closed_and_whole_and_every_field_described(name: str) -> None:
    for path, node in inner_objects(document(f"{name}.schema.json")):
        assert node["required"] == list(node["properties"]), path
        assert node["additionalProperties"] is False, path
        for key, child in node["properties"].items():
            assert child.get("description", "").endswith("."), f"{path}.{key}"


@pytest.mark.parametrize("name", TABLES)
def test_arrow_holds_every_field_in_the_order_of_the_schema(name: str) -> None:
    properties = load(name)["properties"]
    schema = arrow_schema(name)
    assert schema.names == list(properties)
    for key, node in properties.items():
        assert schema.field(key).type == (IMAGE_TYPE if is_image(node) else arrow_type(node))
        assert len(types(node)[0]) == 1
    assert schema.empty_table().num_rows == 0
    listed = [field.name for field in fields(name)]
    assert len(listed) == len(set(listed))
    assert [name for name in listed if "." not in name] == list(properties)
    assert all(field.description for field in fields(name))


@pytest.mark.parametrize("name", TABLES)
def test_only_keywords_that_all_three_validators_know_are_used(name: str) -> None:
    text = {"minLength", "maxLength", "pattern", "enum"}
    number = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum"}
    known = {
        "string": text,
        "integer": number,
        "number": number,
        "boolean": set(),
        "array": {"items", "minItems", "maxItems"},
        "object": {"properties", "required", "additionalProperties"},
    }

    def check(node: dict[str, Any], path: str) -> None:
        if is_image(node):
            return
        (kind,), nullable = types(node)
        extra = set(node) - {"type", "description", "title", "$schema", "$id"} - known[kind]
        assert not extra, path
        assert not nullable or None in node.get("enum", (None,)), path
        for key, child in node.get("properties", {}).items():
            check(child, f"{path}.{key}")
        if "items" in node:
            check(node["items"], f"{path}[]")

    check(load(name), name)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_is_used_by_the_package(name: str) -> None:
    stem = name.removesuffix(".schema.json").removeprefix("response/")
    assert any(stem in path.read_text("utf-8") for path in sorted(package_dir().rglob("*.py")))
