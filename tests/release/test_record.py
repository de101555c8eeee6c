# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from groundset.errors import UsageError
from groundset.release.attribution import Rights, SourceRights
from groundset.release.facts import Facts, FunnelStep, Source, Stratum
from groundset.release.record import ReleaseRecord, TableRecord, canonical_json, decode, encode

FACTS = Facts(
    benchmark="candvg",
    name="é",
    version="1",
    title="T",
    summary="S",
    authors=("A",),
    language=("en",),
    texts_licence="CC-BY-4.0",
    sources=(Source("a", "invig", "Apache-2.0", "A", "https://a.invalid", 3),),
    annotators="Two.",
    annotator_pay="None.",
    limitations=("L",),
    biases=("B",),
    use_cases=("U",),
    personal_information="P",
    social_impact="S",
    citation="C",
    published="2026-11-30",
    url="https://example.org",
    simulated=(),
    image_policy="permissive",
    funnel=(FunnelStep("20_filter", "dialogues", 3, 2, {"too_few": 1}),),
    strata=(Stratum("2", 3, 2),),
    statistics=(("contexts", 5), ("share", 0.5), ("word", "w")),
    writer="",
    groundset_version="0.1.0",
    libraries={"numpy": "2"},
)
RECORD = ReleaseRecord(
    facts=FACTS,
    rights=Rights(
        "CC-BY-4.0",
        {
            "b": SourceRights("CC-BY-4.0", "B", "none"),
            "a": SourceRights("Apache-2.0", "A", "https://a.invalid"),
        },
    ),
    tables={"images": TableRecord("release_image", 3)},
    manifest={"z": [1, {"y": None}], "a": 1.5},
    digests={"photographs": {}},
)


def test_record_comes_back_and_has_one_form() -> None:
    text = encode(RECORD)
    assert decode(text.encode()) == RECORD
    assert encode(decode(text.encode())) == text
    assert text.startswith('{"digests":{"photographs":{}},"facts":{"annotator_pay":"None.",')
    assert '"name":"é"' in text


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"facts":1}', encode(RECORD).encode()[:-9]]
)
def test_what_is_no_record_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(content)


@pytest.mark.parametrize("value", [float("inf"), object(), {1: {2}}])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(UsageError):
        canonical_json({"value": value})
