# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Downloads from a real server on the loopback that cuts, lies, redirects, stalls and changes its mind."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundset.errors import UsageError
from groundset.fetching import transfer
from groundset.fetching.download import Download, Outcome, fetch
from groundset.fetching.lines import Lines
from groundset.fetching.pacing import Clock, Manners, Pace
from groundset.fetching.part_file import PartFile

CONTENT = bytes(range(256)) * 400
OTHER = bytes(reversed(CONTENT))
QUICK = Manners(jobs=4, per_host=4, requests_per_second=1e6, attempts=4, read_timeout_s=5, connect_timeout_s=5)


@dataclass
class Page:
    """What the server has under one path, and the odd answers it gives before it behaves."""

    content: bytes = CONTENT
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"one"'})
    takes_ranges: bool = True
    heeds_if_range: bool = True
    odd: list[Callable[[Handler, Page], None]] = field(default_factory=list)
    always: Callable[[Handler, Page], None] | None = None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Loopback

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        name = self.path.partition("?")[0]
        with self.server.lock:
            self.server.asked.append((name, dict(self.headers)))
            self.server.busy += 1
            self.server.most_busy = max(self.server.most_busy, self.server.busy)
        try:
            page = self.server.pages.get(name)
            if page is None:
                answer(404)(self, Page())
            elif page.odd:
                page.odd.pop(0)(self, page)
            elif page.always:
                page.always(self, page)
            else:
                self.serve(page)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with self.server.lock:
                self.server.busy -= 1

    def put(self, content: bytes) -> None:
        with self.server.lock:
            self.server.sent[self.path.partition("?")[0]] += len(content)
        self.wfile.write(content)
        self.wfile.flush()

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()

    def begin(self, page: Page) -> bytes:
        """The head of a good answer; returns the body that belongs to it."""
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        fits = condition in (None, page.headers.get("ETag"), page.headers.get("Last-Modified"))
        if wanted and page.takes_ranges and (fits or not page.heeds_if_range):
            first, size = int(wanted[1]), len(page.content)
            if first >= size:
                self.head(416, {"Content-Range": f"bytes */{size}", "Content-Length": "0"})
                return b""
            rest = page.content[first:]
            spread = {"Content-Range": f"bytes {first}-{size - 1}/{size}", "Content-Length": str(len(rest))}
            self.head(206, spread | page.headers)
            return rest
        self.head(200, {"Content-Length": str(len(page.content))} | page.headers)
        return page.content

    def serve(self, page: Page) -> None:
        self.put(self.begin(page))

    def hang_up(self) -> None:
        self.close_connection = True


class Loopback(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.sent: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.busy = self.most_busy = 0
        self.over = threading.Event()

    def handle_error(self, *_: object) -> None:
        pass

    def url(self, path: str = "/a.bin") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def ranges(self) -> list[str | None]:
        return [headers.get("Range") for _, headers in self.asked]


Odd = Callable[[Handler, Page], None]


def cut(after: int) -> Odd:
    def run(handler: Handler, page: Page) -> None:
        handler.put(handler.begin(page)[:after])
        handler.hang_up()

    return run


def answer(status: int, **headers: str) -> Odd:
    def run(handler: Handler, page: Page) -> None:
        told = {key.replace("_", "-"): value for key, value in headers.items()}
        handler.head(status, {"Content-Length": "0"} | told)

    return run


def says_length(length: int) -> Odd:
    def run(handler: Handler, page: Page) -> None:
        handler.head(200, {"Content-Length": str(length)} | page.headers)
        handler.put(page.content)
        handler.hang_up()

    return run


def chunked(after: int | None = None) -> Odd:
    def run(handler: Handler, page: Page) -> None:
        handler.head(200, {"Transfer-Encoding": "chunked"} | page.headers)
        handler.put(b"%x\r\n%s\r\n" % (len(page.content[:after]), page.content[:after]))
        if after is None:
            handler.put(b"0\r\n\r\n")
        handler.hang_up()

    return run


def change(content: bytes, **headers: str) -> Callable[[Odd], Odd]:
    """Lets the file be another one after an answer."""

    def around(before: Odd) -> Odd:
        def run(handler: Handler, page: Page) -> None:
            before(handler, page)
            page.content = content
            page.headers = {key.replace("_", "-"): value for key, value in headers.items()}

        return run

    return around


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture(autouse=True, scope="module")
def _one_context() -> Iterator[None]:
    """Reading the certificates of the system for each of many clients would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        context = httpx2.create_ssl_context()
        patch.setattr(httpx2, "create_ssl_context", lambda: context)
        yield


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        thread = threading.Thread(target=loopback.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield loopback
        loopback.over.set()
        loopback.shutdown()


class Time:
    """A clock that runs only while someone sleeps, and writes down for how long."""

    def __init__(self, tick: float = 0.0) -> None:
        self.now, self.tick = 0.0, tick
        self.slept: list[float] = []

    def monotonic(self) -> float:
        self.now += self.tick
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> Clock:
        return Clock(self.monotonic, lambda: 1e9, self.sleep)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def get(server: Loopback, tmp_path: Path) -> Callable[..., Outcome]:
    def run(manners: Manners = QUICK, waits: Time | None = None, path: str = "/a.bin", **known: object) -> Outcome:
        download = Download(server.url(path), tmp_path / "in" / "a.bin", **known)  # type: ignore[arg-type]
        return fetch([download], manners, clock=(waits or Time()).clock())[0]

    return run


Get = Callable[..., Outcome]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != "a.bin")


def content_of(outcome: Outcome) -> bytes:
    assert outcome.state == "fetched", outcome
    assert leftovers(outcome.download.path.parent) == []
    content = outcome.download.path.read_bytes()
    assert (outcome.sha256, outcome.bytes) == (sha256(content), len(content))
    return content


def test_a_whole_file_is_put_in_its_place(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page()
    outcome = get(sha256=sha256(CONTENT), bytes=len(CONTENT))
    assert content_of(outcome) == CONTENT
    assert outcome.received == len(CONTENT)
    assert server.asked[0][1]["Accept-Encoding"] == "identity"
    assert server.asked[0][1]["User-Agent"].startswith("groundset/")


@pytest.mark.parametrize("known", [{}, {"bytes": len(CONTENT)}, {"sha256": sha256(CONTENT)}])
def test_a_file_that_is_there_is_not_fetched_again(
    server: Loopback, get: Get, tmp_path: Path, known: dict[str, object]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(CONTENT)
    outcome = get(**known)
    assert (outcome.state, outcome.sha256, outcome.bytes) == ("already_there", sha256(CONTENT), len(CONTENT))
    assert server.asked == []


@pytest.mark.parametrize("known", [{"bytes": len(CONTENT) + 1}, {"sha256": sha256(CONTENT)}])
def test_another_file_in_its_place_is_replaced_only_by_the_right_one(
    server: Loopback, get: Get, tmp_path: Path, known: dict[str, object]
) -> None:
    path = tmp_path / "in" / "a.bin"
    path.parent.mkdir()
    path.write_bytes(OTHER)
    server.pages["/a.bin"] = Page(b"neither")
    assert get(**known).state == "failed"
    assert path.read_bytes() == OTHER
    server.pages["/a.bin"] = Page(CONTENT + b"." if "bytes" in known else CONTENT)
    assert content_of(get(**known)).startswith(CONTENT)


def test_a_cut_answer_is_gone_on_with(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(odd=[cut(1000), cut(30_000)])
    assert content_of(get()) == CONTENT
    assert server.sent["/a.bin"] == len(CONTENT)
    assert server.ranges() == [None, "bytes=1000-", "bytes=31000-"]
    assert [headers.get("If-Range") for _, headers in server.asked] == [None, '"one"', '"one"']


def test_more_cuts_than_attempts_do_no_harm_while_there_is_progress(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(odd=[cut(2000)] * 30)
    assert content_of(get()) == CONTENT
    assert server.sent["/a.bin"] == len(CONTENT)


def test_cuts_that_bring_next_to_nothing_end(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(always=cut(3))
    outcome = get()
    assert outcome.state == "failed"
    assert len(server.asked) == QUICK.attempts


def test_a_server_that_takes_no_ranges_starts_over(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(odd=[cut(1000), cut(5000)], takes_ranges=False)
    assert content_of(get()) == CONTENT
    assert server.sent["/a.bin"] == len(CONTENT) + 6000


def test_a_server_that_takes_no_ranges_and_always_cuts_ends(server: Loopback, get: Get, tmp_path: Path) -> None:
    server.pages["/a.bin"] = Page(always=cut(1000), takes_ranges=False)
    outcome = get()
    assert (outcome.state, outcome.sha256) == ("failed", None)
    assert leftovers(tmp_path) == ["a.bin.part", "a.bin.part.json"]


@pytest.mark.parametrize(
    ("headers", "changed"),
    [
        ({"ETag": '"one"'}, {"ETag": '"two"'}),
        ({"ETag": 'W/"one"'}, {"ETag": 'W/"two"'}),
        ({"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}, {"Last_Modified": "Tue, 02 Jan 2024 00:00:00 GMT"}),
        ({}, {}),
    ],
)
@pytest.mark.parametrize("heeds_if_range", [True, False])
@pytest.mark.parametrize("other", [OTHER, OTHER + b"longer"])
def test_a_file_that_changes_between_attempts_is_not_glued(
    server: Loopback,
    get: Get,
    headers: dict[str, str],
    changed: dict[str, str],
    heeds_if_range: bool,
    other: bytes,
) -> None:
    odd = change(other, **changed)(cut(50_000))
    server.pages["/a.bin"] = Page(headers=headers, odd=[odd], heeds_if_range=heeds_if_range)
    assert content_of(get()) == other


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"one"'}])
def test_without_a_strong_validator_a_little_is_fetched_again(
    server: Loopback, get: Get, headers: dict[str, str]
) -> None:
    server.pages["/a.bin"] = Page(headers=headers, odd=[cut(50_000)])
    assert content_of(get()) == CONTENT
    assert server.sent["/a.bin"] == len(CONTENT) + transfer.OVERLAP_BYTES
    assert "If-Range" not in server.asked[1][1]


def test_an_old_date_is_a_strong_validator(server: Loopback, get: Get) -> None:
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    server.pages["/a.bin"] = Page(headers={"Last-Modified": date}, odd=[cut(50_000)])
    assert content_of(get()) == CONTENT
    assert server.asked[1][1]["If-Range"] == date
    assert server.sent["/a.bin"] == len(CONTENT)


@pytest.mark.parametrize("spread", ["bytes 0-99/102400", "bytes 5-1/9", "bytes 1000-102399", "items 1-2/3", ""])
def test_a_range_that_was_not_asked_for_is_not_added(server: Loopback, get: Get, spread: str) -> None:
    def odd_range(handler: Handler, page: Page) -> None:
        handler.head(206, {"Content-Range": spread, "Content-Length": "100"})
        handler.put(b"x" * 100)

    server.pages["/a.bin"] = Page(odd=[cut(1000), odd_range])
    assert content_of(get()) == CONTENT
    assert server.ranges() == [None, "bytes=1000-", None]


def test_a_range_that_is_shorter_than_asked_for_is_gone_on_with(server: Loopback, get: Get) -> None:
    def short(handler: Handler, page: Page) -> None:
        first = int(handler.headers["Range"][6:-1])
        last = min(first + 40_000, len(page.content)) - 1
        spread = f"bytes {first}-{last}/{len(page.content)}"
        handler.head(206, {"Content-Range": spread, "Content-Length": str(last + 1 - first)} | page.headers)
        handler.put(page.content[first : last + 1])

    waits = Time()
    server.pages["/a.bin"] = Page(odd=[cut(1000)], always=short)
    assert content_of(get(waits=waits)) == CONTENT
    assert server.sent["/a.bin"] == len(CONTENT)
    assert len([wait for wait in waits.slept if wait > 0.1]) == 1


@pytest.mark.parametrize("known", [{"bytes": len(CONTENT)}, {"sha256": sha256(CONTENT)}, {}])
def test_a_length_that_is_too_long_is_noticed(server: Loopback, get: Get, known: dict[str, object]) -> None:
    server.pages["/a.bin"] = Page(odd=[says_length(len(CONTENT) + 500)])
    assert content_of(get(**known)) == CONTENT


def test_a_length_that_is_always_too_long_never_gives_a_wrong_file(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(always=says_length(len(CONTENT) + 500))
    assert get().state == "failed"
    assert content_of(get(bytes=len(CONTENT))) == CONTENT


@pytest.mark.parametrize("known", [{"bytes": len(CONTENT)}, {"bytes": len(CONTENT), "sha256": sha256(CONTENT)}])
def test_a_length_that_is_too_short_is_noticed(server: Loopback, get: Get, known: dict[str, object]) -> None:
    server.pages["/a.bin"] = Page(odd=[says_length(70_000)])
    assert content_of(get(**known)) == CONTENT


def test_a_file_of_another_length_is_no_success(server: Loopback, get: Get, tmp_path: Path) -> None:
    server.pages["/a.bin"] = Page()
    longer = get(bytes=len(CONTENT) - 1)
    assert (longer.state, longer.reason) == ("failed", f"the server sends more than {len(CONTENT) - 1} bytes")
    shorter = get(bytes=len(CONTENT) + 1)
    assert shorter.state == "failed"
    assert str(len(CONTENT)) in shorter.reason
    assert not (tmp_path / "in" / "a.bin").exists()


def test_a_large_file_of_another_length_is_not_read(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(always=answer(200, Content_Length=str(2**30)))
    outcome = get(bytes=2**31)
    assert (outcome.state, outcome.received) == ("failed", 0)
    assert outcome.reason == f"the server says that it has {2**30} bytes, {2**31} expected"
    assert len(server.asked) == 2


def test_an_endless_answer_is_not_kept(server: Loopback, get: Get, tmp_path: Path) -> None:
    def endless(handler: Handler, page: Page) -> None:
        handler.head(200, {"Transfer-Encoding": "chunked"})
        while True:
            handler.put(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    server.pages["/a.bin"] = Page(always=endless)
    outcome = get(max_bytes=200_000)
    assert (outcome.state, outcome.reason) == ("failed", "the server sends more than 200000 bytes")
    assert leftovers(tmp_path) == []


def test_an_empty_answer_is_no_file(server: Loopback, get: Get, tmp_path: Path) -> None:
    server.pages["/a.bin"] = Page(odd=[answer(200)])
    assert get().state == "fetched"
    place = tmp_path / "in" / "a.bin"
    assert place.read_bytes() == CONTENT
    server.pages["/a.bin"] = Page(content=b"")
    place.write_bytes(b"")
    outcome = get()
    assert (outcome.state, outcome.reason) == ("failed", "the answer is empty")
    assert leftovers(tmp_path) == []
    place.unlink()
    assert get(bytes=0).state == "fetched"
    assert place.read_bytes() == b""


def test_chunked_answers(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(odd=[chunked()])
    assert content_of(get()) == CONTENT
    (get().download.path).unlink()
    server.pages["/a.bin"] = Page(odd=[chunked(after=60_000)])
    assert content_of(get()) == CONTENT
    assert server.ranges()[-1] == "bytes=60000-"


def test_wrong_bytes_are_fetched_once_more_and_no_oftener(server: Loopback, get: Get, tmp_path: Path) -> None:
    page = server.pages["/a.bin"] = Page(OTHER)
    page.odd = [change(CONTENT, ETag='"two"')(Handler.serve)]
    assert content_of(get(sha256=sha256(CONTENT))) == CONTENT
    (tmp_path / "in" / "a.bin").unlink()
    server.asked.clear()
    outcome = get(sha256=sha256(b"something else"))
    assert outcome.state == "failed"
    assert outcome.reason == f"its sha256 is {sha256(CONTENT)}, {sha256(b'something else')} expected"
    assert len(server.asked) == 2
    assert list((tmp_path / "in").iterdir()) == []


@pytest.mark.parametrize("status", [403, 404, 410])
def test_what_the_server_does_not_have_is_missing(server: Loopback, get: Get, tmp_path: Path, status: int) -> None:
    server.pages["/a.bin"] = Page(always=answer(status))
    outcome = get()
    assert outcome.state == "missing"
    assert str(status) in outcome.reason
    assert len(server.asked) == 1
    assert list((tmp_path / "in").iterdir()) == []


@pytest.mark.parametrize("status", [204, 206, 304, 400, 401, 451])
def test_what_asking_again_would_not_change_fails_at_once(server: Loopback, get: Get, status: int) -> None:
    server.pages["/a.bin"] = Page(always=answer(status))
    outcome = get()
    assert outcome.state == "failed"
    assert str(status) in outcome.reason
    assert len(server.asked) == 1


def test_a_server_in_trouble_is_asked_again_with_growing_waits(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(odd=[answer(500), answer(503), answer(502)])
    waits = Time()
    assert content_of(get(waits=waits)) == CONTENT
    first, second, third = [wait for wait in waits.slept if wait > 0.1]
    assert 0.5 <= first <= 1 <= second <= 2 <= third <= 4
    (get().download.path).unlink()
    again = Time()
    server.pages["/a.bin"] = Page(odd=[answer(500), answer(503), answer(502)])
    get(waits=again)
    assert [wait for wait in again.slept if wait > 0.1] == [first, second, third]


def test_a_server_that_stays_in_trouble_is_given_up(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(always=answer(500))
    outcome = get()
    assert (outcome.state, outcome.reason) == ("failed", "answers 500 (Internal Server Error)")
    assert len(server.asked) == QUICK.attempts


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        ({"Retry_After": "40"}, 40),
        ({"Retry_After": "86400"}, QUICK.max_retry_after_s),
        ({"Retry_After": "Mon, 01 Jan 2024 00:00:50 GMT", "Date": "Mon, 01 Jan 2024 00:00:00 GMT"}, 50),
        ({"Retry_After": "soon"}, 0.5),
    ],
)
def test_retry_after_is_honoured(server: Loopback, get: Get, header: dict[str, str], waited: float) -> None:
    def busy(handler: Handler, page: Page) -> None:
        handler.send_response_only(429)
        for key, value in header.items():
            handler.send_header(key.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.pages["/a.bin"] = Page(odd=[busy])
    waits = Time()
    assert content_of(get(waits=waits)) == CONTENT
    assert waited - 0.01 <= sum(waits.slept) <= max(waited, 1) + 0.01


def test_redirects_are_followed(server: Loopback, get: Get) -> None:
    with Loopback() as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        server.pages["/a.bin"] = Page(always=answer(302, Location="/b.bin"))
        server.pages["/b.bin"] = Page(always=answer(307, Location=other.url("/c.bin?token=x")))
        other.pages["/c.bin"] = Page(odd=[cut(1000)])
        assert content_of(get()) == CONTENT
        assert other.ranges() == [None, "bytes=1000-"]
        other.shutdown()


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("/a.bin", "more than 8 redirects"),
        ("file:///etc/passwd", "another kind (file)"),
        ("ftp://127.0.0.1/a.bin", "another kind (ftp)"),
        ("http://[::1/a.bin", "cannot be read"),
    ],
)
def test_redirects_that_are_not_followed(server: Loopback, get: Get, location: str, told: str) -> None:
    server.pages["/a.bin"] = Page(always=answer(301, Location=location))
    outcome = get()
    assert outcome.state == "failed"
    assert told in outcome.reason


def test_a_redirect_to_nowhere_is_bounded(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(always=answer(302))
    assert get().state == "failed"
    assert len(server.asked) == QUICK.attempts


def test_no_redirect_leads_from_https_to_http(tmp_path: Path) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        assert request.url.scheme == "https"
        return httpx2.Response(302, headers={"Location": "http://example.invalid/b.bin?token=secret"})

    clock = Time().clock()
    with httpx2.Client(transport=httpx2.MockTransport(handle)) as client, PartFile(tmp_path / "a.bin") as part:
        desk = transfer.Desk(Lines(lambda: client), Pace(QUICK, clock, threading.Event()), QUICK, clock)
        with pytest.raises(transfer.RefusedError, match="from https to http") as refused:
            transfer.pull(desk, "https://example.invalid/a.bin", part, None, 9, False, lambda have, total: None)
    assert "secret" not in str(refused.value)


def test_a_dripping_server_is_asked_again_and_gone_on_with(server: Loopback, get: Get) -> None:
    def drip(handler: Handler, page: Page) -> None:
        body = handler.begin(page)
        for at in range(10):
            handler.put(body[at : at + 1])
            time.sleep(0.01)
        server.over.wait(5)

    server.pages["/a.bin"] = Page(odd=[drip])
    outcome = get(waits=Time(tick=20))
    assert content_of(outcome) == CONTENT
    first, second = server.ranges()
    assert first is None
    assert second is not None


def test_a_server_that_falls_silent_is_asked_again(server: Loopback, get: Get) -> None:
    def silent(handler: Handler, page: Page) -> None:
        handler.put(handler.begin(page)[:1000])
        server.over.wait(5)

    server.pages["/a.bin"] = Page(odd=[silent])
    assert content_of(get(replace(QUICK, read_timeout_s=0.5, attempts=10))) == CONTENT
    assert server.sent["/a.bin"] == len(CONTENT)


@pytest.mark.parametrize(
    "drops",
    [
        pytest.param([b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"], id="head"),
        pytest.param([b"", b"HTTP/1.1 100 Continue\r\n\r\n"], id="100"),
        pytest.param([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"], id="chunk"),
        pytest.param([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ", b"x"], id="end"),
    ],
)
def test_an_answer_that_drips_and_says_nothing_ends(server: Loopback, get: Get, drops: list[bytes]) -> None:
    def drip(handler: Handler, page: Page) -> None:
        handler.hang_up()
        handler.put(drops[0])
        while not server.over.wait(0.005):
            handler.put(drops[1])

    server.pages["/a.bin"] = Page(always=drip)
    manners = replace(QUICK, attempts=1, answer_timeout_s=0.1, slow_window_s=0.01, read_timeout_s=0.3)
    outcome = get(manners)
    assert (outcome.state, outcome.reason) == ("failed", "the answer was cut off here: it only trickles in")


def test_connections_are_used_again(server: Loopback, tmp_path: Path) -> None:
    ports = []

    def note(handler: Handler, page: Page) -> None:
        ports.append(handler.client_address[1])
        handler.serve(page)

    names = [f"/{number}.bin" for number in range(6)]
    server.pages |= {name: Page(always=note) for name in names}
    downloads = [Download(server.url(name), tmp_path / name[1:]) for name in names]
    assert {outcome.state for outcome in fetch(downloads, replace(QUICK, jobs=1))} == {"fetched"}
    assert len(ports) == 6
    assert len(set(ports)) == 1


def test_no_server_at_all(get: Get, server: Loopback, tmp_path: Path) -> None:
    server.server_close()
    outcome = get()
    assert outcome.state == "failed"
    assert outcome.reason.startswith("no connection")
    assert list((tmp_path / "in").iterdir()) == []


def test_what_is_no_http_at_all(server: Loopback, get: Get) -> None:
    def noise(handler: Handler, page: Page) -> None:
        handler.put(b"\0\1\2 nothing like it\r\n\r\n")
        handler.hang_up()

    server.pages["/a.bin"] = Page(odd=[noise])
    assert content_of(get()) == CONTENT


def test_a_long_line_that_is_no_header_is_told_in_part(server: Loopback, get: Get) -> None:
    def shout(handler: Handler, page: Page) -> None:
        handler.put(b"HTTP/1.1 200 OK\r\nX: \0" + b"a" * 5000 + b"\r\n\r\n")
        handler.hang_up()

    server.pages["/a.bin"] = Page(always=shout)
    reason = get(replace(QUICK, attempts=1)).reason
    assert "illegal header line" in reason
    assert len(reason) < 200


def test_an_answer_that_is_encoded_unasked_is_decoded(server: Loopback, get: Get) -> None:
    packed = gzip.compress(CONTENT)
    page = server.pages["/a.bin"] = Page(packed, {"ETag": '"one"', "Content-Encoding": "gzip"})
    page.odd = [cut(len(packed) // 2)]
    assert content_of(get(bytes=len(CONTENT))) == CONTENT
    assert server.ranges() == [None, None]


def test_a_packed_file_stays_packed(server: Loopback, get: Get) -> None:
    packed = gzip.compress(CONTENT)
    server.pages["/a.tar.gz"] = Page(packed, {"Content-Encoding": "gzip"})
    assert content_of(get(path="/a.tar.gz")) == packed


def test_an_encoding_that_nobody_knows_fails(server: Loopback, get: Get) -> None:
    server.pages["/a.bin"] = Page(headers={"Content-Encoding": "rot13"})
    assert "rot13" in get().reason


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.invalid/a", "a.bin", "", "http://[/", "http:///a"]
)
def test_only_web_addresses_are_fetched(tmp_path: Path, url: str) -> None:
    outcome = fetch([Download(url, tmp_path / "a.bin")], QUICK)[0]
    assert (outcome.state, outcome.reason) == ("failed", "only http and https addresses are fetched")


def test_no_secret_is_told(server: Loopback, tmp_path: Path) -> None:
    url = server.url("/a.bin?token=geheim").replace("http://", "http://anna:geheim@")
    server.pages["/a.bin"] = Page(always=cut(1000), takes_ranges=False)
    outcome = fetch([Download(url, tmp_path / "a.bin")], QUICK, clock=Time().clock())[0]
    assert server.asked[0][1]["Authorization"].startswith("Basic ")
    assert outcome.state == "failed"
    written = (tmp_path / "a.bin.part.json").read_text(encoding="utf-8")
    for text in (repr(outcome), outcome.reason, written, transfer.shown(url)):
        assert "geheim" not in text
        assert "anna" not in text


def test_many_files_come_in_order_and_no_more_at_once_than_allowed(server: Loopback, tmp_path: Path) -> None:
    def slowly(handler: Handler, page: Page) -> None:
        time.sleep(0.01)
        handler.serve(page)

    downloads = []
    for number in range(30):
        server.pages[f"/{number}"] = Page(f"file {number}".encode(), always=slowly)
        downloads.append(Download(server.url(f"/{number}"), tmp_path / f"{29 - number:02}"))
    del server.pages["/7"]
    seen: list[Outcome] = []
    manners = Manners(jobs=8, per_host=3, requests_per_second=1e6)
    outcomes = fetch(downloads, manners, ended=seen.append)
    assert [outcome.download for outcome in outcomes] == downloads
    assert Counter(outcome.state for outcome in outcomes) == {"fetched": 29, "missing": 1}
    assert (tmp_path / "29").read_bytes() == b"file 0"
    assert 2 <= server.most_busy <= 3
    assert sorted(map(repr, seen)) == sorted(map(repr, outcomes))


def test_a_busy_host_does_not_hold_up_another(server: Loopback, tmp_path: Path) -> None:
    with Loopback() as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        waited = threading.Event()

        def until_the_other_is_done(handler: Handler, page: Page) -> None:
            assert waited.wait(10)
            handler.serve(page)

        def note(outcome: Outcome) -> None:
            if outcome.download.path.name == "other":
                waited.set()

        other.pages["/a.bin"] = Page()
        downloads = []
        for number in range(6):
            server.pages[f"/{number}"] = Page(always=until_the_other_is_done)
            downloads.append(Download(server.url(f"/{number}"), tmp_path / f"{number}"))
        downloads.append(Download(other.url(), tmp_path / "other"))
        manners = Manners(jobs=3, per_host=2, requests_per_second=1e6)
        assert {outcome.state for outcome in fetch(downloads, manners, ended=note)} == {"fetched"}
        other.shutdown()


def test_progress_is_told(server: Loopback, tmp_path: Path) -> None:
    server.pages["/a.bin"] = Page(odd=[cut(1000)])
    seen: list[tuple[int, int | None]] = []
    download = Download(server.url(), tmp_path / "a.bin")
    fetch([download], QUICK, watch=lambda download, have, total: seen.append((have, total)), clock=Time().clock())
    assert [have for have, _ in seen] == sorted(have for have, _ in seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_part_file_that_another_process_writes_is_left_alone(server: Loopback, get: Get, tmp_path: Path) -> None:
    server.pages["/a.bin"] = Page()
    with PartFile(tmp_path / "in" / "a.bin") as part:
        part.append(b"theirs")
        outcome = get()
        assert (outcome.state, outcome.reason) == ("failed", "another fetch is writing it")
        assert (tmp_path / "in" / "a.bin.part").read_bytes() == b"theirs"


def test_a_part_file_of_unknown_origin_is_not_gone_on_with(server: Loopback, get: Get, tmp_path: Path) -> None:
    server.pages["/a.bin"] = Page()
    for note in (None, "{", json.dumps({"address_sha256": "0" * 64}), '{"total":"no"}'):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / "a.bin").unlink(missing_ok=True)
        (tmp_path / "in" / "a.bin.part").write_bytes(OTHER[:5000])
        if note is not None:
            (tmp_path / "in" / "a.bin.part.json").write_text(note, encoding="utf-8")
        assert content_of(get()) == CONTENT


def test_a_pinned_part_file_is_gone_on_with_and_checked(server: Loopback, get: Get, tmp_path: Path) -> None:
    server.pages["/a.bin"] = Page()
    path = tmp_path / "in" / "a.bin"
    path.parent.mkdir()
    path.with_name("a.bin.part").write_bytes(CONTENT[:60_000])
    assert content_of(get(sha256=sha256(CONTENT))) == CONTENT
    assert server.sent["/a.bin"] == len(CONTENT) - 60_000
    path.unlink()
    path.with_name("a.bin.part").write_bytes(OTHER[:60_000])
    assert content_of(get(sha256=sha256(CONTENT))) == CONTENT


def test_a_part_file_that_is_whole_is_not_asked_for(server: Loopback, get: Get, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin.part").write_bytes(CONTENT)
    assert content_of(get(sha256=sha256(CONTENT), bytes=len(CONTENT))) == CONTENT
    assert server.asked == []


def test_paths_that_cannot_be(server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    one = Download(server.url(), tmp_path / "a.bin")
    with pytest.raises(UsageError, match="two downloads have this path"):
        fetch([one, one], QUICK)
    with pytest.raises(UsageError, match="a folder is where the file belongs"):
        fetch([Download(server.url(), tmp_path / "folder")], QUICK)
    with pytest.raises(OSError, match="file"):
        fetch([Download(server.url(), tmp_path / "file" / "a.bin"), one], QUICK)


def test_a_page_of_a_stranger_does_not_cost_what_is_there(server: Loopback, get: Get) -> None:
    def login(handler: Handler, page: Page) -> None:
        handler.head(200, {"Content-Length": "5"})
        handler.put(b"login")

    server.pages["/a.bin"] = Page(odd=[cut(60_000), login])
    assert content_of(get(bytes=len(CONTENT))) == CONTENT
    assert server.ranges() == [None, "bytes=60000-", "bytes=60000-"]


def test_a_host_that_is_down_is_not_asked_for_every_file(server: Loopback, tmp_path: Path) -> None:
    for number in range(20):
        server.pages[f"/{number:02}"] = Page(always=answer(500))
    downloads = [Download(server.url(f"/{number:02}"), tmp_path / f"{number:02}") for number in range(20)]
    manners = Manners(jobs=1, requests_per_second=1e6, attempts=2, failed_files=3)
    outcomes = fetch(downloads, manners, clock=Time().clock())
    assert {outcome.state for outcome in outcomes} == {"failed"}
    assert [outcome.reason[:3] for outcome in outcomes] == ["ans"] * 3 + ["not"] * 17
    assert len(server.asked) == 3 * 2


def test_a_host_that_fails_now_and_then_is_not_down(server: Loopback, tmp_path: Path) -> None:
    for number in range(12):
        server.pages[f"/{number:02}"] = Page(always=None if number % 3 == 2 else answer(500))
    downloads = [Download(server.url(f"/{number:02}"), tmp_path / f"{number:02}") for number in range(12)]
    manners = Manners(jobs=1, requests_per_second=1e6, attempts=1, failed_files=3)
    outcomes = fetch(downloads, manners, clock=Time().clock())
    assert Counter(outcome.state for outcome in outcomes) == {"failed": 8, "fetched": 4}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, 40_000), max_size=6),
    etag=st.sampled_from(['"one"', 'W/"one"', ""]),
    takes_ranges=st.booleans(),
    is_pinned=st.booleans(),
)
def test_whatever_is_cut_the_bytes_are_right(
    server: Loopback, tmp_path: Path, cuts: list[int], etag: str, takes_ranges: bool, is_pinned: bool
) -> None:
    page = Page(headers={"ETag": etag} if etag else {}, takes_ranges=takes_ranges, odd=[cut(after) for after in cuts])
    server.pages["/a.bin"] = page
    path = tmp_path / "a.bin"
    path.unlink(missing_ok=True)
    download = Download(server.url(), path, sha256(CONTENT) if is_pinned else None)
    manners = Manners(requests_per_second=1e6, attempts=10)
    outcome = fetch([download], manners, clock=Time().clock())[0]
    assert outcome.state == "fetched"
    assert path.read_bytes() == CONTENT


SCRIPT = """
import signal, sys
from pathlib import Path
# whoever starts the tests in the background may have it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
from groundset.fetching.download import Download, fetch
from groundset.fetching.pacing import Manners
try:
    fetch([Download(sys.argv[1], Path(sys.argv[2]), bytes=int(sys.argv[3]))], Manners(read_timeout_s=30))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_fetch_that_is_killed_goes_on_next_time(
    server: Loopback, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    content, half = CONTENT * 20, len(CONTENT) * 10
    reached = threading.Event()

    def half_of_it(handler: Handler, page: Page) -> None:
        handler.put(handler.begin(page)[:half])
        reached.set()
        server.over.wait(30)

    server.pages["/a.bin"] = Page(content, odd=[half_of_it])
    path = tmp_path / "a.bin"
    command = [sys.executable, "-c", SCRIPT, server.url(), str(path), str(len(content))]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        assert reached.wait(30)
        part = path.with_name("a.bin.part")
        for _ in range(500):
            if part.stat().st_size == half:
                break
            time.sleep(0.01)
        started = time.monotonic()
        process.send_signal(sent)
        assert process.wait(20) == code
        assert time.monotonic() - started < 10
    finally:
        process.kill()
    assert part.stat().st_size == half
    assert not path.exists()
    outcome = fetch([Download(server.url(), path, bytes=len(content))], QUICK)[0]
    assert content_of(outcome) == content
    assert outcome.received == len(content) - half
    assert server.sent["/a.bin"] == len(content)
