# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stage 10_import: every source of the manifest through its reader, joined into canonical tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from groundset import source_files
from groundset.errors import DataError, Problem, UsageError
from groundset.files import sha256_if_there
from groundset.schema_types import arrow_schema
from groundset.sources import coco, invig, openimages
from groundset.sources.imported import Imported, object_record_id
from groundset.stage import Inputs, Output
from groundset.verdicts import Verdict


@dataclass(frozen=True)
class Joined:
    """Tables of several sources and the verdicts on what the later ones repeat."""

    images: pa.Table
    objects: pa.Table
    dialogues: pa.Table
    verdicts: tuple[Verdict, ...]
    rows_in: Mapping[str, int]


def _read_coco(source: Mapping[str, Any], root: Path) -> Imported:
    return coco.read(
        root / source["annotations"],
        source_name=source["name"],
        box_format=source["box_format"],
        box_unit=source["box_unit"],
        images_folder=root / source["images"],
    )


def _read_invig(source: Mapping[str, Any], root: Path) -> Imported:
    read = invig.read(
        root / source["annotations"],
        split=source["split"],
        source_name=source["name"],
        initial_candidates=source["initial_candidates"],
        photograph_licence=source["photograph_licence"],
        images_folder=root / source["images"],
        box_format=source["box_format"],
        box_unit=source["box_unit"],
    )
    paths = [root / name for name in source["photograph_metadata"]]
    return with_metadata(read, paths) if paths else read


def with_metadata(source: Imported, paths: Sequence[Path]) -> Imported:
    """A source whose images have what Open Images' metadata says of them.

    The first file that has an image is believed. An image that no file has, or that a later one tells other things of,
    is flagged.

    Args:
        source: The source.
        paths: Open Images' image metadata files, such as those of several of its splits.
    """
    rows = source.images.to_pylist()
    ids = {row["source_image_id"] for row in rows}
    told: dict[str, dict[str, Any]] = {}
    flags: list[Verdict] = []
    differ: dict[str, str] = {}
    for path in paths:
        found = openimages.read_metadata(path, ids)
        differ |= {known: path.name for known in found if told.get(known, found[known]) != found[known]}
        told = {**found, **told}
    images = [{**row, **told.get(row["source_image_id"], {})} for row in rows]
    names = ", ".join(path.name for path in paths)
    for row in rows:
        known = row["source_image_id"]
        said = partial(Verdict, row["image_id"], "image", hard=False)
        if known not in told:
            flags.append(said("no_metadata", f"no row of this image in {names}"))
        if known in differ:
            flags.append(said("metadata_differs", f"{differ[known]} tells other things of it than a file named before"))
    counts = [len(told), len(ids)]
    note = f"Open Images' metadata ({names}) has {counts[0]} of {counts[1]} photographs"
    table = pa.Table.from_pylist(images, schema=arrow_schema("image"))
    return replace(source, images=table, flagged=(*source.flagged, *flags), notes=(*source.notes, note))


def _read_openimages(source: Mapping[str, Any], root: Path) -> Imported:
    return openimages.read(
        root / source["annotations"],
        source_name=source["name"],
        image_metadata=root / source["image_metadata"],
        class_descriptions=root / source["class_descriptions"],
        hierarchy=root / source["hierarchy"],
    )


READERS: Mapping[str, Callable[[Mapping[str, Any], Path], Imported]] = {
    "coco": _read_coco,
    "invig": _read_invig,
    "openimages": _read_openimages,
}


def _boxes_by_image(objects: pa.Table, image_ids: pa.Array) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    shared = objects.filter(pc.is_in(objects["image_id"], value_set=image_ids))
    for row in shared.select(["image_id", "object_id", "bbox_xyxy"]).to_pylist():
        found.setdefault(row["image_id"], []).append((row["object_id"], tuple(row["bbox_xyxy"])))
    return {image_id: sorted(rows) for image_id, rows in found.items()}


def _add(joined: Joined, source: Imported) -> Joined:
    """Adds a source; an image that is there already stays as it is, with its objects."""
    known = joined.images["image_id"].combine_chunks()
    again = source.images.filter(pc.is_in(source.images["image_id"], value_set=known))["image_id"].combine_chunks()
    verdicts = list(source.rejected) + list(source.flagged)
    objects, images, dialogues = source.objects, source.images, source.dialogues
    if len(again):
        before, now = _boxes_by_image(joined.objects, again), _boxes_by_image(objects, again)
        told = "an earlier source of the manifest has this image"
        verdicts += [Verdict(image_id, "image", "already_imported", told) for image_id in again.to_pylist()]
        repeated = objects.filter(pc.is_in(objects["image_id"], value_set=again))
        verdicts += [
            Verdict(object_record_id(row["image_id"], row["object_id"]), "object", "already_imported", told)
            for row in repeated.select(["image_id", "object_id"]).to_pylist()
        ]
        images = images.filter(pc.invert(pc.is_in(images["image_id"], value_set=again)))
        objects = objects.filter(pc.invert(pc.is_in(objects["image_id"], value_set=again)))
        unlike = sorted(image_id for image_id in again.to_pylist() if before.get(image_id) != now.get(image_id))
        if dialogues is not None and unlike:
            apart = pc.is_in(dialogues["image_id"], value_set=pa.array(unlike))
            verdicts += [
                Verdict(row["dialogue_id"], "dialogue", "objects_differ", f"{told}, with other boxes")
                for row in dialogues.filter(apart).select(["dialogue_id"]).to_pylist()
            ]
            dialogues = dialogues.filter(pc.invert(apart))
    return Joined(
        pa.concat_tables([joined.images, images]),
        pa.concat_tables([joined.objects, objects]),
        joined.dialogues if dialogues is None else pa.concat_tables([joined.dialogues, dialogues]),
        (*joined.verdicts, *verdicts),
        {kind: joined.rows_in[kind] + source.rows_in.get(kind, 0) for kind in joined.rows_in},
    )


def _is_sorted(table: pa.Table, keys: Sequence[str]) -> bool:
    before, after = table.slice(0, max(table.num_rows - 1, 0)), table.slice(1)
    rises = pc.less_equal(before[keys[-1]], after[keys[-1]])
    for key in reversed(keys[:-1]):
        one, other = before[key], after[key]
        rises = pc.or_(pc.less(one, other), pc.and_(pc.equal(one, other), rises))
    return bool(pc.all(rises, min_count=0).as_py())


def _sorted(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    # readers give sorted tables, and sorting one of Open Images again takes longer than reading it
    return table if _is_sorted(table, keys) else table.sort_by([(key, "ascending") for key in keys])


def join(sources: list[Imported]) -> Joined:
    """Joins sources in the manifest's order into tables sorted by id.

    Raises:
        DataError: Two sources have a dialogue of the same id.
    """
    joined = Joined(
        arrow_schema("image").empty_table(),
        arrow_schema("object").empty_table(),
        arrow_schema("candvg_source_dialogue").empty_table(),
        (),
        {"image": 0, "object": 0, "dialogue": 0},
    )
    for source in sources:
        joined = _add(joined, source)
    counts = pc.value_counts(joined.dialogues["dialogue_id"].combine_chunks()).to_pylist()
    doubled = [row["values"] for row in counts if row["counts"] > 1]
    if doubled:
        hint = "give the sources of the manifest different splits"
        problems = [Problem("", dialogue_id, "", "two sources have this dialogue", hint) for dialogue_id in doubled]
        raise DataError("the sources cannot be joined", problems)
    return Joined(
        _sorted(joined.images, ["image_id"]),
        _sorted(joined.objects, ["image_id", "object_id"]),
        _sorted(joined.dialogues, ["dialogue_id"]),
        joined.verdicts,
        joined.rows_in,
    )


def _size_problem(source: Mapping[str, Any], root: Path) -> list[Problem]:
    found = source_files.size(source, root)
    if source["bytes"] in (0, found):
        return []
    told = f"the file has {found} bytes, the manifest says {source['bytes']}"
    hint = "get the file that the manifest names, or correct bytes"
    return [Problem(str(root / source["annotations"]), "", "", told, hint)]


@dataclass(frozen=True)
class _Read:
    """All sources, what was read of which file, and what the readers note on each source."""

    joined: Joined
    files: Mapping[str, str | None]
    notes: Mapping[str, list[str]]


def _read_sources(inputs: Inputs) -> _Read:
    sources: list[Imported] = []
    files: dict[str, str | None] = {}
    notes: dict[str, list[str]] = {}
    problems: list[Problem] = []
    of_manifest = 0
    root = inputs.source_root
    for source in inputs.config["sources"]:
        path = root / source["annotations"]
        try:
            wrong = _size_problem(source, root)
            problems += wrong
            if wrong:
                continue
            files |= {f"source:{name}": digest for name, digest in source_files.digests(source, root).items()}
            imported = READERS[source["kind"]](source, root)
            for extra in imported.opened:
                files.setdefault(f"source:{extra.relative_to(root).as_posix()}", sha256_if_there(extra))
            sources.append(imported)
            notes[source["name"]] = list(imported.notes)
        except OSError as error:
            problems.append(Problem(error.filename or str(path), "", "", f"cannot be read: {error.strerror}"))
        except DataError as error:
            found = error.problems or (Problem(str(path), "", "", error.summary),)
            # a reader does not know what the manifest calls the source
            found = tuple(row if row.file else replace(row, record=f"source {source['name']}") for row in found)
            problems += found
            of_manifest += len(found) if isinstance(error, UsageError) else 0
    if problems:
        # only if nothing but the manifest is wrong
        kind = UsageError if of_manifest == len(problems) else DataError
        raise kind(f"the sources cannot be imported; problems found: {len(problems)}", problems)
    return _Read(join(sources), files, notes)


def run_images(inputs: Inputs) -> Output:
    """Imports sources of images and objects."""
    read = _read_sources(inputs)
    joined = read.joined
    entered = {kind: joined.rows_in[kind] for kind in ("image", "object")}
    tables = {"images": joined.images, "objects": joined.objects}
    return Output(
        tables=tables, verdicts=joined.verdicts, entered=entered, read=read.files, facts={"notes": read.notes}
    )


def run_dialogues(inputs: Inputs) -> Output:
    """Imports sources of dialogues about images and objects."""
    read = _read_sources(inputs)
    joined = read.joined
    tables = {"images": joined.images, "objects": joined.objects, "dialogues": joined.dialogues}
    return Output(
        tables=tables, verdicts=joined.verdicts, entered=joined.rows_in, read=read.files, facts={"notes": read.notes}
    )
