# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The page of the rules of selection lists what the code names, and what builds reject or flag stands on it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from groundset import benchmarks, manifest, runner, withdrawals
from groundset.candvg import screening
from groundset.fpco import cross_checks, shown
from groundset.llm import answers
from groundset.sources import fpco_published, invig_photographs, openimages_boxes
from groundset.stage import read_table

ROOT = Path(__file__).parents[1]
CODE = ROOT / "build" / "groundset"
SNAKE = re.compile(r"[a-z]+(_[a-z]+)*\Z")
# the rules of texts stand on the other page
OTHER_PAGE = ROOT / "docs" / "checks.md"
TEXT_CHECKS = ("checks", "edit_checks", "giveaway_checks", "slip_checks", "spelling", "tautology_checks", "reading")
# functions that give a rule's name in a tuple, for others to make a verdict of it
NAMING = ("_complexity", "_judge", "_located", "_questions_fault", "faults")

REASONS = {f"screening_{reason}" for reason in (*screening.REASONS, *shown.REASONS)}
# rules whose names the code puts together, by how it does that
MADE = {
    "**": set(),
    "*_*": {*REASONS, "review_<reason>"},
    "*_contradicts_id": {"complexity_contradicts_id", "category_contradicts_id"},
    "check_*": {"check_<rule>"},
    "edited_*": {"edited_<rule>"},
    "lacks_*": {f"lacks_{key}" for key in fpco_published.LACKABLE},
    "screening_*": REASONS,
    "writer_*": {f"writer_{outcome}" for outcome in answers.OUTCOMES if outcome != answers.ANSWERED},
}
# rules whose names stand in constants
CONSTANT = {
    withdrawals.RULE,
    *openimages_boxes.RULES,
    *invig_photographs._TOLD,
    *cross_checks._TRUE.values(),
    *cross_checks._FALSE.values(),
    cross_checks.UNANSWERED,
} - {""}


@dataclass(frozen=True)
class Row:
    """A row of the page."""

    rules: tuple[str, ...]
    stages: str
    weights: str
    kinds: tuple[str, ...]


def page() -> list[Row]:
    lines = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    assert {len(row) for row in cells} == {6}
    return [Row(tuple(re.findall("`([^`]+)`", row[0])), row[1], row[2], tuple(row[3].split(", "))) for row in cells]


def words(value: ast.expr) -> set[str]:
    """The names that an expression can be, with a * for what is put in."""
    match value:
        case ast.Constant(value=str(text)) if SNAKE.match(text):
            return {text}
        case ast.JoinedStr(values=parts):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
            return {text} if SNAKE.match(text.replace("*", "x")) else set()
        case ast.IfExp(body=body, orelse=other):
            return words(body) | words(other)
    return set()


def takes_rule(tree: ast.Module) -> dict[str, int]:
    """What is called with the name of a rule: to the place of that argument."""
    found = {"Verdict": 2}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, args=ast.arguments(args=args)):
                names = [each.arg for each in args if each.arg != "self"]
            case ast.ClassDef(name=name, body=body):
                fields = [each.target for each in body if isinstance(each, ast.AnnAssign)]
                names = [each.id for each in fields if isinstance(each, ast.Name)]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names = ["rule"] if ast.unparse(value).startswith("partial(Verdict, ") else []
            case _:
                continue
        if "rule" in names:
            found[name] = names.index("rule")
    return found


def assigned(target: ast.expr, value: ast.expr) -> set[str]:
    """What a variable `rule` becomes."""
    match target, value:
        case ast.Tuple(), ast.IfExp(body=body, orelse=other):
            return assigned(target, body) | assigned(target, other)
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            return {word for pair in zip(targets, values, strict=True) for word in assigned(*pair)}
        case ast.Name(id="rule"), _:
            return words(value)
    return set()


def named(tree: ast.Module) -> Iterator[str]:
    """The names of rules in a module."""
    places = takes_rule(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
                yield from (word for each in keywords if each.arg == "rule" for word in words(each.value))
                if name in places and len(args) > places[name]:
                    yield from words(args[places[name]])
                if name == "_declined":
                    yield from (f"writer_declined_{reason}" for reason in words(args[1]))
            case ast.Assign(targets=[target], value=value):
                yield from assigned(target, value)
            case ast.FunctionDef(name=name) if name in NAMING:
                tuples = [each for each in ast.walk(node) if isinstance(each, ast.Tuple)]
                found = {word for each in tuples for part in each.elts for word in words(part)}
                yield from (word for word in found if "_" in word)


def in_code() -> set[str]:
    found = set(CONSTANT)
    for path in CODE.rglob("*.py"):
        if path.stem not in TEXT_CHECKS:
            found |= set(named(ast.parse(path.read_text(encoding="utf-8"))))
    # its reasons are read where it is called
    patterns = {name for name in found if "*" in name} - {"writer_declined_*"}
    made = [MADE[pattern] for pattern in patterns]
    return {name for name in found if "*" not in name}.union(*made)


def test_the_page_lists_the_rules_that_the_code_names() -> None:
    listed = [rule for row in page() for rule in row.rules]
    assert sorted(set(listed)) == sorted(in_code())


def test_a_rule_has_one_row_for_a_stage_and_kind_of_record() -> None:
    keys = [(rule, row.stages, kind) for row in page() for rule in row.rules for kind in row.kinds]
    assert len(set(keys)) == len(keys)


def test_limits_that_the_page_names_by_their_key_are_keys_of_a_manifest() -> None:
    text = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    paths = [path for path in (ROOT / "manifests").rglob("*.toml") if path.name != "licences.toml"]
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths]
    keys = re.findall(r"`(filter|strata|images|points|decisions)\.([a-z_]+)`", text)
    assert len(keys) > 10
    assert [(table, key) for table, key in keys if not any(key in each.get(table, {}) for each in tables)] == []


@pytest.mark.parametrize("name", ["candvg", "fpco-dialog"])
def test_what_a_build_says_is_on_the_page(
    name: str, demo: Callable[..., Path], small_world: Path, tmp_path: Path
) -> None:
    checked = manifest.read(demo(name), small_world)
    place = runner.build(checked, tmp_path / "work", runner.Options(), lambda line: None)
    texts = set(re.findall(r"(?m)^\| `([a-z_]+)`", OTHER_PAGE.read_text(encoding="utf-8")))
    rows, said = page(), set()
    for stage in benchmarks.stages(checked):
        for table, weight in (("rejected", "hard"), ("flagged", "soft")):
            for row in read_table(place, f"{stage.name}/{table}").to_pylist():
                rule = re.sub("^review_.*", "review_<reason>", row["rule"])
                said.add((stage.name, weight, row["kind"], rule))
    assert len(said) > 3
    lacking = [
        (stage, weight, kind, rule)
        for stage, weight, kind, rule in sorted(said)
        if not any(
            rule in row.rules and f"`{stage}`" in row.stages and weight in row.weights and kind in row.kinds
            for row in rows
        )
    ]
    assert [entry for entry in lacking if not (entry[1] == "soft" and entry[3] in texts)] == []
