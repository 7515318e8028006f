"""What a model is to be used for: a training or inference, in which types and sizes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .stored import Stored

Task: TypeAlias = Literal["training", "inference"]


class Counted(Struct, frozen=True):
    """Bytes of activations and logits of one sequence, from a pass on torch's meta device: low and high.

    plain: all are kept; spared: with checkpointing; sequence: tokens.
    """

    sequence: int
    plain: tuple[float, float]
    spared: tuple[float, float]


class Work(Struct, frozen=True, kw_only=True):
    """What is to be done. batch: sequences per GPU at once; sequence: tokens of each."""

    task: Task = "training"
    dtype: str = "mixed"
    """Training: mixed, fp32, bf16. Inference: a type of `rules.json`."""
    optimizer: str = "adamw"
    sequence: int = 2048
    batch: int = 1
    accumulation: int = 1
    """Batches whose gradients are summed before a step."""
    checkpointing: bool = False
    lora: int = 0
    """Rank of the adapters on all linear layers; 0: all weights are trained."""
    base: str = ""
    """Type of the frozen weights that go with adapters (nf4 for QLoRA); '': bf16."""
    stored: Stored | None = None
    """How the weights lie in the files, where that and no type says their bytes."""
    kv_dtype: str = "bf16"
    rule: str = ""
    """Name of the one rule table; '': all of them."""
    attention: str = ""
    """eager (its scores are kept) or fused (FlashAttention); '': either."""
    counted: Counted | None = None
    context: float = 0.0
    """Bytes that the CUDA context was measured to take; 0: not measured."""
