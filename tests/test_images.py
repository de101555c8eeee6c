# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Photograph checks: the real photographs, the bad cases, paths, modes and fuzz."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, PngImagePlugin

from groundset import schema
from groundset.image_streams import orientation, take_apart
from groundset.images import (
    MAX_PHOTOGRAPH_BYTES,
    ImageRules,
    Job,
    Photograph,
    header_size,
    keeps_aspect,
    measure,
    measure_all,
    stored_size,
)
from groundset.verdicts import Verdict

TESTS = Path(__file__).parent
BAD = TESTS / "bad" / "images"
CASES = sorted(path.name for path in BAD.iterdir())
SHARED = TESTS.parents[1] / "shared" / "data"
RULES = ImageRules(max_pixels=50_000_000, reject_rotated=True)

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the real source files beside the checkout")
pytestmark = pytest.mark.filterwarnings("error")


def picture(mode: str = "RGB", size: tuple[int, int] = (24, 16)) -> Image.Image:
    image = Image.new("RGB", size, (200, 220, 240))
    image.paste((180, 60, 40), (4, 3, 16, 13))
    return image.convert(mode)


def encoded(image: Image.Image, file_format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def exif(value: int, order: str = ">", kind: int = 3, start: int = 8) -> bytes:
    mark = b"MM\0*" if order == ">" else b"II*\0"
    return mark + struct.pack(order + "IHHHIHHI", start, 1, 0x0112, kind, 1, value, 0, 0)


def measure_bytes(folder: Path, data: bytes, rules: ImageRules = RULES) -> Photograph | Verdict:
    (folder / "input.jpg").write_bytes(data)
    return measure(Path("input.jpg"), folder, "x-1", 24, 16, True, rules)


@pytest.mark.parametrize("case", CASES)
def test_bad_case(case: str) -> None:
    record = json.loads((BAD / case / "record.json").read_text(encoding="utf-8"))
    frame = (record["width"], record["height"], record["is_pixels"])
    said = measure(Path(record["file_name"]), BAD / case, case, *frame, RULES)
    assert isinstance(said, Verdict)
    assert [asdict(said)] == json.loads((BAD / case / "verdicts.json").read_text(encoding="utf-8"))


@needs_shared
def test_real_photographs_are_measured_and_not_changed() -> None:
    folder = SHARED / "coco"
    images = json.loads((folder / "instances_val2014_12.json").read_text(encoding="utf-8"))["images"]
    jobs = [
        Job(Path(row["file_name"]), folder, f"coco-{row['id']}", row["width"], row["height"], True) for row in images
    ]
    with ThreadPoolExecutor(2) as threads:
        found = measure_all(jobs, RULES, threads)
    assert found == measure_all(jobs, RULES)
    for job, row in zip(jobs, found, strict=True):
        assert isinstance(row, Photograph)
        assert not schema.errors("photograph", asdict(row))
        data = (folder / job.path).read_bytes()
        assert (row.sha256, row.bytes) == (hashlib.sha256(data).hexdigest(), len(data))
        with Image.open(folder / job.path) as image:
            head = f"RGB {image.width} {image.height}\n".encode()
            assert row.pixels_sha256 == hashlib.sha256(head + image.convert("RGB").tobytes()).hexdigest()


@needs_shared
@pytest.mark.parametrize(("name", "turned"), [("Portrait_6.jpg", 6), ("Landscape_3.jpg", 3)])
def test_real_photographs_that_exif_turns(name: str, turned: int) -> None:
    folder = SHARED / "exif"
    said = measure(Path(name), folder, "x", 1800, 1200, True, RULES)
    assert isinstance(said, Verdict)
    assert (said.rule, said.measured) == ("exif_orientation", turned)
    kept = measure(Path(name), folder, "x", 1800, 1200, True, ImageRules(50_000_000, reject_rotated=False))
    assert isinstance(kept, Photograph)
    swapped = measure(Path(name), folder, "x", 1200, 1800, True, RULES)
    assert isinstance(swapped, Verdict)
    assert swapped.rule == "size_mismatch"
    assert ("only the image as turned by its EXIF orientation 6 fits" in swapped.detail) == (turned == 6)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_png_modes(tmp_path: Path, mode: str) -> None:
    row = measure_bytes(tmp_path, encoded(picture("L" if mode == "I;16" else mode).convert(mode), "PNG"))
    assert isinstance(row, Photograph)
    assert (row.mode, row.format, row.width, row.height) == (mode, "PNG", 24, 16)


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_jpeg_modes(tmp_path: Path, mode: str) -> None:
    row = measure_bytes(tmp_path, encoded(picture(mode), "JPEG", progressive=mode == "RGB"))
    assert isinstance(row, Photograph)
    assert (row.mode, row.format) == (mode, "JPEG")


def test_equal_pixels_have_equal_hashes_whatever_the_file(tmp_path: Path) -> None:
    plain = measure_bytes(tmp_path, encoded(picture(), "PNG"))
    other = measure_bytes(tmp_path, encoded(picture(), "PNG", compress_level=0, dpi=(72, 72)))
    assert isinstance(plain, Photograph)
    assert isinstance(other, Photograph)
    assert plain.pixels_sha256 == other.pixels_sha256
    assert plain.sha256 != other.sha256
    palette = picture("P")
    first = measure_bytes(tmp_path, encoded(palette, "PNG"))
    palette.putpalette([255 - value for value in palette.getpalette() or []])
    second = measure_bytes(tmp_path, encoded(palette, "PNG"))
    assert isinstance(first, Photograph)
    assert isinstance(second, Photograph)
    assert first.pixels_sha256 != second.pixels_sha256


def pixels(folder: Path, data: bytes) -> str:
    said = measure_bytes(folder, data)
    assert isinstance(said, Photograph), said
    return said.pixels_sha256


def test_a_picture_is_the_same_however_it_is_stored(tmp_path: Path) -> None:
    few, gray, black = picture("P"), picture("L"), picture("1")
    same = [few, few.convert("RGB"), few.convert("RGBA")]
    assert len({pixels(tmp_path, encoded(image, "PNG")) for image in same}) == 1
    assert pixels(tmp_path, encoded(few, "PNG", pnginfo=None, icc_profile=b"x" * 200)) == pixels(
        tmp_path, encoded(few, "PNG")
    )
    grays = [gray, gray.convert("RGB"), gray.convert("LA"), gray.convert("RGBA")]
    assert len({pixels(tmp_path, encoded(image, "PNG")) for image in grays}) == 1
    assert len({pixels(tmp_path, encoded(image, "PNG")) for image in (black, black.convert("L"))}) == 1
    jpeg = encoded(picture(), "JPEG", exif=b"Exif\0\0" + exif(1))
    with Image.open(io.BytesIO(jpeg)) as shown:
        assert pixels(tmp_path, jpeg) == pixels(tmp_path, encoded(shown.convert("RGB"), "PNG"))
        assert pixels(tmp_path, jpeg) == pixels(tmp_path, encoded(picture(), "JPEG", comment="x", progressive=True))


def test_what_shines_through_is_part_of_the_picture(tmp_path: Path) -> None:
    image = picture("RGBA")
    opaque = pixels(tmp_path, encoded(image, "PNG"))
    image.putpixel((0, 0), (200, 220, 240, 0))
    assert pixels(tmp_path, encoded(image, "PNG")) != opaque
    assert pixels(tmp_path, encoded(picture(), "PNG", transparency=(200, 220, 240))) != opaque
    assert pixels(tmp_path, encoded(picture(), "PNG", transparency=(1, 2, 3))) == opaque
    assert pixels(tmp_path, encoded(picture("P"), "PNG", transparency=picture("P").getpixel((0, 0)))) != pixels(
        tmp_path, encoded(picture("P"), "PNG")
    )


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, *before: bytes, raw: bytes | None = None, depth: int = 8) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0))
    rows = (b"\0" + bytes(width * 3 * depth // 8)) * height if raw is None else raw
    tail = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(before) + tail


BOMB = zlib.compress(bytes(40_000_000))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(24, 16, depth=16), "RGB"),
        (encoded(picture("P"), "PNG", transparency=1), "P"),
        (encoded(picture(), "MPO", save_all=True, append_images=[picture()]), "RGB"),
        (encoded(picture(), "JPEG") + b"PK\3\4 something that follows", "RGB"),
        # more pixels than the header promises are not unpacked
        (png(24, 16, raw=bytes(40_000_000)), "RGB"),
        (png(24, 16, chunk(b"zTXt", b"k\0\0" + BOMB)), "unreadable"),
        (png(24, 16, chunk(b"iTXt", b"k\0\1\0\0\0" + BOMB)), "unreadable"),
        (png(24, 16, chunk(b"iCCP", b"k\0\0" + BOMB)), "unreadable"),
        (png(24, 16, *[chunk(b"tEXt", b"k\0" + b"x" * 1_000_000)] * 80), "unreadable"),
        (png(24, 16, raw=bytes(100)), "broken_pixels"),
        (png(0, 16), "not_an_image"),
        (png(0, 0), "not_an_image"),
        (png(24, 2**31 - 1, raw=b""), "too_many_pixels"),
        (encoded(picture(), "GIF", save_all=True, append_images=[picture().rotate(180)]), "unsupported_format"),
        (encoded(picture(), "WEBP", save_all=True, append_images=[picture().rotate(180)]), "unsupported_format"),
        (encoded(picture(), "PNG", save_all=True, append_images=[picture().rotate(180)]), "animated"),
        (encoded(picture(), "TIFF"), "unsupported_format"),
        (encoded(picture(), "ICO"), "not_an_image"),
        (b"\n" + encoded(picture(), "JPEG"), "not_an_image"),
        (bytes(5000), "not_an_image"),
    ],
)
def test_every_kind_of_file(tmp_path: Path, data: bytes, expected: str) -> None:
    said = measure_bytes(tmp_path, data)
    assert (said.mode if isinstance(said, Photograph) else said.rule) == expected


def test_a_jpeg_without_width_or_height_is_no_image(tmp_path: Path) -> None:
    data = encoded(picture(), "JPEG")
    frame = data.index(b"\xff\xc0")
    for place in (frame + 5, frame + 7):
        said = measure_bytes(tmp_path, data[:place] + b"\0\0" + data[place + 2 :])
        assert isinstance(said, Verdict)
        assert said.rule == "not_an_image"


def test_a_wrong_checksum_is_told_though_the_pixels_unpack(tmp_path: Path) -> None:
    data = bytearray(encoded(picture(), "PNG"))
    place = data.index(b"IDAT") + 4 + int.from_bytes(data[data.index(b"IDAT") - 4 :][:4], "big")
    data[place] ^= 1
    Image.open(io.BytesIO(bytes(data))).load()
    said = measure_bytes(tmp_path, bytes(data))
    assert isinstance(said, Verdict)
    assert (said.rule, said.detail) == ("broken_pixels", "a checksum of the PNG's pixel data does not fit them")


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b'<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>', "<?xml"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "version https://git-lfs"),
        ("<p>non trouvé</p>".encode(), ""),
        (b"\0" * 10, ""),
    ],
)
def test_text_in_place_of_a_photograph_is_shown(tmp_path: Path, data: bytes, detail: str) -> None:
    said = measure_bytes(tmp_path, data)
    assert isinstance(said, Verdict)
    assert said.rule == "not_an_image"
    assert said.detail.startswith(f"the file is text: it begins '{detail}" if detail else "the file begins like no")


def noisy(size: tuple[int, int] = (120, 90), **options: Any) -> bytes:
    dice = random.Random(size[0])
    image = Image.frombytes("RGB", size, bytes(dice.randrange(256) for _ in range(3 * size[0] * size[1])))
    return encoded(image, "JPEG", **options)


def damaged(kind: str, data: bytes) -> bytes:
    begin, end = data.index(b"\xff\xda") + 14, data.rindex(b"\xff\xd9")
    middle, length = (begin + end) // 2, (end - begin) // 8
    return {
        "cut, and ended all the same": data[:middle] + data[end:],
        "cut by little": data[: end - 40] + data[end:],
        "a piece is lacking": data[:middle] + data[middle + length :],
        "a piece was never written": data[:middle] + bytes(length) + data[middle + length :],
        "a piece is something else": data[:middle]
        + (b"<html>error</html>" * length)[:length]
        + data[middle + length :],
        "a piece is there twice": data[:middle] + data[middle - length : end] + data[end:],
    }[kind]


@pytest.mark.parametrize("quality", [70, 95])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cut, and ended all the same", "its coded pixels end before the last pixel"),
        ("cut by little", "its coded pixels end before the last pixel"),
        ("a piece is lacking", "its coded pixels end before the last pixel"),
        ("a piece was never written", ""),
        ("a piece is something else", ""),
        ("a piece is there twice", "coded pixels are left over after the last pixel"),
    ],
)
def test_a_jpeg_whose_scan_does_not_fit_its_size_is_broken_though_libjpeg_takes_it(
    tmp_path: Path, kind: str, said: str, quality: int
) -> None:
    data = damaged(kind, noisy(quality=quality))
    Image.open(io.BytesIO(data)).load()
    (tmp_path / "input.jpg").write_bytes(data)
    found = measure(Path("input.jpg"), tmp_path, "x-1", 120, 90, True, RULES)
    assert isinstance(found, Verdict)
    assert found.rule == "broken_pixels"
    assert found.detail.startswith(said)


def test_a_jpeg_in_which_another_begins_is_broken(tmp_path: Path) -> None:
    data = noisy()
    begin, end = data.index(b"\xff\xda") + 14, data.rindex(b"\xff\xd9")
    (tmp_path / "input.jpg").write_bytes(data[: (begin + end) // 2] + data)
    said = measure(Path("input.jpg"), tmp_path, "x-1", 120, 90, True, RULES)
    assert isinstance(said, Verdict)
    assert said.rule == "broken_pixels"


def test_what_an_encoder_leaves_behind_a_scan_does_not_matter(tmp_path: Path) -> None:
    data = noisy()
    end = data.rindex(b"\xff\xd9")
    plain = pixels_of(tmp_path, data)
    assert pixels_of(tmp_path, data[:end] + bytes(8) + data[end:]) == plain
    assert pixels_of(tmp_path, data[:end] + b"\xff" * 50 + data[end:]) == plain
    assert pixels_of(tmp_path, data + data[: end // 2]) == plain


def pixels_of(folder: Path, data: bytes) -> str:
    (folder / "input.jpg").write_bytes(data)
    with Image.open(folder / "input.jpg") as image:
        said = measure(Path("input.jpg"), folder, "x-1", *image.size, True, RULES)
    assert isinstance(said, Photograph), said
    return said.pixels_sha256


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_sound_jpeg_is_never_broken(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    size = data.draw(st.tuples(st.integers(1, 70), st.integers(1, 70)))
    mode = data.draw(st.sampled_from(["L", "RGB", "CMYK"]))
    content = data.draw(st.sampled_from(["noise", "flat", "ramp"]))
    image = {
        "noise": Image.effect_noise(size, 80),
        "flat": Image.new("L", size, 90),
        "ramp": Image.linear_gradient("L").resize(size),
    }[content].convert(mode)
    options = {
        "quality": data.draw(st.integers(1, 100)),
        "subsampling": data.draw(st.integers(0, 2)),
        "optimize": data.draw(st.booleans()),
        "progressive": data.draw(st.booleans()),
        "restart_marker_blocks": data.draw(st.sampled_from([0, 1, 5])),
    }
    coded = encoded(image, "JPEG", **options)
    with Image.open(io.BytesIO(coded)) as plain:
        shown = plain if mode == "CMYK" else plain.convert("RGB")
        head = f"{shown.mode} {size[0]} {size[1]}\n".encode()
        expected = hashlib.sha256(head + shown.tobytes()).hexdigest()
    assert pixels_of(tmp_path_factory.mktemp("sound"), coded) == expected


def test_a_file_that_is_far_too_long_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "input.jpg").open("wb") as file:
        file.write(encoded(picture(), "JPEG"))
        file.truncate(2**40)
    said = measure(Path("input.jpg"), tmp_path, "x-1", 24, 16, True, RULES)
    assert isinstance(said, Verdict)
    assert (said.rule, said.measured, said.limit) == ("too_many_bytes", float(2**40), float(MAX_PHOTOGRAPH_BYTES))
    assert stored_size(Path("input.jpg"), tmp_path) is None


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes elsewhere")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "input.jpg")
    said = measure(Path("input.jpg"), tmp_path, "x-1", 24, 16, True, RULES)
    assert isinstance(said, Verdict)
    assert said.rule == "missing_file"


@pytest.mark.parametrize("turned", range(1, 9))
def test_every_orientation_is_told_and_the_stored_size_counts(tmp_path: Path, turned: int) -> None:
    data = encoded(picture(), "JPEG", exif=b"Exif\0\0" + exif(turned))
    said = measure_bytes(tmp_path, data)
    if turned == 1:
        assert isinstance(said, Photograph)
    else:
        assert isinstance(said, Verdict)
        assert (said.rule, said.measured, said.limit) == ("exif_orientation", turned, 1.0)
    kept = measure_bytes(tmp_path, data, ImageRules(50_000_000, reject_rotated=False))
    assert isinstance(kept, Photograph)
    assert (kept.width, kept.height) == (24, 16)
    shown = measure(Path("input.jpg"), tmp_path, "x-1", 16, 24, True, RULES)
    assert isinstance(shown, Verdict)
    assert shown.rule == "size_mismatch"
    assert (f"only the image as turned by its EXIF orientation {turned} fits" in shown.detail) is (turned >= 5)


def test_the_limit_on_pixels_is_inclusive_and_the_only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(picture(), "PNG")
    assert isinstance(measure_bytes(tmp_path, data, ImageRules(24 * 16, True)), Photograph)
    said = measure_bytes(tmp_path, data, ImageRules(24 * 16 - 1, True))
    assert isinstance(said, Verdict)
    assert (said.rule, said.measured, said.limit) == ("too_many_pixels", 384.0, 383.0)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert isinstance(measure_bytes(tmp_path, data), Photograph)


def test_pillow_is_left_as_it_was(tmp_path: Path) -> None:
    before = (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters))
    measure_bytes(tmp_path, encoded(picture(), "JPEG")[:-40])
    assert (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters)) == before


def test_paths(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    data = encoded(picture(), "JPEG")
    for place in (root / "a.jpg", root / "sub" / "b.jpg", outside / "c.jpg"):
        place.write_bytes(data)
    (root / "out.jpg").symlink_to(outside / "c.jpg")
    (root / "in.jpg").symlink_to(root / "sub" / "b.jpg")
    (root / "loop.jpg").symlink_to(root / "loop.jpg")
    (root / "away").symlink_to(outside)
    expected = {
        "a.jpg": "a.jpg",
        "sub/b.jpg": "sub/b.jpg",
        "sub/../a.jpg": "a.jpg",
        "in.jpg": "in.jpg",
        str(root / "sub" / "b.jpg"): "sub/b.jpg",
        "out.jpg": "path_outside_folder",
        "away/c.jpg": "path_outside_folder",
        "../outside/c.jpg": "path_outside_folder",
        str(outside / "c.jpg"): "path_outside_folder",
        "": "path_outside_folder",
        "loop.jpg": "path_outside_folder",
        "a\0.jpg": "path_outside_folder",
        "sub": "missing_file",
        "none.jpg": "missing_file",
        "a.jpg/none.jpg": "missing_file",
        "x" * 5000: "missing_file",
    }
    for name, word in expected.items():
        said = measure(Path(name), root, "x", 24, 16, True, RULES)
        assert (said.path if isinstance(said, Photograph) else said.rule) == word, name
    # the same through a folder that is itself a link
    (tmp_path / "link").symlink_to(root)
    assert isinstance(measure(Path("a.jpg"), tmp_path / "link", "x", 24, 16, True, RULES), Photograph)


@pytest.mark.parametrize(
    ("size", "frame", "keeps"),
    [
        ((320, 240), (640.0, 480.0), True),
        ((1024, 683), (640.0, 427.0), True),
        ((1000, 1000), (1000.0, 990.0), False),
        ((1000, 1000), (1000.0, 990.1), True),
        ((480, 640), (640.0, 480.0), False),
        # a narrow strip, whose shorter side can only be rounded
        ((100, 3), (1000.0, 26.0), True),
        ((100, 4), (1000.0, 26.0), False),
        ((1, 1), (640.0, 480.0), True),
    ],
)
def test_a_scaled_size_keeps_the_ratio_of_the_sides(
    size: tuple[int, int], frame: tuple[float, float], keeps: bool
) -> None:
    assert keeps_aspect(size, frame) is keeps


@given(
    frame=st.tuples(st.integers(1, 4000), st.integers(1, 4000)),
    longest=st.integers(1, 4000),
    around=st.sampled_from([int, round, lambda value: int(value) + 1]),
)
def test_no_way_of_rounding_spoils_a_scaled_size(frame: tuple[int, int], longest: int, around: Any) -> None:
    factor = longest / max(frame)
    size = (max(1, around(frame[0] * factor)), max(1, around(frame[1] * factor)))
    assert keeps_aspect((longest, size[1]) if frame[0] >= frame[1] else (size[0], longest), frame)


def test_another_size_is_measured_only_where_scaling_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "input.png").write_bytes(encoded(picture(), "PNG"))

    def said(width: float, height: float, may_scale: bool) -> Photograph | Verdict:
        return measure(Path("input.png"), tmp_path, "x-1", width, height, True, RULES, may_scale)

    same = said(24, 16, False)
    assert isinstance(same, Photograph)
    assert said(24, 16, True) == said(48, 32, True) == said(12, 8, True) == same
    refused = said(48, 32, False)
    assert isinstance(refused, Verdict)
    assert (refused.rule, refused.detail) == ("size_mismatch", "stored 24 x 16, record 48 x 32")
    turned = said(32, 48, True)
    assert isinstance(turned, Verdict)
    assert turned.rule == "size_mismatch"
    assert turned.detail == "stored 24 x 16, record 32 x 48, which is no scaling: the sides have another ratio"


def test_the_size_is_told_by_the_header_alone(tmp_path: Path) -> None:
    jpeg, png = encoded(picture(size=(31, 7)), "JPEG"), encoded(picture(size=(31, 7)), "PNG")
    assert header_size(jpeg) == header_size(png) == header_size(jpeg[:-40]) == (31, 7)
    for nothing in (b"", b"GIF89a", jpeg[:20], png[:20], b"\xff\xd8\xff"):
        assert header_size(nothing) is None
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.jpg").write_bytes(jpeg)
    (tmp_path / "b.jpg").write_bytes(jpeg)
    sizes = [stored_size(Path(name), root) for name in ("a.jpg", "none.jpg", "../b.jpg", "a\0.jpg", ".")]
    assert sizes == [(31, 7), None, None, None, None]


@pytest.mark.parametrize(
    ("tiff", "expected"),
    [
        (exif(6), 6),
        (exif(8, "<"), 8),
        (exif(0), 1),
        (exif(9), 1),
        (exif(6, kind=5), 1),
        (exif(6, start=4_000_000_000), 1),
        (exif(6)[:12], 1),
        (b"", 1),
        (b"II*\0", 1),
        (b"nothing of the kind", 1),
    ],
)
def test_orientation(tiff: bytes, expected: int) -> None:
    assert orientation(tiff) == expected


def test_broken_metadata_does_not_matter(tmp_path: Path) -> None:
    block = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 40) + b"\x12\x01\x03\x00" * 9
    data = encoded(picture(), "JPEG", exif=block)
    assert isinstance(measure_bytes(tmp_path, data), Photograph)


@given(cut=st.integers(0, 10_000))
@settings(deadline=None)
def test_a_cut_file_is_never_a_photograph(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    for file_format in ("JPEG", "PNG"):
        data = encoded(picture(), file_format)
        said = measure_bytes(tmp_path_factory.mktemp("cut"), data[: cut % len(data)])
        assert isinstance(said, Verdict)
        assert said.rule in ("truncated", "not_an_image")


@given(seed=st.integers(0, 2**32), changes=st.integers(1, 12), file_format=st.sampled_from(["JPEG", "PNG"]))
@settings(max_examples=200, deadline=None)
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, seed: int, changes: int, file_format: str) -> None:
    dice = random.Random(seed)
    data = bytearray(encoded(picture("RGB"), file_format, exif=b"Exif\0\0" + exif(1)))
    for _ in range(changes):
        data[dice.randrange(len(data))] = dice.randrange(256)
    said = measure_bytes(tmp_path_factory.mktemp("damaged"), bytes(data))
    assert isinstance(said, Photograph | Verdict)


@given(data=st.binary(max_size=100), head=st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"]))
@settings(deadline=None)
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, head: bytes) -> None:
    assert isinstance(measure_bytes(tmp_path_factory.mktemp("bytes"), head + data), Verdict)
    stream = take_apart(head + data)
    assert (stream is None) == (head == b"" and not data.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")))


def test_a_png_whose_text_is_too_long_for_pillow_is_told(tmp_path: Path) -> None:
    image = io.BytesIO()
    text = PngImagePlugin.PngInfo()
    text.add_text("note", "x" * (PngImagePlugin.MAX_TEXT_CHUNK + 1), zip=True)
    Image.new("RGB", (8, 6)).save(image, "PNG", pnginfo=text)
    (tmp_path / "a.png").write_bytes(image.getvalue())
    found = measure(Path("a.png"), tmp_path, "coco-1", 8, 6, True, ImageRules(1000, True))
    assert isinstance(found, Verdict)
    assert found.rule == "unreadable"
