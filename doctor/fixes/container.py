"""Fixes of how a container or job is started: GPUs, device nodes, driver capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..findings import Fix, Step, Where
from ..snapshot import DeviceNode, Snapshot, known
from .where import MANAGED, PROVIDERS, container_kind, host_sudo, on_host, start_again, start_changes

_TOOLKIT = "docs.nvidia.com/datacenter/cloud-native/container-toolkit"
_START = {
    "docker": "docker run --gpus all IMAGE\n"
    "# compose: services: <name>: deploy: resources: reservations: devices:\n"
    "#   - {driver: nvidia, count: all, capabilities: [gpu]}",
    "podman": "podman run --device nvidia.com/gpu=all --security-opt=label=disable IMAGE",
    "containerd": "nerdctl run --gpus all IMAGE",
    "kubernetes": "resources: {limits: {nvidia.com/gpu: 1}}",
    "apptainer": "apptainer exec --nv IMAGE.sif COMMAND",
    "gvisor": "docker run --runtime=runsc --gpus all IMAGE   # runsc installed with --nvproxy=true",
    "lxc": "lxc config device add <CONTAINER> gpu gpu && lxc config set <CONTAINER> nvidia.runtime true",
    "systemd-nspawn": "systemd-nspawn --bind=/dev/nvidia0 --bind=/dev/nvidiactl --bind=/dev/nvidia-uvm ...",
}
_WORDS = {
    "kubernetes": "Request a GPU in the container's spec; a pod that requests none gets none.",
    "apptainer": "Start with --nv, which brings in the host's driver libraries.",
}


def start_with_gpu(s: Snapshot) -> tuple[Fix, ...]:
    """Start the container again with the GPU, in the words of what runs it; then what the host must have."""
    kind, changes = container_kind(s), start_changes()
    name = known(s.host.provider) or ""
    provider = PROVIDERS[name] if name in MANAGED else None
    if provider and kind != "kubernetes":
        text = f"On {provider[0]}: start this pod or instance with a GPU type ({provider[1]})."
        return (
            Fix(
                id="start-with-gpu",
                title="Start it with a GPU",
                steps=(Step(text=text, where="provider", changes=changes),),
            ),
        )
    start = Fix(
        id="start-with-gpu",
        title="Recreate the container with the GPU",
        steps=(
            Step(
                text=_WORDS.get(kind, "Recreate the container with GPUs: a running one cannot get them."),
                command=_START.get(kind, _START["docker"]),
                where="container-start",
                changes=changes,
            ),
        ),
        note="If the engine answers 'could not select device driver', the host lacks the NVIDIA Container Toolkit."
        if kind in ("docker", "containerd", "podman")
        else "",
        source=_TOOLKIT,
    )
    return (start, _configure_runtime(s, kind)) if kind in ("docker", "podman", "containerd") else (start,)


def _configure_runtime(s: Snapshot, kind: str) -> Fix:
    root = host_sudo(s)
    configure = (
        f"{root}nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
        if kind == "podman"
        else f"{root}nvidia-ctk runtime configure --runtime={kind} && {root}systemctl restart {kind}"
    )
    return Fix(
        id="configure-container-toolkit",
        title="Set up the NVIDIA Container Toolkit on the host",
        steps=(
            on_host(
                s,
                "Install nvidia-container-toolkit from NVIDIA's repository, then configure the engine.",
                configure,
                start_changes(),
            ),
        ),
        source=_TOOLKIT,
    )


def start_with(
    s: Snapshot, fix_id: str, title: str, text: str, command: str, where: Where = "container-start", **known_now: Any
) -> Fix:
    """Start the container or job again with one thing changed."""
    step = Step(text=text, command=command, where=where, changes=start_changes(**known_now))
    return Fix(id=fix_id, title=title, steps=(step,), source=_TOOLKIT)


def engine_line(s: Snapshot, options: str) -> str:
    """The engine's command with these options; empty where the user types none (a provider, a cluster)."""
    kind = container_kind(s)
    if kind == "kubernetes" or (known(s.host.provider) or "") in MANAGED:
        return ""
    engine = "podman run --device nvidia.com/gpu=all" if kind == "podman" else "docker run --gpus all"
    return f"{engine} {options} ..."


def variable_line(s: Snapshot, name: str, value: str) -> str:
    """How a variable is given to a container of this kind."""
    kind = container_kind(s)
    if kind == "kubernetes":
        return f"env: [{{name: {name}, value: '{value}'}}]"
    if (known(s.host.provider) or "") in MANAGED:
        return f"{name}={value}   # an environment variable of the template, pod or image"
    if kind == "apptainer":
        return f"export {name}={value}   # before apptainer exec --nvccli --nv"
    return f"{'podman' if kind == 'podman' else 'docker'} run -e {name}={value} --gpus all ...   # or ENV in the image"


Missed = Literal["uvm", "all"]


def give_nodes(s: Snapshot, what: Missed) -> tuple[Fix, ...]:
    """Make the device nodes on the host, or pass them into the container."""
    root = host_sudo(s)
    if container_kind(s):
        nodes = "/dev/nvidia-uvm" if what == "uvm" else "/dev/nvidiactl --device /dev/nvidia-uvm --device /dev/nvidia0"
        start = start_with(
            s,
            "start-with-nodes",
            "Recreate the container with every NVIDIA device node",
            "Use the NVIDIA runtime or CDI, which pass all nodes, or name the node that is missing.",
            engine_line(s, f"--device {nodes}"),
        )
        return (start, _make_nodes(s, root))
    return (_make_nodes(s, root),)


def _make_nodes(s: Snapshot, root: str) -> Fix:
    return Fix(
        id="make-device-nodes",
        title="Load nvidia-uvm and make its nodes" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "Load the module and make the device nodes; nvidia-persistenced keeps them after a reboot.",
                f"{root}modprobe nvidia-uvm && {root}nvidia-modprobe -c=0 -u",
                start_changes(driver__modules=_with_uvm(s)),
            ),
        ),
    )


def _with_uvm(s: Snapshot) -> Any:
    modules = s.driver.modules
    return (*modules, "nvidia_uvm") if isinstance(modules, tuple) and "nvidia_uvm" not in modules else modules


def allow_access(s: Snapshot, closed: Sequence[DeviceNode] = ()) -> tuple[Fix, ...]:
    """Give this user access to the device nodes. `closed`: those that this user may not open, where they are known."""
    root, kind = host_sudo(s), container_kind(s)
    if kind:
        text = (
            "Start it by the NVIDIA runtime or CDI, as a user who may open the nodes. SELinux on the host: "
            "'setsebool -P container_use_devices on', or --security-opt=label=disable. Rootless engines: set "
            "no-cgroups = true in /etc/nvidia-container-runtime/config.toml. Groups: --group-add keep-groups (podman)."
        )
        return (
            start_with(
                s,
                "start-with-access",
                "Start the container so that it may open the GPU's nodes",
                text,
                engine_line(s, "--security-opt label=disable"),
            ),
        )
    text = "Give the nodes their usual mode. A setting NVreg_DeviceFileMode in /etc/modprobe.d would undo it."
    mode = Fix(
        id="allow-device-access",
        title="Allow every user to open the GPU's nodes",
        steps=(on_host(s, text, f"{root}chmod 666 /dev/nvidia*", start_changes()),),
    )
    if not closed or not all(node.gid and node.mode & 0o060 == 0o060 for node in closed):
        return (mode,)  # root's group is joined by nobody, and a group that may not write opens nothing
    path = next((node.path for node in closed if node.kind == "gpu"), closed[0].path)
    join = on_host(
        s,
        "The nodes belong to a group that may open them: join it, then log in again.",
        f'{root}usermod -aG "$(stat -c %G {path})" "$USER"',
        start_changes(),
    )
    return (Fix(id="join-device-group", title="Join the group of the GPU's nodes", steps=(join,)), mode)


def recreate_container(s: Snapshot) -> tuple[Fix, ...]:
    """After lost device rules: a new container; then what keeps it from happening again."""
    line = engine_line(s, "--device /dev/nvidiactl --device /dev/nvidia-uvm --device /dev/nvidia0")
    how, command = start_again(s)
    again = start_with(
        s,
        "recreate-container",
        "Recreate the container",
        "The host rewrote this container's device rules (systemctl daemon-reload does it): only a new one gets them "
        f"back. {'Name the nodes, or use CDI, so that the rules stay.' if line else how}",
        line or command,
    )
    lasting = Fix(
        id="make-device-rules-last",
        title="Make the device rules permanent, on the host",
        steps=(
            on_host(
                s,
                "Make the /dev/char links that systemd looks for, or use CDI or the cgroupfs driver.",
                f"{host_sudo(s)}nvidia-ctk system create-dev-char-symlinks --create-all",
                start_changes(),
            ),
        ),
        source=_TOOLKIT,
    )
    return (again, lasting)
