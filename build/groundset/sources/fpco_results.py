# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads published FPCO-Dialog result files (`result/<model>.csv`) into one row a rate, and writes them again.

A file has a row for each turn k and, beside k, a column for each false class (and overall), each side (tp, fp) and each
judge. The tp cells of turns 1 to 3 are empty: no false premise has been said by then.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from groundset.errors import DataError, Problem
from groundset.files import plain, sha256_file
from groundset.fpco.dialogue import FIRST_FALSE_TURN, QUESTION_COUNT
from groundset.schema_types import arrow_schema
from groundset.sources import json_faults
from groundset.sources.imported import sorted_verdicts
from groundset.verdicts import Verdict

SUFFIX = ".csv"
TURN = "k"
FALSE_CLASSES = ("overall", "identity", "attribute", "location")
SIDES = ("tp", "fp")
JUDGES = ("gpt54", "gemini31pro", "average")
DECIMALS = 3
# column name to what it holds, in the order in which the publisher names them
COLUMNS: Mapping[str, tuple[str, str, str]] = {
    f"{false_class}_correction{side}atk_{judge}": (false_class, side, judge)
    for false_class in FALSE_CLASSES
    for side in SIDES
    for judge in JUDGES
}
# a mean of two rounded values, rounded itself
_ROUNDING = 10**-DECIMALS
_SLACK = 1e-9
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_TURNS = {str(turn): turn for turn in range(1, QUESTION_COUNT + 1)}

Rates = dict[tuple[str, str, str], float | None]


@dataclass(frozen=True)
class Results:
    """The rates of one or more models.

    Attributes:
        labels: Table of `schemas/fpco_label`, sorted by model, k, false class, side and judge.
        columns: Model to the columns of its file, in its order.
        flagged: Soft verdicts of kind label or file: value_missing, value_unexpected, more_decimals, average_differs,
            overall_differs, hidden_file, other_file.
        files: File name to sha256.
    """

    labels: pa.Table
    columns: Mapping[str, tuple[str, ...]]
    flagged: tuple[Verdict, ...]
    files: Mapping[str, str]


@dataclass(frozen=True)
class _Parsed:
    """One file.

    Attributes:
        columns: Its header.
        rates: Turn to its rates.
        long: Turn, column and text of every cell of more than three decimals.
    """

    columns: tuple[str, ...]
    rates: dict[int, Rates]
    long: list[tuple[int, str, str]]


def _header_problems(file: str, header: Sequence[str]) -> list[Problem]:
    if len(header) == 1 and (found := re.search(r"[;\t]", header[0])):
        return [Problem(file, "line 1", "", f"cells are separated by {json_faults.shown(found[0])}, not by commas")]
    expected = (TURN, *COLUMNS)
    counts = Counter(header)
    missing = [name for name in expected if name not in counts]
    problems = [Problem(file, "line 1", f"column {name}", "is missing") for name in missing]
    for place, name in enumerate(header, 1):
        if name not in expected:
            near = difflib.get_close_matches(name, missing or expected, n=1)
            hint = f"near is {near[0]}" if near else ""
            problems.append(Problem(file, "line 1", f"column {place}", f"{json_faults.shown(name)} is unknown", hint))
        elif header.index(name) != place - 1:
            told = f"{name} is column {header.index(name) + 1} already"
            problems.append(Problem(file, "line 1", f"column {place}", told))
    return problems


def _rate(text: str) -> tuple[float | None, str]:
    """The value of a cell, None if it is empty, or what is wrong with it."""
    if not text:
        return None, ""
    if not _NUMBER.fullmatch(text):
        return None, f"{json_faults.shown(text)} is no rate: write digits with a point, or nothing"
    value = float(text)
    return value, "" if value <= 1 else f"{json_faults.shown(text)} is above 1; rates go from 0 to 1"


def _row(
    file: str, where: str, columns: Sequence[str], cells: Sequence[str]
) -> tuple[int | None, Rates, list[Problem]]:
    """Turn and rates of a line, as far as they can be read, and every problem of its cells."""
    turn: int | None = None
    rates: Rates = {}
    problems = []
    for name, text in zip(columns, cells, strict=True):
        fault = ""
        if name == TURN:
            turn = _TURNS.get(text)
            fault = "" if turn else f"{json_faults.shown(text)} is no turn: 1 to {QUESTION_COUNT}"
        elif name in COLUMNS:
            rates[COLUMNS[name]], fault = _rate(text)
        if fault:
            problems.append(Problem(file, where, f"column {name}", fault))
    return turn, rates, problems


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that hold something, with their number; of a quoted cell with line breaks in it, the last line's."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield reader.line_num, [cell.strip() for cell in cells]


def _parse(file: str, text: str) -> tuple[_Parsed, list[Problem]]:
    """The file, of use only if it has no problem."""
    try:
        lines = list(_lines(text))
    except csv.Error as error:
        return _Parsed((), {}, []), [Problem(file, "", "", f"is no CSV: {error}")]
    if not lines:
        return _Parsed((), {}, []), [Problem(file, "", "", "is empty")]
    columns = tuple(lines[0][1])
    parsed = _Parsed(columns, {}, [])
    problems = _header_problems(file, columns)
    first: dict[int, int] = {}
    for number, cells in lines[1:]:
        where = f"line {number}"
        if len(cells) != len(columns):
            problems.append(Problem(file, where, "", f"{len(cells)} cells under {len(columns)} columns"))
            continue
        turn, rates, wrong = _row(file, where, columns, cells)
        problems += wrong
        if turn is None:
            continue
        if first.setdefault(turn, number) != number:
            told = f"turn {turn} is on line {first[turn]} already"
            problems.append(Problem(file, where, f"column {TURN}", told))
        parsed.rates[turn] = rates
        cut = [(name, text) for name, text in zip(columns, cells, strict=True) if name in COLUMNS]
        parsed.long.extend((turn, name, text) for name, text in cut if len(text.partition(".")[2]) > DECIMALS)
    missing = [str(turn) for turn in _TURNS.values() if turn not in first]
    if missing and TURN in columns:
        problems.append(Problem(file, "", f"column {TURN}", f"turn {', '.join(missing)} is missing"))
    return parsed, problems


def _flags(model: str, parsed: _Parsed) -> Iterator[Verdict]:
    names = {held: name for name, held in COLUMNS.items()}

    def soft(turn: int, rate: tuple[str, str, str], rule: str, told: str, measured: float | None = None) -> Verdict:
        limit = None if measured is None else _ROUNDING
        return Verdict(f"{model}/k{turn}/{names[rate]}", "label", rule, told, measured, limit, hard=False)

    for turn, name, text in parsed.long:
        yield soft(turn, COLUMNS[name], "more_decimals", f"{text} has more than {DECIMALS} decimals")
    for turn, rates in sorted(parsed.rates.items()):
        for rate, value in rates.items():
            expected = rate[1] == "fp" or turn >= FIRST_FALSE_TURN
            if (value is not None) != expected:
                rule = "value_missing" if expected else "value_unexpected"
                told = "the cell is empty" if expected else f"{value} before the first false premise"
                yield soft(turn, rate, rule, told)
        for false_class in FALSE_CLASSES:
            for side in SIDES:
                one, other, average = (rates[false_class, side, judge] for judge in JUDGES)
                if one is None or other is None or average is None:
                    continue
                apart = abs((one + other) / 2 - average)
                if apart > _ROUNDING + _SLACK:
                    told = f"the average is {average}, the judges give {one} and {other}"
                    yield soft(turn, (false_class, side, JUDGES[-1]), "average_differs", told, apart)
        for side in SIDES:
            for judge in JUDGES:
                overall, *classes = (rates[false_class, side, judge] for false_class in FALSE_CLASSES)
                known = [value for value in classes if value is not None]
                if overall is None or len(known) < len(classes):
                    continue
                outside = max(min(known) - overall, overall - max(known))
                if outside > _ROUNDING + _SLACK:
                    told = f"overall is {overall}, the classes lie from {min(known)} to {max(known)}"
                    yield soft(turn, (FALSE_CLASSES[0], side, judge), "overall_differs", told, outside)


def _labels(parsed: Mapping[str, _Parsed]) -> pa.Table:
    rows = [
        {"model": model, "k": turn, "false_class": rate[0], "side": rate[1], "judge": rate[2], "value": value}
        for model, file in parsed.items()
        for turn, rates in file.rates.items()
        for rate, value in rates.items()
    ]
    rows.sort(key=lambda row: [row[key] for key in ("model", "k", "false_class", "side", "judge")])
    return pa.Table.from_pylist(rows, schema=arrow_schema("fpco_label"))


def _other(path: Path) -> Verdict:
    hidden = path.name.startswith(".")
    rule, told = ("hidden_file", "a hidden file is not read") if hidden else ("other_file", f"is no {SUFFIX} file")
    return Verdict(plain(path.name), "file", rule, told, hard=False)


def _listed(path: Path) -> tuple[list[Path], list[Path]]:
    if not path.is_dir():
        return [path], []
    try:
        entries = sorted(path.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise DataError(f"{path} cannot be read", [Problem(str(path), "", "", json_faults.open_fault(error))]) from None
    chosen = [entry for entry in entries if entry.suffix == SUFFIX and not entry.name.startswith(".")]
    if not chosen:
        raise DataError(f"{path} holds no results", [Problem(str(path), "", "", f"no <model>{SUFFIX} in it")])
    return chosen, [entry for entry in entries if entry not in chosen]


def read(path: Path) -> Results:
    """Reads a result file, or every result file of a folder.

    Args:
        path: `<model>.csv`, or the folder of such files.

    Raises:
        DataError: A file cannot be read, or is no result file; names every cell that is wrong by line and column.
    """
    chosen, others = _listed(path)
    parsed: dict[str, _Parsed] = {}
    problems = []
    for file in chosen:
        name = plain(str(file))
        try:
            text = json_faults.read_bytes(file).decode("utf-8")
        except DataError as error:
            problems += [Problem(name, "", "", problem.message) for problem in error.problems]
            continue
        parsed[plain(file.stem)], wrong = _parse(name, text)
        problems += wrong
    if problems:
        raise DataError(f"{plain(str(path))} cannot be read as FPCO-Dialog results".replace("\0", "\\0"), problems)
    flagged = [verdict for model, content in parsed.items() for verdict in _flags(model, content)]
    return Results(
        labels=_labels(parsed),
        columns={model: content.columns for model, content in parsed.items()},
        flagged=sorted_verdicts([*flagged, *map(_other, others)]),
        files={plain(file.name): sha256_file(file) for file in chosen},
    )


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    rounded = f"{value:.{DECIMALS}f}"
    return rounded if float(rounded) == value else f"{Decimal(repr(value)):f}"


def to_csv(results: Results, model: str) -> str:
    """The model's file again: its columns in its order, turns in order, three decimals or as many as a rate has."""
    rows: dict[int, dict[tuple[str, str, str], float | None]] = {}
    for row in results.labels.to_pylist():
        if row["model"] == model:
            rows.setdefault(row["k"], {})[row["false_class"], row["side"], row["judge"]] = row["value"]
    page = io.StringIO(newline="")
    writer = csv.writer(page, lineterminator="\n")
    columns = results.columns[model]
    writer.writerow(columns)
    for turn, rates in sorted(rows.items()):
        writer.writerow([str(turn) if name == TURN else _cell(rates[COLUMNS[name]]) for name in columns])
    return page.getvalue()
