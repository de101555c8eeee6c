# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG from sources to release: its stages in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from groundset import importing, packaging, photographs
from groundset.asking import ask
from groundset.candvg import filter as candvg_filter
from groundset.candvg import points, samples, screening, strata
from groundset.fetching.wanted import release_addresses
from groundset.release.package import build_image_rows
from groundset.schema_types import arrow_schema
from groundset.stage import Inputs, Output, Records, Stage


def _filter(inputs: Inputs) -> Output:
    dialogues = inputs.tables["10_import/dialogues"]
    rules = candvg_filter.FilterRules(**inputs.config["filter"])
    objects = inputs.tables["10_import/objects"]
    kept, verdicts = candvg_filter.apply(dialogues, objects, rules)
    other: Literal["raw", "unique"] = "raw" if rules.count == "unique" else "unique"
    otherwise, _ = candvg_filter.apply(dialogues, objects, replace(rules, count=other))
    return Output(
        tables={"kept": kept},
        verdicts=tuple(verdicts),
        entered={"dialogue": dialogues["dialogue_id"].to_pylist()},
        facts={"counted": rules.count, "kept_by_count": {rules.count: kept.num_rows, other: otherwise.num_rows}},
    )


def _stratify(inputs: Inputs) -> Output:
    items = inputs.tables["20_filter/kept"]
    ranked, verdicts = strata.rank(items, inputs.config["seed"], inputs.config["strata"]["per_bin"])
    eligible = Counter(ranked["stratum"].to_pylist())
    # what the manifest wants of each; a bin that stands in for a short one gives more (the table's own want)
    per_bin = inputs.config["strata"]["per_bin"]
    rows = [{"stratum": name, "want": per_bin, "eligible": eligible[name]} for name in strata.BINS]
    return Output(
        tables={"kept": ranked, "strata": pa.Table.from_pylist(rows, schema=arrow_schema("stratum"))},
        verdicts=tuple(verdicts),
        entered={"dialogue": items["item_id"].to_pylist()},
    )


def _dialogues(inputs: Inputs, ids: list[str]) -> pa.Table:
    table = inputs.tables["10_import/dialogues"]
    return table.filter(pc.is_in(table["dialogue_id"], value_set=pa.array(ids, type=pa.string())))


def _hashes(inputs: Inputs) -> dict[str, str]:
    table = inputs.tables["40_images/photographs"]
    return dict(zip(table["image_id"].to_pylist(), table["sha256"].to_pylist(), strict=True))


def _objects_px(inputs: Inputs) -> pa.Table:
    return photographs.in_stored_px(inputs.tables["10_import/objects"], inputs.tables["40_images/photographs"])


def _screen(inputs: Inputs) -> Output:
    table = inputs.tables["40_images/kept"]
    rows = table.filter(pc.invert(table["reserve"]))
    entered = rows["item_id"].to_pylist()
    who = inputs.config["decisions"]["screening"]
    if who == "none":
        return Output(tables={"kept": rows}, entered={"dialogue": entered}, attachments={"decisions.jsonl": b""})
    queue = screening.queue_items(_dialogues(inputs, entered), _objects_px(inputs), _hashes(inputs))
    answers = ask(inputs, queue, who)
    screened = screening.apply(queue, answers.decisions)
    accepted = pa.array(screened.accepted, type=pa.string())
    return Output(
        tables={"kept": rows.filter(pc.is_in(rows["item_id"], value_set=accepted))},
        verdicts=(*screened.rejected, *answers.stale),
        entered={"dialogue": entered},
        read=answers.read,
        attachments={"decisions.jsonl": answers.attachment()},
        waiting=screened.waiting,
    )


def _review(inputs: Inputs) -> Output:
    entered = inputs.tables["45_screen/kept"]["item_id"].to_pylist()
    dialogues, objects = _dialogues(inputs, entered), _objects_px(inputs)
    queue = points.queue_items(dialogues, _hashes(inputs))
    answers = ask(inputs, queue, inputs.config["decisions"]["review"])
    merge_iou, tie_px = inputs.config["filter"]["merge_iou"], inputs.config["points"]["tie_px"]
    found = points.apply(dialogues, objects, queue, answers.decisions, merge_iou, tie_px)
    columns = ("item_id", "candidates_raw", "candidates_unique")
    listed = zip(*(inputs.tables["20_filter/kept"][name].to_pylist() for name in columns), strict=True)
    initial = {item: samples.Initial(raw, unique) for item, raw, unique in listed}
    tables = samples.build(dialogues, initial, found.resolved)
    return Output(
        tables={"kept": tables.dialogues, "points": tables.points, "samples": tables.samples},
        verdicts=(*found.rejected, *answers.stale),
        entered={"dialogue": entered},
        read=answers.read,
        attachments={"decisions.jsonl": answers.attachment()},
        waiting=found.waiting,
    )


def _validate(inputs: Inputs) -> Output:
    dialogues, reviewed = inputs.tables["60_review/kept"], inputs.tables["60_review/samples"]
    photographed = inputs.tables["40_images/photographs"]
    used = pc.is_in(photographed["image_id"], value_set=dialogues["image_id"].combine_chunks())
    sources = inputs.config["sources"]
    drawn = [source["name"] for source in sources] if inputs.config["source_root"]["kind"] == "miniworld" else []
    policy = inputs.config["images"]["policy"]
    photographs = photographed.filter(used)
    described = inputs.tables["10_import/images"]
    shown = described.filter(pc.is_in(described["image_id"], value_set=photographs["image_id"].combine_chunks()))
    addresses = release_addresses(shown.to_pylist(), sources)
    images = build_image_rows(shown, photographs, policy, addresses, drawn)
    rights = {row["image_id"]: row for row in images.select(["image_id", "licence", "credit"]).to_pylist()}
    whole = reviewed
    for name in ("licence", "credit"):
        column = [rights[image_id][name] for image_id in reviewed["image_id"].to_pylist()]
        whole = whole.append_column(name, pa.array(column, type=pa.string()))
    return Output(
        tables={
            "samples": whole,
            "dialogues": dialogues,
            "points": inputs.tables["60_review/points"],
            "images": images,
        },
        entered={
            "sample": reviewed["sample_id"].to_pylist(),
            "dialogue": dialogues["dialogue_id"].to_pylist(),
        },
    )


def _package(inputs: Inputs) -> Output:
    tables = {name: inputs.tables[f"70_validate/{name}"] for name in ("samples", "dialogues", "points")}
    return packaging.package(inputs, BEFORE_PACKAGE, tables, inputs.tables["70_validate/images"])


DIALOGUES = {"dialogue": ("kept", "item_id")}
BEFORE_PACKAGE = (
    Stage(
        name="10_import",
        run=importing.run_dialogues,
        config=("sources",),
        reads=(),
        writes={
            "images": Records("image"),
            "objects": Records("object"),
            "dialogues": Records("candvg_source_dialogue"),
        },
        accounts={"image": ("images", ""), "object": ("objects", ""), "dialogue": ("dialogues", "")},
    ),
    Stage(
        name="20_filter",
        run=_filter,
        config=("filter",),
        reads=("10_import/dialogues", "10_import/objects"),
        writes={"kept": Records("candvg_item")},
        accounts=DIALOGUES,
    ),
    Stage(
        name="30_stratify",
        run=_stratify,
        config=("strata", "seed"),
        reads=("20_filter/kept",),
        writes={"kept": Records("ranked"), "strata": Records("stratum")},
        accounts=DIALOGUES,
    ),
    Stage(
        name="40_images",
        run=partial(photographs.run, kind="dialogue"),
        config=("sources", "images", "strata"),
        reads=("10_import/images", "30_stratify/kept", "refill/rejected"),
        writes={"kept": Records("selected"), "photographs": Records("photograph"), "withdrawn": packaging.WITHDRAWN},
        accounts=DIALOGUES,
        cause="image",
    ),
    Stage(
        name="45_screen",
        run=_screen,
        config=("decisions", "seed"),
        reads=("10_import/dialogues", "10_import/objects", "40_images/kept", "40_images/photographs"),
        writes={"kept": Records("selected")},
        accounts=DIALOGUES,
        cause="screening",
    ),
    Stage(
        name="60_review",
        run=_review,
        config=("decisions", "filter", "points", "seed"),
        reads=(
            "10_import/dialogues",
            "10_import/objects",
            "20_filter/kept",
            "40_images/photographs",
            "45_screen/kept",
        ),
        writes={
            "kept": Records("candvg_dialogue"),
            "points": Records("candvg_point"),
            "samples": Records("candvg_sample", samples.JOINED_AT_PACKAGING),
        },
        accounts={"dialogue": ("kept", "dialogue_id")},
        cause="review",
    ),
    Stage(
        name="70_validate",
        run=_validate,
        config=("images", "sources", "source_root"),
        reads=("10_import/images", "40_images/photographs", "60_review/kept", "60_review/points", "60_review/samples"),
        writes={
            "samples": Records("candvg_sample", ("image",)),
            "dialogues": Records("candvg_dialogue"),
            "points": Records("candvg_point"),
            "images": Records("release_image"),
        },
        accounts={"sample": ("samples", "sample_id"), "dialogue": ("dialogues", "dialogue_id")},
    ),
)
STAGES = (
    *BEFORE_PACKAGE,
    Stage(
        name="80_package",
        run=_package,
        config=(*packaging.CONFIG, "points"),
        reads=(
            *packaging.tables_read(BEFORE_PACKAGE),
            "30_stratify/strata",
            "40_images/photographs",
            "40_images/withdrawn",
            "70_validate/points",
            "70_validate/images",
        ),
        writes={},
        accounts={},
    ),
)
