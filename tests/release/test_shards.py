# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset.release.facts import CONFIGS, Config
from groundset.release.parquet import shard_paths, shard_writer
from groundset.release.shards import chunk_faults, chunk_problems, layout_problems
from groundset.release.verify import verify

TURNS, DIALOGUES = (
    next(config for config in CONFIGS["fpco-dialog"] if config.name == name) for name in ("turns", "dialogues")
)


def rewritten(change: Callable[[pa.Table], pa.Table], size: int = 10_000) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        table = change(pq.read_table(path))
        with shard_writer(path, table.schema) as writer:
            for start in range(0, table.num_rows, size):
                writer.write_table(table.slice(start, size))

    return apply


def same(table: pa.Table) -> pa.Table:
    return table


def with_fields(change: Callable[[pa.Field], pa.Field]) -> Callable[[Path], None]:
    return rewritten(lambda table: table.cast(pa.schema([change(field) for field in table.schema])))


def plain_writer(**options: object) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pq.read_table(path), path, **options)


def false_statistics(path: Path) -> None:
    content = path.read_bytes()
    # values are compressed, so that the ids are in plain sight in the statistics alone
    assert content.count(b"coco-101-animal-identity") > 0
    path.write_bytes(content.replace(b"coco-101-animal-identity", b"coco-102-animal-identity"))


CASES: list[tuple[str, Config, Callable[[Path], None], str]] = [
    ("features", TURNS, rewritten(lambda t: t.replace_schema_metadata({"huggingface": "{}"})), "huggingface metadata"),
    ("pandas", TURNS, rewritten(lambda t: t.replace_schema_metadata({"pandas": "{}"})), "that no release has: pandas"),
    ("order", TURNS, rewritten(lambda t: t.select(t.column_names[::-1])), "in another order than the schema's: "),
    ("not null", TURNS, with_fields(lambda field: field.with_nullable(field.name != "turn")), "$.turn: the column has"),
    ("notes", TURNS, with_fields(lambda field: field.with_metadata({"a": "b"})), "$.turn: the column has metadata"),
    ("groups of seven", TURNS, rewritten(same, 7), "groups hold 7, 7, 7, 7, 7, 7, 7, 7, 7 rows, not 10000 each"),
    ("groups of three", DIALOGUES, rewritten(same, 3), "its row groups hold 3, 3, 2 rows, not 10 each"),
]  # fmt: skip

CHUNKS: list[tuple[str, str, Callable[[Path], None], str, str]] = [
    ("compression", "turns", plain_writer(compression="snappy"), "$.question", "its bytes are SNAPPY, as no release"),
    ("photographs packed", "dialogues", plain_writer(compression="zstd"), "$.image.bytes", "its bytes are ZSTD"),
    ("no index", "turns", plain_writer(compression="zstd"), "", "it has no page index of category, complexity"),
    ("statistics", "turns", false_statistics, "$.dialogue_id", "its statistics are not those of its values"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "change", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_shards_that_readers_would_stumble_over(
    config: Config, change: Callable[[Path], None], message: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(releases["fpco-dialog"], folder)
    (path,) = shard_paths(folder, config.name)
    assert layout_problems(folder, config, path) == []
    change(path)
    found = layout_problems(folder, config, path)
    assert any(message in str(problem) for problem in found), [str(problem) for problem in found]
    assert {problem.file for problem in found} == {path.relative_to(folder).as_posix()}
    assert set(found) <= set(verify(folder, load=False))


@pytest.mark.parametrize(("config", "change", "where", "message"), [case[1:] for case in CHUNKS])
def test_columns_that_are_packed_indexed_or_counted_otherwise(
    config: str, change: Callable[[Path], None], where: str, message: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "shard.parquet"
    shutil.copyfile(shard_paths(releases["fpco-dialog"], config)[0], path)
    assert chunk_faults(path) == []
    change(path)
    assert any(row[0] == where and message in row[1] for row in chunk_faults(path)), chunk_faults(path)


def test_a_footer_that_breaks_its_reader_down_is_told_and_hides_no_other(
    releases: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(releases["fpco-dialog"], folder)
    paths = [shard_paths(folder, name)[0] for name in ("dialogues", "images", "turns")]
    assert chunk_problems(folder, paths) == []
    paths[0].write_bytes(b"no Parquet, of which others tell")
    content = paths[1].read_bytes()
    # ZSTD is codec 6, 12 in Thrift's zigzag; pyarrow ends the process on one that it does not know
    assert b"\x06credit\x15\x0c" in content
    paths[1].write_bytes(content.replace(b"\x06credit\x15\x0c", b"\x06credit\x15\x1c"))
    false_statistics(paths[2])
    told = [str(problem) for problem in chunk_problems(folder, paths)]
    assert told == [
        "data/images/test-00000-of-00001.parquet: a reader of its footer breaks down, with code -6",
        "data/turns/test-00000-of-00001.parquet $.dialogue_id: its statistics are not those of its values",
    ]
