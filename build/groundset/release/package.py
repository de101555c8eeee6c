# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a release's folder from the finished tables and the checked photographs."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from groundset.errors import DataError, Problem, UsageError
from groundset.files import sha256_bytes
from groundset.licences import Licence, by_address, by_spdx, credit_line, may_embed
from groundset.paths import schema_dir
from groundset.release.attribution import CHANGES, Rights, SourceRights, attribution_csv, licence_page, licence_texts
from groundset.release.card import card
from groundset.release.checksums import CHECKSUMS, file_digests, listing
from groundset.release.croissant import CROISSANT, File, croissant
from groundset.release.facts import WITH_IMAGE, Config, Facts, configs_of
from groundset.release.figures import figures
from groundset.release.parquet import IMAGE_COLUMN, Embedded, Size, write_config
from groundset.release.record import ReleaseRecord, TableRecord, encode
from groundset.schema import table_problems
from groundset.schema_types import arrow_schema


def _licence(image: Mapping[str, Any]) -> Licence | None:
    return by_spdx(image["licence"]) if image["licence"] else by_address(image["licence_source"])


def _rights_problem(image: Mapping[str, Any]) -> Problem | None:
    licence = _licence(image)
    stated = image["licence"] or image["licence_source"]
    if licence is None:
        message = f"the licence is not known: {stated!r}" if stated else "the source states no licence"
        hint = "add it to manifests/licences.toml once you have read it, or leave the photograph out"
        return Problem(image["source_name"], image["image_id"], "$.licence", message, hint)
    if not licence.photograph:
        return Problem(
            image["source_name"], image["image_id"], "$.licence", f"{licence.spdx} is no licence of photographs"
        )
    return None


def _credit_problem(image: Mapping[str, Any]) -> Problem:
    lacking = "no photo page" if image["source"] == "coco" else "no author or no landing page"
    return Problem(
        image["source_name"],
        image["image_id"],
        "$.credit",
        f"the credit is missing: {lacking}",
        "complete the source's metadata, or leave the photograph out",
    )


def _landing_url(image: Mapping[str, Any]) -> str | None:
    if image["landing_url"] or not image["flickr_id"]:
        return image["landing_url"] or None
    return f"https://www.flickr.com/photo.gne?id={image['flickr_id']}"


def build_image_rows(
    images: pa.Table,
    photographs: pa.Table,
    policy: str,
    addresses: Mapping[str, str | None],
    drawn_sources: Collection[str] = (),
) -> pa.Table:
    """The rows of the config `images`, one a photograph, with rights and credit.

    Args:
        images: Table of `schemas/image`; rows without a photograph are left aside.
        photographs: Table of `schemas/photograph`: exactly the photographs of the release.
        policy: Image policy: reference-only, permissive or non-commercial.
        addresses: Image id to where the very file can be fetched; an image that is not in it has no address.
        drawn_sources: Names of sources whose pictures groundset itself drew.

    Returns:
        Table of `schemas/release_image`, sorted by image_id.

    Raises:
        DataError: A photograph's licence is unknown or its credit missing; names each of them.
        UsageError: The policy is not known.
    """
    described = {row["image_id"]: row for row in images.to_pylist()}
    rows: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for photograph in sorted(photographs.to_pylist(), key=lambda row: str(row["image_id"])):
        image = described.get(photograph["image_id"])
        if image is None:
            problems.append(Problem("photographs", photograph["image_id"], "", "no source describes this photograph"))
            continue
        licence = _licence(image)
        wrong = _rights_problem(image)
        drawn = image["source_name"] in drawn_sources
        page = _landing_url(image)
        spdx = licence.spdx if licence else ""
        credit = credit_line(image["source"], image["title"], image["author"], page, spdx, drawn=drawn)
        problems += [problem for problem in (wrong, None if credit else _credit_problem(image)) if problem]
        if licence is None or wrong or credit is None:
            continue
        rows.append(
            {
                **{key: image[key] for key in ("image_id", "source", "source_name", "source_image_id")},
                **{key: image[key] for key in ("title", "author", "author_url")},
                "landing_url": page,
                "image_url": addresses.get(image["image_id"]),
                "original_url": image["original_url"],
                "credit": credit,
                "licence": spdx,
                "licence_url": licence.address,
                "changes": CHANGES,
                **{key: photograph[key] for key in ("width", "height", "bytes", "sha256")},
                "embedded": may_embed(spdx, policy),
            }
        )
    if problems:
        raise DataError("photographs without a known licence or a sufficient credit cannot be released", problems)
    return pa.Table.from_pylist(rows, schema=arrow_schema("release_image"))


def _table_problems(config: Config, table: pa.Table) -> list[Problem]:
    without = {IMAGE_COLUMN} & set(arrow_schema(config.schema).names)
    problems = table_problems(config.schema, table, config.name, config.key[0], without)
    if not table.num_rows:
        hint = "groundset status and explain tell what the stages rejected, and why"
        problems.append(Problem(config.name, "", "", "the table has no rows: there is nothing to release", hint))
    return problems


def _image_problems(
    facts: Facts, tables: Mapping[str, pa.Table], images: pa.Table, paths: Mapping[str, Path]
) -> list[Problem]:
    problems: list[Problem] = []
    used = {image_id for table in tables.values() for image_id in table["image_id"].to_pylist()}
    rows = {row["image_id"]: row for row in images.to_pylist()}
    problems += [
        Problem("images", name, "", "rows use this photograph, but it has no row") for name in used - set(rows)
    ]
    problems += [Problem("images", name, "", "no row uses this photograph") for name in set(rows) - used]
    for name, row in rows.items():
        licence = by_spdx(row["licence"])
        if licence is None or not licence.photograph:
            problems.append(
                Problem("images", name, "$.licence", f"unknown licence of a photograph: {row['licence']!r}")
            )
            continue
        if not row["credit"].strip():
            problems.append(Problem("images", name, "$.credit", "the credit is missing"))
        if row["embedded"] != may_embed(licence.spdx, facts.image_policy):
            message = f"{licence.spdx} is {'not ' if row['embedded'] else ''}embedded under {facts.image_policy}"
            problems.append(Problem("images", name, "$.embedded", message))
        if row["embedded"] and name not in paths:
            problems.append(Problem("images", name, "", "it is to be embedded, but nothing says where its file lies"))
    return problems


def _require_ready(facts: Facts, tables: Mapping[str, pa.Table], images: pa.Table, paths: Mapping[str, Path]) -> None:
    configs = {config.name: config for config in configs_of(facts)}
    expected = sorted(set(configs) - {"images"})
    if sorted(set(tables) - {"images"}) != expected:
        raise UsageError(f"a release of {facts.benchmark} has the tables {', '.join(expected)}, not {sorted(tables)}")
    problems = [problem for name in expected for problem in _table_problems(configs[name], tables[name])]
    problems += table_problems("release_image", images, "images", "image_id")
    if not problems:
        problems = _image_problems(facts, {name: tables[name] for name in expected}, images, paths)
    for spdx in sorted({facts.texts_licence, *(source.annotations_licence for source in facts.sources)}):
        if by_spdx(spdx) is None:
            problems.append(Problem("manifest", "", "", f"licence {spdx!r} is not in manifests/licences.toml"))
    if problems:
        raise DataError("the release cannot be written", problems)


def _write_text(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8"))


def _write_folder(
    folder: Path,
    facts: Facts,
    tables: Mapping[str, pa.Table],
    images: pa.Table,
    embedded: Mapping[str, Embedded],
    record: ReleaseRecord,
) -> None:
    sizes: dict[str, Size] = {}
    for config in configs_of(facts):
        carried = embedded if config.name == WITH_IMAGE[facts.benchmark] else {}
        sizes[config.name] = write_config(folder, config, tables[config.name], carried)
    for config in configs_of(facts):
        name = f"{config.schema}.schema.json"
        _write_text(folder / "schemas" / name, (schema_dir() / name).read_text(encoding="utf-8"))
    for name, content in licence_texts(record.rights, images).items():
        _write_text(folder / "LICENSES" / name, content)
    _write_text(folder / "LICENSE.md", licence_page(facts.title, record.rights, images, facts.image_policy))
    _write_text(folder / "ATTRIBUTION.csv", attribution_csv(images))
    _write_text(folder / "manifest.json", encode(record))
    drawn = figures(facts, tables, images)
    for figure in drawn.values():
        _write_text(folder / figure.path, figure.svg)
    _write_text(folder / "README.md", card(facts, tables, images, sizes, drawn))
    digests = file_digests(folder)
    files = [File(name, (folder / name).stat().st_size, digest) for name, digest in digests.items()]
    described = croissant(facts, record.rights, images, files)
    _write_text(folder / CROISSANT, described)
    _write_text(folder / CHECKSUMS, listing({**digests, CROISSANT: sha256_bytes(described.encode())}))


def write_release(
    out: Path,
    facts: Facts,
    tables: Mapping[str, pa.Table],
    images: pa.Table,
    photograph_paths: Mapping[str, Path],
    manifest: Mapping[str, Any],
    digests: Mapping[str, Any],
) -> None:
    """Writes the whole release beside `out` and moves it there when it is complete.

    Args:
        out: Folder of the release; missing or empty.
        facts: What the release says of itself.
        tables: Config to its rows, without the column `image` and without the config `images`.
        images: Table of `schemas/release_image`: exactly the photographs that the rows use.
        photograph_paths: image_id to the file of each photograph that is embedded.
        manifest: The manifest, as manifest.json shall hold it.
        digests: Digests of canonical imported tables, decisions, journals and code; those of photographs are added.

    Raises:
        DataError: A row breaks its schema, or a photograph has an unknown licence, lacks its credit, cannot be read or
            is not the one that was checked; names each of them.
        UsageError: `out` holds something already, or a table is missing.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not an empty folder: a release is never written over another")
    _require_ready(facts, tables, images, photograph_paths)
    embedded = {
        row["image_id"]: Embedded(
            photograph_paths[row["image_id"]],
            row["image_id"] + photograph_paths[row["image_id"]].suffix.lower(),
            row["bytes"],
            row["sha256"],
        )
        for row in images.to_pylist()
        if row["embedded"]
    }
    whole = {**tables, "images": images}
    configs = configs_of(facts)
    photographs = {row["image_id"]: row["sha256"] for row in images.to_pylist()}
    sources = {
        source.name: SourceRights(source.annotations_licence, source.annotations_credit, source.url)
        for source in facts.sources
    }
    record = ReleaseRecord(
        facts=facts,
        rights=Rights(facts.texts_licence, sources),
        tables={config.name: TableRecord(config.schema, whole[config.name].num_rows) for config in configs},
        manifest=dict(manifest),
        digests={**digests, "photographs": photographs},
    )
    encode(record)  # refuses what is not JSON before anything is written
    partial = out.with_name(f"{out.name}.partial")
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    _write_folder(partial, facts, whole, images, embedded, record)
    if out.exists():
        out.rmdir()
    partial.rename(out)
