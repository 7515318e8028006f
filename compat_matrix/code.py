"""Can this GPU run that machine code? NVIDIA's binary compatibility, its exceptions, and PTX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from .versions import Arch, arch, minor

if TYPE_CHECKING:
    from .rows_code import BinaryRule, Capability
    from .store import Store


class CodeGrade(msgspec.Struct, frozen=True, kw_only=True):
    """kind: sass, ptx-jit, none, unknown; by: the compiled target that runs ('8.6', '9.0a'), '' for none.

    ptx_needs_cuda: the driver must report at least this CUDA for the PTX to be compiled ('' if unknown).
    """

    kind: str
    by: str
    reason: str
    ptx_needs_cuda: str = ""


def parse_archs(items: Iterable[str]) -> list[Arch]:
    """Readable targets among '8.6', 'sm_90a', 'compute_120' ..., unreadable ones left out."""
    return [found for item in items if (found := arch(item))]


def compute_capability(m: Store, capability: str) -> Capability | None:
    """The row of '8.6', '9.0a' ...; None when not listed."""
    index: dict[str, Capability] = m.memo("by cc", lambda: {row.cc: row for row in m.capabilities})
    return index.get(capability)


def sass_runs(m: Store, code: Arch, device: tuple[int, int], build_cuda: str | None = None) -> str:
    """'yes', 'no' or 'unknown': does SASS of `code` run on the device?"""
    if code.variant == "a":
        return "yes" if code.capability == device else "no"
    name, own_only = f"{device[0]}.{device[1]}", False
    for rule in _rules_by_device(m).get(name, ()):
        if rule.rule == "own-code-only":
            own_only = True
        elif f"{code.major}.{code.minor}" in rule.code:
            if rule.rule == "from-build-cuda":
                built = minor(build_cuda)
                return "unknown" if not built else "yes" if built >= (minor(rule.min_build_cuda) or built) else "no"
            return {"also-runs": "yes", "never": "no"}.get(rule.rule, "unknown")
    if code.capability == device:
        return "yes"
    if code.variant == "f":
        return "yes" if _assembles(m, code, name) else "no"
    if own_only:
        return "no"
    return "yes" if code.major == device[0] and code.minor <= device[1] else "no"


def _rules_by_device(m: Store) -> dict[str, list[BinaryRule]]:
    def index() -> dict[str, list[BinaryRule]]:
        found: dict[str, list[BinaryRule]] = {}
        for rule in m.binary_rules:
            found.setdefault(rule.device, []).append(rule)
        return found

    return m.memo("rules by device", index)


def _assembles(m: Store, code: Arch, device: str) -> bool:
    row = next((row for row in m.ptx_targets if row.target == str(code)), None)
    return row is not None and device in row.runs_on


def ptx_reaches(m: Store, code: Arch, device: tuple[int, int]) -> bool:
    """Whether PTX of this target can be compiled for the device: generic upward, f in its family, a on its chip."""
    if code.variant == "a":
        return code.capability == device
    if code.variant == "f":
        return _assembles(m, code, f"{device[0]}.{device[1]}")
    return code.capability <= device


def code_for_gpu(
    m: Store,
    capability: str,
    sass: Sequence[str],
    ptx: Sequence[str] = (),
    driver_cuda: str | None = None,
    build_cuda: str | None = None,
) -> CodeGrade:
    """Grade compiled targets against a GPU.

    sass, ptx: targets found in the libraries; driver_cuda: CUDA version that the driver reports; build_cuda: CUDA
    version of the build, which sets the PTX version. Empty lists prove nothing (unknown).
    """
    wanted = arch(capability)
    if wanted is None:
        return CodeGrade(kind="unknown", by="", reason=f"unreadable compute capability {capability!r}")
    device = wanted.capability
    native, virtual = parse_archs(sass), parse_archs(ptx)
    if not native and not virtual:
        return CodeGrade(kind="unknown", by="", reason="its compiled architectures are unknown")
    verdicts = [(code, sass_runs(m, code, device, build_cuda)) for code in native]
    runs = [code for code, verdict in verdicts if verdict == "yes"]
    listed = compute_capability(m, capability) is not None
    if runs and (listed or any(code.capability == device for code in runs)):
        best = max(runs, key=lambda code: (code.capability, code.variant == ""))
        why = "its own code" if best.capability == device else f"binary compatible with {best}"
        return CodeGrade(kind="sass", by=str(best), reason=f"{capability} runs {best} code ({why})")
    reach = [code for code in virtual if ptx_reaches(m, code, device)]
    if reach:
        best = max(reach, key=lambda code: code.capability)
        row = compute_capability(m, str(best))
        needs = max(filter(None, (minor(build_cuda), minor(row.first_toolkit) if row else None)), default=None)
        have, text = minor(driver_cuda), f"{needs[0]}.{needs[1]}" if needs else ""
        if needs and have and have < needs:
            return CodeGrade(
                kind="none",
                by="",
                ptx_needs_cuda=text,
                reason=f"only PTX from CUDA {text}, which a driver that reports CUDA {driver_cuda} cannot compile",
            )
        return CodeGrade(
            kind="ptx-jit",
            by=str(best),
            ptx_needs_cuda=text,
            reason=f"no SASS for {capability}; the driver compiles PTX {best} at first use",
        )
    unsure = [str(code) for code, verdict in verdicts if verdict == "unknown"]
    if unsure or not listed:
        why = (
            f"whether code for {', '.join(unsure)} runs on {capability} is not verified"
            if unsure
            else (f"compute capability {capability} is not listed in this matrix")
        )
        return CodeGrade(kind="unknown", by="", reason=why)
    held = f"for {', '.join(str(code) for code in sorted(native))}" if native else "PTX"
    return CodeGrade(kind="none", by="", reason=f"no code for {capability}, only {held}")
