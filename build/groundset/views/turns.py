# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What is shown of a release: one entry a turn, with its texts, boxes and points, before any viewer is involved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundset.verdicts import Verdict
from groundset.views.reading import Row, Rows

RELEASED = "released"
REJECTED = "rejected"

ONE_LEFT = "only one left"
PLAUSIBLE = "plausible"
ADDED = "added"
RULED_OUT = "ruled out"
RULED_OUT_BEFORE = "ruled out before"
NOT_IN_QUESTION = "not in question"
TRUE_PREMISE = "true premise"
FALSE_PREMISE = "false premise"

IMAGE_FIELDS = (
    "source",
    "source_image_id",
    "licence",
    "licence_url",
    "credit",
    "title",
    "author",
    "landing_url",
    "embedded",
)


@dataclass(frozen=True)
class Box:
    """A box as it is drawn.

    Attributes:
        label: What is written on it.
        state: What its colour tells.
        object_id: The object.
        xywh: x_min, y_min, width, height as shares of the photograph's width and height.
    """

    label: str
    state: str
    object_id: str
    xywh: tuple[float, float, float, float]


@dataclass(frozen=True)
class Dot:
    """A point that an annotator set: the object it means, x and y as shares of the photograph's width and height."""

    object_id: str
    xy: tuple[float, float]


@dataclass(frozen=True)
class Entry:
    """One turn as it is shown, or one record that a build rejected.

    Attributes:
        file: The photograph.
        width: Its width in pixels.
        height: Its height in pixels.
        facts: Name to text, number, truth value, list of texts or None.
        boxes: Name of a field to its boxes.
        dots: Points; empty where none belong.
        tags: Rules that flag the dialogue, sorted, or the one that rejected the record.
    """

    file: str
    width: int
    height: int
    facts: Mapping[str, Any]
    boxes: Mapping[str, tuple[Box, ...]]
    dots: tuple[Dot, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flags:
    """What checks say of a release's dialogues: dialogue_id to the verdicts."""

    of: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)

    def tags(self, dialogue_id: str) -> tuple[str, ...]:
        """Names of the rules, each once, sorted."""
        return tuple(sorted({verdict.rule for verdict in self.of.get(dialogue_id, ())}))

    def texts(self, dialogue_id: str) -> list[str]:
        """What they say, sorted."""
        return sorted({f"{verdict.rule}: {verdict.detail}" for verdict in self.of.get(dialogue_id, ())})


def shares(bbox_xyxy: Sequence[float], width: float, height: float) -> tuple[float, float, float, float]:
    """A box as shares of its frame: x_min, y_min, width, height.

    >>> shares([10.0, 20.0, 60.0, 40.0], 100, 80)
    (0.1, 0.25, 0.5, 0.25)
    """
    x_min, y_min, x_max, y_max = bbox_xyxy
    return x_min / width, y_min / height, (x_max - x_min) / width, (y_max - y_min) / height


def told(turns: Iterable[Row]) -> list[str]:
    """A dialogue of CandVG as lines to read.

    >>> told([{"question": None, "response": "The cup."}, {"question": "Which?", "response": "Red."}])
    ['user: The cup.', 'system: Which?', 'user: Red.']
    """
    lines: list[str] = []
    for turn in turns:
        lines += [f"system: {turn['question']}"] if turn["question"] is not None else []
        lines.append(f"user: {turn['response']}")
    return lines


def states(sets: Sequence[Collection[str]], object_ids: Iterable[str]) -> dict[str, str]:
    """What the last of several candidate sets says of each object.

    >>> states([["a", "b", "c"], ["a", "b"], ["b", "d"]], ["a", "b", "c", "d", "e"])
    {'a': 'ruled out', 'b': 'plausible', 'c': 'ruled out before', 'd': 'added', 'e': 'not in question'}

    Args:
        sets: The candidate sets of turns 1 to now.
        object_ids: The photograph's objects.
    """
    now, before = sets[-1], sets[-2] if len(sets) > 1 else sets[-1]
    found = {}
    for object_id in object_ids:
        if object_id in now:
            state = ONE_LEFT if len(now) == 1 else PLAUSIBLE if object_id in before else ADDED
        elif object_id in before:
            state = RULED_OUT
        else:
            state = RULED_OUT_BEFORE if any(object_id in earlier for earlier in sets) else NOT_IN_QUESTION
        found[object_id] = state
    return found


def _image_facts(image: Row) -> dict[str, Any]:
    return {"image_id": image["image_id"], **{name: image[name] for name in IMAGE_FIELDS}}


def _candvg(rows: Rows, files: Mapping[str, Path], flags: Flags) -> Iterator[Entry]:
    images = {row["image_id"]: row for row in rows.tables["images"]}
    dialogues = {row["dialogue_id"]: row for row in rows.tables["dialogues"]}
    points: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows.tables["points"]:
        points[row["dialogue_id"], row["turn"]].append(row)
    for row in rows.tables["samples"]:
        if row["image_id"] not in files:
            continue
        image, dialogue, turn = images[row["image_id"]], dialogues[row["dialogue_id"]], row["turn"]
        width, height = image["width"], image["height"]
        chosen = {candidate["object_id"]: candidate["bbox_xyxy_px"] for candidate in row["candidates"]}
        boxes_px = {entry["object_id"]: entry["bbox_xyxy_px"] for entry in dialogue["objects"]} | chosen
        # the sample's own set is what is released: what leads to it only says how it came about
        found = states([*dialogue["candidate_ids"][: turn - 1], list(chosen)], boxes_px)
        boxes = [
            Box(found[name], found[name], name, shares(box, width, height)) for name, box in sorted(boxes_px.items())
        ]
        last = row["context"][-1]
        yield Entry(
            file=str(files[row["image_id"]]),
            width=width,
            height=height,
            facts={
                "dialogue_id": row["dialogue_id"],
                "turn": turn,
                "turns": len(dialogue["turns"]),
                "question": last["question"],
                "response": last["response"],
                "dialogue": told(row["context"]),
                "record_id": row["sample_id"],
                "stratum": row["stratum"],
                "sample_type": row["sample_type"],
                "candidates_left": len(chosen),
                "source_split": row["split"],
                **_image_facts(image),
                "outcome": RELEASED,
                "flags": flags.texts(row["dialogue_id"]),
            },
            boxes={
                "candidates": tuple(box for box in boxes if box.object_id in chosen),
                "other_objects": tuple(box for box in boxes if box.object_id not in chosen),
            },
            dots=tuple(
                Dot(point["object_id"], (point["x_px"] / width, point["y_px"] / height))
                for point in points[row["dialogue_id"], turn]
            ),
            tags=flags.tags(row["dialogue_id"]),
        )


def _fpco(rows: Rows, files: Mapping[str, Path], flags: Flags) -> Iterator[Entry]:
    images = {row["image_id"]: row for row in rows.tables["images"]}
    dialogues = {row["dialogue_id"]: row for row in rows.tables["dialogues"]}
    variants: dict[str, list[str]] = {name: [] for name in dialogues}
    for row in rows.tables.get("variants", ()):
        variants[row["dialogue_id"]].append(f"{row['set']}. {row['modified_target_description']}")
    for row in rows.tables["turns"]:
        if row["image_id"] not in files:
            continue
        image, dialogue = images[row["image_id"]], dialogues[row["dialogue_id"]]
        state = FALSE_PREMISE if row["false_premise"] else TRUE_PREMISE
        name = "modified_target_description" if row["false_premise"] else "target_description"
        box = shares(dialogue["target_bbox_xyxy_px"], image["width"], image["height"])
        asked = dialogue["questions"][: row["turn"]]
        yield Entry(
            file=str(files[row["image_id"]]),
            width=image["width"],
            height=image["height"],
            facts={
                "dialogue_id": row["dialogue_id"],
                "turn": row["turn"],
                "turns": len(dialogue["questions"]),
                "question": row["question"],
                "true_question": row["true_question"],
                "false_premise": row["false_premise"],
                "target_description": dialogue["target_description"],
                "modified_target_description": dialogue["modified_target_description"],
                **({"variants": variants[row["dialogue_id"]]} if "variants" in rows.tables else {}),
                "target_label": dialogue["target_label"],
                "dialogue": [f"{question['id']}. {question['modified']}" for question in asked],
                "record_id": f"{row['dialogue_id']}-t{row['turn']}",
                "stratum": dialogue["stratum"],
                "complexity": row["complexity"],
                "category": row["category"],
                "false_class": row["false_class"],
                "writer": dialogue["writer"],
                **_image_facts(image),
                "outcome": RELEASED,
                "flags": flags.texts(row["dialogue_id"]),
            },
            boxes={"target": (Box(dialogue[name], state, dialogue["target_object_id"], box),)},
            tags=flags.tags(row["dialogue_id"]),
        )


def entries(rows: Rows, files: Mapping[str, Path], flags: Flags) -> tuple[Entry, ...]:
    """What is shown of a release, by stratum, dialogue and turn.

    Args:
        rows: The release.
        files: image_id to its photograph; turns on others are left out.
        flags: What checks say of the dialogues, which becomes tags.
    """
    make = _candvg if rows.record.facts.benchmark == "candvg" else _fpco
    order = ("stratum", "dialogue_id", "turn")
    return tuple(sorted(make(rows, files, flags), key=lambda entry: [entry.facts[name] for name in order]))
