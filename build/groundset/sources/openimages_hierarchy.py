# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Open Images' class hierarchy: which classes are persons, vehicles, animals or food.

The publisher's file writes a directed graph as a tree, so that a class may stand in several places. `Subcategory` leads
to kinds of a thing; `Part` leads to its parts (a wheel is no vehicle) and is never followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundset.errors import DataError, Problem
from groundset.schema import json_path
from groundset.sources.json_faults import parse, read_bytes, shown
from groundset.sources.json_keys import Parts
from groundset.sources.strict_json import doubled_keys

# in the order of the design's categories
ROOTS = {"person": "/m/01g317", "vehicle": "/m/07yv9", "animal": "/m/0jbk", "food": "/m/02wbm"}
_BELOW = ("Subcategory", "Part")

Edges = dict[str, set[str]]


@dataclass(frozen=True)
class Hierarchy:
    """What the hierarchy says.

    Attributes:
        file: What to call the file.
        categories: Category of each class below a root, by id.
        depths: Steps from that category's root down to each of these classes, by the longest path; 0 for the root.
        shared: Categories of each class below several roots, of which `categories` holds the first.
        known: Ids of all classes in the file.
        rootless: Categories whose root is not in the file.
    """

    file: str
    categories: Mapping[str, str]
    depths: Mapping[str, int]
    shared: Mapping[str, tuple[str, ...]]
    known: frozenset[str]
    rootless: tuple[str, ...]


def _edges(document: Any) -> tuple[Edges, list[tuple[Parts, str]]]:
    """Ids to the ids one Subcategory edge below, for all ids; and what is wrong, by place."""
    edges: Edges = {}
    faults: list[tuple[Parts, str]] = []
    todo: list[tuple[Any, Parts, str]] = [(document, (), "")]
    while todo:
        node, place, above = todo.pop()
        if not isinstance(node, dict):
            faults.append((place, f"is {shown(node)}, must be an object with LabelName"))
            continue
        name = node.get("LabelName")
        if not isinstance(name, str) or not name:
            told = f"is {shown(name)}, must be a class id" if "LabelName" in node else "is missing"
            faults.append(((*place, "LabelName"), told))
            name = ""
        else:
            edges.setdefault(name, set())
            if above:
                edges[above].add(name)
        for key in _BELOW:
            below = node.get(key, [])
            if not isinstance(below, list):
                faults.append(((*place, key), f"is {shown(below)}, must be a list"))
                continue
            kind_of = name if key == "Subcategory" else ""
            todo += [(child, (*place, key, index), kind_of) for index, child in enumerate(below)]
    return edges, faults


def _cycle(edges: Edges) -> list[str]:
    """Classes of one cycle, each below the one before; empty if there is none."""
    done: set[str] = set()
    for start in sorted(edges):
        path: list[str] = []
        todo = [(start, False)]
        while todo:
            name, leave = todo.pop()
            if leave:
                done.add(path.pop())
            elif name in path:
                return [*path[path.index(name) :], name]
            elif name not in done:
                path.append(name)
                todo += [(name, True), *((below, False) for below in sorted(edges[name], reverse=True))]
    return []


def _below(root: str, edges: Edges) -> set[str]:
    found: set[str] = set()
    todo = [root]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += edges[name]
    return found


def _depths(root: str, edges: Edges) -> dict[str, int]:
    """Length of the longest path from a root to each class below it and to itself; the edges have no cycle."""
    found = _below(root, edges)
    above = dict.fromkeys(found, 0)
    for name in found:
        for below in edges[name]:
            above[below] += 1
    depths = dict.fromkeys(found, 0)
    # a class comes when all that are above it have been
    todo = [root]
    while todo:
        name = todo.pop()
        for below in edges[name]:
            depths[below] = max(depths[below], depths[name] + 1)
            above[below] -= 1
            if not above[below]:
                todo.append(below)
    return depths


def read_hierarchy(path: Path) -> Hierarchy:
    """Reads the class hierarchy, such as bbox_labels_600_hierarchy.json, by Subcategory edges from the four roots.

    A class below several roots (six of the publisher's: shellfish and squid, animals and food) is of the first of
    person, vehicle, animal, food (ours), so that it is what it is before it is cooked.

    Raises:
        DataError: The file cannot be read, is not of that form, has a class below itself, or has none of the roots.
    """
    file = str(path)
    data = read_bytes(path)
    document, message = parse(data)
    if message:
        raise DataError(f"{file} cannot be read", [Problem(file, "", "", message)])
    # of two equal keys the decoder keeps the last, and all that hangs below the first would be lost
    problems = [Problem(file, "", place, told) for place, told in doubled_keys(data.decode("utf-8"))]
    edges, faults = _edges(document)
    problems += [Problem(file, "", json_path(place), told) for place, told in faults]
    cycle = [] if problems else _cycle(edges)
    if cycle:
        problems.append(Problem(file, cycle[0], "", f"is below itself: {' > '.join(cycle)}"))
    present = {category: root for category, root in ROOTS.items() if root in edges}
    if not problems and not present:
        told = f"has none of the classes {', '.join(f'{root} ({name})' for name, root in ROOTS.items())}"
        problems.append(Problem(file, "", "", told, "it should be the hierarchy of the boxable classes"))
    if problems:
        raise DataError(f"{file} is no class hierarchy", problems)
    homes: dict[str, list[str]] = {}
    depths: dict[str, int] = {}
    for category, root in present.items():
        for known, depth in _depths(root, edges).items():
            homes.setdefault(known, []).append(category)
            depths.setdefault(known, depth)
    return Hierarchy(
        file,
        {known: found[0] for known, found in homes.items()},
        depths,
        {known: tuple(found) for known, found in homes.items() if len(found) > 1},
        frozenset(edges),
        tuple(category for category in ROOTS if category not in present),
    )
