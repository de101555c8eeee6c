# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a release says of the models that wrote it; whole releases are built in other tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from groundset.packaging import _written_by
from groundset.stage import Inputs


def told(folder: Path, writer: dict[str, Any], *rows: dict[str, Any], later: Sequence[dict[str, Any]] = ()) -> str:
    for stage, answered in (("50_generate", rows), ("72_vary", later)):
        (folder / stage).mkdir(exist_ok=True)
        (folder / stage / "models.json").write_text(json.dumps(answered), "utf-8")
    return _written_by(Inputs({"writer": writer} if writer else {}, {}, folder, folder, folder))


def row(model: str, base_url: str, *served: str) -> dict[str, Any]:
    return {"model": model, "base_url": base_url, "served": list(served), "prompts": ["questions-1"], "questions": 2}


def test_the_writer_comes_first_also_where_a_checker_has_its_name(tmp_path: Path) -> None:
    checker = {"model": "m", "base_url": "http://a/v1"}
    writer = {"kind": "llm", "model": "m", "base_url": "http://b/v1/", "mends": 2, "cross_checks": [checker]}
    assert told(tmp_path, writer, row("m", "http://a/v1", "m"), row("m", "http://b/v1", "m-2026", "m")) == (
        "the language model m at http://b/v1, which answered as m-2026 (prompts questions-1). It was given the "
        "photograph and the target's label and box; what broke a hard check went back to it with the name of the rule, "
        "at most 2 times, and was set aside after that. Whether what is described can be seen was asked of "
        "m at http://a/v1 (prompts questions-1)."
    )


def test_a_model_that_was_never_asked_is_named_all_the_same(tmp_path: Path) -> None:
    writer = {"kind": "llm", "model": "m", "base_url": "http://b/v1", "mends": 0, "cross_checks": []}
    assert told(tmp_path, writer).startswith("the language model m at http://b/v1. It was given")


def test_a_model_that_wrote_variants_too_is_named_once_with_all_its_prompts(tmp_path: Path) -> None:
    writer = {"kind": "llm", "model": "m", "base_url": "http://b/v1", "mends": 0, "cross_checks": []}
    again = {**row("m", "http://b/v1", "m-2027"), "prompts": ["variants-1"]}
    found = told(tmp_path, writer, row("m", "http://b/v1", "m"), later=[again])
    assert found.startswith(
        "the language model m at http://b/v1, which answered as m-2027 (prompts questions-1, variants-1). It was"
    )


@pytest.mark.parametrize(
    ("kind", "begins"), [("template", "groundset's template writer"), ("published", "whoever made")]
)
def test_other_writers_are_told_in_fixed_words(kind: str, begins: str, tmp_path: Path) -> None:
    assert told(tmp_path, {"kind": kind}).startswith(begins)


def test_where_nothing_is_written_nothing_is_told(tmp_path: Path) -> None:
    assert told(tmp_path, {}) == ""
