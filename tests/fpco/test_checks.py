# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The checks on a dialogue: sentences of our own, single faults put into a right one, and what must not matter."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fpco.checks import RULE_NAMES, check
from groundset.fpco.dialogue import Dialogue, Question, from_record, to_record

TABLE = tomllib.loads(Path(__file__).with_name("check_sentences.toml").read_text(encoding="utf-8"))
DESCRIPTIONS = [tuple(row) for row in TABLE["descriptions"]]
QUESTIONS = [(*row[:6], row[6] or None, row[7]) for row in TABLE["questions"]]

FRAMES = (
    "Is {} fully visible?",
    "What can be seen behind {}?",
    "Does {} cast a shadow?",
    "How far from the camera is {}?",
    "Is anything touching {}?",
    "What surrounds {}?",
    "Would you say that {} is in focus?",
    "Is anyone looking at {}?",
    "Does {} stand out?",
    "What might {} be used for?",
)
# The same of many.
PLURAL_FRAMES = tuple(
    text.replace("Is {}", "Are {}").replace("Does {}", "Do {}").replace("is {}?", "are {}?").replace("{} is", "{} are")
    for text in FRAMES
)


def dialogue(
    category: str,
    false_class: str,
    true: str,
    false: str,
    turn: int = 5,
    content: str | None = None,
    modified: str | None = None,
    *,
    label: str | None = None,
    plural: bool = False,
) -> Dialogue:
    """Ten sound questions, of which one may be replaced."""
    questions = []
    for number, frame in enumerate(PLURAL_FRAMES if plural else FRAMES, start=1):
        asked = content if content is not None and number == turn else frame
        changed = modified if modified is not None and number == turn else asked
        told = false if number >= 4 else true
        questions.append(Question(number, _filled(asked, true), _filled(changed, told), number >= 4))
    return Dialogue(
        f"x-1-{category}-{false_class}",
        f"x-1-{category}",
        "x-1",
        category,
        category if label is None else label,
        false_class,
        true,
        false,
        tuple(questions),
    )


def _filled(text: str, description: str) -> str:
    said = text.replace("{}", description)
    return said[0].upper() + said[1:] if text.startswith("{}") else said


DOG, CAT = "the brown dog on the left", "the brown cat on the left"
SOUND = dialogue("animal", "identity", DOG, CAT)


def rules(item: Dialogue) -> set[str]:
    return {verdict.rule for verdict in check(item)}


def expected(names: str) -> tuple[set[str], bool]:
    """The rules of a line of the table, and whether it is about many."""
    listed = set(names.split())
    return listed - {"plural"}, "plural" in listed


def test_the_table_is_large_and_holds_each_line_once() -> None:
    right = [line for line in (*DESCRIPTIONS, *QUESTIONS) if not expected(line[-1])[0]]
    assert len(DESCRIPTIONS) + len(QUESTIONS) >= 300
    assert len(right) >= 150
    assert len(set(DESCRIPTIONS)) == len(DESCRIPTIONS)
    assert len(set(QUESTIONS)) == len(QUESTIONS)


def test_every_rule_on_texts_has_a_line_of_its_own() -> None:
    named = {name for line in (*DESCRIPTIONS, *QUESTIONS) for name in expected(line[-1])[0]}
    frame = {
        "question_count",
        "question_ids",
        "false_premise_flag",
        "false_class_unknown",
        "description_empty",
        "modified_description_empty",
    }
    assert named | frame == set(RULE_NAMES)


@pytest.mark.parametrize(("category", "false_class", "true", "false", "names"), DESCRIPTIONS)
def test_descriptions(category: str, false_class: str, true: str, false: str, names: str) -> None:
    wanted, plural = expected(names)
    assert rules(dialogue(category, false_class, true, false, plural=plural)) == wanted


@pytest.mark.parametrize(
    ("category", "false_class", "true", "false", "turn", "content", "modified", "names"), QUESTIONS
)
def test_questions(
    category: str, false_class: str, true: str, false: str, turn: int, content: str, modified: str | None, names: str
) -> None:
    wanted, plural = expected(names)
    assert rules(dialogue(category, false_class, true, false, turn, content, modified, plural=plural)) == wanted


def renumbered(*ids: int) -> Dialogue:
    return replace(SOUND, questions=tuple(replace(q, id=i) for q, i in zip(SOUND.questions, ids, strict=False)))


@pytest.mark.parametrize(
    ("item", "names"),
    [
        (replace(SOUND, questions=SOUND.questions[:9]), {"question_count"}),
        (replace(SOUND, questions=()), {"question_count"}),
        (renumbered(1, 2, 3, 5, 4, 6, 7, 8, 9, 10), {"question_ids"}),
        (renumbered(1, 2, 3, 4, 4, 6, 7, 8, 9, 10), {"question_ids"}),
        (replace(SOUND, false_class="colour"), {"false_class_unknown"}),
        (
            replace(SOUND, questions=tuple(replace(q, false_premise=True) for q in SOUND.questions)),
            {"false_premise_flag"},
        ),
        (
            replace(SOUND, target_description=" ? ", modified_target_description=""),
            {"description_empty", "modified_description_empty"},
        ),
    ],
)
def test_frame(item: Dialogue, names: set[str]) -> None:
    assert rules(item) == names


def test_verdicts_carry_record_kind_and_measure() -> None:
    verdicts = check(replace(SOUND, questions=SOUND.questions[:9]))
    assert [(v.record_id, v.kind, v.measured, v.limit) for v in verdicts] == [(SOUND.dialogue_id, "dialogue", 9, 10)]


def test_a_verdict_names_turn_and_words() -> None:
    (verdict,) = check(dialogue("animal", "identity", DOG, CAT, 6, "Are there other dogs near {}?"))
    assert verdict.detail == "turn 6: 'dog' of the true description is still said"
    (verdict,) = check(dialogue("person", "identity", "the boy", "the man"))
    assert "'boy' and 'man' may differ in age only" in verdict.detail


def test_a_slip_of_the_description_is_told_once() -> None:
    assert len(check(dialogue("vehicle", "attribute", "a red car", "a orange car"))) == 1


def test_record_and_back() -> None:
    record = to_record(SOUND)
    assert from_record(record, category="animal", target_label="animal") == SOUND
    assert "category" not in record


# ---- one fault in a right dialogue


RIGHT = [line for line in DESCRIPTIONS if line[-1] == ""]


def with_question(item: Dialogue, turn: int, change: Callable[[Question], Question]) -> Dialogue:
    return replace(item, questions=tuple(change(q) if q.id == turn else q for q in item.questions))


FAULTS: dict[str, tuple[int, Callable[[Dialogue, Question], Question]]] = {
    "true_turn_changed": (1, lambda d, q: replace(q, modified=q.modified + " Why?")),
    "description_missing": (1, lambda d, q: replace(q, content="Is it there?", modified="Is it there?")),
    "description_repeated": (
        1,
        lambda d, q: replace(
            q, content=f"{q.content} {d.target_description}", modified=f"{q.content} {d.target_description}"
        ),
    ),
    "description_case": (
        1,
        lambda d, q: replace(
            q,
            content=f"Is that {d.target_description.upper()}?",
            modified=f"Is that {d.target_description.upper()}?",
        ),
    ),
    "modified_description_missing": (4, lambda d, q: replace(q, modified=q.content)),
    "modified_description_repeated": (
        4, lambda d, q: replace(q, modified=f"{q.modified} {d.modified_target_description}")
    ),
    "modified_description_case": (
        4,
        lambda d, q: replace(
            q,
            content=f"Is that {d.target_description}?",
            modified=f"Is that {d.modified_target_description.upper()}?",
        ),
    ),
    "sentence_changed": (4, lambda d, q: replace(q, modified=f"Well, {q.modified}")),
    "false_premise_flag": (4, lambda d, q: replace(q, false_premise=False)),
}  # fmt: skip


@given(line=st.sampled_from(RIGHT), fault=st.sampled_from(sorted(FAULTS)), later=st.integers(0, 2))
def test_each_fault_is_found_and_named_alone(line: tuple[str, str, str, str, str], fault: str, later: int) -> None:
    item = dialogue(*line[:4])
    turn, change = FAULTS[fault]
    found = check(with_question(item, turn + later, lambda question: change(item, question)))
    assert {verdict.rule for verdict in found if verdict.hard} == {fault}
    assert all(f"turn {turn + later}: " in verdict.detail for verdict in found if verdict.hard)


@given(
    turn=st.integers(4, 10),
    word=st.sampled_from(["very", "not", "cat", "left", "the"]),
    place=st.integers(0, 20),
    data=st.data(),
)
def test_any_word_put_beside_the_description_is_found(turn: int, word: str, place: int, data: st.DataObject) -> None:
    question = SOUND.questions[turn - 1]
    before, _, after = question.modified.partition(CAT)
    words = (before.split(), after.split())
    side = data.draw(st.sampled_from([0, 1]))
    words[side].insert(min(place, len(words[side])), word)
    changed = replace(question, modified=" ".join([*words[0], CAT, *words[1]]))
    assert "sentence_changed" in rules(with_question(SOUND, turn, lambda _: changed))


# ---- what must not matter

LINES = [*((*line[:4], 5, None, None, line[4]) for line in DESCRIPTIONS), *QUESTIONS]
# "the dog's" in a description and "the dog\u2019s" in a question are one
TYPOGRAPHY: dict[str, Callable[[str], str]] = {
    "curly": lambda text: text.replace("'", "\u2019"),
    "spaces": lambda text: text.replace(" ", "\u00a0"),
    "doubled": lambda text: text.replace(" ", "  "),
    "hyphens": lambda text: text.replace("-", "\u2011"),
    "invisible": lambda text: text.replace("e", "e\u200b"),
}


@pytest.mark.parametrize("change", sorted(TYPOGRAPHY))
def test_typography_changes_no_verdict(change: str) -> None:
    alter = TYPOGRAPHY[change]
    for category, false_class, true, false, turn, content, modified, names in LINES:
        if "\u2014" in (content or ""):
            continue
        item = dialogue(category, false_class, true, false, turn, content, modified, plural="plural" in names)
        typed = replace(
            item,
            questions=tuple(replace(q, content=alter(q.content), modified=alter(q.modified)) for q in item.questions),
        )
        assert check(typed) == check(item)


def test_a_capital_at_the_start_of_descriptions_changes_no_verdict() -> None:
    for category, false_class, true, false, turn, content, modified, names in LINES:
        item = dialogue(category, false_class, true, false, turn, content, modified, plural="plural" in names)
        capital = replace(
            item,
            target_description=true[0].upper() + true[1:],
            modified_target_description=false[0].upper() + false[1:],
        )
        cased = {"description_case", "modified_description_case"}
        assert rules(capital) - cased == rules(item) - cased


# these are told where the edit is, hard or soft
EDIT_RULES = {"inserted_phrase", "edit_long"}


@given(st.sampled_from(LINES))
def test_verdicts_have_one_order(line: tuple[str, str, str, str, int, str | None, str | None, str]) -> None:
    found = check(dialogue(*line[:-1]))
    assert found == check(dialogue(*line[:-1]))
    hard = [verdict.hard for verdict in found if verdict.rule not in EDIT_RULES]
    assert hard == sorted(hard, reverse=True)
    assert len(set(found)) == len(found)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=12), st.text(max_size=20), st.text(max_size=20))
def test_any_text_gets_verdicts_and_no_error(texts: list[str], true: str, false: str) -> None:
    questions = tuple(Question(n, text, text, n >= 4) for n, text in enumerate(texts, start=1))
    for false_class in ("identity", "attribute", "location"):
        item = replace(
            SOUND,
            false_class=false_class,
            target_description=true,
            modified_target_description=false,
            questions=questions,
        )
        assert {verdict.rule for verdict in check(item)} <= set(RULE_NAMES)
        assert all(verdict.detail for verdict in check(item))


SCRAPS = (
    "the a an dog dogs man woman 's on in with of left right red and next to front holding wearing hat color where is "
    "sitting , - two looking at her his who first from railing near not hot pizza"
)
WORDS = st.lists(st.sampled_from(SCRAPS.split()), max_size=12).map(" ".join)


@given(WORDS, WORDS, st.lists(st.tuples(WORDS, WORDS), min_size=10, max_size=10))
def test_any_words_get_verdicts_and_no_error(true: str, false: str, around: list[tuple[str, str]]) -> None:
    questions = tuple(
        Question(n, f"{one} {true} {two}", f"{one} {true if n < 4 else false} {two}", n >= 4)
        for n, (one, two) in enumerate(around, start=1)
    )
    for false_class in ("identity", "attribute", "location"):
        item = replace(
            SOUND,
            false_class=false_class,
            target_description=true,
            modified_target_description=false,
            questions=questions,
        )
        assert {verdict.rule for verdict in check(item)} <= set(RULE_NAMES)


# ---- the page that tells of the rules

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"


def page_rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]


def test_the_page_lists_every_rule_in_order() -> None:
    assert [row[0].strip("`") for row in page_rows()] == list(RULE_NAMES)


def told(example: str) -> Dialogue:
    """An example of the page: class, description > modified one, and perhaps a question, asked > modified."""
    head, _, question = example.partition(" :: ")
    (category, false_class), pair = head.split(": ")[0].split(), head.split(": ", 1)[1]
    true, _, false = pair.partition(" > ")
    content, _, modified = question.partition(" > ")
    turn = 2 if content.startswith("(2) ") else 5
    content = content.removeprefix("(2) ")
    return dialogue(category, false_class, true, false, turn, content or None, modified or None)


@pytest.mark.parametrize("row", page_rows(), ids=lambda row: row[0])
def test_the_examples_of_the_page(row: list[str]) -> None:
    name, weight, _, right, wrong = row
    if wrong == "\u2013":
        return
    found = check(told(wrong))
    assert {verdict.hard for verdict in found if verdict.rule == name.strip("`")} == {weight == "hard"}
    assert check(told(right)) == []
