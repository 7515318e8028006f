"""This machine does not match the spec: it differs in a version, a package, the GPUs or the operating system.

What is wrong: a spec states what a team has agreed on (torch, driver, CUDA, cuDNN, NCCL, Python, packages, GPUs,
operating system), and this machine differs from the spec. The finding has one line for each deviation.

Symptoms: a program works on one machine but not on another; results or speed differ between machines that should be
alike.

Why it happens: somebody upgraded a package or the driver, a new node came with a different image, or the spec is old.

How to fix it: see the steps in the finding; each deviation has one. If the machine is right, change the spec.
`gpudoctor print spec` writes a spec from a good machine.

What is compared: torch, the driver, Python and packages by their versions. `cuda` is the CUDA version that torch was
built with; without torch, it is the version of nvcc or of the image. `cudnn` and `nccl` are the versions that torch
loads; without torch, they are the versions that the loader finds. A fourth number of a cuDNN version belongs to the
release's wheels. `gpu` is compared in the same way as --expect, and `os` with /etc/os-release, in WSL too;
`os = "wsl 2"` asks for WSL itself. Ranges follow PEP 440; local versions (+cu128) count only in a range that names one.
A version that is known only in part (CUDA 12.8, when the spec names 12.8.1) counts as unknown, and so does every fact
that could not be read: unknown lines never pass.

With --expect none (an image is being built), `driver` and `gpu` are not checked.

Source: the spec itself (gpudoctor.toml, or --spec FILE); packaging.python.org/specifications/version-specifiers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec.structs import replace

from ..findings import LAYERS, Check, Finding, Findings, Fix, Layer, Matrix, Policy, Skip
from ..findings.reasons import WHY
from ..findings.spec import WSL, SpecLine, gpus, gpus_text, instead, meets, names_wheel, not_known, system, unmet
from ..findings.spec_facts import have, system_name
from ..fixes.driver import other_host
from ..fixes.spec import meet_spec
from ..fixes.where import RECHECK
from ..snapshot import Missing, NeedsFact, Snapshot, known
from ..snapshot.presence import no_card
from ._seen import ALL_CAUSES
from ._torch import OTHER_BUILD
from .gpu_expectation_unmet import check as judge_gpus

_LIBRARIES = (
    "torch-not-installed", "bundled-cuda-libs-missing", "ld-library-path-shadows-cuda-libs",
    "cudnn-shadowed-or-mismatched", "nccl-version-conflict", "nvidia-wheels-off-torch-pins",
)  # fmt: skip
_CAUSES: dict[str, tuple[str, ...]] = {
    "torch": ("torch-not-installed",),
    "cuda": OTHER_BUILD,
    "cudnn": _LIBRARIES,
    "nccl": _LIBRARIES,
    "driver": ALL_CAUSES,
    "gpu": (*ALL_CAUSES, "gpu-expectation-unmet", "cuda-lists-fewer-gpus"),
    "package": ("required-package-missing",),
}
"""Key to the checks whose finding explains that this line is not met, or not known."""
_LAYER: dict[str, Layer] = {
    "gpu": "hardware", "driver": "driver", "os": "driver", "cuda": "libraries", "cudnn": "libraries",
    "nccl": "libraries",
}  # fmt: skip
"""Key to its layer; python for all others."""

_EVERY = dict.fromkeys(cause for some in _CAUSES.values() for cause in some)

CHECK = Check(
    __name__,
    title="The spec is not met",
    sound="The machine meets the spec",
    severity="error",
    layer="python",
    tags=("spec",),
    downstream_of=(*_EVERY, "required-fact-missing"),
    needs_gpu=False,
)

_OF_HOST = ("driver", "gpu")
_REQUIRED = (*_OF_HOST, "torch")
"""Keys whose fact is required without a spec too."""


class Judged(NamedTuple):
    """One line of the spec. found: what is here instead, or why that is not known, as text; '' if it is met."""

    line: SpecLine
    state: Literal["met", "off", "unknown", "recheck"]
    found: str = ""
    fix: Fix | None = None


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for all lines that are not met, or unknown where none of them is known to be off."""
    if not p.spec:
        raise Skip("no spec is given (gpudoctor.toml, --spec)")
    spec = [line for line in p.spec if p.expect.kind != "none" or line.key not in _OF_HOST]
    left = list(dict.fromkeys(line.name for line in p.spec if line not in spec))
    if left:
        words = f"With --expect none, these are not checked: {', '.join(left)}."
        yield CHECK.remark("Only part of the spec was checked", words)
    judged = [_judged(s, m, p, line) for line in spec]
    off, unknown, again = ([one for one in judged if one.state == state] for state in ("off", "unknown", "recheck"))
    if not off and not unknown:
        if again:
            raise NeedsFact(again[0].line.name, RECHECK)
        return
    unknown += again
    rows = {"deviations": [_row(one) for one in off], "unknown": [_row(one) for one in unknown]}
    facts = {name: some for name, some in rows.items() if some}
    finding = CHECK.fail if off else CHECK.unknown
    gpu = next((one.fix for one in off if one.fix), None)
    fix, lack = meet_spec(s, m, spec, [one.line for one in off], gpu, p.found.path if p.found and p.found.spec else "")
    yield finding(
        _title(off, unknown),
        "\n".join([*(_words(one) for one in (*off, *unknown)), *filter(None, [lack])]),
        facts=facts,
        subject=", ".join(dict.fromkeys(one.line.name for one in off or unknown)),
        layer=min((_LAYER.get(one.line.key, "python") for one in off or unknown), key=LAYERS.index),
        downstream_of=_explained(off or unknown, p),
        fixes=(fix,) if fix else (),
    )


def _judged(s: Snapshot, m: Matrix, p: Policy, line: SpecLine) -> Judged:
    if line.key in _OF_HOST and no_card(s):
        return Judged(
            line,
            "off",
            "no NVIDIA GPU",
            other_host(s, f"with {gpus_text(line.allowed)}") if line.key == "gpu" else None,
        )
    if line.key == "gpu":
        return _of_gpus(s, line, judge_gpus(s, m, replace(p, expect=gpus(line.allowed))))
    if line.key == "os":
        name, wanted = system_name(s), system(line.allowed)
        if wanted[0] == WSL:
            name = WSL
        elif isinstance(name, Missing):
            return _unknown(line, name)
        elif wanted[0] not in (name, known(s.host.system)):
            return Judged(line, "off", f"{name} {known(s.host.os_version) or ''}".rstrip())
        if wanted[1] is None and name != WSL:
            return Judged(line, "met")
    found = have(s, line)
    if isinstance(found, Missing):
        return _unknown(line, found)
    if found is None:
        return Judged(line, "off", _none(s, line))
    if names_wheel(line):
        found = m.cudnn_wheel(found) or found
    met = meets(line, found)
    if met is None:
        return Judged(line, "unknown", _in_part(s, line, found))
    return Judged(line, "met" if met else "off", f"{name} {found}" if line.key == "os" else found)


def _in_part(s: Snapshot, line: SpecLine, found: str) -> str:
    of_torch = line.key == "cuda" and isinstance(s.torch.version, str)
    return f"only {found} is known: torch does not show the patch version" if of_torch else f"only {found} is known"


def _unknown(line: SpecLine, missing: Missing) -> Judged:
    words = WHY.get(missing.reason, missing.reason)
    why = f"{words}: {missing.detail}" if missing.detail else words
    return Judged(line, "recheck" if missing.reason == "recheck" else "unknown", why)


def _of_gpus(s: Snapshot, line: SpecLine, findings: Iterator[Finding]) -> Judged:
    found = next(findings, None)
    if found is not None and s.gpus == RECHECK:
        return _unknown(line, RECHECK)
    if found is None:
        return Judged(line, "met")
    if found.status != "fail":
        why = found.detail.rstrip(".") if found.title.startswith("Unknown") else found.title
        return Judged(line, "unknown", f"{why[:1].lower()}{why[1:]}" if why[1:2].islower() else why)
    return Judged(line, "off", found.title.partition(", found ")[2], found.fixes[0] if found.fixes else None)


def _none(s: Snapshot, line: SpecLine) -> str:
    if line.key == "cuda" and (version := known(s.torch.version)):
        return f"none in torch {version}"
    if line.key == "os":
        return f"{known(system_name(s)) or 'a system'} {known(s.host.os_version) or ''}".rstrip() + ", not in WSL"
    return "not installed" if line.key in ("torch", "package") else "none found"


def _row(one: Judged) -> dict[str, str]:
    return {"name": one.line.name, "allowed": one.line.allowed, "found": one.found, "file": one.line.file}


def _words(one: Judged) -> str:
    """`driver: 535.104.05 (the spec requires >=570)`."""
    return f"{one.line.name}: {instead(one.found, one.line.allowed, one.state != 'off')}"


def _title(off: list[Judged], unknown: list[Judged]) -> str:
    if not off:
        return not_known(_names(unknown))
    if len(off) == 1:
        return unmet(off[0].line.name, off[0].found, off[0].line.allowed)
    return f"{len(off)} items do not meet the spec: {_names(off)}"


_SHOWN = 4


def _names(some: list[Judged]) -> str:
    names = list(dict.fromkeys(one.line.name for one in some))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _explained(some: list[Judged], p: Policy) -> tuple[str, ...]:
    """The causes that explain every line: one that explains only some of them must not hide the others."""
    causes = [() if _is_own(one.line, p) else _CAUSES.get(one.line.key, ()) for one in some]
    required = all(one.state == "unknown" and one.line.key in _REQUIRED for one in some)
    missing = ("required-fact-missing",) if required else ()
    return (*(cause for cause in causes[0] if all(cause in other for other in causes)), *missing)


def _is_own(line: SpecLine, p: Policy) -> bool:
    """A package that --require does not name: no other check speaks of it."""
    return line.key == "package" and line.package not in p.require
