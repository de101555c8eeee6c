# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from pathlib import Path

import datasets
import pytest

from groundset.release import loading
from groundset.release.loading import loading_problems
from groundset.release.verify import verify


def test_whole_release_loads(releases) -> None:
    assert verify(releases["candvg"]) == []


def test_what_a_reader_would_meet_is_told(releases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # in this process, since starting another that imports datasets takes seconds
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(loading, "_run", lambda folder, configs, cache: loading.load_all(str(folder), configs))
    folder = tmp_path / "release"
    shutil.copytree(releases["fpco-dialog"], folder)
    card = folder / "README.md"
    text = card.read_text(encoding="utf-8")
    card.write_text(
        text.replace("num_examples: 80", "num_examples: 79").replace("  - name: landing_url\n    dtype: string\n", "")
    )
    found = loading_problems(folder, {"dialogues": 9, "turns": 80, "images": None})
    assert [problem.record for problem in found] == ["dialogues", "images", "turns"]
    assert found[0].message == "load_dataset gives 8 rows, the files hold 9"
    assert "CastError" in found[1].message
    assert "NonMatchingSplitsSizesError" in found[2].message


def test_a_process_that_dies_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading.sys, "executable", "/bin/false")
    assert "load_dataset ended with code 1" in str(loading_problems(tmp_path, {"turns": 1})[0])
    monkeypatch.setattr(loading.sys, "executable", str(tmp_path / "gone"))
    assert "load_dataset could not be run" in str(loading_problems(tmp_path, {"turns": 1})[0])
