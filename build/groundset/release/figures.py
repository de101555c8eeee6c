# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a release, drawn from its rows and facts alone.

They are the same bytes everywhere, so that `verify` draws them anew and compares. They are SVG: the Hub and GitHub show
it in a card that names it by a path, and keep it as text, so that git tells line by line what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from groundset.fpco.filter import CATEGORIES, COMPLEXITIES
from groundset.release.card_statistics import binned
from groundset.release.charts import BLUE, GREY, ORANGE, SHADES, Cell, Drawn, bars, grid, parted_bars, shade
from groundset.release.facts import Facts, FunnelStep, Stratum
from groundset.release.markdown import folded, table
from groundset.release.statistics import (
    AREA_PERCENTS,
    CHANGES,
    FALSE_CLASSES,
    Statistics,
    candvg,
    point_counts,
    target_areas,
)
from groundset.release.svg import document, label

FOLDER = "figures"
_MARGIN, _HEAD = 20, 52
_PANEL_COLUMNS = 3
_PANEL_GAP = 22
_PANEL_CELL = (27, 20)
# of a sans-serif letter of the labels' size; no machine's fonts are asked
_LETTER_PX = 8


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        name: Its file in `figures/`, without the ending.
        title: What it shows.
        about: How to read it, for who cannot see it.
        svg: The file.
        numbers: Its numbers as a Markdown table, where the card has them nowhere else.
    """

    name: str
    title: str
    about: str
    svg: str
    numbers: str = ""

    @property
    def path(self) -> str:
        """Where it lies in a release."""
        return f"{FOLDER}/{self.name}.svg"

    def markdown(self) -> str:
        """The figure as a card shows it."""
        image = f"![{self.title}. {self.about}]({self.path})"
        return f"{image}\n\n{folded('The same in numbers', self.numbers)}" if self.numbers else image


def _figure(name: str, title: str, about: str, drawn: Drawn) -> Figure:
    width, height = drawn.width + 2 * _MARGIN, drawn.height + _HEAD + _MARGIN
    width = max(width, len(title) * _LETTER_PX + 2 * _MARGIN)
    parts = [label(_MARGIN, 32, title, size=16), *drawn.parts]
    return Figure(name, title, about, document(width, height, title, about, parts))


def _room(names: Iterable[str]) -> int:
    return max(map(len, names), default=0) * _LETTER_PX + 12


def _funnel_steps(steps: Iterable[FunnelStep]) -> list[FunnelStep]:
    """The stages in the unit that the release is made of; images and objects are read by the million and stay out."""
    return [
        step
        for step in steps
        if (step.stage != "10_import" or step.unit == "dialogues") and step.unit != "samples" and step.rows_in
    ]


def _funnel(facts: Facts) -> list[Figure]:
    steps = _funnel_steps(facts.funnel)
    if not steps:
        return []
    rows = [(f"{step.stage}, {step.rows_in} {step.unit}", (step.kept, step.rows_in - step.kept)) for step in steps]
    series = (("kept", BLUE), ("rejected", ORANGE))
    drawn = parted_bars(_MARGIN, _HEAD, _room(name for name, _ in rows), series, rows)
    about = "A bar for each stage, parted into what it kept and what it rejected; the table below has the numbers."
    return [_figure("funnel", "What each stage kept of what it took in", about, drawn)]


def _counted(count: int, most: int) -> Cell:
    return Cell(shade(count, most), str(count) if count else "")


def _objects(size: str) -> str:
    return f"{size} object{'' if size == '1' else 's'}"


def _set_sizes(found: Statistics) -> Figure:
    turns = {turn: binned(counts) for turn, counts in found["set_sizes_by_turn"].items()}
    totals = {turn: sum(counts.values()) for turn, counts in turns.items()}
    sizes = sorted({size for counts in turns.values() for size in counts})
    rows = [(_objects(size), [_counted(turns[turn].get(size, 0), totals[turn]) for turn in turns]) for size in sizes]
    drawn = grid(_MARGIN, _HEAD, _room(name for name, _ in rows), (76, 30), [f"turn {turn}" for turn in turns], rows)
    about = (
        "A grid of samples: a column for each turn, a row for each number of plausible objects. The darker, the larger "
        "the share of that turn's samples; the table below has the numbers."
    )
    return _figure("set_sizes", "How many objects are still plausible at each turn (samples)", about, drawn)


def _unique(found: Statistics) -> Figure:
    counts = binned(found["unique_candidates"])
    rows = [(_objects(size), counts[size]) for size in sorted(counts)]
    about = (
        "Bars of dialogues by the number of objects that are plausible at one turn at least; the table below has the "
        "numbers."
    )
    title = "Objects that are plausible at some turn (dialogues)"
    return _figure("unique_candidates", title, about, bars(_MARGIN, _HEAD, _room(name for name, _ in rows), rows))


def _changes(found: Statistics) -> Figure:
    rows = [
        (f"turn {row['turn'] - 1} to {row['turn']}", [row[name] for name in CHANGES])
        for row in found["changes_by_turn"]
    ]
    series = tuple(zip(CHANGES, (BLUE, GREY, ORANGE), strict=True))
    about = (
        "A bar for each step from one turn to the next, parted into dialogues whose set only loses objects, stays the "
        "same, or gains one; the numbers stand beside it."
    )
    title = "How the set of plausible objects changes from turn to turn (dialogues)"
    return _figure("changes", title, about, parted_bars(_MARGIN, _HEAD, _room(n for n, _ in rows), series, rows))


def _points(counts: Mapping[int, Sequence[Sequence[int]]]) -> Figure:
    parts: list[str] = []
    width, top = 0, _HEAD
    turns = list(counts)
    for first in range(0, len(turns), _PANEL_COLUMNS):
        left, bottom = _MARGIN, top
        for turn in turns[first : first + _PANEL_COLUMNS]:
            raster = counts[turn]
            # few points are told apart by their number, not by full darkness
            most, total = max(len(SHADES) - 1, *map(max, raster)), sum(map(sum, raster))
            rows = [("", [_counted(count, most) for count in row]) for row in raster]
            panel = grid(left, top + 20, 0, _PANEL_CELL, (), rows)
            parts += [label(left, top + 13, f"turn {turn}, {total} point{'' if total == 1 else 's'}"), *panel.parts]
            left, bottom = left + panel.width + _PANEL_GAP, top + 20 + panel.height
        width, top = max(width, left - _PANEL_GAP - _MARGIN), bottom + _PANEL_GAP
    about = (
        "A raster over the photograph for each turn, each photograph stretched to the same frame. A cell counts the "
        "points in it: the darker, the more of its turn. The config points has every point."
    )
    drawn = Drawn(width, top - _PANEL_GAP - _HEAD, tuple(parts))
    return _figure("points", "Where in the photograph the points lie, turn by turn", about, drawn)


def strata_grid(strata: Sequence[Stratum]) -> tuple[list[str], list[str], dict[tuple[str, str], Stratum]] | None:
    """Strata as a table of complexity and category by false class, in the order of the paper; None for others."""
    cells = {(row.stratum.rpartition("-")[0], row.stratum.rpartition("-")[2]): row for row in strata}
    names = [f"{complexity}-{category}" for complexity in COMPLEXITIES for category in CATEGORIES]
    if not cells or any(group not in names or last not in FALSE_CLASSES for group, last in cells):
        return None
    groups = [name for name in names if any(group == name for group, _ in cells)]
    return groups, [name for name in FALSE_CLASSES if any(last == name for _, last in cells)], cells


def _cell(row: Stratum | None) -> Cell:
    return Cell(shade(row.have, max(row.want, row.have)), f"{row.have} of {row.want}") if row else Cell(0, "")


def _cells(strata: Sequence[Stratum]) -> list[Figure]:
    found = strata_grid(strata)
    if found is None:
        return []
    groups, lasts, cells = found
    rows = [(group.replace("-", ", "), [_cell(cells.get((group, last))) for last in lasts]) for group in groups]
    drawn = grid(_MARGIN, _HEAD, _room(name for name, _ in rows), (110, 26), lasts, rows)
    about = (
        "A grid of complexity and category by kind of false premise. Each cell says how many dialogues there are of "
        "how many were wanted; the darkest are full."
    )
    return [_figure("cells", "How full the cells are (dialogues)", about, drawn)]


def _areas(counts: Mapping[str, Sequence[int]]) -> Figure:
    lower = (0, *AREA_PERCENTS)
    columns = [f"{low} to {high} %" for low, high in zip(lower, AREA_PERCENTS, strict=False)]
    rows = [(name, [_counted(count, max(row)) for count in row]) for name, row in counts.items()]
    drawn = grid(_MARGIN, _HEAD, _room(counts), (86, 30), columns, rows)
    about = (
        "A grid of dialogues by complexity and by the share of the photograph that the target's box takes. The darker, "
        "the more of that complexity; the darkest are the most frequent."
    )
    figure = _figure("target_areas", "How much of the photograph the target's box takes (dialogues)", about, drawn)
    cells = [(name, *row) for name, row in counts.items()]
    return replace(figure, numbers=table(("complexity", *columns), cells, right=range(1, len(columns) + 1)))


def figures(facts: Facts, tables: Mapping[str, pa.Table], images: pa.Table) -> dict[str, Figure]:
    """The figures of a release by name; what there is nothing to draw of is left out.

    Args:
        facts: What the release says of itself.
        tables: Config to its rows, without the column `image`.
        images: Table of `schemas/release_image`.
    """
    drawn = _funnel(facts)
    if facts.benchmark == "candvg":
        found = candvg(tables["dialogues"])
        if found["dialogues"]:
            drawn += [_set_sizes(found), _unique(found)]
        if found["changes_by_turn"]:
            drawn.append(_changes(found))
        if tables["points"].num_rows:
            drawn.append(_points(point_counts(tables["points"], images)))
    else:
        drawn += _cells(facts.strata)
        if tables["dialogues"].num_rows:
            drawn.append(_areas(target_areas(tables["dialogues"], images)))
    return {figure.name: figure for figure in drawn}
