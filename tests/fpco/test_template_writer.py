# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Dialogues written about made scenes, held against what is really in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from groundset.errors import DataError
from groundset.fpco import questions
from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.lexicon import load
from groundset.fpco.phrasebook import load as load_phrasebook
from groundset.fpco.template_writer import SceneObject, WriterInput, write, write_variant
from groundset.fpco.variants import check_variant
from groundset.geometry import merge_near_identical
from groundset.verdicts import Verdict

WIDTH, HEIGHT = 160, 120
GRASS = (150, 200, 120)
COLOURS = {
    "red": (208, 30, 36),
    "yellow": (246, 212, 36),
    "blue": (34, 84, 200),
    "brown": (124, 76, 40),
    "black": (30, 30, 32),
    "white": (246, 246, 244),
}
LABELS = {
    "person": ("person", "Man", "Woman"),
    "vehicle": ("car", "bus", "boat"),
    "animal": ("dog", "cat", "horse"),
    "food": ("apple", "carrot", "cake"),
}
FALSE_CLASSES = ("identity", "attribute", "location")
LEFT, RIGHT, MIDDLE = (8.0, 30.0, 48.0, 90.0), (112.0, 30.0, 152.0, 90.0), (60.0, 30.0, 100.0, 90.0)
ALL = (0.0, 0.0, 160.0, 120.0)


@dataclass(frozen=True)
class Drawn:
    """An object and the colour that it is drawn in."""

    thing: SceneObject
    colour: str


def drawn(label: str, colour: str, box: tuple[float, float, float, float], number: int = 0) -> Drawn:
    category = next((c for c, labels in LABELS.items() if label in labels), None)
    return Drawn(SceneObject(f"a{number}", label, category, box), colour)


def picture(things: tuple[Drawn, ...]) -> NDArray[np.uint8]:
    pixels = np.full((HEIGHT, WIDTH, 3), GRASS, dtype=np.uint8)
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    for item in things:
        x0, y0, x1, y1 = item.thing.bbox_xyxy_px
        across, down = (columns + 0.5 - (x0 + x1) / 2) / ((x1 - x0) / 2), (rows + 0.5 - (y0 + y1) / 2) / ((y1 - y0) / 2)
        pixels[across**2 + down**2 <= 1] = COLOURS[item.colour]
    return pixels


def scene(things: tuple[Drawn, ...], false_class: str, dialogue_id: str = "x-1") -> WriterInput:
    target, others = things[0].thing, tuple(item.thing for item in things[1:])
    category = target.category or "animal"
    name = f"{dialogue_id}-{category}"
    return WriterInput(
        f"{name}-{false_class}", name, dialogue_id, category, "separated", false_class, WIDTH, HEIGHT, target, others
    )


def written(
    things: tuple[Drawn, ...], false_class: str, dialogue_id: str = "x-1", seed: str = "s"
) -> Dialogue | Verdict:
    return write(scene(things, false_class, dialogue_id), picture(things), seed)


def text(things: tuple[Drawn, ...], false_class: str) -> tuple[str, str]:
    result = written(things, false_class)
    assert isinstance(result, Dialogue), result
    return result.target_description, result.modified_target_description


def rule(things: tuple[Drawn, ...], false_class: str) -> str:
    result = written(things, false_class)
    assert isinstance(result, Verdict), result
    assert (result.kind, result.hard, result.record_id) == ("dialogue", True, scene(things, false_class).dialogue_id)
    return result.rule


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Drawn, ...]:
    """One to five objects of one category and perhaps a bench, anywhere, also over each other."""
    category = draw(st.sampled_from(sorted(LABELS)))
    items = []
    for number in range(draw(st.integers(1, 5))):
        width, height = draw(st.integers(16, 80)), draw(st.integers(16, 70))
        x, y = draw(st.integers(0, WIDTH - width)), draw(st.integers(0, HEIGHT - height))
        label, colour = draw(st.sampled_from(LABELS[category])), draw(st.sampled_from(sorted(COLOURS)))
        items.append(drawn(label, colour, (float(x), float(y), float(x + width), float(y + height)), number))
    if draw(st.booleans()):
        items.append(drawn("bench", "brown", (0.0, 100.0, 40.0, 118.0), 9))
    return tuple(items)


def is_described(item: Drawn, description: str, things: tuple[Drawn, ...]) -> bool:
    """A reader's plain view, simpler than the writer's: is it called that, so large, of that colour, and there?"""
    lexicon = load()
    found = re.fullmatch(
        r"the (?:(?P<size>large|larger|largest|small|smaller|smallest) )?"
        rf"(?:(?P<paint>{'|'.join(lexicon.colours)}) )?(?P<noun>\w+)(?: in (?P<cloth>{'|'.join(lexicon.colours)}))?"
        r"(?P<place>.*)",
        description,
    )
    assert found is not None, description
    noun, place = found["noun"], found["place"].split()
    rivals = [other for other in things if lexicon.relation(noun, other.thing.label) in ("same", "compatible")]
    if item not in rivals or (found["paint"] or found["cloth"] or item.colour) != item.colour:
        return False
    if found["size"]:
        areas = sorted(area(other) for other in rivals)
        if area(item) != areas[-1 if found["size"].startswith("larg") else 0]:
            return False
    x0, y0, x1, y1 = item.thing.bbox_xyxy_px
    x, y = (x0 + x1) / 2 / WIDTH, (y0 + y1) / 2 / HEIGHT
    if "farthest" in place or "second" in place:
        ranked = sorted((b.thing.bbox_xyxy_px[0] + b.thing.bbox_xyxy_px[2]) / 2 / WIDTH for b in rivals)
        return x == (ranked if "left" in place else ranked[::-1])["second" in place]
    sides = {
        "left": x < 0.5,
        "right": x > 0.5,
        "top": y < 0.5,
        "bottom": y > 0.5,
        "upper": y < 0.5,
        "lower": y > 0.5,
        "middle": 0.35 < x < 0.65 and 0.25 < y < 0.75,
        "center": 0.35 < x < 0.65 and 0.25 < y < 0.75,
        "edge": not 0.25 < x0 / WIDTH < x1 / WIDTH < 0.75,
        "corner": not 0.3 < x < 0.7 and not 0.35 < y < 0.65,
        "foreground": y1 / HEIGHT > 0.9 and area(item) > 0.2 * WIDTH * HEIGHT,
        "background": y1 / HEIGHT <= 0.9 or area(item) <= 0.2 * WIDTH * HEIGHT,
    }
    return all(sides[word] for word in place if word in sides)


def area(item: Drawn) -> float:
    x0, y0, x1, y1 = item.thing.bbox_xyxy_px
    return (x1 - x0) * (y1 - y0)


@given(scenes(), st.sampled_from(FALSE_CLASSES), st.integers(0, 99))
@settings(max_examples=250, deadline=None)
def test_what_is_written_is_true_then_false_and_passes_every_check(
    things: tuple[Drawn, ...], false_class: str, number: int
) -> None:
    boxes = np.array([item.thing.bbox_xyxy_px for item in things], dtype=np.float64)
    assume(len(set(merge_near_identical(boxes, 0.9))) == len(things))
    result = written(things, false_class, f"x-{number}")
    if isinstance(result, Verdict):
        assert result.hard
        assert result.rule.startswith("writer_declined_")
        assert result.rule != "writer_declined_checks"
        return
    assert check(result) == []
    true = [item for item in things if is_described(item, result.target_description, things)]
    assert true == [things[0]]
    assert not [item for item in things if is_described(item, result.modified_target_description, things)]
    assert all(question.content.count(result.target_description) == 1 for question in result.questions)
    topics = {form.text: form.topic for form in load_phrasebook().questions}
    assert len({topics[stem(question.content, result.target_description)] for question in result.questions}) == 10


@given(scenes(), st.sampled_from(FALSE_CLASSES), st.integers(0, 99))
@settings(max_examples=250, deadline=None)
def test_a_variant_is_false_in_other_words_and_keeps_all_else(
    things: tuple[Drawn, ...], false_class: str, number: int
) -> None:
    boxes = np.array([item.thing.bbox_xyxy_px for item in things], dtype=np.float64)
    assume(len(set(merge_near_identical(boxes, 0.9))) == len(things))
    view, pixels = scene(things, false_class, f"x-{number}"), picture(things)
    main = write(view, pixels, "s")
    assume(isinstance(main, Dialogue))
    assert isinstance(main, Dialogue)
    taken: list[str] = []
    while isinstance(variant := write_variant(view, pixels, "s", main, taken), Dialogue):
        assert [verdict for verdict in check_variant(variant, main, taken) if verdict.hard] == []
        assert variant == replace(
            main,
            modified_target_description=variant.modified_target_description,
            questions=tuple(
                replace(asked, modified=asked.modified if asked.id < 4 else other.modified)
                for asked, other in zip(main.questions, variant.questions, strict=True)
            ),
        )
        assert not [item for item in things if is_described(item, variant.modified_target_description, things)]
        taken.append(variant.modified_target_description)
    assert (variant.rule, variant.hard, variant.record_id) == (
        "writer_declined_no_variant",
        True,
        main.dialogue_id,
    )


def test_a_dialogue_that_a_person_has_reworded_gets_no_variant_of_templates() -> None:
    things = (drawn("dog", "brown", LEFT), drawn("bench", "brown", RIGHT, 1))
    view, pixels = scene(things, "identity"), picture(things)
    main = write(view, pixels, "s")
    assert isinstance(main, Dialogue)
    other = replace(main, target_description="the good dog")
    made = write_variant(view, pixels, "s", other, [])
    assert isinstance(made, Verdict)
    assert (made.rule, made.detail) == (
        "writer_declined_foreign_text",
        "'the good dog' is not of this writer's making",
    )
    asked = replace(main.questions[5], content=f"Is {main.target_description} good?")
    other = replace(main, questions=(*main.questions[:5], asked, *main.questions[6:]))
    made = write_variant(view, pixels, "s", other, [])
    assert isinstance(made, Verdict)
    assert (made.rule, made.detail) == ("writer_declined_no_variant", "the questions fit no other false identity")


def stem(question: str, description: str) -> str:
    """The question form that a question was made from."""
    return question.replace(description, "{target}")


@given(scenes(), st.sampled_from(FALSE_CLASSES), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_others_changes_nothing(
    things: tuple[Drawn, ...],
    false_class: str,
    random: st.randoms,  # type: ignore[valid-type]
) -> None:
    pixels, plain = picture(things), scene(things, false_class)
    shuffled = list(plain.others)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert write(plain, pixels, "s") == write(replace(plain, others=tuple(shuffled)), pixels, "s")


@pytest.mark.parametrize("category", sorted(LABELS))
@pytest.mark.parametrize("false_class", FALSE_CLASSES)
def test_each_category_and_class_can_be_written(category: str, false_class: str) -> None:
    things = (drawn(LABELS[category][0], "red", LEFT),)
    true, false = text(things, false_class)
    changed = [(a, b) for a, b in zip(true.split(), false.split(), strict=True) if a != b]
    assert len(changed) == 1
    expected = {"identity": LABELS[category][0], "attribute": "red", "location": "left"}
    assert changed[0][0] == expected[false_class]


def test_the_seed_and_the_id_choose() -> None:
    things = (drawn("dog", "brown", LEFT),)
    by_seed = {str(written(things, "identity", seed=str(seed))) for seed in range(6)}
    by_id = {str(written(things, "identity", f"x-{number}")) for number in range(6)}
    assert len(by_seed) == len(by_id) == 6
    assert written(things, "identity") == written(things, "identity")


def test_every_role_of_question_is_asked() -> None:
    roles = {form.text: form.role for form in load_phrasebook().questions}
    for label in ("person", "car", "dog", "apple"):
        result = written((drawn(label, "red", LEFT),), "location")
        assert isinstance(result, Dialogue)
        asked = [roles[stem(q.content, result.target_description)] for q in result.questions]
        assert set(asked) == {"state", "action", "relation", "role"}


def test_why_it_declines() -> None:
    assert rule((drawn("wombat", "brown", LEFT),), "identity") == "writer_declined_unknown_label"
    assert rule((drawn("teddy bear", "brown", LEFT),), "identity") == "writer_declined_unknown_label"
    before = drawn("dog", "black", (50.0, 20.0, 95.0, 95.0), 1)
    assert rule((drawn("dog", "brown", MIDDLE), before), "attribute") == "writer_declined_no_attribute"
    across = (20.0, 10.0, 140.0, 100.0)
    assert rule((drawn("dog", "brown", across),), "location") == "writer_declined_no_place"
    in_the_way = drawn("dog", "brown", (40.0, 30.0, 80.0, 90.0), 2)
    crowd = drawn("dog", "brown", ALL, 3)
    assert rule((drawn("dog", "brown", MIDDLE), in_the_way, crowd), "identity") == "writer_declined_not_unique"
    assert rule((drawn("dog", "brown", LEFT), drawn("dog", "brown", RIGHT, 1)), "location") == "writer_declined_no_swap"


def test_a_zebra_has_no_one_colour() -> None:
    zebra = Drawn(SceneObject("a0", "zebra", "animal", LEFT), "white")
    assert rule((zebra,), "attribute") == "writer_declined_no_attribute"


def test_an_identity_of_another_object_is_never_taken() -> None:
    others = tuple(drawn(label, "black", RIGHT, n) for n, label in enumerate(("cat", "horse"), start=1))
    assert text((drawn("dog", "brown", LEFT), *others), "identity")[1].split()[1:3].count("sheep") <= 1
    for number in range(20):
        result = written((drawn("dog", "brown", LEFT), *others), "identity", f"x-{number}")
        assert isinstance(result, Dialogue)
        assert "sheep" in result.modified_target_description
    boxed = (*others, drawn("sheep", "white", MIDDLE, 3))
    assert rule((drawn("dog", "brown", LEFT), *boxed), "identity") == "writer_declined_no_swap"


def test_a_person_may_be_a_woman() -> None:
    man, someone = drawn("Man", "red", LEFT), drawn("person", "blue", RIGHT, 1)
    for false_class in FALSE_CLASSES:
        result = written((man, someone), false_class)
        if isinstance(result, Dialogue):
            assert "woman" not in result.modified_target_description
            assert "girl" not in result.modified_target_description


def test_a_colour_of_another_one_is_never_taken() -> None:
    things = (drawn("car", "red", LEFT), drawn("car", "blue", RIGHT, 1))
    for number in range(20):
        result = written(things, "attribute", f"x-{number}")
        assert isinstance(result, Dialogue)
        if "image" not in result.target_description or "farthest" in result.target_description:
            assert "blue" not in result.modified_target_description


def test_one_object_labelled_twice_is_not_its_own_rival() -> None:
    things = (drawn("Man", "red", LEFT), drawn("person", "red", (8.0, 30.0, 49.0, 90.0), 1))
    assert isinstance(written(things, "location"), Dialogue)


def test_shirt_and_trousers_are_not_one_colour() -> None:
    person = (drawn("person", "black", (20.0, 10.0, 60.0, 110.0)),)
    pixels = picture(person)
    pixels[10:58, 20:60] = COLOURS["white"]
    pixels[:, :20] = pixels[:, 60:] = COLOURS["white"]
    result = write(scene(person, "attribute"), pixels, "s")
    assert isinstance(result, Verdict)
    assert result.rule == "writer_declined_no_attribute"


def test_brown_on_a_person_may_be_skin() -> None:
    assert rule((drawn("person", "brown", LEFT),), "attribute") == "writer_declined_no_attribute"


def test_an_orange_tells_no_colour() -> None:
    orange = Drawn(SceneObject("a0", "orange", "food", LEFT), "yellow")
    for number in range(10):
        result = written((orange,), "location", f"x-{number}")
        assert isinstance(result, Dialogue)
        assert "orange orange" not in result.target_description


@pytest.mark.parametrize(
    ("change", "pixels", "said"),
    [
        ({}, np.zeros((10, 10, 3), dtype=np.uint8), "(120, 160, 3)"),
        ({}, np.zeros((HEIGHT, WIDTH), dtype=np.uint8), "(120, 160, 3)"),
        ({}, np.zeros((HEIGHT, WIDTH, 3), dtype=np.float64), "uint8"),
        ({"false_class": "colour"}, np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8), "'colour' is unknown"),
    ],
)
def test_input_that_does_not_fit(change: dict[str, str], pixels: NDArray[np.uint8], said: str) -> None:
    with pytest.raises(DataError) as raised:
        write(replace(scene((drawn("dog", "brown", LEFT),), "identity"), **change), pixels, "s")  # type: ignore[arg-type]
    assert said in str(raised.value)


def test_sizes_are_told_and_swapped() -> None:
    large, small = (8.0, 30.0, 56.0, 90.0), (112.0, 58.0, 140.0, 92.0)
    things = (drawn("car", "red", large), drawn("car", "red", small, 1))
    said = {text_of(things, false_class, number) for false_class in FALSE_CLASSES for number in range(30)}
    assert any(true.startswith("the large ") and false.startswith("the small ") for true, false in said)
    assert any(
        true.startswith("the large ") and "on the left" in true and "on the right" in false for true, false in said
    )
    person = (replace(things[0], thing=replace(things[0].thing, label="person", category="person")), things[1])
    assert not any("large" in text_of(person, "identity", number)[0] for number in range(10))


def text_of(things: tuple[Drawn, ...], false_class: str, number: int) -> tuple[str, str]:
    result = written(things, false_class, f"x-{number}")
    assert isinstance(result, Dialogue), result
    return result.target_description, result.modified_target_description


def test_what_fills_the_image_is_in_the_foreground() -> None:
    said = {text_of((drawn("dog", "brown", ALL),), "location", number) for number in range(10)}
    assert ("the dog in the foreground", "the dog in the background") in said


def test_another_question_form_changes_a_dialogue_only_where_it_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    book = load_phrasebook()
    things = (drawn("dog", "brown", LEFT),)
    before = [written(things, "location", f"x-{number}") for number in range(20)]
    longer = replace(
        book, questions=(*book.questions, replace(book.questions[0], text="Is {target} fun?", topic="fun"))
    )
    monkeypatch.setattr(questions, "load_phrasebook", lambda: longer)
    questions.suiting.cache_clear()
    after = [written(things, "location", f"x-{number}") for number in range(20)]
    questions.suiting.cache_clear()
    for old, new in zip(before, after, strict=True):
        assert isinstance(old, Dialogue)
        assert isinstance(new, Dialogue)
        assert old.target_description == new.target_description
        asked = {question.content for question in new.questions}
        if not any("fun?" in question for question in asked):
            assert old == new
    assert before != after
