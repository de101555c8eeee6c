# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Lists the two folders of a published FPCO-Dialog set: records, photographs, and whatever else lies there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundset.errors import DataError, Problem
from groundset.files import canonical_json, plain, sha256_bytes, sha256_if_there
from groundset.images import header_size
from groundset.sources import json_faults
from groundset.verdicts import Verdict

RECORD_SUFFIX, PHOTO_SUFFIX = ".json", ".jpg"
# the names of the publisher's folders: now, and in the older layout
LAYOUTS = (("metadata_and_questions", "image"), ("image_metadata", "image"))


@dataclass(frozen=True)
class Photo:
    """One photograph, its header read and nothing decoded.

    Attributes:
        path: The file.
        sha256: Its hash; None if it could not be read, or is no file of its folder.
        size_px: Width and height; 1 x 1 if they could not be read.
    """

    path: Path
    sha256: str | None
    size_px: tuple[int, int]


@dataclass(frozen=True)
class Files:
    """What the two folders hold.

    Attributes:
        records: File name without `.json` to the file, sorted; a name may hold bytes that are no text.
        photos: File name without `.jpg` to the photograph, sorted; likewise.
        others: A soft verdict on everything else: hidden_file, other_file.
        beside: File names without their ending to the names of other files of the photographs' folder.
    """

    records: Mapping[str, Path]
    photos: Mapping[str, Photo]
    others: tuple[Verdict, ...]
    beside: Mapping[str, tuple[str, ...]]

    def why_no_photo(self, name: str) -> str:
        """What to say where the photograph of a record is missing."""
        near = self.beside.get(name.casefold(), ())
        return f"there is no {plain(name)}{PHOTO_SUFFIX}" + (f"; beside it lies {', '.join(near)}" if near else "")


def _hint(folder: Path, records: str, images: str) -> str:
    there = [layout for layout in LAYOUTS if all((folder / name).is_dir() for name in layout)]
    named = " and ".join(there[0]) if there and (records, images) not in there else ""
    return f"{plain(folder.name) or 'the folder'} has {named}: name those" if named else ""


def _entries(folder: Path) -> list[Path]:
    # the system gives them in any order
    return sorted(folder.iterdir(), key=lambda path: path.name)


def _photo(path: Path, root: Path) -> Photo:
    unread = Photo(path, None, (1, 1))
    try:
        full = path.resolve()
        if not (full.is_relative_to(root.resolve()) and full.is_file()):
            return unread
        data = full.read_bytes()
    # links that lead round in a circle
    except (OSError, RuntimeError):
        return unread
    return Photo(path, sha256_bytes(data), header_size(data) or (1, 1))


def _other(path: Path, folder: Path) -> Verdict:
    name = plain(path.relative_to(folder).as_posix())
    if path.name.startswith("."):
        return Verdict(name, "file", "hidden_file", "a hidden file is not read", hard=False)
    told = "a folder is not looked into" if path.is_dir() else "neither a record nor a photograph"
    return Verdict(name, "file", "other_file", told, hard=False)


def list_files(folder: Path, records: str, images: str) -> Files:
    """Lists a published set.

    Args:
        folder: The set.
        records: Its folder of `<id>.json`.
        images: Its folder of `<id>.jpg`; it may be the same one.

    Raises:
        DataError: A folder is not there or cannot be listed, or there is no record.
    """
    problems = []
    found: dict[str, list[Path]] = {}
    for name, what in ((records, "records"), (images, "photographs")):
        try:
            found[name] = _entries(folder / name)
        except (OSError, ValueError) as error:
            told = json_faults.open_fault(error) if isinstance(error, OSError) else "is no folder name"
            told = "is no folder" if isinstance(error, NotADirectoryError) else told
            where = plain(str(folder / name)).replace("\0", "\\0")
            problems.append(
                Problem(where, "", "", f"{told}; it should hold the {what}", _hint(folder, records, images))
            )
    if problems:
        raise DataError(f"{plain(str(folder))} cannot be read as published records".replace("\0", "\\0"), problems)

    def picked(name: str, suffix: str) -> list[Path]:
        return [path for path in found[name] if path.suffix == suffix and not path.name.startswith(".")]

    chosen = {path.stem: path for path in picked(records, RECORD_SUFFIX)}
    photos = {path.stem: path for path in picked(images, PHOTO_SUFFIX)}
    if not chosen:
        where = plain(str(folder / records))
        hint = _hint(folder, records, images)
        raise DataError(f"{where} holds no record", [Problem(where, "", "", f"no <id>{RECORD_SUFFIX} in it", hint)])
    known = {*chosen.values(), *photos.values()}
    rest = sorted({path for paths in found.values() for path in paths if path not in known})
    beside: dict[str, tuple[str, ...]] = {}
    for path in rest:
        if path.parent == folder / images:
            key = path.stem.casefold()
            beside[key] = (*beside.get(key, ()), plain(path.name))
    return Files(
        records=chosen,
        photos={name: _photo(path, folder / images) for name, path in photos.items()},
        others=tuple(_other(path, folder) for path in rest),
        beside=beside,
    )


def hashes(root: Path, files: Files) -> dict[str, str | None]:
    """Path of every record and photograph, below the root or as it was given, to its sha256.

    None stands for one that was not read, or whose name is no text.
    """
    found = {path: sha256_if_there(path) for path in files.records.values()}
    found |= {photo.path: photo.sha256 for photo in files.photos.values()}
    told = {}
    for path, digest in found.items():
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        # a name that is no text cannot be looked up again by the text that stands for it
        told[plain(name)] = digest if plain(name) == name else None
    return told


def set_pin(root: Path, found: Mapping[str, str | None]) -> dict[str, Any]:
    """The pin of a published set: one hash over its files and theirs, and their size in all."""
    sizes = [(root / name).stat().st_size for name, digest in found.items() if digest]
    return {"sha256": sha256_bytes(canonical_json(dict(found))), "bytes": sum(sizes)}
