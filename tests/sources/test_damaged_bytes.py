# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Source files with bytes flipped, cut, inserted and spliced are read with every row accounted for, or refused."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundset import importing
from groundset.errors import GroundsetError
from groundset.sources import coco, coco_file, fpco_published, fpco_results, invig, openimages
from groundset.sources.imported import Imported

TESTS = Path(__file__).parents[1]
OPENIMAGES = ("boxes.csv", "images.csv", "classes.csv", "hierarchy.json")
SOUND = {name: (TESTS / "bad" / "openimages" / "sound" / name).read_bytes() for name in OPENIMAGES}
RECORD = (TESTS / "published_set" / "metadata_and_questions" / "1101.json").read_bytes()

INSTANCES = json.dumps(
    {
        "images": [{"id": known, "file_name": f"{known}.jpg", "width": 640, "height": 480} for known in (1, 2)],
        "annotations": [
            {"segmentation": [[1.5, 2]], "id": known, "image_id": 1, "category_id": 1, "bbox": [1, known, 9, 9]}
            for known in range(5)
        ],
        "categories": [{"id": 1, "name": "person", "supercategory": "person"}],
        "licenses": [{"id": 1, "url": "http://creativecommons.org/licenses/by/2.0/"}],
    }
).encode()
CAPTIONS = (
    b'{"annotations": [{"id": 1, "image_id": 1, "caption": "a \\"dog\\""}, {"id": 2, "image_id": 1, "caption": ""}]}'
)
DIALOGUE = json.dumps(
    {
        "filename": "00bf29ce5868629f_Dog_2.jpg",
        "width": 640,
        "height": 480,
        "id": 7,
        "label": "Dog",
        "ann": {
            "bboxes": [[1, 2, 30, 40], [100.5, 2, 130, 40]],
            "ref_exp": "the dog",
            "questions": ["Left?"],
            "answers": ["Yes."],
            "ref_bboxes": [[1, 2, 30, 40]],
        },
    }
).encode()
RATES = "\n".join(
    [
        ",".join(["k", *fpco_results.COLUMNS]),
        *(
            ",".join(
                [str(k), *("" if side == "tp" and k < 4 else "0.500" for _, side, _ in fpco_results.COLUMNS.values())]
            )
            for k in range(1, 11)
        ),
    ]
).encode()

PARTS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"NaN",
    b"null",
]
PARTS += [b"true", b"1e400", b"-0.0", b"9223372036854775808", b"1" * 400, b'"\\ud800"', b"\\u0000", b"\xe2\x80\xa8"]
PARTS += [
    b";",
    b"\t",
    b'""',
    b"[]",
    b"{}",
    b"[" * 2000,
    b"../",
    b'"id"',
    b'"bbox"',
    b"}, {",
    b"1e5",
    b"\xc2\xa0",
    b"ImageID",
]
places = st.floats(0, 1)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), places, st.integers(0, 7)),
        st.tuples(st.just("cut"), places, st.integers(1, 40)),
        st.tuples(st.just("end"), places, st.just(0)),
        st.tuples(st.just("insert"), places, st.sampled_from(PARTS) | st.binary(max_size=3)),
        st.tuples(st.just("splice"), places, places),
    ),
    min_size=1,
    max_size=4,
)
Change = tuple[str, float, object]


def damaged(data: bytes, done: Sequence[Change]) -> bytes:
    content = bytearray(data)
    for what, place, how in done:
        at = int(place * len(content))
        if what == "flip" and at < len(content):
            content[at] ^= 1 << how  # type: ignore[operator]
        elif what == "cut":
            del content[at : at + how]  # type: ignore[operator]
        elif what == "end":
            del content[at:]
        elif what == "insert":
            content[at:at] = how  # type: ignore[call-overload]
        elif what == "splice":
            taken = int(how * len(content))  # type: ignore[operator]
            content[at:at] = content[taken : taken + 60]
    return bytes(content)


def check(read: Imported) -> None:
    lost = [verdict.kind for verdict in read.rejected]
    tables = {"image": read.images, "object": read.objects, "dialogue": read.dialogues}
    for kind, count in read.rows_in.items():
        assert count == tables[kind].num_rows + lost.count(kind), kind
    importing.join([read])


def read_openimages(folder: Path, name: str, data: bytes) -> None:
    for other, sound in SOUND.items():
        (folder / other).write_bytes(data if other == name else sound)
    boxes, images, classes, hierarchy = (folder / each for each in OPENIMAGES)
    check(
        openimages.read(
            boxes,
            image_metadata=images,
            class_descriptions=classes,
            hierarchy=hierarchy,
            piece_bytes=1 + len(data) // 3,
        )
    )


def read_invig(path: Path) -> None:
    said = {"split": "test", "source_name": "mine", "initial_candidates": "ref_bboxes", "photograph_licence": None}
    check(invig.read(path, **said))  # type: ignore[arg-type]


def read_published(folder: Path, data: bytes) -> None:
    records = folder / "metadata_and_questions"
    for each in (records, folder / "image"):
        each.mkdir(exist_ok=True)
    (records / "1101.json").write_bytes(data)
    fpco_published.read(folder, source_name="mine", completions=None)


def read_file(read: Callable[[Path], object]) -> Callable[[Path, bytes], None]:
    def written(folder: Path, data: bytes) -> None:
        path = folder / "a-model.csv"
        path.write_bytes(data)
        read(path)

    return written


READERS: dict[str, tuple[bytes, Callable[[Path, bytes], object]]] = {
    "coco": (INSTANCES, read_file(lambda path: check(coco.read(path)))),
    "captions": (CAPTIONS, read_file(coco.read_captions)),
    "invig": (DIALOGUE + b"\n" + DIALOGUE.replace(b'"id": 7', b'"id": 8') + b"\n", read_file(read_invig)),
    "published": (RECORD, read_published),
    "results": (RATES, read_file(fpco_results.read)),
    **{name: (SOUND[name], lambda folder, data, name=name: read_openimages(folder, name, data)) for name in OPENIMAGES},
}


@pytest.mark.parametrize("source", READERS)
def test_the_files_are_sound(source: str, tmp_path: Path) -> None:
    data, read = READERS[source]
    read(tmp_path, data)


@pytest.mark.parametrize("source", READERS)
@given(done=changes, piece=st.sampled_from([16, 80, 1 << 18]))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_bytes(source: str, tmp_path: Path, done: list[Change], piece: int) -> None:
    data, read = READERS[source]
    folder = tmp_path / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(GroundsetError):
        patch.setattr(coco_file, "PIECE_BYTES", piece)
        read(folder, damaged(data, done))
