# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Small releases of both benchmarks, with pictures that the tests draw."""

from __future__ import annotations

import hashlib
import io
import json
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from groundset.paths import manifest_dir
from groundset.release.facts import WRITERS, Facts, FunnelStep, Source, Stratum
from groundset.release.package import build_image_rows, write_release
from groundset.schema_types import arrow_schema

COCO_ADDRESSES = {
    1: "http://creativecommons.org/licenses/by-nc-sa/2.0/",
    2: "http://creativecommons.org/licenses/by-nc/2.0/",
    3: "http://creativecommons.org/licenses/by-nc-nd/2.0/",
    4: "http://creativecommons.org/licenses/by/2.0/",
    5: "http://creativecommons.org/licenses/by-sa/2.0/",
    6: "http://creativecommons.org/licenses/by-nd/2.0/",
    7: "http://flickr.com/commons/usage/",
    8: "http://www.usa.gov/copyright.shtml",
}
COCO_SPDX = {
    1: "CC-BY-NC-SA-2.0",
    2: "CC-BY-NC-2.0",
    3: "CC-BY-NC-ND-2.0",
    4: "CC-BY-2.0",
    5: "CC-BY-SA-2.0",
    6: "CC-BY-ND-2.0",
    7: "LicenseRef-Flickr-Commons-NKCR",
    8: "LicenseRef-US-Government-Work",
}
CLASSES = ("identity", "attribute", "location")


@dataclass(frozen=True)
class Material:
    """All that `write_release` takes."""

    facts: Facts
    tables: dict[str, pa.Table]
    images: pa.Table
    paths: dict[str, Path]
    source_images: pa.Table
    photographs: pa.Table
    manifest: dict[str, Any]
    digests: dict[str, Any]

    def write(self, out: Path) -> Path:
        write_release(out, self.facts, self.tables, self.images, self.paths, self.manifest, self.digests)
        return out


def picture(number: int) -> bytes:
    """A JPEG of 64 x 48 pixels, another colour for each number; the same bytes each time."""
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (40 + 20 * number % 200, 90, 200 - 9 * number % 150)).save(stream, "JPEG")
    return stream.getvalue()


def image_row(image_id: str, source: str, **changes: Any) -> dict[str, Any]:
    number = image_id.rpartition("-")[2]
    row = {
        "image_id": image_id,
        "source": source,
        "source_name": f"{source}-test",
        "source_image_id": number,
        "file_name": f"{number}.jpg",
        "frame_width": 64.0,
        "frame_height": 48.0,
        "licence": "CC-BY-2.0",
        "licence_source": "https://creativecommons.org/licenses/by/2.0/",
        "title": None,
        "author": None,
        "author_url": None,
        "landing_url": f"https://www.flickr.com/photo.gne?id=77{number}",
        "original_url": f"http://images.example.org/{number}.jpg",
        "flickr_id": f"77{number}",
        "rotation": None,
    }
    return {**row, **changes}


def addresses_of(images: pa.Table) -> dict[str, str | None]:
    return dict(zip(images["image_id"].to_pylist(), images["original_url"].to_pylist(), strict=True))


def photographs_of(image_ids: list[str], folder: Path) -> tuple[pa.Table, dict[str, Path]]:
    folder.mkdir(parents=True, exist_ok=True)
    rows, paths = [], {}
    for number, image_id in enumerate(image_ids):
        content = picture(number)
        paths[image_id] = folder / f"{image_id}.JPG"
        paths[image_id].write_bytes(content)
        rows.append(
            {
                "image_id": image_id,
                "path": f"{image_id}.JPG",
                "sha256": hashlib.sha256(content).hexdigest(),
                "pixels_sha256": hashlib.sha256(image_id.encode()).hexdigest(),
                "difference_hash": hashlib.sha256(image_id.encode()).hexdigest()[:32],
                "bytes": len(content),
                "width": 64,
                "height": 48,
                "format": "JPEG",
                "mode": "RGB",
            }
        )
    return pa.Table.from_pylist(rows, schema=arrow_schema("photograph")), paths


def facts_of(benchmark: str, **changes: Any) -> Facts:
    fpco = benchmark == "fpco-dialog"
    facts = Facts(
        benchmark=benchmark,
        name=f"{benchmark}-test",
        version="1.2.3",
        title="FPCO-Dialog, small" if fpco else "CandVG, small",
        summary="A small release for tests.",
        authors=("A. Author", "B. Author"),
        language=("en",),
        texts_licence="CC-BY-4.0",
        sources=(
            Source("coco-test", "coco", "CC-BY-4.0", "COCO Consortium", "https://cocodataset.org", 8)
            if fpco
            else Source("invig-test", "invig", "Apache-2.0", "InViG authors", "none", 2),
        ),
        annotators="Two people who know the rules.",
        annotator_pay="20 an hour.",
        limitations=("English only.", "Boxes are\nrectangles."),
        biases=("Dogs are brown or black.",),
        use_cases=("To test how a release is written.",),
        personal_information="None.",
        social_impact="None.",
        citation="@misc{small, title={Small}}",
        published="2026-11-30",
        url="https://example.org/small",
        simulated=(),
        image_policy="permissive",
        funnel=(
            FunnelStep("20_filter", "images" if fpco else "dialogues", 12, 9, {"too_small": 2, "group_box": 1}),
            FunnelStep("70_validate", "dialogues", *((8, 8) if fpco else (2, 2)), {}),
        ),
        strata=tuple(Stratum(f"single-animal-{name}", 3, have) for name, have in zip(CLASSES, (3, 3, 2), strict=True))
        if fpco
        else (Stratum("2", 2, 2),),
        statistics=(("contexts | all", 5),),
        writer=WRITERS["template" if fpco else ""],
        groundset_version="0.1.0",
        libraries={"pyarrow": "26.0.1", "numpy": "2.0"},
    )
    return replace(facts, **changes)


def manifest_of(facts: Facts) -> dict[str, Any]:
    """The manifest that such facts come from: the demo's, but with people to decide, and what the facts say."""
    demo = tomllib.loads((manifest_dir() / "demo" / f"{facts.benchmark}.toml").read_text(encoding="utf-8"))
    told = asdict(facts)
    sources = [{key: source[key] for key in source if key != "images"} for source in told["sources"]]
    return {
        **demo,
        **{key: told[key] for key in ("name", "version")},
        "source_root": {"kind": "folder"},
        "sources": [{**demo["sources"][0], **source} for source in sources],
        "images": {**demo["images"], "policy": facts.image_policy},
        "decisions": {"screening": "people", "review": "people", "files": ["decisions.jsonl"]},
        "card": json.loads(json.dumps({key: told[key] for key in demo["card"]})),
    }


DIGESTS = {
    "imported": {"10_import/images.parquet": "0" * 64},
    "decisions": {"60_review/decisions.jsonl": "1" * 64},
}


def questions(true: str, false: str) -> list[dict[str, Any]]:
    rows = []
    for number in range(1, 11):
        content = f"Question {number}: what about {true}?"
        rows.append(
            {
                "id": number,
                "content": content,
                "modified": content.replace(true, false) if number >= 4 else content,
                "false_premise": number >= 4,
            }
        )
    return rows


def rows_table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = arrow_schema(name)
    without = ["image"] if "image" in schema.names else []
    return pa.Table.from_pylist(rows, schema=arrow_schema(name, without))


def fpco_material(folder: Path, policy: str = "permissive", **changes: Any) -> Material:
    """Eight photographs, one under each of COCO's licences."""
    ids = [f"coco-{100 + number}" for number in COCO_SPDX]
    sources = [
        image_row(image_id, "coco", licence=COCO_SPDX[number], licence_source=COCO_ADDRESSES[number])
        for image_id, number in zip(ids, COCO_SPDX, strict=True)
    ]
    images = pa.Table.from_pylist(sources, schema=arrow_schema("image"))
    photographs, paths = photographs_of(ids, folder)
    rights = build_image_rows(images, photographs, policy, addresses_of(images))
    credit = {row["image_id"]: row for row in rights.to_pylist()}
    dialogues, turns, variants = [], [], []
    # not in the order of the ids, so that the writer has to sort
    for number, image_id in reversed(list(enumerate(ids))):
        false_class = CLASSES[number % 3]
        asked = questions("the brown dog", "the black dog")
        cell = {"complexity": "single", "category": "animal", "false_class": false_class}
        dialogue_id = f"{image_id}-animal-{false_class}"
        dialogues.append(
            {
                "dialogue_id": dialogue_id,
                "image_id": image_id,
                **cell,
                "complexity_code": 1,
                "category_code": 3,
                "stratum": f"single-animal-{false_class}",
                "target_object_id": "a7",
                "target_label": "dog",
                "target_bbox_xyxy_px": [1.5, 2.0, 60.0, 48.0],
                "target_description": "the brown dog",
                "modified_target_description": "the black dog",
                "questions": asked,
                "writer": "template",
                "licence": credit[image_id]["licence"],
                "credit": credit[image_id]["credit"],
            }
        )
        turns += [
            {
                "dialogue_id": dialogue_id,
                "image_id": image_id,
                "turn": question["id"],
                "question": question["modified"],
                "true_question": question["content"],
                "false_premise": question["false_premise"],
                **cell,
            }
            for question in asked
        ]
        for set_name, false in (("A", "the white dog"), ("B", "the red dog")) if number < 3 else ():
            variant = {key: value for key, value in dialogues[-1].items() if key in arrow_schema("fpco_variant").names}
            variant |= {"variant_id": f"{dialogue_id}-{set_name}", "set": set_name}
            variant |= {"modified_target_description": false, "questions": questions("the brown dog", false)}
            variants.append(variant)
    facts = facts_of("fpco-dialog", image_policy=policy, **{"further_configs": ("variants",), **changes})
    return Material(
        facts=facts,
        tables={
            "dialogues": rows_table("fpco_dialogue", dialogues),
            "turns": rows_table("fpco_turn", turns),
            "variants": rows_table("fpco_variant", variants),
        },
        images=rights,
        paths=paths,
        source_images=images,
        photographs=photographs,
        manifest=manifest_of(facts),
        digests=DIGESTS,
    )


def candvg_material(folder: Path, policy: str = "permissive", **changes: Any) -> Material:
    """Two dialogues on two photographs, of three turns and of two; the second ends with two objects."""
    ids = ["invig-1a", "invig-2b"]
    sources = [
        image_row(ids[0], "invig", author="Karen", title='Three | boys,\n"on" a hill', flickr_id=None),
        image_row(ids[1], "invig", author="Michał", licence="CC-BY-NC-2.0", flickr_id=None),
    ]
    images = pa.Table.from_pylist(sources, schema=arrow_schema("image"))
    photographs, paths = photographs_of(ids, folder)
    rights = build_image_rows(images, photographs, policy, addresses_of(images))
    credit = {row["image_id"]: row for row in rights.to_pylist()}
    boxes = {"b0": [0.0, 0.0, 10.0, 10.0], "b1": [20.0, 0.0, 30.0, 10.0], "b2": [40.0, 20.0, 64.0, 48.0]}
    sets = {ids[0]: [["b0", "b1"], ["b0", "b1", "b2"], ["b1"]], ids[1]: [["b0", "b2"], ["b0", "b2"]]}
    samples, dialogues, points = [], [], []
    for image_id in ids:
        dialogue_id = f"invig-test-{image_id[-2:]}"
        turns = [
            {"turn": n, "question": f"Which one, {n}?" if n > 1 else None, "response": f"The left one, {n}."}
            for n in range(1, len(sets[image_id]) + 1)
        ]
        shared = {"dialogue_id": dialogue_id, "image_id": image_id, "split": "test", "stratum": "2"}
        dialogues.append(
            {
                **shared,
                "source_dialogue_id": image_id[-2:],
                "turns": turns,
                "objects": [{"object_id": name, "bbox_xyxy_px": box} for name, box in boxes.items()],
                "initial_candidate_ids": ["b0", "b1"],
                "initial_candidates_raw": 3,
                "initial_candidates_unique": 2,
                "candidate_ids": sets[image_id],
            }
        )
        for turn, names in enumerate(sets[image_id], 1):
            samples.append(
                {
                    **shared,
                    "sample_id": f"{dialogue_id}-t{turn}",
                    "turn": turn,
                    "context": turns[:turn],
                    "sample_type": "CVG" if len(names) == 1 else "CSVG",
                    "candidates": [{"object_id": name, "bbox_xyxy_px": boxes[name]} for name in names],
                    "licence": credit[image_id]["licence"],
                    "credit": credit[image_id]["credit"],
                }
            )
            points += [
                {
                    "dialogue_id": dialogue_id,
                    "image_id": image_id,
                    "turn": turn,
                    "point": number,
                    "x_px": boxes[name][0] + 4,
                    "y_px": boxes[name][1] + 5,
                    "object_id": name,
                }
                for number, name in enumerate(names)
            ]
    facts = facts_of("candvg", image_policy=policy, **changes)
    return Material(
        facts=facts,
        tables={
            "samples": rows_table("candvg_sample", samples[::-1]),
            "dialogues": rows_table("candvg_dialogue", dialogues),
            "points": rows_table("candvg_point", points),
        },
        images=rights,
        paths=paths,
        source_images=images,
        photographs=photographs,
        manifest=manifest_of(facts),
        digests=DIGESTS,
    )


@pytest.fixture(scope="session")
def fpco(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return fpco_material(tmp_path_factory.mktemp("fpco-photographs"))


@pytest.fixture(scope="session")
def candvg(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return candvg_material(tmp_path_factory.mktemp("candvg-photographs"))


@pytest.fixture(scope="session")
def releases(fpco: Material, candvg: Material, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One release of each benchmark; read only."""
    folder = tmp_path_factory.mktemp("releases")
    return {"fpco-dialog": fpco.write(folder / "fpco"), "candvg": candvg.write(folder / "candvg")}


@pytest.fixture(scope="session")
def make() -> dict[str, Callable[..., Material]]:
    return {"fpco-dialog": fpco_material, "candvg": candvg_material}
