# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads Open Images V3 to V7: boxes, classes, class hierarchy and image metadata as their publisher ships them.

The box file is cut at its line ends and parsed in pieces (notes on formats: 8, 13 or 21 columns, taken by name).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from groundset.errors import DataError, Problem
from groundset.sources import openimages_boxes as boxes
from groundset.sources import openimages_classes, openimages_hierarchy, openimages_metadata
from groundset.sources.imported import Imported, sorted_verdicts
from groundset.sources.openimages_classes import Classes
from groundset.sources.openimages_csv import Header, column_problems, read_header
from groundset.sources.openimages_hierarchy import Hierarchy
from groundset.sources.openimages_ids import Keys
from groundset.sources.openimages_metadata import read_metadata
from groundset.sources.openimages_rows import COLUMNS, FLAGS, REQUIRED, Rows, parse, too_many, too_many_damaged
from groundset.splits import Range, line_ranges, walk
from groundset.verdicts import Verdict

__all__ = ["read", "read_metadata"]

PIECE_BYTES = 8 << 20
BUCKETS_AT_ONCE = 32
# a file whose lines end in CR alone is one piece
LONGEST_PIECE_BYTES = 1 << 28

Read = TypeVar("Read")


def _box_header(path: Path) -> Header:
    header = read_header(path, COLUMNS)
    # V3 has no flags at all; one flag without the other is a slip
    flags = set(header.columns) & set(FLAGS)
    required = (*REQUIRED, *FLAGS) if flags else REQUIRED
    problems = column_problems(str(path), header, required, COLUMNS, FLAGS)
    if problems:
        raise DataError(f"{path} cannot be read", problems)
    return header


def _metadata_header(path: Path) -> Header:
    header, problems = openimages_metadata.check_header(path)
    if problems:
        raise DataError(f"{path} cannot be read", problems)
    return header


def _attempt(read: Callable[[Path], Read], path: Path, problems: list[Problem]) -> Read | None:
    try:
        return read(path)
    except DataError as error:
        problems += error.problems or (Problem(str(path), "", "", error.summary),)
        return None


def _pieces(path: Path, header: Header, piece_bytes: int) -> list[Range]:
    ranges = line_ranges(path, piece_bytes)
    if any(piece.stop - piece.start > LONGEST_PIECE_BYTES for piece in ranges):
        told = f"has lines of more than {LONGEST_PIECE_BYTES >> 20} MiB, or lines that end in CR alone"
        raise DataError(f"{path} cannot be read", [Problem(str(path), "", "", told, "end its lines in LF or CRLF")])
    return [Range(path, max(piece.start, header.start), piece.stop) for piece in ranges if piece.stop > header.start]


def _damaged(path: Path, pieces: Sequence[Rows]) -> tuple[list[Verdict], Keys]:
    """A hard verdict on each damaged row, and keys of their images where they can be read."""
    rows = sum(len(piece.keys) + len(piece.damaged) for piece in pieces)
    said, keys, line = [], [], 2
    named = []
    for piece in pieces:
        for row in piece.damaged:
            number = line + row.line
            named.append((number, row))
            keys += [] if row.key is None else [row.key]
            detail = f"line {number}: {row.message}"
            said.append(Verdict(f"{path.name} line {number}", "object", "damaged_row", detail))
        line += piece.lines
    if too_many(len(said), rows) or 0 < len(said) == rows:
        raise DataError(*too_many_damaged(path, named, rows))
    return said, np.array(sorted(set(keys)), dtype=np.uint64)


def _class_flags(classes: Classes, hierarchy: Hierarchy, used: Sequence[str]) -> list[Verdict]:
    flags = openimages_classes.flags(classes)
    for known in used:
        if known in hierarchy.shared:
            found = " and ".join(hierarchy.shared[known])
            detail = f"{classes.names[known]} is below {found}; taken as {hierarchy.categories[known]}"
            flags.append(Verdict(known, "class", "several_categories", detail, hard=False))
        if known not in hierarchy.known:
            detail = f"{classes.names[known]} is not in {Path(hierarchy.file).name}; its objects have no category"
            flags.append(Verdict(known, "class", "not_in_hierarchy", detail, hard=False))
    flags += [
        Verdict(openimages_hierarchy.ROOTS[category], "class", "no_root", f"no class is a {category}", hard=False)
        for category in hierarchy.rootless
    ]
    return flags


def _form(path: Path, header: Header) -> str:
    """Which releases' columns the box file has; what is read of it does not depend on that."""
    releases = {8: "V3", 13: "V4, V5 and all validation and test files", 21: "V6 and V7 train"}
    ours = sum(name in COLUMNS for name in header.columns)
    complete = set(header.columns) >= set(COLUMNS[:ours])
    told = f"the columns of {releases[ours]}" if ours in releases and complete else f"{ours} of the known columns"
    return f"{path.name}: {told}" + ("" if set(FLAGS) <= set(header.columns) else "; all flags are unknown")


def _column_flags(path: Path, header: Header) -> list[Verdict]:
    return [
        Verdict(path.name, "file", "unknown_column", f"column {name!a} is not read", hard=False)
        for name in header.columns
        if name not in COLUMNS
    ]


def read(
    annotations: Path,
    *,
    source_name: str = "openimages",
    image_metadata: Path,
    class_descriptions: Path,
    hierarchy: Path,
    executor: Executor | None = None,
    piece_bytes: int = PIECE_BYTES,
) -> Imported:
    """Reads the boxes of Open Images with their classes, categories and photographs' credits.

    Images are those that the box file names; the metadata may name more. A photograph's file is `<ImageID>.jpg`. Boxes
    are shares of the stored image, which is unrotated (frame 1 x 1), as the file writes them; they may leave the frame
    by up to 1e-6 (ours). Labels are the class file's names, categories follow the hierarchy's Subcategory edges; a
    class without a category gives objects with category null. Flags are 1, 0 or -1 (unknown, also where a file has no
    flags). An object is `o` and its number among the different rows of its image, sorted by class id, box and flags:
    nothing depends on the order of the rows.

    Args:
        annotations: The box CSV, of 8, 13 or 21 columns in any order.
        source_name: Name of the source in the manifest.
        image_metadata: The image metadata CSV.
        class_descriptions: The class descriptions.
        hierarchy: The class hierarchy.
        executor: Who parses and judges the pieces of the box file; threads of this machine if none is given.
        piece_bytes: About how large a piece is; changes nothing in the result.

    Returns:
        Images and objects. Rules of objects, in this order: damaged_row (named by its line), duplicate_row,
        degenerate_box, unknown_class, box_outside_image. No rule leaves out an image. Soft: of images no_metadata,
        unknown_licence; of classes damaged_class, several_categories, not_in_hierarchy, no_root; of the file
        unknown_column.

    Raises:
        DataError: A file cannot be read or is of another form, the boxes do not fit the columns' names, a class with
            boxes has no readable name, the credits are damaged, every row is damaged, or a rule leaves out more than
            10,000 rows and a tenth of all (ours).
    """
    problems: list[Problem] = []
    header = _attempt(_box_header, annotations, problems)
    classes = _attempt(openimages_classes.read_classes, class_descriptions, problems)
    tree = _attempt(openimages_hierarchy.read_hierarchy, hierarchy, problems)
    _attempt(_metadata_header, image_metadata, problems)
    if header is None or classes is None or tree is None or problems:
        raise DataError(f"the Open Images source {source_name} cannot be read", problems)

    file = str(annotations)
    parts = walk(partial(parse, header=header), _pieces(annotations, header, piece_bytes), executor)
    rejected, damaged_keys = _damaged(annotations, parts)
    damaged = len(rejected)
    count = sum(len(part.keys) for part in parts)
    boxes.require_convention(file, parts, executor)
    ids = boxes.class_ids(parts)
    unnamed = openimages_classes.used_problems(classes, ids)
    if unnamed:
        raise DataError(f"{class_descriptions}: classes with boxes have no readable name", unnamed)
    judging = partial(
        boxes.judge,
        names=[classes.names.get(known) for known in ids],
        categories=[tree.categories.get(known) for known in ids],
        depths=[tree.depths.get(known, 0) for known in ids],
    )
    judged: list[boxes.Judged] = []
    dealt = boxes.buckets(parts, ids)
    while dealt:
        # in groups, so that the rows that have been judged leave the memory
        judged += walk(judging, dealt[:BUCKETS_AT_ONCE], executor)
        del dealt[:BUCKETS_AT_ONCE]
    class_file = class_descriptions.name
    boxes.require_few(file, class_file, [bucket.rejected for bucket in judged], ids, count)
    for bucket in judged:
        rejected += boxes.verdicts(bucket.rejected, ids, class_file)
    keys = np.union1d(np.concatenate([damaged_keys, *(bucket.images for bucket in judged)]), damaged_keys)
    objects = boxes.object_table(judged)
    used = sorted({ids[label] for bucket in judged for label in bucket.labels.tolist()})
    images, flagged = openimages_metadata.image_table(keys, image_metadata, source_name)
    flagged += [*_class_flags(classes, tree, used), *_column_flags(annotations, header)]
    return Imported(
        images=images,
        objects=objects,
        dialogues=None,
        rejected=sorted_verdicts(rejected),
        flagged=sorted_verdicts(flagged),
        rows_in={"image": images.num_rows, "object": count + damaged},
        notes=(_form(annotations, header),),
        opened=(image_metadata, class_descriptions, hierarchy),
    )
