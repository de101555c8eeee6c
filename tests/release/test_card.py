# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The golden cards are written anew with GROUNDSET_UPDATE_GOLDEN=1."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from groundset.candvg import pipeline as candvg_pipeline
from groundset.fpco import pipeline as fpco_pipeline
from groundset.licences import POLICIES, may_embed
from groundset.release.attribution import count_licences
from groundset.release.card import card, example
from groundset.release.card_texts import STAGES
from groundset.release.facts import CONFIGS, Stratum, Withdrawn
from groundset.release.figures import figures
from groundset.release.front_matter import read_front_matter
from groundset.release.parquet import Size
from groundset.stage import Stage

GOLDEN = Path(__file__).parents[1] / "golden" / "cards"


def card_of(material) -> str:
    # sizes on disk vary with the version of pyarrow, and are not what is tested here
    tables = {**material.tables, "images": material.images}
    sizes = {name: Size(table.num_rows, 1000, 2000, 1) for name, table in tables.items()}
    return card(material.facts, tables, material.images, sizes, figures(material.facts, tables, material.images))


@pytest.mark.parametrize(
    ("name", "benchmark", "policy", "changes"),
    [
        ("fpco-dialog", "fpco-dialog", "permissive", {}),
        ("fpco-dialog-non-commercial", "fpco-dialog", "non-commercial", {"statistics": ()}),
        ("candvg-simulated", "candvg", "permissive", {"simulated": ("Pictures were drawn.", "Points are\nsimulated.")}),
        ("candvg-reference-only", "candvg", "reference-only", {"limitations": (), "citation": "To come."}),
    ],
)
def test_card_is_the_golden_one(name, benchmark, policy, changes, make, tmp_path: Path) -> None:
    found = card_of(make[benchmark](tmp_path, policy, **changes))
    golden = GOLDEN / f"{name}.md"
    if os.environ.get("GROUNDSET_UPDATE_GOLDEN") == "1":
        golden.write_bytes(found.encode())
    assert found == golden.read_bytes().decode(), "the card changed; if it should, set GROUNDSET_UPDATE_GOLDEN=1"


def test_withdrawn_photographs_are_listed_with_the_reason_alone(candvg) -> None:
    text = card_of(replace(candvg, facts=replace(candvg.facts, withdrawn=(Withdrawn("invig-9z", "licence"),))))
    assert "| invig-9z | its licence is not as its source said |" in text
    assert "Withdrawn" not in card_of(candvg)


@pytest.mark.parametrize(
    ("benchmark", "stages"), [("candvg", candvg_pipeline.STAGES), ("fpco-dialog", fpco_pipeline.STAGES)]
)
def test_every_stage_that_keeps_rows_says_what_they_are(benchmark: str, stages: tuple[Stage, ...]) -> None:
    assert {stage.name for stage in stages if stage.accounts} == {*STAGES[benchmark]}


def test_only_a_release_with_referenced_photographs_asks_to_fill_them_in(make, tmp_path: Path) -> None:
    assert "(see above)" in card_of(make["candvg"](tmp_path / "a", "reference-only"))
    full = make["candvg"](tmp_path / "b", "non-commercial")
    assert all(full.images["embedded"].to_pylist())
    assert "(see above)" not in card_of(full)


def test_odd_facts_stay_in_their_places(fpco) -> None:
    facts = replace(
        fpco.facts,
        title="A: title | with - marks",
        authors=("Ø. Å",),
        citation="```\nfence\n```",
        strata=(Stratum("a|b", 2, 1),),
        sources=(),
    )
    page = card_of(replace(fpco, facts=facts))
    assert read_front_matter(page)["pretty_name"] == "A: title | with - marks"
    assert "| a\\|b | 2 | 1 |" in page
    assert "````text\n```\nfence\n```\n````" in page


def test_example_is_a_real_row(fpco, candvg) -> None:
    for material, key in ((fpco, "dialogue_id"), (candvg, "sample_id")):
        shown = example(material.facts, material.tables, material.images)
        row = json.loads(re.fullmatch(r"```json\n(.*)\n```", shown, re.DOTALL)[1])
        table = material.tables[CONFIGS[material.facts.benchmark][0].name]
        real = next(real for real in table.to_pylist() if real[key] == row[key])
        assert row.pop("image").startswith("<PIL image, 64 x 48 pixels")
        assert row == real
    assert row["turn"] == 3


def test_funnel_and_strata_tell_what_falls_short(fpco) -> None:
    page = card_of(fpco)
    assert "| 20_filter | images | 12 | 9 | 3 | fit for the benchmark by rule | group_box 1; too_small 2 |" in page
    assert "1 of 3 strata fall short of what was wanted; in all there are 8 of 9." in page
    assert "In 3 of 8 rows of `dialogues` the column `image` is null" in page


def test_a_stratum_above_what_was_wanted_is_explained(candvg) -> None:
    facts = replace(candvg.facts, strata=(Stratum("2", 270, 290), Stratum("3", 270, 250)))
    page = card_of(replace(candvg, facts=facts))
    assert "1 of 2 strata fall short of what was wanted; in all there are 540 of 540. A stratum that has more" in page


def test_card_shows_every_figure_of_its_release(candvg, fpco) -> None:
    for material in (candvg, fpco):
        drawn = figures(material.facts, material.tables, material.images)
        shown = re.findall(r"^!\[([^]]+)\]\(([^)]+)\)$", card_of(material), re.MULTILINE)
        assert sorted(path for _, path in shown) == sorted(figure.path for figure in drawn.values())
        for text, path in shown:
            figure = next(figure for figure in drawn.values() if figure.path == path)
            assert text == f"{figure.title}. {figure.about}"


def test_strata_come_in_the_order_of_the_paper(fpco) -> None:
    names = ("single-food-location", "overlapping-person-identity", "single-person-attribute", "single-person-identity")
    page = card_of(replace(fpco, facts=replace(fpco.facts, strata=tuple(Stratum(name, 2, 1) for name in names))))
    assert (
        """\
| stratum | identity | attribute | location |
|---|---:|---:|---:|
| single-person | 1 of 2 | 1 of 2 |  |
| single-food |  |  | 1 of 2 |
| overlapping-person | 1 of 2 |  |  |
"""
        in page
    )


def test_a_licence_says_under_which_policies_it_may_be_embedded(fpco) -> None:
    page = card_of(fpco)
    for spdx in count_licences(fpco.images):
        (line,) = re.findall(rf"^\| \[{re.escape(spdx)}\]\(.*$", page, re.MULTILINE)
        told = line.split(" | ")[5].removesuffix(", unchanged only")
        assert told == ", ".join(policy for policy in POLICIES if may_embed(spdx, policy))
        assert ("unchanged only" in line) == ("-ND-" in spdx)


def test_counts_follow_from_the_rows(candvg, fpco) -> None:
    page = card_of(candvg)
    assert "| CVG samples: one object is left | 1 |" in page
    assert "| dialogues that end with several candidates | 1 (50.00 %) |" in page
    assert "| pairs in which a candidate is added | 1 (33.33 %) |" in page
    assert "| 2 | 0 | 1 | 1 |" in page
    assert "| attribute | 3 | 3 | 0 | 3 |" in card_of(fpco)
