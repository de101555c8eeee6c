# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import yaml
from datasets import Features, Image, List, Value

from groundset.release.facts import CONFIGS
from groundset.release.features import features, yaml_features
from groundset.schema_types import arrow_schema

SCHEMAS = sorted({config.schema for configs in CONFIGS.values() for config in configs})


@pytest.mark.parametrize("name", SCHEMAS)
def test_features_have_the_columns_and_types_of_the_schema(name: str) -> None:
    expected = arrow_schema(name)
    found = features(name)
    assert list(found) == expected.names
    loose = str(found.arrow_schema.remove_metadata()).replace("fixed_size_list", "list").replace("[4]", "")
    assert loose == str(expected)


@pytest.mark.parametrize("name", SCHEMAS)
def test_front_matter_gives_the_features_back(name: str) -> None:
    listed = yaml.safe_load(yaml.safe_dump(yaml_features(name), sort_keys=False))
    assert Features._from_yaml_list(listed) == features(name)


def test_boxes_have_four_numbers_and_questions_no_fixed_length() -> None:
    found = features("fpco_dialogue")
    assert found["target_bbox_xyxy_px"] == List(Value("float64"), length=4)
    assert found["questions"].length == -1
    assert found["image"] == Image()
    assert features("candvg_sample")["candidates"].feature["bbox_xyxy_px"].length == 4
