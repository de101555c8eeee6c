# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Published records through the corridor: checked, completed, kept in the cell of their id, reviewed."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from groundset import stage as corridor
from groundset.errors import DataError
from groundset.fpco import pipeline
from groundset.fpco.published_pipeline import STAGES
from groundset.manifest import Manifest
from groundset.schema_types import arrow_schema
from groundset.stage import Output, Place, Records

SET = Path(__file__).parents[1] / "published_set" / "metadata_and_questions"
IDS = sorted(path.stem for path in SET.iterdir())

Row = dict[str, Any]


def completion(name: str, **values: Any) -> Row:
    coco = json.loads((SET / f"{name}.json").read_bytes())["metadata"]["source"] == "COCO"
    told = {
        "id": name,
        "source": "coco" if coco else "openimages",
        "source_image_id": name if coco else name.zfill(16),
        "landing_url": f"https://photos.invalid/{name}",
        "original_url": f"https://photos.invalid/{name}.jpg",
        "author": None if coco else "A. Nobody",
        "author_url": None,
        "title": None,
        "licence_source": "CC-BY-2.0",
        "target_object_id": f"a{name}",
        "target_bbox_xyxy_px": [8, 6, 40, 36],
    }
    return told | values


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The whole set with drawn photographs, and completions for all of it."""
    folder = tmp_path / "set"
    shutil.copytree(SET, folder / "metadata_and_questions")
    (folder / "image").mkdir()
    for number, name in enumerate(IDS):
        Image.new("RGB", (64, 48), (number * 20, 90, 40)).save(folder / "image" / f"{name}.jpg")
    return completed(folder, [completion(name) for name in IDS])


def completed(root: Path, lines: list[Row]) -> Path:
    (root / "completions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return root


def place_of(root: Path, work: Path, **sections: Any) -> Place:
    content: Row = {
        "benchmark": "fpco-dialog",
        "name": "published",
        "version": "0.1.0",
        "seed": "s",
        "source_root": {"kind": "folder", "path": "set"},
        "sources": [
            {
                "kind": "fpco-published",
                "name": "published",
                "annotations": "metadata_and_questions",
                "images": "image",
                "completions": "completions.jsonl",
                "bytes": 0,
            }
        ],
        "filter": {"also_require": []},
        "strata": {"per_cell": 30, "when_short": "go_on", "refill": ["image", "screening", "writer", "review"]},
        "images": {
            "max_pixels": 10**7,
            "margin": 0,
            "reject_rotated": True,
            "reject_rotation_unknown": False,
            "near_duplicate_distance": 10,
            "policy": "permissive",
        },
        "decisions": {"screening": "simulated", "review": "simulated", "files": []},
        "writer": {"kind": "published"},
    }
    records = {f"{stage.name}/{table}": held for stage in STAGES for table, held in stage.writes.items()}
    verdicts = [f"{stage.name}/{table}" for stage in STAGES for table in ("rejected", "flagged")]
    records |= dict.fromkeys([*verdicts, "refill/rejected"], Records("verdict"))
    (work / "refill").mkdir(parents=True, exist_ok=True)
    pq.write_table(arrow_schema("verdict").empty_table(), work / "refill" / "rejected.parquet")
    return Place(Manifest(work / "m.toml", content | sections, root), work, root, records)


def run(place: Place, to: str) -> list[Output]:
    return [corridor.run(place, stage) for stage in STAGES if stage.name <= to]


def rows(place: Place, table: str) -> list[Row]:
    found: list[Row] = corridor.read_table(place, table).to_pylist()
    return found


def said(place: Place, table: str) -> set[tuple[str, str]]:
    return {(row["record_id"], row["rule"]) for row in rows(place, table)}


def test_a_completed_set_keeps_ids_cells_and_texts(root: Path, tmp_path: Path) -> None:
    place = place_of(root, tmp_path / "work")
    run(place, "60_review")
    bad = {"fpco-3361", "fpco-3431"}
    items = rows(place, "20_filter/kept")
    assert [row["item_id"] for row in items] == [f"fpco-{name}" for name in IDS]
    assert {row["image_id"] for row in items} >= {"coco-1101", "openimages-0000000000001131"}
    strata = {row["item_id"]: row["stratum"] for row in rows(place, "30_stratify/kept")}
    assert strata["fpco-1101"] == "single-person-identity"
    assert strata["fpco-2261"] == "separated-vehicle-location"
    assert strata["fpco-3431"] == "overlapping-food-attribute"
    assert Counter(row["want"] for row in rows(place, "30_stratify/strata")) == {30: 36}
    drafts = {row["dialogue_id"]: row for row in rows(place, "60_review/kept")}
    assert set(drafts) == {f"fpco-{name}" for name in IDS} - bad
    for name in sorted(drafts):
        published = json.loads((SET / f"{name.removeprefix('fpco-')}.json").read_bytes())
        assert drafts[name]["questions"] == published["question"]
        assert drafts[name]["target_description"] == published["base"]["target_description"]
    assert said(place, "50_generate/rejected") == {
        ("fpco-3361", "check_edit_not_contiguous"),
        ("fpco-3431", "check_modified_description_missing"),
    }


def test_known_kinds_of_flaws_are_flagged_for_a_person(root: Path, tmp_path: Path) -> None:
    place = place_of(root, tmp_path / "work")
    run(place, "60_review")
    flaws = {
        ("fpco-2261", "inserted_phrase"),
        ("fpco-3261", "tautology"),
        ("fpco-1301", "gives_away"),
        ("fpco-2301", "number_slip"),
    }
    assert said(place, "50_generate/flagged") == flaws
    assert said(place, "60_review/flagged") == flaws


def test_what_is_not_complete_is_left_out_by_its_first_gap_and_its_texts_are_checked_all_the_same(
    root: Path, tmp_path: Path
) -> None:
    lines = [completion(name) for name in IDS if name not in ("3361", "3431")]
    changes: dict[str, Row] = {
        "1101": {"licence_source": None, "landing_url": None},
        "1131": {"author": None},
        "1161": {"landing_url": None},
        "1301": {"target_bbox_xyxy_px": None},
        "1431": {"licence_source": "all rights reserved"},
        "2201": {"target_bbox_xyxy_px": [0, 0, 90, 40]},
        "2401": {"original_url": None},
    }
    (root / "image" / "2261.jpg").write_bytes(b"")
    completed(root, [line | changes.get(line["id"], {}) for line in lines])
    place = place_of(root, tmp_path / "work")
    run(place, "20_filter")
    assert said(place, "20_filter/rejected") == {
        ("fpco-1101", "lacks_licence"),
        ("fpco-1131", "lacks_author"),
        ("fpco-1161", "lacks_landing_url"),
        ("fpco-1301", "lacks_target_box"),
        ("fpco-1431", "lacks_licence"),
        ("fpco-2201", "lacks_target_box"),
        ("fpco-2261", "lacks_size"),
        ("fpco-3361", "lacks_source_image_id"),
        ("fpco-3431", "lacks_source_image_id"),
    }
    told = {row["record_id"]: row["detail"] for row in rows(place, "20_filter/rejected")}
    assert told["fpco-2261"] == "its photograph cannot be read; put the picture itself in its place"
    assert told["fpco-1301"] == "a release needs target_box; add it to the completions file"
    assert said(place, "20_filter/flagged") == {
        ("fpco-1301", "gives_away"),
        ("fpco-2261", "inserted_phrase"),
        ("fpco-3361", "check_edit_not_contiguous"),
        ("fpco-3431", "check_modified_description_missing"),
    }
    strict = place_of(root, tmp_path / "strict", filter={"also_require": ["original_url"]})
    run(strict, "20_filter")
    assert said(strict, "20_filter/rejected") - said(place, "20_filter/rejected") == {
        ("fpco-2401", "lacks_original_url")
    }


def test_a_bare_set_can_be_checked(root: Path, tmp_path: Path) -> None:
    (root / "completions.jsonl").unlink()
    sources = [{**place_of(root, tmp_path / "x").manifest.content["sources"][0], "completions": "none"}]
    place = place_of(root, tmp_path / "work", sources=sources)
    first, second = run(place, "20_filter")
    assert first.facts["lacking"]["licence"] == len(IDS)
    assert {verdict.rule for verdict in second.verdicts if verdict.hard} == {"lacks_source_image_id"}
    assert {rule for _, rule in said(place, "20_filter/flagged")} == {
        "inserted_phrase",
        "tautology",
        "gives_away",
        "number_slip",
        "check_edit_not_contiguous",
        "check_modified_description_missing",
    }


def test_one_photograph_serves_one_record(root: Path, tmp_path: Path) -> None:
    flickr = "https://www.flickr.com/photos/nobody/197493648"
    shared = {"1101": {"landing_url": flickr}, "1131": {"landing_url": flickr}}
    completed(root, [completion(name, **shared.get(name, {})) for name in IDS])
    (root / "image" / "2401.jpg").write_bytes((root / "image" / "2301.jpg").read_bytes())
    place = place_of(root, tmp_path / "work")
    run(place, "40_images")
    assert said(place, "30_stratify/rejected") == {("fpco-1131", "same_photograph")}
    ((record, rule),) = said(place, "40_images/rejected")
    assert rule == "equal_pixels"
    assert record in ("fpco-2301", "fpco-2401")


def test_people_may_edit_a_published_text(root: Path, tmp_path: Path) -> None:
    place = place_of(
        root, tmp_path / "work", decisions={"screening": "none", "review": "people", "files": ["decisions.jsonl"]}
    )
    *_, last = run(place, "60_review")
    queue = {item["item_id"]: item for item in last.waiting}
    assert set(queue) == {f"fpco-{name}" for name in IDS} - {"fpco-3361", "fpco-3431"}
    mended = json.loads(json.dumps(queue["fpco-2301"]["shown"]).replace("the horses by", "the horse by"))
    edited = {key: mended[key] for key in ("target_description", "modified_target_description", "questions")}
    values = {name: {"verdict": "accept", "reason": None, "edited": None} for name in queue}
    values["fpco-2301"] = {"verdict": "edit", "reason": None, "edited": edited}
    values["fpco-1301"] = {"verdict": "reject", "reason": "gives_away", "edited": None}
    lines = [
        {
            "decision_id": f"d{number}",
            "seq": number,
            "kind": "dialogue",
            "item_id": name,
            "turn": None,
            "annotator": "reviewer-1",
            "seen_sha256": queue[name]["seen_sha256"],
            "value": value,
            "purpose": "main",
        }
        for number, (name, value) in enumerate(sorted(values.items()), 1)
    ]
    (tmp_path / "work" / "decisions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run(place, "60_review")
    drafts = {row["dialogue_id"]: row for row in rows(place, "60_review/kept")}
    assert said(place, "60_review/rejected") == {("fpco-1301", "review_gives_away")}
    assert drafts["fpco-2301"]["target_description"] == "the horse by the pond"
    assert ("fpco-2301", "number_slip") not in said(place, "60_review/flagged")


def test_a_smaller_cell_takes_the_first_by_hash(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / "image" / "1101.jpg", root / "image" / "1102.jpg")
    text = (SET / "1101.json").read_text(encoding="utf-8").replace('"1101"', '"1102"')
    (root / "metadata_and_questions" / "1102.json").write_text(text, encoding="utf-8")
    lines = [completion(name) for name in IDS]
    completed(root, [*lines, {**lines[0], "id": "1102", "source_image_id": "1102"}])
    place = place_of(root, tmp_path / "work", strata={"per_cell": 1, "when_short": "go_on", "refill": []})
    run(place, "30_stratify")
    ranks = {row["item_id"]: (row["rank"], row["want"]) for row in rows(place, "30_stratify/kept")}
    assert sorted([ranks["fpco-1101"], ranks["fpco-1102"]]) == [(0, 1), (1, 1)]


def test_a_changed_file_and_a_new_one_make_the_import_stale(root: Path, tmp_path: Path) -> None:
    place = place_of(root, tmp_path / "work")
    (output,) = run(place, "10_import")
    assert output.read["source:metadata_and_questions/"]
    assert output.read["source:image/1101.jpg"]
    assert output.read["source:completions.jsonl"]
    shutil.copy(SET / "1101.json", root / "metadata_and_questions" / "1102.json")
    (again,) = run(place, "10_import")
    changed = {key for key in again.read if again.read[key] != output.read.get(key)}
    assert changed == {"source:metadata_and_questions/", "source:metadata_and_questions/1102.json"}
    pin, other = output.facts["pins"]["published"], again.facts["pins"]["published"]
    assert pin["sha256"] != other["sha256"]
    assert other["bytes"] - pin["bytes"] == (SET / "1101.json").stat().st_size
    (source,) = place.manifest.content["sources"]
    run(place_of(root, tmp_path / "known", sources=[{**source, "bytes": other["bytes"]}]), "10_import")
    with pytest.raises(DataError, match=f"have {other['bytes']} bytes, the manifest says {pin['bytes']}"):
        run(place_of(root, tmp_path / "known", sources=[{**source, "bytes": pin["bytes"]}]), "10_import")


def test_a_broken_set_is_refused(root: Path, tmp_path: Path) -> None:
    place = place_of(root, tmp_path / "work")
    (root / "metadata_and_questions" / "1101.json").write_bytes(b"{")
    with pytest.raises(DataError, match=r"1101\.json"):
        run(place, "10_import")
    assert not (place.work / "10_import").exists()


def test_the_stages_are_those_of_the_benchmark() -> None:
    # nothing writes variants of published texts
    others = [stage for stage in pipeline.STAGES if stage.name not in ("72_vary", "76_judge")]
    assert [stage.name for stage in STAGES] == [stage.name for stage in others]
    assert [stage.cause for stage in STAGES] == [stage.cause for stage in others]
    written = {f"{stage.name}/{table}" for stage in STAGES for table in (*stage.writes, "rejected")}
    for stage in STAGES:
        assert set(stage.reads) <= written | {"refill/rejected"}, stage.name
    # the card's funnel tells of records that the import rejects
    assert "10_import/dialogues" in STAGES[-1].reads
