# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Image ids as keys, and back."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from groundset.sources.openimages_ids import image_id, key_texts, keys_of, text_array

texts = st.from_regex(r"\A[0-9a-f]{16}\Z") | st.text("0123456789abcdefABCDEFg:@`/é", max_size=20)


@given(st.lists(texts, max_size=12), st.booleans())
def test_keys_are_the_hexadecimal_values_of_ids_and_of_nothing_else(ids: list[str], as_bytes: bool) -> None:
    column = pa.array(
        [text.encode() for text in ids] if as_bytes else ids, type=pa.binary() if as_bytes else pa.string()
    )
    keys, sound = keys_of(column)
    assert sound.tolist() == [re.fullmatch(r"[0-9a-f]{16}", text) is not None for text in ids]
    for text, key, good in zip(ids, keys.tolist(), sound.tolist(), strict=True):
        assert key == (int(text, 16) if good else 0)
    sliced, sound_too = keys_of(column.slice(1))
    assert (sliced.tolist(), sound_too.tolist()) == (keys[1:].tolist(), sound[1:].tolist())


@given(st.lists(st.integers(0, 2**64 - 1), max_size=12))
def test_texts_of_keys_are_the_ids(numbers: list[int]) -> None:
    keys = np.array(numbers, dtype=np.uint64)
    assert text_array(key_texts(keys, "openimages-")).to_pylist() == [image_id(number) for number in numbers]
    assert keys_of(text_array(key_texts(keys)))[0].tolist() == numbers
