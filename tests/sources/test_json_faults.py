# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Files of another form are recognised by how they begin."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from groundset.sources.json_faults import other_form, text_fault

TEXT = b'{"images": []}'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(TEXT, mtime=0), "is a gzip archive; unpack it first"),
        (bz2.compress(TEXT), "is a bzip2 archive; unpack it first"),
        (lzma.compress(TEXT), "is an xz archive; unpack it first"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "is a zstd archive; unpack it first"),
        (codecs.BOM_UTF32_LE + TEXT.decode().encode("utf-32-le"), "is UTF-32; save it as UTF-8"),
        (TEXT.decode().encode("utf-16"), "is UTF-16; save it as UTF-8"),
        (TEXT.decode().encode("utf-16-le"), "seems to be UTF-16; save it as UTF-8"),
        (TEXT.decode().encode("utf-16-be"), "seems to be UTF-16; save it as UTF-8"),
        (b"PAR1" + bytes(9), "is a Parquet file"),
        (b"<!DOCTYPE html>\n<html>", "is HTML or XML, perhaps a server's error page; get the file again"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS; get the file that it points to"),
        (TEXT, ""),
        (b"ImageID,Source\n", ""),
    ],
)
def test_how_a_file_begins(data: bytes, message: str) -> None:
    assert other_form(data) == message
    assert text_fault(data) == message


def test_archives_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "inner.json").write_bytes(TEXT)
    with tarfile.open(tmp_path / "a.tar", "w") as packed:
        packed.add(tmp_path / "inner.json", "inner.json")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.write(tmp_path / "inner.json", "inner.json")
    assert other_form((tmp_path / "a.tar").read_bytes()) == "is a tar archive; unpack it first"
    assert other_form((tmp_path / "a.zip").read_bytes()) == "is a zip archive; unpack it first"
