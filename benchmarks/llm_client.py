# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Sends the same requests with groundset and with the bare `openai` client to a server that answers in 200 ms.

The server and each run have processes of their own; the two take turns. groundset validates every answer and has it on
disk before it is used, the bare client does neither. The table shows medians and ratios; on a busy machine read the
ratios alone.

    python benchmarks/llm_client.py --requests 2000 --turns 5
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

IN_FLIGHT = 32
DELAY_S = 0.2
PICTURE_BYTES = 200_000
KEY_ENV = "GROUNDSET_BENCH_KEY"
KEY = "benchmark-key-0123456789"
PROMPT = "Ask ten short questions about the one target, and name it in each with the same words. " * 30
QUESTION = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "content": {"type": "string"}},
    "required": ["id", "content"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "target_description": {"type": "string"},
        "questions": {"type": "array", "items": QUESTION, "minItems": 10, "maxItems": 10},
    },
    "required": ["target_description", "questions"],
    "additionalProperties": False,
}


def _answer() -> bytes:
    target = "the brown dog beside the bench"
    questions = [{"id": n, "content": f"Could {target} reach thing number {n} without help?"} for n in range(1, 11)]
    content = json.dumps({"target_description": target, "questions": questions})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 800, "completion_tokens": 250, "total_tokens": 1050}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "bench"}
    body = json.dumps({**about, "choices": [choice], "usage": usage}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve() -> None:
    answer = _answer()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
                await asyncio.sleep(DELAY_S)
                writer.write(answer)
        writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _bare(url: str, count: int, picture: Path | None) -> tuple[float, float]:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)
    form: Any = {"type": "json_schema", "json_schema": {"name": "questions", "schema": SCHEMA, "strict": True}}
    numbers = iter(range(count))

    def content(number: int) -> Any:
        text = {"type": "text", "text": f"{PROMPT} Item {number}."}
        if picture is None:
            return text["text"]
        uri = f"data:image/jpeg;base64,{base64.b64encode(picture.read_bytes()).decode()}"
        return [{"type": "image_url", "image_url": {"url": uri}}, text]

    async def work() -> None:
        for number in numbers:
            messages: Any = [{"role": "user", "content": content(number)}]
            await client.chat.completions.create(
                model="bench", messages=messages, response_format=form, max_completion_tokens=800, temperature=0.5
            )

    async def main() -> tuple[float, float]:
        start, used = time.perf_counter(), _used()
        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
        return time.perf_counter() - start, _used() - used

    return asyncio.run(main())


def _ours(url: str, count: int, picture: Path | None) -> tuple[float, float]:
    from groundset.files import sha256_file
    from groundset.llm import run
    from groundset.llm.config import Config
    from groundset.llm.forms import form
    from groundset.llm.journal import Journal
    from groundset.llm.request import Message, Picture, Request

    config = Config(
        api="chat",
        base_url=url,
        model="bench",
        parameters={"temperature": 0.5},
        max_tokens_name="max_completion_tokens",
        max_tokens=800,
        longest_side_px=0,
        jpeg_quality=90,
        max_tokens_limit=1600,
        attempts=3,
        key_env=KEY_ENV,
        concurrency=IN_FLIGHT,
        requests_per_minute=0,
        tokens_per_minute=0,
        connect_timeout_s=10,
        request_timeout_s=600,
        failures=8,
        failed_requests=5,
        first_wait_s=1,
        max_wait_s=60,
        max_retry_after_s=600,
    )
    wanted = form("questions", SCHEMA)
    parts = (Picture(sha256_file(picture), picture),) if picture else ()

    def requests() -> Iterator[Request]:
        for number in range(count):
            yield Request((Message("user", (*parts, f"{PROMPT} Item {number}.")),), wanted, "v1")

    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
        start, used = time.perf_counter(), _used()
        with run.ask_all(requests(), config, journal) as results:
            answered = sum(result.outcome == "answered" for _, result in results)
        taken = time.perf_counter() - start, _used() - used
        if answered != count or journal.spent().answers != count:
            raise SystemExit(f"{answered} of {count} answered")
        return taken


CLIENTS = {"openai": _bare, "groundset": _ours}


def _measure(client: str, url: str, count: int, picture: Path | None) -> dict[str, float]:
    command = [sys.executable, __file__, "--client", client, "--url", url, "--requests", str(count)]
    command += ["--picture", str(picture)] if picture else []
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, KEY_ENV: KEY})
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _compare(told: str, url: str, count: int, turns: int, picture: Path | None) -> None:
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    for _ in range(turns):
        for name in CLIENTS:
            runs[name].append(_measure(name, url, count, picture))
    print(f"\n{count:,} requests {told}, {IN_FLIGHT} in flight, {DELAY_S:g} s each; median of {turns} turns")
    rate = {name: [count / found["wall_s"] for found in runs[name]] for name in CLIENTS}
    cpu = {name: [1000 * found["cpu_s"] / count for found in runs[name]] for name in CLIENTS}
    for name in CLIENTS:
        print(
            f"  {name:<10} {statistics.median(rate[name]):>7.1f} a second {statistics.median(cpu[name]):>7.2f} ms CPU"
        )
    by_rate, by_cpu = (
        statistics.median(ours / bare for ours, bare in zip(found["groundset"], found["openai"], strict=True))
        for found in (rate, cpu)
    )
    print(f"  groundset to openai, turn by turn: {by_rate:.2f} x the rate, {by_cpu:.2f} x the CPU a request")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--client", choices=sorted(CLIENTS))
    parser.add_argument("--url", default="")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(_serve())
        return
    if asked.client:
        wall, cpu = CLIENTS[asked.client](asked.url, asked.requests, asked.picture)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_mib": peak}))
        return
    command = [sys.executable, __file__, "--serve"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            picture = Path(folder) / "picture.jpg"
            # only the length matters: the server does not look
            picture.write_bytes(b"\xff\xd8\xff" + os.urandom(PICTURE_BYTES - 3))
            _compare("of text", url, asked.requests, asked.turns, None)
            _compare(f"with a picture of {PICTURE_BYTES:,} bytes", url, asked.requests // 2, asked.turns, picture)
            print("\npeak memory, interpreter and libraries included")
            for count in (500, 5000):
                print(
                    f"  groundset, {count:>5,} requests: {_measure('groundset', url, count, None)['peak_mib']:.1f} MiB"
                )
        finally:
            server.kill()


if __name__ == "__main__":
    main()
