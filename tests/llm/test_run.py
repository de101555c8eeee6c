# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundset.errors import DataError, GroundsetError, ServiceError, UsageError
from groundset.llm import journal_file, run
from groundset.llm.desk import Ask, MissingAnswerError
from groundset.llm.journal import Journal
from groundset.llm.progress import Counts


def ask(requests: Any, config: Any, journal: Any, **options: Any) -> dict[str, Any]:
    with run.ask_all(requests, config, journal, **options) as results:
        return {request.label: result for request, result in results}


def outcome(server: Any, ask_for: Any, config: Any, journal: Any, *replies: Any) -> Any:
    """What becomes of a question that the server replies to in this way, the last reply over and over."""
    server.script = lambda question, number, body: replies[min(number, len(replies)) - 1]
    return ask([ask_for("q")], config, journal)["q"]


def test_an_answer_is_asked_for_once_and_then_replayed(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    first = ask([ask_for("a"), ask_for("b")], config, journal)
    assert first["a"].outcome == "answered"
    assert first["a"].value == server.ten()
    assert first["a"].model == "served-1"
    assert ask([ask_for("b"), ask_for("a")], config, journal) == {"b": first["b"], "a": first["a"]}
    assert server.counts == {"a": 1, "b": 1}


def test_what_is_sent(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    ask([ask_for("a")], config, journal)
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer planted-0123456789-abcdefghij"
    assert asked.headers["content-type"] == "application/json"
    assert asked.body.pop("response_format")["json_schema"]["strict"] is True
    assert asked.body == {
        "model": "writer-1",
        "messages": [{"role": "system", "content": "You write questions."}, {"role": "user", "content": "a"}],
        "temperature": 0.5,
        "max_completion_tokens": 100,
    }


def test_the_same_question_at_the_same_time_is_asked_once(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    server.script = lambda question, number, body: replace(server.good(), delay_s=0.1)
    with run.ask_all([ask_for("a")] * 20, config, journal) as results:
        assert len(list(results)) == 20
    assert server.counts == {"a": 1}


NOT_SERVED = {
    "truncated": ("length", '{"target": "the dog", "questions": ['),
    "filtered": ("content_filter", ""),
    "unfinished": ("tool_calls", "{}"),
    "empty": ("stop", None),
}


@pytest.mark.parametrize("name", NOT_SERVED)
def test_a_finish_reason_other_than_stop_is_no_answer(
    server: Any, ask_for: Any, config: Any, journal: Any, name: str
) -> None:
    finish, content = NOT_SERVED[name]
    result = outcome(server, ask_for, config, journal, server.reply(finish=finish, content=content))
    assert (result.outcome, result.value, result.attempts) == (name, None, 3)
    assert server.counts["q"] == 3


def test_a_truncated_answer_is_not_served_though_it_keeps_the_schema(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    whole = server.good().content
    result = outcome(server, ask_for, config, journal, server.reply(finish="length", content=whole), server.good())
    assert result.outcome == "answered"
    assert [asked.body["max_completion_tokens"] for asked in server.asked] == [100, 200]
    assert [answer.finish for answer in journal.answers(result.key)] == ["length", "stop"]


def test_truncation_is_retried_up_to_the_limit_on_tokens_alone(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    config = replace(config, max_tokens_limit=150, attempts=10)
    result = outcome(server, ask_for, config, journal, server.reply(finish="length", content="{"))
    assert (result.outcome, result.attempts) == ("truncated", 2)
    assert [asked.body["max_completion_tokens"] for asked in server.asked] == [100, 150]


def test_a_refusal_is_recorded_and_asked_again(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    result = outcome(server, ask_for, config, journal, server.reply(refusal="I would rather not."), server.good())
    assert result.outcome == "answered"
    assert [answer.refusal for answer in journal.answers(result.key)] == ["I would rather not.", None]


def broken_answers(ten: Any) -> dict[str, Any]:
    whole = ten()
    nine = {**whole, "questions": whole["questions"][:9]}
    doubled = {**whole, "questions": [*whole["questions"][:9], {"id": 4, "content": "Again?"}]}
    extra = {**whole, "note": "and one more thing"}
    return {"nine": nine, "doubled": doubled, "extra": extra}


@pytest.mark.parametrize("name", ["nine", "doubled", "extra"])
def test_an_answer_that_breaks_the_full_schema_is_no_answer(
    server: Any, ask_for: Any, config: Any, journal: Any, name: str
) -> None:
    import json

    content = json.dumps(broken_answers(server.ten)[name])
    result = outcome(server, ask_for, config, journal, server.reply(content=content))
    assert (result.outcome, result.value, result.attempts) == ("schema_breaking", None, 3)
    assert result.detail


def test_a_request_that_the_server_refuses_for_its_content_is_filtered(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    result = outcome(server, ask_for, config, journal, server.error(400, "content_filter", "not this"))
    assert (result.outcome, result.attempts) == ("filtered", 3)


def test_a_bad_request_is_the_item_s_own_and_asked_again_by_the_next_run(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    bad = server.error(400, "invalid_image", "no such picture")
    server.script = lambda question, number, body: bad if question == "bad" else server.good()
    requests = [ask_for("bad"), ask_for("a")]
    found = ask(requests, config, journal)
    assert {name: result.outcome for name, result in found.items()} == {"bad": "bad_request", "a": "answered"}
    assert found["bad"].detail == "400 invalid_image: no such picture"
    assert server.counts["bad"] == 1
    assert ask(requests, config, journal, offline=True) == found
    ask(requests, config, journal)
    assert server.counts == {"bad": 2, "a": 1}


def test_bad_requests_in_a_row_stop_the_run(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    server.script = lambda question, number, body: server.error(400, "bad", "temperature is not supported")
    with pytest.raises(ServiceError, match="temperature is not supported") as caught:
        ask([ask_for(str(number)) for number in range(100)], replace(config, concurrency=1), journal)
    assert caught.value.exit_code == 3
    assert len(server.asked) == 3


def passing_faults(server: Any) -> dict[str, Any]:
    page = server.reply(body=b"<html>busy</html>", headers={"content-type": "text/html"})
    return {
        "429": server.error(429, "rate_limit_exceeded", "slow down"),
        "500": server.error(500),
        "502 with a page": replace(page, status=502),
        "503": server.error(503, "", "loading the model"),
        "529": server.error(503, "overloaded_error"),
        "200 with a page": page,
        "200 with nothing": server.reply(body=b""),
        "200 with a stream of nothing": replace(page, body=b"data: [DONE]\n\n"),
        "200 with half a JSON": server.reply(body=b'{"choices": [{"mess'),
        "200 with other JSON": server.reply(body=b"[1, 2]"),
        "200 without choices": server.reply(body=b"{}"),
        "200 with an error": server.reply(body=b'{"error": {"message": "upstream", "code": 502}}'),
        "cut before": server.reply(content="", cut="before"),
        "cut within": replace(server.good(), cut="within"),
        "no such encoding": replace(server.good(), headers={"content-encoding": "gzip"}),
    }


FAULTS = [
    *("429", "500", "502 with a page", "503", "529", "200 with a page", "200 with nothing", "200 with half a JSON"),
    "200 with a stream of nothing",
    *("200 with other JSON", "200 without choices", "200 with an error", "cut before", "cut within"),
    *("no such encoding",),
]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_may_pass_is_retried_and_counted(
    server: Any, ask_for: Any, config: Any, journal: Any, name: str
) -> None:
    fault = passing_faults(server)[name]
    server.script = lambda question, number, body: fault if number < 3 else server.good()
    seen: list[Counts] = []
    result = ask([ask_for("q")], config, journal, notice=seen.append)["q"]
    assert (result.outcome, result.attempts) == ("answered", 1)
    assert (seen[-1].retried, seen[-1].asked, seen[-1].done) == (2, 1, 1)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_stays_leaves_the_item_open_and_the_others_done(
    server: Any, ask_for: Any, config: Any, journal: Any, name: str
) -> None:
    fault = passing_faults(server)[name]
    server.script = lambda question, number, body: fault if question == "bad" else server.good()
    with pytest.raises(ServiceError, match="no answer to 1 requests") as caught:
        ask([ask_for("bad"), *(ask_for(str(number)) for number in range(5))], config, journal)
    assert "bad" in str(caught.value)
    assert "<html>" not in str(caught.value)
    assert server.counts["bad"] == 4
    server.script = lambda question, number, body: server.good()
    assert ask([ask_for("bad"), ask_for("3")], config, journal)["bad"].outcome == "answered"
    assert server.counts["3"] == 1


def unreadable_answers(server: Any) -> dict[str, bytes]:
    whole = server.good().to_bytes()
    content = json.dumps(server.good().content).encode()
    return {
        "bytes that are no UTF-8": whole.replace(b"the dog", b"the d\xf6g"),
        # the content is JSON in JSON: this escapes a half character of the outer one
        "half a character": whole.replace(content, b'"the d\\ud83dg"'),
        "parts in the place of a text": whole.replace(content, b'[{"type": "text", "text": "{}"}]'),
        "no message": b'{"choices": [{"finish_reason": "stop", "message": null}], "usage": {"prompt_tokens": 11}}',
        "a number for a reason": whole.replace(b'"stop"', b"3"),
    }


UNREADABLE = (
    *("bytes that are no UTF-8", "half a character", "parts in the place of a text", "no message"),
    "a number for a reason",
)


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_answer_that_no_text_can_hold_is_kept_as_such_and_asked_for_again_as_often_as_any(
    server: Any, ask_for: Any, config: Any, journal: Any, name: str
) -> None:
    fault = server.reply(body=unreadable_answers(server)[name])
    server.script = lambda question, number, body: fault if question == "bad" or number == 1 else server.good()
    found = ask([ask_for("bad"), ask_for("good")], config, journal)
    assert (found["bad"].outcome, found["bad"].attempts) == ("unreadable", config.attempts)
    assert found["bad"].value is None
    assert found["bad"].detail.startswith("the answer is ")
    assert (found["good"].outcome, found["good"].attempts) == ("answered", 2)
    assert ask([ask_for("bad")], config, journal, offline=True)["bad"] == found["bad"]
    assert server.counts["bad"] == config.attempts
    assert journal.spent().prompt_tokens >= 11 * config.attempts


def test_a_server_that_answers_nobody_stops_the_run(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    server.script = lambda question, number, body: server.error(500, "", "out of order")
    with pytest.raises(ServiceError, match="out of order"):
        ask([ask_for(str(number)) for number in range(1000)], config, journal)
    assert len(server.counts) < 30


def test_a_slow_answer_is_given_up(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    config = replace(config, request_timeout_s=1.0)
    result = outcome(server, ask_for, config, journal, replace(server.good(), delay_s=30.0), server.good())
    assert result.outcome == "answered"
    assert server.counts["q"] == 2


def test_an_answer_that_trickles_in_is_given_up(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    config = replace(config, request_timeout_s=1.0, connect_timeout_s=1.0)
    result = outcome(server, ask_for, config, journal, replace(server.good(), trickle_s=0.05), server.good())
    assert result.outcome == "answered"
    assert server.counts["q"] == 2


def test_no_wait_at_all_is_no_advice(server: Any, ask_for: Any, config: Any, journal: Any, fake_time: Any) -> None:
    server.script = lambda question, number, body: server.error(429, retry_after="0") if number < 3 else server.good()
    assert ask([ask_for("a")], config, journal, clock=fake_time.clock)["a"].outcome == "answered"
    assert [wait > 0 for wait in fake_time.waits] == [True, True]


def test_any_content_type_will_do(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    odd = replace(server.good(), headers={"content-type": "text/plain; charset=latin-1"})
    assert outcome(server, ask_for, config, journal, odd).outcome == "answered"


def test_empty_choices_are_an_empty_answer(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    result = outcome(server, ask_for, config, journal, server.reply(body=b'{"choices": []}'))
    assert (result.outcome, result.attempts) == ("empty", 3)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after_ms": "2500", "retry_after": "9"}, 2.5),
        ({"retry_after": "0.25"}, 0.25),
    ],
    ids=str,
)
def test_retry_after_is_kept_for_all(
    server: Any, ask_for: Any, config: Any, journal: Any, fake_time: Any, headers: dict[str, str], seconds: float
) -> None:
    server.script = lambda question, number, body: server.error(429, **headers) if number == 1 else server.good()
    requests = [ask_for("a"), ask_for("b")]
    found = ask(requests, replace(config, concurrency=1), journal, clock=fake_time.clock)
    assert {result.outcome for result in found.values()} == {"answered"}
    assert fake_time.waits == pytest.approx([seconds, seconds])


def test_a_wait_that_is_too_long_stops_the_run(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    with pytest.raises(ServiceError, match="asks to wait 86400 s"):
        outcome(server, ask_for, config, journal, server.error(429, "", "daily limit", retry_after="86400"))
    assert server.counts["q"] == 1


def test_waits_double_and_can_be_foreseen(
    server: Any, ask_for: Any, config: Any, journal: Any, fake_time: Any, tmp_path: Path
) -> None:
    config = replace(config, first_wait_s=1.0, max_wait_s=4.0, failures=6)
    server.script = lambda question, number, body: server.error(500) if number % 6 else server.good()
    ask([ask_for("a")], config, journal, clock=fake_time.clock)
    waits = list(fake_time.waits)
    assert all(longest / 2 <= wait <= longest for wait, longest in zip(waits, (1, 2, 4, 4, 4), strict=True))
    with Journal(tmp_path / "other.sqlite") as other:
        ask([ask_for("a")], config, other, clock=fake_time.clock)
    assert fake_time.waits == waits * 2


STOPS = {
    "wrong key": (401, "invalid_api_key", "Incorrect API key provided: planted-0123456789-abcdefghij."),
    "wrong key, said as 400": (400, "", "API key not valid. Please pass a valid API key."),
    "forbidden": (403, "", "planted-0123456789-abcdefghij may not"),
    "no credit": (402, "", "pay first"),
    "quota": (429, "insufficient_quota", "You exceeded your current quota"),
    "no such model": (404, "model_not_found", "The model does not exist"),
    "no such model, said as 400": (400, "model_not_found", "The model does not exist"),
    "no such path": (405, "", "method not allowed"),
}


@pytest.mark.parametrize("name", STOPS)
def test_what_concerns_every_request_stops_the_run_at_once_and_keeps_what_is_there(
    server: Any, ask_for: Any, config: Any, journal: Any, name: str
) -> None:
    ask([ask_for("before")], config, journal)
    server.script = lambda question, number, body: server.error(*STOPS[name])
    with pytest.raises(ServiceError) as caught:
        ask([ask_for("before"), *(ask_for(str(number)) for number in range(1000))], config, journal)
    told = str(caught.value)
    assert caught.value.exit_code == 3
    assert len(told.splitlines()) == 1
    assert "planted" not in told
    assert "kept" in told
    assert len(server.asked) <= 1 + config.concurrency
    assert ask([ask_for("before")], config, journal)["before"].outcome == "answered"


def test_an_unreachable_server_is_told_soon(ask_for: Any, config: Any, journal: Any) -> None:
    with socket.socket() as bound:
        # taken, but nobody listens
        bound.bind(("127.0.0.1", 0))
        config = replace(config, failures=50, base_url=f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
        with pytest.raises(ServiceError, match="cannot be reached: no connection"):
            ask([ask_for(str(number)) for number in range(1000)], config, journal)


def test_what_was_on_its_way_when_the_run_had_to_stop_is_kept(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    def script(question: str, number: int, body: Any) -> Any:
        refused = replace(server.error(401), delay_s=0.2)
        return refused if question == "refused" else replace(server.good(), delay_s=0.6)

    server.script = script
    names = ["a", "b", "refused", "c"]
    with pytest.raises(ServiceError, match="does not accept the key in the environment variable"):
        ask([ask_for(name) for name in names], replace(config, concurrency=4), journal)
    found = ask([ask_for(name) for name in "abc"], config, journal, offline=True)
    assert {result.outcome for result in found.values()} == {"answered"}


def test_a_disk_that_becomes_full_stops_the_run_which_then_goes_on_where_it_was(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    requests = [ask_for(str(number)) for number in range(100)]
    (pages,) = journal._writer.execute("PRAGMA page_count").fetchone()
    journal._writer.execute(f"PRAGMA max_page_count = {pages + 20}")
    with pytest.raises(GroundsetError, match="the disk is full; make room and run again"):
        ask(requests, config, journal)
    have = {key for key, _, _ in journal.rows()}
    assert have
    asked = len(server.asked)
    assert asked - len(have) <= 2 * config.concurrency
    journal._writer.execute("PRAGMA max_page_count = 1000000")
    assert len(ask(requests, config, journal)) == 100
    assert len(server.asked) - asked == 100 - len(have)


def test_an_answer_is_on_disk_before_anyone_sees_it(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    seen = []

    async def talk(ask: Ask, item: int) -> None:
        result = await ask(ask_for(str(item)))
        with closing(sqlite3.connect(journal.path)) as other:
            seen.append(other.execute("SELECT count(*) FROM answers WHERE key = ?", (result.key,)).fetchone())

    with run.converse(range(20), talk, config, journal) as results:
        list(results)
    assert seen == [(1,)] * 20


def test_items_that_cannot_be_had_end_the_run(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    def requests() -> Iterator[Any]:
        yield ask_for("a")
        raise DataError("no more items")

    with pytest.raises(DataError, match="no more items"):
        ask(requests(), config, journal)


def test_a_key_that_is_not_set_is_told_before_anything_is_asked(
    server: Any, ask_for: Any, config: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(config.key_env)
    with pytest.raises(UsageError, match=config.key_env):
        ask([ask_for("a")], config, journal)
    assert not server.asked


def test_a_server_without_a_key_is_asked_without(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    assert ask([ask_for("a")], replace(config, key_env=""), journal)["a"].outcome == "answered"


def test_a_missing_answer_is_named_offline_the_first_in_order(
    server: Any, ask_for: Any, config: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask([ask_for("a"), ask_for("d")], config, journal)
    monkeypatch.delenv(config.key_env)
    requests = [ask_for(name) for name in "abcd"]
    with pytest.raises(MissingAnswerError, match=r"no answer for the key [0-9a-f]{64} \(b, prompt version v1"):
        ask(requests, config, journal, offline=True)
    assert ask([ask_for("d"), ask_for("a")], config, journal, offline=True)["d"].outcome == "answered"
    assert len(server.asked) == 2


def test_a_question_that_a_killed_run_left_half_asked_is_missing_offline(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    outcome(server, ask_for, replace(config, attempts=1), journal, server.reply(content="no"))
    with pytest.raises(MissingAnswerError, match="only 1 of 3 attempts"):
        ask([ask_for("q")], config, journal, offline=True)
    assert ask([ask_for("q")], replace(config, attempts=1), journal, offline=True)["q"].outcome == "schema_breaking"


def test_items_are_taken_as_others_end_and_results_wait_for_the_caller(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    taken = 0

    def requests() -> Iterator[Any]:
        nonlocal taken
        for number in range(400):
            taken += 1
            yield ask_for(str(number))

    with run.ask_all(requests(), config, journal) as results:
        for _ in range(10):
            next(results)
        time.sleep(0.3)
        # taken by the caller, in the queue, waiting for room in it, or at work
        assert taken <= 10 + 2 * config.concurrency + config.concurrency + 1
        assert len(list(results)) == 390
    assert server.most_at_once <= config.concurrency


def test_a_conversation_asks_again_with_what_came_before(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    async def talk(ask: Ask, item: int) -> tuple[int, str]:
        first = await ask(ask_for(f"item {item}"))
        second = await ask(ask_for(f"item {item} again, after {first.outcome}"))
        return item, second.outcome

    with run.converse(range(20), talk, config, journal) as results:
        assert sorted(results) == [(number, "answered") for number in range(20)]
    assert len(server.asked) == 40


def test_what_a_conversation_raises_ends_the_run(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    async def talk(ask: Ask, item: int) -> None:
        await ask(ask_for(str(item)))
        raise GroundsetError("no good")

    with pytest.raises(GroundsetError, match="no good"), run.converse(range(9), talk, config, journal) as results:
        list(results)


def test_leaving_early_keeps_what_was_on_its_way(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    server.script = lambda question, number, body: replace(server.good(), delay_s=0.3 if number == 1 else 0)
    with run.ask_all((ask_for(str(number)) for number in range(100)), config, journal) as results:
        next(results)
        time.sleep(0.1)
    asked = dict(server.counts)
    assert len(asked) <= 3 * config.concurrency
    ask([ask_for(name) for name in asked], config, journal, offline=True)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_run_and_keeps_what_was_on_its_way(
    server: Any, ask_for: Any, config: Any, journal: Any, name: str
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    main = threading.main_thread().ident or 0
    # a shell that runs the tests in the background has Ctrl-C ignored
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)

    def script(question: str, number: int, body: Any) -> Any:
        if len(server.asked) == 20:
            signal.pthread_kill(main, getattr(signal, name))
        return replace(server.good(), delay_s=0.1)

    server.script = script
    try:
        with pytest.raises(KeyboardInterrupt):
            ask([ask_for(str(number)) for number in range(10_000)], config, journal)
    finally:
        signal.signal(signal.SIGINT, heeded)
    assert signal.getsignal(signal.SIGTERM) == before
    ask([ask_for(name) for name in server.counts], config, journal, offline=True)
    assert max(server.counts.values()) == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "groundset-llm"]


def test_requests_a_minute_are_kept(server: Any, ask_for: Any, config: Any, journal: Any, fake_time: Any) -> None:
    config = replace(config, requests_per_minute=30)
    ask([ask_for(str(number)) for number in range(5)], config, journal, clock=fake_time.clock)
    assert fake_time.now == pytest.approx(1000 + 4 * 2.0)


def test_tokens_a_minute_are_kept_by_the_server_s_count(
    server: Any, ask_for: Any, config: Any, journal: Any, fake_time: Any
) -> None:
    config = replace(config, tokens_per_minute=18 * 60, concurrency=1)
    ask([ask_for(str(number)) for number in range(6)], config, journal, clock=fake_time.clock)
    # each answer is 11 + 7 tokens by the server's count, though some hundred were expected
    assert fake_time.now == pytest.approx(1000 + 5 * 1.0)


def test_the_key_is_in_no_output(
    server: Any,
    ask_for: Any,
    config: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    key = "planted-0123456789-abcdefghij"
    caplog.set_level(logging.DEBUG)
    replies = {
        "answered": server.good(),
        "echo": server.reply(content=key),
        "bad": server.error(400, key, f"what is {key}?"),
        "failing": server.error(500, "", f"cannot work with {key}"),
        "forbidden": server.error(403, key, f"{key} may not"),
        "unreadable": server.reply(body=f'"{key}"'.encode()),
    }
    server.script = lambda question, number, body: replies[question]
    errors = []
    with Journal(tmp_path / "journal.sqlite") as journal:
        for question in replies:
            try:
                ask([ask_for(question)], config, journal)
            except GroundsetError as error:
                errors.append(str(error))
        journal_file.export(journal, tmp_path / "journal.jsonl")
    assert len(errors) == 4
    assert server.asked[0].headers["authorization"] == f"Bearer {key}"
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    told = "".join(errors) + caplog.text + "".join(capfd.readouterr()) + repr(config)
    assert b"what is [key]?" in written
    assert key.encode() not in written
    assert key not in told


def test_notices_come_in_the_thread_of_the_loop_and_add_up(
    server: Any, ask_for: Any, config: Any, journal: Any
) -> None:
    names: set[str] = set()
    seen: list[Counts] = []

    def notice(counts: Counts) -> None:
        names.add(threading.current_thread().name)
        seen.append(counts)

    server.script = lambda question, number, body: server.good() if number > 1 else server.reply(content="no")
    ask([ask_for(str(number)) for number in range(10)], config, journal, notice=notice)
    last = seen[-1]
    assert names == {"groundset-llm"}
    assert (last.done, last.asked, last.replayed, last.in_flight, last.at_work) == (10, 20, 0, 0, 0)
    assert last.outcomes == {"answered": 10, "schema_breaking": 10}
    assert (last.prompt_tokens, last.completion_tokens) == (220, 140)
    ask([ask_for(str(number)) for number in range(10)], config, journal, notice=notice)
    assert (seen[-1].done, seen[-1].asked, seen[-1].replayed) == (10, 0, 10)


def test_a_run_can_be_started_beside_a_running_loop(server: Any, ask_for: Any, config: Any, journal: Any) -> None:
    async def main() -> dict[str, Any]:
        return await asyncio.to_thread(ask, [ask_for("a")], config, journal)

    assert asyncio.run(main())["a"].outcome == "answered"
