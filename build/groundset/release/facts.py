# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""All that a release says of itself beyond its rows, and the tables that each benchmark has."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BENCHMARKS = ("candvg", "fpco-dialog")
LIBRARIES = ("pyarrow", "pillow", "numpy", "scipy", "msgspec")
SPLIT = "test"
# what wrote the questions, in words, by the kind of the manifest's writer; a language model is named by its run
WRITERS = {
    "": "",
    "template": "groundset's template writer, a small grammar over label, place and measured colour",
    "published": "whoever made the published set; its records do not tell",
}


@dataclass(frozen=True)
class Config:
    """One table of a release, which is one Hugging Face config.

    Attributes:
        name: Name of the config.
        schema: Name of the JSON Schema that each row keeps.
        key: Columns that together identify a row; rows are sorted by them.
        about: What one row is.
        optional: Whether a release may lack it.
    """

    name: str
    schema: str
    key: tuple[str, ...]
    about: str
    optional: bool = False


_IMAGES = Config(
    "images",
    "release_image",
    ("image_id",),
    "a photograph's source, size, hash, licence and credit, without its pixels",
)

# all that a release may have; the first is the default
CONFIGS: Mapping[str, tuple[Config, ...]] = {
    "candvg": (
        Config(
            "samples",
            "candvg_sample",
            ("dialogue_id", "turn"),
            "a dialogue up to one turn, its photograph, and every object that is still plausible",
        ),
        Config(
            "dialogues",
            "candvg_dialogue",
            ("dialogue_id",),
            "a whole dialogue with the objects that people could choose from and the plausible ones at each turn",
        ),
        Config(
            "points",
            "candvg_point",
            ("dialogue_id", "turn", "point"),
            "a point that an annotator set on the photograph",
        ),
        _IMAGES,
    ),
    "fpco-dialog": (
        Config("dialogues", "fpco_dialogue", ("dialogue_id",), "a photograph and ten questions about one target in it"),
        Config(
            "turns", "fpco_turn", ("dialogue_id", "turn"), "one question as the user asks it, without the photograph"
        ),
        Config(
            "variants",
            "fpco_variant",
            ("variant_id",),
            "a dialogue of `dialogues` with another false description of the same kind, without the photograph",
            optional=True,
        ),
        _IMAGES,
    ),
}

# configs whose rows carry the photograph, by benchmark
WITH_IMAGE: Mapping[str, str] = {"candvg": "samples", "fpco-dialog": "dialogues"}


@dataclass(frozen=True)
class Source:
    """One source of the release.

    Attributes:
        name: As the manifest names it.
        kind: coco, openimages, invig or fpco-published.
        annotations_licence: SPDX id of the source's annotations and dialogues.
        annotations_credit: Who made them.
        url: Where the source is published; `none` for a generated one.
        images: How many photographs of the release come from it.
    """

    name: str
    kind: str
    annotations_licence: str
    annotations_credit: str
    url: str
    images: int


@dataclass(frozen=True)
class FunnelStep:
    """What one stage did with its rows, from its receipt.

    Attributes:
        stage: Name of the stage.
        unit: What is counted: images, dialogues, items.
        rows_in: Rows that went in.
        kept: Rows that were kept.
        rejected: Rule to the rows it rejected.
    """

    stage: str
    unit: str
    rows_in: int
    kept: int
    rejected: Mapping[str, int]


@dataclass(frozen=True)
class Stratum:
    """How many rows of one stratum were wanted, and how many the release has."""

    stratum: str
    want: int
    have: int


@dataclass(frozen=True)
class Withdrawn:
    """A photograph that had to go, and the reason: owner, licence or fault; a release says no more of it."""

    image_id: str
    reason: str


@dataclass(frozen=True)
class Facts:
    """What the card, the licence page and manifest.json say of a release beyond its rows.

    Attributes:
        benchmark: candvg or fpco-dialog.
        name: Name of the release, as in the manifest.
        version: Its version.
        title: Its title.
        summary: What it is, in a sentence or two.
        authors: Who made it.
        language: Language codes of the texts.
        texts_licence: SPDX id of our annotations and texts.
        sources: Where photographs, boxes and dialogues come from.
        annotators: Who annotated and reviewed, in words.
        annotator_pay: How they were paid, in words.
        limitations: What it cannot be used to show.
        biases: Which biases are known or likely.
        use_cases: What it is meant for.
        personal_information: What it holds of persons, in words.
        social_impact: What its use may do, in words.
        citation: How to cite it.
        published: Date of the release, YYYY-MM-DD, as the manifest gives it.
        url: Where the release is published.
        simulated: What was generated instead of collected, a sentence each; empty for a real release.
        image_policy: reference-only, permissive or non-commercial.
        funnel: What each stage kept and rejected.
        strata: The strata with want and have.
        statistics: Counts that the rows cannot tell, as (what, value): how many decisions of each kind built it.
        writer: What wrote the questions, in words; empty where nothing was written.
        groundset_version: Version of the code.
        libraries: Library to version, of those that can influence a byte.
        withdrawn: Photographs that had to go, by id.
        further_configs: Names of the optional configs that the release has.
    """

    benchmark: str
    name: str
    version: str
    title: str
    summary: str
    authors: tuple[str, ...]
    language: tuple[str, ...]
    texts_licence: str
    sources: tuple[Source, ...]
    annotators: str
    annotator_pay: str
    limitations: tuple[str, ...]
    biases: tuple[str, ...]
    use_cases: tuple[str, ...]
    personal_information: str
    social_impact: str
    citation: str
    published: str
    url: str
    simulated: tuple[str, ...]
    image_policy: str
    funnel: tuple[FunnelStep, ...]
    strata: tuple[Stratum, ...]
    statistics: tuple[tuple[str, int | float | str], ...]
    writer: str
    groundset_version: str
    libraries: Mapping[str, str]
    # releases that were made before there were withdrawals have none
    withdrawn: tuple[Withdrawn, ...] = ()
    further_configs: tuple[str, ...] = ()


def configs_of(facts: Facts) -> tuple[Config, ...]:
    """The configs of a release in order, the default first."""
    known = CONFIGS[facts.benchmark]
    return tuple(config for config in known if not config.optional or config.name in facts.further_configs)


def simulated(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """What a build by this manifest generates instead of collecting it, a sentence each."""
    told = []
    if manifest["source_root"]["kind"] == "miniworld":
        told.append("The pictures and their annotations were drawn by groundset; no photograph is in this release.")
    if manifest["decisions"]["screening"] == "simulated":
        told.append("The screening decisions were simulated; no person has looked at the items.")
    if manifest["decisions"]["review"] == "simulated":
        what = "points" if manifest["benchmark"] == "candvg" else "decisions on the dialogues"
        told.append(f"The {what} were simulated; no person has made them.")
    return tuple(told)


def library_versions() -> dict[str, str]:
    """Installed versions of the libraries that can influence a byte of a release."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}
