# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""FPCO-Dialog: which images may serve, what is asked about them, and the checks on every sentence."""
