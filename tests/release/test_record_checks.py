# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A manifest.json that somebody has changed, with every page made anew, so that only itself and the rows tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from groundset.release.facts import Facts, FunnelStep, Stratum, Withdrawn
from groundset.release.parquet import read_rows, shard_paths
from groundset.release.record import ReleaseRecord, decode, encode
from groundset.release.record_checks import form_problems, record_problems, row_problems
from groundset.release.verify import verify

Change = Callable[[ReleaseRecord], ReleaseRecord]


def facts(**changes: Any) -> Change:
    return lambda record: replace(record, facts=replace(record.facts, **changes))


def of_facts(change: Callable[[Facts], dict[str, Any]]) -> Change:
    return lambda record: replace(record, facts=replace(record.facts, **change(record.facts)))


def manifest(**changes: Any) -> Change:
    """Changes sections of the manifest in it: a mapping changes keys of a section, None takes one away."""

    def apply(record: ReleaseRecord) -> ReleaseRecord:
        told = dict(record.manifest)
        for key, value in changes.items():
            if value is None:
                del told[key]
            else:
                told[key] = {**told[key], **value} if isinstance(value, dict) and key in told else value
        return replace(record, manifest=told)

    return apply


def rights(**changes: Any) -> Change:
    return lambda record: replace(record, rights=replace(record.rights, **changes))


def digests(**changes: Any) -> Change:
    return lambda record: replace(record, digests={**record.digests, **changes})


def source(**changes: Any) -> Change:
    return of_facts(lambda told: {"sources": (replace(told.sources[0], **changes),)})


def step(place: int, **changes: Any) -> Change:
    def change(told: Facts) -> dict[str, Any]:
        steps = list(told.funnel)
        steps[place] = replace(steps[place], **changes)
        return {"funnel": tuple(steps)}

    return of_facts(change)


def record_of(release: Path) -> ReleaseRecord:
    return decode((release / "manifest.json").read_bytes())


def tables_of(release: Path) -> dict[str, pa.Table]:
    return {path.name: read_rows(shard_paths(release, path.name)[0]) for path in (release / "data").iterdir()}


CONTRADICTIONS: list[tuple[str, Change, str, str]] = [
    *(
        (key, facts(**{key: value}), f"$.facts.{key}", "but the manifest in it says")
        for key, value in {
            "name": "other",
            "version": "9.9.9",
            "title": "Other",
            "summary": "Other",
            "authors": ("Me",),
            "language": ("de",),
            "annotators": "Ten people.",
            "annotator_pay": "Much.",
            "limitations": ("None.",),
            "biases": (),
            "use_cases": (),
            "personal_information": "Faces.",
            "social_impact": "Good.",
            "citation": "@misc{other}",
            "published": "2020-01-01",
            "url": "https://example.org/other",
            "simulated": ("The points were simulated; no person has made them.",),
            "image_policy": "non-commercial",
            "writer": "a person",
            "sources": (),
        }.items()
    ),
    ("source's kind", source(kind="openimages"), "$.facts.sources", "openimages"),
    ("source's address", source(url="https://example.org/x"), "$.facts.sources", "https://example.org/x"),
    ("not so many in", step(0, rows_in=13), "$.facts.funnel[0]", "13 images in, but 9 kept and 3 rejected"),
    ("a rejection less", step(0, rejected={"too_small": 2}), "$.facts.funnel[0]", "12 images in, but 9 kept and 2"),
    ("texts", rights(texts="CC0-1.0"), "$.rights.texts", "it is 'CC0-1.0', the facts make it 'CC-BY-4.0'"),
    ("code", rights(code="CC0-1.0"), "$.rights.code", "it is 'CC0-1.0', the facts make it 'Apache-2.0'"),
    ("nobody's boxes", rights(sources={}), "$.rights.sources", "it is {}, the facts make it"),
    ("no manifest", lambda record: replace(record, manifest={}), "$.manifest", '"benchmark" is a required property'),
    ("section lost", manifest(filter=None), "$.manifest", '"filter" is a required property'),
    ("section added", manifest(mood={}), "$.manifest", "'mood' was unexpected"),
    ("limit of another form", manifest(filter={"max_objects": "15"}), "$.manifest.filter.max_objects", "not of type"),
    ("nobody decided", manifest(decisions={"review": "simulated"}), "$.facts.simulated", "no person has made them"),
    ("other policy", manifest(images={"policy": "non-commercial"}), "$.facts.image_policy", "says 'non-commercial'"),
    ("other benchmark", manifest(benchmark="candvg"), "$.manifest.", ""),
    ("digests lost", digests(imported={}), "$.digests.imported", "there is no digest of what went in"),
    ("decisions lost", digests(decisions=None), "$.digests.decisions", "there is no digest of what went in"),
    ("no digest", digests(decisions={"60_review": "x"}), "$.digests.decisions.60_review", "'x' is no sha256"),
]  # fmt: skip

COUNTS: list[tuple[str, Change, str, str]] = [
    ("photographs of a source", source(images=9), "$.facts.sources", "it says 9 photographs of coco-test, the files"),
    ("source unknown", source(name="other"), "$.source_name", "'coco-test' is no source of the release: other"),
    ("kind of source", source(kind="openimages"), "$.source", "'coco', but coco-test is of the kind openimages"),
    ("stratum", facts(strata=(Stratum("single-animal-identity", 3, 4),)), "$.facts.strata", "has 4, the files hold 3"),
    ("stratum lost", facts(strata=()), "$.facts.strata", "single-animal-location has 0, the files hold 2"),
    ("end of the funnel", step(-1, rows_in=9, kept=9), "$.facts.funnel", "kept 9 dialogues, the files hold 8"),
    ("other writer", manifest(writer={"kind": "llm"}), "$.writer", "'template', but the manifest in manifest.json"),
    ("no funnel", facts(funnel=()), "$.facts.funnel", "it names no stage"),
    ("digest", digests(photographs={}), "$.digests.photographs", "are not those of the config images"),
    ("withdrawn", facts(withdrawn=(Withdrawn("coco-101", "owner"),)), "$.facts.withdrawn[0]", "still in the release"),
    ("reason", facts(withdrawn=(Withdrawn("coco-1", "fun"),)), "$.facts.withdrawn[0].reason", "it is none of owner"),
]  # fmt: skip


@pytest.mark.parametrize("benchmark", ["fpco-dialog", "candvg"])
def test_whole_release_has_no_contradiction(benchmark: str, releases: dict[str, Path]) -> None:
    record = record_of(releases[benchmark])
    assert record_problems(record) == []
    assert row_problems(record, tables_of(releases[benchmark])) == []
    assert form_problems((releases[benchmark] / "manifest.json").read_bytes(), record) == []


@pytest.mark.parametrize(
    ("change", "path", "message"), [row[1:] for row in CONTRADICTIONS], ids=[row[0] for row in CONTRADICTIONS]
)
def test_a_manifest_that_contradicts_itself(change: Change, path: str, message: str, releases: dict[str, Path]) -> None:
    found = record_problems(change(record_of(releases["fpco-dialog"])))
    assert any(row.path.startswith(path) and message in row.message for row in found), [str(row) for row in found]


@pytest.mark.parametrize(("change", "path", "message"), [row[1:] for row in COUNTS], ids=[row[0] for row in COUNTS])
def test_a_manifest_that_contradicts_the_rows(
    change: Change, path: str, message: str, releases: dict[str, Path]
) -> None:
    release = releases["fpco-dialog"]
    found = row_problems(change(record_of(release)), tables_of(release))
    assert any(row.path == path and message in str(row) for row in found), [str(row) for row in found]


def test_counts_of_configs_that_could_not_be_read_are_not_guessed(releases: dict[str, Path]) -> None:
    record = record_of(releases["fpco-dialog"])
    assert row_problems(replace(record, facts=replace(record.facts, strata=())), {}) == []


def test_limits_that_a_build_adds_to_the_manifests_are_no_contradiction(releases: dict[str, Path]) -> None:
    record = record_of(releases["fpco-dialog"])
    more = replace(record.facts, limitations=(*record.facts.limitations, "More."))
    assert record_problems(replace(record, facts=more)) == []


def test_what_groundset_does_not_write_is_told_by_its_place(releases: dict[str, Path]) -> None:
    content = (releases["candvg"] / "manifest.json").read_bytes()
    document, record = json.loads(content), decode(content)
    document["mood"], document["facts"]["mood"] = "fine", "better"
    strange = json.dumps(document).encode()
    assert [row.path for row in form_problems(strange, decode(strange))] == ["$.facts.mood", "$.mood"]
    for other in (
        json.dumps(json.loads(content), indent=1).encode(),
        content.replace(b"\n", b"\r\n"),
        content.rstrip(b"\n"),
        content.replace(b'"format":1', b'"format":1,"format":1'),
    ):
        (problem,) = form_problems(other, decode(other))
        assert "it is not in its one form" in problem.message
    # another version may write it otherwise
    later = replace(record, facts=replace(record.facts, groundset_version="9.9.9"))
    assert form_problems(json.dumps(json.loads(encode(later)), indent=1).encode(), later) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: replace(told, authors=("Me",)), "manifest.json $.facts.authors: ('Me',), but the manifest"),
        (lambda told: replace(told, statistics=(), strata=()), "has 0, the files hold 2"),
        (
            lambda told: replace(told, funnel=(FunnelStep("70_validate", "dialogues", 9, 9, {}),)),
            "70_validate kept 9 dialogues, the files hold 2",
        ),
    ],
)
def test_pages_made_anew_do_not_hide_it(
    change: Callable[[Facts], Facts], message: str, candvg: Any, tmp_path: Path
) -> None:
    release = replace(candvg, facts=change(candvg.facts)).write(tmp_path / "release")
    found = verify(release, load=False)
    assert {problem.file for problem in found} == {"manifest.json"}
    assert any(message in str(problem) for problem in found), [str(problem) for problem in found]
