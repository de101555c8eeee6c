# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks everything that a reader of a release relies on, and names all that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset import __version__
from groundset.errors import Problem
from groundset.licences import POLICIES
from groundset.paths import schema_dir
from groundset.release.checksums import HYDRATED, NOT_OURS, PARTS, checksum_problems, file_digests
from groundset.release.facts import CONFIGS, SPLIT, WITH_IMAGE, Config, configs_of
from groundset.release.front_matter import read_front_matter
from groundset.release.invariants import candvg_problems, fpco_problems, image_problems, key_problems
from groundset.release.loading import loading_problems
from groundset.release.pages import croissant_problems, page_problems
from groundset.release.parquet import IMAGE_COLUMN, read_rows, shard_paths
from groundset.release.record import FORMAT, ReleaseRecord, decode
from groundset.release.record_checks import form_problems, is_drawn, record_problems, row_problems
from groundset.release.rights import photograph_problems, rights_problems
from groundset.release.shards import chunk_problems, layout_problems, name_problems
from groundset.schema import table_problems
from groundset.schema_types import arrow_schema

_INVARIANTS: Mapping[str, Callable[[Mapping[str, list[Mapping[str, Any]]]], list[Problem]]] = {
    "candvg": candvg_problems,
    "fpco-dialog": fpco_problems,
}


def _record(folder: Path) -> tuple[ReleaseRecord | None, list[Problem]]:
    file = "manifest.json"
    try:
        content = (folder / file).read_bytes()
        record = decode(content)
    except OSError as error:
        return None, [Problem(file, "", "", f"it cannot be read: {error.strerror}")]
    except ValueError as error:
        return None, [Problem(file, "", "", f"it is not what a release's manifest.json is: {error}")]
    problems = form_problems(content, record)
    if record.format != FORMAT:
        problems.append(Problem(file, "", "$.format", f"form {record.format} is not known", "use a newer groundset"))
    if record.facts.image_policy not in POLICIES:
        problems.append(Problem(file, "", "$.facts.image_policy", f"{record.facts.image_policy!r} is no image policy"))
    if record.facts.benchmark not in CONFIGS:
        problems.append(Problem(file, "", "$.facts.benchmark", f"{record.facts.benchmark!r} is no benchmark"))
        return None, problems
    optional = {config.name for config in CONFIGS[record.facts.benchmark] if config.optional}
    problems += [
        Problem(file, "", "$.facts.further_configs", f"{name!r} is no optional config of {record.facts.benchmark}")
        for name in sorted({*record.facts.further_configs} - optional)
    ]
    return record, problems


def _read(folder: Path, config: Config) -> tuple[pa.Table | None, list[Problem]]:
    """The rows without photographs, or None if one of them breaks its schema, and all that is wrong with them."""
    problems = name_problems(folder, config)
    tables, broken = [], []
    for path in shard_paths(folder, config.name):
        file = path.relative_to(folder).as_posix()
        try:
            problems += layout_problems(folder, config, path)
            tables.append(read_rows(path))
        except (pa.ArrowException, OSError, ValueError) as error:
            broken.append(Problem(file, "", "", f"it cannot be read as Parquet: {' '.join(str(error).split())}"))
            continue
        without = {IMAGE_COLUMN} & set(arrow_schema(config.schema).names)
        broken += table_problems(config.schema, tables[-1], file, config.key[0], without)
    if broken or not tables:
        return None, problems + broken
    table = pa.concat_tables(tables)
    broken = key_problems(config, table)
    if not table.num_rows:
        broken.append(Problem(config.name, "", "", "it has no rows"))
    return (None if broken else table), problems + broken


def _front_matter_problems(folder: Path, record: ReleaseRecord, rows: Mapping[str, int]) -> list[Problem]:
    file = "README.md"
    try:
        head = read_front_matter((folder / file).read_bytes().decode("utf-8"))
        configs = {entry["config_name"]: entry for entry in head["configs"]}
        info = {entry["config_name"]: entry for entry in head["dataset_info"]}
        stated = {name: entry["splits"][0]["num_examples"] for name, entry in info.items()}
        files = {name: entry["data_files"] for name, entry in configs.items()}
        default = [name for name, entry in configs.items() if entry.get("default")]
    except OSError as error:
        return [Problem(file, "", "", f"it cannot be read: {error.strerror}")]
    except ValueError as error:
        return [Problem(file, "", "", str(error))]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        return [
            Problem(file, "", "", f"the front matter lacks configs or dataset_info as a release has them: {error!r}")
        ]
    problems = []
    expected = [config.name for config in configs_of(record.facts)]
    if list(configs) != expected or list(info) != expected or default != expected[:1]:
        message = f"the configs have to be {', '.join(expected)}, the first of them the default"
        problems.append(Problem(file, "", "$.configs", message))
    for name in expected:
        pattern = [{"split": SPLIT, "path": f"data/{name}/{SPLIT}-*.parquet"}]
        if name in files and files[name] != pattern:
            problems.append(Problem(file, name, "$.configs", f"its data_files are {files[name]}, not {pattern}"))
        if name in rows and name in stated and stated[name] != rows[name]:
            message = f"the card says {stated[name]} rows, the files hold {rows[name]}"
            problems.append(Problem(file, name, "$.dataset_info", message))
    return problems


def _schema_problems(folder: Path, record: ReleaseRecord) -> list[Problem]:
    problems = []
    expected = {f"{config.schema}.schema.json" for config in configs_of(record.facts)}
    for name in sorted(expected):
        try:
            same = (folder / "schemas" / name).read_bytes() == (schema_dir() / name).read_bytes()
        except OSError as error:
            problems.append(Problem(f"schemas/{name}", "", "", f"it cannot be read: {error.strerror}"))
            continue
        if not same:
            message = "it differs from the schema that the rows were checked against"
            problems.append(
                Problem(f"schemas/{name}", "", "", message, f"use groundset {record.facts.groundset_version}")
            )
    strange = {path.name for path in (folder / "schemas").glob("*")} - expected
    return problems + [Problem(f"schemas/{name}", "", "", "no table has this schema") for name in strange]


def _strange_problems(folder: Path) -> list[Problem]:
    if (folder / HYDRATED).is_file():
        told = "this is a copy that groundset hydrate made, and no release"
        return [Problem(HYDRATED, "", "", told, "verify the release that it was made of")]
    strange = sorted({path.name for path in folder.iterdir()} - {*PARTS, *NOT_OURS})
    return [Problem(name, "", "", "a release has nothing of this name") for name in strange]


def _embedded_problems(folder: Path, benchmark: str, images: pa.Table) -> list[Problem]:
    config = WITH_IMAGE[benchmark]
    try:
        return photograph_problems(shard_paths(folder, config), config, images)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        message = f"the photographs cannot be read: {' '.join(str(error).split())}"
        return [Problem(f"data/{config}", "", f"$.{IMAGE_COLUMN}", message)]


def _page_problems(
    folder: Path, record: ReleaseRecord, tables: Mapping[str, pa.Table], images: pa.Table
) -> list[Problem]:
    try:
        digests = file_digests(folder)
        found = croissant_problems(folder, images, digests)
        return found + page_problems(folder, record, tables, images, digests)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        message = f"its pages cannot be written anew to compare them: {' '.join(str(error).split())}"
        return [Problem("manifest.json", "", "", message)]


def other_version(folder: Path) -> str:
    """The version of groundset that made a release, where it is another one; else, or if nothing tells, empty."""
    record, _ = _record(folder)
    return record.facts.groundset_version if record and record.facts.groundset_version != __version__ else ""


def verify(folder: Path, *, load: bool = True) -> list[Problem]:
    """Everything that is wrong with a release, sorted; an empty list means that it is whole.

    Checks between tables need rows that keep their schemas: where some do not, those are named and the checks that
    stand on them are left out.

    Args:
        folder: The release's folder.
        load: Whether to do as well what takes a process of its own: to look into the shards' footers, and to load
            every config with datasets.
    """
    if not folder.is_dir():
        return [Problem(str(folder), "", "", "there is no such folder")]
    problems = checksum_problems(folder)
    record, wrong = _record(folder)
    problems += wrong
    if record is None:
        return sorted(set(problems))
    tables: dict[str, pa.Table] = {}
    configs = configs_of(record.facts)
    for config in configs:
        table, wrong = _read(folder, config)
        problems += wrong
        if table is not None:
            tables[config.name] = table
    rows = {name: table.num_rows for name, table in tables.items()}
    images = tables.get("images")
    problems += _front_matter_problems(folder, record, rows)
    problems += record_problems(record) + row_problems(record, tables)
    problems += _schema_problems(folder, record) + _strange_problems(folder)
    if images is not None:
        drawn = is_drawn(record)
        problems += rights_problems(folder, record.rights, images, record.facts.image_policy, drawn=drawn)
        problems += _page_problems(folder, record, tables, images)
        problems += _embedded_problems(folder, record.facts.benchmark, images)
    if len(tables) == len(configs):
        listed = {name: table.to_pylist() for name, table in tables.items()}
        problems += image_problems(record.facts.benchmark, listed) + _INVARIANTS[record.facts.benchmark](listed)
    names = {config.name for config in configs}
    strange = sorted({path.name for path in (folder / "data").glob("*")} - names)
    problems += [Problem(f"data/{name}", "", "", "no config has this name") for name in strange]
    if load:
        problems += chunk_problems(folder, [path for config in configs for path in shard_paths(folder, config.name)])
        problems += loading_problems(folder, {name: rows.get(name) for name in names})
    return sorted(set(problems))
