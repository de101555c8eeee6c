# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The golden figures are drawn anew with GROUNDSET_UPDATE_GOLDEN=1."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from groundset.release.facts import FunnelStep, Stratum
from groundset.release.figures import figures

GOLDEN = Path(__file__).parents[1] / "golden" / "figures"
NAMES = {
    "candvg": ["funnel", "set_sizes", "unique_candidates", "changes", "points"],
    "fpco-dialog": ["funnel", "cells", "target_areas"],
}


def drawn_of(material):
    return figures(material.facts, material.tables, material.images)


@pytest.fixture(params=sorted(NAMES))
def material(request: pytest.FixtureRequest, candvg, fpco):
    return {"candvg": candvg, "fpco-dialog": fpco}[request.param]


def test_figures_are_the_golden_ones(material) -> None:
    found = drawn_of(material)
    assert list(found) == NAMES[material.facts.benchmark]
    for name, figure in found.items():
        golden = GOLDEN / f"{material.facts.benchmark}-{name}.svg"
        if os.environ.get("GROUNDSET_UPDATE_GOLDEN") == "1":
            golden.write_bytes(figure.svg.encode())
        told = f"{name} changed; if it should, set GROUNDSET_UPDATE_GOLDEN=1"
        assert figure.svg == golden.read_bytes().decode(), told


def test_order_of_the_rows_changes_nothing(material) -> None:
    tables = {name: table.take(list(range(table.num_rows))[::-1]) for name, table in material.tables.items()}
    assert drawn_of(replace(material, tables=tables)) == drawn_of(material)


def test_figures_are_whole_numbers_within_their_frame_and_nothing_active(material) -> None:
    for figure in drawn_of(material).values():
        root = ElementTree.fromstring(figure.svg)
        tags = [child.tag.rpartition("}")[2] for child in root]
        assert tags[:2] == ["title", "desc"]
        assert (root[0].text, root[1].text) == (figure.title, figure.about)
        # a style sheet, a script or a picture from elsewhere would not be shown on the Hub
        assert set(tags[2:]) == {"rect", "text"}
        width, height = int(root.attrib["width"]), int(root.attrib["height"])
        for child in root[2:]:
            x, y = int(child.attrib["x"]), int(child.attrib["y"])
            assert 0 <= x <= x + int(child.attrib.get("width", 0)) <= width, figure.name
            assert 0 <= y <= y + int(child.attrib.get("height", 0)) <= height, figure.name
        # columns on the Hub are about 800 pixels wide
        assert width <= 800
        assert not re.search(r'="[^"]*\d\.\d', figure.svg.replace("http://www.w3.org/2000/svg", ""))


def test_funnel_leaves_out_what_is_no_record_of_the_benchmark(candvg) -> None:
    steps = (
        FunnelStep("10_import", "objects", 10**6, 10**6 - 1, {"degenerate_box": 1}),
        FunnelStep("10_import", "dialogues", 2998, 2998, {}),
        FunnelStep("20_filter", "dialogues", 2998, 2171, {"too_few_candidates": 827}),
        FunnelStep("70_validate", "samples", 4833, 4833, {}),
        FunnelStep("70_validate", "dialogues", 0, 0, {}),
    )
    svg = drawn_of(replace(candvg, facts=replace(candvg.facts, funnel=steps)))["funnel"].svg
    assert re.findall(r">([^<]*)</text>", svg)[1:] == [
        "kept",
        "rejected",
        "10_import, 2998 dialogues",
        "2998",
        "0",
        "20_filter, 2998 dialogues",
        "2171",
        "827",
    ]


def test_what_there_is_nothing_to_draw_of_is_left_out(candvg, fpco) -> None:
    empty = {name: table.slice(0, 0) for name, table in candvg.tables.items()}
    assert list(figures(replace(candvg.facts, funnel=()), empty, candvg.images)) == []
    other = replace(fpco.facts, strata=(Stratum("a|b", 2, 1),), funnel=())
    assert list(figures(other, fpco.tables, fpco.images)) == ["target_areas"]


def test_a_cell_above_what_was_wanted_is_no_darker_than_full(fpco) -> None:
    strata = (Stratum("single-animal-identity", 3, 3), Stratum("single-animal-location", 3, 5))
    svg = figures(replace(fpco.facts, strata=strata), fpco.tables, fpco.images)["cells"].svg
    assert re.findall(r'fill="(#08306b)"', svg) == ["#08306b"] * 2
    assert ">5 of 3<" in svg


def test_points_have_a_panel_for_each_turn(candvg) -> None:
    svg = drawn_of(candvg)["points"].svg
    assert re.findall(r">(turn [^<]*)</text>", svg) == ["turn 1, 4 points", "turn 2, 5 points", "turn 3, 1 point"]
