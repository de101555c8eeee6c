# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The house: what lies in build/, how modules are named and how long they may be, and what the README promises."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from groundset.candvg.pipeline import STAGES as CANDVG
from groundset.fpco.pipeline import STAGES as FPCO

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
MODULES = sorted(
    path
    for folder in ("build", "tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
)
SCRIPTS = sorted(BUILD.glob("*.py"))
STAGES = {stage.name for stage in (*CANDVG, *FPCO)}


def test_build_holds_numbered_scripts_and_the_package_alone() -> None:
    entries = {path.name for path in BUILD.iterdir() if path.name != "__pycache__" and path.suffix != ".egg-info"}
    assert "groundset" in entries
    # a name that starts with a digit can never be imported, and `python -m build` still finds the real module
    assert all(re.fullmatch(r"\d\d_[a-z]+\.py", name) for name in entries - {"groundset"}), entries


def test_every_script_runs_one_stage_and_every_stage_has_its_script() -> None:
    assert {path.stem for path in SCRIPTS} == STAGES


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_one_call(path: Path) -> None:
    text = path.read_text("utf-8")
    assert f'run(["build", "--only", "{path.stem}", *sys.argv[1:]])' in text
    kinds = {type(node) for node in ast.parse(text).body}
    assert kinds <= {ast.Expr, ast.Import, ast.ImportFrom, ast.If}


@pytest.mark.parametrize("stages", [CANDVG, FPCO], ids=["candvg", "fpco"])
def test_stages_come_in_the_order_of_their_numbers(stages: tuple[object, ...]) -> None:
    names = [stage.name for stage in stages]  # type: ignore[attr-defined]
    assert names == sorted(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_is_short_well_named_and_begins_as_all_do(path: Path) -> None:
    text = path.read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) <= 400 or not path.is_relative_to(BUILD)
    assert path.stem not in {"utils", "helpers", "common", "data", "datasets"}
    assert lines[:2] == ["# SPDX-FileCopyrightText: groundset contributors", "# SPDX-License-Identifier: Apache-2.0"]
    if path.is_relative_to(BUILD):
        assert ast.get_docstring(ast.parse(text)), "the module has no docstring"


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in (BUILD / "groundset").rglob("*.py")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_the_readme_names_targets_and_files_that_there_are() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    promised = set(re.findall(r"`make ([a-z]+)|^\s*(?:\$ )?make ([a-z]+)", readme, re.MULTILINE))
    named = {first or second for first, second in promised}
    assert named
    assert named <= targets
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", readme)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_target_is_phony() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets == set(phony.split())
    assert "clean" not in targets
    assert "build" not in targets
