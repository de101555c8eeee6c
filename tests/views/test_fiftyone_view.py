# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The release in a real FiftyOne on a real MongoDB."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from groundset.errors import UsageError
from groundset.views import to_fiftyone
from groundset.views.fiftyone_view import open_dataset, require_fiftyone
from groundset.views.layout import COLOURS, POINT_COLOUR
from groundset.views.reading import read_release
from groundset.views.shown import Shown, read_shown

BENCHMARKS = ("candvg", "fpco-dialog")


@dataclass(frozen=True)
class Opened:
    """A release and its dataset."""

    release: Path
    shown: Shown
    dataset: Any


@pytest.fixture(scope="module")
def opened(
    mongo: str, work: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Opened]:
    """Both releases with what was rejected, each made once."""
    made: dict[str, Opened] = {}
    cache = tmp_path_factory.mktemp("photographs")

    def make(benchmark: str) -> Opened:
        if benchmark not in made:
            release = work(benchmark) / "80_package" / "release"
            shown = read_shown(release, cache, work(benchmark))
            made[benchmark] = Opened(release, shown, open_dataset(shown))
        return made[benchmark]

    return make


def with_version(release: Path, version: str) -> Path:
    """The release under another version, so that no other test opens the same dataset."""
    record = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    record["facts"]["version"] = version
    (release / "manifest.json").write_text(json.dumps(record), encoding="utf-8")
    return release


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_sample_a_turn_and_one_for_each_rejected_record(opened: Callable[[str], Opened], benchmark: str) -> None:
    found = opened(benchmark)
    rows = read_release(found.release)
    turns = rows.tables["samples" if benchmark == "candvg" else "turns"]
    assert found.dataset.name == f"{rows.record.facts.name}-{rows.record.facts.version}"
    assert found.dataset.persistent
    assert found.dataset.count_values("outcome") == {
        "released": len(turns),
        "rejected": len(found.shown.rejections.entries),
    }
    assert all(Path(path).is_file() for path in found.dataset.values("filepath"))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_saved_views_hold_what_they_say(opened: Callable[[str], Opened], benchmark: str) -> None:
    found = opened(benchmark)
    rows = read_release(found.release)
    strata = Counter(row["stratum"] for row in rows.tables["dialogues"])
    expected = {f"stratum {name}": count for name, count in strata.items()}
    expected["dialogues"] = len(rows.tables["dialogues"])
    expected["licence CC0-1.0"] = len(rows.tables["dialogues"])
    views = {name: found.dataset.load_saved_view(name) for name in found.dataset.list_saved_views()}
    assert expected.items() <= {name: len(view) for name, view in views.items()}.items()
    assert set(views) - set(expected) <= {"flagged", "rejected"}
    assert len(views["rejected"]) == len(found.shown.rejections.entries)
    for saved in found.shown.views:
        assert len(views[saved.name]) == (saved.dialogues if saved.grouped else saved.entries)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_dialogue_is_a_group_of_its_turns_in_order(opened: Callable[[str], Opened], benchmark: str) -> None:
    found = opened(benchmark)
    view = found.dataset.load_saved_view("dialogues")
    assert view.media_type == "group" or view._is_dynamic_groups
    first = view.first()
    turns = view.get_dynamic_group(first.dialogue_id).values("turn")
    assert first.turn == 1
    assert turns == list(range(1, first.turns + 1))


def test_candidates_points_and_targets_are_what_the_release_says(opened: Callable[[str], Opened]) -> None:
    candvg, fpco = opened("candvg"), opened("fpco-dialog")
    released = candvg.dataset.match({"outcome": "released"})
    rows = read_release(candvg.release).tables
    assert released.count("candidates.detections") == sum(len(row["candidates"]) for row in rows["samples"])
    assert released.count("points.keypoints") == len(rows["points"])
    sizes = dict(zip(released.values("record_id"), released.values("candidates_left"), strict=True))
    assert sizes == {row["sample_id"]: len(row["candidates"]) for row in rows["samples"]}
    states = fpco.dataset.match({"outcome": "released"}).count_values("target.detections.state")
    dialogues = len(read_release(fpco.release).tables["dialogues"])
    assert states == {"true premise": 3 * dialogues, "false premise": 7 * dialogues}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_sidebar_and_colours(opened: Callable[[str], Opened], benchmark: str) -> None:
    config = opened(benchmark).dataset.app_config
    groups = {group.name: group.paths for group in config.sidebar_groups}
    assert list(groups) == ["tags", "labels", "checks", "dialogue", "image & licence", "metadata", "other"]
    assert {"licence", "credit"} <= set(groups["image & licence"])
    assert {"flags", "rule"} <= set(groups["checks"])
    fields = {field["path"]: field for field in config.color_scheme.fields}
    boxes = "candidates" if benchmark == "candvg" else "target"
    assert fields[boxes]["colorByAttribute"] == "state"
    assert {one["value"]: one["color"] for one in fields[boxes]["valueColors"]} == COLOURS
    if benchmark == "candvg":
        assert fields["points"]["valueColors"] == [{"value": "point", "color": POINT_COLOUR}]


def test_soft_verdicts_are_tags(mongo: str, release: Callable[[str], Path], tmp_path: Path) -> None:
    folder = with_version(release("fpco-dialog"), "2.0.0")
    (shard,) = (folder / "data" / "dialogues").glob("*.parquet")
    table = pq.read_table(shard)
    rows = table.to_pylist()
    before = {entry.facts["dialogue_id"] for entry in read_shown(folder, tmp_path / "cache").entries if entry.tags}
    true, false = rows[0]["target_description"], rows[0]["modified_target_description"]
    # it asks what it says already, or gives the truth away, whatever the false premise is about
    rows[0]["questions"][8] |= {
        "content": f"Is {true} {true.split()[1]}?",
        "modified": f"Is {false} {true.split()[1]}?",
    }
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), shard)
    dataset = to_fiftyone(folder, cache=tmp_path / "cache", fresh=True)
    rules = set(dataset.distinct("tags"))
    tagged = dataset.match_tags(list(rules))
    assert rows[0]["dialogue_id"] not in before
    assert set(tagged.values("dialogue_id")) == {*before, rows[0]["dialogue_id"]}
    assert len(tagged) == 10 * (1 + len(before))
    dataset.tag_samples("a curator's own")
    assert len(dataset.load_saved_view("flagged")) == 1 + len(before)
    assert {text.partition(":")[0] for text in tagged.distinct("flags")} == rules


def test_opening_again_keeps_a_curators_tags(mongo: str, release: Callable[[str], Path], tmp_path: Path) -> None:
    folder = with_version(release("candvg"), "2.0.0")
    to_fiftyone(folder, cache=tmp_path / "cache").limit(1).tag_samples("look again")
    again = to_fiftyone(folder, cache=tmp_path / "cache")
    assert again.name == "candvg-demo-2.0.0"
    assert again.count_sample_tags() == {"look again": 1}
    anew = to_fiftyone(folder, cache=tmp_path / "cache", fresh=True)
    assert anew.count_sample_tags() == {}


def test_another_content_takes_the_place_of_the_old_under_the_same_name(
    mongo: str, work: Callable[[str], Path], release: Callable[[str], Path], tmp_path: Path
) -> None:
    import fiftyone as fo

    folder = with_version(release("candvg"), "3.0.0")
    with_rejected = to_fiftyone(folder, cache=tmp_path / "cache", rejected=work("candvg"))
    more = len(with_rejected)
    rules = set(with_rejected.distinct("tags"))
    tagged = with_rejected.match({"outcome": "released"}).limit(2)
    record_ids = tagged.values("record_id")
    tagged.tag_samples("look again")
    turns = to_fiftyone(folder, cache=tmp_path / "cache")
    assert len(turns) == len(read_release(folder).tables["samples"]) < more
    assert rules - set(turns.distinct("tags"))
    assert turns.match_tags("look again").values("record_id") == record_ids
    assert len(fo.load_dataset("candvg-demo-3.0.0", reload=True)) == len(turns)
    assert not [name for name in fo.list_datasets() if "unfinished" in name]


def test_a_dataset_of_another_maker_is_not_replaced(mongo: str, work: Callable[[str], Path], tmp_path: Path) -> None:
    import fiftyone as fo

    shown = read_shown(work("candvg") / "80_package" / "release", tmp_path)
    taken = replace(shown, name="somebodys-0.1.0")
    fo.Dataset(taken.name)
    with pytest.raises(UsageError, match="did not make"):
        open_dataset(taken)
    assert fo.dataset_exists(taken.name)
    fo.delete_dataset(taken.name)


def test_without_fiftyone_or_mongod_it_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIFTYONE_DATABASE_URI", raising=False)
    monkeypatch.delenv("FIFTYONE_CONFIG_PATH", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"FiftyOne, which is not installed.*groundset\[browse\]"):
        require_fiftyone()
    spec = ModuleSpec("fiftyone", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "fiftyone")]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(UsageError, match=r"finds no mongod.*groundset\[browse\].*FIFTYONE_DATABASE_URI"):
        require_fiftyone()
    monkeypatch.setenv("FIFTYONE_DATABASE_URI", "mongodb://127.0.0.1:1")
    require_fiftyone()
    monkeypatch.delenv("FIFTYONE_DATABASE_URI")
    (tmp_path / "fiftyone" / "db" / "bin").mkdir(parents=True)
    (tmp_path / "fiftyone" / "db" / "bin" / "mongod").touch()
    require_fiftyone()
