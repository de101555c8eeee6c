# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The whole world: the same bytes everywhere, and never into a folder that is there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundset.errors import UsageError
from groundset.miniworld.write import write_world

_PROGRAM = "import sys, pathlib; from groundset.miniworld.write import write_world; "
_PROGRAM += "write_world(pathlib.Path(sys.argv[1]), 'seed', 1)"


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("write") / "deep" / "world"
    write_world(folder, "seed", 1)
    return folder


def test_bytes_do_not_depend_on_the_hash_seed(world: Path, tmp_path: Path) -> None:
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", _PROGRAM, str(tmp_path / "again")], check=True, env=environment)
    assert _digests(tmp_path / "again") == _digests(world)


def test_more_scenes_leave_the_others_as_they_are(world: Path, tmp_path: Path) -> None:
    write_world(tmp_path / "more", "seed", 2)
    few, many = _digests(world), _digests(tmp_path / "more")
    grown = {"coco/instances_miniworld.json", "truth.json"}
    assert {name: many[name] for name in few if name not in grown} == {
        name: digest for name, digest in few.items() if name not in grown
    }
    assert len(many) == len(few) + 12


def test_another_seed_is_another_world(world: Path, tmp_path: Path) -> None:
    write_world(tmp_path / "other", "seed 2", 1)
    name = "coco/images/000000100000.jpg"
    assert _digests(tmp_path / "other")[name] != _digests(world)[name]


def test_truth_covers_every_image_and_dialogue(world: Path) -> None:
    truth = json.loads((world / "truth.json").read_text(encoding="utf-8"))
    instances = json.loads((world / "coco" / "instances_miniworld.json").read_text(encoding="utf-8"))
    assert set(truth["coco"]) == {str(image["id"]) for image in instances["images"]}
    for split, word in (("valid", "validation"), ("test", "test")):
        lines = (world / "invig" / "invig21k_anns" / f"invig21k_{split}_anns.jsonl").read_text(encoding="utf-8")
        assert set(truth["invig"][word]) == {str(json.loads(line)["id"]) for line in lines.splitlines()}


def test_no_picture_is_drawn_twice(world: Path) -> None:
    pictures = [digest for name, digest in _digests(world).items() if name.endswith(".jpg")]
    assert len(pictures) == len(set(pictures)) > 90


def test_existing_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_world(tmp_path, "seed", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_no_scene_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="scenes_per_cell is 0"):
        write_world(tmp_path / "world", "seed", 0)
