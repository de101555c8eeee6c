# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Three kinds of charts: bars, bars of parts, and grids. Each prints its numbers and says nothing by colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundset.release.svg import FRAME, INK, SMALL_PX, label, rectangle

# one blue from light to dark, told apart by its lightness alone; the first is for nothing at all
SHADES = ("#f6f8fa", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b")
_FIRST_DARK = 6
# blue, grey and orange of Okabe and Ito differ in lightness as well as in hue
BLUE, GREY, ORANGE = "#0072b2", "#bdbdbd", "#e69f00"

_BAR_WIDTH = 300
_BAR_HEIGHT = 20
_ROW_HEIGHT = 28
_BASE = 15
_COLUMN_WIDTH = 76
_SWATCH = 10


@dataclass(frozen=True)
class Drawn:
    """Elements of a chart, and the room that they take in pixels."""

    width: int
    height: int
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A cell of a grid: its shade, 0 to 8, and what is printed in it."""

    shade: int
    text: str


def shade(count: int, most: int) -> int:
    """The shade of a count: 0 for none, 1 for few, 8 for as many as there can be.

    >>> shade(0, 9), shade(1, 100), shade(50, 100), shade(9, 9)
    (0, 1, 4, 8)
    """
    return min(1 + (len(SHADES) - 2) * count // most, len(SHADES) - 1) if count > 0 else 0


def bars(x: int, y: int, label_width: int, rows: Sequence[tuple[str, int]]) -> Drawn:
    """A bar a row, the longest as wide as there is room, its count beside it."""
    most = max((count for _, count in rows), default=0)
    left = x + label_width
    parts = []
    for number, (name, count) in enumerate(rows):
        top = y + number * _ROW_HEIGHT
        length = count * _BAR_WIDTH // most if most else 0
        parts += [
            label(left - 10, top + _BASE, name, anchor="end"),
            rectangle(left, top, max(length, 1), _BAR_HEIGHT, BLUE),
            label(left + length + 8, top + _BASE, str(count)),
        ]
    return Drawn(label_width + _BAR_WIDTH + _COLUMN_WIDTH, len(rows) * _ROW_HEIGHT, tuple(parts))


def parted_bars(
    x: int,
    y: int,
    label_width: int,
    series: Sequence[tuple[str, str]],
    rows: Sequence[tuple[str, Sequence[int]]],
) -> Drawn:
    """A bar of full length a row, parted as its counts are; the counts stand beside it, below the names of the parts.

    Args:
        x: Left edge.
        y: Top edge.
        label_width: Room for the names of the rows.
        series: Name and colour of each part.
        rows: Name of each row and its counts, one for each part.
    """
    left, head = x + label_width, y + _BASE
    columns = [left + _BAR_WIDTH + (number + 1) * _COLUMN_WIDTH for number in range(len(series))]
    parts = []
    for (name, colour), right in zip(series, columns, strict=True):
        parts.append(label(right, head, name, anchor="end"))
        parts.append(rectangle(right - _COLUMN_WIDTH + _SWATCH, head + 5, _COLUMN_WIDTH - _SWATCH, 4, colour))
    for number, (name, counts) in enumerate(rows, start=1):
        top = y + number * _ROW_HEIGHT + 4
        parts.append(label(left - 10, top + _BASE, name, anchor="end"))
        total, before = sum(counts), 0
        for (_, colour), count, right in zip(series, counts, columns, strict=True):
            start, end = ((part * _BAR_WIDTH // total if total else 0) for part in (before, before + count))
            if count:
                parts.append(rectangle(left + start, top, end - start, _BAR_HEIGHT, colour))
            parts.append(label(right, top + _BASE, str(count), anchor="end"))
            before += count
        if not total:
            parts.append(rectangle(left, top, _BAR_WIDTH, _BAR_HEIGHT, SHADES[0]))
    width = label_width + _BAR_WIDTH + len(series) * _COLUMN_WIDTH
    return Drawn(width, (len(rows) + 1) * _ROW_HEIGHT + 4, tuple(parts))


def grid(
    x: int,
    y: int,
    label_width: int,
    size: tuple[int, int],
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Cell]]],
) -> Drawn:
    """Cells in rows and columns, each with its text on its shade.

    Args:
        x: Left edge.
        y: Top edge.
        label_width: Room for the names of the rows.
        size: Width and height of a cell.
        columns: Names above the columns; empty for none.
        rows: Name of each row and its cells.
    """
    width, height = size
    left, top = x + label_width, y + (22 if columns else 0)
    parts = [label(left + n * width + width // 2, y + _BASE, name, anchor="middle") for n, name in enumerate(columns)]
    count = max((len(cells) for _, cells in rows), default=0)
    # the gaps between the cells let this ground through
    parts.append(rectangle(left, top, count * width + 1, len(rows) * height + 1, FRAME))
    for row, (name, cells) in enumerate(rows):
        at = top + row * height
        if name:
            parts.append(label(left - 10, at + height // 2 + 5, name, anchor="end"))
        for column, cell in enumerate(cells):
            start = left + column * width
            parts.append(rectangle(start + 1, at + 1, width - 1, height - 1, SHADES[cell.shade]))
            if cell.text:
                ink = "#ffffff" if cell.shade >= _FIRST_DARK else INK
                middle, base = start + width // 2, at + height // 2 + 4
                parts.append(label(middle, base, cell.text, anchor="middle", fill=ink, size=SMALL_PX))
    return Drawn(label_width + count * width + 1, top - y + len(rows) * height + 1, tuple(parts))
