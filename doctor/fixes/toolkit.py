"""The NVIDIA Container Toolkit: install it and register it with the engine that runs here."""

from __future__ import annotations

from shlex import quote

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from .container import RESTARTS_DOCKER
from .distribution import install_line, manager
from .where import RECHECK, start_changes

_DOCS = "docs.nvidia.com/datacenter/cloud-native/container-toolkit: installation guide"
_LIST = "nvidia.github.io/libnvidia-container/stable"
_KEYRING = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"


def install_toolkit(s: Snapshot, engine: str, *, rootless: bool = False, snap: bool = False) -> tuple[Fix, ...]:
    """Install, configure, restart. The engine reports from the host, so its user can work there."""
    root = "" if known(s.host.user_is_root) else "sudo "
    steps = (
        []
        if not snap
        else [
            Step(
                text="Once the containers on this host are no longer needed, replace Docker's snap package, which "
                "does not support the toolkit (its images and containers are lost).",
                command=f"{root}snap remove docker && {_docker(s, root)}",
                where="host",
                needs_root=True,
                destructive=True,
            ),
        ]
    )
    install = _install(s, root)
    if known(s.engines.hook) is not True:
        text = "Install nvidia-container-toolkit with this distribution's package manager."
        if install:
            text = "Install the toolkit from NVIDIA's repository." if _LIST in install else "Install the toolkit."
        steps.append(Step(text=text, command=install, where="host", needs_root=True))
    steps += [
        Step(
            text="Register it with the container engine." + (RESTARTS_DOCKER if engine == "docker" else ""),
            command=_configure(s, engine, root, rootless),
            where="host",
            needs_root=True,
            changes=start_changes(),
        ),
    ]
    title = "Set up the NVIDIA Container Toolkit"
    fix = Fix(id="configure-container-toolkit", title=title, steps=tuple(steps), note=_try(engine), source=_DOCS)
    if known(s.host.system) == "windows":
        return (docker_desktop(),)
    return (fix, docker_desktop()) if known(s.host.wsl) == 2 and engine == "docker" else (fix,)


def _docker(s: Snapshot, root: str) -> str:
    packaged = install_line(s, root, {"apt-get": "docker.io", "pacman": "docker"})
    return packaged or f"curl -fsSL https://get.docker.com | {root}sh"


def _install(s: Snapshot, root: str) -> str:
    """'' where NVIDIA has no repository for the distribution."""
    tool = manager(s)
    if tool in ("dnf", "yum"):
        return (
            f"curl -s -L https://{_LIST}/rpm/nvidia-container-toolkit.repo | "
            f"{root}tee /etc/yum.repos.d/nvidia-container-toolkit.repo\n"
            f"{root}{tool} install -y nvidia-container-toolkit"
        )
    if tool == "zypper":
        return (
            f"{root}zypper ar https://{_LIST}/rpm/nvidia-container-toolkit.repo\n"
            f"{root}zypper --gpg-auto-import-keys install -y nvidia-container-toolkit"
        )
    if tool == "pacman":
        return f"{root}pacman -S --needed nvidia-container-toolkit"
    if tool != "apt-get":
        return ""
    return (
        f"curl -fsSL https://nvidia.github.io/libnvidia-container/gpgkey | {root}gpg --dearmor -o {_KEYRING}\n"
        f"curl -s -L https://{_LIST}/deb/nvidia-container-toolkit.list | "
        f"sed 's#deb https://#deb [signed-by={_KEYRING}] https://#g' | "
        f"{root}tee /etc/apt/sources.list.d/nvidia-container-toolkit.list\n"
        f"{root}apt-get update && {root}apt-get install -y nvidia-container-toolkit"
    )


def _configure(s: Snapshot, engine: str, root: str, rootless: bool) -> str:
    if engine == "podman":
        return f"{root}nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    if engine == "docker" and rootless:
        return (
            "nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json\n"
            "systemctl --user restart docker\n"
            f"{root}nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"
        )
    restart = f"{root}service {engine} restart" if known(s.host.wsl) == 2 else f"{root}systemctl restart {engine}"
    return f"{root}nvidia-ctk runtime configure --runtime={engine} && {restart}"


def _try(engine: str) -> str:
    runs = {
        "podman": "podman run --rm --device nvidia.com/gpu=all --security-opt=label=disable ubuntu nvidia-smi -L",
        "docker": "docker run --rm --gpus all ubuntu nvidia-smi -L",
    }
    return f"Then this lists the GPUs:\n  {runs[engine]}" if engine in runs else ""


def docker_desktop() -> Fix:
    """For engines that Docker Desktop runs, which bring the toolkit themselves."""
    text = (
        "Docker Desktop does not need the toolkit: update Docker Desktop, and choose the WSL 2 engine (Settings > "
        "General) and Linux containers. Close what runs in WSL, and update WSL."
    )
    step = Step(text=text, command="wsl --update\nwsl --shutdown", where="windows", changes=start_changes())
    return Fix(
        id="docker-desktop-wsl2",
        title="With Docker Desktop: update it and use its WSL 2 engine",
        steps=(step,),
        source="docs.docker.com/desktop/features/gpu",
    )


def no_cgroups(s: Snapshot, engine: str) -> Fix:
    """For rootless engines, which may not write device rules."""
    root = "" if known(s.host.user_is_root) else "sudo "
    command = f"{root}nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"
    text = "A rootless engine cannot write the container's device rules: have the toolkit leave them alone."
    if engine == "podman":
        run = "podman run --device nvidia.com/gpu=all --security-opt=label=disable IMAGE"
        command = f"{root}nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml\n{run}"
        text = "Have Podman pass in the GPU through CDI, which needs no device rules."
    step = Step(text=text, command=command, where="host", needs_root=True, changes=start_changes())
    return Fix(id="no-cgroups", title="Make the rootless engine pass in the GPU", steps=(step,), source=_DOCS)


def cdi_again(s: Snapshot, path: str) -> Fix:
    """Regenerate the specification for the loaded driver."""
    root = "" if known(s.host.user_is_root) else "sudo "
    step = Step(
        text="Regenerate the specification.",
        command=f"{root}nvidia-ctk cdi generate --output={quote(path)}",
        where="host",
        needs_root=True,
        changes={"engines.cdi": RECHECK},
    )
    return Fix(id="cdi-generate", title="Regenerate the CDI specification", steps=(step,), source=_DOCS)


def char_links(s: Snapshot) -> Fix:
    """Links in /dev/char, so that systemd finds NVIDIA's nodes when it writes device rules."""
    root = "" if known(s.host.user_is_root) else "sudo "
    step = Step(
        text="Create the links now; a udev rule with the same command makes them permanent (see the source).",
        command=f"{root}nvidia-ctk system create-dev-char-symlinks --create-all",
        where="host",
        needs_root=True,
        changes={"engines.char_links": True},
    )
    source = "github.com/NVIDIA/nvidia-docker issue 1730"
    return Fix(id="dev-char-links", title="Make the GPUs' device nodes known to systemd", steps=(step,), source=source)
