# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A release on the Hugging Face Hub: one commit on top of a known parent, then a tag with its version.

What has to be done is a pure function of what lies in the folder and what lies in the repository. A commit is there
as a whole or not at all, and the tag comes last: whatever ends a publication early, the same command goes on with it.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset import __version__
from groundset.errors import DataError, GroundsetError, Problem, ServiceError
from groundset.release.checksums import CHECKSUMS, NOT_OURS, listed_files
from groundset.release.diff import diff, reused_ids
from groundset.release.record import ReleaseRecord, decode, no_release

if TYPE_CHECKING:
    from huggingface_hub import HfApi

BRANCH = "main"
_TYPE = "dataset"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(?:@[\w./-]+)?")
_VERSION = re.compile(r"v([0-9]+)\.([0-9]+)\.([0-9]+)")
# the manifests of the real benchmarks say so where only the makers of a release can say more
_UNSAID = re.compile(r"\bto be (?:said|named|given) here before a release\b", re.IGNORECASE)
_PRECONDITION, _CONFLICT, _REFUSED, _FORBIDDEN = 412, 409, 401, 403


@dataclass(frozen=True)
class LocalFile:
    """A file of the release: its bytes, its sha256, and its sha1 as a git blob."""

    bytes: int
    sha256: str
    blob: str


@dataclass(frozen=True)
class Held:
    """A file of the repository: its bytes, and its sha256 in large file storage or, if that is None, its git blob."""

    bytes: int
    sha256: str | None
    blob: str


@dataclass(frozen=True)
class Remote:
    """What a repository holds.

    Attributes:
        exists: Whether it is there, as far as the token may see.
        head: Commit that the branch main is at; None if there is none.
        files: Path to file at that commit.
        tags: Tag to its commit.
        tagged: Path to file at the tag of the version that is to be published; None without such a tag.
    """

    exists: bool
    head: str | None
    files: Mapping[str, Held]
    tags: Mapping[str, str]
    tagged: Mapping[str, Held] | None


@dataclass(frozen=True)
class PlannedFile:
    """What becomes of one file: `new`, `changed`, `unchanged` or `removed`."""

    path: str
    bytes: int
    state: str


@dataclass(frozen=True)
class Plan:
    """What a publication has to do.

    Attributes:
        repo: Id of the repository.
        tag: Tag of the version.
        parent: Commit that the new one stands on; None if the repository is still to be made.
        files: Every file of the release, and those that go, by path.
        creates: Whether the repository has to be made.
        commits: Whether a commit has to be made.
        tags: Whether the tag has to be set.
        before: Last version that is published, as (tag, commit).
    """

    repo: str
    tag: str
    parent: str | None
    files: tuple[PlannedFile, ...]
    creates: bool
    commits: bool
    tags: bool
    before: tuple[str, str] | None

    def of(self, *states: str) -> tuple[PlannedFile, ...]:
        """The files of some states."""
        return tuple(file for file in self.files if file.state in states)


def hub_id(text: str) -> tuple[str, str] | None:
    """Repository and revision that a text names, or None if it is no id of the Hub.

    >>> hub_id("org/name"), hub_id("org/name@v1.0.0"), hub_id("a/b/c")
    (('org/name', 'main'), ('org/name', 'v1.0.0'), None)
    """
    if not _HUB_ID.fullmatch(text):
        return None
    repo, _, revision = text.partition("@")
    return repo, revision or BRANCH


def unsaid_problems(record: ReleaseRecord) -> list[Problem]:
    """Every text of the card that still says that it has to be written before a release."""

    def walk(value: Any, path: str) -> Iterator[Problem]:
        if isinstance(value, Mapping):
            for key, part in value.items():
                yield from walk(part, f"{path}.{key}")
        elif isinstance(value, list | tuple):
            for place, part in enumerate(value):
                yield from walk(part, f"{path}[{place}]")
        elif isinstance(value, str) and _UNSAID.search(" ".join(value.split())):
            yield Problem("manifest.json", "", path, f"it still says {value!r}", "say it in the manifest's [card]")

    return list(walk(asdict(record.facts), "$.facts"))


def local_files(folder: Path) -> dict[str, LocalFile]:
    """Every file of a release, by path."""
    found = {}
    for name in sorted([*listed_files(folder), CHECKSUMS]):
        path = folder / name
        size = path.stat().st_size
        blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            while part := file.read(1 << 20):
                blob.update(part)
        found[name] = LocalFile(size, sha256, blob.hexdigest())
    return found


def _is_same(local: LocalFile, held: Held) -> bool:
    return held.sha256 == local.sha256 if held.sha256 else held.blob == local.blob


def compare(local: Mapping[str, LocalFile], held: Mapping[str, Held]) -> tuple[PlannedFile, ...]:
    """What becomes of each file, by path; what the Hub itself puts into a repository stays out of it."""
    files = []
    for path, file in local.items():
        state = "new" if path not in held else "unchanged" if _is_same(file, held[path]) else "changed"
        files.append(PlannedFile(path, file.bytes, state))
    gone = [path for path in held if path not in local and path.partition("/")[0] not in NOT_OURS]
    return tuple(sorted([*files, *(PlannedFile(path, held[path].bytes, "removed") for path in gone)], key=_path))


def _path(file: PlannedFile) -> str:
    return file.path


def _versions(tags: Mapping[str, str]) -> list[tuple[tuple[int, ...], str]]:
    matches = (match for tag in tags if (match := _VERSION.fullmatch(tag)))
    return sorted((tuple(map(int, match.groups())), match[0]) for match in matches)


def plan(repo: str, version: str, local: Mapping[str, LocalFile], remote: Remote) -> Plan:
    """What has to be done so that the repository holds the release under the tag of its version.

    Raises:
        DataError: The version is published with other content, or a later one is.
    """
    tag = f"v{version}"
    if remote.tagged is not None:
        files = compare(local, remote.tagged)
        other = [
            Problem(
                file.path, "", "", f"{tag} has another one" if file.state == "changed" else f"{file.state} in yours"
            )
            for file in files
            if file.state != "unchanged"
        ]
        if other:
            told = f"{repo} has published {tag} with other content; raise the version in the manifest and build again"
            raise DataError(told, other)
        return Plan(repo, tag, remote.head, files, creates=False, commits=False, tags=False, before=None)
    published = _versions(remote.tags)
    match = _VERSION.fullmatch(tag)
    if match and published and published[-1][0] > tuple(map(int, match.groups())):
        raise DataError(f"{repo} has published {published[-1][1]}; {tag} would come after it; raise the version")
    files = compare(local, remote.files)
    before = (published[-1][1], remote.tags[published[-1][1]]) if published else None
    commits = any(file.state != "unchanged" for file in files)
    return Plan(repo, tag, remote.head, files, creates=not remote.exists, commits=commits, tags=True, before=before)


def _told(error: BaseException) -> str:
    """What went wrong, in words that hold no address: large files are sent to addresses that are signed."""
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, RuntimeError) and error.__cause__ is not None:
        return f"{error} {_told(error.__cause__)}"
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        said = f": {error.server_message}" if error.server_message else ""
        return f"the Hub answers {status}{said}"
    return re.sub(r"https?://\S+", "an address of the Hub", f"{type(error).__name__}: {' '.join(str(error).split())}")


@contextmanager
def _asking(repo: str, meanwhile: str = "") -> Iterator[None]:
    """Turns whatever the Hub's client raises into a ServiceError; `meanwhile` says what that leaves behind."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        yield
    except RepositoryNotFoundError as error:
        told = f"{repo} is not on the Hub, or the token may not see it"
        raise ServiceError(f"{told} ({_told(error)})") from error
    except (HfHubHTTPError, httpx2.HTTPError, httpx2.InvalidURL, OSError, RuntimeError, ValueError) as error:
        status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
        if status == _PRECONDITION:
            told = f"{repo} has got another commit since the plan was made, so nothing was done; look at the new plan"
            raise ServiceError(told) from error
        if status in {_REFUSED, _FORBIDDEN}:
            told = f"{repo}: {_told(error)}; the token may not do this: set HF_TOKEN, or log in with `hf auth login`"
            raise ServiceError("; ".join(part for part in (told, meanwhile) if part)) from error
        raise ServiceError("; ".join(part for part in (f"{repo}: {_told(error)}", meanwhile) if part)) from error


def _client() -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(library_name="groundset", library_version=__version__)


def has_token() -> bool:
    """Whether the environment or huggingface_hub's own store has a token."""
    from huggingface_hub import get_token

    return get_token() is not None


def _files(client: HfApi, repo: str, commit: str) -> dict[str, Held]:
    from huggingface_hub.hf_api import RepoFile

    entries = client.list_repo_tree(repo, recursive=True, revision=commit, repo_type=_TYPE)
    return {
        entry.path: Held(entry.size, entry.lfs.sha256 if entry.lfs else None, entry.blob_id)
        for entry in entries
        if isinstance(entry, RepoFile)
    }


def look(repo: str, version: str) -> Remote:
    """What the repository holds now.

    Raises:
        ServiceError: The Hub cannot be reached, or refuses the token.
    """
    from huggingface_hub.errors import RepositoryNotFoundError

    client = _client()
    with _asking(repo):
        try:
            head = client.repo_info(repo, repo_type=_TYPE).sha
        except RepositoryNotFoundError:
            return Remote(exists=False, head=None, files={}, tags={}, tagged=None)
        refs = client.list_repo_refs(repo, repo_type=_TYPE)
        tags = {ref.name: ref.target_commit for ref in refs.tags}
        files = _files(client, repo, head) if head else {}
        mine = tags.get(f"v{version}")
        return Remote(True, head, files, tags, _files(client, repo, mine) if mine else None)


def download(repo: str, revision: str, into: Path, only: list[str] | None = None) -> None:
    """Gets a revision of a repository, or the files of it that match a pattern, into an empty folder.

    Raises:
        ServiceError: The Hub cannot be reached, or has no such repository or revision.
    """
    with _asking(repo):
        _client().snapshot_download(repo, repo_type=_TYPE, revision=revision, local_dir=into, allow_patterns=only)


def reused_problems(planned: Plan, folder: Path) -> list[Problem]:
    """Every id that names another thing than in the last published version.

    Args:
        planned: The plan; names that version.
        folder: The release.

    Raises:
        DataError: That version is no release, or one of another benchmark.
        ServiceError: It cannot be got.
    """
    if planned.before is None:
        return []
    tag, commit = planned.before
    with tempfile.TemporaryDirectory(prefix="groundset-publish-") as temporary:
        old = Path(temporary)
        download(planned.repo, commit, old, ["manifest.json", "data/*"])
        try:
            return reused_ids(diff(old, folder))
        except GroundsetError as error:
            told = str(error).replace(temporary, f"{planned.repo}@{tag}")
            raise DataError(f"{planned.repo} is no place for this release: {told}") from error


def execute(planned: Plan, folder: Path, local: Mapping[str, LocalFile], *, private: bool) -> str:
    """Does what is planned, and nothing else.

    Args:
        planned: The plan.
        folder: The release.
        local: Its files as they were when the plan was made.
        private: Whether a repository that has to be made is private.

    Returns:
        The commit that the tag names.

    Raises:
        ServiceError: The Hub cannot be reached, refuses something, or has changed since the plan was made.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    client, commit = _client(), planned.parent
    if planned.creates:
        with _asking(planned.repo, "nothing was published; run the command again"):
            client.create_repo(planned.repo, repo_type=_TYPE, private=private or None)
            commit = client.repo_info(planned.repo, repo_type=_TYPE).sha
    if planned.commits:
        added = [
            CommitOperationAdd(path_in_repo=file.path, path_or_fileobj=str(folder / file.path))
            for file in planned.of("new", "changed")
        ]
        removed = [CommitOperationDelete(path_in_repo=file.path, is_folder=False) for file in planned.of("removed")]
        left = f"the repository is as it was, or has the whole release without its tag {planned.tag}; "
        with _asking(planned.repo, f"{left}run the command again"):
            commit = client.create_commit(
                planned.repo,
                [*added, *removed],
                commit_message=f"Release {planned.tag}",
                repo_type=_TYPE,
                revision=BRANCH,
                parent_commit=commit,
            ).oid
    if commit is None:
        raise ServiceError(f"{planned.repo} names no commit to tag")
    left = f"the release is there, perhaps without its tag {planned.tag}; run the command again"
    with _asking(planned.repo, left):
        wrong = [
            file.path for file in compare(local, _files(client, planned.repo, commit)) if file.state != "unchanged"
        ]
        if wrong:
            told = f"commit {commit} differs from the release in {', '.join(wrong)}, so it was not tagged"
            raise ServiceError(f"{planned.repo}: {told}; run the command again")
        client.create_tag(planned.repo, tag=planned.tag, revision=commit, repo_type=_TYPE)
    return commit


def read_record(folder: Path) -> ReleaseRecord:
    """manifest.json of a release.

    Raises:
        UsageError: The folder has no such file.
        DataError: It is not what a release's manifest.json is.
    """
    try:
        return decode((folder / "manifest.json").read_bytes())
    except OSError as error:
        raise no_release(folder, error) from error
    except ValueError as error:
        raise DataError(f"{folder} is no release", [Problem("manifest.json", "", "", str(error))]) from error
