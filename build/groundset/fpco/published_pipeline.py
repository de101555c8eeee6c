# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog from published records to a release: an existing set is checked, completed and released again.

The stages are those of `groundset.fpco.pipeline`. The cells and texts are the published ones: nothing is chosen by
boxes, and nothing is written. Item and dialogue have one id, `fpco-<published id>`, which no completion changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from groundset import packaging
from groundset.errors import DataError, Problem
from groundset.files import names_sha256, sha256_if_there
from groundset.fpco import pipeline
from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue, from_record, to_record
from groundset.fpco.joins import rows_by
from groundset.fpco.strata import CELLS
from groundset.fpco.writing import item_verdict
from groundset.sampling import ranked
from groundset.schema_types import arrow_schema
from groundset.sources import fpco_published
from groundset.sources.fpco_files import set_pin
from groundset.stage import Inputs, Output, Records, Stage
from groundset.verdicts import Verdict

Row = dict[str, Any]

# without these no photograph may be released and no target shown; COCO names no authors
NEVER_SAID = "the published records do not say which model or prompt wrote them, who reviewed them, or of which split"
# what a released record may lack all the same, as the card says it
UNKNOWN = {
    "author": "the author",
    "author_url": "the author's page",
    "title": "the title",
    "original_url": "the address of the file",
    "target_object_id": "which of the source's objects the target is",
}
NEEDED = ("size", "source_image_id", "licence", "landing_url", "author", "target_box")


def dialogue_of(row: Mapping[str, Any]) -> Dialogue:
    """The dialogue of a row of `schemas/fpco_source_dialogue`."""
    draft = {**row, "item_id": row["dialogue_id"]}
    return from_record(draft, category=row["category"], target_label=row["target_label"])


def _import(inputs: Inputs) -> Output:
    (source,) = inputs.config["sources"]
    root = inputs.source_root
    completions = None if source["completions"] == "none" else root / source["completions"]
    read = fpco_published.read(
        root,
        source_name=source["name"],
        completions=completions,
        records=source["annotations"],
        images=source["images"],
    )
    pin = set_pin(root, read.files)
    if source["bytes"] not in (0, pin["bytes"]):
        told = f"the records and photographs have {pin['bytes']} bytes, the manifest says {source['bytes']}"
        problem = Problem(str(root), "", "", told, "get the set that the manifest names, or correct bytes")
        raise DataError("the published set is not the one that the manifest names", [problem])
    # a slash at the end: the names in the folder, so that a file that is added is seen
    folders = {
        f"source:{source[key].rstrip('/')}/": names_sha256(root / source[key]) for key in ("annotations", "images")
    }
    # a link that was not followed is told by the folder's hash, which another kind of entry changes
    files = {
        f"source:{name}": digest for name, digest in read.files.items() if digest or not (root / name).is_symlink()
    }
    if completions is not None:
        files[f"source:{source['completions']}"] = sha256_if_there(completions)
    return Output(
        tables={"images": read.images, "objects": read.objects, "dialogues": read.dialogues},
        verdicts=(*read.rejected, *read.flagged),
        entered=dict(read.rows_in),
        read={**folders, **files},
        facts={"pins": {source["name"]: pin}, "lacking": dict(read.lacking), "notes": {source["name"]: [NEVER_SAID]}},
    )


def _item(row: Row, image: Row, target: Row) -> Row:
    x_min, y_min, x_max, y_max = target["bbox_xyxy"]
    share = (x_max - x_min) * (y_max - y_min) / (image["frame_width"] * image["frame_height"])
    return {
        "item_id": row["dialogue_id"],
        **{key: row[key] for key in ("image_id", "category", "complexity")},
        "target_object_id": target["object_id"],
        "target_label": row["target_label"],
        "target_bbox_xyxy": target["bbox_xyxy"],
        "frame_width": image["frame_width"],
        "frame_height": image["frame_height"],
        # a published record tells of no other object
        "object_ids": [target["object_id"]],
        "object_labels": [row["target_label"]],
        "objects_raw": 1,
        "objects_unique": 1,
        "target_area_share": share,
        "area_ratio": 1.0,
        "overlap": 0.0,
    }


def _as_flags(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts on the texts of a record that is left out for another reason: told, and rejecting nothing."""
    return [replace(row, rule=f"check_{row.rule}", hard=False) if row.hard else row for row in verdicts]


def _how_to_complete(missing: Sequence[str]) -> str:
    if "size" in missing:
        # a box in a photograph of unknown size is not taken, so it may have been told
        rest = [key for key in missing if key not in ("size", "target_box")]
        told = "its photograph cannot be read; put the picture itself in its place"
        return f"{told}, and add {', '.join(rest)} to the completions file" if rest else told
    return f"a release needs {', '.join(missing)}; add it to the completions file"


def _filter(inputs: Inputs) -> Output:
    """Keeps the records that are complete enough for a release; the texts of the others are checked here."""
    images = rows_by(inputs.tables["10_import/images"], "image_id")
    targets = rows_by(inputs.tables["10_import/objects"], "image_id")
    rows = inputs.tables["10_import/dialogues"].to_pylist()
    kept, verdicts = [], []
    for row in rows:
        image, target = images[row["image_id"]], targets.get(row["image_id"])
        needed = {*NEEDED, *inputs.config["filter"]["also_require"]} - (
            {"author"} if image["source"] == "coco" else set()
        )
        missing = [key for key in fpco_published.lacks(image, target) if key in needed]
        if missing or target is None:
            told = _how_to_complete(missing)
            verdicts.append(Verdict(row["dialogue_id"], "item", f"lacks_{missing[0]}", told))
            verdicts += _as_flags(check(dialogue_of(row)))
        else:
            kept.append(_item(row, image, target))
    return Output(
        tables={"kept": pa.Table.from_pylist(kept, schema=arrow_schema("fpco_item"))},
        verdicts=tuple(verdicts),
        entered={"item": [row["dialogue_id"] for row in rows]},
    )


def _stratify(inputs: Inputs) -> Output:
    """Puts each record in the cell of its id; a cell holds at most the 30 that there are ids for."""
    items = inputs.tables["20_filter/kept"].to_pylist()
    false_class = {row["dialogue_id"]: row["false_class"] for row in inputs.tables["10_import/dialogues"].to_pylist()}
    flickr = {row["image_id"]: row["flickr_id"] for row in inputs.tables["10_import/images"].to_pylist()}
    want = inputs.config["strata"]["per_cell"]
    verdicts = []
    first: dict[str, str] = {}
    image_of: dict[str, str] = {}
    cells: dict[str, list[str]] = {cell: [] for cell in CELLS}
    for row in items:
        photo = flickr[row["image_id"]]
        if photo is not None and first.setdefault(photo, row["item_id"]) != row["item_id"]:
            told = f"{first[photo]} has Flickr photo {photo} already"
            verdicts.append(Verdict(row["item_id"], "item", "same_photograph", told))
            continue
        image_of[row["item_id"]] = row["image_id"]
        cells[f"{row['complexity']}-{row['category']}-{false_class[row['item_id']]}"].append(row["item_id"])
    rows = [
        {"item_id": item, "image_id": image_of[item], "stratum": cell, "rank": rank, "want": want}
        for cell, members in cells.items()
        for rank, item in enumerate(ranked(members, inputs.config["seed"], cell))
    ]
    rows.sort(key=lambda row: str(row["item_id"]))
    strata = [{"stratum": cell, "want": want, "eligible": len(members)} for cell, members in sorted(cells.items())]
    return Output(
        tables={
            "kept": pa.Table.from_pylist(rows, schema=arrow_schema("ranked")),
            "strata": pa.Table.from_pylist(strata, schema=arrow_schema("stratum")),
        },
        verdicts=tuple(verdicts),
        entered={"item": [row["item_id"] for row in items]},
    )


def _generate(inputs: Inputs) -> Output:
    """Takes the published texts as they are and checks them; what fails a check is a verdict on the item."""
    rows = inputs.tables["45_screen/kept"].to_pylist()
    published = rows_by(inputs.tables["10_import/dialogues"], "dialogue_id")
    drafts: list[Row] = []
    verdicts: list[Verdict] = []
    for row in rows:
        dialogue = dialogue_of(published[row["item_id"]])
        found = check(dialogue)
        hard = [verdict for verdict in found if verdict.hard]
        if hard:
            verdicts.append(item_verdict(row["item_id"], "check_", hard))
        else:
            drafts.append(to_record(dialogue))
            verdicts += found
    return Output(
        tables={"kept": pa.Table.from_pylist(drafts, schema=arrow_schema("fpco_draft")).sort_by("dialogue_id")},
        verdicts=tuple(verdicts),
        entered={"item": [row["item_id"] for row in rows]},
    )


def _limits(inputs: Inputs, released: pa.Table) -> tuple[str, ...]:
    """What the published records leave open of this release, for its card."""
    images = rows_by(inputs.tables["10_import/images"], "image_id")
    targets = rows_by(inputs.tables["10_import/objects"], "image_id")
    used = released["image_id"].to_pylist()
    counts = Counter(key for name in used for key in fpco_published.lacks(images[name], targets.get(name)))
    told = ", ".join(f"{words} ({counts[key]} of {len(used)})" for key, words in UNKNOWN.items() if counts[key])
    return (
        f"{NEVER_SAID[0].upper()}{NEVER_SAID[1:]}.",
        *([f"Not known of photographs and targets: {told}."] if told else []),
    )


def _package(inputs: Inputs) -> Output:
    tables = {name: inputs.tables[f"70_validate/{name}"] for name in ("dialogues", "turns")}
    images = inputs.tables["70_validate/images"]
    return packaging.package(inputs, BEFORE_PACKAGE, tables, images, _limits(inputs, images))


_OTHER = {stage.name: stage for stage in pipeline.STAGES}
BEFORE_PACKAGE = (
    Stage(
        name="10_import",
        run=_import,
        config=("sources",),
        reads=(),
        writes={
            "images": Records("image"),
            "objects": Records("object"),
            "dialogues": Records("fpco_source_dialogue"),
        },
        accounts={"image": ("images", ""), "object": ("objects", ""), "dialogue": ("dialogues", "")},
    ),
    replace(
        _OTHER["20_filter"],
        run=_filter,
        config=("filter",),
        reads=("10_import/images", "10_import/objects", "10_import/dialogues"),
    ),
    replace(
        _OTHER["30_stratify"],
        run=_stratify,
        reads=("10_import/images", "10_import/dialogues", "20_filter/kept"),
    ),
    _OTHER["40_images"],
    _OTHER["45_screen"],
    replace(_OTHER["50_generate"], run=_generate, config=("writer",), reads=("10_import/dialogues", "45_screen/kept")),
    _OTHER["60_review"],
    _OTHER["70_validate"],
)
STAGES = (
    *BEFORE_PACKAGE,
    replace(
        _OTHER["80_package"],
        run=_package,
        # nothing writes variants of published texts
        config=(*packaging.CONFIG, "writer"),
        reads=(*packaging.tables_read(BEFORE_PACKAGE), *pipeline.PACKAGE_READS),
    ),
)
