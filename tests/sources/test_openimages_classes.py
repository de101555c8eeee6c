# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Class descriptions as releases and copies of them come, and classes by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundset.errors import DataError, UsageError
from groundset.sources.openimages_classes import RENAMED, Classes, find_class, flags, read_classes

ROWS = [
    ("/m/011k07", "Tortoise"),
    ("/m/0h8n5zk", "Kitchen & dining room table"),
    ("/g/11bc", "Büste"),
    ("/m/01h44", "Bat"),
]


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "classes.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("header", ["", "LabelName,DisplayName", "label,name", "id,name", "LabelName,Class"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_form_gives_the_same_classes(tmp_path: Path, header: str, delimiter: str, end: str, mark: str) -> None:
    lines = ([header.replace(",", delimiter)] if header else []) + [delimiter.join(row) for row in ROWS]
    found = read_classes(written(tmp_path, mark + end.join([*lines, "", ""])))
    assert (found.names, found.nameless, found.damaged) == (dict(ROWS), {}, ())


@pytest.mark.parametrize(
    "text",
    [
        "".join(f'"{known}","{name}"\n' for known, name in ROWS),
        "".join(f"{name},{known}\n" for known, name in ROWS),
        "number,LabelName,DisplayName\n" + "".join(f"{n},{known},{name}\n" for n, (known, name) in enumerate(ROWS)),
        "DisplayName,number,LabelName\n" + "".join(f"{name},{n},{known}\n" for n, (known, name) in enumerate(ROWS)),
        "".join(f"{known}, {name} \n" for known, name in ROWS),
    ],
)
def test_quotes_and_other_columns_do_no_harm(tmp_path: Path, text: str) -> None:
    assert read_classes(written(tmp_path, text)).names == dict(ROWS)


def test_names_keep_their_commas_and_quotes(tmp_path: Path) -> None:
    found = read_classes(written(tmp_path, '/m/01,"Table, round"\n/m/02,12" record\n/m/03,"A ""B"""\n/m/04;x,y\n'))
    assert found.names == {"/m/01": "Table, round", "/m/02": '12" record', "/m/03": 'A "B"'}
    semicolons = read_classes(written(tmp_path, "/m/01;Table, round\n/m/02;Chair\n/m/03;Bed, wide\n"))
    assert semicolons.names["/m/01"] == "Table, round"


def test_damaged_rows_are_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    text = (
        'LabelName;DisplayName\r/m/012n7d;\r/m/0138tl;Toy\r;Ghost\r/m/0k4j;Car;2\r/m/0dzct;"Human face\r/m/0jbk;'
        + "A" * 200_000
        + "\r"
    )
    found = read_classes(written(tmp_path, text))
    assert found.names == {"/m/0138tl": "Toy"}
    assert found.nameless == {
        "/m/012n7d": "line 2 has no name",
        "/m/0k4j": "line 5 has 3 fields, most rows have 2",
        "/m/0dzct": "line 6 has a quote that is not closed",
        "/m/0jbk": "line 7 has a field that is too long",
    }
    assert found.damaged == ((4, 'holds no class id: ";Ghost"'),)
    assert all(verdict.rule == "damaged_class" and not verdict.hard for verdict in flags(found))
    assert len(flags(found)) == 5


def test_a_class_that_is_sound_elsewhere_is_no_damage(tmp_path: Path) -> None:
    found = read_classes(written(tmp_path, "/m/01,\n/m/01,Dog\n/m/01,Dog\n"))
    assert (found.names, found.nameless) == ({"/m/01": "Dog"}, {})


def test_the_real_file(shared: Path) -> None:
    found = read_classes(shared / "openimages" / "class-descriptions-boxable.header.csv")
    assert (len(found.names), found.nameless, found.damaged) == (601, {}, ())
    assert found.names["/m/0h8n5zk"] == "Kitchen & dining room table"
    old = {old for old, _ in RENAMED}
    assert old <= set(found.names.values())
    assert not {new for _, new in RENAMED} & set(found.names.values())


@pytest.mark.parametrize("text", ["", "LabelName,DisplayName\n", "dog\ncat\n", b"\xff\n", b"/m/01,Caf\xe9\n"])
def test_a_file_without_classes_is_refused(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_classes(written(tmp_path, text))


NEW = Classes("new.csv", {"/m/033cnk": "Egg (Food)", "/m/0bt9lr": "Dog", "/m/1": "Twin", "/m/2": "Twin"}, {}, ())


def test_a_class_is_found_by_its_exact_name() -> None:
    assert find_class("Egg (Food)", NEW) == "/m/033cnk"
    assert find_class("Bat", Classes("old.csv", dict(ROWS), {}, ())) == "/m/01h44"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Egg", "this release calls it Egg \\(Food\\)"),
        ("dog", "near: Dog"),
        ("Dogs", "near: Dog"),
        ("Do", "near: Dog"),
        ("Food", 'there is no class "Food"$'),
        ("Twin", "the name of 2 classes .*give the id: /m/1, /m/2"),
    ],
)
def test_another_name_is_answered_with_what_is_near_and_never_taken(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        find_class(name, NEW)


def test_a_later_name_is_suggested_the_earlier_one() -> None:
    with pytest.raises(UsageError, match=r"this release calls it Bat\)$"):
        find_class("Bat (Animal)", Classes("old.csv", dict(ROWS), {}, ()))
