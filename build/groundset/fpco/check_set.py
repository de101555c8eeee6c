# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Holds every dialogue of a folder against the checks: published FPCO-Dialog records, or a release with its variants.

A published set is looked for in both layouts of the publisher, in the folder itself and in its folder `dataset`;
neither photographs nor results are needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from groundset.errors import DataError, Problem, UsageError
from groundset.files import plain
from groundset.fpco.checks import check
from groundset.fpco.dialogue import Dialogue
from groundset.fpco.filter import CATEGORIES
from groundset.fpco.variants import check_variant, of_variant, read
from groundset.release.facts import CONFIGS
from groundset.release.parquet import shard_paths
from groundset.release.rows import config_rows
from groundset.sources import json_faults, strict_json
from groundset.sources.fpco_files import LAYOUTS, RECORD_SUFFIX
from groundset.sources.fpco_published import SCHEMA
from groundset.sources.fpco_record import Record, faults, from_published
from groundset.verdicts import Verdict

_RECORD_FOLDERS = tuple(records for records, _ in LAYOUTS)
_CONFIG, _VARIANTS = (
    next(config for config in CONFIGS["fpco-dialog"] if config.name == name) for name in ("dialogues", "variants")
)


@dataclass(frozen=True)
class RuleCount:
    """How often a rule spoke.

    Attributes:
        rule: Its name.
        hard: Whether it rejects.
        verdicts: Its verdicts.
        records: The records that they are about.
    """

    rule: str
    hard: bool
    verdicts: int
    records: int


@dataclass(frozen=True)
class CheckedSet:
    """What the checks say of a folder.

    Attributes:
        records: How many dialogues and variants were checked.
        verdicts: Sorted by record; the rules of a record in their own order.
        problems: What could not be read.
        not_read: Names of other files that lie among the records.
    """

    records: int
    verdicts: tuple[Verdict, ...]
    problems: tuple[Problem, ...]
    not_read: tuple[str, ...]

    def by_rule(self) -> tuple[RuleCount, ...]:
        """A summary: hard rules first, then by name."""
        verdicts = Counter((row.rule, row.hard) for row in self.verdicts)
        records = Counter((rule, hard) for rule, hard, _ in {(v.rule, v.hard, v.record_id) for v in self.verdicts})
        keys = sorted(verdicts, key=lambda key: (not key[1], key[0]))
        return tuple(RuleCount(rule, hard, verdicts[rule, hard], records[rule, hard]) for rule, hard in keys)

    def records_with(self, *, hard: bool) -> int:
        """How many records have a hard, or a soft, verdict."""
        return len({verdict.record_id for verdict in self.verdicts if verdict.hard == hard})


def check_folder(folder: Path) -> CheckedSet:
    """Checks every dialogue of a folder.

    Args:
        folder: A release, or a published set.

    Raises:
        UsageError: If it is a release of CandVG.
        DataError: If the folder holds neither.
    """
    if (folder / "data" / CONFIGS["candvg"][0].name).is_dir():
        raise UsageError(f"{plain(str(folder))} is a release of CandVG: the checks are on the texts of FPCO dialogues")
    if (folder / "data" / _CONFIG.name).is_dir():
        return _check_release(folder)
    places = [
        place
        for base in (folder, folder / "dataset")
        for place in (*(base / name for name in _RECORD_FOLDERS), base)
        if place.is_dir() and _record_files(place)
    ]
    # a folder of records may lie beside other JSON files, which are none
    if any(place.name in _RECORD_FOLDERS for place in places):
        places = [place for place in places if place.name in _RECORD_FOLDERS]
    if not places:
        told = f"no data/{_CONFIG.name} of a release, no {' or '.join(_RECORD_FOLDERS)} of a published set"
        hint = "name the release's folder, or the folder that holds the records"
        raise DataError(f"{plain(str(folder))} holds no dialogues", [Problem(plain(str(folder)), "", "", told, hint)])
    return _check_published(places)


def _record_files(place: Path) -> list[Path]:
    found = [path for path in place.iterdir() if path.suffix == RECORD_SUFFIX and not path.name.startswith(".")]
    return sorted(found, key=lambda path: path.name)


def _check_published(places: Iterable[Path]) -> CheckedSet:
    verdicts: list[Verdict] = []
    problems: list[Problem] = []
    not_read: list[str] = []
    count = 0
    for place in places:
        files = _record_files(place)
        not_read += [plain(path.name) for path in place.iterdir() if path not in files]
        for path in files:
            try:
                document, wrong = strict_json.decode(json_faults.read_bytes(path), SCHEMA)
            except DataError as error:
                problems += [Problem(plain(str(path)), "", row.path, row.message) for row in error.problems]
                continue
            problems += [Problem(plain(str(path)), "", where, message) for where, message in wrong]
            if not wrong:
                count += 1
                verdicts += _of_record(from_published(path.stem, document))
    return CheckedSet(count, _sorted(verdicts), tuple(problems), tuple(sorted(not_read)))


def _of_record(record: Record) -> Iterator[Verdict]:
    """What is wrong with the record in itself, and what the checks say of its dialogue."""
    name = plain(record.name)
    in_range = 1 <= record.category <= len(CATEGORIES)
    found = check(
        Dialogue(
            dialogue_id=name,
            item_id=name,
            image_id=name,
            category=CATEGORIES[record.category - 1] if in_range else "",
            target_label=record.target,
            false_class=record.false_class,
            target_description=record.target_description,
            modified_target_description=record.modified_target_description,
            questions=record.questions,
        )
    )
    told = {verdict.rule for verdict in found}
    for rule, detail in faults(record):
        if rule not in told:
            yield Verdict(name, "dialogue", rule, detail)
    yield from found


def _check_release(folder: Path) -> CheckedSet:
    problems: list[Problem] = []
    dialogues, unreadable = config_rows(folder, _CONFIG)
    variants, unreadable_variants = config_rows(folder, _VARIANTS)
    problems += [*unreadable, *unreadable_variants]
    if not shard_paths(folder, _CONFIG.name):
        problems.append(Problem(f"data/{_CONFIG.name}", "", "", "it holds no shard"))
    verdicts = [verdict for row in dialogues for verdict in check(read(row))]
    of = {row["dialogue_id"]: read(row) for row in dialogues}
    said: dict[str, list[str]] = {}
    for row in variants:
        name, variant = row["dialogue_id"], read(row)
        taken = said.setdefault(name, [])
        # that a variant has no dialogue is for `verify` to say
        verdicts += of_variant(check_variant(variant, of[name], taken) if name in of else check(variant))
        taken.append(variant.modified_target_description)
    return CheckedSet(len(dialogues) + len(variants), _sorted(verdicts), tuple(problems), ())


def _sorted(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    return tuple(sorted(verdicts, key=lambda verdict: verdict.record_id))
