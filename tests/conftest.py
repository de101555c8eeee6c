# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test modules share, and the switch that turns skips into failures."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from groundset.miniworld.write import write_world

ROOT = Path(__file__).parents[1]

hypothesis.settings.register_profile("groundset", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("groundset")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With GROUNDSET_NO_SKIP set, what would be skipped fails: the machine should have everything."""
    report = yield
    if report.skipped and os.environ.get("GROUNDSET_NO_SKIP") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and GROUNDSET_NO_SKIP forbids it: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A miniature world with few scenes; read only, copy it before changing it."""
    folder = tmp_path_factory.mktemp("worlds") / "world"
    write_world(folder, "test-world", 3)
    return folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real source files beside the checkout, which are not part of the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"there are no real source files in {folder}")
    return folder


@pytest.fixture
def demo(tmp_path: Path) -> Callable[..., Path]:
    """Makes a small manifest out of a demo's: `demo("candvg", per_bin=1)` changes a key wherever it stands."""

    def make(name: str, folder: str = "manifest", **changes: str | float) -> Path:
        text = (ROOT / "manifests" / "demo" / f"{name}.toml").read_text(encoding="utf-8")
        small = {"scenes_per_cell": 3, **({"per_bin": 2} if name == "candvg" else {"per_cell": 1})}
        for key, value in {**small, **changes}.items():
            written = value if isinstance(value, str) else str(value)
            text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {written}".replace("\\", r"\\"), text)
            assert count, f"the manifest has no key {key}"
        path = tmp_path / folder / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture
def world(small_world: Path, tmp_path: Path) -> Path:
    """A copy of the small world that a test may change."""
    return Path(shutil.copytree(small_world, tmp_path / "world"))
