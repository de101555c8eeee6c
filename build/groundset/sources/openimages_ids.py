# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' image ids, 16 hexadecimal digits, as 64-bit keys: eight bytes a row, and in the order of the texts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

DIGITS = 16
IMAGE_ID = re.compile(r"[0-9a-f]{16}")
PREFIX = "openimages-"
_NO_DIGIT = 255
_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_VALUES = np.full(256, _NO_DIGIT, dtype=np.uint8)
_VALUES[_DIGITS] = np.arange(16)


def _digits(ids: Any) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Digits of the ids that have 16 characters, shape (n, 16), and which ids those are."""
    offsets = np.frombuffer(ids.buffers()[1], dtype=np.int32)[ids.offset : ids.offset + len(ids) + 1]
    data = np.frombuffer(ids.buffers()[2] or b"", dtype=np.uint8)
    right = np.diff(offsets) == DIGITS
    if right.all():
        return data[offsets[0] : offsets[-1]].reshape(-1, DIGITS), right
    places = offsets[:-1][right][:, None] + np.arange(DIGITS)
    return data[places], right


def keys_of(ids: Any) -> tuple[Keys, NDArray[np.bool_]]:
    """Keys of an Arrow array of texts or bytes without nulls.

    Returns:
        Keys, 0 where the text is no id; and which texts are ids, both of shape (n,).
    """
    if len(ids) == 0:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=bool)
    digits, sound = _digits(ids)
    values = _VALUES[digits]
    if values.max(initial=0) == _NO_DIGIT:
        good = (values != _NO_DIGIT).all(axis=1)
        sound[sound] = good
        values = values[good]
    packed = (values[:, 0::2] << 4) | values[:, 1::2]
    found = np.ascontiguousarray(packed).view(">u8").reshape(-1).astype(np.uint64)
    if len(found) == len(sound):
        return found, sound
    keys = np.zeros(len(sound), dtype=np.uint64)
    keys[sound] = found
    return keys, sound


def key_texts(keys: Keys, prefix: str = "") -> NDArray[np.uint8]:
    """The ids as ASCII, each with the prefix before it; shape (n, 16 and the prefix's length)."""
    start = len(prefix)
    texts = np.empty((len(keys), start + DIGITS), dtype=np.uint8)
    texts[:, :start] = np.frombuffer(prefix.encode("ascii"), dtype=np.uint8)
    packed = keys.astype(">u8").view(np.uint8).reshape(-1, DIGITS // 2)
    texts[:, start::2] = _DIGITS[packed >> 4]
    texts[:, start + 1 :: 2] = _DIGITS[packed & 15]
    return texts


def text_array(texts: NDArray[np.uint8]) -> Any:
    """ASCII texts of equal length, shape (n, length), as an Arrow column of text."""
    count, length = texts.shape
    offsets = np.arange(0, (count + 1) * length, length, dtype=np.int32) if length else np.zeros(count + 1, np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(texts)))


def image_id(key: int) -> str:
    """The image id of our tables.

    >>> image_id(0x2B66C9C498E)
    'openimages-000002b66c9c498e'
    """
    return f"{PREFIX}{key:016x}"
