"""Texts about the program, not the environment: no failure is told of them, and what they say is understood."""

from __future__ import annotations

import pytest

from doctor.report.pasted import open_words
from doctor.report.terminal import render_terminal
from doctor.snapshot import known
from doctor.text import judgeable, read

from ..judging import ids, report
from ..report.samples import LAYERS
from ..rows import for_each

SMI = """| NVIDIA-SMI 550.54.14              Driver Version: 550.54.14      CUDA Version: 12.4     |
|   0  NVIDIA A100-SXM4-80GB          Off |   00000000:01:00.0 Off |                    0 |
| N/A   30C    P0             60W /  500W |   {used:>7}MiB /  81920MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|=========================================================================================|
{row}
+-----------------------------------------------------------------------------------------+
"""
NONE = "|  No running processes found                                                             |"
OWN = (
    "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity; 14.10 GiB already allocated; 600.00 MiB "
    "free; 14.30 GiB reserved in total by PyTorch)\n"
)
NEWER = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which "
    "310.69 MiB is free. Including non-PyTorch memory, this process has 23.37 GiB memory in use.\n"
)
PROGRAM = [
    "RuntimeError: CUDA error: device-side assert triggered",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "RuntimeError: CUDA error: unspecified launch failure",
    "RuntimeError: CUDA error: misaligned address",
    "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":830',
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
    OWN,
    NEWER,
]


@pytest.mark.slow
@for_each("text", PROGRAM)
@for_each(
    "place", ["", "WSL2, pin_memory=True\n", "container: docker\n", "OS: Microsoft Windows 11\n", "scheduler: slurm\n"]
)
def test_the_program_s_own_errors_accuse_nothing(text: str, place: str) -> None:
    s = read(place + text)
    assert judgeable(s) and any(symptom.of_program for symptom in s.symptoms)
    assert not ids(s, status="fail")
    plain = render_terminal(report(s), LAYERS)
    own = next(symptom for symptom in s.symptoms if symptom.of_program)
    assert own.means.split()[0] in plain and "Likely, not proven" not in plain


@for_each("text", [OWN, NEWER])
def test_a_program_that_fills_the_gpu_shares_it_with_nobody(text: str) -> None:
    assert not ids(read(text + SMI.format(used=4, row=NONE)), status="fail")
    assert "gpu-memory-held-by-stale-process" not in report(read(text)).possible
    assert "wsl-pinned-memory-limit" not in report(read("WSL2 " + text)).possible


def test_memory_that_nobody_holds_is_a_cause_where_it_is_in_use() -> None:
    error = "RuntimeError: CUDA error: out of memory\n"
    assert not ids(read(error + SMI.format(used=4, row=NONE)), status="fail"), "an idle GPU now says nothing of then"
    assert ids(read(error + SMI.format(used=79000, row=NONE)), status="fail") == ["gpu-memory-held-by-stale-process"]
    held = SMI.format(used=79000, row="").replace("\n\n", "\n")
    assert ids(read(error + held), status="fail") == ["gpu-memory-held-by-stale-process"]
    seen = SMI.format(
        used=79000, row="|    0   N/A  N/A     55111      C   python                                 78900MiB |"
    )
    assert not ids(read(error + seen), status="fail"), "who holds it is there to see"


@for_each(
    "text",
    [
        "E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register",
        "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node",
        "TF-TRT Warning: Could not find TensorRT",
    ],
)
def test_harmless_messages_are_told_as_such(text: str) -> None:
    plain = render_terminal(report(read(text)), LAYERS)
    assert "No action needed" in plain and "not enough to find the cause" not in plain
    assert "No environment problem found in this text" in plain or "No known error in this text" in plain


def test_the_place_rules_causes_out() -> None:
    driver = "RuntimeError: Found no NVIDIA driver on your system."
    native = report(read("OS: Microsoft Windows 11 Pro\n" + driver))
    assert not [name for name in native.possible if name.startswith(("container-", "k8s-", "wsl-", "driver-libs-"))]
    bare = report(read("Linux version 6.8.0-45-generic (buildd@lcy02)\n" + driver))
    assert bare.possible and not [name for name in bare.possible if name.startswith("wsl-")]
    inside = report(read("Linux version 5.15.153.1-microsoft-standard-WSL2\n" + driver))
    assert inside.possible[0].startswith("wsl-")
    insufficient = "CUDA driver version is insufficient for CUDA runtime version"
    assert report(read(f"docker: True\ncontainer: True\n{insufficient}")).possible[0] == "container-no-gpu-flag"


def test_what_the_text_holds_is_not_asked_for() -> None:
    text = "CUDA error: all CUDA-capable devices are busy or unavailable\n" + SMI.format(used=79000, row=NONE)
    assert "nvidia-smi" not in [need.command for need in report(read(text)).needs]
    windows = report(read("OS: Microsoft Windows 11\nRuntimeError: No CUDA GPUs are available"))
    assert not [need for need in windows.needs if "grep" in need.command]


def test_an_old_wsl_kernel_is_the_cause_and_a_new_one_is_not() -> None:
    said = "Linux version {}-microsoft-standard-WSL2 (oe-user@oe-host)\nRuntimeError: Found no NVIDIA driver on your system."
    assert ids(read(said.format("5.10.16.3")), status="fail") == ["wsl-version-without-gpu"]
    assert not ids(read(said.format("5.15.153.1")), status="fail")


MAC = "PyTorch version: 2.10.0\nCUDA used to build PyTorch: None\nOS: macOS 14.5 (arm64)\nIs CUDA available: False\n"
CPU = (
    "PyTorch version: 2.9.0+cpu\nCUDA used to build PyTorch: None\nOS: Ubuntu 24.04.3 LTS (x86_64)\nIs CUDA available: False\n"
    "GPU models and configuration: No CUDA\nNvidia driver version: No CUDA\n"
)


def test_a_machine_that_is_for_no_cuda_is_sick_only_where_somebody_misses_it() -> None:
    for block in (MAC, CPU):
        assert not ids(read(block), status="fail")
        assert not ids(read(block + "RuntimeError: mat1 and mat2 shapes cannot be multiplied"), status="fail")
    missed = "AssertionError: Torch not compiled with CUDA enabled"
    assert ids(read(MAC + missed), status="fail")[0] == "no-nvidia-gpu"
    assert ids(read(CPU + missed), status="fail")[0] == "cpu-only-torch"
    assert ids(read(CPU.replace("models and configuration: No CUDA", "0: NVIDIA GeForce RTX 3060")), status="fail") == [
        "cpu-only-torch"
    ]


def test_a_fix_for_a_mac_can_be_made_on_it() -> None:
    fix = report(read(MAC + "AssertionError: Torch not compiled with CUDA enabled")).findings[0].fixes[0]
    assert "mps" in fix.steps[0].text and fix.steps[0].possible_here


@for_each("build", ["2.4.0+rocm6.1", "2.6.0+xpu"])
def test_other_makers_builds_raise_no_nvidia_cause(build: str) -> None:
    found = report(read(f"PyTorch version: {build}\nOS: Ubuntu 22.04 LTS (x86_64)\nHIP error: invalid device function"))
    assert not [f for f in found.findings if f.status == "fail"] and set(found.possible) <= {"no-nvidia-gpu"}


JAX = 'jax:    0.4.35\njaxlib: 0.4.34\nnumpy:  1.26.4\npython: 3.11.9\ndevice info: {}-1, 1 local devices"\nDriver Version: 535.183.01\nGPU 0: NVIDIA A100-SXM4-40GB\n'


def test_a_list_of_some_packages_does_not_prove_that_another_is_absent() -> None:
    assert not ids(read(JAX.format("NVIDIA A100-SXM4-40GB")), status="warn")
    assert not ids(read(JAX.format("NVIDIA A100-SXM4-40GB")), status="fail")


def test_lightning_s_report_is_read() -> None:
    s = read(
        "* CUDA:\n        - GPU:\n                - NVIDIA GeForce RTX 4090\n        - available:         True\n        - version:           11.8\n"
        "* Lightning:\n        - torch:             2.6.0+cu118\n"
    )
    assert s.torch_run.cuda_available is True and not report(s).possible


def test_words_that_hang_elsewhere_accuse_no_iommu() -> None:
    assert (
        "acs-redirects-peer-traffic"
        not in report(read("RTX 3060, driver 535.104.05: apt update hangs in the shell")).possible
    )
    assert (
        "acs-redirects-peer-traffic" in report(read("2x RTX 3090: DDP training hangs in init_process_group")).possible
    )


LOGS = {
    "NCCL without a network plugin": "NCCL INFO NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such "
    "file or directory : when loading libnccl-net.so\nNCCL INFO Channel 00/0 : 1[1] -> 0[0] via SHM/direct/direct\n"
    "NCCL INFO ncclCommInitRank comm 0xbde4170 rank 1 nranks 2 cudaDev 1 - Init COMPLETE",
    "a module without signature that runs": "nvidia: module verification failed: signature and/or required key missing - tainting kernel\n"
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14",
    "lspci of a card that nvidia drives": "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)\n"
    "\tKernel driver in use: nvidia\n\tKernel modules: nvidiafb, nouveau, nvidia_drm, nvidia",
    "nvidia-smi -q of a card without limits": "==============NVSMI LOG==============\nDriver Version : 550.54.15\nGPU 00000000:65:00.0\n"
    "    Clocks Event Reasons\n        SW Power Cap                      : Not Active\n        HW Slowdown                       : Not Active",
    "TensorFlow beside torch on Windows": "- Platform: Windows-10-10.0.22631-SP0\n- PyTorch version (GPU?): 2.5.0+cu124 (True)\n"
    "- Tensorflow version (GPU?): 2.17.0 (False)\nGPU: NVIDIA GeForce RTX 4070",
    "memory of a process that runs": "GPU memory is not released until the process exits, as nvidia-smi shows",
    "shared memory that is large": "shared memory (/dev/shm) size .... 251.76 GB\ntorch version .................... 2.3.0+cu121",
}


NOT_OF_IT = {
    "RuntimeError: unable to open shared memory object </torch_1_2> in read-write mode: Too many open files (24)": "shm-too-small",
    "RuntimeError: unable to mmap 1048576 bytes from file </torch_99_1>: Cannot allocate memory (12)": "shm-too-small",
    "RuntimeError: unable to open shared memory object </torch_1_2>: Permission denied (13)": "container-device-permission-denied",
    "nvidia-container-cli: initialization error: open failed: /proc/self/uid_map: permission denied": (
        "container-device-permission-denied"
    ),
    "OSError: [Errno 13] Permission denied: '/usr/local/cuda/lib64/libcudart.so'": "container-device-permission-denied",
    "WARNING: infoROM is corrupted at gpu 0000:03:00.0": "gpu-hardware-ecc-fault",
    "No devices found.": "driver-not-loaded",
}


@for_each("text, cause", NOT_OF_IT.items(), ids=NOT_OF_IT)
def test_a_line_worded_like_another_cause_s_does_not_accuse_it(text: str, cause: str) -> None:
    found = report(read(text))
    assert cause not in (*found.possible, found.likely, *(f.id for f in found.findings))


LISTED = {
    "path": "/usr/lib/x86_64-linux-gnu/libcudnn.so.9.20.0",
    "find": "$ find / -name 'libcudnn*'\n/usr/lib/x86_64-linux-gnu/libcudnn_adv.so.9.20.0\n/usr/lib/x86_64-linux-gnu/libcudnn.so.9.20.0",
    "ls": "lrwxrwxrwx 1 root root 23 May  4 2026 /usr/lib/x86_64-linux-gnu/libcudnn.so.9 -> libcudnn.so.9.20.0",
    "ldconfig": "\tlibcudnn.so.9 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcudnn.so.9.12.0",
    "ldd": "\tlibcudnn.so.9 => /opt/venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9 (0x00007f3f8a000000)",
    "wsl": "/usr/lib/wsl/lib/libcuda.so.1\n/usr/lib/wsl/lib/libnvidia-ml.so.1",
}


@for_each("text", LISTED.values(), ids=LISTED)
def test_a_list_of_files_is_no_symptom(text: str) -> None:
    found = report(read(text))
    assert not found.possible and not found.likely and not [f for f in found.findings if f.status in ("fail", "warn")]
    failed = report(read(f"{text}\nRuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"))
    assert "cudnn-shadowed-or-mismatched" in (failed.likely, *failed.possible, *(f.id for f in failed.findings))


def test_the_loopback_alone_is_no_failure() -> None:
    for said in ("Bootstrap : Using [0]lo:127.0.0.1<0>", "NET/Socket : Using [0]lo:127.0.0.1<0>"):
        assert not ids(read(f"n1:7:7 [0] NCCL INFO {said}"), status="fail")


def test_a_gpu_s_node_that_may_not_be_opened_and_a_full_limit_of_files_are_still_told() -> None:
    assert ids(read("open /dev/nvidia0: Permission denied"), status="fail") == ["container-device-permission-denied"]
    for said in ("[Errno 24] Too many open files", "unable to mmap </torch_1_2>: Too many open files (24)"):
        [found] = report(read(f"RuntimeError: {said}")).findings
        assert (found.id, found.status, found.fixes[0].steps[0].command) == (
            "open-files-low",
            "fail",
            "ulimit -n 65536",
        )
    lo = "n0:1:1 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>\n"
    refused = "n0:1:2 [0] NCCL INFO Call to connect returned Connection refused, retrying"
    assert ids(read(lo + refused), status="fail") == ["ranks-meet-on-wrong-interface"]


@for_each("text", LOGS.values(), ids=LOGS)
def test_lines_that_look_sick_in_sound_logs(text: str) -> None:
    found = report(read(text))
    assert not [f.id for f in found.findings if f.status == "fail" or f.title.startswith("Likely")]


def test_the_same_words_where_something_fails() -> None:
    said = "Kernel driver in use: nouveau\nKernel modules: nvidiafb, nouveau"
    assert ids(read("01:00.0 VGA compatible controller: NVIDIA Corporation GA102\n\t" + said), status="fail") == [
        "other-kernel-driver-bound"
    ]
    assert ids(read("kernel_modules: nouveau"), status="fail") == ["other-kernel-driver-bound"]
    failed = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nmodule verification failed: signature and/or required key missing"
    assert "secure-boot-unsigned-module" in report(read(failed)).possible
    assert ids(read("OS: Windows 11\ntensorflow version: 2.15.0\nGPU: RTX 3060"), status="warn") == [
        "framework-build-without-gpu"
    ]


def test_a_long_text_about_something_else_has_no_findings() -> None:
    """Words such as slow, suspend, temperature and licence stand in any manual."""
    manual = ["The files on the network share are slow to load.", "License: none", "After suspend and resume it hangs.",
              "temperature above 90C, the fan stops", "byte A2 follows, then T4 and L4", "the link runs at x1 lanes of x16",
              *(f"Chapter {number}: nothing of interest" for number in range(80))]  # fmt: skip
    found = report(read("\n".join(manual)))
    assert [f.id for f in found.findings if f.status in ("fail", "warn")] == [] and not known(found.snapshot.gpus)
    assert read("torch 2.6 trains on CUDA\n" + "\n".join(manual)).symptoms


TURING = """+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.85.12    Driver Version: 525.85.12    CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |
| N/A   45C    P8     9W /  70W | {used:>6}MiB / 15360MiB |     {busy:>2}%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
{row}
+-----------------------------------------------------------------------------+
"""
IDLE = "|  No running processes found                                                 |"
BUSY = "|    0   N/A  N/A    211211      C   python                          14940MiB |"


@for_each(("used", "busy", "row"), [(2, 0, IDLE), (14945, 97, BUSY), (14945, 0, BUSY), (1500, 3, BUSY)])
def test_a_sound_table_of_nvidia_smi_makes_nothing_likely(used: int, busy: int, row: str) -> None:
    found = report(read(TURING.format(used=used, busy=busy, row=row)))
    assert "gpu-memory-held-by-stale-process" not in found.possible and "gpu-hardware-ecc-fault" not in found.possible
    assert not any(f.status in ("fail", "warn") for f in found.findings) and not found.likely
    assert "most likely" not in open_words(found).lower()


def test_gpus_that_are_all_taken_are_offered() -> None:
    pending = "Warning  FailedScheduling  0/1 nodes are available: 1 Insufficient nvidia.com/gpu.\n"
    node = "Allocatable:\n  nvidia.com/gpu:     8\nAllocated resources:\n  nvidia.com/gpu     8             8\n"
    assert "k8s-gpu-not-advertised" in report(read(pending)).possible
    assert "k8s-gpu-not-advertised" not in report(read(pending + node)).possible


@for_each(
    ("text", "means"),
    [
        ("ImportError: /x/_scatter_cuda.so: undefined symbol: THPVariableClass", "loaded before torch"),
        ("RuntimeError: No such operator torchvision::nms", "has not been imported yet"),
    ],
)
def test_an_order_of_imports_is_no_broken_environment(text: str, means: str) -> None:
    s = read(text)
    assert not ids(s, status="fail") and any(means in symptom.means for symptom in s.symptoms)


def test_an_engine_s_error_is_no_harmless_note() -> None:
    failed = "docker: Error response from daemon: OCI runtime create failed: error running hook #0: stderr: Auto-detected mode as 'legacy'"
    assert not any(symptom.of_program for symptom in read(failed).symptoms)
    assert any(symptom.of_program for symptom in read("Auto-detected mode as 'legacy'").symptoms)
