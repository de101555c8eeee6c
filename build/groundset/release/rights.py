# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether a release says the same of each photograph's rights everywhere, and carries only what it may."""

from __future__ import annotations

import csv
import hashlib
import io
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL import Image

from groundset.errors import Problem
from groundset.licences import POLICIES, by_spdx, credit_line, may_embed, text
from groundset.release.attribution import (
    ATTRIBUTION_COLUMNS,
    CHANGES,
    Rights,
    attribution_rows,
    count_licences,
    parse_licence_table,
    used_licences,
)
from groundset.release.parquet import read_photographs

Row = Mapping[str, Any]


def _credit_faults(row: Row, *, drawn: bool) -> Iterator[tuple[str, str]]:
    if not row["credit"].strip():
        yield "$.credit", "the credit is missing"
        return
    right = credit_line(row["source"], row["title"], row["author"], row["landing_url"], row["licence"], drawn=drawn)
    if right is None:
        lacking = "landing_url" if row["source"] == "coco" or not row["landing_url"] else "author"
        yield f"$.{lacking}", "it is missing, and without it the credit does not suffice"
    elif row["credit"] != right:
        yield "$.credit", f"it is {row['credit']!r}, the other columns make it {right!r}"
    if row["changes"] != CHANGES:
        yield "$.changes", f"{row['changes']!r}, but a release changes no photograph: {CHANGES!r}"
    # InViG's photographs are named after their files
    if row["source"] != "invig" and row["image_id"] != f"{row['source']}-{row['source_image_id']}":
        yield "$.source_image_id", f"{row['source_image_id']!r} is not the one in the image_id"


def image_row_problems(images: pa.Table, policy: str, *, drawn: bool = False) -> list[Problem]:
    """Photographs under an unknown licence, without credit, or embedded against the policy of manifest.json.

    Args:
        images: Table of `schemas/release_image`.
        policy: Image policy.
        drawn: Whether groundset itself drew the pictures.
    """
    problems = []
    for row in images.to_pylist():
        name, licence = row["image_id"], by_spdx(row["licence"])
        if licence is None or not licence.photograph:
            problems.append(
                Problem("images", name, "$.licence", f"unknown licence of a photograph: {row['licence']!r}")
            )
            continue
        if row["licence_url"] != licence.address:
            message = f"{row['licence_url']!r} is not the address of {licence.spdx}: {licence.address}"
            problems.append(Problem("images", name, "$.licence_url", message))
        problems += [Problem("images", name, path, message) for path, message in _credit_faults(row, drawn=drawn)]
        if policy in POLICIES and row["embedded"] != may_embed(licence.spdx, policy):
            word = "may not be" if row["embedded"] else "has to be"
            message = f"a photograph under {licence.spdx} {word} embedded under the image policy {policy}"
            problems.append(Problem("images", name, "$.embedded", message))
    return problems


def read_page(folder: Path, name: str) -> tuple[str, list[Problem]]:
    """The text of a page, or an empty one and why it cannot be read."""
    try:
        return (folder / name).read_bytes().decode("utf-8"), []
    except OSError as error:
        return "", [Problem(name, "", "", f"it cannot be read: {error.strerror}")]
    except UnicodeDecodeError as error:
        return "", [Problem(name, "", "", f"it is not UTF-8: {error.reason} at byte {error.start}")]


def _count_problems(folder: Path, images: pa.Table) -> list[Problem]:
    expected = count_licences(images)
    problems = []
    for name in ("README.md", "LICENSE.md"):
        page, wrong = read_page(folder, name)
        problems += wrong
        if wrong:
            continue
        stated = parse_licence_table(page)
        for spdx in sorted(set(stated) | set(expected)):
            if stated.get(spdx) != expected.get(spdx):
                told, real = stated.get(spdx), expected.get(spdx)
                message = f"the licence table says {told or 'nothing'}, the rows say {real or 'nothing'}"
                problems.append(Problem(name, spdx, "", message))
    return problems


def _attribution_problems(folder: Path, images: pa.Table) -> list[Problem]:
    file = "ATTRIBUTION.csv"
    page, problems = read_page(folder, file)
    if problems:
        return problems
    try:
        reader = csv.DictReader(io.StringIO(page, newline=""), strict=True)
        rows = list(reader)
    except csv.Error as error:
        return [Problem(file, "", "", f"it is not CSV: {error}")]
    if tuple(reader.fieldnames or ()) != ATTRIBUTION_COLUMNS:
        return [Problem(file, "", "", f"its columns are not {', '.join(ATTRIBUTION_COLUMNS)}")]
    stated = {row["image_id"]: row for row in rows}
    if len(stated) != len(rows):
        problems.append(Problem(file, "", "", "a photograph is listed twice"))
    expected = {row["image_id"]: row for row in attribution_rows(images)}
    for name in sorted(set(stated) | set(expected), key=str):
        if name not in stated or name not in expected:
            message = "the photograph is missing" if name in expected else "the release has no such photograph"
            problems.append(Problem(file, str(name), "", message))
            continue
        problems += [
            Problem(file, name, f"$.{key}", f"{stated[name][key]!r} is not what the rows say: {expected[name][key]!r}")
            for key in ATTRIBUTION_COLUMNS
            if stated[name][key] != expected[name][key]
        ]
    return problems


def _text_problems(folder: Path, rights: Rights, images: pa.Table) -> list[Problem]:
    expected = {f"{spdx}.txt": spdx for spdx in used_licences(rights, images)}
    present = {path.name for path in (folder / "LICENSES").glob("*")}
    problems = [
        Problem(f"LICENSES/{name}", "", "", "nothing in the release is under this licence")
        for name in present - set(expected)
    ]
    for name, spdx in expected.items():
        file = f"LICENSES/{name}"
        if by_spdx(spdx) is None:
            problems.append(Problem(file, "", "", f"something in the release is under an unknown licence {spdx!r}"))
            continue
        if name not in present:
            problems.append(Problem(file, "", "", "the text of a licence that is used is missing"))
            continue
        page, wrong = read_page(folder, file)
        problems += wrong
        if not wrong and page != text(spdx):
            problems.append(Problem(file, "", "", f"it is not the text of {spdx}"))
    return problems


def rights_problems(
    folder: Path, rights: Rights, images: pa.Table, policy: str, *, drawn: bool = False
) -> list[Problem]:
    """Where the rows, the card, LICENSE.md, LICENSES/ and ATTRIBUTION.csv differ on licences and credit.

    Args:
        folder: The release.
        rights: The rights that manifest.json states.
        images: Rows of the config `images`, which keep their schema.
        policy: Image policy that manifest.json states.
        drawn: Whether groundset itself drew the pictures.
    """
    problems = image_row_problems(images, policy, drawn=drawn)
    problems += _count_problems(folder, images)
    problems += _attribution_problems(folder, images)
    return problems + _text_problems(folder, rights, images)


def _decoding_problem(content: bytes, row: Row) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content)) as picture:
                if picture.size != (row["width"], row["height"]):
                    return f"it has {picture.width} x {picture.height} pixels, not {row['width']} x {row['height']}"
                picture.load()
    # Pillow's decoders raise errors of many kinds on broken files
    except Exception as error:
        return f"it cannot be decoded: {' '.join(str(error).split())}"
    return ""


def _photograph_problem(cell: Mapping[str, Any] | None, row: Row, decoded: dict[str, str]) -> str:
    if not row["embedded"]:
        return "" if cell is None else "the row carries a photograph that the config images says is only referenced"
    if cell is None or cell["bytes"] is None:
        return "the photograph is missing, and the config images says that it is embedded"
    content, path = cell["bytes"], cell["path"]
    if not path or "/" in path or "\\" in path or path.rpartition(".")[0] != row["image_id"]:
        return f"its path {path!r} is not the image_id with a suffix"
    digest = hashlib.sha256(content).hexdigest()
    if len(content) != row["bytes"] or digest != row["sha256"]:
        return "the photograph's bytes are not those that the config images names"
    if digest not in decoded:
        decoded[digest] = _decoding_problem(content, row)
    return decoded[digest]


def photograph_problems(shards: list[Path], config: str, images: pa.Table) -> list[Problem]:
    """Embedded photographs that may not be there, are missing, differ from their hash or size, or do not decode.

    Args:
        shards: Parquet files of the config whose rows carry photographs.
        config: Its name.
        images: Rows of the config `images`, which keep their schema.

    Raises:
        pyarrow.ArrowException, OSError: A file is not Parquet or is truncated.
    """
    rows = {row["image_id"]: row for row in images.to_pylist()}
    decoded: dict[str, str] = {}
    problems = set()
    for path in shards:
        for image_id, cell in read_photographs(path):
            if image_id in rows:
                message = _photograph_problem(cell, rows[image_id], decoded)
                if message:
                    problems.add(Problem(config, image_id, "$.image", message))
    return sorted(problems)
