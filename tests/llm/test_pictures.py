# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from groundset.errors import DataError
from groundset.files import sha256_bytes
from groundset.llm import run
from groundset.llm.config import Config
from groundset.llm.pictures import data_uri, downscaled
from groundset.llm.request import Message, Picture


def photograph(width: int = 300, height: int = 200, mode: str = "RGB", kind: str = "JPEG", **more: Any) -> bytes:
    across = np.linspace(0, 255, width, dtype=np.uint8)[None, :, None].repeat(height, 0).repeat(3, 2)
    out = io.BytesIO()
    Image.fromarray(across, "RGB").convert(mode).save(out, kind, **more)
    return out.getvalue()


def sent(uri: str) -> tuple[str, bytes]:
    head, _, content = uri.partition(";base64,")
    return head, base64.b64decode(content, validate=True)


def put(folder: Path, content: bytes) -> Picture:
    path = folder / "photograph"
    path.write_bytes(content)
    return Picture(sha256_bytes(content), path)


def test_without_a_limit_the_file_s_own_bytes_are_sent(config: Config, tmp_path: Path) -> None:
    jpeg, png = photograph(), photograph(kind="PNG")
    assert sent(data_uri(put(tmp_path, jpeg), config)) == ("data:image/jpeg", jpeg)
    assert sent(data_uri(put(tmp_path, png), config)) == ("data:image/png", png)


@pytest.mark.parametrize(
    ("width", "height", "size"), [(300, 200, (150, 100)), (200, 300, (100, 150)), (300, 1, (150, 1))]
)
def test_a_large_photograph_is_made_smaller(width: int, height: int, size: tuple[int, int]) -> None:
    small = downscaled(photograph(width, height), 150, 90)
    assert small == downscaled(photograph(width, height), 150, 90)
    with Image.open(io.BytesIO(small)) as image:
        assert (image.format, image.size) == ("JPEG", size)


def test_a_photograph_that_is_small_enough_keeps_its_bytes() -> None:
    assert downscaled(photograph(), 300, 90) == photograph()


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "I;16"])
def test_every_mode_of_a_png_becomes_a_jpeg(mode: str) -> None:
    with Image.open(io.BytesIO(downscaled(photograph(mode=mode, kind="PNG"), 100, 90))) as image:
        assert (image.format, image.mode) == ("JPEG", "RGB")


def test_an_orientation_is_neither_applied_nor_kept() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(io.BytesIO(downscaled(photograph(exif=exif), 150, 90))) as image:
        assert image.size == (150, 100)
        assert 0x0112 not in image.getexif()


def test_another_file_than_was_measured_is_not_sent(config: Config, tmp_path: Path) -> None:
    picture = put(tmp_path, photograph())
    picture.path.write_bytes(photograph(10, 10))
    with pytest.raises(DataError, match="is not the file that was measured"):
        data_uri(picture, config)
    picture.path.unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        data_uri(picture, config)


@pytest.mark.parametrize("content", [b"", b"GIF89a", photograph()[:300], photograph(kind="PNG")[:60]], ids=len)
def test_what_is_no_photograph_is_not_sent(config: Config, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="a photograph cannot be sent"):
        data_uri(put(tmp_path, content), replace(config, longest_side_px=100))


def test_a_photograph_is_read_when_its_question_is_sent_and_not_for_a_replay(
    server: Any, ask_for: Any, config: Config, journal: Any, tmp_path: Path
) -> None:
    picture = put(tmp_path, photograph())
    request = replace(ask_for("a"), messages=(Message("user", (picture, "a")),))
    config = replace(config, longest_side_px=60)
    with run.ask_all([request], config, journal) as results:
        ((_, first),) = results
    part = server.asked[0].body["messages"][0]["content"][0]
    assert sent(part["image_url"]["url"]) == ("data:image/jpeg", downscaled(photograph(), 60, 90))
    picture.path.unlink()
    with run.ask_all([request], config, journal, offline=True) as results:
        assert list(results) == [(request, first)]
    with (
        pytest.raises(DataError, match="cannot be read"),
        run.ask_all([replace(request, sample=1)], config, journal) as results,
    ):
        list(results)
