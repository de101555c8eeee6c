# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the schemas and manifests lie that ship with the package: beside it in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def _shipped(packed: str, checkout: str) -> Path:
    inside = _PACKAGE / packed
    return inside if inside.is_dir() else _PACKAGE.parents[1] / checkout


def schema_dir() -> Path:
    """Folder of the JSON Schemas."""
    return _shipped("_schemas", "schemas")


def manifest_dir() -> Path:
    """Folder of the manifests and of the licence table."""
    return _shipped("_manifests", "manifests")


def package_dir() -> Path:
    """Folder of the package's own sources."""
    return _PACKAGE
