# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""CandVG: which objects are still plausible referents after each turn of a dialogue."""
