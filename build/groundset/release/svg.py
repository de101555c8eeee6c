# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The few elements of SVG that a release's figures are made of; every length is a whole number of pixels.

A figure brings its own light ground: a page that shows it as an image cannot tell it whether the reader has chosen a
dark theme. Colours are attributes and not a style sheet, which servers of user content forbid by a content policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape

GROUND = "#ffffff"
FRAME = "#d0d7de"
INK = "#1f2328"
FONT_PX = 13
SMALL_PX = 11

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def words(text: str) -> str:
    r"""A text as it may stand in XML, on one line.

    >>> words("a < b\n& c\x00") == "a &lt; b &amp; c\ufffd"
    True
    """
    return escape(_NOT_XML.sub("\ufffd", " ".join(text.split())))


def rectangle(x: int, y: int, width: int, height: int, fill: str) -> str:
    """A filled rectangle, from its top left corner."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"/>'


def label(x: int, y: int, text: str, *, anchor: str = "start", fill: str = INK, size: int = FONT_PX) -> str:
    """A line of text; x is where it starts, its middle or its end, y its base line."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">{words(text)}</text>'


def document(width: int, height: int, title: str, about: str, parts: Iterable[str]) -> str:
    """A whole figure, an element a line; title and about are what a screen reader says of it."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' role="img" aria-labelledby="title about" font-family="sans-serif">',
        f'<title id="title">{words(title)}</title>',
        f'<desc id="about">{words(about)}</desc>',
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="6" fill="{GROUND}" stroke="{FRAME}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
