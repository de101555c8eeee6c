# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A build from COCO under all eight of its licences and from Open Images, under each image policy, from end to end."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groundset.cli.main import run
from groundset.release.attribution import parse_licence_table
from groundset.release.croissant import stated_licences
from groundset.release.verify import verify

# the table of the design, section 9
OPEN, NONCOMMERCIAL = ("permissive", "non-commercial"), ("non-commercial",)
EMBEDS = {
    "CC-BY-2.0": OPEN,
    "CC-BY-SA-2.0": OPEN,
    "CC-BY-ND-2.0": OPEN,
    "LicenseRef-Flickr-Commons-NKCR": OPEN,
    "LicenseRef-US-Government-Work": OPEN,
    "CC-BY-NC-2.0": NONCOMMERCIAL,
    "CC-BY-NC-SA-2.0": NONCOMMERCIAL,
    "CC-BY-NC-ND-2.0": NONCOMMERCIAL,
}
OPEN_IMAGES = """
[[sources]]
name = "openimages-validation"
kind = "openimages"
annotations = "openimages/validation-annotations-bbox.csv"
images = "openimages/images"
split = "validation"
box_format = "xyxy"
box_unit = "unit"
image_metadata = "openimages/validation-images-with-rotation.csv"
class_descriptions = "openimages/class-descriptions-boxable.csv"
hierarchy = "openimages/bbox_labels_600_hierarchy.json"
annotations_licence = "CC-BY-4.0"
annotations_credit = "Google LLC"
url = "https://storage.googleapis.com/openimages/web/index.html"
bytes = 0
photograph_url = "none"
downloads = []

[filter]"""


def licensed(world: Path) -> None:
    """Deals COCO's eight licences over its images, and gives those of Open Images a photographer."""
    path = world / "coco" / "instances_miniworld.json"
    coco = json.loads(path.read_bytes())
    assert {row["id"] for row in coco["licenses"]} >= set(range(1, 9))
    for number, image in enumerate(coco["images"]):
        image["license"] = number % 8 + 1
        image["flickr_url"] = f"http://farm3.staticflickr.com/21/{7000 + number}_e46f53623a_z.jpg"
    path.write_text(json.dumps(coco))
    path = world / "openimages" / "validation-images-with-rotation.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    for row in rows:
        row["License"], row["Author"] = "https://creativecommons.org/licenses/by/2.0/", "Ann Ota"
    write_csv(path, rows)


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    page = io.StringIO(newline="")
    writer = csv.DictWriter(page, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(page.getvalue(), encoding="utf-8")


@pytest.fixture
def manifest(demo: Callable[..., Path], world: Path) -> Path:
    """A manifest of both sources beside a world whose photographs have photographers and licences."""
    licensed(world)
    path = demo("fpco-dialog", per_cell=2)
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"(?s)\[source_root\].*?\n\n", f'[source_root]\nkind = "folder"\npath = "{world}"\n\n', text, count=1)
    text = re.sub(r"(?m)^photograph_url = .*", 'photograph_url = "none"', text)
    path.write_text(text.replace("\n[filter]", OPEN_IMAGES, 1), encoding="utf-8")
    return path


def with_policy(manifest: Path, policy: str) -> None:
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(re.sub(r'(?m)^policy = "[a-z-]+"', f'policy = "{policy}"', text), encoding="utf-8")


def counts(rows: list[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """Licence to how many photographs are under it, and how many of them are embedded."""
    total, carried = Counter(spdx for spdx, _ in rows), Counter(spdx for spdx, embedded in rows if embedded)
    return {spdx: (total[spdx], carried[spdx]) for spdx in total}


def of_counts(stated: dict[str, Any]) -> dict[str, tuple[int, int]]:
    assert all(count.photographs == count.embedded + count.referenced for count in stated.values())
    return {spdx: (count.photographs, count.embedded) for spdx, count in stated.items()}


def look(release: Path, world: Path, policy: str) -> set[str]:
    """Holds a release against the table and its places against each other; returns what is embedded."""
    assert verify(release, load=False) == []
    images = pq.read_table(release / "data/images").to_pylist()
    dialogues = {row["image_id"]: row for row in pq.read_table(release / "data/dialogues").to_pylist()}
    rows = []
    for row in images:
        cell = dialogues[row["image_id"]]["image"]
        assert (cell is not None) == row["embedded"] == (policy in EMBEDS[row["licence"]]), row
        folder = "openimages/images" if row["source"] == "openimages" else "coco/images"
        if cell is not None:
            assert cell["bytes"] in {path.read_bytes() for path in (world / folder).iterdir()}
        assert row["landing_url"]
        assert row["landing_url"] in row["credit"]
        assert row["licence_url"] in row["credit"]
        assert row["author"] == ("Ann Ota" if row["source"] == "openimages" else None)
        assert row["changes"] == "none"
        rows.append((row["licence"], row["embedded"]))
    expected = counts(rows)
    assert set(expected) == set(EMBEDS)
    assert any(row["source"] == "openimages" for row in images)
    for page in ("README.md", "LICENSE.md"):
        assert of_counts(parse_licence_table((release / page).read_text(encoding="utf-8"))) == expected
    assert of_counts(stated_licences(json.loads((release / "croissant.json").read_bytes()))) == expected
    listed = list(csv.DictReader(io.StringIO((release / "ATTRIBUTION.csv").read_text(encoding="utf-8"), newline="")))
    assert counts([(row["licence"], row["embedded"] == "true") for row in listed]) == expected
    texts = {path.stem for path in (release / "LICENSES").iterdir()}
    assert texts == {*EMBEDS, "Apache-2.0", "CC0-1.0", "CC-BY-4.0"}
    return {row["image_id"] for row in images if row["embedded"]}


def test_what_is_embedded_is_what_may_be_and_a_change_of_policy_rebuilds_right(
    manifest: Path, world: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    build = ["build", str(manifest), "--work", str(work)]
    release = work / "80_package" / "release"
    found = {}
    for policy in ("permissive", "non-commercial", "reference-only", "permissive"):
        with_policy(manifest, policy)
        assert run(build) == 0
        embedded = look(release, world, policy)
        assert found.setdefault(policy, embedded) == embedded
    assert found["reference-only"] == set()
    assert found["permissive"] < found["non-commercial"]


def test_an_unknown_licence_and_a_lacking_credit_stop_the_release_each_by_record(
    manifest: Path, world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    assert run(["build", str(manifest), "--work", str(work)]) == 0
    rows = pq.read_table(work / "70_validate" / "images.parquet").to_pylist()
    first, second = [row["source_image_id"] for row in rows if row["source"] == "coco"][:2]
    third, fourth = [row["source_image_id"] for row in rows if row["source"] == "openimages"][:2]
    path = world / "coco" / "instances_miniworld.json"
    coco = json.loads(path.read_bytes())
    coco["licenses"].append({"id": 99, "name": "Other", "url": "http://creativecommons.org/licenses/by/3.0/"})
    for image in coco["images"]:
        if str(image["id"]) == first:
            image["license"] = 99
        if str(image["id"]) == second:
            image["flickr_url"] = "http://example.org/1.jpg"
    path.write_text(json.dumps(coco))
    path = world / "openimages" / "validation-images-with-rotation.csv"
    listed = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    for row in listed:
        if row["ImageID"] == third:
            row["Author"] = ""
        if row["ImageID"] == fourth:
            row["License"] = ""
    write_csv(path, listed)
    capsys.readouterr()
    fresh = tmp_path / "fresh"
    assert run(["build", str(manifest), "--work", str(fresh), "--repin"]) == 1
    told = capsys.readouterr().err
    for record, message in (
        (f"coco-{first}", "the licence is not known: 'http://creativecommons.org/licenses/by/3.0/'"),
        (f"coco-{second}", "the credit is missing: no photo page"),
        (f"openimages-{third}", "the credit is missing: no author or no landing page"),
        (f"openimages-{fourth}", "the source states no licence"),
    ):
        assert re.search(rf"{record} \$\.\w+: {re.escape(message)}", told), told
    assert "Traceback" not in told
    assert not (fresh / "80_package").exists()
