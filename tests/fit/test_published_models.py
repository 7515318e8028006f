"""Weights and KV caches of published models (benchmarks/fit_models.jsonl), and the rules that they showed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.fit_models import models, rows
from doctor.fit.memory import kv_bytes
from doctor.fit.shape import parameters

from ..rows import Faults, for_each
from .test_fit_command import asked
from .test_stored import DEEPSEEK_V3, SMALL, of

UNKNOWN = ("Qwen3.5 18B-A3B REAP", "Molmo 7B-D NF4", "Flan-T5 XL", "Mamba 2.8B in fp32", "DeepSeek-OCR 2")
"""Kinds of layers and towers without formulas: not known, never a figure."""
WRONG = ("LocateAnything 3B (Qwen2)",)
"""Its files hold a second copy of an embedding that its config ties."""
PLAIN = {"hidden_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 32, "vocab_size": 65024}


def test_published_weights_within_2_percent_and_kv_caches_within_3() -> None:
    found = models()
    with Faults() as faults:
        for one in found:
            with faults.of(one.model):
                assert isinstance(one.given, str) == (one.model in UNKNOWN), one.given
                assert one.right == (one.model not in UNKNOWN + WRONG), one.off
    answered = [one for one in found if not isinstance(one.given, str)]
    assert len({one.model for one in answered}) >= 40 and len({one.kind for one in answered}) >= 12
    assert 2 * sum(row["half"] == "after" for row in rows()) >= len(rows())
    assert all(row["source"].startswith("https://") for row in rows())


@for_each(
    ("more", "heads"),
    [
        ({"model_type": "falcon", "multi_query": True, "num_kv_heads": 32}, 1),  # Falcon 7B has 71 there, and one
        ({"model_type": "falcon", "multi_query": True, "num_kv_heads": 8, "new_decoder_architecture": True}, 8),
        ({"model_type": "falcon", "multi_query": False, "num_kv_heads": 32}, 32),
        ({"model_type": "RefinedWeb", "n_head_kv": 8}, 8),
        ({"model_type": "gpt_bigcode", "multi_query": True}, 1),
        ({"model_type": "chatglm", "multi_query_attention": True, "multi_query_group_num": 2}, 2),
        ({"model_type": "chatglm", "multi_query_attention": False, "multi_query_group_num": 2}, 32),
    ],
)
def test_heads_of_keys_and_values_where_a_flag_says_how_many(tmp_path: Path, more: dict[str, Any], heads: int) -> None:
    found = of(tmp_path, {**PLAIN, **more})
    assert found.shape.kv_heads == heads
    assert kv_bytes(found.shape, "bf16") == 4 * 2 * heads * 128 * 2


@for_each("key", ["text_config", "llm_config", "language_config"])
@for_each(("family", "kv_heads", "ffn"), [("llama", 32, 11008), ("mistral", 8, 14336)])
def test_an_inner_config_has_the_defaults_of_its_class(
    tmp_path: Path, key: str, family: str, kv_heads: int, ffn: int
) -> None:
    """LLaVA 1.5 7B names a vocabulary of 32064 and no width."""
    found = of(tmp_path, {"model_type": "llava", key: {"model_type": family, "vocab_size": 32064}})
    shape = found.shape
    assert (shape.hidden, shape.layers, shape.kv_heads, shape.ffn, shape.vocab) == (4096, 32, kv_heads, ffn, 32064)


def test_mtp_layers_are_the_high_end_of_weights_and_no_part_of_the_cache(tmp_path: Path) -> None:
    """DeepSeek-V3: 671 billion without them, 11.5 more (github.com/deepseek-ai/DeepSeek-V3, README_WEIGHTS)."""
    found = of(tmp_path, DEEPSEEK_V3)
    assert (found.most - found.count) / 1e9 == pytest.approx(11.5, abs=0.2)
    assert kv_bytes(found.shape, "bf16") == 70272
    plain = of(tmp_path / "plain", {**DEEPSEEK_V3, "num_nextn_predict_layers": 0})
    assert plain.most == 0 and plain.count == found.count
    answer = asked(tmp_path, "--task", "inference", "--gpus", "8xB200")
    weights = next(part for part in answer["memory"]["parts"] if part["name"] == "weights")
    assert (weights["low"], weights["high"]) == (2.0 * found.count, 2.0 * found.most)


@for_each(
    ("architecture", "head"),
    [
        ("LlamaForCausalLM", True), ("GPT2LMHeadModel", True), ("LlamaForSequenceClassification", False),
        ("Qwen2Model", False), ("GPTNeoXRewardModel", False), ("LlamaForTokenClassification", False),
    ],
)  # fmt: skip
def test_only_a_language_model_has_an_output_over_the_vocabulary(tmp_path: Path, architecture: str, head: bool) -> None:
    found = of(tmp_path, SMALL, architectures=[architecture])
    assert found.shape.head is head
    assert found.count == parameters(of(tmp_path, SMALL).shape) - (0 if head else 8192 * 128256)


def test_of_an_unknown_family_also_quantised_weights_are_a_range(tmp_path: Path) -> None:
    for_all = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    known = of(tmp_path, SMALL, quantization_config=for_all).stored
    found = of(tmp_path, SMALL, model_type="newest", quantization_config=for_all).stored
    assert found.low < known.low == known.high == found.high


def test_a_class_named_model_that_generates_has_an_output(tmp_path: Path) -> None:
    """ChatGLM and GLM-4-9B say `ChatGLMModel`, and what generates text in their `auto_map`."""
    code = {"AutoModelForCausalLM": "modeling.ForConditionalGeneration"}
    assert of(tmp_path, SMALL, architectures=["ChatGLMModel"], auto_map=code).shape.head is True
    assert of(tmp_path, SMALL, architectures=["Qwen2Model"], auto_map={"AutoModel": "modeling.M"}).shape.head is False


def test_gemma_3_leaves_out_what_its_class_has(tmp_path: Path) -> None:
    """Gemma3TextConfig of transformers: 262,208 tokens, 8 heads, 4 of keys and values, of 256."""
    text = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "model_type": "gemma3_text"}
    found = of(tmp_path, {"model_type": "gemma3", "text_config": text}).shape
    assert (found.vocab, found.heads, found.kv_heads) == (262208, 8, 4)


def test_a_range_of_weights_is_one_in_every_way_and_solution(tmp_path: Path) -> None:
    """Of an unknown family: what may fit by the fewest parameters is not said not to fit."""
    wide = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32}
    of(tmp_path, {"model_type": "newest", "vocab_size": 128256, "num_key_value_heads": 8, **wide})
    for more in ((), ("--solve", "concurrency"), ("--compare", "RTX 4090")):
        found = asked(tmp_path, "--gpus", "RTX 4080", "--task", "inference", *more)
        assert found["exit_code"] == 3 and found["ways"][0]["low"] < 12 * 2**30, found["ways"][0]
