# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The verb `fetch` as a user runs it, from an empty folder to checked photographs, against a server on the loopback."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from groundset import manifest as manifests
from groundset import runner
from groundset.cli import fetch, main
from groundset.fetching import download
from groundset.fetching.download import Download, Outcome
from groundset.fetching.pacing import Manners
from groundset.manifest import Manifest

Demo = Callable[..., Path]
ANNOTATIONS = "coco/instances_miniworld.json"


class Quiet(SimpleHTTPRequestHandler):
    asked: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if "broken" in self.path:
            self.send_error(400)
        else:
            super().do_GET()


@pytest.fixture(autouse=True)
def _verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def served(world: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """A world on a server: its address, its folder, and the paths that are asked for."""
    with zipfile.ZipFile(world / "annotations.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(world / ANNOTATIONS, ANNOTATIONS)
        archive.write(world / "truth.json", "truth.json")
    asked: list[str] = []
    handler = partial(type("Served", (Quiet,), {"asked": asked}), directory=str(world))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", world, asked
        server.shutdown()


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Adds keys to the sources of every manifest that is read."""
    read = manifests.read

    def add(**keys: Any) -> None:
        def reading(path: Path, sources: Path | None = None) -> Manifest:
            plain = read(path, sources)
            rows = [{**source, **keys} for source in plain.content["sources"]]
            return replace(plain, content={**plain.content, "sources": rows})

        monkeypatch.setattr(manifests, "read", reading)

    return add


def entry(url: str, path: str, unpack: tuple[str, ...] = (), size: int = 0, into: str = ".") -> dict[str, Any]:
    return {"path": path, "url": f"{url}/{path}", "bytes": size, "unpack": list(unpack), "into": into}


def test_from_nothing_to_checked_photographs(
    demo: Demo,
    served: tuple[str, Path, list[str]],
    named: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, world, asked = served
    named(
        downloads=[entry(url, "annotations.zip", ("*.json",), (world / "annotations.zip").stat().st_size)],
        photograph_url=f"{url}/coco/images/{{file_name}}",
    )
    manifest, root, work = demo("fpco-dialog"), tmp_path / "new" / "root", tmp_path / "work"
    arguments = ["fetch", str(manifest), "--sources", str(root), "--work", str(work)]

    def result(code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert main.run([*arguments, "--json"]) == code
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    first = result()
    assert first["sources"]["fetched"] == ["annotations.zip"]
    assert first["unpacked"] == {"annotations.zip": {"unpacked": 2, "already_there": 0}}
    assert first["pinned"] == 1
    assert "10_import" in first["not_ranked"]
    assert (root / ANNOTATIONS).read_bytes() == (world / ANNOTATIONS).read_bytes()
    pins = json.loads(manifest.with_suffix(".lock.json").read_bytes())["sources"]
    assert list(pins) == ["miniworld-coco/annotations.zip"]

    read = manifests.read(manifest, root)
    runner.build(read, work, runner.Options(to="30_stratify"), lambda line: None)
    ranked = pq.read_table(work / "30_stratify" / "kept.parquet").to_pylist()
    names = {
        row["image_id"]: row["file_name"] for row in pq.read_table(work / "10_import" / "images.parquet").to_pylist()
    }
    gone, broken = sorted(row["image_id"] for row in ranked if row["rank"] == 0)[:2]
    (world / "coco" / "images" / names[gone]).unlink()
    (world / "coco" / "images" / names[broken]).write_bytes(b"no picture")
    asked.clear()
    found = result()
    assert found["sources"]["already_there"] == ["annotations.zip"]
    assert found["unpacked"] == {"annotations.zip": {"unpacked": 0, "already_there": 2}}
    assert gone in [row["name"] for row in found["photographs"]["missing"]]
    assert (found["unfit"][gone], found["unfit"][broken]) == ("missing_file", "not_an_image")
    assert len(asked) == len(set(asked)) < len(names)

    runner.build(read, work, runner.Options(to="40_images"), lambda line: None)
    photographs = pq.read_table(work / "40_images" / "photographs.parquet")["image_id"].to_pylist()
    assert set(photographs) <= set(found["photographs"]["fetched"])
    images = {row["item_id"]: row["image_id"] for row in ranked}
    rejected = pq.read_table(work / "40_images" / "rejected.parquet").to_pylist()
    # one photograph may be twice in a source, which is seen only when both are read
    alone = {images[row["record_id"]]: row["rule"] for row in rejected if row["rule"] != "equal_pixels"}
    assert alone == found["unfit"]

    victim = root / "coco" / "images" / names[photographs[0]]
    victim.write_bytes(victim.read_bytes() + b".")
    assert result()["photographs"]["fetched"] == [photographs[0]]
    assert victim.read_bytes() == (world / "coco" / "images" / names[photographs[0]]).read_bytes()


def test_a_build_waits_for_photographs_that_nobody_has_fetched(
    demo: Demo,
    served: tuple[str, Path, list[str]],
    named: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, world, asked = served
    named(downloads=[entry(url, ANNOTATIONS)], photograph_url=f"{url}/coco/images/{{file_name}}")
    manifest, root, work = demo("fpco-dialog"), tmp_path / "root", tmp_path / "work"
    places = [str(manifest), "--sources", str(root), "--work", str(work)]
    assert main.run(["fetch", *places]) == 0
    # the demo's own pictures are credited by it
    (root / "truth.json").write_bytes((world / "truth.json").read_bytes())
    capsys.readouterr()
    for stage in (["--to", "40_images"], ["--only", "40_images"]):
        assert main.run(["build", *places, *stage]) == 4
        told = capsys.readouterr().err
        assert f"Run `groundset fetch {manifest} --sources {root} --work {work}` and build again" in " ".join(
            told.split()
        )
    queue = [json.loads(line) for line in (work / "queue" / "40_images.jsonl").read_bytes().splitlines()]
    assert f"40_images: {len(queue)} selected photographs are not there yet" in told
    assert not (work / "40_images").exists()
    assert main.run(["status", *places, "--json"]) == 0
    (state,) = [row for row in json.loads(capsys.readouterr().out)["stages"] if row["stage"] == "40_images"]
    assert (state["waiting"], state["waits_for"]) == (len(queue), "groundset fetch")

    gone, taken = queue[0], queue[1]
    (world / gone["path"]).unlink()
    asked.clear()
    assert main.run(["fetch", *places]) == 0
    assert {f"/{row['path']}" for row in queue} <= set(asked)
    noted = json.loads((root / "missing_photographs.json").read_bytes())
    assert noted[gone["path"]] == "answers 404 (Not Found)"
    assert main.run(["build", *places, "--to", "40_images"]) == 0
    rejected = pq.read_table(work / "40_images" / "rejected.parquet").to_pylist()
    assert [row["record_id"] for row in rejected if row["rule"] == "missing_file"]
    assert not (work / "queue" / "40_images.jsonl").exists()

    # what is lost again is asked for again
    (root / taken["path"]).unlink()
    assert main.run(["build", *places, "--to", "40_images"]) == 4
    assert main.run(["fetch", *places]) == 0
    assert main.run(["build", *places, "--to", "40_images"]) == 0


def test_a_wrong_address_makes_no_photograph_missing(
    demo: Demo,
    served: tuple[str, Path, list[str]],
    named: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, world, asked = served
    named(downloads=[entry(url, ANNOTATIONS)], photograph_url=f"{url}/coco/misspelt/{{file_name}}")
    manifest, root, work = demo("fpco-dialog"), tmp_path / "root", tmp_path / "work"
    places = [str(manifest), "--sources", str(root), "--work", str(work)]
    assert main.run(["fetch", *places]) == 0
    (root / "truth.json").write_bytes((world / "truth.json").read_bytes())
    assert main.run(["build", *places, "--to", "30_stratify"]) == 0
    capsys.readouterr()
    asked.clear()
    assert main.run(["fetch", *places, "--json"]) == 3
    out, err = capsys.readouterr()
    assert "is its photograph_url right" in err
    assert json.loads(out)["barren"] == {"miniworld-coco": len(asked)}
    assert len(asked) < len(list((world / "coco" / "images").iterdir()))
    assert not (root / "missing_photographs.json").exists()
    # so the build still waits
    assert main.run(["build", *places, "--to", "40_images"]) == 4


def test_what_cannot_be_fetched_is_told_and_ends_with_3(
    demo: Demo,
    served: tuple[str, Path, list[str]],
    named: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, _, _ = served
    secret = url.replace("http://", "http://anna:geheim@")
    named(
        downloads=[
            entry(url, ANNOTATIONS),
            entry(url, "gone.json") | {"url": f"{secret}/gone.json?key=geheim"},
            entry(url, "broken.json"),
        ]
    )
    manifest = demo("fpco-dialog")
    assert main.run(["fetch", str(manifest), "--sources", str(tmp_path / "root"), "--work", str(tmp_path / "w")]) == 3
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'root'}\n"
    assert "fetching 3 source files" in err
    assert "source files: 1 fetched" in err
    assert "1 missing, 1 failed" in err
    assert f"missing: gone.json: answers 404 (Not Found), {url}/gone.json?..." in err
    assert "failed: broken.json: answers 400 (Bad Request)" in err
    assert "geheim" not in out + err
    pins = json.loads(manifest.with_suffix(".lock.json").read_bytes())["sources"]
    assert list(pins) == ["miniworld-coco"]


def test_a_pinned_file_that_has_changed_is_refused(
    demo: Demo, served: tuple[str, Path, list[str]], named: Callable[..., None], tmp_path: Path
) -> None:
    url, world, _ = served
    named(downloads=[entry(url, ANNOTATIONS)])
    arguments = ["fetch", str(demo("fpco-dialog")), "--sources", str(tmp_path / "root"), "--work", str(tmp_path / "w")]
    assert main.run(arguments) == 0
    held = (tmp_path / "root" / ANNOTATIONS).read_bytes()
    (world / ANNOTATIONS).write_bytes(held + b" ")
    assert main.run(arguments) == 0
    (tmp_path / "root" / ANNOTATIONS).unlink()
    assert main.run(arguments) == 3
    assert not (tmp_path / "root" / ANNOTATIONS).exists()


def test_a_broken_archive_is_wrong_data(
    demo: Demo,
    served: tuple[str, Path, list[str]],
    named: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, _, _ = served
    named(downloads=[entry(url, ANNOTATIONS, ("*",)), entry(url, "annotations.zip", ("nothing.json",))])
    arguments = ["fetch", str(demo("fpco-dialog")), "--sources", str(tmp_path / "root"), "--work", str(tmp_path / "w")]
    assert main.run([*arguments, "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert any("no zip or tar archive" in problem["message"] for problem in problems)
    assert any("no member fits 'nothing.json'" in problem["message"] for problem in problems)


def test_photographs_before_the_ranking(
    demo: Demo, served: tuple[str, Path, list[str]], named: Callable[..., None], tmp_path: Path
) -> None:
    url, _, asked = served
    named(photograph_url=f"{url}/coco/images/{{file_name}}")
    arguments = ["fetch", str(demo("fpco-dialog")), "--sources", str(tmp_path / "root"), "--work", str(tmp_path / "w")]
    assert main.run([*arguments, "--photographs"]) == 2
    assert main.run([*arguments, "--no-photographs"]) == 0
    assert main.run(arguments) == 0
    assert asked == []


def test_a_manifest_that_names_nothing_to_fetch_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main.run(["fetch", str(Path(__file__).parents[2] / "manifests" / "examples" / "own-coco.toml"), "--plan"]) == 0
    )
    assert "it names nothing to fetch" in capsys.readouterr().err


def test_generated_sources_need_no_fetch(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["fetch", str(demo("candvg"))]) == 0
    assert "nothing to fetch" in capsys.readouterr().err


def test_the_meter_tells_bytes_and_files_on_a_terminal() -> None:
    downloads = [Download("http://example.invalid/a", Path("a"), bytes=1000), Download("http://x.invalid", Path("b"))]
    text = io.StringIO()
    with fetch.Meter(downloads, Console(file=text, force_terminal=True, width=120)) as meter:
        assert meter.total() == 2000
        meter.watch(downloads[0], 400, 1000)
        meter.watch(downloads[0], 1000, 1000)
        assert meter.total() == 2000 - 400
        meter.ended(Outcome(downloads[0], "fetched", bytes=1000))
        meter.watch(downloads[1], 100, 500)
        assert meter.total() == 1500 - 500
    assert "1 of 2 files" in text.getvalue()


def test_the_meter_is_quiet_elsewhere() -> None:
    text = io.StringIO()
    with fetch.Meter([Download("http://example.invalid/a", Path("a"))], Console(file=text)) as meter:
        meter.watch(Download("http://example.invalid/a", Path("a")), 1, 2)
    assert text.getvalue() == ""


def test_jobs_bound_the_connections(
    demo: Demo, named: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Manners] = []

    def note(downloads: list[Download], manners: Manners, **_: object) -> list[Outcome]:
        seen.append(manners)
        return [Outcome(download, "already_there", sha256="0" * 64, bytes=1) for download in downloads]

    monkeypatch.setattr(fetch, "fetch_files", note)
    named(downloads=[entry("https://example.invalid", "a.json")])
    arguments = [str(demo("fpco-dialog")), "--sources", str(tmp_path / "root"), "--work", str(tmp_path / "w")]
    assert main.run(["fetch", *arguments, "--jobs", "2"]) == 0
    assert (seen[0].jobs, seen[0].per_host) == (2, 2)
    assert main.run(["fetch", *arguments, "--jobs", "0"]) == 2
    assert download.Manners().jobs == 8
