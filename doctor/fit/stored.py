"""Bytes of weights that are stored in fewer bits, by `quantization_config`: which layers, how many bits, which scales.

Sources: the formats' own definitions. AWQ and GPTQ: a scale of 16 bits and a zero of as many bits as a weight for each
group (github.com/AutoGPTQ/AutoGPTQ, github.com/casper-hansen/AutoAWQ). compressed-tensors: a scale for each channel,
group or tensor (github.com/vllm-project/compressed-tensors). fp8 by blocks: a scale of 32 bits for each 128 x 128
(DeepSeek-V3 Technical Report, section 3.3.2). mxfp4: one of 8 bits for each 32 (OCP Microscaling Formats 1.0). nf4: one
of 32 bits for each 64, of 8 bits where they are quantized too (arxiv.org/abs/2305.14314).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from msgspec import Struct

from .layers import Unbuildable
from .shape import Shape

_FP8 = ("fp8", "fbgemm-fp8")
_PREFIXES = ("model.", "", "language_model.model.", "model.language_model.", "transformer.")
_TILE, _WIDE_TILE = 128, 256
"""What kernels for mxfp4 that are not a tensor core's own (Marlin) round the widths of an expert up to."""


class Stored(Struct, frozen=True):
    """Bytes of all weights, low and high, and how they are stored, as text."""

    low: float
    high: float
    words: str


class Linear(NamedTuple):
    """A matrix, or several alike: elements in all, inputs of one."""

    name: str
    elements: int
    inputs: int
    expert: bool = False


def stored(config: Mapping[str, Any], shape: Shape, count: int, plain: float) -> Stored | None:
    """Of `count` weights of this shape, `plain` bytes each where they are not quantized; None if none is.

    Raises Unbuildable for a method, or a part of it, whose bytes are not known.
    """
    found = config.get("quantization_config") or config.get("compression_config")
    if found is None:
        return None
    if not isinstance(found, dict):
        raise Unbuildable("its quantization_config is not an object, so it is unknown how its weights are stored")
    method = str(found.get("quant_method") or "").lower().replace("_", "-")
    kept = _Kept(found, method)
    few = [one for one in linears(shape) if not kept.has(one)]
    if method == "mxfp4":
        few = [one for one in few if one.expert]
    least = sum(_bits(found, method, one) * one.elements for one in few) / 8
    rest = (count - sum(one.elements for one in few)) * plain
    most = least * _padding(shape) if method == "mxfp4" else least
    return Stored(least + rest, most + rest, words_of(found, method))


def words_of(found: Mapping[str, Any], method: str) -> str:
    """`gptq, 4 bits`."""
    bits = 4 if method == "mxfp4" or found.get("load_in_4bit") else 8 if method.endswith("fp8") else _plain_bits(found)
    return f"{method}, {bits} bits"


def linears(s: Shape) -> Iterator[Linear]:
    """Every matrix of a linear layer, by the names of Llama's; experts of a layer together."""
    if s.latent is None:
        attention = [("q", s.query, s.hidden), ("k", s.key, s.hidden), ("v", s.key, s.hidden), ("o", s.hidden, s.query)]
        own = [Linear(f"self_attn.{name}_proj", rows * columns, columns) for name, rows, columns in attention]
    else:
        own = [Linear("self_attn.q_proj", s.latent.parameters(s.hidden, s.heads), s.hidden)]
    names = ("gate_proj", "up_proj", "down_proj") if s.gated else ("up_proj", "down_proj")
    for layer in range(s.layers):
        at = f"layers.{layer}."
        for one in own:
            yield one._replace(name=at + one.name)
        sparse = s.experts and layer >= s.dense_layers
        width = (s.expert_ffn or s.ffn) if sparse else s.ffn
        for name in names:
            inputs = width if name == "down_proj" else s.hidden
            if sparse:
                yield Linear(f"{at}mlp.experts.0.{name}", s.experts * s.hidden * width, inputs, expert=True)
                if s.shared_ffn:
                    shared = s.shared_ffn if name == "down_proj" else s.hidden
                    yield Linear(f"{at}mlp.shared_experts.{name}", s.hidden * s.shared_ffn, shared)
            else:
                yield Linear(f"{at}mlp.{name}", s.hidden * width, inputs)


class _Kept:
    """Which layers a config leaves in full."""

    def __init__(self, found: Mapping[str, Any], method: str) -> None:
        keys = ("ignore", "modules_to_not_convert", "ignored_layers", "llm_int8_skip_modules")
        named = next((found[key] for key in keys if found.get(key)), ())
        if found.get("dynamic") or found.get("modules_in_block_to_quantize"):
            raise Unbuildable(
                "its quantization_config treats some layers separately, so gpudoctor does not know their size"
            )
        self.whole = method == "compressed-tensors"
        """A name there is that of one layer; elsewhere it may be a part of its path, between dots."""
        self.names = [str(name) for name in named] if isinstance(named, (list, tuple)) else []

    def has(self, one: Linear) -> bool:
        """Whether this layer stays as it is."""
        alike = {one.name, one.name.replace(".mlp.", ".block_sparse_moe.")}
        full = [prefix + name for prefix in _PREFIXES for name in alike]
        return any(self._matches(name, path) for name in self.names for path in full)

    def _matches(self, name: str, path: str) -> bool:
        if name.startswith("re:"):
            try:
                return re.match(name[3:], path) is not None
            except re.error:
                raise Unbuildable(
                    f"its quantization_config excludes {name[:60]!r}, which is not a valid pattern"
                ) from None
        if "*" in name:
            return fnmatchcase(path, f"{name}*") or fnmatchcase(path, f"*{name}*")
        return path == name if self.whole else f".{name}." in f".{path}."


def _bits(found: Mapping[str, Any], method: str, one: Linear) -> float:
    """Of one weight, its share of scales and zeros in it."""
    if method in ("gptq", "awq"):
        bits = _plain_bits(found)
        group = _group(found.get("group_size", found.get("q_group_size", 128)), one.inputs)
        return bits + (16 + bits) / group
    if method == "compressed-tensors":
        return _of_group(found, one)
    if method in _FP8:
        block = found.get("weight_block_size")
        size = (
            block[0] * block[1] if isinstance(block, list) and len(block) == 2 and all(_whole(n) for n in block) else 0
        )
        return 8 + (32 / size if size else 32 / one.inputs)
    if method == "mxfp4":
        return 4 + 8 / 32
    if method == "bitsandbytes":
        if found.get("load_in_4bit"):
            return 4 + (8 / 64 + 32 / (64 * 256) if found.get("bnb_4bit_use_double_quant") else 32 / 64)
        if found.get("load_in_8bit"):
            return 8 + 32 / one.inputs
    how = f"by {method[:40]}" if method else "with an unnamed method"
    raise Unbuildable(
        f"its weights are quantized {how}, so gpudoctor does not know their size; give a type with --dtype"
    )


def _of_group(found: Mapping[str, Any], one: Linear) -> float:
    """compressed-tensors: the group whose targets have this layer. All layers are Linear there."""
    groups = found.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        targets = group.get("targets") if isinstance(group, dict) else None
        if not isinstance(weights, dict) or not isinstance(targets, list):
            continue
        hit = any(target == "Linear" or _target(str(target), one.name) for target in targets)
        bits = _whole(weights.get("num_bits"))
        if not hit or not 1 <= bits <= 16:
            continue
        size = _group(weights.get("group_size") or -1, one.inputs)
        scale = 8 if weights.get("type") == "float" and bits == 4 else 16
        return bits + (scale + (0 if weights.get("symmetric", True) else bits)) / size
    raise Unbuildable("its quantization_config does not give the bit width of its layers, so their size is unknown")


def _target(target: str, name: str) -> bool:
    if target.startswith("re:"):
        try:
            return any(re.match(target[3:], prefix + name) for prefix in _PREFIXES)
        except re.error:
            return False
    return any(prefix + name == target for prefix in _PREFIXES)


def _plain_bits(found: Mapping[str, Any]) -> int:
    groups = found.get("config_groups")
    if isinstance(groups, dict):
        rows = [group.get("weights") for group in groups.values() if isinstance(group, dict)]
        sizes = [n for row in rows if isinstance(row, dict) and (n := _whole(row.get("num_bits")))]
        return max(sizes, default=0)
    if found.get("load_in_8bit"):
        return 8
    bits = next((n for key in ("bits", "w_bit") if (n := _whole(found.get(key)))), 0)
    if not 1 <= bits <= 16:
        raise Unbuildable("its quantization_config does not give the bits per weight")
    return bits


def _group(size: Any, inputs: int) -> int:
    """Weights that share a scale: -1 is a whole row."""
    return _whole(size) or inputs


def _whole(value: Any) -> int:
    return value if type(value) is int and 0 < value <= 100_000_000 else 0


def _padding(s: Shape) -> float:
    """By how much kernels that round widths up make experts larger."""
    width = s.expert_ffn or s.ffn
    return (-(-width // _TILE) * _TILE) * (-(-s.hidden // _WIDE_TILE) * _WIDE_TILE) / (width * s.hidden)
