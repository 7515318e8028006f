"""The torch proof: on the real CPU wheel, and on a fake torch whose GPUs do everything that GPUs do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.probes.measured import parse_measured
from doctor.snapshot import Missing
from doctor.snapshot.measured import TorchProof

from ..rows import for_each
from .fake_site import environment, fields, rows, run

NO_IMAGE = "CUDA error: no kernel image is available for execution on the device"
ILLEGAL = "CUDA error: an illegal memory access was encountered"
BUSY = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
CUDNN = "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"


def proofs(*results: Any) -> dict[str, TorchProof]:
    """Device to its proof, as the Snapshot has it."""
    measured = parse_measured({"torch_proof": list(results)}, {"level": "quick", "device": "cuda"})
    assert not isinstance(measured.torch, Missing), measured
    assert not [step for step in measured.ended if "cannot be read" in step.detail]
    return {proof.device: proof for proof in measured.torch}


def proof_of(tmp_path: Path, **told: Any) -> TorchProof:
    result = run("torch_proof", environment(tmp_path, **told), "--device", "cuda")
    assert result.fault is None, result.stderr_tail
    (proof,) = proofs(result).values()
    return proof


@pytest.mark.torch_wheel
def test_the_cpu_by_the_real_torch(with_torch: Path) -> None:
    result = run("torch_proof", dict(os.environ), "--device", "cpu", python=str(with_torch / "bin/python"))
    assert (result.fault, result.noise) == (None, [])
    proof = proofs(result)["cpu"]
    assert (proof.right, proof.tensor_device, proof.failed_step, proof.fault) == (True, "cpu", "", None)
    assert 0 < proof.matmul_error < 1e-5 and 0 < proof.conv_error < 1e-5  # type: ignore[operator]
    assert 0 < proof.work_ms < 2000 and 0 < proof.cpu_ms < 2000  # type: ignore[operator]
    assert proof.code == Missing("absent", "the CPU compiles no kernels")
    said = fields(result)
    assert said["import_seconds"] > 0 and said["torch_devices"] == []


@pytest.mark.torch_wheel
@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a GPU")
def test_no_gpu_by_the_real_torch(with_torch: Path) -> None:
    python = str(with_torch / "bin/python")
    result = run("torch_proof", dict(os.environ), "--device", "cuda", python=python)
    assert (result.fault, rows(result, "torch_proof"), rows(result, "ended")) == (None, [], [])
    assert fields(result)["torch_devices"] == []


def test_every_device_is_proven(tmp_path: Path) -> None:
    result = run("torch_proof", environment(tmp_path, devices=3), "--device", "cuda")
    found = proofs(result)
    assert list(found) == fields(result)["torch_devices"] == ["cuda:0", "cuda:1", "cuda:2"]
    for device, proof in found.items():
        assert (proof.right, proof.tensor_device, proof.name, proof.code) == (True, device, "NVIDIA A10", "native")
        assert (proof.peak_mib, proof.jit_cache_bytes, proof.fault) == (48.0, 0, None)
        assert isinstance(proof.first_launch_ms, float) and isinstance(proof.work_ms, float)
        assert proof.matmul_error < 1e-9 and proof.conv_error < 1e-9  # type: ignore[operator]  # no TF32
    phases = [line for line in result.lines if line.get("phase") == "proof"]
    assert [line["device"] for line in phases] == list(found)
    assert all(line["end"] > line["start"] for line in phases)
    assert isinstance(fields(result)["pid"], int)


def test_a_torch_without_the_older_name_of_tf32(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, renamed=True)
    assert proof.right is True and proof.matmul_error < 1e-9 and proof.conv_error < 1e-9  # type: ignore[operator]


@for_each(
    ("arguments", "found"),
    [
        (("cuda", "--first", "1"), ["cuda:1", "cuda:2"]),
        (("cuda:1",), ["cuda:1"]),
        (("cuda", "--first", "3"), []),
        (("cuda:7",), []),
    ],
)
def test_only_the_devices_asked_for(tmp_path: Path, arguments: tuple[str, ...], found: list[str]) -> None:
    result = run("torch_proof", environment(tmp_path, devices=3), "--device", *arguments)
    computed_then_worked = [proof["device"] for proof in rows(result, "torch_proof")]
    assert computed_then_worked == [*found, *found]
    assert fields(result)["torch_devices"] == ["cuda:0", "cuda:1", "cuda:2"]
    said = [(step["device"], step["fault"]) for step in rows(result, "ended")]
    assert said == ([("cuda:7", "failed")] if arguments == ("cuda:7",) else [])


def test_a_wrong_product(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, faults={"cuda:0": {"mm": "wrong"}})
    assert (proof.right, proof.fault) == (False, None)
    assert proof.matmul_error == pytest.approx(0.01) and proof.conv_error == pytest.approx(0, abs=1e-9)


def test_a_wrong_convolution(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, faults={"cuda:0": {"conv": "wrong"}})
    assert (proof.right, proof.fault) == (False, None)
    assert proof.conv_error == pytest.approx(0.01) and proof.matmul_error == pytest.approx(0, abs=1e-9)


def test_a_product_that_is_never_written(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, faults={"cuda:0": {"mm": "unwritten"}})
    assert proof.right is False
    assert proof.matmul_error == Missing("error", f"{512 * 264} elements are NaN or infinite")


def test_a_convolution_that_fails_alone(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, faults={"cuda:0": {"conv": CUDNN}})
    assert (proof.failed_step, proof.error, proof.fault) == ("convolution", f"RuntimeError: {CUDNN}", "failed")
    assert proof.right == Missing("error", f"RuntimeError: {CUDNN}")
    assert proof.matmul_error == pytest.approx(0, abs=1e-9)
    assert isinstance(proof.work_ms, float)


def test_a_wrong_product_is_told_though_the_convolution_fails(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, faults={"cuda:0": {"mm": "wrong", "conv": CUDNN}})
    assert (proof.right, proof.failed_step) == (False, "convolution")


@pytest.mark.slow
@for_each(
    ("step", "text", "code", "failed_step"),
    [
        ("context", BUSY, 46, "context"),
        ("fill", NO_IMAGE, 209, "first launch"),
        ("mm", "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED", Missing("not-asked"), "matmul"),
        ("mm", "CUDA error (719): words of a library\nSearch for `cudaErrorLaunchFailure'", 719, "matmul"),
        ("context", "Unexpected error from cudaGetDeviceCount(). Error 802: system not ready", 802, "context"),
    ],
)
def test_an_error_stops_one_device_only(tmp_path: Path, step: str, text: str, code: Any, failed_step: str) -> None:
    result = run("torch_proof", environment(tmp_path, devices=2, faults={"cuda:0": {step: text}}), "--device", "cuda")
    sick, well = proofs(result).values()
    assert (sick.failed_step, sick.error_code, sick.fault) == (failed_step, code, "failed")
    assert sick.error == f"RuntimeError: {text}" and sick.right == Missing("error", sick.error)
    assert well.right is True


def test_an_error_that_sticks_ends_the_process(tmp_path: Path) -> None:
    env = environment(tmp_path, devices=2, faults={"cuda:0": {"mm": ILLEGAL}})
    result = run("torch_proof", env, "--device", "cuda")
    assert result.fault is None
    (sick,) = proofs(result).values()
    assert (sick.device, sick.failed_step, sick.error_code) == ("cuda:0", "matmul", 700)
    again = run("torch_proof", env, "--device", "cuda", "--first", "1")
    assert proofs(again)["cuda:1"].right is True


def test_little_memory_makes_it_smaller(tmp_path: Path) -> None:
    result = run("torch_proof", environment(tmp_path, room=300 * 300), "--device", "cuda")
    assert result.fault is None
    steps = [(step["step"], step["fault"]) for step in rows(result, "ended")]
    assert steps == [
        ("first launch", "skipped"),
        ("matmul", "skipped"),
        ("convolution", "skipped"),
        ("work", "skipped"),
    ]
    assert all("made smaller" in step["detail"] for step in rows(result, "ended"))
    proof = proofs(result)["cuda:0"]
    assert (proof.right, proof.fault) == (True, None) and isinstance(proof.work_ms, float)


def test_no_memory_at_all(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, room=10)
    assert (proof.fault, proof.error_code) == ("failed", 2)
    assert isinstance(proof.right, Missing) and proof.error.startswith("OutOfMemoryError: CUDA out of memory")


@for_each(("fault", "ending", "gap"), [("hang", "hang", "timeout"), ("crash", "crash", "error")])
def test_what_was_measured_before_a_kernel_that_never_ends_is_kept(
    tmp_path: Path, fault: str, ending: str, gap: str
) -> None:
    env = environment(tmp_path, devices=3, faults={"cuda:1": {"conv": fault}})
    result = run("torch_proof", env, "--device", "cuda", silent_in=("convolution", "cuda:1"))
    assert (result.fault, result.guilty) == (ending, "convolution")
    well, sick = proofs(result).values()
    assert (well.device, well.right) == ("cuda:0", True)
    assert (sick.device, sick.name, sick.failed_step, sick.fault) == ("cuda:1", "NVIDIA A10", "convolution", ending)
    assert sick.matmul_error == pytest.approx(0, abs=1e-9) and isinstance(sick.first_launch_ms, float)
    assert isinstance(sick.right, Missing) and sick.right.reason == gap


@for_each(("fault", "ending", "gap"), [("hang", "hang", "timeout"), ("crash", "crash", "error")])
def test_a_device_that_ends_while_all_work_costs_itself_alone(
    tmp_path: Path, fault: str, ending: str, gap: str
) -> None:
    env = environment(tmp_path, devices=3, faults={"cuda:1": {"work": fault}})
    found = proofs(run("torch_proof", env, "--device", "cuda", silent_in=("work", "cuda:1")))
    assert [(device, proof.right is True) for device, proof in found.items()] == [
        ("cuda:0", True),
        ("cuda:1", False),
        ("cuda:2", True),
    ]
    sick = found["cuda:1"]
    assert (sick.fault, sick.failed_step, sick.name) == (ending, "work", "NVIDIA A10")
    assert isinstance(sick.right, Missing) and sick.right.reason == gap


def test_an_error_while_all_work_is_told_of_its_device(tmp_path: Path) -> None:
    env = environment(tmp_path, devices=3, faults={"cuda:1": {"work": "CUBLAS_STATUS_EXECUTION_FAILED"}})
    found = proofs(run("torch_proof", env, "--device", "cuda"))
    assert (found["cuda:1"].failed_step, found["cuda:1"].right) == ("work", True)
    assert all(isinstance(found[name].work_ms, float) for name in ("cuda:0", "cuda:2"))


@pytest.mark.slow
@for_each(
    ("archs", "capability", "code"),
    [
        (["sm_80", "sm_86", "compute_86"], [8, 9], "native"),
        (["sm_50", "sm_80", "compute_80"], [9, 0], "ptx-jit"),
        (["sm_90a", "compute_80"], [9, 0], "native"),
        (["sm_90a", "compute_90"], [10, 0], "ptx-jit"),
        (["sm_100f"], [10, 3], "native"),
        (["sm_80", "compute_80"], [8, 7], "ptx-jit"),
        (["sm_100", "sm_120"], [12, 1], "native"),
        ([], [8, 6], Missing("absent", "torch lists no architectures")),
        (["sm_90"], [8, 6], Missing("conflict", "kernels run, but torch lists none that fit: sm_90")),
        (["compute_90a"], [10, 0], Missing("conflict", "kernels run, but torch lists none that fit: compute_90a")),
    ],
)
def test_machine_code_or_ptx(tmp_path: Path, archs: list[str], capability: list[int], code: Any) -> None:
    assert proof_of(tmp_path, archs=archs, capability=capability).code == code


def test_ptx_that_is_compiled_at_the_first_launch(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, archs=["sm_50", "compute_70"], jit=123456)
    assert (proof.code, proof.jit_cache_bytes) == ("ptx-jit", 123456)


def test_the_cache_grows_although_torch_lists_machine_code(tmp_path: Path) -> None:
    proof = proof_of(tmp_path, jit=1000)
    assert isinstance(proof.code, Missing) and proof.code.reason == "conflict"
    assert proof.jit_cache_bytes == 1000


def test_ptx_forced_by_its_variable(tmp_path: Path) -> None:
    env = environment(tmp_path, jit=1000) | {"CUDA_FORCE_PTX_JIT": "1"}
    assert proofs(run("torch_proof", env, "--device", "cuda"))["cuda:0"].code == "ptx-jit"


@for_each("variables", [{"CUDA_CACHE_DISABLE": "1"}, {}], ids=["switched off", "cannot be written"])
def test_no_jit_cache(tmp_path: Path, variables: dict[str, str]) -> None:
    env = environment(tmp_path, archs=["compute_70"]) | variables
    proof = proofs(run("torch_proof", env, "--device", "cuda"))["cuda:0"]
    assert (proof.code, proof.jit_cache_bytes) == ("ptx-jit", Missing("absent", "the driver keeps no JIT cache here"))


def test_the_key_of_the_gpu(tmp_path: Path, on_machine: Callable[..., dict[str, str]]) -> None:
    driver = on_machine("rtx3090x2")
    env = environment(tmp_path, devices=2) | {
        name: driver[name] for name in ("LD_LIBRARY_PATH", "GPUDOCTOR_FAKE_SCENARIO")
    }
    result = run("torch_proof", env, "--device", "cuda")
    scenario = Path(driver["GPUDOCTOR_FAKE_SCENARIO"]).read_text()
    for index, device in enumerate(("cuda:0", "cuda:1")):
        assert f"gpu.{index}.uuid = {proofs(result)[device].key}\n" in scenario
    assert all(line["key"].startswith("GPU-") for line in result.lines if "phase" in line)


@for_each(
    ("source", "field", "error"),
    [
        ("raise ImportError('libcudnn.so.9: cannot open shared object file')", "import", "ImportError"),
        ("raise SystemExit(3)", "import", "SystemExit"),
        ("hello = 1", "torch", "AttributeError"),
    ],
)
def test_a_torch_that_is_none(tmp_path: Path, source: str, field: str, error: str) -> None:
    env = environment(tmp_path)
    (tmp_path / "site" / "torch" / "__init__.py").write_text(source, "utf-8")
    result = run("torch_proof", env, "--device", "cuda")
    assert result.fault is None and "import_seconds" in fields(result)
    (line,) = [line for line in result.lines if "error" in line]
    assert (line["field"], line["error"]) == (field, error)


def test_no_torch(tmp_path: Path) -> None:
    env = environment(tmp_path)
    shutil.rmtree(tmp_path / "site" / "torch")
    (line,) = [line for line in run("torch_proof", env, "--device", "cuda").lines if "error" in line]
    assert (line["error"], line["text"]) == ("ModuleNotFoundError", "No module named 'torch'")


@for_each("arguments", [("--device", "tpu"), ("--device", "cuda", "--first", "-1"), ()])
def test_wrong_arguments(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = run("torch_proof", environment(tmp_path), *arguments)
    assert (result.returncode, result.lines) == (2, []) and "usage: torch_proof" in result.stderr_tail
