# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Every manifest of the repository is valid, and every way to spoil one gets a message that says what to mend."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from groundset import manifest
from groundset.errors import UsageError
from groundset.manifest import Manifest, leaves_folder

ROOT = Path(__file__).parents[1]
MANIFESTS = sorted(path for path in (ROOT / "manifests").rglob("*.toml") if path.name != "licences.toml")
BAD = Path(__file__).parent / "bad" / "manifest"
CASES = sorted(path for path in BAD.iterdir() if path.is_dir())


def spoilt(case: Path) -> bytes:
    """The case's own file, or a demo's manifest with some text replaced."""
    if (case / "manifest.toml").exists():
        return (case / "manifest.toml").read_bytes()
    edit = json.loads((case / "edit.json").read_text("utf-8"))
    text = (ROOT / edit["base"]).read_text("utf-8")
    for before, after in edit["replace"]:
        assert text.count(before) == 1, f"{edit['base']} has {before!r} {text.count(before)} times"
        text = text.replace(before, after)
    return text.encode()


def sources_for(path: Path, folder: Path) -> Path | None:
    kind = tomllib.loads(path.read_text("utf-8"))["source_root"]["kind"]
    return folder if kind == "folder" else None


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_every_manifest_of_the_repository_is_valid(path: Path, tmp_path: Path) -> None:
    sources = sources_for(path, tmp_path)
    found = manifest.read(path, sources)
    assert found.benchmark in ("candvg", "fpco-dialog")
    assert found.title == f"{found.content['name']}-{found.content['version']}"
    assert found.lock_path == path.parent / f"{path.stem}.lock.json"
    assert found.source_root == sources
    assert found.is_generated is (sources is None)
    assert found.section("seed", "filter") == {"seed": found.content["seed"], "filter": found.content["filter"]}


def test_there_are_demos_of_both_benchmarks() -> None:
    assert {manifest.read(ROOT / f"manifests/demo/{name}.toml").benchmark for name in ("candvg", "fpco-dialog")} == {
        "candvg",
        "fpco-dialog",
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_spoilt_manifest_gets_this_message(case: Path, tmp_path: Path) -> None:
    path = tmp_path / "manifest.toml"
    path.write_bytes(spoilt(case))
    with pytest.raises(UsageError) as error:
        manifest.read(path)
    told = str(error.value).replace(f"{tmp_path}/", "")
    assert told == (case / "message.txt").read_text("utf-8").rstrip("\n")


def required_keys(content: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = []
    for key, child in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(content, dict):
            found.append((*path, key))
        if isinstance(child, dict | list):
            found += required_keys(child, (*path, key))
    return found


@pytest.mark.parametrize("name", ["candvg", "fpco-dialog"])
def test_no_key_has_a_hidden_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / f"manifests/demo/{name}.toml"
    for keys in required_keys(tomllib.loads(path.read_text("utf-8"))):
        content = tomllib.loads(path.read_text("utf-8"))
        node: Any = content
        for key in keys[:-1]:
            node = node[key]
        del node[keys[-1]]
        monkeypatch.setattr(manifest.tomllib, "loads", lambda text, content=content: content)
        with pytest.raises(UsageError, match=rf'"{keys[-1]}" is a required property'):
            manifest.read(path)
        monkeypatch.undo()


def folder_manifest(tmp_path: Path, path: str) -> Path:
    text = (ROOT / "manifests/examples/own-coco.toml").read_text("utf-8")
    assert text.count('path = "coco"') == 1
    written = tmp_path / "own.toml"
    written.write_text(text.replace('path = "coco"', f'path = "{path}"'), "utf-8")
    return written


def test_the_source_root_is_relative_to_the_manifest_absolute_or_given(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    assert manifest.read(folder_manifest(tmp_path, "files")).source_root == tmp_path / "files"
    assert manifest.read(folder_manifest(tmp_path, str(tmp_path / "files"))).source_root == tmp_path / "files"
    assert manifest.read(folder_manifest(tmp_path, "nowhere"), tmp_path).source_root == tmp_path
    with pytest.raises(UsageError, match=r"\$\.source_root: there is no folder"):
        manifest.read(folder_manifest(tmp_path, "own.toml"))


def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.toml: the manifest cannot be read: No such file or directory"):
        manifest.read(tmp_path / "nowhere.toml")
    with pytest.raises(UsageError, match="the manifest cannot be read: Is a directory"):
        manifest.read(tmp_path)


def test_a_manifest_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("x = " + "[" * 3000 + "]" * 3000)
    with pytest.raises(UsageError, match=r"deep\.toml: the manifest is nested too deeply"):
        manifest.read(tmp_path / "deep.toml")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_what_editors_do_to_a_file_does_no_harm(tmp_path: Path, mark: bytes, line_end: bytes) -> None:
    demo = ROOT / "manifests/demo/candvg.toml"
    written = tmp_path / "candvg.toml"
    written.write_bytes(mark + demo.read_bytes().replace(b"\n", line_end))
    assert manifest.read(written).content == manifest.read(demo).content


def test_a_decision_file_may_lie_beside_or_above_the_manifest(tmp_path: Path) -> None:
    text = (ROOT / "manifests/demo/candvg.toml").read_text("utf-8")
    written = tmp_path / "candvg.toml"
    text = text.replace("files = []", 'files = ["a.jsonl", "../b/c.jsonl"]').replace(
        'review = "simulated"', 'review = "people"'
    )
    written.write_text(text, "utf-8")
    assert manifest.read(written).content["decisions"]["files"] == ["a.jsonl", "../b/c.jsonl"]


@pytest.mark.parametrize(
    ("path", "leaves"),
    [
        ("a.json", False),
        ("a/b..c/d.json", False),
        (".", False),
        ("./a", False),
        ("..", True),
        ("a/../b", True),
        ("a/../../b", True),
        ("/a", True),
        ("\\a", True),
        ("a\\..\\..\\b", True),
        ("C:/a", True),
        ("c:a", True),
        ("a\0b", True),
    ],
)
def test_paths_that_leave_their_folder(path: str, leaves: bool) -> None:
    assert leaves_folder(path) is leaves


def test_a_manifest_is_what_it_says(tmp_path: Path) -> None:
    found = Manifest(tmp_path / "a.b.toml", {"benchmark": "candvg", "name": "n", "version": "1.0.0"}, None)
    assert (found.benchmark, found.title, found.lock_path.name) == ("candvg", "n-1.0.0", "a.b.lock.json")
