# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Builds and releases two visual-dialogue benchmarks, CandVG and FPCO-Dialog, from pinned inputs."""

__version__ = "0.1.0"
