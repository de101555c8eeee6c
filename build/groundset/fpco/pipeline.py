# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog from sources to release: its stages in order."""

from __future__ import annotations

from functools import partial

from groundset import importing, packaging, photographs
from groundset.fpco import records, reviewing, varying, writing
from groundset.fpco.filter import FilterRules, apply
from groundset.fpco.strata import stratify
from groundset.stage import Inputs, Output, Records, Stage


def _filter(inputs: Inputs) -> Output:
    rules = FilterRules(**inputs.config["filter"])
    images, objects = inputs.tables["10_import/images"], inputs.tables["10_import/objects"]
    found = apply(images, objects, rules, inputs.config["seed"])
    return Output(tables={"kept": found.items}, verdicts=found.verdicts, entered={"item": found.entered})


def _stratify(inputs: Inputs) -> Output:
    items = inputs.tables["20_filter/kept"]
    per_cell = inputs.config["strata"]["per_cell"]
    ranked, strata, verdicts = stratify(items, inputs.tables["10_import/images"], inputs.config["seed"], per_cell)
    return Output(
        tables={"kept": ranked, "strata": strata},
        verdicts=tuple(verdicts),
        entered={"item": items["item_id"].to_pylist()},
    )


def _package(inputs: Inputs) -> Output:
    tables = {name: inputs.tables[f"70_validate/{name}"] for name in ("dialogues", "turns")}
    variants = inputs.tables["76_judge/kept"]
    if variants.num_rows:
        tables["variants"] = variants
    return packaging.package(inputs, BEFORE_PACKAGE, tables, inputs.tables["70_validate/images"])


VARIANTS = {"variant": ("kept", "variant_id")}
ITEMS = {"item": ("kept", "item_id")}
BEFORE_PACKAGE = (
    Stage(
        name="10_import",
        run=importing.run_images,
        config=("sources",),
        reads=(),
        writes={"images": Records("image"), "objects": Records("object")},
        accounts={"image": ("images", ""), "object": ("objects", "")},
    ),
    Stage(
        name="20_filter",
        run=_filter,
        config=("filter", "seed"),
        reads=("10_import/images", "10_import/objects"),
        writes={"kept": Records("fpco_item")},
        accounts=ITEMS,
    ),
    Stage(
        name="30_stratify",
        run=_stratify,
        config=("strata", "seed"),
        reads=("10_import/images", "20_filter/kept"),
        writes={"kept": Records("ranked"), "strata": Records("stratum")},
        accounts=ITEMS,
    ),
    Stage(
        name="40_images",
        run=partial(photographs.run, kind="item"),
        config=("sources", "images", "strata"),
        reads=("10_import/images", "30_stratify/kept", "refill/rejected"),
        writes={"kept": Records("selected"), "photographs": Records("photograph"), "withdrawn": packaging.WITHDRAWN},
        accounts=ITEMS,
        cause="image",
    ),
    Stage(
        name="45_screen",
        run=reviewing.screen,
        config=("decisions", "seed"),
        reads=("10_import/objects", "20_filter/kept", "40_images/kept", "40_images/photographs"),
        writes={"kept": Records("selected"), "items": Records("fpco_item")},
        accounts=ITEMS,
        cause="screening",
    ),
    Stage(
        name="50_generate",
        run=writing.generate,
        config=("writer", "seed", "sources"),
        reads=(
            "10_import/images",
            "10_import/objects",
            "40_images/photographs",
            "45_screen/items",
            "45_screen/kept",
        ),
        writes={"kept": Records("fpco_draft")},
        accounts=ITEMS,
        cause="writer",
    ),
    Stage(
        name="60_review",
        run=reviewing.review,
        config=("decisions", "seed"),
        reads=("10_import/objects", "40_images/photographs", "45_screen/items", "50_generate/kept"),
        writes={"kept": Records("fpco_draft")},
        accounts=ITEMS,
        cause="review",
    ),
    Stage(
        name="70_validate",
        run=records.validate,
        config=("images", "sources", "source_root", "writer"),
        reads=(
            "10_import/images",
            "30_stratify/kept",
            "40_images/photographs",
            "45_screen/items",
            "60_review/kept",
        ),
        writes={
            "dialogues": Records("fpco_dialogue", ("image",)),
            "turns": Records("fpco_turn"),
            "images": Records("release_image"),
        },
        accounts={"dialogue": ("dialogues", "dialogue_id")},
    ),
    Stage(
        name="72_vary",
        run=varying.vary,
        config=("variants", "writer", "seed", "sources"),
        reads=("10_import/images", "10_import/objects", "40_images/photographs", "70_validate/dialogues"),
        writes={"kept": Records("fpco_variant")},
        accounts=VARIANTS,
    ),
    Stage(
        name="76_judge",
        run=varying.review,
        config=("decisions", "seed"),
        reads=("40_images/photographs", "70_validate/dialogues", "72_vary/kept"),
        writes={"kept": Records("fpco_variant")},
        accounts=VARIANTS,
    ),
)
# beside the tables of the accounts
PACKAGE_READS = (
    "30_stratify/strata",
    "40_images/photographs",
    "40_images/withdrawn",
    "70_validate/turns",
    "70_validate/images",
)
STAGES = (
    *BEFORE_PACKAGE,
    Stage(
        name="80_package",
        run=_package,
        config=(*packaging.CONFIG, "writer", "variants"),
        reads=(*packaging.tables_read(BEFORE_PACKAGE), *PACKAGE_READS),
        writes={},
        accounts={},
    ),
)
