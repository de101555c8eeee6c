# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a table as the Parquet shards of one config, with photographs verbatim inside, and reads them back.

The files carry no `huggingface` schema metadata: features stand in the card, so that datasets 3.6 to 5.2 load them.
Photographs lie uncompressed in small row groups, so that a reader fetches a few rows without the rest of the shard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from groundset.errors import DataError, Problem
from groundset.release.facts import SPLIT, Config
from groundset.schema_types import IMAGE_TYPE, arrow_schema

IMAGE_COLUMN = "image"
# the leaf that holds their bytes
PHOTOGRAPHS = f"{IMAGE_COLUMN}.bytes"
IMAGE_ROWS_PER_GROUP = 10
ROWS_PER_GROUP = 10_000
ROWS_PER_SHARD = 1_000_000
IMAGE_BYTES_PER_SHARD = 400_000_000


@dataclass(frozen=True)
class Embedded:
    """A photograph whose bytes a release carries.

    Attributes:
        file: Where the source's own file lies.
        name: File name that the release gives it.
        bytes: Its length.
        sha256: Its hash; a file that differs is refused.
    """

    file: Path
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Size:
    """How large a config is.

    Attributes:
        rows: Rows of all its shards.
        download_bytes: Bytes of its files.
        memory_bytes: Bytes of its columns before compression.
        shards: Number of its files.
    """

    rows: int
    download_bytes: int
    memory_bytes: int
    shards: int


def shard_name(number: int, count: int) -> str:
    """File name of one shard.

    >>> shard_name(0, 3)
    'test-00000-of-00003.parquet'
    """
    return f"{SPLIT}-{number:05d}-of-{count:05d}.parquet"


def sort_rows(table: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """The rows sorted by their key, in one chunk a column, so that equal rows give equal bytes."""
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in key])
    return table.take(order).combine_chunks()


def shard_bounds(weights: list[int], rows_per_shard: int, bytes_per_shard: int) -> list[tuple[int, int]]:
    """Row ranges of the shards: each is bounded by rows and by the sum of its weights, and holds a row at least.

    >>> shard_bounds([3, 3, 3, 9], 10, 6)
    [(0, 2), (2, 3), (3, 4)]
    """
    bounds, start, filled = [], 0, 0
    for row, weight in enumerate(weights):
        if row > start and (row - start >= rows_per_shard or filled + weight > bytes_per_shard):
            bounds.append((start, row))
            start, filled = row, 0
        filled += weight
    return [*bounds, (start, len(weights))]


def _leaves(name: str, kind: pa.DataType) -> Iterator[str]:
    if pa.types.is_list(kind):
        yield from _leaves(f"{name}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{name}.{field.name}", field.type)
    else:
        yield name


def rows_per_group(schema: pa.Schema) -> int:
    """How many rows a row group of a shard with these columns holds; only the last may hold fewer."""
    return IMAGE_ROWS_PER_GROUP if IMAGE_COLUMN in schema.names else ROWS_PER_GROUP


def shard_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """What writes one shard; whoever writes gives it `rows_per_group` rows at a time."""
    leaves = [leaf for field in schema for leaf in _leaves(field.name, field.type)]
    return pq.ParquetWriter(
        path,
        schema,
        version="2.6",
        data_page_version="1.0",
        compression={leaf: "NONE" if leaf == PHOTOGRAPHS else "ZSTD" for leaf in leaves},
        use_dictionary=[leaf for leaf in leaves if leaf != PHOTOGRAPHS],
        write_statistics=[leaf for leaf in leaves if leaf != PHOTOGRAPHS],
        write_page_index=True,
    )


def _read_photograph(image_id: str, photograph: Embedded, problems: list[Problem]) -> bytes | None:
    try:
        content = photograph.file.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        problems.append(Problem(str(photograph.file), image_id, "", f"the photograph cannot be read: {reason}"))
        return None
    if hashlib.sha256(content).hexdigest() != photograph.sha256:
        problems.append(
            Problem(
                str(photograph.file),
                image_id,
                "",
                "the photograph is not the one that was checked: its sha256 differs",
                "run the stage 40_images again",
            )
        )
        return None
    return content


def _with_photographs(
    rows: pa.Table, schema: pa.Schema, embedded: Mapping[str, Embedded], problems: list[Problem]
) -> pa.Table:
    cells: list[dict[str, object] | None] = []
    last_id, content = "", None
    for image_id in rows.column("image_id").to_pylist():
        photograph = embedded.get(image_id)
        if photograph is None:
            cells.append(None)
            continue
        if image_id != last_id:
            last_id, content = image_id, _read_photograph(image_id, photograph, problems)
        cells.append({"bytes": content, "path": photograph.name})
    columns = {name: rows.column(name) for name in rows.column_names}
    columns[IMAGE_COLUMN] = pa.array(cells, type=IMAGE_TYPE)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def write_config(folder: Path, config: Config, table: pa.Table, embedded: Mapping[str, Embedded]) -> Size:
    """Writes one config's shards below `data/<config>/`, never holding more than a row group of photographs.

    Args:
        folder: The release's folder.
        config: The config to write.
        table: Its rows, of the config's schema without the column `image`.
        embedded: image_id to the photograph that its row carries; other rows get null.

    Raises:
        DataError: A photograph cannot be read or is not the one that was checked; names each of them.
    """
    schema = arrow_schema(config.schema)
    has_image = IMAGE_COLUMN in schema.names
    rows = sort_rows(table, config.key)
    weights = [0] * rows.num_rows
    if has_image:
        ids = rows.column("image_id").to_pylist()
        weights = [embedded[image_id].bytes if image_id in embedded else 0 for image_id in ids]
    bounds = shard_bounds(weights, ROWS_PER_SHARD, IMAGE_BYTES_PER_SHARD)
    group = rows_per_group(schema)
    target = folder / "data" / config.name
    target.mkdir(parents=True, exist_ok=True)
    problems: list[Problem] = []
    for number, (start, stop) in enumerate(bounds):
        path = target / shard_name(number, len(bounds))
        with shard_writer(path, schema) as writer:
            for first in range(start, stop, group):
                piece = rows.slice(first, min(group, stop - first))
                if has_image:
                    piece = _with_photographs(piece, schema, embedded, problems)
                writer.write_table(pa.table(piece.columns, schema=schema), row_group_size=group)
    if problems:
        raise DataError("photographs of the release cannot be embedded", problems)
    return config_size(folder, config)


def fill_photographs(source: Path, target: Path, found: Mapping[str, Embedded]) -> None:
    """Copies a shard with the photographs filled in that it lacks, a row group at a time.

    Args:
        source: The shard.
        target: Where the copy goes.
        found: image_id to the photograph of rows that have none.

    Raises:
        DataError: A photograph cannot be read or is not the one that is expected; names each of them.
        pyarrow.ArrowException, OSError: The shard cannot be read.
    """
    shard = pq.ParquetFile(source)
    schema = shard.schema_arrow
    problems: list[Problem] = []
    with shard_writer(target, schema) as writer:
        for number in range(shard.num_row_groups):
            group = shard.read_row_group(number)
            filled = _with_photographs(group, schema, found, problems)
            has_one = pc.is_valid(group[IMAGE_COLUMN])
            column = pc.if_else(has_one, group[IMAGE_COLUMN].combine_chunks(), filled[IMAGE_COLUMN].combine_chunks())
            place = schema.get_field_index(IMAGE_COLUMN)
            whole = group.set_column(place, schema.field(place), column)
            writer.write_table(whole, row_group_size=max(1, group.num_rows))
    if problems:
        raise DataError("photographs cannot be filled in", problems)


def config_size(folder: Path, config: Config) -> Size:
    """How large a config is, from its shards' own metadata.

    Raises:
        pyarrow.ArrowException, OSError: A shard is not Parquet or is truncated.
    """
    paths = shard_paths(folder, config.name)
    found = [pq.read_metadata(path) for path in paths]
    memory = sum(shard.row_group(n).total_byte_size for shard in found for n in range(shard.num_row_groups))
    return Size(sum(shard.num_rows for shard in found), sum(path.stat().st_size for path in paths), memory, len(paths))


def shard_paths(folder: Path, config: str) -> list[Path]:
    """The config's shards in a release's folder, in order."""
    return sorted((folder / "data" / config).glob(f"{SPLIT}-*.parquet"))


def read_rows(path: Path) -> pa.Table:
    """All columns of a shard but the photographs.

    Raises:
        pyarrow.ArrowException, OSError: The file is not Parquet, is truncated, or holds text that is not UTF-8.
    """
    names = [name for name in pq.read_schema(path).names if name != IMAGE_COLUMN]
    table = pq.ParquetFile(path).read(columns=names)
    table.validate(full=True)
    return table


def read_photographs(path: Path) -> Iterator[tuple[str, dict[str, object] | None]]:
    """(image_id, {bytes, path} or None) of every row of a shard, a row group at a time."""
    file = pq.ParquetFile(path)
    for number in range(file.num_row_groups):
        group = file.read_row_group(number, columns=["image_id", IMAGE_COLUMN])
        for row in range(group.num_rows):
            yield group["image_id"][row].as_py(), group[IMAGE_COLUMN][row].as_py()
