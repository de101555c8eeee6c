# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a language model's texts are held to beside the checks, which overlook typography as published sets need it.

Who reads a release looks for a description with plain string comparison, so new texts have to hold it letter by letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

from groundset.verdicts import Verdict

# control characters, invisible ones such as those that turn the direction, and halves of characters
_UNPRINTED = frozenset(("Cc", "Cf", "Co", "Cs"))


def _odd(text: str) -> list[str]:
    marks = (mark for mark in text if unicodedata.category(mark) in _UNPRINTED or (mark.isspace() and mark != " "))
    found = sorted({f"U+{ord(mark):04X}" for mark in marks})
    return [*found, "a space too many"] if "  " in text or text != text.strip(" ") else found


def spelling_faults(record_id: str, name: str, phrase: str, sentences: Mapping[int, str]) -> Iterator[Verdict]:
    """Hard verdicts on how a description and the sentences that hold it are written.

    Args:
        record_id: Id for the verdicts.
        name: `description` or `modified_description`, for the names of the rules.
        phrase: The description.
        sentences: Turn to the sentence of that turn.
    """
    for where, text in ((name, phrase), *((f"turn {turn}", text) for turn, text in sentences.items())):
        odd = _odd(text)
        if odd:
            told = f"{where}: has to be plain text in one line, and holds {', '.join(odd)}"
            yield Verdict(record_id, "dialogue", "text_not_plain", told)
    for turn, text in sentences.items():
        # the first letter may be a capital; whether others may is the checks' matter
        if phrase.casefold() not in text.casefold():
            told = f"turn {turn}: does not hold {phrase!r} letter by letter, with the same marks and hyphens"
            yield Verdict(record_id, "dialogue", f"{name}_spelled_differently", told)
