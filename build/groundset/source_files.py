# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The files that a source of the manifest is made of, and the names under which the lock pins them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundset.errors import DataError, Problem
from groundset.files import canonical_json, names_sha256, sha256_bytes, sha256_file
from groundset.sources import invig_forms

# keys of a source that name files, one or a list of them
KEYS = ("annotations", "completions", "photograph_metadata", "image_metadata", "class_descriptions", "hierarchy")
# readers that take a folder of shards as annotations
OF_SHARDS = ("invig",)

Row = Mapping[str, Any]


def named(source: Row) -> tuple[str, ...]:
    """The paths that a source names, relative to the source root, as the manifest has them.

    >>> named({"annotations": "a.json", "photograph_metadata": ["b.csv", "c.csv"], "images": "jpegs"})
    ('a.json', 'b.csv', 'c.csv')
    """
    found = [source[key] for key in KEYS if source.get(key, "none") != "none"]
    return tuple(path for value in found for path in ([value] if isinstance(value, str) else value))


def pin_name(source: Row, path: str) -> str:
    """Name of a file's pin in the lock: the source's own for its annotations, else source and path.

    >>> pin_name({"name": "coco-val", "annotations": "a.json"}, "a.zip")
    'coco-val/a.zip'
    """
    return str(source["name"]) if path == source.get("annotations") else f"{source['name']}/{path}"


@dataclass(frozen=True)
class Annotations:
    """What lies where a source's annotations should.

    Attributes:
        path: The path of the manifest.
        files: The file, or the shards in the folder, as paths below the source root, sorted.
        is_folder: Whether it is a folder of shards.
    """

    path: str
    files: tuple[str, ...]
    is_folder: bool


def annotations_of(source: Row, root: Path) -> Annotations:
    """The annotation file of a source, or the shards of its split; none of a published set, which is pinned as a whole.

    Raises:
        DataError: Nothing is there, or a folder that is none of shards.
    """
    path = root / source["annotations"]
    if source["kind"] == "fpco-published":
        return Annotations(source["annotations"], (), False)
    if path.is_dir() and source["kind"] in OF_SHARDS:
        shards = invig_forms.shards(path, source["split"])
        return Annotations(source["annotations"], tuple(shard.relative_to(root).as_posix() for shard in shards), True)
    if path.is_file():
        return Annotations(source["annotations"], (source["annotations"],), False)
    told = "this is not a file" if path.exists() else f"the source {source['name']} is not there"
    hint = "check source_root and annotations in the manifest"
    raise DataError(f"{path}: {told}", [Problem(str(path), "", "", told, hint)])


def _others(source: Row) -> list[str]:
    return sorted(set(named(source)) - {source["annotations"]})


def digests(source: Row, root: Path) -> dict[str, str]:
    """What a source is made of, as a receipt names it: path below the root to sha256.

    A folder's path ends in a slash and stands for the names in it, so that a shard that is added is seen.

    Raises:
        DataError: A file is not there.
        OSError: A file cannot be read.
    """
    about = annotations_of(source, root)
    found = {path: sha256_file(root / path) for path in about.files}
    if about.is_folder:
        found[f"{about.path.rstrip('/')}/"] = names_sha256(root / about.path)
    others = _others(source)
    absent = [path for path in others if not (root / path).is_file()]
    if absent:
        told = "there is no such file"
        raise DataError(
            f"{len(absent)} files of the source {source['name']} are not there",
            [Problem(str(root / path), "", "", told) for path in absent],
        )
    return {**found, **{path: sha256_file(root / path) for path in others}}


def size(source: Row, root: Path) -> int:
    """Length of the annotations in bytes; of shards, of all together."""
    return sum((root / path).stat().st_size for path in annotations_of(source, root).files)


def _whole(about: Annotations, root: Path, known: Mapping[str, str]) -> dict[str, Any]:
    digest = sha256_bytes(canonical_json({path: known[path] for path in about.files}))
    return {"sha256": digest, "bytes": sum((root / path).stat().st_size for path in about.files)}


def pins(source: Row, root: Path, known: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What the lock should hold of a source; of shards, each, and under the source's name the whole set.

    Args:
        source: The source.
        root: The source root.
        known: Path to sha256, as `digests` and receipts have it.
    """
    about = annotations_of(source, root)
    paths = [*about.files, *_others(source)]
    found = {pin_name(source, path): {"sha256": known[path], "bytes": (root / path).stat().st_size} for path in paths}
    return {**found, str(source["name"]): _whole(about, root, known)} if about.is_folder else found


def pinned(source: Row, root: Path, held: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The same for what the lock holds already, as far as it is there.

    Args:
        source: The source.
        root: The source root.
        held: The lock's `sources`.
    """
    try:
        about = annotations_of(source, root)
    # what is wrong there is told by who reads it
    except DataError:
        about = Annotations(source["annotations"], (), False)
    whole = about.is_folder and source["name"] in held
    there = [path for path in (*about.files, *_others(source)) if (root / path).is_file()]
    of_pin = {pin_name(source, path): path for path in there}
    known = {
        path: sha256_file(root / path) for pin, path in of_pin.items() if pin in held or (whole and path in about.files)
    }
    found = {
        pin: {"sha256": known[path], "bytes": (root / path).stat().st_size}
        for pin, path in of_pin.items()
        if pin in held
    }
    return {**found, str(source["name"]): _whole(about, root, known)} if whole else found
