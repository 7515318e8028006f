"""The numbers of a transformer that decide its memory, and how many parameters they make."""

from __future__ import annotations

from msgspec import Struct

from .layers import Latent, Windows

_STEP = 128
"""Widths are multiples of it."""


class Shape(Struct, frozen=True, kw_only=True):
    """An encoder or decoder, by the names of its config. Sizes in elements."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    head_dim: int = 0
    """0: hidden / heads."""
    gated: bool = True
    """Three matrices in the feed-forward block (SwiGLU, GeGLU), else two."""
    tied: bool = False
    """Output and input embeddings are one matrix."""
    head: bool = True
    """A language model's output over the vocabulary; an encoder with a classifier has none."""
    bias: bool = False
    positions: int = 0
    """Learned position embeddings."""
    kinds: int = 0
    """Segment embeddings (BERT's token types)."""
    pooler: bool = False
    dropout: bool = False
    experts: int = 0
    """Experts per layer; 0: a dense model."""
    active_experts: int = 0
    expert_ffn: int = 0
    """Width of one expert; 0: as `ffn`."""
    shared_ffn: int = 0
    """Width of experts that every token uses, in all."""
    dense_layers: int = 0
    """Of a model with experts: its first layers that have none."""
    post_norms: bool = False
    """Four norms per layer and not two (Gemma 2)."""
    windows: Windows = Windows()
    latent: Latent | None = None
    """Attention through a latent vector; then head_dim is that of a query, and each head has keys of its own."""
    beside: int = 0
    """Parameters that are not part of the decoder: a vision tower."""

    @property
    def head_size(self) -> int:
        """Elements of one head."""
        return self.head_dim or self.hidden // self.heads

    @property
    def query(self) -> int:
        """Width of the queries, of all heads."""
        return self.heads * self.head_size

    @property
    def key(self) -> int:
        """Width of the keys, or of the values."""
        return self.kv_heads * self.head_size

    @property
    def matrices(self) -> int:
        """Of one feed-forward block."""
        return 3 if self.gated else 2


def parameters(shape: Shape, active: bool = False) -> int:
    """How many parameters this shape has; `active`: those that one token passes through."""
    s, bias = shape, int(shape.bias)
    if s.latent is not None:
        attention = s.latent.parameters(s.hidden, s.heads)
    else:
        attention = 2 * s.hidden * (s.query + s.key) + bias * (s.query + 2 * s.key + s.hidden)
    norms = s.hidden * (4 if s.post_norms else 2) * (1 + bias)
    dense = _feed_forward(s, s.ffn)
    if s.experts:
        count = s.active_experts if active else s.experts
        sparse = count * _feed_forward(s, s.expert_ffn or s.ffn) + _feed_forward(s, s.shared_ffn) + s.experts * s.hidden
    else:
        sparse = dense
    plain = s.dense_layers if s.experts else s.layers
    layers = s.layers * (attention + norms) + plain * dense + (s.layers - plain) * sparse
    embeddings = s.hidden * (s.vocab + s.positions + s.kinds)
    output = s.vocab * s.hidden if s.head and not s.tied else 0
    pooler = (s.hidden + 1) * s.hidden if s.pooler else 0
    return embeddings + layers + s.hidden * (1 + bias) + output + pooler + (0 if active else s.beside)


def _feed_forward(s: Shape, width: int) -> int:
    if not width:
        return 0
    return s.matrices * s.hidden * width + (int(s.bias) * ((s.matrices - 1) * width + s.hidden))


def typical(count: float) -> Shape:
    """A dense decoder of about this many parameters, in the proportions of published ones (Llama, GPT-3).

    128 elements per head; from 3 B on a width that eight GPUs can share, from 20 B on eight heads of keys and values.
    Of the shapes within 2 % of the size the one whose width is nearest to 110 times its depth.
    """
    vocab = 32_000 if count < 20e9 else 128_000
    step = _STEP if count < 3e9 else 8 * _STEP
    best: tuple[tuple[float, float], Shape] | None = None
    for hidden in range(step, 40_001, step):
        for layers in range(4, 201):
            if not 40 <= hidden / layers <= 250:
                continue
            heads = max(1, hidden // 128)
            kv = 8 if count >= 20e9 and heads % 8 == 0 else heads
            ffn = round(8 * hidden / 3 / _STEP) * _STEP
            shape = Shape(layers=layers, hidden=hidden, heads=heads, kv_heads=kv, ffn=ffn, vocab=vocab, head_dim=128)
            off = max(0.02, abs(parameters(shape) / count - 1)), abs(hidden / layers / 110 - 1)
            if best is None or off < best[0]:
                best = off, shape
    assert best is not None
    return best[1]
