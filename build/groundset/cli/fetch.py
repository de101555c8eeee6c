# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset fetch`: downloads the sources' files, unpacks archives, and gets the photographs of ranked records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from groundset import benchmarks, lock, missing_photographs, runner, withdrawals
from groundset import manifest as manifests
from groundset.cli import talk
from groundset.errors import SHOWN_PROBLEMS, DataError, Problem, ServiceError, UsageError
from groundset.fetching.archives import UnpackReport, unpack
from groundset.fetching.download import Download, Outcome
from groundset.fetching.download import fetch as fetch_files
from groundset.fetching.pacing import Manners
from groundset.fetching.transfer import shown
from groundset.fetching.wanted import (
    Photographs,
    SourceFile,
    fetch_photographs,
    max_unpacked_bytes,
    photograph_folders,
    source_files,
)
from groundset.missing_photographs import NO_URL
from groundset.sources.invig_photographs import Extracted, embedding, extract_images
from groundset.stage import Place, read_table, why_stale

STATES = ("fetched", "already_there", "missing", "failed")
RANKED = "30_stratify"


class Meter:
    """Progress of a fetch on stderr: bytes, rate and time left on a terminal, nothing elsewhere.

    The time left is for the bytes that are known; for files that have not begun and whose length nobody knows, it takes
    the mean of those that have.
    """

    def __init__(self, downloads: Sequence[Download], console: Console) -> None:
        self._lengths: dict[Path, int | None] = {download.path: download.bytes for download in downloads}
        self._have: dict[Path, int] = {}
        self._there: dict[Path, int] = {}
        self._ended = 0
        self._lock = Lock()
        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._progress = Progress(
            TextColumn("{task.description}"), *columns, console=console, disable=not console.is_terminal, transient=True
        )
        self._task = self._progress.add_task(self._words(), total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def _words(self) -> str:
        return f"{self._ended} of {len(self._lengths)} files"

    def total(self) -> int | None:
        """Bytes still to come or come by now, as far as can be told."""
        known = [length for length in self._lengths.values() if length is not None]
        if not known:
            return None
        mean = sum(known) / len(known)
        return round(sum(known) + mean * (len(self._lengths) - len(known))) - sum(self._there.values())

    def _show(self) -> None:
        come = sum(self._have.values()) - sum(self._there.values())
        self._progress.update(self._task, completed=come, total=self.total(), description=self._words())

    def watch(self, download: Download, have: int, total: int | None) -> None:
        """Takes note of bytes that have come."""
        if self._progress.disable:
            return
        with self._lock:
            # what an earlier fetch has left counts neither for the rate nor for what is to come
            self._there.setdefault(download.path, have)
            self._there[download.path] = min(self._there[download.path], have)
            self._have[download.path] = have
            self._lengths[download.path] = total if total is not None else download.bytes
            self._show()

    def ended(self, outcome: Outcome) -> None:
        """Takes note of a file that is done with."""
        with self._lock:
            self._ended += 1
            path = outcome.download.path
            self._lengths[path] = self._have[path] = outcome.bytes
            self._there[path] = min(self._there.get(path, outcome.bytes), outcome.bytes)
            self._show()


def _counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    found = Counter[str](outcome.state for outcome in outcomes)
    return {state: found[state] for state in STATES}


def counted(outcomes: Sequence[Outcome], what: str) -> str:
    """One line on what became of files.

    >>> counted([], "photographs")
    'photographs: 0 fetched (0 bytes), 0 already there, 0 missing, 0 failed'
    """
    numbers = _counts(outcomes)
    received = decimal(sum(outcome.received for outcome in outcomes))
    told = f"{numbers['fetched']} fetched ({received}), {numbers['already_there']} already there"
    return f"{what}: {told}, {numbers['missing']} missing, {numbers['failed']} failed"


def _getter(manners: Manners, what: str, say: Callable[[str], None]) -> Callable[[Sequence[Download]], list[Outcome]]:
    def get(downloads: Sequence[Download]) -> list[Outcome]:
        if not downloads:
            return []
        known = sum(download.bytes or 0 for download in downloads)
        more = " and more" if any(download.bytes is None for download in downloads) else ""
        say(f"fetching {len(downloads)} {what}" + (f", {decimal(known)}{more}" if known else ""))
        with Meter(downloads, Console(stderr=True)) as meter:
            return fetch_files(downloads, manners, watch=meter.watch, ended=meter.ended)

    return get


def _with_root(manifest: Path, sources: Path | None, *, make: bool) -> manifests.Manifest:
    """The manifest with its source root, which may be made if it is not there yet; None for generated sources."""
    # any folder that is there lets the manifest be checked before its own is made
    checked = manifests.read(manifest, manifest.parent)
    named = checked.content["source_root"]
    if sources is None and named["kind"] != "folder":
        return replace(checked, source_root=None)
    root = sources if sources is not None else manifest.parent / named["path"]
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root}: the source root is not a folder")
    if make:
        root.mkdir(parents=True, exist_ok=True)
    return replace(checked, source_root=root)


def plan_rows(files: Sequence[SourceFile]) -> list[dict[str, Any]]:
    """What a fetch would ask for, each file once: path, address, length if known, and what lies there."""
    rows = []
    for file in files:
        there = file.download.path.stat().st_size if file.download.path.is_file() else None
        row = {"path": file.path, "url": shown(file.download.url), "bytes": file.download.bytes, "there_bytes": there}
        rows.append({**row, "unpack": list(file.unpack)})
    return rows


def _print_plan(rows: Sequence[Mapping[str, Any]], content: Mapping[str, Any]) -> None:
    for row in rows:
        size = "size not known" if row["bytes"] is None else decimal(row["bytes"])
        there = "" if row["there_bytes"] is None else f"; {decimal(row['there_bytes'])} lie there"
        typer.echo(f"{row['path']} ({size}{there}) from {row['url']}")
    for source in content["sources"]:
        if source.get("photograph_url", NO_URL) != NO_URL:
            typer.echo(
                f"photographs of {source['name']}, once {RANKED} has ranked them, from {source['photograph_url']}"
            )


def _pin(manifest: manifests.Manifest, files: Sequence[SourceFile], outcomes: Sequence[Outcome]) -> int:
    found = {
        name: {"sha256": outcome.sha256, "bytes": outcome.bytes}
        for file, outcome in zip(files, outcomes, strict=True)
        if outcome.sha256
        for name in file.pins
    }
    after, fresh = lock.merged(lock.read(manifest.lock_path), "sources", found)
    if fresh:
        lock.write(after)
    return fresh


def _unpack(files: Sequence[SourceFile], outcomes: Sequence[Outcome], say: Callable[[str], None]) -> list[UnpackReport]:
    reports: list[UnpackReport] = []
    problems: list[Problem] = []
    for file, outcome in zip(files, outcomes, strict=True):
        if not file.unpack or outcome.state not in ("fetched", "already_there"):
            continue
        say(f"unpacking {file.path}")
        try:
            limit = max_unpacked_bytes(outcome.bytes)
            reports.append(unpack(outcome.download.path, file.into, file.unpack, max_bytes=limit))
        except DataError as error:
            problems += error.problems or (Problem(file.path, "", "", error.summary),)
            continue
        say(f"{file.path}: {len(reports[-1].unpacked)} unpacked, {len(reports[-1].already_there)} already there")
    if problems:
        raise DataError(f"archives cannot be unpacked; problems found: {len(problems)}", problems)
    return reports


def _take_out(sources: Sequence[Mapping[str, Any]], root: Path, say: Callable[[str], None]) -> dict[str, Extracted]:
    """Puts photographs that InViG's shards embed into the image folders of sources that give no addresses of them."""
    found: dict[str, Extracted] = {}
    for source in sources:
        if source["kind"] != "invig" or source.get("photograph_url", NO_URL) != NO_URL:
            continue
        shards = embedding(root / source["annotations"], source["split"])
        if not shards:
            continue
        say(f"taking the photographs of {source['name']} out of {len(shards)} shards")
        found[source["name"]] = told = extract_images(shards, root / source["images"])
        written, there, refused = len(told.written), len(told.already_there), len(told.refused)
        say(f"{source['name']}: {written} photographs written, {there} already there, {refused} refused")
        for verdict in told.refused[:SHOWN_PROBLEMS]:
            say(f"refused: {verdict.detail} ({verdict.rule})")
        if refused > SHOWN_PROBLEMS:
            say(f"refused: {refused - SHOWN_PROBLEMS} more; --json lists all")
    return found


def _why_not_ranked(place: Place) -> str:
    """Why the records are not ranked yet; empty if they are."""
    for stage in benchmarks.stages(place.manifest):
        why = why_stale(place, stage)
        if why is not None:
            return f"{stage.name}: {why}"
        if stage.name == RANKED:
            break
    return ""


def _photographs(
    manifest: manifests.Manifest, place: Place, get: Callable[[Sequence[Download]], list[Outcome]]
) -> Photographs:
    refused: list[str] = []
    if (place.work / f"{runner.REFILL}.parquet").is_file():
        refused = read_table(place, runner.REFILL)["record_id"].to_pylist()
    images = read_table(place, "10_import/images")
    gone = withdrawals.read(manifest.withdrawals_path)
    got = fetch_photographs(
        manifest.content,
        place.source_root,
        read_table(place, f"{RANKED}/kept"),
        images,
        refused,
        lock.read(manifest.lock_path).pins["photographs"],
        get,
        withdrawals.by_record(images.to_pylist(), gone) if gone else (),
    )
    root = place.source_root
    got_now = [outcome for outcome in got.outcomes.values() if outcome.state in ("fetched", "already_there")]
    missing_photographs.note(
        root, got.gone, {outcome.download.path.relative_to(root).as_posix() for outcome in got_now}
    )
    return got


def _rows(named: Mapping[str, Outcome]) -> dict[str, Any]:
    told: dict[str, Any] = {state: [] for state in STATES}
    for name, outcome in sorted(named.items()):
        row = {"name": name, "url": shown(outcome.download.url), "reason": outcome.reason}
        told[outcome.state].append(row if outcome.reason else name)
    return told


def _summarise(named: Mapping[str, Outcome], what: str, say: Callable[[str], None]) -> None:
    say(counted(list(named.values()), what))
    for state in ("missing", "failed"):
        lacking = sorted((name, outcome) for name, outcome in named.items() if outcome.state == state)
        for name, outcome in lacking[:SHOWN_PROBLEMS]:
            say(f"{state}: {name}: {outcome.reason}, {shown(outcome.download.url)}")
        if len(lacking) > SHOWN_PROBLEMS:
            say(f"{state}: {len(lacking) - SHOWN_PROBLEMS} more {what}; --json lists all")


def fetch(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    photographs: Annotated[
        bool | None,
        typer.Option(help="Fetch photographs too, or not; if not said, as soon as 30_stratify has ranked the records."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Files at a time.")] = 8,
    plan: Annotated[bool, typer.Option("--plan", help="List what would be fetched, and fetch nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Download and check what a manifest names; what is there is not fetched again, what was cut off goes on."""
    checked = _with_root(manifest, sources, make=not plan)
    say = talk.sayer()
    if checked.source_root is None:
        say(f"{manifest}: its sources are drawn by groundset itself; there is nothing to fetch")
        if as_json:
            talk.print_json({"source_root": None})
        return
    root = checked.source_root
    files = source_files(checked.content, root, lock.read(checked.lock_path).pins["sources"], str(manifest))
    if plan:
        rows = plan_rows(files)
        if as_json:
            talk.print_json({"source_root": str(root), "files": rows})
        else:
            _print_plan(rows, checked.content)
            if not rows and not photograph_folders(checked.content, root):
                say(f"{manifest}: it names nothing to fetch")
        return
    manners = Manners(jobs=jobs, per_host=min(jobs, Manners().per_host))
    outcomes = _getter(manners, "source files", say)([file.download for file in files])
    pinned = _pin(checked, files, outcomes)
    if pinned:
        say(f"pinned {pinned} sources in {checked.lock_path.name}")
    named = {file.path: outcome for file, outcome in zip(files, outcomes, strict=True)}
    reports = _unpack(files, outcomes, say)
    # a photograph that is gone gives way to another; for a source's own file there is no other
    lacking = [outcome for outcome in outcomes if outcome.state in ("missing", "failed")]
    embedded = {} if lacking else _take_out(checked.content["sources"], root, say)
    folders = photograph_folders(checked.content, root)
    for folder in folders:
        # the import holds that a source whose folder is not there is misspelt
        folder.mkdir(parents=True, exist_ok=True)
    pictures = Photographs({}, {})
    not_ranked = ""
    if photographs is not False and folders:
        place = runner.place_of(checked, work)
        not_ranked = _why_not_ranked(place)
        if not not_ranked:
            pictures = _photographs(checked, place, _getter(manners, "photographs", say))
        elif photographs:
            hint = f"groundset build {manifest} --to {RANKED}"
            raise UsageError(f"{manifest}: which photographs are wanted is not known yet ({not_ranked}); first {hint}")
    _summarise(named, "source files", say)
    if pictures.outcomes:
        _summarise(pictures.outcomes, "photographs", say)
    for rule, count in sorted(Counter(pictures.unfit.values()).items()):
        say(f"{count} photographs will be rejected by 40_images: {rule}")
    for name, count in pictures.barren.items():
        told = f"none of the {count} photographs that were asked for is there and fit, so no more was asked for"
        say(f"source {name}: {told}; is its photograph_url right, and does a proxy or a login stand between?")
    if not_ranked:
        say(f"no photographs yet ({not_ranked}): groundset build {manifest} --to {RANKED}, then fetch again")
    if as_json:
        talk.print_json(
            {
                "source_root": str(root),
                "sources": _rows(named),
                "unpacked": {
                    str(report.archive.relative_to(root)): {
                        "unpacked": len(report.unpacked),
                        "already_there": len(report.already_there),
                    }
                    for report in reports
                },
                "embedded": {
                    name: {
                        "written": len(found.written),
                        "already_there": len(found.already_there),
                        "refused": [
                            {"image_id": row.record_id, "rule": row.rule, "detail": row.detail} for row in found.refused
                        ],
                    }
                    for name, found in embedded.items()
                },
                "photographs": _rows(pictures.outcomes),
                "unfit": dict(pictures.unfit),
                "barren": dict(pictures.barren),
                "not_ranked": not_ranked,
                "pinned": pinned,
                "received_bytes": sum(outcome.received for outcome in (*outcomes, *pictures.outcomes.values())),
            }
        )
    else:
        typer.echo(str(root))
    lacking += [outcome for outcome in pictures.outcomes.values() if outcome.state == "failed"]
    if lacking:
        say(f"groundset: {len(lacking)} files could not be fetched; the same command goes on where it was")
    if lacking or pictures.barren:
        raise typer.Exit(ServiceError.exit_code)
