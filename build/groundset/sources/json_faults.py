# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Says what is wrong with a publisher's JSON file: every problem, each with its place.

The readers decode with typed structures and come here only when that fails, so this may be slow but has to be complete.
"""

from __future__ import annotations

import codecs
import errno
import json
import math
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from groundset.errors import DataError, Problem
from groundset.schema import json_path
from groundset.schema_types import load, types

Parts = tuple[str | int, ...]

MAGIC = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "a gzip archive"}
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK = 1 << 24
_SHOWN = 40


def open_fault(error: OSError) -> str:
    """Why a file could not be opened, in words that do not depend on the system's language."""
    known = {errno.ENOENT: "does not exist", errno.EISDIR: "is a folder, not a file", errno.EACCES: "may not be read"}
    return known.get(error.errno or 0, f"cannot be read: {errno.errorcode.get(error.errno or 0, 'unknown reason')}")


def require_file(path: Path) -> None:
    """Raises DataError unless the path leads to a regular file; a pipe or device would be read without end."""
    try:
        mode = path.stat().st_mode
        message = (
            "" if stat.S_ISREG(mode) else "is a folder, not a file" if stat.S_ISDIR(mode) else "is no regular file"
        )
    except OSError as error:
        message = open_fault(error)
    except ValueError:
        message = "is no file name"
    if message:
        file = str(path).replace("\0", "\\0")
        raise DataError(f"{file} cannot be read", [Problem(file, "", "", message)])


def read_bytes(path: Path) -> bytes:
    """The bytes of a text file without its byte order mark.

    Raises:
        DataError: The file cannot be opened, is empty, is an archive or is not UTF-8.
    """
    require_file(path)
    try:
        data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise DataError(f"{path} cannot be read", [Problem(str(path), "", "", open_fault(error))]) from None
    message = text_fault(data)
    if message:
        raise DataError(f"{path} cannot be read", [Problem(str(path), "", "", message)])
    return data


def text_fault(data: bytes) -> str:
    """Why the bytes are no UTF-8 text; empty if they are."""
    if not data.strip():
        return "is empty"
    for magic, name in MAGIC.items():
        if data.startswith(magic):
            return f"is {name}; unpack it first"
    if data.startswith(UTF16):
        return "is UTF-16; save it as UTF-8"
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        try:
            decoder.decode(data[start : start + _CHUNK], final=start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            # the decoder counts from the bytes that it still held from the chunk before
            at = start + error.start - (len(error.object) - len(data[start : start + _CHUNK]))
            line = data.count(b"\n", 0, at) + 1
            return f"is not UTF-8: byte {at} (line {line}) is 0x{data[at]:02x}"
    return ""


def shown(value: Any) -> str:
    """A value as a message shows it: JSON, ASCII, cut short."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def parse(data: bytes) -> tuple[Any, str]:
    """The document, or why it is no JSON. Numbers that are not finite are let through, so that they can be placed."""
    text = data.decode("utf-8")
    try:
        return json.loads(text), ""
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        where = f"line {error.lineno}, column {error.colno}, byte {at}"
        ends = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        cut = "; it ends in the middle" if ends else ""
        return None, f"is not JSON: {error.msg} ({where}){cut}"
    except RecursionError:
        return None, "is nested too deeply"
    except ValueError:
        return None, "holds a number of more than 4300 digits"


def _mended(document: Any) -> tuple[Any, list[tuple[Parts, str]]]:
    """The document with what no JSON validator takes replaced, and the places where that was."""
    found: list[tuple[Parts, str]] = []
    holder = [document]
    todo: list[tuple[Any, Parts]] = [(holder, ())]
    while todo:
        parent, path = todo.pop()
        if isinstance(parent, dict):
            for name in [name for name in parent if not _is_text(name)]:
                found.append((path, "has a key that holds half of a surrogate pair, which is no text"))
                del parent[name]
        for key, value in parent.items() if isinstance(parent, dict) else enumerate(parent):
            inner = path if parent is holder else (*path, key)
            if isinstance(value, list | dict):
                todo.append((value, inner))
            elif isinstance(value, float) and not math.isfinite(value):
                found.append((inner, f"{'NaN' if math.isnan(value) else 'infinity'} is not a number of JSON"))
                parent[key] = 0.5
            elif isinstance(value, str) and not _is_text(value):
                found.append((inner, "holds half of a surrogate pair, which is no text"))
                parent[key] = "?"
    return holder[0], found


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _float_ids(node: dict[str, Any], value: Any, path: Parts) -> Iterator[tuple[Parts, str]]:
    """Floats such as 1.0 where the schema wants an integer: JSON Schema lets them pass, an id must not be one."""
    if "type" in node and isinstance(value, float) and value.is_integer():
        names, _ = types(node)
        if "integer" in names and "number" not in names:
            yield path, f"is {shown(value)}, must be {_kinds(list(names))}"
    elif isinstance(value, dict):
        for name, child in node.get("properties", {}).items():
            if name in value:
                yield from _float_ids(child, value[name], (*path, name))
    elif isinstance(value, list) and "items" in node:
        for index, item in enumerate(value):
            yield from _float_ids(node["items"], item, (*path, index))


def _kinds(names: list[str]) -> str:
    article = {
        "integer": "a whole number",
        "number": "a number",
        "string": "text",
        "array": "a list",
        "object": "an object",
    }
    return " or ".join(article.get(name, name) for name in names)


def _wording(error: Any) -> str:
    kind = error.kind
    match kind.name:
        case "required":
            return f"the key {kind.property!r} is missing"
        case "type":
            return f"is {shown(error.instance)}, must be {_kinds(list(kind.types))}"
        case "enum":
            return f"is {shown(error.instance)}, must be {' or '.join(shown(option) for option in kind.options)}"
        case "minItems" | "maxItems":
            return f"has {len(error.instance)} values, must have {kind.limit}"
        case "minLength":
            return "is empty"
        case "minimum" | "maximum":
            return "does not fit 64 bits"
    return str(error.message)[: 3 * _SHOWN]


def schema_faults(document: Any, schema_name: str) -> list[tuple[Parts, str]]:
    """Everything in a parsed document that is not JSON or breaks `schemas/<schema_name>`; changes the document."""
    document, found = _mended(document)
    schema = load(schema_name)
    try:
        errors = jsonschema_rs.Draft202012Validator(schema).iter_errors(document)
        broken = [(tuple(error.instance_path), _wording(error)) for error in errors]
    except ValueError as error:
        broken = [((), f"cannot be checked: {str(error)[:80]}")]
    odd = {path for path, _ in found}
    found += [row for row in broken if row[0] not in odd]
    return found + list(_float_ids(schema, document, ()))


def document_problems(
    file: str, data: bytes, schema_name: str, label: Callable[[Any, Parts], str], hint: Callable[[Any], str]
) -> list[Problem]:
    """Every problem of a whole-file JSON document.

    Args:
        file: What to call the file.
        data: Its bytes, UTF-8.
        schema_name: The schema that it must keep.
        label: Names the record that a path leads into.
        hint: Recognises another kind of file; if it answers, its answer is the only problem.
    """
    document, message = parse(data)
    if message:
        return [Problem(file, "", "", message)]
    other = hint(document)
    if other:
        return [Problem(file, "", "", other)]
    found = schema_faults(document, schema_name)
    return [Problem(file, label(document, path), json_path(path), message) for path, message in found]
