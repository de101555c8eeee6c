# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a build that waits says: for whom, where the waiting items are listed, and what to do."""

from __future__ import annotations

import shlex
from pathlib import Path

from groundset.counting import how_many
from groundset.manifest import Manifest
from groundset.stage import Place, Stage, not_applied_path, queue_path


def usual_work(manifest: Manifest) -> Path:
    """The work folder of a build that names none."""
    return Path("work") / manifest.title


def waits_for(stage: Stage) -> str:
    """Whom the items of a stage's queue wait for: people, or the command that fetches photographs."""
    return "groundset fetch" if stage.cause == "image" else "people"


def command(place: Place, verb: str) -> str:
    """The command line of a verb for this build."""
    manifest = place.manifest
    named = manifest.path.parent / manifest.content["source_root"].get("path", "")
    is_usual = manifest.is_generated or place.source_root == named
    sources = [] if is_usual else ["--sources", str(place.source_root)]
    work = [] if place.work == usual_work(manifest) else ["--work", str(place.work)]
    return shlex.join(["groundset", verb, str(manifest.path), *sources, *work])


def what_to_do(place: Place, stage: Stage, count: int) -> str:
    """What to tell whoever runs a build that waits.

    Args:
        place: Where the build happens.
        stage: The stage that cannot go on.
        count: How many items it waits for.
    """
    listed = f"they are listed in {queue_path(place, stage.name)}"
    if stage.cause == "image":
        fetch = command(place, "fetch")
        then = "and build again; those that their server does not have give way to others"
        absent_now = how_many(count, "selected photograph is", "selected photographs are")
        return f"{stage.name}: {absent_now} not there yet; {listed}. Run `{fetch}` {then}"
    files = [place.manifest.path.parent / name for name in place.manifest.content["decisions"]["files"]]
    stale = not_applied_path(place, stage.name)
    absent = ", ".join(str(path) for path in files if not path.is_file())
    return (
        f"{stage.name}: {how_many(count, 'item waits', 'items wait')} for people; {listed}. "
        f"Write a decision for each to {' or '.join(map(str, files))} and build again"
        + (f" (not there yet: {absent})" if absent else "")
        + (f". Decisions that are not applied, and why: {stale}" if stale.is_file() else "")
    )
