"""`fit` against memory that was measured: published by others, and trainings that run here on the CPU."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from doctor.fit.memory import MIB, estimate
from doctor.fit.work import Work

from ..cli.command import gpudoctor
from ..rows import for_each
from .test_fit_command import asked, model, refused
from .test_published_numbers import BERT_LARGE

TRAININGS = Path(__file__).parent / "trainings.py"


@for_each(
    ("dtype", "batch", "checkpointing", "optimizer", "mib"),
    [
        ("fp32", 4, False, "adamw", 14949), ("fp32", 1, False, "adamw", 8681), ("fp32", 1, True, "adamw", 6775),
        ("mixed", 1, True, "adamw", 7275), ("mixed", 1, True, "adamw-8bit", 5363), ("fp32", 4, False, "adamw-8bit", 13085),
    ],
)  # fmt: skip
def test_bert_large_on_a_v100(dtype: str, batch: int, checkpointing: bool, optimizer: str, mib: int) -> None:
    """huggingface.co/docs/transformers: training on one GPU; 512 tokens, 1343 MB of context, by nvidia-smi."""
    work = Work(dtype=dtype, batch=batch, checkpointing=checkpointing, optimizer=optimizer, sequence=512,
                attention="eager", context=1343 * MIB, rule="hugging-face" if dtype == "mixed" else "")  # fmt: skip
    held = estimate(BERT_LARGE, 335_141_888, work)
    assert held.low / MIB <= mib <= held.high / MIB
    assert (held.low + held.high) / 2 / MIB == pytest.approx(mib, rel=0.1)


BERT_CONFIG = {
    "model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
}  # fmt: skip


@pytest.mark.torch_wheel
def test_bert_large_by_the_meta_device_is_14546_mb(with_torch: Path, tmp_path: Path) -> None:
    words = (
        "--dtype",
        "fp32",
        "--batch",
        4,
        "--seq",
        512,
        "--attention",
        "eager",
        "--meta-device",
        "--gpus",
        "V100-16GB",
    )
    found = asked(model(tmp_path / "m", BERT_CONFIG), *words, "--python", with_torch)
    parts = {part["name"]: part["high"] for part in found["memory"]["parts"]}
    held = sum(parts[name] for name in ("weights", "gradients", "optimizer", "activations")) / MIB + 1343
    assert held == pytest.approx(14546, rel=0.01) and held / 14949 - 1 == pytest.approx(-0.027, abs=0.01)


def of_model(found: dict[str, Any]) -> float:
    """Bytes of weights, gradients, AdamW's states and activations where gradients are freed after each step."""
    parts = {part["name"]: part["low"] for part in found["memory"]["parts"]}
    freed = min(parts["gradients"], parts["activations"])
    return float(sum(parts[name] for name in ("weights", "gradients", "optimizer", "activations")) - freed)


@pytest.mark.torch_wheel
@for_each("name", ["Encoder", "Decoder", "Convolutions"])
def test_a_training_on_the_cpu_holds_what_was_counted(with_torch: Path, name: str) -> None:
    """By the live memory events of torch's profiler, at their peak."""
    ran = subprocess.run([with_torch / "bin/python", TRAININGS, name, "8"], capture_output=True, text=True, check=True)
    words = ("--dtype", "fp32", "--batch", 8, "--seq", 256, "--gpus", "T4", "--python", with_torch)
    found = asked("--model", f"{TRAININGS}:{name}", *words)
    assert of_model(found) == pytest.approx(json.loads(ran.stdout)["peak"], rel=0.1)


CONFIG = {
    "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
    "num_key_value_heads": 2, "intermediate_size": 1408, "vocab_size": 8000,
}  # fmt: skip
EXPERTS = {**CONFIG, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}


@pytest.mark.torch_wheel
@for_each(
    ("config", "dtype"),
    [(CONFIG, "mixed"), (EXPERTS, "bf16"), ({**CONFIG, "model_type": "gpt2"}, "fp32")],
)
def test_the_closed_form_and_the_pass_on_the_meta_device_agree(
    with_torch: Path, tmp_path: Path, config: dict[str, Any], dtype: str
) -> None:
    words = (model(tmp_path / "m", config), "--dtype", dtype, "--seq", 512, "--batch", 2, "--gpus", "T4")
    held = []
    for more in ((), ("--meta-device", "--python", with_torch)):
        parts = {part["name"]: part for part in asked(*words, *more)["memory"]["parts"]}
        held.append([sum(parts[n][end] for n in ("activations", "logits") if n in parts) for end in ("low", "high")])
    assert held[0] == pytest.approx(held[1], rel=0.2)


OWN = {
    "raises": "def __init__(self): super().__init__(); raise RuntimeError('no weights here')",
    "number": "def __init__(self): super().__init__(); self.a = torch.nn.Linear(2, 2)\n    def forward(self, x): return 3",
}


@pytest.mark.torch_wheel
def test_a_class_that_cannot_be_counted(with_torch: Path, tmp_path: Path) -> None:
    python = ("--gpus", "T4", "--python", with_torch)
    for name, body in OWN.items():
        (tmp_path / f"{name}.py").write_text(f"import torch\nclass Net(torch.nn.Module):\n    {body}\n")
    (tmp_path / "word.py").write_text("Net = 'a word'\n")
    assert "no weights here" in refused(3, "--model", tmp_path / "raises.py:Net", *python)
    assert "no result that a gradient" in refused(3, "--model", tmp_path / "number.py:Net", *python)
    assert "has no class Net" in refused(3, "--model", tmp_path / "word.py:Net", *python)
    assert "has no class Other" in refused(3, "--model", tmp_path / "number.py:Other", *python)


@pytest.mark.slow
def test_a_python_without_torch_is_told(tmp_path: Path) -> None:
    done = gpudoctor("fit", "--params", "1B", "--gpus", "T4", "--meta-device", env={"PATH": "/usr/bin:/bin"})
    if done.returncode == 3:
        (line,) = done.stderr.decode().splitlines()
        assert "the meta-device step failed" in line or "no Python with torch was found" in line
    else:
        assert done.returncode in (0, 1), done.stderr
    assert "expected FILE:CLASS" in refused(2, "--model", tmp_path, "--gpus", "T4")
    assert "nowhere.py: No such file" in refused(2, "--model", "nowhere.py:Net", "--gpus", "T4")
    assert "counts the parameters itself" in refused(2, "--model", "a.py:Net", "--params", "7B", "--gpus", "T4")
