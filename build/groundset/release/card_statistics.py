# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a release in words and tables: a section of the card, and a few lines for `status`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from groundset.release.markdown import folded, table
from groundset.release.statistics import FALSE_CLASSES, Statistics

# sizes from here on share a row or column, as the last stratum does; status --json has each on its own
_MANY = 7


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.2f} %"


def _bin(size: int) -> str:
    return str(size) if size < _MANY else f"{_MANY}+"


def binned(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by size, all sizes from 7 on as one.

    >>> binned({"2": 5, "7": 1, "11": 2})
    {'2': 5, '7+': 3}
    """
    found: dict[str, int] = {}
    for size, count in counts.items():
        found[_bin(int(size))] = found.get(_bin(int(size)), 0) + count
    return found


def sentences(benchmark: str, found: Statistics) -> list[str]:
    """What there is, in a line or two."""
    if not found["dialogues"]:
        return ["no dialogue is left"]
    if benchmark == "candvg":
        return [
            f"{found['dialogues']} dialogues on {found['photographs']} photographs; {found['samples']} samples: "
            f"{found['cvg']} CVG, {found['csvg']} CSVG",
            f"{found['final_set_of_several']} dialogues ({_percent(found['final_set_of_several_share'])}) end with "
            f"several candidates; {found['pairs_that_add']} of {found['pairs']} pairs of consecutive turns "
            f"({_percent(found['pairs_that_add_share'])}) add a candidate",
        ]
    edits = "; ".join(
        f"{name} {edit['dialogues']}" + (f" ({_lengths(edit['words'])})" if edit["words"] else "")
        for name, edit in found["edits"].items()
    )
    return [
        f"{found['dialogues']} dialogues on {found['photographs']} photographs; {found['user_turns']} user turns, "
        f"{found['user_turns_with_a_false_premise']} with a false premise",
        f"edits: {edits}",
    ]


def _lengths(words: Mapping[str, int]) -> str:
    return ", ".join(f"{length} word{'' if length == '1' else 's'}: {count}" for length, count in words.items())


def section(benchmark: str, found: Statistics, images: Mapping[str, str]) -> str:
    """The section of the card.

    Args:
        benchmark: candvg or fpco-dialog.
        found: The figures of the rows.
        images: Name of a drawn figure to the Markdown that shows it.
    """
    return _candvg(found, images) if benchmark == "candvg" else _fpco(found, images)


def variants_section(variants: pa.Table) -> str:
    """How many variants each set has, by kind of false premise.

    Args:
        variants: Table of `schemas/fpco_variant`.
    """
    counts = Counter(zip(variants["set"].to_pylist(), variants["false_class"].to_pylist(), strict=True))
    rows = [(name, *(counts[name, kind] for kind in FALSE_CLASSES)) for name in sorted({name for name, _ in counts})]
    return table(("set", *FALSE_CLASSES), rows, right=range(1, len(FALSE_CLASSES) + 1))


def _candvg(found: Statistics, images: Mapping[str, str]) -> str:
    share, added = found["final_set_of_several_share"], found["pairs_that_add_share"]
    rows: list[tuple[object, ...]] = [
        ("dialogues", found["dialogues"]),
        ("photographs", found["photographs"]),
        ("samples (contexts)", found["samples"]),
        ("CVG samples: one object is left", found["cvg"]),
        ("CSVG samples: several are left", found["csvg"]),
        ("dialogues with three turns", found["with_three_turns"]),
        ("dialogues with three turns or more", found["with_three_turns_or_more"]),
        ("dialogues that end with several candidates", f"{found['final_set_of_several']} ({_percent(share)})"),
        ("pairs of consecutive turns", found["pairs"]),
        ("pairs in which a candidate is added", f"{found['pairs_that_add']} ({_percent(added)})"),
        ("pairs in which a candidate is removed", found["pairs_that_remove"]),
        ("pairs in which the set stays", found["pairs_that_stay"]),
    ]
    turns = found["set_sizes_by_turn"]
    columns = [*turns.values(), found["set_sizes"]]
    heads = ("candidates", *(f"turn {turn}" for turn in turns), "all turns")
    sizes = _by_size(
        ("objects", "listed", "merged", "plausible at some turn"),
        [found["initial_candidates_raw"], found["initial_candidates_unique"], found["unique_candidates"]],
    )
    parts = [
        table(("what", "value"), rows, right=(1,)),
        images.get("set_sizes", ""),
        folded("Samples by turn and number of candidates", _by_size(heads, columns)),
        images.get("unique_candidates", ""),
        folded(
            "Dialogues by number of objects",
            f"""\
As InViG lists boxes for the first utterance, after near-identical ones are merged (this gives the stratum), and
plausible at one turn at least:

{sizes}""",
        ),
        images.get("changes", ""),
    ]
    if found["transitions"]:
        transitions = _transitions(found["transitions"])
        parts.append(folded("Pairs of consecutive turns by candidates before (rows) and after (columns)", transitions))
    return "\n\n".join(part for part in [*parts, images.get("points", "")] if part)


def _by_size(head: tuple[str, ...], columns: list[Mapping[str, int]]) -> str:
    shared = [binned(column) for column in columns]
    sizes = sorted({size for column in shared for size in column})
    rows = [(size, *(column.get(size, 0) for column in shared)) for size in sizes]
    return table(head, rows, right=range(1, len(head)))


def _transitions(transitions: list[Mapping[str, Any]]) -> str:
    found: dict[tuple[str, str], int] = {}
    for row in transitions:
        key = (_bin(row["before"]), _bin(row["after"]))
        found[key] = found.get(key, 0) + row["pairs"]
    before, after = (sorted({key[side] for key in found}) for side in (0, 1))
    rows = [(size, *(found.get((size, other), 0) for other in after)) for size in before]
    return table(("before", *(f"{size} after" for size in after)), rows, right=range(1, len(after) + 1))


def _fpco(found: Statistics, images: Mapping[str, str]) -> str:
    rows: list[tuple[object, ...]] = [
        ("dialogues", found["dialogues"]),
        ("photographs", found["photographs"]),
        ("user turns", found["user_turns"]),
        ("user turns with a false premise", found["user_turns_with_a_false_premise"]),
        *((f"dialogues of category {name}", count) for name, count in found["categories"].items()),
        *((f"dialogues of complexity {name}", count) for name, count in found["complexities"].items()),
    ]
    lengths = sorted({int(length) for edit in found["edits"].values() for length in edit["words"]})
    head = (
        "false class",
        "dialogues",
        "words replaced",
        "words only inserted",
        *(f"{length} word{'s' if length != 1 else ''} long" for length in lengths),
    )
    edits = [
        (
            name,
            *(found["edits"][name][key] for key in ("dialogues", "replaced", "inserted")),
            *(found["edits"][name]["words"].get(str(length), 0) for length in lengths),
        )
        for name in FALSE_CLASSES
    ]
    parts = [
        table(("what", "value"), rows, right=(1,)),
        images.get("target_areas", ""),
        """\
The edits that make a description false. A compound noun (hot dog) is one word, and an article before the changed word
none:""",
        table(head, edits, right=range(1, len(head))),
    ]
    return "\n\n".join(part for part in parts if part)
