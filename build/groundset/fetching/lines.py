# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Connections that requests take one at a time, each with a limit on how long it may be held up.

A client's own limit begins anew with every byte that comes, so that a server that drips its answer's head, or says
`100 Continue` without end, would hold a download for ever.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import Any

import httpx2

_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class Line:
    """A client that one request uses at a time, so that the connection that it uses is known before it answers."""

    def __init__(self, client: httpx2.Client) -> None:
        self.client = client
        self.host = ""
        self.is_over = False
        self._stream: Any = None
        self._timer: Timer | None = None

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(_CONNECTED):
            self._stream = info["return_value"]
            if self.is_over:
                self._cut()

    def _cut(self) -> None:
        self.is_over = True
        if self._stream is not None:
            # closing it would not wake the thread that waits for its next byte
            with suppress(OSError):
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def allow(self, seconds: float) -> None:
        """Cuts the connection so many seconds from now; counts anew at each call."""
        self._stop()
        self._timer = Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @contextmanager
    def stream(self, url: str, headers: Mapping[str, str], seconds: float) -> Iterator[httpx2.Response]:
        """A response whose head has come.

        Args:
            url: The address.
            headers: Headers of the request.
            seconds: How long connection and head may take together; then, unless `allow` is called, the body too.

        Raises:
            httpx2.HTTPError: The connection broke, or was cut here: then `is_over` is true.
        """
        self.is_over = False
        self.allow(seconds)
        try:
            with self.client.stream("GET", url, headers=headers, extensions={"trace": self._trace}) as response:
                yield response
        finally:
            self._stop()


class Lines:
    """The lines of one fetch, for all its threads; a host gets one that is connected to it already, if there is one."""

    def __init__(self, client: Callable[[], httpx2.Client]) -> None:
        self._client = client
        self._lock = Lock()
        self._all: list[Line] = []
        self._free: list[Line] = []

    @contextmanager
    def line(self, host: str) -> Iterator[Line]:
        """A line that no other request uses meanwhile."""
        with self._lock:
            # the one that was used last, as its connection is the likeliest to be open still
            known = [place for place, line in enumerate(self._free) if line.host == host]
            if self._free:
                line = self._free.pop(known[-1] if known else 0)
            else:
                line = Line(self._client())
                self._all.append(line)
            line.host = host
        try:
            yield line
        finally:
            with self._lock:
                self._free.append(line)

    def close(self) -> None:
        """Closes all connections."""
        with self._lock:
            for line in self._all:
                line.client.close()
