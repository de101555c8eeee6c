# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads the copy of InViG on Hugging Face (jxu124/invig) in its three revisions, as Parquet shards or as JSONL.

The revisions pair the utterances in two ways. 0189f8c has (agent, user): the agent's first text is a filler and is
dropped. 456ac78 has (user, agent): the agent's last text is empty and is dropped. Nobody says what 6f51235 has: its
dialogues tell, since in (user, agent) they end in an empty text, and in (agent, user) they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from groundset.errors import DataError, Problem
from groundset.files import canonical_json, sha256_bytes
from groundset.sources import invig_shards, strict_json
from groundset.sources.invig_forms import (
    REVISION_0189F8C,
    REVISION_6F51235,
    Form,
    Found,
    candidate_fields,
    first_line,
    parquet_columns,
)
from groundset.sources.invig_lines import Int64, Name, decode_lines
from groundset.sources.invig_records import Box, Content, Photo, Record, file_label, named_by

Order = Literal["agent, user", "user, agent"]
Pairs = list[list[str | None]]

# ours: fewer dialogues prove nothing about the order of all
_DIALOGUES_THAT_TELL = 3
# ours: how many dialogues may be unlike the others, such as by an answer that is missing
_STRAY_SHARE = 0.05
_ID_DIGITS = 16


class Row0189F8C(msgspec.Struct):
    """A row of revision 0189f8c: one dialogue."""

    id: Int64 | Name
    dialog: Pairs
    bbox: Box
    image_path: Name
    category: Int64 | str | None = None
    global_image_id: str | None = None
    raw_target: list[Int64] | None = None
    raw_anns: str | None = None


class RawObject(msgspec.Struct):
    """One object of `raw_anns`."""

    bbox: Box
    label: Int64 | str | None = None


class ImageFile(msgspec.Struct):
    """A photograph as `datasets` writes it: its bytes are read apart from the row."""

    path: str | None = None


class Row6F51235(msgspec.Struct):
    """A row of revision 6f51235: one dialogue. The photograph's size comes from its own header, if it is embedded."""

    dialog: Pairs
    bbox: Box
    image_id: Int64 | Name | None = None
    image: ImageFile | str | None = None


class Reference(msgspec.Struct):
    """One dialogue of a row of revision 456ac78."""

    id: Int64 | Name
    dialog: Pairs
    bbox: Box
    category: Int64 | str | None = None


class ImageInfo(msgspec.Struct):
    """The photograph of a row of revision 456ac78."""

    file_name: Name
    width: float
    height: float
    id: Int64 | str | None = None


class Row456AC78(msgspec.Struct):
    """A row of revision 456ac78: one photograph with its dialogues."""

    ref_list: list[Reference]
    image_info: ImageInfo


@dataclass(frozen=True)
class _Draft:
    """A dialogue as far as one row tells of it: the order of its pairs is a matter of all rows."""

    file: str
    row: str
    path: str
    id: str
    photo: Photo
    label: str | None
    pairs: Pairs
    bbox: Box
    targets: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Row:
    """A decoded row and where it stands; `size_px` is that of its embedded photograph, if its header says it."""

    file: str
    label: str
    content: Any
    size_px: tuple[int, int] | None = None

    def problem(self, path: str, message: str, hint: str = "") -> Problem:
        return Problem(self.file, self.label, path, message, hint)


_Part = tuple[list[_Draft], list[Photo], list[Problem]]


def photograph_name(path: str | None, global_id: str) -> str:
    """File name of a photograph of revision 6f51235; empty if neither is there."""
    return path or (named_by(global_id, ".jpg") if global_id else "")


def _text(value: int | str | None) -> str | None:
    return None if value is None else str(value)


def _read_0189f8c(row: _Row) -> _Part:
    said: Row0189F8C = row.content
    problems: list[Problem] = []
    objects: list[RawObject] = []
    if said.raw_anns is not None:
        try:
            objects = msgspec.json.decode(said.raw_anns, type=list[RawObject])
            doubled = strict_json.doubled_keys(said.raw_anns)
            problems += [row.problem("$.raw_anns", f"{place} {message}") for place, message in doubled]
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            problems.append(row.problem("$.raw_anns", f"is no JSON list of objects with a bbox: {first_line(error)}"))
    unreadable = bool(problems)
    targets = [] if said.raw_anns is None else said.raw_target or []
    for place, target in enumerate(targets):
        if not unreadable and not 0 <= target < len(objects):
            told = f"is {target}, but raw_anns has {len(objects)} objects, counted from 0"
            problems.append(row.problem(f"$.raw_target[{place}]", told))
    photo = Photo(
        said.image_path,
        None,
        None,
        tuple(thing.bbox for thing in objects),
        tuple(_text(thing.label) for thing in objects),
        said.global_image_id or "",
    )
    draft = _Draft(
        row.file,
        row.label,
        "$.dialog",
        str(said.id),
        photo,
        _text(said.category),
        said.dialog,
        said.bbox,
        tuple(dict.fromkeys(targets)),
    )
    return [draft], [], problems


def _read_6f51235(row: _Row) -> _Part:
    said: Row6F51235 = row.content
    path = said.image.path if isinstance(said.image, ImageFile) else said.image
    global_id = _text(said.image_id) or ""
    name = photograph_name(path, global_id)
    if not name:
        return [], [], [row.problem("$", "has neither an image_id nor a path in image: the photograph has no name")]
    width, height = row.size_px or (None, None)
    # the revision has no ids: what the dialogue is made of names it
    content = [global_id, name, list(said.bbox), said.dialog]
    digest = sha256_bytes(canonical_json(content))[:_ID_DIGITS]
    photo = Photo(name, width, height, global_id=global_id)
    return [_Draft(row.file, row.label, "$.dialog", digest, photo, None, said.dialog, said.bbox)], [], []


def _read_456ac78(row: _Row) -> _Part:
    said: Row456AC78 = row.content
    info = said.image_info
    photo = Photo(info.file_name, info.width, info.height, global_id=_text(info.id) or "")
    drafts = [
        _Draft(
            row.file,
            row.label,
            f"$.ref_list[{place}].dialog",
            str(each.id),
            photo,
            _text(each.category),
            each.dialog,
            each.bbox,
        )
        for place, each in enumerate(said.ref_list)
    ]
    return drafts, [] if drafts else [photo], []


_KINDS: dict[str, tuple[type[msgspec.Struct], Callable[[_Row], _Part]]] = {
    "0189f8c": (Row0189F8C, _read_0189f8c),
    "6f51235": (Row6F51235, _read_6f51235),
    "456ac78": (Row456AC78, _read_456ac78),
}


def _is_blank(text: str | None) -> bool:
    return text is None or not text.strip()


def _flat(pairs: Pairs) -> list[str | None]:
    return [text for pair in pairs for text in pair]


def _order(form: Form, drafts: Sequence[_Draft]) -> tuple[Order, str] | Problem:
    """Who speaks first in a pair, and how that is known."""
    spoken = [flat for flat in (_flat(draft.pairs) for draft in drafts) if flat]
    # a last text that is left out is as good as an empty one
    ends = sum(_is_blank(flat[-1]) or len(flat) % 2 == 1 for flat in spoken)
    begins = sum(_is_blank(flat[0]) for flat in spoken)
    share = f"{ends / max(1, len(spoken)):.1%} of {len(spoken)} dialogues end in an empty text"
    if form == REVISION_6F51235:
        few = _STRAY_SHARE * len(spoken)
        if spoken and len(spoken) - ends <= few and begins < len(spoken):
            return "user, agent", share
        if ends <= few:
            return "agent, user", share
        told = f"{share} and {begins / len(spoken):.1%} begin with one, so the order of the pairs cannot be told"
        hint = "in (user, agent) all of them end in one, in (agent, user) none"
        return Problem("", "", "", told, hint)
    if form == REVISION_0189F8C:
        if len(spoken) >= _DIALOGUES_THAT_TELL and ends == len(spoken) and begins == 0:
            told = f"{share}, as in pairs of (user, agent), but this revision has (agent, user)"
            return Problem("", "", "", told, "use the file as it was published")
        return "agent, user", "as this revision has them"
    return "user, agent", "as this revision has them"


def _utterances(draft: _Draft, order: Order) -> tuple[str, ...] | Problem:
    """First utterance, question, answer, ...; or why the texts do not fit."""

    def problem(message: str, path: str = "") -> Problem:
        return Problem(draft.file, draft.row, f"{draft.path}{path}", message)

    last = len(draft.pairs) - 1
    for place, pair in enumerate(draft.pairs):
        # an agent who says nothing any more may be left out of the last pair
        allowed = (1, 2) if place == last and order == "user, agent" else (2,)
        if len(pair) not in allowed:
            return problem(f"has {len(pair)} texts, must have 2", f"[{place}]")
    texts = _flat(draft.pairs)
    if order == "agent, user":
        texts = texts[1:]
    elif len(texts) % 2 == 0 and texts and _is_blank(texts[-1]):
        texts = texts[:-1]
    if len(texts) % 2 == 0:
        count = "has no utterance" if not texts else f"has {len(texts)} utterances, an even number"
        return problem(f"{count}, read as pairs of ({order}); it has to begin and to end with the user")
    return tuple(text or "" for text in texts)


def _decode(found: Found, executor: Executor | None) -> Iterator[_Row | Problem]:
    kind, _ = _KINDS[found.form.revision]
    for path in found.files:
        file = file_label(path)
        if found.is_parquet:
            for row in invig_shards.rows(path, found.form, kind):
                if isinstance(row, Problem):
                    yield row
                else:
                    yield _Row(file, row.label, row.content, row.size_px)
        else:
            lines, problems = decode_lines(path, found.form, kind, executor)
            yield from problems
            for number, content in lines:
                yield _Row(file, f"line {number}", content)


def read(found: Found, executor: Executor | None) -> Content:
    """Reads a revision of the copy on Hugging Face.

    Args:
        found: What `invig_forms.find` says of the path.
        executor: Who decodes JSONL; threads of this machine if none is given.

    Returns:
        The dialogues. A row of 456ac78 is a photograph with any number of them. 0189f8c gives no size of a photograph;
        6f51235 gives none either, so it is that of the embedded photograph's header. Dialogues of 6f51235 have no id
        and are named by a hash of photograph, box and texts.

    Raises:
        DataError: A file cannot be read, or a row is wrong; names every wrong row.
    """
    form = found.form
    _, read_row = _KINDS[form.revision]
    drafts: list[_Draft] = []
    photos: list[Photo] = []
    problems: list[Problem] = []
    rows_in = 0
    for row in _decode(found, executor):
        rows_in += 1
        if isinstance(row, Problem):
            problems.append(row)
            continue
        said, bare, wrong = read_row(row)
        drafts += said
        photos += bare
        problems += wrong
    files = file_label(found.files[0] if len(found.files) == 1 else found.files[0].parent)
    if rows_in == 0:
        problems.append(Problem(files, "", "", "has no row"))
    order = _order(form, drafts)
    records = []
    if isinstance(order, Problem):
        problems.append(Problem(files, "", "", order.message, order.hint))
    else:
        for draft in drafts:
            texts = _utterances(draft, order[0])
            if isinstance(texts, Problem):
                problems.append(texts)
            else:
                records.append(Record(draft.id, draft.photo, draft.label, texts, (draft.bbox,), draft.targets))
    if problems or isinstance(order, Problem):
        raise DataError(f"{files} cannot be read as InViG, {form.name}", problems)
    shared = [set(parquet_columns(path)) for path in found.files] if found.is_parquet else [_columns_said(drafts)]
    columns = set.intersection(*shared)
    notes = [f"pairs are ({order[0]}): {order[1]}"]
    if form == REVISION_6F51235:
        notes.append("the dialogues have no id: each is named by a hash of its photograph, box and texts")
    return Content(records, photos, candidate_fields(form, columns), tuple(notes))


def _columns_said(drafts: Sequence[_Draft]) -> set[str]:
    """The columns beyond the required ones that lines of JSON show by their values."""
    shown = {
        "raw_anns": any(draft.photo.bboxes for draft in drafts),
        "raw_target": any(draft.targets for draft in drafts),
        "category": any(draft.label is not None for draft in drafts),
    }
    return {name for name, is_there in shown.items() if is_there}
