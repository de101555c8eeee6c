# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from loopback_hub import TOKEN, Hub, Stored, loopback_hub

from groundset.errors import DataError
from groundset.release import hub as publishing
from groundset.release.hub import Held, LocalFile, Remote, compare, hub_id, local_files, plan, unsaid_problems
from groundset.release.record import decode

REPO = "org/small"
OLDEST = Path(__file__).parents[2] / ".venv" / "oldest"
# commands in a process of its own, as the Hub's clients read the environment once; loading with datasets takes
# seconds and is held elsewhere
COMMANDS = """
import contextlib, functools, io, json, os, sys
from groundset.cli import publish
from groundset.cli.main import run
from groundset.release import verify
publish.verify = verify.verify = functools.partial(verify.verify, load=False)
for line in sys.stdin:
    arguments, changes = json.loads(line)
    kept = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    os.environ.update({name: value for name, value in kept.items() if value is not None})
    print(json.dumps([code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()]), flush=True)
"""
READ = """
import json, sys
import datasets
from datasets import load_dataset
repo, revision = sys.argv[1], sys.argv[2] or None
rows = load_dataset(repo, split="test", revision=revision)
stream = load_dataset(repo, split="test", revision=revision, streaming=True)
free = load_dataset(
    repo, split="test", revision=revision, columns=["dialogue_id", "image", "licence"],
    filters=[("licence", "==", "CC-BY-2.0")], streaming=True,
)
print(json.dumps({
    "datasets": datasets.__version__,
    "rows": len(rows),
    "sizes": [row["image"].size if row["image"] else None for row in rows],
    "streamed": [row["dialogue_id"] for row in stream] == rows["dialogue_id"],
    "free": [[row["licence"], row["image"].size] for row in free],
    "configs": {name: len(load_dataset(repo, name, split="test", revision=revision)) for name in ("turns", "images")},
}))
"""


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


def environment(hub: Hub, home: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    return own | {
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
        "HF_TOKEN": TOKEN,
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hub, Run]]:
    """A Hub, and what runs commands that speak with it."""
    with (
        loopback_hub() as hub,
        subprocess.Popen(
            [sys.executable, "-P", "-c", COMMANDS],
            env=environment(hub, tmp_path_factory.mktemp("home")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdin
        assert process.stdout

        def call(*arguments: str | Path, **changes: str) -> Done:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps([[str(part) for part in arguments], changes]) + "\n")
            process.stdin.flush()
            done = Done(*json.loads(process.stdout.readline()))
            assert TOKEN not in done.stdout + done.stderr
            return done

        yield hub, call
        process.stdin.close()


@pytest.fixture
def hub(served: tuple[Hub, Run]) -> Hub:
    """The Hub, with nothing in it."""
    for held in (served[0].repositories, served[0].objects, served[0].asked, served[0].faults):
        held.clear()
    return served[0]


@pytest.fixture
def run(served: tuple[Hub, Run]) -> Run:
    return served[1]


def alone(hub: Hub, home: Path, code: str, *arguments: str | Path, **changes: str) -> Done:
    """Runs a program in a process of its own, for what the Hub's clients read once."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *map(str, arguments)],
        env={**environment(hub, home), **changes},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert TOKEN not in done.stdout + done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def publish(run: Run, release: Path, **changes: str) -> Done:
    return run("publish", release, "--repo", REPO, "--execute", **changes)


def content(files: Mapping[str, Stored]) -> dict[str, bytes]:
    return {path: stored.content for path, stored in files.items() if path != ".gitattributes"}


def folder_content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def releases_of(make: dict[str, Callable[..., Any]], tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, **changes: Any) -> Path:
        folder = tmp_path / name
        return make["fpco-dialog"](folder / "photographs", **changes).write(folder / "release")

    return write


def test_a_plan_changes_nothing_and_a_publication_is_one_commit_and_a_tag(
    hub: Hub, run: Run, releases: dict[str, Path]
) -> None:
    release = releases["fpco-dialog"]
    shown = run("publish", release, "--repo", REPO)
    assert shown.returncode == 0
    assert f"{REPO} is not there: it would be made" in shown.stdout
    size = sum(path.stat().st_size for path in release.rglob("*") if path.is_file())
    assert f"to send: {size:,} bytes" in shown.stdout
    assert "tag v1.2.3" in shown.stdout
    assert "nothing was done" in shown.stderr
    assert hub.of("POST") == []
    assert hub.repositories == {}

    done = publish(run, release)
    assert done.returncode == 0, done.stderr
    held = hub.repositories[REPO]
    assert [title for _, title in held.titles] == ["Release v1.2.3", "initial commit"]
    assert held.tags == {"v1.2.3": held.head}
    assert held.head in done.stdout
    assert content(held.commits[held.head]) == folder_content(release)

    before = len(hub.asked)
    again = publish(run, release)
    assert again.returncode == 0
    assert "there is nothing to do" in again.stdout
    assert [line for line in hub.asked[before:] if not line.startswith("GET")] == []


@pytest.mark.parametrize(("over", "version"), [((), metadata.version("datasets")), ((OLDEST,), "3.6.0")])
def test_readers_load_it_by_its_tag_stream_it_and_take_what_a_licence_allows(
    over: tuple[Path, ...], version: str, hub: Hub, run: Run, releases: dict[str, Path], tmp_path: Path
) -> None:
    if not all(folder.is_dir() for folder in over):
        pytest.skip("make .venv/oldest installs the oldest datasets that reads a release")
    assert publish(run, releases["fpco-dialog"]).returncode == 0
    held = hub.repositories[REPO]
    held.commit("somebody empties main", {"README.md": Stored(b"empty\n", lfs=False)})
    paths = os.pathsep.join(map(str, [*over, *(path for path in sys.path if path)]))
    for place, revision in ((REPO, "v1.2.3"), (releases["fpco-dialog"], "")):
        read = alone(hub, tmp_path, READ, place, revision, HF_TOKEN="", PYTHONPATH=paths)
        assert read.returncode == 0, read.stderr
        told = json.loads(read.stdout)
        assert told["datasets"] == version
        assert (told["rows"], told["streamed"], told["configs"]) == (8, True, {"turns": 80, "images": 8})
        # the default policy embeds five of the eight licences
        assert sorted(map(str, told["sizes"])) == ["None"] * 3 + ["[64, 48]"] * 5
        assert told["free"] == [["CC-BY-2.0", [64, 48]]]


def test_what_the_hub_has_is_verified_as_a_folder_is(
    hub: Hub, run: Run, releases: dict[str, Path], tmp_path: Path
) -> None:
    assert publish(run, releases["fpco-dialog"]).returncode == 0
    held = hub.repositories[REPO]
    files = dict(held.commits[held.head])
    held.commit("tampered with", {**files, "LICENSE.md": Stored(b"do what you like\n", lfs=False)})
    sound = run("verify", f"{REPO}@v1.2.3")
    assert (sound.returncode, sound.stdout) == (0, f"{REPO}@v1.2.3: everything is as it should be\n")
    wrong = run("verify", REPO)
    assert wrong.returncode == 1
    assert "LICENSE.md: the file is not the one that SHA256SUMS lists" in wrong.stdout
    for absent, told in (
        (f"{REPO}@v9.9.9", "the Hub answers 404"),
        ("org/absent", "org/absent is not on the Hub, or the token may not see it"),
    ):
        done = run("verify", absent)
        assert (done.returncode, told in done.stderr) == (3, True), done.stderr
    asked = len(hub.asked)
    assert run("verify", "org/a/b").returncode == 2
    folder = tmp_path / "org" / "small"
    shutil.copytree(releases["fpco-dialog"], folder)
    assert run("verify", folder).returncode == 0
    assert hub.asked[asked:] == []


def test_a_later_version_sends_what_is_new_and_leaves_the_earlier_one(
    hub: Hub, run: Run, releases: dict[str, Path], releases_of: Callable[..., Path]
) -> None:
    assert publish(run, releases["fpco-dialog"]).returncode == 0
    held = hub.repositories[REPO]
    first = held.head
    held.commit("a page by hand", {**held.commits[first], "notes.md": Stored(b"by hand\n", lfs=False)})
    sent = len(hub.of("PUT /lfs"))
    later = releases_of("later", version="1.3.0")
    shown = run("publish", later, "--repo", REPO, "--json")
    told = json.loads(shown.stdout)
    states = {file["path"]: file["state"] for file in told["files"]}
    assert states["notes.md"] == "removed"
    assert states["manifest.json"] == "changed"
    assert states["data/dialogues/test-00000-of-00001.parquet"] == "unchanged"
    assert (told["parent"], told["executed"], told["before"]) == (held.head, False, ["v1.2.3", first])
    assert publish(run, later).returncode == 0
    assert held.tags == {"v1.2.3": first, "v1.3.0": held.head}
    assert content(held.commits[held.head]) == folder_content(later)
    assert len(hub.of("PUT /lfs")) == sent

    earlier = run("publish", releases_of("earlier", version="1.2.9"), "--repo", REPO)
    assert earlier.returncode == 1
    assert "has published v1.3.0; v1.2.9 would come after it" in earlier.stderr


def test_a_version_is_published_once_and_an_id_names_one_thing(
    hub: Hub, run: Run, releases: dict[str, Path], make: dict[str, Callable[..., Any]], tmp_path: Path
) -> None:
    assert publish(run, releases["fpco-dialog"]).returncode == 0
    held = hub.repositories[REPO]
    state = held.head, dict(held.tags)
    other = make["fpco-dialog"](tmp_path / "photographs", summary="Another summary.").write(tmp_path / "other")
    done = publish(run, other)
    assert done.returncode == 1
    assert "has published v1.2.3 with other content" in done.stderr
    assert "README.md: v1.2.3 has another one" in done.stderr

    material = make["fpco-dialog"](tmp_path / "photographs", version="1.3.0")
    rows = [{**row, "target_object_id": "a8"} for row in material.tables["dialogues"].to_pylist()[:1]]
    rows += material.tables["dialogues"].to_pylist()[1:]
    dialogues = pa.Table.from_pylist(rows, schema=material.tables["dialogues"].schema)
    reused = replace(material, tables={**material.tables, "dialogues": dialogues}).write(tmp_path / "reused")
    done = publish(run, reused)
    assert done.returncode == 1
    assert "dialogues coco-108-animal-attribute $.target_object_id: it was 'a7' and is 'a8'" in done.stderr

    done = publish(run, make["candvg"](tmp_path / "more", version="2.0.0").write(tmp_path / "candvg"))
    assert done.returncode == 1
    assert f"{REPO} is no place for this release" in done.stderr
    assert (held.head, held.tags) == state


def test_what_is_wrong_or_still_unsaid_is_not_published(
    hub: Hub, run: Run, releases_of: Callable[..., Path], tmp_path: Path
) -> None:
    unsaid = "To be said here\nbefore a release: who screened."
    release = releases_of("unsaid", annotators=unsaid, authors=("A. Author", "to be named here before a release"))
    (release / "LICENSE.md").write_text("changed\n")
    done = publish(run, release)
    assert done.returncode == 1
    for told in ("$.facts.annotators: it still says", "$.facts.authors[1]: it still says", "LICENSE.md: the file is"):
        assert told in done.stderr
    for arguments, told in (
        ((release, "--repo", "org/a/b"), "ORG/NAME"),
        ((release, "--repo", f"{REPO}@v1"), "ORG/NAME"),
        ((tmp_path / "absent", "--repo", REPO), "no such folder"),
        ((tmp_path, "--repo", REPO), "is no release"),
    ):
        done = run("publish", *arguments)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert hub.asked == []


def test_a_commit_of_somebody_else_in_between_is_told_and_nothing_is_done(
    hub: Hub, run: Run, releases: dict[str, Path], releases_of: Callable[..., Path]
) -> None:
    assert publish(run, releases["fpco-dialog"]).returncode == 0
    held = hub.repositories[REPO]

    def meddle() -> None:
        held.commit("meanwhile", {**held.commits[held.head], "notes.md": Stored(b"mine\n", lfs=False)})

    hub.faults["POST /api/datasets/org/small/preupload"] = meddle
    done = publish(run, releases_of("later", version="1.3.0"))
    assert done.returncode == 3
    assert "has got another commit since the plan was made, so nothing was done" in done.stderr
    assert held.titles[0][1] == "meanwhile"
    assert list(held.tags) == ["v1.2.3"]


@pytest.mark.parametrize("fault", ["cut", 500])
def test_a_connection_that_is_cut_in_the_commit_leaves_the_repository_as_it_was(
    hub: Hub, run: Run, releases: dict[str, Path], fault: str | int
) -> None:
    hub.faults["POST /api/datasets/org/small/commit"] = fault
    done = publish(run, releases["fpco-dialog"])
    assert done.returncode == 3
    assert "the repository is as it was" in done.stderr
    held = hub.repositories[REPO]
    assert ([title for _, title in held.titles], held.tags) == (["initial commit"], {})
    assert publish(run, releases["fpco-dialog"]).returncode == 0
    assert content(held.commits[held.tags["v1.2.3"]]) == folder_content(releases["fpco-dialog"])


@pytest.mark.parametrize(
    ("start", "fault"),
    [
        ("POST /api/datasets/org/small/commit", "cut_after"),
        ("POST /api/datasets/org/small/tag", 500),
        ("POST /api/datasets/org/small/tag", "cut"),
    ],
)
def test_a_publication_that_lacks_only_its_tag_gets_it_in_the_next_run(
    hub: Hub, run: Run, releases: dict[str, Path], start: str, fault: str | int
) -> None:
    hub.faults[start] = fault
    done = publish(run, releases["fpco-dialog"])
    assert done.returncode == 3
    assert "run the command again" in done.stderr
    held = hub.repositories[REPO]
    head = held.head
    assert content(held.commits[head]) == folder_content(releases["fpco-dialog"])
    assert held.tags == {}
    done = publish(run, releases["fpco-dialog"])
    assert done.returncode == 0
    assert "has all of it" in done.stdout
    assert (held.head, held.tags) == (head, {"v1.2.3": head})
    assert len(hub.of("POST /api/datasets/org/small/commit")) == 1


def test_a_refused_token_and_a_missing_one_are_told(hub: Hub, run: Run, releases: dict[str, Path]) -> None:
    done = publish(run, releases["fpco-dialog"], HF_TOKEN="hf_wrong_token")
    assert done.returncode == 3
    assert "the Hub answers 401: Invalid credentials" in done.stderr
    assert "set HF_TOKEN" in done.stderr
    assert "hf_wrong_token" not in done.stdout + done.stderr
    assert publish(run, releases["fpco-dialog"], HF_TOKEN="").returncode == 2
    assert hub.repositories == {}


PUBLISH = """
import sys
from groundset.cli.main import run
sys.exit(run(["publish", sys.argv[1], "--repo", "org/small", "--execute"]))
"""


def test_the_token_of_the_clients_own_store_is_used(hub: Hub, releases: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    done = alone(hub, tmp_path, PUBLISH, releases["fpco-dialog"], HF_TOKEN="")
    assert done.returncode == 0, done.stderr
    assert "v1.2.3" in hub.repositories[REPO].tags


def test_a_hub_that_is_not_there_is_told(hub: Hub, releases: dict[str, Path], tmp_path: Path) -> None:
    done = alone(hub, tmp_path, PUBLISH, releases["fpco-dialog"], HF_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 3
    assert "ConnectError" in done.stderr
    assert "Traceback" not in done.stderr


A, B = LocalFile(1, "a" * 64, "a" * 40), LocalFile(2, "b" * 64, "b" * 40)


def test_files_are_told_apart_by_what_they_hold_however_they_are_stored() -> None:
    local = {"a": A, "b": B, "c": A, "d": A}
    held = {
        "a": Held(1, None, "a" * 40),
        "b": Held(2, "b" * 64, "f" * 40),
        "c": Held(1, "b" * 64, "a" * 40),
        "e/f": Held(9, None, "e" * 40),
        ".gitattributes": Held(9, None, "e" * 40),
    }
    states = {file.path: file.state for file in compare(local, held)}
    assert states == {"a": "unchanged", "b": "unchanged", "c": "changed", "d": "new", "e/f": "removed"}


def test_what_is_planned_follows_from_what_the_repository_holds() -> None:
    held = {"a": Held(1, None, "a" * 40)}
    made = plan(REPO, "1.0.0", {"a": A}, Remote(exists=False, head=None, files={}, tags={}, tagged=None))
    assert (made.creates, made.commits, made.tags) == (True, True, True)
    tags = {"v0.9.0": "1" * 40, "v0.10.0": "2" * 40, "draft": "3" * 40}
    tag_only = plan(REPO, "1.0.0", {"a": A}, Remote(True, "4" * 40, held, tags, None))
    assert (tag_only.creates, tag_only.commits, tag_only.tags) == (False, False, True)
    assert tag_only.before == ("v0.10.0", "2" * 40)
    nothing = plan(REPO, "1.0.0", {"a": A}, Remote(True, "4" * 40, {}, tags, held))
    assert (nothing.creates, nothing.commits, nothing.tags) == (False, False, False)
    with pytest.raises(DataError, match="with other content"):
        plan(REPO, "1.0.0", {"a": B}, Remote(True, "4" * 40, held, tags, held))
    with pytest.raises(DataError, match=r"v0\.10\.0; v0\.9\.1 would come after it"):
        plan(REPO, "0.9.1", {"a": A}, Remote(True, "4" * 40, held, tags, None))


def test_files_are_hashed_as_git_and_the_hub_hash_them(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_bytes(b"hello\n")
    (tmp_path / ".gitattributes").write_bytes(b"not ours")
    # `git hash-object` and `sha256sum` of the five letters and a line feed
    assert local_files(tmp_path) == {
        "SHA256SUMS": LocalFile(
            6,
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
            "ce013625030ba8dba906f756967f9e9ca394464a",
        )
    }


def test_ids_of_the_hub_are_told_from_paths() -> None:
    assert hub_id("org/name@v1.0.0") == ("org/name", "v1.0.0")
    for text in ("name", "./org/name", "/org/name", "org/name/more", "org/name@", "org/", "~/name"):
        assert hub_id(text) is None


def test_a_simulated_release_is_told_as_one(
    hub: Hub, run: Run, releases: dict[str, Path], make: dict[str, Callable[..., Any]], tmp_path: Path
) -> None:
    told = "The screening decisions were simulated; no person has looked at the items."
    material = make["fpco-dialog"](tmp_path / "photographs", simulated=(told,))
    material.manifest["decisions"]["screening"] = "simulated"
    said = "is simulated, as its card says"
    assert said in run("publish", material.write(tmp_path / "release"), "--repo", REPO).stderr
    assert said not in run("publish", releases["fpco-dialog"], "--repo", REPO).stderr
    assert hub.repositories == {}


def test_a_card_that_says_all_has_nothing_unsaid(releases: dict[str, Path]) -> None:
    record = decode((releases["candvg"] / "manifest.json").read_bytes())
    assert unsaid_problems(record) == []
    told = unsaid_problems(replace(record, facts=replace(record.facts, citation="To be given here before a release.")))
    assert [problem.path for problem in told] == ["$.facts.citation"]
    assert publishing.read_record(releases["candvg"]) == record


def test_the_cards_of_the_examples_have_to_be_written_first(releases: dict[str, Path]) -> None:
    record = decode((releases["candvg"] / "manifest.json").read_bytes())
    examples = sorted((Path(__file__).parents[2] / "manifests" / "examples").glob("*.toml"))
    assert examples
    keys = ("authors", "annotators", "annotator_pay", "use_cases", "biases", "personal_information", "social_impact")
    for example in examples:
        written = tomllib.loads(example.read_text(encoding="utf-8"))["card"]
        told = unsaid_problems(replace(record, facts=replace(record.facts, **{key: written[key] for key in keys})))
        assert {problem.path.removeprefix("$.facts.").partition("[")[0] for problem in told} == {*keys}, example.name
