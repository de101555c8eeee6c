# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' image metadata: author, page, licence and rotation of each photograph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from groundset.errors import DataError, Problem
from groundset.licences import by_address, photo_page_from_flickr

ROTATIONS: Mapping[str, int] = {
    "0.0": 0,
    "90.0": 90,
    "180.0": 180,
    "270.0": 270,
    "0": 0,
    "90": 90,
    "180": 180,
    "270": 270,
}
UNKNOWN_ROTATIONS = ("", "nan", "NaN")
COLUMNS = ("ImageID", "OriginalLandingURL", "OriginalURL", "License", "AuthorProfileURL", "Author", "Title", "Rotation")

Row = dict[str, Any]


def _wanted_rows(path: Path, image_ids: Collection[str]) -> list[Row]:
    text = {name: pa.string() for name in COLUMNS}
    # an empty field is an empty text here, and NULL or NA may be a person's name
    convert = csv.ConvertOptions(column_types=text, include_columns=list(COLUMNS), strings_can_be_null=False)
    wanted = pa.array(sorted(image_ids), type=pa.string())
    rows: list[Row] = []
    with csv.open_csv(
        path, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=convert
    ) as batches:
        for batch in batches:
            rows += batch.filter(pc.is_in(batch["ImageID"], value_set=wanted)).to_pylist()
    return rows


def _record(row: Row) -> Row:
    licence = by_address(row["License"])
    photo = photo_page_from_flickr(row["OriginalURL"])
    return {
        "licence": licence.spdx if licence else None,
        "licence_source": row["License"] or None,
        "title": row["Title"] or None,
        "author": row["Author"] or None,
        "author_url": row["AuthorProfileURL"] or None,
        "landing_url": row["OriginalLandingURL"] or None,
        "original_url": row["OriginalURL"] or None,
        "flickr_id": photo[0] if photo else None,
        "rotation": ROTATIONS.get(row["Rotation"]),
    }


def read_metadata(path: Path, image_ids: Collection[str]) -> dict[str, Row]:
    """What an image metadata CSV says of some images (Open Images, image information).

    The file is read in batches; only the rows asked for are held.

    Args:
        path: The CSV with the 12 columns of V4 and later, such as validation-images-with-rotation.csv.
        image_ids: Open Images ids, 16 hexadecimal digits.

    Returns:
        Image id to the fields of `schemas/image` that the file knows; rotation is null where the file does not know it.

    Raises:
        DataError: The file cannot be read, lacks a column, has an image twice or a rotation that is none.
    """
    try:
        rows = _wanted_rows(path, image_ids)
    except OSError as error:
        raise DataError(f"{path}: the image metadata cannot be read: {error.strerror}") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        hint = f"it should be Open Images' image metadata CSV with the columns {', '.join(COLUMNS)}"
        raise DataError("the image metadata cannot be read", [Problem(str(path), "", "", str(error), hint)]) from None
    problems = []
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: str(row["ImageID"])):
        image_id = row["ImageID"]
        if image_id in found and found[image_id] != _record(row):
            problems.append(Problem(str(path), image_id, "", "two rows tell different things of this image"))
        if row["Rotation"] not in ROTATIONS and row["Rotation"] not in UNKNOWN_ROTATIONS:
            problems.append(Problem(str(path), image_id, "$.Rotation", f"{row['Rotation']!r} is no rotation"))
        found[image_id] = _record(row)
    if problems:
        raise DataError(f"{path}: the image metadata is wrong in {len(problems)} places", problems)
    return found
