# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The card of a release, README.md: front matter that load_dataset obeys and a page that a stranger understands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import yaml  # type: ignore[import-untyped]

from groundset.release.attribution import count_licences, licence_table
from groundset.release.card_statistics import section, variants_section
from groundset.release.card_texts import (
    ABOUT,
    EXAMPLE_INTRO,
    FUNNEL_NOTE,
    HOW_MADE,
    POLICY,
    TAGS,
    TASKS,
    VARIANTS,
    WITHDRAWN,
    WITHDRAWN_REASONS,
)
from groundset.release.facts import SPLIT, WITH_IMAGE, Facts, configs_of
from groundset.release.features import yaml_features
from groundset.release.markdown import bullets, fenced, table
from groundset.release.parquet import IMAGE_COLUMN, Size
from groundset.release.statistics import statistics
from groundset.schema_types import fields

_SIZE_LIMITS = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"))
SOURCE_COLUMNS = ("source", "kind", "annotations by", "published at", "their licence", "photographs here")


def size_category(rows: int) -> str:
    """The Hub's word for a number of rows.

    >>> size_category(999), size_category(1000)
    ('n<1K', '1K<n<10K')
    """
    return next((word for limit, word in _SIZE_LIMITS if rows < limit), "1M<n<10M")


def front_matter(facts: Facts, sizes: Mapping[str, Size]) -> str:
    """The YAML front matter: configs, features and splits, in an order that load_dataset can read."""
    configs = configs_of(facts)
    head: dict[str, Any] = {
        "pretty_name": facts.title,
        "language": list(facts.language),
        # the Hub's list has no id for several of the photographs' licences
        "license": "other",
        "license_name": "mixed-per-image",
        "license_link": "LICENSE.md",
        "task_categories": list(TASKS[facts.benchmark]),
        "size_categories": [size_category(sizes[configs[0].name].rows)],
        "tags": [*TAGS[facts.benchmark], *(["simulated"] if facts.simulated else [])],
        "configs": [
            {
                "config_name": config.name,
                **({"default": True} if config is configs[0] else {}),
                "data_files": [{"split": SPLIT, "path": f"data/{config.name}/{SPLIT}-*.parquet"}],
            }
            for config in configs
        ],
        "dataset_info": [
            {
                "config_name": config.name,
                "features": yaml_features(config.schema),
                "splits": [
                    {
                        "name": SPLIT,
                        "num_bytes": sizes[config.name].memory_bytes,
                        "num_examples": sizes[config.name].rows,
                    }
                ],
                "download_size": sizes[config.name].download_bytes,
                "dataset_size": sizes[config.name].memory_bytes,
            }
            for config in configs
        ],
    }
    text: str = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10**6)
    return text


def read_front_matter(card: str) -> Any:
    """What the front matter of a card says.

    Raises:
        ValueError: There is none, or it is not YAML.
    """
    match = re.match(r"---\n(.*?\n)---\n", card, flags=re.DOTALL)
    if match is None:
        raise ValueError("the card has no front matter between two lines of ---")
    try:
        return yaml.safe_load(match[1])
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"the front matter is not YAML: {' '.join(str(error).split())}") from error


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
        rows.append((step.stage, step.unit, step.rows_in, step.kept, step.rows_in - step.kept, reasons or "none"))
    return table(("stage", "unit", "in", "kept", "rejected", "by rule"), rows, right=(2, 3, 4))


def _strata(facts: Facts) -> str:
    short = [row for row in facts.strata if row.have < row.want]
    have, want = sum(row.have for row in facts.strata), sum(row.want for row in facts.strata)
    told = (
        f"{len(short)} of {len(facts.strata)} strata fall short of what was wanted; in all there are {have} of {want}."
        if short
        else f"Every stratum is full: {have} of {want}."
    )
    if any(row.have > row.want for row in facts.strata):
        told += " A stratum that has more than was wanted stands in for one that falls short."
    lasts = list(dict.fromkeys(row.stratum.rpartition("-")[2] for row in facts.strata))
    if all("-" in row.stratum for row in facts.strata):
        cells = {row.stratum: f"{row.have} of {row.want}" for row in facts.strata}
        groups = dict.fromkeys(row.stratum.rpartition("-")[0] for row in facts.strata)
        grid = [(group, *(cells.get(f"{group}-{last}", "") for last in lasts)) for group in groups]
        return told + "\n\n" + table(("stratum", *lasts), grid, right=range(1, len(lasts) + 1))
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


def _origin(facts: Facts) -> str:
    sources: list[tuple[object, ...]] = [
        (source.name, source.kind, source.annotations_credit, source.url, source.annotations_licence, source.images)
        for source in facts.sources
    ]
    parts = [
        HOW_MADE[next((source.kind for source in facts.sources if source.kind in HOW_MADE), facts.benchmark)],
        *([f"The questions were written by: {' '.join(facts.writer.split())}"] if facts.writer.strip() else []),
        table(SOURCE_COLUMNS, sources, right=(5,)),
        "What each stage took in, kept and rejected:",
        _funnel(facts),
        FUNNEL_NOTE,
        "### Strata",
        _strata(facts),
    ]
    if facts.statistics:
        counts: list[tuple[object, ...]] = list(facts.statistics)
        parts += ["### Decisions", table(("decisions that built it", "how many"), counts, right=(1,))]
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


def card(facts: Facts, tables: Mapping[str, pa.Table], images: pa.Table, sizes: Mapping[str, Size]) -> str:
    """README.md of a release.

    Args:
        facts: What the release says of itself.
        tables: Config to its rows, without the column `image`.
        images: Table of `schemas/release_image`.
        sizes: Config to its size on disk.
    """
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(facts.libraries.items()))
    return f"""\
---
{front_matter(facts, sizes)}---

# {facts.title}
{_notice(facts)}
{facts.summary.strip()}

{ABOUT[facts.benchmark]}

## What is in it

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

## How it was made

{_origin(facts)}

### People

{" ".join(facts.annotators.split())}

Pay: {" ".join(facts.annotator_pay.split())}

## Figures

{section(facts.benchmark, statistics(facts.benchmark, tables))}

## Fields

A box is `[x_min, y_min, x_max, y_max]` in pixels of the stored photograph, from its top left corner.

{_fields(facts)}

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

Built with groundset {facts.groundset_version} ({libraries}).
`manifest.json` holds the rules and the digests of all that went in; `croissant.json` describes this release to machines
(Croissant 1.1 with the Responsible AI fields).
"""
