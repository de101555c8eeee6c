# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The wheel: built offline in a copy of the sources, it holds everything that the package reads, and works alone."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "build" / "groundset"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.pyc")

pytest.importorskip("hatchling.build", reason="needs hatchling, which the dev extra installs")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as an installer builds it, with .gitignore in its place: a pattern of that name would hide build/."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("build", "schemas", "manifests", "LICENSES"):
        shutil.copytree(ROOT / name, copy / name, ignore=LEFT_OUT)
    for name in ("pyproject.toml", "README.md", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    code = "import hatchling.build as b; print(b.build_wheel('dist'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return copy / "dist" / done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return set(archive.namelist())


def below(folder: Path, prefix: str, pattern: str = "*") -> set[str]:
    return {
        f"{prefix}/{path.relative_to(folder).as_posix()}"
        for path in folder.rglob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_every_file_of_the_package_is_in_it(names: set[str]) -> None:
    assert "groundset/__init__.py" in names
    assert below(PACKAGE, "groundset") <= names
    assert any(name.startswith("groundset/licence_texts/") for name in names)
    assert {"groundset/fpco/lexicon.toml", "groundset/fpco/phrasebook.toml"} <= set(names)


def test_schemas_and_manifests_are_in_it(names: set[str]) -> None:
    assert below(ROOT / "schemas", "groundset/_schemas", "*.json") <= names
    assert "groundset/_schemas/object.schema.json" in names
    assert below(ROOT / "manifests", "groundset/_manifests", "*.toml") <= names
    assert "groundset/_manifests/licences.toml" in names


def test_nothing_else_is_in_it(names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in names}
    assert len(tops) == 2
    assert tops >= {"groundset"}
    assert next(iter(tops - {"groundset"})).endswith(".dist-info")
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_the_command_is_declared(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        told = archive.read(entry).decode()
    (name, target), *others = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"].items()
    assert others == []
    assert f"{name} = {target}" in told
    module, _, function = target.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_an_unpacked_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = """
import json, sys
import groundset
from groundset import licences, paths, schema_types
from groundset.cli.main import run
found = {
    "package": groundset.__file__,
    "schemas": str(paths.schema_dir()),
    "manifests": str(paths.manifest_dir()),
    "fields": schema_types.arrow_schema("object").names[:1],
    "licence": licences.by_spdx("CC-BY-2.0").spdx,
    "text": len(licences.text("CC-BY-2.0")) > 1000,
    "demo": run(["manifest", "show", str(paths.manifest_dir() / "demo" / "candvg.toml"), "--json"]),
}
print(json.dumps(found), file=sys.stderr)
sys.exit(run(["--help"]))
"""
    arguments = [sys.executable, "-c", code]
    done = subprocess.run(
        arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    inside = tmp_path / "site" / "groundset"
    assert json.loads(done.stderr.strip().splitlines()[-1]) == {
        "package": str(inside / "__init__.py"),
        "schemas": str(inside / "_schemas"),
        "manifests": str(inside / "_manifests"),
        "fields": ["object_id"],
        "licence": "CC-BY-2.0",
        "text": True,
        "demo": 0,
    }
    assert "build" in done.stdout
