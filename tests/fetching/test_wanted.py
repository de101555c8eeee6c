# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""What a manifest wants to have fetched, and how photographs that cannot be used give way to others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from groundset.errors import UsageError
from groundset.fetching import wanted
from groundset.fetching.download import Download, Outcome
from groundset.schema_types import arrow_schema


def entry(url: str, path: str, unpack: tuple[str, ...] = (), size: int = 0, into: str = ".") -> dict[str, Any]:
    return {"path": path, "url": f"{url}/{path}", "bytes": size, "unpack": list(unpack), "into": into}


def sources_of(*sources: dict[str, Any]) -> dict[str, Any]:
    plain = {"annotations": "a.json", "images": "i", "split": "s", "photograph_url": "none", "downloads": []}
    return {"sources": [{**plain, "name": f"s{number}", **source} for number, source in enumerate(sources)]}


def test_what_a_manifest_may_not_ask_for(tmp_path: Path) -> None:
    url = "https://example.invalid"
    content = sources_of(
        {"downloads": [entry(url, "../a"), entry(url, "b", into="/etc"), entry("file:///etc", "c")]},
        {"downloads": [entry(url, "d"), entry("https://other.invalid", "d"), entry(url, "e", size=5)]},
        {"photograph_url": "https://example.invalid/{image}.jpg"},
        {"photograph_url": "file:///{file_name}"},
    )
    pins = {"s1/e": {"sha256": "0" * 64, "bytes": 6}}
    with pytest.raises(UsageError) as caught:
        wanted.source_files(content, tmp_path, pins, "m.toml")
    where = {problem.path for problem in caught.value.problems}
    assert where == {
        "$.sources[0].downloads[0].path",
        "$.sources[0].downloads[1].into",
        "$.sources[0].downloads[2].url",
        "$.sources[1].downloads[1]",
        "$.sources[1].downloads[2].bytes",
        "$.sources[2].photograph_url",
        "$.sources[3].photograph_url",
    }


def test_a_file_that_two_sources_share_is_fetched_once(tmp_path: Path) -> None:
    shared = entry("https://example.invalid", "a.zip", ("val.json",))
    content = sources_of({"downloads": [shared]}, {"downloads": [{**shared, "unpack": ["train.json"]}]})
    pin = {"sha256": "0" * 64, "bytes": 7}
    (file,) = wanted.source_files(content, tmp_path, {"s1/a.zip": pin}, "m.toml")
    assert file.unpack == ("train.json", "val.json")
    assert file.pins == ("s0/a.zip", "s1/a.zip")
    assert (file.download.sha256, file.download.bytes) == ("0" * 64, 7)


@pytest.mark.parametrize(
    ("template", "address"),
    [
        ("none", None),
        ("original_url", "http://example.invalid/o.jpg"),
        ("https://example.invalid/{split}/{source_image_id}.jpg", "https://example.invalid/test/00bf.jpg"),
        ("https://example.invalid/{file_name}", "https://example.invalid/val/a%20%7Bsplit%7D%3F.jpg"),
    ],
)
def test_addresses_of_photographs(template: str, address: str | None) -> None:
    image = {
        "source_image_id": "00bf",
        "file_name": "val/a {split}?.jpg",
        "original_url": "http://example.invalid/o.jpg",
    }
    assert wanted.photograph_address(image, {"photograph_url": template, "split": "test"}) == address


class Publisher:
    """Gives each photograph what the test says: a picture, nothing, trouble, or something else."""

    def __init__(self, gives: dict[str, str]) -> None:
        self.gives = gives
        self.asked: list[str] = []

    def get(self, downloads: Sequence[Download]) -> list[Outcome]:
        return [self.one(download) for download in downloads]

    def one(self, download: Download) -> Outcome:
        name = download.path.stem
        self.asked.append(name)
        given = self.gives.get(name, "picture")
        if given in ("missing", "failed"):
            return Outcome(download, given, "so it is")  # type: ignore[arg-type]
        download.path.parent.mkdir(exist_ok=True)
        if given == "picture":
            Image.new("RGB", (4, 3)).save(download.path, "PNG")
        else:
            download.path.write_bytes(given.encode())
        return Outcome(download, "fetched", sha256="0" * 64, bytes=1)


def tables(count: int, want: int = 2, **rotations: int) -> tuple[pa.Table, pa.Table]:
    """One stratum of images p0, p1, ... in rank order."""
    nothing = dict.fromkeys(arrow_schema("image").names)
    images = [
        {
            **nothing,
            "image_id": f"coco-p{number}",
            "source": "coco",
            "source_name": "s0",
            "source_image_id": f"p{number}",
            "file_name": f"p{number}.jpg",
            "frame_width": 4.0,
            "frame_height": 3.0,
            "original_url": None if number == 0 else f"http://example.invalid/p{number}.jpg",
            "rotation": rotations.get(f"p{number}", 0),
        }
        for number in range(count)
    ]
    ranking = [
        {"item_id": f"i{number}", "image_id": f"coco-p{number}", "stratum": "one", "rank": number, "want": want}
        for number in range(count)
    ]
    return pa.Table.from_pylist(ranking, schema=arrow_schema("ranked")), pa.Table.from_pylist(
        images, schema=arrow_schema("image")
    )


def fetched(
    root: Path,
    publisher: Publisher,
    tabled: tuple[pa.Table, pa.Table],
    refill: tuple[str, ...] = ("image",),
    refused: tuple[str, ...] = (),
    url: str = "https://example.invalid/{source_image_id}.jpg",
    pins: dict[str, dict[str, Any]] | None = None,
    withdrawn: Collection[str] = (),
) -> wanted.Photographs:
    rules = {"max_pixels": 100, "margin": 1, "reject_rotated": True, "reject_rotation_unknown": False}
    content = sources_of({"photograph_url": url}) | {"images": rules, "strata": {"refill": list(refill)}}
    return wanted.fetch_photographs(content, root, *tabled, refused, pins or {}, publisher.get, withdrawn)


def test_the_selected_and_a_margin_are_fetched(tmp_path: Path) -> None:
    publisher = Publisher({})
    found = fetched(tmp_path, publisher, tables(9))
    assert publisher.asked == ["p0", "p1", "p2"]
    assert list(found.outcomes) == ["coco-p0", "coco-p1", "coco-p2"]
    assert found.unfit == {}


def test_what_cannot_be_used_gives_way(tmp_path: Path) -> None:
    publisher = Publisher({"p0": "missing", "p2": "no picture"})
    found = fetched(tmp_path, publisher, tables(9, p1=90))
    assert found.unfit == {"coco-p0": "missing_file", "coco-p1": "rotated", "coco-p2": "not_an_image"}
    # a turned photograph is known to be of no use before it is fetched
    assert publisher.asked == ["p0", "p2", "p3", "p4", "p5"]


@pytest.mark.parametrize("given", ["missing", "<html>log in</html>"])
def test_a_source_that_gives_nothing_of_use_is_not_asked_for_all_it_has(tmp_path: Path, given: str) -> None:
    publisher = Publisher({f"p{number}": given for number in range(50)})
    found = fetched(tmp_path, publisher, tables(50, want=5))
    # the six that are selected do not make eight; with the next of the reserve it is enough
    assert len(publisher.asked) == 12
    assert found.barren == {"s0": 12}
    assert found.gone == {}
    publisher = Publisher({f"p{number}": given for number in range(50) if number != 11})
    found = fetched(tmp_path, publisher, tables(50, want=5))
    assert (len(publisher.asked), found.barren) == (50, {})
    assert len(found.gone) == (49 if given == "missing" else 0)


def test_few_that_are_missing_are_missing(tmp_path: Path) -> None:
    found = fetched(tmp_path, Publisher({f"p{number}": "missing" for number in range(7)}), tables(7))
    assert (len(found.gone), found.barren) == (7, {})
    assert found.gone["i/p0.jpg"] == "so it is"


def test_without_refill_nothing_gives_way(tmp_path: Path) -> None:
    publisher = Publisher({"p0": "missing"})
    assert fetched(tmp_path, publisher, tables(9), refill=()).unfit == {"coco-p0": "missing_file"}
    assert publisher.asked == ["p0", "p1", "p2"]


def test_what_is_withdrawn_is_not_asked_for(tmp_path: Path) -> None:
    for refill, asked in ((("image",), ["p1", "p2", "p3"]), ((), ["p1", "p2"])):
        publisher = Publisher({})
        found = fetched(tmp_path, publisher, tables(9), refill=refill, withdrawn={"coco-p0"})
        assert (publisher.asked, found.unfit, found.gone) == (asked, {"coco-p0": "withdrawn"}, {})


def test_trouble_outside_lets_nothing_give_way(tmp_path: Path) -> None:
    publisher = Publisher({"p0": "failed"})
    found = fetched(tmp_path, publisher, tables(9))
    assert publisher.asked == ["p0", "p1", "p2"]
    assert found.unfit == {}


def test_what_later_stages_refuse_lets_the_next_in(tmp_path: Path) -> None:
    publisher = Publisher({})
    fetched(tmp_path, publisher, tables(9), refused=("i1",))
    assert publisher.asked == ["p0", "p1", "p2", "p3"]


def test_a_stratum_that_runs_out_ends(tmp_path: Path) -> None:
    publisher = Publisher({f"p{number}": "missing" for number in range(3)})
    assert len(fetched(tmp_path, publisher, tables(3)).unfit) == 3


def test_an_image_without_an_address_is_missing_unless_it_is_there(tmp_path: Path) -> None:
    found = fetched(tmp_path, Publisher({}), tables(9), url="original_url")
    assert found.outcomes["coco-p0"].state == "missing"
    Publisher({}).one(Download("", tmp_path / "i" / "p0.jpg"))
    assert fetched(tmp_path, Publisher({}), tables(9), url="original_url").outcomes["coco-p0"].state == "fetched"


def test_sources_whose_photographs_come_from_elsewhere_are_left_alone(tmp_path: Path) -> None:
    publisher = Publisher({})
    found = fetched(tmp_path, publisher, tables(9), url="none")
    assert (publisher.asked, found.outcomes, found.unfit) == ([], {}, {})
    assert wanted.photograph_folders(sources_of({}), tmp_path) == []


def test_pinned_photographs_are_held_against_their_pin(tmp_path: Path) -> None:
    seen: list[Download] = []

    class Noting(Publisher):
        def one(self, download: Download) -> Outcome:
            seen.append(download)
            return super().one(download)

    pin = {"sha256": "1" * 64, "bytes": 70, "width": 4, "height": 3}
    fetched(tmp_path, Noting({}), tables(9), pins={"coco-p1": pin})
    assert [(download.sha256, download.bytes) for download in seen[:2]] == [(None, None), ("1" * 64, 70)]
    assert seen[0].max_bytes == wanted.MAX_PHOTOGRAPH_BYTES


def test_archives_may_grow_by_as_much_as_text_does() -> None:
    assert wanted.max_unpacked_bytes(10) == wanted.MIN_EXPANSION_BYTES
    assert wanted.max_unpacked_bytes(10**9) == 50 * 10**9


@pytest.mark.parametrize(
    ("kind", "photograph_url", "address"),
    [
        ("coco", "none", "http://images.example/1.jpg"),
        ("coco", "original_url", "http://images.example/1.jpg"),
        ("openimages", "none", None),
        ("openimages", "https://bucket.example/{split}/{source_image_id}.jpg", "https://bucket.example/test/1.jpg"),
        ("invig", "none", None),
    ],
)
def test_a_release_gives_the_address_of_the_very_file(kind: str, photograph_url: str, address: str | None) -> None:
    source = {"name": "s", "kind": kind, "photograph_url": photograph_url, "split": "test"}
    image = {
        "image_id": "i",
        "source_name": "s",
        "source_image_id": "1",
        "file_name": "1.jpg",
        "original_url": "http://images.example/1.jpg",
    }
    assert wanted.release_addresses([image], [source]) == {"i": address}
