# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What holds between the rows of a release beyond their schemas: keys, turns, strata, candidates, boxes.

The rules are those of the design, sections 7, 8 and 10. Tables come in with their schemas checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from groundset.candvg.strata import bin_name
from groundset.errors import Problem
from groundset.fpco.checks import check
from groundset.fpco.variants import read, same_words, variant_id
from groundset.release.facts import CONFIGS, Config
from groundset.sources.fpco_record import PUBLISHED_PREFIX, cell_of

Row = Mapping[str, Any]
Rows = Mapping[str, list[Row]]

COMPLEXITY_CODES: Mapping[str, int] = {"single": 1, "separated": 2, "overlapping": 3}
CATEGORY_CODES: Mapping[str, int] = {"person": 1, "vehicle": 2, "animal": 3, "food": 4}
QUESTIONS = 10
FIRST_FALSE_TURN = 4
# what the readers let pass: COCO rounds its boxes to two decimals and InViG to whole pixels
BOX_TOLERANCE_PX = 1.0


def key_problems(config: Config, table: pa.Table) -> list[Problem]:
    """Rows that share their key, and rows that are not sorted by it."""
    keys = list(zip(*(table[name].to_pylist() for name in config.key), strict=True))
    problems = [
        Problem(config.name, str(key[0]), "", f"{count} rows have the key {', '.join(map(str, key))}")
        for key, count in Counter(keys).items()
        if count > 1
    ]
    # null keys are a matter of the schema, and do not sort
    if all(None not in key for key in keys) and keys != sorted(keys, key=_bytewise):
        problems.append(Problem(config.name, "", "", f"the rows are not sorted by {', '.join(config.key)}"))
    return problems


def _bytewise(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.encode() if isinstance(part, str) else part for part in key)


def _outside(box: list[float], image: Row | None) -> str:
    if image is None:
        return ""
    x_min, y_min, x_max, y_max = box
    if not (x_min < x_max and y_min < y_max):
        return f"the box {box} has no area"
    inside = (
        min(x_min, y_min) >= -BOX_TOLERANCE_PX
        and x_max <= image["width"] + BOX_TOLERANCE_PX
        and y_max <= image["height"] + BOX_TOLERANCE_PX
    )
    return "" if inside else f"the box {box} leaves the photograph of {image['width']} x {image['height']} pixels"


def image_problems(benchmark: str, rows: Rows) -> list[Problem]:
    """Rows without their photograph, photographs without a row, and rights that differ between the two."""
    images = {row["image_id"]: row for row in rows["images"]}
    used: set[str] = set()
    problems = []
    for config in CONFIGS[benchmark]:
        if config.name == "images":
            continue
        for row in rows.get(config.name, ()):
            record = str(row[config.key[0]])
            used.add(row["image_id"])
            image = images.get(row["image_id"])
            if image is None:
                message = f"the config images has no photograph {row['image_id']}"
                problems.append(Problem(config.name, record, "$.image_id", message))
                continue
            for key in ("licence", "credit"):
                if key in row and row[key] != image[key]:
                    message = f"{row[key]!r} is not what the config images says of the photograph: {image[key]!r}"
                    problems.append(Problem(config.name, record, f"$.{key}", message))
    return problems + [Problem("images", name, "", "no row uses this photograph") for name in set(images) - used]


def _fpco_dialogue_id(row: Row) -> Iterator[tuple[str, str]]:
    if row["writer"] == "published":
        cell = (row["complexity_code"], row["category_code"], row["false_class"])
        prefix, _, published_id = row["dialogue_id"].rpartition("-")
        if prefix != PUBLISHED_PREFIX or cell_of(published_id) != cell:
            told = f"{row['dialogue_id']!r} is not {PUBLISHED_PREFIX}- and a published id of the other columns' cell"
            yield "$.dialogue_id", told
        return
    value = f"{row['image_id']}-{row['category']}-{row['false_class']}"
    if row["dialogue_id"] != value:
        yield "$.dialogue_id", f"{row['dialogue_id']!r} should be {value!r} by the other columns"


def _fpco_dialogue(row: Row, image: Row | None) -> Iterator[tuple[str, str]]:
    stratum = f"{row['complexity']}-{row['category']}-{row['false_class']}"
    for key, value in (
        ("complexity_code", COMPLEXITY_CODES[row["complexity"]]),
        ("category_code", CATEGORY_CODES[row["category"]]),
        ("stratum", stratum),
    ):
        if row[key] != value:
            yield f"$.{key}", f"{row[key]!r} should be {value!r} by the other columns"
    yield from _fpco_dialogue_id(row)
    yield from _fpco_questions(row)
    outside = _outside(row["target_bbox_xyxy_px"], image)
    if outside:
        yield "$.target_bbox_xyxy_px", outside


def _fpco_questions(row: Row) -> Iterator[tuple[str, str]]:
    """What is wrong with the questions of a dialogue or a variant; where nothing is, what the hard checks say."""
    faults = list(_question_faults(row))
    yield from faults or (
        ("$.questions", f"{verdict.rule}: {verdict.detail}") for verdict in check(read(row)) if verdict.hard
    )


def _question_faults(row: Row) -> Iterator[tuple[str, str]]:
    if [question["id"] for question in row["questions"]] != list(range(1, QUESTIONS + 1)):
        yield "$.questions", f"the questions are not numbered 1 to {QUESTIONS}"
    for place, question in enumerate(row["questions"]):
        path = f"$.questions[{place}]"
        false_turn = question["id"] >= FIRST_FALSE_TURN
        if question["false_premise"] != false_turn:
            yield f"{path}.false_premise", f"it has to be {str(false_turn).lower()} at turn {question['id']}"
        if not false_turn and question["modified"] != question["content"]:
            yield f"{path}.modified", f"turn {question['id']} carries no false premise, so it has to equal content"
        if row["target_description"].casefold() not in question["content"].casefold():
            yield f"{path}.content", "it lacks the target description"
        if false_turn and row["modified_target_description"].casefold() not in question["modified"].casefold():
            yield f"{path}.modified", "it lacks the modified target description"


def _fpco_turn(row: Row, dialogue: Row) -> Iterator[tuple[str, str]]:
    for key in ("image_id", "false_class", "complexity", "category"):
        if row[key] != dialogue[key]:
            yield f"$.{key}", f"{row[key]!r} is not the dialogue's {dialogue[key]!r}"
    question = next((question for question in dialogue["questions"] if question["id"] == row["turn"]), None)
    if question is None:
        return
    for key, other in (("question", "modified"), ("true_question", "content"), ("false_premise", "false_premise")):
        if row[key] != question[other]:
            yield f"$.{key}", f"it is not the dialogue's {other} at turn {row['turn']}"


def _fpco_variant(row: Row, dialogue: Row) -> Iterator[tuple[str, str]]:
    if row["variant_id"] != variant_id(row["dialogue_id"], row["set"]):
        yield "$.variant_id", "it is not the dialogue_id and the set, joined by a hyphen"
    for key in row.keys() & dialogue.keys() - {"modified_target_description", "questions"}:
        if row[key] != dialogue[key]:
            yield f"$.{key}", f"{row[key]!r} is not the dialogue's {dialogue[key]!r}"
    yield from _fpco_questions(row)
    for place, (question, other) in enumerate(zip(row["questions"], dialogue["questions"], strict=True)):
        if question["content"] != other["content"]:
            yield f"$.questions[{place}].content", f"it is not the dialogue's content at turn {question['id']}"


def _variants_alike(rows: Rows) -> list[Problem]:
    """Variants that say the same as their dialogue or as another of its variants."""
    said = {row["dialogue_id"]: {"the dialogue": row["modified_target_description"]} for row in rows["dialogues"]}
    problems = []
    for row in rows["variants"]:
        others = said.setdefault(row["dialogue_id"], {})
        mine = row["modified_target_description"]
        alike = next((name for name, other in others.items() if same_words(mine, other)), None)
        if alike is not None:
            told = f"{mine!r} is the false description of {alike} already"
            problems.append(Problem("variants", row["variant_id"], "$.modified_target_description", told))
        others[f"set {row['set']}"] = mine
    return problems


def _of_dialogue(
    config: str, rows: Rows, faults: Callable[[Row, Row], Iterator[tuple[str, str]]], key: str
) -> list[Problem]:
    dialogues = {row["dialogue_id"]: row for row in rows["dialogues"]}
    problems = []
    for row in rows[config]:
        dialogue = dialogues.get(row["dialogue_id"])
        if dialogue is None:
            message = f"the config dialogues has no dialogue {row['dialogue_id']}"
            problems.append(Problem(config, row[key], "$.dialogue_id", message))
            continue
        problems += [Problem(config, row[key], path, message) for path, message in faults(row, dialogue)]
    return problems


def _each(config: str, rows: Rows, faults: Callable[[Row, Row | None], Iterator[tuple[str, str]]]) -> list[Problem]:
    images = {row["image_id"]: row for row in rows["images"]}
    return [
        Problem(config, row["dialogue_id"], path, message)
        for row in rows[config]
        for path, message in faults(row, images.get(row["image_id"]))
    ]


def _turns_missing(config: str, rows: Rows, wanted: Callable[[Row], int]) -> list[Problem]:
    found: dict[str, set[int]] = {}
    for row in rows[config]:
        found.setdefault(row["dialogue_id"], set()).add(row["turn"])
    problems = []
    for dialogue in rows["dialogues"]:
        expected, name = set(range(1, wanted(dialogue) + 1)), dialogue["dialogue_id"]
        missing, extra = sorted(expected - found.get(name, set())), sorted(found.get(name, set()) - expected)
        if missing:
            problems.append(Problem(config, name, "$.turn", f"no row has turn {', '.join(map(str, missing))}"))
        if extra:
            message = f"the dialogue has no turn {', '.join(map(str, extra))}"
            problems.append(Problem(config, name, "$.turn", message))
    return problems


def fpco_problems(rows: Rows) -> list[Problem]:
    """What is wrong between the rows of an FPCO-Dialog release.

    Args:
        rows: The rows of dialogues, turns and images, and of variants where the release has some.
    """
    problems = _each("dialogues", rows, _fpco_dialogue)
    problems += _of_dialogue("turns", rows, _fpco_turn, "dialogue_id")
    problems += _turns_missing("turns", rows, lambda dialogue: QUESTIONS)
    if "variants" in rows:
        problems += _of_dialogue("variants", rows, _fpco_variant, "variant_id") + _variants_alike(rows)
    cells = Counter(row["image_id"] for row in rows["dialogues"])
    problems += [
        Problem("dialogues", name, "$.image_id", f"one photograph serves {count} cells, not one")
        for name, count in cells.items()
        if count > 1
    ]
    return problems


def _candvg_dialogue(row: Row, image: Row | None) -> Iterator[tuple[str, str]]:
    objects = [item["object_id"] for item in row["objects"]]
    if len(set(objects)) != len(objects):
        yield "$.objects", "an object is listed twice"
    for place, item in enumerate(row["objects"]):
        outside = _outside(item["bbox_xyxy_px"], image)
        if outside:
            yield f"$.objects[{place}].bbox_xyxy_px", outside
    if [turn["turn"] for turn in row["turns"]] != list(range(1, len(row["turns"]) + 1)):
        yield "$.turns", "the turns are not numbered from 1"
    for place, turn in enumerate(row["turns"]):
        if (turn["question"] is None) != (place == 0):
            yield f"$.turns[{place}].question", "only the first turn has no question"
    if len(row["candidate_ids"]) != len(row["turns"]):
        yield "$.candidate_ids", f"{len(row['candidate_ids'])} candidate sets for {len(row['turns'])} turns"
    sets = [("$.initial_candidate_ids", row["initial_candidate_ids"])]
    sets += [(f"$.candidate_ids[{place}]", names) for place, names in enumerate(row["candidate_ids"])]
    for path, names in sets:
        if len(set(names)) != len(names):
            yield path, "a candidate is listed twice"
        strange = sorted(set(names) - set(objects))
        if strange:
            yield path, f"{', '.join(strange)}: not among the dialogue's objects"
    unique, merged = row["initial_candidates_unique"], len(set(row["initial_candidate_ids"]))
    if row["stratum"] != bin_name(unique):
        yield "$.stratum", f"{unique} unique initial candidates belong in bin {bin_name(unique)}, not {row['stratum']}"
    # fewer can be right: two candidates may be one object by way of a third box that is no candidate
    if not merged <= unique <= row["initial_candidates_raw"]:
        told = f"{row['initial_candidates_raw']} as listed, {unique} unique, {merged} objects"
        yield "$.initial_candidates_unique", f"merging only makes fewer, but there are {told}"
    if row["candidate_ids"] and len(row["candidate_ids"][0]) < 2:
        yield "$.candidate_ids[0]", "one object at the first turn: nothing is ambiguous"


def _candidate_ids(dialogue: Row, turn: int) -> list[str]:
    return list(dialogue["candidate_ids"][turn - 1]) if turn <= len(dialogue["candidate_ids"]) else []


def _candvg_sample(row: Row, dialogue: Row) -> Iterator[tuple[str, str]]:
    for key in ("image_id", "split", "stratum"):
        if row[key] != dialogue[key]:
            yield f"$.{key}", f"{row[key]!r} is not the dialogue's {dialogue[key]!r}"
    if row["sample_id"] != f"{row['dialogue_id']}-t{row['turn']}":
        yield "$.sample_id", "it is not the dialogue_id and the turn, joined by -t"
    if len(row["context"]) != row["turn"]:
        yield "$.context", f"it has {len(row['context'])} turns, and the sample is of turn {row['turn']}"
    elif row["context"] != dialogue["turns"][: row["turn"]]:
        yield "$.context", "it is not the beginning of the dialogue"
    kind = "CVG" if len(row["candidates"]) == 1 else "CSVG"
    if row["sample_type"] != kind:
        yield "$.sample_type", f"{len(row['candidates'])} candidates make it {kind}, not {row['sample_type']}"
    names = [item["object_id"] for item in row["candidates"]]
    if sorted(names) != sorted(_candidate_ids(dialogue, row["turn"])):
        yield "$.candidates", f"{', '.join(sorted(names))}: not the dialogue's candidates at turn {row['turn']}"
    boxes = {item["object_id"]: item["bbox_xyxy_px"] for item in dialogue["objects"]}
    for place, item in enumerate(row["candidates"]):
        if item["object_id"] in boxes and item["bbox_xyxy_px"] != boxes[item["object_id"]]:
            yield f"$.candidates[{place}].bbox_xyxy_px", "it is not the box that the dialogue gives the object"


def _candvg_point(row: Row, dialogue: Row) -> Iterator[tuple[str, str]]:
    if row["image_id"] != dialogue["image_id"]:
        yield "$.image_id", f"{row['image_id']!r} is not the dialogue's {dialogue['image_id']!r}"
    if row["object_id"] not in _candidate_ids(dialogue, row["turn"]):
        yield "$.object_id", f"{row['object_id']} is no candidate at turn {row['turn']}"
    box = next((item["bbox_xyxy_px"] for item in dialogue["objects"] if item["object_id"] == row["object_id"]), None)
    if box and not (box[0] <= row["x_px"] <= box[2] and box[1] <= row["y_px"] <= box[3]):
        yield "$", f"the point {row['x_px']}, {row['y_px']} lies outside the box of its object {row['object_id']}"


def _points_of_sets(rows: Rows) -> list[Problem]:
    found: dict[tuple[str, int], list[str]] = {}
    for row in rows["points"]:
        found.setdefault((row["dialogue_id"], row["turn"]), []).append(row["object_id"])
    problems = []
    for dialogue in rows["dialogues"]:
        for turn, names in enumerate(dialogue["candidate_ids"], 1):
            points = sorted(found.get((dialogue["dialogue_id"], turn), []))
            if points != sorted(names):
                told = ", ".join(points) or "nothing"
                message = f"the points of turn {turn} mean {told}, the candidates are {', '.join(sorted(names))}"
                problems.append(Problem("points", dialogue["dialogue_id"], "$.object_id", message))
    return problems


def candvg_problems(rows: Rows) -> list[Problem]:
    """What is wrong between the rows of a CandVG release.

    Args:
        rows: The rows of samples, dialogues, points and images.
    """
    problems = _each("dialogues", rows, _candvg_dialogue)
    problems += _of_dialogue("samples", rows, _candvg_sample, "sample_id")
    problems += _turns_missing("samples", rows, lambda dialogue: len(dialogue["turns"]))
    problems += _of_dialogue("points", rows, _candvg_point, "dialogue_id")
    return problems + _points_of_sets(rows)
