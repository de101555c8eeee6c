# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What can be counted in the rows of a release: the figures that the papers give, for its card and for `status`.

Everything here follows from the rows alone, so that a reader can recompute it and `verify` does.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from groundset.fpco.dialogue import Dialogue
from groundset.fpco.filter import COMPLEXITIES
from groundset.fpco.reading import length_in_words, read_dialogue
from groundset.fpco.words import is_word

Statistics = dict[str, Any]
THREE_TURNS = 3
FALSE_CLASSES = ("identity", "attribute", "location")
CHANGES = ("narrows", "stays", "widens")
RASTER = 8
AREA_PERCENTS = (1, 2, 5, 10, 20, 40, 100)


def statistics(benchmark: str, tables: Mapping[str, pa.Table]) -> Statistics:
    """The figures of a release, as `schemas/status` has them.

    Args:
        benchmark: candvg or fpco-dialog.
        tables: Config to its rows; `dialogues` is all that is looked at.
    """
    return candvg(tables["dialogues"]) if benchmark == "candvg" else fpco(tables["dialogues"])


def candvg(dialogues: pa.Table) -> Statistics:
    """Candidate sets and how they change (CandVG paper: statistics).

    A dialogue of n turns gives n samples and n - 1 pairs of consecutive turns. A pair adds if its later set holds an
    object that the earlier one does not, whatever else it leaves out. Unique candidates are the objects that are
    plausible at one turn at least.

    Args:
        dialogues: Table of `schemas/candvg_dialogue`.
    """
    columns = ("image_id", "stratum", "candidate_ids", "initial_candidates_raw", "initial_candidates_unique")
    rows = dialogues.select(columns).to_pylist()
    sets = [[frozenset(names) for names in row["candidate_ids"]] for row in rows]
    by_turn: dict[int, Counter[int]] = {}
    for turns in sets:
        for turn, candidates in enumerate(turns, start=1):
            by_turn.setdefault(turn, Counter())[len(candidates)] += 1
    sizes = sum(by_turn.values(), Counter[int]())
    pairs = [pair for turns in sets for pair in itertools.pairwise(turns)]
    adding = sum(1 for before, after in pairs if after - before)
    lengths = [len(turns) for turns in sets]
    several = sum(1 for turns in sets if len(turns[-1]) > 1)
    return {
        "dialogues": len(rows),
        "photographs": len({row["image_id"] for row in rows}),
        "samples": sizes.total(),
        "cvg": sizes[1],
        "csvg": sizes.total() - sizes[1],
        "strata": _counted(row["stratum"] for row in rows),
        "turns": _counted(lengths),
        "with_three_turns": sum(1 for length in lengths if length == THREE_TURNS),
        "with_three_turns_or_more": sum(1 for length in lengths if length >= THREE_TURNS),
        "initial_candidates_raw": _counted(row["initial_candidates_raw"] for row in rows),
        "initial_candidates_unique": _counted(row["initial_candidates_unique"] for row in rows),
        "unique_candidates": _counted(len(frozenset().union(*turns)) for turns in sets),
        "set_sizes": _counted(sizes.elements()),
        "set_sizes_by_turn": {str(turn): _counted(by_turn[turn].elements()) for turn in sorted(by_turn)},
        "final_set_of_several": several,
        "final_set_of_several_share": _share(several, len(rows)),
        "pairs": len(pairs),
        "pairs_that_add": adding,
        "pairs_that_add_share": _share(adding, len(pairs)),
        "pairs_that_remove": sum(1 for before, after in pairs if before - after),
        "pairs_that_stay": sum(1 for before, after in pairs if before == after),
        "changes_by_turn": _changes(sets),
        "transitions": [
            {"before": before, "after": after, "pairs": count}
            for (before, after), count in sorted(Counter((len(one), len(other)) for one, other in pairs).items())
        ],
    }


def _changes(sets: Sequence[Sequence[frozenset[str]]]) -> list[dict[str, int]]:
    """How the set changes from each turn to the next: every pair narrows, stays or widens, whatever else it leaves."""
    found: dict[int, Counter[str]] = {}
    for turns in sets:
        for turn, (before, after) in enumerate(itertools.pairwise(turns), start=2):
            change = "stays" if before == after else "widens" if after - before else "narrows"
            found.setdefault(turn, Counter())[change] += 1
    return [{"turn": turn, **{name: found[turn][name] for name in CHANGES}} for turn in sorted(found)]


def point_counts(points: pa.Table, images: pa.Table) -> dict[int, list[list[int]]]:
    """Points of each turn in a raster over the photographs, each stretched to the same width and height.

    Args:
        points: Table of `schemas/candvg_point`.
        images: Table of `schemas/release_image`.

    Returns:
        Turn to `RASTER` rows, from the top, of `RASTER` counts, from the left.
    """
    sizes = {row["image_id"]: (row["width"], row["height"]) for row in images.to_pylist()}
    found: dict[int, list[list[int]]] = {}
    for point in points.select(["image_id", "turn", "x_px", "y_px"]).to_pylist():
        width, height = sizes[point["image_id"]]
        raster = found.setdefault(point["turn"], [[0] * RASTER for _ in range(RASTER)])
        raster[_place(point["y_px"], height)][_place(point["x_px"], width)] += 1
    return {turn: found[turn] for turn in sorted(found)}


def _place(at_px: float, length_px: int) -> int:
    # a point on the far edge belongs to the last place; a power of two as RASTER leaves nothing to round
    return max(0, min(RASTER - 1, int(at_px * RASTER // length_px)))


def target_areas(dialogues: pa.Table, images: pa.Table) -> dict[str, list[int]]:
    """Dialogues by the share of the photograph that the target's box takes.

    Args:
        dialogues: Table of `schemas/fpco_dialogue`.
        images: Table of `schemas/release_image`.

    Returns:
        Complexity to counts: one for each limit of `AREA_PERCENTS`, of shares below it and not below the one before.
    """
    sizes = {row["image_id"]: row["width"] * row["height"] for row in images.to_pylist()}
    found: dict[str, list[int]] = {}
    for row in dialogues.select(["image_id", "complexity", "target_bbox_xyxy_px"]).to_pylist():
        left, top, right, bottom = row["target_bbox_xyxy_px"]
        percent = 100 * (right - left) * (bottom - top) / sizes[row["image_id"]]
        counts = found.setdefault(row["complexity"], [0] * len(AREA_PERCENTS))
        # a box may lie a rounding outside its photograph
        counts[min(bisect.bisect_right(AREA_PERCENTS, percent), len(AREA_PERCENTS) - 1)] += 1
    return {name: found[name] for name in COMPLEXITIES if name in found}


def fpco(dialogues: pa.Table) -> Statistics:
    """Dialogues by cell, and the edits that make their premises false (design, FPCO-Dialog: checks).

    The length of an edit is in words: of what it puts in place or, where that is longer, of what it takes away. A
    compound noun of the lexicon (hot dog) or a relation (in front of) is one word, an article none, as in the checks.

    Args:
        dialogues: Table of `schemas/fpco_dialogue`.
    """
    rows = dialogues.to_pylist()
    edits = {name: [_edit(row) for row in rows if row["false_class"] == name] for name in FALSE_CLASSES}
    questions = [question for row in rows for question in row["questions"]]
    return {
        "dialogues": len(rows),
        "photographs": len({row["image_id"] for row in rows}),
        "user_turns": len(questions),
        "user_turns_with_a_false_premise": sum(1 for question in questions if question["false_premise"]),
        "strata": _counted(row["stratum"] for row in rows),
        "complexities": _counted(row["complexity"] for row in rows),
        "categories": _counted(row["category"] for row in rows),
        "edits": {
            name: {
                "dialogues": len(found),
                "replaced": sum(1 for kind, _ in found if kind == "replaced"),
                "inserted": sum(1 for kind, _ in found if kind == "inserted"),
                "words": _counted(length for _, length in found),
            }
            for name, found in edits.items()
        },
    }


def _edit(row: Mapping[str, Any]) -> tuple[str, int]:
    """Whether the false description replaces words or only inserts some, and how many words that concerns."""
    texts = {key: row[key] for key in ("false_class", "target_description", "modified_target_description")}
    where = {key: row[key] for key in ("dialogue_id", "image_id", "category", "target_label")}
    read = read_dialogue(Dialogue(item_id=row["dialogue_id"], questions=(), **where, **texts))
    edit = read.edit
    if edit is not None and edit.old and edit.new:
        return "replaced", max(length_in_words(words, read.lexicon, read.grammar) for words in (edit.old, edit.new))
    # several edits in one, or none: the whole stretch from the first changed word to the last
    stretch = edit or read.changed.edit
    if stretch is None:
        return "replaced", 0
    length = max(len([word for word in words if is_word(word)]) for words in (stretch.old, stretch.new))
    return ("replaced" if stretch.old else "inserted"), length


def _counted(values: Iterable[Any]) -> dict[str, int]:
    """How often each value occurs, in the order of the values."""
    return {str(value): count for value, count in sorted(Counter(values).items())}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
