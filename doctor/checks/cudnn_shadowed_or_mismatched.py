"""torch loads, or would load, a cuDNN that it was not built for.

What is wrong: torch needs a cuDNN with the same major version and at least the minor version that it was compiled with.
A folder on LD_LIBRARY_PATH, or a cuDNN wheel of a different version, provides one that does not meet this requirement.

Symptoms: `RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (9, 10, 2) but found runtime
version (8, 9, 7)`, `Could not load library libcudnn_cnn_train.so.8 ... undefined symbol`,
`CUDNN_STATUS_NOT_INITIALIZED`, `CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH`.

Why it happens: LD_LIBRARY_PATH names /usr/local/cuda/lib64 or a conda folder with its own cuDNN, or another package
replaced the nvidia-cudnn wheel.

How to fix it: remove the folder from LD_LIBRARY_PATH (the wheels find their own libraries), or install the pinned
wheel.

Copies of cuDNN in system folders that are not on LD_LIBRARY_PATH are harmless, even if there are several. A compatible
copy on LD_LIBRARY_PATH is harmless too.

Source: torch/backends/cudnn/__init__.py (the rule); NVIDIA cuDNN API compatibility.
"""

from __future__ import annotations

from ..findings import Check, Findings, Fix, Matrix, Policy
from ..fixes.libraries import install_pins, off_library_path, reinstall_torch
from ..fixes.pins import Pin, cuda_pins, library_of
from ..snapshot import Missing, Snapshot, known, need
from ._cudnn import compiled_with, is_compatible
from ._errors import first_line
from ._torch import REPLACED, cuda_build

CHECK = Check(
    __name__,
    title="The loaded cuDNN is incompatible with torch",
    sound="No cuDNN that is incompatible with torch was found",
    severity="error",
    layer="libraries",
    tags=("torch", "cudnn", "libraries"),
    downstream_of=(*REPLACED, "mixed-cuda-wheels", "torch-installed-twice", "user-site-shadows-packages"),
    needs_gpu=False,
    source="docs.nvidia.com/deeplearning/cudnn: API compatibility",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """What torch loaded decides; if it was not asked, the folder on LD_LIBRARY_PATH, then the wheel."""
    cuda_build(s)
    compiled = compiled_with(s, m)
    shadow = known(s.torch.cudnn_shadow)
    error, loaded = known(s.torch_run.cudnn_error), known(s.torch_run.cudnn_version)
    facts = {"compiled_with": compiled, "loaded": loaded, "shadow": shadow}
    if error:
        title = "torch rejects the loaded cuDNN"
        yield CHECK.fail(title, first_line(error), facts=facts, fixes=_fixes(s, m, shadow))
        return
    if loaded and compiled:
        if not is_compatible(loaded, compiled):
            title = f"cuDNN {loaded} is loaded, but torch was built with {compiled}"
            detail = f"It is loaded from {shadow}." if shadow else ""
            yield CHECK.fail(title, detail, facts=facts, fixes=_fixes(s, m, shadow))
        return
    if shadow:
        version = _version_at(s, shadow)
        where = f"LD_LIBRARY_PATH puts {shadow} before torch's own cuDNN"
        if version and compiled and is_compatible(version, compiled):
            return
        if version and compiled:
            title = f"cuDNN {version} on LD_LIBRARY_PATH hides the one that torch needs ({compiled})"
            facts = {**facts, "found": version}
            yield CHECK.fail(title, where + ".", facts=facts, direct=False, fixes=_fixes(s, m, shadow))
        else:
            yield CHECK.warn(
                "A cuDNN on LD_LIBRARY_PATH hides torch's own",
                where + "; its version is unknown.",
                facts=facts,
                direct=False,
                fixes=_fixes(s, m, shadow),
            )
        return
    wheel = _pin(s)
    if wheel:
        distributions = need("python.distributions", s.python.distributions)
        have = next((d.version for d in distributions if d.name == wheel.name), "")
        if have and not is_compatible(have, wheel.version):
            title = f"{wheel.name} {have} is incompatible with torch, which was built with {wheel.version}"
            yield CHECK.fail(
                title,
                "torch needs the same major version and at least the same minor version.",
                facts={**facts, "installed": have},
                direct=False,
                fixes=_fixes(s, m, shadow),
            )
        return
    other = s.torch.cudnn_shadow
    if isinstance(other, Missing) and other.reason != "absent":
        need("torch.cudnn_shadow", other)


def _pin(s: Snapshot) -> Pin | None:
    return next((pin for pin in cuda_pins(s) if library_of(pin.name) == "cudnn"), None)


def _version_at(s: Snapshot, path: str) -> str | None:
    folder = path.rpartition("/")[0]
    for item in known(s.cuda.libraries) or ():
        if item.name == "libcudnn" and (path in (item.path, item.real_path) or item.path.rpartition("/")[0] == folder):
            return known(item.version)
    return None


def _fixes(s: Snapshot, m: Matrix, shadow: str | None) -> tuple[Fix, ...]:
    found: list[Fix | None] = [off_library_path(s, (shadow,)) if shadow else None]
    wheel = _pin(s)
    have = s.python.distribution(wheel.name) if wheel else None
    if wheel and getattr(have, "version", "") != wheel.version:
        found.append(install_pins(s, [wheel], id="install-pinned-cudnn", title=f"Install {wheel.name} {wheel.version}"))
    if not any(found):
        found.append(reinstall_torch(s, m, "with its cuDNN"))
    return tuple(fix for fix in found if fix)
