# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How a module of this package is run in a process of its own: a new interpreter that finds what this one finds."""

from __future__ import annotations

import os
import sys


def command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """This process's environment, with the folders in which it looks for modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
