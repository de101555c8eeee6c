# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Published FPCO-Dialog records: lossless, paired, completed; the bad cases and fuzz."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from groundset import schema
from groundset.errors import DataError
from groundset.sources import fpco_published
from groundset.sources.fpco_published import Published, lacks
from groundset.sources.fpco_record import cell_of, from_published, from_row, published_text, to_published

ROOT = Path(__file__).parents[2]
SET = ROOT / "tests" / "published_set" / "metadata_and_questions"
BAD = ROOT / "tests" / "bad" / "fpco_published"
CASES = sorted(path.name for path in BAD.iterdir())
IDS = sorted(path.stem for path in SET.iterdir())
SIZE_PX = (64, 48)
FIRST = json.loads((SET / "1101.json").read_bytes())

Make = Callable[..., Path]


def draw(path: Path, number: int) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", SIZE_PX, (number * 9 % 256, 80, 20)).save(path)


def made(folder: Path, ids: list[str], records: str = "metadata_and_questions", images: str = "image") -> Path:
    (folder / records).mkdir(parents=True)
    for number, name in enumerate(ids):
        shutil.copy(SET / f"{name}.json", folder / records)
        draw(folder / images / f"{name}.jpg", number)
    return folder


def completion(name: str, **values: Any) -> dict[str, Any]:
    source = json.loads((SET / f"{name}.json").read_bytes())["metadata"]["source"]
    coco = source == "COCO"
    told = {
        "id": name,
        "source": "coco" if coco else "openimages",
        "source_image_id": name if coco else name.zfill(16),
        "landing_url": f"https://photos.invalid/{name}",
        "original_url": f"https://photos.invalid/{name}.jpg",
        "author": None if coco else "A. Nobody",
        "author_url": None,
        "title": None,
        "licence_source": "http://creativecommons.org/licenses/by/2.0/",
        "target_object_id": f"a{name}",
        "target_bbox_xyxy_px": [4, 5, 40, 44.5],
    }
    return told | values


def complete(folder: Path, lines: list[dict[str, Any]]) -> Path:
    path = folder / "completions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def read(folder: Path, completions: Path | None = None, **names: str) -> Published:
    found = fpco_published.read(folder, source_name="published", completions=completions, **names)
    check_account(found)
    return found


def check_account(found: Published) -> None:
    lost = Counter(verdict.kind for verdict in found.rejected)
    tables = {
        "image": ("image", found.images),
        "object": ("object", found.objects),
        "dialogue": ("fpco_source_dialogue", found.dialogues),
    }
    for kind, (name, table) in tables.items():
        assert found.rows_in[kind] == table.num_rows + lost[kind], kind
        schema.require_table(name, table, kind, table.column_names[0])
    assert sorted(row["image_id"] for row in found.dialogues.to_pylist()) == found.images["image_id"].to_pylist()
    assert set(found.objects["image_id"].to_pylist()) <= set(found.images["image_id"].to_pylist())
    rejected = [(verdict.kind, verdict.record_id) for verdict in found.rejected]
    dialogues = [("dialogue", name) for name in found.dialogues["dialogue_id"].to_pylist()]
    assert len({*rejected, *dialogues}) == len(rejected) + len(dialogues)
    assert all(verdict.hard for verdict in found.rejected)
    assert not any(verdict.hard for verdict in found.flagged)


def rules(found: Published, record_id: str) -> list[str]:
    return sorted(row.rule for row in (*found.rejected, *found.flagged) if row.record_id == record_id)


# ---- lossless


def test_every_record_is_given_back_byte_by_byte(tmp_path: Path) -> None:
    found = read(made(tmp_path / "set", IDS))
    assert [record.id for record in found.records] == IDS
    for record in found.records:
        file = (SET / f"{record.name}.json").read_bytes()
        assert to_published(record) == json.loads(file)
        assert published_text(record) == file
    rows = found.dialogues.to_pylist()
    assert [from_row(row) for row in rows] == list(found.records)
    assert not found.rejected


words = st.text(st.characters(codec="utf-8"), max_size=12)
document_strategy = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {
                "id": words,
                "source": words,
                "complexity": st.integers(-(2**63), 2**63 - 1),
                "category": st.integers(-(2**63), 2**63 - 1),
                "target": words,
            }
        ),
        "base": st.fixed_dictionaries(
            {"target_description": words, "modified_target_description": words, "false_class": words}
        ),
        "question": st.lists(
            st.fixed_dictionaries(
                {
                    "id": st.integers(-(2**63), 2**63 - 1),
                    "content": words,
                    "modified": words,
                    "false_premise": st.booleans(),
                }
            ),
            max_size=4,
        ),
    }
)


@given(document=document_strategy)
def test_any_document_of_the_form_is_given_back(document: dict[str, Any]) -> None:
    assert schema.errors("sources/fpco_published", document) == []
    record = from_published("x", document)
    assert to_published(record) == document
    assert json.loads(published_text(record)) == document


def test_ids_are_those_of_the_1080_cells_and_no_others() -> None:
    known = {f"{number:04}": cell_of(f"{number:04}") for number in range(10_000)}
    cells = Counter(cell for cell in known.values() if cell)
    assert len(cells) == 36
    assert set(cells.values()) == {30}
    for name, false_class in (("1101", "identity"), ("1130", "identity"), ("1131", "attribute"), ("1160", "attribute")):
        assert cell_of(name) == (1, 1, false_class)
    assert (cell_of("3461"), cell_of("3490")) == ((3, 4, "location"), (3, 4, "location"))
    for wrong in ("", "1100", "1191", "0101", "4101", "1501", "1001", "11011", "101", "1101\n", "١١٠١", "-101"):
        assert cell_of(wrong) is None


# ---- the folders


def test_order_of_files_and_lines_changes_nothing(tmp_path: Path) -> None:
    lines = [completion(name) for name in IDS]
    first, second = made(tmp_path / "one", IDS), tmp_path / "two"
    shuffled = random.Random(5).sample(IDS, len(IDS))
    made(second, shuffled)
    for name in IDS:
        shutil.copy(first / "image" / f"{name}.jpg", second / "image")
    one, two = read(first, complete(first, lines)), read(second, complete(second, lines[::-1]))
    assert one == two
    assert len(one.files) == 2 * len(IDS)


def test_older_layout_is_read_by_its_names(tmp_path: Path) -> None:
    folder = made(tmp_path / "set", IDS, records="image_metadata")
    assert read(folder, records="image_metadata").rows_in["dialogue"] == len(IDS)
    with pytest.raises(DataError, match="set has image_metadata and image: name those") as caught:
        read(folder)
    assert len(caught.value.problems) == 1
    with pytest.raises(DataError, match="it should hold the photographs") as caught:
        read(folder, records="nowhere", images="no\0where")
    assert len(caught.value.problems) == 2


def test_records_and_photographs_may_lie_in_one_folder(tmp_path: Path) -> None:
    found = read(made(tmp_path / "set", IDS, "all", "all"), records="all", images="all")
    assert found.dialogues.num_rows == len(IDS)
    assert {verdict.kind for verdict in found.flagged} == {"dialogue"}


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata_and_questions").mkdir()
    (tmp_path / "image").mkdir()
    with pytest.raises(DataError, match=r"no <id>\.json in it"):
        read(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match="is no folder"):
        read(tmp_path, records="file")


def test_a_photograph_that_is_no_file_of_the_folder_is_not_read(tmp_path: Path) -> None:
    folder = made(tmp_path / "set", IDS[:3])
    outside = tmp_path / "secret.jpg"
    (folder / "image" / f"{IDS[0]}.jpg").rename(outside)
    (folder / "image" / f"{IDS[0]}.jpg").symlink_to(outside)
    (folder / "image" / f"{IDS[1]}.jpg").unlink()
    (folder / "image" / f"{IDS[1]}.jpg").symlink_to(f"{IDS[1]}.jpg")
    (folder / "image" / f"{IDS[2]}.jpg").unlink()
    os.mkfifo(folder / "image" / f"{IDS[2]}.jpg")
    found = read(folder)
    assert found.lacking["size"] == 3
    assert [found.files[f"image/{name}.jpg"] for name in IDS[:3]] == [None] * 3


def test_odd_file_names_are_told(tmp_path: Path) -> None:
    folder = made(tmp_path / "set", IDS[:1])
    odd = os.fsdecode(b"\xff\xfe")
    for name in (odd, "a\nb", "x" * 200):
        shutil.copy(SET / "1101.json", folder / "metadata_and_questions" / f"{name}.json")
    (folder / "image" / f"{odd}.jpg").write_bytes(b"x")
    (folder / "image" / odd).mkdir()
    found = read(folder)
    rejected = [verdict.rule for verdict in found.rejected if verdict.kind == "dialogue"]
    assert rejected == ["id_not_file_name"] * 3
    json.dumps([asdict(verdict) for verdict in (*found.rejected, *found.flagged)], ensure_ascii=False).encode()


# ---- what is lacking, and completions


def test_what_is_lacking_is_told_record_by_record(tmp_path: Path) -> None:
    found = read(made(tmp_path / "set", IDS))
    expected = [key for key in fpco_published.LACKABLE if key != "size"]
    for name in IDS:
        assert rules(found, f"fpco-{name}") == sorted(f"lacks_{key}" for key in expected)
    assert found.lacking == dict.fromkeys([*expected, "split", "writer_version", "reviewer"], len(IDS))
    assert found.images["image_id"].to_pylist() == [f"published-{name}" for name in IDS]
    assert found.images["source"].to_pylist().count("openimages") == 3
    assert found.objects.num_rows == 0


def test_a_completion_fills_what_it_tells(tmp_path: Path) -> None:
    folder = made(tmp_path / "set", ["1101", "1131", "2201"])
    flickr = "http://farm3.staticflickr.com/2145/1861401504_e46f53623a_z.jpg"
    lines = [
        completion("1101", landing_url=None, original_url=flickr, target_object_id=None, title="A title"),
        completion("1131", author=None, author_url="https://photos.invalid/who", licence_source="CC-BY-SA-2.0"),
    ]
    found = read(folder, complete(folder, lines))
    coco, photo, bare = found.images.to_pylist()
    assert (coco["image_id"], coco["source_image_id"], coco["licence"]) == ("coco-1101", "1101", "CC-BY-2.0")
    assert (coco["landing_url"], coco["flickr_id"]) == ("https://www.flickr.com/photo.gne?id=1861401504", "1861401504")
    assert (coco["frame_width"], coco["frame_height"], coco["file_name"]) == (64.0, 48.0, "1101.jpg")
    assert (photo["image_id"], photo["licence"]) == ("openimages-0000000000001131", "CC-BY-SA-2.0")
    assert (bare["image_id"], bare["source"], bare["licence"]) == ("published-2201", "openimages", None)
    assert [row["object_id"] for row in found.objects.to_pylist()] == ["target", "a1131"]
    box = found.objects.to_pylist()[0]
    assert (box["label"], box["category"], box["bbox_xyxy"]) == ("woman", "person", [4.0, 5.0, 40.0, 44.5])
    assert rules(found, "fpco-1101") == ["lacks_author", "lacks_author_url", "lacks_target_object_id"]
    assert rules(found, "fpco-1131") == ["lacks_author", "lacks_title"]
    assert lacks(bare, None) == tuple(key for key in fpco_published.LACKABLE if key != "size")


@pytest.mark.parametrize("case", CASES)
def test_bad_case(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / "set", ["1101", "1131"])
    shutil.copytree(BAD / case, folder, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    completions = Path("set/completions.jsonl")
    wrong = BAD / case / "message.txt"
    if wrong.exists():
        with pytest.raises(DataError) as caught:
            read(Path("set"), completions if completions.exists() else None)
        assert str(caught.value) == wrong.read_text(encoding="utf-8").rstrip("\n")
    else:
        found = read(Path("set"), completions if completions.exists() else None)
        said = [asdict(verdict) for verdict in (*found.rejected, *found.flagged) if verdict.rule[:6] != "lacks_"]
        assert said == json.loads((BAD / case / "verdicts.json").read_text(encoding="utf-8"))


# ---- fuzz


def attempt(folder: Path, completions: Path | None = None) -> None:
    with contextlib.suppress(DataError):
        read(folder, completions)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("fuzz") / "set", ["1101", "1131"])


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("identity"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def mutated(data: st.DataObject, document: Any) -> Any:
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        node: Any = document
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and data.draw(st.integers(0, 5)):
                node = node[key]
                continue
            if data.draw(st.integers(0, 3)):
                node[key] = data.draw(anything)
            else:
                del node[key]
            break
    return document


@given(content=st.binary(max_size=60), lines=st.binary(max_size=60))
@settings(max_examples=50)
def test_random_bytes(small: Path, content: bytes, lines: bytes) -> None:
    (small / "metadata_and_questions" / "1131.json").write_bytes(content)
    (small / "image" / "1131.jpg").write_bytes(b"\xff\xd8\xff" + content)
    (small / "lines").write_bytes(lines)
    attempt(small)
    attempt(small, small / "lines")
    (small / "metadata_and_questions" / "1131.json").write_text(json.dumps(FIRST))
    attempt(small, small / "lines")


@given(data=st.data())
@settings(max_examples=50)
def test_mutated_records_and_completions(small: Path, data: st.DataObject) -> None:
    (small / "metadata_and_questions" / "1131.json").write_text(json.dumps(mutated(data, FIRST)))
    attempt(small)
    (small / "metadata_and_questions" / "1131.json").write_bytes((SET / "1131.json").read_bytes())
    lines = mutated(data, [completion("1101"), completion("1131")])
    text = "".join(json.dumps(line) + "\n" for line in lines) if isinstance(lines, list) else json.dumps(lines)
    (small / "lines").write_text(text)
    attempt(small, small / "lines")
