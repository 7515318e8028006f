"""The GPUs on this machine are not the ones that --expect asks for.

What is wrong: `--expect 8xH100` says what programs should find here; CUDA (or NVML, where CUDA was not asked) lists a
different number or model. A GPU in MIG mode counts by its instances; without an instance it does not count. Where
CUDA_VISIBLE_DEVICES or NVIDIA_VISIBLE_DEVICES hides the rest, the answer is UNKNOWN and names it.

Symptoms: a job that is made for eight GPUs starts with seven, or with another model and less memory.

Why it happens: a GPU was lost, is bound to another driver, or was left out by the scheduler or CDI; the provider
supplied a different plan.

A model that neither the matrix lists nor the driver here reports is wrong usage, with the nearest names; it is UNKNOWN
where the driver gives no answer.

How to fix it: look at the other findings first. Otherwise take the machine that was ordered, or change --expect.

Source: the option --expect of gpudoctor.
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
    title="Not the expected GPUs",
    sound="The GPUs are the expected ones",
    severity="critical",
    layer="hardware",
    tags=("gpu",),
    downstream_of=(*ALL_CAUSES, "cuda-lists-fewer-gpus"),
)

_SHORT = 30
"""Characters of a mask that still fits into a title."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails where the number of GPUs of the model is not the expected one, by CUDA's list where there is one."""
    if not p.expect.count and not p.expect.model:
        raise Skip("no number or model is expected")
    expected, gpus, devices = str(p.expect), numbers.session(s), numbers.cuda(s)
    facts = {"expected": expected, **numbers.facts(s)}
    if p.expect.model and not is_called(s, m, p.expect.model):
        title = f"Not known: whether this machine has {expected}"
        yield CHECK.unknown(title, f"This matrix lists no GPU called {p.expect.model}.", facts=facts)
        return
    by_nvml = None if gpus is None else numbers.usable(gpus)
    by_cuda = None if devices is None else numbers.cuda_names(gpus or (), devices)
    mig, mask = numbers.in_mig_mode(gpus or ()), numbers.cuda_mask(s)
    if mig and not mask:
        by_cuda = None  # it lists one instance to a process, whatever there is
    names = by_nvml if by_cuda is None or mig else by_cuda
    if names is None or (not names and gpus is None) or (p.expect.model and "" in names):
        yield CHECK.unknown(
            f"Not known: whether this machine has {expected}", "The list of GPUs could not be read.", facts=facts
        )
        return
    if cap := s.cap("gpus") or s.cap("cuda-devices") or s.cap("text-gpus"):
        title = f"Not known: whether this machine has {expected}"
        yield CHECK.unknown(title, f"gpudoctor looked at {cap.words}.", facts=facts)
        return
    if _is_met(names, m, p) or (by_cuda and _is_met(by_cuda, m, p)):
        return
    hiding = _hiding(s, m, p, by_nvml, by_cuda, mask)
    if hiding:
        short = hiding if len(hiding) <= _SHORT else hiding.partition("=")[0]
        title = f"{short} hides GPUs, so {expected} is not confirmed"
        detail = f"{hiding}. {numbers.words(s)} Run it without this variable, or expect what it leaves."
        yield CHECK.unknown(title, detail, facts={**facts, "found": names, "mask": hiding})
        return
    have = ", ".join(f"{names.count(name)} x {name or 'GPU'}" for name in sorted(set(names))) or "none"
    in_mig = " A GPU in MIG mode counts by its instances." if mig else ""
    yield CHECK.fail(
        f"Expected {expected}, found {have}",
        f"{numbers.words(s)}{in_mig}",
        facts={**facts, "found": names},
        fixes=_without_mig(s, m, p) or (other_host(s, f"with {expected}"),),
    )


def _without_mig(s: Snapshot, m: Matrix, p: Policy) -> tuple[Fix, ...]:
    """Where the GPUs are there, and only MIG keeps them from being what is expected."""
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
    """Whether the matrix, or the driver here, knows a GPU of this name: else the expectation is misspelt or newer."""
    return m.lists_model(model) or any(m.is_model(name, model) for name in reported_names(s))


def _is_met(names: list[str], m: Matrix, p: Policy) -> bool:
    of_model = [name for name in names if not p.expect.model or m.is_model(name, p.expect.model)]
    return len(of_model) == p.expect.count if p.expect.count else bool(of_model)


def _hiding(s: Snapshot, m: Matrix, p: Policy, by_nvml: list[str] | None, by_cuda: list[str] | None, mask: str) -> str:
    """The mask without which the expected GPUs might be there; empty where none explains the difference."""
    if mask and by_cuda is not None:
        if by_nvml is None:
            return mask if len(by_cuda) < max(p.expect.count, 1) else ""  # what it hides, nobody lists
        return mask if len(by_cuda) < len(by_nvml) and _is_met(by_nvml, m, p) else ""
    given, one = numbers.container_mask(s), replace(p, expect=replace(p.expect, count=0))
    if not given or not by_nvml or not all(_is_met([name], m, one) for name in by_nvml):
        return ""
    return given if p.expect.count and numbers.machine(s) == p.expect.count else ""
