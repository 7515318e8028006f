"""Memory and sizes against numbers that others have published; each test is named after where the number stands."""

from __future__ import annotations

import pytest

from compat_matrix import Matrix
from doctor.fit.cards import boards
from doctor.fit.ladder import ladder
from doctor.fit.memory import GIB, MIB, activations, estimate, kv_bytes, of_layer, per_parameter
from doctor.fit.rules import rules
from doctor.fit.shape import Shape, parameters, typical
from doctor.fit.work import Work

from ..rows import for_each

GPT2 = Shape(layers=12, hidden=768, heads=12, kv_heads=12, ffn=3072, vocab=50257, gated=False, tied=True, bias=True,
             positions=1024, dropout=True)  # fmt: skip
BERT_LARGE = Shape(layers=24, hidden=1024, heads=16, kv_heads=16, ffn=4096, vocab=30522, gated=False, bias=True,
                   positions=512, kinds=2, pooler=True, head=False, dropout=True)  # fmt: skip
LLAMA_7B = Shape(layers=32, hidden=4096, heads=32, kv_heads=32, ffn=11008, vocab=32000)
LLAMA_70B = Shape(layers=80, hidden=8192, heads=64, kv_heads=8, ffn=28672, vocab=32000)
LLAMA_31_8B = Shape(layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256)
MIXTRAL = Shape(layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=32000, experts=8, active_experts=2)


@for_each(
    ("shape", "count"),
    [
        (GPT2, 124_439_808), (BERT_LARGE, 335_141_888), (LLAMA_7B, 6_738_415_616), (LLAMA_70B, 68_976_648_192),
        (LLAMA_31_8B, 8_030_261_248), (MIXTRAL, 46_702_792_704),
    ],
)  # fmt: skip
def test_parameters_of_published_models_to_the_last_one(shape: Shape, count: int) -> None:
    assert parameters(shape) == count


def test_mixtral_s_active_parameters() -> None:
    assert parameters(MIXTRAL, active=True) == 12_879_925_248


def test_gpt_3_has_174_6_billion_parameters_and_350_gb_in_half_precision() -> None:
    gpt3 = Shape(layers=96, hidden=12288, heads=96, kv_heads=96, ffn=49152, vocab=50257, gated=False, tied=True,
                 bias=True, positions=2048)  # fmt: skip
    assert parameters(gpt3) / 1e9 == pytest.approx(174.6, abs=0.05)
    held = estimate(gpt3, parameters(gpt3), Work(task="inference", dtype="fp16"))
    assert held.states[0] / 1e9 == pytest.approx(350, rel=0.005)


def test_sagemaker_20_bytes_a_parameter_and_10_billion_are_200_gb() -> None:
    (rule,) = (rule for rule in rules().rules if rule.name == "sagemaker")
    assert sorted(rule.states.values()) == [2, 2, 4, 4, 8] and rule.bytes == 20
    held = estimate(typical(10e9), 10e9, Work(rule="sagemaker"))
    assert held.states == (200e9, 200e9)


@for_each(("name", "each"), [("hugging-face", 18), ("zero", 16), ("megatron", 18)])
def test_bytes_a_parameter_of_the_other_schools(name: str, each: int) -> None:
    (rule,) = (rule for rule in rules().rules if rule.name == name)
    assert sum(per_parameter(rule, Work()).values()) == each


@for_each(("optimizer", "less"), [("adamw-8bit", 6), ("sgd-momentum", 4), ("sgd", 8)])
def test_hugging_face_8_bit_adamw_takes_2_bytes_and_sgd_with_momentum_4(optimizer: str, less: int) -> None:
    (rule,) = (rule for rule in rules().rules if rule.name == "hugging-face")
    assert sum(per_parameter(rule, Work(optimizer=optimizer)).values()) == 18 - less


@for_each(("sequence", "heads", "hidden"), [(1024, 16, 1024), (2048, 96, 12288), (2048, 128, 20480)])
def test_korthikanti_34_sbh_and_5_as_per_layer(sequence: int, heads: int, hidden: int) -> None:
    shape = Shape(layers=1, hidden=hidden, heads=heads, kv_heads=heads, ffn=4 * hidden, vocab=50_000, gated=False,
                  dropout=True)  # fmt: skip
    assert of_layer(shape, sequence, 2) / hidden == pytest.approx(34 + 5 * heads * sequence / hidden)


def test_bert_large_on_a_v100_at_batch_4_and_512_tokens_takes_14949_mb() -> None:
    held = estimate(BERT_LARGE, 335_141_888, Work(dtype="fp32", sequence=512, batch=4))
    assert held.low / MIB < 14949 and held.high / MIB == pytest.approx(14949, rel=0.1)
    weights = next(part for part in held.parts if part.name == "weights")
    assert weights.high / MIB == pytest.approx(2631 - 1343, rel=0.02), "the model alone, measured after the context"
    context = next(part for part in held.parts if part.name == "CUDA context")
    assert context.low / MIB < 1343 < context.high / MIB


def test_keys_and_values_of_published_models_per_token() -> None:
    assert kv_bytes(LLAMA_7B, "bf16") == 512 * 1024
    assert kv_bytes(LLAMA_70B, "bf16") == 320 * 1024
    assert kv_bytes(LLAMA_31_8B, "fp8") == 64 * 1024


@for_each(("dtype", "gib"), [("q4_k_m", 4.58), ("q8_0", 7.95), ("q6_k", 6.14), ("q2_k", 2.95), ("fp16", 14.96)])
def test_llama_cpp_s_sizes_of_llama_3_1_8b(dtype: str, gib: float) -> None:
    held = estimate(LLAMA_31_8B, 8_030_261_248, Work(task="inference", dtype=dtype))
    assert held.states[0] / GIB == pytest.approx(gib, abs=0.02)


def test_llama_3_1_8b_in_awq_is_a_file_of_5_7_gb() -> None:
    held = estimate(LLAMA_31_8B, 8_030_261_248, Work(task="inference", dtype="awq"))
    assert held.states[0] / 1e9 == pytest.approx(5.73, rel=0.02)


def test_checkpointing_keeps_the_inputs_of_layers_and_one_layer() -> None:
    plain, spared = (activations(LLAMA_7B, Work(checkpointing=on))[0] for on in (False, True))
    inputs = 2048 * 4096 * 2 * 32
    assert spared.high == pytest.approx(inputs + plain.high / 32)


def test_zero_3_of_7_5_billion_parameters_on_64_gpus_holds_1_9_gb_of_states() -> None:
    """Figure 1 of the ZeRO paper: 120 GB, 31.4, 16.6 and 1.9 GB of states with stages 1, 2, 3."""
    board = boards(Matrix.load(), "64xV100-32GB")[0]
    found = {rung.name: rung for rung in ladder(typical(7.5e9), 7.5e9, Work(rule="zero"), board)}
    for name, gb in (("none", 120), ("ZeRO 1", 31.4), ("ZeRO 2", 16.6), ("ZeRO 3 / FSDP", 1.9)):
        assert found[name].held.states[1] / 1e9 == pytest.approx(gb, rel=0.03), name


def test_ring_all_reduce_sends_2_n_minus_1_over_n_of_the_gradients_and_zero_3_half_more() -> None:
    found = {rung.name: rung for rung in ladder(typical(1e9), 1e9, Work(), boards(Matrix.load(), "4xL40S")[0])}
    assert found["none"].sent == pytest.approx(2 * 3 / 4 * 2e9)
    assert found["ZeRO 3 / FSDP"].sent == pytest.approx(1.5 * found["none"].sent)
    assert found["none"].ms == pytest.approx(found["none"].sent / 31.5e9 * 1e3), "PCIe generation 4, 16 lanes"


@for_each(
    ("words", "gib", "gb_s"),
    [
        ("8xA100-40GB", 40, 300), ("V100-16GB", 15.8, 0), ("2x RTX 3090", 24, 56.25), ("4x RTX 3090", 24, 31.5),
        ("8xH100-80GB", 79.6, 450), ("4090", 24, 31.5), ("A100-SXM4-40GB:1g.5gb", 4.75, 0), ("72xGB200", 185, 900),
    ],
)  # fmt: skip
def test_gpus_in_words_their_memory_and_the_link_that_joins_them(words: str, gib: float, gb_s: float) -> None:
    board = boards(Matrix.load(), words)[0]
    assert board.memory / GIB == pytest.approx(gib, abs=2)
    assert not gb_s or board.link_gb_s == gb_s


@pytest.mark.slow
def test_a_typical_shape_has_about_the_parameters_that_were_asked_for() -> None:
    off = [count for count in (125e6, 350e6, 1.3e9, 2.7e9, 7e9, 13e9, 34e9, 70e9, 175e9, 405e9, 1e12)
           if abs(parameters(typical(count)) / count - 1) > 0.06]  # fmt: skip
    assert not off
