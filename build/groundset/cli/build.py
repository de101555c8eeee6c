# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset build`: brings a manifest's stages up to date, ending with a release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from groundset import benchmarks, runner
from groundset import manifest as manifests
from groundset.cli import talk
from groundset.counting import how_many
from groundset.errors import UsageError, WaitingForPeopleError
from groundset.fpco import llm_plan
from groundset.fpco.joins import rows_by
from groundset.fpco.llm_plan import Unpaid, UnpaidError
from groundset.manifest import Manifest
from groundset.shortfalls import short
from groundset.stage import Asking, Place, queue_path, read_receipt, read_table

WRITING, VARYING = "50_generate", "72_vary"

Plan = tuple[Unpaid, ...]


def _unpaid(manifest: Manifest, work: Path | None, options: runner.Options, say: Callable[[str], None]) -> Plan:
    """What would have to be paid: whatever stands before it is built, and nobody is asked."""
    if options.to or options.only or options.asking.offline:
        raise UsageError("--plan goes with none of --to, --only and --offline")
    if manifest.content.get("writer", {}).get("kind") != "llm":
        return ()
    place = runner.place_of(manifest, work)
    try:
        runner.build(manifest, work, replace(options, to=VARYING), say)
    except UnpaidError as unpaid:
        is_settled = any(row.what == "variants" for row in unpaid.plan)
        return unpaid.plan if is_settled else (*unpaid.plan, *_variants_ahead(place))
    except WaitingForPeopleError:
        names = [stage.name for stage in benchmarks.stages(manifest)]
        # a review that waits has all texts before it; what waits before them leaves open how many there will be
        if any(queue_path(place, name).is_file() for name in names[: names.index(WRITING)]):
            raise
        return _variants_ahead(place)
    return ()


def _variants_ahead(place: Place) -> Plan:
    """What variants may cost, while it is not settled of which dialogues there will be some."""
    from groundset.fpco import llm_variants

    labels = rows_by(read_table(place, "45_screen/items"), "item_id")
    rows = read_table(place, "45_screen/kept").to_pylist()
    items = [(row["stratum"].rpartition("-")[2], labels[row["item_id"]]["target_label"]) for row in rows]
    return tuple(llm_variants.plan_ahead(place.manifest.content, items))


def _print_plan(plan: Plan, *, as_json: bool) -> None:
    count = llm_plan.requests(plan)
    if as_json:
        talk.print_json({"requests": asdict(count), "models": [asdict(row) for row in plan]})
        return
    least = "the least if every answer is right at once; what is set aside takes less"
    note = f" ({least}, and may give way to another item, which is not counted)" if plan else ""
    typer.echo(f"{how_many(count, 'request is', 'requests are')} still to be paid{note}")
    for line in llm_plan.told(plan):
        typer.echo(line)


def build(
    manifest: Annotated[Path, typer.Argument(help=talk.MANIFEST_HELP)],
    to: Annotated[str, typer.Option(help="Last stage to run, such as 30_stratify.")] = "",
    only: Annotated[str, typer.Option(help="The one stage to run.")] = "",
    work: Annotated[Path | None, typer.Option(help=talk.WORK_HELP)] = None,
    sources: Annotated[Path | None, typer.Option(help=talk.SOURCES_HELP)] = None,
    locked: Annotated[bool, typer.Option("--locked", help="Refuse to add a pin to the lock.")] = False,
    repin: Annotated[bool, typer.Option("--repin", help="Replace pins that differ from what is found.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no language model; go by its journal alone.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would have to be paid to a model.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Pay a model, however much it is.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Build a release from a manifest; what is up to date is not done again."""
    checked = manifests.read(manifest, sources)
    with talk.live() as (say, passing):
        asking = Asking(offline=offline, plan=plan, confirmed=yes, passing=passing)
        options = runner.Options(to=to, only=only, locked=locked, repin=repin, asking=asking)
        if plan:
            _print_plan(_unpaid(checked, work, options, say), as_json=as_json)
            return
        place = runner.build(checked, work, options, say)
    done = [stage.name for stage in benchmarks.stages(checked) if read_receipt(place, stage.name)]
    release = place.work / "80_package" / "release"
    finished = "80_package" in done and not (to or only)
    if as_json:
        lacking = {row.stratum: [row.reaches, row.want] for row in short(runner.strata(place))}
        talk.print_json({"stages": done, "release": str(release) if finished else None, "short": lacking})
    elif finished:
        typer.echo(str(release))
