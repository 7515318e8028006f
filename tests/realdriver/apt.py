"""Fetch Debian's non-free driver libraries without touching the machine's own apt state.

A temporary source file (the machine's own Debian sources, with the components added) and lists of its own in a cache
folder; packages are unpacked with dpkg -x, never installed.
"""

from __future__ import annotations

import fcntl
import glob
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("libcuda1", "libnvidia-ml1", "nvidia-smi")
_COMPONENTS = "main contrib non-free non-free-firmware"
_TIMEOUT_S = 180


def cache_folder() -> Path:
    """Shared by all runs of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "gpudoctor" / "driver-535"


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time: apt does not wait for another one's lists."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with open(cache_folder() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def why_not() -> str:
    """Empty where the libraries are unpacked already or apt offers them; else the reason in a line."""
    with _alone():
        return _why_not()


def libraries() -> Path:
    """Folder with libcuda.so.1 and libnvidia-ml.so.1 of driver 535; RuntimeError with apt's words where it fails."""
    with _alone():
        return _libraries()


def _why_not() -> str:
    if _unpacked():
        return ""
    done = _apt("apt-get", "update")
    if done.returncode:
        return f"apt-get update: {_last_line(done.stderr)}"
    offered = _apt("apt-cache", "policy", *PACKAGES).stdout
    versions = re.findall(r"^  Candidate: (\S+)", offered, re.M)
    if len(versions) < len(PACKAGES) or not all(version.startswith("535.") for version in versions):
        return f"apt offers no driver 535: {versions}"
    return ""


def _libraries() -> Path:
    found = _unpacked()
    if found:
        return found
    reason = _why_not()
    if reason:
        raise RuntimeError(reason)
    folder = cache_folder()
    done = _apt("apt-get", "download", *PACKAGES)
    if done.returncode:
        raise RuntimeError(f"apt-get download: {_last_line(done.stderr)}")
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(folder / "root")], check=True, timeout=_TIMEOUT_S)
    found = _unpacked()
    if not found:
        raise RuntimeError(f"the packages hold no libcuda.so.1: {sorted(folder.glob('*.deb'))}")
    return found


def nvidia_smi() -> Path:
    """The real nvidia-smi beside them."""
    return cache_folder() / "root/usr/lib/nvidia/current/nvidia-smi"


def _unpacked() -> Path | None:
    for found in cache_folder().glob("root/usr/lib/*/nvidia/current"):
        if (found / "libcuda.so.1").exists() and (found / "libnvidia-ml.so.1").exists() and nvidia_smi().exists():
            return found
    return None


def _apt(*command: str) -> subprocess.CompletedProcess[str]:
    folder = cache_folder()
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    own: list[str] = []
    for suffix, text in _sources().items():
        path = folder / f"own.{suffix}"
        path.write_text(text)
        own.append(str(path))
    if not own:
        return subprocess.CompletedProcess(command, 100, "", "apt has no Debian source here")
    options = {
        "Dir::Etc::sourcelist": own[0], "Dir::Etc::sourceparts": "/dev/null", "Dir::State::lists": str(folder / "lists"),
        "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "", "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any", "Acquire::Retries": "1", "Acquire::http::Timeout": "20",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    try:
        return subprocess.run(
            [command[0], *words, *command[1:]],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {_TIMEOUT_S} s")


def _sources() -> dict[str, str]:
    """The machine's own Debian sources with all components: the deb822 form first, else the one-line form."""
    deb822 = []
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")):
        stanzas = re.split(r"\n\s*\n", Path(path).read_text(errors="replace"))
        deb822 += [s for s in stanzas if re.search(r"^URIs:.*/debian", s, re.M)]
    if deb822:
        text = "\n\n".join(stanza.strip() for stanza in deb822) + "\n"
        return {"sources": re.sub(r"^Components:.*$", f"Components: {_COMPONENTS}", text, flags=re.M)}
    lines = []
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*.list"))]:
        text = Path(path).read_text(errors="replace") if Path(path).exists() else ""
        lines += re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?\S*/debian\S*\s+\S+", text, re.M)
    return {"list": "".join(f"{line} {_COMPONENTS}\n" for line in lines)} if lines else {}


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return re.sub(r"//[^/\s]+", "//...", lines[-1]) if lines else "no words"
