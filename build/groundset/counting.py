# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A number and what it counts, in words."""

from __future__ import annotations


def how_many(count: object, one: str, many: str = "") -> str:
    """A count, or the bounds of one, with its noun in the singular or plural, and its verb if both forms are given.

    >>> how_many(1, "image"), how_many(12, "image"), how_many(0, "item waits", "items wait")
    ('1 image', '12 images', '0 items wait')
    """
    return f"{count} {one if str(count) == '1' else many or f'{one}s'}"
