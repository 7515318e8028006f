"""Install the torch build that fits this machine: one place for the commands and for every fact that they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from compat_matrix.served import served_by
from compat_matrix.versions import numbers, tag_cuda, torch_version

from ..findings import Fix, Step
from ..snapshot import Missing, Snapshot, known
from .conda import NO_LINE, install_from_conda
from .conda import choose as choose_from_conda
from .extensions import cuda_majors, refit
from .install import note, step
from .machine import capabilities, cards, driver_platform, driver_version, torch_cuda, without_code
from .packages import (
    installed,
    installed_by_conda,
    needs_new_environment,
    new_environment,
    uninstall_command,
)
from .torch_request import after_install, request_for
from .where import recheck_run
from .which_torch import COMPANIONS, which_torch

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.builds import RankedBuild
    from compat_matrix.candidate import Candidate

_A_LIST = 4
"""From this many packages on, a partial list counts as complete for what matters to torch."""


def install_torch(
    s: Snapshot,
    m: Matrix,
    *,
    id: str = "install-torch",
    title: str = "",
    gpus: Sequence[str] | None = None,
    python: str = "",
    any_driver: bool = False,
    newest: bool = False,
    also: Sequence[str] = (),
    within: Callable[[Candidate], bool] | None = None,
) -> Fix | None:
    """Replace torch (and the companions that are installed) by the build of `which_torch`; None where none fits.

    Where that is the build that is installed, its files are written again: they are not what was published.

    `python`: make a new environment of this Python version first. `any_driver`: whatever the driver is. `newest`:
    what `resolve` recommends, whatever release is installed. `also`: companions that are not installed yet. `within`:
    which builds somebody allows.
    """
    steps: list[Step] = []
    keep = "" if newest else known(s.torch.version)
    if python or needs_new_environment(s):
        made, s = new_environment(s, python)
        steps.append(made)
    choice = which_torch(s, m, gpus=gpus, any_driver=any_driver, keep=keep, within=within)
    if choice is None:
        return None
    build = choice.build
    if is_installed(s, m, build):
        return _whole_again(s, m, build)
    names = ["torch", *(name for name in COMPANIONS if installed(s, (name,)) and not _stays(s, m, build, name))]
    old = [d.name for d in installed(s, names)]
    names += [name for name in also if name not in names]
    if _is_partial(s):  # only a few packages are known: torch's companions may be installed too
        some = len(known(s.python.distributions) or ()) < _A_LIST
        names += [name for name in COMPANIONS if some and name in build.companions and name not in names]
        old = [*names, *(name for name in old if name not in names)]
    by_conda = bool(old) and installed_by_conda(s, old)
    if by_conda:
        found = choose_from_conda(s, m, choice, gpus, any_driver, keep or "")
        if found:
            return install_from_conda(s, m, found, names, recheck_run(s), id, title)
        text = "Remove conda's packages first: pip does not track all of their files."
        steps.append(Step(text=text, command=uninstall_command(s, list(dict.fromkeys(old))), where="environment"))
        old = []
    request = request_for(s, m, build, names, old)
    changes = after_install(s, m, build, request)
    word = f"torch {build.torch} for CUDA {tag_cuda(build.tag)}"
    parts = torch_version(known(s.torch.version) or "")
    own = parts is not None and parts.kind != "release" and bool(old)  # a nightly or vendor's build is not had again
    steps.append(step(s, request, f"Install {word}.", changes=changes, destructive=own))
    again = refit(s, s.replace(changes), m, f"{build.torch}+{build.tag}")
    if again:
        steps.append(again)
    why = f"{choice.which.sentence}\n{note(s, request, _why(s, m, build))}{_unserved(s, m, build)}"
    return Fix(
        id=id,
        title=title or f"Install {word}",
        steps=tuple(steps),
        note=f"{NO_LINE}\n{why}" if by_conda else why,
        source="; ".join(m.source(row.source) for row in build.rows[:1]),
    )


def is_installed(s: Snapshot, m: Matrix, build: RankedBuild) -> bool:
    """Whether this very build (version and CUDA) is the installed one; conda's builds are others."""
    parts = torch_version(known(s.torch.version) or "")
    if parts is None or parts.kind != "release" or parts.base != build.torch:
        return False
    if (known(s.torch.installer) or "pip").startswith(("conda", "mamba")):
        return False
    return parts.tag == build.tag if parts.local else torch_cuda(s, m) == tag_cuda(build.tag)


def _whole_again(s: Snapshot, m: Matrix, build: RankedBuild) -> Fix:
    """The installed build is the one that fits, so its files are not those that were published."""
    from msgspec.structs import replace

    from .libraries import reinstall_torch

    fix = reinstall_torch(s, m, "to restore its published files")
    last = fix.steps[-1]
    changes = {**after_install(s, m, build, request_for(s, m, build, ["torch"], [])), **last.changes}
    return replace(fix, steps=(*fix.steps[:-1], replace(last, changes=changes)))


def _is_partial(s: Snapshot) -> bool:
    """Whether an installed torch is known together with only some of the packages."""
    if isinstance(s.torch.version, Missing) and s.torch.version.reason == "absent":
        return False
    facts = (s.torch.version, s.torch.build, s.torch.cuda, s.torch_run.cuda_available, s.torch_run.first_call_code)
    return s.python.distributions_partial and any(known(fact) is not None for fact in facts)


def _stays(s: Snapshot, m: Matrix, build: RankedBuild, name: str) -> bool:
    """Whether an installed companion without a pin on torch fits the new build as it is (torchaudio since 2.11)."""
    if name in build.companions or set(cuda_majors(s, name)) - set(numbers(tag_cuda(build.tag))[:1]):
        return False
    grade = m.companion_matches(f"{build.torch}+{build.tag}", name, installed(s, (name,))[0].version)
    return grade.grade == "match" and not grade.other_build


def _unserved(s: Snapshot, m: Matrix, build: RankedBuild) -> str:
    """A paragraph: the cards here that this build has no code for, and the build that has code for all, if any."""
    row = m.torch_build(build.torch, build.tag, build.platform)
    lost = without_code(s, m, lambda cc: isinstance(served_by(m, row, [cc]), dict)) if row else []
    if not lost:
        return ""
    every = sorted({cc for _, cc in cards(s, m).values() if cc} | {*capabilities(s, m)}, key=numbers)
    whole = which_torch(s, m, gpus=every, keep="")
    words = "No published build that runs here has code for all GPUs: each kind needs a separate environment"
    if whole:
        words = f"torch {whole.build.torch} for CUDA {tag_cuda(whole.build.tag)} has code for all GPUs in this machine"
    return f"\nThis build has no code for {' and '.join(lost)}. {words}."


def _why(s: Snapshot, m: Matrix, build: RankedBuild) -> str:
    """Why this build; where the driver is not known, the one that it takes. No GPU that was only assumed is named."""
    cuda, why = tag_cuda(build.tag), build.why if capabilities(s, m) else build.why_for_any
    if driver_version(s, m) is not None or not cuda:
        return why
    platform = driver_platform(s)
    grades = (m.driver_for_gpu("1", capability, None, platform) for capability in capabilities(s, m))
    floors = [m.driver_for_cuda("1", cuda, platform).floor_minor, *(str(g.first_driver or "") for g in grades)]
    floor = max(filter(None, floors), key=numbers, default="")
    return f"{why}. It needs NVIDIA driver {floor} or newer (nvidia-smi shows the version)" if floor else why
