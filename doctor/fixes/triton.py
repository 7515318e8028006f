"""Fixes for what Triton links and assembles with."""

from __future__ import annotations

from typing import Any

from compat_matrix.versions import numbers

from ..findings import Fix, Step
from ..snapshot import LibraryFile, Snapshot, known
from .selection import environment_with
from .where import sudo


def link_libcuda(s: Snapshot, folder: str, name: str, version: str, again: dict[str, Any]) -> tuple[Fix, ...]:
    """Tell Triton the folder of libcuda, or make the name that it links there; `again`: facts to be asked again."""
    link = LibraryFile(soname=name, path=f"{folder}/{name}", size=1, found_by="ld.so.cache")
    changes = {"driver.libcuda_candidates": (*(known(s.driver.libcuda_candidates) or ()), link)}
    make = "" if name.endswith(".1") else f"{sudo(s)}ln -s libcuda.so.1 {folder}/libcuda.so && "
    step = Step(
        text="Register the name that Triton links against with ldconfig.",
        where="shell",
        needs_root=True,
        possible_here=known(s.host.user_is_root) is not False,
        command=f"{make}{sudo(s)}ldconfig {folder}",
        changes={**changes, **again},
    )
    linked = Fix(id="link-libcuda", title=f"Make {name} available to Triton", steps=(step,))
    if name.endswith(".1") or numbers(version)[:2] >= (2, 2):
        value = Step(
            text="Set it before the program starts.",
            where="shell",
            command=f"export TRITON_LIBCUDA_PATH={folder}",
            changes={"host.environment": environment_with(s, "TRITON_LIBCUDA_PATH", folder), **again},
        )
        return Fix(
            id="set-triton-libcuda-path", title="Tell Triton which folder contains libcuda", steps=(value,)
        ), linked
    return (linked,)
