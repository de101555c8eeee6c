# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from pathlib import Path

from groundset.release.loading import loading_problems
from groundset.release.verify import verify


def test_whole_release_loads(releases) -> None:
    assert verify(releases["candvg"]) == []


def test_what_a_reader_would_meet_is_told(releases, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(releases["fpco-dialog"], folder)
    card = folder / "README.md"
    text = card.read_text(encoding="utf-8")
    card.write_text(
        text.replace("num_examples: 80", "num_examples: 79").replace("- name: landing_url\n    dtype: string\n", "")
    )
    found = loading_problems(folder, {"dialogues": 9, "turns": 80, "images": None})
    assert [problem.record for problem in found] == ["dialogues", "images", "turns"]
    assert found[0].message == "load_dataset gives 8 rows, the files hold 9"
    assert "CastError" in found[1].message
    assert "NonMatchingSplitsSizesError" in found[2].message
