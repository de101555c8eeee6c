# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the photographs: one stage of the build, for the manifest named on the command line."""

import sys

from groundset.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["build", "--only", "40_images", *sys.argv[1:]]))
