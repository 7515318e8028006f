"""A model's own numbers: config.json and the headers of its safetensors files; no weight or server is read."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from pkgutil import get_data
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..formats.given import Unopened, is_stream, read_given, shown
from .layers import Unbuildable, latent, windows
from .safetensors import Header, Unreadable, headers
from .shape import Shape, parameters
from .stored import Stored, stored, words_of
from .tower import tower

_MOST_BYTES = 16 << 20
_OTHER_KINDS = {
    "state space": ("mamba", "mamba2", "rwkv", "falcon_mamba", "jamba", "recurrent_gemma", "zamba", "bamba"),
    "encoder-decoder": ("t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "whisper", "nllb"),
    "vision": ("vit", "clip", "siglip", "swin", "dinov2", "convnext", "deit", "beit", "sam", "llava", "detr", "molmo"),
    "diffusion": ("unet", "stable-diffusion", "flux", "dit"),
}


_INNER = ("text_config", "llm_config", "language_config")
"""Where the config of a model with a vision tower has that of its decoder."""


class Model(Struct, frozen=True, kw_only=True):
    """A model as its files tell it. count: parameters; fewest: where the family is not known; most: with MTP layers."""

    name: str
    shape: Shape
    count: int
    dtype: str = ""
    exact: bool = False
    """Counted in the headers of its weights."""
    family: str = ""
    notes: tuple[str, ...] = ()
    fewest: int = 0
    most: int = 0
    stored: Stored | None = None
    """How its weights lie in the files, where not all in one plain type."""


def read_model(path: Path) -> Model:
    """The model of a folder, a config.json or a safetensors file (its config next to it).

    Raises Unreadable (one line) for what cannot be read and Unbuildable for a family without formulas.
    """
    if is_stream(str(path)):
        return _model(_config(path), shown(str(path)), None)
    folder = path if path.is_dir() else path.parent
    config_path = path if path.suffix == ".json" and not path.name.endswith(".index.json") else folder / "config.json"
    found = headers(folder if path.is_dir() or path.suffix == ".json" else path)
    if not config_path.exists():
        unknown = "there is no config.json next to it, so the model's dimensions are unknown"
        what = unknown if found else "it contains no config.json"
        raise Unreadable(f"{path}: {what}")
    return _model(_config(config_path), folder.name or str(folder), found)


def _config(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(
            read_given(str(path), _MOST_BYTES, f"is over {_MOST_BYTES >> 20} MiB: too large for a model config")
        )
    except Unopened as error:
        raise Unreadable(str(error)) from None
    except (ValueError, RecursionError):
        raise Unreadable(f"{path}: not valid JSON") from None
    if not isinstance(found, dict):
        raise Unreadable(f"{path}: must be a JSON object, not {type(found).__name__}")
    text = next((found[key] for key in _INNER if isinstance(found.get(key), dict)), None)
    if text is None or "hidden_size" in found:
        return found
    # transformers leaves out of an inner config what its class has by default
    implied = (_families().get(str(text.get("model_type"))) or {}).get("implied", {})
    return {**implied, **found, **text}


def _model(config: dict[str, Any], name: str, found: Header | None) -> Model:
    family = str(config.get("model_type", ""))
    kind = next((kind for kind, names in _OTHER_KINDS.items() if family.lower() in names), "")
    if kind:
        raise Unbuildable(
            f"{family}: gpudoctor has no memory formula for {kind} models; use the parameter count and a measured run"
        )
    known = _families().get(family)
    shape = _shape(config, known or {})
    count = found.count if found and not found.packed else parameters(shape)
    fewest, notes = 0, []
    if known is None:
        notes.append(f"the model family {family or '(no name)'} is unknown: a decoder with these dimensions is assumed")
        other = replace(_shape(config, {"gated": False}), head=False)
        fewest = 0 if found else parameters(other)
    else:
        other = shape
    if found and not found.packed and not 0.8 <= count / max(1, parameters(shape)) <= 1.25:
        notes.append(
            f"its dimensions give {parameters(shape) / 1e9:.3g} billion parameters, but its weights have "
            f"{count / 1e9:.3g}"
        )
    dtype = str(config.get("torch_dtype") or config.get("dtype") or "").removeprefix("torch.")
    dtype = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}.get(dtype, "")
    most, longer = 0, shape
    if not found and (known or {}).get("head_twice") and shape.tied:
        most = count + shape.vocab * shape.hidden
        notes.append("the files store the embedding twice; some programs load it once")
    if not found and (extra := _number(config, "num_nextn_predict_layers", default=0)):
        # each joins the hidden state with the next token's embedding: DeepSeek-V3 Technical Report, section 2.2
        longer = replace(shape, layers=shape.layers + extra)
        most = parameters(longer) + extra * 2 * shape.hidden * shape.hidden
        notes.append(f"its {extra} MTP layer{'s' * (extra > 1)} (speculative decoding) may or may not be loaded")
    return Model(
        name=name,
        shape=shape,
        count=count,
        dtype=dtype,
        exact=found is not None and not found.packed,
        family=family,
        notes=tuple(notes),
        fewest=fewest,
        most=most,
        stored=_stored(config, (other, fewest or count), (longer, most or count), dtype, found),
    )


def _stored(
    config: dict[str, Any], least: tuple[Shape, int], most: tuple[Shape, int], dtype: str, found: Header | None
) -> Stored | None:
    """The bytes of the files themselves where they are there, else by the config: of the fewest and most parameters."""
    quantised = config.get("quantization_config")
    if found and found.packed:
        method = quantised if isinstance(quantised, dict) else {}
        words = words_of(method, str(method.get("quant_method"))) if method else "packed"
        return Stored(found.bytes, found.bytes, f"{words}, as stored in the files")
    plain = 4.0 if dtype == "fp32" else 2.0
    low, high = (stored(config, *ends, plain) for ends in (least, most))
    return Stored(min(low.low, high.low), max(low.high, high.high), high.words) if low and high else None


def _shape(c: dict[str, Any], family: dict[str, Any]) -> Shape:
    hidden = _number(c, "hidden_size", "n_embd", "n_embed", "d_model", "dim")
    layers = _number(c, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
    heads = _number(c, "num_attention_heads", "n_head", "num_heads", "n_heads")
    kv = _key_heads(c, heads)
    encoder = family.get("encoder", False)
    experts = _number(c, "num_local_experts", "num_experts", "n_routed_experts", default=0)
    tied = c.get("tie_word_embeddings")
    compressed = latent(c)
    expert_ffn = _number(c, "moe_intermediate_size", default=0) if experts else 0
    shared = _number(c, "shared_expert_intermediate_size", default=0) or (
        _number(c, "n_shared_experts", default=0) * expert_ffn
    )
    return Shape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads if compressed else kv,
        head_dim=compressed.plain + compressed.rotary if compressed else _number(c, "head_dim", default=0),
        ffn=_number(c, *_FORWARD, default=4 * hidden) // (2 if family.get("ffn_of_both") else 1),
        vocab=_number(c, "vocab_size"),
        gated=family.get("gated", True),
        tied=bool(family.get("tied", False) if tied is None else tied),
        head=not encoder and _predicts_tokens(c),
        bias=family.get("bias", False),
        positions=_number(c, "max_position_embeddings", "n_positions", default=0) if family.get("learned") else 0,
        kinds=_number(c, "type_vocab_size", default=0) if encoder else 0,
        pooler=encoder,
        dropout=family.get("dropout", False),
        experts=experts,
        active_experts=_number(c, "num_experts_per_tok", "moe_top_k", default=2) if experts else 0,
        expert_ffn=expert_ffn,
        shared_ffn=shared if experts else 0,
        dense_layers=_number(c, "first_k_dense_replace", default=0) if experts else 0,
        post_norms=family.get("post_norms", False),
        windows=windows(c, layers, family),
        latent=compressed,
        beside=tower(c),
    )


_FORWARD = ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim")


_GENERATORS = ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM")
"""Keys of `auto_map` beside which a class by the name of `Model` has an output, as ChatGLM's and GLM-4-9B's do."""


def _predicts_tokens(c: dict[str, Any]) -> bool:
    """Whether it has an output over the vocabulary: classifiers, reward models and bare decoders have none."""
    names = c.get("architectures")
    name = str(names[0]) if isinstance(names, list) and names else ""
    code = c.get("auto_map")
    generates = isinstance(code, dict) and any(key.startswith(_GENERATORS) for key in code)
    bare = name.endswith("Model") and not name.endswith("LMHeadModel")
    bare = bare and not generates and c.get("model_type") != "chatglm"
    return not bare and not name.endswith(("Classification", "ForRewardModeling"))


def _key_heads(c: dict[str, Any], heads: int) -> int:
    """Heads of keys and values. Falcon's first decoder has one, whatever num_kv_heads says."""
    if c.get("multi_query") and not c.get("new_decoder_architecture"):
        return 1
    if c.get("multi_query_attention"):
        return _number(c, "multi_query_group_num", default=1)
    return _number(c, "num_key_value_heads", "num_kv_heads", "n_head_kv", default=heads)


def _number(config: dict[str, Any], *keys: str, default: int | None = None) -> int:
    """The first of these keys that is there, as a whole number that a model can have."""
    for key in keys:
        value = config.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100_000_000:
            raise Unreadable(f"config.json: {key} is {str(value)[:40]!r}; it must be a whole number")
        if value or default is not None:
            return value
    if default is None:
        raise Unreadable(f"config.json: {keys[0]} is missing; nothing can be computed without it")
    return default


@lru_cache(maxsize=1)
def _families() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(get_data(__package__, "families.json") or b"{}")
    return found
