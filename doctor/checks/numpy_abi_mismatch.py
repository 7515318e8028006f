"""PyTorch or an extension was built for NumPy 1, but NumPy 2 is installed (or the reverse).

What is wrong: code compiled for NumPy 1 cannot use NumPy 2, so PyTorch up to 2.2 cannot exchange data with it.

Symptoms: `A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.0 as it may crash`, `Failed to
initialize NumPy: _ARRAY_API not found`, `RuntimeError: Numpy is not available`, `numpy.dtype size changed`.

Why it happens: NumPy was installed after an old PyTorch without an upper bound on its version, or an old PyTorch was
installed after a new NumPy.

How to fix it: install `numpy<2` for PyTorch up to 2.2, or a newer PyTorch.

Source: NumPy 2.0 migration guide; torch 2.3 release notes.
"""

from __future__ import annotations

from compat_matrix.versions import numbers, torch_version

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.companions import older_numpy
from ..snapshot import Missing, Snapshot, known, need
from ._errors import import_failed, need_answer, numpy_words, texts
from ._torch import installed

CHECK = Check(
    __name__,
    title="NumPy is incompatible with torch",
    sound="No NumPy that conflicts with torch was found",
    severity="error",
    layer="python",
    tags=("torch", "numpy", "python"),
    downstream_of=("user-site-shadows-packages", "torch-installed-twice"),
    needs_gpu=False,
    source="numpy.org/doc/stable/numpy_2_0_migration_guide.html",
)


FIRST_FOR_NUMPY_2 = (2, 3)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Judged by torch's own message, or by the two versions."""
    version = installed(s)
    words = numpy_words(texts(s))
    parts = torch_version(version)
    old = parts is not None and parts.kind == "release" and parts.release[:2] < FIRST_FOR_NUMPY_2
    found = s.python.distribution("numpy")
    have = found.version if found is not None and not isinstance(found, Missing) else None
    if words and "NumPy 1.x" not in words and known(s.python.distributions) is not None and have is None:
        return  # no NumPy: torch says the same if NumPy is missing
    if not words:
        if not old:
            if import_failed(s) is None and known(s.python.distributions) is None:
                need_answer(s)
            return
        need("python.distributions", s.python.distributions)
        if have is None or numbers(have)[:1] < (2,):
            return
    title = (
        f"torch {version} was built for NumPy 1, but NumPy {have} is installed"
        if old and have
        else f"Compiled code is incompatible with {f'NumPy {have}' if have else 'the installed NumPy'}"
    )
    detail = f"Python says: {words}" if words else "torch supports NumPy 2 from version 2.3 on."
    facts = {"torch": version, "numpy": have, "message": words}
    fixes = (older_numpy(s),) if have is None or numbers(have)[:1] >= (2,) else ()
    if import_failed(s):
        yield CHECK.fail(title, detail, facts=facts, fixes=fixes)
    else:
        detail += " torch itself works, but tensors cannot be converted to arrays or back."
        yield CHECK.warn(title, detail, facts=facts, direct=bool(words), fixes=fixes)
