# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from groundset.release.svg import document, label

SVG = "{http://www.w3.org/2000/svg}"


@given(st.text(), st.text())
def test_any_text_makes_a_file_that_parses(title: str, text: str) -> None:
    root = ElementTree.fromstring(document(10, 20, title, text, [label(1, 2, text, anchor="end")]).encode())
    assert [child.tag.removeprefix(SVG) for child in root] == ["title", "desc", "rect", "text"]
    assert root.attrib["viewBox"] == "0 0 10 20"
    printable = " ".join("".join(c for c in text if c.isprintable() or c.isspace()).split())
    if printable == " ".join(text.split()):
        assert (root[1].text or "") == (root[3].text or "") == printable


def test_a_text_cannot_leave_its_element() -> None:
    text = '</text><script>alert(1)</script>&amp;"'
    root = ElementTree.fromstring(document(1, 1, text, text, [label(0, 0, text)]))
    assert [child.text for child in root if child.text] == [text, text, text]
