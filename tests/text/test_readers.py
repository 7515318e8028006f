"""Each tool's text in its real layout, read into facts."""

from __future__ import annotations

import json

from doctor.snapshot import NOT_ASKED, Gpu, Missing, Snapshot
from doctor.text import judgeable, read
from doctor.text.clean import lines_of

from ..cli.command import gpudoctor
from ..rows import for_each

COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.6.0+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.5 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Clang version: Could not collect
Libc version: glibc-2.35

Python version: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.15.167.4-microsoft-standard-WSL2-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: 12.4.131
GPU models and configuration:
GPU 0: NVIDIA GeForce RTX 4090
GPU 1: NVIDIA GeForce RTX 4090

Nvidia driver version: 572.16
cuDNN version: Could not collect

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] torch==2.6.0+cu124
[pip3] triton==3.2.0
[conda] Could not collect
"""
OLD = """\
PyTorch version: 1.8.1
Is debug build: False
CUDA used to build PyTorch: 11.1
OS: Ubuntu 18.04.5 LTS (x86_64)
GCC version: (Ubuntu 7.5.0-3ubuntu1~18.04) 7.5.0
CMake version: version 3.10.2
Python version: 3.8 (64-bit runtime)
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: GPU 0: Tesla T4
Nvidia driver version: 460.32.03
"""
BANNER = """\
Thu Nov 20 10:00:00 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.127.05             Driver Version: 550.127.05     CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA L40S                    On  |   00000000:01:00.0 Off |                    0 |
| N/A   30C    P8             33W /  350W |       4MiB /  46068MiB |      0%   E. Process |
+-----------------------------------------+------------------------+----------------------+
"""
NEW_BANNER = "| NVIDIA-SMI 610.43.02     KMD Version: 610.43.02     CUDA UMD Version: 13.3     |\n"
QUERY = """\
==============NVSMI LOG==============

Timestamp                                 : Thu Nov 20 10:00:00 2025
Driver Version                            : 535.216.01
CUDA Version                              : 12.2

Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA A10
    MIG Mode
        Current                           : Disabled
    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555
    FB Memory Usage
        Total                             : 23028 MiB
    Compute Mode                          : Default
"""
CSV = """\
index, name, driver_version, memory.total [MiB], compute_cap
0, NVIDIA H100 80GB HBM3, 570.86.10, 81559 MiB, 9.0
1, NVIDIA H100 80GB HBM3, 570.86.10, 81559 MiB, 9.0
"""


def gpus(s: Snapshot) -> tuple[Gpu, ...]:
    assert not isinstance(s.gpus, Missing)
    return s.gpus


def test_collect_env() -> None:
    s = read(COLLECT_ENV)
    assert (s.torch.version, s.torch.cuda, s.torch.build) == ("2.6.0+cu124", "12.4", "cuda")
    assert (s.host.wsl, s.host.kernel, s.host.libc) == (2, "5.15.167.4-microsoft-standard-WSL2", "glibc 2.35")
    assert (s.host.os_name, s.host.architecture) == ("Ubuntu 22.04.5 LTS", "x86_64")
    assert (s.driver.version, s.python.patient.version, s.cuda.nvcc_version) == ("572.16", "3.11.9", "12.4")
    assert s.torch_run.cuda_available is True
    assert [g.name for g in gpus(s)] == ["NVIDIA GeForce RTX 4090"] * 2
    assert s.witnesses["driver.nvml_driver_version"] == ("line 20: Nvidia driver version: 572.16",)
    numpy = s.python.distribution("numpy")
    assert numpy is not None and not isinstance(numpy, Missing) and numpy.version == "1.26.4"


def test_collect_env_of_2021() -> None:
    s = read(OLD)
    assert (s.torch.version, s.torch.cuda, s.driver.version) == ("1.8.1", "11.1", "460.32.03")
    assert [g.name for g in gpus(s)] == ["Tesla T4"]
    assert isinstance(s.cuda.nvcc_version, Missing)


@for_each(
    "wrap",
    [
        lambda t: "```\n" + t + "```\n",
        lambda t: "<details><summary>env</summary>\n\n<pre>" + t + "</pre></details>",
        lambda t: "".join(f"> {line}\n" for line in t.splitlines()),
        lambda t: "".join(f">> {line}\n" for line in t.splitlines()),
        lambda t: "".join(f"{n:6}\t{line}\n" for n, line in enumerate(t.splitlines(), 1)),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "\x1b[32m" + t.replace("\n", "\x1b[0m\n\x1b[32m"),
        lambda t: "\n".join(f"- {line}" for line in t.splitlines()),
        lambda t: t.replace("PyTorch version", "**PyTorch version**"),
        lambda t: t.encode("utf-16").decode("utf-16"),
    ],
)
def test_what_is_put_around_a_text_does_not_matter(wrap: object) -> None:
    plain, wrapped = read(COLLECT_ENV), read(wrap(COLLECT_ENV))  # type: ignore[operator]
    assert wrapped.replace({"witnesses": {}, "ranked": ()}) == plain.replace({"witnesses": {}, "ranked": ()})


def test_the_order_of_parts_does_not_matter() -> None:
    env = OLD.replace("460.32.03", "550.127.05").replace("Tesla T4", "NVIDIA L40S")
    lines = {"witnesses": {}, "symptoms": (), "ranked": ()}
    assert read(BANNER + env).replace(lines) == read(env + BANNER).replace(lines)


def test_banner() -> None:
    s = read(BANNER)
    assert (s.driver.version, s.driver.nvml_cuda_version) == ("550.127.05", "12.4")
    (gpu,) = gpus(s)
    assert (gpu.name, gpu.memory_total_mib, gpu.compute_mode) == ("NVIDIA L40S", 46068, "exclusive-process")
    assert gpu.pci_address == "0000:01:00.0"


def test_banner_since_610() -> None:
    s = read(NEW_BANNER)
    assert (s.driver.version, s.driver.nvml_cuda_version) == ("610.43.02", "13.3")


def test_query() -> None:
    s = read(QUERY)
    assert (s.driver.version, s.driver.nvml_cuda_version) == ("535.216.01", "12.2")
    (gpu,) = gpus(s)
    assert (gpu.name, gpu.mig_enabled, gpu.compute_mode, gpu.memory_total_mib) == (
        "NVIDIA A10",
        False,
        "default",
        23028,
    )
    assert gpu.key == "GPU-11111111-2222-3333-4444-555555555555"


def test_csv() -> None:
    s = read(CSV)
    assert s.driver.version == "570.86.10"
    assert [(g.name, g.compute_capability) for g in gpus(s)] == [("NVIDIA H100 80GB HBM3", "9.0")] * 2


def test_list_and_nvcc() -> None:
    s = read(
        "GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee)\n"
        "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.8, V11.8.89\n"
    )
    assert (gpus(s)[0].name, s.cuda.nvcc_version) == ("Tesla V100-SXM2-16GB", "11.8")


@for_each(
    "text",
    [
        "Package           Version\n----------------- ------------\nnumpy             2.1.0\ntorch             2.5.1+cu121\n",
        "numpy==2.1.0\ntorch==2.5.1+cu121\n",
        (
            "# packages in environment at /opt/conda:\n#\n# Name                    Version                   Build  Channel\n"
            "numpy                     2.1.0            py311h1         conda-forge\n"
            "torch                     2.5.1+cu121              pypi_0    pypi\n"
        ),
        "numpy==2.1.0\ntorch @ https://download.pytorch.org/whl/cu121/torch-2.5.1%2Bcu121-cp311-cp311-linux_x86_64.whl\n",
    ],
)
def test_packages(text: str) -> None:
    s = read(text)
    numpy, torch = s.python.distribution("numpy"), s.python.distribution("torch")
    assert numpy and torch and not isinstance(numpy, Missing) and not isinstance(torch, Missing)
    assert (numpy.version, torch.version, s.torch.version, s.torch.cuda) == (
        "2.1.0",
        "2.5.1+cu121",
        "2.5.1+cu121",
        "12.1",
    )


def test_conda_build_string_of_a_cpu_torch() -> None:
    s = read("# Name Version Build Channel\npytorch    2.3.0    cpu_py311h7d93ec0_0    conda-forge\n")
    assert (s.torch.version, s.torch.build) == ("2.3.0", "cpu")


def test_a_sentence() -> None:
    s = read("RTX 5080, driver 576.40, torch 2.5.1+cu121 on WSL")
    assert (s.driver.version, s.torch.version, s.host.wsl) == ("576.40", "2.5.1+cu121", 2)
    assert [g.name for g in gpus(s)] == ["RTX 5080"]


@for_each(
    "sentence",
    [
        "after I upgraded to torch 2.5.1+cu121 it fails on my RTX 4090",
        "On an RTX 4090 with torch==2.5.1+cu121, under WSL 2",
        "my setup: RTX 4090, pytorch version 2.5.1+cu121",
    ],
)
def test_what_a_sentence_says_is_there(sentence: str) -> None:
    s = read(sentence)
    assert s.torch.version == "2.5.1+cu121" and [g.name for g in gpus(s)] == ["RTX 4090"]


@for_each(
    ("line", "path", "value"),
    [
        ("host driver: 470.57.02", "driver.nvml_driver_version", "470.57.02"),
        ("GPU driver version = 550.54.14", "driver.nvml_driver_version", "550.54.14"),
        ("torch.version.cuda: 12.1", "torch.cuda", "12.1"),
        ("pytorch_version: 2.3.1+cu118", "torch.version", "2.3.1+cu118"),
        ("cudaDriverGetVersion: 12040", "driver.cuda_version", "12.4"),
        (
            "torch.cuda.get_arch_list(): ['sm_50', 'sm_60', 'compute_60']",
            "torch_run.arch_list",
            ("sm_50", "sm_60", "compute_60"),
        ),
        ("Secure Boot: enabled", "host.secure_boot", True),
        ("shm_size: 64m", "host.shm_mib", 64),
        ("kernel module flavour: open", "driver.kernel_flavour", "open"),
    ],
)
def test_facts_are_read_by_their_meaning(line: str, path: str, value: object) -> None:
    assert read(line + "\n").fact(path) == value


def test_contradictions_are_conflicts() -> None:
    s = read("Nvidia driver version: 535.54.03\nPyTorch version: 2.1.0\n\nNvidia driver version: 470.57.02\n")
    assert s.driver.nvml_driver_version == Missing("conflict", "line 1 says 535.54.03, line 4 says 470.57.02")
    assert s.torch.version == "2.1.0"


def test_descriptions_and_bounds_are_no_values() -> None:
    s = read("driver: >450\ntorch: <2.1\nCUDA_VISIBLE_DEVICES=(set by the script)\nNvidia driver version: 580+\n")
    assert isinstance(s.driver.version, Missing) and isinstance(s.torch.version, Missing)
    assert isinstance(s.host.environment, Missing)


def test_other_vendors() -> None:
    for name, vendor in (("AMD Radeon RX 7900 XTX", "1002"), ("AMD Radeon 890M (gfx1150)", "1002")):
        s = read(f"GPU 0: {name}\n")
        assert isinstance(s.gpus, Missing) and not isinstance(s.driver.pci_devices, Missing)
        assert s.driver.pci_devices[0].vendor == vendor


def test_nothing_to_judge() -> None:
    for text in (
        "",
        "Hello world\n",
        "public static void main: NullPointerException\n    at com.example.Main(Main.java:3)\n",
    ):
        assert not judgeable(read(text))


@for_each(
    "text",
    [
        '{\n  "driver": "570.86.10",\n  "torch": "2.6.0+cu124",\n  "cuda_available": false\n}\n',
        "| fact | value |\n| --- | --- |\n| driver | 570.86.10 |\n| torch | 2.6.0+cu124 |\n| cuda available | False |\n",
        "driver = 570.86.10\ntorch = 2.6.0+cu124\ncuda_available = False\n",
    ],
)
def test_facts_in_json_tables_and_assignments(text: str) -> None:
    s = read(text)
    assert (s.driver.version, s.torch.version, s.torch_run.cuda_available) == ("570.86.10", "2.6.0+cu124", False)


@for_each(
    "before",
    [
        "Aug 12 10:38:34 fileserver unsloth[4073658]: ",
        "Nov  3 01:02:03.123456 node-7 python3: ",
        "worker-1  | ",
        "2026-08-12T14:38:30.068479Z stdout F ",
        "2026-08-12T14:38:30Z ",
        "[rank3]: ",
        "[pod/train-0/main] ",
        "(EngineCore_DP0 pid=1234) ",
        "(pid=77, ip=10.0.0.4) ",
    ],
)
def test_what_a_log_puts_before_a_line_is_taken_off(before: str) -> None:
    s = read(f"{before}PyTorch version: 2.8.0+cu128\n{before}Nvidia driver version: 570.86.10\n")
    assert (s.torch.version, s.driver.nvml_driver_version) == ("2.8.0+cu128", "570.86.10")
    assert lines_of(f"{before}Is CUDA available: True")[0].text == "Is CUDA available: True"


@for_each("row", ["| NVIDIA-SMI 570.86.10 |", "Aug 12 10:38:34 host kernel: NVRM: Xid 79", "RTX 3090 | 2"])
def test_rows_that_only_look_so_stay(row: str) -> None:
    assert lines_of(row)[0].text == row


@for_each(
    ("row", "plain"),
    [
        ("make: *** [Makefile:95: own.o] Error 127", "make: *** [Makefile:95: own.o] Error 127"),
        ("**driver** 570.86.10", "driver 570.86.10"),
        ("see ***torch*** here", "see torch here"),
        ("CUDA **12.8**: yes", "CUDA 12.8: yes"),
    ],
)
def test_bold_is_taken_off_and_stars_of_make_stay(row: str, plain: str) -> None:
    assert lines_of(row)[0].text == plain


@for_each(
    ("text", "value"),
    [
        ("$ echo $CUDA_VISIBLE_DEVICES\n1,2", "1,2"),
        ("(env) me@box:~$ echo ${CUDA_VISIBLE_DEVICES}\n0", "0"),
        ("!echo $CUDA_VISIBLE_DEVICES\n-1", "-1"),
        ('# echo "$CUDA_VISIBLE_DEVICES"\nMIG-1c2d3e4f', "MIG-1c2d3e4f"),
        ("PS C:\\> echo $env:CUDA_VISIBLE_DEVICES\n3", "3"),
        ("C:\\>echo %CUDA_VISIBLE_DEVICES%\n0", "0"),
    ],
)
def test_what_echo_answers_is_the_variable(text: str, value: str) -> None:
    assert read(text).host.env("CUDA_VISIBLE_DEVICES") == value


@for_each(
    "text",
    [
        "$ echo $CUDA_VISIBLE_DEVICES\n\n0",
        "$ echo $CUDA_VISIBLE_DEVICES\n$ nvidia-smi",
        "$ echo $CUDA_VISIBLE_DEVICES\nbash: syntax error",
        "$ echo $CUDA_VISIBLE_DEVICES\nthen run it\n0",
    ],
)
def test_another_line_is_no_answer_of_echo(text: str) -> None:
    assert not isinstance(read(text).host.env("CUDA_VISIBLE_DEVICES"), str)


@for_each(
    ("text", "named"),
    [
        ("host_cuda: 10.2\nGCC version: 9.0\ninstaller: source", True),
        ("host_cuda: 10.2\nGCC version: 8.4\ninstaller: source", False),
        ("host_cuda: 12.8\nGCC version: 13.2\ninstaller: source", False),
        ("host_cuda: 10.2\nGCC version: 9.0\ninstaller: pip", False),
        ("nvcc: 12.2\ngcc version: 13.2.0\nFailed building wheel for own", True),
    ],
)
def test_a_gcc_that_is_newer_than_nvcc_takes_is_named_beside_a_build(text: str, named: bool) -> None:
    suggested = {check for symptom in read(text).symptoms for check in symptom.suggests}
    assert ("nvcc-host-compiler-unsupported" in suggested) is named


def test_paths_that_echo_answers() -> None:
    assert read("$ echo $CUDA_HOME\n/usr/local/cuda-12.4\n").host.env("CUDA_HOME") == "/usr/local/cuda-12.4"
    assert isinstance(read("$ echo $CUDA_HOME\n/usr/local $ ls\n").host.env("CUDA_HOME"), Missing)
    windows = "PS C:\\> echo $env:CUDA_PATH\nC:\\Program Files\\Toolkit\\v12.4\n"
    assert read(windows).host.env("CUDA_PATH") == "C:\\Program Files\\Toolkit\\v12.4"


@for_each(
    ("package", "ids"),
    [
        ("faiss", {"cuda-library-missing-any"}),
        ("torch", {"cuda-library-missing"}),
        ("torchvision", {"cuda-library-missing"}),
        ("pointkit", set()),
    ],
)
def test_who_could_not_load_a_library_is_told_by_the_traceback(package: str, ids: set[str]) -> None:
    s = read(
        f'Traceback (most recent call last):\n  File "/opt/lib/python3.11/site-packages/{package}/own.py", line 3, in '
        "<module>\n    from ._own import *\nImportError: libcublas.so.12: cannot open shared object file: No such file\n"
    )
    assert {symptom.id for symptom in s.symptoms if symptom.decides} == ids


@for_each("prompt", ["", "$ pip show torch\n", "PS C:\\> uv pip show torch\n", "(venv) C:\\work>pip show torch\n"])
def test_pip_show(prompt: str) -> None:
    s = read(f"{prompt}Name: torch\nVersion: 2.7.0+cpu\nSummary: Tensors\n---\nName: torchvision\nVersion: 0.22.0\n")
    vision = s.python.distribution("torchvision")
    assert (s.torch.version, s.torch.build) == ("2.7.0+cpu", "cpu")
    assert vision and not isinstance(vision, Missing) and vision.version == "0.22.0"


@for_each(
    "text",
    ["Name: torch\nUnit: 1\nVersion: 2.7.0+cpu", "Version: 2.7.0+cpu\nName: torch", "Name: torch\nVersion: unknown"],
)
def test_what_is_no_pip_show(text: str) -> None:
    assert isinstance(read(text).torch.version, Missing)


@for_each(
    ("flags", "build"),
    [
        ("USE_CUDA=False, USE_EIGEN_FOR_BLAS=ON", "cpu"),
        ("USE_CUDA=OFF, USE_ROCM=OFF,", "cpu"),
        ("USE_CUDA=ON", ""),
        ("USE_CUDA=0, USE_ROCM=ON", ""),
    ],
)
def test_build_settings_of_a_torch_without_cuda(flags: str, build: str) -> None:
    said = read(f"PyTorch 1.3.1\n  - Build settings: BLAS=MKL, BUILD_TYPE=Release, {flags}").torch.build
    assert said == build if build else isinstance(said, Missing)


@for_each(
    ("sentence", "capability"),
    [
        ("Jetson Orin Nano, JetPack 6.2, torch 2.6.0+cpu", "8.7"),
        ("aarch64, orin nx, torch 2.6.0+cpu", "8.7"),
        ("xavier nx on JetPack 5", "7.2"),
        ("my jetson nano(Jetpack 4.4)", "5.3"),
        ("AGX Thor, torch 2.9.0+cu130", "11.0"),
    ],
)
def test_a_jetson_in_a_sentence(sentence: str, capability: str) -> None:
    assert [g.compute_capability for g in gpus(read(sentence))] == [capability]


@for_each(
    "sentence", ["I plan to buy a GTX 1080 Ti for torch 2.8", "the orion nebula", "deployed on Jetsons, thor.local"]
)
def test_what_is_no_board_here(sentence: str) -> None:
    assert isinstance(read(sentence).gpus, Missing)


def test_a_board_that_shall_work_is_here() -> None:
    assert [g.name for g in gpus(read("I would like to get my RTX 4090 to work with torch"))] == ["RTX 4090"]


def test_cuda_of_conda_and_wheels_in_a_sentence() -> None:
    assert read("GeForce RTX 3070, pytorch 1.7.0 cudatoolkit 10.2").torch.cuda == "10.2"
    assert isinstance(read("RTX 3070, pytorch 1.7.0 needs cudatoolkit 11.0").torch.cuda, Missing)
    cudnn = read("Tesla V100, torch 2.8.0+cu128, nvidia-cudnn-cu12 9.11.0.98").python.distribution("nvidia-cudnn-cu12")
    assert cudnn and not isinstance(cudnn, Missing) and cudnn.version == "9.11.0.98"


def test_torch_of_an_image_named_in_passing() -> None:
    s = read("I run pytorch/pytorch:2.2.0-cuda12.1-cudnn8-runtime here")
    assert (s.torch.version, s.torch.cuda) == ("2.2.0", "12.1")
    assert isinstance(read("try docker pull pytorch/pytorch:2.2.0-cuda12.1-cudnn8-runtime").torch.cuda, Missing)


HEALTH = """\
==============NVSMI LOG==============
Driver Version                            : 570.86.15
CUDA Version                              : 12.8
Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    PCI
        Replays Since Reset               : 0
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity     : 0
        Aggregate
            SRAM Uncorrectable Parity     : 0
            SRAM Threshold Exceeded       : No
    Fabric
        State                             : Completed
        Status                            : Success
        CliqueId                          : 0
        ClusterUUID                       : 00000000-0000-0000-0000-000000000000
        Health
            Bandwidth                     : Full
            Route Recovery in progress    : False
            Route Unhealthy               : False
            Access Timeout Recovery       : False
GPU 00000000:43:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    PCI
        Replays Since Reset               : 12
    ECC Errors
        Aggregate
            SRAM Threshold Exceeded       : Yes
    Fabric
        State                             : Completed
        Status                            : Insufficient Resources
        Health
            Bandwidth                     : Degraded
            Route Recovery in progress    : N/A
            Route Unhealthy               : True
            Access Timeout Recovery       : False
            Incorrect Configuration       : No Partition
            Summary                       : Unhealthy
"""


def test_query_tells_sram_fabric_and_replays() -> None:
    sound, sick = gpus(read(HEALTH))
    names = ("sram_threshold_exceeded", "pcie_replays", "fabric_state", "fabric_status", "fabric_health")
    assert [getattr(sound, name) for name in names] == [False, 0, 3, 0, 0xAA]
    assert [getattr(sick, name) for name in names] == [True, 12, 3, 23, 0x491]
    assert (sound.fabric_health_summary, sick.fabric_health_summary) == (NOT_ASKED, 2)
    done = gpudoctor("explain", "-", "--format", "json", data=HEALTH.encode())
    found = {(f["id"], f["subject"]) for f in json.loads(done.stdout)["findings"] if f["status"] == "fail"}
    assert found == {("sram-ecc-threshold-exceeded", "gpu-1"), ("nvlink-fabric-unhealthy", "gpu-1")}, done
    well = HEALTH.partition("GPU 00000000:43")[0]
    findings = json.loads(gpudoctor("explain", "-", "--format", "json", data=well.encode()).stdout)["findings"]
    assert not [f["id"] for f in findings if f["status"] in ("fail", "warn")], findings
    alone = gpus(read(HEALTH.replace("Completed", "N/A").replace("Full", "N/A").replace("False", "N/A")))[0]
    assert alone.fabric_state == NOT_ASKED and alone.fabric_health == NOT_ASKED


def test_whether_ecc_is_on() -> None:
    mode = "==============NVSMI LOG==============\nGPU 00000000:3B:00.0\n    {}\n        Current : {}\n        Pending : {}\n"
    for heading, current, pending, facts in (
        ("ECC Mode", "Disabled", "Disabled", (False, False)),
        ("ECC Mode", "Enabled", "Disabled", (True, False)),
        ("Ecc Mode", "Disabled", "Enabled", (False, True)),
    ):
        (gpu,) = gpus(read(mode.format(heading, current, pending)))
        assert (gpu.ecc_enabled, gpu.ecc_pending) == facts
    (gpu,) = gpus(read(mode.format("ECC Mode", "N/A", "N/A")))
    assert isinstance(gpu.ecc_enabled, Missing)
    assert gpus(read(BANNER))[0].ecc_enabled is True
    off = gpus(read(BANNER.replace("                   0 |", "                 Off |")))[0]
    assert off.ecc_enabled is False and isinstance(off.ecc_uncorrected_volatile, Missing)
    csv = read("name, ecc.mode.current, ecc.mode.pending\nNVIDIA A100-SXM4-80GB, Disabled, Enabled\n")
    assert [(g.ecc_enabled, g.ecc_pending) for g in gpus(csv)] == [(False, True)]
    asked = read(
        "$ nvidia-smi --query-gpu=name,ecc.mode.current --format=csv,noheader\nNVIDIA A100-SXM4-80GB, Disabled\n"
    )
    assert gpus(asked)[0].ecc_enabled is False
