# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""OpenAI's Batch API: many questions handed over in a file, their answers fetched within a day, for half the price.

What is handed over is noted in the work folder first, with a tag made of the questions that the batch carries too. So a
build that is killed in between finds its batch again instead of paying for another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import openai

from groundset.errors import DataError, ServiceError
from groundset.files import readable_json, sha256_bytes, write_atomic
from groundset.llm import wire
from groundset.llm.answers import Answer, Attempt, Received, Usage, next_attempt
from groundset.llm.client import ITEM_STATUS
from groundset.llm.config import Config, Key, read_key
from groundset.llm.journal import Entry, Journal
from groundset.llm.pictures import data_uri
from groundset.llm.request import Request, described, key_of, pictures

# the API takes 200 MB and 50,000 questions in a file
MOST_BYTES, MOST_QUESTIONS = 90 << 20, 50_000
ENDED = frozenset(("completed", "expired", "cancelled", "failed"))
TAG = "groundset"
_SHOWN = 300


@dataclass(frozen=True)
class Asked:
    """One question of a batch.

    Attributes:
        attempt: Number of the attempt.
        max_tokens: Limit on its answer.
        request: The described request, of which the key is made.
    """

    attempt: int
    max_tokens: int
    request: dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """One batch as the work folder notes it.

    Attributes:
        tag: sha256 of its questions.
        batch_id: Its id at the server; empty before it has one.
        base_url: The server.
        asked: Key to question.
    """

    tag: str
    batch_id: str
    base_url: str
    asked: Mapping[str, Asked]


@contextmanager
def _told(config: Config, key: Key) -> Iterator[None]:
    try:
        yield
    except openai.APIConnectionError as error:
        raise ServiceError(f"{config.base_url}: the server cannot be reached: {key.scrubbed(str(error))}") from None
    except openai.APIStatusError as error:
        told = key.scrubbed(" ".join(str(error.message).split())[:_SHOWN])
        hint = "all that was answered is kept; build again to go on"
        raise ServiceError(
            f"{config.base_url}: the Batch API answers {error.status_code}: {told} ({hint}; is the key right?)"
            if error.status_code in (401, 403)
            else f"{config.base_url}: the Batch API answers {error.status_code}: {told} ({hint})"
        ) from None
    except openai.OpenAIError as error:
        raise ServiceError(f"{config.base_url}: {key.scrubbed(str(error))}") from None


def _note(folder: Path, batch: Batch) -> None:
    write_atomic(folder / f"{batch.tag}.json", readable_json(asdict(batch)))


def noted(folder: Path, config: Config) -> list[Batch]:
    """The batches of a model's server that have not been collected.

    Raises:
        DataError: A note cannot be read.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            batch = msgspec.json.decode(path.read_bytes(), type=Batch)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: the note of a batch cannot be read: {error}") from None
        models = {one.request["model"] for one in batch.asked.values()}
        if batch.base_url == config.base_url and models == {config.model}:
            found.append(batch)
    return found


def _chunks(wanted: Sequence[Request], config: Config, journal: Journal) -> Iterator[tuple[bytes, dict[str, Asked]]]:
    lines: list[bytes] = []
    asked: dict[str, Asked] = {}
    seen: set[str] = set()
    size = 0
    for request in wanted:
        description = described(request, config)
        key = key_of(description)
        attempt = next_attempt(journal.answers(key), request.form, config)
        if attempt is None or key in seen:
            continue
        seen.add(key)
        uris = {picture.sha256: data_uri(picture, config) for picture in pictures(request)}
        head = {"custom_id": key, "method": "POST", "url": f"/v1{wire.PATHS[config.api]}"}
        line = msgspec.json.encode({**head, "body": msgspec.Raw(wire.body(request, attempt, config, uris))}) + b"\n"
        if lines and (size + len(line) > MOST_BYTES or len(lines) >= MOST_QUESTIONS):
            yield b"".join(lines), asked
            lines, asked, size = [], {}, 0
        lines.append(line)
        asked[key] = Asked(attempt.number, attempt.max_tokens, description)
        size += len(line)
    if lines:
        yield b"".join(lines), asked


def _open(config: Config) -> tuple[openai.OpenAI, Key]:
    key = read_key(config)
    # no retries: a batch whose creation was not answered may be there all the same
    api = openai.OpenAI(
        api_key=key.value or "none", base_url=config.base_url, timeout=config.request_timeout_s, max_retries=0
    )
    return api, key


def hand_over(wanted: Sequence[Request], config: Config, journal: Journal, folder: Path) -> int:
    """Hands questions over, as many batches as they need; returns how many questions.

    Args:
        wanted: What to ask.
        config: How the model is asked.
        journal: Where the attempts so far are.
        folder: Where batches are noted.

    Raises:
        ServiceError: The server does not take them.
    """
    api, key = _open(config)
    count = 0
    with api, _told(config, key):
        for content, asked in _chunks(wanted, config, journal):
            batch = Batch(sha256_bytes(content), "", config.base_url, asked)
            _note(folder, batch)
            _create(api, config, folder, batch, content)
            count += len(asked)
    return count


def _create(api: openai.OpenAI, config: Config, folder: Path, batch: Batch, content: bytes) -> None:
    file = api.files.create(file=(f"{batch.tag}.jsonl", content), purpose="batch")
    made = api.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions" if config.api == "chat" else "/v1/responses",
        completion_window="24h",
        metadata={TAG: batch.tag},
    )
    _note(folder, Batch(batch.tag, made.id, batch.base_url, batch.asked))


def _refused(asked: Asked, status: int, body: Any) -> Answer:
    code, message = wire.error_of(body.get("error") if isinstance(body, Mapping) else body)
    finish = "content_filter" if "content" in code else ""
    return Answer(asked.attempt, asked.max_tokens, finish, None, None, "", f"{status} {code}: {message[:_SHOWN]}")


def _entry(line: bytes, batch: Batch, config: Config, key: Key, began_s: float) -> Entry | None:
    """The journal's entry for a line of a result file; None where the server failed, so that it is asked again."""
    try:
        found = msgspec.json.decode(line)
        custom_id, response = found["custom_id"], found.get("response") or {}
        asked = batch.asked[custom_id]
        status, body = response.get("status_code", 0), response.get("body")
        if status in ITEM_STATUS:
            answer, usage = _refused(asked, status, body), Usage()
        elif status == 200 and not key.is_in(line):
            attempt = Attempt(asked.attempt, asked.max_tokens)
            answer, usage = wire.read(msgspec.json.encode(body), attempt, config)
        else:
            return None
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    except (wire.UnreadableError, wire.ServerFaultError):
        return None
    return Entry(custom_id, asked.request, Received(answer, usage, 1, 0.0, began_s))


def _found_again(api: openai.OpenAI, batch: Batch) -> str:
    for one in api.batches.list(limit=100):
        if (one.metadata or {}).get(TAG) == batch.tag:
            return str(one.id)
    return ""


def collect(config: Config, journal: Journal, folder: Path) -> tuple[int, list[str]]:
    """Puts what has been answered into the journal.

    Args:
        config: How the model is asked.
        journal: Where answers go.
        folder: Where batches are noted.

    Returns:
        How many batches have ended, and a line on each that has not.

    Raises:
        ServiceError: The server cannot be asked, or has refused a whole batch.
    """
    batches = noted(folder, config)
    if not batches:
        return 0, []
    api, key = _open(config)
    ended, waiting = 0, []
    with api, _told(config, key):
        for batch in batches:
            batch_id = batch.batch_id or _found_again(api, batch)
            if not batch_id:
                # it was noted, but never got to the server
                (folder / f"{batch.tag}.json").unlink()
                ended += 1
                continue
            state = api.batches.retrieve(batch_id)
            if state.status not in ENDED:
                done = state.request_counts.completed if state.request_counts else 0
                waiting.append(f"batch {batch_id}: {state.status}, {done} of {len(batch.asked)} answered")
                continue
            _keep(api, state, batch, config, key, journal)
            (folder / f"{batch.tag}.json").unlink()
            ended += 1
            if state.status == "failed":
                faults = state.errors.data if state.errors and state.errors.data else []
                told = key.scrubbed("; ".join(str(fault.message) for fault in faults)[:_SHOWN])
                raise ServiceError(f"{config.base_url}: the server refuses the batch {batch_id}: {told}")
    return ended, waiting


def _keep(api: openai.OpenAI, state: Any, batch: Batch, config: Config, key: Key, journal: Journal) -> None:
    files = [name for name in (state.output_file_id, state.error_file_id) if name]
    for name in files:
        lines = api.files.content(name).read().splitlines()
        entries = [_entry(line, batch, config, key, float(state.created_at)) for line in lines]
        # those that an interrupted collection has kept already are not kept again
        journal.record(
            [one for one in entries if one and len(journal.answers(one.key)) == one.received.answer.attempt - 1]
        )
    for name in (*files, state.input_file_id):
        # photographs need not stay at the server
        with suppress(openai.OpenAIError):
            api.files.delete(name)
