"""Packages that compile code at run time cannot find a C compiler or Python.h.

What is wrong: torch.compile (Inductor and Triton) and packages built on Triton compile a small C file the first time a
kernel runs. They use the compiler named in CC (otherwise gcc, then clang) and include Python.h. Here the compiler or
the header is missing.

Symptoms: `RuntimeError: Failed to find C compiler. Please specify via CC environment variable`, `fatal error:
Python.h: No such file or directory`, `fatal error: cuda.h: No such file or directory` (Triton before 2.1).

Why it happens: slim and runtime images leave out compilers; Debian and Fedora keep Python.h in a separate package
(python3.11-dev, python3.11-devel).

How to fix it: install gcc, or the Python headers; no CUDA toolkit is needed.

This is only a note if PyTorch is the only such package, because PyTorch works without a compiler and headers. It is a
warning if a package that always compiles (vllm, sglang, unsloth) is installed, and a failure if the error message was
seen.

Source: triton/runtime/build.py; torch/_inductor/cpp_builder.py.
"""

from __future__ import annotations

import re

from ..findings import Check, Finding, Findings, Fix, Matrix, Policy, Skip
from ..findings.patterns import lazy
from ..fixes.toolchain import c_compiler, python_headers
from ..fixes.where import recheck_run
from ..snapshot import Missing, NeedsFact, Snapshot, known, need
from ._errors import first_line, texts
from ._jit import triton, users
from ._torch import cuda_build, has_gpu

CHECK = Check(
    __name__,
    title="The C compiler or the headers needed for run-time compilation are missing",
    sound="A C compiler and Python's headers are installed",
    severity="warning",
    layer="extension",
    tags=("torch", "extension", "build"),
    downstream_of=("no-nvidia-gpu",),
    needs_gpu=False,
)

_ERROR = lazy(r"Failed to find C compiler|fatal error: (?:Python|cuda)\.h: No such file")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns where Triton is installed on a machine with a GPU, and the compiler or the headers are missing."""
    error = _ERROR.search(text := texts(s))
    if not error:
        need("python.distributions", s.python.distributions)
        cuda_build(s)
        if triton(s) is None and not p.building:
            raise Skip("Triton is not installed", without="triton")
        if known(s.host.system) not in ("linux", None):
            raise Skip("only checked on Linux")
        if not (has_gpu(s) or p.building):
            raise Skip("no GPU to compile for", without="gpu")
    who = ["the extension to be built (--building)"] if p.building else users(s)
    if (error and "compiler" in error[0]) or s.cuda.c_compiler is None:
        yield _finding(s, "No C compiler was found (CC, gcc, clang)", error, text, who, compiler=True)
    if (error and "Python" in error[0]) or known(s.python.patient.headers) is False:
        version = known(s.python.patient.version) or ""
        yield _finding(s, f"Python.h for Python {version} is not installed", error, text, who, compiler=False)
    if error and "cuda.h" in error[0]:
        yield CHECK.fail(
            "cuda.h was not found, but run-time compilation needs it",
            first_line(text),
            severity="error",
            facts={"said": error[0]},
            fixes=_again(s, c_compiler(s)),
        )
    if isinstance(s.cuda.c_compiler, Missing):
        raise NeedsFact("cuda.c_compiler", s.cuda.c_compiler)
    if isinstance(s.python.patient.headers, Missing):
        raise NeedsFact("python.patient.headers", s.python.patient.headers)


def _finding(
    s: Snapshot, title: str, error: re.Match[str] | None, text: str, who: list[str], compiler: bool
) -> Finding:
    facts = {"c_compiler": known(s.cuda.c_compiler), "headers": known(s.python.patient.headers), "needed_by": who}
    subject = "c-compiler" if compiler else "python-headers"
    fix = c_compiler(s) if compiler else python_headers(s)
    if error:
        return CHECK.fail(
            title,
            f"Python says: {first_line(text)}",
            facts=facts,
            subject=subject,
            severity="error",
            fixes=_again(s, fix),
        )
    if who:
        detail = f"Needed by: {', '.join(who)}."
        return CHECK.warn(title, detail, facts=facts, subject=subject, fixes=(fix,))
    return CHECK.remark(
        title,
        "Only torch.compile and Triton kernels need it; everything else in torch works.",
        facts=facts,
        subject=subject,
        fixes=(fix,),
    )


def _again(s: Snapshot, fix: Fix) -> tuple[Fix, ...]:
    from msgspec.structs import replace

    steps = tuple(replace(step, changes={**step.changes, **recheck_run(s)}) for step in fix.steps)
    return (replace(fix, steps=steps),)
