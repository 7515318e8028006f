"""`gpudoctor what-if --torch`: a Snapshot with its torch replaced or removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from compat_matrix.builds import _build
from compat_matrix.served import chooser
from compat_matrix.torchs import usable
from compat_matrix.versions import numbers, tag_cuda, torch_version

from ..fixes.machine import wheel_platform
from ..fixes.packages import installed, with_distributions
from ..fixes.torch_request import AS_PUBLISHED, after_install, replaced_wheels, request_for
from ..fixes.where import recheck_run
from ..fixes.which_torch import COMPANIONS
from ..snapshot import ABSENT, NOT_ASKED, Snapshot, known
from .machine import Unclear

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.rows_torch import TorchBuild


def build_named(m: Matrix, text: str, platform: str) -> TorchBuild:
    """The build of '2.8', '2.8.0' (what a plain install gives) or '2.8.0+cu126'. Raises Unclear."""
    found = re.fullmatch(r"\s*(?:torch==)?(\d+\.\d+(?:\.\d+)?)(?:\+(cu\d{2,3}))?\s*", text)
    if not found:
        raise Unclear(f"--torch {text!r} is not a CUDA build's version; give one such as 2.8 or 2.8.0+cu126, or none")
    version, tag = found[1], found[2]
    wanted = chooser(version)
    rows = [b for b in m.builds if b.platform == platform and wanted(b.torch) and usable(b)]
    if not rows:
        raise Unclear(f"no CUDA build of torch {version} for {platform} is listed in this matrix", unknown=True)
    newest = max((b.torch for b in rows), key=numbers)
    rows = [b for b in rows if b.torch == newest]
    tags = ", ".join(sorted((b.tag for b in rows), key=lambda name: numbers(tag_cuda(name))))
    if tag:
        rows = [b for b in rows if b.tag == tag]
        if not rows:
            raise Unclear(f"no {tag} build of torch {newest} for {platform} is listed: {tags}", unknown=True)
        return rows[0]
    default = next((b for b in rows if b.pypi_default), rows[0] if len(rows) == 1 else None)
    if default is None:
        raise Unclear(
            f"a plain install of torch {newest} does not give a CUDA build on {platform}: choose one of {tags}"
        )
    return default


def no_wheel(s: Snapshot, m: Matrix, python: str) -> str:
    """Why the installed torch release does not support this Python; '' if it does, or if that is unknown."""
    parts = torch_version(known(s.torch.version) or "")
    if parts is None or parts.kind != "release":
        return ""
    grade = m.python_for_torch(parts.base, python, wheel_platform(s))
    return grade.reason if grade.grade not in ("ok", "unknown") else ""


def with_torch(s: Snapshot, m: Matrix, build: TorchBuild) -> dict[str, Any]:
    """The facts that change if this build is installed, with matching versions of the companions present."""
    ranked = _build(m, build, "", "", {}, python=None, packages=COMPANIONS)
    names = ["torch", *(name for name in COMPANIONS if installed(s, (name,)))]
    changes = after_install(s, m, ranked, request_for(s, m, ranked, names, []))
    return {**changes, "witnesses": {**s.witnesses, "torch.sass": (AS_PUBLISHED,)}}


def without_torch(s: Snapshot) -> dict[str, Any]:
    """The facts that change if torch and the wheels it brought are removed."""
    tag = (known(s.torch.cuda) or "").replace(".", "")
    gone = ["torch", *COMPANIONS, *replaced_wheels(s, f"cu{tag}" if tag else "cu128")]
    return {
        **{f"torch.{name}": NOT_ASKED for name in s.torch.__struct_fields__},
        **recheck_run(s),
        "torch.version": ABSENT,
        "python.patient.torch_version": ABSENT,
        "python.distributions": with_distributions(s, [], gone),
    }
