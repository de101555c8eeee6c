# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 80_package: from validated tables to the release folder, with the facts that its card tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from groundset import __version__
from groundset.files import sha256_file
from groundset.release.facts import (
    CONFIGS,
    WRITERS,
    Facts,
    FunnelStep,
    Source,
    Stratum,
    Withdrawn,
    library_versions,
    simulated,
)
from groundset.release.package import write_release
from groundset.stage import Inputs, Output, Records, Stage
from groundset.withdrawals import UNTOLD

CONFIG = (
    "benchmark",
    "name",
    "version",
    "seed",
    "source_root",
    "sources",
    "filter",
    "strata",
    "images",
    "decisions",
    "card",
)
# the answers that the texts were made of, and the models that gave them, of each stage that asks for some
WRITING = ("50_generate", "72_vary")
JOURNAL, MODELS = "journal.jsonl", "models.json"
ASKING = ("45_screen", "60_review", "76_judge")
WITHDRAWN = Records("withdrawal", UNTOLD)
UNITS = {kind: f"{kind}s" for kind in ("image", "object", "dialogue", "item", "sample", "variant")}


def tables_read(stages: Sequence[Stage]) -> tuple[str, ...]:
    """The tables of earlier stages that the card's figures come from."""
    kept = [f"{stage.name}/{table}" for stage in stages for table, _ in stage.accounts.values()]
    return tuple(sorted({*kept, *(f"{stage.name}/rejected" for stage in stages)}))


def funnel(stages: Sequence[Stage], tables: Mapping[str, pa.Table]) -> tuple[FunnelStep, ...]:
    """What each stage kept and rejected, as its receipt has it."""
    steps = []
    for stage in stages:
        for kind, (table, _) in stage.accounts.items():
            rows = tables[f"{stage.name}/rejected"]
            rules = Counter(rows.filter(pc.equal(rows["kind"], kind))["rule"].to_pylist())
            kept = tables[f"{stage.name}/{table}"].num_rows
            rejected = dict(sorted(rules.items()))
            # no variants were wanted, say: then nothing came so far, and nothing is to be told
            if kept or rejected:
                steps.append(FunnelStep(stage.name, UNITS[kind], kept + sum(rejected.values()), kept, rejected))
    return tuple(steps)


def _strata(inputs: Inputs, ids: pa.Table, column: str) -> tuple[Stratum, ...]:
    have = Counter(ids[column].to_pylist())
    wanted = inputs.tables["30_stratify/strata"].to_pylist()
    return tuple(Stratum(row["stratum"], row["want"], have[row["stratum"]]) for row in wanted)


def _sources(inputs: Inputs, images: pa.Table) -> tuple[Source, ...]:
    count = Counter(images["source_name"].to_pylist())
    return tuple(
        Source(
            **{key: source[key] for key in ("name", "kind", "annotations_licence", "annotations_credit", "url")},
            images=count[source["name"]],
        )
        for source in inputs.config["sources"]
    )


def facts(
    inputs: Inputs,
    stages: Sequence[Stage],
    dialogues: pa.Table,
    images: pa.Table,
    limits: Sequence[str] = (),
) -> Facts:
    """All that the card tells, from the manifest and the stages' tables.

    Args:
        inputs: The stage's inputs.
        stages: The stages before this one.
        dialogues: Released dialogues, with their stratum.
        images: Released images.
        limits: Further limitations to tell, beside the manifest's.
    """
    config, card = inputs.config, inputs.config["card"]
    return Facts(
        benchmark=config["benchmark"],
        name=config["name"],
        version=config["version"],
        title=card["title"],
        summary=card["summary"],
        authors=tuple(card["authors"]),
        language=tuple(card["language"]),
        texts_licence=card["texts_licence"],
        sources=_sources(inputs, images),
        annotators=card["annotators"],
        annotator_pay=card["annotator_pay"],
        limitations=(*card["limitations"], *limits),
        biases=tuple(card["biases"]),
        use_cases=tuple(card["use_cases"]),
        personal_information=card["personal_information"],
        social_impact=card["social_impact"],
        citation=card["citation"],
        published=card["published"],
        url=card["url"],
        simulated=simulated(config),
        image_policy=config["images"]["policy"],
        funnel=funnel(stages, inputs.tables),
        strata=_strata(inputs, dialogues, "stratum"),
        statistics=tuple(_decision_counts(inputs, stages).items()),
        writer=_written_by(inputs),
        groundset_version=__version__,
        libraries=library_versions(),
        withdrawn=tuple(Withdrawn(**row) for row in inputs.tables["40_images/withdrawn"].to_pylist()),
    )


def _written_by(inputs: Inputs) -> str:
    """What wrote the texts, in words; empty where nothing was written."""
    writer = inputs.config.get("writer", {})
    if writer.get("kind", "") != "llm":
        return WRITERS[writer.get("kind", "")]
    models = _models(inputs)
    asked = [(table["model"], table["base_url"].rstrip("/")) for table in (writer, *writer["cross_checks"])]
    told = []
    for row in sorted(models, key=lambda row: asked.index((row["model"], row["base_url"]))):
        served = [name for name in row["served"] if name != row["model"]]
        answered = f", which answered as {', '.join(served)}" if served else ""
        told.append(f"{row['model']} at {row['base_url']}{answered} (prompts {', '.join(row['prompts'])})")
    first = told[0] if told else f"{writer['model']} at {writer['base_url']}"
    how = (
        "It was given the photograph and the target's label and box; what broke a hard check went back to it with the "
        f"name of the rule, at most {writer['mends']} times, and was set aside after that"
    )
    others = f". Whether what is described can be seen was asked of {'; '.join(told[1:])}" if told[1:] else ""
    return f"the language model {first}. {how}{others}."


def _models(inputs: Inputs) -> list[dict[str, Any]]:
    """The models that answered, whatever stage asked them."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for stage in WRITING:
        for row in msgspec.json.decode((inputs.work / stage / MODELS).read_bytes()):
            one = found.setdefault((row["model"], row["base_url"]), row)
            one |= {key: sorted({*one[key], *row[key]}) for key in ("served", "prompts")}
    return list(found.values())


def _digests(inputs: Inputs, stages: Sequence[Stage]) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Digests of what was imported, decided and answered, and the files they were taken from."""
    paths = sorted(path for path in (inputs.work / "10_import").glob("*.parquet") if path.stem != "flagged")
    paths += _decision_files(inputs, stages)
    by_model = WRITING if inputs.config.get("writer", {}).get("kind") == "llm" else ()
    paths += [inputs.work / stage / name for stage in by_model for name in (JOURNAL, MODELS)]
    found = {path.relative_to(inputs.work).as_posix(): sha256_file(path) for path in paths}
    imported = {name: digest for name, digest in found.items() if name.startswith("10_import/")}
    decided = {name: digest for name, digest in found.items() if name.endswith("/decisions.jsonl")}
    digests = {"imported": imported, "decisions": decided}
    if by_model:
        digests["journals"] = {f"{stage}/{JOURNAL}": found[f"{stage}/{JOURNAL}"] for stage in by_model}
    return digests, {f"work:{name}": digest for name, digest in found.items()}


def _decision_files(inputs: Inputs, stages: Sequence[Stage]) -> list[Path]:
    """What people decided, of each stage that asks them."""
    names = [stage.name for stage in stages if stage.name in ASKING]
    return [inputs.work / name / "decisions.jsonl" for name in names]


def _decision_counts(inputs: Inputs, stages: Sequence[Stage]) -> dict[str, int]:
    """How many decisions of each kind built the release, and what they said."""
    counts: Counter[str] = Counter()
    for path in _decision_files(inputs, stages):
        for line in path.read_bytes().splitlines():
            decision = msgspec.json.decode(line)
            counts[f"{decision['kind']}: {decision['value'].get('verdict', 'set')}"] += 1
    return dict(sorted(counts.items()))


def recorded_manifest(config: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as a release records it: without where the files lie on this machine."""
    root = config["source_root"]
    return {**config, "source_root": {"kind": "folder"} if root["kind"] == "folder" else root}


def package(
    inputs: Inputs,
    stages: Sequence[Stage],
    tables: Mapping[str, pa.Table],
    images: pa.Table,
    limits: Sequence[str] = (),
) -> Output:
    """The release folder, as the stage's output.

    Args:
        inputs: The stage's inputs.
        stages: The stages before this one.
        tables: Config to its rows, without photographs.
        images: Table of `schemas/release_image`.
        limits: Further limitations for the card.
    """
    folders = {source["name"]: inputs.source_root / source["images"] for source in inputs.config["sources"]}
    places = inputs.tables["40_images/photographs"].select(["image_id", "path"]).to_pylist()
    source_of = dict(zip(images["image_id"].to_pylist(), images["source_name"].to_pylist(), strict=True))
    paths = {
        row["image_id"]: folders[source_of[row["image_id"]]] / row["path"]
        for row in places
        if row["image_id"] in source_of
    }
    told = facts(inputs, stages, tables["dialogues"], images, limits)
    optional = {config.name for config in CONFIGS[told.benchmark] if config.optional}
    told = replace(told, further_configs=tuple(sorted(optional & set(tables))))
    digests, read = _digests(inputs, stages)
    fill = partial(
        write_release,
        facts=told,
        tables=tables,
        images=images,
        photograph_paths=paths,
        manifest=recorded_manifest(inputs.config),
        digests=digests,
    )
    short = {row.stratum: [row.have, row.want] for row in told.strata if row.have < row.want}
    return Output(facts={"short": short}, read=read, fill=("release", fill))
