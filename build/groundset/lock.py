# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The lock beside a manifest: what a machine pinned, so that a later build uses the same bytes or refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from groundset import schema
from groundset.errors import DataError, Problem, UsageError
from groundset.files import readable_json, write_atomic

Pins = Mapping[str, Mapping[str, Any]]
KINDS = ("sources", "photographs", "decisions", "journals")


@dataclass(frozen=True)
class Lock:
    """Pins by kind and name.

    Attributes:
        path: The lock file; it need not exist.
        pins: `sources`, `photographs`, `decisions` and `journals`, each name to its pin, of `schemas/lock.schema.json`.
    """

    path: Path
    pins: Mapping[str, Pins] = field(default_factory=lambda: {kind: {} for kind in KINDS})


def read(path: Path) -> Lock:
    """Reads a lock; one that is not there pins nothing.

    Raises:
        UsageError: The file is not a lock; all problems at once.
    """
    if not path.exists():
        return Lock(path)
    try:
        pins = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: the lock cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: the lock is not JSON: {error}") from None
    problems = [Problem(str(path), "", where, message) for where, message in schema.errors("lock", pins)]
    if problems:
        raise UsageError(f"{path}: the lock is wrong; problems found: {len(problems)}", problems)
    # a lock that was written before there were journals has none
    return Lock(path, {kind: pins.get(kind, {}) for kind in KINDS})


def differences(lock: Lock, kind: str, found: Pins) -> list[Problem]:
    """What was found and is pinned as something else."""
    problems = []
    for name in sorted(found):
        pinned = lock.pins[kind].get(name)
        if pinned is not None and dict(pinned) != dict(found[name]):
            changed = [key for key in sorted(pinned) if pinned[key] != found[name].get(key)]
            told = ", ".join(f"{key} is {found[name].get(key)}, pinned as {pinned[key]}" for key in changed)
            hint = "put the pinned file back, or build with --repin if the change is meant"
            problems.append(Problem(str(lock.path), f"{kind} {name}", "", told, hint))
    return problems


def merged(lock: Lock, kind: str, found: Pins, *, repin: bool = False) -> tuple[Lock, int]:
    """The lock with what was found added, and how many pins are new or changed.

    Raises:
        DataError: Something found is pinned as something else and `repin` is not set.
    """
    problems = [] if repin else differences(lock, kind, found)
    if problems:
        raise DataError(f"{len(problems)} pinned {kind} have changed", problems)
    fresh = {name: dict(pin) for name, pin in found.items() if dict(lock.pins[kind].get(name, {})) != dict(pin)}
    return Lock(lock.path, {**lock.pins, kind: {**lock.pins[kind], **fresh}}), len(fresh)


def write(lock: Lock) -> None:
    """Writes the lock, sorted, whole or not at all."""
    try:
        write_atomic(lock.path, readable_json({kind: dict(pins) for kind, pins in lock.pins.items()}))
    except OSError as error:
        raise UsageError(f"{lock.path}: the lock cannot be written: {error.strerror}") from None


def unpinned(lock: Lock, kind: str, names: list[str]) -> list[str]:
    """Names that the lock does not pin yet, sorted."""
    return sorted(name for name in names if name not in lock.pins[kind])
