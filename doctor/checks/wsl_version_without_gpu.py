"""This WSL distribution has no GPU: it is WSL 1, or Windows, WSL or the Windows driver does not provide one.

What is wrong: WSL 2 provides the Windows GPU as /dev/dxg, and its libraries in /usr/lib/wsl/lib. WSL 1 has neither;
with an old Windows or WSL version or no NVIDIA driver in Windows, some of this is missing.

Symptoms: `Found no NVIDIA driver on your system`, `nvidia-smi: command not found`, or nvidia-smi cannot
communicate with the driver.

Why it happens: the distribution was installed as WSL 1; Windows 10 before 21H2; no NVIDIA driver in Windows, or one
without WSL support.

How to fix it: in Windows, run `wsl --set-version NAME 2` and `wsl --update`, and install the NVIDIA driver for Windows.
Do not install a Linux driver inside WSL.

Source: docs.nvidia.com/cuda/wsl-user-guide; learn.microsoft.com/windows/wsl.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.where import container_kind
from ..fixes.windows import convert_to_wsl2, update_windows_driver
from ..snapshot import Snapshot, known, need
from ._seen import absent, nodes_of

CHECK = Check(
    __name__,
    title="This WSL distribution has no GPU",
    sound="This WSL distribution has a GPU",
    severity="critical",
    layer="hardware",
    tags=("wsl",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails in WSL 1; in WSL 2 without /dev/dxg, or without any libcuda from Windows."""
    version = need("host.wsl", s.host.wsl)
    if version == 0:
        raise Skip("not in WSL")
    if version == 1:
        if p.expect.kind == "any":
            yield CHECK.remark("WSL 1 has no GPU access; programs will run on the CPU", facts={"wsl": 1})
            return
        yield CHECK.fail(
            "This is WSL 1, which has no GPU access",
            "Only WSL 2 gives Linux access to the Windows GPU.",
            facts={"wsl": 1, "kernel": known(s.host.kernel)},
            fixes=(convert_to_wsl2(),),
        )
        return
    if container_kind(s):
        raise Skip("in a container inside WSL 2 (see container-no-gpu-flag)")
    if known(s.driver.cu_init) == 0:
        return
    need("driver.device_nodes", s.driver.device_nodes)
    lacks = ""
    if not nodes_of(s, "dxg"):
        lacks = "/dev/dxg is missing: Windows or WSL is too old, or Windows has no driver for the GPU"
    elif absent(s.driver.libcuda_path):
        files = need("driver.libcuda_candidates", s.driver.libcuda_candidates)
        if not any(f.found_by == "elsewhere" and not f.stub for f in files):
            lacks = "/dev/dxg exists, but Windows supplies no libcuda: its NVIDIA driver is missing or too old"
    if not lacks:
        need("driver.libcuda_path", s.driver.libcuda_path)
        return
    if p.expect.kind == "any":
        yield CHECK.remark("This WSL 2 distribution has no GPU; programs will run on the CPU", lacks, facts={"wsl": 2})
        return
    yield CHECK.fail(
        "This WSL 2 distribution has no GPU",
        f"{lacks}.",
        facts={"wsl": 2, "kernel": known(s.host.kernel)},
        fixes=(update_windows_driver(s),),
    )
