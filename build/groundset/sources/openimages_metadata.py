# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' image metadata: author, page, licence and rotation of each photograph.

The file is read in batches and only the rows of the images asked for are held: the publisher's largest has nine million
rows. Titles may hold line ends, so it is never cut at them.
"""

from __future__ import annotations

import csv as plain_csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from groundset import licences
from groundset.errors import DataError, Problem
from groundset.schema_types import arrow_schema
from groundset.sources.imported import sorted_verdicts
from groundset.sources.json_faults import shown
from groundset.sources.openimages_csv import Header, column_problems, read_header
from groundset.sources.openimages_ids import IMAGE_ID, PREFIX, Keys, image_id, key_texts, keys_of, text_array
from groundset.sources.openimages_rows import too_many
from groundset.verdicts import Verdict

Row = dict[str, Any]

# V3 has no Rotation
COLUMNS = (
    *("ImageID", "Subset", "OriginalURL", "OriginalLandingURL", "License", "AuthorProfileURL", "Author", "Title"),
    *("OriginalSize", "OriginalMD5", "Thumbnail300KURL", "Rotation"),
)
TEXTS = {
    "licence_source": "License",
    "title": "Title",
    "author": "Author",
    "author_url": "AuthorProfileURL",
    "landing_url": "OriginalLandingURL",
    "original_url": "OriginalURL",
}
FIELDS = ("licence", *TEXTS, "flickr_id", "rotation")
SCHEMA = pa.schema([("key", pa.uint64()), *((name, arrow_schema("image").field(name).type) for name in FIELDS)])
ROTATIONS = (0, 90, 180, 270)
UNKNOWN_ROTATIONS = ("", "nan", "NaN")
_BLOCK = 1 << 20
# a part of the addresses that `photo_page_from_flickr` knows, which Arrow can read by the million
_STATIC = (
    r"^https?://[A-Za-z0-9.-]+\.static\.?flickr\.com(?:/[A-Za-z0-9_.-]+)*/[0-9]+_[0-9a-f]+(?:_[a-z0-9]+)*\.[a-z]+$"
)
_SWALLOWED = r"[\r\n]\"?[0-9a-f]{16}\"?[,;\t]"


def _wanted(batch: Any, keys: Keys) -> Any:
    found, sound = keys_of(batch["ImageID"])
    places = np.searchsorted(keys, found)
    sound &= keys[np.minimum(places, len(keys) - 1)] == found if len(keys) else False
    return batch.filter(pa.array(sound))


def _batches_quickly(path: Path, header: Header, columns: Collection[str]) -> Iterator[Any]:
    with csv.open_csv(
        path,
        read_options=csv.ReadOptions(column_names=header.columns, skip_rows=1, block_size=_BLOCK),
        parse_options=csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            # bytes: a text that is not UTF-8 is no problem where nobody asks for it; and NULL may be a person's name
            column_types={name: pa.binary() for name in columns},
            include_columns=list(columns),
            strings_can_be_null=False,
        ),
    ) as batches:
        yield from batches


def _batches_carefully(path: Path, header: Header, columns: Collection[str], keys: Keys) -> Iterator[Any]:
    """The same, row by row, so that a damaged row of an image that nobody asks for does no harm.

    Raises:
        DataError: Rows of images that are asked for, or of nobody knows which, are damaged.
    """
    wanted = {f"{key:016x}" for key in keys.tolist()}
    at = header.columns.index("ImageID")
    rows: list[list[str]] = []
    problems = []
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = plain_csv.reader(file, delimiter=header.delimiter)
        next(reader, None)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                break
            except plain_csv.Error as error:
                problems.append(Problem(str(path), f"line {line}", "", f"cannot be read: {error}"))
                continue
            if not any(field.strip() for field in row):
                continue
            known = row[at] if len(row) > at else ""
            if len(row) == len(header.columns):
                if known in wanted:
                    rows.append(row)
            elif known in wanted or not IMAGE_ID.fullmatch(known):
                told = f"has {len(row)} fields, the header has {len(header.columns)}"
                hint = "a title with a comma, a quote or a line end has to be in quotes"
                place = known if known in wanted else ""
                problems.append(Problem(str(path), f"line {line}", place, told, hint))
    if problems:
        raise DataError(f"{path}: {len(problems)} rows of the image metadata are damaged", problems)
    places = {name: header.columns.index(name) for name in columns}
    yield pa.RecordBatch.from_pydict(
        {
            name: pa.array([row[place].encode("utf-8", "surrogateescape") for row in rows], type=pa.binary())
            for name, place in places.items()
        }
    )


def _each(column: Any, function: Callable[[str | None], Any], kind: Any) -> Any:
    """A function applied once to each different value of a column."""
    coded = column.dictionary_encode()
    values = pa.array([function(text) for text in coded.dictionary.to_pylist()], type=kind)
    return values.take(coded.indices)


def _flickr_ids(addresses: Any) -> Any:
    usual = pc.match_substring_regex(addresses, _STATIC)
    # faster by far than a pattern that captures
    files = pc.list_element(pc.split_pattern(pc.if_else(usual, addresses, "/_"), "/", max_splits=1, reverse=True), 1)
    numbers = pc.list_element(pc.split_pattern(files, "_", max_splits=1), 0)
    found = pc.if_else(usual, numbers, None)
    odd = pc.invert(usual)
    if not pc.any(odd, min_count=0).as_py():
        return found

    def other(address: str | None) -> str | None:
        photo = licences.photo_page_from_flickr(address)
        return photo[0] if photo else None

    return pc.coalesce(found, _each(pc.if_else(odd, addresses, None), other, pa.string()))


def _degrees(text: str | None) -> int | None:
    """Rotation in degrees; None if it is unknown, -1 if the text is none."""
    if text is None or text in UNKNOWN_ROTATIONS:
        return None
    found = re.fullmatch(r"([0-9]{1,3})(?:\.0*)?", text)
    return int(found[1]) if found and int(found[1]) in ROTATIONS else -1


def _texts(batch: Any, path: Path) -> tuple[dict[str, Any], list[Problem]]:
    """The columns as text, null where a field is empty."""
    texts, problems = {}, []
    for name in (name for name in batch.schema.names if name != "ImageID"):
        column = batch[name]
        try:
            text = column.cast(pa.string())
        except pa.ArrowInvalid:
            for row, value in zip(batch["ImageID"].to_pylist(), column.to_pylist(), strict=True):
                try:
                    value.decode("utf-8")
                except UnicodeDecodeError as error:
                    told = f"is not UTF-8 (byte {error.start})"
                    problems.append(Problem(str(path), row.decode(), f"$.{name}", told))
            continue
        if pc.any(pc.match_substring(text, "\n"), min_count=0).as_py():
            swallowed = pc.match_substring_regex(text, _SWALLOWED)
            for row in batch["ImageID"].filter(swallowed).to_pylist():
                told = "goes on into the next rows"
                problems.append(Problem(str(path), row.decode(), f"$.{name}", told, "a quote is not closed"))
        texts[name] = pc.if_else(pc.equal(pc.binary_length(text), 0), None, text)
    return texts, problems


def _fields(batch: Any, path: Path) -> tuple[Any, list[Problem]]:
    """Rows of `SCHEMA` of a batch of wanted rows, and what is wrong with them."""
    texts, problems = _texts(batch, path)
    if problems:
        return SCHEMA.empty_table(), problems
    nothing = pa.nulls(batch.num_rows, pa.string())
    rotation = _each(texts.get("Rotation", nothing), _degrees, pa.int64())
    wrong = pc.fill_null(pc.equal(rotation, -1), False)
    problems += [
        Problem(str(path), row.decode(), "$.Rotation", f"{shown(text)} is no rotation", "known: 0, 90, 180, 270, empty")
        for row, text in zip(
            batch["ImageID"].filter(wrong).to_pylist(),
            texts.get("Rotation", nothing).filter(wrong).to_pylist(),
            strict=True,
        )
    ]

    def spdx(address: str | None) -> str | None:
        licence = licences.by_address(address)
        return licence.spdx if licence else None

    columns = {name: texts[column] for name, column in TEXTS.items()}
    columns |= {
        "key": pa.array(keys_of(batch["ImageID"])[0]),
        "licence": _each(texts["License"], spdx, pa.string()),
        "flickr_id": _flickr_ids(texts["OriginalURL"]),
        "rotation": rotation,
    }
    return pa.table([columns[field.name] for field in SCHEMA], schema=SCHEMA), problems


def _of_images(batches: Iterable[Any], keys: Keys, path: Path) -> list[tuple[Any, list[Problem]]]:
    wanted = (_wanted(batch, keys) for batch in batches)
    return [_fields(batch, path) for batch in wanted if batch.num_rows]


def _one_each(table: Any, path: Path) -> tuple[Any, list[Problem]]:
    """The rows sorted by key, equal ones once; and a problem for each image whose rows differ."""
    keys = np.asarray(table["key"])
    if bool((keys[1:] > keys[:-1]).all()):
        return table, []
    order = np.argsort(keys, kind="stable")
    table, keys = table.take(pa.array(order)), keys[order]
    again = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    first = table.take(pa.array(np.searchsorted(keys, keys[again])))
    other = table.take(pa.array(again))
    problems = [
        Problem(str(path), f"{row['key']:016x}", "", "two rows tell different things of this image")
        for row, before in zip(other.to_pylist(), first.to_pylist(), strict=True)
        if row != before
    ]
    once = np.ones(len(keys), dtype=bool)
    once[again] = False
    return table.filter(pa.array(once)), problems


def check_header(path: Path) -> tuple[Header, list[Problem]]:
    """The header of a metadata file and the columns it lacks.

    Raises:
        DataError: The file cannot be read or has no header.
    """
    header = read_header(path, COLUMNS)
    required = ("ImageID", *TEXTS.values())
    return header, column_problems(str(path), header, required, COLUMNS, ("Rotation",))


def read_table(path: Path, keys: Keys) -> Any:
    """What an image metadata CSV says of some images (Open Images, image information).

    Args:
        path: The CSV with the 12 columns of V4 and later, such as validation-images-with-rotation.csv, or V3's 11.
        keys: Keys of the images, sorted.

    Returns:
        Table of `SCHEMA`, one row for each image that the file knows, sorted by key. Rotation is null where the file
        does not know it.

    Raises:
        DataError: The file cannot be read, lacks a column, or damages, contradicts or garbles a row that is asked for.
    """
    header, problems = check_header(path)
    if problems:
        raise DataError(f"{path}: the image metadata cannot be read", problems)
    columns = [name for name in ("ImageID", *TEXTS.values(), "Rotation") if name in header.columns]
    try:
        parts = _of_images(_batches_quickly(path, header, columns), keys, path)
    except pa.ArrowException:
        parts = _of_images(_batches_carefully(path, header, columns, keys), keys, path)
    found, twice = _one_each(pa.concat_tables([SCHEMA.empty_table(), *(table for table, _ in parts)]), path)
    problems = [problem for _, part in parts for problem in part] + twice
    if problems:
        raise DataError(f"{path}: the image metadata is wrong in {len(problems)} places", problems)
    return found


def read_metadata(path: Path, image_ids: Collection[str]) -> dict[str, Row]:
    """What an image metadata CSV says of some images, by Open Images id; see `read_table`.

    Args:
        path: The CSV.
        image_ids: Open Images ids; what is not 16 hexadecimal digits is in no such file.

    Returns:
        Image id to the fields of `schemas/image` that the file knows.

    Raises:
        DataError: As `read_table`.
    """
    keys = np.array(sorted(int(known, 16) for known in set(image_ids) if IMAGE_ID.fullmatch(known)), dtype=np.uint64)
    rows = read_table(path, keys).to_pylist()
    return {f"{row.pop('key'):016x}": row for row in rows}


def image_table(keys: Keys, path: Path, source_name: str) -> tuple[Any, list[Verdict]]:
    """Table of `schemas/image` with what the metadata says, and a soft verdict on each image that it does not have.

    Args:
        keys: Keys of the images, sorted, each once.
        path: The image metadata.
        source_name: Name of the source in the manifest.

    Raises:
        DataError: As `read_table`, or the metadata is of other images.
    """
    told = read_table(path, keys)
    known = np.asarray(told["key"])
    lacking = np.setdiff1d(keys, known, assume_unique=True)
    if too_many(len(lacking), len(keys)):
        message = f"has no row of {len(lacking)} of the {len(keys)} images that have boxes"
        raise DataError(
            f"{path} does not belong to the boxes",
            [Problem(str(path), "", "", message, "take the metadata of the same split")],
        )
    if len(lacking):
        places = np.searchsorted(known, keys)
        there = np.isin(keys, known, assume_unique=True)
        told = told.take(pa.array(places, mask=~there))
    ids, count = text_array(key_texts(keys)), len(keys)
    columns = {
        "image_id": text_array(key_texts(keys, PREFIX)),
        "source": pa.repeat("openimages", count),
        "source_name": pa.repeat(source_name, count),
        "source_image_id": ids,
        "file_name": pc.binary_join_element_wise(ids, ".jpg", ""),
        "frame_width": pa.array(np.ones(count)),
        "frame_height": pa.array(np.ones(count)),
        **{name: told[name] for name in FIELDS},
    }
    schema = arrow_schema("image")
    table = pa.table([columns[field.name] for field in schema], schema=schema)
    flagged = [
        Verdict(image_id(key), "image", "no_metadata", f"{path.name} has no row of this image", hard=False)
        for key in lacking.tolist()
    ]
    strange = pc.and_(pc.is_valid(table["licence_source"]), pc.is_null(table["licence"]))
    if pc.any(strange, min_count=0).as_py():
        flagged += [
            Verdict(row["image_id"], "image", "unknown_licence", f"licence {row['licence_source']}", hard=False)
            for row in table.filter(strange).select(["image_id", "licence_source"]).to_pylist()
        ]
    return table, list(sorted_verdicts(flagged))
