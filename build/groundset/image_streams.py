# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Takes JPEG and PNG files apart without decoding them: what the pixels need, and what the metadata says of them.

A decoder that is given only what the pixels need cannot stumble, or warn, over anything that a camera or an editor
wrote beside them. Markers and chunks as in ITU-T T.81 Annex B, PNG (third edition) section 5, Exif 2.32 section 4.6.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

_OTHER_MAGIC = (
    (b"GIF8", 0, "GIF"),
    (b"BM", 0, "BMP"),
    (b"II*\0", 0, "TIFF"),
    (b"MM\0*", 0, "TIFF"),
    (b"WEBP", 8, "WebP"),
    (b"ftypavi", 4, "AVIF"),
    (b"ftyphei", 4, "HEIF"),
    (b"ftyphev", 4, "HEIF"),
    (b"ftypmif1", 4, "HEIF"),
    (b"ftypmsf1", 4, "HEIF"),
    (b"\0\0\0\x0cjP  ", 0, "JPEG 2000"),
    (b"\xff\x0a", 0, "JPEG XL"),
    (b"\0\0\0\x0cJXL ", 0, "JPEG XL"),
    (b"8BPS", 0, "Photoshop"),
    (b"%PDF-", 0, "PDF"),
)
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_FOR_PIXELS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
_EXIF_HEAD = b"Exif\0\0"
_ORIENTATION_TAG = 0x0112
# TIFF types SHORT and LONG: readers follow an orientation of either
_WHOLE_NUMBERS = {3: "H", 4: "I"}


@dataclass(frozen=True)
class Stream:
    """An image file, taken apart.

    Attributes:
        format: JPEG or PNG.
        pixels: The file without what its pixels do not need.
        orientation: EXIF orientation, 1 to 8; 1 where none or a senseless one is given.
        frames: Frames of an animated PNG, else 1.
        has_pixels: Whether the header is whole and pixel data begins.
        has_end: Whether the mark is there that ends the file.
        scan: Where in `pixels` the coded pixels begin and end, of a JPEG that has all of them in one Huffman-coded scan
            without restart markers, as nearly all have; None for others.
        is_damaged: Whether a checksum does not fit what the pixels need; only PNG has them.
    """

    format: str
    pixels: bytes
    orientation: int
    frames: int
    has_pixels: bool
    has_end: bool
    scan: tuple[int, int] | None = None
    is_damaged: bool = False


def other_format(data: bytes) -> str:
    """Name of the format if the file is an image of one that is not read; empty otherwise."""
    return next((name for magic, at, name in _OTHER_MAGIC if data.startswith(magic, at)), "")


def orientation(tiff: bytes) -> int:
    """EXIF orientation in the TIFF structure of an Exif block, 1 where it gives none from 1 to 8."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None or len(tiff) < 8:
        return 1
    (start,) = struct.unpack_from(order + "I", tiff, 4)
    if start + 2 > len(tiff):
        return 1
    (count,) = struct.unpack_from(order + "H", tiff, start)
    for at in range(start + 2, min(start + 2 + 12 * count, len(tiff) - 11), 12):
        tag, kind, _ = struct.unpack_from(order + "HHI", tiff, at)
        if tag == _ORIENTATION_TAG and kind in _WHOLE_NUMBERS:
            (value,) = struct.unpack_from(order + _WHOLE_NUMBERS[kind], tiff, at + 8)
            return int(value) if 1 <= value <= 8 else 1
    return 1


def _coded_end(data: bytes, at: int) -> int:
    """Where the coded pixels end that begin there: at the next marker, before what fills up to it."""
    while True:
        at = data.find(b"\xff", at)
        if at < 0 or at + 1 >= len(data):
            return len(data)
        if data[at + 1] == 0x00:
            at += 2
            continue
        return at


def _is_all_in_one(frame: bytes, scan: bytes) -> bool:
    """Whether a sequential, Huffman-coded frame (SOF0, SOF1) has all components in this scan (T.81 B.2.2, B.2.3)."""
    return frame[1:2] in (b"\xc0", b"\xc1") and frame[9:10] == scan[4:5]


def _jpeg(data: bytes) -> Stream:
    kept, turned, at = [data[:2]], 1, 2
    frame, restarts = b"", False
    while at + 4 <= len(data):
        if data[at] != 0xFF or data[at + 1] in (0x00, 0xFF):
            at += 1
            continue
        marker = data[at + 1]
        if marker == 0xD9:
            break
        if 0xD0 <= marker <= 0xD8 or marker == 0x01:
            at += 2
            continue
        if marker == 0xDA:
            whole = b"".join([*kept, data[at:]])
            has_end = data.rfind(b"\xff\xd9", at) > 0
            scan = None
            if has_end and not restarts and _is_all_in_one(frame, data[at : at + 5]):
                begin = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
                moved = len(whole) - len(data)
                scan = begin + moved, _coded_end(data, begin) + moved
            return Stream("JPEG", whole, turned, 1, has_pixels=True, has_end=has_end, scan=scan)
        stop = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDD:
            restarts = int.from_bytes(data[at + 4 : at + 6], "big") > 0
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            frame = data[at:stop]
        if marker != 0xE1:
            kept.append(data[at:stop])
        elif turned == 1 and data.startswith(_EXIF_HEAD, at + 4):
            turned = orientation(data[at + 4 + len(_EXIF_HEAD) : stop])
        at = max(stop, at + 2)
    return Stream("JPEG", b"".join(kept), turned, 1, has_pixels=False, has_end=False)


def _png(data: bytes) -> Stream:
    kept, turned, frames, at = [_PNG_SIGNATURE], 1, 1, len(_PNG_SIGNATURE)
    has_pixels = has_end = is_damaged = False
    while at + 8 <= len(data) and not has_end:
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body, stop = data[at + 8 : at + 8 + length], at + 12 + length
        if kind in _PNG_FOR_PIXELS:
            kept.append(data[at:stop])
            # Pillow holds no CRC of pixel data against it, other readers do
            is_damaged |= zlib.crc32(data[at + 4 : stop - 4]) != int.from_bytes(data[stop - 4 : stop], "big")
        elif kind == b"eXIf":
            turned = orientation(body.removeprefix(_EXIF_HEAD))
        elif kind == b"acTL":
            frames = max(1, int.from_bytes(body[:4], "big"))
        has_pixels = has_pixels or kind == b"IDAT"
        has_end = kind == b"IEND" and stop <= len(data)
        at = stop
    return Stream("PNG", b"".join(kept), turned, frames, has_pixels, has_end, is_damaged=is_damaged)


def take_apart(data: bytes) -> Stream | None:
    """Takes a JPEG or PNG file apart; None for anything else."""
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    return _png(data) if data.startswith(_PNG_SIGNATURE) else None
