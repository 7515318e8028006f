"""A root folder: an unpacked image, a chroot, another machine's disk. Only files speak there; nothing is run."""

from __future__ import annotations

from pathlib import Path


class NotARoot(Exception):
    """The folder cannot be looked at; the message is one line."""


def root_folder(path: str) -> str:
    """The absolute path. Raises NotARoot if it is not a folder or has nothing of a Linux system in it."""
    folder = Path(path).absolute()
    if not folder.is_dir():
        raise NotARoot(f"{path} is not a folder")
    if not any((folder / name).is_dir() for name in ("etc", "usr", "proc", "lib")):
        raise NotARoot(f"{path} does not contain a root file system (no etc, usr, lib or proc)")
    return str(folder)
