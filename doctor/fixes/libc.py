"""Fixes for a C library that is too old, or of a different kind."""

from __future__ import annotations

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from .install import conda_line
from .where import RECHECK, container_kind, recheck_run

_GLIBCXX = {29: 11, 30: 12, 31: 13, 32: 13, 33: 14, 34: 15}
"""GLIBCXX_3.4.N to the first GCC whose C++ library has it (gcc.gnu.org: ABI policy and guidelines)."""


def _gcc(wanted: str) -> int:
    number = wanted.rpartition(".")[2]
    return _GLIBCXX.get(int(number), 13) if wanted.startswith("GLIBCXX_3.4.") and number.isdecimal() else 13


def newer_libc(s: Snapshot, wanted: str) -> tuple[Fix, ...]:
    """A newer C or C++ library: conda's own, another image, another system."""
    changes = {**recheck_run(s), "host.libc": RECHECK}
    found = []
    if wanted.startswith(("GLIBCXX", "CXXABI")) and known(s.python.patient.kind) == "conda":
        command = conda_line(s, [f"libstdcxx-ng>={_gcc(wanted)}"])
        step = Step(
            text="Install a newer C++ library into this conda environment.",
            where="environment",
            command=command,
            changes=changes,
        )
        found.append(Fix(id="newer-libstdcxx", title="Install a newer C++ library", steps=(step,)))
    system = "Ubuntu 22.04 or newer, Debian 12, or another system with glibc 2.28 or newer"
    inside = bool(container_kind(s))
    text = f"Use a base image with a newer C library: {system}." if inside else f"Use a newer system: {system}."
    found.append(
        Fix(
            id="newer-system",
            title="Use a system with a newer C library",
            steps=(
                Step(
                    text=text,
                    command="FROM ubuntu:22.04" if inside else "",
                    where="dockerfile" if inside else "host",
                    possible_here=False,
                    changes=changes,
                ),
            ),
        )
    )
    return tuple(found)
