# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A local copy of a release in which referenced photographs are filled in, so that it loads as if they were embedded.

A photograph is taken only if its sha256 is the one that the release names. The copy is for the one who made it: what
may be passed on is said by the licence of each photograph.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from groundset.errors import DataError, Problem, UsageError
from groundset.fetching.download import Download, Outcome
from groundset.fetching.transfer import is_web_address
from groundset.files import fresh_folder, replace_folder, sha256_file, write_atomic
from groundset.release.checksums import CHECKSUMS, HYDRATED, listed_files
from groundset.release.croissant import CROISSANT
from groundset.release.facts import CONFIGS, WITH_IMAGE
from groundset.release.parquet import Embedded, fill_photographs, read_rows, shard_paths
from groundset.release.record import ReleaseRecord, decode, no_release

PHOTOGRAPHS = "photographs"
SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff")

Row = Mapping[str, Any]
Get = Callable[[Sequence[Download]], Sequence[Outcome]]


@dataclass(frozen=True)
class Hydrated:
    """What became of the photographs that a release only refers to.

    Attributes:
        filled: Image ids whose photograph is in the copy, sorted.
        lacking: Image id to the reason why its photograph is not, sorted by id.
        received_bytes: What came over the wire.
    """

    filled: tuple[str, ...]
    lacking: Mapping[str, str]
    received_bytes: int


def _read(release: Path) -> tuple[ReleaseRecord, list[Row]]:
    name = str(release / "manifest.json")
    try:
        record = decode((release / "manifest.json").read_bytes())
        paths = shard_paths(release, "images")
        if not paths:
            raise UsageError(f"{release} is no release: it has no config images")
        rows = pa.concat_tables([read_rows(path) for path in paths]).to_pylist()
    except OSError as error:
        raise no_release(release, error) from error
    except (ValueError, pa.ArrowException) as error:
        problem = Problem(name, "", "", " ".join(str(error).split()), "groundset verify says more")
        raise DataError(f"{release} cannot be read", [problem]) from error
    if record.facts.benchmark not in CONFIGS:
        raise DataError(f"{release}: {record.facts.benchmark!r} is no benchmark that is known")
    return record, rows


def _suffix(url: str) -> str:
    found = PurePosixPath(urlsplit(url).path).suffix.lower() if is_web_address(url) else ""
    return found if found in SUFFIXES else ".jpg"


def _from_folders(rows: Iterable[Row], folders: Iterable[Path], places: Mapping[str, Path]) -> None:
    """Copies photographs that lie in a folder already, whatever they are called there, into their places."""
    wanted: dict[int, dict[str, Path]] = {}
    for row in rows:
        wanted.setdefault(row["bytes"], {})[row["sha256"]] = places[row["image_id"]]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: there is no such folder")
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or path.stat().st_size not in wanted:
                continue
            place = wanted[path.stat().st_size].get(sha256_file(path))
            if place is not None and not place.exists():
                write_atomic(place, path.read_bytes())


def _is_there(row: Row, place: Path) -> bool:
    return place.is_file() and place.stat().st_size == row["bytes"] and sha256_file(place) == row["sha256"]


def _fetch(rows: Sequence[Row], places: Mapping[str, Path], get: Get) -> tuple[dict[str, str], int]:
    """Gets what is not there; returns why each of those that are still lacking is."""
    lacking: dict[str, str] = {}
    asked: dict[Path, tuple[Download, list[str]]] = {}
    received = 0
    for row in rows:
        if _is_there(row, places[row["image_id"]]):
            continue
        url = row["image_url"]
        if not url:
            lacking[row["image_id"]] = "the release knows no address of this file; --photographs takes a folder with it"
        elif not is_web_address(url):
            lacking[row["image_id"]] = f"{url!r} is no web address"
        else:
            download = Download(url, places[row["image_id"]], sha256=row["sha256"], bytes=row["bytes"])
            # two images may be one file
            asked.setdefault(download.path, (download, []))[1].append(row["image_id"])
    outcomes = get([download for download, _ in asked.values()])
    for (_, image_ids), outcome in zip(asked.values(), outcomes, strict=True):
        received += outcome.received
        if outcome.state in ("missing", "failed"):
            word = "gone" if outcome.state == "missing" else "not taken"
            lacking |= dict.fromkeys(image_ids, f"{word}: {outcome.reason}")
    return dict(sorted(lacking.items())), received


def _notice(record: ReleaseRecord, filled: int, referenced: int) -> str:
    return f"""\
This is a local copy of {record.facts.name} {record.facts.version}, made by groundset hydrate: {filled} of {referenced}
photographs that the release only refers to have been filled in from where it says. Do not pass this folder on: the
release leaves these photographs out because of their licences (policy {record.facts.image_policy}). README.md,
LICENSE.md and ATTRIBUTION.csv are the release's own, and speak of it and not of this copy.
"""


def _copy(release: Path, out: Path, config: str, found: Mapping[str, Embedded], notice: str) -> None:
    staging = fresh_folder(out / ".partial")
    filled = {path.relative_to(release).as_posix() for path in shard_paths(release, config)}
    for name in listed_files(release):
        if name == CROISSANT:
            # it lists hashes of the release's own files
            continue
        target = staging / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in filled:
            fill_photographs(release / name, target, found)
        else:
            shutil.copyfile(release / name, target)
    (staging / HYDRATED).write_text(notice, encoding="utf-8")
    for path in sorted(staging.iterdir()):
        if path.is_dir():
            replace_folder(path, out / path.name)
        else:
            path.replace(out / path.name)
    staging.rmdir()


def hydrate(release: Path, out: Path, get: Get, folders: Sequence[Path] = ()) -> Hydrated:
    """Writes a copy of a release with every referenced photograph filled in that can be had unchanged.

    What has been fetched stays in `photographs/` of the copy, so that doing it again asks only for what is lacking.

    Args:
        release: Folder of the release; it is not changed.
        out: Folder of the copy; missing, empty, or an earlier copy.
        get: Fetches files.
        folders: Where photographs may lie already, under any name.

    Raises:
        UsageError: `release` is none, `out` holds something else, or a folder is not there.
        DataError: The release cannot be read, or a photograph has changed on the disk meanwhile.
    """
    record, rows = _read(release)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder")
    if out.exists() and any(out.iterdir()) and not {HYDRATED, PHOTOGRAPHS} & {path.name for path in out.iterdir()}:
        raise UsageError(f"{out} is not empty, and no copy made by hydrate: name another folder with --out")
    if (out / CHECKSUMS).is_file() and not (out / HYDRATED).is_file():
        raise UsageError(f"{out} is a release itself: name another folder with --out")
    referenced = [row for row in rows if not row["embedded"]]
    places = {
        row["image_id"]: out / PHOTOGRAPHS / f"{row['sha256']}{_suffix(row['image_url'] or '')}" for row in referenced
    }
    (out / PHOTOGRAPHS).mkdir(parents=True, exist_ok=True)
    _from_folders(referenced, folders, places)
    lacking, received = _fetch(referenced, places, get)
    found = {
        row["image_id"]: Embedded(
            places[row["image_id"]],
            row["image_id"] + places[row["image_id"]].suffix,
            row["bytes"],
            row["sha256"],
        )
        for row in referenced
        if row["image_id"] not in lacking
    }
    _copy(release, out, WITH_IMAGE[record.facts.benchmark], found, _notice(record, len(found), len(referenced)))
    return Hydrated(tuple(sorted(found)), lacking, received)
