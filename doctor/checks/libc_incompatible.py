"""The system's C or C++ library is too old for PyTorch's binaries, or is not glibc.

What is wrong: PyTorch's wheels are built for glibc (2.28 or newer from PyTorch 2.6 on, 2.17 before). musl (Alpine) is
not glibc, and an old distribution has an old glibc.

Symptoms: `/lib64/libc.so.6: version 'GLIBC_2.28' not found`, `libstdc++.so.6: version 'GLIBCXX_3.4.29' not found`,
`Error relocating ...: symbol not found` on Alpine.

Why it happens: CentOS 7 or an old cluster image, an Alpine image, or an old libstdc++ in a conda environment that
hides the system's.

How to fix it: use a newer base image or system; in conda, install a newer libstdcxx-ng; with glibc 2.17 to 2.27, use an
older PyTorch.

Source: PEP 600 (manylinux); symbol versions in torch's libraries.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.libc import newer_libc
from ..snapshot import Snapshot, known, need
from ._errors import first_line, import_failed, libc_version, need_answer, texts
from ._torch import installed

CHECK = Check(
    __name__,
    title="The system's C library is incompatible with torch's binaries",
    sound="No conflict between torch and the system's C library was found",
    severity="critical",
    layer="libraries",
    tags=("torch", "python"),
    downstream_of=("user-site-shadows-packages",),
    needs_gpu=False,
    source="peps.python.org/pep-0600",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails where the loader names a missing symbol version, or where a glibc build meets musl."""
    installed(s)
    wanted = libc_version(texts(s))
    libc = known(s.host.libc) or ""
    if wanted:
        kind = "C++ library" if wanted.startswith(("GLIBCXX", "CXXABI")) else "C library"
        have = f" (installed: {libc})" if libc and kind == "C library" else ""
        yield CHECK.fail(
            f"The {kind} is too old: a binary that torch loads needs {wanted}{have}",
            f"Python says: {first_line(texts(s))}",
            facts={"needed": wanted, "libc": libc},
            fixes=newer_libc(s, wanted),
        )
    elif libc.startswith("musl") and import_failed(s) is not False:
        title = f"torch's wheels are built for glibc, but this system has {libc}"
        detail = "Alpine and other musl systems cannot load them."
        yield CHECK.fail(title, detail, facts={"needed": "glibc", "libc": libc}, fixes=newer_libc(s, "glibc"))
    elif import_failed(s) is None and not libc:
        need("host.libc", s.host.libc)
        need_answer(s)
