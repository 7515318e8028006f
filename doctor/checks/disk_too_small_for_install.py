"""There is too little free disk space for the recommended torch install.

What is wrong: a CUDA build of torch with its libraries is a download of about 3 GB and takes up 6 to 8 GB unpacked. pip
also needs space for the download in its cache, and space in its temporary folder.

Symptoms: `OSError: [Errno 28] No space left on device` in the middle of the install, which can leave torch broken.

Why it happens: small container disks (10 to 20 GB), a small in-memory /tmp, an exhausted quota on the home folder.

How to fix it: use `--no-cache-dir`, set TMPDIR to a folder on a bigger disk, put the environment on a bigger volume, or
give the container a bigger disk.

This is checked only if an install is recommended.

Source: sizes of the torch and nvidia-* wheels on PyPI.
"""

from __future__ import annotations

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..fixes.where import RECHECK
from ..snapshot import Disk, Missing, Snapshot, known, need
from ._torch import build_kind, gpu_needed, no_card

CHECK = Check(
    __name__,
    title="Too little disk space for the install",
    sound="There is enough free disk space for the install",
    severity="warning",
    layer="python",
    tags=("torch", "disk"),
    needs_gpu=False,
)


DOWNLOAD_MIB = 3 * 1024
UNPACKED_MIB = 8 * 1024
_NEEDED = {"environment": UNPACKED_MIB, "pip-cache": DOWNLOAD_MIB, "tmp": DOWNLOAD_MIB}
_WORDS = {"environment": "the environment", "pip-cache": "pip's cache", "tmp": "the temporary folder"}


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about each place that an install would fill up."""
    if not _install_is_due(s, p):
        raise Skip("no install is recommended")
    small = [d for d in need("host.disks", s.host.disks) if d.free_mib < _NEEDED.get(d.role, 0)]
    if not small:
        return
    words = ", ".join(f"{_WORDS[d.role]} ({d.path}) has {d.free_mib / 1024:.1f} GB free" for d in small)
    yield CHECK.warn(
        "Too little free disk space to install torch with CUDA",
        f"{words[0].upper()}{words[1:]}. The download is about {DOWNLOAD_MIB // 1024} GB, and torch takes up about "
        f"{UNPACKED_MIB // 1024} GB unpacked.",
        facts={d.role: {"path": d.path, "free_mib": d.free_mib, "needed_mib": _NEEDED[d.role]} for d in small},
        fixes=(_fix(s, small),),
    )


def _install_is_due(s: Snapshot, p: Policy) -> bool:
    """torch is absent or has no CUDA, and this machine should have it."""
    if isinstance(s.torch.version, Missing):
        return s.torch.version.reason == "absent" and gpu_needed(s, p) and not no_card(s)
    return build_kind(s) != "cuda" and gpu_needed(s, p) and not no_card(s)


def _fix(s: Snapshot, small: list[Disk]) -> Fix:
    roles = {d.role for d in small}
    steps = []
    if "environment" in roles:
        text = "Free up space for the environment, or put it on a bigger disk. This command shows what takes up space:"
        steps.append(Step(text=text, command="du -xh --max-depth=2 / 2>/dev/null | sort -h | tail -20", where="shell"))
    if "tmp" in roles:
        command = "mkdir -p ~/tmp && export TMPDIR=~/tmp"
        steps.append(Step(text="Make pip unpack on a bigger disk.", command=command, where="shell"))
    if "pip-cache" in roles:
        steps.append(Step(text="Install without pip's cache.", command="export PIP_NO_CACHE_DIR=1", where="shell"))
    disks = tuple(d for d in known(s.host.disks) or () if d not in small)
    last = steps[-1]
    done = Step(
        text=last.text,
        command=last.command,
        where=last.where,
        changes={"host.disks": RECHECK if "environment" in roles else disks},
    )
    return Fix(id="make-room", title="Free up disk space before installing", steps=(*steps[:-1], done))
