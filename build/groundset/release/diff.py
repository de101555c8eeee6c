# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What changed between two releases: rows, fields, licences, strata, and ids that came to name something else.

Rows are matched by the key of their config. Photographs are compared by the hash in the config `images`, so no pixels
are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset.errors import DataError, Problem, UsageError
from groundset.release.facts import CONFIGS, WITH_IMAGE, Config, configs_of
from groundset.release.parquet import read_rows, shard_paths
from groundset.release.record import ReleaseRecord, decode, no_release

Row = Mapping[str, Any]

# what an id stands for: if one of these differs, scores and decisions kept under the id would speak of another thing
IDENTITY: Mapping[str, tuple[str, ...]] = {
    "images": ("source", "source_image_id", "sha256"),
    "dialogues": ("image_id", "source_dialogue_id", "target_object_id", "category", "false_class"),
    "samples": ("sample_id", "image_id"),
    "turns": ("image_id", "false_class"),
    "variants": ("dialogue_id", "set", "image_id", "target_object_id"),
    "points": (),
}


@dataclass(frozen=True)
class FieldChange:
    """One value that differs.

    Attributes:
        path: JSON path in the row, such as `$.questions[3].modified`.
        old: What the old release has; None also where it has nothing.
        new: What the new one has.
    """

    path: str
    old: Any
    new: Any


@dataclass(frozen=True)
class RowChange:
    """A row that both releases have, with what differs in it, by path.

    Attributes:
        key: The row's key, its parts joined by blanks.
        fields: What differs.
        reused: Whether the key names another thing than before.
    """

    key: str
    fields: tuple[FieldChange, ...]
    reused: bool


@dataclass(frozen=True)
class ConfigDiff:
    """What changed in one config.

    Attributes:
        config: Name of the config.
        rows_old: Rows of the old release; 0 where it has no such config.
        rows_new: Rows of the new one.
        added: Keys that only the new one has, sorted.
        removed: Keys that only the old one has, sorted.
        changed: Rows that differ, by key.
        columns_added: Columns that only the new one has; they are not compared.
        columns_removed: Columns that only the old one has.
    """

    config: str
    rows_old: int
    rows_new: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[RowChange, ...]
    columns_added: tuple[str, ...]
    columns_removed: tuple[str, ...]


@dataclass(frozen=True)
class Shift:
    """How many rows carry a licence or lie in a stratum, before and now."""

    name: str
    old: int
    new: int


@dataclass(frozen=True)
class ReleaseDiff:
    """What changed between two releases of one benchmark.

    Attributes:
        benchmark: candvg or fpco-dialog.
        old: Name and version of the old release.
        new: Name and version of the new one.
        configs: Every config that one of them has.
        licences: Photographs by licence; those that are the same in both are left out.
        strata: Rows of the default config by stratum; likewise.
        record: What differs in manifest.json beside digests and row counts: rights, policy, rules, library versions.
    """

    benchmark: str
    old: str
    new: str
    configs: tuple[ConfigDiff, ...]
    licences: tuple[Shift, ...]
    strata: tuple[Shift, ...]
    record: tuple[FieldChange, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the two hold the same rows and say the same of them."""
        same = (
            not (row.added or row.removed or row.changed or row.columns_added or row.columns_removed)
            for row in self.configs
        )
        return all(same) and not self.record


@dataclass(frozen=True)
class _Release:
    record: ReleaseRecord
    tables: Mapping[str, pa.Table]


def _read(folder: Path) -> _Release:
    problems: list[Problem] = []
    name = f"{folder / 'manifest.json'}"
    try:
        record = decode((folder / "manifest.json").read_bytes())
    except OSError as error:
        raise no_release(folder, error) from error
    except ValueError as error:
        raise DataError(f"{folder} cannot be compared", [Problem(name, "", "", str(error))]) from error
    if record.facts.benchmark not in CONFIGS:
        problem = Problem(name, "", "$.facts.benchmark", f"{record.facts.benchmark!r} is no benchmark that is known")
        raise DataError(f"{folder} cannot be compared", [problem])
    tables = {}
    for config in configs_of(record.facts):
        paths = shard_paths(folder, config.name)
        shards = []
        for path in paths:
            try:
                shards.append(read_rows(path))
            except (pa.ArrowException, OSError, ValueError) as error:
                problems.append(Problem(str(path), "", "", f"it cannot be read: {' '.join(str(error).split())}"))
        if len({shard.schema for shard in shards}) > 1:
            problems.append(Problem(str(paths[0].parent), "", "", "its shards have different columns"))
            continue
        if not shards:
            continue
        table = pa.concat_tables(shards)
        lacking = [column for column in config.key if column not in table.column_names]
        if lacking:
            problems.append(Problem(str(paths[0].parent), "", "", f"the key column {', '.join(lacking)} is missing"))
            continue
        counts = Counter(_key(config, row) for row in table.select(config.key).to_pylist())
        problems += [
            Problem(str(paths[0].parent), key, "", f"{count} rows have this key")
            for key, count in counts.items()
            if count > 1
        ]
        tables[config.name] = table
    if problems:
        raise DataError(f"{folder} cannot be compared; groundset verify says more", problems)
    return _Release(record, tables)


def _key(config: Config, row: Row) -> str:
    return " ".join(str(row[column]) for column in config.key)


def changes(old: Any, new: Any, path: str = "$") -> Iterator[FieldChange]:
    """Every place at which two JSON values differ, in order of their keys and places.

    >>> [change.path for change in changes({"a": [1, 2]}, {"a": [1, 3, 4]})]
    ['$.a[1]', '$.a[2]']
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from changes(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        for place in range(max(len(old), len(new))):
            before = old[place] if place < len(old) else None
            after = new[place] if place < len(new) else None
            yield from changes(before, after, f"{path}[{place}]")
    elif type(old) is not type(new) or old != new:
        yield FieldChange(path, old, new)


def _compare(config: Config, old: pa.Table | None, new: pa.Table | None) -> ConfigDiff:
    had = set() if old is None else set(old.column_names)
    has = set() if new is None else set(new.column_names)
    both = sorted(had & has) if old is not None and new is not None else []
    before = {} if old is None else {_key(config, row): row for row in old.to_pylist()}
    after = {} if new is None else {_key(config, row): row for row in new.to_pylist()}
    changed = []
    for key in sorted(before.keys() & after.keys()):
        one, other = before[key], after[key]
        fields = tuple(change for name in both for change in changes(one[name], other[name], f"$.{name}"))
        if fields:
            reused = any(name in both and one[name] != other[name] for name in IDENTITY[config.name])
            changed.append(RowChange(key, fields, reused))
    return ConfigDiff(
        config.name,
        len(before),
        len(after),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(changed),
        tuple(sorted(has - had)) if old is not None and new is not None else (),
        tuple(sorted(had - has)) if old is not None and new is not None else (),
    )


def _shifts(old: pa.Table | None, new: pa.Table | None, column: str) -> tuple[Shift, ...]:
    counts = [
        Counter() if table is None or column not in table.column_names else Counter(table[column].to_pylist())
        for table in (old, new)
    ]
    names = sorted(counts[0].keys() | counts[1].keys())
    found = (Shift(name, counts[0][name], counts[1][name]) for name in names)
    return tuple(shift for shift in found if shift.old != shift.new)


def _record_changes(old: ReleaseRecord, new: ReleaseRecord) -> tuple[FieldChange, ...]:
    told = {
        "groundset": (old.facts.groundset_version, new.facts.groundset_version),
        "libraries": (old.facts.libraries, new.facts.libraries),
        "rights": (asdict(old.rights), asdict(new.rights)),
        "manifest": (old.manifest, new.manifest),
    }
    return tuple(change for name, (before, after) in told.items() for change in changes(before, after, f"$.{name}"))


def diff(old: Path, new: Path) -> ReleaseDiff:
    """Compares two releases.

    Args:
        old: Folder of the earlier release.
        new: Folder of the later one.

    Raises:
        UsageError: One of them is no release, or they are of different benchmarks.
        DataError: One of them cannot be read; names every file, and every key that several rows have.
    """
    before, after = _read(old), _read(new)
    benchmark = after.record.facts.benchmark
    if before.record.facts.benchmark != benchmark:
        raise UsageError(f"{old} is a release of {before.record.facts.benchmark}, {new} one of {benchmark}")
    default = WITH_IMAGE[benchmark]
    held = {*configs_of(before.record.facts), *configs_of(after.record.facts)}
    return ReleaseDiff(
        benchmark,
        f"{before.record.facts.name} {before.record.facts.version}",
        f"{after.record.facts.name} {after.record.facts.version}",
        tuple(
            _compare(config, before.tables.get(config.name), after.tables.get(config.name))
            for config in CONFIGS[benchmark]
            if config in held
        ),
        _shifts(before.tables.get("images"), after.tables.get("images"), "licence"),
        _shifts(before.tables.get(default), after.tables.get(default), "stratum"),
        _record_changes(before.record, after.record),
    )


def reused_ids(found: ReleaseDiff) -> list[Problem]:
    """Every id that names another thing than in the old release, with what differs; none may be published."""
    hint = "give the new content an id of its own"
    return [
        Problem(row.config, change.key, field.path, f"it was {field.old!r} and is {field.new!r}", hint)
        for row in found.configs
        for change in row.changed
        if change.reused
        for field in change.fields
        if field.path.removeprefix("$.") in IDENTITY[row.config]
    ]


def changelog_draft(found: ReleaseDiff) -> str:
    """A draft of the entry under the heading Data, in the form of CHANGELOG.md; a person words it."""
    version = found.new.rpartition(" ")[2]
    lines = []
    for row in found.configs:
        told = [
            f"{len(keys)} {word}"
            for keys, word in ((row.added, "added"), (row.removed, "removed"), (row.changed, "changed"))
            if keys
        ]
        if told:
            lines.append(f"- {row.config}: {', '.join(told)}; {row.rows_new} rows, before {row.rows_old}.")
        fields = Counter(field for change in row.changed for field in {_column(part.path) for part in change.fields})
        lines += [f"  - `{name}` differs in {count}" for name, count in sorted(fields.items())]
        if row.columns_added or row.columns_removed:
            columns = [f"new `{name}`" for name in row.columns_added] + [
                f"without `{name}`" for name in row.columns_removed
            ]
            lines.append(f"- {row.config} has other columns: {', '.join(columns)}.")
    for name, shifts in (("licence", found.licences), ("stratum", found.strata)):
        if shifts:
            told = [f"{shift.name} {shift.old} to {shift.new}" for shift in shifts]
            lines.append(f"- By {name}: {', '.join(told)}.")
    prefix = "$.manifest."
    rules = [f"`{change.path.removeprefix(prefix)}`" for change in found.record if change.path.startswith(prefix)]
    rules = [rule for rule in rules if rule != "`version`"]
    if rules:
        lines.append(f"- The manifest differs in {', '.join(rules)}.")
    return "\n".join([f"## {version}", "", "### Data", "", *(lines or ["- Nothing has changed."])]) + "\n"


def _column(path: str) -> str:
    return path.removeprefix("$.").partition(".")[0].partition("[")[0]
