# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The few forms of Markdown that a card is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def cell(text: object) -> str:
    """A text as it may stand in a table: on one line, its bars escaped."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> str:
    """A table; the columns of those numbers are set to the right."""
    marks = ["---:" if column in set(right) else "---" for column in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cell(text) for text in row) + " |" for row in rows)])


def bullets(lines: Iterable[str]) -> str:
    """A list, each of its texts on one line."""
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)


def fenced(language: str, text: str) -> str:
    """A block of code whose fence is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(title: str, text: str) -> str:
    """Text that a page shows when its title is clicked; the empty lines let Markdown in it be Markdown."""
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"
