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
    valid = None
    if None in values:
        valid = pa.py_buffer(np.packbits([value is not None for value in values], bitorder="little"))
        values = ["" if value is None else value for value in values]
    joined = "".join(values)  # type: ignore[arg-type]
    parts: Sequence[Any] = values if joined.isascii() else [str(value).encode() for value in values]
    data = joined.encode()
    if len(data) > _LONGEST:
        raise ValueError("a column of more than 2 GiB of text")
    return _from_lengths(np.fromiter(map(len, parts), dtype=np.int32, count=len(parts)), data, valid)


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
