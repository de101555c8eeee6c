# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Takes the photographs out of the Parquet shards of InViG, so that they lie in a folder like those of any source.

This is for `groundset fetch` and for people, never for a stage: a stage writes into its own folder only. Until it has
been done, 40_images says `missing_file` of every photograph.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from groundset.errors import DataError, Problem
from groundset.files import sha256_bytes, sha256_file, write_atomic
from groundset.sources import invig_forms, invig_shards, json_faults
from groundset.sources.imported import path_fault, sorted_verdicts
from groundset.sources.invig_hf import photograph_name
from groundset.sources.invig_records import file_label, image_id
from groundset.verdicts import Verdict

# what a file system says of a name that it cannot hold, or that something else has
_UNUSABLE = {
    errno.ENAMETOOLONG,
    errno.EINVAL,
    errno.EILSEQ,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ELOOP,
}

_TOLD = {
    "no_photograph": "its row holds no bytes",
    "unusable_name": "the file system has no place for a file of this name",
    "differs_between_rows": "rows that name this file hold different photographs; none was written",
    "differs_on_disk": "another file of this name lies there; it was left as it is",
}


@dataclass(frozen=True)
class Extracted:
    """What became of the photographs that shards embed.

    Attributes:
        written: Names of those that were written, sorted.
        already_there: Names of those that lay there with equal bytes, sorted.
        refused: A hard verdict on each other one, by the image id that its file name gives. Rules: no_photograph,
            path_outside_folder, unusable_name, differs_between_rows, differs_on_disk.
    """

    written: tuple[str, ...]
    already_there: tuple[str, ...]
    refused: tuple[Verdict, ...]


def _name(row: invig_shards.Embedded) -> str:
    info = row.info.get("image_info")
    if isinstance(info, dict):
        return str(info.get("file_name") or row.path or "")
    beside = row.info.get("image_id")
    return photograph_name(row.path, "" if beside is None else str(beside))


def _rows(shards: Sequence[Path]) -> Iterator[tuple[str, bytes | None]]:
    for path in shards:
        found = invig_forms.find(path, "")
        if not found.is_parquet:
            message = f"is {found.form.name} as JSON: only Parquet shards embed photographs"
            raise DataError(f"{file_label(path)} holds no photographs", [Problem(file_label(path), "", "", message)])
        for row in invig_shards.embedded(path, found.form):
            name = _name(row)
            if not name:
                problem = Problem(file_label(path), row.label, "", "its photograph has no name")
                raise DataError(f"{file_label(path)}: a photograph cannot be taken out", [problem])
            # a/./b and a//b are one file
            yield (name if path_fault(name) else str(PurePosixPath(name))), row.content


def _put(folder: Path, name: str, content: bytes) -> str:
    """Writes one photograph; what became of it, as `written`, `already_there` or the rule that it breaks."""
    path = folder / name
    try:
        # a folder below this one may be a link that leads away
        if not path.parent.resolve().is_relative_to(folder.resolve()):
            return "path_outside_folder"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            same = path.stat().st_size == len(content) and sha256_file(path) == sha256_bytes(content)
            return "already_there" if same else "differs_on_disk"
        if path.is_symlink() or path.exists():
            return "unusable_name"
        write_atomic(path, content)
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno not in _UNUSABLE:
            problem = Problem(file_label(path), "", "", json_faults.open_fault(error))
            raise DataError(f"{file_label(folder)} cannot be written to", [problem]) from None
        return "unusable_name"
    return "written"


def _told(name: str, rule: str) -> str:
    if rule == "path_outside_folder":
        return path_fault(name) or "a link in the folder leads out of it"
    return _TOLD[rule]


def embedding(annotations: Path, split: str) -> tuple[Path, ...]:
    """The Parquet files of a source that embed photographs; none if it is JSON, is not there or embeds nothing.

    Args:
        annotations: The source's file or folder of shards.
        split: The split that is wanted of a folder.

    Raises:
        DataError: The folder lacks a shard, or a file is damaged.
    """
    if not annotations.is_dir() and not invig_forms.is_parquet(annotations):
        return ()
    found = invig_forms.find(annotations, split)
    return tuple(path for path in found.files if "image" in invig_forms.parquet_columns(path))


def extract_images(shards: Sequence[Path], folder: Path) -> Extracted:
    """Writes the photographs that Parquet shards embed into a folder, by the names that their records give.

    Bytes are written as they are, each file whole or not at all; equal ones that lie there are left, different ones are
    never replaced. The shards are read twice: names whose rows disagree have to be known before anything is written, so
    that the result does not depend on the order of rows.

    Args:
        shards: The shards, as `invig_forms.shards` lists them, or single files.
        folder: The source's image folder; made if it is not there.

    Raises:
        DataError: A shard is damaged, is no revision of the Hugging Face copy or embeds nothing; or the folder cannot
            be written to.
    """
    digests: dict[str, set[str]] = {}
    for name, content in _rows(shards):
        digests.setdefault(name, set()).update([] if content is None else [sha256_bytes(content)])
    became: dict[str, str] = {}
    for name, found in digests.items():
        fault = path_fault(name)
        if fault:
            became[name] = "path_outside_folder"
        elif len(found) != 1:
            became[name] = "differs_between_rows" if found else "no_photograph"
        elif any(str(above) in digests for above in PurePosixPath(name).parents):
            became[name] = "unusable_name"
    for name, content in _rows(shards):
        if name not in became and content is not None:
            became[name] = _put(folder, name, content)
    refused = [
        Verdict(image_id(name), "image", rule, f"{json_faults.shown(name)}: {_told(name, rule)}")
        for name, rule in became.items()
        if rule not in ("written", "already_there")
    ]
    return Extracted(
        written=tuple(sorted(name for name, rule in became.items() if rule == "written")),
        already_there=tuple(sorted(name for name, rule in became.items() if rule == "already_there")),
        refused=sorted_verdicts(refused),
    )
