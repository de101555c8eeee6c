# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How errors read, and the exit code of each."""

from __future__ import annotations

import inspect

import pytest

from groundset import errors
from groundset.errors import DataError, GroundsetError, Problem, ServiceError, UsageError, WaitingForPeopleError


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (
            Problem("a.json", "line 3", "$.bbox[2]", "it is NaN", "take it out"),
            "a.json line 3 $.bbox[2]: it is NaN (take it out)",
        ),
        (Problem("a.json", "", "", "it is empty"), "a.json: it is empty"),
        (Problem("", "coco-1", "", "it is there twice"), "coco-1: it is there twice"),
        (Problem("", "", "", "something is wrong"), "something is wrong"),
    ],
)
def test_a_problem_says_where_what_and_what_to_do(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_problems_are_sorted_and_told_once() -> None:
    first, second = Problem("a", "1", "", "x"), Problem("b", "0", "", "x")
    error = DataError("the sources are wrong", [second, first, second])
    assert error.problems == (first, second)
    assert str(error) == "the sources are wrong\n  a 1: x\n  b 0: x"


@pytest.mark.parametrize(("count", "last"), [(50, "  a 049: x"), (51, "  and 1 more"), (73, "  and 23 more")])
def test_a_long_list_is_cut_in_the_message_only(count: int, last: str) -> None:
    error = DataError("wrong", [Problem("a", f"{number:03}", "", "x") for number in range(count)])
    assert len(error.problems) == count
    assert str(error).splitlines()[-1] == last
    assert len(str(error).splitlines()) == 1 + min(count, 50) + (count > 50)


def test_an_error_without_problems_is_its_summary() -> None:
    assert str(UsageError("there is no such stage")) == "there is no such stage"
    assert UsageError("x").problems == ()


def test_every_error_has_one_root_and_the_exit_code_of_its_kind() -> None:
    found = {
        kind.__name__: kind.exit_code
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception)
    }
    assert found == {
        "GroundsetError": 1,
        "DataError": 1,
        "UsageError": 2,
        "ServiceError": 3,
        "WaitingForPeopleError": 4,
    }
    for kind in (DataError, UsageError, ServiceError, WaitingForPeopleError):
        assert issubclass(kind, GroundsetError)
