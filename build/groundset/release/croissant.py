# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""croissant.json of a release: Croissant 1.1 with the Responsible AI fields, from facts, schemas and rows.

The document is written here as plain JSON, so that a release needs no library for it; the tests and `groundset verify`
hold it against mlcroissant. Boxes are arrays of numbers and not `cr:BoundingBox`, which no reader takes within a list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from groundset.licences import by_spdx
from groundset.release.attribution import LicenceCount, Rights, count_licences
from groundset.release.facts import SPLIT, Config, Facts, configs_of
from groundset.schema_types import Schema, is_image, load, types

CROISSANT = "croissant.json"
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
LICENCES = "licences"

_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES: Mapping[str, str] = {
    "string": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
}
_ENCODINGS: Mapping[str, str] = {
    "parquet": "application/x-parquet",
    "json": "application/json",
    "csv": "text/csv",
    "md": "text/markdown",
    "svg": "image/svg+xml",
}


def _shape(node: Schema) -> tuple[list[str], Schema]:
    """Lengths of nested lists, -1 where they vary, and what their items are."""
    lengths = []
    while "items" in node and not is_image(node):
        fixed = node.get("minItems") if node.get("minItems") == node.get("maxItems") else None
        lengths.append(str(fixed or -1))
        node = node["items"]
    return lengths, node


def _field(parent: str, name: str, node: Schema, files: str, column: str) -> dict[str, Any]:
    lengths, inner = _shape(node)
    field: dict[str, Any] = {"@type": "cr:Field", "@id": f"{parent}/{name}", "name": name}
    if node.get("description"):
        field["description"] = node["description"]
    if lengths:
        field |= {"isArray": True, "arrayShape": ",".join(lengths)}
    source: dict[str, Any] = {"fileSet": {"@id": files}, "extract": {"column": column}}
    if is_image(inner):
        return {**field, "dataType": "sc:ImageObject", "source": {**source, "transform": {"jsonPath": "bytes"}}}
    (kind,), _ = types(inner)
    if kind == "object":
        # no reader takes a source of the whole: each of its fields is picked out of the column by name
        parts = [_field(field["@id"], key, child, files, column) for key, child in inner["properties"].items()]
        return {**field, "subField": parts}
    if column != name:
        source["transform"] = {"jsonPath": name}
    return {**field, "dataType": _TYPES[kind], "source": source}


def _record_set(config: Config) -> dict[str, Any]:
    # no `references`: readers of Croissant join on them, and a join of `image_id` multiplies the rows
    properties = load(config.schema)["properties"].items()
    return {
        "@type": "cr:RecordSet",
        "@id": config.name,
        "name": config.name,
        "description": f"One row: {config.about}.",
        "key": [{"@id": f"{config.name}/{column}"} for column in config.key],
        "field": [_field(config.name, name, node, f"{config.name}-files", name) for name, node in properties],
    }


def _licence_set(counts: Mapping[str, LicenceCount]) -> dict[str, Any]:
    columns = {
        "licence": "sc:Text",
        "licence_url": "sc:URL",
        "title": "sc:Text",
        "photographs": "sc:Integer",
        "embedded": "sc:Integer",
        "referenced": "sc:Integer",
    }
    rows = []
    for spdx, count in counts.items():
        licence = by_spdx(spdx)
        told = {
            "licence": spdx,
            "licence_url": licence.address if licence else "",
            "title": licence.title if licence else "",
            "photographs": count.photographs,
            "embedded": count.embedded,
            "referenced": count.referenced,
        }
        rows.append({f"{LICENCES}/{name}": value for name, value in told.items()})
    return {
        "@type": "cr:RecordSet",
        "@id": LICENCES,
        "name": LICENCES,
        "description": "The licences of the photographs, and how many photographs of the release are under each.",
        "key": {"@id": f"{LICENCES}/licence"},
        "field": [
            {"@type": "cr:Field", "@id": f"{LICENCES}/{name}", "name": name, "dataType": kind}
            for name, kind in columns.items()
        ],
        "data": rows,
    }


@dataclass(frozen=True)
class File:
    """A file of the release.

    Attributes:
        path: Where it lies, relative to the release's folder.
        bytes: Its length.
        sha256: Its hash.
    """

    path: str
    bytes: int
    sha256: str


def _file_object(file: File) -> dict[str, Any]:
    suffix = file.path.rpartition(".")[2]
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": _ENCODINGS.get(suffix, "text/plain"),
        "sha256": file.sha256,
    }


def _file_set(config: Config) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{config.name}-files",
        "name": f"{config.name}-files",
        "description": f"The shards of the config {config.name}.",
        "encodingFormat": "application/x-parquet",
        "includes": f"data/{config.name}/{SPLIT}-*.parquet",
    }


def _creative_work(spdx: str, what: str) -> dict[str, Any]:
    licence = by_spdx(spdx)
    return {
        "@type": "sc:CreativeWork",
        "name": spdx,
        "url": licence.address if licence else None,
        "description": what,
    }


def _licences(rights: Rights, counts: Mapping[str, LicenceCount]) -> list[dict[str, Any]]:
    """The four kinds of rights, kept apart (design, section 9)."""
    found = [_creative_work(rights.texts, "annotations and texts made for this release")]
    found += [
        _creative_work(source.licence, f"annotations and dialogues of {name}: {source.credit}")
        for name, source in sorted(rights.sources.items())
    ]
    found += [
        _creative_work(
            spdx,
            f"{count.photographs} photographs: {count.embedded} embedded, {count.referenced} referenced;"
            " the column licence says which",
        )
        for spdx, count in counts.items()
    ]
    return [*found, _creative_work(rights.code, "the code that built the release, and its schemas")]


def _provenance(facts: Facts) -> dict[str, Any]:
    sources = [
        {
            "@type": "prov:Entity",
            "@id": source.url if source.url != "none" else f"#source-{source.name}",
            "name": source.name,
            "description": f"{source.annotations_credit}, {source.annotations_licence}; {source.images} photographs",
        }
        for source in facts.sources
    ]
    steps = [
        {
            "@type": "prov:Activity",
            "@id": f"#{step.stage}-{step.unit}",
            "name": step.stage,
            "description": f"{step.rows_in} {step.unit} in, {step.kept} kept"
            + "".join(f", {count} rejected by {rule}" for rule, count in sorted(step.rejected.items())),
        }
        for step in facts.funnel
    ]
    return {"prov:wasDerivedFrom": sources, "prov:wasGeneratedBy": steps}


def _responsible_ai(facts: Facts) -> dict[str, Any]:
    annotation = [f"{facts.annotators} Pay: {facts.annotator_pay}", *facts.simulated]
    told = {
        "rai:dataUseCases": list(facts.use_cases),
        "rai:dataLimitations": list(facts.limitations),
        "rai:dataBiases": list(facts.biases),
        "rai:personalSensitiveInformation": facts.personal_information,
        "rai:dataSocialImpact": facts.social_impact,
        "rai:dataAnnotationProtocol": annotation,
        "rai:hasSyntheticData": bool(facts.writer or facts.simulated),
    }
    return told | ({"rai:machineAnnotationTools": [facts.writer]} if facts.writer else {})


def croissant(facts: Facts, rights: Rights, images: pa.Table, files: Sequence[File]) -> str:
    """croissant.json.

    Args:
        facts: What the release says of itself.
        rights: The rights that do not differ from photograph to photograph.
        images: Table of `schemas/release_image`.
        files: Every file of the release but this one and SHA256SUMS.
    """
    counts = count_licences(images)
    configs = configs_of(facts)
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": facts.name,
        "alternateName": facts.title,
        "description": facts.summary,
        "conformsTo": list(CONFORMS_TO),
        "version": facts.version,
        "datePublished": facts.published,
        "url": facts.url,
        "inLanguage": list(facts.language),
        # a person or a group: the manifest does not say which
        "creator": [{"@type": "sc:Organization", "name": name} for name in facts.authors],
        "citeAs": facts.citation,
        "license": _licences(rights, counts),
        "usageInfo": "LICENSE.md",
        "isLiveDataset": False,
        **_responsible_ai(facts),
        **_provenance(facts),
        "distribution": [
            *(_file_object(file) for file in sorted(files, key=lambda file: file.path)),
            *(_file_set(config) for config in configs),
        ],
        "recordSet": [*(_record_set(config) for config in configs), _licence_set(counts)],
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def stated_licences(document: Mapping[str, Any]) -> dict[str, LicenceCount]:
    """Licence to the photographs that croissant.json counts under it; what `croissant` writes, read back.

    Raises:
        KeyError, TypeError: The document has no such record set, or one of another form.
    """
    (found,) = (row for row in document["recordSet"] if row["@id"] == LICENCES)
    prefix = f"{LICENCES}/"
    return {
        row[f"{prefix}licence"]: LicenceCount(
            row[f"{prefix}photographs"], row[f"{prefix}embedded"], row[f"{prefix}referenced"]
        )
        for row in found["data"]
    }
