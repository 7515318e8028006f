"""Root folders (--root) whose /proc, /sys, /etc and packages are huge, endless, unreadable or no files at all."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.probes.tree import OPEN_DRIVER, Tree

from .engine import Attack
from .ground import STRINGS, Ground

_SITE = "/opt/venv/lib/python3.11/site-packages"
_FILES = (
    "/proc/version", "/proc/driver/nvidia/version", "/proc/meminfo", "/proc/self/mountinfo", "/proc/1/cgroup",
    "/sys/module/nvidia/version", "/sys/bus/pci/devices/0000:65:00.0/modalias", "/etc/os-release", "/etc/ld.so.cache",
    "/usr/local/cuda/version.json", "/opt/venv/pyvenv.cfg", f"{_SITE}/torch/version.py", f"{_SITE}/more.pth",
    f"{_SITE}/torch-2.6.0+cu124.dist-info/METADATA", f"{_SITE}/torch/lib/libtorch_cuda.so", "/lib/libc.so.6",
)  # fmt: skip
_FOLDERS = ("/dev", "/proc", "/sys/module", "/sys/bus/pci/devices", "/etc", _SITE, "/usr/local", "/opt")
_COMMANDS = (["check"], ["check", "--format", "json"], ["record", "out"])


def attacks(ground: Ground) -> list[Attack]:
    """Each file and each folder replaced in each way; whole roots that are odd."""
    found = []
    for at, path in enumerate(_FILES):
        for number, how in enumerate(_WAYS):
            setup = partial(_replaced, path, _WAYS[how])
            found.append(_attack(f"{path}: {how}", setup, _COMMANDS[(at + number) % 3]))
            if how == "unreadable" and os.geteuid() == 0 and shutil.which("setpriv"):
                found[-1].shell = "setpriv --bounding-set -dac_override,-dac_read_search {it}"
    for at, path in enumerate(_FOLDERS):
        for how, fill in _FILLED.items():
            found.append(_attack(f"{path}: {how}", partial(_filled, path, fill), _COMMANDS[at % 3]))
    for name, root in (("missing", "nowhere"), ("a file", "/etc/passwd"), ("the running system", "/"), ("empty", "")):
        found.append(_attack(f"root is {name}", _root, ["check"], root))
    return found


def _attack(name: str, setup: Callable[[Attack], object], words: list[str], root: str = "root") -> Attack:
    more = ["--no-import"] if words[0] == "record" else ["--expect", "any"]
    words = [*words, "--root", root, *more, "--timeout", "10"]
    return Attack(name, words, setup, deadline_s=40, report=words[0] != "record")


def _root(attack: Attack) -> None:
    tree = Tree(attack.folder / "root").kernel().pci("0000:65:00.0", "10DE", "2330", driver="nvidia")
    tree.file("/proc/driver/nvidia/version", OPEN_DRIVER).file("/sys/module/nvidia/version", "570.86.10\n")
    tree.file("/etc/os-release", 'ID=ubuntu\nVERSION_ID="22.04"\n').file("/proc/meminfo", "MemTotal: 1000 kB\n")
    tree.python("/opt/venv", cfg="home = /usr/bin\nversion = 3.11.9\n").torch(_SITE)
    tree.file(f"{_SITE}/torch/lib/libtorch_cuda.so", b"\x7fELF").file(f"{_SITE}/more.pth", "/srv/more\n")


def _replaced(path: str, spoil: Callable[[Path], object], attack: Attack) -> None:
    _root(attack)
    target = attack.folder / "root" / path.lstrip("/")
    _remove(target)
    spoil(target)


def _filled(path: str, fill: Callable[[Path], None], attack: Attack) -> None:
    _root(attack)
    fill(attack.folder / "root" / path.lstrip("/"))


def _remove(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.exists():
        path.unlink()


def _text(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _device(path: Path) -> None:
    """/dev/zero under another name, where this user may make one."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except OSError:
        os.mkfifo(path)


def _denied(path: Path) -> None:
    path.write_bytes(b"secret")
    path.chmod(0)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


_WAYS: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "an endless device": _device,
    "a folder": lambda path: path.mkdir(),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link out of the root": lambda path: path.symlink_to("../" * 40 + "etc/shadow"),
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a terabyte": _sparse,
    "unreadable": _denied,
    "random bytes": _text(bytes(range(256)) * 4096),
    "one long line": _text(b"a b: " * 1_000_000),
    "hostile words": _text("\n".join(text for text in STRINGS if len(text) < 1000).encode("utf-8", "replace")),
}


def _many(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(25_000):
        (folder / f"nvidia{number}").symlink_to("nowhere")


def _deep(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "up").symlink_to("..")
    folder.joinpath(*["d" * 250] * 12).mkdir(parents=True, exist_ok=True)


def _named(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("nvidia\n0", "nvidia\x1b[2J", "nvidia\u202e", "nvidia$(touch $TRAP)", "nvidia\udcff", "0000:zz:00.0"):
        (folder / name).mkdir(exist_ok=True)
        (folder / f"{name}-1.0.dist-info").mkdir(exist_ok=True)
        (folder / f"{name}-1.0.dist-info" / "METADATA").write_text("Name: \x1b[31m\nVersion: $(touch $TRAP)\n")


_FILLED: dict[str, Callable[[Path], None]] = {"25,000 links": _many, "deep and circular": _deep, "odd names": _named}
