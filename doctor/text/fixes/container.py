"""What is offered for a told fault of a container, pod or job: how it is started, and what its host must have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...findings import Fix, Step
from ...fixes.cluster import ask_for_gpus, default_runtime, inspect_plugin, runtime_class, runtime_for_plugin
from ...fixes.container import allow_access, give_nodes, recreate_container, start_with, start_with_gpu, variable_line
from ...fixes.driver import install_compatible, other_host
from ...fixes.images import disable_require, newer_driver_for, older_image
from ...fixes.libcuda import drop_folder, library_path, purge_image_driver, remove_compat, without_folders
from ...fixes.limits import less_shm, more_shm, unlimited_memlock
from ...fixes.machine import driver_platform
from ...fixes.toolkit import install_toolkit, no_cgroups
from ...fixes.where import (
    MANAGED,
    batch_job,
    container_kind,
    driver_changes,
    guest,
    host_sudo,
    library_changes,
    on_host,
    start_changes,
)
from ...fixes.windows import update_windows_driver
from ...snapshot import known
from .parts import Told, one_step

_COMPAT = "/usr/local/cuda/compat/libcuda.so.1"


def _engine(t: Told) -> str:
    """docker, podman, containerd: by the place, else by the words."""
    kind, lower = container_kind(t.s), t.text.lower()
    if kind == "podman" or "podman" in lower or "stat nvidia.com/gpu" in lower:
        return "podman"
    return "containerd" if kind in ("containerd", "kubernetes") or "containerd" in lower else "docker"


def _at_provider(t: Told) -> bool:
    """Whether somebody else starts the container and owns its host."""
    return container_kind(t.s) == "kubernetes" or (known(t.s.host.provider) or "") in MANAGED


def _no_flag(t: Told) -> Iterable[Fix]:
    return start_with_gpu(t.s)


def _apptainer(t: Told) -> Iterable[Fix]:
    if any(symptom.id == "nv-flag-told" for symptom in t.s.symptoms):
        text = (
            "--nv is given and brings nothing: it takes what the host's `ldconfig -p` lists, by the names in "
            "nvliblist.conf. Where the host does not list libcuda.so.1, bind it; better let the host's loader know "
            "its folder, or update Apptainer."
        )
        bind = start_with(
            t.s,
            "bind-driver-libraries",
            "Let the host's driver libraries reach the container",
            text,
            "ldconfig -p | grep -E 'libcuda.so.1|libnvidia-ml.so.1'\n"
            "apptainer exec --nv -B /usr/lib64/libcuda.so.1:/.singularity.d/libs/libcuda.so.1 "
            "IMAGE.sif COMMAND",
        )
        return (bind,)
    if t.said.id != "nv-files-not-found":
        return start_with_gpu(t.s.replace({"container.kind": "apptainer"}))
    text = "--nv found no driver here (a login node has none): run it on a node with a GPU."
    job = start_with(
        t.s,
        "ask-for-gpus",
        "Run it on a machine with a GPU and its driver",
        text,
        "srun --gres=gpu:1 apptainer exec --nv IMAGE.sif COMMAND",
    )
    host = t.s.replace({"container.kind": "none"})
    install = install_compatible(host, t.m)
    return (job, *install) if known(t.s.host.scheduler) else (*install, job)


def _runtime(t: Told) -> Iterable[Fix]:
    if _at_provider(t):
        return (
            (default_runtime(t.s), inspect_plugin(t.s))
            if container_kind(t.s) == "kubernetes"
            else (other_host(t.s, "whose container engine knows the NVIDIA runtime"),)
        )
    lower = t.text.lower()
    if t.said.id == "k8s-runtime-handler":
        return (default_runtime(t.s),)
    return install_toolkit(t.s, _engine(t), rootless="rootless" in lower, snap="snap" in lower)


def _requirement(t: Told) -> Iterable[Fix]:
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
    """A step on the host of the user whose engine speaks."""
    from msgspec.structs import replace

    return replace(step, possible_here=True)


def _in_reach(fix: Fix) -> Fix:
    """The engine speaks on the host: its user stands there."""
    from msgspec.structs import replace

    return replace(fix, steps=tuple(map(_own, fix.steps)))


def _image_driver(t: Told) -> Iterable[Fix]:
    """The files that are named go with the packages: images hold them without a package too."""
    names = dict.fromkeys(re.findall(r"/merged(/[\w./+-]{3,120}?)(?=[\s:,'\"]|$)", t.text))
    purge = purge_image_driver()
    if not names:
        return (purge,)
    step = Step(
        text="Remove the files that are named, where no package owns them.",
        where="dockerfile",
        command=f"RUN rm -f {' '.join(names)}",
        changes=library_changes(),
    )
    return (Fix(id=purge.id, title=purge.title, steps=(*purge.steps, step)),)


def _capabilities(t: Told) -> Iterable[Fix]:
    more = {
        "video-library-missing": ",video",
        "capabilities-without-video": ",video",
        "capabilities-without-graphics": ",graphics",
    }
    wanted = "compute,utility" + more.get(t.said.id, "")
    text = "Set the variable at the start or as ENV in the image; a running container cannot be changed."
    line = variable_line(t.s, "NVIDIA_DRIVER_CAPABILITIES", wanted)
    title = "Start the container with the driver capabilities that it needs"
    return (start_with(t.s, "set-driver-capabilities", title, text, line),)


def _permission(t: Told) -> Iterable[Fix]:
    if t.said.id == "no-cgroups-told" and not _at_provider(t):
        root = host_sudo(t.s)
        step = on_host(
            t.s,
            "A rootful engine needs the toolkit's device rules; no-cgroups = true is for rootless "
            "ones. Then start the container again.",
            f"{root}nvidia-ctk config --set nvidia-container-cli.no-cgroups=false --in-place && "
            f"{root}systemctl restart {_engine(t)}",
            start_changes(),
        )
        return (Fix(id="allow-device-rules", title="Let the toolkit write device rules", steps=(_own(step),)),)
    if t.said.id == "cli-bpf-denied" and not _at_provider(t):
        return (no_cgroups(t.s, _engine(t)),)
    return allow_access(t.s)


def _cgroup(t: Told) -> Iterable[Fix]:
    return recreate_container(t.s)


def _uvm(t: Told) -> Iterable[Fix]:
    if container_kind(t.s) == "apptainer" or (guest(t.s) and not container_kind(t.s)):  # what --nv and a job pass on
        return (other_host(t.s, "whose nvidia-uvm module is loaded"), give_nodes(t.s, "uvm")[-1])
    if driver_platform(t.s) == "windows":
        return (update_windows_driver(t.s),)
    if t.said.id != "uvm-major-differs":
        return give_nodes(t.s, "uvm")
    step = on_host(
        t.s,
        "On the host, make the CDI specification anew after nvidia-uvm was loaded (its number changes "
        "from boot to boot), then start the container again.",
        f"{host_sudo(t.s)}nvidia-modprobe -u -c=0 && "
        f"{host_sudo(t.s)}nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        start_changes(),
    )
    return (*give_nodes(t.s, "uvm")[:1], Fix(id="cdi-again", title="Make the CDI specification anew", steps=(step,)))


def _nodes(t: Told) -> Iterable[Fix]:
    """The engine looked for the nodes on its host: there they are made; in WSL there are none to pass."""
    if driver_platform(t.s) == "windows":
        return start_with_gpu(t.s.replace({"container.kind": "docker"}))[:1]
    if _at_provider(t):
        return (other_host(t.s, "whose NVIDIA driver works"),)
    return give_nodes(t.s.replace({"container.kind": "none"}), "all")


def _compat(t: Told) -> Iterable[Fix]:
    return remove_compat(t.s, _COMPAT)


def _stub(t: Told) -> Iterable[Fix]:
    folder = next((f for f in library_path(t.s) if "stubs" in f), "")
    if folder:
        return (drop_folder(t.s, folder, "the stubs folder"),)
    text = (
        "Take the stubs folder off LD_LIBRARY_PATH, also where it is set (Dockerfile ENV, ~/.bashrc, job script): "
        "what is built without a GPU may only link with it, not run."
    )
    return (
        one_step(
            "drop-library-folder",
            "Take the stubs folder off the library path",
            text,
            without_folders("stubs"),
            changes=library_changes(),
        ),
    )


def _not_advertised(t: Told) -> Iterable[Fix]:
    if t.said.id in ("nvml-library-not-found", "k8s-plugin-no-devices", "k8s-plugin-default-runtime"):
        return (*runtime_for_plugin(t.s), inspect_plugin(t.s))
    if t.said.id == "k8s-allocate-failed":
        look = inspect_plugin(t.s)
        again = Step(
            text="Once the node offers healthy GPUs again, delete the pod that was rejected.",
            command="kubectl delete pod POD",
            where="container-start",
            changes=start_changes(),
        )
        return (Fix(id=look.id, title=look.title, steps=(*look.steps, again), source=look.source),)
    return (inspect_plugin(t.s), *runtime_for_plugin(t.s))


def _runtime_class(t: Told) -> Iterable[Fix]:
    return runtime_class(t.s)


def _allocation(t: Told) -> Iterable[Fix]:
    """A GPU is asked for; of a kind that a partition has, where the one that was asked for is nowhere."""
    if t.said.id == "slurm-devices-not-constrained":
        text = (
            "For the administrators: add the line to cgroup.conf on the nodes and restart slurmd. Until then, in "
            "the container, number the GPUs from 0."
        )
        return (
            one_step(
                "constrain-devices",
                "Let Slurm confine each job to its devices",
                text,
                "ConstrainDevices=yes      # cgroup.conf",
                "container-start",
                changes=start_changes(),
            ),
        )
    if t.said.id == "cli-unknown-device":
        text = (
            "In a job only its own GPUs are there, numbered from 0: the variable must not carry the node's "
            "numbers. Leave the choice to the batch system."
        )
        return (
            start_with(
                t.s,
                "all-gpus-of-the-job",
                "Ask for all GPUs of the job",
                text,
                variable_line(t.s, "NVIDIA_VISIBLE_DEVICES", "all"),
            ),
        )
    if t.said.id == "slurm-gres":
        text = "See which GPUs each partition has, and ask for one of those: the names after gpu: count."
        return (
            one_step(
                "ask-for-known-gpus",
                "Ask for GPUs that a partition has",
                text,
                "sinfo -o '%P %G'\n#SBATCH --partition=PARTITION --gres=gpu:1",
                "container-start",
                changes=start_changes(),
            ),
        )
    return (ask_for_gpus(t.s),)


def _shm(t: Told) -> Iterable[Fix]:
    """Larger, where this user starts the container or owns the machine; else a program that needs less."""
    if known(t.s.container.kind) == "none":
        step = on_host(
            t.s,
            "Make it larger until the next boot; for good set size= in /etc/fstab.",
            f"{host_sudo(t.s)}mount -o remount,size=16G /dev/shm",
            {"host.shm_mib": 16384},
        )
        larger = Fix(id="more-shared-memory", title="Make /dev/shm larger", steps=(step,))
    else:
        larger = more_shm(t.s)
    fixed = batch_job(t.s) or container_kind(t.s) == "apptainer" or (known(t.s.host.provider) or "") in MANAGED
    return (less_shm(t.s), larger) if fixed else (larger, less_shm(t.s))


def _memlock(t: Told) -> Iterable[Fix]:
    if batch_job(t.s):
        text = (
            "Ask the administrators to lift the limit for jobs (Slurm: LimitMEMLOCK=infinity in slurmd.service, "
            "PropagateResourceLimitsExcept=MEMLOCK in slurm.conf); until then do without RDMA."
        )
        return (
            one_step(
                "without-rdma",
                "Do without RDMA until the limit is lifted",
                text,
                "export NCCL_IB_DISABLE=1",
                changes=driver_changes(),
            ),
        )
    return (unlimited_memlock(t.s),)


FIXES = {
    "container-no-gpu-flag": _no_flag, "apptainer-without-nv": _apptainer,
    "container-runtime-not-configured": _runtime, "container-require-cuda-unsatisfied": _requirement,
    "container-image-ships-driver-libs": _image_driver, "container-driver-capabilities-missing": _capabilities,
    "container-device-permission-denied": _permission, "nvml-unknown-error-container-cgroup": _cgroup,
    "uvm-device-missing": _uvm, "device-nodes-missing": _nodes,
    "cuda-compat-conflict": _compat, "cuda-compat-on-unsupported-gpu": _compat,
    "libcuda-stub-loaded": _stub,
    "k8s-gpu-not-advertised": _not_advertised, "k8s-runtimeclass-missing": _runtime_class,
    "scheduler-gpu-allocation": _allocation, "shm-too-small": _shm, "memlock-limit": _memlock,
}  # fmt: skip
