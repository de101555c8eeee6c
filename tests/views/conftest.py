# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Two small builds to look at, and a MongoDB of their own for those tests that open them in FiftyOne."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loopback_mongo import loopback_mongo

from groundset.cli.main import run

ROOT = Path(__file__).parents[2]
SMALL = {"scenes_per_cell": 3, "per_bin": 2, "per_cell": 1}


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Work folder of a small build of a demo, with its release in 80_package/release; read only."""
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            folder = tmp_path_factory.mktemp(name)
            text = (ROOT / "manifests" / "demo" / f"{name}.toml").read_text(encoding="utf-8")
            for key, value in SMALL.items():
                text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
            manifest = folder / f"{name}.toml"
            manifest.write_text(text, encoding="utf-8")
            assert run(["build", str(manifest), "--work", str(folder / "work")]) == 0
            built[name] = folder / "work"
        return built[name]

    return build


def release_of(work: Path) -> Path:
    return work / "80_package" / "release"


@pytest.fixture
def release(work: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Copies of the two releases that a test may change."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(release_of(work(name)), tmp_path / name))

    return copy


@pytest.fixture(scope="session")
def mongo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a MongoDB on the loopback interface, which FiftyOne is told of before it is imported."""
    found = importlib.util.find_spec("fiftyone")
    if found is None or not found.submodule_search_locations:
        pytest.skip("FiftyOne is not installed: python -m pip install 'groundset[browse]'")
    program = Path(found.submodule_search_locations[0]) / "db" / "bin" / "mongod"
    if not program.is_file():
        pytest.skip(f"FiftyOne has no MongoDB: there is no {program}")
    with loopback_mongo(program, tmp_path_factory.mktemp("mongo")) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIFTYONE_DATABASE_URI", address)
        patch.setenv("FIFTYONE_DATABASE_VALIDATION", "false")
        patch.setenv("FIFTYONE_DO_NOT_TRACK", "true")
        yield address
        if "fiftyone" in sys.modules:
            # else it would look half a minute for the database when this process ends
            importlib.import_module("fiftyone.core.odm.database")._disconnect()
