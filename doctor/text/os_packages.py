"""System packages: `dpkg -l`, `apt list`, `rpm -qa`, `dnf list`, `pacman -Q`: what is installed, not what runs."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from . import values
from .statement import Line, Statement, say

_NAME = r"([a-z][a-z0-9.+-]{1,60})"
_LISTS = (
    lazy(r"\s{0,4}[ih]i\s{1,4}" + _NAME + r"(?::\w{3,6})?\s{1,80}(?:\d{1,3}:)?(\d[\w.+~-]{1,60})(?:\s|$)"),
    lazy(r"\s{0,4}" + _NAME + r"/\S{1,120} (?:\d{1,3}:)?(\d[\w.+~-]{1,60}) \w{3,6} \[installed"),
    lazy(r"\s{0,4}([a-z][\w.+-]{1,80}?)-(?:\d{1,3}:)?(\d{1,3}(?:\.\d{1,4}){1,3})-[\w.+~]{1,40}\.(?:x86_64|aarch64|noarch)$"),
    lazy(r"\s{0,4}" + _NAME + r"\.(?:x86_64|aarch64|noarch)\s{1,60}(?:\d{1,3}:)?(\d[\w.+~-]{1,60})\s{1,40}@"),
    lazy(r"\s{0,4}" + _NAME + r"(?::\w{3,6})?\s{1,8}(?:\d{1,3}:)?(\d{3}\.\d{2,3}(?:\.\d{2})?-\d[\w.+~]{2,40})$"),
    lazy(r"\s{0,4}(nvidia(?:-open|-utils|-dkms|-lts){1,2}) (\d{3}\.\d{2,3}(?:\.\d{2})?-\d{1,3})$"),
)  # fmt: skip
_WANTED = ("nvidia", "cuda-", "libcuda")
_MODULE = lazy(
    r"nvidia(?:-open|-dkms|-lts){0,2}(?:-\d{3})?(?:-server)?|nvidia-(?:driver|dkms|kernel-source|headless|open)(?:-\d{3})?"
    r"(?:-server)?(?:-open)?|nvidia-(?:open-)?kernel-dkms|a?kmod-nvidia[\w.-]{0,60}|cuda-drivers(?:-\d{3})?"
    r"|xorg-x11-drv-nvidia"
)
"""What brings the kernel module, or needs it: only a host installs it, and its version is the driver's."""
_LIBRARY = lazy(
    r"nvidia-smi|libnvidia-(?:compute-\d{3}(?:-server)?|ml1?)|libcuda1|nvidia-driver-(?:cuda-)?libs|xorg-x11-drv-nvidia-cuda-libs"
    r"|nvidia-utils(?:-\d{3})?(?:-server)?"
)
_PROPRIETARY = lazy(
    r"nvidia(?:-dkms|-lts)?|nvidia-(?:driver|dkms|kernel-source|headless)-\d{3}(?:-server)?|nvidia-kernel-dkms"
    r"|kmod-nvidia-latest-dkms"
)
_WITH_LIBRARIES = lazy(r"nvidia-driver-\d{3}(?:-server)?(?:-open)?")
"""Ubuntu's, which asks for the libraries of exactly its version."""
_TOOLKIT = lazy(r"cuda-(toolkit|nvcc)-(\d{1,2})-(\d)")


def read_os_packages(lines: list[Line]) -> Iterator[Statement]:
    """Statements `installed.driver`, `installed.library`, `installed.flavour`, and `toolkit` (path, part, version)."""
    for line in lines:
        text = line.text
        if not any(word in text for word in _WANTED):
            continue
        found = next((found for pattern in _LISTS if (found := pattern.match(text))), None)
        if not found:
            continue
        name, version = found[1].rstrip("."), values.driver(found[2].partition("-")[0])
        if kit := _TOOLKIT.fullmatch(name):
            number = found[2].partition("-")[0]
            yield say("toolkit", (f"/usr/local/cuda-{kit[2]}.{kit[3]}", kit[1], number), line)
        elif version and _MODULE.fullmatch(name):
            yield say("installed.driver", version, line)
            if _WITH_LIBRARIES.fullmatch(name):
                yield say("installed.library", version, line)
            if "-open" in name or _PROPRIETARY.fullmatch(name):
                yield say("installed.flavour", "open" if "-open" in name else "proprietary", line)
        elif version and _LIBRARY.fullmatch(name):
            yield say("installed.library", version, line)
