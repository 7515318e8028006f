"""What is offered for a told fault of CUDA libraries: torch's own, cuDNN, NCCL, and what feeds the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from compat_matrix.versions import numbers, torch_version

from ...findings import Fix, Step
from ...findings.patterns import lazy
from ...fixes.compatible import compatible_torch
from ...fixes.driver import RPM, other_host
from ...fixes.install import Install, note, ways
from ...fixes.jetson import jetson_build
from ...fixes.libcuda import without_folders
from ...fixes.libraries import off_library_path
from ...fixes.machine import capabilities, torch_cuda
from ...fixes.packages import uninstall_command
from ...fixes.selection import environment_with
from ...fixes.speed import local_data, more_workers
from ...fixes.where import RECHECK, container_kind, driver_changes, host_sudo, on_host, recheck_run
from ...snapshot import known
from .parts import Told, one_step
from .python import torch_again

_CUDNN_ASKED = lazy(
    r"(?:compil|buil[td]|expect|requir)\w{0,16}(?:\s{1,3}(?:with|against)|[_ ]version)?\s?[:=]?\s?[v(]?"
    r"(?:(\d{1,2})[.,]\s?(\d{1,2})|(\d{4,6})\b)",
    re.I,
)
_CUDNN_PART = lazy(r"64_(\d{1,2})\b|\.so\.(\d{1,2})\b")


def _pinned_again(t: Told) -> Iterable[Fix]:
    if t.said.id in ("nccl-versions", "nccl-rank-versions"):
        again = torch_again(t, "with its NCCL")
        return (
            one_step(
                "same-nccl-everywhere",
                "Give every machine of the job the same NCCL",
                "One image for all, or the same versions: on each machine.",
                again.steps[-1].command,
                "environment",
                changes=recheck_run(t.s),
                alternatives=again.steps[-1].alternatives,
            ),
        )
    if t.said.id == "nccl-unhandled" and not torch_version(known(t.s.torch.version) or ""):
        return (_system_nccl(t),)
    return (torch_again(t, "with its CUDA libraries"),)


def _mixed(t: Told) -> Iterable[Fix]:
    """The wheels of the other CUDA go first: removing them takes the shared files away too."""
    again, cuda = torch_again(t, "with its CUDA libraries"), torch_cuda(t.s, t.m)
    have = known(t.s.python.distributions) or ()
    names = [d.name for d in have if re.fullmatch(r"nvidia-(?:cudnn|nccl)-cu\d\d", d.name)]
    own = f"-cu{cuda.partition('.')[0]}" if cuda else ""
    others = [name for name in names if own and not name.endswith(own)]
    if not others:
        return (again,)
    remove = Step(
        text="They write the same files as torch's own.",
        command=uninstall_command(t.s, others),
        where="environment",
        destructive=True,
    )
    return (replace(again, title=f"Remove {', '.join(others)}, and install torch again", steps=(remove, *again.steps)),)


def _system_nccl(t: Told) -> Fix:
    """NCCL of the system: its packages carry the CUDA version that they are built for."""
    told = known(t.s.cuda.nvcc_version) or known(t.s.driver.nvml_cuda_version) or known(t.s.driver.cuda_version) or ""
    cuda = ".".join(told.split(".")[:2])
    title = f"Install the NCCL that is built for {f'CUDA {cuda}' if cuda else 'the CUDA here'}"
    cuda = cuda or "X.Y"
    root = host_sudo(t.s)
    text = f"Its packages end in the CUDA version that they are built for: the toolkit's here, as +cuda{cuda}."
    command = (
        f"apt-cache madison libnccl2 | grep +cuda{cuda}\n"
        f"{root}apt-get install -y libnccl2=VERSION+cuda{cuda} libnccl-dev=VERSION+cuda{cuda}"
    )
    if (known(t.s.host.os_id) or "") in RPM:
        command = (
            f"dnf list --showduplicates libnccl | grep +cuda{cuda}\n"
            f"{root}dnf install -y libnccl-VERSION+cuda{cuda} libnccl-devel-VERSION+cuda{cuda}"
        )
    return one_step("install-nccl", title, text, command, changes=recheck_run(t.s))


def _bundled(t: Told) -> Iterable[Fix]:
    if "jetson" in t.text.lower() or any("orin" in (known(g.name) or "").lower() for g in known(t.s.gpus) or ()):
        return (jetson_build(t.s),)
    return _pinned_again(t)


def _shadowed(t: Told) -> tuple[Fix, ...]:
    """Off the path: the folder that is named, else every folder of a toolkit."""
    if known(t.s.host.system) == "windows":
        command = "$env:PATH = ($env:PATH -split ';' | Where-Object { $_ -notmatch 'CUDA' }) -join ';'"
        return (
            one_step(
                "clear-path",
                "Take the CUDA folders off PATH for this program",
                "Windows finds libraries by PATH, and the wheels find their own.",
                command,
                changes=recheck_run(t.s),
            ),
        )
    if known(t.s.cuda.ld_library_path):
        paths = re.findall(r"(/[\w./+-]{3,160}/lib[\w+-]{2,40}\.so[.\d]{0,12})", t.text)
        return (off_library_path(t.s, paths),)
    text = (
        "The wheels find their own libraries; a setting in ~/.bashrc, the Dockerfile (ENV), a module or the job "
        "script has to go too."
    )
    return (
        one_step(
            "clear-ld-library-path",
            "Take the CUDA folders off LD_LIBRARY_PATH",
            text,
            without_folders("cuda"),
            changes=recheck_run(t.s),
        ),
    )


def _cudnn(t: Told) -> Iterable[Fix | None]:
    """Off the loader's path first; then the cuDNN that the message asks for, torch's own with torch."""
    lower = t.text.lower()
    off = off_library_path(t.s, ()) if known(t.s.cuda.ld_library_path) else None
    framework = any(word in lower for word in ("tensorflow", "jax", "xla", "ctranslate2", "whisper"))
    if "torch" in lower or (torch_version(known(t.s.torch.version) or "") and not framework):
        if off is None and ("ld_library_path" in lower or "linked against" in lower):  # torch before 1.12 does not say
            off = _shadowed(t)[0]
        return (off, torch_again(t, "with its cuDNN"))
    return (off, _cudnn_wheel(t))


def _cudnn_wheel(t: Told) -> Fix:
    """The cuDNN of the version that the message names, as a wheel on the loader's path."""
    wanted = _cudnn_asked(t.text)
    major = wanted[0]
    words = ".".join(map(str, wanted))
    title = f"Install cuDNN {words}, which the program asks for"
    if major < 8:
        text = f"Take cuDNN {words} for the CUDA that is here from developer.nvidia.com/rdp/cudnn-archive."
        return one_step("install-cudnn", title, text, changes=recheck_run(t.s))
    cuda = (numbers(torch_cuda(t.s, t.m) or known(t.s.driver.cuda_version)) or (12,))[0]
    bound = f">={words},<{major + 1}" if len(wanted) > 1 else f"=={major}.*"
    wheel = f"nvidia-cudnn-cu{11 if len(wanted) > 1 and wanted < (8, 9) else max(12, min(13, cuda))}{bound}"
    find = "import nvidia.cudnn as c; print(list(c.__path__)[0])"
    text = "Install it, and let the loader find it before the program starts; keep other copies off the path."
    more = f"export LD_LIBRARY_PATH=$(python3 -c '{find}')/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
    if known(t.s.host.system) == "windows":
        text = (
            "Install it, and put its folder on PATH before the program starts (or its files beside the program): "
            "Windows finds libraries by PATH."
        )
        more = f"$env:PATH = \"$(python -c '{find}')\\bin;$env:PATH\""
    return one_step(
        "install-cudnn",
        title,
        text,
        where="environment",
        changes={**recheck_run(t.s), "python.distributions": RECHECK},
        **ways(t.s, Install(packages=(wheel,)), after=f"\n{more}"),
    )


def _cudnn_asked(text: str) -> tuple[int, ...]:
    """(8, 5) of `compiled against (8, 5, 0)`, `compiled with: 8.5.0`, `compiled=8500`; (9,) of `cudnn_ops64_9.dll`."""
    found = _CUDNN_ASKED.search(text)
    if found and found[1]:
        return int(found[1]), int(found[2])
    if found:
        number = int(found[3])
        return (number // 10_000, number // 100 % 100) if number >= 90_000 else (number // 1000, number // 100 % 10)
    part = _CUDNN_PART.search(text)
    return (int(part[1] or part[2]),) if part else (9,)


def _cudnn_old_gpu(t: Told) -> Iterable[Fix | None]:
    """The newest cuDNN that the matrix knows to support the GPU."""
    wanted = next(iter(capabilities(t.s, t.m)), "6.1")
    major = (numbers(torch_cuda(t.s, t.m)) or (12,))[0]
    for row in sorted(t.m.cudnn_rows, key=lambda row: numbers(row.version), reverse=True):
        wheel = getattr(row, f"wheel_cu{major}", "")
        if wheel and t.m.cudnn_for_gpu(row.version, wanted, major).grade == "ok":
            request = Install(packages=(f"nvidia-cudnn-cu{major}=={wheel}",))
            fix = one_step(
                "install-older-cudnn",
                f"Install cuDNN {row.version}, the last for this GPU",
                "Where the program brings its own image, take the release of it before this cuDNN.",
                where="environment",
                note=note(t.s, request),
                **ways(t.s, request),
                changes={**recheck_run(t.s), "python.distributions": RECHECK},
            )
            return (fix, compatible_torch(t.s, t.m) if known(t.s.torch.version) else None)
    return (other_host(t.s, "whose GPU cuDNN supports", {**driver_changes(), **recheck_run(t.s)}),)


def _interface(t: Told) -> Iterable[Fix]:
    """The interface that leads to the peers: looked up, then named, the bridge ruled out meanwhile."""
    text = (
        "See which interface leads to the other machines (ip -br addr), and name it on each, for gloo too; "
        "'^docker0,lo' rules the bridges out where the names differ."
    )
    command = "export NCCL_SOCKET_IFNAME=^docker0,lo,virbr0"
    if container_kind(t.s) == "kubernetes":
        command = "env: [{name: NCCL_SOCKET_IFNAME, value: '^docker0,lo'}]"
    changes = {"host.environment": environment_with(t.s, "NCCL_SOCKET_IFNAME", "^docker0")}
    return (one_step("name-nccl-interface", "Name the network interface for NCCL", text, command, changes=changes),)


def _peers(t: Told) -> Iterable[Fix]:
    """At once without peer-to-peer; for good in the firmware."""
    changes = {"host.environment": environment_with(t.s, "NCCL_P2P_DISABLE", "1")}
    without = one_step(
        "without-p2p",
        "Run without peer-to-peer copies",
        "Slower, and safe; also in the job script.",
        "export NCCL_P2P_DISABLE=1",
        changes=changes,
    )
    step = on_host(
        t.s,
        "In the firmware switch ACS and the IOMMU (VT-d, AMD-Vi) off; virtual machines need them.",
        f"{host_sudo(t.s)}lspci -vvv | grep -i acsctl",
        changes,
    )
    return (without, Fix(id="acs-off", title="Switch ACS off in the firmware", steps=(step,)))


def _pipeline(t: Told) -> Iterable[Fix]:
    if t.said.id == "threads-told":
        cores = known(t.s.host.cpu_cores)
        count = max(1, min(16, (cores or 8) // max(1, len(known(t.s.gpus) or ()) or 1)))
        changes = {"host.environment": environment_with(t.s, "OMP_NUM_THREADS", str(count))}
        return (
            one_step(
                "fewer-threads",
                "Give each process the threads of its own cores",
                "As many as the cores divided by the processes; loader workers count too.",
                f"export OMP_NUM_THREADS={count}",
                changes=changes,
            ),
        )
    fixes = (more_workers(known(t.s.host.cpu_cores)), local_data())
    return fixes[::-1] if t.said.id == "slow-storage-told" else fixes


FIXES = {
    "bundled-cuda-libs-missing": _bundled, "mixed-cuda-wheels": _mixed, "nccl-version-conflict": _pinned_again,
    "ld-library-path-shadows-cuda-libs": _shadowed, "cudnn-shadowed-or-mismatched": _cudnn,
    "cudnn-dropped-old-gpu": _cudnn_old_gpu, "nccl-wrong-interface": _interface,
    "p2p-blocked-by-iommu-acs": _peers, "input-pipeline-bottleneck": _pipeline,
}  # fmt: skip
