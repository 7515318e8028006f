"""`import torch` picks up a folder or file with that name instead of the installed package.

What is wrong: Python searches the script's folder (or the working directory) first. A folder `torch` or a file
`torch.py` there is imported instead of the package.

gpudoctor only lists the names in the current folder and runs nothing in it. If it finds such a file there, it warns. If
importing `torch` actually picked the file up, the check fails.

Symptoms: `AttributeError: partially initialized module 'torch' has no attribute ...`, `module 'torch' has no
attribute 'cuda'`, `No module named 'torch._C'` when started inside PyTorch's source folder.

Why it happens: a script was named torch.py, or Python was started in a clone of the PyTorch repository.

How to fix it: rename the file or folder, or start Python from a different folder.

Source: Python documentation, sys.path initialization.
"""

from __future__ import annotations

import re

from ..findings import Check, Findings, Fix, Matrix, Policy, Step
from ..findings.patterns import lazy
from ..fixes.where import recheck_run
from ..snapshot import Snapshot, known
from ._errors import first_line, need_answer
from ._torch import installed

CHECK = Check(
    __name__,
    title="A folder or file named torch hides the package",
    sound="No folder or file named torch hides the package",
    severity="error",
    layer="python",
    tags=("torch", "python"),
    needs_gpu=False,
    source="docs.python.org/3/library/sys_path_init.html",
)


_SITES = lazy(r"[/\\](site|dist)-packages[/\\]", re.IGNORECASE)
_SOURCE_TREE = lazy(r"No module named 'torch\._C'|Failed to load PyTorch C extensions")
_HALF_A_MODULE = lazy(
    r"partially initialized module 'torch'|module 'torch' has no attribute '(cuda|version|__version__)'"
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the torch that was imported is outside any site-packages folder and is not the installed one."""
    installed(s)
    file, location = known(s.torch_run.file), known(s.torch.location)
    error = known(s.torch_run.import_error) or ""
    torch = s.python.distribution("torch")
    if getattr(torch, "editable", False):
        return
    outside = bool(file and not _SITES.search(file) and not (location and file.startswith(location)))
    if outside or (not file and (_SOURCE_TREE.search(error) or _HALF_A_MODULE.search(error))):
        where = file or "a file or folder named torch"
        detail = f"The installed package is in {location}." if location else ""
        if error:
            detail += f" Python says: {first_line(error)}"
        yield CHECK.fail(
            f"`import torch` loads {where} instead of the installed package",
            detail.strip(),
            facts={"imported_from": file, "installed_at": location},
            direct=bool(file),
            fixes=(_rename(s, file),),
        )
        return
    hidden = known(s.python.hidden_by)
    if hidden:
        yield CHECK.warn(
            f"{hidden[0]} hides the installed torch for programs started in this folder",
            "Python looks in the current folder first: `python -c`, `python -m`, notebooks and scripts in this folder "
            "load that file when they import torch. gpudoctor did not run it.",
            facts={"hidden_by": hidden, "installed_at": location},
            fixes=(_rename(s, hidden[0]),),
        )
    elif file is None and not error:
        need_answer(s)


def _rename(s: Snapshot, file: str | None) -> Fix:
    step = Step(
        text=f"Rename {file.replace('/__init__.py', '') if file else 'it'}, or start Python from a different folder.",
        where="code",
        changes={**recheck_run(s), "python.hidden_by": ()},
    )
    return Fix(id="rename-shadowing-folder", title="Rename the file or folder that hides the package", steps=(step,))
