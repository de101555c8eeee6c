# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a build pins in the lock beside its manifest, and what it refuses because it is pinned as something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from groundset import benchmarks, lock, source_files
from groundset.counting import how_many
from groundset.errors import DataError, Problem
from groundset.files import sha256_if_there
from groundset.sources import fpco_files
from groundset.stage import Place, Stage, read_receipt, read_table

SPOILT = (
    "missing_file",
    "too_many_bytes",
    "truncated",
    "not_an_image",
    "unsupported_format",
    "broken_pixels",
    "unreadable",
    "animated",
)
# stage to the manifest's key of the journal that it leaves whole; before it a refill may still ask for more
JOURNALS = {"70_validate": "journal", "72_vary": "variants_journal"}
HINT = "put the pinned file back, or build with --repin if the change is meant"

Say = Callable[[str], None]


def _pin(place: Place, kind: str, found: lock.Pins, say: Say, *, locked: bool, repin: bool) -> None:
    before = lock.read(place.manifest.lock_path)
    after, fresh = lock.merged(before, kind, found, repin=repin)
    if fresh and locked:
        names = [name for name in sorted(found) if before.pins[kind].get(name) != after.pins[kind].get(name)]
        problems = [Problem(str(before.path), f"{kind} {name}", "", "not pinned") for name in names]
        what = how_many(fresh, f"{kind.removesuffix('s')} is", f"{kind} are")
        raise DataError(f"{what} not pinned, and --locked forbids to add pins", problems)
    if fresh:
        lock.write(after)
        say(f"pinned {how_many(fresh, kind.removesuffix('s'))} in {after.path.name}")


def pinned_journals(place: Place) -> frozenset[str]:
    """The exported journals that the lock pins."""
    return frozenset(lock.read(place.manifest.lock_path).pins["journals"])


def _journal_pins(place: Place, stages: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The exported journals that are whole once one of the stages is done; none if no language model writes."""
    writer = place.manifest.content.get("writer", {})
    names = [writer[JOURNALS[stage]] for stage in stages if JOURNALS.get(stage) in writer]
    digests = {name: sha256_if_there(place.manifest.path.parent / name) for name in names}
    return {name: {"sha256": digest} for name, digest in digests.items() if digest}


def pin_stage(place: Place, stage: Stage, say: Say, *, locked: bool, repin: bool) -> None:
    """Pins what a stage that is up to date has read; of generated sources nothing but what a model was paid for.

    Raises:
        DataError: Something is pinned otherwise and `repin` is not set, or not pinned and `locked` is.
    """
    _pin(place, "journals", _journal_pins(place, [stage.name]), say, locked=locked, repin=repin)
    if place.manifest.is_generated:
        return
    receipt = read_receipt(place, stage.name)
    if stage.name == "10_import" and receipt:
        known = {key.removeprefix("source:"): digest for key, digest in receipt["files"].items()}
        found: dict[str, Any] = dict(receipt["facts"].get("pins", {}))
        for source in place.manifest.content["sources"]:
            found |= source_files.pins(source, place.source_root, known)
        _pin(place, "sources", found, say, locked=locked, repin=repin)
    elif stage.name == "40_images":
        rows = read_table(place, "40_images/photographs").to_pylist()
        if not repin:
            _refuse_spoilt_photographs(place)
        keys = ("sha256", "bytes", "width", "height")
        withdrawn = sha256_if_there(place.manifest.withdrawals_path)
        listed = {place.manifest.withdrawals_path.name: {"sha256": withdrawn}} if withdrawn else {}
        _pin(place, "decisions", listed, say, locked=locked, repin=repin)
        pins = {row["image_id"]: {key: row[key] for key in keys} for row in rows}
        _pin(place, "photographs", pins, say, locked=locked, repin=repin)
    elif stage.name == benchmarks.stages(place.manifest)[-2].name:
        # nobody is asked any more
        decided = {}
        for name in place.manifest.content["decisions"]["files"]:
            digest = _decision_hash(place, name)
            if digest is not None:
                decided[name] = {"sha256": digest}
        _pin(place, "decisions", decided, say, locked=locked, repin=repin)


def _refuse_spoilt_photographs(place: Place) -> None:
    """Refuses a photograph that the lock pins and that is no longer sound: another would silently take its place."""
    pinned = lock.read(place.manifest.lock_path).pins["photographs"]
    images = {row["item_id"]: row["image_id"] for row in read_table(place, "30_stratify/kept").to_pylist()}
    problems = []
    for row in read_table(place, "40_images/rejected").to_pylist():
        image_id = images[row["record_id"]]
        if image_id in pinned and row["rule"] in SPOILT:
            problems.append(Problem(str(place.manifest.lock_path), f"photographs {image_id}", "", row["rule"], HINT))
    if problems:
        what = how_many(len(problems), "pinned photograph is", "pinned photographs are")
        raise DataError(f"{what} not what was pinned", problems)


def _decision_hash(place: Place, name: str) -> str | None:
    for stage in reversed(benchmarks.stages(place.manifest)):
        receipt = read_receipt(place, stage.name)
        if receipt and receipt["files"].get(f"manifest:{name}"):
            return str(receipt["files"][f"manifest:{name}"])
    return None


def _set_problems(place: Place, source: Mapping[str, Any], pinned: lock.Lock) -> list[Problem]:
    """Whether a published set is the one that is pinned; names the files that differ where the last import had it."""
    root = place.source_root
    try:
        files = fpco_files.list_files(root, source["annotations"], source["images"])
    # the import says what is wrong with its folders
    except DataError:
        return []
    now = fpco_files.hashes(root, files)
    problems = lock.differences(pinned, "sources", {source["name"]: fpco_files.set_pin(root, now)})
    receipt = read_receipt(place, "10_import")
    if not (
        problems
        and receipt
        and receipt["facts"].get("pins") == {source["name"]: pinned.pins["sources"][source["name"]]}
    ):
        return problems
    before = {key.removeprefix("source:"): value for key, value in receipt["files"].items()}
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name) and not name.endswith("/") and name != source["completions"]:
            told = "was added" if name not in before else "is gone" if name not in now else "has changed"
            problems.append(Problem(str(root / name), "", "", f"{told} since the set was pinned"))
    return problems


def refuse_changed(place: Place) -> None:
    """Refuses sources, decision files and journals that differ from their pins before anything reads them.

    Raises:
        DataError: Some differ; names each of them.
    """
    pinned = lock.read(place.manifest.lock_path)
    problems = lock.differences(pinned, "journals", _journal_pins(place, JOURNALS))
    if not place.manifest.is_generated:
        problems += _changed_problems(place, pinned)
    if problems:
        raise DataError(f"{len(problems)} pinned files have changed", problems)


def _changed_problems(place: Place, pinned: lock.Lock) -> list[Problem]:
    sources: dict[str, dict[str, Any]] = {}
    for source in place.manifest.content["sources"]:
        sources |= source_files.pinned(source, place.source_root, pinned.pins["sources"])
    decided: dict[str, dict[str, Any]] = {}
    for name in place.manifest.content["decisions"]["files"]:
        digest = sha256_if_there(place.manifest.path.parent / name)
        if name in pinned.pins["decisions"] and digest:
            decided[name] = {"sha256": digest}
    withdrawn = place.manifest.withdrawals_path
    if withdrawn.name in pinned.pins["decisions"]:
        decided[withdrawn.name] = {"sha256": sha256_if_there(withdrawn)}
    problems = lock.differences(pinned, "sources", sources) + lock.differences(pinned, "decisions", decided)
    if place.manifest.is_published:
        for source in place.manifest.content["sources"]:
            if source["name"] in pinned.pins["sources"]:
                problems += _set_problems(place, source, pinned)
    return problems
