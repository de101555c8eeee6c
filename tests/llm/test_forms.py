# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest

from groundset.errors import UsageError
from groundset.llm.forms import Form, form, read, strict_faults

OPEN_ITEMS = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def deep(levels: int) -> dict[str, Any]:
    return closed(inner=deep(levels - 1)) if levels > 1 else closed(text={"type": "string"})


@pytest.mark.parametrize(
    ("schema", "faults"),
    [
        (closed(a={"type": "string", "enum": ["x"]}), []),
        (closed(a={"anyOf": [closed(b={"type": "integer"}), {"type": "null"}]}), []),
        ({**closed(a={"$ref": "#/$defs/a"}), "$defs": {"a": closed(b={"type": "string"})}}, []),
        (deep(5), []),
        (deep(6), [("$" + ".properties.inner" * 5, "objects are nested more than 5 deep")]),
        ({"type": "array", "items": {"type": "string"}}, [("$", "the whole has to be one object")]),
        (
            closed(questions=OPEN_ITEMS),
            [
                ("$.properties.questions.items", "additionalProperties has to be false"),
                ("$.properties.questions.items", "every property has to be required: id"),
            ],
        ),
        (
            closed(a={"type": "string", "pattern": "x", "default": "x"}),
            [
                ("$.properties.a", "default is not known to every strict mode"),
                ("$.properties.a", "pattern is not known to every strict mode"),
            ],
        ),
        (closed(a=True), [("$.properties.a", "is no schema of its own")]),
    ],
)
def test_what_a_strict_mode_would_refuse_is_named_at_every_depth(
    schema: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    assert strict_faults(schema) == faults


def test_a_form_that_cannot_be_sent_is_refused_with_every_reason() -> None:
    with pytest.raises(UsageError) as caught:
        form("ten questions", closed(questions=OPEN_ITEMS))
    assert len(caught.value.problems) == 3


WRONG = {
    "a fence around it": "```json\n{whole}\n```",
    "cut off": "{half}",
    "words before it": "Here it is: {whole}",
    "a comma too many": '{"target": "a", "questions": [],}',
    "a key twice": '{"target": "a", "target": "b", "questions": []}',
    "no number": '{"target": NaN, "questions": []}',
    "infinity": '{"target": "a", "questions": [{"id": 1e999, "content": ""}]}',
    "too large a number": '{"target": "a", "questions": [{"id": 99999999999999999999, "content": ""}]}',
    "a number of a thousand digits": '{"target": "a", "questions": [{"id": %s, "content": ""}]}' % ("9" * 6000),
    "half a character": '{"target": "\\ud83d", "questions": []}',
    "nested without end": "[" * 100_000,
    "a list": "[]",
    "nothing": "null",
    "text": '"yes"',
    "a number as text": '{"target": "a", "questions": [{"id": "1", "content": ""}]}',
}


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_mended(questions: Form, server: Any, name: str) -> None:
    whole = json.dumps(server.ten())
    value, fault = read(WRONG[name].replace("{whole}", whole).replace("{half}", whole[:-20]), questions)
    assert value is None
    assert fault
    assert len(fault) < 2000


def test_what_keeps_the_schema_is_read(questions: Form, server: Any) -> None:
    assert read(f"\n {json.dumps(server.ten('der Hund 🐕'))} \n", questions) == (server.ten("der Hund 🐕"), "")


def test_a_whole_number_with_a_point_is_read_as_the_whole_number_that_it_is(questions: Form, server: Any) -> None:
    value, fault = read(json.dumps(server.ten()).replace('"id": 4', '"id": 4.0'), questions)
    assert fault == ""
    assert [type(row["id"]) for row in value["questions"]] == [int] * 10


def test_a_fault_is_told_without_the_whole_answer(questions: Form, server: Any) -> None:
    eleven = {**server.ten(), "questions": [*server.ten()["questions"], {"id": 11, "content": "x" * 10_000}]}
    _, fault = read(json.dumps(eleven), questions)
    assert len(fault) < 300
    assert fault.endswith("has more than 10 items")


def test_the_full_schema_sees_what_the_sent_one_cannot(questions: Form, server: Any) -> None:
    nine = {**server.ten(), "questions": server.ten()["questions"][:9]}
    loose = form("questions", questions.sent)
    assert read(json.dumps(nine), loose) == (nine, "")
    value, fault = read(json.dumps(nine), questions)
    assert value is None
    assert "$.questions: " in fault
