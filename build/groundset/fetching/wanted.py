# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a manifest wants to have fetched: the files of its sources, and the photographs of the ranked records."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from groundset.errors import Problem, UsageError
from groundset.fetching.download import Download, Outcome
from groundset.fetching.transfer import is_web_address
from groundset.images import MAX_PHOTOGRAPH_BYTES, ImageRules, measure_all
from groundset.lock import Pins
from groundset.manifest import leaves_folder
from groundset.missing_photographs import NO_URL, key_of
from groundset.photographs import jobs_of, rotation_fault
from groundset.sampling import select
from groundset.source_files import pin_name
from groundset.verdicts import Verdict
from groundset.withdrawals import RULE

ORIGINAL_URL = "original_url"
PLACEHOLDERS = {"{file_name}", "{source_image_id}", "{split}"}
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_NO_BRACES = str.maketrans("", "", "{}")
# ours: if none of so many photographs of a source is of any use, its address is to blame, or a proxy, or a login
BARREN_PHOTOGRAPHS = 8
# JSON and CSV shrink to a tenth, photographs hardly at all
MAX_EXPANSION = 50
MIN_EXPANSION_BYTES = 2**26

Row = Mapping[str, Any]
Get = Callable[[Sequence[Download]], Sequence[Outcome]]


@dataclass(frozen=True)
class SourceFile:
    """One file that one or several sources of a manifest name.

    Attributes:
        download: Where it comes from and goes to.
        path: The same place, relative to the source root.
        pins: Names under which the lock holds it.
        unpack: Patterns of the members to unpack; empty for a file that stays as it is.
        into: Folder for them.
    """

    download: Download
    path: str
    pins: tuple[str, ...]
    unpack: tuple[str, ...]
    into: Path


def _named(content: Row) -> list[tuple[str, Row, Row]]:
    return [
        (f"$.sources[{number}].downloads[{index}]", source, entry)
        for number, source in enumerate(content["sources"])
        for index, entry in enumerate(source.get("downloads", ()))
    ]


def _faults(file: str, where: str, entry: Row, pinned: Collection[int]) -> list[Problem]:
    problems = [
        Problem(file, "", f"{where}.{key}", f"{entry[key]!r} leaves the source root", "give a path below it")
        for key in ("path", "into")
        if leaves_folder(entry[key])
    ]
    if not is_web_address(entry["url"]):
        problems.append(Problem(file, "", f"{where}.url", "only http and https addresses are fetched"))
    for size in pinned:
        if entry["bytes"] not in (0, size):
            told = f"{entry['bytes']}, but the lock pins a file of {size} bytes"
            problems.append(Problem(file, "", f"{where}.bytes", told, "correct it, or take the pin out of the lock"))
    return problems


def _template_faults(content: Row, file: str) -> list[Problem]:
    problems = []
    for number, source in enumerate(content["sources"]):
        template = source.get("photograph_url", NO_URL)
        if template in (NO_URL, ORIGINAL_URL):
            continue
        unknown = sorted(set(_PLACEHOLDER.findall(template)) - PLACEHOLDERS)
        where = f"$.sources[{number}].photograph_url"
        if unknown:
            hint = f"there are {', '.join(sorted(PLACEHOLDERS))}"
            problems.append(Problem(file, "", where, f"nothing is called {', '.join(unknown)}", hint))
        elif not is_web_address(template.translate(_NO_BRACES)):
            hint = f"give an address, {ORIGINAL_URL} or {NO_URL}"
            problems.append(Problem(file, "", where, "only http and https addresses are fetched", hint))
    return problems


def source_files(content: Row, root: Path, pins: Pins, file: str) -> list[SourceFile]:
    """The files that the sources of a manifest name, each once, in the manifest's order.

    Args:
        content: The manifest; a source may have `downloads`: entries of path, url, bytes (0: not known), unpack, into.
        root: The source root.
        pins: The lock's `sources`.
        file: Name of the manifest, for messages.

    Raises:
        UsageError: A path leaves the root, an address is none, or two entries want different things of one path.
    """
    problems = _template_faults(content, file)
    first: dict[str, tuple[Row, set[str], set[str]]] = {}
    for where, source, entry in _named(content):
        name = pin_name(source, entry["path"])
        problems += _faults(file, where, entry, [pins[name]["bytes"]] if name in pins else [])
        before, names, unpack = first.setdefault(entry["path"], (entry, set(), set()))
        if any(entry[key] != before[key] for key in ("url", "bytes", "into")):
            told = f"another entry has {entry['path']!r} with another url, bytes or into"
            problems.append(Problem(file, "", where, told, "give both the same, or another path"))
        names.add(name)
        unpack |= set(entry["unpack"])
    for path, (_, names, _) in first.items():
        if len({pins[name]["sha256"] for name in names if name in pins}) > 1:
            told = f"the lock pins {path!r} for several sources as different files"
            problems.append(Problem(file, "", "", told, "take the wrong pin out of the lock"))
    if problems:
        raise UsageError(f"{file}: the manifest is wrong; problems found: {len(problems)}", problems)
    found = []
    for path, (entry, names, unpack) in first.items():
        pin: Row = next((pins[name] for name in sorted(names) if name in pins), {})
        download = Download(entry["url"], root / path, pin.get("sha256"), pin.get("bytes") or entry["bytes"] or None)
        found.append(SourceFile(download, path, tuple(sorted(names)), tuple(sorted(unpack)), root / entry["into"]))
    return found


def max_unpacked_bytes(archive_bytes: int) -> int:
    """Length that an archive's members may have together; far above what annotations and photographs reach."""
    return max(MIN_EXPANSION_BYTES, MAX_EXPANSION * archive_bytes)


def photograph_folders(content: Row, root: Path) -> list[Path]:
    """Folders of the sources that give addresses of their photographs; empty if none does."""
    return [root / source["images"] for source in content["sources"] if source.get("photograph_url", NO_URL) != NO_URL]


def photograph_address(image: Row, source: Row) -> str | None:
    """Where a photograph is fetched from, by its source's `photograph_url`.

    Args:
        image: A record of `schemas/image`.
        source: Its source in the manifest. `photograph_url` is `none`, `original_url` for what the source says of each
            image, or an address with {file_name}, {source_image_id} or {split} in it.

    >>> source = {"photograph_url": "https://example.invalid/{split}/{file_name}", "split": "test"}
    >>> photograph_address({"source_image_id": "00bf", "file_name": "a b.jpg"}, source)
    'https://example.invalid/test/a%20b.jpg'
    """
    template: str = source.get("photograph_url", NO_URL)
    if template == NO_URL:
        return None
    if template == ORIGINAL_URL:
        return image["original_url"] or None
    for key, value in (
        ("file_name", image["file_name"]),
        ("source_image_id", image["source_image_id"]),
        ("split", source.get("split", "")),
    ):
        template = template.replace(f"{{{key}}}", quote(value))
    return template


def release_addresses(images: Iterable[Row], sources: Iterable[Row]) -> dict[str, str | None]:
    """Image id to where the very file can be fetched, as a release says it; None where that is not known.

    COCO serves its own copies under the addresses in its file. What Open Images' metadata calls the original is another
    file than the one in its bucket, so it is no such address.

    Args:
        images: Records of `schemas/image`.
        sources: The manifest's sources.
    """
    by_name = {source["name"]: source for source in sources}
    served = {name: source["kind"] in ("coco", "fpco-published") for name, source in by_name.items()}
    found = {}
    for image in images:
        name = image["source_name"]
        address = photograph_address(image, by_name[name])
        found[image["image_id"]] = address or (image["original_url"] or None if served[name] else None)
    return found


@dataclass(frozen=True)
class Photographs:
    """What became of the photographs that were wanted.

    Attributes:
        outcomes: Image id to outcome, sorted by id; an image without an address that is not there counts as missing.
        unfit: Image id to the rule that 40_images will reject it by.
        barren: Sources none of whose photographs was of any use, with how many were asked for; then no more was.
        gone: Path below the source root to the reason, of what is missing at sources that are not barren.
    """

    outcomes: Mapping[str, Outcome]
    unfit: Mapping[str, str]
    barren: Mapping[str, int] = field(default_factory=dict)
    gone: Mapping[str, str] = field(default_factory=dict)


def _download(image: Row, source: Row, root: Path, pins: Pins) -> Download:
    pin: Row = pins.get(image["image_id"], {})
    path = root / source["images"] / image["file_name"]
    address = photograph_address(image, source) or ""
    return Download(address, path, pin.get("sha256"), pin.get("bytes"), MAX_PHOTOGRAPH_BYTES)


def _got(images: Sequence[Row], sources: Mapping[str, Row], root: Path, pins: Pins, get: Get) -> dict[str, Outcome]:
    """Fetches what these images show; images of one file share it."""
    by_path: dict[Path, Download] = {}
    nowhere: dict[str, Outcome] = {}
    wanted = {image["image_id"]: _download(image, sources[image["source_name"]], root, pins) for image in images}
    for image_id, download in wanted.items():
        if download.url or download.path.is_file():
            by_path.setdefault(download.path, download)
        else:
            nowhere[image_id] = Outcome(download, "missing", "its source gives no address of the file")
    found = {outcome.download.path: outcome for outcome in get(list(by_path.values()))}
    return nowhere | {
        image_id: found[download.path] for image_id, download in wanted.items() if image_id not in nowhere
    }


def _unfit(images: Iterable[Row], sources: Mapping[str, Row], root: Path, rules: Row) -> dict[str, str]:
    jobs = jobs_of(images, sources, root)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        results = measure_all(jobs, ImageRules(rules["max_pixels"], rules["reject_rotated"]), threads)
    return {result.record_id: result.rule for result in results if isinstance(result, Verdict)}


def _barren(asked: Collection[str], by_id: Mapping[str, Row], unfit: Collection[str]) -> dict[str, int]:
    """Sources of which enough photographs were asked for, and none is of any use."""
    counts = Counter(by_id[image_id]["source_name"] for image_id in asked)
    useful = {by_id[image_id]["source_name"] for image_id in asked if image_id not in unfit}
    return {name: count for name, count in sorted(counts.items()) if count >= BARREN_PHOTOGRAPHS and name not in useful}


def fetch_photographs(
    content: Row,
    root: Path,
    ranking: pa.Table,
    images: pa.Table,
    refused: Collection[str],
    pins: Pins,
    get: Get,
    withdrawn: Collection[str] = (),
) -> Photographs:
    """Fetches the photographs of the selected records and a margin, until every stratum has enough that are fit.

    A photograph that is missing, or that 40_images would reject, gives way to the next of its stratum, as it does
    there (design, refill). One that failed for outside reasons does not: the next fetch may get it. Where a source
    gives nothing of any use at all, no more is asked for, and nothing of it counts as missing for good.

    Args:
        content: The manifest.
        root: The source root.
        ranking: Table `30_stratify/kept`.
        images: Table `10_import/images`.
        refused: Item ids that later stages have rejected and whose places others take.
        pins: The lock's `photographs`.
        get: Fetches downloads.
        withdrawn: Image ids that must go; nothing is asked for them, and they give way as unfit ones do.
    """
    sources = {source["name"]: source for source in content["sources"]}
    rules, refills = content["images"], "image" in content["strata"]["refill"]
    rows: list[Row] = ranking.to_pylist()
    ranked = images.filter(pc.is_in(images["image_id"], value_set=ranking["image_id"].combine_chunks()))
    by_id: dict[str, Row] = {row["image_id"]: row for row in ranked.to_pylist()}
    of_item = {row["item_id"]: row["image_id"] for row in rows}
    outcomes: dict[str, Outcome] = {}
    unfit: dict[str, str] = {}
    seen: set[str] = set()
    barren: dict[str, int] = {}
    for later in (frozenset[str](), frozenset(refused)):
        while True:
            given_way = {item for item, image_id in of_item.items() if image_id in unfit} if refills else set()
            selection = select(ranking, later | given_way, rules["margin"])
            items = (*selection.taken, *selection.refused, *selection.reserve)
            fresh = sorted({of_item[item] for item in items} - seen)
            if not fresh or barren:
                break
            seen |= set(fresh)
            turned = {image_id: rotation_fault(by_id[image_id], rules) for image_id in fresh}
            unfit |= {image_id: fault.rule for image_id, fault in turned.items() if fault is not None}
            unfit |= {image_id: RULE for image_id in fresh if image_id in withdrawn}
            # photographs of a source without addresses come from its archive, or from whoever has them
            asked = [
                by_id[image_id]
                for image_id in fresh
                if turned[image_id] is None
                and image_id not in withdrawn
                and sources[by_id[image_id]["source_name"]].get("photograph_url", NO_URL) != NO_URL
            ]
            got = _got(asked, sources, root, pins, get)
            outcomes |= got
            unfit |= {image_id: "missing_file" for image_id, outcome in got.items() if outcome.state == "missing"}
            here = [image for image in asked if got[image["image_id"]].state in ("fetched", "already_there")]
            unfit |= _unfit(here, sources, root, rules)
            barren = _barren(outcomes, by_id, unfit)
    gone = {
        key_of(by_id[image_id], sources[by_id[image_id]["source_name"]]): outcome.reason
        for image_id, outcome in outcomes.items()
        if outcome.state == "missing" and by_id[image_id]["source_name"] not in barren
    }
    return Photographs(dict(sorted(outcomes.items())), dict(sorted(unfit.items())), barren, gone)
