"""The loaded NCCL is not PyTorch's own, or lacks functions that PyTorch calls.

What is wrong: PyTorch was built with one version of NCCL and calls its functions. A second one (a system package, one
named in LD_PRELOAD or VLLM_NCCL_SO_PATH, one that another framework installed) is found first and is older.

Symptoms: `undefined symbol: ncclCommRegister`, `undefined symbol: ncclCommResume`, a version in the NCCL_DEBUG=INFO log
that is not PyTorch's, hangs between nodes whose NCCL versions differ.

Why it happens: the system's libnccl2 or an older NCCL wheel is used with a newer PyTorch; or NCCL was configured by
hand for a cluster.

How to fix it: unset the variable, or install the NCCL that `torch` pins; see the command in the finding.

Two other checks are related: mixed-cuda-wheels covers wheels for two CUDA major versions in one folder, and
ld-library-path-shadows-cuda-libs covers a library on LD_LIBRARY_PATH. An NCCL newer than PyTorch's is harmless.

Source: NCCL's release notes (functions of each version); Requires-Dist in torch's METADATA.
"""

from __future__ import annotations

import re

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Step
from ..findings.patterns import lazy
from ..fixes.libraries import install_pins, reinstall_torch
from ..fixes.pins import cuda_pins, library_of
from ..fixes.selection import environment_with
from ..fixes.where import recheck_run
from ..snapshot import Snapshot, known, need
from ._errors import first_line, import_failed, texts, undefined_symbol
from ._torch import REPLACED, cuda_build

CHECK = Check(
    __name__,
    title="Two NCCL versions are mixed",
    sound="No NCCL that conflicts with torch was found",
    severity="error",
    layer="libraries",
    tags=("torch", "libraries", "loader"),
    downstream_of=(
        *REPLACED,
        "mixed-cuda-wheels",
        "ld-library-path-shadows-cuda-libs",
        "nvidia-wheels-off-torch-pins",
        "torch-installed-twice",
        "user-site-shadows-packages",
    ),
    needs_gpu=False,
)

_FILE = lazy(r"(/[^\s:;,]*libnccl\.so[.\d]*)")
_VERSION = lazy(r"\.so\.(\d+\.\d+(?:\.\d+)?)$")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if an NCCL function that torch calls is missing; warns about an older NCCL that is or would be loaded."""
    cuda_build(s)
    symbol, library = undefined_symbol(texts(s))
    if library == "libnccl" and not _explained(s):
        where = [item.path for item in known(s.cuda.libraries) or () if item.name == "libnccl"]
        detail = f"Python says: {first_line(texts(s))}"
        if where:
            detail += f" The loader finds NCCL at {where[0]}."
        facts = {"symbol": symbol, "found": where, "torch_nccl": known(s.torch.nccl_bundled)}
        yield CHECK.fail(f"The loaded NCCL lacks {symbol}", detail, facts=facts, fixes=_pinned(s, m))
        return
    for name in ("LD_PRELOAD", "VLLM_NCCL_SO_PATH"):
        value = s.host.env(name)
        file = _FILE.search(value) if isinstance(value, str) else None
        if file:
            yield from _forced(s, name, str(value), file[1])
    own, loaded = known(s.torch.nccl_bundled), known(s.torch_run.nccl_version)
    if own and loaded and numbers(loaded)[:3] < numbers(own)[:3]:
        title = f"NCCL {loaded} is loaded, but torch ships {own}"
        yield CHECK.warn(
            title,
            "An older NCCL is found before torch's own.",
            facts={"loaded": loaded, "own": own},
            subject="loaded",
            fixes=_pinned(s, m),
        )
    if import_failed(s) is None and not own:
        need("torch.nccl_bundled", s.torch.nccl_bundled)


def _explained(s: Snapshot) -> bool:
    """Whether wheels for several CUDA major versions, or LD_LIBRARY_PATH, explain it: separate checks judge those."""
    wheels = {d.name for d in known(s.python.distributions) or () if re.fullmatch(r"nvidia-nccl-cu\d+", d.name)}
    hidden = any(
        item.name == "libnccl" and item.found_by == "LD_LIBRARY_PATH" for item in known(s.cuda.libraries) or ()
    )
    return len(wheels) > 1 or hidden


def _forced(s: Snapshot, name: str, value: str, path: str) -> Findings:
    own, found = known(s.torch.nccl_bundled), _VERSION.search(path)
    facts = {"variable": name, "path": path, "torch_nccl": own}
    title = f"{name} loads a different NCCL: {path}"
    if not (own and found and numbers(found[1]) < numbers(own)[: len(numbers(found[1]))]):
        yield CHECK.remark(title, "This is harmless if it is at least as new as torch's.", facts=facts, subject=name)
        return
    left = ":".join(part for part in re.split(r"[\s:]+", value) if "libnccl" not in part)
    command = f"export {name}={left}" if left else f"unset {name}"
    changes = {"host.environment": environment_with(s, name, left or None), **recheck_run(s)}
    text = "Also remove it wherever else it is set: ~/.bashrc, the job script, ENV in the image."
    step = Step(text=text, command=command, where="shell", changes=changes)
    fix = Fix(id="unset-nccl-variable", title=f"Remove NCCL from {name}", steps=(step,))
    detail = f"That NCCL is version {found[1]}; torch ships {own} and may call functions that version {found[1]} lacks."
    yield CHECK.warn(title, detail, facts={**facts, "version": found[1]}, subject=name, fixes=(fix,))


def _pinned(s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    pin = next((pin for pin in cuda_pins(s) if library_of(pin.name) == "nccl"), None)
    if pin is None:
        return (reinstall_torch(s, m, "with its NCCL"),)
    return (
        install_pins(s, [pin], id="install-pinned-nccl", title=f"Install {pin.name} {pin.version}, which torch pins"),
    )
