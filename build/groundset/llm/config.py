# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""How a model is asked, and the key it is asked with, which never leaves this room."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from groundset.errors import Problem, UsageError

APIS = ("chat", "responses")
MAX_TOKENS_NAMES = {"chat": ("max_completion_tokens", "max_tokens"), "responses": ("max_output_tokens",)}
# what the requests themselves say; a parameter of the same name would change it behind the journal's back
OWN_PARAMETERS = frozenset(
    (
        *(
            "model",
            "messages",
            "input",
            "instructions",
            "response_format",
            "text",
            "stream",
            "n",
            "store",
            "background",
        ),
        *("tools", "tool_choice", "functions", "max_tokens", "max_completion_tokens", "max_output_tokens"),
    )
)
# shorter ones are the dummies that local servers are given, and occur in any text; a word can be as long as eight
SHORTEST_SECRET = 8
SHORTEST_UNMISTAKABLE = 16


@dataclass(frozen=True)
class Config:
    """The manifest's word on a model: first what changes an answer, then what does not.

    Attributes:
        api: `chat` (Chat Completions, the form that most servers know) or `responses`.
        base_url: Address of the API, such as `http://127.0.0.1:8000/v1`.
        model: The model's name at the server.
        parameters: What is sent along as it stands, such as temperature or seed.
        max_tokens_name: The parameter that limits an answer; servers differ.
        max_tokens: That limit.
        longest_side_px: Photographs with a longer side are sent downscaled to it; 0 sends the file's own bytes.
        jpeg_quality: Quality of a downscaled photograph.
        max_tokens_limit: Limit to which a truncated answer's next attempt may double the tokens.
        attempts: How often a question is asked whose answer cannot be used.
        key_env: Environment variable that holds the key; empty if the server wants none.
        concurrency: Items at work at a time.
        requests_per_minute: Limit, 0 for none.
        tokens_per_minute: Limit on tokens sent and received, 0 for none.
        connect_timeout_s: Longest wait for a connection.
        request_timeout_s: Longest wait for a whole answer.
        failures: Failures in a row (no connection, 429, 5xx, no readable answer) before a request is given up.
        failed_requests: Requests in a row that are given up before the run stops.
        first_wait_s: Wait after the first failure, doubled after each further one.
        max_wait_s: Longest wait that doubling leads to.
        max_retry_after_s: Longest wait that the server may ask for; the run stops where it asks for more.
    """

    api: str
    base_url: str
    model: str
    parameters: Mapping[str, Any]
    max_tokens_name: str
    max_tokens: int
    longest_side_px: int
    jpeg_quality: int
    max_tokens_limit: int
    attempts: int
    key_env: str
    concurrency: int
    requests_per_minute: float
    tokens_per_minute: float
    connect_timeout_s: float
    request_timeout_s: float
    failures: int
    failed_requests: int
    first_wait_s: float
    max_wait_s: float
    max_retry_after_s: float


IN_THE_KEY = frozenset(
    ("api", "base_url", "model", "parameters", "max_tokens_name", "max_tokens", "longest_side_px", "jpeg_quality")
)


def config_of(table: Mapping[str, Any]) -> Config:
    """The config from a table of the manifest that its schema allows; other keys of the table are left alone.

    Raises:
        UsageError: It holds what a schema cannot see; all problems at once.
    """
    values = {known.name: table[known.name] for known in fields(Config)}
    config = Config(**{**values, "base_url": str(values["base_url"]).rstrip("/")})
    problems = [Problem("", "", f"$.{name}", message) for name, message in _faults(config)]
    if problems:
        raise UsageError(f"the language model's settings are wrong; problems found: {len(problems)}", problems)
    return config


def _address_fault(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return "is no address"
    if "@" in parts.netloc:
        # the address is published with the manifest
        return "holds credentials; take them out, and put a key into the variable that key_env names"
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "holds a query or a fragment, which may not be part of it"
    return "" if is_web and url.isascii() and url.isprintable() and " " not in url else "is no http or https address"


def _faults(config: Config) -> list[tuple[str, str]]:
    faults = []
    address = _address_fault(config.base_url)
    if address:
        faults.append(("base_url", address))
    names = MAX_TOKENS_NAMES.get(config.api)
    if names is None:
        faults.append(("api", f"{config.api!r} is none of {', '.join(APIS)}"))
    elif config.max_tokens_name not in names:
        message = f"{config.max_tokens_name!r} is none of {', '.join(names)}, which the API {config.api} knows"
        faults.append(("max_tokens_name", message))
    taken = sorted(OWN_PARAMETERS & set(config.parameters))
    if taken:
        faults.append(("parameters", f"{', '.join(taken)} is set by the request itself"))
    if config.max_tokens_limit < config.max_tokens:
        faults.append(("max_tokens_limit", f"{config.max_tokens_limit} is below max_tokens, {config.max_tokens}"))
    seed = config.parameters.get("seed", 0)
    if type(seed) is not int:
        faults.append(("parameters.seed", f"{seed!r} is no whole number"))
    return faults


@dataclass(frozen=True)
class Key:
    """The key; it shows itself to nobody who does not ask for its value.

    Attributes:
        value: The key as the server wants it; empty for none.
    """

    value: str = field(repr=False)

    def scrubbed(self, text: str) -> str:
        """A text of the server's, without the key and without what looks like any part of one."""
        if len(self.value) >= SHORTEST_SECRET:
            text = text.replace(self.value, "[key]")
        # what servers show of a key that they refuse, such as sk-ab***yz
        return re.sub(r"\b(?:(?:sk|pk|key)[-_]|Bearer )[A-Za-z0-9*_.-]{6,}", "[key]", text)

    def is_in(self, body: bytes) -> bool:
        """Whether a body repeats the key."""
        return len(self.value) >= SHORTEST_UNMISTAKABLE and self.value.encode() in body


def read_key(config: Config, environment: Mapping[str, str] = os.environ) -> Key:
    """The key from the environment.

    Raises:
        UsageError: The variable is not set, or holds what no header can carry.
    """
    if not config.key_env:
        return Key("")
    value = environment.get(config.key_env, "").strip()
    if not value:
        raise UsageError(f"the environment variable {config.key_env} is not set; it holds the key for the model's API")
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise UsageError(f"the environment variable {config.key_env} holds characters that no key has")
    return Key(value)
