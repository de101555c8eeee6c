# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes drawn crowds and their dialogues as InViG 21K ships its validation and test splits."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groundset.miniworld.backdrop import HEIGHT_PX, WIDTH_PX
from groundset.miniworld.chance import Chance
from groundset.miniworld.conversation import converse, wrong_candidates
from groundset.miniworld.crowd import CLASSES, Crowd, Member, plan_crowd
from groundset.miniworld.draw import draw, jpeg

# The publisher's file name of a split to the word that the benchmark uses for it.
SPLITS = {"valid": "validation", "test": "test"}
_BINS = ((2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 13))
_EACH_BIN = {"valid": 8, "test": 3}


@dataclass(frozen=True)
class _Wish:
    name: str
    number: int
    others: int
    spread: float = 0.15
    duplicated: bool = False
    widens: bool = False


def _wishes(split: str, chance: Chance) -> list[_Wish]:
    wishes = [
        _Wish(
            f"bin {low} {n}",
            chance.whole(f"number {low} {n}", low, high),
            chance.whole(f"others {low} {n}", 0, 2),
            widens=n == 0 and low > 3,
        )
        for low, high in _BINS
        for n in range(_EACH_BIN[split])
    ]
    if split == "valid":
        wishes += [
            *(_Wish(f"lone {n}", 1, 2) for n in range(3)),
            _Wish("too many", 17, 0),
            _Wish("too unlike", 3, 0, spread=0.85),
            _Wish("duplicated", 4, 1, duplicated=True),
        ]
    return wishes


def _twice(crowd: Crowd) -> Crowd:
    """The crowd with a second, nearly identical box for the first thing of the class, at the end."""
    first = crowd.members[crowd.of_class()[0]]
    x_min, y_min, x_max, y_max = first.thing.bbox_xyxy_px
    box = (x_min, y_min, round(x_max - 0.4, 2), round(y_max - 0.4, 2))
    again = Member(replace(first.thing, bbox_xyxy_px=box), first.row)
    return replace(crowd, members=(*crowd.members, again))


def _record(seed: str, split: str, number: int, wish: _Wish) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    chance = Chance(seed, f"invig {split} {wish.name}")
    crowd = plan_crowd(chance, chance.pick("class", CLASSES), wish.number, wish.others, wish.spread)
    conversation = converse(crowd, chance, wish.widens)
    marked = _twice(crowd) if wish.duplicated else crowd
    boxes = [list(member.thing.bbox_xyxy_px) for member in marked.members]
    wrong_questions, wrong_answers = wrong_candidates(conversation, chance)
    record = {
        "filename": f"{chance.digest('image')[:16]}_{crowd.invig_class}_{chance.whole('suffix', 1, 5)}.jpg",
        "width": WIDTH_PX,
        "height": HEIGHT_PX,
        "ann": {
            "bboxes": boxes,
            "ref_exp": conversation.opening,
            "questions": list(conversation.questions),
            "answers": list(conversation.answers),
            "ref_bboxes": [boxes[n] for n in marked.of_class()],
            "question_candidates": wrong_questions,
            "answer_candidates": wrong_answers,
        },
        "id": number,
        "label": crowd.invig_class,
    }
    objects = [
        {
            "object_id": f"b{n}",
            "label": member.thing.kind.invig,
            "kind": member.thing.kind.name,
            "colour": member.thing.colour,
            "place": member.thing.place,
            "bbox_xyxy_px": list(member.thing.bbox_xyxy_px),
            "centre_px": list(member.thing.centre_px),
        }
        for n, member in enumerate(marked.members)
    ]
    truth = {
        "file_name": record["filename"],
        "objects": objects,
        "turns": [
            {
                "turn": turn,
                "candidates": [
                    {key: objects[n][key] for key in ("object_id", "bbox_xyxy_px", "centre_px")} for n in plausible
                ],
            }
            for turn, plausible in enumerate(conversation.plausible, 1)
        ],
    }
    return record, truth, jpeg(draw(crowd.scene))


def write_invig(folder: Path, seed: str) -> dict[str, dict[str, Any]]:
    """Writes `invig21k_anns/` and `invig21k_imgs/` into the folder.

    The records have the publisher's keys (README of the InViG dataset API). In the validation split every bin of
    2, 3, 4, 5, 6 and 7 or more initial candidates has eight dialogues; there are also three with one candidate, one
    with more than 15, one with an area ratio above 20 and one with an object boxed twice.

    Args:
        folder: Where to write; made here.
        seed: Seed of the world.

    Returns:
        What annotators know: split to record id to objects and the plausible ones of each turn.
    """
    annotations, images = folder / "invig21k_anns", folder / "invig21k_imgs"
    annotations.mkdir(parents=True)
    images.mkdir()
    truth: dict[str, dict[str, Any]] = {}
    for split, word in SPLITS.items():
        lines = []
        truth[word] = {}
        for number, wish in enumerate(_wishes(split, Chance(seed, f"invig {split}"))):
            record, known, picture = _record(seed, split, number, wish)
            (images / record["filename"]).write_bytes(picture)
            lines.append(json.dumps(record, ensure_ascii=False))
            truth[word][str(number)] = known
        path = annotations / f"invig21k_{split}_anns.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return truth
