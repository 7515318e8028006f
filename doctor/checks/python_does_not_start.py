"""This environment's Python does not start.

What is wrong: the environment that is active (or that --python names) has an interpreter that is missing, cannot be
executed, or exits before it is ready. Nothing in this environment can run, no matter what is installed in it.

Symptoms: `bad interpreter: No such file or directory` from every script in the environment (pip too), `cannot
execute binary file: Exec format error`, `Permission denied`, `No module named 'encodings'`, `error while loading shared
libraries: libpython3...`, `Illegal instruction`. A shell that searches PATH silently uses the next python3 instead,
which has none of the packages.

Why it happens: a virtual environment links to the Python that created it. That Python was removed or replaced (`uv
python uninstall`, `pyenv uninstall`, an upgrade of the distribution or of Homebrew), or the environment was copied to
another machine, image or processor without it. A PYTHONHOME that points elsewhere has the same effect.

How to fix it: restore the Python that the link points to, if uv or pyenv can do that; otherwise, create a new
environment at the same path and install the packages again.

What was examined: the file, where its links lead, and one test start without its site-packages (`python -S -c`). If
Python is only slow to start, the result is UNKNOWN.

Source: PEP 405 (a virtual environment's home key and links); execve(2) for the errors.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.interpreter_gone import interpreter_fixes
from ..snapshot import Snapshot, known, need
from ._seen import absent

CHECK = Check(
    __name__,
    title="This environment's Python does not start",
    sound="The environment's Python starts",
    severity="critical",
    layer="python",
    tags=("python",),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the interpreter is gone or could not be started."""
    patient = s.python.patient
    if absent(patient.prefix):
        raise Skip("no Python was found")
    if known(s.torch_run.imported) is True or need("python.patient.starts", patient.starts):
        return
    where = known(patient.prefix) or known(patient.executable) or "the chosen environment"
    error = known(patient.start_error) or "the reason is unknown"
    because = known(s.python.chosen_because)
    executable = known(patient.executable)
    detail = f"{executable}: {error}." if executable else f"{error[:1].upper()}{error[1:]}."
    if because:
        detail += f" (Examined because: {because}.)"
    if known(s.host.env("PYTHONHOME")) and known(patient.start_fault) == "crash":
        detail += " PYTHONHOME is set and points to a different Python's library."
    yield CHECK.fail(
        "This environment's Python does not start",
        detail,
        facts={"environment": where, "fault": known(patient.start_fault), "error": error},
        fixes=interpreter_fixes(s),
    )
