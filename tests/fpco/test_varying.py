# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The stages of lexical variants in whole builds: written by templates, and decided on by people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundset import manifest as manifests
from groundset import runner
from groundset.errors import WaitingForPeopleError
from groundset.fpco.variants import same_words
from groundset.release.verify import verify
from groundset.stage import read_receipt, read_table

Demo = Callable[..., Path]
Row = dict[str, Any]


def build(manifest: Path, work: Path, sources: Path, **options: Any) -> runner.Place:
    return runner.build(manifests.read(manifest, sources), work, runner.Options(**options), lambda line: None)


def rows(place: runner.Place, table: str) -> list[Row]:
    found: list[Row] = read_table(place, table).to_pylist()
    return found


def account(place: runner.Place, stage: str) -> Row:
    receipt = read_receipt(place, stage)
    assert receipt is not None
    found: Row = receipt["accounts"]["variant"]
    return found


def test_templates_write_variants_that_differ_in_the_false_words_alone(demo: Demo, world: Path, tmp_path: Path) -> None:
    place = build(demo("fpco-dialog", images_per_false_class=4), tmp_path / "work", world)
    dialogues = {row["dialogue_id"]: row for row in rows(place, "70_validate/dialogues")}
    kept, rejected = rows(place, "72_vary/kept"), rows(place, "72_vary/rejected")
    assert account(place, "72_vary")["in"] == len(kept) + len(rejected) == 24
    assert {row["rule"] for row in rejected} <= {"writer_declined_no_variant"}
    assert len({row["false_class"] for row in kept}) == 3
    said: dict[str, list[str]] = {}
    for row in kept:
        mine = dialogues[row["dialogue_id"]]
        others = said.setdefault(row["dialogue_id"], [mine["modified_target_description"]])
        assert not any(same_words(row["modified_target_description"], other) for other in others)
        others.append(row["modified_target_description"])
        for asked, theirs in zip(row["questions"], mine["questions"], strict=True):
            assert asked["content"] == theirs["content"]
            told = mine["modified_target_description"], row["modified_target_description"]
            assert asked["modified"].casefold() == theirs["modified"].casefold().replace(*told)
    assert max(map(len, said.values())) == 3
    assert verify(place.work / "80_package/release") == []


def test_another_set_leaves_the_sets_before_it_as_they_are(demo: Demo, world: Path, tmp_path: Path) -> None:
    kept = []
    for name, sets in (("two", '["A", "B"]'), ("three", '["A", "B", "C"]')):
        place = build(demo("fpco-dialog", name, sets=sets), tmp_path / name, world, to="72_vary")
        kept.append(rows(place, "72_vary/kept"))
    assert [row for row in kept[1] if row["set"] != "C"] == kept[0]
    assert Counter(row["set"] for row in kept[1])["C"] > 0


def edited(row: Row, **changes: Any) -> Row:
    keys = ("target_description", "modified_target_description", "questions")
    return {key: row[key] for key in keys} | changes


def with_false(row: Row, false: str) -> Row:
    """The edit that puts other false words in, everywhere."""
    old = row["modified_target_description"]
    asked = [{**one, "modified": one["modified"].replace(old, false)} for one in row["questions"]]
    return edited(row, modified_target_description=false, questions=asked)


def test_people_decide_on_every_variant_and_what_they_edit_is_held_to_the_rules(
    demo: Demo, world: Path, tmp_path: Path
) -> None:
    manifest = demo("fpco-dialog", screening='"none"', review='"people"', files='["said.jsonl"]')
    work, log = tmp_path / "work", manifest.parent / "said.jsonl"

    def queue(stage: str) -> list[Row]:
        return [json.loads(line) for line in (work / "queue" / f"{stage}.jsonl").read_text("utf-8").splitlines()]

    def decide(items: list[Row], values: dict[str, Row], seq: int) -> None:
        with log.open("a", encoding="utf-8") as file:
            for item in items:
                row = {key: item[key] for key in ("kind", "item_id", "turn", "seen_sha256")}
                value = {"verdict": "accept", "reason": None, "edited": None, **values.get(item["item_id"], {})}
                row |= {"decision_id": f"d{seq}-{item['item_id']}", "seq": seq, "annotator": "a", "purpose": "main"}
                file.write(json.dumps({**row, "value": value}) + "\n")

    with pytest.raises(WaitingForPeopleError, match="60_review"):
        build(manifest, work, world)
    # a person edits a dialogue: its variants are those of what is released
    drafts = queue("60_review")
    decide(drafts, {}, 1)
    with pytest.raises(WaitingForPeopleError, match="76_judge"):
        build(manifest, work, world)
    one = queue("76_judge")[0]
    place = runner.place_of(manifests.read(manifest, world), work)
    before = {row["dialogue_id"]: row for row in rows(place, "70_validate/dialogues")}
    name = one["item_id"][:-2]
    draft = next(item for item in drafts if before[name]["image_id"] == item["shown"]["image_id"])
    swap = with_false(draft["shown"], one["shown"]["modified_target_description"])
    decide([draft], {draft["item_id"]: {"verdict": "edit", "edited": swap}}, 2)
    with pytest.raises(WaitingForPeopleError, match="76_judge"):
        build(manifest, work, world)
    waiting = queue("76_judge")
    assert {item["kind"] for item in waiting} == {"variant"}
    fresh = [item for item in waiting if item["item_id"][:-2] == name]
    assert one["shown"] not in [item["shown"] for item in fresh]
    # of the rest one is rejected, and four are edited, three of them against the rules
    pairs = [item for item in waiting if item["item_id"].endswith("B") and item not in fresh]
    first, second, third, fourth = pairs[:4]
    assert {item["item_id"][:-1] + "A" for item in pairs} <= {item["item_id"] for item in waiting}
    main = before[second["item_id"][:-2]]
    better = {**first["shown"]["questions"][0], "content": "Is it there?", "modified": "Is it there?"}
    values = {
        first["item_id"]: {
            "verdict": "edit",
            "edited": edited(first["shown"], questions=[better, *first["shown"]["questions"][1:]]),
        },
        second["item_id"]: {
            "verdict": "edit",
            "edited": with_false(second["shown"], main["modified_target_description"]),
        },
        third["item_id"]: {"verdict": "reject", "reason": "odd_words"},
        fourth["item_id"]: {"verdict": "edit", "edited": edited(fourth["shown"])},
    }
    decide([item for item in waiting if item != waiting[-1]], values, 3)
    with pytest.raises(WaitingForPeopleError, match="1 item waits for people"):
        build(manifest, work, world)
    decide([waiting[-1]], {}, 3)
    place = build(manifest, work, world)
    told = {row["record_id"]: row["rule"] for row in rows(place, "76_judge/rejected")}
    assert told == {
        first["item_id"]: "edited_description_missing",
        second["item_id"]: "edited_variant_repeats",
        third["item_id"]: "review_odd_words",
    }
    kept = {row["variant_id"]: row for row in rows(place, "76_judge/kept")}
    assert set(kept) == {item["item_id"] for item in waiting} - set(told)
    assert account(place, "76_judge")["in"] == len(waiting)
    assert verify(place.work / "80_package/release") == []
    # the decisions on dialogues stay what they were
    assert rows(place, "60_review/flagged") != []


def test_an_edit_may_give_a_variant_other_words_and_no_other_truth(demo: Demo, world: Path, tmp_path: Path) -> None:
    manifest = demo("fpco-dialog", screening='"none"', review='"people"', files='["said.jsonl"]', sets='["A"]')
    work, log = tmp_path / "work", manifest.parent / "said.jsonl"

    def decide(stage: str, edit: Callable[[Row], Row | None]) -> list[Row]:
        found = [json.loads(line) for line in (work / "queue" / f"{stage}.jsonl").read_text("utf-8").splitlines()]
        with log.open("a", encoding="utf-8") as file:
            for item in found:
                new = edit(item)
                value = {"verdict": "edit" if new else "accept", "reason": None, "edited": new}
                row = {key: item[key] for key in ("kind", "item_id", "turn", "seen_sha256")}
                row |= {"decision_id": item["item_id"], "seq": 1, "annotator": "a", "purpose": "main", "value": value}
                file.write(json.dumps(row) + "\n")
        return found

    with pytest.raises(WaitingForPeopleError):
        build(manifest, work, world)
    decide("60_review", lambda item: None)
    with pytest.raises(WaitingForPeopleError):
        build(manifest, work, world)

    def edit(item: Row) -> Row | None:
        shown = item["shown"]
        if shown["false_class"] == "identity":
            old = shown["modified_target_description"].split()
            return with_false(shown, " ".join(["the", "statue", *old[2:]]))
        if shown["false_class"] == "attribute":
            asked = [
                {**one, **{key: one[key].replace("?", ", please?") for key in ("content", "modified")}}
                for one in shown["questions"]
            ]
            return edited(shown, questions=asked)
        return None

    decide("76_judge", edit)
    place = build(manifest, work, world)
    found = {row["variant_id"]: row for row in rows(place, "76_judge/kept")}
    rejected = rows(place, "76_judge/rejected")
    assert {row["rule"] for row in rejected if "-attribute-" in row["record_id"]} == {"edited_variant_truth_changed"}
    flags = rows(place, "76_judge/flagged")
    flagged = [row["record_id"] for row in flags if row["rule"] == "edited_by_a_person"]
    statues = [name for name, row in found.items() if "statue" in row["modified_target_description"]]
    assert statues
    assert set(statues) <= set(flagged)
    assert not any("-attribute-" in name for name in found)
