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
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from groundset.errors import DataError, Problem
from groundset.schema_types import load, types
from groundset.sources import json_keys
from groundset.sources.json_keys import Parts

# how files begin that are given in place of a text, and what they are
_OTHER_FORMS = {
    codecs.BOM_UTF32_LE: "UTF-32; save it as UTF-8",
    codecs.BOM_UTF32_BE: "UTF-32; save it as UTF-8",
    codecs.BOM_UTF16_LE: "UTF-16; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16; save it as UTF-8",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\x1f\x8b": "a gzip archive; unpack it first",
    b"BZh": "a bzip2 archive; unpack it first",
    b"\xfd7zXZ\x00": "an xz archive; unpack it first",
    b"\x28\xb5\x2f\xfd": "a zstd archive; unpack it first",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it first",
    b"Rar!\x1a\x07": "a rar archive; unpack it first",
    b"PAR1": "a Parquet file",
    b"\xff\xd8\xff": "a JPEG picture",
    b"version https://git-lfs": "a pointer of Git LFS; get the file that it points to",
    b"<": "HTML or XML, perhaps a server's error page; get the file again",
}
_TAR = slice(257, 262), b"ustar"
_CHUNK = 1 << 24
_SHOWN = 40
_JSON_BLANKS = " \t\n\r"
_BLANK = re.compile(f"[{_JSON_BLANKS}]*")


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


def other_form(start: bytes) -> str:
    """What a file is that begins so, where it is known and no JSON or CSV; empty otherwise."""
    for magic, name in _OTHER_FORMS.items():
        if start.startswith(magic):
            return f"is {name}"
    if start[_TAR[0]] == _TAR[1]:
        return "is a tar archive; unpack it first"
    return "seems to be UTF-16; save it as UTF-8" if start[:4].count(0) == 2 else ""


def text_fault(data: bytes) -> str:
    """Why the bytes are no UTF-8 text; empty if they are."""
    if not data.strip():
        return "is empty"
    if other := other_form(data):
        return other
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
    return _parsed(data.decode("utf-8"), None)


def _parsed(text: str, object_hook: Callable[[dict[str, Any]], Any] | None) -> tuple[Any, str]:
    try:
        return json.loads(text, object_hook=object_hook), ""
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
                if not _is_plain(value):
                    todo.append((value, inner))
            elif isinstance(value, float) and not math.isfinite(value):
                found.append((inner, f"{'NaN' if math.isnan(value) else 'infinity'} is not a number of JSON"))
                parent[key] = 0.5
            elif isinstance(value, str) and not _is_text(value):
                found.append((inner, "holds half of a surrogate pair, which is no text"))
                parent[key] = "?"
    return holder[0], found


def _is_plain(value: Any) -> bool:
    """Whether a value is a list of finite numbers, as the outlines of objects are by the million."""
    if not isinstance(value, list) or not {*map(type, value)} <= {int, float}:
        return False
    try:
        return math.isfinite(sum(value))
    except OverflowError:
        return False


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
        case "pattern" if kind.pattern == r"\S":
            return "is blank"
        case "minimum" | "maximum":
            return "does not fit 64 bits"
    return str(error.message)[: 3 * _SHOWN]


def schema_faults(document: Any, schema_name: str) -> list[tuple[Parts, str]]:
    """Everything in a parsed document that is not JSON or breaks `schemas/<schema_name>`; changes the document."""
    schema = load(schema_name)
    return _faults(document, schema, _validator(schema))


def _validator(schema: dict[str, Any]) -> Any:
    # only a broken file needs it
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(schema)


def _faults(document: Any, schema: dict[str, Any], validator: Any) -> list[tuple[Parts, str]]:
    document, found = _mended(document)
    try:
        errors = [(tuple(error.instance_path), error) for error in validator.iter_errors(document)]
        mistyped = {path for path, error in errors if error.kind.name == "type"}
        # what is of the wrong type is none of the listed values either
        broken = [
            (path, _wording(error)) for path, error in errors if error.kind.name != "enum" or path not in mistyped
        ]
    except ValueError as error:
        broken = [((), f"cannot be checked: {str(error)[:80]}")]
    odd = {path for path, _ in found}
    found += [row for row in broken if row[0] not in odd]
    return [*found, *_float_ids(schema, document, ()), *json_keys.faults(schema, document)]


def _members(text: str, listed: Collection[str]) -> Iterator[tuple[str, int | None, Any]]:
    """Members of a JSON object as (key, None, value), lists under the keys `listed` item by item.

    Such a list comes as (key, None, []) and then (key, index, item) for each of its items. The text must be an object.
    """
    decode = json.JSONDecoder(object_pairs_hook=json_keys.object_of).raw_decode

    def blank(at: int) -> int:
        found = _BLANK.match(text, at)
        return found.end() if found else at

    at = blank(blank(0) + 1)
    while text[at] != "}":
        key, at = decode(text, at)
        at = blank(blank(at) + 1)
        if key in listed and text[at] == "[":
            yield key, None, []
            at = blank(at + 1)
            index = 0
            while text[at] != "]":
                item, at = decode(text, at)
                yield key, index, item
                at = blank(at)
                at = blank(at + 1) if text[at] == "," else at
                index += 1
            at += 1
        else:
            value, at = decode(text, at)
            yield key, None, value
        at = blank(at)
        at = blank(at + 1) if text[at] == "," else at


def _sketch(text: str, listed: Collection[str]) -> Any:
    if not text.lstrip(_JSON_BLANKS).startswith("{"):
        return [] if text.lstrip(_JSON_BLANKS).startswith("[") else json.loads(text)
    sketch: dict[str, Any] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for key, index, value in _members(text, listed):
        if index is None:
            sketch[key] = value
            seen = {row for row in seen if row[0] != key}
        elif isinstance(value, dict) and (key, tuple(value)) not in seen:
            seen.add((key, tuple(value)))
            sketch[key].append(dict.fromkeys(value))
    return sketch


def document_problems(
    file: str, text: str, schema_name: str, label: Callable[[str, Any], str], hint: Callable[[Any], str]
) -> list[Problem]:
    """Every problem of a whole-file JSON document whose schema describes an object with lists of records.

    No more than one record at a time is held parsed.

    Args:
        file: What to call the file.
        text: Its text.
        schema_name: The schema that it must keep.
        label: Names a record by the key of its list and its content.
        hint: Recognises another kind of file by a sketch of it: lists of records hold one record for each set of keys
            that occurs, without values. If it answers, its answer is the only problem.
    """
    from groundset.schema import json_path

    _, message = _parsed(text, lambda _: None)
    if message:
        return [Problem(file, "", "", message)]
    schema = load(schema_name)
    lists = {key: node["items"] for key, node in schema["properties"].items() if "items" in node}
    sketch = _sketch(text, lists)
    other = hint(sketch)
    if other:
        return [Problem(file, "", "", other)]
    if not isinstance(sketch, dict):
        found = schema_faults(json.loads(text), schema_name)
        return [Problem(file, "", json_path(path), message) for path, message in found]
    validators = {key: _validator(node) for key, node in lists.items()}
    outer: dict[str, Any] = {}
    inner: dict[str, list[Problem]] = {key: [] for key in lists}
    times: Counter[str] = Counter()
    for key, index, value in _members(text, lists):
        if index is None:
            outer[key] = value
            times[key] += 1
            continue
        for path, message in _faults(value, lists[key], validators[key]):
            inner[key].append(Problem(file, label(key, value), json_path((key, index, *path)), message))
    marked = json_keys.Doubled(outer)
    marked.times = {key: count for key, count in times.items() if count > 1}
    problems = [
        Problem(file, "", json_path(path), message) for path, message in _faults(marked, schema, _validator(schema))
    ]
    return problems + [problem for found in inner.values() for problem in found]
