# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Loads a release as a researcher would and shows one sample of it."""

import os
import sys

# a release in a folder needs no network, and the hub client would otherwise ask
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from datasets import disable_progress_bars, get_dataset_config_names, load_dataset

disable_progress_bars()

release = sys.argv[1]
for config in get_dataset_config_names(release):
    rows = load_dataset(release, config, split="test")
    print(f"{config}: {rows.num_rows} rows of {', '.join(rows.column_names)}")

sample = load_dataset(release, split="test")[0]
print()
for name, value in sample.items():
    if isinstance(value, list) and value and isinstance(value[0], dict):
        print(f"{name}:")
        for entry in value:
            print(f"  {entry}")
    else:
        print(f"{name}: {value}")
