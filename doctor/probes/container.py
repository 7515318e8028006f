"""Which container this is, what it was given, and the forward-compatibility libraries in it."""

from __future__ import annotations

from typing import Any

from ..formats.proc import Mount, parse_mountinfo
from ..snapshot import NOT_ASKED, CompatLibrary, Container, EnvVar, Missing
from ..snapshot.host import ContainerKind
from .driver_files import file_version, loaded_library
from .raw import Raw, number, string

_TORCH_VARIABLES = ("PYTORCH_VERSION", "TORCH_VERSION", "NVIDIA_PYTORCH_VERSION", "PYTORCH_BUILD_VERSION")
_CGROUP_WORDS: tuple[tuple[str, ContainerKind], ...] = (
    ("kubepods", "kubernetes"), ("/docker", "docker"), ("libpod", "podman"), ("containerd", "containerd"),
    ("/lxc", "lxc"),
)  # fmt: skip
_MOUNT_WORDS: tuple[tuple[str, ContainerKind], ...] = (
    ("/docker/overlay2", "docker"), ("/docker/containers", "docker"), ("containers/storage/overlay", "podman"),
    ("io.containerd.snapshotter", "containerd"), ("/kubelet/pods", "kubernetes"),
)  # fmt: skip
_PUT_IN = (
    "/etc/hosts",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/dev/termination-log",
    "/run/secrets/",
    "/var/run/secrets/",
)
# gVisor presents one fixed kernel, whatever the host's is.
_GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"


def parse_container(raw: Raw) -> Container:
    """All of Container."""
    env = raw.env()
    kind, evidence = _kind(raw)
    image_torch, source = _image_torch(env)
    return Container(
        kind=kind,
        evidence=evidence,
        visible_devices=_variable(env, "NVIDIA_VISIBLE_DEVICES"),
        driver_capabilities=_variable(env, "NVIDIA_DRIVER_CAPABILITIES"),
        requirements=env
        if isinstance(env, Missing)
        else tuple(EnvVar(n, v) for n, v in env.items() if n.startswith("NVIDIA_REQUIRE_")),
        require_disabled=env
        if isinstance(env, Missing)
        else env.get("NVIDIA_DISABLE_REQUIRE", "").lower() in ("1", "true", "t", "yes"),
        image_cuda=_variable(env, "CUDA_VERSION"),
        image_torch=image_torch,
        image_torch_source=source,
        compat=_compat(raw),
    )


def _variable(env: dict[str, str] | Missing, name: str) -> str | Missing | None:
    return env if isinstance(env, Missing) else env.get(name)


def _image_torch(env: dict[str, str] | Missing) -> tuple[str | Missing | None, str | Missing]:
    if isinstance(env, Missing):
        return env, env
    name = next((n for n in _TORCH_VARIABLES if env.get(n)), None)
    return (env[name], name) if name else (None, Missing("absent"))


def _kind(raw: Raw) -> tuple[ContainerKind | Missing, str | Missing]:
    env = raw.env()
    names = env if isinstance(env, dict) else {}
    version = raw.text("/proc/version")
    if isinstance(version, str) and version.startswith(_GVISOR):
        return "gvisor", "/proc/version"
    for name in ("APPTAINER_CONTAINER", "APPTAINER_NAME", "SINGULARITY_CONTAINER", "SINGULARITY_NAME"):
        if names.get(name):
            return "apptainer", name
    if raw.exists("/.singularity.d") is True:
        return "apptainer", "/.singularity.d"
    if "KUBERNETES_SERVICE_HOST" in names:
        return "kubernetes", "KUBERNETES_SERVICE_HOST"
    if raw.exists("/var/run/secrets/kubernetes.io") is True:
        return "kubernetes", "/var/run/secrets/kubernetes.io"
    if isinstance(raw.text("/run/.containerenv"), str):
        return "podman", "/run/.containerenv"
    for path in ("/proc/self/cgroup", "/proc/1/cgroup"):
        text = raw.text(path)
        for words, kind in _CGROUP_WORDS if isinstance(text, str) else ():
            if words in str(text):
                return kind, path
    text = raw.text("/proc/self/mountinfo")
    mounts = parse_mountinfo(text) if isinstance(text, str) else []
    for words, kind in _MOUNT_WORDS:
        if any(words in word for word in map(_of_this_container, mounts)):
            return kind, "/proc/self/mountinfo"
    if raw.exists("/.dockerenv") is True:
        return "docker", "/.dockerenv"
    word = names.get("container", "")
    if word:
        by_word: dict[str, ContainerKind] = {
            "lxc": "lxc", "podman": "podman", "docker": "docker", "systemd-nspawn": "systemd-nspawn", "oci": "other",
        }  # fmt: skip
        return by_word.get(word, "other"), "container"
    if isinstance(version, Missing):
        return (version if version.reason != "absent" else NOT_ASKED), version  # an unpacked root runs nowhere yet
    if any(mount.mount_point == "/" and mount.fstype == "overlay" for mount in mounts):
        return "other", "/proc/self/mountinfo"
    return "none", Missing("absent", "no sign of a container")


def _of_this_container(mount: Mount) -> str:
    """What names an engine where it stands for this container: the root's layers, and the files that engines put in.

    A host lists the same folders as places of the containers that it runs.
    """
    if mount.mount_point == "/":
        return mount.options
    return mount.root if mount.mount_point.startswith(_PUT_IN) else ""


def _compat(raw: Raw) -> tuple[CompatLibrary, ...] | Missing:
    if isinstance(raw.row("loader"), Missing):
        return raw.unasked
    loaded = loaded_library(raw, "libcuda.so.1")
    loaded_path = "" if isinstance(loaded, Missing) else string(loaded.get("real"))
    found = []
    seen = set()
    for row in raw.rows("compat"):
        real = string(row.get("real"))
        if real in seen:
            continue
        seen.add(real)
        version = file_version(real)
        found.append(
            CompatLibrary(
                path=string(row.get("path")),
                version=version,
                loads=loaded_path == real,
                **_note(row.get("note")),
            )
        )
    return tuple(found)


def _note(note: object) -> dict[str, Any]:
    if note is None:
        gap = Missing("absent", "the library has no such ELF note")
        return {"cuda_version": gap, "host_branches": gap, "brand_ids": gap}
    if not isinstance(note, dict) or "problem" in note:
        gap = Missing("error", string(note.get("problem")) if isinstance(note, dict) else "")
        return {"cuda_version": gap, "host_branches": gap, "brand_ids": gap}
    return {
        "cuda_version": string(note.get("cuda")) or Missing("absent"),
        "host_branches": _numbers(note.get("drivers")),
        "brand_ids": _numbers(note.get("brands")),
    }


def _numbers(value: object) -> tuple[int, ...] | Missing:
    if not isinstance(value, list):
        return Missing("absent", "the ELF note has no such list")
    return tuple(n for n in map(number, value) if n is not None)
