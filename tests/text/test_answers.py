"""What a command at a shell's prompt answers, and lists of the host that are pasted without their heads."""

from __future__ import annotations

from doctor.snapshot import known
from doctor.text import read
from doctor.text.answers import joined
from doctor.text.blocks import lshw
from doctor.text.clean import lines_of

from ..judging import report
from ..rows import for_each

SMI_FAILED = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
ROW = "|   3  NVIDIA A100-SXM4-40GB          On  |   00000000:47:00.0 Off | {:>20} |\n"
COUNTS = """\
        {}
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : {}
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Uncorrectable            : {}
"""
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system.\n"


def failed(text: str) -> list[str]:
    return [f.id for f in report(read(text)).findings if f.status == "fail"]


@for_each("prompt", ["$ ", "# ", "user@laptop:~$ ", "[user@laptop ~]$ ", "", "> ", "➜  ~ "])
@for_each(
    ("command", "answer"),
    [
        ("prime-select query", "intel"),
        ("supergfxctl -g", "Integrated"),
        ("envycontrol --query", "integrated"),
        ("system76-power graphics", "integrated"),
        ("optimus-manager --print-mode", "Current GPU mode : integrated"),
    ],
)
def test_the_mode_of_a_switcher(prompt: str, command: str, answer: str) -> None:
    assert failed(f"{prompt}{command}\n{answer}\n{prompt}nvidia-smi\n{SMI_FAILED}\n") == ["dgpu-hidden-by-switcher"]


@for_each(
    "text",
    [
        "$ prime-select query\nnvidia\n",
        "$ prime-select query\non-demand\n",
        "$ envycontrol -q\nhybrid\n",
        "$ prime-select query\n$ lsmod\nintel 20480 0\n",
        "run prime-select query\n\n\n\n\nintel\n",
        "$ supergfxctl -g\nHybrid\n",
        "$ prime-select query; echo done\nintel\n",
    ],
)
def test_a_gpu_that_is_not_switched_off(text: str) -> None:
    assert failed(f"{text}$ nvidia-smi\n{SMI_FAILED}\n") == []


def test_the_state_of_the_fabric_manager() -> None:
    boards = "GPU: 8x NVIDIA H100 80GB HBM3\ntorch.cuda.is_available() {}\n"
    asked = "$ systemctl is-active nvidia-fabricmanager\n{}\n"
    status = (
        "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded\n     Active: {} (x)\n"
    )
    for form in (asked, status):
        for state in ("inactive", "failed"):
            assert failed(form.format(state) + boards.format(False)) == ["fabric-manager-not-running"]
            assert failed(form.format(state) + boards.format(True)) == []
            assert failed(form.format(state) + "GPU: NVIDIA GeForce RTX 4090\n") == []
        assert failed(form.format("active") + boards.format(False)) == []
    other = "● docker.service - Docker\n     Active: failed\n"
    assert failed("● nvidia-fabricmanager.service - x\n" + other + boards.format(False)) == []


@for_each(
    "text",
    [
        "lspci | grep -i nvidia\n(no output)\n",
        "$ lspci -nn | grep -i nvidia\n$ nvidia-smi\nNo devices were found\n",
        "lspci | grep -i nvidia returns nothing\n",
        "`lspci | grep -i nvidia` prints nothing\n",
        "$ lspci | grep -i nvidia\n$ lsmod | grep nvidia\n$ nvidia-smi\nNo devices were found\n",
        "root@vm:~# lspci | grep -i nvidia\nroot@vm:~# nvidia-smi\nbash: nvidia-smi: command not found\n",
    ],
)
def test_a_bus_without_nvidia(text: str) -> None:
    assert failed(text + NO_DRIVER) == ["no-nvidia-gpu"]
    assert failed("CUDA_VISIBLE_DEVICES=0\ngpu: RTX 3090\n" + text) != ["no-nvidia-gpu"]
    assert "no-nvidia-gpu" not in failed("Windows 11, WSL2\n" + text + NO_DRIVER)


@for_each(
    "text",
    [
        "$ lspci | grep -i nvidia\n$ lsmod | grep nvidia\n$ nvidia-smi\n$ python train.py\n",
        "First run:\n$ lspci | grep -i nvidia\n$ nvidia-smi\n$ python train.py\n",
        "$ lspci | grep -i nvidia\n01:00.0 VGA compatible controller: NVIDIA Corporation GA102 (rev a1)\n$ uname -r\n6.8.0\n",
        "$ lspci | grep -i amd\n$ nvidia-smi\nNo devices were found\n",
        "lspci | grep -i nvidia\n",
        "lspci | grep -i nvidia",
    ],
)
def test_commands_without_an_answer_prove_nothing(text: str) -> None:
    assert "no-nvidia-gpu" not in failed(text + NO_DRIVER)
    assert not any("no output" in line.text for line in joined(lines_of(text)))


def test_answers_that_are_facts() -> None:
    s = read("$ cat /sys/module/nvidia/version\n550.90.07\n$ ulimit -l\n64\n")
    assert (s.driver.kernel_version, s.host.memlock_kib) == ("550.90.07", 64)


def test_rows_of_the_table_without_its_banner() -> None:
    assert failed(ROW.format(8)) == ["gpu-hardware-ecc-fault"]
    for sound in (0, "N/A", "Off"):
        assert failed(ROW.format(sound)) == []
    (gpu,) = known(read(ROW.format(0)).gpus) or ()
    assert (known(gpu.index), known(gpu.name)) == (3, "NVIDIA A100-SXM4-40GB")


def test_counts_of_ecc_without_the_rest_of_the_log() -> None:
    assert (
        failed(COUNTS.format("Volatile", 0, 4)) == failed(COUNTS.format("Volatile", 2, 0)) == ["gpu-hardware-ecc-fault"]
    )
    for sound in (0, "N/A"):
        assert failed(COUNTS.format("Volatile", sound, sound) + COUNTS.format("Aggregate", 3, 9)) == []
    assert failed(COUNTS.format("Aggregate", 3, 9) + COUNTS.format("Volatile", 0, 0)) == []
    after = "        Aggregate\n        Remapped Rows\n            DRAM Uncorrectable            : 3\n"
    assert failed(COUNTS.format("Volatile", 0, 0) + after) == []


def test_a_list_of_wsl() -> None:
    head, row = "  NAME                   STATE           VERSION\n", "{} {:<22} Running         {}\n"
    one = head + row.format("*", "Ubuntu", 1)
    assert read(one).host.wsl == 1 and read(head.strip() + "\n" + row.format("*", "Ubuntu", 2)).host.wsl == 2
    assert read(one + row.format(" ", "Debian", 2)).host.wsl == 1
    assert read(head + row.format(" ", "Debian", 1) + row.format("*", "Ubuntu", 2)).host.wsl == 2
    assert read(one + row.format(" ", "docker-desktop", 2)).host.wsl == 1
    mixed = "NAME STATE VERSION\nUbuntu Running 1\nDebian Stopped 2\n"
    assert known(read(mixed).host.wsl) is None
    assert failed("$ wsl -l -v\n" + one + NO_DRIVER) == ["wsl-version-without-gpu"]
    assert "wsl-version-without-gpu" not in failed("$ wsl -l -v\n" + one.replace("1\n", "2\n") + NO_DRIVER)


def test_words_after_wsl() -> None:
    assert read("WSL2: No devices were found\n").host.wsl == 2
    assert known(read("WSL: no\n").host.wsl) in (None, 0)


@for_each(
    "text",
    [
        "$ modinfo nvidia | grep license\nlicense:        {}\n",
        "modinfo nvidia license: {}\n",
        "$ modinfo -F license nvidia\n{}\n",
    ],
)
def test_the_licence_of_the_module(text: str) -> None:
    assert read(text.format("NVIDIA")).driver.kernel_flavour == "proprietary"
    assert read(text.format("Dual MIT/GPL")).driver.kernel_flavour == "open"
    other = text.replace("nvidia", "nvidia-fs").format("GPL v2")
    assert known(read(other).driver.kernel_flavour) is None


def test_a_licence_of_something_else() -> None:
    for text in ("license: NVIDIA\n", "license: NVIDIA Proprietary\n", "license:        Dual MIT/GPL\n"):
        assert known(read(text).driver.kernel_flavour) is None
    assert read("license:        NVIDIA\n").driver.kernel_flavour == "proprietary"


def test_packages_against_the_module() -> None:
    module = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    package = "nvidia-driver-550:amd64\t{}-0ubuntu0.24.04.1\n"
    assert failed(package.format("550.107.02") + module) == ["driver-library-version-mismatch"]
    assert failed(package.format("550.90.07") + module) == []
    banner = "| NVIDIA-SMI 550.90.07   Driver Version: 550.90.07   CUDA Version: 12.4 |\n"
    assert failed(package.format("550.107.02") + module + banner) == []


def test_windows_lists_its_boards() -> None:
    asked = "wmic path win32_VideoController get name\nName\n{}\n"
    assert failed(asked.format("AMD Radeon(TM) Graphics") + NO_DRIVER) == ["no-nvidia-gpu"]
    assert failed("Get-CimInstance Win32_VideoController: Intel(R) UHD Graphics 620\n" + NO_DRIVER) == ["no-nvidia-gpu"]
    for more in (
        "NVIDIA GeForce RTX 3060",
        "Microsoft Basic Display Adapter",
        "Parsec Display\nNVIDIA GeForce GTX 1650",
    ):
        assert "no-nvidia-gpu" not in failed(asked.format("Intel(R) UHD Graphics\n" + more) + NO_DRIVER)


def test_a_block_of_lshw() -> None:
    block = (
        "  *-display\n       description: VGA compatible controller\n       product: TU102 [GeForce RTX 2080 Ti]\n"
        "       vendor: {}\n       configuration: driver={} latency=0\n"
    )
    (line,) = lshw(lines_of(block.format("NVIDIA Corporation", "vfio-pci")))
    assert line.text == "lshw: NVIDIA TU102 [GeForce RTX 2080 Ti], configuration: driver=vfio-pci latency=0"
    text = block + SMI_FAILED
    assert failed(text.format("NVIDIA Corporation", "vfio-pci")) == ["other-kernel-driver-bound"]
    assert failed(text.format("NVIDIA Corporation", "nvidia")) == []
    assert failed(text.format("Red Hat, Inc.", "vfio-pci")) == []


def test_a_gpu_of_another_maker_that_works() -> None:
    text = "torch 2.3.0+rocm6.0, AMD Radeon RX 7900 XTX, torch.cuda.is_available() {}\n"
    assert failed(text.format(True)) == []
    assert failed(text.format(False).replace("+rocm6.0", "+cu121"))[:1] == ["no-nvidia-gpu"]


def test_pages_that_were_retired() -> None:
    text = (
        COUNTS.format("Volatile", 0, 0) + "    Retired Pages\n        Single Bit ECC : 2\n        Double Bit ECC : {}\n"
    )
    assert failed(text.format(1)) == [] and failed(text.format(63)) == ["gpu-hardware-ecc-fault"]
