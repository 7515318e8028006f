"""What each tool prints, in several versions of its layout, read into facts."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.report.pasted import open_words
from doctor.snapshot import Gpu, Missing, PciDevice, Snapshot, Toolkit
from doctor.text import judgeable, read

from ..judging import report
from ..rows import for_each
from ..soundness.sound import assert_fixes_are_sound
from .texts import NAMES, text

GONE = Missing("absent", "the text says so")
FACTS: dict[str, dict[str, Any]] = {
    "ds-report": {"torch.version": "2.4.1+cu121", "torch.cuda": "12.1", "cuda.nvcc_version": "12.4", "host.shm_mib": 64,
                  "python.patient.version": "3.11"},
    "ds-report-2022": {"torch.version": "1.12.1+cu113", "torch.cuda": "11.3", "python.patient.version": "3.8"},
    "ds-report-rocm": {"torch.build": "rocm", "torch.hip": "6.2.41134-65d174c3e", "host.shm_mib": 125 * 1024},
    "transformers-env-xpu": {"torch.build": "xpu", "torch_run.cuda_available": False},
    "torch-config-cpu": {"torch.build": "cpu"},
    "pip-conflict": {"torch.version": "2.1.0+cu121", "torch.cuda": "12.1"},
    "bitsandbytes": {"torch.version": "2.7.1+cu128", "torch.cuda": "12.8", "host.libc": "glibc 2.35",
                     "host.kernel": "5.15.0-134-generic", "python.patient.version": "3.11.9"},
    "bitsandbytes-043": {"torch.cuda": "12.1", "torch.build": "cuda"},
    "bitsandbytes-039": {"torch.cuda": "11.7"},
    "conda-row": {"torch.build": "cpu"},
    "pip-show": {"torch.version": "2.4.0+cu121", "torch.cuda": "12.1", "torch.build": "cuda"},
    "torch-image": {"torch.version": "2.2.0", "torch.cuda": "12.1", "torch.build": "cuda"},
    "xformers-info": {"torch.version": "2.3.1+cu118", "torch.cuda": "11.8", "torch_run.cuda_available": True},
    "xformers-info-2022": {"torch.version": "1.13.0+cpu", "torch.build": "cpu", "torch_run.cuda_available": False},
    "transformers-env": {"torch.version": "2.7.0+cu126", "torch_run.cuda_available": True, "host.kernel": "6.8.0-60-generic",
                         "python.patient.version": "3.12.3"},
    "transformers-env-2022": {"torch.version": "1.13.0+cpu", "torch_run.cuda_available": False, "host.system": "windows"},
    "accelerate-env": {"torch.version": "2.6.0+cu124", "torch_run.cuda_available": True},
    "accelerate-env-2023": {"torch.version": "2.1.2+cu121", "torch_run.cuda_available": False},
    "jax-info": {"host.kernel": "5.15.0-113-generic", "host.architecture": "x86_64", "driver.nvml_driver_version": "550.90.07",
                 "python.patient.version": "3.11.10"},
    "jax-info-2023": {"python.patient.version": "3.10.12"},
    "tensorflow-mismatch": {"driver.kernel_version": "470.182.03", "driver.libcuda_version": "470.223.02"},
    "nccl": {"torch_run.nccl_version": "2.21.5", "driver.cuda_version": "12.4"},
    "nccl-two": {"torch_run.nccl_version": Missing("conflict", "line 2 says 2.19.3, line 4 says 2.21.5")},
    "dmesg": {"driver.kernel_version": "570.133.20", "driver.kernel_flavour": "open",
              "driver.nvml_library_version": "570.172.08"},
    "dmesg-595": {"driver.kernel_version": "595.80", "driver.nvml_library_version": "595.84"},
    "proc-version": {"driver.kernel_version": "535.183.01", "driver.kernel_flavour": "proprietary"},
    "modinfo": {"driver.nvml_driver_version": "580.95.05", "driver.kernel_flavour": "open"},
    "dpkg": {"driver.nvml_driver_version": "550.107.02", "driver.kernel_flavour": "proprietary",
             "driver.nvml_library_version": "550.107.02",
             "cuda.toolkits": (Toolkit(path="/usr/local/cuda-12.4", version="12.4.1"),)},
    "apt": {"driver.nvml_driver_version": "580.95.05", "driver.kernel_flavour": "open"},
    "rpm": {"driver.nvml_driver_version": "575.57.08", "driver.kernel_flavour": "open",
            "cuda.toolkits": (Toolkit(path="/usr/local/cuda-12.9", version="12.9.1"),)},
    "rpm-fedora": {"driver.nvml_driver_version": "580.142", "driver.nvml_library_version": "580.142"},
    "mmengine": {"torch.version": "2.1.2", "torch.cuda": "12.1", "torch.cudnn_bundled": "8.9.2", "cuda.nvcc_version": "12.2",
                 "torch_run.arch_list": ("sm_50", "sm_80", "sm_86", "sm_90"), "host.system": "linux"},
    "mmcv-2021": {"torch.version": "1.6.0", "torch.cuda": "10.2",
                  "torch_run.arch_list": ("sm_37", "sm_50", "sm_70", "sm_75", "compute_37")},
    "vllm": {"torch.version": "2.7.0+cu126", "torch.cuda": "12.6", "driver.nvml_driver_version": "535.216.01",
             "torch_run.cuda_available": True, "cuda.nvcc_version": "12.4", "container.driver_capabilities": "compute,utility"},
    "sglang": {"driver.nvml_driver_version": "550.163.01", "torch.version": "2.9.1+cu129", "cuda.nvcc_version": "12.9"},
    "ollama": {"driver.nvml_cuda_version": "12.4"},
    "comfyui": {"torch.version": "2.5.1+cu124", "python.patient.version": "3.12.7"},
    "traceback-import": {"torch_run.imported": False, "torch_run.import_fault": "raised", "python.patient.version": "3.10"},
    "traceback-flash-attn": {"python.patient.version": "3.11"},
    "amd": {"torch.build": "rocm", "torch.hip": "6.3.42131-fa1d09cbd",
            "driver.pci_devices": (PciDevice(address="", vendor="1002", device=""),)},
    "amd-cuda-build": {"torch.build": "cuda", "torch_run.cuda_available": False},
    "intel": {"torch.build": "xpu", "driver.pci_devices": (PciDevice(address="", vendor="8086", device=""),)},
    "apple": {"host.system": "darwin", "torch.cuda": GONE},
    "colab-tpu": {"torch.build": "cpu", "torch.cuda": GONE, "torch_run.cuda_available": False},
    "colab-cpu": {"torch.build": "cuda", "torch_run.cuda_available": False},
    "host-lists": {"host.kernel": "6.8.0-45-generic", "host.os_id": "ubuntu", "driver.module_built": True,
                   "driver.modules": ("nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia")},
    "wsl-version": {"host.wsl": 2},
    "paddle": {"driver.nvml_cuda_version": "12.2"},
    "device-query": {"driver.nvml_cuda_version": "12.2"},
    "cupy": {"driver.cuda_version": "12.2"},
    "ultralytics": {"torch.version": "2.1.0+cu121", "torch_run.cuda_available": True, "python.patient.version": "3.10.12"},
    "ultralytics-cpu": {"torch.version": "2.0.1+cpu", "torch.build": "cpu"},
    "ollama-2024": {"driver.libcuda_version": "535.54.03"},
    "tiny-cuda-nn": {"torch.version": "2.1.0+cu118", "cuda.nvcc_version": "11.7"},
    "lightning-fit": {"torch_run.cuda_available": False},
    "gpustat": {"driver.nvml_driver_version": "570.133.20"},
    "env-doctor": {"driver.nvml_driver_version": "550.127", "driver.nvml_cuda_version": "12.4", "torch.version": "2.4.1+cu121",
                   "torch_run.arch_list": ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
                   "host.wsl": Missing("not-asked", "")},
    "env-doctor-nvcc": {"driver.nvml_driver_version": "580.95", "cuda.nvcc_version": "13.0", "torch.cuda": "12.1"},
    "env-doctor-export": {"driver.nvml_cuda_version": "12.4", "torch.version": "2.4.1+cu121", "torch.cuda": "12.1",
                          "host.wsl": 0, "python.patient.version": "3.11.7"},
    "cuda-doctor": {"driver.nvml_driver_version": "550.127.05", "driver.nvml_cuda_version": "12.4", "torch.cuda": "12.1",
                    "cuda.nvcc_version": "13.0", "cuda.gcc_version": "12.2.0"},
    "nvitop": {"driver.nvml_driver_version": "580.82.07", "driver.nvml_cuda_version": "13.0"},
    "nvitop-ascii": {"driver.nvml_driver_version": "580.82.07", "driver.nvml_cuda_version": "13.0"},
}  # fmt: skip
GPUS = {
    "torch-image": [("NVIDIA GeForce RTX 5090", None)],
    "torch-old-gpu": [("Quadro M1000M", "5.0")],
    "triton-old-gpu": [("Tesla P40", "6.1")],
    "topo": [(None, None)] * 4,
    "topo-2018": [(None, None)] * 4,
    "topo-cut": [(None, None)] * 2,
    "sglang": [("NVIDIA H800", "9.0")] * 4,
    "llama-cpp": [("NVIDIA GeForce RTX 5090", "12.0"), ("Tesla V100-PCIE-16GB", "7.0")],
    "ollama": [("NVIDIA GeForce RTX 4090", "8.9")],
    "comfyui": [("NVIDIA GeForce RTX 3060", None)],
    "bitsandbytes": [(None, "12.0")],
    "bitsandbytes-043": [(None, "7.5")],
    "bitsandbytes-039": [(None, "6.1")] * 2,
    "xformers-info": [("NVIDIA GeForce RTX 3090", "8.6")],
    "transformers-env": [("NVIDIA L40S", None)],
    "accelerate-env": [("NVIDIA A10G", None)],
    "jax-info": [("NVIDIA A100-SXM4-40GB", None)] * 2,
    "tensorflow": [("Tesla T4", "7.5")] * 2,
    "tensorflow-2021": [("NVIDIA GeForce GTX 1070 Ti", "6.1")],
    "nccl": [("NVIDIA H100 80GB HBM3", None)] * 2,
    "mmengine": [("NVIDIA A100-SXM4-80GB", None)] * 2 + [("NVIDIA GeForce RTX 3090", None)],
    "mmcv-2021": [("NVIDIA GeForce RTX 3080", None)],
    "vllm": [("NVIDIA H100 80GB HBM3", None)] * 2,
    "session": [("NVIDIA GeForce RTX 5090", "12.0")],
    "lightning": [("NVIDIA GeForce RTX 4090", None)],
    "host-lists": [("GeForce RTX 4090", None)],
    "wsl-version": [("NVIDIA GeForce RTX 3070", None)],
    "paddle": [(None, "8.6")],
    "device-query": [("NVIDIA GeForce RTX 3060", "8.6")],
    "cupy": [("NVIDIA GeForce RTX 3090", "8.6")],
    "ultralytics": [("NVIDIA GeForce RTX 3060", None)],
    "ctranslate2": [("NVIDIA GeForce RTX 3060", "8.6")],
    "trtexec": [("NVIDIA GeForce RTX 3090", "8.6")],
    "gpustat": [("NVIDIA L40S", None)] * 2,
    "gpustat-2021": [("GeForce GTX 1080 Ti", None)],
    "dcgmi-discovery": [("NVIDIA A100-SXM4-80GB", None)] * 2,
    "env-doctor": [("NVIDIA L40S", "8.9")],
    "env-doctor-nvcc": [("NVIDIA L40S", "8.9")],
    "env-doctor-export": [("NVIDIA L40S", "8.9")],
    "cuda-doctor": [("NVIDIA L40S", None)],
    "nvitop": [("L40S", None)],
    "nvitop-ascii": [("H100 80GB HBM3", None)],
}  # fmt: skip
PACKAGES = {
    "ds-report": {"deepspeed": "0.15.3"},
    "bitsandbytes": {"bitsandbytes": "0.46.1"},
    "xformers-info": {"xformers": "0.0.27.post2"},
    "transformers-env": {"transformers": "4.52.4", "accelerate": "1.7.0"},
    "accelerate-env": {"accelerate": "1.8.1", "numpy": "1.26.4"},
    "mmengine": {"torchvision": "0.16.2"},
    "vllm": {"vllm": "0.9.0.1", "flashinfer-python": "0.2.5"},
}
DECIDED = {
    "xformers-warning": "extension-built-for-other-torch",
    "cpp-extension": "nvcc-torch-cuda-mismatch",
    "cpp-extension-2025": "nvcc-torch-cuda-mismatch",
    "xformers-info": "extension-built-for-other-torch",
    "tensorflow-mismatch": "driver-library-version-mismatch",
    "cudnn-roles": "cudnn-shadowed-or-mismatched",
    "nccl-two": "nccl-version-conflict",
    "dmesg": "driver-library-version-mismatch",
    "dmesg-595": "driver-library-version-mismatch",
    "sxid": "gpu-recovery-action-needed",
    "machine-state": "pcie-link-or-topology-slow",
    "torch-old-gpu": "torch-dropped-old-gpu-sm",
    "traceback-flash-attn": "extension-lacks-gpu-arch",
    "traceback-import": "nccl-version-conflict",
    "triton-old-gpu": "triton-lacks-gpu-arch",
    "amd-cuda-build": "no-nvidia-gpu",
    "colab-tpu": "no-nvidia-gpu",
}
"""Every other text decides nothing by its words alone."""


def value(fact: Any) -> Any:
    return None if isinstance(fact, Missing) else fact


def gpus(s: Snapshot) -> tuple[Gpu, ...]:
    return () if isinstance(s.gpus, Missing) else s.gpus


@pytest.mark.slow
@for_each("name", FACTS)
def test_facts_of_a_tool(name: str) -> None:
    s = read(text(name))
    assert {path: s.fact(path) for path in FACTS[name]} == FACTS[name]


@pytest.mark.slow
@for_each("name", NAMES)
def test_gpus_of_a_tool(name: str) -> None:
    found = [(value(gpu.name), value(gpu.compute_capability)) for gpu in gpus(read(text(name)))]
    assert found == GPUS.get(name, [])


@for_each("name", PACKAGES)
def test_packages_of_a_tool(name: str) -> None:
    distributions = read(text(name)).python.distributions
    assert not isinstance(distributions, Missing)
    assert PACKAGES[name].items() <= {d.name: d.version for d in distributions}.items()


@pytest.mark.slow
@for_each("name", NAMES)
def test_what_a_tool_decides(name: str) -> None:
    s = read(text(name))
    assert judgeable(s)
    decided = [symptom.decides for symptom in s.symptoms if symptom.decides]
    if name == "colab-tpu":
        decided = [check for check in decided if check != "cpu-only-torch"]  # also true, and told below it
    assert decided[:1] == ([DECIDED[name]] if name in DECIDED else [])


@pytest.mark.slow
@for_each("name", [name for name in NAMES if name != "apple"])  # for which there is no CUDA build
def test_fixes_for_a_tool_are_sound(name: str) -> None:
    assert_fixes_are_sound(read(text(name)))


def test_topology() -> None:
    pairs = read(text("topo")).gpu_pairs
    assert not isinstance(pairs, Missing)
    levels = {(pair.a, pair.b): pair.topology for pair in pairs}
    assert levels[("gpu-2", "gpu-3")] == 30 and levels[("gpu-0", "gpu-3")] == 50
    (joined,) = (pair for pair in pairs if (pair.a, pair.b) == ("gpu-0", "gpu-1"))
    assert joined.nvlinks and joined.p2p_nvlink == 0 and joined.topology == Missing("not-asked")  # NVLink has no level
    old = read(text("topo-2018")).gpu_pairs
    assert not isinstance(old, Missing) and {pair.topology for pair in old} == {10, 20, 50}


def test_a_list_without_names_takes_the_one_name_of_the_text() -> None:
    s = read("Machine with H100 SXM boards\n" + text("topo"))
    assert {value(gpu.name) for gpu in gpus(s)} == {"H100 SXM"}


def test_numbers_of_gpus_are_those_of_the_list() -> None:
    s = read("GPU 2: NVIDIA L4\nGPU 3: NVIDIA L4\n")
    assert [(gpu.index, gpu.key) for gpu in gpus(s)] == [(2, "gpu-2"), (3, "gpu-3")]


def test_one_compute_capability_is_not_that_of_other_boards() -> None:
    s = read(
        "GPU 0: NVIDIA GeForce RTX 5090\nGPU 1: NVIDIA GeForce RTX 3090\n"
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
    )
    assert [value(gpu.compute_capability) for gpu in gpus(s)] == [None, None]


def test_packages_tell_of_the_driver_only_where_nothing_tells_what_runs() -> None:
    s = read(text("dpkg") + "Nvidia driver version: 535.183.01\n")
    assert s.driver.nvml_driver_version == "535.183.01"
    wsl = read(text("dpkg") + "Kernel: 5.15.167.4-microsoft-standard-WSL2\n")
    assert isinstance(wsl.driver.nvml_driver_version, Missing)
    container = read(text("dpkg") + "container: docker\n")
    assert isinstance(container.driver.nvml_library_version, Missing)


def test_a_library_that_answers_fits_the_module_whatever_the_packages_say() -> None:
    s = read(text("dpkg") + "| NVIDIA-SMI 550.90.07   Driver Version: 550.90.07   CUDA Version: 12.4 |\n")
    assert isinstance(s.driver.nvml_library_version, Missing) and s.driver.version == "550.90.07"


def test_two_driver_packages_are_a_conflict() -> None:
    s = read("ii  nvidia-driver-535  535.183.01-0ubuntu1  amd64\nii  nvidia-dkms-550  550.107.02-0ubuntu1  amd64\n")
    assert s.driver.version == Missing("conflict", "line 1 says 535.183.01, line 2 says 550.107.02")


def test_a_package_that_was_removed_or_is_only_offered_is_not_there() -> None:
    s = read(
        "rc  nvidia-driver-535  535.183.01-0ubuntu1  amd64\nnvidia-driver-570/noble-updates 570.172.08-0ubuntu1 amd64\n"
    )
    assert isinstance(s.driver.version, Missing)


@for_each(
    "row",
    [
        "nvidia-driver.x86_64      3:575.57.08-1.el9      @cuda-rhel9-x86_64",
        "nvidia-open-dkms 575.57.08-1",
        "hi  nvidia-driver-575  575.57.08-0ubuntu1  amd64  NVIDIA driver metapackage",
        "kmod-nvidia-open-dkms-575.57.08-1.amzn2023.noarch",
    ],
)
def test_forms_of_package_lists(row: str) -> None:
    assert read(row + "\n").driver.version == "575.57.08"


def test_a_traceback_behind_a_prefix() -> None:
    plain = text("traceback-flash-attn")
    for prefix in ("[rank3]: ", "worker-0 | ", "2025-01-01T10:00:00Z stderr F "):
        s = read("".join(f"{prefix}{row}\n" for row in plain.splitlines()))
        assert [symptom.decides for symptom in s.symptoms][:1] == ["extension-lacks-gpu-arch"]


def test_the_same_error_from_torch_decides_nothing() -> None:
    s = read(text("traceback-flash-attn").replace("flash_attn/flash_attn_interface.py", "torch/functional.py"))
    assert [symptom.decides for symptom in s.symptoms][:1] == [""]


def test_an_extension_for_another_cuda() -> None:
    s = read("PyTorch version: 2.9.0+cu130\n" + text("traceback-chained"))
    assert [symptom.decides for symptom in s.symptoms][:1] == ["extension-built-for-other-torch"]
    assert isinstance(s.torch_run.imported, Missing)


def test_a_contradiction_of_the_driver_names_both_lines() -> None:
    banner = "| NVIDIA-SMI 550.54.14   Driver Version: 550.54.14   CUDA Version: 12.4 |\n"
    s = read(banner + "Nvidia driver version: 470.57.02\n")
    assert s.driver.version == Missing("conflict", "line 1 says 550.54.14, line 2 says 470.57.02")
    s = read(text("proc-version") + banner)
    assert s.driver.version == Missing("conflict", "line 2 says 535.183.01, line 4 says 550.54.14")


def test_a_text_that_tells_of_a_mismatch_is_no_contradiction() -> None:
    s = read(
        text("proc-version") + "Failed to initialize NVML: Driver/library version mismatch\n"
        "Nvidia driver version: 550.54.14\n"
    )
    assert (s.driver.kernel_version, s.driver.nvml_driver_version) == ("535.183.01", "550.54.14")


@for_each(
    "said",
    [
        "torch<2.1",
        "torch >=2.0,<2.2",
        "torch>=2.0,<2.2",
        "torch~=2.0",
        "torch!=2.0.0",
        "torch==2.1.*",
        "PyTorch version: <2.1",
        'torch = ">=2.0,<2.1"',
        'torch = "^2.0"',
        "torch: 2.0+",
        "torch: 2.1 or newer",
        "- torch>2.0",
        "Requires-Dist: torch (>=1.13)",
        "needs at least torch 2.1",
        "this package requires torch 2.1.0",
        "works with torch 2.0+",
        "torch 2.0 or later is fine",
        "ERROR: Could not find a version that satisfies the requirement torch<2.1 (from versions: none)",
    ],
)
def test_bounds_never_become_the_version_of_torch(said: str) -> None:
    s = read(f"GPU 0: NVIDIA L4\n{said}\n")
    assert isinstance(s.torch.version, Missing)
    assert not [d for d in value(s.python.distributions) or () if d.name == "torch"]


@for_each(
    "said", ["driver: >=525", "driver: 525.60.13 or newer", "needs driver 525.60.13 or newer", 'python = ">=3.9,<3.13"']
)
def test_other_bounds_are_no_versions(said: str) -> None:
    s = read(f"GPU 0: NVIDIA L4\n{said}\n")
    assert isinstance(s.driver.version, Missing) and isinstance(s.python.patient.version, Missing)


@for_each(
    ("said", "decides"),
    [
        ("GPU 0: NVIDIA H100\ntorch>=1.12,<2.1", "torch-lacks-new-gpu-sm"),
        ("GPU 0: NVIDIA GeForce RTX 5090\ntorch <2.7", "torch-lacks-new-gpu-sm"),
        ("GPU 0: NVIDIA H100\ntorch <2.2", ""),
        ("GPU 0: NVIDIA A100\ntorch <2.1", ""),
        ("GPU 0: NVIDIA H100\ntorch <2.1\nPyTorch version: 2.0.1+cu118", ""),
        ("torch <2.1", ""),
    ],
)
def test_what_a_bound_decides(said: str, decides: str) -> None:
    symptoms = [symptom for symptom in read(said).symptoms if symptom.id == "torch-bound-told"]
    assert [symptom.decides for symptom in symptoms] == [decides]


@for_each("name", ["__init__", "__nvJitLinkCreate_12_8"])
def test_names_with_underscores_are_not_bold_text(name: str) -> None:
    s = read(f"undefined symbol: {name}, version libnvJitLink.so.12\nRuntimeError: CUDA out of memory in {name}.py\n")
    assert any(name in symptom.text for symptom in s.symptoms)


@for_each("name, used", [("gpustat", [4, 44021]), ("gpustat-2021", [901]), ("nvitop", [4]), ("nvitop-ascii", [4])])
def test_a_monitor_tells_how_much_memory_is_in_use(name: str, used: list[int]) -> None:
    gpus = read(text(name)).gpus
    assert not isinstance(gpus, Missing) and [gpu.memory_used_mib for gpu in gpus] == used


@for_each("name", ["PCIe", "GPU Memory", "Page Retirement/Row Remap", "Targeted Stress", "Inforom", "memory"])
def test_a_failed_test_of_dcgm_is_a_complaint_in_its_own_words(name: str) -> None:
    rows = f"| DCGM Version              | 3.3.5          |\n| {name:<25} | {{}}           |\n"
    failed, passed = (read(rows.format(word)).symptoms for word in ("Fail - All", "Pass - All"))
    assert any(symptom.suggests and "DCGM's diagnostics" in symptom.means for symptom in failed)
    assert not any(symptom.suggests for symptom in passed)


@for_each(
    "name", ["gpustat", "nvitop", "nvitop-ascii", "dcgmi-discovery", "env-doctor", "env-doctor-export", "cuda-doctor"]
)
def test_what_a_tool_prints_on_a_sound_machine_has_no_likely_cause(name: str) -> None:
    """'No running processes found' is no sign of a process that hides."""
    found = report(read(text(name)))
    assert not open_words(found).startswith("Most likely") and not found.text.errors, open_words(found)


def test_a_port_without_a_link_is_named_and_an_active_one_is_not() -> None:
    found = report(read(text("ibstat")))
    assert [(one.line, one.causes) for one in found.text.messages] == [(19, ("rank-link-slow",))]
    assert read(text("ibstat").replace("Polling", "LinkUp")).symptoms == ()
