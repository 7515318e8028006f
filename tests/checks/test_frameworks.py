"""JAX, ONNX Runtime, TensorFlow and others beside torch: what runs on the CPU though there is a GPU."""

from __future__ import annotations

from doctor.findings import Policy
from doctor.snapshot import LoaderLibrary, Missing, Snapshot

from ..extensions import library, with_extension
from ..healthy import healthy
from ..judging import assert_fix_works, run
from ..rows import for_each
from ..sickness import without_libcuda, without_nvml
from ..torches import with_torch, with_version, without_torch

JAX, ORT = "jax-cpu-fallback", "onnxruntime-cpu-fallback"
BUILD, LIBS = "framework-build-without-gpu", "framework-cuda-libs-not-found"
ALL = (JAX, ORT, BUILD, LIBS)


def alone(**versions: str) -> Snapshot:
    """A machine with these packages and without torch."""
    return with_version(without_torch(healthy()), **versions)


def judged(check: str, s: Snapshot) -> str:
    """Status; a finding that counts must have a fix that works, with and without torch."""
    status, _, found = run(check, s)
    for finding in found:
        if finding.status != "pass":
            assert_fix_works(s, finding)
    return status


@for_each("check", ALL)
def test_where_it_does_not_apply_and_where_it_is_unknown(check: str) -> None:
    assert run(check, healthy())[0] == "skipped"
    assert run(check, healthy().replace({"python.distributions": Missing("denied")}))[0] == "unknown"


@for_each("check", ALL)
def test_without_a_gpu_the_cpu_is_right(check: str) -> None:
    s = without_nvml(
        without_libcuda(
            alone(jax="0.7.2", jaxlib="0.7.2", onnxruntime_gpu="1.23.2", tensorflow_cpu="2.20.0", tensorflow="2.20.0")
        )
    )
    assert run(check, s.replace({"driver.pci_devices": ()}))[0] == "skipped"


@for_each(
    ("versions", "status"),
    [
        ({"jax": "0.7.2", "jaxlib": "0.7.2"}, "warn"),
        ({"jax": "0.7.2", "jaxlib": "0.7.2", "jax_cuda12_plugin": "0.7.2"}, "pass"),
        ({"jax": "0.7.2", "jaxlib": "0.7.2", "jax_cuda13_plugin": "0.7.2.post1"}, "pass"),
        ({"jax": "0.7.2", "jaxlib": "0.7.1", "jax_cuda12_plugin": "0.7.2"}, "warn"),
        ({"jax": "0.4.20", "jaxlib": "0.4.20+cuda12.cudnn89"}, "pass"),
        ({"jax": "0.4.20", "jaxlib": "0.4.20"}, "warn"),
    ],
)
def test_jax(versions: dict[str, str], status: str) -> None:
    assert judged(JAX, alone(**versions)) == status


def test_jax_beside_torch_is_a_remark_and_a_failure_where_required() -> None:
    machine = with_version(healthy(), jax="0.7.2", jaxlib="0.7.2")
    assert judged(JAX, machine) == "pass"
    assert [f.severity for f in run(JAX, machine)[2]] == ["info"]
    assert run(JAX, machine, Policy(require=("jax",)))[0] == "fail"


def ort(version: str, s: Snapshot, *needed: str) -> Snapshot:
    path = "onnxruntime/capi/libonnxruntime_providers_cuda.so"
    return with_extension(
        s, "onnxruntime-gpu", version, library("onnxruntime-gpu", path, ("8.0", "9.0"), needed=needed)
    )


CUDA12 = (
    "libcublasLt.so.12",
    "libcublas.so.12",
    "libcurand.so.10",
    "libcufft.so.11",
    "libcudart.so.12",
    "libcudnn.so.9",
)
WHEELS12 = {"nvidia_cufft_cu12": "11.3.3.83", "nvidia_curand_cu12": "10.3.9.90"}


def test_onnxruntime_beside_a_torch_of_its_cuda_passes() -> None:
    assert judged(ORT, with_version(ort("1.23.2", healthy(), *CUDA12), **WHEELS12)) == "pass"


def test_onnxruntime_of_another_cuda_than_torchs() -> None:
    cuda13 = tuple(name.replace(".12", ".13") for name in CUDA12)
    sick = with_version(ort("1.29.0", healthy(), *cuda13), **WHEELS12)
    assert judged(ORT, sick) == "warn"
    assert "onnxruntime-gpu==1.26.0" in run(ORT, sick)[2][0].fixes[0].steps[-1].command
    other = ort("1.23.2", with_torch(healthy(), "2.11.0", "cu130"), *CUDA12)
    assert judged(ORT, other) == "warn"
    assert "onnxruntime-gpu>=1.27" in run(ORT, other)[2][0].fixes[0].steps[-1].command


def test_onnxruntime_without_any_cuda_library() -> None:
    for version, wheel in (("1.23.2", "nvidia-cublas-cu12"), ("1.29.0", "cuda-toolkit[")):
        sick = alone(onnxruntime_gpu=version)
        assert judged(ORT, sick) == "warn"
        assert wheel in run(ORT, sick)[2][0].fixes[0].steps[-1].command.replace("nvidia-cuda-runtime-cu12 ", "")
    assert run(ORT, sick, Policy(require=("onnxruntime-gpu",)))[0] == "fail"
    assert run(ORT, sick.replace({"cuda.libraries": Missing("denied")}))[0] == "unknown"


def test_both_onnxruntimes_lie_over_each_other() -> None:
    sick = with_version(healthy(), onnxruntime="1.23.2", onnxruntime_gpu="1.23.2")
    assert judged(ORT, sick) == "warn"
    assert "uninstall -y onnxruntime onnxruntime-gpu" in run(ORT, sick)[2][0].fixes[0].steps[0].command
    assert judged(ORT, alone(onnxruntime="1.23.2")) == "pass"  # a remark


@for_each(
    ("versions", "facts", "status"),
    [
        ({"tensorflow_cpu": "2.20.0"}, {}, "warn"),
        ({"tensorflow": "2.20.0"}, {}, "pass"),
        ({"tensorflow": "2.12.0"}, {"host.system": "windows"}, "warn"),
        ({"tensorflow": "2.10.1"}, {"host.system": "windows"}, "pass"),
        ({"tensorflow": "2.20.0"}, {"host.architecture": "aarch64"}, "warn"),
        ({"dgl": "2.1.0"}, {}, "warn"),
        ({"dgl": "2.1.0+cu121"}, {}, "pass"),
        ({"llama_cpp_python": "0.3.2"}, {}, "warn"),
        ({"llama_cpp_python": "0.3.2"}, {"python.extensions": Missing("denied")}, "pass"),
        ({"faiss_cpu": "1.9.0"}, {}, "pass"),
        ({"paddlepaddle": "3.0.0"}, {}, "warn"),
    ],
)
def test_cpu_builds(versions: dict[str, str], facts: dict[str, object], status: str) -> None:
    assert judged(BUILD, alone(**versions).replace(facts)) == status


def test_a_cpu_build_beside_torch_is_a_remark() -> None:
    assert judged(BUILD, with_version(healthy(), tensorflow_cpu="2.20.0")) == "pass"


def test_tensorflow_and_its_libraries() -> None:
    assert judged(LIBS, alone(tensorflow="2.20.0")) == "warn"
    whole = {"nvidia_cuda_runtime_cu12": "12.5.82", "nvidia_cublas_cu12": "12.5.3.2", "nvidia_cudnn_cu12": "9.3.0.75"}
    assert judged(LIBS, alone(tensorflow="2.20.0", **whole)) == "pass"
    assert judged(LIBS, alone(tensorflow="2.20.0", **{**whole, "nvidia_cudnn_cu12": "8.9.7.29"})) == "warn"
    assert judged(LIBS, alone(tensorflow="3.99.0")) == "pass"  # not listed: nothing is said


def test_tensorflow_with_a_toolkit_of_the_system() -> None:
    found = tuple(
        LoaderLibrary(
            name=name.partition(".")[0], soname=name, path=f"/usr/local/cuda/lib64/{name}", found_by="ld.so.cache"
        )
        for name in ("libcudart.so.11.0", "libcublas.so.11", "libcudnn.so.8")
    )
    machine = alone(tensorflow="2.14.1")
    assert judged(LIBS, machine) == "warn"
    assert judged(LIBS, machine.replace({"cuda.libraries": found})) == "pass"
    assert run(LIBS, machine.replace({"cuda.libraries": Missing("denied")}))[0] == "unknown"


def test_a_tensorflow_from_before_the_wheels() -> None:
    """Its libraries' names carry CUDA's minor; it is replaced by a release that brings them, where this Python has one."""
    machine = alone(tensorflow="2.1.0")
    status, _, said = run(LIBS, machine)
    (finding,) = said
    assert status == "warn" and "libcudart.so.10.1" in finding.title and "CUDA 10.1 and cuDNN 7.6" in finding.detail
    (fix,) = finding.fixes
    assert "'tensorflow[and-cuda]==2.21.*'" in fix.steps[0].command
    old_python = machine.replace({"python.patient.version": "3.7.17"})
    assert run(LIBS, old_python)[2][0].fixes == ()
    found = tuple(
        LoaderLibrary(name=name.partition(".")[0], soname=name, path=f"/usr/lib/{name}", found_by="ld.so.cache")
        for name in ("libcudart.so.10.1", "libcublas.so.10", "libcudnn.so.7")
    )
    assert judged(LIBS, machine.replace({"cuda.libraries": found})) == "pass"


def test_tensorflow_2_16_1_does_not_see_its_wheels() -> None:
    wheels = {"nvidia_cuda_runtime_cu12": "12.3.101", "nvidia_cublas_cu12": "12.3.4.1", "nvidia_cudnn_cu12": "8.9.7.29"}
    assert judged(LIBS, alone(tensorflow="2.16.1", **wheels)) == "warn"
    assert judged(LIBS, alone(tensorflow="2.16.2", **wheels)) == "pass"
