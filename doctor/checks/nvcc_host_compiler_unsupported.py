"""nvcc refuses the host compiler: this gcc is newer than the toolkit supports.

What is wrong: nvcc hands the host part of the code to gcc, and its headers stop with an error for a gcc that is newer
than the last one that this toolkit was tested with.

How it shows: `#error -- unsupported GNU version! gcc versions later than 12 are not supported!`.

Why it happens: a new distribution with an older toolkit.

How to fix it: install an older gcc beside the other and name it in CC and CXX (torch passes CC on to nvcc), or take a
newer toolkit of the same CUDA major. -allow-unsupported-compiler only silences the error.

Judged with `--building` only.

Source: crt/host_config.h of each toolkit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from compat_matrix.versions import numbers

from ..findings import Check, Finding, Fix, Policy, Skip, Step
from ..fixes.selection import environment_with
from ..fixes.toolchain import c_compiler, system_install
from ..snapshot import Missing, NeedsFact, Snapshot, known, need

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="nvcc does not accept this gcc",
    severity="error",
    layer="extension",
    tags=("build",),
    downstream_of=("cuda-toolkit-missing", "nvcc-torch-cuda-mismatch"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails where gcc is newer than the toolkit's limit, or where there is none."""
    if not p.building:
        raise Skip("nothing is compiled here (say --building where it is)")
    version = s.cuda.nvcc_version
    if isinstance(version, Missing) and version.reason == "absent":
        raise Skip("there is no nvcc")
    nvcc = need("cuda.nvcc_version", version)
    gcc = _gcc(s)
    if gcc is None:
        yield CHECK.fail("No host compiler for nvcc was found", "nvcc compiles with gcc.", facts={"nvcc": nvcc},
                         fixes=(c_compiler(s),))  # fmt: skip
        return
    row = m.toolkit(".".join(nvcc.split(".")[:2]))  # nvcc's own third number is not the toolkit's
    limit = row.host_gcc_max_major if row else None
    if limit is None:
        raise NeedsFact("compat_matrix", Missing("absent", f"the gcc limit of CUDA {nvcc} is not listed"))
    if numbers(gcc)[:1] > (limit,):
        title = f"gcc {gcc} is newer than nvcc {nvcc} accepts (up to gcc {limit})"
        yield CHECK.fail(title, "", facts={"gcc": gcc, "nvcc": nvcc, "limit": limit}, fixes=(_older(s, limit),))


def _gcc(s: Snapshot) -> str | None:
    """The version that nvcc would be given: by the name in CC, else of gcc; None where there is none."""
    said = s.host.env("CC")
    named = re.search(r"gcc-(\d+)$", said.strip()) if isinstance(said, str) else None
    if named:
        return named[1]
    if isinstance(said, str) and said.strip() and not re.search(r"(^|/)(gcc|cc)$", said.strip()):
        raise Skip(f"CC names {said.strip()}, whose version is not known")
    version = s.cuda.gcc_version
    if isinstance(version, Missing) and version.reason == "absent" and s.cuda.c_compiler is None:
        return None
    return need("cuda.gcc_version", version)


def _older(s: Snapshot, limit: int) -> Fix:
    install = system_install(s, f"gcc-{limit} g++-{limit}", f"gcc-toolset-{limit}-gcc-c++")
    environment = environment_with(s, "CC", f"gcc-{limit}")
    changes = {"host.environment": environment, "cuda.c_compiler": f"/usr/bin/gcc-{limit}"}
    text = "The other gcc stays the system's; the variables hold for this shell."
    command = f"{install} && export CC=gcc-{limit} CXX=g++-{limit}"
    step = Step(text=text, command=command, where="shell", needs_root=True,
                possible_here=known(s.host.user_is_root) is not False, changes=changes)  # fmt: skip
    return Fix(id="older-gcc", title=f"Compile with gcc {limit}", steps=(step,))
