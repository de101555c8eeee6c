# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The YAML between the first two lines of a card, which load_dataset obeys and the Hub searches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]

from groundset.release.card_texts import TAGS, TASKS
from groundset.release.facts import SPLIT, Facts, configs_of
from groundset.release.features import yaml_features
from groundset.release.parquet import Size

_SIZE_LIMITS = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"))


def size_category(rows: int) -> str:
    """The Hub's word for a number of rows.

    >>> size_category(999), size_category(1000)
    ('n<1K', '1K<n<10K')
    """
    return next((word for limit, word in _SIZE_LIMITS if rows < limit), "1M<n<10M")


def front_matter(facts: Facts, sizes: Mapping[str, Size]) -> str:
    """The YAML front matter: configs, features and splits, in an order that load_dataset can read."""
    configs = configs_of(facts)
    head: dict[str, Any] = {
        "pretty_name": facts.title,
        "language": list(facts.language),
        # the Hub's list has no id for several of the photographs' licences
        "license": "other",
        "license_name": "mixed-per-image",
        "license_link": "LICENSE.md",
        "task_categories": list(TASKS[facts.benchmark]),
        "size_categories": [size_category(sizes[configs[0].name].rows)],
        "tags": [*TAGS[facts.benchmark], *(["simulated"] if facts.simulated else [])],
        "configs": [
            {
                "config_name": config.name,
                **({"default": True} if config is configs[0] else {}),
                "data_files": [{"split": SPLIT, "path": f"data/{config.name}/{SPLIT}-*.parquet"}],
            }
            for config in configs
        ],
        "dataset_info": [
            {
                "config_name": config.name,
                "features": yaml_features(config.schema),
                "splits": [
                    {
                        "name": SPLIT,
                        "num_bytes": sizes[config.name].memory_bytes,
                        "num_examples": sizes[config.name].rows,
                    }
                ],
                "download_size": sizes[config.name].download_bytes,
                "dataset_size": sizes[config.name].memory_bytes,
            }
            for config in configs
        ],
    }
    text: str = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10**6)
    return text


def read_front_matter(card: str) -> Any:
    """What the front matter of a card says.

    Raises:
        ValueError: There is none, or it is not YAML.
    """
    match = re.match(r"---\n(.*?\n)---\n", card, flags=re.DOTALL)
    if match is None:
        raise ValueError("the card has no front matter between two lines of ---")
    try:
        return yaml.safe_load(match[1])
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"the front matter is not YAML: {' '.join(str(error).split())}") from error
