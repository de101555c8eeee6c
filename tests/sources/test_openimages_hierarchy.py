# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The class hierarchy: Subcategory edges from four roots, in a graph written as a tree."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.errors import DataError
from groundset.sources.openimages_hierarchy import ROOTS, read_hierarchy

PERSON, VEHICLE, ANIMAL, FOOD = ROOTS.values()


def node(name: str, *below: dict[str, Any], parts: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {"LabelName": name}
    return found | ({"Subcategory": list(below)} if below else {}) | ({"Part": list(parts)} if parts else {})


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "hierarchy.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_the_real_file(shared: Path) -> None:
    found = read_hierarchy(shared / "openimages" / "bbox_labels_600_hierarchy.json")
    assert len(found.known) == 602
    # shellfish, crab, shrimp, oyster, lobster and squid are animals and food
    assert len(found.shared) == 6
    assert set(found.shared.values()) == {("animal", "food")}
    assert Counter(found.categories.values()) == {"person": 5, "vehicle": 30, "animal": 111, "food": 77 - 6}
    assert "/m/0dzct" not in found.categories  # a face is a part of a person
    assert "/m/083wq" not in found.categories  # a wheel is a part of a vehicle
    assert found.rootless == ()
    man, limousine, ladybug = "/m/04yx4", "/m/01lcw4", "/m/0gj37"
    assert [found.depths[known] for known in (PERSON, man, VEHICLE, limousine, ladybug)] == [0, 1, 0, 3, 4]
    assert set(found.depths) == set(found.categories)


def test_parts_are_never_followed_and_kinds_of_parts_still_are_kinds(tmp_path: Path) -> None:
    wheel = node("/m/wheel", node("/m/bicycle_wheel"))
    tree = node("/m/root", node(VEHICLE, node("/m/car", parts=(wheel,))), node(ANIMAL, parts=(node("/m/tail"),)))
    found = read_hierarchy(written(tmp_path, tree))
    assert found.categories == {VEHICLE: "vehicle", "/m/car": "vehicle", ANIMAL: "animal"}
    assert "/m/bicycle_wheel" in found.known
    assert found.rootless == ("person", "food")


def test_what_hangs_below_a_class_in_one_place_hangs_below_it_everywhere(tmp_path: Path) -> None:
    tree = node(
        "/m/root", node(ANIMAL, node("/m/fish")), node(PERSON), node("/m/other", node("/m/fish", node("/m/cod")))
    )
    assert read_hierarchy(written(tmp_path, tree)).categories["/m/cod"] == "animal"


def test_a_class_below_two_roots_is_of_the_first(tmp_path: Path) -> None:
    tree = node("/m/root", node(FOOD, node("/m/crab")), node(ANIMAL, node("/m/sea", node("/m/crab")), node(PERSON)))
    found = read_hierarchy(written(tmp_path, tree))
    assert (found.categories["/m/crab"], found.shared["/m/crab"]) == ("animal", ("animal", "food"))
    assert (found.categories[PERSON], found.shared[PERSON]) == ("person", ("person", "animal"))


def test_a_class_is_as_deep_as_its_longest_path_below_the_root_of_its_category(tmp_path: Path) -> None:
    puppy = node("/m/puppy")
    tree = node(
        "/m/root",
        node(FOOD, node("/m/1", node("/m/2", node("/m/crab")))),
        node(ANIMAL, puppy, node("/m/pet", puppy, node("/m/dog", puppy)), node("/m/crab", parts=(node("/m/claw"),))),
    )
    depths = {ANIMAL: 0, "/m/pet": 1, "/m/dog": 2, "/m/puppy": 3, "/m/crab": 1}
    assert read_hierarchy(written(tmp_path, tree)).depths == depths | {FOOD: 0, "/m/1": 1, "/m/2": 2}


def test_a_class_below_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"is below itself: {ANIMAL} > {ANIMAL}"):
        read_hierarchy(written(tmp_path, node(ANIMAL, node(ANIMAL))))
    # a part that holds the whole is no cycle of kinds
    read_hierarchy(written(tmp_path, node(ANIMAL, parts=(node("/m/tail", parts=(node(ANIMAL),)),))))


def test_depth_is_no_problem(tmp_path: Path) -> None:
    text = "".join(f'{{"LabelName": "/m/{depth}", "Subcategory": [' for depth in range(200))
    path = tmp_path / "hierarchy.json"
    path.write_text(text + json.dumps(node(FOOD)) + "]}" * 200)
    assert read_hierarchy(path).categories == {FOOD: "food"}
    path.write_text('{"Subcategory": [' * 100_000)
    with pytest.raises(DataError):
        read_hierarchy(path)


names = st.sampled_from([*ROOTS.values(), *(f"/m/{letter}" for letter in "abcdef")])
trees = st.recursive(
    names.map(node),
    lambda inner: st.builds(
        lambda name, below, parts: node(name, *below, parts=tuple(parts)),
        names,
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=2),
    ),
    max_leaves=12,
)


def pairs(tree: dict[str, Any]) -> set[tuple[str, str]]:
    found = {(tree["LabelName"], child["LabelName"]) for child in tree.get("Subcategory", [])}
    return found.union(*(pairs(child) for key in ("Subcategory", "Part") for child in tree.get(key, [])))


@given(tree=trees)
def test_categories_are_those_of_the_closure(tmp_path_factory: pytest.TempPathFactory, tree: dict[str, Any]) -> None:
    below = pairs(tree)
    while True:
        more = below | {(one, last) for one, middle in below for other, last in below if middle == other}
        if more == below:
            break
        below = more
    path = written(tmp_path_factory.mktemp("tree"), node("/m/root", node(PERSON), tree))
    if any(one == other for one, other in below):
        with pytest.raises(DataError, match="below itself"):
            read_hierarchy(path)
        return
    found = read_hierarchy(path)
    for name in found.known:
        homes = [kind for kind, root in ROOTS.items() if name == root or (root, name) in below]
        assert found.categories.get(name) == (homes[0] if homes else None)
        assert found.shared.get(name, ()) == (tuple(homes) if len(homes) > 1 else ())
