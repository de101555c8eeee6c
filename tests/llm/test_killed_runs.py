# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A run that is killed again and again: what had reached the disk is never asked again, and nothing is lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from groundset.llm import journal_file
from groundset.llm.journal import Journal
from groundset.llm.request import described, key_of

QUESTIONS = 300
KILLS = 5

_PROGRAM = """
import json, sys
from pathlib import Path
from groundset.llm import run
from groundset.llm.config import Config
from groundset.llm.forms import form
from groundset.llm.journal import Journal
from groundset.llm.request import Message, Request
task = json.loads(Path(sys.argv[1]).read_text("utf-8"))
questions = form("questions", task["sent"], task["full"])
def request(number):
    text = f"question {number}"
    messages = (Message("system", ("You write questions.",)), Message("user", (text,)))
    return Request(messages, questions, "v1", label=text)
with Journal(Path(task["journal"])) as journal:
    with run.ask_all(map(request, range(task["questions"])), Config(**task["config"]), journal) as results:
        for _ in results:
            pass
"""


@pytest.fixture
def task(server: Any, config: Any, questions: Any, tmp_path: Path) -> Path:
    told = {
        "config": asdict(replace(config, concurrency=16)),
        "sent": questions.sent,
        "full": None,
        "journal": str(tmp_path / "journal.sqlite"),
        "questions": QUESTIONS,
    }
    path = tmp_path / "task.json"
    path.write_text(json.dumps(told), "utf-8")
    return path


def script(server: Any, dice: random.Random) -> Any:
    """Takes its time, fails now and then, and lets some questions be answered at the second attempt."""

    def reply(question: str, number: int, body: dict[str, Any]) -> Any:
        chance = dice.random()
        if chance < 0.05:
            return server.error(500)
        first = body["max_completion_tokens"] == 100
        if first and question.endswith("7"):
            return server.reply(content="{", finish="length", delay_s=0.05)
        return replace(server.good(question), delay_s=0.02 + 0.1 * chance)

    return reply


def test_killed_at_any_moment_no_answer_is_paid_twice_and_none_is_lost(
    server: Any, config: Any, ask_for: Any, task: Path, tmp_path: Path
) -> None:
    dice = random.Random(7)
    keys = {f"question {n}": key_of(described(ask_for(f"question {n}"), config)) for n in range(QUESTIONS)}
    server.script = script(server, dice)
    path = tmp_path / "journal.sqlite"
    on_disk: dict[str, int] = {}
    finished = []
    for turn in range(KILLS + 1):
        before = len(server.asked)
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM, str(task)], stderr=subprocess.PIPE)
        if turn < KILLS:
            wanted = before + dice.randrange(5, 80)
            while len(server.asked) < wanted and process.poll() is None:
                time.sleep(0.002)
            process.kill()
        _, told = process.communicate(timeout=120)
        finished.append(process.returncode)
        assert turn < KILLS or told == b""
        asked = Counter(one.question for one in server.asked[before:])
        with Journal(path) as journal:
            have = {question: len(journal.answers(key)) for question, key in keys.items()}
        for question, count in on_disk.items():
            # the second attempt at a truncated answer may still be open
            done = 2 if question.endswith("7") else 1
            assert count < done or not asked[question], f"{question} was on disk and asked again"
            assert have[question] >= count
        on_disk = {question: count for question, count in have.items() if count}
    assert finished == [-9] * KILLS + [0]
    assert all(on_disk[question] == (2 if question.endswith("7") else 1) for question in keys)
    with Journal(path) as journal:
        journal_file.export(journal, tmp_path / "killed.jsonl")
    again = json.loads(task.read_text("utf-8"))
    task.write_text(json.dumps({**again, "journal": str(tmp_path / "whole.sqlite")}), "utf-8")
    subprocess.run([sys.executable, "-c", _PROGRAM, str(task)], check=True, timeout=120)
    with Journal(tmp_path / "whole.sqlite") as journal:
        journal_file.export(journal, tmp_path / "whole.jsonl")
    assert (tmp_path / "killed.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
