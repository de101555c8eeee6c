# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Photographs that look alike: a difference hash of each, and which of them are close.

The hash compares neighbouring means of a coarse grid, so another size, compression or file format hardly changes it; a
crop, a mirror image or a turn does. All of it is arithmetic on whole numbers: the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from groundset.verdicts import Verdict

# both ours: a smaller grid calls too much alike, a larger one is upset by compression
GRID = 8
HASH_BITS = 2 * GRID * GRID
SHOWN_NEAR = 5
# pairs that are held at once, 16 bytes each
BLOCK_PAIRS = 2**22


def difference_hash(image: Image.Image) -> str:
    """Hash of a decoded photograph: 128 bits as 32 hex digits.

    Of the gray picture, reduced to means of 9 x 8 and of 8 x 9 areas: whether each mean is above the one on its left,
    and above the one over it. Stored pixels are hashed, whatever orientation the metadata gives.

    Args:
        image: The photograph, of any mode; transparency is left out.
    """
    if image.mode.startswith("I"):
        # Pillow would clip 16 bits to 8, not scale them
        gray = Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))
    else:
        gray = image.convert("RGB").convert("L")
    across = np.asarray(gray.resize((GRID + 1, GRID), Image.Resampling.BOX))
    down = np.asarray(gray.resize((GRID, GRID + 1), Image.Resampling.BOX))
    bits = np.concatenate([(across[:, 1:] > across[:, :-1]).ravel(), (down[1:] > down[:-1]).ravel()])
    return np.packbits(bits).tobytes().hex()


def _nearest(distances: NDArray[np.uint8], limit: int) -> tuple[NDArray[np.intp], int]:
    """Places of the nearest, nearest and lowest first, and how many there are within the limit."""
    near = np.flatnonzero(distances <= limit)
    return near[np.argsort(distances[near], kind="stable")][:SHOWN_NEAR], len(near)


def _detail(names: list[str], distances: NDArray[np.uint8], nearest: NDArray[np.intp], count: int) -> str:
    told = ", ".join(f"{names[place]} ({distances[place]} of {HASH_BITS} bits differ)" for place in nearest)
    return f"looks like {told}" + (f" and {count - len(nearest)} more" if count > len(nearest) else "")


def near_duplicates(hashes: Mapping[str, str], limit: int) -> list[Verdict]:
    """A soft verdict on every photograph that another looks like, sorted by image id.

    Each names the nearest others; what A says of B, B says of A. They depend on nothing but the hashes.

    Args:
        hashes: Image id to difference hash.
        limit: Bits in which two hashes may differ (ours, in the manifest).
    """
    names = sorted(hashes)
    words = np.frombuffer(bytes.fromhex("".join(hashes[name] for name in names)), dtype=np.uint64).reshape(-1, 2)
    verdicts: list[Verdict] = []
    rows = max(1, BLOCK_PAIRS // max(1, len(names)))
    for start in range(0, len(names), rows):
        block: NDArray[Any] = words[start : start + rows]
        distances = sum(np.bitwise_count(block[:, None, half] ^ words[None, :, half]) for half in (0, 1))
        distances[np.arange(len(block)), start + np.arange(len(block))] = HASH_BITS + 1
        for row in np.flatnonzero((distances <= limit).any(axis=1)):
            nearest, count = _nearest(distances[row], limit)
            detail = _detail(names, distances[row], nearest, count)
            least = float(distances[row][nearest[0]])
            name = names[start + int(row)]
            verdicts.append(Verdict(name, "image", "near_duplicate", detail, least, float(limit), hard=False))
    return verdicts
