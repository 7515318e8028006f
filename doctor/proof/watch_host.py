"""Where a watched process runs: cores it may use, GPUs' device nodes, process namespace, its own environment."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence

_FIRST_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel: the namespace that NVML's numbers of processes belong to."""
PYTHON = re.compile(r"(?:python|pypy)[\d.]*[a-z]*$")
"""The file's name of a Python interpreter."""
_NODES = ("dxg", "nvmap", "nvhost-gpu")
_CGROUP = "/sys/fs/cgroup"


def has_gpu_nodes() -> bool:
    """Whether there is any device node of a GPU (WSL and Jetson included)."""
    try:
        names = os.listdir("/dev")  # noqa: PTH208
    except OSError:
        return True  # nobody knows
    return any(name in _NODES or (name.startswith("nvidia") and name[6:].isdecimal()) for name in names)


def own_numbers() -> bool:
    """Whether process numbers here are those of the machine itself: not so in a container."""
    try:
        return os.readlink("/proc/self/ns/pid") == _FIRST_NAMESPACE  # noqa: PTH115
    except OSError:
        return False


def cores(pid: int) -> float | None:
    """Cores that a process may use: its affinity and the quotas of its control groups; None if it is gone."""
    try:
        found = [float(len(os.sched_getaffinity(pid)))]
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 16).splitlines()
    except (OSError, AttributeError):
        return None
    for line in lines[:64]:
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names and "cpu" not in names.split(","):
            continue
        parts = [part for part in path.split("/") if part][:32]
        for top in (_CGROUP,) if not names else (f"{_CGROUP}/cpu", f"{_CGROUP}/{names}"):
            for deep in range(len(parts) + 1):
                quota = _quota("/".join([top, *parts[:deep]]))
                if quota is not None:
                    found.append(quota)
    return round(min(found), 2)


def _quota(folder: str) -> float | None:
    try:
        words = _text(f"{folder}/cpu.max").split()
    except OSError:
        try:
            words = [_text(f"{folder}/cpu.cfs_quota_us").strip(), _text(f"{folder}/cpu.cfs_period_us").strip()]
        except OSError:
            return None
    if len(words) != 2 or not all(word.isascii() and word.isdecimal() and len(word) < 16 for word in words):
        return None  # max, -1
    return int(words[0]) / int(words[1]) if int(words[0]) and int(words[1]) else None


def _text(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read(256)


def own_environment() -> Mapping[bytes, bytes]:
    """The variables that this process was started with: Python itself adds LC_CTYPE to a bare environment."""
    return _variables("/proc/self/environ") or dict(os.environb)


def environment_of(pid: int) -> dict[str, str] | None:
    """The variables that a process of the same user was started with; None of somebody else's, and where unreadable.

    A stranger's LD_PRELOAD must not be carried into a child of ours.
    """
    try:
        if os.stat(f"/proc/{pid}").st_uid != os.geteuid():  # noqa: PTH116
            return None
    except OSError:
        return None
    found = _variables(f"/proc/{pid}/environ")
    return {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()} or None


def _variables(path: str) -> dict[bytes, bytes]:
    try:
        with open(path, "rb") as file:
            pairs = file.read(1 << 22).split(b"\0")
    except OSError:
        return {}
    found: dict[bytes, bytes] = {}
    for pair in pairs:
        name, equals, value = pair.partition(b"=")
        if name and equals:
            found.setdefault(name, value)
    return found


def program_path(program: str, cwd: str, env: Mapping[str, str] | None) -> str:
    """Absolute path of a program as a command line names it; empty if there is none."""
    if "/" in program:
        return os.path.join(cwd, program) if cwd or program.startswith("/") else ""  # noqa: PTH118
    path = (os.environ if env is None else env).get("PATH", os.defpath)
    return shutil.which(program, path=path) or "" if program else ""


def python_of(words: Sequence[str], cwd: str) -> str:
    """The Python that a command starts: its first word, or what the first line (`#!`) of that script names; '' else.

    For a command that ended before it was looked at.
    """
    program = program_path(words[0], cwd, None)
    if PYTHON.match(os.path.basename(program)):  # noqa: PTH119
        return program
    try:
        with open(program, "rb") as file:
            first = file.read(512).split(b"\n", 1)[0]
    except OSError:
        return ""
    if not first.startswith(b"#!"):
        return ""
    named = [word for word in os.fsdecode(first[2:]).split() if not word.startswith("-")]
    if named and os.path.basename(named[0]) == "env":  # noqa: PTH119
        named = [word for word in named[1:] if "=" not in word]
    found = program_path(named[0], cwd, None) if named else ""
    return found if PYTHON.match(os.path.basename(found)) else ""  # noqa: PTH119
