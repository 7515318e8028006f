"""Debian's non-free driver libraries, unpacked from this machine's own sources."""

from __future__ import annotations

from pathlib import Path

from ..apt import AptCache

PACKAGES = ("libcuda1", "libnvidia-ml1", "nvidia-smi")
CACHE = AptCache("driver-535")


def why_not() -> str:
    """Empty where the libraries are unpacked already or apt offers them; else the reason in a line."""
    with CACHE.alone():
        return "" if _unpacked() else CACHE.why_not("535.", *PACKAGES)


def libraries() -> Path:
    """Folder with libcuda.so.1 and libnvidia-ml.so.1 of driver 535; RuntimeError with apt's words where it fails."""
    with CACHE.alone():
        found = _unpacked()
        if found:
            return found
        if reason := CACHE.why_not("535.", *PACKAGES):
            raise RuntimeError(reason)
        CACHE.unpack(*PACKAGES)
        found = _unpacked()
    if not found:
        raise RuntimeError(f"the packages hold no libcuda.so.1: {sorted(CACHE.folder.glob('*.deb'))}")
    return found


def nvidia_smi() -> Path:
    """The real nvidia-smi beside them."""
    return CACHE.root / "usr/lib/nvidia/current/nvidia-smi"


def _unpacked() -> Path | None:
    for found in CACHE.root.glob("usr/lib/*/nvidia/current"):
        if (found / "libcuda.so.1").exists() and (found / "libnvidia-ml.so.1").exists() and nvidia_smi().exists():
            return found
    return None
