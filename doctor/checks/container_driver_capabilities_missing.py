"""The container has the GPU, but not all of the driver's libraries: a driver capability was not requested.

What is wrong: NVIDIA_DRIVER_CAPABILITIES controls which libraries the container toolkit mounts: `compute` adds libcuda,
`utility` adds NVML and nvidia-smi. The necessary capability was not requested.

Symptoms: without compute: `nvidia-smi` works and shows `CUDA Version: N/A`, but torch reports `Found no NVIDIA driver`.
Without utility: `nvidia-smi` is not found and NCCL fails, although CUDA works; this is a warning with several GPUs and
a note with one.

Why it happens: the variable is set to only `utility` or `graphics`, in the image or when the container is started. If
it is not set, the toolkit mounts compute and utility; before version 1.4.0 it mounted only utility.

How to fix it: set NVIDIA_DRIVER_CAPABILITIES=compute,utility (or all) when you start the container, or as ENV in the
image.

Source: NVIDIA Container Toolkit documentation, driver capabilities; its commit 20604621 for the default.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import start_with, variable_line
from ..fixes.where import container_kind
from ..snapshot import Missing, Snapshot, known, need
from ._given import given
from ._seen import DRIVERLESS, NOT_GIVEN, is_wsl

CHECK = Check(
    __name__,
    title="A driver capability is missing from the container",
    sound="The container has the driver's compute and utility libraries",
    severity="critical",
    layer="container",
    tags=("container",),
    downstream_of=(*DRIVERLESS, *NOT_GIVEN, "driver-libs-not-on-loader-path"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Judged by what is really missing besides the nodes; the variable only explains it."""
    kind = container_kind(s)
    if not kind:
        need("container.kind", s.container.kind)
        raise Skip("not in a container")
    if kind == "apptainer" or is_wsl(s):
        raise Skip("driver capabilities are not used here")
    found = given(s)
    if not found.nodes:
        raise Skip("no GPU device nodes in this container", without="gpu")
    if found.libcuda and found.nvml:
        for name in ("libcuda_path", "nvml_library_path"):
            need(f"driver.{name}", getattr(s.driver, name))
        return
    text = known(s.container.driver_capabilities)
    capabilities = {word.strip() for word in (text or "").lower().split(",")}
    lacks = [name for name, there in (("compute", found.libcuda), ("utility", found.nvml)) if not there]
    named = not isinstance(s.container.driver_capabilities, Missing) and "all" not in capabilities
    left_out = [name for name in lacks if name not in capabilities]
    if not named or not left_out:
        need("container.driver_capabilities", s.container.driver_capabilities)
        raise Skip("no capability was left out; the libraries are missing for a different reason")
    if len(lacks) == 2 and text is None:
        raise Skip("no part of the driver was mounted into this container", without="gpu")
    says = f"is '{text}'" if text is not None else "is not set"
    facts = {"driver_capabilities": text, "missing": left_out}
    wanted = ",".join(["compute", "utility", *sorted(capabilities - {"compute", "utility", ""})])
    fixes = (
        start_with(
            s,
            "set-driver-capabilities",
            "Start the container with the driver capabilities that it needs",
            "Set the variable at container start, or as ENV in the image; a running container cannot be changed.",
            variable_line(s, "NVIDIA_DRIVER_CAPABILITIES", wanted),
            container__driver_capabilities=wanted,
        ),
    )
    if "compute" in left_out:
        yield CHECK.fail(
            "The container has the GPU but not libcuda (driver capability 'compute')",
            f"The GPU's device nodes exist, but libcuda.so.1 is missing because NVIDIA_DRIVER_CAPABILITIES {says}; "
            "'compute' adds it.",
            facts=facts,
            fixes=fixes,
        )
        return
    title = "The container has the GPU but not NVML (driver capability 'utility')"
    detail = f"nvidia-smi, NCCL and monitoring cannot work because NVIDIA_DRIVER_CAPABILITIES {says}."
    devices = known(s.driver.cuda_devices) or ()
    if s.driver.cu_init == 0 and len(devices) == 1:
        yield CHECK.remark(title, f"CUDA works, but {detail}", facts=facts)
    else:
        yield CHECK.warn(title, f"CUDA can work, but {detail}", facts=facts, fixes=fixes)
