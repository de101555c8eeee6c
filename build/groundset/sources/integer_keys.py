# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds and sorts whole numbers by the million."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from groundset import arrow_columns

Integers = NDArray[np.int64]


def places(values: Integers, among: Integers) -> Integers:
    """Where each value stands in `among`, whose values are distinct; -1 where it does not.

    >>> places(np.array([5, 8, 9]), np.array([9, 5])).tolist()
    [1, -1, 0]
    """
    if len(among) == 0:
        return np.full(len(values), -1, dtype=np.int64)
    low, high = int(among.min()), int(among.max())
    inside = (values >= low) & (values <= high)
    if high - low > 16 * (len(among) + len(values)):
        order = np.argsort(among)
        near = order[np.searchsorted(among[order[:-1]], values)]
        return np.where(among[near] == values, near, -1)
    # ids are mostly dense: one look into a table is faster by far than a search
    table = np.full(high - low + 1, -1, dtype=np.int32)
    table[among - low] = np.arange(len(among))
    return np.where(inside, table[np.where(inside, values, low) - low], -1).astype(np.int64)


def are_distinct(values: Integers) -> bool:
    """Whether no value is there twice.

    >>> are_distinct(np.array([7, 2**40, 3])), are_distinct(np.array([2**40, 7, 2**40]))
    (True, False)
    """
    # most ids are small: marks in a table are faster by far than a sort
    small = (values >= 0) & (values < 16 * len(values))
    dense, rest = values[small], np.sort(values[~small])
    marks = np.zeros(16 * len(values), dtype=np.bool_)
    marks[dense] = True
    return np.count_nonzero(marks) == len(dense) and not (rest[1:] == rest[:-1]).any()


def order_of(keys: Integers, bound: int) -> Integers:
    """The places of keys in increasing order, those of equal ones in their own.

    >>> order_of(np.array([30, 10, 20, 10]), 31).tolist()
    [1, 3, 2, 0]

    Args:
        keys: Whole numbers from 0.
        bound: More than the largest of them.
    """
    bits = len(keys).bit_length()
    if bound << bits >= 2**64:
        return np.argsort(keys, kind="stable")
    # numbers are sorted several times faster than their places
    numbered = (keys.astype(np.uint64) << np.uint64(bits)) | np.arange(len(keys), dtype=np.uint64)
    numbered.sort()
    return (numbered & np.uint64((1 << bits) - 1)).view(np.int64)


def order_of_texts(groups: Integers, ids: Integers) -> Integers:
    """The order of rows by group, then by the id as text, for which 10 comes before 9.

    >>> order_of_texts(np.array([1, 1, 0]), np.array([9, 10, 7])).tolist()
    [2, 1, 0]

    Args:
        groups: Whole numbers from 0.
        ids: Distinct within a group.
    """
    digits = len(str(int(ids.max(initial=0))))
    if ids.min(initial=0) < 0 or 10**digits * (digits + 1) >= 2**63:
        order = arrow_columns.values_of(pc.sort_indices(arrow_columns.id_texts("", ids))).astype(np.int64)
    else:
        tens = 10 ** np.arange(digits, dtype=np.int64)
        length = np.ones(len(ids), dtype=np.int64)
        for power in tens[1:]:
            length += ids >= power
        # as text, ids compare like numbers filled up with zeros to one length; of equal ones the shorter comes first
        bound = 10**digits * (digits + 1)
        keys = ids * tens[digits - length] * (digits + 1) + length
        if (int(groups.max(initial=0)) + 1) * bound < 2**63:
            return np.argsort(groups * bound + keys)
        order = order_of(keys, bound)
    return order[order_of(groups[order], int(groups.max(initial=0)) + 1)]
