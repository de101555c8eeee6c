# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A real server with a real, small model: what it writes is nonsense, but its form, its JSON and its HTTP are real."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from groundset.files import sha256_bytes
from groundset.llm import run
from groundset.llm.config import Config
from groundset.llm.forms import form
from groundset.llm.request import Message, Picture, Request

SHORT = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "marks": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2},
    },
    "required": ["colour", "marks"],
    "additionalProperties": False,
}


@pytest.fixture
def local(config: Config, llama: str) -> Config:
    return replace(
        config,
        base_url=llama,
        model="smollm2-135m",
        key_env="",
        parameters={"temperature": 0.0, "seed": 7},
        concurrency=2,
        request_timeout_s=120.0,
    )


@pytest.fixture
def photograph(tmp_path: Path) -> Picture:
    pixels = np.random.default_rng(7).integers(0, 256, (150, 200, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG")
    path = tmp_path / "photograph.jpg"
    path.write_bytes(out.getvalue())
    return Picture(sha256_bytes(out.getvalue()), path)


def question(*parts: str | Picture, schema: Any = SHORT, label: str = "") -> Request:
    return Request((Message("user", parts),), form("short", schema), "v1", label=label)


def test_a_text_and_a_photograph_are_answered_by_the_schema_once(
    local: Config, photograph: Picture, journal: Any
) -> None:
    requests = [question("What colour is grass?", label="text"), question(photograph, "What colour?", label="image")]
    found = {}
    with run.ask_all(requests, replace(local, longest_side_px=112), journal) as results:
        found = {request.label: result for request, result in results}
    for result in found.values():
        assert result.outcome == "answered", result.detail
        assert result.value["colour"] in ("red", "green", "blue")
        assert len(result.value["marks"]) == 2
        assert result.model == "smollm2-135m"
    spent = journal.spent()
    assert spent.answers == 2
    assert min(spent.prompt_tokens, spent.completion_tokens) > 10
    with run.ask_all(requests, replace(local, longest_side_px=112), journal, offline=True) as results:
        assert {request.label: result for request, result in results} == found


def test_a_real_truncation_is_none_the_less_no_answer(local: Config, journal: Any) -> None:
    short = replace(local, max_tokens=3, max_tokens_limit=6)
    with run.ask_all([question("What colour is the sky?")], short, journal) as results:
        ((_, result),) = results
    assert (result.outcome, result.attempts, result.value) == ("truncated", 2, None)


def test_a_photograph_that_is_none_is_the_item_s_own_fault(local: Config, journal: Any, tmp_path: Path) -> None:
    content = b"\xff\xd8\xff but no more of it"
    (tmp_path / "broken.jpg").write_bytes(content)
    broken = question(Picture(sha256_bytes(content), tmp_path / "broken.jpg"), "What colour?", label="broken")
    with run.ask_all([broken, question("What colour is snow?", label="text")], local, journal) as results:
        found = {request.label: result.outcome for request, result in results}
    assert found == {"broken": "bad_request", "text": "answered"}
