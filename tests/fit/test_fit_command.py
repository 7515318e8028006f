"""`gpudoctor fit` as a user calls it: real files, real exit codes, one clear line for what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.fit.shape import parameters

from ..cli.command import gpudoctor, save
from ..healthy import healthy
from ..rows import for_each
from .test_published_numbers import LLAMA_31_8B

CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False, "max_position_embeddings": 131072,
}  # fmt: skip


def model(folder: Path, config: Any = CONFIG, weights: bytes | None = None) -> Path:
    """A model's folder."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if weights is not None:
        (folder / "model.safetensors").write_bytes(weights)
    return folder


def header(tensors: dict[str, Any], length: int | None = None) -> bytes:
    """A safetensors file without its weights."""
    text = json.dumps(tensors).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text


def asked(*arguments: object) -> dict[str, Any]:
    """The answer in JSON."""
    done = gpudoctor("fit", *map(str, arguments), "--format", "json")
    assert done.returncode in (0, 1, 3), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode
    return found


def refused(code: int, *arguments: object) -> str:
    """The one line of a refusal."""
    done = gpudoctor("fit", *map(str, arguments))
    assert done.returncode == code and not done.stdout, done.stdout
    (line,) = done.stderr.decode().splitlines()
    return line


def test_a_config_gives_the_model_to_the_last_parameter(tmp_path: Path) -> None:
    found = asked(model(tmp_path / "m"), "--gpus", "H200")
    assert found["parameters"] == parameters(LLAMA_31_8B) and not found["notes"]
    assert found["shape"]["kv_heads"] == 8


def test_headers_of_weights_are_counted_and_beat_the_config(tmp_path: Path) -> None:
    tensors = {"a": {"dtype": "BF16", "shape": [1000, 3000], "data_offsets": [0, 6_000_000]}, "__metadata__": {}}
    found = asked(model(tmp_path / "m", weights=header(tensors) + b"\0" * 8), "--gpus", "H200")
    assert found["parameters"] == 3_000_000
    assert "its weights" in found["notes"][0], "and the difference is shown"


def test_the_first_way_that_fits_is_named_and_decides_the_exit_code() -> None:
    found = asked("--params", "10e9", "--gpus", "8xA100-40GB")
    assert found["fits"] is False and found["first_that_fits"] == "ZeRO 3 / FSDP" and found["exit_code"] == 0
    assert asked("--params", "1e12", "--gpus", "8xA100-40GB")["exit_code"] == 1
    assert asked("--params", "125M", "--gpus", "T4")["fits"] is True


@pytest.mark.slow
def test_the_largest_batch_fits_and_one_more_does_not() -> None:
    words = ("--params", "1.3B", "--gpus", "A100-80GB", "--seq", 1024)
    most = asked(*words, "--solve", "batch")["solved"]
    assert most["ended_by"] == "activations" and 0 < most["sure"] <= most["perhaps"]
    assert asked(*words, "--batch", most["sure"])["fits"] is True
    assert asked(*words, "--batch", most["sure"] + 1)["fits"] is not True
    assert asked(*words, "--batch", most["perhaps"] + 1)["fits"] is False


def test_requests_at_once_end_with_the_kv_cache_and_more_memory_may_be_used() -> None:
    words = ("--params", "7B", "--task", "inference", "--gpus", "A10", "--solve", "concurrency")
    some, more = (asked(*words, *share)["solved"] for share in ((), ("--gpu-memory-utilization", "0.95")))
    assert some["ended_by"] == "KV cache" and 0 < some["sure"] < more["sure"]


def test_the_gpus_of_a_report_are_taken_with_what_is_free(tmp_path: Path) -> None:
    found = asked("--params", "1B", "--from", save(tmp_path, healthy()))
    assert found["gpus"]["count"] == 1 and found["gpus"]["memory"] > 1 << 33


def test_the_page_says_each_part_and_never_a_bare_number() -> None:
    text = gpudoctor("fit", "--params", "7B", "--gpus", "A100-80GB").stdout.decode()
    for words in ("does not fit on one GPU", "optimizer states", "16 (ZeRO) to 20 (SageMaker)", "CUDA context", "GiB"):
        assert words in text, words
    assert max(map(len, text.splitlines())) <= 100


def test_gradients_that_are_summed_stay_and_only_shards_are_sent_for_each_batch() -> None:
    """PyTorch frees gradients after a step, so a step of several batches holds them beside the activations."""
    words = ("--params", "1.3B", "--gpus", "4xA100-40GB", "--seq", 1024)
    one, four = (asked(*words, *more) for more in ((), ("--accumulation", 4)))
    parts = {part["name"]: part for part in one["memory"]["parts"]}
    kept = min(parts["gradients"]["low"], parts["activations"]["low"])
    assert four["memory"]["low"] - one["memory"]["low"] == pytest.approx(kept, rel=1e-6)
    before, after = ({way["name"]: way["sent_per_step"] for way in found["ways"]} for found in (one, four))
    assert after["none"] == before["none"]
    assert after["ZeRO 3 / FSDP"] == 4 * before["ZeRO 3 / FSDP"]
    assert four["pace"]["gpu_ms"][0] > 3.5 * one["pace"]["gpu_ms"][0]


@pytest.mark.slow
def test_where_nothing_fits_the_gpus_are_counted_that_would_hold_it() -> None:
    for size, code, words in (
        ("1T", 1, "It would fit on {} such GPUs, with {}."),
        ("175B", 0, "fits on {} such GPUs, with {}."),
    ):
        given = ("--params", size, "--gpus")
        few = asked(*given, "8xA100-40GB")
        count, way = few["enough"]["gpus"], few["enough"]["way"]
        assert few["exit_code"] == code
        assert asked(*given, f"{count}xA100-40GB")["first_that_fits"] == way
        assert asked(*given, f"{count // 2}xA100-40GB")["first_that_fits"] in (None, "LoRA, ZeRO 3 / FSDP")
        page = " ".join(gpudoctor("fit", *given, "8xA100-40GB").stdout.decode().split())
        assert words.format(count, way) in page


@pytest.mark.slow
def test_it_fits_where_it_fits_on_every_size() -> None:
    """Exit 3 where the board decides; each size is answered as it is alone."""
    for params, code in (("3B", 0), ("30B", 3)):
        words = ("--params", params, "--gpus")
        found = asked(*words, "V100")
        alone = [asked(*words, name) for name in ("V100-16GB", "V100-32GB")]
        assert (
            found["exit_code"]
            == code
            == (alone[0]["exit_code"] if alone[0]["exit_code"] == alone[1]["exit_code"] else 3)
        ), params
        assert found["first_that_fits"] == alone[0]["first_that_fits"]
        assert found["sizes"][0]["way"] == (alone[1]["first_that_fits"] or "")
    page = " ".join(gpudoctor("fit", "--params", "30B", "--gpus", "V100").stdout.decode().split())
    assert "the smallest of 2 memory sizes" in page and "V100-SXM2-32GB with 32.0 GiB: it fits with QLoRA" in page
    solved = asked("--params", "1B", "--task", "inference", "--gpus", "A100", "--solve", "concurrency")
    most = [solved["solved"]["sure"], *(one["solved"]["sure"] for one in solved["sizes"])]
    assert most == sorted(set(most)) and len(most) == 3


@pytest.mark.slow
def test_a_size_that_is_not_listed_is_said_with_what_is() -> None:
    line = refused(3, "--params", "7B", "--gpus", "RTX 3080 12GB")
    assert "RTX 3080 is listed with 10 GB; for a different size write RTX 3080=12GB" in line
    assert asked("--params", "125M", "--gpus", "RTX 3080=12GB")["gpus"]["memory"] == 12 << 30
    assert "80 and 94 GB" in refused(3, "--params", "7B", "--gpus", "H100-64GB")


@for_each(
    ("config", "code", "words"),
    [
        ({**CONFIG, "model_type": "mamba"}, 3, "gpudoctor has no memory formula for state space models"),
        ({**CONFIG, "hidden_size": "wide"}, 2, "hidden_size is 'wide'; it must be a whole number"),
        ({**CONFIG, "hidden_size": None}, 2, "hidden_size is missing"),
        (
            {**CONFIG, "num_hidden_layers": 10**15},
            2,
            "num_hidden_layers is '1000000000000000'; it must be a whole number",
        ),
        ({**CONFIG, "num_attention_heads": 0}, 2, "num_attention_heads is missing"),
        ([], 2, "must be a JSON object"),
    ],
    quick=3,
)
def test_a_config_that_cannot_be_used(tmp_path: Path, config: Any, code: int, words: str) -> None:
    assert words in refused(code, model(tmp_path / "m", config), "--gpus", "H200")


@pytest.mark.slow
@for_each(
    ("weights", "words"),
    [
        (b"\xff" * 7 + b"\x7f" + b"{}", "the header gives"),
        (b"\0\0", "the header gives"),
        (header({}, length=1 << 63), "the header gives"),
        (header({"a": {"dtype": "F32", "shape": [-1]}}), "has no shape"),
        (header({"a": 3}), "has no shape"),
        (header({"a": {"dtype": "F32"}}), "has no shape"),
        (header({"a": {"dtype": 32, "shape": [1]}}), "has no shape"),
        (header({"a": {"dtype": "F32", "shape": [1] * 17}}), "has no shape"),
        (header({"a": {"dtype": "F32", "shape": [True]}}), "has no shape"),
        (header({"a": {"dtype": "F32", "shape": [1 << 40]}}), "has no shape"),
        ((5).to_bytes(8, "little") + b"[1,2]", "is not a JSON object"),
        ((5).to_bytes(8, "little") + b"{{{{{", "is not valid JSON"),
    ],
    quick=4,
)
def test_a_header_that_cannot_be_used(tmp_path: Path, weights: bytes, words: str) -> None:
    assert words in refused(2, model(tmp_path / "m", weights=weights), "--gpus", "H200")


def test_an_unknown_family_is_judged_by_its_widths_with_a_wider_range(tmp_path: Path) -> None:
    plain = asked(model(tmp_path / "a"), "--gpus", "H200")
    other = asked(model(tmp_path / "b", {**CONFIG, "model_type": "newest"}), "--gpus", "H200")
    assert "is unknown" in other["notes"][0]
    assert other["memory"]["low"] < plain["memory"]["low"] and other["memory"]["high"] >= plain["memory"]["high"]


@for_each(
    ("arguments", "code", "words"),
    [
        ("--gpus H200", 2, "no model given"),
        ("--params 7B --gpus H100:9g.9gb", 2, "has no MIG profile"),
        ("--params 7B --gpus MI300X", 3, "is not listed"),
        ("--params 7B --gpus 0xH200", 2, "name GPUs"),
        ("--params 7B --gpus Own=0GB", 3, "is not listed"),
        ("--params 7B --gpus H200 --compare Own", 3, "give its memory, such as Own=24GB"),
        ("--params 7B --gpus A100-SXM4-40GB:9g.9gb", 2, "has no MIG profile"),
        ("--params many --gpus H200", 2, "expected a number of parameters"),
        ("--params 1e30 --gpus H200", 2, "expected a number of parameters"),
        ("/nowhere/at/all --gpus H200", 2, "no such file or folder"),
        ("--params 7B --gpus H200 --dtype q4_k_m", 2, "is for inference"),
        ("--params 7B --gpus H200 --base nf4", 2, "--lora"),
        ("--params 7B --gpus H200 --task inference --lora 8", 2, ": --lora is for training"),
        ("--params 7B --gpus H200 --solve concurrency", 2, "is for --task inference"),
        ("--params 7B --gpus H200 --task inference --accumulation 4", 2, ": --accumulation is for training"),
        ("--params 7B --gpus H200 --task inference --optimizer sgd", 2, ": --optimizer is for training"),
        ("--params 7B --gpus H200 --task inference --checkpointing", 2, ": --checkpointing is for training"),
        ("--params 7B --gpus H200 --task inference --meta-device", 2, ": --meta-device is for training"),
        ("--params 7B --gpus H200 --task inference --lora 1", 2, ": --lora is for training"),
        (
            "--params 7B --gpus H200 --task inference --lora 8 --rules zero",
            2,
            ": --lora and --rules are for training",
        ),
        ("--params 7B --gpus 8xH200 --network 400", 2, "--network is for several nodes: 8 x H200"),
        ("--params 7B --gpus H200 --compare 2xL40S --network 400", 2, "--network is for several nodes: 1 x H200"),
        ("--params 7B --gpus H200 --kv-dtype fp8", 2, "--kv-dtype is for --task inference"),
        ("--params 7B --gpus H200 --python python3", 2, "--python requires --meta-device or --model"),
        ("--params 7B --gpus 4xA100-40GB,2xRTX-3090", 2, "use one GPU model at a time"),
    ],
    quick=4,
)
def test_what_contradicts_itself_or_is_not_known(arguments: str, code: int, words: str) -> None:
    assert words in refused(code, *arguments.split())


def test_a_model_of_1e15_parameters_has_an_answer() -> None:
    found = asked("--params", "1e15", "--gpus", "8xH200")
    assert found["exit_code"] == 1 and found["first_that_fits"] is None
