# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether manifest.json of a release agrees with itself and with the rows: facts, rights, the manifest in it, digests.

What the rows cannot tell, such as who decided, is held against the manifest in it alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from groundset import __version__, schema
from groundset.errors import Problem
from groundset.licences import CODE_LICENCE
from groundset.release.attribution import SourceRights
from groundset.release.diff import changes
from groundset.release.facts import WRITERS, Facts, configs_of, simulated
from groundset.release.record import ReleaseRecord, encode
from groundset.withdrawals import REASONS

FILE = "manifest.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")
# what a build records digests of, whatever it builds; package.write_release adds those of the photographs
_DIGESTS = ("imported", "decisions", "photographs")
_SOURCE = ("name", "kind", "annotations_licence", "annotations_credit", "url")


def _plain(value: Any) -> Any:
    """The value as JSON holds it."""
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def form_problems(content: bytes, record: ReleaseRecord) -> list[Problem]:
    """Where manifest.json holds what this version of groundset does not write, or is written in another way.

    Args:
        content: The file.
        record: What was read from it.
    """
    right = encode(record)
    if record.facts.groundset_version != __version__ or content == right.encode():
        return []
    strange = [
        Problem(FILE, "", change.path, f"a release has {change.new!r} there, not {change.old!r}")
        for change in changes(json.loads(content), json.loads(right))
    ]
    form = Problem(FILE, "", "", "it is not in its one form: sorted keys, each once, no blanks, a line feed at the end")
    return strange or [form]


def _manifest_problems(record: ReleaseRecord) -> list[Problem]:
    """Where the manifest in it is none."""
    root = record.manifest.get("source_root")
    # where the files lay is not recorded
    whole = {"path": ".", **root} if isinstance(root, Mapping) and root.get("kind") == "folder" else root
    version = record.facts.groundset_version
    hint = "" if version == __version__ else f"use groundset {version}"
    return [
        Problem(FILE, "", f"$.manifest{where[1:]}", message, hint)
        for where, message in schema.errors("manifest", {**record.manifest, "source_root": whole})
    ]


def _told_twice(facts: Facts, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(name of the fact, the fact, what the manifest makes it), of all that both tell."""
    yield from ((key, getattr(facts, key), manifest[key]) for key in ("benchmark", "name", "version"))
    yield "image_policy", facts.image_policy, manifest["images"]["policy"]
    for key, value in manifest["card"].items():
        # a build may add limits of its own
        told = facts.limitations[: len(value)] if key == "limitations" else getattr(facts, key)
        yield key, told, value
    stated = [tuple(getattr(source, key) for key in _SOURCE) for source in facts.sources]
    yield "sources", stated, [tuple(source[key] for key in _SOURCE) for source in manifest["sources"]]
    yield "simulated", facts.simulated, simulated(manifest)
    kind = manifest.get("writer", {}).get("kind", "")
    if kind in WRITERS:
        yield "writer", facts.writer, WRITERS[kind]
    elif kind == "llm" and manifest["writer"]["model"] not in facts.writer:
        yield "writer", facts.writer, manifest["writer"]["model"]


def is_drawn(record: ReleaseRecord) -> bool:
    """Whether groundset itself drew the pictures, so that they have no author and no page."""
    root = record.manifest.get("source_root")
    return isinstance(root, Mapping) and root.get("kind") == "miniworld"


def record_problems(record: ReleaseRecord) -> list[Problem]:
    """Where manifest.json contradicts itself."""
    problems = _manifest_problems(record)
    if not problems:
        problems += [
            Problem(FILE, "", f"$.facts.{key}", f"{outer!r}, but the manifest in it says {within!r}")
            for key, outer, within in _told_twice(record.facts, record.manifest)
            if _plain(outer) != _plain(within)
        ]
    facts, rights = record.facts, record.rights
    sources = {
        source.name: SourceRights(source.annotations_licence, source.annotations_credit, source.url)
        for source in facts.sources
    }
    for key, stated, right in (
        ("texts", rights.texts, facts.texts_licence),
        ("code", rights.code, CODE_LICENCE),
        ("sources", rights.sources, sources),
    ):
        if stated != right:
            problems.append(Problem(FILE, "", f"$.rights.{key}", f"it is {stated!r}, the facts make it {right!r}"))
    for place, step in enumerate(facts.funnel):
        if step.rows_in != step.kept + sum(step.rejected.values()):
            message = f"{step.rows_in} {step.unit} in, but {step.kept} kept and {sum(step.rejected.values())} rejected"
            problems.append(Problem(FILE, "", f"$.facts.funnel[{place}]", message))
    return problems + list(_digest_problems(record.digests, "$.digests"))


def _digest_problems(digests: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for name in _DIGESTS if path == "$.digests" else ():
        if not digests.get(name):
            yield Problem(FILE, "", f"{path}.{name}", "there is no digest of what went in")
    for name, value in digests.items():
        if isinstance(value, Mapping):
            yield from _digest_problems(value, f"{path}.{name}")
        elif not isinstance(value, str) or not _SHA256.fullmatch(value):
            yield Problem(FILE, "", f"{path}.{name}", f"{value!r} is no sha256")


def row_problems(record: ReleaseRecord, tables: Mapping[str, pa.Table]) -> list[Problem]:
    """Where manifest.json counts otherwise than the rows, or names photographs that are not theirs.

    Args:
        record: manifest.json.
        tables: Config to its rows, which keep their schema; a config that could not be read is left out.
    """
    problems = []
    expected = {config.name: config.schema for config in configs_of(record.facts)}
    stated = {name: table.schema for name, table in record.tables.items()}
    if stated != expected:
        problems.append(Problem(FILE, "", "$.tables", f"the tables are {stated}, not {expected}"))
    for name, table in sorted(record.tables.items()):
        if name in tables and table.rows != tables[name].num_rows:
            message = f"it says {table.rows} rows, the files hold {tables[name].num_rows}"
            problems.append(Problem(FILE, name, "$.tables", message))
    if "images" in tables:
        problems += _photograph_problems(record, tables["images"])
    if "dialogues" in tables:
        problems += [
            *_strata_problems(record.facts, tables["dialogues"]),
            *_writer_problems(record, tables["dialogues"]),
        ]
    return problems + list(_funnel_problems(record.facts, tables))


def _funnel_problems(facts: Facts, tables: Mapping[str, pa.Table]) -> Iterator[Problem]:
    if not facts.funnel:
        yield Problem(FILE, "", "$.facts.funnel", "it names no stage")
        return
    # images are counted at the import alone
    last = {step.unit: step for step in facts.funnel if step.unit in tables and step.unit != "images"}
    for step in last.values():
        rows = tables[step.unit].num_rows
        if step.kept != rows:
            message = f"{step.stage} kept {step.kept} {step.unit}, the files hold {rows}"
            yield Problem(FILE, step.unit, "$.facts.funnel", message)


def _strata_problems(facts: Facts, dialogues: pa.Table) -> Iterator[Problem]:
    have = Counter(dialogues["stratum"].to_pylist())
    stated = Counter({row.stratum: row.have for row in facts.strata})
    for name in sorted(have | stated):
        if have[name] != stated[name]:
            message = f"it says that {name} has {stated[name]}, the files hold {have[name]}"
            yield Problem(FILE, name, "$.facts.strata", message)


def _writer_problems(record: ReleaseRecord, dialogues: pa.Table) -> Iterator[Problem]:
    table = record.manifest.get("writer")
    if not isinstance(table, Mapping) or "writer" not in dialogues.column_names:
        return
    for row in dialogues.select(["dialogue_id", "writer"]).to_pylist():
        if row["writer"] != table.get("kind"):
            message = f"{row['writer']!r}, but the manifest in manifest.json says {table.get('kind')!r}"
            yield Problem("dialogues", row["dialogue_id"], "$.writer", message)


def _photograph_problems(record: ReleaseRecord, images: pa.Table) -> Iterator[Problem]:
    rows = images.select(["image_id", "sha256", "source", "source_name"]).to_pylist()
    if record.digests.get("photographs") != {row["image_id"]: row["sha256"] for row in rows}:
        message = "the digests of photographs are not those of the config images"
        yield Problem(FILE, "", "$.digests.photographs", message)
    sources = {source.name: source for source in record.facts.sources}
    count = Counter(row["source_name"] for row in rows)
    for name, source in sources.items():
        if source.images != count[name]:
            message = f"it says {source.images} photographs of {name}, the files hold {count[name]}"
            yield Problem(FILE, name, "$.facts.sources", message)
    held = set()
    for row in rows:
        held.add(row["image_id"])
        known = sources.get(row["source_name"])
        if known is None:
            message = f"{row['source_name']!r} is no source of the release: {', '.join(sources)}"
            yield Problem("images", row["image_id"], "$.source_name", message)
        # published records tell of each photograph where it comes from
        elif known.kind not in (row["source"], "fpco-published"):
            message = f"{row['source']!r}, but {known.name} is of the kind {known.kind}"
            yield Problem("images", row["image_id"], "$.source", message)
    for place, gone in enumerate(record.facts.withdrawn):
        path = f"$.facts.withdrawn[{place}]"
        if gone.image_id in held:
            told = "the photograph is withdrawn, and still in the release"
            yield Problem(FILE, gone.image_id, path, told, "build the release anew")
        if gone.reason not in REASONS:
            yield Problem(FILE, gone.image_id, f"{path}.reason", f"it is none of {', '.join(REASONS)}")
