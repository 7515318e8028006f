"""CUDA wheels for different CUDA versions are mixed, but PyTorch needs a matching set.

What is wrong is one of these: nvJitLink is older than cuSPARSE, which calls it; wheels for two CUDA major versions that
write into the same folder (nvidia-nccl-cu12 and nvidia-nccl-cu13, nvidia-cudnn-cu11 and -cu12) are both installed, so
the one installed last has overwritten the other's files; a symbol of a CUDA library is missing; the compiler's wheel
(nvidia-cuda-nvcc) is for a different CUDA version than the headers (nvidia-cuda-runtime) that it compiles with.

Symptoms: `undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12`, `libtorch_cuda.so: undefined
symbol: ncclCommResume`, `undefined symbol: ncclMemFree`, `CUDA compiler and CUDA toolkit headers are incompatible`,
`ptxas fatal : Unsupported .version 9.3; current version is '9.0'`.

Why it happens: two frameworks in one environment, an upgrade of `torch` to a different CUDA major version, or packages
that pin different versions of these wheels.

How to fix it: remove the wheels for the other CUDA version and install the pinned ones again. Do both: the removal also
deletes files that the two sets share.

A mismatched compiler wheel is a problem if something is compiled (`--building`); otherwise it is only a note.

Leftover wheels for another major that use different folders and file names (nvidia-cublas-cu11 next to -cu12) are
harmless.

Source: Requires-Dist in torch's METADATA; RECORD files of the nvidia-* wheels.
"""

from __future__ import annotations

import re
from typing import Any

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.libraries import compiler_of_runtime, compilers_apart, install_pins
from ..fixes.pins import Pin, cuda_pins, library_of, older, requires
from ..snapshot import Missing, Snapshot, known, need
from ._errors import first_line, import_failed, texts, undefined_symbol
from ._torch import REPLACED, cuda_build, works

CHECK = Check(
    __name__,
    title="CUDA wheels of different versions are mixed",
    sound="No CUDA wheels that conflict were found",
    severity="critical",
    layer="libraries",
    tags=("torch", "libraries"),
    downstream_of=(*REPLACED, "torch-installed-twice", "user-site-shadows-packages"),
    needs_gpu=False,
)


_ONE_FOLDER = ("cudnn", "nccl", "cusparselt", "nvshmem")
"""Libraries whose wheels write the same file names for every CUDA major version."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for an nvJitLink older than the pin, or shared folders whose content is not what torch pins."""
    yield from _compiler_apart(s, p)
    cuda_build(s)
    distributions = need("python.distributions", s.python.distributions)
    need("torch.requires", requires(s))
    have = {d.name: d.version for d in distributions}
    pins = {library_of(pin.name): pin for pin in cuda_pins(s) if library_of(pin.name)}
    symbol, library = undefined_symbol(texts(s))
    yield from _old_nvjitlink(s, pins, have, symbol)
    for name in _ONE_FOLDER:
        if name in pins:
            yield from _shared_folder(s, name, pins[name], have, symbol if library.lower() == f"lib{name}" else "")


def _compiler_apart(s: Snapshot, p: Policy) -> Findings:
    """nvcc rejects headers of a CUDA version other than its own (CCCL compares both numbers)."""
    for nvcc, runtime in compilers_apart(s):
        wanted = ".".join(runtime.version.split(".")[:2])
        title = f"{nvcc.name} {nvcc.version} is for a different CUDA version than {runtime.name} {runtime.version}"
        detail = (
            "Code that nvcc compiles includes the runtime wheel's headers, which must be for the same CUDA version."
        )
        say = CHECK.warn if p.building else CHECK.remark
        facts = {"compiler": nvcc.version, "runtime": runtime.version, "wanted": f"{nvcc.name}=={wanted}.*"}
        fixes = (compiler_of_runtime(s, nvcc, runtime),) if p.building else ()
        yield say(title, detail, facts=facts, subject=nvcc.name, fixes=fixes)


def _old_nvjitlink(s: Snapshot, pins: dict[str, Pin], have: dict[str, str], symbol: str) -> Findings:
    pin = pins.get("nvjitlink")
    version = have.get(pin.name) if pin else None
    if pin is None or version is None or not older(version, pin.version):
        return
    fix = install_pins(s, [pin], id="install-pinned-wheels", title=f"Install {pin.name} {pin.version}")
    title = f"{pin.name} {version} is older than what cuSPARSE needs ({pin.version})"
    detail = "cuSPARSE and cuSOLVER call nvJitLink functions that exist only in their own CUDA version or a newer one."
    if symbol:
        detail += f" Python says: {first_line(texts(s))}"
    facts = {"package": pin.name, "installed": version, "pinned": pin.version, "symbol": symbol}
    if works(s) and not symbol:
        yield CHECK.warn(title, detail + " torch still works for now.", facts=facts, subject=pin.name, fixes=(fix,))
    else:
        yield CHECK.fail(title, detail, facts=facts, subject=pin.name, fixes=(fix,), direct=bool(symbol))


def _shared_folder(s: Snapshot, name: str, pin: Pin, have: dict[str, str], symbol: str) -> Findings:
    kin = re.compile(rf"nvidia-{name}-cu\d+")
    others = {other: v for other, v in have.items() if other != pin.name and kin.fullmatch(other)}
    if name == "cudnn":  # cuDNN 8 and 9 have different file names
        others = {other: v for other, v in others.items() if v.split(".")[0] == pin.version.split(".")[0]}
    if not others:
        return
    loaded = known({"cudnn": s.torch.cudnn_bundled, "nccl": s.torch.nccl_bundled}.get(name, _UNKNOWN))
    found = ", ".join(f"{other} {v}" for other, v in others.items())
    fix = install_pins(
        s,
        [pin],
        id="remove-other-cuda-wheels",
        title=f"Remove {', '.join(others)} and install {pin.name} again",
        drop=list(others),
    )
    facts: dict[str, Any] = {"pinned": f"{pin.name} {pin.version}", "others": dict(others), "loaded": loaded}
    title = f"{found} overwrites the {pin.name} files that torch needs"
    detail = f"Both write into nvidia/{name}: the last one installed wins, and removing one deletes the other's files."
    if symbol:
        detail += f" Python says: {first_line(texts(s))}"
    if loaded:
        detail += f" The files in that folder are version {loaded}, but torch pins {pin.version}."
    wrong = loaded is not None and older(loaded, ".".join(pin.version.split(".")[: len(loaded.split("."))]))
    if symbol or (import_failed(s) is not False and wrong):
        yield CHECK.fail(title, detail, facts=facts, subject=name, fixes=(fix,))
    else:
        yield CHECK.warn(title, detail, facts=facts, subject=name, fixes=(fix,))


_UNKNOWN = Missing("not-asked")
