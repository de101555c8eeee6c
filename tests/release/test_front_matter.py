# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from groundset.release.facts import CONFIGS
from groundset.release.features import yaml_features
from groundset.release.front_matter import front_matter, read_front_matter, size_category
from groundset.release.parquet import Size


def test_front_matter_names_configs_features_and_splits_in_loadable_order(candvg) -> None:
    tables = {**candvg.tables, "images": candvg.images}
    sizes = {name: Size(table.num_rows, 1000, 2000, 1) for name, table in tables.items()}
    head = read_front_matter(f"---\n{front_matter(candvg.facts, sizes)}---\n")
    assert head["license"] == "other"
    assert head["license_link"] == "LICENSE.md"
    names = [config.name for config in CONFIGS["candvg"]]
    assert [entry["config_name"] for entry in head["configs"]] == names
    assert [entry.get("default") for entry in head["configs"]] == [True, None, None, None]
    assert [entry["splits"][0]["num_examples"] for entry in head["dataset_info"]] == [5, 2, 10, 2]
    box = next(field for field in head["dataset_info"][0]["features"] if field["name"] == "candidates")["list"][1]
    assert list(box) == ["name", "list", "length"]
    assert head["dataset_info"][0]["features"] == yaml_features("candvg_sample")


@pytest.mark.parametrize("text", ["", "# no front matter", "---\na: [\n---\n", "---\n- *missing\n---\n"])
def test_broken_front_matter_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="front matter"):
        read_front_matter(text)


def test_size_category_borders() -> None:
    assert [size_category(n) for n in (0, 999, 1000, 9999, 10_000, 10**6)] == [
        "n<1K",
        "n<1K",
        "1K<n<10K",
        "1K<n<10K",
        "10K<n<100K",
        "1M<n<10M",
    ]


def test_front_matter_marks_simulation(candvg) -> None:
    sizes = {config.name: Size(1, 1, 1, 1) for config in CONFIGS["candvg"]}
    assert "- simulated" in front_matter(replace(candvg.facts, simulated=("x",)), sizes)
    assert "- simulated" not in front_matter(candvg.facts, sizes)
