# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The folder of a release that a verb is given: one on this machine, or a copy of what the Hub has."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundset.cli import talk
from groundset.errors import UsageError
from groundset.release import hub
from groundset.release.checksums import CHECKSUMS, HYDRATED
from groundset.release.record import no_release


@contextmanager
def release_folder(release: str) -> Iterator[Path]:
    """The folder that is named, or a copy of what the Hub has, which goes when it has been looked at.

    Raises:
        UsageError: It names neither a folder nor, by its form, a dataset of the Hub.
        ServiceError: The Hub does not give it.
    """
    named = hub.hub_id(release)
    if Path(release).exists() or named is None:
        if not Path(release).is_dir():
            raise UsageError(f"{release}: there is no such folder")
        yield Path(release)
        return
    with tempfile.TemporaryDirectory(prefix="groundset-") as folder:
        talk.sayer()(f"no folder is called {release}: getting {named[0]} at {named[1]} from the Hub")
        hub.download(*named, Path(folder))
        yield Path(folder)


def require_release(folder: Path) -> None:
    """Refuses what cannot be meant as a release, so that it is not told as a damaged one.

    Raises:
        UsageError: The folder has neither hashes nor a manifest.json, and is no copy that hydrate made.
    """
    if not any((folder / name).exists() for name in (CHECKSUMS, HYDRATED)):
        try:
            (folder / "manifest.json").stat()
        except OSError as error:
            raise no_release(folder, error) from error
