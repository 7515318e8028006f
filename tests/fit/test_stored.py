"""How weights are stored, and which layers keep what, by the configs that people have: against published memory."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from doctor.fit.config import read_model
from doctor.fit.layers import Unbuildable
from doctor.fit.memory import GIB, cache, estimate, kv_bytes
from doctor.fit.shape import parameters
from doctor.fit.stored import linears
from doctor.fit.work import Work

from ..rows import Faults, for_each
from .test_fit_command import asked, refused

LLAMA_70B = {
    "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}  # fmt: skip
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "vocab_size": 129280,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "num_nextn_predict_layers": 1,
}  # fmt: skip
GPT_OSS = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088,
    "num_local_experts": 128, "num_experts_per_tok": 4, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 18,
    "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip
IN_8_BITS = {
    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"}, "targets": ["Linear"]}},
    "format": "int-quantized", "ignore": ["lm_head"], "quant_method": "compressed-tensors",
}  # fmt: skip
SMALL = {**LLAMA_70B, "num_hidden_layers": 4}
LINEAR = 80 * (2 * 8192 * (8192 + 1024) + 3 * 8192 * 28672)
OUTER = 2 * 8192 * 128256 + (2 * 80 + 1) * 8192


def of(folder: Path, config: dict[str, Any], **more: Any) -> Any:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**config, **more}))
    return read_model(folder)


def stored_gib(folder: Path, config: dict[str, Any], **quantised: Any) -> tuple[float, float]:
    found = of(folder, config, quantization_config=quantised).stored
    return found.low / GIB, found.high / GIB


def test_gpt_oss_in_mxfp4_and_its_half_of_layers_with_a_window(tmp_path: Path) -> None:
    """65.97 GiB of weights (vllm-project/vllm issue 23278), 9.09 GiB of keys and values (ollama issue 16480)."""
    found = of(tmp_path, GPT_OSS)
    assert found.stored.high / GIB == pytest.approx(65.97, rel=0.02) and found.stored.low < found.stored.high
    low, high = cache(found.shape, Work(task="inference", sequence=131072, batch=2))
    assert low == high and low / GIB == pytest.approx(9.09, rel=0.03)
    held = estimate(found.shape, found.count, Work(task="inference", sequence=131072, batch=2, stored=found.stored))
    assert held.low / GIB < 65.97 + 9.09 < held.high / GIB


def test_llama_70b_in_8_bits_fits_on_one_h100(tmp_path: Path) -> None:
    """67.72 GiB (vllm-project/vllm pull request 12569)."""
    found = of(tmp_path, LLAMA_70B, quantization_config=IN_8_BITS)
    assert found.stored.low / GIB == pytest.approx(67.72, rel=0.002)
    answer = asked(tmp_path, "--task", "inference", "--gpus", "H100-80GB", "--gpu-memory-utilization", "0.98")
    assert answer["fits"] is True and answer["exit_code"] == 0
    assert asked(tmp_path, "--task", "inference", "--gpus", "H100-80GB", "--dtype", "bf16")["fits"] is False


@for_each(
    ("quantised", "bits"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True}, 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": 32}, 8 + 24 / 32),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, 4.127),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 16384),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {"group_0": {
            "weights": {"num_bits": 4, "type": "int", "group_size": 128, "symmetric": True}, "targets": ["Linear"]}}},
         4 + 16 / 128),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]}}}, 4.5),
    ],
)  # fmt: skip
def test_bits_of_a_weight_with_its_scales(tmp_path: Path, quantised: dict[str, Any], bits: float) -> None:
    low, high = stored_gib(tmp_path, LLAMA_70B, **quantised)
    assert low == high == pytest.approx((LINEAR * bits / 8 + OUTER * 2) / GIB, rel=1e-4)


@for_each("whole", [True, False])
def test_a_layer_that_is_left_out_keeps_its_16_bits(tmp_path: Path, whole: bool) -> None:
    """Each linear layer, named by itself, by a pattern, and by its kind."""
    group = {"weights": {"num_bits": 8, "type": "int"}, "targets": ["Linear"]}
    plain: dict[str, Any] = {"quant_method": "fp8"}
    if whole:
        plain = {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}
    key = "ignore" if whole else "modules_to_not_convert"
    base = stored_gib(tmp_path, SMALL, **plain)[0]
    with Faults() as faults:
        for one in linears(of(tmp_path, SMALL).shape):
            name = f"model.{one.name}"
            for named in (name, *((f"re:.*{one.name.replace('.', '[.]')}$",) if whole else (one.name, f"*{one.name}"))):
                with faults.of(named):
                    more = stored_gib(tmp_path, SMALL, **plain, **{key: [named]})[0] - base
                    assert more * GIB == pytest.approx(one.elements, rel=0.01)
    every = "re:.*down_proj" if whole else "down_proj"
    assert stored_gib(tmp_path, SMALL, **plain, **{key: [every]})[0] - base == pytest.approx(
        4 * 8192 * 28672 / GIB, rel=0.01
    )


@for_each(
    ("more", "kept"),
    [
        ({"quant_method": "awq", "bits": 4, "modules_to_not_convert": ["gate"]}, 0),  # the router, and no gate_proj
        ({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.1"]}, 1),  # and not layers 10 to 19
        ({"quant_method": "fp8", "modules_to_not_convert": ["self_attn"]}, 0.17),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True, "llm_int8_skip_modules": ["model.layers.3"]}, 1),
    ],
)
def test_a_name_is_a_part_between_dots(tmp_path: Path, more: dict[str, Any], kept: float) -> None:
    """kept: how many layers stay in 16 bits."""
    twenty = {**LLAMA_70B, "num_hidden_layers": 20}
    plain = {key: value for key, value in more.items() if not isinstance(value, list)}
    gib = stored_gib(tmp_path, twenty, **more)[0] - stored_gib(tmp_path, twenty, **plain)[0]
    one = LINEAR / 80 * (2 - (0.5195 if more["quant_method"] == "awq" else 1)) / GIB
    share = 20 * 2 * 8192 * 9216 / (LINEAR / 80) if kept == 0.17 else kept
    assert gib == pytest.approx(share * one, rel=0.01)


METHODS = ("hqq", "aqlm", "quanto", "torchao", "eetq", "higgs", "vptq", "spqr", "bitnet", "newest", "", None)


@for_each(
    "more",
    [
        *({"quantization_config": {"quant_method": method, "nbits": 4}} for method in METHODS),
        {"quantization_config": ["gptq"]},
        {"quantization_config": {"quant_method": "gptq"}},
        {"quantization_config": {"quant_method": "bitsandbytes"}},
        {"quantization_config": {"quant_method": "compressed-tensors"}},
        {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": ["Conv2d"]}}}},
        {"quantization_config": {"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*attn.*": {}}}},
        {"quantization_config": {"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": [["q_proj"]]}},
        {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"a": {
            "weights": {"num_bits": 999999}, "targets": ["Linear"]}}}},
        {"interleave_moe_layer_step": 2},
        {"mlp_only_layers": [0, 3]},
        {"attn_type_list": [0, 0, 1, 0]},
        {"layer_types": ["full_attention", "linear_attention"]},
        {"layer_types": ["newest_attention"]},
        {"layer_types": ["sliding_attention"]},
        {"layers_block_type": ["mamba"]},
        {"hybrid_override_pattern": "M-M*"},
        {"linear_attn_config": {"kda_layers": [1]}},
        {"kv_lora_rank": 512},
        {"vision_config": {"model_type": "newest"}},
    ],
)  # fmt: skip
def test_what_has_no_formula_is_not_known_and_never_counted_as_if_it_were_plain(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    with pytest.raises(Unbuildable) as error:
        of(tmp_path, SMALL, **more)
    assert "\n" not in str(error.value)
    assert str(error.value) in refused(3, tmp_path, "--task", "inference", "--gpus", "H200")


@for_each(
    ("more", "tokens", "least", "most"),
    [
        ({"sliding_window": 4096}, 4096, 0, 80),  # Llama has none: not known which
        ({"model_type": "mistral", "sliding_window": 4096}, 4096, 80, 80),
        ({"model_type": "mistral", "sliding_window": None}, 0, 0, 0),
        ({"model_type": "qwen2", "sliding_window": 131072, "use_sliding_window": False}, 0, 0, 0),
        ({"model_type": "gemma2", "sliding_window": 4096}, 4096, 40, 40),
        ({"model_type": "gemma3_text", "sliding_window": 1024, "sliding_window_pattern": 6}, 1024, 67, 67),
        ({"model_type": "gemma3_text", "sliding_window": 1024}, 1024, 67, 67),
        ({"layer_types": ["chunked_attention"] * 60 + ["full_attention"] * 20, "attention_chunk_size": 8192}, 8192, 60, 60),
    ],
)  # fmt: skip
def test_which_layers_keep_a_window(tmp_path: Path, more: dict[str, Any], tokens: int, least: int, most: int) -> None:
    shape = of(tmp_path, LLAMA_70B, **more).shape
    assert (shape.windows.tokens, shape.windows.least, shape.windows.most) == (tokens, least, most)
    for sequence in (512, 4096, 131072):
        low, high = cache(shape, Work(task="inference", sequence=sequence, batch=3))
        whole = 3 * sequence * kv_bytes(shape, "bf16")
        short = min(1.0, tokens / sequence) if tokens else 1.0
        assert low == pytest.approx(whole * (80 - most + most * short) / 80)
        assert high == pytest.approx(whole * (80 - least + least * short) / 80)


def test_deepseek_v3_has_671_billion_parameters_and_keeps_70_kb_a_token(tmp_path: Path) -> None:
    """arxiv.org/abs/2412.19437: 671 B, 37 B of them active; arxiv.org/abs/2505.09343, table 1: 70.272 KB a token."""
    found = of(tmp_path, DEEPSEEK_V3)
    assert found.count / 1e9 == pytest.approx(671, abs=0.5)
    assert parameters(found.shape, active=True) / 1e9 == pytest.approx(37, abs=1)
    assert kv_bytes(found.shape, "bf16") == 70272
    assert "MTP" in found.notes[0]


def test_a_vision_tower_counts(tmp_path: Path) -> None:
    """CLIP's ViT-L/14 has 303 million parameters (arxiv.org/abs/2103.00020, table 19: 307 with its text projection)."""
    tower = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096, "patch_size": 14}
    alone, both = of(tmp_path, SMALL), of(tmp_path, SMALL, vision_config=tower)
    assert (both.count - alone.count) / 1e6 == pytest.approx(303, rel=0.01)


def test_packed_weights_are_as_large_as_their_files(tmp_path: Path) -> None:
    tensors = {
        "model.layers.0.mlp.down_proj.qweight": ("I32", [3584, 8192]),
        "model.layers.0.mlp.down_proj.scales": ("F16", [224, 8192]),
        "model.norm.weight": ("BF16", [8192]),
        "model.experts.gate_up_proj_blocks": ("U8", [90, 16]),
    }
    header = json.dumps({name: {"dtype": d, "shape": s, "data_offsets": [0, 0]} for name, (d, s) in tensors.items()})
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header.encode())
    found = of(folder, SMALL, quantization_config={"quant_method": "newest", "bits": 4})
    assert found.stored.low == found.stored.high == 3584 * 8192 * 4 + 224 * 8192 * 2 + 8192 * 2 + 90 * 16
    assert found.stored.words == "newest, 4 bits, as stored in the files"
    assert found.count == parameters(found.shape) and not found.exact


def test_frozen_weights_beside_adapters_are_as_stored_unless_a_type_is_named(tmp_path: Path) -> None:
    found = of(tmp_path, SMALL, quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128})
    for base, size in (("", found.stored.low), ("bf16", 2.0 * found.count)):
        held = estimate(found.shape, found.count, Work(lora=16, base=base, stored=found.stored))
        frozen = next(part for part in held.parts if part.name == "frozen weights")
        assert frozen.high == pytest.approx(size, rel=1e-6)
