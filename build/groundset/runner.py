# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark's stages in order, and those that refill until nothing changes.

Images, screening, writing and review work on the selected rows. What they reject and the manifest lets refill is fed
back as one table, until a round rejects nothing new. A build starts from no rejection, or from a finished round that is
still up to date, so its result depends on its inputs alone and not on what an interrupted build had reached.
"""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset import benchmarks, pinning, shortfalls
from groundset.asking import TRUTH
from groundset.counting import how_many
from groundset.errors import DataError, Problem, UsageError, WaitingForPeopleError
from groundset.files import canonical_json, fresh_folder, replace_folder, sha256_file, write_table
from groundset.manifest import Manifest
from groundset.miniworld.write import write_world
from groundset.schema_types import arrow_schema
from groundset.shortfalls import Filled
from groundset.stage import (
    NOBODY,
    Asking,
    Output,
    Place,
    Records,
    Stage,
    package_digest,
    read_receipt,
    read_table,
    run,
    why_stale,
)
from groundset.waiting import usual_work, waits_for, what_to_do

REFILL = "refill/rejected"
WORLD = "world.json"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """How to build.

    Attributes:
        to: Last stage to run; empty for all.
        only: The one stage to run; empty for all.
        locked: Refuse to add a pin.
        repin: Replace pins that differ.
        asking: How a language model may be asked.
    """

    to: str = ""
    only: str = ""
    locked: bool = False
    repin: bool = False
    asking: Asking = NOBODY


def place_of(manifest: Manifest, work: Path | None) -> Place:
    """The build's place; the work folder is `work/<name>-<version>` if none is given."""
    folder = work or usual_work(manifest)
    stages = benchmarks.stages(manifest)
    records = {f"{stage.name}/{table}": held for stage in stages for table, held in stage.writes.items()}
    verdicts = [f"{stage.name}/{table}" for stage in stages for table in ("rejected", "flagged")]
    records |= dict.fromkeys([*verdicts, REFILL], Records("verdict"))
    return Place(manifest, folder, manifest.source_root or folder / "miniworld", records)


def stages_of(manifest: Manifest, options: Options) -> Sequence[Stage]:
    """The stages that the options ask for.

    Raises:
        UsageError: The benchmark has no stage of that name.
    """
    stages = benchmarks.stages(manifest)
    names = [stage.name for stage in stages]
    for name in (options.to, options.only):
        if name and name not in names:
            raise UsageError(f"{manifest.benchmark} has no stage {name}; its stages are {', '.join(names)}")
    if options.only:
        return [stage for stage in stages if stage.name == options.only]
    return stages[: names.index(options.to) + 1] if options.to else stages


@contextmanager
def _sole_user(work: Path) -> Iterator[None]:
    work.mkdir(parents=True, exist_ok=True)
    with (work / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{work}: another build is running in this folder; wait for it or use --work") from None
        yield


def _world_marker(world: Path, made: dict[str, Any]) -> bytes:
    files = sorted(path for path in world.rglob("*") if path.is_file() and path.name != WORLD)
    return canonical_json({**made, "files": {str(path.relative_to(world)): sha256_file(path) for path in files}})


def _draw_world(place: Place, say: Say) -> None:
    made = {"root": place.manifest.content["source_root"], "package": package_digest()}
    marker = place.source_root / WORLD
    if marker.is_file() and marker.read_bytes() == _world_marker(place.source_root, made):
        return
    say("drawing the miniature world")
    temporary = fresh_folder(place.work / ".miniworld.tmp")
    root = place.manifest.content["source_root"]
    write_world(temporary / "world", root["seed"], root["scenes_per_cell"])
    (temporary / "world" / WORLD).write_bytes(_world_marker(temporary / "world", made))
    replace_folder(temporary / "world", place.source_root)
    temporary.rmdir()


def _step(place: Place, stage: Stage, options: Options, say: Say) -> Output | None:
    reason = why_stale(place, stage)
    if reason is None:
        say(f"{stage.name}: up to date")
        pinning.pin_stage(place, stage, say, locked=options.locked, repin=options.repin)
        return None
    missing = [table for table in stage.reads if not (place.work / f"{table}.parquet").is_file()]
    if missing:
        needed = sorted({table.partition("/")[0] for table in missing})
        raise UsageError(f"{stage.name} reads what {', '.join(needed)} writes, which has not been done")
    pinned = frozenset[str]() if options.repin else pinning.pinned_journals(place)
    output = run(place, stage, replace(options.asking, pinned=pinned))
    for verdict in output.verdicts:
        if verdict.kind == "decision":
            say(f"{stage.name}: decision {verdict.record_id} is not applied: {verdict.detail}")
    if output.waiting:
        say(f"{stage.name}: {how_many(len(output.waiting), 'item waits', 'items wait')} for {waits_for(stage)}")
        return output
    receipt = read_receipt(place, stage.name)
    if not stage.accounts:
        say(f"{stage.name}: done")
    for kind, told in (receipt["accounts"] if receipt else {}).items():
        rejected = ", ".join(f"{rule} {count}" for rule, count in told["rejected"].items())
        say(
            f"{stage.name}: {how_many(told['in'], kind)} in, {told['kept']} kept"
            + (f", rejected: {rejected}" if rejected else "")
        )
    for name, notes in (receipt["facts"].get("notes", {}) if receipt else {}).items():
        for note in notes:
            say(f"{stage.name}: {name}: {note}")
    flagged = ", ".join(f"{rule} {count}" for rule, count in (receipt["flagged"] if receipt else {}).items())
    if flagged:
        say(f"{stage.name}: flagged, not rejected: {flagged}")
    pinning.pin_stage(place, stage, say, locked=options.locked, repin=options.repin)
    return output


def _step_or_wait(place: Place, stage: Stage, options: Options, say: Say) -> None:
    output = _step(place, stage, options, say)
    if output is not None and output.waiting:
        raise WaitingForPeopleError(what_to_do(place, stage, len(output.waiting)))


def _refill_ids(place: Place, stage: Stage, output: Output | None) -> set[str]:
    """Items that the stage has rejected and whose place the next one takes; images refill within their own stage."""
    if stage.cause == "image" or stage.cause not in place.manifest.content["strata"]["refill"]:
        return set()
    if output is not None:
        return {verdict.record_id for verdict in output.verdicts if verdict.hard and verdict.kind in stage.accounts}
    rejected = read_table(place, f"{stage.name}/rejected").to_pylist()
    return {row["record_id"] for row in rejected if row["kind"] in stage.accounts}


def _write_refill(place: Place, items: set[str]) -> None:
    rows = [
        {"record_id": item, "kind": "item", "rule": "refilled", "measured": None, "limit": None, "detail": "rejected"}
        for item in sorted(items)
    ]
    folder = fresh_folder(place.work / ".refill.tmp")
    write_table(pa.Table.from_pylist(rows, schema=arrow_schema("verdict")), folder / "rejected.parquet")
    replace_folder(folder, place.work / "refill")


def _refill_is_settled(place: Place, stages: Sequence[Stage]) -> bool:
    path = place.work / f"{REFILL}.parquet"
    if not path.is_file() or any(why_stale(place, stage) for stage in stages):
        return False
    stored = set(read_table(place, REFILL).column("record_id").to_pylist())
    return stored == set().union(*(_refill_ids(place, stage, None) for stage in stages))


def _require_earlier(place: Place, stage: Stage) -> None:
    """Refuses to run a stage alone on what earlier stages made of another manifest, other files or other code."""
    earlier = benchmarks.stages(place.manifest)
    for before in earlier[: earlier.index(stage)]:
        reason = why_stale(place, before)
        if reason is not None:
            hint = f"{before.name} has to run first: {reason}"
            raise UsageError(f"{stage.name} cannot run alone, as it would read what is out of date; {hint}")


def _run_refilling(place: Place, stages: Sequence[Stage], options: Options, say: Say) -> None:
    if _refill_is_settled(place, stages):
        for stage in stages:
            _step(place, stage, options, say)
        return
    refused: set[str] = set()
    while True:
        _write_refill(place, refused)
        found: set[str] = set(refused)
        waiting: tuple[Stage, int] | None = None
        for stage in stages:
            output = _step(place, stage, options, say)
            found |= _refill_ids(place, stage, output)
            if output is not None and output.waiting:
                waiting = (stage, len(output.waiting))
                break
        if found == refused:
            break
        say(f"refill: newly rejected: {len(found - refused)}; the next of their strata come in where there are any")
        refused = found
    if waiting is not None:
        stage, count = waiting
        raise WaitingForPeopleError(what_to_do(place, stage, count))


def _refuse_nothing(place: Place, stage: Stage) -> None:
    """Ends a build of which nothing is left: what follows would only fail later and say less."""
    receipt = read_receipt(place, stage.name)
    for kind in ("item", "dialogue"):
        told = receipt["accounts"].get(kind) if receipt else None
        if told and told["in"] and not told["kept"]:
            rows = read_table(place, f"{stage.name}/rejected").to_pylist()
            first = {row["rule"]: row for row in reversed(rows) if row["kind"] == kind}
            problems = [
                Problem(
                    stage.name, rule, "", f"{count} in all, such as {first[rule]['record_id']}: {first[rule]['detail']}"
                )
                for rule, count in told["rejected"].items()
            ]
            raise DataError(f"{stage.name} keeps no {kind}: it rejects all {told['in']}", problems)


def strata(place: Place) -> tuple[Filled, ...]:
    """How far every stratum is filled, by what the last refilling stage has kept; empty before there are strata."""
    if read_receipt(place, "30_stratify") is None:
        return ()
    last = [stage for stage in benchmarks.stages(place.manifest) if stage.cause][-1]
    have: Counter[str] | None = None
    if read_receipt(place, last.name) is not None:
        ((table, id_column),) = last.accounts.values()
        kept = set(read_table(place, f"{last.name}/{table}")[id_column].to_pylist())
        ranking = read_table(place, "30_stratify/kept").to_pylist()
        have = Counter(row["stratum"] for row in ranking if row["item_id"] in kept)
    wanted = read_table(place, "30_stratify/strata").to_pylist()
    return tuple(
        Filled(row["stratum"], row["want"], row["eligible"], None if have is None else have[row["stratum"]])
        for row in wanted
    )


def _tell_short(place: Place, say: Say) -> None:
    filled = strata(place)
    lacking = shortfalls.short(filled)
    if lacking:
        for line in shortfalls.told(filled):
            say(line)
    if lacking and place.manifest.content["strata"]["when_short"] == "stop":
        problems = [
            Problem("", f"stratum {row.stratum}", "", f"have {row.reaches}, want {row.want}") for row in lacking
        ]
        told = f"{len(lacking)} strata fall short, and the manifest says to stop (strata.when_short)"
        raise DataError(told, problems)


def build(manifest: Manifest, work: Path | None, options: Options, say: Say) -> Place:
    """Brings every stage that is asked for up to date.

    Args:
        manifest: The manifest.
        work: Work folder, or None for the usual one.
        options: How to build.
        say: Called with one line at a time about what happens.

    Raises:
        GroundsetError: Something is wrong, or people have to decide first.
    """
    stages = stages_of(manifest, options)
    place = place_of(manifest, work)
    with _sole_user(place.work):
        root = place.source_root
        if manifest.is_generated:
            _draw_world(place, say)
        elif manifest.content["source_root"]["kind"] == "miniworld" and not (root / TRUTH).is_file():
            # else other people's photographs would be credited as our drawings
            told = f"the manifest is for groundset's own drawings, and {root} holds none (no {TRUTH})"
            raise UsageError(f"{manifest.path} $.source_root: {told}; use a manifest with kind = folder")
        if not options.repin:
            pinning.refuse_changed(place)
        if options.only:
            _require_earlier(place, stages[0])
            _step_or_wait(place, stages[0], replace(options, only=""), say)
            return place
        refilling = [stage for stage in stages if stage.cause]
        for stage in stages:
            if not stage.cause:
                _step_or_wait(place, stage, options, say)
                if stage is not stages[-1]:
                    _refuse_nothing(place, stage)
            elif stage is refilling[0]:
                _run_refilling(place, refilling, options, say)
                if refilling[-1] is [stage for stage in benchmarks.stages(manifest) if stage.cause][-1]:
                    _tell_short(place, say)
    return place
