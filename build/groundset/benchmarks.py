# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Which stages build what a manifest asks for."""

from __future__ import annotations

from groundset.candvg import pipeline as candvg_pipeline
from groundset.fpco import pipeline as fpco_pipeline
from groundset.fpco import published_pipeline
from groundset.manifest import Manifest
from groundset.stage import Stage


def stages(manifest: Manifest) -> tuple[Stage, ...]:
    """The manifest's stages in order: its benchmark's, and for published records those that read them."""
    if manifest.benchmark == "candvg":
        return candvg_pipeline.STAGES
    return published_pipeline.STAGES if manifest.is_published else fpco_pipeline.STAGES
