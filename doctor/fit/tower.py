"""The vision tower of a decoder: its parameters, by its own part of the config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .layers import Unbuildable

_WIDTHS = ("hidden_size", "embed_dim", "d_model")
_DEPTHS = ("num_hidden_layers", "depth", "layers", "num_layers")
_PIXELS = 3


def tower(config: Mapping[str, Any]) -> int:
    """Parameters of a vision transformer: its layers, patch embedding and merger; 0 if there is none.

    A feed-forward block with SiLU is gated (Qwen2.5-VL, Pixtral). Qwen's merger joins the patches of a square in a
    layer as wide as them all, then in one of the decoder's width (transformers: PatchMerger).

    Raises Unbuildable if the config does not give its widths.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, dict):
        return 0
    depth = _first(vision, *_DEPTHS)
    # Qwen2-VL names its own width embed_dim, and the decoder's hidden_size.
    width = _first(vision, "embed_dim", *_WIDTHS) if "embed_dim" in vision else _first(vision, *_WIDTHS)
    ratio = vision.get("mlp_ratio")
    inner = _first(vision, "intermediate_size") or round(width * (ratio if isinstance(ratio, (int, float)) else 4))
    if not depth or not width:
        raise Unbuildable("it has a vision tower, but its config does not give the dimensions of the tower")
    patch = _first(vision, "patch_size", "spatial_patch_size") or 14
    matrices = 3 if vision.get("hidden_act") == "silu" else 2
    merged = width * (_first(vision, "spatial_merge_size") ** 2)
    out = _first(vision, "out_hidden_size") or (_first(vision, "hidden_size") if "embed_dim" in vision else 0)
    merger = merged * (merged + out) if merged and out else 0
    layer = 4 * width * width + matrices * width * inner + 9 * width + inner
    return depth * layer + _PIXELS * patch * patch * width + merger


def _first(config: Mapping[str, Any], *keys: str) -> int:
    values = (config.get(key) for key in keys)
    return next((n for n in values if type(n) is int and 0 < n <= 1_000_000), 0)
