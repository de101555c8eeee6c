# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Published FPCO-Dialog result files: read without loss, every fault by line and column, fuzz."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset import schema
from groundset.errors import DataError
from groundset.sources.fpco_results import COLUMNS, FALSE_CLASSES, JUDGES, SIDES, Results, read, to_csv

HEADER = ["k", *COLUMNS]
Cells = list[list[str]]


def rate(turn: int, column: str) -> str:
    """Rates that agree with each other: one for each turn and side, and half a thousandth between the judges."""
    side = COLUMNS[column][1]
    if side == "tp" and turn < 4:
        return ""
    return f"{turn * (37 if side == 'tp' else 5) / 1000:.3f}"


def table(header: list[str] = HEADER) -> Cells:
    rows = [[str(turn) if name == "k" else rate(turn, name) for name in header] for turn in range(1, 11)]
    return [list(header), *rows]


def text(cells: Cells, line_end: str = "\n") -> str:
    return "".join(",".join(row) + line_end for row in cells)


def written(folder: Path, content: str | bytes, name: str = "a-model.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check(results: Results) -> None:
    schema.require_table("fpco_label", results.labels, "labels", "model")
    assert results.labels.num_rows == len(results.columns) * 10 * len(COLUMNS)
    assert not any(verdict.hard for verdict in results.flagged)


def test_rows_of_a_file(tmp_path: Path) -> None:
    results = read(written(tmp_path, text(table())))
    check(results)
    assert len(COLUMNS) == len(FALSE_CLASSES) * len(SIDES) * len(JUDGES) == 24
    assert "location_correctionfpatk_gemini31pro" in COLUMNS
    rows = {(row["k"], row["false_class"], row["side"], row["judge"]): row for row in results.labels.to_pylist()}
    assert rows[7, "identity", "tp", "gpt54"]["value"] == 0.259
    assert rows[3, "overall", "tp", "average"]["value"] is None
    assert rows[3, "overall", "fp", "average"]["value"] == 0.015
    assert {row["model"] for row in rows.values()} == {"a-model"}
    assert results.flagged == ()


@st.composite
def result_files(draw: st.DrawFn) -> Cells:
    header = draw(st.permutations(HEADER))
    thousandths = st.integers(0, 1000)
    rows = []
    for turn in range(1, 11):
        cells = []
        for name in header:
            empty = name != "k" and COLUMNS[name][1] == "tp" and turn < 4
            value = "" if empty else f"{draw(thousandths) / 1000:.3f}"
            cells.append(str(turn) if name == "k" else value)
        rows.append(cells)
    return [list(header), *rows]


@given(cells=result_files())
@settings(max_examples=25)
def test_a_file_is_given_back_byte_by_byte(tmp_path_factory: pytest.TempPathFactory, cells: Cells) -> None:
    path = written(tmp_path_factory.mktemp("results"), text(cells))
    results = read(path)
    check(results)
    assert to_csv(results, "a-model").encode() == path.read_bytes()
    assert {verdict.rule for verdict in results.flagged} <= {"average_differs", "overall_differs"}


def test_rows_spaces_quotes_and_line_ends_in_any_form_are_one_table(tmp_path: Path) -> None:
    plain = read(written(tmp_path, text(table())))
    shuffled = table(random.Random(3).sample(HEADER, len(HEADER)))
    shuffled[1:] = random.Random(4).sample(shuffled[1:], 10)
    forms = [
        text(shuffled),
        text(table(), "\r\n"),
        "\ufeff" + text(table()),
        text([[f'"{cell}"' for cell in row] for row in table()]),
        text([[f" {cell} " for cell in row] for row in table()]).replace("\n", "\n\n"),
    ]
    for form in forms:
        assert read(written(tmp_path, form)).labels.equals(plain.labels)


@pytest.mark.parametrize(
    ("cell", "value", "again"),
    [("1", 1.0, "1.000"), ("0.5", 0.5, "0.500"), (".25", 0.25, "0.250"), ("0.", 0.0, "0.000")],
)
def test_fewer_decimals_are_the_same_rate(tmp_path: Path, cell: str, value: float, again: str) -> None:
    cells = table()
    cells[5][2] = cell
    results = read(written(tmp_path, text(cells)))
    held = COLUMNS[cells[0][2]]
    keys = ("false_class", "side", "judge")
    rows = {(row["k"], *(row[key] for key in keys)): row["value"] for row in results.labels.to_pylist()}
    assert rows[5, *held] == value
    assert to_csv(results, "a-model").splitlines()[5].split(",")[2] == again


def test_more_decimals_are_kept_and_told(tmp_path: Path) -> None:
    cells = table()
    cells[5][2] = "0.00001"
    results = read(written(tmp_path, text(cells)))
    assert "more_decimals" in {verdict.rule for verdict in results.flagged}
    assert to_csv(results, "a-model") == text(cells)


def test_what_does_not_agree_is_told(tmp_path: Path) -> None:
    cells = table()
    cells[2][1] = "0.500"  # tp of turn 2
    cells[6][1], cells[6][2], cells[6][3] = "0.100", "0.200", "0.152"
    cells[8][6] = ""
    results = read(written(tmp_path, text(cells)))
    check(results)
    said = {(verdict.record_id, verdict.rule) for verdict in results.flagged}
    assert said == {
        ("a-model/k2/overall_correctiontpatk_gpt54", "value_unexpected"),
        ("a-model/k6/overall_correctiontpatk_average", "average_differs"),
        ("a-model/k6/overall_correctiontpatk_average", "overall_differs"),
        ("a-model/k6/overall_correctiontpatk_gpt54", "overall_differs"),
        ("a-model/k6/overall_correctiontpatk_gemini31pro", "overall_differs"),
        ("a-model/k8/overall_correctionfpatk_average", "value_missing"),
    }
    cells[6][3] = "0.151"  # as rounding may make it
    again = read(written(tmp_path, text(cells)))
    assert "average_differs" not in {verdict.rule for verdict in again.flagged}


def test_every_fault_is_told_by_line_and_column(tmp_path: Path) -> None:
    cells = table()
    cells[1][4] = "nan"
    cells[2][5] = "1.001"
    cells[3][6] = "0,5".replace(",", ";")
    cells[4][7] = "-0.1"
    cells[5][8] = "1e-3"
    cells[6][9] = "٠.٥"
    cells[7][0] = "0"
    cells[8][0] = "9"
    cells[10].append("0.1")
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, text(cells)))
    said = [(row.record, row.path, row.message) for row in caught.value.problems]
    assert said == [
        ("", "column k", "turn 7, 8, 10 is missing"),
        ("line 10", "column k", "turn 9 is on line 9 already"),
        ("line 11", "", "26 cells under 25 columns"),
        ("line 2", "column overall_correctionfpatk_gpt54", '"nan" is no rate: write digits with a point, or nothing'),
        ("line 3", "column overall_correctionfpatk_gemini31pro", '"1.001" is above 1; rates go from 0 to 1'),
        ("line 4", "column overall_correctionfpatk_average", '"0;5" is no rate: write digits with a point, or nothing'),
        ("line 5", "column identity_correctiontpatk_gpt54", '"-0.1" is no rate: write digits with a point, or nothing'),
        (
            "line 6",
            "column identity_correctiontpatk_gemini31pro",
            '"1e-3" is no rate: write digits with a point, or nothing',
        ),
        (
            "line 7",
            "column identity_correctiontpatk_average",
            '"\\u0660.\\u0665" is no rate: write digits with a point, or nothing',
        ),
        ("line 8", "column k", '"0" is no turn: 1 to 10'),
    ]
    assert str(caught.value).count("a-model.csv line 6 column identity_correctiontpatk_gemini31pro: ") == 1


def test_faults_of_the_header(tmp_path: Path) -> None:
    cells = table()
    cells[0][3] = "overall_correctiontpatk_avg"
    cells[0][5] = cells[0][4]
    cells[0][0] = ""
    cells[9][7] = "x"
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, text(cells)))
    assert [str(row).partition("a-model.csv ")[2] for row in caught.value.problems] == [
        'line 1 column 1: "" is unknown',
        'line 1 column 4: "overall_correctiontpatk_avg" is unknown (near is overall_correctiontpatk_average)',
        "line 1 column 6: overall_correctionfpatk_gpt54 is column 5 already",
        "line 1 column k: is missing",
        "line 1 column overall_correctionfpatk_gemini31pro: is missing",
        "line 1 column overall_correctiontpatk_average: is missing",
        'line 10 column identity_correctiontpatk_gpt54: "x" is no rate: write digits with a point, or nothing',
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b'""\n,\n', "is empty"),
        (text(table()).replace(",", ";").encode(), 'cells are separated by ";", not by commas'),
        (text(table()).encode("utf-16"), "is UTF-16"),
        (text(table()).encode() + b'"open', "is no CSV"),
        (b"\xff" + text(table()).encode(), "is not UTF-8"),
        (b"k\n", "column k: turn 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 is missing"),
        (b"PK\x03\x04", "is a zip archive"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, content))
    assert told in str(caught.value)


def test_a_folder_of_models(tmp_path: Path) -> None:
    for name in ("b.csv", "a.b.csv", ".hidden.csv", "notes.txt", "C.CSV"):
        written(tmp_path, text(table()), name)
    results = read(tmp_path)
    check(results)
    assert list(results.columns) == ["a.b", "b"]
    assert [(row.record_id, row.rule) for row in results.flagged] == [
        (".hidden.csv", "hidden_file"),
        ("C.CSV", "other_file"),
        ("notes.txt", "other_file"),
    ]
    assert results.labels["model"].to_pylist() == ["a.b"] * 240 + ["b"] * 240
    written(tmp_path, "k\n", "b.csv")
    written(tmp_path, "", "c.csv")
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert {Path(row.file).name for row in caught.value.problems} == {"b.csv", "c.csv"}


def test_places_without_results(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no <model>\.csv in it"):
        read(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "x.csv")
    with pytest.raises(DataError, match="is no file name"):
        read(tmp_path / "x\0.csv")


def attempt(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with contextlib.suppress(DataError):
        check(read(path))


@given(content=st.binary(max_size=80))
@settings(max_examples=100)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    attempt(path, content)
    attempt(path, ",".join(HEADER).encode() + b"\n" + content)


@given(data=st.data())
@settings(max_examples=50)
def test_mutated_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    cells: Any = table()
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.integers(0, len(cells) - 1))
        column = data.draw(st.integers(0, len(cells[row]) - 1))
        cells[row][column] = data.draw(st.text(max_size=4) | st.sampled_from([*HEADER, "1", "0.5", '"', "1e3"]))
    attempt(tmp_path_factory.getbasetemp() / "fuzz.csv", text(cells).encode("utf-8", "surrogatepass"))
