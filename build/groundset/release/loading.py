# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Loads every config of a release with datasets, offline, with an empty cache, in a process of its own.

Run as a script it prints {config: {"rows": n, "columns": [...]} or {"error": text}} as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from groundset import own_process
from groundset.errors import Problem

TIMEOUT_S = 3600


def load_all(folder: str, configs: Collection[str]) -> dict[str, dict[str, Any]]:
    """Loads each config, and decodes its first row and its first photograph."""
    from datasets import load_dataset

    found: dict[str, dict[str, Any]] = {}
    for config in configs:
        try:
            rows = load_dataset(folder, config, split="test")
            if len(rows):
                rows[0]
            if "image" in rows.column_names:
                next((row for row in rows if row["image"] is not None), None)
            found[config] = {"rows": len(rows), "columns": rows.column_names}
        # whatever datasets, pyarrow or Pillow raise is what a reader of the release would get
        except Exception as error:
            cause = error.__cause__ or error
            found[config] = {"error": " ".join(f"{type(cause).__name__}: {cause}".split())}
    return found


def _run(folder: Path, configs: Collection[str], cache: str) -> dict[str, dict[str, Any]]:
    environment = {
        **own_process.environment(),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HOME": cache,
        "HF_DATASETS_CACHE": str(Path(cache) / "datasets"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    }
    done = subprocess.run(
        own_process.command("groundset.release.loading", str(folder.resolve()), *configs),
        env=environment,
        cwd=cache,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    lines = done.stdout.splitlines()
    try:
        result: dict[str, dict[str, Any]] = json.loads(lines[-1])
    except (IndexError, ValueError):
        talk = " ".join(done.stderr.split())[-300:]
        return {config: {"error": f"load_dataset ended with code {done.returncode}: {talk}"} for config in configs}
    return result


def loading_problems(folder: Path, rows: Mapping[str, int | None]) -> list[Problem]:
    """What a reader meets who calls `load_dataset(folder, config)`.

    Args:
        folder: The release.
        rows: Config to the rows it has to give; None where that is not known.
    """
    with tempfile.TemporaryDirectory(prefix="groundset-verify-") as cache:
        try:
            found = _run(folder, sorted(rows), cache)
        except (OSError, subprocess.TimeoutExpired) as error:
            return [Problem("README.md", "", "", f"load_dataset could not be run: {error}")]
    problems = []
    for config in sorted(rows):
        told = found.get(config, {"error": "load_dataset says nothing of it"})
        if "error" in told:
            problems.append(Problem("README.md", config, "", f"load_dataset fails: {told['error']}"))
        elif rows[config] is not None and told["rows"] != rows[config]:
            message = f"load_dataset gives {told['rows']} rows, the files hold {rows[config]}"
            problems.append(Problem("README.md", config, "", message))
    return problems


if __name__ == "__main__":
    print(json.dumps(load_all(sys.argv[1], sys.argv[2:])))  # noqa: T201
