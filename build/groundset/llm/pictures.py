# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Photographs as a request carries them: data URIs of the file's own bytes, or of a downscaled JPEG."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from groundset.errors import DataError, Problem
from groundset.files import sha256_bytes
from groundset.llm.config import Config
from groundset.llm.request import Picture

_KINDS = ((b"\xff\xd8\xff", "image/jpeg", JpegImageFile), (b"\x89PNG\r\n\x1a\n", "image/png", PngImageFile))
SUBSAMPLING = "4:2:0"


def _fault(path: Path, message: str) -> DataError:
    return DataError(
        "a photograph cannot be sent", [Problem(str(path), "", "", message, "build the stage 40_images again")]
    )


def downscaled(content: bytes, longest_side_px: int, jpeg_quality: int) -> bytes:
    """A photograph with its longest side at most so long; the same bytes if it is.

    The pixels are taken as they are stored: boxes count in these, so an EXIF orientation is neither applied nor kept.

    Args:
        content: A JPEG or PNG file.
        longest_side_px: The limit; 0 for none.
        jpeg_quality: Quality of what is encoded anew, always as a JPEG.

    Raises:
        ValueError: It is neither JPEG nor PNG, or broken.
    """
    make = next((kind for magic, _, kind in _KINDS if content.startswith(magic)), None)
    if make is None:
        raise ValueError("is neither a JPEG nor a PNG file")
    if not longest_side_px:
        return content
    try:
        with make(io.BytesIO(content)) as image:
            longest = max(image.size)
            if longest <= longest_side_px:
                return content
            share = longest_side_px / longest
            size = (max(1, round(image.width * share)), max(1, round(image.height * share)))
            small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    except (OSError, SyntaxError, TypeError, IndexError, KeyError, EOFError) as error:
        raise ValueError(f"is broken: {error}") from None
    out = io.BytesIO()
    small.save(out, "JPEG", quality=jpeg_quality, subsampling=SUBSAMPLING, optimize=False, progressive=False)
    return out.getvalue()


def data_uri(picture: Picture, config: Config) -> str:
    """The data URI of what is sent for a photograph.

    Raises:
        DataError: The file is not there, is not the one that was measured, or is no photograph.
    """
    try:
        content = picture.path.read_bytes()
    except OSError as error:
        raise _fault(picture.path, f"cannot be read: {error.strerror}") from None
    if sha256_bytes(content) != picture.sha256:
        raise _fault(picture.path, "is not the file that was measured")
    try:
        sent = downscaled(content, config.longest_side_px, config.jpeg_quality)
    except ValueError as error:
        raise _fault(picture.path, str(error)) from None
    media_type = next(name for magic, name, _ in _KINDS if sent.startswith(magic))
    return f"data:{media_type};base64,{base64.b64encode(sent).decode('ascii')}"
