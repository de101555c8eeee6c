# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset browse` as a curator calls it, and the App as a browser shows it."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from loopback_mongo import LIMIT_S, free_port, wait_for_port
from PIL import Image, ImageColor

from groundset.cli.main import run
from groundset.release import hub
from groundset.views.layout import COLOURS
from groundset.views.reading import read_release
from groundset.views.turns import FALSE_PREMISE, PLAUSIBLE, TRUE_PREMISE

DATASET = "fpco-dialog-demo-0.1.0"
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--use-gl=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]


def command(*arguments: str | Path) -> list[str]:
    code = "from groundset.cli.entry import main; main()"
    return [sys.executable, "-c", code, "browse", *map(str, arguments)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_views_are_printed(mongo: str, work: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    folder = work("candvg") / "80_package" / "release"
    rows = read_release(folder).tables
    assert run(["browse", str(folder), "--no-app"]) == 0
    told = capfd.readouterr().out
    for stratum, dialogues in Counter(row["stratum"] for row in rows["dialogues"]).items():
        turns = sum(row["stratum"] == stratum for row in rows["samples"])
        (line,) = [line for line in told.splitlines() if f" stratum {stratum} " in line]
        assert [cell.strip() for cell in line.split("│")[2:4]] == [str(dialogues), str(turns)]


def test_json_is_all_that_is_on_stdout(
    mongo: str, work: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = work("fpco-dialog")
    release = folder / "80_package" / "release"
    capfd.readouterr()
    assert run(["browse", str(release), "--no-app", "--rejected", str(folder), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    views = {view["name"]: view for view in found["views"]}
    tables = read_release(release).tables
    turns = len(tables["turns"])
    assert found["dataset"] == DATASET
    assert views["dialogues"] == {"name": "dialogues", "grouped": True, "samples": turns, "dialogues": turns // 10}
    assert found["samples"] == turns + views["rejected"]["samples"]
    strata = {f"stratum {row['stratum']}" for row in tables["dialogues"]}
    assert strata == {name for name in views if name.startswith("stratum ")}
    assert (found["photographs_not_shown"], found["turns_not_shown"]) == ({}, 0)


def test_what_cannot_be_shown_is_told(mongo: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    said = {tmp_path / "nothing": "no such folder", tmp_path: "is no release", tmp_path / "file": "no such folder"}
    for release, message in said.items():
        assert run(["browse", str(release), "--no-app"]) == 2
        told = capfd.readouterr()
        assert str(release) in told.err
        assert message in told.err
        assert "Traceback" not in told.err
        assert told.out == ""


def test_a_port_that_is_taken_is_told_before_anything_is_done(
    mongo: str, work: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert run(["browse", str(work("candvg") / "80_package" / "release"), "--port", port]) == 2
    told = capfd.readouterr()
    assert f"port {port} cannot be had" in told.err
    assert told.out == ""


def test_a_release_on_the_hub_is_fetched_first(
    mongo: str, work: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    release = work("candvg") / "80_package" / "release"
    asked = []

    def download(repo: str, revision: str, into: Path) -> None:
        asked.append((repo, revision, into))
        shutil.copytree(release, into, dirs_exist_ok=True)

    monkeypatch.setattr(hub, "download", download)
    capfd.readouterr()
    assert run(["browse", "org/candvg-demo@v0.1.0", "--no-app", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["samples"] == len(read_release(release).tables["samples"])
    ((repo, revision, folder),) = asked
    assert (repo, revision) == ("org/candvg-demo", "v0.1.0")
    assert not folder.exists()


@contextmanager
def app(*arguments: str | Path) -> Iterator[str]:
    """Runs browse until the App answers; gives the address that it tells, and ends it as Ctrl-C does."""
    port = free_port()
    talk: list[str] = []
    process = subprocess.Popen(
        command(*arguments, "--port", str(port)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=os.environ,
    )
    assert process.stderr is not None
    reader = threading.Thread(target=lambda stream: talk.extend(stream), args=(process.stderr,), daemon=True)
    reader.start()
    try:
        wait_for_port(process, port)
        (line,) = [line for line in talk if "look at http" in line]
        yield line.partition("look at ")[2].split()[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0, "".join(talk)
        reader.join()
        assert "stays in FiftyOne" in "".join(talk)
        assert "Traceback" not in "".join(talk)
    finally:
        process.kill()
        process.wait()


def pixels(screenshot: bytes, colour: str) -> int:
    """How many pixels of a screenshot have just this colour."""
    image = Image.open(io.BytesIO(screenshot)).convert("RGB")
    return sum(count for count, found in image.getcolors(2**24) if found == ImageColor.getrgb(colour))


def seen(page: Any, state: str) -> bool:
    """Whether a box in the colour of a state comes to be on the page; the sidebar has but a patch of it."""
    until = time.monotonic() + LIMIT_S
    while pixels(page.screenshot(), COLOURS[state]) <= 1000:
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def look(page: Any, address: str, dialogues: int, states: Mapping[int, str]) -> None:
    """Opens the first dialogue of a dataset's page and turns to some of its turns, where boxes have to show a state."""
    page.goto(address, wait_until="domcontentloaded")
    page.get_by_text(f"{dialogues} groups").wait_for()
    for name in ("labels", "dialogue", "image & licence", "checks"):
        page.locator(f'[data-cy="sidebar-group-{name.upper()}"]').wait_for()
    page.locator('[data-cy="looker"]').first.click()
    page.get_by_role("button", name="page 1", exact=True).wait_for()
    for turn, state in states.items():
        if turn > 1:
            page.get_by_role("button", name=f"Go to page {turn}", exact=True).click()
            page.get_by_role("button", name=f"page {turn}", exact=True).wait_for()
        assert seen(page, state)


@pytest.mark.timeout(3 * LIMIT_S)
def test_a_curator_sees_dialogues_turn_by_turn(mongo: str, work: Callable[[str], Path]) -> None:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium to look at the App with: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    candvg, fpco = (work(name) / "80_package" / "release" for name in ("candvg", "fpco-dialog"))
    assert run(["browse", str(candvg), "--no-app"]) == 0
    asked: set[str | None] = set()
    # the page is open still when the App ends
    with sync_api.sync_playwright() as playwright, app(fpco) as address:
        browser = playwright.chromium.launch(executable_path=program, args=CHROMIUM_OPTIONS)
        page = browser.new_page(viewport={"width": 1500, "height": 950})
        page.set_default_timeout(LIMIT_S * 1000)
        page.on("request", lambda request: asked.add(urlsplit(request.url).hostname))
        # what it shows to everyone who opens it for the first time
        page.add_locator_handler(page.get_by_text("Dismiss"), lambda found: found.click())
        for release, states in ((fpco, {1: TRUE_PREMISE, 4: FALSE_PREMISE}), (candvg, {1: PLAUSIBLE})):
            record = read_release(release)
            name = f"{record.record.facts.name}-{record.record.facts.version}"
            look(page, address.replace(DATASET, name), len(record.tables["dialogues"]), states)
    # its style sheet names fonts of another host, which the browser is told not to find; nothing else leaves
    assert asked <= {"127.0.0.1", "fonts.googleapis.com", None}
