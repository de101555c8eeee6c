# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrow types and field tables from the schemas."""

from __future__ import annotations

import pyarrow as pa
import pytest

from groundset.schema_types import IMAGE_TYPE, Field, arrow_schema, arrow_type, fields, is_image, types


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"type": "string"}, pa.string()),
        ({"type": ["string", "null"]}, pa.string()),
        ({"type": ["null", "integer"]}, pa.int64()),
        ({"type": "number"}, pa.float64()),
        ({"type": "boolean"}, pa.bool_()),
        ({"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}, pa.list_(pa.float64())),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, pa.list_(pa.list_(pa.string()))),
        (
            {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
            pa.struct([pa.field("b", pa.int64()), pa.field("a", pa.string())]),
        ),
        ({"type": ["object", "null"], "x-huggingface": "image", "properties": {}}, IMAGE_TYPE),
    ],
)
def test_arrow_type_of_a_node(node: dict[str, object], expected: pa.DataType) -> None:
    assert arrow_type(node) == expected


@pytest.mark.parametrize("node", [{"type": ["string", "integer"]}, {"type": "null"}])
def test_a_node_that_no_column_can_hold_is_refused(node: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="values to unpack"):
        arrow_type(node)


def test_types_part_null_from_the_rest() -> None:
    assert types({"type": "null"}) == ((), True)
    assert types({"type": ["null", "number", "string"]}) == (("number", "string"), True)
    assert types({"type": "array"}) == (("array",), False)


def test_only_the_word_image_marks_a_photograph() -> None:
    assert is_image({"type": "object", "x-huggingface": "image"})
    assert not is_image({"type": "object"})
    assert not is_image({"type": "object", "x-huggingface": "audio"})


def test_a_field_can_be_left_out_and_the_others_keep_their_order() -> None:
    whole, part = arrow_schema("fpco_dialogue"), arrow_schema("fpco_dialogue", without=("image", "writer"))
    assert part.names == [name for name in whole.names if name not in ("image", "writer")]
    assert whole.field("questions").type.value_type.names == ["id", "content", "modified", "false_premise"]
    assert whole.field("image").type == pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])


def test_an_empty_list_keeps_its_type() -> None:
    table = pa.Table.from_pylist(
        [{"object_ids": []}], schema=pa.schema([arrow_schema("fpco_item").field("object_ids")])
    )
    assert table.schema.field("object_ids").type == pa.list_(pa.string())


def test_fields_are_listed_with_what_a_reader_wants_to_know() -> None:
    listed = {field.name: field for field in fields("fpco_dialogue")}
    assert list(listed)[:4] == ["dialogue_id", "image_id", "image", "complexity"]
    assert not any(name.startswith("image.") for name in listed)
    assert listed["image"].type == "image"
    assert listed["image"].nullable
    assert listed["target_bbox_xyxy_px"].type == "list of 4 number"
    assert listed["questions"].type == "list of 10 object"
    assert listed["questions[].id"] == Field("questions[].id", "integer", False, "Turn, 1 to 10.")
    order = list(listed)
    assert order.index("questions[].id") == order.index("questions") + 1
    assert {field.name: field.nullable for field in fields("object")}["mask_area"]
