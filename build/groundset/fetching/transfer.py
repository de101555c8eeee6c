# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""One request for one file over HTTP, added to what is there of it already (RFC 9110, sections 13.1.5 and 14)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from ssl import SSLContext
from urllib.parse import urlsplit

import httpx2

from groundset import __version__
from groundset.fetching.lines import Line, Lines
from groundset.fetching.pacing import Clock, Manners, Pace, retry_after_s
from groundset.fetching.part_file import Note, PartFile, address_sha256

REDIRECTS = {301, 302, 303, 307, 308}
MISSING = {403, 404, 410}
LATER = {408, 425, 429}
# an answer that says another length than expected is read all the same if it is short: the header may be what is wrong
READ_ANYWAY_BYTES = 64 * 2**20
# where no validator is strong, so many bytes are fetched again and compared before new ones are added
OVERLAP_BYTES = 4096
DECODED = {"gzip", "deflate"}
# the library's words may hold all of a server's line
MOST_TOLD = 120
COMPRESSED_NAMES = (".gz", ".tgz")
_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")

Watch = Callable[[int, int | None], None]


class MissingError(Exception):
    """The server does not have the file."""


class RefusedError(Exception):
    """Asking again would not help."""


class AgainError(Exception):
    """Asking again may help."""


class WrongError(Exception):
    """What the server has is not what is expected."""


@dataclass(frozen=True)
class Desk:
    """What all requests of one fetch share."""

    lines: Lines
    pace: Pace
    manners: Manners
    clock: Clock


def shown(url: str) -> str:
    """An address as messages may show it: without user, password, query and fragment.

    >>> shown("https://user:secret@example.invalid/a.zip?token=secret")
    'https://example.invalid/a.zip?...'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    text = f"{parts.scheme}://{host}{parts.path}" + ("?..." if parts.query else "")
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def host_of(url: str) -> str:
    """Host and port that manners are kept towards; empty for an address that cannot be read."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


def is_web_address(url: str) -> bool:
    """Whether an address can be fetched at all.

    >>> is_web_address("https://example.invalid/a.zip"), is_web_address("file:///etc/passwd")
    (True, False)
    """
    try:
        target = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        return False
    return target.scheme in ("http", "https") and bool(target.host) and bool(host_of(url))


def client_of(manners: Manners, certificates: SSLContext) -> httpx2.Client:
    """A client for one request at a time; it follows no redirect by itself."""
    return httpx2.Client(
        verify=certificates,
        timeout=httpx2.Timeout(manners.read_timeout_s, connect=manners.connect_timeout_s, pool=None),
        limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1),
        # the bytes of the file itself are wanted, and ranges count in them
        headers={"User-Agent": f"groundset/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"},
        follow_redirects=False,
    )


def _redirected(url: str, response: httpx2.Response) -> str:
    location = response.headers.get("location")
    if not location:
        raise AgainError(f"answers {response.status_code} without saying where to")
    try:
        target = httpx2.URL(url).join(location)
    except httpx2.InvalidURL:
        raise RefusedError("redirects to an address that cannot be read") from None
    if target.scheme not in ("http", "https") or not target.host:
        raise RefusedError(f"redirects to an address of another kind ({target.scheme or 'none'})")
    if httpx2.URL(url).scheme == "https" and target.scheme == "http":
        raise RefusedError(f"redirects from https to http ({shown(str(target))})")
    return str(target)


@contextmanager
def _answer(desk: Desk, url: str, headers: Mapping[str, str]) -> Iterator[tuple[str, httpx2.Response, Line]]:
    manners = desk.manners
    for _ in range(manners.max_redirects + 1):
        with desk.pace.turn(host_of(url)), desk.lines.line(host_of(url)) as line:
            try:
                with line.stream(url, headers, manners.answer_timeout_s) as response:
                    if response.status_code not in REDIRECTS:
                        yield url, response, line
                        return
                    url = _redirected(url, response)
            except httpx2.UnsupportedProtocol:
                raise RefusedError("the address cannot be read") from None
            except httpx2.HTTPError as error:
                told = "the answer was cut off here: it only trickles in"
                raise AgainError(told if line.is_over else _told(error, manners)) from None
    raise RefusedError(f"more than {desk.manners.max_redirects} redirects, the last to {shown(url)}")


def _is_strong_date(response: httpx2.Response) -> bool:
    """Whether no second version can carry the same Last-Modified: it is older than the answer (RFC 9110, 8.8.2.2)."""
    try:
        changed = parsedate_to_datetime(response.headers["last-modified"])
        return (parsedate_to_datetime(response.headers["date"]) - changed).total_seconds() >= 1
    except (KeyError, ValueError, TypeError, OverflowError):
        return False


def _note(url: str, response: httpx2.Response, total: int | None) -> Note:
    etag, date = response.headers.get("etag"), response.headers.get("last-modified")
    strong = etag if etag and etag.startswith('"') else date if not etag and _is_strong_date(response) else None
    strong = strong if strong and strong.isascii() and strong.isprintable() else None
    return Note(address_sha256(url), etag, date, strong, total)


@dataclass(frozen=True)
class _Asked:
    """The range asked for: from which byte, how many of them are there already, and If-Range."""

    first: int
    overlap: int
    if_range: str | None


def _ask(part: PartFile, url: str, is_pinned: bool) -> _Asked | None:
    note = part.note if part.note and part.note.address_sha256 == address_sha256(url) else None
    if not part.have or not part.is_resumable or not (note or is_pinned):
        return None
    if note and note.if_range:
        return _Asked(part.have, 0, note.if_range)
    # a pinned file is checked as a whole at the end
    overlap = 0 if is_pinned else min(part.have, OVERLAP_BYTES)
    return _Asked(part.have - overlap, overlap, None)


def _begun_again(part: PartFile, reason: str, *, is_resumable: bool) -> AgainError:
    part.restart()
    part.is_resumable = part.is_resumable and is_resumable
    return AgainError(reason)


def _check_total(total: int | None, expected: int | None) -> None:
    if expected is not None and total not in (None, expected) and expected > READ_ANYWAY_BYTES:
        raise WrongError(f"the server says that it has {total} bytes, {expected} expected")


def _check_stranger(response: httpx2.Response, asked: _Asked | None, expected: int | None) -> None:
    """Keeps what is there from being thrown away for a page of a proxy, or of a network that wants a login."""
    length = response.headers.get("content-length")
    if asked and expected is not None and length not in (None, str(expected)) and not _is_encoded(response):
        raise AgainError(f"answers another file, of {length} bytes, where {expected} are expected")


def _is_encoded(response: httpx2.Response) -> bool:
    return response.headers.get("content-encoding", "identity").strip().lower() not in ("identity", "")


def _rest(url: str, response: httpx2.Response, part: PartFile, asked: _Asked) -> tuple[int, int | None]:
    """Checks that a 206 goes on where the file ends; returns the end of its range and the file's length."""
    found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if found is None or int(found[1]) != asked.first or int(found[2]) < asked.first:
        raise _begun_again(part, "answers another range than was asked for", is_resumable=False)
    if _is_encoded(response):
        raise _begun_again(part, "answers a range of an encoded file", is_resumable=False)
    total = None if found[3] == "*" else int(found[3])
    fresh = _note(url, response, total)
    before = part.note or fresh
    told = [(before.etag, fresh.etag), (before.last_modified, fresh.last_modified), (before.total, fresh.total)]
    if any(old is not None and new is not None and old != new for old, new in told):
        raise _begun_again(part, "the file has changed at the server", is_resumable=True)
    if part.note is None:
        part.keep_note(fresh)
    return int(found[2]) + 1, total if total is not None else before.total


def _whole(url: str, response: httpx2.Response, part: PartFile) -> tuple[Iterable[bytes], int | None]:
    """Starts over for a 200; returns its content and the file's length."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    # servers that take a .gz file for the encoding of what is in it mean the file all the same
    if not _is_encoded(response) or ("gzip" in encoding and urlsplit(url).path.endswith(COMPRESSED_NAMES)):
        length = response.headers.get("content-length", "")
        total = int(length) if length.isascii() and length.isdigit() else None
        part.restart(_note(url, response, total))
        return response.iter_raw(), total
    if encoding not in DECODED:
        raise RefusedError(f"sends the file encoded as {encoding!r}, which was not asked for")
    part.restart()
    part.is_resumable = False
    return response.iter_bytes(), None


def _copy(
    desk: Desk, line: Line, chunks: Iterable[bytes], part: PartFile, overlap: int, most: int, watch: Callable[[], None]
) -> None:
    known = part.tail(overlap)
    since, before = desk.clock.monotonic(), part.have
    # what comes may be no content at all, such as the head of a chunk, byte by byte: then no turn of the loop is made
    held_up = desk.manners.slow_window_s + desk.manners.read_timeout_s
    line.allow(held_up)
    watch()
    for chunk in chunks:
        desk.pace.check()
        if known:
            again, rest = chunk[: len(known)], chunk[len(known) :]
            if not known.startswith(again):
                raise _begun_again(part, "the file has changed at the server", is_resumable=True)
            known = known[len(again) :]
        else:
            rest = chunk
        if part.have + len(rest) > most:
            raise WrongError(f"the server sends more than {most} bytes")
        part.append(rest)
        watch()
        now = desk.clock.monotonic()
        if now - since >= desk.manners.slow_window_s:
            if part.have - before < desk.manners.slow_bytes_per_s * (now - since):
                raise AgainError(f"less than {desk.manners.slow_bytes_per_s:g} bytes a second arrive")
            since, before = now, part.have
            line.allow(held_up)


def _told(error: httpx2.HTTPError, manners: Manners) -> str:
    if isinstance(error, httpx2.ConnectTimeout):
        return f"no connection within {manners.connect_timeout_s:g} s"
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {manners.read_timeout_s:g} s"
    words = {
        httpx2.ConnectError: "no connection",
        httpx2.ProxyError: "the proxy refuses",
        httpx2.ProtocolError: "the connection was cut or is no HTTP",
        httpx2.DecodingError: "its encoding is broken",
    }
    said = next((word for kind, word in words.items() if isinstance(error, kind)), "the connection was cut")
    # an address in the library's own words could carry a secret
    more = str(error)
    if not more or "://" in more or "@" in more:
        return said
    return f"{said} ({more if len(more) <= MOST_TOLD else more[: MOST_TOLD - 3] + '...'})"


def _refusal(desk: Desk, url: str, response: httpx2.Response) -> Exception:
    status = response.status_code
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "no known status"
    reason = f"answers {status} ({phrase})"
    if status in MISSING:
        return MissingError(reason)
    if status not in LATER and status < 500:
        return RefusedError(reason)
    asked = retry_after_s(response.headers.get("retry-after"), response.headers.get("date"), desk.clock.wall())
    if asked is not None:
        desk.pace.hold(host_of(url), min(asked, desk.manners.max_retry_after_s))
    return AgainError(reason)


def _pull(desk: Desk, url: str, part: PartFile, expected: int | None, most: int, is_pinned: bool, watch: Watch) -> None:
    asked = _ask(part, url, is_pinned)
    headers = {"Range": f"bytes={asked.first}-"} if asked else {}
    if asked and asked.if_range:
        headers["If-Range"] = asked.if_range
    with _answer(desk, url, headers) as (answered, response, line):
        if asked and response.status_code == HTTPStatus.PARTIAL_CONTENT:
            end, total = _rest(url, response, part, asked)
            _check_total(total, expected)
            _copy(desk, line, response.iter_raw(), part, asked.overlap, min(most, end), lambda: watch(part.have, total))
        elif response.status_code == HTTPStatus.OK:
            _check_stranger(response, asked, expected)
            chunks, total = _whole(url, response, part)
            _check_total(total, expected)
            _copy(desk, line, chunks, part, 0, most, lambda: watch(part.have, total))
        elif asked and response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if response.headers.get("content-range", "").replace(" ", "") != f"bytes*/{part.have}":
                raise _begun_again(part, "has no bytes after those that are there", is_resumable=True)
            if part.note:
                part.keep_note(Note(part.note.address_sha256, None, None, None, part.have))
        else:
            raise _refusal(desk, answered, response)


def pull(desk: Desk, url: str, part: PartFile, expected: int | None, most: int, is_pinned: bool, watch: Watch) -> None:
    """Asks once for what is lacking and adds what comes; returns when the answer has ended as HTTP says it should.

    A `.part` file is only gone on with if the server shows that it is still the same file: by If-Range with a strong
    validator, else by equal validators, equal length and equal last bytes; a pinned file by its hash at the end.

    Args:
        desk: What all requests share.
        url: The address.
        part: What is there; its note is kept up to date.
        expected: Length that the file must have, or None.
        most: Length that it may not exceed.
        is_pinned: Whether the caller holds the whole file against a hash.
        watch: Called with the bytes that are there and the length that the server says, or None.

    Raises:
        MissingError: 403, 404, 410.
        RefusedError: Another status that stays, a redirect that is not followed, an address that is none.
        AgainError: 408, 425, 429, 5xx, a broken connection, an answer that does not fit; part holds what came.
        WrongError: The server's file has another length.
        StoppedError: The fetch is being interrupted.
    """
    if not is_web_address(url):
        raise RefusedError("only http and https addresses are fetched")
    try:
        _pull(desk, url, part, expected, most, is_pinned, watch)
    except httpx2.InvalidURL:
        raise RefusedError("the address cannot be read") from None
