"""The GPUs on this machine are not the ones that --expect asks for.

What is wrong: `--expect 8xH100` says what programs should find on this machine, but CUDA (or NVML, if CUDA was not
queried) lists a different number or model. A GPU in MIG mode counts as its instances; without an instance it does not
count. If CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES hides the rest, the result is UNKNOWN and names the variable.

Symptoms: a job written for eight GPUs starts with seven, or with a different GPU model that has less memory.

Why it happens: a GPU was lost, is bound to a different driver, or was left out by the scheduler or CDI; the provider
supplied a machine with a different plan.

A model that is neither listed in the matrix nor reported by the driver is a usage error, and the closest names are
shown; if the driver does not respond, the result is UNKNOWN.

How to fix it: look at the other findings first. Otherwise use the machine that you ordered, or change --expect.

Source: gpudoctor's option --expect.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip
from ..fixes.driver import other_host
from ..fixes.mig import choose_whole, switch_off
from ..snapshot import Snapshot, known
from ..snapshot.presence import reported_names
from . import _gpu_numbers as numbers
from ._seen import ALL_CAUSES

CHECK = Check(
    __name__,
    title="The GPUs are not the expected ones",
    sound="The GPUs are the expected ones",
    severity="critical",
    layer="hardware",
    tags=("gpu",),
    downstream_of=(*ALL_CAUSES, "cuda-lists-fewer-gpus"),
)

_SHORT = 30
"""Characters of a mask that still fits into a title."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the number of GPUs of the model is not the expected one, by CUDA's list if there is one."""
    if not p.expect.count and not p.expect.model:
        raise Skip("--expect names neither a number of GPUs nor a model")
    from ..findings.spec import gpus_text

    expected, gpus, devices = str(p.expect), numbers.session(s), numbers.cuda(s)
    facts = {"expected": expected, **numbers.facts(s)}
    wanted = gpus_text(expected)
    unsure = f"Unknown whether this machine has {wanted}"
    if p.expect.model and not is_called(s, m, p.expect.model):
        yield CHECK.unknown(unsure, f"This matrix lists no GPU called {p.expect.model}.", facts=facts)
        return
    by_nvml = None if gpus is None else numbers.usable(gpus)
    by_cuda = None if devices is None else numbers.cuda_names(gpus or (), devices)
    mig, mask = numbers.in_mig_mode(gpus or ()), numbers.cuda_mask(s)
    if mig and not mask:
        by_cuda = None  # it lists one instance to a process, however many there are
    names = by_nvml if by_cuda is None or mig else by_cuda
    if names is None or (not names and gpus is None) or (p.expect.model and "" in names):
        yield CHECK.unknown(unsure, "The list of GPUs could not be read.", facts=facts)
        return
    if cap := s.cap("gpus") or s.cap("cuda-devices") or s.cap("text-gpus"):
        yield CHECK.unknown(unsure, f"gpudoctor examined {cap.words}.", facts=facts)
        return
    if _is_met(names, m, p) or (by_cuda and _is_met(by_cuda, m, p)):
        return
    hiding = _hiding(s, m, p, by_nvml, by_cuda, mask)
    if hiding:
        short = hiding if len(hiding) <= _SHORT else hiding.partition("=")[0]
        title = f"{short} hides GPUs, so {wanted} cannot be confirmed"
        detail = (
            f"{hiding}. {numbers.words(s)} Run without this variable, or change --expect to what it leaves visible."
        )
        yield CHECK.unknown(title, detail, facts={**facts, "found": names, "mask": hiding})
        return
    have = ", ".join(f"{names.count(name)} x {name or 'GPU'}" for name in sorted(set(names))) or "none"
    in_mig = " A GPU in MIG mode counts as its instances." if mig else ""
    yield CHECK.fail(
        f"Expected {wanted}, found {have}",
        f"{numbers.words(s)}{in_mig}",
        facts={**facts, "found": names},
        fixes=_without_mig(s, m, p) or (other_host(s, f"with {wanted}"),),
    )


def _without_mig(s: Snapshot, m: Matrix, p: Policy) -> tuple[Fix, ...]:
    """If the GPUs exist, and only MIG keeps them from being what is expected."""
    gpus = numbers.session(s) or []
    cut = [gpu for gpu in gpus if gpu.mig_enabled is True]
    whole = [gpu for gpu in gpus if gpu.mig_enabled is not True]
    found = []
    if cut and whole and _is_met([known(gpu.name) or "" for gpu in whole], m, p):
        found.append(choose_whole(s, whole))
    if len(cut) == 1 and _is_met([known(gpu.name) or "" for gpu in gpus], m, p):
        found.append(switch_off(s, cut[0].key))
    return tuple(found)


def is_called(s: Snapshot, m: Matrix, model: str) -> bool:
    """Whether the matrix or this driver has a GPU of this name; if not, the expectation is misspelled or newer."""
    return m.lists_model(model) or any(m.is_model(name, model) for name in reported_names(s))


def _is_met(names: list[str], m: Matrix, p: Policy) -> bool:
    of_model = [name for name in names if not p.expect.model or m.is_model(name, p.expect.model)]
    return len(of_model) == p.expect.count if p.expect.count else bool(of_model)


def _hiding(s: Snapshot, m: Matrix, p: Policy, by_nvml: list[str] | None, by_cuda: list[str] | None, mask: str) -> str:
    """The mask without which the expected GPUs might be visible; empty if none explains the difference."""
    if mask and by_cuda is not None:
        if by_nvml is None:
            return mask if len(by_cuda) < max(p.expect.count, 1) else ""  # nothing lists what it hides
        return mask if len(by_cuda) < len(by_nvml) and _is_met(by_nvml, m, p) else ""
    given, one = numbers.container_mask(s), replace(p, expect=replace(p.expect, count=0))
    if not given or not by_nvml or not all(_is_met([name], m, one) for name in by_nvml):
        return ""
    return given if p.expect.count and numbers.machine(s) == p.expect.count else ""
