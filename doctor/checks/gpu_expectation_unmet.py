"""The GPUs of this machine are not those that --expect asks for.

What is wrong: `--expect 8xH100` says what this machine should have; NVML lists another number or another model.

How it shows: a job that is made for eight GPUs starts with seven, or with another model and less memory.

Why it happens: a GPU was lost, is held by another driver or left out by the scheduler or CDI; the provider gave another
plan.

How to fix it: look at the other findings first. Otherwise take the machine that was ordered, or change --expect.

Source: the option --expect of gpudoctor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy, Skip
from ..fixes.driver import other_host
from ..snapshot import Missing, Snapshot, known
from ._seen import ALL_CAUSES

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="Not the expected GPUs",
    severity="critical",
    layer="hardware",
    tags=("gpu",),
    downstream_of=ALL_CAUSES,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails where the number of GPUs of the model is not the expected one."""
    if not p.expect.count and not p.expect.model:
        raise Skip("no number or model is expected")
    names, witness = _names(s)
    if names is None or (p.expect.model and "" in names):
        yield CHECK.unknown(f"Not known: whether this machine has {p.expect}", "The list of GPUs could not be read.",
                            facts={"expected": str(p.expect)})  # fmt: skip
        return
    fitting = [name for name in names if is_model(name, p.expect.model)]
    if (len(fitting) == p.expect.count) if p.expect.count else fitting:
        return
    hidden = known(s.host.env("CUDA_VISIBLE_DEVICES")) is not None
    if witness == "CUDA" and len(fitting) < max(p.expect.count, 1) and hidden:
        yield CHECK.unknown(f"Not known: whether this machine has {p.expect}",
                            "NVML does not list its GPUs, and CUDA_VISIBLE_DEVICES may hide some from CUDA.",
                            facts={"expected": str(p.expect), "found": names})  # fmt: skip
        return
    have = ", ".join(f"{names.count(name)} x {name or 'GPU'}" for name in sorted(set(names))) or "none"
    yield CHECK.fail(
        f"Expected {p.expect}, found {have}",
        f"{witness}'s list of GPUs is not what --expect asks for.",
        facts={"expected": str(p.expect), "found": names},
        fixes=(other_host(s, f"with {p.expect}"),),
    )


def _names(s: Snapshot) -> tuple[list[str] | None, str]:
    """Names of the GPUs and who lists them: NVML, else CUDA; None where neither does."""
    if not isinstance(s.gpus, Missing):
        return [known(g.name) or "" for g in s.gpus], "NVML"
    devices = known(s.driver.cuda_devices)
    return ([known(d.name) or "" for d in devices] if devices else None), "CUDA"


def is_model(name: str, model: str) -> bool:
    """Whether a GPU's name holds a model's words: H100 and RTX4090 do, A10 is no part of A100."""
    wanted = re.sub(r"[^a-z0-9]", "", model.lower())
    words = re.findall(r"[a-z0-9]+", name.lower())
    starts = range(len(words))
    return not wanted or any("".join(words[i:j]) == wanted for i in starts for j in range(i + 1, len(words) + 1))
