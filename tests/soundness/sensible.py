"""What no fix may be, by the tool's own rules: an install of what is there, a driver or libcuda that cannot serve."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from compat_matrix.branches import branch_ended
from compat_matrix.versions import numbers, torch_version
from doctor.checks._code import judged
from doctor.findings import Finding, Fix, Policy, Skip
from doctor.fixes.machine import driver_platform, seen_gpus, torch_cuda, wheel_platform
from doctor.snapshot import NeedsFact, Snapshot, known

from ..judging import matrix

_AGAIN = (
    "--force-reinstall",
    "--ignore-installed",
    "--reinstall",
    "--reinstall-package",
    "--upgrade",
    "--upgrade-package",
    "-U",
    "--no-binary",
    "--force",
)
_INSTALL = re.compile(r"(?:pip|pip3) install\b(.*)|\buv add\b(.*)")
_BRANCH = re.compile(r"\b(?:branch |driver |nvidia-driver-|cuda-drivers-|nvidia-open-|nvidia-driver:)(\d{3})\b")
_PINNED = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==([^;,*]+)$")

_NEWER = ("install-driver", "use-forward-compatibility", "update-windows-driver")
_OF_TORCH = ("driver-too-old-for-cuda-build", "ptx-newer-than-driver", "cuda-compat-on-unsupported-gpu")
"""Findings that ask for a driver for this torch's sake alone."""


def wrong_with(s: Snapshot, finding: Finding, policy: Policy) -> list[str]:
    """Every reason why a fix of this finding, the first or an alternative, should not have been offered."""
    told = []
    for fix in finding.fixes:
        told += [
            f"{finding.id}: {fix.id} ({fix.title}): {why}"
            for why in (*_same(s, fix), *_driver(s, finding, fix, policy))
        ]
    return told


def _same(s: Snapshot, fix: Fix) -> Iterator[str]:
    """Installs whose every package is there in that very version, without a word that writes it anew."""
    removed: set[str] = set()
    for step in fix.steps:
        lines = (step.command, *(a.command for a in getattr(step, "alternatives", ())))
        if step.where == "environment":
            yield from (f"installs what is there: {line}" for line in lines if _is_there(s, line, removed))
        removed |= {
            name for line in lines for gone in re.findall(r"uninstall (?:-y )?([^&]*)", line) for name in gone.split()
        }
        if "torch.version" in step.changes and step.changes["torch.version"] == s.torch.version:
            again = any(word in shlex.split(line) for line in lines if line for word in _AGAIN)
            if isinstance(s.torch.version, str) and not again and "torch" not in removed:
                yield f"installs the torch that is there: {step.command}"
        s = s.replace(step.changes)


def _is_there(s: Snapshot, line: str, removed: set[str]) -> bool:
    found = _INSTALL.search(line)
    if not found:
        return False
    words = shlex.split(found[1] or found[2] or "", comments=True)
    pinned = [match for word in words if (match := _PINNED.match(word))]
    if not pinned or any(word in _AGAIN or "[" in word for word in words) or any(p[1] in removed for p in pinned):
        return False  # an extra brings more packages
    index = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("--index-url", "--default-index")), "")
    return all(_held(s, match[1], match[2], index) for match in pinned)


def _held(s: Snapshot, name: str, version: str, index: str) -> bool:
    """Whether this version, with the local tag that the index gives it, is installed."""
    tag = index.rstrip("/").rpartition("/")[2] if "download.pytorch.org" in index else ""
    if name == "torch":
        have, want = torch_version(known(s.torch.version) or ""), torch_version(version)
        if not have or not want or have.base != want.base or have.kind != "release":
            return False
        given = want.local or tag or matrix().pypi_tag(want.base, wheel_platform(s)) or ""
        mine = have.local or "cu" + torch_cuda(s, matrix()).replace(".", "")
        return given == mine and not (known(s.torch.installer) or "pip").startswith("conda")
    return any(
        d.name == name and (d.version == version or (tag and d.version == f"{version}+{tag}"))
        for d in known(s.python.distributions) or ()
    )


def _driver(s: Snapshot, finding: Finding, fix: Fix, policy: Policy) -> Iterator[str]:
    """Driver branches that are offered: listed, alive, and drivers of each GPU here; torch must have code for it."""
    m = matrix()
    boards = [g for g in seen_gpus(s, m) or () if g.capability and not g.hidden]
    windows = driver_platform(s) == "windows"
    commands = " ".join(step.command for step in fix.steps)
    words = " ".join((fix.title, *(step.text for step in fix.steps), commands))
    offered = set() if windows else {int(n) for n in _BRANCH.findall(words)}
    installs = {
        int(n) for step in fix.steps if step.where == "host" for n in _BRANCH.findall(f"{step.text} {step.command}")
    }
    for branch in sorted(offered - {int(n) for n in numbers(known(s.driver.version))[:1]}):
        row = m.driver_branch(str(branch)).row
        if row is None:
            yield f"driver {branch} is in no row"
            continue
        if branch in installs and fix.id != "install-older-driver" and branch_ended(m, row, policy.judged_on):
            yield f"branch {branch} has ended"
        for gpu in boards:
            if (grade := m.driver_for_gpu(str(branch), gpu.capability, None)).grade in ("too-old", "too-new"):
                yield f"driver {branch} does not serve {gpu.name} ({gpu.capability}): {grade.reason}"
    if found := re.search(r"supports CUDA (\d+\.\d)", words):
        for gpu in boards:
            row = m.compute_capability(gpu.capability)
            last = m.driver_branch(str(row.last_driver)).row if row and row.last_driver else None
            if last and numbers(last.cuda) < numbers(found[1]):
                yield f"no driver of {gpu.name} reports CUDA {found[1]}"
    if fix.id == "use-forward-compatibility":
        package = re.search(r"from CUDA (\d+\.\d)", fix.title)
        for gpu, full in zip(boards, known(s.gpus) or (), strict=False):
            grade = m.forward_compat(
                package[1] if package else "",
                known(s.driver.version) or "",
                gpu_name=gpu.name,
                brand_id=known(full.brand_id),
            )
            row = m.compute_capability(gpu.capability)
            origin = next((r for r in m.compat_packages if package and r.cuda == package[1]), None)
            if grade.grade != "possible":
                yield f"compat on {gpu.name}: {grade.reason}"
            elif row and row.last_driver and origin and origin.from_branch > row.last_driver:
                yield f"the libcuda of branch {origin.from_branch} does not serve {gpu.name} ({gpu.capability})"
    if fix.id in _NEWER and finding.id in _OF_TORCH and "torch" not in commands:
        yield from _without_code(s)


def _without_code(s: Snapshot) -> Iterator[str]:
    """A newer driver alone for a torch that has no code for any GPU here."""
    try:
        found = judged(s, matrix())
    except (NeedsFact, Skip):
        return
    if found and all(j.grade.kind == "none" and not j.grade.ptx_needs_cuda and not j.ran for j in found):
        yield f"torch {known(s.torch.version)} has no code for {found[0].gpu.name} with any driver"
