# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""`groundset publish`: shows what a publication on the Hugging Face Hub would do, and does it if it is told to."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from groundset.cli import talk
from groundset.errors import DataError, UsageError
from groundset.release import hub
from groundset.release.verify import verify


def publish(
    release: Annotated[Path, typer.Argument(help="Folder of the release.")],
    repo: Annotated[str, typer.Option(metavar="ORG/NAME", help="The dataset repository on the Hub.")],
    execute: Annotated[bool, typer.Option("--execute", help="Do it; without this the plan is shown.")] = False,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=talk.JSON_HELP)] = False,
) -> None:
    """Verify a release and show what publishing it would do; with --execute, make one commit and tag its version."""
    say = talk.sayer()
    if hub.hub_id(repo) is None or "@" in repo:
        raise UsageError(f"--repo {repo}: a repository is named as ORG/NAME")
    if not release.is_dir():
        raise UsageError(f"{release}: there is no such folder")
    record = hub.read_record(release)
    if execute and not hub.has_token():
        raise UsageError("there is no token: set HF_TOKEN, or log in with `hf auth login`")
    say(f"verifying {release}")
    problems = verify(release) + hub.unsaid_problems(record)
    if problems:
        raise DataError(f"{release} is not published; problems found: {len(problems)}", problems)
    local = hub.local_files(release)
    planned = hub.plan(repo, record.facts.version, local, hub.look(repo, record.facts.version))
    if planned.before is not None:
        say(f"comparing its ids with those of {planned.before[0]}")
        problems = hub.reused_problems(planned, release)
        if problems:
            told = f"{release} is not published; ids that name another thing than in {planned.before[0]}"
            raise DataError(f"{told}: {len(problems)}", problems)
    if record.facts.simulated:
        say(f"{release} is simulated, as its card says: it shows the format, and nothing can be measured with it")
    if not as_json:
        _print(planned)
    commit = None
    if execute and planned.tags:
        commit = hub.execute(planned, release, local, private=private)
    if as_json:
        talk.print_json({**asdict(planned), "executed": commit is not None, "commit": commit})
    elif commit is not None:
        typer.echo(f'published: load_dataset("{repo}", revision="{planned.tag}") is commit {commit}')
    elif planned.tags:
        say("nothing was done; --execute does it")


def _print(planned: hub.Plan) -> None:
    if not planned.tags:
        typer.echo(f"{planned.repo} has {planned.tag} with the same content: there is nothing to do")
        return
    if planned.creates:
        seen = "" if hub.has_token() else ", or cannot be seen without a token"
        typer.echo(f"{planned.repo} is not there{seen}: it would be made")
    for file in planned.files:
        typer.echo(f"{file.state:<10}{file.bytes:>14,}  {file.path}")
    sent = planned.of("new", "changed")
    counts = ", ".join(f"{len(planned.of(state))} {state}" for state in ("new", "changed", "unchanged", "removed"))
    typer.echo(f"files: {counts}; to send: {sum(file.bytes for file in sent):,} bytes")
    on = "what the Hub puts into a new repository" if planned.creates else planned.parent
    typer.echo(f"one commit on top of {on}" if planned.commits else f"no commit: {on} has all of it")
    typer.echo(f"tag {planned.tag}")
