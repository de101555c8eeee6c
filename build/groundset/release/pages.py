# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether a release's card, figures, LICENSE.md and croissant.json are what its rows and manifest.json make."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset import __version__
from groundset.errors import Problem
from groundset.release.attribution import attribution_csv, count_licences, licence_page
from groundset.release.card import card
from groundset.release.croissant import CROISSANT, File, croissant, stated_licences
from groundset.release.facts import configs_of
from groundset.release.figures import FOLDER, figures
from groundset.release.parquet import config_size
from groundset.release.record import ReleaseRecord
from groundset.release.rights import read_page

SHOWN_CHARACTERS = 120


def _line_problem(name: str, stated: str, expected: str) -> Problem | None:
    """The first line that differs; one that is right and out of place counts as different."""
    for number, (found, right) in enumerate(
        itertools.zip_longest(stated.splitlines(), expected.splitlines(), fillvalue=""), 1
    ):
        if found != right:
            message = f"it says {_shown(found)}, the rows and manifest.json make it {_shown(right)}"
            return Problem(name, f"line {number}", "", message)
    return None if stated == expected else Problem(name, "", "", "its line ends are not those of the release")


def _shown(line: str) -> str:
    return repr(line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…")


def _file_problems(document: Mapping[str, Any], digests: Mapping[str, str]) -> list[Problem]:
    stated = {row["contentUrl"]: row["sha256"] for row in document["distribution"] if "contentUrl" in row}
    found = {name: digest for name, digest in digests.items() if name != CROISSANT}
    return [
        Problem(CROISSANT, name, "$.distribution", f"it gives the sha256 {stated.get(name)}, the file has {digest}")
        for name, digest in found.items()
        if stated.get(name) != digest
    ] + [
        Problem(CROISSANT, name, "$.distribution", "the release has no such file")
        for name in sorted(set(stated) - set(found))
    ]


def croissant_problems(folder: Path, images: pa.Table, digests: Mapping[str, str]) -> list[Problem]:
    """Where croissant.json is none, or counts licences or hashes files otherwise than the rows and the folder.

    Args:
        folder: The release.
        images: Rows of the config `images`, which keep their schema.
        digests: What `file_digests` says of the folder.
    """
    text, problems = read_page(folder, CROISSANT)
    if problems:
        return problems
    try:
        document = json.loads(text)
        stated = stated_licences(document)
        problems += _file_problems(document, digests)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return [Problem(CROISSANT, "", "", f"it is not what groundset writes: {error!r}")]
    expected = count_licences(images)
    for spdx in sorted(set(stated) | set(expected)):
        if stated.get(spdx) != expected.get(spdx):
            told, real = stated.get(spdx), expected.get(spdx)
            message = f"it counts {told or 'nothing'}, the rows say {real or 'nothing'}"
            problems.append(Problem(CROISSANT, spdx, "$.recordSet", message))
    return problems


def page_problems(
    folder: Path,
    record: ReleaseRecord,
    tables: Mapping[str, pa.Table],
    images: pa.Table,
    digests: Mapping[str, str],
) -> list[Problem]:
    """Where a page is not, line for line, what this version of groundset makes of rows and manifest.json.

    A release of another version has pages worded otherwise: of these only what they count is checked, elsewhere.

    Args:
        folder: The release.
        record: Its manifest.json.
        tables: Config to its rows without photographs.
        images: Rows of the config `images`.
        digests: What `file_digests` says of the folder.
    """
    facts = record.facts
    problems: list[Problem] = []
    if facts.groundset_version != __version__:
        return problems
    expected = {
        "LICENSE.md": licence_page(facts.title, record.rights, images, facts.image_policy),
        "ATTRIBUTION.csv": attribution_csv(images),
    }
    if set(tables) == {config.name for config in configs_of(facts)}:
        sizes = {config.name: config_size(folder, config) for config in configs_of(facts)}
        drawn = figures(facts, tables, images)
        expected["README.md"] = card(facts, tables, images, sizes, drawn)
        expected |= {figure.path: figure.svg for figure in drawn.values()}
        problems += [
            Problem(name, "", "", "the release has no such figure")
            for name in digests
            if name.startswith(f"{FOLDER}/") and name not in expected
        ]
    files = [
        File(name, (folder / name).stat().st_size, digest) for name, digest in digests.items() if name != CROISSANT
    ]
    expected[CROISSANT] = croissant(facts, record.rights, images, files)
    for name, right in expected.items():
        text, wrong = read_page(folder, name)
        problems += wrong
        if not wrong and (problem := _line_problem(name, text, right)):
            problems.append(problem)
    return problems
