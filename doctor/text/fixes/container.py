"""Fixes for a reported fault of a container, pod or job: how it is started, and what its host needs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...findings import Fix, Step
from ...fixes.cluster import ask_for_gpus, default_runtime, inspect_plugin, runtime_class, runtime_for_plugin
from ...fixes.container import allow_access, give_nodes, recreate_container, start_with_gpu, variable_line
from ...fixes.driver import install_compatible, other_host
from ...fixes.images import disable_require, newer_driver_for, older_image
from ...fixes.libcuda import drop_folder, library_path, purge_image_driver, remove_compat, without_folders
from ...fixes.limits import less_shm, more_files, more_shm, unlimited_memlock
from ...fixes.machine import driver_platform
from ...fixes.toolkit import cdi_again, docker_desktop, install_toolkit, no_cgroups
from ...fixes.where import (
    MANAGED,
    batch_job,
    container_kind,
    guest,
    library_changes,
)
from ...fixes.windows import update_windows_driver
from ...snapshot import known
from .parts import Builder, Evidence
from .written import written

_CDI = "/etc/cdi/nvidia.yaml"
_COMPAT = "/usr/local/cuda/compat/libcuda.so.1"


def _engine(t: Evidence) -> str:
    """docker, podman, containerd: from the place, else from the words."""
    kind, lower = container_kind(t.s), t.text.lower()
    if kind == "podman" or "podman" in lower or "stat nvidia.com/gpu" in lower:
        return "podman"
    return "containerd" if kind in ("containerd", "kubernetes") or "containerd" in lower else "docker"


def _at_provider(t: Evidence) -> bool:
    """Whether a provider or cluster starts the container and owns its host."""
    return container_kind(t.s) == "kubernetes" or (known(t.s.host.provider) or "") in MANAGED


def _apptainer(t: Evidence) -> Iterable[Fix]:
    if t.symptom.id != "nv-behind-the-image" and any(symptom.id == "nv-flag-told" for symptom in t.s.symptoms):
        return (written(t.s, "bind-driver-libraries"),)
    if t.symptom.id != "nv-files-not-found":
        return start_with_gpu(t.s.replace({"container.kind": "apptainer"}))
    job = written(t.s, "ask-for-gpus")
    host = t.s.replace({"container.kind": "none"})
    install = install_compatible(host, t.m)
    return (job, *install) if known(t.s.host.scheduler) else (*install, job)


def _runtime(t: Evidence) -> Iterable[Fix]:
    if t.symptom.id == "cuda-symbol-not-found":  # the toolkit is there, and older than the driver of Windows
        return (docker_desktop(),)
    if t.symptom.id == "k8s-runtime-handler":  # the pod was scheduled: the node offers its GPU
        return (default_runtime(t.s),)
    if _at_provider(t):
        return (
            (default_runtime(t.s), inspect_plugin(t.s))
            if container_kind(t.s) == "kubernetes"
            else (other_host(t.s, "whose container engine is set up for the NVIDIA runtime"),)
        )
    lower = t.text.lower()
    return install_toolkit(t.s, _engine(t), rootless="rootless" in lower, snap="snap" in lower)


def _stale(t: Evidence) -> Iterable[Fix]:
    """A CDI specification of another driver: its toolkit is there."""
    if _at_provider(t):
        return (other_host(t.s, "whose CDI specification was generated for its driver"),)
    return (cdi_again(t.s, _CDI),)


def _rootless(t: Evidence) -> Iterable[Fix]:
    return allow_access(t.s) if _at_provider(t) else (no_cgroups(t.s, _engine(t)),)


def _requirement(t: Evidence) -> Iterable[Fix]:
    """The image's `cuda>=12.6` against the driver: another image, another host or driver."""
    found = re.search(r"cuda\s?>=\s?(\d{1,2}\.\d{1,2})", t.text)
    newer = newer_driver_for(t.s, t.m, found[1] if found else "", whole=True)
    have = known(t.s.driver.nvml_cuda_version) or known(t.s.driver.cuda_version)
    image = older_image(t.s, have or "", found[1] if found else "")
    if _at_provider(t):
        return (*newer[:1], image, disable_require(t.s))
    own = [fix for fix in newer if fix.id != "choose-another-host"]
    return (image, *map(_in_reach, own), disable_require(t.s))


def _own(step: Step) -> Step:
    """The engine reports from the host, so its user can carry out the step there."""
    from msgspec.structs import replace

    return replace(step, possible_here=True)


def _in_reach(fix: Fix) -> Fix:
    """The engine reports from the host, so its user can work there."""
    from msgspec.structs import replace

    return replace(fix, steps=tuple(map(_own, fix.steps)))


def _image_driver(t: Evidence) -> Iterable[Fix]:
    """The files that are named go with the packages: images hold them without a package too."""
    names = dict.fromkeys(re.findall(r"/merged(/[\w./+-]{3,120}?)(?=[\s:,'\"]|$)", t.text))
    purge = purge_image_driver()
    if not names:
        return (purge,)
    step = Step(
        text="Also remove the files named in the error, if no package owns them.",
        where="dockerfile",
        command=f"RUN rm -f {' '.join(names)}",
        changes=library_changes(),
    )
    return (Fix(id=purge.id, title=purge.title, steps=(*purge.steps, step)),)


def _capabilities(t: Evidence) -> Iterable[Fix]:
    more = {
        "video-library-missing": ",video",
        "capabilities-without-video": ",video",
        "capabilities-without-graphics": ",graphics",
    }
    wanted = "compute,utility" + more.get(t.symptom.id, "")
    line = variable_line(t.s, "NVIDIA_DRIVER_CAPABILITIES", wanted)
    return (written(t.s, "set-driver-capabilities", line=line),)


def _permission(t: Evidence) -> Iterable[Fix]:
    if t.symptom.id == "no-cgroups-told" and not _at_provider(t):
        return (_in_reach(written(t.s, "allow-device-rules", engine=_engine(t))),)
    if any(symptom.id == "cli-privileges" for symptom in t.s.symptoms) and not _at_provider(t):
        return (_in_reach(written(t.s, "start-with-cdi")),)
    return allow_access(t.s)


def _uvm(t: Evidence) -> Iterable[Fix]:
    if container_kind(t.s) == "apptainer" or (guest(t.s) and not container_kind(t.s)):  # what --nv and a job pass on
        return (other_host(t.s, "whose nvidia-uvm module is loaded"), give_nodes(t.s, "uvm")[-1])
    if driver_platform(t.s) == "windows":
        return (update_windows_driver(t.s),)
    nodes = give_nodes(t.s, "uvm")
    return (*nodes[:1], written(t.s, "cdi-again")) if t.symptom.id == "uvm-major-differs" else nodes


def _nodes(t: Evidence) -> Iterable[Fix]:
    """The engine looked for the nodes on its host: there they are made; in WSL there are none to pass."""
    if driver_platform(t.s) == "windows":
        return start_with_gpu(t.s.replace({"container.kind": "docker"}))[:1]
    if _at_provider(t):
        return (other_host(t.s, "whose NVIDIA driver works"),)
    return give_nodes(t.s.replace({"container.kind": "none"}), "all")


def _stub(t: Evidence) -> Iterable[Fix]:
    folder = next((f for f in library_path(t.s) if "stubs" in f), "")
    if folder:
        return (drop_folder(t.s, folder, "the stubs folder"),)
    return (written(t.s, "drop-library-folder", command=without_folders("stubs")),)


def _not_advertised(t: Evidence) -> Iterable[Fix]:
    inspect = inspect_plugin(t.s)
    if t.symptom.id in ("nvml-library-not-found", "k8s-plugin-no-devices", "k8s-plugin-default-runtime"):
        return (*runtime_for_plugin(t.s), inspect)
    if t.symptom.id == "k8s-allocate-failed":
        again = written(t.s, "delete-rejected-pod")
        return (Fix(id=inspect.id, title=inspect.title, steps=(*inspect.steps, *again.steps), source=inspect.source),)
    return (inspect, *runtime_for_plugin(t.s))


def _allocation(t: Evidence) -> Iterable[Fix]:
    """Request a GPU; if no partition has the requested kind, one of a kind that a partition has."""
    if t.symptom.id == "slurm-devices-not-constrained":
        return (written(t.s, "constrain-devices"),)
    if t.symptom.id == "fewer-gpus-than-ordered":  # a GPU was asked for: its own words say what more
        return ()
    if t.symptom.id == "cli-unknown-device":
        return (written(t.s, "all-gpus-of-the-job", line=variable_line(t.s, "NVIDIA_VISIBLE_DEVICES", "all")),)
    return (written(t.s, "ask-for-known-gpus") if t.symptom.id == "slurm-gres" else ask_for_gpus(t.s),)


def _shm(t: Evidence) -> Iterable[Fix]:
    """A larger one if this user starts the container or owns the machine; else a program that needs less."""
    if known(t.s.container.kind) == "none":
        larger = written(t.s, "more-shared-memory", changes={"host.shm_mib": 16384})
    else:
        larger = more_shm(t.s)
    fixed = batch_job(t.s) or container_kind(t.s) == "apptainer" or (known(t.s.host.provider) or "") in MANAGED
    return (less_shm(t.s), larger) if fixed else (larger, less_shm(t.s))


def _memlock(t: Evidence) -> Iterable[Fix]:
    return (written(t.s, "without-rdma") if batch_job(t.s) else unlimited_memlock(t.s),)


def _memory_limit(t: Evidence) -> Iterable[Fix]:
    """Where the limit is set: the pod, the job, or the container; on a rented notebook nobody can."""
    if (known(t.s.host.provider) or "") in MANAGED:
        return (written(t.s, "need-less-main-memory"),)
    if t.symptom.id == "kubernetes-oom" or container_kind(t.s) == "kubernetes":
        return (written(t.s, "raise-memory-limit-kubernetes"),)
    job = t.symptom.id == "slurm-oom" or batch_job(t.s)
    return (written(t.s, "raise-memory-limit-job" if job else "raise-memory-limit"),)


FIXES: dict[str, Builder] = {
    "cgroup-memory-too-small": _memory_limit,
    "host-memory-exhausted": lambda t: (written(t.s, "need-less-main-memory"),),
    "apptainer-without-nv": _apptainer, "engine-lacks-gpu-support": _runtime,
    "cdi-spec-outdated": _stale, "rootless-engine-needs-no-cgroups": _rootless,
    "container-require-cuda-unsatisfied": _requirement, "container-image-ships-driver-libs": _image_driver,
    "container-driver-capabilities-missing": _capabilities, "container-device-permission-denied": _permission,
    "uvm-device-missing": _uvm, "device-nodes-missing": _nodes, "libcuda-stub-loaded": _stub,
    "k8s-gpu-not-advertised": _not_advertised, "scheduler-gpu-allocation": _allocation, "shm-too-small": _shm,
    "memlock-limit": _memlock, "open-files-low": lambda t: (more_files(t.s, 65536),),
    "container-no-gpu-flag": lambda t: start_with_gpu(t.s),
    "nvml-unknown-error-container-cgroup": lambda t: recreate_container(t.s),
    "cuda-compat-conflict": lambda t: remove_compat(t.s, _COMPAT),
    "cuda-compat-on-unsupported-gpu": lambda t: remove_compat(t.s, _COMPAT),
    "k8s-runtimeclass-missing": lambda t: runtime_class(t.s),
}  # fmt: skip
