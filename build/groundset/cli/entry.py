# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The entry point of the command: loads the verbs, so that an interruption while they load ends it quietly too."""

from __future__ import annotations

import sys

from groundset.errors import INTERRUPTED


def main() -> None:
    """Runs the command line and leaves with its exit code."""
    try:
        from groundset.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)
