# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from groundset.licences import POLICIES, may_embed, text
from groundset.release.attribution import (
    LicenceCount,
    Rights,
    SourceRights,
    attribution_csv,
    count_licences,
    licence_page,
    licence_table,
    licence_texts,
    parse_licence_table,
    used_licences,
)
from groundset.release.croissant import CROISSANT, stated_licences
from groundset.release.facts import WITH_IMAGE
from groundset.release.verify import verify

INVIG = SourceRights("Apache-2.0", "InViG authors", "https://invig.invalid")
RIGHTS = Rights("CC-BY-4.0", {"coco-test": SourceRights("CC-BY-4.0", "COCO Consortium", "none"), "invig-test": INVIG})


def test_counts_tell_embedded_from_referenced(fpco) -> None:
    counts = count_licences(fpco.images)
    assert counts["CC-BY-ND-2.0"] == LicenceCount(1, 1, 0)
    assert counts["CC-BY-NC-2.0"] == LicenceCount(1, 0, 1)
    assert len(counts) == 8


def test_licence_table_reads_back(fpco) -> None:
    page = f"# Title\n\n| filter | images | 12 | 9 | 3 | none |\n\n{licence_table(fpco.images)}\n\nEnd."
    assert parse_licence_table(page) == count_licences(fpco.images)


def test_attribution_keeps_odd_titles_and_is_sorted(candvg) -> None:
    page = attribution_csv(candvg.images.take([1, 0]))
    rows = list(csv.DictReader(io.StringIO(page, newline="")))
    assert [row["image_id"] for row in rows] == ["invig-1a", "invig-2b"]
    assert rows[0]["title"] == 'Three | boys,\n"on" a hill'
    assert rows[1]["author"] == "Michał"
    assert rows[1]["title"] == ""
    assert (rows[0]["embedded"], rows[1]["embedded"]) == ("true", "false")
    assert rows[0]["credit"] == candvg.images["credit"][0].as_py()


def test_texts_are_exactly_those_of_the_licences_in_use(candvg) -> None:
    rights = Rights("CC0-1.0", {"invig-test": INVIG})
    expected = ["Apache-2.0", "CC-BY-2.0", "CC-BY-NC-2.0", "CC0-1.0"]
    assert used_licences(rights, candvg.images) == expected
    assert licence_texts(rights, candvg.images) == {f"{spdx}.txt": text(spdx) for spdx in expected}


def test_licence_page_keeps_four_kinds_of_rights_apart(candvg) -> None:
    page = licence_page("CandVG", RIGHTS, candvg.images, "permissive")
    parts = page.split("\n## ")
    assert [part.split("\n")[0] for part in parts[1:]] == [
        "1. Code",
        "2. Annotations and texts made for this release",
        "3. Annotations and dialogues of the sources",
        "4. Photographs",
    ]
    assert "Apache-2.0" in parts[1]
    assert "CC-BY-4.0" in parts[2]
    assert "`invig-test`: InViG authors (https://invig.invalid), [Apache-2.0]" in parts[3]
    assert "1 photographs are embedded" in parts[4]
    assert parse_licence_table(page) == count_licences(candvg.images)


@pytest.mark.parametrize("benchmark", ["fpco-dialog", "candvg"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_places_that_count_licences_agree(benchmark: str, policy: str, make, tmp_path: Path) -> None:
    folder = make[benchmark](tmp_path / "photographs", policy).write(tmp_path / "release")
    images = pq.read_table(folder / "data/images")
    counts = count_licences(images)
    assert len(counts) == (8 if benchmark == "fpco-dialog" else 2)
    for spdx, count in counts.items():
        assert count.embedded == (count.photographs if may_embed(spdx, policy) else 0)
    for page in ("README.md", "LICENSE.md"):
        assert parse_licence_table((folder / page).read_text(encoding="utf-8")) == counts
    assert stated_licences(json.loads((folder / CROISSANT).read_bytes())) == counts
    listed = pa.csv.read_csv(folder / "ATTRIBUTION.csv", parse_options=pa.csv.ParseOptions(newlines_in_values=True))
    assert count_licences(listed) == counts
    # what is embedded is what the rows with photographs carry
    config = WITH_IMAGE[benchmark]
    rows = pq.read_table(folder / "data" / config, columns=["image_id", "image"]).to_pylist()
    embedded = {row["image_id"] for row in images.to_pylist() if row["embedded"]}
    assert {row["image_id"] for row in rows if row["image"]} == embedded
    assert verify(folder, load=False) == []
