# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groundset.cli.main import run
from groundset.errors import UsageError
from groundset.release.checksums import HYDRATED, checksum_problems
from groundset.release.hydrate import PHOTOGRAPHS, hydrate
from groundset.release.loading import load_all
from groundset.release.package import build_image_rows
from groundset.release.parquet import read_photographs, shard_paths
from groundset.release.verify import verify


class Quiet(SimpleHTTPRequestHandler):
    asked: list[str]

    def log_message(self, *_: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path, list[str]]]:
    """Address of a loopback server, the folder that it serves, and what it has been asked for."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder, asked = tmp_path / "web", []
    folder.mkdir()
    handler = type("Handler", (Quiet,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", folder, asked
        server.shutdown()


@pytest.fixture
def referenced(make: dict[str, Callable[..., Any]], served: tuple[str, Path, list[str]], tmp_path: Path) -> Path:
    """A release under the default policy, three of whose photographs are only referenced, and served."""
    address, web, _ = served
    material = make["fpco-dialog"](tmp_path / "photographs")
    for image_id, path in material.paths.items():
        shutil.copyfile(path, web / f"{image_id}.jpg")
    addresses = {image_id: f"{address}/{image_id}.jpg" for image_id in material.paths}
    images = build_image_rows(material.source_images, material.photographs, "permissive", addresses)
    return replace(material, images=images).write(tmp_path / "release")


NOT_EMBEDDED = ["coco-101", "coco-102", "coco-103"]


def pictures(folder: Path, config: str = "dialogues") -> dict[str, str | None]:
    return {
        image_id: hashlib.sha256(cell["bytes"]).hexdigest() if cell else None
        for path in shard_paths(folder, config)
        for image_id, cell in read_photographs(path)
    }


def hashes(folder: Path) -> dict[str, str]:
    rows = pa.concat_tables([pq.read_table(path) for path in shard_paths(folder, "images")])
    return dict(zip(rows["image_id"].to_pylist(), rows["sha256"].to_pylist(), strict=True))


def test_the_copy_loads_as_if_all_were_embedded(
    referenced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [name for name, digest in pictures(referenced).items() if digest is None] == NOT_EMBEDDED
    copy = tmp_path / "copy"
    assert run(["hydrate", str(referenced), "--out", str(copy)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{copy}\n"
    assert "3 photographs filled in, 0 lacking" in told.err
    assert pictures(copy) == hashes(referenced)
    loaded = load_all(str(copy), ["dialogues", "turns", "images"])
    assert [(loaded[name].get("rows"), loaded[name].get("error")) for name in loaded] == [
        (8, None),
        (80, None),
        (8, None),
    ]
    assert "Do not pass this folder on" in (copy / HYDRATED).read_text()
    without = [column for column in pq.read_schema(shard_paths(copy, "dialogues")[0]).names if column != "image"]
    before, now = (pq.read_table(shard_paths(folder, "dialogues")[0], columns=without) for folder in (referenced, copy))
    assert before == now
    assert verify(referenced, load=False) == []


def test_verify_says_of_a_copy_that_it_is_none(referenced: Path, tmp_path: Path) -> None:
    assert run(["hydrate", str(referenced), "--out", str(tmp_path / "copy")]) == 0
    found = verify(tmp_path / "copy", load=False)
    assert [problem.message for problem in found if problem.file in (HYDRATED, PHOTOGRAPHS)] == [
        "this is a copy that groundset hydrate made, and no release"
    ]


def test_a_full_disk_is_told_and_the_same_command_goes_on(
    referenced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    command = ["hydrate", str(referenced), "--out", str(tmp_path / "copy")]
    with monkeypatch.context() as patched:
        patched.setattr("groundset.release.hydrate.fill_photographs", full)
        assert run(command) == 1
    told = capsys.readouterr().err
    assert f"{tmp_path / 'copy'}: No space left on device; what has been fetched stays in" in told
    assert run(command) == 0
    assert pictures(tmp_path / "copy") == hashes(referenced)


def test_what_is_gone_or_has_changed_is_listed_and_left_out(
    referenced: Path, served: tuple[str, Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, web, asked = served
    kept = (web / "coco-101.jpg").read_bytes()
    (web / "coco-101.jpg").unlink()
    content = bytearray((web / "coco-102.jpg").read_bytes())
    content[-5] ^= 1
    (web / "coco-102.jpg").write_bytes(content)
    copy = tmp_path / "copy"
    assert run(["hydrate", str(referenced), "--out", str(copy), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["filled"] == ["coco-103"]
    assert list(told["lacking"]) == ["coco-101", "coco-102"]
    assert told["lacking"]["coco-101"].startswith("gone: ")
    assert "sha256" in told["lacking"]["coco-102"]
    assert [name for name, digest in pictures(copy).items() if digest is None] == ["coco-101", "coco-102"]
    asked.clear()
    (web / "coco-101.jpg").write_bytes(kept)
    assert run(["hydrate", str(referenced), "--out", str(copy), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["filled"] == ["coco-101", "coco-103"]
    # what is there is not asked for again
    assert set(asked) == {"/coco-101.jpg", "/coco-102.jpg"}


def test_photographs_that_lie_in_a_folder_are_found_by_their_content(
    referenced: Path, served: tuple[str, Path, list[str]], tmp_path: Path
) -> None:
    _, web, asked = served
    own = tmp_path / "own" / "deep"
    own.mkdir(parents=True)
    shutil.copyfile(web / "coco-101.jpg", own / "any name at all")
    (own / "other.jpg").write_bytes((web / "coco-102.jpg").read_bytes()[::-1])
    assert run(["hydrate", str(referenced), "--photographs", str(own.parent)]) == 0
    assert set(asked) == {"/coco-102.jpg", "/coco-103.jpg"}
    assert pictures(referenced.with_name("release-hydrated")) == hashes(referenced)


def test_a_release_without_addresses_says_what_to_do(
    make: dict[str, Callable[..., Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    material = make["candvg"](tmp_path / "photographs")
    images = build_image_rows(material.source_images, material.photographs, "permissive", {})
    release = replace(material, images=images).write(tmp_path / "release")
    assert run(["hydrate", str(release)]) == 3
    assert "knows no address of this file; --photographs takes a folder" in capsys.readouterr().err
    assert run(["hydrate", str(release), "--photographs", str(tmp_path / "photographs")]) == 0
    assert pictures(tmp_path / "release-hydrated", "samples") == hashes(release)


def test_what_is_no_release_or_no_place_for_a_copy(referenced: Path, tmp_path: Path) -> None:
    def never(_: object) -> list[Any]:
        raise AssertionError

    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for release, out, message in (
        (tmp_path / "full", tmp_path / "new", "is no release"),
        (referenced, tmp_path / "full", "is not empty"),
        (referenced, referenced, "is not empty"),
        (referenced, tmp_path / "full" / "mine.txt", "is not a folder"),
    ):
        with pytest.raises(UsageError, match=message):
            hydrate(release, out, never)
    with pytest.raises(UsageError, match="no such folder"):
        hydrate(referenced, tmp_path / "new", never, [tmp_path / "absent"])
    assert checksum_problems(referenced) == []
