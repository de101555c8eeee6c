# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset.errors import DataError, UsageError
from groundset.licences import POLICIES, may_embed
from groundset.release.package import build_image_rows, write_release
from groundset.release.parquet import read_photographs, shard_paths
from groundset.release.verify import verify
from groundset.schema_types import arrow_schema


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def with_image(material, image_id: str, **changes):
    rows = [{**row, **changes} if row["image_id"] == image_id else row for row in material.source_images.to_pylist()]
    return pa.Table.from_pylist(rows, schema=arrow_schema("image"))


@pytest.mark.parametrize("policy", POLICIES)
def test_each_coco_licence_is_embedded_as_the_policy_says(policy: str, make, tmp_path: Path) -> None:
    material = make["fpco-dialog"](tmp_path / "photographs", policy)
    folder = material.write(tmp_path / "release")
    assert verify(folder, load=False) == []
    cells = dict(read_photographs(shard_paths(folder, "dialogues")[0]))
    for row in material.images.to_pylist():
        carried = cells[row["image_id"]]
        assert row["embedded"] == may_embed(row["licence"], policy) == (carried is not None)
        if carried:
            assert carried["bytes"] == material.paths[row["image_id"]].read_bytes()
    assert sum(cell is not None for cell in cells.values()) == {"reference-only": 0, "permissive": 5}.get(policy, 8)


def test_image_rows_keep_credit_and_rights(fpco) -> None:
    row = fpco.images.to_pylist()[5]
    assert row["licence"] == "CC-BY-ND-2.0"
    assert row["licence_url"] == "https://creativecommons.org/licenses/by-nd/2.0/"
    assert row["author"] is None
    page = "https://www.flickr.com/photo.gne?id=77106"
    named = f"photographer per Flickr page, {page}, CC-BY-ND-2.0"
    assert row["credit"] == f"{named} (https://creativecommons.org/licenses/by-nd/2.0/)"
    assert row["changes"] == "none"
    assert fpco.images["image_id"].to_pylist() == sorted(fpco.images["image_id"].to_pylist())


def test_licence_is_read_from_the_address_and_the_page_from_the_flickr_id(fpco) -> None:
    images = with_image(fpco, "coco-101", licence=None, landing_url=None)
    row = build_image_rows(images, fpco.photographs, "permissive", {}).to_pylist()[0]
    assert row["licence"] == "CC-BY-NC-SA-2.0"
    assert row["landing_url"] == "https://www.flickr.com/photo.gne?id=77101"


def test_drawn_pictures_need_no_author(candvg) -> None:
    images = with_image(candvg, "invig-1a", author=None, landing_url=None, licence="CC0-1.0")
    with pytest.raises(DataError, match="credit is missing"):
        build_image_rows(images, candvg.photographs, "permissive", {})
    rows = build_image_rows(images, candvg.photographs, "permissive", {}, drawn_sources=["invig-test"]).to_pylist()
    assert rows[0]["credit"] == "drawn by groundset, CC0-1.0 (https://creativecommons.org/publicdomain/zero/1.0/)"
    assert rows[0]["embedded"]


def test_every_unknown_licence_and_missing_credit_is_named(fpco) -> None:
    changes = {
        "coco-101": {"licence": None, "licence_source": "http://example.org/own-licence"},
        "coco-102": {"licence": None, "licence_source": None},
        "coco-103": {"landing_url": None, "flickr_id": None},
        "coco-104": {"licence": "Apache-2.0"},
        "coco-105": {"licence": "CC-BY-3.0", "landing_url": None, "flickr_id": None},
    }
    rows = [{**row, **changes.get(row["image_id"], {})} for row in fpco.source_images.to_pylist()]
    rows = [row for row in rows if row["image_id"] != "coco-106"]
    with pytest.raises(DataError) as raised:
        build_image_rows(pa.Table.from_pylist(rows, schema=arrow_schema("image")), fpco.photographs, "permissive", {})
    assert [(problem.record, problem.message) for problem in raised.value.problems] == [
        ("coco-101", "the licence is not known: 'http://example.org/own-licence'"),
        ("coco-102", "the source states no licence"),
        ("coco-103", "the credit is missing: no photo page"),
        ("coco-104", "Apache-2.0 is no licence of photographs"),
        ("coco-105", "the credit is missing: no photo page"),
        ("coco-105", "the licence is not known: 'CC-BY-3.0'"),
        ("coco-106", "no source describes this photograph"),
    ]


def test_release_is_the_same_bytes_whatever_the_order_of_its_rows(fpco, tmp_path: Path, releases) -> None:
    backwards = {name: table.take(list(range(table.num_rows))[::-1]) for name, table in fpco.tables.items()}
    images = fpco.images.take(list(range(7, -1, -1)))
    manifest = dict(reversed(list(fpco.manifest.items())))
    again = replace(fpco, tables=backwards, images=images, manifest=manifest).write(tmp_path / "release")
    assert contents(again) == contents(releases["fpco-dialog"])


@pytest.mark.parametrize("benchmark", ["fpco-dialog", "candvg"])
def test_folder_holds_what_a_release_holds(benchmark: str, releases) -> None:
    folder = releases[benchmark]
    names = {name.split("/")[0] for name in contents(folder)}
    assert names == {
        "README.md", "data", "manifest.json", "ATTRIBUTION.csv", "LICENSE.md", "LICENSES", "schemas", "SHA256SUMS",
        "croissant.json", "figures",
    }  # fmt: skip
    record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert record["manifest"]["benchmark"] == benchmark
    assert set(record["digests"]["photographs"]) == set(pq.read_table(folder / "data/images")["image_id"].to_pylist())
    assert str(Path.home()) not in (folder / "manifest.json").read_text(encoding="utf-8")
    done = subprocess.run(
        ["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_nothing_is_left_when_a_photograph_has_changed(fpco, tmp_path: Path) -> None:
    changed = tmp_path / "changed.jpg"
    changed.write_bytes(b"not the photograph")
    out = tmp_path / "release"
    broken = replace(fpco, paths={**fpco.paths, "coco-104": changed})
    with pytest.raises(DataError, match="coco-104"):
        broken.write(out)
    assert not out.exists()
    assert verify(fpco.write(out), load=False) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["changed.jpg", "release"]


def test_release_is_never_written_over_another(fpco, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        fpco.write(tmp_path)
    (tmp_path / "empty").mkdir()
    assert (fpco.write(tmp_path / "empty") / "README.md").is_file()


def _first(table: pa.Table, **changes) -> pa.Table:
    rows = table.to_pylist()
    return pa.Table.from_pylist([{**rows[0], **changes}, *rows[1:]], schema=table.schema)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: replace(m, images=_first(m.images, licence="CC-BY-9")), "unknown licence of a photograph"),
        (lambda m: replace(m, images=_first(m.images, credit="  ")), "the credit is missing"),
        (lambda m: replace(m, images=_first(m.images, embedded=True)), "NC-SA-2.0 is not embedded under permissive"),
        (lambda m: replace(m, images=m.images.slice(1)), "coco-101: rows use this photograph"),
        (lambda m: replace(m, paths={}), "nothing says where its file lies"),
        (lambda m: replace(m, facts=replace(m.facts, texts_licence="mine")), "licence 'mine' is not in"),
        (lambda m: replace(m, tables={**m.tables, "turns": m.tables["turns"].slice(0, 0)}), "no rows"),
        (lambda m: replace(m, tables={**m.tables, "turns": _first(m.tables["turns"], turn=11)}), "11 is greater than"),
        (lambda m: replace(m, tables={**m.tables, "turns": m.tables["turns"].drop(["turn"])}), "the column is missing"),
    ],
)  # fmt: skip
def test_what_stops_a_release(change, message: str, fpco, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        change(fpco).write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda m: replace(m, tables={"dialogues": m.tables["dialogues"]}),
        lambda m: replace(m, tables={**m.tables, "points": m.tables["turns"]}),
        lambda m: replace(m, manifest={"limit": float("nan")}),
        lambda m: replace(m, digests={"when": {1, 2}}),
    ],
)
def test_wrong_calls_are_usage_errors(change, fpco, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        change(fpco).write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("benchmark", ["fpco-dialog", "candvg"])
def test_code_on_the_card_runs(
    benchmark: str, releases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    page = (releases[benchmark] / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)\n```", page, re.DOTALL)[1]
    release = f"ORGANISATION/{benchmark}-test"
    assert release in code
    found: dict = {}
    exec(code.replace(release, str(releases[benchmark])), found)
    assert len(found["rows"]) == {"fpco-dialog": 8, "candvg": 5}[benchmark]
    assert set(found["some"].column_names) >= {"image", "licence", "credit"}
    assert set(found["some"]["licence"]) == {"CC-BY-2.0"}
    assert found["some"][0]["image"].size == (64, 48)
    assert found["first"]["licence"] == found["rows"][0]["licence"]
    assert found["rows"].features["image"] == datasets.Image()
    capsys.readouterr()


def test_write_release_takes_what_the_contract_names(fpco, tmp_path: Path) -> None:
    done = write_release(tmp_path / "r", fpco.facts, fpco.tables, fpco.images, fpco.paths, fpco.manifest, fpco.digests)
    assert done is None
