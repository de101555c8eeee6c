# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The card of a release, README.md: front matter that load_dataset obeys and a page that a stranger understands."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from groundset.release.attribution import count_licences, licence_table
from groundset.release.card_statistics import section, sentences, variants_section
from groundset.release.card_texts import (
    ABOUT,
    BROWSING,
    EXAMPLE_INTRO,
    FUNNEL_NOTE,
    HOW_MADE,
    POLICY,
    SCORING,
    SCORING_NOTE,
    SCORING_REFERENCED,
    STAGES,
    VARIANTS,
    WITHDRAWN,
    WITHDRAWN_REASONS,
)
from groundset.release.facts import SPLIT, WITH_IMAGE, Facts, configs_of
from groundset.release.figures import Figure, strata_grid
from groundset.release.front_matter import front_matter
from groundset.release.markdown import bullets, fenced, folded, table
from groundset.release.parquet import IMAGE_COLUMN, Size
from groundset.release.statistics import statistics
from groundset.schema_types import fields

SOURCE_COLUMNS = ("source", "kind", "annotations by", "published at", "their licence", "photographs here")


def example(facts: Facts, tables: Mapping[str, pa.Table], images: pa.Table) -> str:
    """A real row of the default config as JSON, the photograph in words: the first row whose photograph is embedded."""
    config = configs_of(facts)[0]
    rights = {row["image_id"]: row for row in images.to_pylist()}
    table = tables[config.name].sort_by([(name, "ascending") for name in config.key])
    ids = table["image_id"].to_pylist()
    chosen = next((row for row, image_id in enumerate(ids) if rights[image_id]["embedded"]), 0)
    # the last turn of a CandVG dialogue tells more than its first
    if facts.benchmark == "candvg":
        dialogues = table["dialogue_id"].to_pylist()
        chosen = max(row for row, dialogue in enumerate(dialogues) if dialogue == dialogues[chosen])
    row = table.slice(chosen, 1).to_pylist()[0]
    photograph = rights[row["image_id"]]
    size = f"{photograph['width']} x {photograph['height']} pixels"
    image = f"<PIL image, {size}>" if photograph["embedded"] else None
    ordered = {
        field.name: image if field.name == IMAGE_COLUMN else row[field.name]
        for field in fields(config.schema)
        if "." not in field.name
    }
    lines = []
    for name, value in ordered.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n".join("    " + json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f"  {json.dumps(name)}: [\n{items}\n  ]")
        else:
            lines.append(f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    return fenced("json", "{\n" + ",\n".join(lines) + "\n}")


def _notice(facts: Facts) -> str:
    if not facts.simulated:
        return ""
    return (
        "\n> **Simulated.** This release shows the format and the way it is made. Do not measure anything with it:\n>\n"
        + "\n".join(f"> - {' '.join(line.split())}" for line in facts.simulated)
        + "\n"
    )


def _funnel(facts: Facts) -> str:
    rows: list[tuple[object, ...]] = []
    for step in facts.funnel:
        reasons = "; ".join(f"{rule} {count}" for rule, count in sorted(step.rejected.items()) if count)
        what = STAGES[facts.benchmark].get(step.stage, "")
        rejected = step.rows_in - step.kept
        rows.append((step.stage, step.unit, step.rows_in, step.kept, rejected, what, reasons or "none"))
    head = ("stage", "unit", "in", "kept", "rejected", "what was kept is", "rejected by rule")
    return table(head, rows, right=(2, 3, 4))


def _strata(facts: Facts, shown: Mapping[str, Figure]) -> str:
    short = [row for row in facts.strata if row.have < row.want]
    have, want = sum(row.have for row in facts.strata), sum(row.want for row in facts.strata)
    told = (
        f"{len(short)} of {len(facts.strata)} strata fall short of what was wanted; in all there are {have} of {want}."
        if short
        else f"Every stratum is full: {have} of {want}."
    )
    if any(row.have > row.want for row in facts.strata):
        told += " A stratum that has more than was wanted stands in for one that falls short."
    found = strata_grid(facts.strata)
    if found:
        groups, lasts, cells = found
        texts = {place: f"{row.have} of {row.want}" for place, row in cells.items()}
        grid = [(group, *(texts.get((group, last), "") for last in lasts)) for group in groups]
        numbers = table(("stratum", *lasts), grid, right=range(1, len(lasts) + 1))
        return "\n\n".join((told, shown["cells"].markdown(), folded("The same as a table", numbers)))
    rows: list[tuple[object, ...]] = [(row.stratum, row.want, row.have) for row in facts.strata]
    return told + "\n\n" + table(("stratum", "want", "have"), rows, right=(1, 2))


def _fields(facts: Facts) -> str:
    parts = []
    for config in configs_of(facts):
        rows: list[tuple[object, ...]] = [
            (f"`{field.name}`", field.type + (" or null" if field.nullable else ""), field.description)
            for field in fields(config.schema)
        ]
        parts.append(f"### `{config.name}`\n\n" + table(("field", "type", "what it is"), rows))
    return "\n\n".join(parts)


def _referenced(facts: Facts, tables: Mapping[str, pa.Table], images: pa.Table) -> str:
    embedded = {row["image_id"] for row in images.select(["image_id", "embedded"]).to_pylist() if row["embedded"]}
    config = WITH_IMAGE[facts.benchmark]
    ids = tables[config]["image_id"].to_pylist()
    missing = sum(image_id not in embedded for image_id in ids)
    if not missing:
        return f"All {len(ids)} rows of `{config}` carry their photograph."
    return f"""\
**In {missing} of {len(ids)} rows of `{config}` the column `image` is null**: this release only refers to their
photographs (see Licences). The config `images` gives `image_url`, `landing_url`, `bytes` and `sha256` of each.
`groundset hydrate FOLDER` makes a local copy with those filled in that can still be had unchanged; it loads like this
release. If you fetch one yourself, use it only if its sha256 is the same: a photograph may change or vanish."""


def _loading(facts: Facts, images: pa.Table) -> str:
    default = configs_of(facts)[0].name
    counts = count_licences(images)
    licence = next((spdx for spdx, count in counts.items() if count.embedded), next(iter(counts)))
    key = {"samples": "sample_id", "dialogues": "dialogue_id"}[default]
    code = f"""\
from datasets import load_dataset

release = "ORGANISATION/{facts.name}"  # on the Hub, or the path of this folder
revision = "v{facts.version}"  # a folder has none and does not look at it

rows = load_dataset(release, split="{SPLIT}", revision=revision)
print(rows[0]["{key}"], rows[0]["image"])  # a PIL image, or None where it is only referenced

# another config
photographs = load_dataset(release, "images", split="{SPLIT}", revision=revision)

# some columns of the rows under one licence; there are fewer rows than the card says, so that is not to be checked
some = load_dataset(
    release,
    "{default}",
    split="{SPLIT}",
    revision=revision,
    columns=["{key}", "image", "licence", "credit"],
    filters=[("licence", "==", "{licence}")],
    verification_mode="no_checks",
)

# the first row, without downloading all
first = next(iter(load_dataset(release, "{default}", split="{SPLIT}", revision=revision, streaming=True)))"""
    return fenced("python", code)


def _origin(facts: Facts, shown: Mapping[str, Figure]) -> str:
    sources: list[tuple[object, ...]] = [
        (source.name, source.kind, source.annotations_credit, source.url, source.annotations_licence, source.images)
        for source in facts.sources
    ]
    parts = [
        HOW_MADE[next((source.kind for source in facts.sources if source.kind in HOW_MADE), facts.benchmark)],
        *([f"The questions were written by: {' '.join(facts.writer.split())}"] if facts.writer.strip() else []),
        table(SOURCE_COLUMNS, sources, right=(5,)),
        "What each stage took in, kept and rejected, from its receipt:",
        *([shown["funnel"].markdown()] if "funnel" in shown else []),
        _funnel(facts),
        FUNNEL_NOTE[facts.benchmark],
        "### Strata",
        _strata(facts, shown),
    ]
    if facts.statistics:
        counts: list[tuple[object, ...]] = list(facts.statistics)
        parts += ["### Decisions", table(("decision that built it", "how many"), counts, right=(1,))]
    return "\n\n".join(parts)


def _variants(tables: Mapping[str, pa.Table]) -> str:
    return f"\n\n### Variants\n\n{VARIANTS}\n\n{variants_section(tables['variants'])}" if "variants" in tables else ""


def _withdrawn(facts: Facts) -> str:
    if not facts.withdrawn:
        return ""
    rows: list[tuple[object, ...]] = [(row.image_id, WITHDRAWN_REASONS[row.reason]) for row in facts.withdrawn]
    return "\n\n".join(("### Withdrawn photographs", WITHDRAWN, table(("image_id", "reason"), rows), ""))


def _configs(facts: Facts, sizes: Mapping[str, Size]) -> str:
    rows: list[tuple[object, ...]] = [
        (f"`{config.name}`" + (" (default)" if not number else ""), config.about, sizes[config.name].rows)
        for number, config in enumerate(configs_of(facts))
    ]
    return table(("config", "one row is", "rows"), rows, right=(2,))


def card(
    facts: Facts,
    tables: Mapping[str, pa.Table],
    images: pa.Table,
    sizes: Mapping[str, Size],
    shown: Mapping[str, Figure],
) -> str:
    """README.md of a release.

    Args:
        facts: What the release says of itself.
        tables: Config to its rows, without the column `image`.
        images: Table of `schemas/release_image`.
        sizes: Config to its size on disk.
        shown: The figures of the release by name.
    """
    found = statistics(facts.benchmark, tables)
    drawn = {name: figure.markdown() for name, figure in shown.items()}
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(facts.libraries.items()))
    return f"""\
---
{front_matter(facts, sizes)}---

# {facts.title}
{_notice(facts)}
{facts.summary.strip()}

{ABOUT[facts.benchmark]}

## What is in it

In short: {sentences(facts.benchmark, found)[0]}.

{_configs(facts, sizes)}

There is one split, `{SPLIT}`; the papers define no other. Everything here is for evaluation: do not train on it.

## One row

{EXAMPLE_INTRO[facts.benchmark]}

{example(facts, tables, images)}

{_referenced(facts, tables, images)}{_variants(tables)}

## How to load it

{_loading(facts, images)}

Name the revision, so that a score can be traced to the rows it was measured on. To see that a copy is whole, run
`sha256sum -c SHA256SUMS` in it, or `groundset verify` on it, which checks every row as well.

## How to browse it

{BROWSING}

## How to score it

{SCORING[facts.benchmark]}

{SCORING_NOTE if pc.all(images["embedded"]).as_py() else SCORING_REFERENCED}

## How it was made

{_origin(facts, shown)}

### People

{" ".join(facts.annotators.split())}

Pay: {" ".join(facts.annotator_pay.split())}

## Statistics

Counted in the rows, so that anyone can count them again.

{section(facts.benchmark, found, drawn)}

## Licences

Each photograph keeps its own licence and credit: in every row that shows it, and in `ATTRIBUTION.csv`.

{licence_table(images)}

{POLICY[facts.image_policy]}

Annotations and texts made for this release are under {facts.texts_licence}; the sources' annotations and dialogues keep
their own licences, named above. `LICENSE.md` keeps the four kinds of rights apart, and `LICENSES/` holds the texts.

### What you may do

Use the annotations and texts as their licence says. With each photograph do what its own licence asks: show its
`credit` wherever you show it. A figure that draws on a photograph or cuts it is a changed photograph: under a licence
with ND you may not publish one, under one with SA only under that same licence. Filter by the column `licence` to keep
to what you may use. Licences are given as the sources state them, without warranty, and this page is no legal advice.

{_withdrawn(facts)}## Uses and limits

It is meant for:

{bullets(facts.use_cases)}

Limits:

{bullets(facts.limitations) if facts.limitations else "None were stated."}

Biases:

{bullets(facts.biases)}

Personal information: {" ".join(facts.personal_information.split())}

Social impact: {" ".join(facts.social_impact.split())}

## How to cite it

{fenced("bibtex" if facts.citation.lstrip().startswith("@") else "text", facts.citation.strip())}

{facts.title}, version {facts.version}, by {", ".join(facts.authors)}.
Cite the sources of the photographs and boxes as well.

## Fields

A box is `[x_min, y_min, x_max, y_max]` in pixels of the stored photograph, from its top left corner.

{_fields(facts)}

## How it can be built again

Built with groundset {facts.groundset_version} ({libraries}).
`manifest.json` holds the rules and the digests of all that went in; `croissant.json` describes this release to machines
(Croissant 1.1 with the Responsible AI fields).
"""
