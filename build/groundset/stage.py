# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The corridor that every stage goes through.

A stage is a pure function from `Inputs` to `Output`. The corridor reads and validates what it may read, calls it,
enforces the row account, validates what it made, writes that to a temporary folder, puts the folder in place, and
writes the receipt last. A stage is up to date if its receipt matches its config, inputs, outside files, package sources
and outputs.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from groundset import schema
from groundset.errors import DataError, Problem
from groundset.files import (
    canonical_json,
    fresh_folder,
    names_sha256,
    readable_json,
    replace_folder,
    sha256_bytes,
    sha256_file,
    sha256_if_there,
    write_atomic,
    write_table,
)
from groundset.manifest import Manifest
from groundset.paths import manifest_dir, package_dir, schema_dir
from groundset.verdicts import Verdict, to_table

LIBRARIES = ("datasets", "msgspec", "numpy", "pillow", "pyarrow", "scipy")
SOURCE_SUFFIXES = {".py", ".toml", ".md", ".txt", ".json"}
NOT_DONE = "it has not been done"


@dataclass(frozen=True)
class Asking:
    """How a stage may ask an outside service; by default it may not.

    Attributes:
        offline: Ask nobody.
        plan: Only say what would have to be paid.
        confirmed: Ask, however much it is.
        pinned: The journals beside the manifest that the lock pins: nothing may be added to them.
        passing: Shows a line until the next one; an empty one takes it away.
    """

    offline: bool = True
    plan: bool = False
    confirmed: bool = False
    pinned: frozenset[str] = frozenset()
    passing: Callable[[str], None] = lambda line: None


NOBODY = Asking()


@dataclass(frozen=True)
class Inputs:
    """All that a stage may read.

    Attributes:
        config: The manifest's sections that the stage names, and no others.
        tables: Tables of earlier stages by `<stage>/<table>`, validated.
        source_root: Folder of the source files.
        manifest_folder: Folder that decision files are relative to.
        work: Work folder, for a stage that passes on what earlier ones wrote.
        asking: How outside services may be asked.
        withdrawals: Name of the file in the manifest's folder that lists withdrawn photographs.
    """

    config: Mapping[str, Any]
    tables: Mapping[str, pa.Table]
    source_root: Path
    manifest_folder: Path
    work: Path
    asking: Asking = NOBODY
    withdrawals: str = "withdrawn.jsonl"


@dataclass(frozen=True)
class Output:
    """All that a stage made.

    Attributes:
        tables: Kept records by table name, sorted by id.
        verdicts: Hard verdicts reject, soft ones flag.
        entered: Records that entered, by kind: their ids, or their number where ids may repeat.
        read: Outside files that were read, as `root:path` with root `source`, `manifest` or `work`, to sha256; None for
            one that was not there. With a slash at its end it is a folder, and the hash is that of the names in it.
        facts: What else the receipt should say.
        attachments: Further files by name.
        fill: Writes a whole folder of further files, called with that folder.
        waiting: Queue items that people have to answer first; then nothing is written but the queue.
    """

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    entered: Mapping[str, int | Sequence[str]] = field(default_factory=dict)
    read: Mapping[str, str | None] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    attachments: Mapping[str, bytes] = field(default_factory=dict)
    fill: tuple[str, Callable[[Path], None]] | None = None
    waiting: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Records:
    """What a table holds: records of a schema, with some fields left out that a later stage joins."""

    schema: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stage:
    """One stage of a benchmark.

    Attributes:
        name: Number and verb, such as `20_filter`.
        run: The function.
        config: Sections of the manifest that it reads.
        reads: Tables of earlier stages, as `<stage>/<table>`.
        writes: Tables it makes, name to what they hold.
        accounts: Kind of record to (table, id column) that holds the kept ones.
        cause: Name under which the manifest's `refill` lists its rejections; empty if they never refill.
    """

    name: str
    run: Callable[[Inputs], Output]
    config: tuple[str, ...]
    reads: tuple[str, ...]
    writes: Mapping[str, Records]
    accounts: Mapping[str, tuple[str, str]]
    cause: str = ""


@dataclass(frozen=True)
class Place:
    """Where a build happens.

    Attributes:
        manifest: The manifest.
        work: The work folder.
        source_root: Folder of the source files; for generated ones below the work folder.
        records: What every table holds, by `<stage>/<table>`.
    """

    manifest: Manifest
    work: Path
    source_root: Path
    records: Mapping[str, Records]

    def outside(self, key: str) -> Path:
        """The file that a receipt calls `source:...`, `manifest:...` or `work:...`."""
        root, _, path = key.partition(":")
        return {"source": self.source_root, "manifest": self.manifest.path.parent, "work": self.work}[root] / path


@cache
def package_digest() -> str:
    """One hash over the package's sources, schemas, licence table and the libraries that shape its output."""
    parts: dict[str, str] = {name: metadata.version(name) for name in LIBRARIES}
    for label, folder in (("package", package_dir()), ("schemas", schema_dir())):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in SOURCE_SUFFIXES:
                parts[f"{label}/{path.relative_to(folder).as_posix()}"] = sha256_file(path)
    parts["licences"] = sha256_file(manifest_dir() / "licences.toml")
    return sha256_bytes(canonical_json(parts))


def read_receipt(place: Place, name: str) -> dict[str, Any] | None:
    """The stage's receipt, or None if it is not done (or its receipt cannot be read as one)."""
    path = place.work / name / "receipt.json"
    try:
        receipt = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if schema.errors("receipt", receipt) else receipt


def table_path(place: Place, table: str) -> Path:
    """Where a table called `<stage>/<table>` lies."""
    return place.work / f"{table}.parquet"


def read_table(place: Place, table: str) -> pa.Table:
    """A stage's table, validated on the way in."""
    path = table_path(place, table)
    try:
        with pq.ParquetFile(path) as file:
            content = file.read()
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: the table cannot be read: {error}") from None
    held = place.records[table]
    schema.require_table(held.schema, content, table, content.column_names[0], held.without)
    return content


def _expected(place: Place, stage: Stage) -> dict[str, Any]:
    return {
        "config": sha256_bytes(canonical_json(place.manifest.section(*stage.config))),
        "package": package_digest(),
        "inputs": {table: sha256_if_there(table_path(place, table)) for table in stage.reads},
    }


def _outside_sha256(place: Place, key: str) -> str | None:
    path = place.outside(key)
    if not key.endswith("/"):
        return sha256_if_there(path)
    try:
        return names_sha256(path)
    except OSError:
        return None


def why_stale(place: Place, stage: Stage) -> str | None:
    """Why the stage has to run, or None if it is up to date."""
    receipt = read_receipt(place, stage.name)
    if receipt is None:
        return NOT_DONE
    for key, value in _expected(place, stage).items():
        if receipt[key] != value:
            return {"config": "the manifest", "package": "the code", "inputs": "an earlier stage"}[key] + " has changed"
    for key, value in receipt["files"].items():
        if _outside_sha256(place, key) != value:
            return f"{key.partition(':')[2]} has changed"
    for name, value in receipt["outputs"].items():
        if sha256_if_there(place.work / stage.name / name) != value:
            return f"its output {name} has changed"
    return None


def account(stage: Stage, output: Output) -> dict[str, Any]:
    """The row account of every kind of record.

    Raises:
        DataError: A record entered that is neither kept nor rejected, or is both, or came from nowhere.
    """
    accounts: dict[str, Any] = {}
    problems = []
    hard = [verdict for verdict in output.verdicts if verdict.hard]
    stray = {verdict.kind for verdict in hard} - set(stage.accounts)
    problems += [Problem(stage.name, kind, "", "rejected, but the stage keeps no account of it") for kind in stray]
    for kind, (table, id_column) in stage.accounts.items():
        entered = output.entered[kind]
        rejected = [verdict for verdict in hard if verdict.kind == kind]
        kept = output.tables[table].column(id_column).to_pylist() if id_column else []
        kept_rows = output.tables[table].num_rows
        rows_in = entered if isinstance(entered, int) else len(entered)
        if rows_in != kept_rows + len(rejected):
            told = f"{rows_in} in, but {kept_rows} kept and {len(rejected)} rejected"
            problems.append(Problem(stage.name, kind, "", told))
        if not isinstance(entered, int):
            balance = Counter(entered)
            balance.subtract(kept)
            balance.subtract(verdict.record_id for verdict in rejected)
            for record_id in sorted(key for key, left in balance.items() if left):
                told = "has no verdict" if balance[record_id] > 0 else "is kept or rejected more often than it entered"
                problems.append(Problem(stage.name, f"{kind} {record_id}", "", told))
        by_rule = Counter(verdict.rule for verdict in rejected)
        accounts[kind] = {"in": rows_in, "kept": kept_rows, "rejected": dict(sorted(by_rule.items()))}
    if problems:
        raise DataError(f"{stage.name}: the row account does not add up", problems)
    return accounts


def _read_inputs(place: Place, stage: Stage, asking: Asking) -> Inputs:
    return Inputs(
        config=place.manifest.section(*stage.config),
        tables={table: read_table(place, table) for table in stage.reads},
        source_root=place.source_root,
        manifest_folder=place.manifest.path.parent,
        work=place.work,
        asking=asking,
        withdrawals=place.manifest.withdrawals_path.name,
    )


def _write_output(stage: Stage, output: Output, folder: Path) -> None:
    for name, held in stage.writes.items():
        table = output.tables[name]
        schema.require_table(held.schema, table, f"{stage.name}/{name}", table.column_names[0], held.without)
        write_table(table, folder / f"{name}.parquet")
    for name, hard in (("rejected", True), ("flagged", False)):
        table = to_table(verdict for verdict in output.verdicts if verdict.hard is hard)
        schema.require_table("verdict", table, f"{stage.name}/{name}", "record_id")
        write_table(table, folder / f"{name}.parquet")
    for name, content in output.attachments.items():
        (folder / name).write_bytes(content)
    if output.fill is not None:
        name, fill = output.fill
        (folder / name).mkdir()
        fill(folder / name)


def queue_path(place: Place, name: str) -> Path:
    """Where a stage's unanswered queue items lie."""
    return place.work / "queue" / f"{name}.jsonl"


def not_applied_path(place: Place, name: str) -> Path:
    """Where the decisions lie that a waiting stage has found and not applied, each with the reason."""
    return place.work / "queue" / f"{name}.not_applied.jsonl"


def _write_waiting(place: Place, name: str, output: Output) -> None:
    lines = b"".join(canonical_json(item) + b"\n" for item in output.waiting)
    write_atomic(queue_path(place, name), lines)
    stale = [asdict(verdict) for verdict in output.verdicts if verdict.kind == "decision"]
    if stale:
        write_atomic(not_applied_path(place, name), b"".join(canonical_json(row) + b"\n" for row in stale))
    else:
        not_applied_path(place, name).unlink(missing_ok=True)


def run(place: Place, stage: Stage, asking: Asking = NOBODY) -> Output:
    """Runs one stage through the corridor and leaves its folder with a receipt, or its queue and no receipt.

    Raises:
        DataError: The data, the account or a schema is wrong; then nothing is left in the stage's folder's place.
    """
    started = time.monotonic()
    expected = _expected(place, stage)
    output = stage.run(_read_inputs(place, stage, asking))
    if output.waiting:
        _write_waiting(place, stage.name, output)
        return output
    accounts = account(stage, output)
    temporary = fresh_folder(place.work / f".{stage.name}.tmp")
    try:
        _write_output(stage, output, temporary)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    outputs = {
        path.relative_to(temporary).as_posix(): sha256_file(path)
        for path in sorted(temporary.rglob("*"))
        if path.is_file()
    }
    flagged = Counter(verdict.rule for verdict in output.verdicts if not verdict.hard)
    receipt = {
        "stage": stage.name,
        **expected,
        "files": dict(output.read),
        "outputs": outputs,
        "accounts": accounts,
        "flagged": dict(sorted(flagged.items())),
        "facts": dict(output.facts),
        "seconds": round(time.monotonic() - started, 3),
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    problems = schema.record_problems("receipt", [receipt], f"{stage.name}/receipt.json", "stage")
    if problems:
        raise DataError(f"{stage.name}: its receipt breaks the schema", problems)
    replace_folder(temporary, place.work / stage.name)
    write_atomic(place.work / stage.name / "receipt.json", readable_json(receipt))
    for path in (queue_path(place, stage.name), not_applied_path(place, stage.name)):
        path.unlink(missing_ok=True)
    return output
