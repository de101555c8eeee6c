# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Write the lexical variants of some dialogues: one stage of the build, for the manifest named on the command line."""

import sys

from groundset.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["build", "--only", "72_vary", *sys.argv[1:]]))
