# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.arrow_columns import id_texts, numbers, repeated, texts, values_of

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(values=st.lists(text | st.none(), max_size=20))
def test_texts_are_those_of_pyarrow(values: list[str | None]) -> None:
    column = texts(values)
    column.validate(full=True)
    assert column.equals(pa.array(values, pa.string()))


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        texts(["a", "\ud800"])


@given(rows=st.lists(st.tuples(st.floats(allow_nan=False), st.booleans()), max_size=20))
def test_numbers_are_those_of_pyarrow(rows: list[tuple[float, bool]]) -> None:
    values = np.array([value for value, _ in rows], dtype=np.float64)
    missing = np.array([absent for _, absent in rows], dtype=bool)
    column = numbers(values, missing=missing)
    column.validate(full=True)
    assert column.equals(pa.array([None if absent else value for value, absent in rows], pa.float64()))
    assert values_of(numbers(values).slice(min(1, len(rows)))).tolist() == values.tolist()[1:]


@given(prefix=st.sampled_from(["", "a", "coco-"]), ids=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_ids_are_written_out(prefix: str, ids: list[int]) -> None:
    assert id_texts(prefix, np.array(ids, dtype=np.int64)).to_pylist() == [f"{prefix}{known}" for known in ids]
    assert repeated(prefix, len(ids)).to_pylist() == [prefix] * len(ids)


def test_pandas_is_not_imported() -> None:
    code = (
        "import sys, numpy as np; from groundset.arrow_columns import *;"
        "numbers(np.arange(3), missing=np.arange(3) > 1); texts(['a', None]); values_of(numbers(np.arange(3)));"
        "repeated('a', 3); id_texts('a', np.arange(3)); sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
