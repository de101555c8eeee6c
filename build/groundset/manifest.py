# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The manifest: what people write down about a build, checked before anything runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from groundset import schema
from groundset.errors import Problem, UsageError


@dataclass(frozen=True)
class Manifest:
    """A manifest that has been read and found valid.

    Attributes:
        path: The TOML file.
        content: Its content, of `schemas/manifest.schema.json`.
        source_root: Folder of the source files; None for generated ones, which are drawn into the work folder.
    """

    path: Path
    content: Mapping[str, Any]
    source_root: Path | None

    @property
    def benchmark(self) -> str:
        """`candvg` or `fpco-dialog`."""
        return str(self.content["benchmark"])

    @property
    def title(self) -> str:
        """Name and version, as work folders and messages show them."""
        return f"{self.content['name']}-{self.content['version']}"

    @property
    def lock_path(self) -> Path:
        """The lock beside the manifest."""
        return self.path.with_suffix(".lock.json")

    @property
    def is_generated(self) -> bool:
        """Whether the sources are drawn by groundset itself."""
        return self.source_root is None

    def section(self, *names: str) -> dict[str, Any]:
        """Some of the top-level keys, as a stage's config."""
        return {name: self.content[name] for name in names}


def leaves_folder(path: str) -> bool:
    """Whether a path that should be relative to a folder could leave it.

    >>> leaves_folder("a/b.jpg"), leaves_folder("../b.jpg"), leaves_folder("/b.jpg")
    (False, True, True)
    """
    parts = PurePosixPath(path.replace("\\", "/"))
    return parts.is_absolute() or ".." in parts.parts or "\0" in path or path[1:2] == ":"


def _meaning_problems(content: Mapping[str, Any], file: str) -> list[Problem]:
    problems = []
    names = [source["name"] for source in content["sources"]]
    for index, source in enumerate(content["sources"]):
        if names.index(source["name"]) != index:
            problems.append(Problem(file, "", f"$.sources[{index}].name", f"a second source {source['name']!r}"))
        for key in ("annotations", "images", "photograph_metadata"):
            if leaves_folder(source.get(key, "")):
                where = f"$.sources[{index}].{key}"
                problems.append(
                    Problem(file, "", where, f"{source[key]!r} leaves the source root", "give a path below it")
                )
    rules = content["filter"]
    ordered = {
        "candvg": [("min_candidates", "max_candidates")],
        "fpco-dialog": [
            ("single_min_area_share", "single_max_area_share"),
            ("min_objects", "max_objects"),
            ("separated_max_overlap", "overlapping_min_overlap"),
        ],
    }
    for low, high in ordered[content["benchmark"]]:
        if rules[low] > rules[high]:
            problems.append(Problem(file, "", f"$.filter.{low}", f"{rules[low]} is above {high} = {rules[high]}"))
    people = content["decisions"]["review"] == "people" or content["decisions"]["screening"] == "people"
    if people and not content["decisions"]["files"]:
        hint = "name the file that the decisions will be written to; it need not be there yet"
        problems.append(Problem(file, "", "$.decisions.files", "people decide, but no decision file is named", hint))
    return problems


def read(path: Path, sources: Path | None = None) -> Manifest:
    """Reads and checks a manifest.

    Args:
        path: The TOML file.
        sources: Folder to use in place of the manifest's `source_root`.

    Raises:
        UsageError: The file cannot be read, is not TOML, or breaks the schema; all problems at once.
    """
    file = str(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: the manifest cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: the manifest is not UTF-8 (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: the manifest is not TOML: {error}") from None
    problems = [Problem(file, "", where, message) for where, message in schema.errors("manifest", content)]
    problems = problems or _meaning_problems(content, file)
    if problems:
        raise UsageError(f"{file}: the manifest is wrong in {len(problems)} places", problems)
    root: Path | None = sources
    if root is None and content["source_root"]["kind"] == "folder":
        root = path.parent / content["source_root"]["path"]
    if root is not None and not root.is_dir():
        raise UsageError(f"{file} $.source_root: there is no folder {root}")
    return Manifest(path, content, root)
