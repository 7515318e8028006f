"""The speed agent: on the CPU by the real torch, on a GPU that is not there, and its arithmetic."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec import convert

from doctor.patient import figures, speed_fp4, speed_lines, torch_speed
from doctor.patient import speed_plan as plan
from doctor.patient.speed_tools import Tools
from doctor.snapshot import Missing
from doctor.snapshot.measured import CopyProof, ProductProof, Rate, StepEnd, TrainingStep
from doctor.targets.agent import AgentResult
from doctor.targets.process import script_argv, start_agent, wait_agents

from ..rows import for_each
from .proving import environment, variables

HERE = Path(__file__).parent
AGENT = str(Path(torch_speed.__file__))
GUARD_S = 400.0
"""One thread computes int8 and bf16 products one by one: a slow core takes minutes, and `no time left` is no result."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
"""Two threads of torch's wait for each other at every turn where others use the cores too."""
H100 = {"name": "NVIDIA H100 80GB HBM3", "capability": [9, 0], "sms": 4, "l2_mib": 6}
KEY = "GPU-00000000-2330-4a5b-8c6d-233000000000"
OPERATIONS = {
    "linear": "contraction", "attention-scores": "contraction", "attention": "contraction", "softmax": "normalisation",
    "layer-norm": "normalisation", "gelu": "element-wise", "residual-add": "element-wise",
}  # fmt: skip


class Found:
    """What a run wrote, read strictly into the structs of the Snapshot; every number is finite."""

    def __init__(self, result: AgentResult) -> None:
        assert result.fault is None, result.stderr_tail
        assert result.noise == []
        self.lines = result.lines
        self.rates = [convert(row, Rate) for row in self.rows("rate")]
        self.training = [convert(row, TrainingStep) for row in self.rows("training")]
        self.ended = [convert(row, StepEnd) for row in self.rows("ended")]
        self.begun = [str(line["begin"]) for line in self.lines if "begin" in line]
        for rate in self.rates:
            assert all(map(math.isfinite, (rate.value, rate.spread_percent, *rate.detail.values()))), rate
            assert rate.value > 0 and rate.runs > 0 and rate.spread_percent >= 0

    def rows(self, kind: str) -> list[Any]:
        return [line[kind] for line in self.lines if kind in line]

    def rate(self, kind: str, what: str) -> Rate:
        (found,) = [rate for rate in self.rates if (rate.kind, rate.what) == (kind, what)]
        return found

    def whats(self, kind: str) -> set[str]:
        return {rate.what for rate in self.rates if rate.kind == kind}

    def end(self, step: str) -> list[tuple[str, str]]:
        return [(end.fault, end.detail) for end in self.ended if end.step == step]


def speed(argv: list[str], env: dict[str, str] = ENVIRONMENT) -> Found:
    return Found(wait_agents(start_agent(argv, GUARD_S, env))[0])


def on_cpu(with_torch: Path, *arguments: str) -> Found:
    return speed(script_argv(str(with_torch / "bin/python"), AGENT, "--device", "cpu", *arguments))


def on_gpu(with_torch: Path, env: dict[str, str], only: str = "", **gpu: Any) -> Found:
    words = [str(HERE / "gpu_on_cpu.py"), AGENT, "--device", "cuda:0", "--level", "quick"]
    words += ["--seconds", str(GUARD_S - 20)]
    words += ["--only", only] if only else []
    return speed(
        [str(with_torch / "bin/python"), *words], {**ENVIRONMENT, **env, "FAKE_GPU": json.dumps({**H100, **gpu})}
    )


# ---- On the CPU ----


@pytest.mark.torch_wheel
def test_all_of_it_on_the_cpu(with_torch: Path) -> None:
    found = on_cpu(with_torch, "--level", "quick", "--seconds", "100")
    assert found.ended == []
    assert found.whats("matmul") == {"fp32", "bf16"} and found.whats("memory") == {"copy", "triad"}
    assert found.whats("pass") == {"forward", "backward"} and found.whats("launch") == {"eager"}
    assert {rate.what: rate.group for rate in found.rates if rate.kind == "operation"} == OPERATIONS
    assert not found.whats("copy")
    assert {rate.device for rate in found.rates} == {"cpu"}
    product = found.rate("matmul", "fp32")
    assert (product.unit, product.units) == ("TFLOP/s", "cpu") and product.detail["m"] >= 128
    copy = found.rate("memory", "copy")
    assert (copy.unit, copy.units, copy.detail["mib"]) == ("GB/s", "", 64)
    loads = {rate.detail.get("load_percent", 0) for rate in found.rates}  # of a machine that others use too
    assert len(loads) == 1 and (loads == {0} or min(loads) >= 50)
    (step,) = found.training
    assert (step.device, step.batch, step.sequence, step.precision) == ("cpu", 8, 64, "fp32")
    assert step.samples_per_s == pytest.approx(step.batch * 1e3 / step.step_ms, rel=1e-4)  # type: ignore[operator]
    for part in (
        step.weights_mib,
        step.gradients_mib,
        step.optimizer_mib,
        step.activations_mib,
        step.bytes_per_parameter,
    ):
        assert part == Missing("absent", "torch does not count memory on the CPU")
    phases = [line for line in found.lines if "phase" in line]
    assert {phase["phase"] for phase in phases} == {"matmul", "memory", "training"}
    assert all(phase["start"] < phase["end"] and phase["device"] == "cpu" for phase in phases)
    (seconds,) = [line["value"] for line in found.lines if line.get("field") == "import_seconds"]
    assert seconds > 0


@pytest.mark.torch_wheel
def test_what_a_short_budget_leaves_out_is_named(with_torch: Path) -> None:
    """And what was begun is measured to its end."""
    found = on_cpu(with_torch, "--seconds", "0.9")
    left_out = [end.step for end in found.ended]
    assert left_out and {(end.fault, end.detail) for end in found.ended} == {("skipped", "no time left")}
    everything = {"matmul fp32", "matmul bf16", "memory copy", "memory triad", "launch eager", "training"}
    everything |= {f"operation {name}" for name in OPERATIONS}
    assert {*found.begun, *left_out} == everything | {"import torch", "device"}
    assert not {*found.begun} & {*left_out}
    measured = {f"{rate.kind} {rate.what}" for rate in found.rates if rate.kind not in ("pass",)}
    assert {*found.begun} - {"import torch", "device", "training"} == measured


@pytest.mark.torch_wheel
def test_a_gpu_that_torch_does_not_offer(with_torch: Path) -> None:
    found = speed(script_argv(str(with_torch / "bin/python"), AGENT, "--device", "cuda:1"))
    assert found.end("device") == [("skipped", "torch offers 0 GPUs")]
    assert not found.rates and found.ended[0].device == "cuda:1"


def test_without_torch() -> None:
    python, *rest = script_argv(sys.executable, AGENT, "--device", "cpu")
    found = speed([python, "-S", *rest])
    ((fault, detail),) = found.end("import torch")
    assert fault == "failed" and detail == "ModuleNotFoundError: No module named 'torch'"


@for_each("device", ["cpu", "cuda:0"])
def test_a_package_that_is_no_torch(tmp_path: Path, device: str) -> None:
    (tmp_path / "torch.py").write_text("hello = 1")
    argv = script_argv(sys.executable, AGENT, "--device", device)
    found = speed(argv, {**ENVIRONMENT, "PYTHONPATH": str(tmp_path)})
    assert [end.fault for end in found.ended] == ["failed"] and "has no attribute" in found.ended[0].detail


def on_made_up(fakes: Path, tmp_path: Path, device: str, only: tuple[str, ...], **told: Any) -> Found:
    python = environment(tmp_path, "speed") / "bin/python"
    argv = script_argv(str(python), AGENT, "--device", device, "--seconds", "100", "--only", ",".join(only))
    return speed(argv, variables(fakes, tmp_path, devices=1, **told))


@pytest.mark.slow
@for_each(("free_mib", "measured"), [(34, {"bf16"}), (24, set()), (96, {"bf16", "fp32"})])
def test_a_gpu_without_room_for_a_product_that_fills_it(
    fakes: Path, tmp_path: Path, free_mib: int, measured: set[str]
) -> None:
    """1,024 x 1,024 in fp32 takes 50 MiB of free memory, in bf16 30."""
    steps = ("matmul bf16", "matmul fp32")
    found = on_made_up(fakes, tmp_path / str(free_mib), "cuda:0", steps, free_mib=free_mib)
    assert found.whats("matmul") == measured
    ended = {end.step: (end.fault, "too little for a product that fills the GPU" in end.detail) for end in found.ended}
    left_out = {f"matmul {what}" for what in {"bf16", "fp32"} - measured}
    assert {step for step, end in ended.items() if end == ("skipped", True)} == left_out


@pytest.mark.slow
@for_each(
    ("told", "edges"),
    [
        ({"cpu_gflops": 0.1}, (0, 0)),  # as where every product waits for a core
        ({"cpu_gflops": 2.0}, (256, 384)),
        ({"cpu_gflops": 2.0, "cpu_stalls": [4, 0.3]}, (256, 384)),  # the first ones wait, as threads start
    ],
)
def test_a_product_too_small_to_mean_anything_is_no_rate(
    fakes: Path, tmp_path: Path, told: dict[str, Any], edges: tuple[int, int]
) -> None:
    found = on_made_up(fakes, tmp_path / str(len(told)) / str(told["cpu_gflops"]), "cpu", ("matmul fp32",), **told)
    sizes = [rate.detail["m"] for rate in found.rates]
    assert all(edges[0] <= size <= edges[1] for size in sizes) and bool(sizes) is bool(edges[0]), sizes
    why = [(end.fault, end.detail.partition(": ")[2]) for end in found.ended]
    if sizes:
        assert why == []
    else:
        assert why[0][0] == "skipped" and "128 x 128 take" in why[0][1] and "too small to give a rate" in why[0][1]


@pytest.mark.torch_wheel
def test_the_benchmark_says_where_it_cannot_measure(with_torch: Path) -> None:
    script = str(HERE.parents[1] / "benchmarks/gpu_speed.py")
    for python, why in (
        (with_torch / "bin/python", "no GPU: torch does not offer cuda:0 here"),
        (sys.executable, "this Python has no torch"),
    ):
        done = subprocess.run([str(python), script], capture_output=True, text=True, timeout=GUARD_S, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gpu_speed.py: {why}; nothing was measured\n")


@for_each(
    "words",
    [
        (),
        ("--device", "rocm"),
        ("--device", "cuda:x"),
        ("--device", "cpu", "--level", "deep"),
        ("--device", "cpu", "--seconds", "0"),
        ("--device", "cpu", "--seconds", "nan"),
    ],
    ids=str,
)
def test_a_wrong_command_line_exits_2(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        script_argv(sys.executable, AGENT, *words), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2 and not done.stdout and "error: " in done.stderr.splitlines()[-1]


# ---- On a GPU that is not there ----


@pytest.mark.torch_wheel
def test_all_of_it_on_a_gpu_with_little_free_memory(
    with_torch: Path, on_machine: Callable[..., dict[str, str]]
) -> None:
    found = on_gpu(with_torch, on_machine("healthy-h100"), free_mib=60)
    assert found.begun[:4] == ["import torch", "device", "warm-up", "matmul bf16"]
    assert {end.fault for end in found.ended} == {"skipped"} and all(
        "made smaller" in end.detail for end in found.ended if end.step != "matmul fp4"
    )
    assert found.end("matmul fp4") == [("skipped", "fp4 needs compute capability 10.0, this GPU has 9.0")]
    products = {rate.what: rate for rate in found.rates if rate.kind == "matmul"}
    assert {what: (rate.unit, rate.units) for what, rate in products.items()} == {
        "fp32": ("TFLOP/s", "cuda-cores"),
        "tf32": ("TFLOP/s", "tensor-cores"),
        "fp16": ("TFLOP/s", "tensor-cores"),
        "bf16": ("TFLOP/s", "tensor-cores"),
        "fp8": ("TFLOP/s", "tensor-cores"),
        "int8": ("TOP/s", "tensor-cores"),
    }
    # How large within what is free, and in which of three shapes, is a matter of this machine's speed.
    sizes = [(rate.detail["m"], rate.detail["n"], rate.detail["k"]) for rate in products.values()]
    assert all(rate.detail["shrunk"] == 1 for rate in products.values())
    assert all(min(size) >= 512 and max(size) < 2048 for size in sizes), sizes
    checks = [convert(row, ProductProof) for row in found.rows("product")]
    assert {check.what: check.right for check in checks} == dict.fromkeys(products, True)
    assert all(0 <= check.over_bound < 1 and not check.differing_repeats for check in checks)
    assert {check.what: check.suspect_blocks for check in checks} == {
        what: Missing("not-asked") if what in ("fp8", "int8") else 0 for what in products
    }
    assert all(0 < check.over_expected < 1 for check in checks if check.what not in ("fp8", "int8"))
    assert [(row["what"], row["right"]) for row in found.rows("copied")] == [
        (what, True) for what in ("d2d", "h2d-pinned", "d2h-pinned", "h2d-pageable", "d2h-pageable")
    ]
    assert found.whats("copy") == {"h2d-pinned", "h2d-pageable", "d2h-pinned", "d2h-pageable"}
    assert found.whats("launch") == {"eager", "graph"} and found.whats("operation") == OPERATIONS.keys()
    operation = found.rate("operation", "linear").detail
    assert operation["flops"] / operation["ms"] / 1e9 == pytest.approx(
        found.rate("operation", "linear").value, rel=1e-4
    )
    assert operation["intensity"] == pytest.approx(operation["flops"] / operation["bytes"], rel=1e-4)
    phases = [line for line in found.lines if "phase" in line]
    assert {phase["phase"] for phase in phases} == {"matmul", "memory", "copy", "training"}
    assert {(phase["key"], phase["device"]) for phase in phases} == {(KEY, "cuda:0")}
    (step,) = found.training
    assert (step.precision, step.batch, step.shrunk) == ("bf16-mixed", 1, True)
    assert found.end("training") == [("skipped", "60 MiB free: made smaller, batch 1 instead of 4")]
    mib = 4 * step.parameters / 2**20  # counted from the storages, with the half copies that autocast really keeps
    assert (step.weights_mib, step.gradients_mib) == (pytest.approx(mib, rel=1e-3), pytest.approx(mib, rel=1e-3))
    assert step.optimizer_mib == pytest.approx(2 * mib, rel=1e-3)
    assert step.expected_bytes_per_parameter == 18.0 and step.bytes_per_parameter == pytest.approx(18.0, abs=0.01)
    assert isinstance(step.activations_mib, float) and isinstance(step.peak_mib, float) and step.peak_mib > 4 * mib
    tokens, layers, width = step.batch * step.sequence, 6, 512
    assert 20 < step.activations_mib * 2**20 / (tokens * layers * width) < 60  # 34 and attention's, in the literature


@pytest.mark.torch_wheel
def test_memory_runs_out_and_the_context_breaks(with_torch: Path, on_machine: Callable[..., dict[str, str]]) -> None:
    found = on_gpu(
        with_torch,
        on_machine("healthy-h100"),
        free_mib=8192,
        largest_mib=12,
        without=["cuda.CUDAGraph", "_scaled_mm"],
        fault={
            "mm": "no kernel image is available",
            "linear": "an odd error",
            "softmax": "an odd error",
            "layer_norm": "CUBLAS_STATUS_NOT_SUPPORTED in a call",
            "_int_mm": "CUBLAS_STATUS_NOT_SUPPORTED in a call",
            "gelu": "CUDA error: an illegal memory access was encountered",
        },
    )
    assert found.end("memory copy") == [("skipped", "out of memory: made smaller, 8 instead of 1024")]
    assert found.rate("memory", "copy").detail == {"mib": 8}
    assert found.end("copy h2d-pinned") == [("skipped", "out of memory: made smaller, 8 instead of 128")]
    assert found.end("matmul bf16") == [("failed", "RuntimeError: no kernel image is available")]
    assert found.end("matmul int8")[0][0] == "skipped" and "NOT_SUPPORTED" in found.end("matmul int8")[0][1]
    assert found.end("matmul fp8") == [("skipped", "this torch has no fp8 product (torch._scaled_mm)")]
    assert found.end("training")[0][0] == "skipped"  # its layer norms are refused
    assert found.end("launch graph") == [("skipped", "this torch has no CUDA graphs")]
    assert found.end("operation linear") == [("failed", "RuntimeError: an odd error")]
    assert found.end("operation gelu")[0][0] == "failed"
    assert "the CUDA context is broken: RuntimeError: CUDA error: an illegal memory access" in found.end("device")[0][1]
    assert found.begun[-1] == "operation gelu"
    after = [end for end in found.ended if end.detail == "not measured after the error in operation gelu"]
    assert {end.step for end in after} == {
        "operation layer-norm",
        "operation residual-add",
        "operation attention-scores",
        "operation attention",
        "copy h2d-pageable",
        "copy d2h-pageable",
    }


SICK: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"mm": {"how": "zeros", "dtype": "bfloat16"}}, {"bf16": False, "fp32": True}, "wrong_blocks"),
    ({"mm": {"how": "zeros"}}, {"bf16": False, "fp32": False}, "wrong_blocks"),
    ({"mm": {"how": "flip", "dtype": "bfloat16"}}, {"bf16": False, "fp32": True}, "wrong_blocks"),
    ({"mm": {"how": "flip", "dtype": "bfloat16", "every": 7}}, {"bf16": False, "fp32": True}, "wrong_elements"),
    ({"mm": {"how": "flip", "dtype": "float32"}}, {"bf16": True, "fp32": False}, "wrong_blocks"),
    ({"mm": {"how": "zeros", "dtype": "float32", "every": 5}}, {"bf16": True, "fp32": False}, "wrong_blocks"),
    ({"mm": {"how": "order", "dtype": "bfloat16", "every": 7}}, {"bf16": True, "fp32": True}, "differing_repeats"),
    ({"mm": {"how": "infinite", "dtype": "bfloat16"}}, {"bf16": False, "fp32": True}, "wrong_blocks"),
    ({"mm": {"how": "infinite", "dtype": "bfloat16", "every": 7}}, {"bf16": False, "fp32": True}, "wrong_elements"),
    ({"mm": {"how": "tile", "dtype": "float32"}}, {"bf16": True, "fp32": True}, "suspect_blocks"),
]


@pytest.mark.torch_wheel
@for_each(("sick", "right", "shows"), SICK, ids=[f"{s['mm']['how']}-{n}" for n, (s, _, _) in enumerate(SICK)])
def test_a_product_that_is_wrong(
    with_torch: Path,
    on_machine: Callable[..., dict[str, str]],
    sick: dict[str, Any],
    right: dict[str, bool],
    shows: str,
) -> None:
    """All of it zero, one exponent bit or infinite element each time or now and then; another order of sums alone is no
    wrong result, and a tile that is a little off is suspect."""
    found = on_gpu(with_torch, on_machine("healthy-h100"), "matmul bf16,matmul fp32", free_mib=60, sick=sick)
    products = [convert(row, ProductProof) for row in found.rows("product")]
    assert {product.what: product.right for product in products} == right
    odd = {product.what for product in products if getattr(product, shows)}
    dtype = {"bfloat16": {"bf16"}, "float32": {"fp32"}}.get(sick["mm"].get("dtype", ""), {"bf16", "fp32"})
    assert odd == dtype and all(product.repeats == 20 and math.isfinite(product.over_bound) for product in products)


@pytest.mark.torch_wheel
@for_each("every", [1, 7])
def test_one_bit_in_a_product_of_8_bits(
    with_torch: Path, on_machine: Callable[..., dict[str, str]], every: int
) -> None:
    """The last one of an int8 product, which is exact; an exponent bit of an fp8 product, each time and now and then."""
    sick = {"_int_mm": {"how": "byte", "every": every}, "_scaled_mm": {"how": "flip", "every": every}}
    found = on_gpu(with_torch, on_machine("healthy-h100"), "matmul int8,matmul fp8", free_mib=60, sick=sick)
    products = {row["what"]: convert(row, ProductProof) for row in found.rows("product")}
    assert {what: product.right for what, product in products.items()} == {"int8": False, "fp8": False}
    assert products["int8"].differing_repeats > 0


@pytest.mark.torch_wheel
def test_products_of_8_bits_before_torch_2_5(with_torch: Path, on_machine: Callable[..., dict[str, str]]) -> None:
    """Its _scaled_mm returns the largest element too; where it refuses, that is told, not the keyword it did not know."""
    machine = on_machine("healthy-h100")
    found = on_gpu(with_torch, machine, "matmul fp8", free_mib=60, old_scaled_mm=True)
    (product,) = (convert(row, ProductProof) for row in found.rows("product"))
    assert (product.what, product.right) == ("fp8", True) and found.rate("matmul", "fp8").value > 0
    refused = {"_scaled_mm": "torch._scaled_mm is only supported on devices with compute capability >= 9.0"}
    found = on_gpu(with_torch, machine, "matmul fp8", free_mib=60, old_scaled_mm=True, fault=refused)
    assert found.end("matmul fp8")[-1] == ("skipped", f"RuntimeError: {refused['_scaled_mm']}")


@pytest.mark.torch_wheel
def test_sound_products_are_no_alarm_and_planted_faults_are(with_torch: Path) -> None:
    """A few of each: with benchmarks/product_check.py, whose figures stand in docs/prove.md."""
    script = str(HERE.parents[1] / "benchmarks/product_check.py")
    words = [str(with_torch / "bin/python"), "-W", "ignore", script, "--sound", "36", "--each", "5"]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "%" in line]
    found = {(what, fault): (proven, expected) for what, fault, proven, expected in rows}
    for what in ("fp32", "tf32", "bf16", "fp16"):
        assert found[what, "tile x 1.01"][1] == found[what, "64 of 4096 steps lost"][1] == "100 %"
        assert found[what, f"bit 0 of {({'bf16': 7, 'fp16': 10}).get(what, 23)} stuck"] == ("0 %", "0 %")


B200 = {"name": "NVIDIA B200", "capability": [10, 0], "sms": 4, "l2_mib": 6, "free_mib": 60}


@pytest.mark.torch_wheel
def test_a_product_of_4_bits_on_blackwell(with_torch: Path, on_machine: Callable[..., dict[str, str]]) -> None:
    """Timed, and right by a decoder of its own; a product that is zero, or has one exponent bit too many, is wrong."""
    for sick, right in (({}, True), ({"how": "zeros"}, False), ({"how": "flip", "every": 7}, False)):
        sickness = {"_scaled_mm": sick} if sick else {}
        found = on_gpu(with_torch, on_machine("healthy-h100"), "matmul fp4", **B200, sick=sickness)
        rate = found.rate("matmul", "fp4")
        assert (rate.unit, rate.units, rate.detail["transposed"]) == ("TFLOP/s", "tensor-cores", 1)
        (product,) = [convert(row, ProductProof) for row in found.rows("product")]
        assert (product.what, product.right) == ("fp4", right), (sick, product)
        assert bool(product.wrong_blocks or product.wrong_elements) is bool(sick)
        assert sick or (product.over_bound < 1 and product.differing_repeats == 0 and product.blocks > 10000)


@pytest.mark.torch_wheel
def test_a_torch_without_4_bits(with_torch: Path, on_machine: Callable[..., dict[str, str]]) -> None:
    """Older than 2.8; and one of an older CUDA, which says so itself."""
    words = "scaled_gemm with `torch.float8_e4m3fn` scales of 1x16 blocks is only supported for CUDA 12.8 and above"
    older: dict[str, Any] = {"without": ["float4_e2m1fn_x2"]}
    for gpu, expected in ((older, "this torch has no fp4 product"), ({"fault": {"_scaled_mm": words}}, words)):
        found = on_gpu(with_torch, on_machine("healthy-h100"), "matmul fp4,matmul fp32", **B200, **gpu)
        ((fault, detail),) = [end for end in found.end("matmul fp4") if "made smaller" not in end[1]]
        assert fault == "skipped" and expected in detail
        assert [row["what"] for row in found.rows("product")] == ["fp32"]


def test_sums_of_the_whole_numbers_of_4_bits_are_exact() -> None:
    """In the 14 bits that a GPU keeps of them at the least, at the longest sum that is measured."""
    values = [speed_fp4.VALUES[code] for code in speed_fp4.CODES]
    assert len(values) == 128 and all(value == int(value) for value in values) and sum(values) == 0
    assert {bit for code in speed_fp4.CODES for bit in range(4) if code >> bit & 1} == {0, 1, 2, 3}
    square = sum(value**2 for value in values) / len(values) * (1 + 4) / 2
    longest = max(one.edge_most for one in plan.PLANS.values())
    assert 8.5 * square * longest**0.5 < 2**13


@pytest.mark.torch_wheel
def test_copies_that_bring_other_bytes(with_torch: Path, on_machine: Callable[..., dict[str, str]]) -> None:
    """One bit in each, inside the device's memory as to and from the host; products have no part in it."""
    steps = "matmul fp32,memory copy,copy h2d-pinned,copy d2h-pinned"
    found = on_gpu(with_torch, on_machine("healthy-h100"), steps, free_mib=60, sick={"copy_": {"how": "byte"}})
    copies = [convert(row, CopyProof) for row in found.rows("copied")]
    assert {copy.what for copy in copies} == {"d2d", "h2d-pinned", "d2h-pinned"}
    assert {(copy.right, copy.wrong_numbers, copy.copies) for copy in copies} == {(False, 3, 3)}
    assert all(row["right"] for row in found.rows("product"))


# ---- Arithmetic ----


@for_each(
    ("what", "capability", "name", "units"),
    [
        ("fp32", None, "", "cpu"),
        ("bf16", None, "", "cpu"),
        ("fp32", (9, 0), "NVIDIA H100 80GB HBM3", "cuda-cores"),
        ("tf32", (8, 0), "NVIDIA A100-SXM4-40GB", "tensor-cores"),
        ("fp16", (7, 0), "Tesla V100-SXM2-16GB", "tensor-cores"),
        ("fp16", (6, 0), "Tesla P100-PCIE-16GB", "cuda-cores"),
        ("fp16", (7, 5), "Tesla T4", "tensor-cores"),
        ("int8", (7, 5), "Tesla T4", "tensor-cores"),
        ("int8", (6, 1), "Tesla P4", "cuda-cores"),
        ("fp16", (7, 5), "NVIDIA GeForce RTX 2060", "tensor-cores"),
        ("fp16", (7, 5), "NVIDIA GeForce GTX 1650", "cuda-cores"),
        ("int8", (7, 5), "NVIDIA GeForce GTX 1660 SUPER", "cuda-cores"),
        ("fp16", (7, 5), "NVIDIA T400 4GB", "cuda-cores"),
        ("fp16", (7, 5), "Quadro T1000 with Max-Q Design", "cuda-cores"),
        ("fp16", (7, 5), "NVIDIA GeForce MX450", "cuda-cores"),
        ("fp16", (7, 5), "Quadro RTX 4000", "tensor-cores"),
        ("fp8", (8, 9), "NVIDIA L4", "tensor-cores"),
        ("fp4", (12, 0), "NVIDIA GeForce RTX 5090", "tensor-cores"),
        ("bf16", (12, 0), "NVIDIA GeForce RTX 5090", "tensor-cores"),
    ],
)
def test_where_a_product_runs(what: str, capability: tuple[int, int] | None, name: str, units: str) -> None:
    assert plan.units_of(what, capability, name) == units


@for_each(
    ("capability", "lacking", "mixed"),
    [
        ((5, 0), {"fp16", "bf16", "tf32", "fp8", "int8", "fp4"}, "fp32"),
        ((6, 0), {"bf16", "tf32", "fp8", "int8", "fp4"}, "fp32"),
        ((7, 5), {"bf16", "tf32", "fp8", "fp4"}, "fp16"),
        ((8, 6), {"fp8", "fp4"}, "bf16"),
        ((8, 9), {"fp4"}, "bf16"),
        ((12, 0), set(), "bf16"),
        (None, set(), "fp32"),
    ],
)
def test_what_a_gpu_lacks(capability: tuple[int, int] | None, lacking: set[str], mixed: str) -> None:
    names = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
    assert {what for what in names if plan.lacking(what, capability)} == lacking
    assert plan.mixed_type(capability) == mixed


def test_a_lack_in_words() -> None:
    assert plan.lacking("tf32", (7, 5)) == "tf32 needs compute capability 8.0, this GPU has 7.5"


def test_operations_and_bytes_of_a_transformer_layer() -> None:
    """Batch 2, sequence 4, width 8, 2 heads (4 each), 2 bytes an element: 8 tokens, 16 rows of attention."""
    assert plan.operation_costs(2, 4, 8, 2, 2) == {
        "linear": ("contraction", 2 * 8 * 8 * 32, 2 * (8 * 8 + 8 * 32 + 8 * 32)),
        "attention-scores": ("contraction", 2 * 16 * 4 * 4, 2 * (2 * 64 + 64)),
        "attention": ("contraction", 4 * 16 * 4 * 4, 2 * 4 * 64),
        "softmax": ("normalisation", 5 * 64, 2 * 2 * 64),
        "layer-norm": ("normalisation", 7 * 256, 2 * (2 * 256 + 64)),
        "gelu": ("element-wise", 5 * 256, 2 * 2 * 256),
        "residual-add": ("element-wise", 256, 2 * 3 * 256),
    }


@for_each(
    ("kind", "load", "ms", "detail"),
    [
        ("cpu", 2.5, 3.0, {"size": 7, "load_percent": 250}),
        ("cpu", 0.5, 3.0, {"size": 7, "load_percent": 50}),
        ("cpu", 0.4, 5.0, {"size": 7}),
        ("gpu", 2.5, 5.0, {"size": 7}),  # what it computes does not wait for a core
    ],
)
def test_on_a_busy_cpu_the_best_run_counts(
    monkeypatch: pytest.MonkeyPatch, kind: str, load: float, ms: float, detail: dict[str, int]
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load * (os.cpu_count() or 1), 0.0, 0.0))
    written: list[Any] = []
    agent: Any = SimpleNamespace(emit=lambda **line: written.append(line), at_once=0)
    tools = Tools(agent, None, SimpleNamespace(kind=kind, name="cpu"), plan.PLANS["cpu", "quick"])
    times = [5.0, 3.0, 9.0]
    assert tools.typical(times) == ms
    tools.rate("matmul", "fp32", 2.0, "TFLOP/s", times, detail={"size": 7})
    assert [line["rate"]["detail"] for line in written] == [detail]


def test_percentiles() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [figures.percentile(values, p) for p in (0, 10, 50, 90, 100)] == pytest.approx([1.0, 1.4, 3.0, 4.6, 5.0])
    assert (figures.median([1.0, 2.0]), figures.median([7.0])) == (1.5, 7.0)
    assert figures.spread_percent(values) == pytest.approx(100 * 3.2 / 3)
    assert figures.spread_percent([2.0]) == 0


@for_each(
    ("tflops", "edge"),
    [(790.0, 8192), (8.1, 2560), (0.1, 1024), (60.0, 4864)],
    ids=str,
)
def test_a_product_takes_the_wanted_time(tflops: float, edge: int) -> None:
    assert plan.edge_for(tflops * 1e9, 4.0, 1024, 8192, 256) == edge


def test_matrices_fit_into_free_memory() -> None:
    for element, free in ((4, 60 << 20), (2, 1 << 30), (1, 8 << 30)):
        edge = plan.largest_edge(free, element, 256)
        taken = [4 * element * size**2 + 4 * size**2 for size in (edge, edge + 256)]
        assert edge % 256 == 0 and taken[0] <= 0.4 * free < taken[1]


@for_each("sms", [2, 14, 40, 72, 108, 132, 148, 170])
def test_tiles_fill_every_sm_in_whole_waves(sms: int) -> None:
    m, n = plan.wave_shape(sms, 8192)
    assert m % 128 == n % 256 == 0 and (m // 128) * (n // 256) % sms == 0
    assert 0.4 < m / 8192 < 2.5 and 0.4 < n / 8192 < 2.5


def test_a_small_square_stays_one_where_no_wave_comes_near() -> None:
    assert plan.wave_shape(131, 1024) == (1024, 1024)


@for_each(("sms", "factor"), [(1, 1), (4, 1), (14, 4), (40, 8), (58, 16), (84, 16), (132, 32), (170, 32), (2000, 64)])
def test_the_batch_grows_with_the_chip(sms: int, factor: int) -> None:
    assert plan.batch_factor(sms) == factor


class OutOfMemoryError(RuntimeError):
    """As torch names its own."""


torch_like: Any = ModuleType("torch")
torch_like.cuda = ModuleType("torch.cuda")


def of_absent(owner: object, name: str) -> AttributeError:
    """What Python raises for an attribute that is not there."""
    with pytest.raises(AttributeError) as raised:
        getattr(owner, name)
    return raised.value


@for_each(
    ("error", "memory", "refusal"),
    [
        (OutOfMemoryError("tried"), True, False),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True, False),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True, False),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory"),
            True,
            False,
        ),
        (MemoryError(), True, False),
        (RuntimeError("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmul`"), False, True),
        (RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'"), False, True),
        (NotImplementedError(), False, True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False, False),
        (of_absent(torch_like, "float4_e2m1fn_x2"), False, True),
        (of_absent(torch_like.cuda, "CUDAGraph"), False, True),
        (of_absent(figures, "mean"), False, False),  # of our own
        (of_absent(SimpleNamespace(), "nodes"), False, False),
        (of_absent(None, "t"), False, False),
    ],
)
def test_kinds_of_errors(error: BaseException, memory: bool, refusal: bool) -> None:
    assert (speed_lines.is_out_of_memory(error), speed_lines.is_refusal(error)) == (memory, refusal)


def test_figures_are_finite_and_short() -> None:
    assert figures.figure(1234567.891) == 1234570.0
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="no finite number"):
            figures.figure(value)
