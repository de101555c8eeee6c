# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.cli.withdraw import Reason
from groundset.errors import DataError
from groundset.release.card_texts import WITHDRAWN_REASONS
from groundset.schema_types import load
from groundset.withdrawals import REASONS, Withdrawal, by_pixels, by_record, encode, read

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
ROWS = st.lists(
    st.builds(
        Withdrawal,
        image_id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+:-]{0,30}", fullmatch=True),
        reason=st.sampled_from(REASONS),
        note=TEXT,
        flickr_id=st.none() | st.from_regex(r"[0-9]{1,9}", fullmatch=True),
        pixels_sha256=st.none() | st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    ),
    unique_by=lambda row: row.image_id,
)


@given(rows=ROWS)
def test_what_is_written_is_read_in_one_order(rows: list[Withdrawal], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("withdrawn") / "x.withdrawn.jsonl"
    path.write_bytes(encode(rows))
    assert encode(reversed(rows)) == path.read_bytes()
    assert read(path) == tuple(sorted(rows, key=lambda row: row.image_id))


def test_reasons_are_the_same_wherever_they_are_listed() -> None:
    assert set(REASONS) == set(load("withdrawal")["properties"]["reason"]["enum"])
    assert set(REASONS) == set(WITHDRAWN_REASONS) == {reason.value for reason in Reason}


def test_a_file_that_is_not_there_withdraws_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "absent") == ()
    (tmp_path / "empty").touch()
    assert read(tmp_path / "empty") == ()
    with pytest.raises(DataError, match="it cannot be read"):
        read(tmp_path)


def test_all_that_is_wrong_with_a_file_is_told(tmp_path: Path) -> None:
    good = Withdrawal("coco-1", "owner", "asked", None, None)
    lines = [encode([good]), b"{\n", b"\xff\n", encode([good]), b'{"image_id": "coco-2", "reason": "whim"}\n', b"[]\n"]
    path = tmp_path / "x.withdrawn.jsonl"
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError) as caught:
        read(path)
    told = {problem.record for problem in caught.value.problems}
    assert told == {"line 2", "line 3", "line 4", "line 5", "line 6"}
    assert "coco-1 is withdrawn twice" in str(caught.value)
    assert "line 5 $.reason" in str(caught.value)


def test_a_photograph_is_told_by_its_id_its_id_at_flickr_and_its_pixels() -> None:
    images = [
        {"image_id": "coco-1", "flickr_id": "7"},
        {"image_id": "openimages-a", "flickr_id": "7"},
        {"image_id": "openimages-b", "flickr_id": None},
        {"image_id": "coco-2", "flickr_id": "8"},
    ]
    by_id = Withdrawal("coco-1", "fault", "blurred", None, None)
    assert set(by_record(images, [by_id])) == {"coco-1", "openimages-a"}
    elsewhere = Withdrawal("flickr30k-9", "licence", "changed", "8", "0" * 64)
    assert set(by_record(images, [elsewhere])) == {"coco-2"}
    assert by_record(images, []) == {}
    assert set(by_pixels({"coco-3": "0" * 64, "coco-4": "1" * 64}, [by_id, elsewhere])) == {"coco-3"}
