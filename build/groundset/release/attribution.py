# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Who has which rights in a release: ATTRIBUTION.csv, LICENSE.md and the texts in LICENSES/."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from groundset.licences import CODE_LICENCE, Licence, by_spdx, text
from groundset.release.markdown import table

ATTRIBUTION_COLUMNS = (
    "image_id",
    "title",
    "author",
    "author_url",
    "landing_url",
    "image_url",
    "original_url",
    "licence",
    "licence_url",
    "credit",
    "changes",
    "embedded",
    "source",
    "source_name",
    "source_image_id",
    "sha256",
)


# bytes are never re-encoded or turned
CHANGES = "none"


@dataclass(frozen=True)
class SourceRights:
    """Whose a source's annotations and dialogues are.

    Attributes:
        licence: SPDX id.
        credit: Who made them.
        url: Where they are published; `none` for generated ones.
    """

    licence: str
    credit: str
    url: str


@dataclass(frozen=True)
class Rights:
    """The rights in a release that do not differ from photograph to photograph.

    Attributes:
        texts: SPDX id of our annotations and texts.
        sources: Source's name to the rights in its annotations and dialogues.
        code: SPDX id of the code that built the release, and of the schemas in it.
    """

    texts: str
    sources: Mapping[str, SourceRights]
    code: str = CODE_LICENCE


@dataclass(frozen=True)
class LicenceCount:
    """How many photographs of a release are under one licence."""

    photographs: int
    embedded: int
    referenced: int


def count_licences(images: pa.Table) -> dict[str, LicenceCount]:
    """Photographs per licence, sorted by id.

    Args:
        images: Table of `schemas/release_image`.
    """
    counts: dict[str, list[int]] = {}
    for licence, embedded in zip(images["licence"].to_pylist(), images["embedded"].to_pylist(), strict=True):
        counts.setdefault(licence, [0, 0])[0 if embedded else 1] += 1
    return {spdx: LicenceCount(sum(pair), *pair) for spdx, pair in sorted(counts.items())}


def _named(spdx: str) -> str:
    licence = by_spdx(spdx)
    return f"[{spdx}]({licence.address})" if licence else spdx


def _policies(licence: Licence) -> str:
    return ", ".join(licence.embed) + (", unchanged only" if licence.verbatim else "")


def licence_table(images: pa.Table) -> str:
    """The photographs' licences with their counts, as a Markdown table."""
    head = (
        "licence",
        "in words",
        "photographs",
        "embedded",
        "referenced",
        "image policies that embed it",
        "what it asks of you",
    )
    rows: list[tuple[object, ...]] = []
    for spdx, count in count_licences(images).items():
        licence = by_spdx(spdx)
        title, policies, obliges = (licence.title, _policies(licence), licence.obliges) if licence else ("", "", "")
        rows.append((_named(spdx), title, count.photographs, count.embedded, count.referenced, policies, obliges))
    return table(head, rows, right=(2, 3, 4))


def parse_licence_table(markdown: str) -> dict[str, LicenceCount]:
    """The counts that a page's licence table states; reads what `licence_table` writes."""
    row = re.compile(r"^\| \[([A-Za-z0-9.-]+)\]\([^)]*\) \| [^|]* \| ([0-9]+) \| ([0-9]+) \| ([0-9]+) \|")
    found = (row.match(line) for line in markdown.splitlines())
    return {match[1]: LicenceCount(int(match[2]), int(match[3]), int(match[4])) for match in found if match}


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # a carriage return alone would end the line for some readers of CSV
    return "" if value is None else str(value).replace("\r\n", "\n").replace("\r", "\n")


def attribution_rows(images: pa.Table) -> list[dict[str, str]]:
    """One row a photograph as ATTRIBUTION.csv has it, sorted by image_id; null is empty."""
    rows = images.select(list(ATTRIBUTION_COLUMNS)).sort_by("image_id").to_pylist()
    return [{name: _cell(row[name]) for name in ATTRIBUTION_COLUMNS} for row in rows]


def attribution_csv(images: pa.Table) -> str:
    """ATTRIBUTION.csv: title, author, source, licence and credit of every photograph."""
    page = io.StringIO(newline="")
    writer = csv.DictWriter(page, ATTRIBUTION_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(attribution_rows(images))
    return page.getvalue()


def used_licences(rights: Rights, images: pa.Table) -> list[str]:
    """Every id that something in the release is under, sorted: what LICENSES/ holds, no more and no less."""
    named = {source.licence for source in rights.sources.values()}
    return sorted({rights.code, rights.texts, *named, *count_licences(images)})


def licence_texts(rights: Rights, images: pa.Table) -> dict[str, str]:
    """File name below LICENSES/ to its text, for every id that the release uses."""
    return {f"{spdx}.txt": text(spdx) for spdx in used_licences(rights, images)}


def _source_line(name: str, source: SourceRights) -> str:
    address = "" if source.url == "none" else f" ({source.url})"
    return f"- `{name}`: {source.credit}{address}, {_named(source.licence)}"


def licence_page(title: str, rights: Rights, images: pa.Table, policy: str) -> str:
    """LICENSE.md: the four kinds of rights, kept apart (design, section 9)."""
    counts = count_licences(images)
    embedded = sum(count.embedded for count in counts.values())
    referenced = sum(count.referenced for count in counts.values())
    sources = "\n".join(_source_line(name, source) for name, source in sorted(rights.sources.items()))
    return f"""# Rights in {title}

No single licence covers this release. Four kinds of rights are kept apart; the texts lie in `LICENSES/`.

## 1. Code

The code that built the release, groundset, and the files in `schemas/` are under {_named(rights.code)}.

## 2. Annotations and texts made for this release

They are under {_named(rights.texts)}: every column that is not named below, the card and the figures.

## 3. Annotations and dialogues of the sources

Boxes, class names and, where a source has them, dialogues stay under the licence of the source that published them:

{sources}

## 4. Photographs

Each photograph keeps its own licence, as its source states it: column `licence`, with title, author, page and credit
line in the config `images` and in `ATTRIBUTION.csv`. The sources do not warrant these statements; they may have
changed since. The image policy of this release is `{policy}`: {embedded} photographs are embedded, byte for byte as
the source serves them, and {referenced} are referenced by address, length and sha256 only.

{licence_table(images)}

To pass a photograph on, keep its credit line and its licence's address with it. Embedding it here puts it under no
other terms, and this release adds none.
"""
