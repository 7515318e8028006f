"""Some installed nvidia-* wheels are not the versions that torch pins.

What is wrong: each torch wheel names the exact version of every CUDA library that it was built and tested with. Other
versions for the same CUDA major version usually work, but some do not (missing symbols, wrong results, slower kernels).

Symptoms: `pip check` lists `torch 2.8.0 has requirement nvidia-nccl-cu12==2.27.3, but you have ...`; later there are
undefined symbols, or no symptoms at all.

Why it happens: another package (vllm, tensorflow, cupy, jax) required a different version, or NCCL or cuDNN was
upgraded by hand.

How to fix it: install the pinned versions, or keep what is installed if the change was made on purpose.

This is a warning, or a failure if the first number of the version differs (a different CUDA major version). nvJitLink
older than cuSPARSE, wheels for several majors in one folder, and a cuDNN that PyTorch rejects each have a separate
check.

Source: Requires-Dist in torch's METADATA.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.libraries import install_pins
from ..fixes.pins import OffPin, library_of, off_pins, older, requires
from ..snapshot import Snapshot, need
from ._cudnn import is_compatible
from ._torch import REPLACED, cuda_build

CHECK = Check(
    __name__,
    title="nvidia-* wheels differ from torch's pins",
    sound="The nvidia-* wheels that no other check covers match torch's pins",
    severity="warning",
    layer="libraries",
    tags=("torch", "libraries"),
    downstream_of=(*REPLACED, "mixed-cuda-wheels", "torch-installed-twice", "user-site-shadows-packages"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about wheels that differ from torch's exact pins; fails where their first number differs."""
    cuda_build(s)
    need("torch.requires", requires(s))
    need("python.distributions", s.python.distributions)
    off = [o for o in off_pins(s) if not _judged_elsewhere(o)]
    if not off:
        return
    words = ", ".join(f"{o.pin.name} {o.have} (pinned {o.pin.version})" for o in off[:6])
    pins = [o.pin for o in off]
    fix = install_pins(s, pins, id="install-pinned-wheels", title="Install the versions that torch pins")
    facts = {o.pin.name: {"installed": o.have, "pinned": o.pin.version} for o in off}
    wrong = [o for o in off if numbers(o.have)[:1] != numbers(o.pin.version)[:1]]
    if wrong:
        title = f"{wrong[0].pin.name} {wrong[0].have} has a different major version than torch pins"
        yield CHECK.fail(title, words + ".", facts=facts, severity="error", fixes=(fix,))
    else:
        title = f"{len(off)} nvidia-* wheel{'s differ' if len(off) > 1 else ' differs'} from torch's pins"
        yield CHECK.warn(title, words + ".", facts=facts, fixes=(fix,))


def _judged_elsewhere(o: OffPin) -> bool:
    library = library_of(o.pin.name)
    if library == "cudnn":
        return not is_compatible(o.have, o.pin.version)
    return library == "nvjitlink" and older(o.have, o.pin.version)
