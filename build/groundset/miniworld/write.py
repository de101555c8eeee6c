# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes the whole miniature world: the three sources, and what its annotators know."""

from __future__ import annotations

import json
from pathlib import Path

from groundset.errors import UsageError
from groundset.miniworld.coco_files import write_coco
from groundset.miniworld.invig_files import write_invig
from groundset.miniworld.openimages_files import write_openimages


def write_world(folder: Path, seed: str, scenes_per_cell: int) -> None:
    """Draws the world and writes `coco/`, `openimages/`, `invig/` and `truth.json`; same arguments, same bytes.

    `truth.json` is no source file: it holds what the simulated annotators see in the drawings.

    Args:
        folder: Where to write; must not exist yet. To be atomic, write beside the final name and rename.
        seed: Everything drawn follows from it.
        scenes_per_cell: Healthy COCO scenes for each complexity and category; the other sources keep their size.

    Raises:
        UsageError: The folder exists, or there is to be no scene.
    """
    if folder.exists():
        raise UsageError(f"{folder} exists already; the miniature world is written into a new folder")
    if scenes_per_cell < 1:
        raise UsageError(f"scenes_per_cell is {scenes_per_cell}, but each cell of the miniature world needs a scene")
    folder.mkdir(parents=True)
    coco = write_coco(folder / "coco", seed, scenes_per_cell)
    write_openimages(folder / "openimages", seed)
    truth = {"seed": seed, "coco": coco, "invig": write_invig(folder / "invig", seed)}
    path = folder / "truth.json"
    path.write_text(json.dumps(truth, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
