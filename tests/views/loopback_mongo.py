# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A MongoDB on loopback that has nothing in it, and ports to have such servers on."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ADDRESS = "127.0.0.1"
# a start on a machine that is busy with much else; on others it takes a second
LIMIT_S = 200


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind((ADDRESS, 0))
        return int(opened.getsockname()[1])


def wait_for_port(server: subprocess.Popen[Any], port: int) -> None:
    """Waits until somebody listens on a port, while the process that is to listen there runs."""
    until = time.monotonic() + LIMIT_S
    while True:
        with socket.socket() as tried:
            if tried.connect_ex((ADDRESS, port)) == 0:
                return
        assert server.poll() is None, f"{server.args} has ended"
        assert time.monotonic() < until, f"{server.args} does not listen"
        time.sleep(0.1)


@contextmanager
def loopback_mongo(program: Path, folder: Path) -> Iterator[str]:
    """Runs a MongoDB in a new folder and gives its address."""
    (folder / "db").mkdir(parents=True)
    port = free_port()
    options = ["--bind_ip", ADDRESS, "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25"]
    options += ["--setParameter", "diagnosticDataCollectionEnabled=false", "--logpath", str(folder / "log")]
    server = subprocess.Popen(
        [program, "--dbpath", folder / "db", "--port", str(port), *options], stdout=subprocess.DEVNULL
    )
    try:
        wait_for_port(server, port)
        yield f"mongodb://{ADDRESS}:{port}"
    finally:
        server.terminate()
        server.wait(LIMIT_S)
