# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The manifest: what people write down about a build, checked before anything runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from groundset import schema
from groundset.errors import Problem, UsageError
from groundset.licences import by_spdx, load_table
from groundset.llm.config import config_of

PATHS = (
    "annotations",
    "images",
    "completions",
    "photograph_metadata",
    "image_metadata",
    "class_descriptions",
    "hierarchy",
)


def _is_published(content: Mapping[str, Any]) -> bool:
    return bool(content.get("writer", {}).get("kind") == "published")


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
    def is_published(self) -> bool:
        """Whether the texts are published ones, which nothing writes."""
        return _is_published(self.content)

    @property
    def title(self) -> str:
        """Name and version, as work folders and messages show them."""
        return f"{self.content['name']}-{self.content['version']}"

    @property
    def lock_path(self) -> Path:
        """The lock beside the manifest."""
        return self.path.with_suffix(".lock.json")

    @property
    def withdrawals_path(self) -> Path:
        """The photographs that must go, beside the manifest; the file need not exist."""
        return self.path.with_suffix(".withdrawn.jsonl")

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


# what is meant by the patterns of the schema, by key
_FORMS = {
    "version": "three numbers, such as 1.0.0",
    "name": "lower-case letters, digits and hyphens",
    "split": "lower-case letters, digits, hyphens and underscores",
    "language": "codes of two letters, such as en",
    "sets": "capital letters, such as A and B",
}


_TOGETHER = 'writer.kind = "published" and a source of kind "fpco-published" go together, with a filter of their own'


_NO_VARIABLE = "is no name of an environment variable in capitals; the key itself belongs into that variable"


def _hint(where: str, message: str) -> str:
    if "JSON does not know" in message:
        return "write it in quotes"
    if re.fullmatch(r"\$\.sources\[[0-9]+\]\.kind", where) and "fpco-published" in message:
        return _TOGETHER
    if message == '"variants" is a required property':
        return 'for none add [variants] with images_per_false_class = 0 and sets = ["A", "B"]'
    key = where.rpartition(".")[2].partition("[")[0]
    return _FORMS.get(key, "") if "does not match" in message else ""


def _paths(source: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key in (key for key in PATHS if key in source):
        value = source[key]
        several = [(f"{where}.{key}[{place}]", path) for place, path in enumerate(value)]
        found += [(f"{where}.{key}", value)] if isinstance(value, str) else several
    return found


def _crossed_limits(content: Mapping[str, Any], file: str) -> list[Problem]:
    rules = content["filter"]
    ordered = {
        "candvg": [("min_candidates", "max_candidates")],
        "fpco-dialog": [
            ("single_min_area_share", "single_max_area_share"),
            ("min_objects", "max_objects"),
            ("separated_max_overlap", "overlapping_min_overlap"),
        ],
    }
    return [
        Problem(file, "", f"$.filter.{low}", f"{rules[low]} is above {high} = {rules[high]}")
        for low, high in ordered[content["benchmark"]]
        if rules[low] > rules[high]
    ]


def _writer_problems(content: Mapping[str, Any], file: str) -> list[Problem]:
    """What a schema cannot see of how language models are asked."""
    writer = content.get("writer", {})
    if writer.get("kind") != "llm":
        return []
    problems = []
    checkers = [(f"$.writer.cross_checks[{place}]", table) for place, table in enumerate(writer["cross_checks"])]
    for where, table in [("$.writer", writer), *checkers]:
        try:
            config_of(table)
        except UsageError as error:
            problems += [Problem(file, "", f"{where}{one.path[1:]}", one.message, one.hint) for one in error.problems]
    others = dict.fromkeys(content["decisions"]["files"], "a decision file")
    for key in ("journal", "variants_journal"):
        where, name = f"$.writer.{key}", writer[key]
        if PurePosixPath(name).is_absolute():
            told = f"{name!r} is a path of one machine"
            problems.append(Problem(file, "", where, told, "give it relative to the manifest"))
        if name in others:
            told = f"{name!r} is {others[name]} too"
            problems.append(Problem(file, "", where, told, "give the journal a name of its own"))
        others[name] = "the journal of the dialogues"
    return problems


def _published_problems(content: Mapping[str, Any], file: str) -> list[Problem]:
    problems = []
    if len(content["sources"]) > 1:
        told = f"{len(content['sources'])} published sets; a build takes one"
        problems.append(Problem(file, "", "$.sources", told, "give each set a manifest of its own"))
    if "variants" in content:
        told = "nothing writes variants of published texts"
        problems.append(Problem(file, "", "$.variants", told, "take this table out"))
    if content["source_root"]["kind"] == "miniworld":
        told = "the miniature world holds no published records"
        problems.append(Problem(file, "", "$.source_root.kind", told, 'set kind = "folder" and the path of the set'))
    return problems


def _meaning_problems(content: Mapping[str, Any], file: str) -> list[Problem]:
    problems = []
    names = [source["name"] for source in content["sources"]]
    for index, source in enumerate(content["sources"]):
        if names.index(source["name"]) != index:
            problems.append(Problem(file, "", f"$.sources[{index}].name", f"a second source {source['name']!r}"))
        for where, path in _paths(source, f"$.sources[{index}]"):
            if leaves_folder(path):
                problems.append(Problem(file, "", where, f"{path!r} leaves the source root", "give a path below it"))
    problems += _published_problems(content, file) if _is_published(content) else _crossed_limits(content, file)
    problems += _writer_problems(content, file)
    for index, name in enumerate(content["decisions"]["files"]):
        if PurePosixPath(name).is_absolute():
            told = f"{name!r} is a path of one machine"
            problems.append(Problem(file, "", f"$.decisions.files[{index}]", told, "give it relative to the manifest"))
    licences = [
        (f"$.sources[{index}].{key}", source[key])
        for index, source in enumerate(content["sources"])
        for key in ("annotations_licence", "photograph_licence")
        if key in source
    ]
    for where, licence in [*licences, ("$.card.texts_licence", content["card"]["texts_licence"])]:
        if by_spdx(licence) is None:
            told = f"{licence!r} is not in the licence table"
            known = ", ".join(row.spdx for row in load_table())
            problems.append(Problem(file, "", where, told, f"one of {known}"))
    people = content["decisions"]["review"] == "people" or content["decisions"]["screening"] == "people"
    if people and not content["decisions"]["files"]:
        hint = "name the file that the decisions will be written to; it need not be there yet"
        problems.append(Problem(file, "", "$.decisions.files", "people decide, but no decision file is named", hint))
    if content["decisions"]["files"] and not people:
        told = "decision files are named, but no people decide"
        problems.append(Problem(file, "", "$.decisions.files", told, "name none, or let people screen or review"))
    return problems


def read(path: Path, sources: Path | None = None, *, needs_sources: bool = True) -> Manifest:
    """Reads and checks a manifest.

    Args:
        path: The TOML file.
        sources: Folder to use in place of the manifest's `source_root`.
        needs_sources: Whether the folder of the source files has to be there.

    Raises:
        UsageError: The file cannot be read, is not TOML, or breaks the schema; all problems at once.
    """
    file = str(path)
    try:
        # some editors begin UTF-8 files with a byte order mark
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file}: the manifest cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: the manifest is not UTF-8 (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: the manifest is not TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{file}: the manifest is nested too deeply") from None
    wrong = schema.errors("manifest", content)
    # whoever writes the key itself there should not find it on the screen
    wrong = [(where, _NO_VARIABLE if where.endswith(".key_env") and "match" in told else told) for where, told in wrong]
    problems = [Problem(file, "", where, message, _hint(where, message)) for where, message in wrong]
    if any(problem.hint == _TOGETHER for problem in problems):
        # the limits of the other kind of build: what is wrong with them follows
        problems = [problem for problem in problems if not problem.path.startswith("$.filter") and problem.path != "$"]
    problems = problems or _meaning_problems(content, file)
    if problems:
        raise UsageError(f"{file}: the manifest is wrong; problems found: {len(problems)}", problems)
    root: Path | None = sources
    if root is None and content["source_root"]["kind"] == "folder":
        root = path.parent / content["source_root"]["path"]
    if needs_sources and root is not None and not root.is_dir():
        hint = "put the source files there, or name another folder in the manifest or with --sources"
        raise UsageError(f"{file} $.source_root: there is no folder {root} ({hint})")
    return Manifest(path, content, root)
