# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Difference hashes of photographs, and which photographs look alike."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from groundset import near_duplicates as module
from groundset.near_duplicates import HASH_BITS, SHOWN_NEAR, difference_hash, near_duplicates

SHARED = Path(__file__).parents[2] / "shared" / "data"
LIMIT = 10

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the real source files beside the checkout")


def scene(seed: int, size: tuple[int, int] = (160, 120)) -> Image.Image:
    dice = np.random.default_rng(seed)
    coarse = Image.fromarray(dice.integers(0, 256, (5, 7, 3), dtype=np.uint8))
    return coarse.resize(size, Image.Resampling.BICUBIC)


def again(image: Image.Image, **options: Any) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return Image.open(io.BytesIO(buffer.getvalue()))


def distance(first: str, second: str) -> int:
    return (int(first, 16) ^ int(second, 16)).bit_count()


def test_the_bits_say_where_the_picture_grows_brighter() -> None:
    ramp = np.tile(np.arange(90, dtype=np.uint8), (80, 1))
    assert difference_hash(Image.fromarray(ramp)) == "ff" * 8 + "00" * 8
    assert difference_hash(Image.fromarray(ramp.T.copy())) == "00" * 8 + "ff" * 8
    assert difference_hash(Image.fromarray(ramp[:, ::-1].copy())) == "00" * 16
    assert difference_hash(Image.new("RGB", (1, 1))) == "00" * 16


@pytest.mark.parametrize("seed", range(5))
def test_compression_and_size_hardly_matter_and_the_picture_does(seed: int) -> None:
    image = scene(seed)
    own = difference_hash(image)
    copies = [again(image, quality=40), image.resize((64, 48)), image.resize((333, 250)), image.convert("L")]
    assert max(distance(own, difference_hash(copy)) for copy in copies) <= LIMIT
    assert distance(own, difference_hash(scene(seed + 100))) > 3 * LIMIT
    assert distance(own, difference_hash(image.transpose(Image.Transpose.ROTATE_180))) > 3 * LIMIT


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "CMYK", "P", "I;16"])
def test_every_mode_has_a_hash_of_what_it_shows(mode: str) -> None:
    image = scene(3).convert("L")
    if mode == "I;16":
        other: Image.Image = Image.fromarray(np.asarray(image).astype(np.uint16) * 257)
        assert other.mode == mode
    else:
        other = image.convert("RGB").convert(mode)
    assert distance(difference_hash(image), difference_hash(other)) <= LIMIT


@needs_shared
def test_real_photographs_are_like_their_copies_and_not_like_each_other() -> None:
    own = {}
    for path in sorted((SHARED / "coco").glob("*.jpg")):
        with Image.open(path) as image:
            own[path.stem] = difference_hash(image)
            small = image.convert("RGB").resize((image.width // 3, image.height // 3))
        assert distance(own[path.stem], difference_hash(again(small, quality=60))) <= LIMIT
    assert len(own) == 12
    assert near_duplicates(own, 3 * LIMIT) == []


def test_each_names_the_other_and_the_distance() -> None:
    hashes = {"b": "00" * 15 + "07", "a": "00" * 16, "c": "ff" * 16}
    first, second = near_duplicates(hashes, 3)
    assert (first.record_id, first.kind, first.rule, first.hard) == ("a", "image", "near_duplicate", False)
    assert (first.measured, first.limit) == (3.0, 3.0)
    assert first.detail == "looks like b (3 of 128 bits differ)"
    assert (second.record_id, second.detail) == ("b", "looks like a (3 of 128 bits differ)")
    assert near_duplicates(hashes, 2) == []


def test_none_and_one_look_like_nothing() -> None:
    assert near_duplicates({}, 64) == []
    assert near_duplicates({"a": "00" * 16}, 64) == []


def test_many_that_look_alike_are_counted() -> None:
    verdicts = near_duplicates({f"x-{number}": "00" * 16 for number in range(10)}, 0)
    assert len(verdicts) == 10
    assert verdicts[9].detail.startswith("looks like x-0 (0 of 128 bits differ), x-1 ")
    assert verdicts[9].detail.endswith(f"x-4 (0 of 128 bits differ) and {9 - SHOWN_NEAR} more")


HASHES = st.dictionaries(
    st.text("abc", min_size=1, max_size=4),
    st.lists(st.integers(0, HASH_BITS - 1), max_size=3).map(lambda bits: f"{sum(1 << bit for bit in set(bits)):032x}"),
    max_size=12,
)


@given(hashes=HASHES, limit=st.integers(0, 6), block=st.integers(1, 40), data=st.data())
def test_the_same_is_said_as_by_comparing_every_pair(
    hashes: dict[str, str], limit: int, block: int, data: st.DataObject
) -> None:
    expected: dict[str, list[tuple[int, str]]] = {}
    for one, other in itertools.permutations(sorted(hashes), 2):
        if distance(hashes[one], hashes[other]) <= limit:
            expected.setdefault(one, []).append((distance(hashes[one], hashes[other]), other))
    shuffled = {name: hashes[name] for name in data.draw(st.permutations(sorted(hashes)))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_PAIRS", block)
        found = near_duplicates(shuffled, limit)
    assert [verdict.record_id for verdict in found] == sorted(expected)
    for verdict in found:
        nearest = sorted(expected[verdict.record_id])
        assert verdict.measured == nearest[0][0]
        told = ", ".join(f"{name} ({bits} of 128 bits differ)" for bits, name in nearest[:SHOWN_NEAR])
        more = f" and {len(nearest) - SHOWN_NEAR} more" if len(nearest) > SHOWN_NEAR else ""
        assert verdict.detail == f"looks like {told}{more}"
