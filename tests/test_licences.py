# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundset import licences
from groundset.errors import UsageError
from groundset.licences import (
    by_address,
    by_spdx,
    credit_line,
    load_table,
    may_embed,
    photo_page_from_flickr,
    text,
)

COCO = Path(__file__).parents[1].parent / "shared" / "data" / "coco"

# COCO's id, address and name as its files have them, and the design's table of what may be embedded
EMBEDDING = [
    ("http://creativecommons.org/licenses/by-nc-sa/2.0/", "CC-BY-NC-SA-2.0", (False, False, True), False),
    ("http://creativecommons.org/licenses/by-nc/2.0/", "CC-BY-NC-2.0", (False, False, True), False),
    ("http://creativecommons.org/licenses/by-nc-nd/2.0/", "CC-BY-NC-ND-2.0", (False, False, True), True),
    ("http://creativecommons.org/licenses/by/2.0/", "CC-BY-2.0", (False, True, True), False),
    ("http://creativecommons.org/licenses/by-sa/2.0/", "CC-BY-SA-2.0", (False, True, True), False),
    ("http://creativecommons.org/licenses/by-nd/2.0/", "CC-BY-ND-2.0", (False, True, True), True),
    ("http://flickr.com/commons/usage/", "LicenseRef-Flickr-Commons-NKCR", (False, True, True), False),
    ("http://www.usa.gov/copyright.shtml", "LicenseRef-US-Government-Work", (False, True, True), False),
    ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0", (False, True, True), False),
    ("https://www.apache.org/licenses/LICENSE-2.0", "Apache-2.0", (False, False, False), False),
]


@pytest.mark.parametrize(("address", "spdx", "embedded", "verbatim"), EMBEDDING)
def test_address_means_licence_and_licence_decides_embedding(
    address: str, spdx: str, embedded: tuple[bool, ...], verbatim: bool
) -> None:
    found = by_address(address)
    assert found is not None
    assert found.spdx == spdx
    assert found.verbatim is verbatim
    assert tuple(may_embed(spdx, policy) for policy in licences.POLICIES) == embedded


@pytest.mark.parametrize(
    "address",
    [
        "https://creativecommons.org/licenses/by/2.0/",
        "http://creativecommons.org/licenses/by/2.0",
        "HTTP://CreativeCommons.org/licenses/by/2.0/",
        " https://creativecommons.org/licenses/by/2.0 ",
    ],
)
def test_scheme_case_and_final_slash_make_no_difference(address: str) -> None:
    assert by_address(address) == by_spdx("CC-BY-2.0")


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "https://creativecommons.org/licenses/by/2.5/",
        "https://creativecommons.org/licenses/by/2.0/de/",
        "https://evil.example/creativecommons.org/licenses/by/2.0/",
        "https://creativecommons.org/licenses/",
        "4",
    ],
)
def test_other_addresses_mean_nothing(address: str | None) -> None:
    assert by_address(address) is None


def test_no_address_means_two_licences() -> None:
    claimed = [(licences._plain_address(a), row.spdx) for row in load_table() for a in (*row.sources, row.address)]
    assert len({address for address, _ in set(claimed)}) == len(set(claimed))


def test_every_licence_has_its_text_and_no_text_is_spare() -> None:
    folder = Path(licences.__file__).parent / "licence_texts"
    assert {path.stem for path in folder.glob("*.txt")} == {row.spdx for row in load_table()}
    for row in load_table():
        assert len(text(row.spdx)) > 500
        assert row.obliges.endswith(".")
        assert set(row.embed) <= set(licences.POLICIES)
        assert row.photograph or not row.embed
    assert "NonCommercial-NoDerivs 2.0" in text("CC-BY-NC-ND-2.0")
    assert by_spdx("LicenseRef-Flickr-Commons-NKCR").address in text("LicenseRef-Flickr-Commons-NKCR")


def test_unknown_licence_is_never_embedded_and_has_no_text() -> None:
    assert not may_embed("CC-BY-3.0", "non-commercial")
    assert not may_embed(None, "permissive")
    with pytest.raises(UsageError, match=r"CC-BY-3\.0"):
        text("CC-BY-3.0")
    with pytest.raises(UsageError, match="everything"):
        may_embed("CC-BY-2.0", "everything")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[licence", "cannot be read"),
        ("a = 1", "cannot be read"),
        ('[[licence]]\nspdx = "X"\nnew = 1', "missing or unknown keys: address"),
    ],
)
def test_broken_table_is_a_usage_error(
    content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / licences.TABLE).write_text(content)
    monkeypatch.setattr(licences, "manifest_dir", lambda: tmp_path)
    with pytest.raises(UsageError, match=message):
        load_table.__wrapped__()


@pytest.mark.parametrize(
    ("url", "number", "page"),
    [
        ("http://farm1.staticflickr.com/4/8835874_83fad00f40_z.jpg", "8835874", None),
        ("https://c1.staticflickr.com/1/67/197493648_628a7cb2ee_o.jpg", "197493648", None),
        ("https://c3.staticflickr.com/1/67/197493648_628a7cb2ee_z.jpg?zz=1", "197493648", None),
        ("https://farm9.static.flickr.com/8/777_ab.jpg", "777", None),
        ("https://live.staticflickr.com/65535/50000000001_abcdef0123_c_d.png", "50000000001", None),
        ("https://www.flickr.com/photo.gne?id=42", "42", None),
        ("http://www.flickr.com/photos/a-b/5898076654/in/set-1", "5898076654", "same"),
        ("https://flickr.com/photos/12@N00/7", "7", "same"),
    ],
)
def test_flickr_addresses(url: str, number: str, page: str | None) -> None:
    expected = url if page else f"https://www.flickr.com/photo.gne?id={number}"
    assert photo_page_from_flickr(url) == (number, expected)


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "not an address",
        "http://[broken",
        "file:///farm1.staticflickr.com/4/8835874_83fad00f40_z.jpg",
        "http://staticflickr.com.evil.example/4/8835874_83fad00f40_z.jpg",
        "http://farm1.staticflickr.com/4/name.jpg",
        "http://farm1.staticflickr.com/4/٣٤_83fad00f40_z.jpg",
        "https://www.flickr.com/photos/someone/",
        "https://www.flickr.com/photo.gne?id=",
        "https://www.flickr.com/photo.gne?id=1%202",
        "http://images.cocodataset.org/val2014/COCO_val2014_000000001146.jpg",
    ],
)
def test_other_addresses_show_no_photo_page(url: str | None) -> None:
    assert photo_page_from_flickr(url) is None


@pytest.mark.skipif(not COCO.is_dir(), reason="the real COCO files are not beside the checkout")
def test_every_real_coco_photograph_gets_licence_and_credit() -> None:
    file = json.loads((COCO / "instances_val2014_100.json").read_text(encoding="utf-8"))
    stated = {row["id"]: by_address(row["url"]) for row in file["licenses"]}
    assert [stated[number].spdx for number in range(1, 9)] == [spdx for _, spdx, *_ in EMBEDDING[:8]]
    for image in file["images"]:
        page = photo_page_from_flickr(image["flickr_url"])
        assert page is not None
        assert page[0] in image["flickr_url"]
        assert credit_line("coco", None, None, page[1], stated[image["license"]].spdx)


def test_credit_names_title_author_page_and_licence_on_one_line() -> None:
    line = credit_line("openimages", "A\n hill ", " Karen", "https://example.org/1", "CC-BY-2.0")
    assert line == '"A hill" by Karen, https://example.org/1, CC-BY-2.0 (https://creativecommons.org/licenses/by/2.0/)'
    line = credit_line("invig", None, "Karen", "https://e.org", "CC-BY-2.0")
    assert line == "by Karen, https://e.org, CC-BY-2.0 (https://creativecommons.org/licenses/by/2.0/)"


@pytest.mark.parametrize(
    ("source", "author", "page", "enough"),
    [
        ("openimages", "Karen", "https://e.org", True),
        ("openimages", None, "https://e.org", False),
        ("openimages", "Karen", None, False),
        ("openimages", " ", "https://e.org", False),
        ("invig", None, None, False),
        ("invig", "Karen", "https://e.org", True),
        ("coco", None, "https://e.org", True),
        ("coco", None, None, False),
        ("coco", None, " ", False),
        ("coco", "Karen", None, False),
    ],
)
def test_what_credit_suffices(source: str, author: str | None, page: str | None, enough: bool) -> None:
    assert (credit_line(source, "T", author, page, "CC-BY-2.0") is not None) is enough


def test_drawings_are_credited_to_groundset() -> None:
    line = credit_line("coco", None, None, None, "CC0-1.0", drawn=True)
    assert line == "drawn by groundset, CC0-1.0 (https://creativecommons.org/publicdomain/zero/1.0/)"
