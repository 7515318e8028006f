"""torchvision, torchaudio or another companion was built for another torch, or for another CUDA.

What is wrong: these packages hold compiled code against one torch release (and one CUDA). With another they fail to
import, or lack their CUDA operators.

How it shows: `RuntimeError: operator torchvision::nms does not exist`, `OSError: libtorchaudio.so: undefined symbol:
_ZN3c10...`, `Could not run 'torchvision::nms' with arguments from the 'CUDA' backend`, `Detected that PyTorch and
torchvision were compiled with different CUDA major versions`.

Why it happens: torch was upgraded or replaced alone; one package came from PyPI and the other from a CUDA index.

How to fix it: install the version that goes with the installed torch, from the same index; see the command.

Source: Requires-Dist of the companion; the projects' compatibility tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compat_matrix.versions import TorchVersion, torch_version

from ..findings import Check, Finding, Fix, Policy, Step
from ..fixes.machine import wheel_platform
from ..fixes.packages import install_command, site_packages, uninstall_command, with_distributions
from ..fixes.pins import applies, pin_of, requires
from ..snapshot import Distribution, Snapshot, known, need
from ._torch import OTHER_BUILD, installed

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="A companion package does not fit torch",
    severity="error",
    layer="python",
    tags=("torch", "python"),
    downstream_of=(*OTHER_BUILD, "image-torch-replaced", "torch-installed-twice", "user-site-shadows-packages"),
    needs_gpu=False,
)


_COMPILED = ("torchvision", "torchaudio", "torchtext", "torchcodec")
_LOOSE = ("triton", "torchao")
"""A mismatch of these costs torch.compile or some speed, not the import."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails for each companion whose own pin, or the table, or whose build tag names another torch."""
    version = installed(s)
    for d in _first_of_each(need("python.distributions", s.python.distributions)):
        reason, facts = _mismatch(s, m, version, d)
        if not reason:
            continue
        title = f"{d.name} {d.version} does not fit torch {version}"
        fixes = tuple(fix for fix in (_fix(s, m, version, d),) if fix)
        say = CHECK.fail if d.name in _COMPILED else CHECK.warn
        facts = {"torch": version, d.name: d.version, **facts}
        yield say(title, reason + ".", facts=facts, subject=d.name, fixes=fixes)


def _first_of_each(distributions: tuple[Distribution, ...]) -> list[Distribution]:
    seen: dict[str, Distribution] = {}
    for d in distributions:
        if d.name in (*_COMPILED, *_LOOSE):
            seen.setdefault(d.name, d)
    return list(seen.values())


def _mismatch(s: Snapshot, m: Matrix, version: str, d: Distribution) -> tuple[str, dict[str, Any]]:
    """Why it does not fit, or ''. Nightly, vendor and editable builds are not judged: their versions say nothing."""
    parts, own = torch_version(version), torch_version(d.version)
    if parts is None or parts.kind != "release" or d.editable:
        return "", {}
    if d.name == "triton":
        for pin in filter(None, map(pin_of, known(requires(s)) or ())):
            if pin.name == "triton" and pin.version == d.version:
                return "", {}
            if pin.name == "triton" and applies(pin, s):
                return f"torch asks for triton {pin.version}", {"expected": [pin.version]}
    pinned = False
    for line in known(d.requires) or ():
        wanted = pin_of(line)
        asked = torch_version(wanted.version) if wanted and wanted.name == "torch" else None
        if wanted and asked:
            pinned = True
            if asked.release != parts.release:
                return f"Its own metadata asks for torch {wanted.version}", {"asks_for": wanted.version}
    if own and _other_build(d.name, own, parts):
        return f"It is built for {own.local}, torch for {parts.local}", {"built_for": own.local}
    if pinned:
        return "", {}
    grade = m.companion_matches(parts.base, d.name, d.version.partition("+")[0])
    if grade.grade == "mismatch":
        return grade.reason[0].upper() + grade.reason[1:], {"expected": list(grade.expected)}
    return "", {}


def _other_build(name: str, own: TorchVersion, torch: TorchVersion) -> bool:
    """Whether both carry a build tag and the tags do not go together: CPU with CUDA, another CUDA major, and for
    torchaudio (which compares the whole CUDA version when it is imported) another minor."""
    if not own.local or not torch.local or own.kind != "release":
        return False
    if (own.local == "cpu") != (torch.local == "cpu"):
        return True
    if own.tag is None or torch.tag is None:
        return False
    return own.tag != torch.tag if name == "torchaudio" else own.tag[:-1] != torch.tag[:-1]


def _fix(s: Snapshot, m: Matrix, version: str, d: Distribution) -> Fix | None:
    parts = torch_version(version)
    if parts is None:
        return None
    pins = {pin.name: pin for pin in filter(None, map(pin_of, known(requires(s)) or ()))}
    fit = next((e for e in m.companions(parts.base) if e.package == d.name), None)
    target = pins["triton"].version if d.name == "triton" and "triton" in pins else fit.version if fit else ""
    if not target:
        changes = {"python.distributions": with_distributions(s, (), (d.name,))}
        step = Step(text=f"No {d.name} was published for torch {parts.base}.", command=uninstall_command(s, (d.name,)),
                    where="environment", destructive=True, changes=changes)  # fmt: skip
        return Fix(id="remove-companion", title=f"Remove {d.name}", steps=(step,))
    args = ["--force-reinstall", "--no-deps", f"{d.name}=={target}"]
    row = m.torch_build(parts.base, parts.tag or "cpu", wheel_platform(s))
    index = m.index_url(parts.tag or parts.local) if parts.local and d.name in _COMPILED else None
    if index and not (row and row.pypi_default) and (fit is None or fit.relation in ("==", ">=")):
        args += ["--index-url", index.url]
    put = (Distribution(name=d.name, version=target, location=site_packages(s)),)
    step = Step(text=f"Install the {d.name} that goes with torch {parts.base}.", command=install_command(s, args),
                where="environment", changes={"python.distributions": with_distributions(s, put)})  # fmt: skip
    return Fix(id="install-companion", title=f"Install {d.name} {target}", steps=(step,))
