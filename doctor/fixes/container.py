"""Fixes for how a container or job is started: GPUs, device nodes, driver capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any, Literal

from ..findings import Fix, Step, Where
from ..snapshot import DeviceNode, Snapshot, known
from .where import MANAGED, PROVIDERS, container_kind, host_sudo, notebook, on_host, start_again, start_changes

RESTARTS_DOCKER = " Restarting Docker stops its containers: do it once they are no longer needed."
_TOOLKIT = "docs.nvidia.com/datacenter/cloud-native/container-toolkit"
_START = {
    "docker": "docker run --gpus all IMAGE\n"
    "# compose: services: <name>: deploy: resources: reservations: devices:\n"
    "#   - {driver: nvidia, count: all, capabilities: [gpu]}",
    "podman": "podman run --device nvidia.com/gpu=all --security-opt=label=disable IMAGE",
    "containerd": "nerdctl run --gpus all IMAGE",
    "kubernetes": "resources: {limits: {nvidia.com/gpu: 1}}",
    "apptainer": "apptainer exec --nv IMAGE.sif COMMAND",
    "gvisor": "docker run --runtime=runsc --gpus all IMAGE",
    "lxc": "lxc config device add <CONTAINER> gpu gpu && lxc config set <CONTAINER> nvidia.runtime true",
    "systemd-nspawn": "systemd-nspawn --bind=/dev/nvidia0 --bind=/dev/nvidiactl --bind=/dev/nvidia-uvm ...",
}
_WORDS = {
    "kubernetes": "Request a GPU in the container's spec; a pod that requests none gets none.",
    "apptainer": "Start with --nv, which brings in the host's driver libraries.",
}
_REFUSED = {
    "docker": "If Docker reports 'could not select device driver', it did not find the NVIDIA Container Toolkit when "
    "it started: the toolkit is missing, Docker was not restarted after its installation, or Docker is a snap, which "
    "does not use the host's toolkit.",
    "podman": "If Podman reports 'unresolvable CDI devices', the host has no CDI specification for its GPUs.",
}
"""What an engine reports when it cannot pass in a GPU, and why."""


def start_with_gpu(s: Snapshot) -> tuple[Fix, ...]:
    """Start the container again with the GPU, with its engine's own command; then set up the host."""
    kind, changes = container_kind(s), start_changes()
    name = known(s.host.provider) or ""
    provider = PROVIDERS[name] if name in MANAGED else None
    if provider and kind != "kubernetes":
        text = f"On {provider.name}: start this pod or instance with a GPU type ({provider.where})."
        if notebook(s):
            text = f"On {provider.name}: {provider.where}."
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
        note=_REFUSED.get(kind, ""),
        source=_TOOLKIT,
    )
    return (start, _configure_runtime(s, kind)) if kind in ("docker", "podman", "containerd") else (start,)


def turn_nvproxy_on(s: Snapshot) -> tuple[Fix, ...]:
    """Turn on driver passthrough in gVisor, and start the container again with the GPU."""
    if (known(s.host.provider) or "") in MANAGED:
        return start_with_gpu(s)
    if known(s.host.scheduler) == "kubernetes":
        steps = (
            on_host(
                s,
                "On the node, turn on driver passthrough in runsc: add this under [runsc_config] in the runtime's "
                "runsc.toml.",
                'nvproxy = "true"',
            ),
            Step(
                text=_WORDS["kubernetes"],
                command=_START["kubernetes"],
                where="container-start",
                changes=start_changes(),
            ),
        )
    else:
        steps = (
            on_host(
                s,
                "Turn on driver passthrough in runsc, for containers that are started from now on.",
                f"{host_sudo(s)}runsc install -- --nvproxy=true && {host_sudo(s)}systemctl reload docker",
            ),
            Step(
                text="Recreate the container with GPUs: a running one cannot get them.",
                command="docker run --runtime=runsc --gpus all IMAGE",
                where="container-start",
                changes=start_changes(),
            ),
        )
    note = (
        "This runsc must support the host's driver; to list the drivers it supports: runsc nvproxy "
        "list-supported-drivers"
    )
    source = "gvisor.dev/docs/user_guide/gpu"
    return (Fix(id="gvisor-nvproxy", title="Turn nvproxy on in gVisor", steps=steps, note=note, source=source),)


def _configure_runtime(s: Snapshot, kind: str) -> Fix:
    root, docker = host_sudo(s), kind == "docker"
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
                "Install nvidia-container-toolkit from NVIDIA's repository, then configure the engine."
                + (RESTARTS_DOCKER if docker else ""),
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


_OTHER_OPTIONS = ("kubernetes", "apptainer", "lxc", "systemd-nspawn")
_RUN = {"podman": "podman run --device nvidia.com/gpu=all", "containerd": "nerdctl run --gpus all"}


def engine_line(s: Snapshot, options: str) -> str:
    """The engine's command with these options; empty where the user types none (a provider, a cluster) or others."""
    kind = container_kind(s)
    if kind in _OTHER_OPTIONS or (known(s.host.provider) or "") in MANAGED:
        return ""
    return f"{_RUN.get(kind, 'docker run --gpus all')} {options} ..."


def variable_line(s: Snapshot, name: str, value: str) -> str:
    """How a variable is given to a container of this kind."""
    kind = container_kind(s)
    if kind == "kubernetes":
        return f"env: [{{name: {name}, value: '{value}'}}]"
    if (known(s.host.provider) or "") in MANAGED:
        return f"{name}={value}   # an environment variable of the template, pod or image"
    if kind == "apptainer":
        return f"export {name}={value}   # before apptainer exec --nvccli --nv"
    run, gpus = ("podman run", "--device nvidia.com/gpu=all") if kind == "podman" else ("docker run", "--gpus all")
    return f"{run} -e {name}={value} {gpus} ...   # or ENV in the image"


Missed = Literal["uvm", "control", "all"]


def give_nodes(s: Snapshot, what: Missed) -> tuple[Fix, ...]:
    """Make the device nodes on the host, or pass them into the container."""
    root = host_sudo(s)
    if container_kind(s) == "lxc":
        start = start_with(
            s,
            "start-with-nodes",
            "Pass every NVIDIA device node into the LXC container",
            "On the host, add the nodes to the container's configuration (LXD and Incus: add the device gpu), and "
            "restart the container.",
            "pct set <ID> --dev0 /dev/nvidiactl --dev1 /dev/nvidia-uvm --dev2 /dev/nvidia0 && pct reboot <ID>",
            "host",
        )
        return (start, _make_nodes(s, root))
    if container_kind(s):
        nodes = {"uvm": "/dev/nvidia-uvm", "control": "/dev/nvidiactl --device /dev/nvidia-uvm"}.get(
            what, "/dev/nvidiactl --device /dev/nvidia-uvm --device /dev/nvidia0"
        )
        start = start_with(
            s,
            "start-with-nodes",
            "Recreate the container with every NVIDIA device node",
            "Use the NVIDIA runtime or CDI, which pass in all device nodes, or pass in the missing node by name.",
            engine_line(s, f"--device {nodes}"),
        )
        return (start, _make_nodes(s, root))
    return (_make_nodes(s, root),)


def _make_nodes(s: Snapshot, root: str) -> Fix:
    return Fix(
        id="make-device-nodes",
        title="Load nvidia-uvm and create its device nodes" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "Load the module and create the device nodes; nvidia-persistenced does so after each reboot.",
                f"{root}modprobe nvidia-uvm && {root}nvidia-modprobe -c=0 -u",
                start_changes(driver__modules=_with_uvm(s)),
            ),
        ),
    )


def _with_uvm(s: Snapshot) -> Any:
    modules = s.driver.modules
    return (*modules, "nvidia_uvm") if isinstance(modules, tuple) and "nvidia_uvm" not in modules else modules


_NODES = {
    "gpu": "/dev/nvidia[0-9]*", "ctl": "/dev/nvidiactl", "uvm": "/dev/nvidia-uvm /dev/nvidia-uvm-tools",
    "dxg": "/dev/dxg",
}  # fmt: skip
"""Character devices by kind: no folder, and not /dev/nvidia-caps, whose nodes have modes of their own (MIG)."""


def allow_access(s: Snapshot, closed: Sequence[DeviceNode] = ()) -> tuple[Fix, ...]:
    """Give this user access to the device nodes. `closed`: those that this user may not open, where they are known."""
    if container_kind(s):
        return (_start_with_access(s, closed),)
    root, mode = host_sudo(s), known(s.driver.device_file_mode)
    if known(s.host.wsl) == 2:
        again = on_host(
            s,
            "WSL gives every user access to this device node, but its mode was restricted later. Restore WSL's mode.",
            f"{root}chmod 0666 {_NODES['dxg']}",
            start_changes(),
        )
        return (Fix(id="driver-device-mode", title="Restore WSL's mode for the GPU's device node", steps=(again,)),)
    paths = " ".join(line for kind, line in _NODES.items() if any(node.kind == kind for node in closed))
    if closed and all(node.gid and node.mode & 0o060 == 0o060 for node in closed):
        path = next((node.path for node in closed if node.kind == "gpu"), closed[0].path)
        join = on_host(
            s,
            "If you are allowed to use the GPUs, join the group of the device nodes, which has access to them. Then "
            "log in again.",
            f'{root}usermod -aG "$(stat -c %G {path})" "$USER"',
            start_changes(),
        )
        return (Fix(id="join-device-group", title="Join the group of the GPU's device nodes", steps=(join,)),)
    if closed and mode is not None and mode & 0o006 == 0o006:
        again = on_host(
            s,
            f"The driver creates the device nodes with mode {mode:04o}, but they were restricted later. If you are "
            "allowed to use the GPUs, restore that mode.",
            f"{root}chmod {mode:04o} {paths}",
            start_changes(),
        )
        return (
            Fix(id="driver-device-mode", title="Restore the driver's mode for the GPU's device nodes", steps=(again,)),
        )
    needed = [node for node in known(s.driver.device_nodes) or () if node.kind in ("gpu", "ctl", "uvm")]
    if closed and all(node.mode & 0o006 != 0o006 for node in needed):
        return (_give_to_group(s, root, paths),)
    anew = on_host(
        s,
        "If you are allowed to use the GPUs, have the driver recreate its device nodes with its own owner and mode.",
        f"{root}nvidia-modprobe -c=0 -u",
        start_changes(),
    )
    title = "Recreate the GPU's device nodes with the driver's owner and mode"
    return (Fix(id="make-nodes-again", title=title, steps=(anew,)),)


def _give_to_group(s: Snapshot, root: str, paths: str) -> Fix:
    """A separate group for the device nodes, now and whenever the module is loaded."""
    options = "options nvidia NVreg_DeviceFileGID=%s NVreg_DeviceFileMode=0660\\n"
    steps = (
        on_host(
            s,
            "If you are allowed to use the GPUs, have the driver give its device nodes to a separate group at each "
            "load. This replaces any setting of NVreg_DeviceFileMode in other files in /etc/modprobe.d.",
            f"{root}groupadd -f --system nvidia\n"
            f"printf '{options}' \"$(getent group nvidia | cut -d: -f3)\" | "
            f"{root}tee /etc/modprobe.d/nvidia-device-files.conf",
        ),
        on_host(
            s,
            "Give the existing device nodes to that group; no reboot is needed.",
            f"{root}chgrp nvidia {paths} && {root}chmod 0660 {paths}",
        ),
        on_host(s, "Join the group, then log in again.", f'{root}gpasswd -a "$USER" nvidia', start_changes()),
    )
    return Fix(
        id="give-nodes-to-group", title="Give a group access to the GPU's device nodes, and join it", steps=steps
    )


def _start_with_access(s: Snapshot, closed: Sequence[DeviceNode]) -> Fix:
    """Start the container so that its user can open the nodes, depending on what denies access."""
    groups = sorted({node.gid for node in closed if node.gid and node.mode & 0o060 == 0o060})
    podman, kubernetes = container_kind(s) == "podman", container_kind(s) == "kubernetes"
    title = "Start the container with access to the GPU's device nodes"
    if closed and all(node.mode & 0o006 != 0o006 for node in closed):
        if groups:
            text = "The group of the device nodes has access to them: start the container as a member of that group."
            options = "--group-add keep-groups" if podman else " ".join(f"--group-add {gid}" for gid in groups)
            line = f"securityContext: {{supplementalGroups: {groups}}}" if kubernetes else engine_line(s, options)
            return start_with(s, "start-with-access", title, text, line)
        text = "On the host, only root can open the device nodes: ask its administrator to give them to a group, then "
        text += "start the container as a member of that group."
        return start_with(s, "start-with-access", title, text, "")
    text = (
        "Start it with the NVIDIA runtime or CDI. The modes of the device nodes give this user access, so something "
        "else denies it: SELinux (then use this option, which turns it off for this container only), or a rootless "
        "engine (then set no-cgroups = true in /etc/nvidia-container-runtime/config.toml)."
    )
    return start_with(s, "start-with-access", title, text, engine_line(s, "--security-opt label=disable"))


def recreate_container(s: Snapshot) -> tuple[Fix, ...]:
    """After lost device rules: a new container; then what keeps it from happening again."""
    nodes = [
        n.path for n in known(s.driver.device_nodes) or () if n.kind in ("gpu", "ctl", "uvm") and " " not in n.path
    ]
    nodes = nodes or ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"]
    line = engine_line(s, " ".join(f"--device {quote(path)}" for path in sorted(nodes)))
    how, command = start_again(s)
    again = start_with(
        s,
        "recreate-container",
        "Recreate the container",
        "The host overwrote this container's device rules (systemctl daemon-reload does that); only a new container "
        f"gets them back. {'Pass in the nodes by name, or use CDI, so that the rules persist.' if line else how}",
        line or command,
    )
    lasting = Fix(
        id="make-device-rules-last",
        title="Make the device rules permanent, on the host",
        steps=(
            on_host(
                s,
                "Create the /dev/char links that systemd looks for, or use CDI or the cgroupfs driver.",
                f"{host_sudo(s)}nvidia-ctk system create-dev-char-symlinks --create-all",
                start_changes(),
            ),
        ),
        source=_TOOLKIT,
    )
    return (again, lasting)
