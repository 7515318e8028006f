"""Debian's python3-torch 1.13.1, which is for the Python 3.11 of Debian 12, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ..apt import AptCache

PACKAGES = ("python3-torch", "libopenblas0-pthread")  # by the reference BLAS a product of edge 1024 takes seconds
RELEASE = "1.13.1"
PYTHON = "/usr/bin/python3"
CACHE = AptCache("python3-torch")
_TAKES = 2 << 30
"""Bytes: the packages, unpacked, with all that they need."""


def why_not() -> str:
    """Empty where it is unpacked, which the first call does (a minute, 150 MB from apt); else the reason in a line."""
    words = [PYTHON, "-c", "import sys; print(sys.version_info[:2] == (3, 11))"]
    try:
        fits = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() == "True"
    except OSError:
        fits = False
    if not fits:
        return f"python3-torch {RELEASE} is for Python 3.11, which {PYTHON} is not"
    with CACHE.alone():
        if not CACHE.unpacked.exists():
            if shutil.disk_usage(CACHE.folder).free < _TAKES:
                return f"less than {_TAKES >> 30} GiB are free for python3-torch and what it needs"
            if reason := CACHE.why_not(RELEASE, *PACKAGES):
                return reason
        try:
            CACHE.unpack_what_they_need(*PACKAGES)
        except (RuntimeError, subprocess.SubprocessError) as error:
            return str(error)
    return ""


def environment(prefix: Path) -> None:
    """Make a virtual environment with it, where `why_not` has no reason; it needs `variables` to start."""
    words = [PYTHON, "-m", "venv", "--system-site-packages", "--without-pip", str(prefix)]
    subprocess.run(words, check=True, timeout=120)
    (site,) = prefix.glob("lib/python3*/site-packages")
    (site / "debian.pth").write_text(f"{CACHE.root}/usr/lib/python3/dist-packages\n")


def variables() -> dict[str, str]:
    """Where the loader finds its libraries."""
    folders = ("usr/lib/*-linux-gnu/openblas-pthread", "usr/lib/*-linux-gnu", "usr/lib", "lib/*-linux-gnu")
    places = [str(found) for folder in folders for found in CACHE.root.glob(folder)]
    return {"LD_LIBRARY_PATH": os.pathsep.join(places)}
