# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What each licence is called, where it lies, what it lets a release carry, and the credit it asks for.

The facts stand in `manifests/licences.toml` and the texts in `licence_texts/`; the image policies are those of the
design, section 9.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from groundset.arrow_columns import repeated, texts
from groundset.errors import Problem, UsageError
from groundset.paths import manifest_dir, package_dir

POLICIES = ("reference-only", "permissive", "non-commercial")
TABLE = "licences.toml"
CODE_LICENCE = "Apache-2.0"
_PHOTO_PAGE = "https://www.flickr.com/photo.gne?id="
# a part of the addresses that `photo_page_from_flickr` knows
_USUAL_FLICKR_FILE = (
    r"\Ahttps?://[A-Za-z0-9.-]+\.static\.?flickr\.com(?:/[A-Za-z0-9_.-]+)*/[0-9]+_[0-9a-f]+(?:_[a-z0-9]+)*\.[a-z]+\z"
)
# its photo id; to cut it out with the whole pattern would take eight times as long
_USUAL_FLICKR_ID = r"/(?P<id>[0-9]+)_[0-9a-z_]+\.[a-z]+\z"


@dataclass(frozen=True)
class Licence:
    """One licence or statement of rights.

    Attributes:
        spdx: SPDX id, or `LicenseRef-...` where SPDX has none.
        title: Its name in words.
        address: What a release links to.
        sources: Addresses that sources write for it.
        photograph: Whether it may be the licence of a photograph.
        embed: Image policies under which a release may carry a photograph's bytes.
        verbatim: Whether only the publisher's own bytes may be passed on.
        obliges: What whoever passes the work on has to do, in plain words.
    """

    spdx: str
    title: str
    address: str
    sources: tuple[str, ...]
    photograph: bool
    embed: tuple[str, ...]
    verbatim: bool
    obliges: str


def _plain_address(address: str) -> str:
    return re.sub(r"^https?://", "", address.strip(), flags=re.IGNORECASE).rstrip("/").lower()


def _licence(entry: Mapping[str, Any], number: int) -> Licence:
    expected = set(Licence.__dataclass_fields__)
    if set(entry) != expected:
        wrong = ", ".join(sorted(set(entry) ^ expected))
        problem = Problem(TABLE, f"licence {number}", "", f"missing or unknown keys: {wrong}")
        raise UsageError("the licence table is wrong", [problem])
    return Licence(
        spdx=entry["spdx"],
        title=entry["title"],
        address=entry["address"],
        sources=tuple(entry["sources"]),
        photograph=entry["photograph"],
        embed=tuple(entry["embed"]),
        verbatim=entry["verbatim"],
        obliges=entry["obliges"],
    )


@cache
def load_table() -> tuple[Licence, ...]:
    """The licence table of `manifests/licences.toml`, sorted by id.

    Raises:
        UsageError: The table lacks a key, has an unknown one, or is not TOML.
    """
    path = manifest_dir() / TABLE
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["licence"]
    except (OSError, KeyError, ValueError) as error:
        raise UsageError("the licence table cannot be read", [Problem(str(path), "", "", str(error))]) from error
    return tuple(sorted((_licence(entry, n) for n, entry in enumerate(entries, 1)), key=lambda row: row.spdx))


@cache
def _ids() -> Mapping[str, Licence]:
    return MappingProxyType({row.spdx: row for row in load_table()})


@cache
def _addresses() -> Mapping[str, Licence]:
    return MappingProxyType(
        {_plain_address(address): row for row in load_table() for address in (*row.sources, row.address)}
    )


def by_address(url: str | None) -> Licence | None:
    """The licence that a source's address means, or None if the table does not know it.

    http or https, and a slash at the end or none, make no difference; another version or country does.

    >>> by_address("http://creativecommons.org/licenses/by-nd/2.0").spdx
    'CC-BY-ND-2.0'
    >>> by_address("https://creativecommons.org/licenses/by/3.0/") is None
    True
    """
    return _addresses().get(_plain_address(url)) if url else None


def by_spdx(spdx: str | None) -> Licence | None:
    """The licence of an SPDX id or LicenseRef, or None if the table does not know it."""
    return _ids().get(spdx) if spdx else None


def may_embed(spdx: str | None, policy: str) -> bool:
    """Whether a release under an image policy may carry the bytes of a photograph under this licence.

    An id that is not in the table, or that is no licence of photographs, is never embedded.

    >>> may_embed("CC-BY-NC-2.0", "permissive"), may_embed("CC-BY-NC-2.0", "non-commercial")
    (False, True)

    Raises:
        UsageError: The policy is not one of `POLICIES`.
    """
    if policy not in POLICIES:
        raise UsageError(f"image policy {policy!r} is not one of {', '.join(POLICIES)}")
    licence = by_spdx(spdx)
    return licence is not None and licence.photograph and policy in licence.embed


def text(spdx: str) -> str:
    """The full text of a licence, or our notice where a statement is not a licence.

    Raises:
        UsageError: The id is not in the table.
    """
    if by_spdx(spdx) is None:
        raise UsageError(f"licence {spdx!r} is not in {TABLE}")
    return (package_dir() / "licence_texts" / f"{spdx}.txt").read_text(encoding="utf-8")


def photo_page_from_flickr(url: str | None) -> tuple[str, str] | None:
    """Flickr's photo id and the address of the photo's page, from any Flickr address that shows the id.

    COCO's `flickr_url` and Open Images' `OriginalURL` name the file on a static server
    (`farm3.staticflickr.com/2145/1861401504_e46f53623a_z.jpg`); the page follows from the number before the first
    underscore. An address that is the page already is kept as it is.

    >>> photo_page_from_flickr("http://farm3.staticflickr.com/2145/1861401504_e46f53623a_z.jpg")
    ('1861401504', 'https://www.flickr.com/photo.gne?id=1861401504')
    >>> photo_page_from_flickr("https://www.flickr.com/photos/drstarbuck/197493648")
    ('197493648', 'https://www.flickr.com/photos/drstarbuck/197493648')
    """
    try:
        parts = urlsplit((url or "").strip())
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme not in ("http", "https"):
        return None
    if host.endswith((".staticflickr.com", ".static.flickr.com")):
        file = re.search(r"/([0-9]+)_[0-9a-f]+(?:_[a-z0-9]+)*\.[a-z]+$", parts.path)
        return (file[1], _PHOTO_PAGE + file[1]) if file else None
    if host not in ("flickr.com", "www.flickr.com"):
        return None
    page = re.match(r"/photos/[^/]+/([0-9]+)(?:/|$)", parts.path)
    if page:
        return page[1], (url or "").strip()
    number = parse_qs(parts.query).get("id", [""])[0] if parts.path == "/photo.gne" else ""
    return (number, _PHOTO_PAGE + number) if re.fullmatch(r"[0-9]+", number) else None


def photo_pages_from_flickr(urls: Sequence[str | None]) -> tuple[pa.StringArray, pa.StringArray]:
    """What `photo_page_from_flickr` says of each address, many times faster: photo ids and pages."""
    column = texts(urls)
    usual = pc.match_substring_regex(column, _USUAL_FLICKR_FILE)
    ids = pc.struct_field(pc.extract_regex(column, _USUAL_FLICKR_ID), 0)
    pages = pc.binary_join_element_wise(repeated(_PHOTO_PAGE, len(ids)), ids, repeated("", len(ids)))
    if pc.all(usual, min_count=0).as_py():
        return ids, pages
    rows = zip(urls, usual.to_pylist(), ids.to_pylist(), pages.to_pylist(), strict=True)
    found = [(known, page) if ok else photo_page_from_flickr(url) or (None, None) for url, ok, known, page in rows]
    return texts([known for known, _ in found]), texts([page for _, page in found])


def _one_line(value: str | None) -> str:
    return " ".join((value or "").split())


def _with_address(spdx: str) -> str:
    licence = by_spdx(spdx)
    return f"{spdx} ({licence.address})" if licence else spdx


def credit_line(
    source: str,
    title: str | None,
    author: str | None,
    landing_url: str | None,
    licence: str,
    *,
    drawn: bool = False,
) -> str | None:
    """One line with title, author, source, licence and its address, or None where the credit does not suffice.

    Open Images (and InViG, whose photographs come from it) need author and landing page; COCO names no author, so the
    photo's page stands for both (design, section 9).

    >>> credit_line("openimages", "Three boys", "Karen", "https://example.org/1", "CC-BY-2.0")
    '"Three boys" by Karen, https://example.org/1, CC-BY-2.0 (https://creativecommons.org/licenses/by/2.0/)'
    >>> credit_line("coco", None, None, "https://www.flickr.com/photo.gne?id=7", "CC-BY-2.0")
    'photographer per Flickr page, https://www.flickr.com/photo.gne?id=7, CC-BY-2.0 (https://creativecommons.org/licenses/by/2.0/)'
    >>> credit_line("openimages", "Three boys", None, "https://example.org/1", "CC-BY-2.0") is None
    True

    Args:
        source: Kind of the source: coco, openimages or invig.
        title: Title of the photograph, if known.
        author: Its author, if known.
        landing_url: The page on which it was published, if known.
        licence: Its SPDX id or LicenseRef.
        drawn: Whether groundset itself drew the picture.
    """
    if drawn:
        return f"drawn by groundset, {_with_address(licence)}"
    author, page, title = _one_line(author), _one_line(landing_url), _one_line(title)
    if not page or not (author or source == "coco"):
        return None
    by = f"by {author}" if author else "photographer per Flickr page"
    named = f'"{title}" {by}' if title and author else f'"{title}", {by}' if title else by
    return f"{named}, {page}, {_with_address(licence)}"
