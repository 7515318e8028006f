"""What the text says about the machine: system, kernel, WSL, container, cluster, limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import values
from .statement import Line, Statement, say

_ENGINES = (
    ("podman", "podman"), ("docker", "docker"), ("singularity", "apptainer"), ("apptainer", "apptainer"),
    ("containerd", "containerd"), ("nerdctl", "containerd"), ("gvisor", "gvisor"), ("lxc", "lxc"),
    ("kubernetes", "kubernetes"), ("rootless", "other"), ("crio", "containerd"), ("cri-o", "containerd"),
    ("nvidia", "docker"),
)  # fmt: skip


def os_name(value: str, line: Line) -> Iterator[Statement]:
    """Name of the operating system."""
    name = re.sub(r"\s{0,3}\((?:x86_64|aarch64|arm64|amd64|AMD64|ARM64)\)$", "", value)
    machine = re.search(r"\((x86_64|aarch64|arm64|amd64)\)$", value, re.I)
    if machine:
        yield say("host.architecture", arch(machine[1]), line)
    if not name or ("/" in name[:30] and " / " in name):
        return
    lower = name.lower()
    if "windows" in lower and "wsl" not in lower:
        yield say("host.system.windows", True, line)
    elif lower.startswith(("macos", "mac os", "darwin")):
        yield say("host.system", "darwin", line)
    elif lower not in ("n/a", "none"):
        yield say("host.system", "linux", line, weak=True)
    yield say("host.os_name", name, line)
    found = re.match(
        r"(ubuntu|debian|fedora|centos|rhel|rocky|almalinux|arch|opensuse|alpine|manjaro|endeavouros|nixos|elementary"
        r"|linux ?mint|pop|sles|gentoo)(?:\b|(?=\d))[^\d]{0,40}(\d{1,2}(?:\.\d{1,2})?)?",
        lower,
    )
    if found:
        yield say("host.os_id", {"opensuse": "opensuse-leap"}.get(found[1], found[1].replace(" ", "")), line)
        if found[2]:
            yield say("host.os_version", found[2], line)
    if "microsoft" not in lower and "wsl2" in lower:
        yield say("host.wsl", 2, line)


def arch(text: str) -> str | None:
    """Architecture as the Snapshot names it."""
    names = {"amd64": "x86_64", "x86_64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
    found = {names[word] for word in re.split(r"[\s/(),;-]+", text[:80].lower()) if word in names}
    return found.pop() if len(found) == 1 else None


def platform(value: str, line: Line) -> Iterator[Statement]:
    """`Linux-6.8.0-45-generic-x86_64-with-glibc2.35`."""
    found = re.match(
        r"(Linux|Windows|macOS)-([\w.+~-]{1,120}?)(?:-(x86_64|aarch64|arm64|AMD64))?(?:-with-|-\d{2}bit|$|-SP)", value
    )
    if not found:
        if re.match(r"(?:windows|linux|ubuntu|debian|fedora|centos|rhel|rocky|mac ?os|darwin)\b(?!-)", value, re.I):
            yield from os_name(value, line)
        if machine := arch(value):
            yield say("host.architecture", machine, line)
        return
    if found[1] == "Windows":
        yield say("host.system", "windows", line)
    elif found[1] == "macOS":
        yield say("host.system", "darwin", line)
    else:
        yield say("host.system", "linux", line)
        yield from kernel(found[2], line)
    if found[3]:
        yield say("host.architecture", arch(found[3]), line)


def kernel(value: str, line: Line) -> Iterator[Statement]:
    """`uname -r`; Microsoft's kernels tell the WSL version."""
    found = re.search(r"(?<![\w.])(\d{1,2}\.\d{1,3}[\w.+~-]{0,100})", value)
    if not found:
        return
    kernel = re.sub(r"-(?:x86_64|aarch64)$", "", found[1])
    yield say("host.kernel", kernel, line)
    lower = kernel.lower()
    if "microsoft" in lower:
        yield say("host.wsl", 1 if lower.startswith(("3.4", "4.4")) and "wsl2" not in lower else 2, line)
        yield say("host.system", "linux", line)


def wsl(value: str, line: Line) -> Iterator[Statement]:
    """1, 2 or no; env-doctor says `native_linux`."""
    found = re.match(r"(?:wsl\s?)?(?:version\s?)?([012])\b(?!\.\d)", value, re.I)
    if re.match(r"\d\.\d{1,3}\.\d", value):  # the version of its package
        yield say("host.wsl", 2, line, weak=True)
    elif found:
        yield say("host.wsl", int(found[1]), line)
    elif values.yes_no(value) is False or re.match(r"native[ _]?linux\b", value, re.I):
        yield say("host.wsl", 0, line)


def container(value: str, line: Line) -> Iterator[Statement]:
    """Whether this is a container, or which kind."""
    flag = values.yes_no(value)
    if flag is False:
        yield say("container.kind", "none", line)
    elif flag is True:
        yield say("container.kind", "other", line, weak=True)
    else:
        yield from runtime(value, line)


def runtime(value: str, line: Line) -> Iterator[Statement]:
    """The engine of a container."""
    word = value.lower()
    for name, kind in _ENGINES:
        if name in word:
            yield say("container.kind", kind, line, weak=kind == "other")
            return


def image(value: str, line: Line) -> Iterator[Statement]:
    """An image: there is a container."""
    if values.yes_no(value) is False or re.match(r"v?\d{1,2}\.\d", value):  # not in one, or the engine's version
        return
    if value.lower() not in values.NOTHING:
        yield say("container.kind", "other", line, weak=True)
        if "singularity" in value.lower() or "apptainer" in value.lower():
            yield say("container.kind", "apptainer", line)


def kubernetes(value: str, line: Line) -> Iterator[Statement]:
    """Whether this is Kubernetes."""
    if values.yes_no(value) is not False:
        yield say("host.scheduler", "kubernetes", line)


def scheduler(value: str, line: Line) -> Iterator[Statement]:
    """The batch system."""
    if value.lower() not in values.NOTHING:
        yield say("host.scheduler", value.lower().split()[0], line)


def memlock(value: str, line: Line) -> Iterator[Statement]:
    """Limit of locked memory in KiB."""
    size = -1 if "unlimited" in value.lower() else values.number(value)
    if size is not None:
        yield say("host.memlock_kib", size, line)


def shm(value: str, line: Line) -> Iterator[Statement]:
    """Size of /dev/shm, in MiB without a unit."""
    if value.rstrip().endswith("/dev/shm"):
        return  # a row of `df`
    found = re.match(r"(\d{1,9})(?:\.\d{1,3})?\s{0,2}(k|m|g)?", value, re.I)
    if found:
        size = int(found[1])
        unit = (found[2] or "m").lower()
        yield say("host.shm_mib", size * 1024 if unit == "g" else size // 1024 if unit == "k" else size, line)
