"""One target for each parser: what it is given, and which exceptions it may raise. Anything else is a bug."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from . import files, images, seeds, seeds_text, take, take_text
from .mutate import mutate_bytes, mutate_json, mutate_json_lines, mutate_text

CORPUS = Path(__file__).parent / "corpus"
Mutate = Callable[[Random, bytes, list[bytes], tuple[bytes, ...]], bytes]


class Target(NamedTuple):
    """`take` parses an input and raises only what is documented; `most_mib`: memory that one input may take."""

    take: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    mutate: Mutate
    words: tuple[bytes, ...] = ()
    most_mib: int = 96


TARGETS: dict[str, Target] = {
    "elf": Target(take.elf, seeds.libraries, mutate_bytes),
    "fatbin": Target(take.fatbin, seeds.fatbins, mutate_bytes, (b"P\xedU\xba\x01\x00\x10\x00", b"\x02\x00\x01\x01@\x00\x00\x00")),
    "elf-forward": Target(take.elf_forward, seeds.fatbins, mutate_bytes, (b"P\xedU\xba\x01\x00\x10\x00", b"$ORIGIN/lib.so\0")),
    "tar": Target(take.tar, seeds.tars, mutate_bytes, (b"ustar\0" + b"00", b"19 path=../../x\n", b"\x80\0\0\0\0\0\0\0\x01")),
    "image-manifest": Target(images.manifest, images.manifests, mutate_json),
    "image-config": Target(images.config, images.configs, mutate_json),
    "image-archive": Target(images.archive, images.archives, mutate_bytes, (b"../../x", b"manifest.json", b"19 size=99999999\n")),
    "note": Target(take.note, seeds.notes, mutate_bytes, (b'"driver":[535]', b'"device":[[1]]', b"NVIDIA Corporation\0", b"1e400")),
    "note-json": Target(take.note_json, seeds.note_texts, mutate_json),
    "arch-list": Target(take.arch_list, seeds.arch_lists, mutate_bytes, (b"\0sm_90 sm_100a\0", b"gfx90a ", b"compute_120")),
    "ldcache": Target(take.ldcache, seeds.ldcaches, mutate_bytes, (b"glibc-ld.so.cache1.1", b"ld.so-1.7.0\0")),
    "report": Target(take.report, seeds.reports, mutate_json),
    "recording": Target(take.recording, seeds.recordings, mutate_json_lines, (b'"value": null', b'"error": 999', b'{"begin": "cuInit"}')),
    "agent-output": Target(take.agent_output, seeds.agent_outputs, mutate_json_lines),
    "metadata": Target(take.metadata, seeds.metadata, mutate_text, (b"Requires-Dist:", b"Version:", b"Name: ", b"\r\n\r\n")),
    "direct-url": Target(take.direct_url, seeds.direct_urls, mutate_json),
    "requires-dist": Target(take.requires_dist, seeds.requires_dist, mutate_text, (b"; extra == 'x'", b"==", b"(>=1)", b"@ file:///x", b"~=", b"===")),
    "config": Target(take.config, seeds.configs, mutate_text, (b"[tool.gpudoctor]", b"[[x]]", b"nan", b"inf", b'"""', b"1979-05-27", b"0x10")),
    "requirement-file": Target(files.requirements, files.seeds, mutate_text, (b"torch==2.5.1", b"[[tool.uv.index]]\n", b"torch = { git = ", b"- pip:\n  - ", b"\r\n")),
    "driver-version": Target(take.driver_version, seeds.driver_versions, mutate_text, (b"NVRM version:", b"Open Kernel Module")),
    "cpuinfo": Target(take.cpuinfo, seeds.cpuinfos, mutate_text, (b"processor\t: ", b"CPU part\t: 0xd40")),
    "meminfo": Target(take.meminfo, seeds.meminfos, mutate_text),
    "mountinfo": Target(take.mountinfo, seeds.mountinfos, mutate_text, (b" - ", b"\\040", b"\\777")),
    "limits": Target(take.limits, seeds.limits, mutate_text, (b"unlimited",)),
    "cgroup": Target(take.cgroup, seeds.cgroups, mutate_text, (b"max", b"0::/", b"cpu,cpuacct")),
    "os-release": Target(take.os_release, seeds.os_releases, mutate_text, (b"ID=", b'\\"', b"VERSION_ID=")),
    "pyvenv-cfg": Target(take.pyvenv_cfg, seeds.pyvenv_cfgs, mutate_text, (b"home = ", b"=")),
    "versions": Target(take.versions, seeds.versions, mutate_text, (b"+cu124", b"rc1", b".dev", b".post1", b"a0+nv25.08")),
    "nvidia-require": Target(take.nvidia_require, seeds.requirements, mutate_text, (b"cuda>=", b"brand=tesla", b",", b"driver<", b"arch!=", b"!")),
    "torch-version": Target(take.torch_version, seeds.torch_versions, mutate_text, (b"__version__ = '", b"cuda: Optional[str] = ", b"hip = ")),
    **{
        f"text-{name}": Target(take_text.reader(f"read_{function}"), texts, mutate_text, words)
        for name, function, texts, words in (
            ("keyed", "keyed", seeds_text.keyed, (b"driver: ", b"torch = ", b"(unknown)", b"12080", b"sm_90", b">=2.0,<2.2")),
            ("gpus", "gpus", seeds_text.keyed, (b"GPU 0,1,2: ", b"(UUID: GPU-", b"2x H100", b", sm_120", b"10de:2330")),
            ("smi", "smi", seeds_text.smi, (b"NVIDIA-SMI 550.54.15", b"|   0  ", b"MiB / ", b"KMD Version: ")),
            ("query", "query", seeds_text.smi, (b"NVSMI LOG", b"GPU 00000000:3B:00.0", b" : ", b"FB Memory Usage")),
            ("csv", "csv", seeds_text.smi, (b", ", b" MiB", b"--query-gpu=name", b"[N/A]", b"NVIDIA ", b"driver_version")),
            ("gpustat", "gpustat", seeds_text.named("gpustat"), (b"[0] NVIDIA L40S | 31'C, ", b" / 46068 MB |", b"2026  570.133.20")),
            ("discovery", "discovery", seeds_text.named("dcgmi"), (b"| GPU ID | Device Information", b"| 0      | Name: NVIDIA L40S |")),
            ("nvcc", "nvcc", seeds_text.named("mm"), (b"Cuda compilation tools, release 12.4",)),
            ("packages", "packages", seeds_text.packages, (b"==", b" @ ", b"Package Version", b"[pip3] ", b"cuda12.1")),
            ("topo", "topo", seeds_text.named("topo", "vllm"), (b"GPU0\tGPU1\tCPU Affinity", b" X ", b"NV18", b"PHB", b"GPU99")),
            ("built-with", "built_with", seeds_text.named("mm"), (b"NVCC architecture flags:", b"code=sm_90", b"code=compute_120f")),
            ("os-packages", "os_packages", seeds_text.named("dpkg", "apt", "rpm"), (b"ii  nvidia-driver-", b"-open", b".x86_64", b"[installed]")),
            ("modinfo", "modinfo", seeds_text.named("modinfo"), (b"filename: /x/nvidia.ko", b"version: ", b"license: ")),
            ("host-lists", "host_lists", seeds_text.named("host-lists"), (b"nvidia 1 0", b"/dev/nvidia0 ", b": installed", b"Linux x 6.8.0 #1")),
            ("lspci", "lspci", seeds_text.named("host-lists"), (b"01:00.0 3D controller: NVIDIA", b"[10de:2684]", b"\tKernel driver in use: ")),
            ("wsl", "wsl", seeds_text.named("wsl-version", "session"), (b"WSL 2", b"WSL version: 2.0.9", b"[ ] WSL 1", b"not in WSL")),
            ("tracebacks", "tracebacks", seeds_text.named("trace"), (b"Traceback (most recent call last):", b'  File "', b"ImportError: ", b"site-packages/torch/__init__.py")),
            ("variables", "variables", seeds_text.sentences, (b"export CUDA_X=", b" is unset", b"$env:", b"NCCL_")),
            ("session", "session", seeds_text.named("session"), (b">>> torch.cuda.is_available()", b"Out[3]: ", b"(8, 6)", b" returns False", b"print(")),
            ("readings", "readings", seeds_text.keyed, (b"power_limit: current=60, max=75", b"sw_power_cap", b"pcie width: ", b"gpu util: 99 %", b"sm clock: ")),
            ("orders", "orders", seeds_text.keyed, (b"nvidia_smi_order: ", b"torch_order: ", b"GTX 1080, TITAN X")),
            ("terse", "terse", seeds_text.sentences, (b"a 4090, ", b"2x3090", b" Windows 11, ", b"torch 2.1 torchvision 0.16", b"nvcc 11.5", b"h100 sxm x8", b"rx 7900 xtx", b" with ")),
            ("wsl-list", "wsl_list", seeds_text.machines, (b"  NAME STATE VERSION\n", b"* Ubuntu Running 2", b"  Debian  Stopped 1")),
            ("answers", "answers", seeds_text.machines, (b"$ prime-select query\n", b"intel\n", b"$ systemctl is-active nvidia-fabricmanager\n", b"inactive\n", b"$ lspci | grep -i nvidia\n")),
            ("controllers", "controllers", seeds_text.machines, (b"win32_VideoController\n", b"Name : NVIDIA ", b"DriverVersion : 31.0.15.4601\n")),
            ("device-names", "device_names", seeds_text.machines, (b">>> torch.cuda.get_device_name(0)\n", b"'NVIDIA A100'\n", b"GPU 0: NVIDIA ", b"nvidia-smi", b"(UUID: GPU-")),
            ("links", "links", seeds_text.machines, (b"01:00.0 VGA compatible controller: NVIDIA", b"LnkSta: Speed 2.5GT/s (downgraded), Width x4 (downgraded)\n")),
            ("holders", "holders", seeds_text.machines, (b"03:00.0 Ethernet controller: Intel", b"01:00.0 3D controller: NVIDIA", b"\tKernel driver in use: vfio-pci\n", b"Kernel driver in use: pci-stub\n")),
            ("widths", "widths", seeds_text.machines, (b"Link Width\n", b"  Max : 16x\n", b"  Current : 4x\n", b"pcie.link.width.current, pcie.link.width.max\n", b"4, 16\n")),
            ("k8s-gpus", "k8s_gpus", seeds_text.machines, (b"nvidia.com/gpu: 0\n", b"Allocatable:\n", b"Limits:\n", b"Requests:\n", b"    nvidia.com/gpu:   1\n")),
            ("node-modes", "node_modes", seeds_text.machines, (b"crw-rw---- 1 root video 195, 255 ", b"/dev/nvidiactl\n", b"/dev/nvidia0\n", b"crw-rw-rw-")),
            ("shm-room", "shm_room", seeds_text.machines, (b"shm  64M  64M  0 100% /dev/shm\n", b"tmpfs 65536 0 65536 0% /dev/shm\n", b"Filesystem Size Used Avail Use% Mounted on\n")),
            ("launch", "launch", seeds_text.machines, (b"docker run -it \\\n", b"  --gpus all \\\n", b"  image\n", b"podman run \\\n")),
            ("heat", "heat", seeds_text.machines, (b"GPU Current Temp : 92 C\n", b"GPU Slowdown Temp : 93 C\n", b"300W / 300W |  100%", b" 40000MiB ")),
            ("cudnn", "cudnn", seeds_text.keyed, (b"cudnn version 8905", b"cuDNN: 9.1.0", b"compiled against (8, 5, 0)", b"runtime version (8, 4, 0)")),
            ("free", "free", seeds_text.keyed, (b"hardware: 2x RTX 3090", b"software: torch=2.1.0, driver=535.54", b" | ", b"name=A100, ")),
            ("prose-cuda", "prose_cuda", seeds_text.sentences, (b"TensorFlow 2.1", b"CUDA 10.1", b"onnxruntime-gpu", b"cuda: 12.4")),
            ("prose", "prose", seeds_text.sentences, (b"driver 570", b"torch 2.", b"WSL2", b"8x RTX 5090", b" or newer")),
        )
    },
    "text-clean": Target(take_text.clean, seeds_text.every, mutate_bytes, (b"{\"gpus\": [", b"  - name: ", b"\n| --- | --- |\n", b"### GPU\n", b"<pre>", b"&gt;", b"\x1b[", b"**", b"__", b"1: ", b"```", b"\xff\xfe")),
    "text-shapes": Target(take_text.shapes, seeds_text.named(""), mutate_text, (b"NCCL version ", b"+cuda12.4", b"name: ", b" .....", b"v0.46")),
    "text-where": Target(take_text.where, seeds_text.places, mutate_text, (b"on colab", b"/content/", b"docker", b"C:\\Users\\", b"kubectl")),
    "text-messages": Target(take_text.messages, seeds_text.messages, mutate_text, (b"Xid", b"CUDA error", b"undefined symbol: ", b"no such file")),
    "text": Target(take_text.read, seeds_text.every, mutate_text, (b"driver: ", b"GPU 0: ", b"torch 2.", b"Xid", b"| ", b"container: docker")),
}  # fmt: skip
"""By name. To add one: a function in take.py, seeds in seeds.py, a line here."""


def corpus(name: str) -> list[Path]:
    """Inputs that once went wrong."""
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())
