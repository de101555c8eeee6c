# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlcroissant
import pyarrow as pa
import pytest

from groundset.release.attribution import count_licences
from groundset.release.checksums import file_digests
from groundset.release.croissant import CROISSANT, stated_licences
from groundset.release.facts import CONFIGS
from groundset.release.parquet import read_rows, shard_paths


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / CROISSANT).read_text(encoding="utf-8"))
    return found


def rows_of(folder: Path, config: str) -> list[dict[str, Any]]:
    return pa.concat_tables([read_rows(path) for path in shard_paths(folder, config)]).to_pylist()


def plain(value: Any) -> Any:
    """What mlcroissant gives, without the record sets' names before the fields' and with text as text."""
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return None if isinstance(value, float) and math.isnan(value) else value


@pytest.fixture(scope="module", params=["fpco-dialog", "candvg", "reference-only"])
def release(
    request: pytest.FixtureRequest,
    releases: dict[str, Path],
    make: dict[str, Callable[..., Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Path]:
    if request.param != "reference-only":
        return request.param, releases[request.param]
    folder = tmp_path_factory.mktemp("referenced")
    return "fpco-dialog", make["fpco-dialog"](folder / "photographs", policy="reference-only").write(folder / "release")


def test_mlcroissant_finds_nothing_wrong(release: tuple[str, Path]) -> None:
    issues = mlcroissant.Dataset(str(release[1] / CROISSANT)).metadata.issues
    assert (list(issues.errors), list(issues.warnings)) == ([], [])


def test_mlcroissant_loads_every_row_of_every_config(release: tuple[str, Path]) -> None:
    benchmark, folder = release
    loaded = mlcroissant.Dataset(str(folder / CROISSANT))
    for config in CONFIGS[benchmark]:
        found = [plain(row) for row in loaded.records(config.name)]
        pictures = [row.pop("image") for row in found if "image" in row]
        assert found == rows_of(folder, config.name), config.name
        referenced = [row for row in rows_of(folder, "images") if not row["embedded"]]
        if pictures and not referenced:
            assert all(picture.size == (64, 48) for picture in pictures)


def test_every_file_is_listed_with_its_hash(release: tuple[str, Path]) -> None:
    folder = release[1]
    objects = {row["contentUrl"]: row["sha256"] for row in document(folder)["distribution"] if "contentUrl" in row}
    expected = file_digests(folder)
    del expected[CROISSANT]
    assert objects == expected


def test_licences_are_those_of_the_rows(release: tuple[str, Path]) -> None:
    folder = release[1]
    (path,) = shard_paths(folder, "images")
    counts = count_licences(read_rows(path))
    assert stated_licences(document(folder)) == counts
    named = {row["name"] for row in document(folder)["license"]}
    assert named >= set(counts)
    loaded = mlcroissant.Dataset(str(folder / CROISSANT)).records("licences")
    assert {row["licences/licence"] for row in loaded} == set(counts)


def test_what_the_release_says_of_itself(release: tuple[str, Path]) -> None:
    told = document(release[1])
    assert told["conformsTo"][0] == "http://mlcommons.org/croissant/1.1"
    assert told["rai:hasSyntheticData"] is (release[0] == "fpco-dialog")
    assert told["rai:dataLimitations"] == ["English only.", "Boxes are\nrectangles."]
    assert told["rai:dataAnnotationProtocol"] == ["Two people who know the rules. Pay: 20 an hour."]
    (source,) = told["prov:wasDerivedFrom"]
    assert source["@id"] == ("https://cocodataset.org" if release[0] == "fpco-dialog" else "#source-invig-test")
    assert told["prov:wasGeneratedBy"][0]["description"].endswith(
        "9 kept, 1 rejected by group_box, 2 rejected by too_small"
    )


def test_every_described_column_exists(release: tuple[str, Path]) -> None:
    benchmark, folder = release
    for config in CONFIGS[benchmark]:
        (described,) = (row for row in document(folder)["recordSet"] if row["@id"] == config.name)
        names = [field["name"] for field in described["field"] if field["name"] != "image"]
        (path, *_) = shard_paths(folder, config.name)
        assert names == read_rows(path).column_names
