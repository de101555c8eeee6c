# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Filter: one stage of the build, for the manifest named on the command line."""

import sys

from groundset.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["build", "--only", "20_filter", *sys.argv[1:]]))
