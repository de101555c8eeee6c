# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Shows a release in FiftyOne: a sample a turn, grouped by dialogue, with its boxes, points, credits and verdicts.

FiftyOne takes seconds to import and starts a database, so it is imported inside the functions that need it.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from pathlib import Path
from typing import Any

from groundset.errors import ServiceError, UsageError
from groundset.views.layout import (
    BOX_FIELDS,
    CHECKS,
    COLOURS,
    DIALOGUE,
    IMAGE,
    LABELS,
    NUMBER,
    ON_CARDS,
    POINT,
    POINT_COLOUR,
    POINT_FIELD,
    SLATE,
    STATE,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    SavedView,
    box_fields_of,
    fields_of,
)
from groundset.views.shown import Shown, read_shown
from groundset.views.turns import Entry

INSTALL_HINT = "install it with: python -m pip install 'groundset[browse]'"
DATABASE_HINT = "install one with: python -m pip install 'groundset[browse]', or name one in FIFTYONE_DATABASE_URI"
# keys of a dataset's info: what it shows, and the tags that are not a curator's
MARK, TAGS = "groundset", "groundset_tags"


def require_fiftyone() -> None:
    """Looks whether FiftyOne and a database for it are installed, without importing it.

    Raises:
        UsageError: One of them is not; says how to get it.
    """
    found = importlib.util.find_spec("fiftyone")
    if found is None or not found.submodule_search_locations:
        raise UsageError(f"groundset browse needs FiftyOne, which is not installed: {INSTALL_HINT}")
    if os.environ.get("FIFTYONE_DATABASE_URI"):
        return
    home = Path.home() / ".fiftyone"
    config = Path(os.environ.get("FIFTYONE_CONFIG_PATH") or home / "config.json")
    binaries = (Path(found.submodule_search_locations[0]) / "db" / "bin", home / "bin")
    if not config.is_file() and not any((folder / name).is_file() for folder in binaries for name in _MONGOD):
        raise UsageError(f"FiftyOne keeps its datasets in MongoDB, and finds no mongod: {DATABASE_HINT}")


_MONGOD = ("mongod", "mongod.exe")


def _connected() -> Any:
    require_fiftyone()
    try:
        import fiftyone as fo

        fo.list_datasets()
    # what FiftyOne raises here depends on how its database fails: its own, pymongo's and psutil's errors
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        named = bool(os.environ.get("FIFTYONE_DATABASE_URI"))
        hint = "does the server run that FIFTYONE_DATABASE_URI names?" if named else DATABASE_HINT
        raise ServiceError(f"FiftyOne cannot reach its MongoDB: {told}; {hint}") from error
    return fo


def _sample(fo: Any, entry: Entry) -> Any:
    sample = fo.Sample(
        filepath=entry.file,
        tags=list(entry.tags),
        metadata=fo.ImageMetadata(width=entry.width, height=entry.height),
        **entry.facts,
    )
    for name, boxes in entry.boxes.items():
        sample[name] = fo.Detections(
            detections=[
                fo.Detection(
                    label=box.label,
                    bounding_box=list(box.xywh),
                    object_id=box.object_id,
                    **{STATE: box.state},
                )
                for box in boxes
            ]
        )
    if entry.dots:
        sample[POINT_FIELD] = fo.Keypoints(
            keypoints=[fo.Keypoint(label=POINT, points=[list(dot.xy)], object_id=dot.object_id) for dot in entry.dots]
        )
    return sample


def _add_fields(fo: Any, dataset: Any, shown: Shown) -> None:
    kinds = {TEXT: fo.StringField, WHOLE: fo.IntField, NUMBER: fo.FloatField, TRUTH: fo.BooleanField}
    for field in fields_of(shown.entries):
        if field.kind == TEXTS:
            dataset.add_sample_field(field.name, fo.ListField, subfield=fo.StringField, description=field.about)
        else:
            dataset.add_sample_field(field.name, kinds[field.kind], description=field.about)
    labels = {name: (fo.Detections, BOX_FIELDS[name]["about"]) for name in box_fields_of(shown.entries)}
    if shown.benchmark == "candvg":
        labels[POINT_FIELD] = (fo.Keypoints, "points that annotators set")
    for name, (kind, about) in labels.items():
        dataset.add_sample_field(name, fo.EmbeddedDocumentField, embedded_doc_type=kind, description=about)


def _lay_out(fo: Any, dataset: Any, shown: Shown) -> None:
    boxes = box_fields_of(shown.entries)
    points = (POINT_FIELD,) if shown.benchmark == "candvg" else ()
    groups = [fo.SidebarGroupDocument(name="tags", expanded=True)]
    groups.append(fo.SidebarGroupDocument(name=LABELS, paths=[*boxes, *points], expanded=True))
    for name in (CHECKS, DIALOGUE, IMAGE):
        paths = [field.name for field in fields_of(shown.entries) if field.group == name]
        groups.append(fo.SidebarGroupDocument(name=name, paths=paths, expanded=name != IMAGE))
    # the App adds groups of these names if there are none
    sizes = [f"metadata.{name}" for name in ("width", "height", "size_bytes", "mime_type", "num_channels")]
    groups.append(fo.SidebarGroupDocument(name="metadata", paths=sizes, expanded=False))
    rest = ["id", "filepath", "created_at", "last_modified_at"]
    groups.append(fo.SidebarGroupDocument(name="other", paths=rest, expanded=False))
    dataset.app_config.sidebar_groups = groups
    on_cards = [field.name for field in fields_of(shown.entries) if field.name in ON_CARDS]
    dataset.app_config.active_fields = fo.ActiveFields(paths=[*boxes, *points, *on_cards])
    states = [{"value": state, "color": colour} for state, colour in COLOURS.items()]
    marks = [
        {
            "path": name,
            "fieldColor": BOX_FIELDS[name]["colour"],
            "colorByAttribute": STATE,
            "valueColors": states,
        }
        for name in boxes
    ]
    dot = {"fieldColor": POINT_COLOUR, "valueColors": [{"value": POINT, "color": POINT_COLOUR}]}
    marks += [{"path": name, "colorByAttribute": "label", **dot} for name in points]
    # one quiet colour for all else, so that only what means something stands out
    dataset.app_config.color_scheme = fo.ColorScheme(color_by="value", color_pool=[SLATE], fields=marks)


def _view(fo: Any, dataset: Any, saved: SavedView) -> Any:
    view = dataset
    for name, value in saved.where.items():
        view = view.match(fo.ViewField(name) == value)
    if saved.flagged:
        view = view.match(fo.ViewField("flags").length() > 0)
    return view.group_by("dialogue_id", order_by="turn") if saved.grouped else view


def _fill(fo: Any, name: str, shown: Shown) -> Any:
    dataset = fo.Dataset(name)
    _add_fields(fo, dataset, shown)
    dataset.add_samples([_sample(fo, entry) for entry in shown.entries], progress=False)
    dataset.add_dynamic_sample_fields()
    for indexed in ("dialogue_id", "turn", "stratum", "licence", "outcome"):
        dataset.create_index(indexed)
    _lay_out(fo, dataset, shown)
    dataset.description = shown.title
    dataset.info = {MARK: shown.digest, TAGS: sorted({tag for entry in shown.entries for tag in entry.tags})}
    dataset.save()
    for saved in shown.views:
        dataset.save_view(saved.name, _view(fo, dataset, saved), description=saved.about, color=saved.colour)
    return dataset


def _carry_tags(fo: Any, old: Any, dataset: Any) -> None:
    """Puts the tags that a curator has put on samples of one dataset on those of the same records in another."""
    tagged: dict[str, list[str]] = {}
    for record_id, tags in zip(*old.values(["record_id", "tags"]), strict=True):
        for tag in set(tags) - set(old.info.get(TAGS, ())):
            tagged.setdefault(tag, []).append(record_id)
    for tag, record_ids in sorted(tagged.items()):
        dataset.match(fo.ViewField("record_id").is_in(record_ids)).tag_samples(tag)


def open_dataset(shown: Shown, *, fresh: bool = False) -> Any:
    """The release's dataset in FiftyOne: the one of an earlier time if it shows the same, or a new one in its place.

    The tags that a curator has put on the old one are on the new one too, where it shows the same record.

    Args:
        shown: What there is to look at.
        fresh: Make it anew in any case, without a curator's tags.

    Returns:
        A persistent `fiftyone.Dataset`.

    Raises:
        UsageError: FiftyOne or its database is missing, or a dataset of that name is not one of ours.
        ServiceError: The database cannot be reached.
    """
    fo = _connected()
    old = None
    if fo.dataset_exists(shown.name):
        old = fo.load_dataset(shown.name)
        if MARK not in old.info:
            raise UsageError(
                f"FiftyOne has a dataset {shown.name} that groundset did not make: rename it with "
                f"fiftyone datasets rename {shown.name} NEW_NAME"
            )
        if old.info[MARK] == shown.digest and not fresh:
            return old
    # under another name until it is whole, so that an interruption leaves the old one as it was
    unfinished = f"{shown.name}-unfinished"
    if fo.dataset_exists(unfinished):
        fo.delete_dataset(unfinished)
    dataset = _fill(fo, unfinished, shown)
    if old is not None:
        if not fresh:
            _carry_tags(fo, old, dataset)
        fo.delete_dataset(shown.name)
    dataset.name = shown.name
    dataset.persistent = True
    return dataset


def serve(address: str, port: int) -> None:
    """Serves the App for all datasets of the database until it is interrupted.

    It runs in this process: `fiftyone.launch_app` starts two more, each of which loads FiftyOne anew, and gives up on
    them after a minute, which a busy machine may need.

    Raises:
        OSError: The port cannot be had.
    """
    import fiftyone as fo
    from fiftyone.server.main import start_server

    # so that a page that is loaded again shows what another process has done to a dataset meanwhile
    fo.config.singleton_cache = False
    # asyncio would tell of every page that is open when the server ends, with a traceback
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    start_server(port=port, address=address)


def to_fiftyone(
    release: str | Path,
    *,
    cache: str | Path | None = None,
    rejected: str | Path | None = None,
    sources: str | Path | None = None,
    fresh: bool = False,
) -> Any:
    """A release as a FiftyOne dataset, persistent and named by release and version.

    Args:
        release: Folder of a release, or of a hydrated copy of one, which has all photographs.
        cache: Folder for the photographs; one below the user's cache if none is given.
        rejected: Work folder of the build, whose rejected records and flags are to be shown too.
        sources: Folder of the build's source files, for the photographs of rejected records.
        fresh: Make it anew even if it shows the same as before, without a curator's tags.

    Returns:
        A `fiftyone.Dataset`: a sample a turn; boxes are shares of the photograph's width and height.

    Raises:
        UsageError: A folder is not what it should be, no photograph is there, or FiftyOne or its database is missing.
        DataError: The release cannot be read as one.
        ServiceError: FiftyOne's database cannot be reached.
    """
    require_fiftyone()
    folders = [None if folder is None else Path(folder) for folder in (cache, rejected, sources)]
    return open_dataset(read_shown(Path(release), *folders), fresh=fresh)
