# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads what a build rejected and flagged from its work folder, so that a curator sees it beside the release."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from PIL import Image, UnidentifiedImageError

from groundset.errors import DataError, Problem, UsageError
from groundset.fpco.filter import CATEGORIES
from groundset.release.record_checks import is_drawn
from groundset.verdicts import Verdict
from groundset.views.reading import Row, Rows
from groundset.views.turns import NOT_IN_QUESTION, PLAUSIBLE, REJECTED, Box, Entry, shares, told

# a filter rejects images by the ten thousand: enough of each rule to see what it does
PER_RULE = 200
KINDS = ("image", "item", "dialogue", "variant")
WORLD = "miniworld"
IMAGE_FACTS = ("source", "source_image_id", "licence", "title", "author", "landing_url")
ITEM_FACTS = (
    "stratum",
    "complexity",
    "false_class",
    "target_label",
    "target_description",
    "modified_target_description",
)


@dataclass(frozen=True)
class Rejections:
    """What a build rejected and flagged.

    Attributes:
        entries: Rejected records whose photograph is there, by stage, rule and record.
        flags: dialogue_id of the release to the soft verdicts on it, its item and its photograph; variant_id to those
            on the variant.
        without_photograph: `stage rule` to the rejected records whose photograph is not there.
        beyond: `stage rule` to the rejected records beyond the first ones of the rule, which are not shown either.
    """

    entries: tuple[Entry, ...]
    flags: Mapping[str, tuple[Verdict, ...]]
    without_photograph: Mapping[str, int]
    beyond: Mapping[str, int]


def no_rejections() -> Rejections:
    """Nothing, where nobody asked for it."""
    return Rejections((), {}, {}, {})


def _table(work: Path, name: str) -> pa.Table | None:
    path = work / f"{name}.parquet"
    if not path.is_file():
        return None
    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except (OSError, pa.ArrowException) as error:
        problem = Problem(str(path), "", "", " ".join(str(error).split()), "build again")
        raise DataError(f"{work} cannot be shown", [problem]) from None


def _rows(work: Path, name: str) -> list[Row]:
    table = _table(work, name)
    return [] if table is None else table.to_pylist()


def _by(work: Path, key: str, *names: str) -> dict[str, Row]:
    """Rows of several tables by a key that they share; what a later table says of one adds to what an earlier says."""
    found: dict[str, Row] = {}
    for name in names:
        for row in _rows(work, name):
            found[row[key]] = {**found.get(row[key], {}), **row}
    return found


def _verdicts(work: Path, table: str, *, hard: bool) -> Iterator[tuple[str, Verdict]]:
    for stage in sorted(path.parent.name for path in work.glob(f"[0-9][0-9]_*/{table}.parquet")):
        for row in _rows(work, f"{stage}/{table}"):
            try:
                verdict = Verdict(**row, hard=hard)
            except TypeError:
                problem = Problem(
                    f"{work / stage / table}.parquet", "", "", "it is no table of verdicts", "build again"
                )
                raise DataError(f"{work} cannot be shown", [problem]) from None
            yield stage, verdict


def _objects_of(work: Path, image_ids: Iterable[str]) -> dict[str, list[Row]]:
    table = _table(work, "10_import/objects")
    found: dict[str, list[Row]] = defaultdict(list)
    if table is not None:
        wanted = pa.array(sorted(set(image_ids)), type=pa.string())
        for row in table.filter(pc.is_in(table["image_id"], value_set=wanted)).to_pylist():
            found[row["image_id"]].append(row)
    return found


def _item_of(verdict: Verdict, items: Mapping[str, Row]) -> Row:
    """The row of a record; for a variant that was never written, that of its dialogue."""
    record_id = verdict.record_id
    if verdict.kind == "variant" and record_id not in items:
        record_id = record_id.rpartition("-")[0]
    return items.get(record_id, {})


def _image_of(verdict: Verdict, items: Mapping[str, Row], images: Mapping[str, Row]) -> str | None:
    """The image that a record is of; an item that the filter rejects says so by its id alone."""
    record_id = verdict.record_id
    if record_id in images:
        return record_id
    if item := _item_of(verdict, items):
        return str(item["image_id"])
    stems = [record_id.removesuffix(f"-{category}") for category in CATEGORIES]
    return next((stem for stem in stems if stem != record_id and stem in images), None)


def _size(file: Path, image: Row) -> tuple[int, int]:
    try:
        with Image.open(file) as opened:
            return opened.size
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError):
        # a photograph may have been rejected for just that; its boxes are shares of the record's frame anyway
        return max(1, round(image["frame_width"])), max(1, round(image["frame_height"]))


def _category(item: Row, record_id: str) -> str | None:
    """The category that a record is of; an item that the filter rejects says so by its id alone."""
    return item.get("category") or next((name for name in CATEGORIES if record_id.endswith(f"-{name}")), None)


def _boxes(item: Row, record_id: str, objects: Sequence[Row]) -> dict[str, tuple[Box, ...]]:
    """The photograph's objects, the target or the initial candidates among them apart."""
    category = _category(item, record_id)
    target, candidates = item.get("target_object_id"), set(item.get("initial_candidate_ids") or ())
    found: dict[str, list[Box]] = defaultdict(list)
    for row in sorted(objects, key=lambda row: str(row["object_id"])):
        xywh = shares(row["bbox_xyxy"], row["frame_width"], row["frame_height"])
        if row["object_id"] == target:
            found["target"].append(Box(row["label"], REJECTED, row["object_id"], xywh))
        elif row["object_id"] in candidates:
            found["candidates"].append(Box(PLAUSIBLE, PLAUSIBLE, row["object_id"], xywh))
        elif category is None or row["category"] == category:
            found["other_objects"].append(Box(row["label"], NOT_IN_QUESTION, row["object_id"], xywh))
    return {name: tuple(boxes) for name, boxes in found.items()}


def _facts(stage: str, verdict: Verdict, item: Row, image: Row) -> dict[str, Any]:
    facts = {
        "dialogue_id": verdict.record_id,
        "record_id": verdict.record_id,
        "image_id": image["image_id"],
        **{name: image[name] for name in IMAGE_FACTS},
        "outcome": REJECTED,
        "rejected_by": stage,
        "rule": verdict.rule,
        "measured": verdict.measured,
        "limit": verdict.limit,
        "detail": verdict.detail,
        "flags": [],
    }
    facts |= {name: item[name] for name in ITEM_FACTS if item.get(name) is not None}
    if category := _category(item, verdict.record_id):
        facts["category"] = category
    if item.get("turns"):
        facts |= {
            "dialogue": told(item["turns"]),
            "turns": len(item["turns"]),
            "response": item["turns"][0]["response"],
        }
    if item.get("questions"):
        lines = [f"{question['id']}. {question['modified']}" for question in item["questions"]]
        facts |= {"dialogue": lines, "turns": len(lines)}
    return facts


def _items(work: Path, benchmark: str) -> dict[str, Row]:
    if benchmark == "candvg":
        dialogues = _by(work, "dialogue_id", "10_import/dialogues")
        strata = _by(work, "item_id", "30_stratify/kept")
        return {name: {**row, **strata.get(name, {})} for name, row in dialogues.items()}
    tables = ("10_import/dialogues", "20_filter/kept", "45_screen/items", "30_stratify/kept", "50_generate/kept")
    items = _by(work, "item_id", *(name for name in tables if _has(work, name, "item_id")))
    return items | _by(work, "dialogue_id", "70_validate/dialogues") | _by(work, "variant_id", "72_vary/kept")


def _has(work: Path, name: str, column: str) -> bool:
    path = work / f"{name}.parquet"
    return path.is_file() and column in pq.read_schema(path).names


def _released_ids(work: Path, rows: Rows) -> dict[str, set[str]]:
    """Dialogue or variant of the release to every id under which a stage may have flagged it."""
    items = {}
    if rows.record.facts.benchmark == "fpco-dialog":
        items = {row["dialogue_id"]: row["item_id"] for row in _rows(work, "60_review/kept")}
    dialogues = {
        row["dialogue_id"]: {
            row["dialogue_id"],
            row["image_id"],
            str(items.get(row["dialogue_id"], row["dialogue_id"])),
        }
        for row in rows.tables["dialogues"]
    }
    return dialogues | {row["variant_id"]: {row["variant_id"]} for row in rows.tables.get("variants", ())}


def _flags(work: Path, rows: Rows) -> dict[str, tuple[Verdict, ...]]:
    soft: dict[str, list[Verdict]] = defaultdict(list)
    for _, verdict in _verdicts(work, "flagged", hard=False):
        if verdict.kind in KINDS:
            soft[verdict.record_id].append(verdict)
    found = {
        record_id: tuple(verdict for name in sorted(names) for verdict in soft.get(name, ()))
        for record_id, names in _released_ids(work, rows).items()
    }
    return {record_id: verdicts for record_id, verdicts in sorted(found.items()) if verdicts}


def _source_root(work: Path, sources: Path | None, rows: Rows) -> Path:
    if sources is None and is_drawn(rows.record):
        sources = work / WORLD
    if sources is None:
        raise UsageError("rejected records need their photographs: name the folder of the source files with --sources")
    if not sources.is_dir():
        raise UsageError(f"{sources}: there is no such folder")
    return sources.resolve()


def read_work(work: Path, sources: Path | None, rows: Rows) -> Rejections:
    """Reads what a build rejected and flagged.

    Args:
        work: The build's work folder.
        sources: Folder of its source files; for a miniature world none is needed.
        rows: The release that came out of it.

    Raises:
        UsageError: The folder is none of a build of this release, or the source files' folder is not there.
        DataError: A table cannot be read.
    """
    images = _by(work, "image_id", "10_import/images")
    if not images:
        raise UsageError(f"{work} is no work folder: it has no table 10_import/images.parquet")
    strange = sorted(row["image_id"] for row in rows.tables["images"] if row["image_id"] not in images)
    if strange:
        raise UsageError(f"{work} is the work folder of another release: it does not know the image {strange[0]}")
    root = _source_root(work, sources, rows)
    folders = {source["name"]: root / source["images"] for source in rows.record.manifest["sources"]}
    items = _items(work, rows.record.facts.benchmark)
    shown: list[tuple[str, Verdict, Row, Path]] = []
    lacking: Counter[str] = Counter()
    beyond: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for stage, verdict in _verdicts(work, "rejected", hard=True):
        if verdict.kind not in KINDS:
            continue
        name = f"{stage} {verdict.rule}"
        image = images.get(_image_of(verdict, items, images) or "")
        file = None if image is None else folders[image["source_name"]] / image["file_name"]
        if image is None or file is None or not file.is_file():
            lacking[name] += 1
        elif taken[name] == PER_RULE:
            beyond[name] += 1
        else:
            taken[name] += 1
            shown.append((stage, verdict, image, file))
    objects = _objects_of(work, (image["image_id"] for _, _, image, _ in shown))
    entries = []
    for stage, verdict, image, file in shown:
        width, height = _size(file, image)
        item = _item_of(verdict, items)
        boxes = _boxes(item, verdict.record_id, objects[image["image_id"]])
        facts = {"turn": 1, **_facts(stage, verdict, item, image)}
        entries.append(Entry(str(file), width, height, facts, boxes, tags=(verdict.rule,)))
    return Rejections(tuple(entries), _flags(work, rows), dict(sorted(lacking.items())), dict(sorted(beyond.items())))
