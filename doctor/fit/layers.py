"""How layers attend, from a model's config: to all tokens, to a window of the last, or through one latent vector.

Sources: transformers' configuration classes (`layer_types`, `sliding_window`, `sliding_window_pattern`,
`attention_chunk_size`); arxiv.org/abs/2405.04434 section 2.1 (multi-head latent attention).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

_WHOLE = ("full_attention", "attention", "global", "full")
_WINDOWED = ("sliding_attention", "chunked_attention", "local", "local_attention", "sliding")
_OTHER_LAYERS = (
    "layers_block_type", "hybrid_override_pattern", "attn_layer_period", "full_attention_interval",
    "linear_attn_config", "ssm_cfg", "mamba_d_state", "state_size", "ssm_state_size", "lightning_attention",
)  # fmt: skip
"""Keys of models some of whose layers keep a state and no keys and values."""


_UNLIKE = (
    "interleave_moe_layer_step",
    "decoder_sparse_step",
    "mlp_only_layers",
    "moe_layer_interval",
    "moe_layer_freq",
)
"""Which layers have experts, where it is not all of them or all behind the first ones."""


class Unbuildable(Exception):
    """The file says what the model is, and this family is not one whose memory the formulas give: one line, exit 3."""


class Windows(Struct, frozen=True):
    """How many layers keep the last `tokens` alone: at least and at most."""

    tokens: int = 0
    least: int = 0
    most: int = 0


class Latent(Struct, frozen=True):
    """Multi-head latent attention. Elements: rank of the queries (0: none), rank that keys and values come from, and of
    one head: without and with a rotary position, and of its values."""

    queries: int
    keys: int
    plain: int
    rotary: int
    values: int

    @property
    def kept(self) -> int:
        """Elements per token and layer."""
        return self.keys + self.rotary

    def parameters(self, hidden: int, heads: int) -> int:
        """Of one layer, with the norms of both ranks."""
        width = heads * (self.plain + self.rotary)
        asks = (hidden + 1) * self.queries + self.queries * width if self.queries else hidden * width
        keeps = hidden * self.kept + self.keys + self.keys * heads * (self.plain + self.values)
        return asks + keeps + heads * self.values * hidden


def windows(config: Mapping[str, Any], layers: int, family: Mapping[str, Any]) -> Windows:
    """The layers that keep a window. Raises Unbuildable for kinds of layers that have no formula."""
    if other := next((key for key in _OTHER_LAYERS if config.get(key)), ""):
        raise Unbuildable(
            f"some of its layers keep a state instead of keys and values ({other}); gpudoctor has no formula for this"
        )
    if other := next((key for key in _UNLIKE if config.get(key) not in (None, 0, 1, [])), ""):
        raise Unbuildable(f"its layers are not all alike ({other}); gpudoctor has no formula for this")
    kept = config.get("attn_type_list")
    if isinstance(kept, list) and len(set(map(str, kept))) > 1:
        raise Unbuildable(
            "its layers use several kinds of attention (attn_type_list); gpudoctor has no formula for this"
        )
    tokens = next((n for key in ("sliding_window", "attention_chunk_size") if (n := _whole(config.get(key)))), 0)
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and kinds:
        unknown = next((str(kind) for kind in kinds if kind not in (*_WHOLE, *_WINDOWED)), "")
        if unknown:
            raise Unbuildable(f"gpudoctor has no formula for {unknown[:40]} layers")
        share = sum(kind in _WINDOWED for kind in kinds) / len(kinds)
        if share and not tokens:
            raise Unbuildable("it has sliding-window layers, but no sliding_window that gives the window's length")
        count = round(share * layers)
        return Windows(tokens, count, count)
    if not tokens or config.get("use_sliding_window") is False:
        return Windows()
    every = _whole(config.get("sliding_window_pattern")) or family.get("whole_every", 0)
    if every:
        count = layers - layers // every
        return Windows(tokens, count, count)
    return Windows(tokens, layers, layers) if family.get("windowed") else Windows(tokens, 0, layers)


def latent(config: Mapping[str, Any]) -> Latent | None:
    """What latent attention keeps; None for any other."""
    rank = _whole(config.get("kv_lora_rank"))
    if not rank:
        return None
    plain, rotary, values = (_whole(config.get(key)) for key in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    if not (plain and rotary and values):
        raise Unbuildable("it uses latent attention, but its config does not give the dimensions of a head")
    return Latent(_whole(config.get("q_lora_rank")), rank, plain, rotary, values)


def _whole(value: Any) -> int:
    """A positive whole number, else 0."""
    return value if type(value) is int and 0 < value <= 100_000_000 else 0
