# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Lexical variants of a dialogue: which dialogues have some, what stays as it is, and what has to differ.

A variant is its dialogue with another false description of the same class from turn 4 on. Photograph, target, target
description, the true questions and so what each turn asks for stay (design, section 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue, from_record, to_record
from groundset.fpco.words import difference, hyphenated, joined, phrase_tokens
from groundset.sampling import hash_rank_key, ranked
from groundset.verdicts import Verdict

Row = Mapping[str, Any]

# hard, beside those of every dialogue; docs/checks.md has them too
TRUTH_CHANGED, REPEATS = "variant_truth_changed", "variant_repeats"


def chosen(dialogues: Iterable[Row], seed: str, per_false_class: int) -> list[str]:
    """The dialogues that variants are written of: so many of each false class, spread over the strata.

    Of each stratum the first by rank comes before the second of any, as far as there are some.

    Args:
        dialogues: Rows with dialogue_id, false_class and stratum, as in `schemas/fpco_dialogue`.
        seed: The manifest's seed.
        per_false_class: How many of each false class.

    Returns:
        Their ids, sorted.
    """
    members: dict[str, dict[str, list[str]]] = {}
    for row in dialogues:
        members.setdefault(row["false_class"], {}).setdefault(row["stratum"], []).append(row["dialogue_id"])
    found: list[str] = []
    for false_class, strata in members.items():
        ranks = [
            (place, hash_rank_key(seed, f"variants {false_class}", name), name)
            for stratum, names in strata.items()
            for place, name in enumerate(ranked(names, seed, f"variants {stratum}"))
        ]
        found += [name for _, _, name in sorted(ranks)[:per_false_class]]
    return sorted(found)


def variant_id(dialogue_id: str, set_name: str) -> str:
    """The id of a dialogue's variant in a set.

    >>> variant_id("coco-7-animal-identity", "A")
    'coco-7-animal-identity-A'
    """
    return f"{dialogue_id}-{set_name}"


def same_words(first: str, second: str) -> bool:
    """Whether two descriptions are one, but for case, typography, hyphens and a or an.

    >>> same_words("the light-blue car", "The light blue car"), same_words("the red car", "the blue car")
    (True, False)
    """
    phrases = [phrase_tokens(first), phrase_tokens(second)]
    compounds = hyphenated(phrases)
    one, other = (joined(phrase, compounds) for phrase in phrases)
    return difference(one, other, pronouns=False).edit is None


def check_variant(variant: Dialogue, dialogue: Dialogue, taken: Sequence[str]) -> list[Verdict]:
    """Every verdict on a variant: those that every dialogue is held to, and whether it is a variant at all.

    Args:
        variant: The variant; its dialogue_id is the variant's own.
        dialogue: The dialogue that it is a variant of.
        taken: The false descriptions of its other variants.
    """
    found = check(variant)
    kept = [(row.id, row.content) for row in variant.questions] == [(row.id, row.content) for row in dialogue.questions]
    if variant.target_description != dialogue.target_description or not kept:
        told = "the target description and the true questions have to be those of the dialogue"
        found.append(Verdict(variant.dialogue_id, "dialogue", TRUTH_CHANGED, told))
    said = variant.modified_target_description
    for other in (dialogue.modified_target_description, *taken):
        if same_words(said, other):
            told = f"'{said}' is there already; a variant needs other words than {dialogue.dialogue_id} and its others"
            found.append(Verdict(variant.dialogue_id, "dialogue", REPEATS, told))
            break
    return found


def of_variant(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The same verdicts as verdicts on variants."""
    return [replace(row, kind="variant") for row in verdicts]


def read(row: Row) -> Dialogue:
    """The dialogue of a row of `schemas/fpco_dialogue` or, under the variant's id, of `schemas/fpco_variant`."""
    name = row.get("variant_id", row["dialogue_id"])
    draft = {**row, "dialogue_id": name, "item_id": name}
    return from_record(draft, category=row["category"], target_label=row["target_label"])


def to_row(variant: Dialogue, set_name: str, row: Row) -> dict[str, Any]:
    """The row of `schemas/fpco_variant` of a variant.

    Args:
        variant: The variant.
        set_name: Its set.
        row: The row of `schemas/fpco_dialogue` of its dialogue.
    """
    shared = ("dialogue_id", "image_id", "complexity", "category", "false_class", "stratum")
    target = ("target_object_id", "target_label", "target_bbox_xyxy_px", "target_description")
    record = to_record(variant)
    return {
        "variant_id": variant.dialogue_id,
        "set": set_name,
        **{key: row[key] for key in (*shared, *target)},
        **{key: record[key] for key in ("modified_target_description", "questions")},
    }
