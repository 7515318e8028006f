"""Reinstall only the distributions whose library files are damaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat_matrix.versions import torch_version

from ..findings import Fix, Matrix, Step
from ..snapshot import ChangedFile, Missing, Snapshot, known
from ..snapshot.typed import quoted
from .install import Install, conda_line, note, ways
from .interpreter import tool_of
from .libraries import install_again_of, reinstall_torch
from .packages import installed, installed_by_conda
from .where import RECHECK, recheck_run


def reinstall_damaged(s: Snapshot, m: Matrix, broken: Sequence[ChangedFile]) -> Fix:
    """First free up space if the disk is full; then reinstall the damaged distributions, and nothing else."""
    names = tuple(dict.fromkeys(one.package for one in broken))
    steps = [*_room(s, broken), *_pointers(s, broken)]
    torch = torch_version(known(s.torch.version) or "")
    conda = installed_by_conda(s, names)
    if "torch" in names and not conda and (torch is None or torch.kind != "release"):
        vendor = reinstall_torch(s, m)
        return Fix(id=vendor.id, title=vendor.title, steps=(*steps, *vendor.steps), note=vendor.note)
    title = f"Reinstall {', '.join(names)}"
    text = "Reinstall only the damaged packages; everything else stays as it is."
    if not conda and not all(one.recorded for one in broken):
        text += " They have no RECORD, so pip overwrites them. If they came from apt, dnf or a source build, "
        text += "use that instead."
    if any(one.state == "missing" and one.detail for one in broken):
        text += " Their files were links into a cache that has been cleaned."
    if conda:
        conda_names = ["pytorch" if name == "torch" else name for name in names]
        again = Step(
            text=text,
            command=conda_line(s, ("--force-reinstall", *conda_names)),
            where="environment",
            changes=_after(s, broken),
        )
        return Fix(id="reinstall-damaged", title=title, steps=(*steps, again))
    requests = _requests(s, m, broken)
    again = Step(text=text, where="environment", **ways(s, *requests), changes=_after(s, broken))
    return Fix(id="reinstall-damaged", title=title, steps=(*steps, again), note=note(s, requests[0]))


def _requests(s: Snapshot, m: Matrix, broken: Sequence[ChangedFile]) -> list[Install]:
    """torch from the index of its build, everything else from the default one."""
    cache = tool_of(s) != "uv"  # uv links the files of its cache: a damaged one is damaged there too
    over = not all(one.recorded for one in broken)
    versions = {one.package: one.version for one in broken}
    for distribution in installed(s, tuple(versions)):
        versions[distribution.name] = versions[distribution.name] or distribution.version
    requests = []
    if "torch" in versions:
        del versions["torch"]
        package, index = install_again_of(s, m)
        requests.append(Install(packages=(package,), index=index, again=("torch",), over=over, deps=False, cache=cache))
    if versions:
        rest = tuple(f"{name}=={version}" if version else name for name, version in versions.items())
        requests.append(Install(packages=rest, again=tuple(versions), over=over, deps=False, cache=cache))
    return requests


def _after(s: Snapshot, broken: Sequence[ChangedFile]) -> dict[str, Any]:
    left = tuple(one for one in known(s.python.changed_libraries) or () if one not in broken)
    names = {one.package for one in broken}
    files = s.python.changed_files
    files = files if isinstance(files, Missing) else tuple(one for one in files if one.package not in names)
    changes: dict[str, Any] = {
        **recheck_run(s),
        "python.changed_files": files,
        "python.changed_libraries": left,
        "torch.missing_libraries": RECHECK,
    }
    if "torch" in names:
        changes.update({f"torch.{name}": RECHECK for name in ("sass", "ptx", "libraries", "arch_text")})
    return changes


def _room(s: Snapshot, broken: Sequence[ChangedFile]) -> list[Step]:
    """Files installed onto a full disk would be truncated again."""
    disk = next((d for d in known(s.host.disks) or () if d.role == "environment"), None)
    needed_mib = sum((one.whole or 0) for one in broken) / (1 << 20) + 512
    if disk is None or disk.free_mib >= needed_mib:
        return []
    prefix = known(s.python.patient.prefix) or disk.path
    free = f"only {disk.free_mib / 1024:.1f} GiB is free, so the files were truncated, or would be again"
    return [
        Step(
            text=f"First free up space on the disk that holds {prefix}: {free}. This shows the largest folders:",
            command=f"du -xh --max-depth=2 {quoted(prefix)} | sort -h | tail -20",
            where="shell",
            purpose="look",
        )
    ]


def _pointers(s: Snapshot, broken: Sequence[ChangedFile]) -> list[Step]:
    """A checkout without git-lfs: the next clone has pointers again."""
    if not any(one.state == "pointer" for one in broken):
        return []
    return [
        Step(
            text="If this environment is part of a git repository, fetch its large files there; then you do not need "
            "to install anything.",
            command="git lfs install && git lfs pull",
            where="shell",
        )
    ]
