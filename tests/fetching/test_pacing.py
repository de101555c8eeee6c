# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Manners towards hosts, on a clock that only runs while someone waits."""

from __future__ import annotations

from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundset.fetching.pacing import Clock, Manners, Pace, StoppedError, backoff_s, retry_after_s


class Time:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def pace(self, manners: Manners, stop: Event | None = None) -> Pace:
        return Pace(manners, Clock(lambda: self.now, lambda: 0.0, self.sleep), stop or Event())


def test_requests_to_one_host_keep_their_distance() -> None:
    time = Time()
    pace = time.pace(Manners(requests_per_second=4))
    for _ in range(5):
        with pace.turn("a.invalid"):
            pass
    assert sum(time.slept) == pytest.approx(1.0)
    with pace.turn("b.invalid"):
        assert sum(time.slept) == pytest.approx(1.0)


def test_a_held_host_gets_nothing_until_then() -> None:
    time = Time()
    pace = time.pace(Manners(requests_per_second=1000))
    pace.hold("a.invalid", 30)
    pace.hold("a.invalid", 10)
    with pace.turn("b.invalid"):
        assert time.slept == []
    with pace.turn("a.invalid"):
        assert sum(time.slept) == pytest.approx(30)


def test_a_stopped_fetch_waits_for_nothing() -> None:
    stop = Event()
    pace = Pace(Manners(), Clock(), stop)
    stop.set()
    with pytest.raises(StoppedError):
        pace.wait(3600)
    with pytest.raises(StoppedError), pace.turn("a.invalid"):
        pass
    # the slot has been given back
    assert [slot._value for slot in pace._slots.values()] == [Manners().per_host]  # type: ignore[attr-defined]


@given(st.text(), st.integers(1, 10_000))
def test_waits_grow_within_bounds_and_are_the_same_each_time(key: str, failures: int) -> None:
    manners = Manners()
    wait = backoff_s(key, failures, manners)
    assert wait == backoff_s(key, failures, manners)
    longest = min(manners.max_wait_s, manners.first_wait_s * 2.0 ** min(failures - 1, 20))
    assert longest / 2 <= wait <= longest


def test_files_do_not_all_ask_again_at_once() -> None:
    assert len({backoff_s(f"file {number}", 1, Manners()) for number in range(50)}) == 50


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        (" 7 ", 7.0),
        ("9" * 400, float("inf")),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 50.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:01:00 -0000", 50.0),
        ("Thu, 99 Jan 1970 00:01:00 GMT", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, None, 10.0) == seconds


@given(st.text(), st.text())
def test_no_header_breaks_it(value: str, date: str) -> None:
    found = retry_after_s(value, date, 0.0)
    assert found is None or found >= 0
