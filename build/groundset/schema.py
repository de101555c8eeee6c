# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Validation of every record that crosses a stage or leaves the house.

Three validators with one verdict: for tables the schema is compiled to Arrow checks, and only the rows that fail go to
a validator for the message; for records jsonschema-rs; jsonschema is the reference that the tests hold both to.
A number must be finite, and `$` in a pattern means the end of the text, as JSON and ECMA-262 have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from groundset.errors import DataError, Problem
from groundset.schema_types import Schema, arrow_schema, is_image, load, types

Mask = NDArray[np.bool_]


def json_path(parts: Iterable[str | int]) -> str:
    """JSON path of the parts.

    >>> json_path(["questions", 3, "content"])
    '$.questions[3].content'
    """
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


@cache
def _validator(name: str) -> Any:
    return jsonschema_rs.Draft202012Validator(load(name))


@cache
def _allows_null_number(name: str) -> bool:
    def search(node: Any) -> bool:
        if isinstance(node, dict):
            declared = node.get("type")
            return (isinstance(declared, list) and {"number", "null"} <= set(declared)) or any(
                search(child) for child in node.values()
            )
        return isinstance(node, list) and any(search(child) for child in node)

    return search(load(name))


def _not_finite(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], float]]:
    if isinstance(value, float) and not math.isfinite(value):
        yield path, value
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield from _not_finite(child, (*path, key))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            yield from _not_finite(child, (*path, index))


def errors(name: str, record: Any) -> list[tuple[str, str]]:
    """What is wrong with one record, as (JSON path, message), sorted.

    Args:
        name: Name of the schema.
        record: The record as decoded JSON.
    """
    found = [(tuple(error.instance_path), error.message) for error in _validator(name).iter_errors(record)]
    # jsonschema-rs reads a number that is not finite as null, and so would let it pass where null is allowed
    odd = dict(_not_finite(record)) if found or _allows_null_number(name) else {}
    rows = [(json_path(path), f"{value} is not a finite number") for path, value in odd.items()]
    rows += [(json_path(path), message) for path, message in found if path not in odd]
    return sorted(rows)


@cache
def reference_validator(name: str) -> Any:
    """The jsonschema validator that says what the other two must say; only tests and benchmarks ask it."""
    import jsonschema

    def finite_number(_: Any, value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

    def ecma_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
        exact = re.sub(r"(?<!\\)\$(?=$|\))", r"\\Z", pattern)
        if isinstance(value, str) and not re.search(exact, value):
            yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")

    base: Any = jsonschema.Draft202012Validator
    checker = base.TYPE_CHECKER.redefine("number", finite_number)
    make: Any = jsonschema.validators.extend
    return make(base, {"pattern": ecma_pattern}, type_checker=checker)(load(name))


def record_problems(name: str, records: Iterable[Any], file: str = "", id_key: str = "") -> list[Problem]:
    """Every problem of every record, by jsonschema-rs.

    Args:
        name: Name of the schema.
        records: Decoded JSON records.
        file: What to call the file in the problems.
        id_key: Key of the record's id; the record's number from 0 stands in where it is missing.
    """
    problems = []
    for number, record in enumerate(records):
        for path, message in errors(name, record):
            known = record.get(id_key) if isinstance(record, Mapping) else None
            label = known if isinstance(known, str) and known else f"record {number}"
            problems.append(Problem(file, label, path, message))
    return problems


def _bool(values: Any) -> Mask:
    mask: Mask = np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), dtype=bool)
    return mask


def _failing_text(node: Schema, values: pa.Array) -> Mask:
    bad = np.zeros(len(values), dtype=bool)
    if "minLength" in node:
        bad |= _bool(pc.less(pc.utf8_length(values), node["minLength"]))
    if "maxLength" in node:
        bad |= _bool(pc.greater(pc.utf8_length(values), node["maxLength"]))
    if "pattern" in node:
        bad |= _bool(pc.invert(pc.match_substring_regex(values, node["pattern"])))
    return bad


_BOUNDS = (
    ("minimum", pc.less),
    ("maximum", pc.greater),
    ("exclusiveMinimum", pc.less_equal),
    ("exclusiveMaximum", pc.greater_equal),
)


def _failing_number(node: Schema, values: pa.Array) -> Mask:
    bad = np.zeros(len(values), dtype=bool)
    if pa.types.is_floating(values.type):
        bad |= _bool(pc.invert(pc.is_finite(values)))
    for keyword, outside in _BOUNDS:
        if keyword in node:
            bad |= _bool(outside(values, node[keyword]))
    return bad


def _failing_list(node: Schema, values: pa.Array) -> Mask:
    bad = np.zeros(len(values), dtype=bool)
    lengths = pc.list_value_length(values)
    if "minItems" in node:
        bad |= _bool(pc.less(lengths, node["minItems"]))
    if "maxItems" in node:
        bad |= _bool(pc.greater(lengths, node["maxItems"]))
    inner = _failing(node["items"], pc.list_flatten(values))
    if inner.any():
        bad[np.asarray(pc.list_parent_indices(values))[inner]] = True
    return bad


def _failing_object(node: Schema, values: pa.Array) -> Mask:
    bad = np.zeros(len(values), dtype=bool)
    for key, child in node["properties"].items():
        bad |= _failing(child, pc.struct_field(values, key))
    bad[np.asarray(values.is_null())] = False
    return bad


def _failing(node: Schema, values: pa.Array) -> Mask:
    (kind,), nullable = types(node)
    checks = {"string": _failing_text, "array": _failing_list, "object": _failing_object}
    bad = np.zeros(len(values), dtype=bool)
    if kind in checks:
        bad |= checks[kind](node, values)
    elif kind != "boolean":
        bad |= _failing_number(node, values)
    if "enum" in node:
        allowed = pa.array([value for value in node["enum"] if value is not None], type=values.type)
        bad |= ~_bool(pc.is_in(values, value_set=allowed))
    missing = np.asarray(values.is_null())
    bad[missing] = not nullable
    return bad


def failing_rows(name: str, table: pa.Table, without: Collection[str] = ()) -> Mask:
    """Which rows break the schema, by compiled Arrow checks; shape (rows,).

    Args:
        name: Name of the schema.
        table: Table whose columns have exactly the derived types.
        without: Fields that the table leaves out on purpose.
    """
    bad = np.zeros(table.num_rows, dtype=bool)
    for key, node in load(name)["properties"].items():
        if key in without or is_image(node):
            continue
        start = 0
        for chunk in table.column(key).chunks:
            bad[start : start + len(chunk)] |= _failing(node, chunk)
            start += len(chunk)
    return bad


def _column_problems(expected: pa.Schema, table: pa.Table, file: str) -> list[Problem]:
    problems = []
    for field in expected:
        if field.name not in table.column_names:
            problems.append(Problem(file, "", f"$.{field.name}", "the column is missing"))
        elif table.schema.field(field.name).type != field.type:
            found = table.schema.field(field.name).type
            problems.append(Problem(file, "", f"$.{field.name}", f"the column is {found}, not {field.type}"))
    extra = sorted(set(table.column_names) - set(expected.names))
    problems += [Problem(file, "", f"$.{key}", "the schema has no such column") for key in extra]
    doubled = sorted({key for key in table.column_names if table.column_names.count(key) > 1})
    return problems + [Problem(file, "", f"$.{key}", "the column is there twice") for key in doubled]


def table_problems(
    name: str, table: pa.Table, file: str = "", id_column: str = "", without: Collection[str] = ()
) -> list[Problem]:
    """Every problem of a table: wrong columns, or every problem of every row that breaks the schema.

    Photographs' bytes are not looked at here.

    Args:
        name: Name of the schema.
        table: The table.
        file: What to call it in the problems.
        id_column: Column with the record's id.
        without: Fields that the table leaves out on purpose.
    """
    problems = _column_problems(arrow_schema(name, without), table, file)
    if problems:
        return sorted(problems)
    bad = np.flatnonzero(failing_rows(name, table, without))
    if not len(bad):
        return []
    left_out = {key for key, node in load(name)["properties"].items() if is_image(node)} | set(without)
    validated = table.select([key for key in table.column_names if key not in left_out]).take(bad)
    filler = dict.fromkeys(left_out)
    for number, record in zip(bad.tolist(), validated.to_pylist(), strict=True):
        label = record.get(id_column) or f"row {number}"
        found = [row for row in errors(name, {**record, **filler}) if row[0].split(".")[-1] not in left_out]
        problems += [Problem(file, str(label), path, message) for path, message in found]
        if not found:
            problems.append(Problem(file, str(label), "", f"the row breaks {name}, by the compiled checks alone"))
    return sorted(problems)


def require_table(name: str, table: pa.Table, file: str, id_column: str = "", without: Collection[str] = ()) -> None:
    """Raises one DataError with every problem if the table breaks the schema."""
    problems = table_problems(name, table, file, id_column, without)
    if problems:
        raise DataError(f"{file} breaks the schema {name} in {len(problems)} places", problems)
