# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The template writer over the miniature world: every cell, both vocabularies, held against the scenes as planned.

The golden dialogues have been read in full; they are written anew with GROUNDSET_UPDATE_GOLDEN=1.
"""

from __future__ import annotations

import functools
import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.phrasebook import load
from groundset.fpco.template_writer import SceneObject, WriterInput, write
from groundset.miniworld.draw import draw, jpeg
from groundset.miniworld.kinds import KINDS
from groundset.miniworld.scene import CELLS, COMPLEXITIES, plan_scene
from groundset.verdicts import Verdict

GOLDEN = Path(__file__).parents[1] / "golden" / "dialogues.txt"
FALSE_CLASSES = ("identity", "attribute", "location")
SCENES = 3
AMERICAN = {"grey": "gray"}


@dataclass(frozen=True)
class Item:
    """What is written from, the colour that the target was drawn in, and what came out."""

    scene: WriterInput
    pixels: NDArray[np.uint8]
    colour: str
    written: Dialogue | Verdict


def items(seed: str, number: int, *, open_images: bool) -> Iterator[Item]:
    for complexity, category in CELLS:
        plan = plan_scene(seed, f"written {number}", complexity, category)
        pixels = np.asarray(Image.open(io.BytesIO(jpeg(draw(plan)))).convert("RGB"))
        things = [
            SceneObject(
                f"o{n}",
                thing.kind.open_images if open_images else thing.kind.coco,
                thing.kind.category,
                thing.bbox_xyxy_px,
            )
            for n, thing in enumerate(plan.things)
        ]
        at = [n for n, thing in enumerate(things) if thing.category == category][number % 2 :][:1] or [0]
        image_id = f"{complexity}-{category}-{number}"
        for false_class in FALSE_CLASSES:
            scene = WriterInput(
                *(f"{image_id}-{false_class}", image_id, image_id, category, complexity, false_class),
                *(pixels.shape[1], pixels.shape[0], things[at[0]]),
                tuple(thing for n, thing in enumerate(things) if n != at[0]),
            )
            colour = plan.things[at[0]].colour
            yield Item(scene, pixels, AMERICAN.get(colour, colour), write(scene, pixels, seed))


@functools.cache
def world() -> tuple[Item, ...]:
    return tuple(
        item
        for number in range(SCENES)
        for open_images in (False, True)
        for item in items("written-world", number, open_images=open_images)
    )


def dialogues() -> list[tuple[Item, Dialogue]]:
    return [(item, item.written) for item in world() if isinstance(item.written, Dialogue)]


def stem(question: str, description: str) -> str:
    return question.replace(description, "{target}")


def test_no_check_has_anything_against_what_is_written() -> None:
    assert [verdict for _, dialogue in dialogues() for verdict in check(dialogue)] == []


def test_few_are_declined_and_for_named_reasons() -> None:
    declined = Counter(
        (item.written.rule.removeprefix("writer_declined_"), item.scene.false_class)
        for item in world()
        if isinstance(item.written, Verdict)
    )
    assert set(declined) <= {
        *(("no_attribute", c) for c in ("attribute",)),
        *(("no_swap", c) for c in FALSE_CLASSES),
        *(("no_place", c) for c in ("location",)),
        *(("no_detail", c) for c in FALSE_CLASSES),
        *(("not_unique", c) for c in FALSE_CLASSES),
    }
    by_class = Counter(false_class for _, false_class in declined.elements())
    each = len(world()) / len(FALSE_CLASSES)
    assert by_class["identity"] <= 0.15 * each, declined
    assert by_class["location"] <= 0.2 * each, declined
    assert by_class["attribute"] <= 0.4 * each, declined


def test_a_colour_that_is_said_is_the_one_that_was_painted() -> None:
    said = 0
    for item, dialogue in dialogues():
        nouns = {kind.coco for kind in KINDS.values()}
        words = [word for word in dialogue.target_description.split() if word in AMERICAN.values() or word in PAINTS]
        for word in words:
            if word not in nouns or f"{word} {word}" in dialogue.target_description:
                said += 1
                assert word == item.colour, dialogue.target_description
    assert said > 20


PAINTS = {colour for kind in KINDS.values() for colour in kind.colours}


def test_a_description_tells_two_to_four_details() -> None:
    for item, dialogue in dialogues():
        label = item.scene.target.label
        assert dialogue.target_description != f"the {label.lower()}"
        assert 3 <= len(dialogue.target_description.split()) <= 12


def test_questions_are_many_and_differ_in_topic_role_and_sound() -> None:
    forms = {form.text: form for form in load().questions}
    stems: Counter[str] = Counter()
    for _, dialogue in dialogues():
        asked = [forms[stem(q.content, dialogue.target_description)] for q in dialogue.questions]
        assert len({form.topic for form in asked}) == 10
        assert {form.role for form in asked} == {"state", "action", "relation", "role"}
        assert max(Counter(form.opening for form in asked).values()) <= 5
        stems.update(form.text for form in asked)
    assert len(stems) >= 150
    assert max(stems.values()) <= 0.3 * len(dialogues())


def test_descriptions_vary() -> None:
    said = " | ".join(dialogue.target_description for _, dialogue in dialogues())
    for phrase in ("on the left", "on the right", "in the lower", "of the image", "person in ", "farthest"):
        assert phrase in said
    edits = {
        false_class: {
            (d.target_description, d.modified_target_description)
            for _, d in dialogues()
            if d.false_class == false_class
        }
        for false_class in FALSE_CLASSES
    }
    assert all(len(found) >= 20 for found in edits.values())


@pytest.mark.parametrize("quality", [50, 75, 95])
def test_compression_never_makes_another_colour(quality: int) -> None:
    for item in world()[:: len(FALSE_CLASSES) * 2]:
        buffer = io.BytesIO()
        Image.fromarray(item.pixels).save(buffer, "JPEG", quality=quality)
        pixels = np.asarray(Image.open(buffer).convert("RGB"))
        result = write(replace(item.scene, false_class="attribute"), pixels, "s")
        if isinstance(result, Dialogue) and not {"large", "small"} & set(result.target_description.split()):
            assert item.colour in result.target_description.split()


def test_gray_and_dark_pictures_tell_no_colour() -> None:
    for item in world()[:: len(FALSE_CLASSES) * 3]:
        gray = np.repeat(item.pixels.mean(axis=-1, keepdims=True).astype(np.uint8), 3, axis=-1)
        for pixels in (gray, item.pixels // 4):
            for false_class in FALSE_CLASSES:
                result = write(replace(item.scene, false_class=false_class), pixels, "s")
                if isinstance(result, Dialogue):
                    words = set(result.target_description.split()) - {item.scene.target.label.lower()}
                    assert not words & (PAINTS | {"gray"}), result.target_description


def test_twelve_dialogues_are_the_golden_ones() -> None:
    cells = [
        (category, false_class, COMPLEXITIES[(n + m) % 3])
        for n, category in enumerate(("person", "vehicle", "animal", "food"))
        for m, false_class in enumerate(FALSE_CLASSES)
    ]
    chosen = [
        [d for item, d in dialogues() if (item.scene.category, d.false_class, item.scene.complexity) == cell][n % 3]
        for n, cell in enumerate(cells)
    ]
    found = "\n".join(
        f"{d.dialogue_id}: {d.target_description} -> {d.modified_target_description}\n"
        + "".join(f"{q.id:4d} {q.modified}\n" for q in d.questions)
        for d in chosen
    )
    if os.environ.get("GROUNDSET_UPDATE_GOLDEN") == "1":
        GOLDEN.write_bytes(found.encode())
    assert found == GOLDEN.read_bytes().decode(), "dialogues changed; if they should, set GROUNDSET_UPDATE_GOLDEN=1"
