# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""SHA256SUMS of a release: written as `sha256sum -c` reads it, and held against the folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from groundset.errors import Problem

CHECKSUMS = "SHA256SUMS"
# what git and the Hub's client put into a copy of the repository
NOT_OURS = (".git", ".gitattributes", ".cache")
# in a copy that hydrate made: what it is
HYDRATED = "hydrated.txt"
# what a release has at its top
PARTS = (
    "README.md",
    "LICENSE.md",
    "ATTRIBUTION.csv",
    "manifest.json",
    "croissant.json",
    CHECKSUMS,
    "data",
    "schemas",
    "figures",
    "LICENSES",
)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def listed_files(folder: Path) -> list[str]:
    """Paths of all files of a release but SHA256SUMS, relative and sorted."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return sorted(name.as_posix() for name in names if name.parts[0] not in NOT_OURS and name.as_posix() != CHECKSUMS)


def file_digests(folder: Path) -> dict[str, str]:
    """Path to sha256 of all files of a release but SHA256SUMS, sorted by path."""
    return {name: _digest(folder / name) for name in listed_files(folder)}


def checksums(folder: Path) -> str:
    """SHA256SUMS of a folder, sorted by path."""
    return listing(file_digests(folder))


def listing(digests: Mapping[str, str]) -> str:
    """SHA256SUMS of files whose hashes are known, sorted by path."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def _stated(folder: Path) -> tuple[dict[str, str], list[Problem]]:
    stated: dict[str, str] = {}
    problems = []
    text = (folder / CHECKSUMS).read_bytes().decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line)
        if match is None:
            problems.append(Problem(CHECKSUMS, f"line {number}", "", "the line is not a sha256, two blanks and a path"))
        elif match[2] in stated:
            problems.append(Problem(CHECKSUMS, f"line {number}", "", f"{match[2]} is listed twice"))
        else:
            stated[match[2]] = match[1]
    return stated, problems


def checksum_problems(folder: Path) -> list[Problem]:
    """Every file that differs from SHA256SUMS, is missing, is not listed, or is no plain file."""
    try:
        stated, problems = _stated(folder)
    except OSError as error:
        return [Problem(CHECKSUMS, "", "", f"it cannot be read: {error.strerror}")]
    if (folder / CHECKSUMS).is_symlink():
        problems.append(Problem(CHECKSUMS, "", "", "it is a link, not a file"))
    if not problems and (folder / CHECKSUMS).read_bytes() != listing(stated).encode():
        problems.append(Problem(CHECKSUMS, "", "", "it is not sorted by path, or its line ends are not line feeds"))
    present = listed_files(folder)
    hint = "get the release again, or write a new one"
    problems += [
        Problem(name, "", "", "SHA256SUMS lists the file, but it is not there", hint)
        for name in set(stated) - set(present)
    ]
    for name in present:
        path = folder / name
        try:
            if path.is_symlink():
                problems.append(Problem(name, "", "", "it is a link, not a file"))
            elif name not in stated:
                problems.append(Problem(name, "", "", "SHA256SUMS does not list the file"))
            elif _digest(path) != stated[name]:
                problems.append(Problem(name, "", "", "the file is not the one that SHA256SUMS lists", hint))
        except OSError as error:
            problems.append(Problem(name, "", "", f"it cannot be read: {error.strerror}"))
    return problems
