# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reading in pieces gives what reading whole gives, or says that it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.sources import coco_file
from groundset.sources.json_pieces import each_piece

KEY = "annotations"


def read(path: Path, size: int) -> tuple[list[Any], Any] | None:
    """The records and the rest of the document; None if the file does not let itself be read in pieces."""
    rows: list[Any] = []
    rest = each_piece(path, KEY, lambda piece: rows.extend(msgspec.json.decode(piece, type=list[dict[str, Any]])), size)
    if rest is None:
        return None
    document = msgspec.json.decode(rest.document)
    assert list(document.values()).count(rest.stand_in) <= 1
    return (rows, document) if document.get(KEY) == rest.stand_in else None


def whole(path: Path) -> tuple[list[Any], Any]:
    document = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    return document[KEY], document


awkward = st.sampled_from(
    ["}, {", "}]", "},\n{", '"annotations": [', "\\", '"', "ü", "日本", "😀", "[{", "array 0", "annotations", "\\u0041"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats(0, 9).map(lambda value: round(value, 2)) | awkward,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(awkward | st.just("id"), inner, max_size=3),
    max_leaves=5,
)
records = st.lists(st.dictionaries(st.sampled_from(["id", "bbox", "segmentation", KEY]), values), max_size=12)


@given(
    rows=records,
    before=st.dictionaries(awkward, values, max_size=2),
    after=st.dictionaries(awkward, values, max_size=2),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    mark=st.booleans(),
    size=st.sampled_from([8, 20, 50, 200]),
)
@settings(max_examples=150, deadline=None)
def test_pieces_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Any],
    before: dict[str, Any],
    after: dict[str, Any],
    indent: int | None,
    ascii_only: bool,
    mark: bool,
    size: int,
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "input.json"
    before.pop(KEY, None)
    after.pop(KEY, None)
    text = json.dumps(
        {**before, KEY: rows, **{key: after[key] for key in after if key not in before}},
        indent=indent,
        ensure_ascii=ascii_only,
    )
    path.write_text(text, encoding="utf-8-sig" if mark else "utf-8")
    found = read(path, size)
    if found is not None:
        expected_rows, expected = whole(path)
        assert found[0] == expected_rows
        assert {**found[1], KEY: None} == {**expected, KEY: None}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("size", [16, 64, 256, 1024])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_files_of_the_publishers_form_are_read_in_pieces(
    tmp_path: Path, indent: int | None, size: int, place: int
) -> None:
    rows = [{"segmentation": [[1.5, 2] * (known % 9)], "id": known, "bbox": [1, 2, 3.25, known]} for known in range(40)]
    rows[7]["segmentation"] = {"counts": "P}], {Yo", "size": [4, 4]}  # type: ignore[dict-item]
    members = [("info", {"of": "annotations"}), ("images", [{"id": known, "name": "ü"} for known in range(9)])]
    members.insert(place, (KEY, rows))
    path = tmp_path / "input.json"
    path.write_text(json.dumps(dict(members), indent=indent, ensure_ascii=False), encoding="utf-8")
    found = read(path, size)
    assert found is not None
    assert found[0] == rows
    assert found[1]["images"] == dict(members)["images"]


def test_records_with_objects_inside_are_read_in_pieces(tmp_path: Path) -> None:
    rows = [{"id": known, "parts": [{"of": part} for part in range(known % 30)]} for known in range(200)]
    path = tmp_path / "input.json"
    path.write_text(json.dumps({KEY: rows}))
    found = read(path, 4096)
    assert found is not None
    assert found[0] == rows


@pytest.mark.parametrize(
    "text",
    [
        '{"x": {"annotations": [{"id": 1}, {"id": 2}, {"id": 3}]}, "annotations": [{"id": 4}]}',
        '{"annotations": [{"id": 1}, {"id": 2}, {"id": 3}], "annotations": [{"id": 4}]}',
        '{"x": {"annotations": [{"id": 1}, {"id": 2}, {"id": 3}]}}',
        '{"\\u0061nnotations": [{"id": 1}, {"id": 2}, {"id": 3}]}',
        '{"annotations": [{"id": 1}, {"id": 2}, {"id": 3}',
        '{"annotations": [{"id": 1}, {"id": 2}, {"id": 3}]',
        '{"annotations": [{"id": 1}, {"id": 2} {"id": 3}]}',
        '{"annotations": [{"id": 1}, {"id": 2}, {"id": 3},]}',
        '{"annotations": [{"id": 1}, {"id": 2}, {"id": 3}]}]}',
        '{"annotations": [{"id": 1}, {"id": 2}, 3, {"id": 4}]}',
        '{"annotations": {"id": [{"id": 1}, {"id": 2}]}}',
        '[{"annotations": [{"id": 1}, {"id": 2}, {"id": 3}]}]',
        '"annotations: [{}, {}]                              "',
        '{"annotations": "annotations", "x": [{"id": 1}, {}]}',
    ],
)
@pytest.mark.parametrize("size", [8, 24])
def test_what_is_no_such_file_is_not_read_in_pieces(tmp_path: Path, text: str, size: int) -> None:
    path = tmp_path / "input.json"
    path.write_text(text)
    try:
        assert read(path, size) is None
    except msgspec.DecodeError:
        # the array could be read, but what is around it is no JSON
        with pytest.raises(msgspec.DecodeError):
            whole(path)


def test_a_file_that_is_not_there_or_small_is_not_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "input.json"
    assert read(path, 8) is None
    path.write_text('{"annotations": []}')
    assert read(path, 1000) is None


@pytest.mark.parametrize("at", ["first", "last", "tail"])
@pytest.mark.parametrize("size", [64, 300])
def test_a_byte_that_is_no_text_is_found_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, size: int
) -> None:
    monkeypatch.setattr(coco_file, "PIECE_BYTES", size)
    rows = [{"id": n, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "note": f"é{n}"} for n in range(30)]
    document = {KEY: rows, "images": [{"id": 1, "file_name": "1.jpg"}], "categories": [], "tail": "étail"}
    data = json.dumps(document, ensure_ascii=False).encode()
    path = tmp_path / "input.json"
    path.write_bytes(data)
    assert len(coco_file.read_instances(path)[1]) == 30
    place = data.index({"first": "é0", "last": "é29", "tail": "étail"}[at].encode())
    path.write_bytes(data[:place] + data[place + 1 :])
    with pytest.raises(DataError, match=f"is not UTF-8: byte {place} "):
        coco_file.read_instances(path)
