# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A scripted language model that knows the template writer's texts, and builds whose questions go to it."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from groundset import manifest as manifests
from groundset import runner
from groundset.cli.main import run
from groundset.files import sha256_bytes, sha256_file
from groundset.fpco import writing
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.joins import boxes_px, objects_of, rows_by
from groundset.fpco.template_writer import write, write_variant
from groundset.llm.journal import Journal
from groundset.stage import Inputs, read_table

ROOT = Path(__file__).parents[2]
KEY_ENV, PLANTED = "GROUNDSET_TEST_KEY", "planted-0123456789-abcdefghij"
MAX_TOKENS = 900

# a question by its model, its texts and its photographs
Asked = tuple[str, tuple[str, ...]]

MODEL = """\
api = "chat"
base_url = "{url}"
model = "{model}"
parameters = {{ temperature = 0.5 }}
max_tokens_name = "max_completion_tokens"
max_tokens = 900
longest_side_px = 0
jpeg_quality = 90
max_tokens_limit = 3600
attempts = 2
key_env = "GROUNDSET_TEST_KEY"
concurrency = 8
requests_per_minute = 0
tokens_per_minute = 0
connect_timeout_s = 20
request_timeout_s = 60
failures = 4
failed_requests = 3
first_wait_s = 0.01
max_wait_s = 0.05
max_retry_after_s = 60
"""


def small_writer_table(url: str) -> str:
    """A small local model that is asked little and given time."""
    text = writer_table(url).replace('"writer-1"', '"smollm2-135m"').replace(f'"{KEY_ENV}"', '""')
    numbers = {"max_tokens": 200, "max_tokens_limit": 200, "concurrency": 2, "request_timeout_s": 300}
    for key, value in numbers.items():
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
    return text.replace("{ temperature = 0.5 }", "{ temperature = 1.0, seed = 7 }")


def writer_table(url: str, checker: str = "", limit: int = 10_000) -> str:
    told = f"""\
[writer]
kind = "llm"
{MODEL.format(url=url, model="writer-1")}mode = "direct"
mends = 1
location_with_place = true
journal = "answers.jsonl"
variants_journal = "variants.jsonl"
max_paid_requests = {limit}
"""
    if not checker:
        return told + "cross_checks = []\n"
    return told + f"\n[[writer.cross_checks]]\n{MODEL.format(url=url, model=checker)}"


def write_manifest(folder: Path, writer: str, **changes: Any) -> Path:
    text = (ROOT / "manifests/demo/fpco-dialog.toml").read_text("utf-8")
    text = text.replace('[writer]\nkind = "template"\n', f"{writer}\n")
    for key, value in {"scenes_per_cell": 3, "per_cell": 1, "images_per_false_class": 0, **changes}.items():
        text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert count == 1, key
    folder.mkdir(exist_ok=True)
    path = folder / "fpco.toml"
    path.write_text(text, "utf-8")
    return path


@dataclass(frozen=True)
class Known:
    """What the server knows of a photograph: the item that it serves, its false class, and the texts about it.

    Of the variants, two at most, each is unlike those before it.
    """

    item_id: str
    false_class: str
    dialogue: Dialogue | None
    variants: tuple[Dialogue, ...]


def texts(world: Path, tmp_path: Path) -> dict[str, Known]:
    """sha256 of each photograph that serves a cell to what the template writer says of it."""
    manifest = manifests.read(write_manifest(tmp_path / "template", '[writer]\nkind = "template"\n'), world)
    place = runner.build(manifest, tmp_path / "template-work", runner.Options(to="30_stratify"), lambda line: None)
    tables = {name: read_table(place, name) for name in ("10_import/images", "10_import/objects")}
    inputs = Inputs(manifest.content, tables, world, tmp_path, tmp_path)
    items = rows_by(read_table(place, "20_filter/kept"), "item_id")
    images = rows_by(tables["10_import/images"], "image_id")
    known = {}
    for row in read_table(place, "30_stratify/kept").to_pylist():
        item, path = items[row["item_id"]], world / "coco/images" / images[row["image_id"]]["file_name"]
        try:
            with Image.open(path) as photograph:
                pixels = np.asarray(photograph.convert("RGB"))
        except OSError:
            # one of those that 40_images rejects
            continue
        size = {"width": pixels.shape[1], "height": pixels.shape[0]}
        objects = objects_of(inputs, {row["image_id"]})
        boxes = boxes_px(objects, {row["image_id"]: size})
        scene = writing.writer_input(row, item, objects[row["image_id"]], boxes[row["image_id"]], size)
        made = write(scene, pixels, "any")
        dialogue = made if isinstance(made, Dialogue) else None
        variants: list[Dialogue] = []
        for _ in range(2 if dialogue else 0):
            other = write_variant(scene, pixels, "any", made, [one.modified_target_description for one in variants])
            variants += [other] if isinstance(other, Dialogue) else []
        known[sha256_file(path)] = Known(row["item_id"], scene.false_class, dialogue, tuple(variants))
    return known


def asked_of(body: dict[str, Any]) -> Asked:
    parts: list[str] = []
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else [message["content"]]:
            if isinstance(part, str) or part["type"] == "text":
                parts.append(part if isinstance(part, str) else part["text"])
            else:
                parts.append(sha256_bytes(base64.b64decode(part["image_url"]["url"].partition(",")[2])))
    return body["model"], tuple(parts)


FAULTS = ("mended", "never_right", "refused", "truncated", "filtered", "false_mended", "broken")


def faults_of(known: dict[str, Known]) -> dict[str, str]:
    """What goes wrong with each photograph, however often and when it is asked about; with half of them nothing."""
    told = sorted(sha256 for sha256, one in known.items() if one.dialogue is not None)
    return {sha256: FAULTS[place // 2 % len(FAULTS)] if place % 2 else "none" for place, sha256 in enumerate(told)}


def questions_of(told: Dialogue) -> dict[str, Any]:
    rows = [{"id": row.id, "content": row.content} for row in told.questions]
    return {"target_description": told.target_description, "questions": rows}


def falsified_of(told: Dialogue) -> dict[str, Any]:
    rows = [{"id": row.id, "modified": row.modified} for row in told.questions if row.id >= 4]
    return {"modified_target_description": told.modified_target_description, "questions": rows}


class Writer:
    """The script: answers by photograph, form and what went before alone, so that kills and order change nothing."""

    def __init__(self, server: Any, known: dict[str, Known]) -> None:
        self.server, self.known, self.faults = server, known, faults_of(known)
        self.dice = random.Random(7)
        self.answered: Counter[Asked] = Counter()
        self.delay_s = 0.0
        self.busy = 0.0

    def __call__(self, question: str, number: int, body: dict[str, Any]) -> Any:
        if self.dice.random() < self.busy:
            return self.server.error(429, retry_after="0.02")
        reply = self.reply(body)
        self.answered[asked_of(body)] += 1
        return replace(reply, delay_s=self.delay_s)

    def reply(self, body: dict[str, Any]) -> Any:
        sha256 = asked_of(body)[1][0]
        told, fault = self.known[sha256].dialogue, self.faults.get(sha256, "none")
        form, is_again = body["response_format"]["json_schema"]["name"], len(body["messages"]) > 1
        if form == "fpco_presence":
            # the other model is wrong of some
            return self.server.reply(content=json.dumps({"answer": ("yes", "no", "unsure")[int(sha256[0], 16) % 3]}))
        if told is None or fault == "refused":
            return self.server.reply(refusal="I would rather not.")
        if fault == "filtered":
            return self.server.reply(content="", finish="content_filter")
        if fault == "broken":
            return self.server.reply(content='{"target_description": "the')
        if fault == "truncated" and body["max_completion_tokens"] == MAX_TOKENS:
            return self.server.reply(content='{"target_description": "the', finish="length")
        if "These other false descriptions are taken" in asked_of(body)[1][1]:
            return self.variant(body, is_again=is_again)
        answer = questions_of(told) if form == "fpco_questions" else falsified_of(told)
        if form == "fpco_questions" and fault == "mended" and not is_again:
            answer["questions"][1]["content"] = "Is it there?"
        if form == "fpco_false_premise" and (fault == "never_right" or (fault == "false_mended" and not is_again)):
            answer["questions"][2]["modified"] = "Is it there?"
        return self.server.reply(content=json.dumps(answer))

    def variant(self, body: dict[str, Any], *, is_again: bool) -> Any:
        """The next variant; the dialogue's own words again where it knows none, and at first of some photographs."""
        sha256, text = asked_of(body)[1][:2]
        one = self.known[sha256]
        number = 0 if "are taken: none." in text else 1
        repeats = number >= len(one.variants) or (int(sha256[1], 16) % 2 and not is_again)
        told = one.dialogue if repeats else one.variants[number]
        return self.server.reply(content=json.dumps(falsified_of(told)))


def sums(work: Path) -> str:
    return (work / "80_package/release/SHA256SUMS").read_text("utf-8")


def build(manifest: Path, work: Path, world: Path, *more: str) -> int:
    return run(["build", str(manifest), "--work", str(work), "--sources", str(world), *more])


def rows(work: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(work / f"{table}.parquet").to_pylist()
    return found


def receipt(work: Path, stage: str = "50_generate") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((work / stage / "receipt.json").read_bytes())
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def command(
    manifest: Path,
    work: Path,
    world: Path,
    *more: str,
    stderr: int = subprocess.PIPE,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    line = "from groundset.cli.entry import main; main()"
    chosen = ["build", str(manifest), "--work", str(work), "--sources", str(world), *more]
    return subprocess.Popen(
        [sys.executable, "-c", line, *chosen],
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env={**os.environ, **environment},
    )


def end(process: subprocess.Popen[bytes], server: Any, after: int | None) -> tuple[int, bytes]:
    """Waits for a build, or kills it once the server has been asked so often; gives its exit code and stderr."""
    if after is not None:
        while len(server.asked) < after and process.poll() is None:
            time.sleep(0.002)
        process.kill()
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def left_to_ask(work: Path, name: str = "journal.sqlite") -> dict[Asked, int]:
    """How many attempts at each question the journal leaves open; of two."""
    if not (work / name).exists():
        return {}
    left = {}
    with Journal(work / name) as journal:
        for _, request, answers in journal.rows():
            told, last = json.loads(request), json.loads(answers[-1])
            parts = [part.get("text", part.get("image_sha256")) for one in told["messages"] for part in one["parts"]]
            is_good = last["finish"] == "stop" and not last["refusal"] and last["content"].endswith("}")
            left[told["model"], tuple(parts)] = 0 if is_good else 2 - len(answers)
    return left


def said_once(capfd: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr that says what is wrong."""
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert PLANTED not in said
    (line,) = [line for line in said.splitlines() if line.startswith("groundset: ")]
    return line
