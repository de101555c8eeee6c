# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""All that there is to look at of a release, and of what its build rejected, before FiftyOne is involved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from groundset.errors import UsageError
from groundset.files import canonical_json, sha256_bytes
from groundset.fpco.check_set import check_folder
from groundset.stage import package_digest
from groundset.verdicts import Verdict
from groundset.views.layout import SavedView, saved_views
from groundset.views.reading import Rows, read_release, write_photographs
from groundset.views.rejections import Rejections, no_rejections, read_work
from groundset.views.turns import Entry, Flags, entries


@dataclass(frozen=True)
class Shown:
    """What there is to look at.

    Attributes:
        name: Name of the dataset in FiftyOne: that of the release, and its version.
        title: Title of the release.
        benchmark: candvg or fpco-dialog.
        entries: Every turn, and every rejected record, that has a photograph.
        views: The views to save.
        unseen: Licence to the number of photographs that the release only refers to.
        unseen_turns: Turns that are left out for that.
        rejections: What was asked for of rejected records, and what of it cannot be shown.
        digest: sha256 of all that, and of the code that shows it.
    """

    name: str
    title: str
    benchmark: str
    entries: tuple[Entry, ...]
    views: tuple[SavedView, ...]
    unseen: Mapping[str, int]
    unseen_turns: int
    rejections: Rejections
    digest: str


def photograph_cache() -> Path:
    """Folder in which photographs are kept for looking at, below the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groundset" / "photographs"


def _flags(rows: Rows, found: Mapping[str, Sequence[Verdict]]) -> Flags:
    said = [(record_id, verdict) for record_id, verdicts in found.items() for verdict in verdicts]
    if rows.record.facts.benchmark == "fpco-dialog":
        # hard ones too: checks may have become stricter since the release was made
        said += [(verdict.record_id, verdict) for verdict in check_folder(rows.folder).verdicts]
    variants = {row["variant_id"]: row for row in rows.tables.get("variants", ())}
    flags: dict[str, list[Verdict]] = {}
    for record_id, verdict in said:
        if variant := variants.get(record_id):
            of_variant = replace(verdict, detail=f"variant {variant['set']}: {verdict.detail}")
            flags.setdefault(variant["dialogue_id"], []).append(of_variant)
        else:
            flags.setdefault(record_id, []).append(verdict)
    return Flags(flags)


def read_shown(
    release: Path, cache: Path | None = None, rejected: Path | None = None, sources: Path | None = None
) -> Shown:
    """Reads all that there is to look at, and writes the photographs to files; needs no FiftyOne.

    Args:
        release: Folder of a release, or of a hydrated copy.
        cache: Folder for the photographs; one below the user's cache if none is given.
        rejected: Work folder of the build, whose rejected records and flags are to be shown too.
        sources: Folder of the build's source files; for a miniature world none is needed.

    Raises:
        UsageError: A folder is not what it should be, or the release has no photograph that could be shown.
        DataError: The release cannot be read as one.
    """
    rows = read_release(release)
    facts = rows.record.facts
    files = write_photographs(rows, (cache or photograph_cache()).resolve())
    found = read_work(rejected, sources, rows) if rejected is not None else no_rejections()
    shown = (*entries(rows, files, _flags(rows, found.flags)), *found.entries)
    unseen: dict[str, int] = {}
    for image in rows.tables["images"]:
        if image["image_id"] not in files:
            unseen[image["licence"]] = unseen.get(image["licence"], 0) + 1
    if unseen and not shown:
        raise UsageError(
            f"{release} only refers to its {sum(unseen.values())} photographs, so there is nothing to look at; "
            "groundset hydrate makes a copy that has them"
        )
    turns = rows.tables["samples" if facts.benchmark == "candvg" else "turns"]
    content = canonical_json([package_digest(), facts.title, [asdict(entry) for entry in shown]])
    return Shown(
        name=f"{facts.name}-{facts.version}",
        title=facts.title,
        benchmark=facts.benchmark,
        entries=shown,
        views=saved_views(shown),
        unseen=dict(sorted(unseen.items())),
        unseen_turns=sum(row["image_id"] not in files for row in turns),
        rejections=found,
        digest=sha256_bytes(content),
    )
