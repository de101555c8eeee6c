# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Opens, decodes and measures photographs; never changes one.

Pillow's format classes are used directly: `Image.open` would warn or raise by a limit on pixels that is one global of
the process, while here the limit is the manifest's, held against the header before anything is decoded. So no global
state is touched, and any number of threads may measure.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from groundset.image_streams import Stream, other_format, take_apart
from groundset.near_duplicates import difference_hash
from groundset.verdicts import Verdict

# what Pillow's JPEG and PNG classes raise for broken files; a lack of memory is not among them: no file's fault
_BROKEN = (OSError, SyntaxError, ValueError, TypeError, IndexError, KeyError, EOFError, struct.error, zlib.error)

_ORIENTATION_TAG = 0x0112
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:=\"|>)([2-8])")

# both ours: what rounding to whole pixels can do to a photograph that was made smaller or larger
ASPECT_SHARE = 0.01
ASPECT_PX = 1.0
# ours: photographs of these sources have a few megabytes; more than this is something else, and is not read into memory
MAX_PHOTOGRAPH_BYTES = 2**28
# bytes that libjpeg reads ahead of the code it decodes: it fills a register of 64 bits
AHEAD_BYTES = 8
# ours: so many bytes after the last pixel are damage, fewer are some encoder's padding
LEFT_OVER_BYTES = 16
# no code of a JPEG consists of ones, so a decoder that reads this makes no pixels of it
FILLER = b"\xfe" * 16
# modes that a viewer shows as 8 bits a channel, so that the same picture may be stored in several of them
_SAME_IN_RGB = {"1", "L", "LA", "P", "PA", "RGB", "RGBA"}


@dataclass(frozen=True)
class ImageRules:
    """The manifest's rules for photographs.

    Attributes:
        max_pixels: A photograph of more pixels is rejected before it is decoded.
        reject_rotated: Whether a photograph that its EXIF orientation turns is rejected.
    """

    max_pixels: int
    reject_rotated: bool


@dataclass(frozen=True)
class Photograph:
    """One measured photograph, a record of `schemas/photograph`."""

    image_id: str
    path: str
    sha256: str
    pixels_sha256: str
    difference_hash: str
    bytes: int
    width: int
    height: int
    format: str
    mode: str


@dataclass(frozen=True)
class Job:
    """One photograph to measure; the fields are the arguments of `measure`."""

    path: Path
    root: Path
    image_id: str
    frame_width: float
    frame_height: float
    frame_is_pixels: bool
    may_scale: bool = False


def _located(path: Path, root: Path) -> tuple[Path, str] | tuple[None, str]:
    """The real file and its path below the root; or None and which rule it breaks."""
    try:
        base, full = root.resolve(), (root / path).resolve()
        inside = full.is_relative_to(base) and full != base
        exists = full.is_file() if inside else False
    # NUL characters; links that lead round in a circle
    except (ValueError, RuntimeError):
        return None, "path_outside_folder"
    except OSError:
        return None, "missing_file"
    if not inside:
        return None, "path_outside_folder"
    if not exists:
        return None, "missing_file"
    below = path.relative_to(root) if path.is_absolute() and path.is_relative_to(root) else path
    return full, (full.relative_to(base) if ".." in below.parts or below.is_absolute() else below).as_posix()


def _as_shown(image: JpegImageFile | PngImageFile) -> Image.Image:
    """The picture in a mode that all ways to store it have in common: RGB, or RGBA if something shines through."""
    if image.mode not in _SAME_IN_RGB:
        return image
    if not image.has_transparency_data:
        return image.convert("RGB")
    whole = image.convert("RGBA")
    return whole.convert("RGB") if whole.getchannel("A").getextrema() == (255, 255) else whole


def _pixels_sha256(image: JpegImageFile | PngImageFile) -> str:
    shown = _as_shown(image)
    head = f"{shown.mode} {shown.width} {shown.height}\n".encode()
    return hashlib.sha256(head + shown.tobytes()).hexdigest()


def keeps_aspect(size_px: tuple[int, int], frame: tuple[float, float]) -> bool:
    """Whether a stored size is the record's, scaled: the ratios agree within 1 %, or a side within 1 px (both ours).

    >>> keeps_aspect((1024, 683), (640.0, 427.0)), keeps_aspect((480, 640), (640.0, 480.0))
    (True, False)
    """
    across, down = size_px[0] / frame[0], size_px[1] / frame[1]
    off_px = min(abs(size_px[0] - frame[0] * down), abs(size_px[1] - frame[1] * across))
    return max(across, down) / min(across, down) - 1 <= ASPECT_SHARE or off_px <= ASPECT_PX


def _size_fault(stream: Stream, size: tuple[int, int], frame: tuple[float, float], may_scale: bool) -> str:
    if size == frame or (may_scale and keeps_aspect(size, frame)):
        return ""
    detail = f"stored {size[0]} x {size[1]}, record {frame[0]:g} x {frame[1]:g}"
    if may_scale:
        detail += ", which is no scaling: the sides have another ratio"
    # orientations 5 to 8 swap width and height
    if stream.orientation >= 5 and size[::-1] == frame:
        detail += f"; only the image as turned by its EXIF orientation {stream.orientation} fits"
    return detail


class _Metered(io.BytesIO):
    """The pixels of a JPEG, handed out so that it shows how much of its scan the decoder asks for."""

    def __init__(self, pixels: bytes, begin: int, end: int) -> None:
        super().__init__(pixels[:end] + FILLER + pixels[end:])
        self._end = end
        # where a read may not go on; none lies in the header
        self._bounds = [max(begin, end - LEFT_OVER_BYTES), *range(end, end + len(FILLER) + 1, 4)]

    def read(self, size: int | None = -1, /) -> bytes:
        at = self.tell()
        most = next((bound - at for bound in self._bounds if bound > at), -1)
        return super().read(size if most < 0 or (size is not None and 0 <= size < most) else most)

    def fault(self) -> str:
        """What does not fit, once the last pixel has been decoded; empty if nothing."""
        beyond = self.tell() - self._end
        if beyond > AHEAD_BYTES:
            return "its coded pixels end before the last pixel; decoders make up the rest"
        return "coded pixels are left over after the last pixel: they are damaged" if beyond < 0 else ""


def _opened(stream: Stream, file: io.BytesIO | None = None) -> JpegImageFile | PngImageFile | None:
    """The header, read; None if it is broken."""
    reader: Callable[[Any], Any] = JpegImageFile if stream.format == "JPEG" else PngImageFile
    try:
        image: JpegImageFile | PngImageFile = reader(file or io.BytesIO(stream.pixels))
    except _BROKEN:
        return None
    return image


def header_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels that a JPEG or PNG states of itself; None if it states none. Nothing is decoded."""
    stream = take_apart(data)
    image = None if stream is None else _opened(stream)
    return None if image is None else image.size


def stored_size(path: Path, root: Path) -> tuple[int, int] | None:
    """The same of a file below a folder; None if it is not there, or not below it once every link is followed."""
    found, _ = _located(path, root)
    try:
        too_long = found is not None and found.stat().st_size > MAX_PHOTOGRAPH_BYTES
        return None if found is None or too_long else header_size(found.read_bytes())
    except OSError:
        return None


def _shown_orientation(stream: Stream, data: bytes) -> int | None:
    """The orientation in which a reader of the release shows the file; None if Pillow, which it opens it with, refuses.

    Besides EXIF, readers follow tiff:Orientation in XMP, and in PNG an EXIF block in a text chunk. Pillow refuses a PNG
    for its text chunks too, a JPEG for nothing more than its pixels.
    """
    if stream.orientation != 1:
        return stream.orientation
    if stream.format == "JPEG":
        told = _XMP_ORIENTATION.search(data)
        return int(told[1]) if told else 1
    try:
        image = PngImageFile(io.BytesIO(data))
        image.load()
        turned = image.getexif().get(_ORIENTATION_TAG, 1)
    except _BROKEN:
        return None
    return turned if isinstance(turned, int) and 1 <= turned <= 8 else 1


def _no_image(data: bytes) -> str:
    if not data:
        return "the file is empty"
    try:
        text = data[:200].decode("ascii", "strict").strip()
    except UnicodeDecodeError:
        text = ""
    # an error page of a server, or the pointer that Git LFS leaves
    is_text = bool(text) and all(letter.isprintable() or letter.isspace() for letter in text)
    return f"the file is text: it begins {text[:40]!r}" if is_text else "the file begins like no image"


def measure(
    path: Path,
    root: Path,
    image_id: str,
    frame_width: float,
    frame_height: float,
    frame_is_pixels: bool,
    rules: ImageRules,
    may_scale: bool = False,
) -> Photograph | Verdict:
    """Opens, decodes and measures one photograph.

    Args:
        path: The file, relative to the root.
        root: The source's image folder; the file has to lie in it after every link has been followed.
        image_id: The image.
        frame_width: Width that the record gives.
        frame_height: Height that the record gives.
        frame_is_pixels: Whether the frame is in pixels, so that the stored size has to equal it.
        rules: The manifest's rules.
        may_scale: Whether a stored size of the frame's aspect ratio will do too (the manifest's `on_other_size`).

    Returns:
        The photograph, or the first rule that it breaks: path_outside_folder, missing_file, too_many_bytes,
        unsupported_format, not_an_image, truncated, too_many_pixels, animated, size_mismatch, exif_orientation,
        broken_pixels, unreadable.
    """
    reject = partial(Verdict, image_id, "image")
    found, word = _located(path, root)
    if found is None:
        return reject(word, repr(path.as_posix()))
    try:
        size_bytes = found.stat().st_size
        if size_bytes > MAX_PHOTOGRAPH_BYTES:
            return reject("too_many_bytes", f"{size_bytes} bytes", float(size_bytes), float(MAX_PHOTOGRAPH_BYTES))
        data = found.read_bytes()
    except OSError:
        return reject("missing_file", f"{word!r} cannot be read")
    stream = take_apart(data)
    if stream is None:
        other = other_format(data)
        if other:
            return reject("unsupported_format", f"{other}; only JPEG and PNG are kept")
        return reject("not_an_image", _no_image(data))
    if not stream.has_end:
        where = "before its pixels do" if stream.has_pixels else "in its header"
        return reject("truncated", f"the {stream.format} ends {where}")
    meter = None if stream.scan is None else _Metered(stream.pixels, *stream.scan)
    image = _opened(stream, meter)
    if image is None:
        return reject("not_an_image", f"the {stream.format} header is broken")
    width, height = image.size
    if width * height > rules.max_pixels:
        detail = f"{width} x {height} pixels"
        return reject("too_many_pixels", detail, float(width * height), float(rules.max_pixels))
    if stream.frames > 1:
        return reject("animated", f"{stream.frames} frames", float(stream.frames), 1.0)
    fault = _size_fault(stream, image.size, (frame_width, frame_height), may_scale) if frame_is_pixels else ""
    if fault:
        return reject("size_mismatch", fault)
    turned = _shown_orientation(stream, data)
    if rules.reject_rotated and turned not in (1, None):
        return reject("exif_orientation", f"EXIF orientation {turned}", float(turned or 1), 1.0)
    if stream.is_damaged:
        return reject("broken_pixels", f"a checksum of the {stream.format}'s pixel data does not fit them")
    try:
        image.load()
    except _BROKEN:
        return reject("broken_pixels", "the pixels cannot be decoded")
    if meter is not None and meter.fault():
        return reject("broken_pixels", meter.fault())
    if turned is None:
        return reject("unreadable", "its pixels are sound, but Pillow, with which readers open it, refuses the file")
    return Photograph(
        image_id=image_id,
        path=word,
        sha256=hashlib.sha256(data).hexdigest(),
        pixels_sha256=_pixels_sha256(image),
        difference_hash=difference_hash(image),
        bytes=len(data),
        width=width,
        height=height,
        format=stream.format,
        mode=image.mode,
    )


def _measure_job(job: Job, rules: ImageRules) -> Photograph | Verdict:
    frame = (job.frame_width, job.frame_height, job.frame_is_pixels)
    return measure(job.path, job.root, job.image_id, *frame, rules, job.may_scale)


def measure_all(jobs: Iterable[Job], rules: ImageRules, executor: Executor | None = None) -> list[Photograph | Verdict]:
    """Measures photographs; the results come in the order of the jobs.

    Args:
        jobs: What to measure.
        rules: The manifest's rules.
        executor: Who does the work, such as a thread pool; the caller's thread if none is given.
    """
    work = partial(_measure_job, rules=rules)
    return list(map(work, jobs) if executor is None else executor.map(work, jobs))
