# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrow columns from what readers collect, and back, by way of their buffers.

`pyarrow.array`, a plain value given to `pyarrow.compute` and `numpy.asarray` of an Arrow array all import pandas if it
is installed, which takes as long as half a gigabyte of annotations takes to parse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_LONGEST = 2**31 - 1


def numbers(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """A column of numbers, null where `missing` is true; shares the memory of `values` if it can."""
    valid = None if missing is None or not missing.any() else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, buffer])


def values_of(column: pa.Array) -> NDArray[Any]:
    """The numbers of a column that has no nulls."""
    values: NDArray[Any] = np.frombuffer(column.buffers()[1], dtype=column.type.to_pandas_dtype())
    return values[column.offset : column.offset + len(column)]


def texts(values: Sequence[str | None]) -> pa.Array:
    """A column of texts and nulls."""
    present = ["" if value is None else value for value in values]
    joined = "".join(present)
    if joined.isascii():
        data, lengths = joined.encode(), [len(value) for value in present]
    else:
        encoded = [value.encode() for value in present]
        data, lengths = b"".join(encoded), [len(value) for value in encoded]
    if len(data) > _LONGEST:
        raise ValueError("a column of more than 2 GiB of text")
    missing = np.fromiter((value is None for value in values), dtype=bool, count=len(present))
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return _from_lengths(np.array(lengths, dtype=np.int32), data, valid)


def _from_lengths(lengths: NDArray[np.int32], data: bytes, valid: pa.Buffer | None) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(data), valid)


def repeated(text: str, count: int) -> pa.Array:
    """A column of one text."""
    data = text.encode()
    return _from_lengths(np.full(count, len(data), dtype=np.int32), data * count, None)


def id_texts(prefix: str, ids: NDArray[np.int64]) -> pa.Array:
    """Ids as text behind a prefix.

    >>> id_texts("a", np.array([7, -30])).to_pylist()
    ['a7', 'a-30']
    """
    plain = pc.cast(numbers(ids), pa.string())
    return pc.binary_join_element_wise(repeated(prefix, len(ids)), plain, repeated("", len(ids))) if prefix else plain


def places(values: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
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
