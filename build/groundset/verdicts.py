# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a rule says of a record: the one form in which anything is left out or flagged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from groundset.schema_types import arrow_schema


@dataclass(frozen=True)
class Verdict:
    """A rule's word on one record.

    Attributes:
        record_id: The record that was judged.
        kind: Kind of record: image, object, item, dialogue, variant, caption, decision, class (of a source's class
            list), file.
        rule: Name of the rule, snake_case.
        detail: The same for a person, in words.
        measured: The measured value, where it is a number.
        limit: The limit that it was held against.
        hard: A hard verdict rejects the record; a soft one flags it for a person.
    """

    record_id: str
    kind: str
    rule: str
    detail: str = ""
    measured: float | None = None
    limit: float | None = None
    hard: bool = True


def to_table(verdicts: Iterable[Verdict]) -> pa.Table:
    """Verdicts as a table of `schemas/verdict.schema.json`, sorted by kind, record, rule and what else they say."""
    rows = list(verdicts)
    schema = arrow_schema("verdict")
    table = pa.table({name: [getattr(row, name) for row in rows] for name in schema.names}, schema=schema)
    order = ("kind", "record_id", "rule", "detail", "measured", "limit")
    return table.sort_by([(name, "ascending") for name in order])
