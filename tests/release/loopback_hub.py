# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A small Hugging Face Hub on loopback, as far as its clients need one for datasets, with faults to order.

It keeps repositories in memory. A commit is put in place under a lock, whole or not at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_loopback_token"
REFUSED = "Invalid credentials in Authorization header"


@dataclass(frozen=True)
class Stored:
    content: bytes
    lfs: bool

    @property
    def oid(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content, usedforsecurity=False).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid

    def entry(self, path: str) -> dict[str, Any]:
        found = {"type": "file", "path": path, "size": len(self.content), "oid": self.oid}
        lfs = {"oid": self.sha256, "size": len(self.content), "pointerSize": 130}
        return {**found, "lfs": lfs} if self.lfs else found


@dataclass
class Repository:
    commits: dict[str, dict[str, Stored]] = field(default_factory=dict)
    titles: list[tuple[str, str]] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    head: str = ""

    def commit(self, title: str, files: dict[str, Stored]) -> str:
        listed = "".join(f"{path} {stored.etag}\n" for path, stored in sorted(files.items()))
        oid = hashlib.sha1(f"{self.head}\n{title}\n{listed}".encode(), usedforsecurity=False).hexdigest()
        self.commits[oid], self.head = files, oid
        self.titles.insert(0, (oid, title))
        return oid

    def resolve(self, revision: str) -> str | None:
        found = self.head if revision == "main" else self.tags.get(revision, revision)
        return found if found in self.commits else None


@dataclass
class Hub:
    """What the server holds, what it was asked for, and which faults it has been told to show.

    `faults` maps the beginning of "METHOD path" to what happens once: `cut` drops the connection in the middle of the
    request, `cut_after` does what is asked and drops it before the answer, a number is the status of the answer, and
    what can be called is called before the request is dealt with.
    """

    address: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    faults: dict[str, str | int | Callable[[], object]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def of(self, start: str) -> list[str]:
        return [line for line in self.asked if line.startswith(start)]


class RefusalError(Exception):
    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message or code)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, hub: Hub, *args: Any) -> None:
        self.hub = hub
        super().__init__(*args)

    def log_message(self, *_: object) -> None:
        pass

    def drop(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.answer(status, json.dumps(value).encode(), Content_Type="application/json", **headers)

    def handle_one(self) -> None:
        url = urlsplit(self.path)
        line = f"{self.command} {unquote(url.path)}"
        self.hub.asked.append(line)
        start = next((start for start in self.hub.faults if line.startswith(start)), None)
        fault = self.hub.faults.pop(start) if start else None
        length = int(self.headers.get("Content-Length", 0))
        if fault == "cut":
            self.rfile.read(min(length // 2, 4096))
            self.drop()
            return
        body = self.read_chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self.rfile.read(length)
        try:
            if callable(fault):
                fault()
            if isinstance(fault, int):
                raise RefusalError(fault, "", "told to fail")
            if self.headers.get("Authorization") not in {None, f"Bearer {TOKEN}"}:
                raise RefusalError(401, "", REFUSED)
            with self.hub.lock:
                if fault == "cut_after":
                    self.answer = lambda *_, **__: self.drop()  # type: ignore[method-assign]
                self.route([unquote(part) for part in url.path.strip("/").split("/")], parse_qs(url.query), body)
        except RefusalError as error:
            headers = {"X_Error_Code": error.code} if error.code else {}
            self.json({"error": str(error)}, error.status, **headers, X_Error_Message=str(error))

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815

    def read_chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def signed_in(self) -> None:
        if "Authorization" not in self.headers:
            raise RefusalError(401, "", "a token is needed")

    def repository(self, name: str) -> Repository:
        if name not in self.hub.repositories:
            raise RefusalError(401, "RepoNotFound", "Repository not found")
        return self.hub.repositories[name]

    def files(self, repository: Repository, revision: str) -> tuple[str, dict[str, Stored]]:
        oid = repository.resolve(revision)
        if oid is None:
            raise RefusalError(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return oid, repository.commits[oid]

    def route(self, parts: list[str], query: dict[str, list[str]], body: bytes) -> None:
        match [self.command, *parts]:
            case ["GET", "api", "whoami-v2"]:
                self.signed_in()
                self.json({"name": "tester", "orgs": [{"name": "org"}], "auth": {"accessToken": {"role": "write"}}})
            case ["POST", "api", "validate-yaml"]:
                self.json({"errors": [], "warnings": []})
            case ["POST", "api", "repos", "create"]:
                self.create(json.loads(body))
            case ["PUT", "lfs", sha256]:
                self.hub.objects[sha256] = body
                self.answer(200 if hashlib.sha256(body).hexdigest() == sha256 else 422)
            case ["POST", "lfs", "verify"]:
                self.answer(200 if json.loads(body)["oid"] in self.hub.objects else 404)
            case ["POST", "datasets", org, name, "info", "lfs", "objects", "batch"]:
                self.signed_in()
                self.repository(f"{org}/{name.removesuffix('.git')}")
                self.batch(json.loads(body)["objects"])
            case ["GET" | "HEAD", "datasets", org, name, "resolve", revision, *path]:
                self.send(self.repository(f"{org}/{name}"), revision, "/".join(path))
            case [_, "api", "datasets", org, name, *rest]:
                self.dataset(f"{org}/{name}", self.repository(f"{org}/{name}"), rest, query, body)
            case _:
                raise RefusalError(404)

    def create(self, asked: dict[str, Any]) -> None:
        self.signed_in()
        name = f"{asked.get('organization') or 'tester'}/{asked['name']}"
        told = {"url": f"{self.hub.address}/datasets/{name}"}
        if name in self.hub.repositories:
            self.json({**told, "error": "You already created this dataset repo"}, 409)
            return
        new = self.hub.repositories[name] = Repository()
        new.commit("initial commit", {".gitattributes": Stored(b"*.parquet filter=lfs\n", lfs=False)})
        self.json(told)

    def batch(self, objects: list[dict[str, Any]]) -> None:
        verify = {"href": f"{self.hub.address}/lfs/verify"}
        told = []
        for asked in objects:
            upload = {"upload": {"href": f"{self.hub.address}/lfs/{asked['oid']}"}, "verify": verify}
            told.append(asked if asked["oid"] in self.hub.objects else {**asked, "actions": upload})
        self.json({"transfer": "basic", "objects": told})

    def send(self, repository: Repository, revision: str, path: str) -> None:
        oid, files = self.files(repository, revision)
        if path not in files:
            raise RefusalError(404, "EntryNotFound", "Entry not found")
        stored, content, status = files[path], files[path].content, 200
        told = {"X_Repo_Commit": oid, "ETag": f'"{stored.etag}"', "Accept_Ranges": "bytes"}
        if stored.lfs:
            told |= {"X_Linked_Etag": f'"{stored.etag}"', "X_Linked_Size": str(len(content))}
        if span := re.fullmatch(r"bytes=([0-9]*)-([0-9]*)", self.headers.get("Range", "")):
            size = len(content)
            first = int(span[1]) if span[1] else max(0, size - int(span[2]))
            last = min(int(span[2]), size - 1) if span[1] and span[2] else size - 1
            told["Content_Range"] = f"bytes {first}-{last}/{size}"
            content, status = content[first : last + 1], 206
        self.answer(status, content, **told)

    def dataset(
        self, name: str, repository: Repository, rest: list[str], query: dict[str, list[str]], body: bytes
    ) -> None:
        match [self.command, *rest]:
            case ["GET"]:
                self.info(name, repository, "main")
            case ["GET", "revision", revision]:
                self.info(name, repository, revision)
            case ["GET", "refs"]:
                refs = [{"name": "main", "ref": "refs/heads/main", "targetCommit": repository.head}]
                tags = [
                    {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid}
                    for tag, oid in repository.tags.items()
                ]
                self.json({"branches": refs, "tags": tags, "converts": []})
            case ["GET", "commits", revision]:
                self.files(repository, revision)
                told = [
                    {"id": oid, "title": title, "message": "", "authors": [], "date": "2026-11-30T00:00:00.000Z"}
                    for oid, title in repository.titles
                ]
                self.json(told)
            case ["GET", "tree", revision, *folder]:
                self.tree(self.files(repository, revision)[1], "/".join(folder), recursive="recursive" in query)
            case ["POST", "paths-info", revision]:
                files = self.files(repository, revision)[1]
                paths = parse_qs(body.decode()).get("paths", [])
                self.json([files[path].entry(path) for path in paths if path in files])
            case ["POST", "preupload", revision]:
                self.signed_in()
                files = self.files(repository, revision)[1]
                told = []
                for asked in json.loads(body)["files"]:
                    path = asked["path"]
                    mode = "lfs" if path.endswith(".parquet") else "regular"
                    known = {"oid": files[path].etag} if path in files else {}
                    told.append({"path": path, "uploadMode": mode, "shouldIgnore": False, **known})
                self.json({"files": told})
            case ["POST", "commit", "main"]:
                self.signed_in()
                self.commit(name, repository, [json.loads(line) for line in body.splitlines()])
            case ["POST", "tag", revision]:
                self.signed_in()
                tag = json.loads(body)["tag"]
                if tag in repository.tags:
                    raise RefusalError(409, "", "Tag reference exists already")
                repository.tags[tag] = self.files(repository, revision)[0]
                self.answer(201)
            case _:
                raise RefusalError(404)

    def info(self, name: str, repository: Repository, revision: str) -> None:
        oid, files = self.files(repository, revision)
        siblings = [{"rfilename": path} for path in sorted(files)]
        self.json({"id": name, "sha": oid, "private": False, "gated": False, "tags": [], "siblings": siblings})

    def tree(self, files: dict[str, Stored], folder: str, *, recursive: bool) -> None:
        start = f"{folder}/" if folder else ""
        below = {path: stored for path, stored in files.items() if path.startswith(start)}
        if not below:
            raise RefusalError(404, "EntryNotFound", f"{folder} does not exist")
        told, folders = [], set()
        for path, stored in sorted(below.items()):
            inner = path.removeprefix(start).split("/")
            if recursive or len(inner) == 1:
                told.append(stored.entry(path))
            depths = range(1, len(inner)) if recursive else range(1, min(2, len(inner)))
            folders |= {start + "/".join(inner[:depth]) for depth in depths}
        self.json([*told, *({"type": "directory", "path": path, "size": 0, "oid": "0" * 40} for path in folders)])

    def commit(self, name: str, repository: Repository, lines: list[dict[str, Any]]) -> None:
        header = lines[0]["value"]
        if header.get("parentCommit") not in {None, repository.head}:
            raise RefusalError(412, "", "A commit has happened since. Please refresh and try again.")
        files = dict(repository.commits[repository.head])
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = Stored(base64.b64decode(value["content"]), lfs=False)
            elif line["key"] == "lfsFile":
                files[value["path"]] = Stored(self.hub.objects[value["oid"]], lfs=True)
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                raise RefusalError(400, "", f"{line['key']} is not known here")
        oid = repository.commit(header["summary"], files)
        self.json({"commitOid": oid, "commitUrl": f"{self.hub.address}/datasets/{name}/commit/{oid}", "success": True})


@contextmanager
def loopback_hub() -> Iterator[Hub]:
    """Serves an empty Hub on a free port of 127.0.0.1 until the block ends."""
    hub = Hub()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, hub)) as server:
        server.daemon_threads = True
        hub.address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield hub
        server.shutdown()
