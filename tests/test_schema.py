# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Three validators, one verdict: compiled Arrow checks, jsonschema-rs and jsonschema, on records broken at random."""

from __future__ import annotations

import copy
import datetime
import itertools
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.candvg.pipeline import STAGES as CANDVG
from groundset.errors import DataError, Problem
from groundset.fpco.pipeline import STAGES as FPCO
from groundset.schema_types import arrow_schema, is_image, load, types

ROOT = Path(__file__).parents[1]
RECORDS = ("decision", "lock", "manifest", "receipt")
TABLES = sorted({"verdict"} | {held.schema for stage in (*CANDVG, *FPCO) for held in stage.writes.values()})
HASH = "0" * 64

Place = tuple[str | int, ...]


def sound(node: dict[str, Any], number: int = 0) -> Any:
    """A value that a node allows; strings take the number, so that ids differ."""
    if is_image(node):
        return None
    if "enum" in node:
        return node["enum"][number % len(node["enum"])]
    (kind,), _ = types(node)
    if kind == "string":
        forms = {"^[0-9a-f]{64}$": HASH, "^[0-9a-f]{32}$": HASH[:32], "^[0-9]+$": str(number), "^[A-Z]$": "A"}
        return forms.get(node.get("pattern", ""), f"a{number}")
    if kind == "object":
        return {key: sound(child, number) for key, child in node["properties"].items()}
    if kind == "array":
        return [sound(node["items"], place) for place in range(max(node.get("minItems", 0), 2))][: node.get("maxItems")]
    if kind == "boolean":
        return bool(number % 2)
    least = node.get("minimum", node.get("exclusiveMinimum", 0) + 1)
    return least if kind == "integer" else float(least) + 0.5 * (node.get("maximum") != least)


def nodes(node: dict[str, Any], value: Any, path: Place = ()) -> list[tuple[Place, dict[str, Any]]]:
    """Every place in a record of a table, with the node that rules it."""
    if is_image(node):
        return []
    found = [(path, node)] if path else []
    if isinstance(value, dict):
        found += itertools.chain.from_iterable(
            nodes(child, value[key], (*path, key)) for key, child in node["properties"].items()
        )
    elif isinstance(value, list):
        found += itertools.chain.from_iterable(
            nodes(node["items"], child, (*path, place)) for place, child in enumerate(value)
        )
    return found


def odd_values(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that Arrow can hold in the node's place, right or wrong."""
    (kind,), _ = types(node)
    if kind == "string":
        texts = [
            "",
            "a",
            "a\n",
            "\na",
            "-a",
            "a b",
            "é",
            "e\u0301",
            "\U0001f600",
            "\0",
            "a" * 200,
            "é" * 200,
            "a" * 201,
        ]
        allowed = [value for value in node.get("enum", ()) if value]
        texts += [*allowed, *(f"{value}\n" for value in allowed), *(value.upper() for value in allowed)]
        return st.none() | st.sampled_from([*texts, HASH, HASH + "\n", HASH[1:]]) | st.text(max_size=3)
    if kind == "integer":
        numbers = [-(2**63), -2, -1, 0, 1, 2, 4, 5, 10, 11, 2**53 + 1, 2**63 - 1]
        return st.none() | st.sampled_from(numbers) | st.integers(-(2**63), 2**63 - 1)
    if kind == "number":
        numbers_ = [math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 5e-324, 1.0, 1.5, 1.7e308]
        return st.none() | st.sampled_from(numbers_) | st.floats()
    if kind == "boolean":
        return st.none() | st.booleans()
    if kind == "array":
        item = st.just(sound(node["items"])) | odd_values(node["items"])
        return st.none() | st.lists(item, max_size=4) | st.just([sound(node["items"])] * 11)
    return st.none()


def put(record: Any, path: Place, value: Any) -> None:
    """Sets a place, if what came before has left it there."""
    *parents, last = path
    for part in parents:
        try:
            record = record[part]
        except (TypeError, IndexError, KeyError):
            return
    if isinstance(record, dict) or (isinstance(record, list) and isinstance(last, int) and last < len(record)):
        record[last] = value


@st.composite
def rows(draw: st.DrawFn, name: str) -> list[dict[str, Any]]:
    document = load(name)
    found = []
    for number in range(draw(st.integers(0, 5))):
        record = sound(document, number)
        places = nodes(document, record)
        for place in draw(st.lists(st.integers(0, len(places) - 1), max_size=2)):
            path, node = places[place]
            put(record, path, draw(odd_values(node)))
        found.append(record)
    return found


def table_of(name: str, records: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(records, schema=arrow_schema(name))


def cut(table: pa.Table, at: int) -> pa.Table:
    """The same rows in two chunks, each a slice of something longer."""
    at = min(at, table.num_rows)
    longer = pa.concat_tables([table, table]).combine_chunks()
    return pa.concat_tables([longer.slice(table.num_rows, at), table.slice(at)])


@pytest.mark.parametrize("name", TABLES)
def test_sound_records_pass(name: str) -> None:
    records = [sound(load(name), number) for number in range(12)]
    assert schema.table_problems(name, table_of(name, records)) == []
    assert schema.record_problems(name, records) == []
    assert not any(list(schema.reference_validator(name).iter_errors(record)) for record in records)


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=25)
@given(data=st.data())
def test_three_validators_give_one_verdict(name: str, data: st.DataObject) -> None:
    records = data.draw(rows(name))
    table = cut(table_of(name, records), data.draw(st.integers(0, 5)))
    stored = table.to_pylist()
    compiled = schema.failing_rows(name, table).tolist()
    assert compiled == [bool(schema.errors(name, row)) for row in stored]
    assert compiled == [not schema.reference_validator(name).is_valid(row) for row in stored]
    problems = schema.table_problems(name, table, "a table")
    assert {problem.record for problem in problems} == {f"row {row}" for row in np.flatnonzero(compiled)}
    assert all(problem.path.startswith("$.") and problem.message for problem in problems)


def example(name: str) -> dict[str, Any]:
    if name == "manifest":
        return tomllib.loads((ROOT / "manifests/demo/candvg.toml").read_text("utf-8"))
    pin = {"sha256": HASH, "bytes": 1}
    return {
        "decision": {
            "decision_id": "d1",
            "seq": 1,
            "kind": "points",
            "item_id": "invig-test-1",
            "turn": 1,
            "annotator": "a",
            "seen_sha256": HASH,
            "value": {"points_px": [[1.5, 2.0]]},
            "purpose": "main",
        },
        "lock": {"sources": {"a": pin}, "photographs": {"b": {**pin, "width": 1, "height": 2}}, "decisions": {}},
        "receipt": {
            "stage": "10_import",
            "config": HASH,
            "package": HASH,
            "inputs": {"a/b": HASH},
            "files": {"source:a": None},
            "outputs": {"a.parquet": HASH},
            "accounts": {"image": {"in": 2, "kept": 1, "rejected": {"no_size": 1}}},
            "flagged": {"a": 1},
            "facts": {"short": {"single-food": [1, 2]}},
            "seconds": 1.5,
            "finished_at": "2024-01-01T00:00:00+00:00",
        },
        "fpco_dialogue": sound(load("fpco_dialogue")),
        "candvg_sample": sound(load("candvg_sample")),
        "image": sound(load("image")),
    }[name]


def places(value: Any, path: Place = ()) -> list[Place]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *itertools.chain.from_iterable(places(child, (*path, key)) for key, child in children)]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([0.0, 1.5, -1.0, math.nan, math.inf, 2**63, -(2**80)])
    | st.sampled_from(["", "a", "a\n", HASH, "simulated", "folder", "coco", "points", "screening"])
    | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["kind", "a", "verdict"]), inner),
    max_leaves=3,
)


@pytest.mark.parametrize("name", [*RECORDS, "fpco_dialogue", "candvg_sample", "image"])
@settings(max_examples=40)
@given(data=st.data())
def test_records_of_any_shape_get_one_verdict_at_the_same_places(name: str, data: st.DataObject) -> None:
    record = {"record": copy.deepcopy(example(name))}
    paths = places(record)[1:]
    for _ in range(data.draw(st.integers(0, 2))):
        path = data.draw(st.sampled_from(paths))
        if len(path) > 1 and isinstance(path[-1], str) and data.draw(st.booleans()):
            put(record, (*path[:-1], f"{path[-1]}_"), None)
        else:
            put(record, path, data.draw(json_values))
    found = {path for path, _ in schema.errors(name, record["record"])}
    expected = {
        schema.json_path(error.absolute_path)
        for error in schema.reference_validator(name).iter_errors(record["record"])
    }
    odd = {path for path, message in schema.errors(name, record["record"]) if "finite" in message or "64" in message}
    # what no table can hold is refused even where the schema leaves the form open
    assert found - odd <= expected <= found
    assert found == expected or odd


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("image", ("title",), math.nan, "nan is not a finite number"),
        ("verdict", ("measured",), -math.inf, "-inf is not a finite number"),
        ("receipt", ("facts", "short"), [math.nan], "nan is not a finite number"),
        ("manifest", ("version",), datetime.date(2024, 1, 1), "2024-01-01 is a date, which JSON does not know"),
        ("manifest", ("strata", "per_bin"), 2**63, "the number does not fit 64 bits"),
        ("decision", ("annotator",), "a\ud800", "'a\\ud800' holds half a character (a lone surrogate)"),
        ("decision", ("value",), b"x", "b'x' is a bytes, which JSON does not know"),
        ("lock", ("sources",), {1: {"sha256": HASH, "bytes": 1}}, "the key 1 is not text"),
        ("manifest", ("strata", "refill"), ["coffee"], '"coffee" is not one of "image", "screening", "review"'),
        ("object", ("object_id",), "a1\n", '"a1\\n" does not match "^[A-Za-z0-9][A-Za-z0-9_.+:-]*$"'),
    ],
)
def test_what_json_cannot_hold_is_named_like_every_other_fault(
    name: str, path: Place, value: Any, message: str
) -> None:
    record = example(name) if name in RECORDS else sound(load(name))
    put(record, path, value)
    ((where, told),) = schema.errors(name, record)
    assert where.startswith(schema.json_path(path))
    assert told == message


def test_other_faults_are_told_beside_what_json_cannot_hold() -> None:
    record = {**example("manifest"), "version": datetime.date(2024, 1, 1), "seed": "", "images": math.nan}
    assert [path for path, _ in schema.errors("manifest", record)] == ["$.images", "$.seed", "$.version"]


def test_depth_is_no_traceback() -> None:
    deep = [example("receipt")["facts"]]
    for _ in range(5000):
        deep.append([deep[-1]])
    whole = example("receipt")
    assert schema.errors("receipt", {**whole, "facts": {"a": deep[100]}}) == []
    for broken in ({**whole, "facts": {"a": deep[5000]}}, {"facts": {"a": deep[300]}}):
        assert schema.errors("receipt", broken) == [("$", "it is nested too deeply")]


BOX = [1.0, 2.0, 3.0, 4.0]


def objects(count: int = 3) -> pa.Table:
    records = [sound(load("object"), number) for number in range(count)]
    return table_of("object", [{**record, "bbox_xyxy": BOX} for record in records])


def with_column(table: pa.Table, name: str, values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    field = pa.field(name, kind or table.schema.field(name).type)
    return table.set_column(table.column_names.index(name), field, pa.array(values, type=field.type))


def test_every_problem_names_file_record_and_place() -> None:
    table = with_column(objects(), "bbox_xyxy", [BOX, [*BOX[:3], math.nan], BOX[:3]])
    table = with_column(table, "frame_width", [1.0, 0.0, 1.0])
    assert schema.table_problems("object", table, "objects.parquet", "object_id") == [
        Problem("objects.parquet", "a1", "$.bbox_xyxy[3]", "nan is not a finite number"),
        Problem("objects.parquet", "a1", "$.frame_width", "0.0 is less than or equal to the minimum of 0"),
        Problem("objects.parquet", "a2", "$.bbox_xyxy", "[1.0,2.0,3.0] has less than 4 items"),
    ]


def test_a_record_without_an_id_is_named_by_its_row() -> None:
    table = with_column(objects(), "object_id", ["a", None, ""])
    found = schema.table_problems("object", table, "f", "object_id")
    assert {problem.record for problem in found} == {"row 1", "row 2"}
    records = [{}, {"object_id": "b"}, []]
    named = {problem.record for problem in schema.record_problems("object", records, "f", "object_id")}
    assert named == {"record 0", "b", "record 2"}


def test_more_than_fifty_problems_are_all_kept() -> None:
    table = with_column(objects(80), "frame_width", [-1.0] * 80)
    with pytest.raises(DataError) as error:
        schema.require_table("object", table, "f", "object_id")
    assert len(error.value.problems) == 80
    assert str(error.value).endswith("and 30 more")


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (lambda table: table.drop_columns(["label"]), "$.label", "the column is missing"),
        (lambda table: table.append_column("colour", table["label"]), "$.colour", "the schema has no such column"),
        (lambda table: table.append_column("label", table["label"]), "$.label", "the column is there 2 times"),
        (
            lambda table: with_column(table, "label", [None] * 3, pa.null()),
            "$.label",
            "the column is null, not string",
        ),
        (
            lambda table: with_column(table, "is_group", [0] * 3, pa.int32()),
            "$.is_group",
            "the column is int32, not int64",
        ),
        (
            lambda table: with_column(table, "bbox_xyxy", [BOX] * 3, pa.list_(pa.float32())),
            "$.bbox_xyxy",
            "the column is list<item: float>, not list<item: double>",
        ),
    ],
)
def test_wrong_columns_are_named(change: Any, path: str, message: str) -> None:
    (problem,) = schema.table_problems("object", change(objects()), "objects.parquet")
    assert (problem.file, problem.record, problem.path) == ("objects.parquet", "", path)
    assert problem.message == message


def test_all_wrong_columns_are_told_at_once_and_their_order_is_free() -> None:
    table = objects().drop_columns(["label", "image_id"]).append_column("colour", pa.array(["red"] * 3))
    assert [p.path for p in schema.table_problems("object", table)] == ["$.colour", "$.image_id", "$.label"]
    assert schema.table_problems("object", objects().select(sorted(objects().column_names))) == []


def test_text_that_is_no_text_is_a_problem_and_no_traceback() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")])
    table = pa.table({"stratum": broken, "want": pa.array([-1]), "eligible": pa.array([1])})
    (problem,) = schema.table_problems("stratum", table, "strata")
    assert problem.path == "$.stratum"
    assert "UTF8" in problem.message


def test_values_hidden_under_a_null_list_do_not_count() -> None:
    boxes = pa.ListArray.from_arrays(
        pa.array([0, 4, 8, 12], type=pa.int32()),
        pa.array([*BOX, *BOX, 1.0, 2.0, 3.0, math.nan]),
        mask=pa.array([False, True, False]),
    )
    table = objects()
    table = table.set_column(table.column_names.index("bbox_xyxy"), "bbox_xyxy", boxes)
    assert schema.failing_rows("object", table).tolist() == [False, True, True]


@pytest.mark.parametrize("name", TABLES)
def test_an_empty_table_has_no_problem(name: str) -> None:
    no_chunk = pa.table([pa.chunked_array([], field.type) for field in arrow_schema(name)], schema=arrow_schema(name))
    for table in (arrow_schema(name).empty_table(), no_chunk):
        assert schema.table_problems(name, table) == []
        assert schema.failing_rows(name, table).shape == (0,)


def test_bytes_of_photographs_are_not_looked_at() -> None:
    record = {**sound(load("fpco_dialogue")), "image": {"bytes": b"\xff\xd8", "path": None}}
    table = table_of("fpco_dialogue", [record])
    assert schema.table_problems("fpco_dialogue", table) == []
    wrong = with_column(table, "licence", [""])
    (problem,) = schema.table_problems("fpco_dialogue", wrong, "f", "dialogue_id")
    assert (problem.record, problem.path) == ("a0", "$.licence")


def test_fields_may_be_left_out_on_purpose() -> None:
    without = ["image", "licence", "credit"]
    table = table_of("fpco_dialogue", [sound(load("fpco_dialogue"))]).drop_columns(without)
    assert schema.table_problems("fpco_dialogue", table, without=without) == []
    assert [p.path for p in schema.table_problems("fpco_dialogue", table)] == ["$.credit", "$.image", "$.licence"]
    wrong = with_column(table, "writer", ["a poet"])
    (problem,) = schema.table_problems("fpco_dialogue", wrong, "f", "dialogue_id", without)
    assert str(problem) == 'f a0 $.writer: "a poet" is not one of "template", "llm", "published"'
