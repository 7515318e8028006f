"""Lists of a machine's parts: whose link, whose number, who may open a node, what a node offers, how large /dev/shm is."""

from __future__ import annotations

from doctor.snapshot import known
from doctor.text import read

from ..judging import report
from ..rows import for_each


def decided(text: str) -> str:
    return next((symptom.decides for symptom in read(text).symptoms if symptom.decides), "")


def hinted(text: str) -> set[str]:
    return {name for symptom in read(text).symptoms for name in symptom.suggests}


SMI = """$ nvidia-smi -L
GPU 0: NVIDIA GeForce RTX 3060 (UUID: GPU-5d1f0a52-0000-0000-0000-000000000001)
GPU 1: NVIDIA GeForce RTX 4090 (UUID: GPU-5d1f0a52-0000-0000-0000-000000000002)
"""
ROWS = """nvidia-smi
|   0  NVIDIA GeForce RTX 3060        Off |   00000000:01:00.0  On |                  N/A |
|   1  NVIDIA GeForce RTX 4090        Off |   00000000:02:00.0 Off |                  Off |
"""
PROMPT = ">>> torch.cuda.get_device_name({})\n'NVIDIA GeForce RTX {}'\n"
GGML = """  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes
  Device 1: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes
"""
ORDER = "cuda-device-order-mismatch"


@for_each("smi", [SMI, ROWS])
@for_each("cuda", [PROMPT.format(0, 4090) + PROMPT.format(1, 3060), GGML])
def test_both_lists_in_another_order(smi: str, cuda: str) -> None:
    assert decided(cuda + smi) == decided(smi + cuda) == ORDER


@for_each(
    "cuda",
    [
        PROMPT.format(0, 4090),
        "Device: cuda:0 NVIDIA GeForce RTX 4090 : native\n",
        "CUDA:0 (NVIDIA GeForce RTX 4090, 24217MiB)\n",
        "-> device: 0, name: NVIDIA GeForce RTX 4090, pci bus id: 0000:02\n",
    ],
)
def test_one_name_allows_another_order(cuda: str) -> None:
    assert decided(cuda + SMI) == "" and ORDER in hinted(cuda + SMI)
    assert ORDER not in hinted("CUDA_VISIBLE_DEVICES=1 python\n" + cuda + SMI)


@for_each(
    "cuda",
    [
        PROMPT.format(0, 3060),
        PROMPT.format(0, 4070),
        "CUDA:1 (NVIDIA GeForce RTX 4090, 24217MiB)\n",
        PROMPT.format(0, 4090) + PROMPT.format(0, 3060),
        PROMPT.format(0, 4090).split("\n")[0],
    ],
)
def test_equal_or_unclear_names_say_nothing(cuda: str) -> None:
    assert ORDER not in hinted(cuda + SMI) and decided(cuda + SMI) == ""


GPU = "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)\n"
SSD = "04:00.0 Non-Volatile memory controller: Samsung Electronics NVMe SSD\n"
NARROW = "\t\tLnkSta: Speed 8GT/s, Width x2 (downgraded)\n"
SLOW = "\t\tLnkSta: Speed 2.5GT/s (downgraded), Width x16\n"
LINK = "pcie-link-or-topology-slow"


@for_each(
    ("text", "expected", "hint"),
    [
        (GPU + NARROW, LINK, True),
        (NARROW, LINK, True),
        (GPU + SLOW, "", True),
        (SSD + NARROW, "", False),
        (SSD + SLOW, "", False),
        (GPU + SLOW + SSD + NARROW, "", True),
        (SSD + NARROW + GPU + NARROW, LINK, True),
    ],
)
def test_links_of_lspci_belong_to_the_device_above(text: str, expected: str, hint: bool) -> None:
    assert decided(text) == expected
    assert (LINK in hinted(text)) is hint


QUERY = "            Link Width\n                Max                       : {}x\n                Current                   : {}x\n"
WIDTHS = "name, pcie.link.gen.current, pcie.link.width.current, pcie.link.width.max\n{}, 1, {}, {}\n"


@for_each(("now", "most", "expected"), [(1, 16, LINK), (4, 16, LINK), (8, 16, ""), (16, 16, "")])
def test_widths_of_nvidia_smi(now: int, most: int, expected: str) -> None:
    assert decided(QUERY.format(most, now)) == expected
    assert decided(WIDTHS.format("NVIDIA GeForce RTX 3090", now, most)) == expected
    assert decided(WIDTHS.format("NVIDIA GeForce RTX 3060 Laptop GPU", now, most)) == ""


NODES = """crw-rw---- 1 root video 195,   0 Jan  1 10:00 /dev/nvidia0
crw-rw---- 1 root video 195, 255 Jan  1 10:00 /dev/nvidiactl
"""
DENIED = "container-device-permission-denied"
ID = "uid={}(app) gid=1000(app) groups=1000(app){}\n"


def test_nodes_that_this_user_may_not_open() -> None:
    assert decided(NODES + ID.format(1000, "")) == DENIED
    assert decided(NODES) == "" and DENIED in hinted(NODES)
    wrong_mode = NODES.replace("crw-rw----", "c-w--wx-wT")
    assert DENIED in hinted(wrong_mode) and decided(wrong_mode + ID.format(1000, "")) == DENIED


@for_each(
    "text",
    [
        NODES + ID.format(1000, ",44(video)"),
        NODES + ID.format(0, ""),
        NODES.replace("---- ", "rw- ") + ID.format(1000, ""),
        NODES.replace("---- ", "---+ ") + ID.format(1000, ""),
        NODES.replace("root", "app") + ID.format(1000, ""),
        NODES + NODES.replace("---- ", "-rw- ").replace("nvidia0", "nvidia1") + ID.format(1000, ""),
    ],
)
def test_nodes_that_may_be_open(text: str) -> None:
    assert decided(text) == "" and DENIED not in hinted(text)


ZERO = "    resources:\n      limits:\n        nvidia.com/gpu: 0\n"
OFFER = "Allocatable:\n  cpu:                8\n  nvidia.com/gpu:     {}\n"
PENDING = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n"
NODE = "k8s-gpu-not-advertised"


@for_each(
    ("text", "expected"),
    [
        (OFFER.format(0), NODE),
        (ZERO, ""),
        (ZERO + OFFER.format(0), NODE),
        (PENDING + OFFER.format(0), NODE),
        (PENDING + OFFER.format(8), ""),
        (PENDING + "Allocated resources:\n  nvidia.com/gpu     8             8\n", ""),
        ("Allocatable:\n  nvidia.com/gpu: 1\n" + PENDING, ""),
    ],
)
def test_parts_of_a_nodes_description(text: str, expected: str) -> None:
    assert decided(text) == expected
    assert expected or NODE not in hinted(text)


SEGMENT = "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-NzwJ7O (size 9637888)\n"


@for_each(
    ("line", "mib", "expected"),
    [
        ("tmpfs           252G  1.2G  251G   1% /dev/shm", 258048, ""),
        ("shm              64M   13M   52M  20% /dev/shm", 64, "shm-too-small"),
        ("shm                65536     0     65536   0% /dev/shm", 64, "shm-too-small"),
        ("df -h: tmpfs 252G 1.2G 251G 1% /dev/shm", 258048, ""),
        ("tmpfs 16G 16G 0 100% /dev/shm", 16384, "shm-too-small"),
        ("shm on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k)", 64, "shm-too-small"),
    ],
)
def test_sizes_of_shared_memory(line: str, mib: int, expected: str) -> None:
    s = read(SEGMENT + line + "\n")
    assert known(s.host.shm_mib) == mib and decided(SEGMENT + line + "\n") == expected


POWER = "gpu-power-or-thermal-limited"
HEAT = "    GPU Current Temp                  : {} C\n    GPU Shutdown Temp                 : 102 C\n    GPU {} Temp            : {} C\n"
REASONS = """    Clocks Throttle Reasons
        Idle                              : Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
        SW Thermal Slowdown               : Not Active
"""


@for_each(
    ("text", "expected"),
    [
        (HEAT.format(56, "Max Operating", 57), True),
        (HEAT.format(93, "Slowdown", 95), True),
        (REASONS, False),
        (HEAT.format(78, "Slowdown", 95), False),
        (HEAT.format(60, "Max Operating", 83), False),
        ("        SW Power Cap                      : Active\n", True),
        ("throttle reasons: none\n", False),
        ("        SW Power Cap                      : Active\nP0, 395W / 400W, 99 % util, 1980 MHz\n", False),
        ("clocks_throttle_reasons.hw_slowdown: Not Active\nthrottling: none\n", False),
    ],
)
def test_heat_and_reasons(text: str, expected: bool) -> None:
    warned = [finding.id for finding in report(read(text)).findings if finding.status in ("warn", "fail")]
    assert (POWER in warned) is expected


def test_heat_alone_is_no_failure() -> None:
    """Near the highest temperature that it may work at, and nothing says that it slows down."""
    found = report(read(HEAT.format(56, "Max Operating", 57)))
    (finding,) = (one for one in found.findings if one.id == POWER)
    assert (finding.status, found.exit_code) == ("warn", 0) and finding.fixes


RUN = "$ docker run -it --rm \\\n    {} \\\n    pytorch/pytorch:2.1.0 python t.py\nRuntimeError: Found no NVIDIA driver on your system.\n"


@for_each(
    ("flag", "expected"),
    [
        ("--gpus all", ""),
        ("-p 80:80", "container-no-gpu-flag"),
        ("--device nvidia.com/gpu=all", ""),
        ("--privileged", ""),
    ],
)
def test_commands_over_several_lines(flag: str, expected: str) -> None:
    assert decided(RUN.format(flag)) == expected


NOT_FOUND = "docker run{} -it nvidia/cuda nvidia-smi\nnvidia-smi: command not found\n"


@for_each(
    ("text", "expected"),
    [
        (NOT_FOUND.format(""), "container-no-gpu-flag"),
        (NOT_FOUND.format("") + "docker run --gpus all nvidia/cuda nvidia-smi\nworks", "container-no-gpu-flag"),
        (NOT_FOUND.format(" --gpus all"), ""),
        (
            "In docker: nvidia-smi: command not found. Host driver 550.54. Do I need --gpus all?",
            "container-no-gpu-flag",
        ),
        ("In docker: nvidia-smi: command not found. Host driver 550.54. I pass --gpus all", ""),
    ],
)
def test_a_flag_that_is_asked_for_or_of_another_command_is_not_this_one_s(text: str, expected: str) -> None:
    assert decided(text) == expected


def test_a_command_that_is_cut_says_nothing() -> None:
    assert decided("docker run -it \\\n") == "" and decided("docker run -it \\\n  -p 80:80 \\\n") == ""


@for_each(
    ("line", "kind"),
    [
        ("Singularity> nvidia-smi", "apptainer"),
        ("Singularity>", "apptainer"),
        ("SINGULARITY_NAME=tf.sif", "apptainer"),
        ("LD_LIBRARY_PATH: /.singularity.d/libs", "apptainer"),
        ("(container) $ nvidia-smi -L", "other"),
        ("nvidia/cudagl:10.2-devel-ubuntu18.04", "other"),
        ("FROM nvcr.io/nvidia/pytorch:23.10-py3", "other"),
        ("it fails in docker", "docker"),
        ("it works in docker, here not", None),
        ("(host) # nvidia-smi -L", None),
        ("pulled nvidia/cuda:12.1.0-base and removed it", None),
    ],
)
def test_marks_of_a_place(line: str, kind: str | None) -> None:
    assert known(read(line + "\ntorch 2.1.0+cu121\n").container.kind) == kind
