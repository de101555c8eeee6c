# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Validation of every record that crosses a stage or leaves the house.

Three validators with one verdict: for tables the schema is compiled to Arrow checks, and only the rows that fail go to
a validator for the message; for records jsonschema-rs; jsonschema is the reference that the tests hold both to.
A number must be finite, a whole one must fit 64 bits, and `$` in a pattern means the end of the text, as JSON, Arrow
and ECMA-262 have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from groundset.errors import DataError, Problem
from groundset.schema_types import Schema, arrow_schema, is_image, load, types

Mask = NDArray[np.bool_]
Parts = tuple[str | int, ...]


def json_path(parts: Iterable[str | int]) -> str:
    """JSON path of the parts.

    >>> json_path(["questions", 3, "content"])
    '$.questions[3].content'
    """
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


@cache
def _validator(name: str) -> Any:
    return jsonschema_rs.Draft202012Validator(load(name))


def _find_odd(value: Any, path: Parts, odd: dict[Parts, str]) -> None:
    """Notes what JSON and our tables cannot hold: validators take it for null, let it pass or stumble over it."""
    kind = type(value)
    if kind is str:
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            odd[path] = f"{value!r} holds half a character (a lone surrogate)"
    elif kind is dict:
        for key, child in value.items():
            if type(key) is not str:
                odd[path] = f"the key {key!r} is not text"
            _find_odd(child, (*path, key), odd)
    elif kind is list or kind is tuple:
        for index, child in enumerate(value):
            _find_odd(child, (*path, index), odd)
    elif kind is int:
        if not -(2**63) <= value < 2**63:
            odd[path] = "the number does not fit 64 bits"
    elif kind is float:
        if not math.isfinite(value):
            odd[path] = f"{value} is not a finite number"
    elif value is not None and kind is not bool:
        odd[path] = f"{value} is a {kind.__name__}, which JSON does not know"


def _without_odd(value: Any, path: Parts, odd: Collection[Parts]) -> Any:
    if path in odd:
        return None
    if type(value) is dict:
        return {key: _without_odd(child, (*path, key), odd) for key, child in value.items()}
    if type(value) in (list, tuple):
        return [_without_odd(child, (*path, index), odd) for index, child in enumerate(value)]
    return value


def _told(name: str, error: Any) -> str:
    message = str(error.message)
    if error.schema_path[-1] == "enum":
        # the message names no more than a few of the values that are allowed
        node: Any = load(name)
        for part in error.schema_path:
            node = node[part]
        allowed = ", ".join(msgspec.json.encode(value).decode() for value in node)
        return f"{message.partition(' is not one of ')[0]} is not one of {allowed}"
    return message


def errors(name: str, record: Any) -> list[tuple[str, str]]:
    """What is wrong with one record, as (JSON path, message), sorted.

    Args:
        name: Name of the schema.
        record: The record as decoded JSON, TOML or Arrow row.
    """
    odd: dict[Parts, str] = {}
    try:
        _find_odd(record, (), odd)
        plain = _without_odd(record, (), odd) if odd else record
        found = [(tuple(error.instance_path), _told(name, error)) for error in _validator(name).iter_errors(plain)]
    except (RecursionError, ValueError):
        # what jsonschema-rs raises at its limit of depth; its other reasons for a ValueError are odd values
        return [(json_path([]), "it is nested too deeply")]
    told = [*odd.items(), *((path, message) for path, message in found if path not in odd)]
    return sorted((json_path(path), message) for path, message in told)


@cache
def reference_validator(name: str) -> Any:
    """The jsonschema validator that says what the other two must say; only tests and benchmarks ask it."""
    import jsonschema

    def number(_: Any, value: Any) -> bool:
        if isinstance(value, float):
            return math.isfinite(value)
        return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63

    def integer(_: Any, value: Any) -> bool:
        return number(_, value) and value == int(value)

    def ecma_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
        exact = re.sub(r"(?<!\\)\$(?=$|\))", r"\\Z", pattern)
        if isinstance(value, str) and not re.search(exact, value):
            yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")

    base: Any = jsonschema.Draft202012Validator
    checker = base.TYPE_CHECKER.redefine_many({"number": number, "integer": integer})
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
        # a null list may hide values that list_flatten leaves out and list_parent_indices does not
        parents = np.repeat(np.arange(len(values)), np.asarray(pc.fill_null(lengths, 0)))
        bad[parents[inner]] = True
    return bad


def _failing_object(node: Schema, values: pa.Array) -> Mask:
    bad = np.zeros(len(values), dtype=bool)
    for key, child in node["properties"].items():
        bad |= _failing(child, pc.struct_field(values, key))
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
        places = table.schema.get_all_field_indices(field.name)
        if not places:
            problems.append(Problem(file, "", f"$.{field.name}", "the column is missing"))
        elif len(places) > 1:
            problems.append(Problem(file, "", f"$.{field.name}", f"the column is there {len(places)} times"))
        elif table.column(places[0]).type != field.type:
            found = table.column(places[0]).type
            problems.append(Problem(file, "", f"$.{field.name}", f"the column is {found}, not {field.type}"))
    extra = sorted(set(table.column_names) - set(expected.names))
    problems += [Problem(file, "", f"$.{key}", "the schema has no such column") for key in extra]
    for key, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            problems.append(Problem(file, "", f"$.{key}", f"the column is broken: {error}"))
    return problems


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
    filler, left_out_paths = dict.fromkeys(left_out), {json_path([key]) for key in left_out}
    for number, record in zip(bad.tolist(), validated.to_pylist(), strict=True):
        label = record.get(id_column) or f"row {number}"
        found = [row for row in errors(name, {**record, **filler}) if row[0] not in left_out_paths]
        problems += [Problem(file, str(label), path, message) for path, message in found]
        if not found:
            problems.append(Problem(file, str(label), "", f"the row breaks {name}, by the compiled checks alone"))
    return sorted(problems)


def require_table(name: str, table: pa.Table, file: str, id_column: str = "", without: Collection[str] = ()) -> None:
    """Raises one DataError with every problem if the table breaks the schema."""
    problems = table_problems(name, table, file, id_column, without)
    if problems:
        raise DataError(f"{file} breaks the schema {name}; problems found: {len(problems)}", problems)
