# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Each tamper names the fault that verify has to find; the checksums are made anew, so that they do not tell."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from groundset.release.checksums import CHECKSUMS, checksums, listed_files
from groundset.release.croissant import CROISSANT
from groundset.release.facts import Withdrawn
from groundset.release.parquet import rows_per_group, shard_writer
from groundset.release.verify import verify
from groundset.schema_types import arrow_schema

Change = Callable[[Path], object]


def shard(folder: Path, config: str) -> Path:
    return next((folder / "data" / config).glob("*.parquet"))


def write_shard(path: Path, table: pa.Table) -> None:
    """Writes a shard as a release has it."""
    size = rows_per_group(table.schema)
    with shard_writer(path, table.schema) as writer:
        for start in range(0, max(1, table.num_rows), size):
            writer.write_table(table.slice(start, size))


def rewrite(config: str, change: Callable[[list[dict[str, Any]]], object]) -> Change:
    """Changes the rows of a config in place, in the columns they have."""

    def apply(folder: Path) -> None:
        table = pq.read_table(shard(folder, config))
        rows = table.to_pylist()
        change(rows)
        write_shard(shard(folder, config), pa.Table.from_pylist(rows, schema=table.schema))

    return apply


def put(config: str, value: Any, *path: str | int, row: int = 0) -> Change:
    """Puts a value at a path of one row."""

    def change(rows: list[dict[str, Any]]) -> None:
        node: Any = rows[row]
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value

    return rewrite(config, change)


def text(name: str, old: str, new: str) -> Change:
    def apply(folder: Path) -> None:
        page = (folder / name).read_text(encoding="utf-8")
        assert old in page
        (folder / name).write_text(page.replace(old, new, 1), encoding="utf-8")

    return apply


def remove(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(content)


def record(**changes: Any) -> Change:
    def apply(folder: Path) -> None:
        path = folder / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")

    return apply


def stated(**changes: Any) -> Change:
    """Changes what manifest.json states as a fact."""

    def apply(folder: Path) -> None:
        facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["facts"]
        record(facts={**facts, **changes})(folder)

    return apply


def retype(config: str, column: str, kind: pa.DataType) -> Change:
    def apply(folder: Path) -> None:
        table = pq.read_table(shard(folder, config))
        place = table.schema.get_field_index(column)
        pq.write_table(table.set_column(place, column, table[column].cast(kind)), shard(folder, config))

    return apply


def drop(config: str, column: str) -> Change:
    return lambda folder: pq.write_table(pq.read_table(shard(folder, config)).drop([column]), shard(folder, config))


def picture(size: tuple[int, int]) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size).save(stream, "PNG")
    return stream.getvalue()


def replace_photograph(content: bytes, everywhere: bool) -> Change:
    """Puts other bytes in the row of coco-104; everywhere: and their length and hash in the config images."""

    def in_dialogues(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["image_id"] == "coco-104")["image"]["bytes"] = content

    def in_images(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows if row["image_id"] == "coco-104")
        row.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())

    def apply(folder: Path) -> None:
        rewrite("dialogues", in_dialogues)(folder)
        if everywhere:
            rewrite("images", in_images)(folder)

    return apply


def with_metadata(folder: Path) -> None:
    table = pq.read_table(shard(folder, "turns"))
    pq.write_table(table.replace_schema_metadata({"huggingface": "{}"}), shard(folder, "turns"))


def invalid_utf8(folder: Path) -> None:
    table = pq.read_table(shard(folder, "turns"))
    broken = pa.array([b"\xff"] * table.num_rows, pa.binary()).view(pa.string())
    pq.write_table(
        table.set_column(table.schema.get_field_index("question"), "question", broken), shard(folder, "turns")
    )


def second_shard_renamed(folder: Path) -> None:
    path = shard(folder, "turns")
    path.rename(path.with_name("test-00000-of-00002.parquet"))


FPCO: list[tuple[str, Change, str]] = [
    ("code", put("dialogues", 2, "complexity_code"), "complexity_code: 2 should be 1"),
    ("category code", put("dialogues", 4, "category_code"), "category_code: 4 should be 3"),
    ("stratum", put("dialogues", "single-food-identity", "stratum"), "stratum: 'single-food-identity' should be"),
    ("dialogue id", put("dialogues", "coco-101-x", "dialogue_id"), "dialogue_id: 'coco-101-x' should be"),
    ("unknown class", put("dialogues", "size", "false_class"), "false_class:"),
    ("nine questions", rewrite("dialogues", lambda r: r[0]["questions"].pop()), "$.questions: "),
    ("id twice", put("dialogues", 4, "questions", 4, "id"), "the questions are not numbered 1 to 10"),
    ("true premise", put("dialogues", False, "questions", 3, "false_premise"), "it has to be true at turn 4"),
    ("early premise", put("dialogues", True, "questions", 2, "false_premise"), "it has to be false at turn 3"),
    ("early edit", put("dialogues", "The brown dog!", "questions", 0, "modified"), "so it has to equal content"),
    ("no description", put("dialogues", "What?", "questions", 5, "content"), "it lacks the target description"),
    ("no false one", put("dialogues", "What?", "questions", 5, "modified"), "it lacks the modified target description"),
    ("more than the edit", put("dialogues", "So, question 6: what about the black dog?", "questions", 5, "modified"),
     "dialogues coco-101-animal-identity $.questions: sentence_changed: "),
    ("box outside", put("dialogues", [1.0, 1.0, 66.0, 9.0], "target_bbox_xyxy_px"), "leaves the photograph of 64 x 48"),
    ("box turned", put("dialogues", [9.0, 1.0, 5.0, 9.0], "target_bbox_xyxy_px"), "has no area"),
    ("box NaN", put("dialogues", float("nan"), "target_bbox_xyxy_px", 0), "not a finite number"),
    ("box of three", put("dialogues", [1.0, 2.0, 3.0], "target_bbox_xyxy_px"), "$.target_bbox_xyxy_px: "),
    ("null text", put("dialogues", None, "target_description"), "$.target_description: "),
    ("licence of the row", put("dialogues", "CC-BY-2.0", "licence"), "licence: 'CC-BY-2.0' is not what the config"),
    ("credit of the row", put("dialogues", "by me", "credit"), "credit: 'by me' is not what the config images says"),
    ("photograph unknown", put("dialogues", "coco-9", "image_id"), "the config images has no photograph coco-9"),
    ("row twice", rewrite("dialogues", lambda r: r.append(r[-1])), "2 rows have the key coco-108-animal-attribute"),
    ("row lost", rewrite("dialogues", lambda r: r.pop()), "the card says 8 rows, the files hold 7"),
    ("row lost, its turns", rewrite("dialogues", lambda r: r.pop()), "the config dialogues has no dialogue coco-108"),
    ("spare photograph", rewrite("images", lambda r: r.append({**r[-1], "image_id": "coco-109"})), "no row uses this"),
    ("no dialogue", rewrite("dialogues", lambda r: r.clear()), "dialogues: it has no rows"),
    ("no photograph", rewrite("images", lambda r: r.clear()), "images: it has no rows"),
    ("unsorted", rewrite("dialogues", lambda r: r.reverse()), "the rows are not sorted by dialogue_id"),
    ("two cells", put("dialogues", "coco-102", "image_id"), "one photograph serves 2 cells"),
    ("turn lost", rewrite("turns", lambda r: r.pop(3)), "no row has turn 4"),
    ("turn twice", put("turns", 1, "turn", row=1), "2 rows have the key coco-101-animal-identity, 1"),
    ("turn text", put("turns", "Else?", "question", row=4), "it is not the dialogue's modified at turn 5"),
    ("turn truth", put("turns", "Else?", "true_question", row=4), "it is not the dialogue's content at turn 5"),
    ("turn premise", put("turns", False, "false_premise", row=4), "it is not the dialogue's false_premise at turn 5"),
    ("turn class", put("turns", "location", "false_class"), "'location' is not the dialogue's 'identity'"),
    ("turn of nobody", put("turns", "coco-1-a", "dialogue_id"), "the config dialogues has no dialogue coco-1-a"),
    ("variant id", put("variants", "coco-101-animal-identity-0", "variant_id"), "it is not the dialogue_id and the"),
    ("variant of nobody", put("variants", "coco-1-a", "dialogue_id"), "the config dialogues has no dialogue coco-1-a"),
    ("variant twice", rewrite("variants", lambda r: r.append(r[-1])), "2 rows have the key coco-103-animal-location-B"),
    ("variant's photograph", put("variants", "coco-102", "image_id"), "'coco-102' is not the dialogue's 'coco-101'"),
    ("variant's target", put("variants", "a8", "target_object_id"), "'a8' is not the dialogue's 'a7'"),
    ("variant's truth", put("variants", "the dog", "target_description"), "'the dog' is not the dialogue's 'the brown"),
    ("variant's content", put("variants", "Is the brown dog?", "questions", 4, "content"), "content at turn 5"),
    ("variant's early edit", put("variants", "Is it?", "questions", 1, "modified"), "so it has to equal content"),
    ("variant's false one", put("variants", "Is it?", "questions", 5, "modified"), "it lacks the modified target desc"),
    ("variant alike", put("variants", "The black dog", "modified_target_description"), "description of the dialogue"),
    ("variants alike", put("variants", "the white dog", "modified_target_description", row=1), "of set A already"),
    ("variants not told", stated(further_configs=[]), "data/variants: no config has this name"),
    ("config unknown", stated(further_configs=["more"]), "'more' is no optional config of fpco-dialog"),
    ("other bytes", replace_photograph(picture((64, 48)), False), "bytes are not those that the config images names"),
    ("other size", replace_photograph(picture((10, 10)), True), "it has 10 x 10 pixels, not 64 x 48"),
    ("broken picture", replace_photograph(picture((64, 48))[:60], True), "it cannot be decoded"),
    ("no picture at all", replace_photograph(b"hello", True), "it cannot be decoded"),
    ("other digest", replace_photograph(picture((64, 48)), True), "the digests of photographs are not those"),
    ("photograph lost", put("dialogues", None, "image", row=3), "the photograph is missing, and the config images"),
    ("bytes lost", put("dialogues", None, "image", "bytes", row=3), "the photograph is missing, and the config images"),
    ("smuggled", put("dialogues", {"bytes": b"x", "path": "x.jpg"}, "image"), "is only referenced"),
    ("local path", put("dialogues", "/home/me/x.jpg", "image", "path", row=3), "is not the image_id with a suffix"),
    ("other path", put("dialogues", "x.jpg", "image", "path", row=3), "'x.jpg' is not the image_id with a suffix"),
    ("path alone", put("dialogues", {"bytes": None, "path": "x.jpg"}, "image"), "is only referenced"),
    ("embedded NC", put("images", True, "embedded"), "under CC-BY-NC-SA-2.0 may not be embedded"),
    ("referenced BY", put("images", False, "embedded", row=3), "under CC-BY-2.0 has to be embedded"),
    ("title on the card", text("README.md", "# FPCO-Dialog, small", "# FPCO-Dialog, big"), "big', the rows"),
    ("funnel on the card", text("README.md", "| 12 | 9 |", "| 12 | 10 |"), "README.md line "),
    ("title in manifest", stated(title="Other"), "README.md line "),
    ("summary in manifest", stated(summary="Other"), "croissant.json line "),
    ("words on rights", text("LICENSE.md", "adds none", "adds some"), "LICENSE.md line "),
    ("no croissant", remove("croissant.json"), "croissant.json: it cannot be read"),
    ("croissant is none", write("croissant.json", b"[]"), "croissant.json: it is not what groundset writes"),
    ("croissant not UTF-8", write("croissant.json", b"\xff"), "croissant.json: it is not UTF-8"),
    ("croissant's count", text("croissant.json", '/embedded": 1', '/embedded": 2'), "croissant.json CC-BY"),
    ("croissant's words", text("croissant.json", "English only.", "Any language."), "croissant.json line "),
    ("croissant's hash", text("croissant.json", '"sha256": "', '"sha256": "0'), "it gives the sha256 0"),
    ("other policy", stated(image_policy="non-commercial"), "under CC-BY-NC-2.0 has to be embedded"),
    ("no policy", stated(image_policy="all"), "'all' is no image policy"),
    ("title of a photograph", put("images", "Other", "title"), """columns make it '"Other", photographer per"""),
    ("page of a photograph", put("images", "https://example.org/x", "landing_url"), "make it 'photographer per Flickr"),
    ("page lost", put("images", None, "landing_url"), "images coco-101 $.landing_url: it is missing, and without it"),
    ("cropped", put("images", "cropped", "changes"), "$.changes: 'cropped', but a release changes no photograph"),
    ("other number", put("images", "9", "source_image_id"), "$.source_image_id: '9' is not the one in the image_id"),
    ("other source", put("images", "openimages", "source"), "'openimages', but coco-test is of the kind coco"),
    ("unknown licence", put("images", "CC-BY-9.9", "licence"), "unknown licence of a photograph: 'CC-BY-9.9'"),
    ("licence changed", put("images", "CC-BY-2.0", "licence"), "README.md CC-BY-2.0: the licence table says"),
    ("licence address", put("images", "http://x", "licence_url"), "is not the address of CC-BY-NC-SA-2.0"),
    ("no credit", put("images", " ", "credit"), "images coco-101 $.credit: the credit is missing"),
    ("photograph row lost", rewrite("images", lambda r: r.pop()), "the config images has no photograph coco-108"),
    ("negative width", put("images", -1, "width"), "$.width: "),
    ("count on the card", text("README.md", "Generic | 1 | 1 | 0 |", "Generic | 2 | 2 | 0 |"), "README.md CC-BY"),
    ("figure changed", text("figures/cells.svg", ">3 of 3<", ">2 of 3<"), "figures/cells.svg line "),
    ("figure's colour", text("figures/cells.svg", 'fill="#', 'fill="red" x="#'), "figures/cells.svg line "),
    ("figure lost", remove("figures/funnel.svg"), "figures/funnel.svg: it cannot be read"),
    ("spare figure", write("figures/x.svg", b"<svg/>"), "figures/x.svg: the release has no such figure"),
    ("stratum in manifest", stated(strata=[]), "figures/cells.svg: the release has no such figure"),
    ("count on the page", text("LICENSE.md", "Generic | 1 | 1 | 0 |", "Generic | 1 | 0 | 1 |"), "LICENSE.md CC-BY"),
    ("row off the page", text("LICENSE.md", "| [CC-BY-ND-2.0]", "| CC-BY-ND-2.0"), "LICENSE.md CC-BY-ND-2.0: the"),
    ("no page", remove("LICENSE.md"), "LICENSE.md: it cannot be read"),
    ("page not UTF-8", write("LICENSE.md", b"\xff"), "LICENSE.md: it is not UTF-8"),
    ("text lost", remove("LICENSES/CC-BY-NC-2.0.txt"), "LICENSES/CC-BY-NC-2.0.txt: the text of a licence that is used"),
    ("text changed", write("LICENSES/CC-BY-2.0.txt", b"do as you like"), "it is not the text of CC-BY-2.0"),
    ("spare text", write("LICENSES/MIT.txt", b"MIT"), "LICENSES/MIT.txt: nothing in the release is under this licence"),
    ("credit in the list", text("ATTRIBUTION.csv", "photographer per", "photo by"), "csv coco-101 $.credit"),
    ("photograph off the list", text("ATTRIBUTION.csv", "coco-104,", "coco-904,"), "coco-104: the photograph is"),
    ("column off the list", text("ATTRIBUTION.csv", "image_id,title", "image_id,name"), "its columns are not"),
    ("list is no CSV", write("ATTRIBUTION.csv", b'image_id\n"a'), "ATTRIBUTION.csv: it"),
    ("short line", text("ATTRIBUTION.csv", ",coco,coco-test,101,", ","), "ATTRIBUTION.csv coco-101"),
    ("examples", text("README.md", "num_examples: 80", "num_examples: 79"), "the card says 79 rows, the files hold 80"),
    ("default", text("README.md", "  default: true\n", ""), "the first of them the default"),
    ("pattern", text("README.md", "data/turns/test-*", "data/turns/*"), "README.md turns $.configs: its data_files"),
    ("no front matter", text("README.md", "---\n", ""), "the card has no front matter"),
    ("front matter a list", write("README.md", b"---\n- 1\n---\n"), "the front matter lacks configs"),
    ("front matter odd", write("README.md", b"---\nconfigs: [{config_name: [1]}]\n---\n"), "the front matter lacks"),
    ("no card", remove("README.md"), "README.md: it cannot be read"),
    ("rows in manifest", record(tables={"turns": {"schema": "fpco_turn", "rows": 3}}), "it says 3 rows, the files"),
    ("tables in manifest", record(tables={}), "the tables are {}, not"),
    ("no manifest", remove("manifest.json"), "manifest.json: it cannot be read"),
    ("manifest is no JSON", write("manifest.json", b"{"), "it is not what a release's manifest.json is"),
    ("manifest lacks keys", write("manifest.json", b"{}"), "it is not what a release's manifest.json is"),
    ("manifest's types", record(rights=3), "it is not what a release's manifest.json is"),
    ("other benchmark", stated(benchmark="x"), "'x' is no benchmark"),
    ("wrong benchmark", stated(benchmark="candvg"), "the tables are"),
    ("later form", record(format=2), "form 2 is not known"),
    ("texts", record(rights={"texts": "CC0-1.0", "sources": {}, "code": "CC0-1.0"}), "CC0-1.0.txt: the text of"),
    ("unknown rights", record(rights={"texts": "mine", "sources": {}, "code": "x/y"}), "an unknown licence 'mine'"),
    ("schema changed", write("schemas/fpco_turn.schema.json", b"{}"), "it differs from the schema that the rows"),
    ("schema lost", remove("schemas/fpco_turn.schema.json"), "schemas/fpco_turn.schema.json: it cannot be read"),
    ("spare schema", write("schemas/x.schema.json", b"{}"), "schemas/x.schema.json: no table has this schema"),
    ("column type", retype("turns", "turn", pa.int32()), "the column is int32, not int64"),
    ("column lost", drop("turns", "turn"), "$.turn: the column is missing"),
    ("image lost", drop("dialogues", "image"), "$.image: the column is missing"),
    ("metadata", with_metadata, "it carries huggingface metadata"),
    ("not UTF-8", invalid_utf8, "it cannot be read as Parquet"),
    ("truncated", lambda f: write(f"data/turns/{shard(f, 'turns').name}", shard(f, "turns").read_bytes()[:900])(f),
     "test-00000-of-00001.parquet: it cannot be read as Parquet"),
    ("shard lost", second_shard_renamed, "test-00001-of-00002.parquet: the shard is missing"),
    ("strange shard", write("data/turns/train.parquet", b"x"), "train.parquet: no shard has this name"),
    ("strange file", write("notes.txt", b"mine"), "notes.txt: a release has nothing of this name"),
    ("strange script", write("fpco.py", b""), "fpco.py: a release has nothing of this name"),
    ("strange folder", lambda f: (f / "more").mkdir(), "more: a release has nothing of this name"),
    ("list in another form", text("ATTRIBUTION.csv", "coco-101", '"coco-101"'), "ATTRIBUTION.csv line 2: it says"),
    ("list of other line ends", lambda f: write("ATTRIBUTION.csv", (f / "ATTRIBUTION.csv").read_bytes()
     .replace(b"\n", b"\r\n"))(f), "ATTRIBUTION.csv: its line ends are not those of the release"),
    ("unknown key", record(mood="fine"), "manifest.json $.mood: a release has None there, not 'fine'"),
    ("strange config", lambda f: (f / "data" / "more").mkdir(), "data/more: no config has this name"),
    ("no data", lambda f: shutil.rmtree(f / "data"), "data/turns/test-00000-of-00001.parquet: the shard is missing"),
]  # fmt: skip

CANDVG: list[tuple[str, Change, str]] = [
    ("author", put("images", "Me", "author"), """the other columns make it '"Three | boys, "on" a hill" by Me"""),
    ("no author", put("images", None, "author"), "images invig-1a $.author: it is missing, and without it the credit"),
    ("sample type", put("samples", "CVG", "sample_type"), "2 candidates make it CSVG, not CVG"),
    ("candidate added", rewrite("samples", lambda r: r[2]["candidates"].append(r[1]["candidates"][0])), "make it CSVG"),
    ("candidate swapped", put("samples", "b2", "candidates", 0, "object_id"), "b1, b2: not the dialogue's candidates"),
    ("candidate's box", put("samples", [0.0, 0.0, 9.0, 9.0], "candidates", 0, "bbox_xyxy_px"), "it is not the box"),
    ("context short", rewrite("samples", lambda r: r[1]["context"].pop()), "it has 1 turns, and the sample"),
    ("context changed", put("samples", "No.", "context", 0, "response", row=1), "it is not the beginning"),
    ("sample id", put("samples", "invig-test-1a-t9", "sample_id"), "it is not the dialogue_id and the turn"),
    ("sample stratum", put("samples", "3", "stratum"), "'3' is not the dialogue's '2'"),
    ("sample split", put("samples", "validation", "split"), "'validation' is not the dialogue's 'test'"),
    ("sample lost", rewrite("samples", lambda r: r.pop(1)), "samples invig-test-1a $.turn: no row has turn 2"),
    ("sample too many", rewrite("samples", lambda r: r.append({**r[-1], "turn": 3})), "the dialogue has no turn 3"),
    ("sample of nobody", put("samples", "x", "dialogue_id", row=4), "the config dialogues has no dialogue x"),
    ("empty set", put("samples", [], "candidates"), "$.candidates: "),
    ("strange candidate", put("dialogues", ["b0", "b9"], "candidate_ids", 1), "b9: not among the dialogue's objects"),
    ("candidate twice", put("dialogues", ["b0", "b0"], "candidate_ids", 0), "a candidate is listed twice"),
    ("unambiguous", put("dialogues", ["b0"], "candidate_ids", 0), "one object at the first turn"),
    ("set missing", rewrite("dialogues", lambda r: r[0]["candidate_ids"].pop()), "2 candidate sets for 3 turns"),
    ("bin", put("dialogues", "7+", "stratum"), "is not the dialogue's '7+'"),
    ("other bin", put("dialogues", "7+", "stratum"), "2 unique initial candidates belong in bin 2, not 7+"),
    ("counts", put("dialogues", 1, "initial_candidates_raw"), "there are 1 as listed, 2 unique, 2 objects"),
    ("object twice", put("dialogues", "b0", "objects", 1, "object_id"), "an object is listed twice"),
    ("object outside", put("dialogues", [1.0, 1.0, 9.0, 99.0], "objects", 0, "bbox_xyxy_px"), "leaves the photograph"),
    ("turn numbers", put("dialogues", 5, "turns", 1, "turn"), "the turns are not numbered from 1"),
    ("first question", put("dialogues", "Which?", "turns", 0, "question"), "only the first turn has no question"),
    ("no question", put("dialogues", None, "turns", 1, "question"), "only the first turn has no question"),
    ("dialogue lost", rewrite("dialogues", lambda r: r.pop()), "the config dialogues has no dialogue invig-test-2b"),
    ("point elsewhere", put("points", "b2", "object_id"), "b2 is no candidate at turn 1"),
    ("point outside", put("points", 63.0, "x_px"), "lies outside the box of its object b0"),
    ("point lost", rewrite("points", lambda r: r.pop(0)), "the points of turn 1 mean b1, the candidates are b0, b1"),
    ("point twice", put("points", 0, "point", row=1), "2 rows have the key invig-test-1a, 1, 0"),
    ("point's photograph", put("points", "invig-2b", "image_id"), "'invig-2b' is not the dialogue's 'invig-1a'"),
    ("points drawn", text("figures/points.svg", "turn 1, 4", "turn 1, 5"), "figures/points.svg line "),
    ("point NaN", put("points", float("nan"), "x_px"), "not a finite number"),
]  # fmt: skip


def tampered(source: Path, target: Path, change: Change) -> Path:
    shutil.copytree(source, target)
    change(target)
    (target / CHECKSUMS).write_text(checksums(target))
    return target


@pytest.mark.parametrize("benchmark", ["fpco-dialog", "candvg"])
def test_whole_release_has_no_problem(benchmark: str, releases) -> None:
    assert verify(releases[benchmark], load=False) == []


@pytest.mark.parametrize(("change", "message"), [case[1:] for case in FPCO], ids=[case[0] for case in FPCO])
def test_tampered_fpco_release_is_told(change: Change, message: str, releases, tmp_path: Path) -> None:
    found = verify(tampered(releases["fpco-dialog"], tmp_path / "r", change), load=False)
    assert any(message in str(problem) for problem in found), [str(problem) for problem in found]
    assert found == sorted(set(found))


@pytest.mark.parametrize(("change", "message"), [case[1:] for case in CANDVG], ids=[case[0] for case in CANDVG])
def test_tampered_candvg_release_is_told(change: Change, message: str, releases, tmp_path: Path) -> None:
    found = verify(tampered(releases["candvg"], tmp_path / "r", change), load=False)
    assert any(message in str(problem) for problem in found), [str(problem) for problem in found]


def test_a_withdrawn_photograph_may_not_be_in_the_release(make, tmp_path: Path) -> None:
    gone = (Withdrawn("invig-0z", "fault"), Withdrawn("invig-1a", "owner"))
    release = make["candvg"](tmp_path / "photographs", withdrawn=gone).write(tmp_path / "release")
    (problem,) = verify(release, load=False)
    assert (problem.record, problem.path) == ("invig-1a", "$.facts.withdrawn[1]")
    assert "the photograph is withdrawn, and still in the release" in problem.message


def test_several_faults_are_all_told(releases, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        put("dialogues", 2, "complexity_code")(folder)
        put("turns", "Else?", "question", row=12)(folder)
        remove("LICENSES/CC-BY-2.0.txt")(folder)

    found = verify(tampered(releases["fpco-dialog"], tmp_path / "r", change), load=False)
    # the hashes in croissant.json and the sizes on the card differ as well, as the shards do
    assert {problem.file for problem in found} > {CROISSANT, "README.md"}
    assert [(problem.file, problem.path) for problem in found if problem.file not in (CROISSANT, "README.md")] == [
        ("LICENSES/CC-BY-2.0.txt", ""),
        ("dialogues", "$.complexity_code"),
        ("turns", "$.question"),
    ]


def test_every_damaged_file_is_told_and_none_ends_in_a_traceback(releases, tmp_path: Path) -> None:
    source = releases["candvg"]
    folder = tmp_path / "r"
    shutil.copytree(source, folder)
    for name in listed_files(source):
        content = (source / name).read_bytes()
        middle = len(content) // 2
        for damage in (content[:middle], content[: middle - 20] + b"\xff" * 40 + content[middle + 20 :]):
            (folder / name).write_bytes(damage)
            assert any(problem.file == name for problem in verify(folder, load=False)), name
        (folder / name).write_bytes(content)
    assert verify(folder, load=False) == []


@pytest.mark.parametrize("name", ["missing", "file"])
def test_no_folder_is_a_problem(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert verify(tmp_path / name)[0].message == "there is no such folder"


def test_empty_folder_is_told(tmp_path: Path) -> None:
    assert [problem.file for problem in verify(tmp_path, load=False)] == ["SHA256SUMS", "manifest.json"]


def test_box_may_lie_a_rounding_outside(releases, tmp_path: Path) -> None:
    change = put("dialogues", [-0.4, 0.0, 64.4, 48.0], "target_bbox_xyxy_px", row=7)
    found = verify(tampered(releases["fpco-dialog"], tmp_path / "r", change), load=False)
    assert {problem.file for problem in found} == {CROISSANT, "README.md"}
    assert arrow_schema("fpco_dialogue").field("target_bbox_xyxy_px").type == pa.list_(pa.float64())
