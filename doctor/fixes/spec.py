"""The steps that bring a machine within a spec: one for each line that it does not meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from compat_matrix.versions import numbers, tag_cuda
from compat_matrix.which_torch import USUAL

from ..findings import Fix, Matrix, Step
from ..findings.spec import SpecLine, example, gpus_text, meets
from ..findings.spec_facts import have
from ..snapshot import Distribution, Missing, Snapshot, known
from ..snapshot.presence import no_card
from .companions import install_companion
from .cpu_torch import cpu_torch
from .driver import driving, install_command, module_flavour, offer
from .found import named_by, required_by
from .install import Install, step
from .machine import driver_platform, jetson, wheel_platform
from .packages import needs_new_environment, new_environment, site_packages, with_distributions
from .torch import install_torch
from .torch_request import cudnn_of, pinned_by_torch
from .where import RECHECK, another_machine, container_kind, driver_changes, guest, notebook, on_host, reboot_step
from .which_torch import COMPANIONS, gpus_to_serve
from .windows import update_windows_driver

if TYPE_CHECKING:
    from compat_matrix.builds import RankedBuild
    from compat_matrix.candidate import Candidate
    from compat_matrix.rows_torch import TorchBuild

_WITH_TORCH = (*COMPANIONS, "triton")
OF_TORCH = ("torch", "cuda", "cudnn", "nccl")
"""Keys that a torch build decides."""
_OF_GPU = (*OF_TORCH[1:], "driver", "gpu")
"""Keys of a spec for machines with GPUs: its torch is a CUDA build, also where this machine has no GPU."""


def meet_spec(
    s: Snapshot, m: Matrix, spec: Sequence[SpecLine], off: Sequence[SpecLine], gpu: Fix | None, found: str = ""
) -> tuple[Fix | None, str]:
    """(the steps for the lines that are not met (`off`), the machine's before the environment's; why torch has none).

    gpu: how the expected GPUs are had. None if no step is known. found: the file that was found and is not trusted; the
    title, and each step that installs a package that it alone names, say so.
    """
    keys = {line.key for line in off}
    steps, elsewhere = _machine(s, m, spec, off, gpu)
    python = _python(m, s, spec) if "python" in keys else ""
    fresh = bool(python) or (needs_new_environment(s) and not keys.isdisjoint((*OF_TORCH, "package")))
    other_driver = "driver" in keys
    made, no_torch = _environment(s, m, spec, python, fresh, not keys.isdisjoint(OF_TORCH), other_driver)
    steps = required_by(steps, found) if _only(found, spec, off, ("gpu", "os", "driver")) else steps
    made = required_by(made, found) if _only(found, spec, off, ("python", *OF_TORCH)) else made
    now = s
    for one in (*steps, *made):
        now = now.replace(one.changes)
    changed = COMPANIONS if made else ()  # they came with torch: what was met may no longer be
    wanted = [line for line in spec if fresh or line in off or line.package in changed]
    lines = [line for line in wanted if line.key == "package" and not _met(now, line)]
    if no_torch:  # each of these would bring a torch of its own
        lines = [line for line in lines if line.package not in _WITH_TORCH]
    added, misfits = _packages(now, m, lines, found)
    made += added
    no_torch = " ".join(filter(None, (no_torch, misfits)))
    steps += [_elsewhere(one, elsewhere) for one in made] if elsewhere else made
    if not steps:
        return None, no_torch
    title = "Bring this machine in line with the spec"
    title += f" in {found}, which is not trusted" if any(line.file == found for line in off if found) else ""
    return Fix(id="meet-spec", title=title, steps=tuple(steps), note=_own_spec(off)), no_torch


def _only(found: str, spec: Sequence[SpecLine], off: Sequence[SpecLine], keys: Sequence[str]) -> bool:
    """Whether the found file is the only one that has a line of a key, among these, that is not met."""
    own = {line.key for line in spec if line.file != found}
    return bool(found) and any(line.key in keys and line.file == found and line.key not in own for line in off)


def _elsewhere(one: Step, where: str) -> Step:
    """The same step, to be carried out there: what was examined here is left behind."""
    return replace(one, text=f"{where}, {one.text[:1].lower()}{one.text[1:]}", possible_here=False)


def _own_spec(off: Sequence[SpecLine]) -> str:
    files = list(dict.fromkeys(line.file for line in off if line.file))
    return f"If this machine is right, change the spec instead ({', '.join(files)})." if files else ""


def _machine(
    s: Snapshot, m: Matrix, spec: Sequence[SpecLine], off: Sequence[SpecLine], gpu: Fix | None
) -> tuple[list[Step], str]:
    """(the steps for the GPUs, the system and the driver, where the environment's steps go afterwards; '' for here).

    Another host for all of them if this user cannot change one here: a driver of this host is then of no use.
    """
    wanted = {key: [line.allowed.strip() for line in off if line.key == key] for key in ("gpu", "os")}
    drivers = [line for line in spec if line.key == "driver"] if any(line.key == "driver" for line in off) else []
    image = bool(wanted["os"] and container_kind(s) and not notebook(s))
    installs = _driver(s, m, drivers) if drivers else []
    moves = bool(gpu and gpu.id == "choose-another-host") or bool(wanted["os"] and not image)
    moves = moves or bool(drivers and not installs)
    steps: list[Step] = []
    if moves:
        host = [*map(gpus_text, wanted["gpu"]), *([] if image else wanted["os"])]
        by_driver = not host
        host += [f"NVIDIA driver {' and '.join(line.allowed for line in drivers)}"] if drivers else []
        changes = driver_changes() if wanted["gpu"] or drivers else {}
        changes |= _OF_SYSTEM if wanted["os"] and not image else {}
        steps.append(another_machine(s, f"with {' and '.join(host)}", changes, by_driver))
    elif gpu:
        steps += gpu.steps
    if image:
        text = f"Start from a base image with {' and '.join(wanted['os'])}."
        steps.append(Step(text=text, where="dockerfile", changes={**_OF_SYSTEM, "host.libc": RECHECK}))
    return [*steps, *([] if moves else installs)], "In that image" if image else "On that host" if moves else ""


_OF_SYSTEM = {"host.os_name": RECHECK, "host.os_id": RECHECK, "host.os_version": RECHECK}


def _driver(s: Snapshot, m: Matrix, lines: Sequence[SpecLine]) -> list[Step]:
    """Install a branch that all lines allow and that drives the GPUs here; none where there is no such branch, or this
    host's driver is not the user's to change. In WSL the driver is Windows', on a Jetson board JetPack's."""
    words = " and ".join(line.allowed for line in lines)
    if no_card(s) or guest(s):
        return []
    if driver_platform(s) == "windows":
        return list(update_windows_driver(s, which=f"an NVIDIA driver that the spec allows ({words})").steps)
    if jetson(s, m):
        text = f"Choose the JetPack release whose NVIDIA driver the spec allows ({words}): a Jetson board has no other."
        return [on_host(s, text, "", driver_changes())]
    allowed = [row.branch for row in m.drivers if all(meets(line, f"{row.branch}") is not False for line in lines)]
    branches = driving(s, m, allowed)
    if not branches:
        return []
    usual = offer(s, m, min(branches))
    branch = usual.branch if usual and usual.branch in branches else max(branches)
    text = f"Install NVIDIA driver branch {branch} (the spec requires {words})."
    return [on_host(s, text, install_command(s, branch, module_flavour(s, m))), reboot_step(s, "", driver_changes())]


def _environment(
    s: Snapshot, m: Matrix, spec: Sequence[SpecLine], python: str, fresh: bool, of_torch: bool, other_driver: bool
) -> tuple[list[Step], str]:
    """The steps for Python and for torch with what it brings, and what keeps torch from being had; '' if nothing.

    python: another version, or ''. fresh: a new environment is made, which has nothing yet. of_torch: torch is off.
    other_driver: the spec requires another one than is here.
    """
    if not of_torch and not fresh:
        return [], ""
    has_torch = of_torch or known(s.torch.version) is not None
    fix = _torch(s, m, spec, python, other_driver) if has_torch else None
    if fix is not None:
        return [_with_unknown(m, one, s, spec) for one in fix.steps], ""
    steps = [new_environment(s, python)[0]] if fresh else []
    words = ", ".join(f"{line.key} {line.allowed}" for line in spec if line.key in OF_TORCH)
    lacks = f"No published torch build with {words} is known to run on this machine." if has_torch and words else ""
    return steps, lacks


def _torch(s: Snapshot, m: Matrix, spec: Sequence[SpecLine], python: str, other_driver: bool) -> Fix | None:
    """A build within the spec: for the GPUs here; where none is known, its CPU build, or a CUDA build as wanted. One
    whose cuDNN and NCCL are known to be within it, if there is one."""
    also = [line.package for line in spec if line.package in COMPANIONS and not _met(s, line)]
    served = bool(gpus_to_serve(s, m))
    by_cuda = any(line.key in _OF_GPU for line in spec) or isinstance(s.container.image_cuda, str)
    if served or by_cuda or known(s.torch.build) == "cuda":
        given: dict[str, Any] = {} if served else {"gpus": USUAL}
        given |= {"python": python, "any_driver": other_driver or not served, "also": also}
        tries = (install_torch(s, m, within=_within(m, s, spec, certain), **given) for certain in _CERTAIN)
        return next(filter(None, tries), None)
    lines = [line for line in spec if line.key == "torch"]
    made = [new_environment(s, python)] if python else []
    there = made[0][1] if made else s
    fix = cpu_torch(there, m, also, allowed=lambda release: all(meets(line, release) for line in lines))
    return fix and replace(fix, steps=(*(step for step, _ in made), *fix.steps))


def _python(m: Matrix, s: Snapshot, spec: Sequence[SpecLine]) -> str:
    """A minor version that the spec allows and torch has wheels for, the nearest to the patient's; '' for none."""
    lines = [line for line in spec if line.key == "python"]
    found = {name for row in m.releases for name in getattr(row, f"pythons_{wheel_platform(s)}")}
    able = [name for name in found if name[-1:].isdigit() and all(meets(line, name) is not False for line in lines)]
    own = numbers(known(s.python.patient.version))[:2]
    return min(able, key=lambda name: (_apart(numbers(name), own), numbers(name)), default="")


def _apart(one: Sequence[int], other: Sequence[int]) -> int:
    return abs(one[1] - other[1]) if len(one) > 1 and len(other) > 1 and one[0] == other[0] else 99


def _within(m: Matrix, s: Snapshot, spec: Sequence[SpecLine], certain: Sequence[str]) -> Callable[[Candidate], bool]:
    """Whether the spec allows a build. certain: keys of what must be known of it, if the spec names
    them; then it requires no other Triton either."""

    newest = _newest_branch(m, s, [line for line in spec if line.key == "driver"])

    def within(one: Candidate) -> bool:
        build = one.build
        brings = _brings(m, build)
        if newest and m.driver_for_cuda(newest, brings["cuda"]).grade in _NOT_DRIVEN:
            return False
        if certain and any(line.key in certain and not brings.get(line.key) for line in spec):
            return False
        if certain and any(_is_off_pin(m, build.torch, line) for line in spec):
            return False
        return not any(
            meets(line, brings[line.key]) is False for line in spec if brings.get(line.key) and line.key in OF_TORCH
        )

    return within


def _brings(m: Matrix, build: TorchBuild | RankedBuild) -> dict[str, str]:
    """The versions that a build decides, by key; '' for one that is not known."""
    release = m.torch_release(build.torch).release
    brings = {"torch": f"{build.torch}+{build.tag}", "cuda": tag_cuda(build.tag) or ""}
    if release is not None:
        brings["cudnn"] = cudnn_of(release, build)
        brings["nccl"] = release.nccl if build.pypi_default else ""
    return brings


def _with_unknown(m: Matrix, one: Step, s: Snapshot, spec: Sequence[SpecLine]) -> Step:
    """A step that installs torch says which lines of the spec cannot be judged before: no table has the version."""
    torch, _, tag = str(one.changes.get("torch.version", "")).partition("+")
    build = m.torch_build(torch, tag, wheel_platform(s))
    brings = _brings(m, build) if build else {}
    lines = [line for line in spec if line.key in _CERTAIN[0] and brings.get(line.key) == ""]
    words = " and ".join(f"{line.key} {line.allowed}" for line in lines)
    return replace(one, text=f"{one.text} Whether it brings {words} is not known.") if words else one


_CERTAIN = (("cudnn", "nccl"), ("cudnn",), ())
"""What must be known of a build, one after the other until there is one."""
_NOT_DRIVEN = ("needs-forward-compat", "impossible")


def _newest_branch(m: Matrix, s: Snapshot, lines: Sequence[SpecLine]) -> str:
    """Of the driver branches that all lines allow; '' if there are no lines, or no such branch is known."""
    if not lines or driver_platform(s) == "windows" or jetson(s, m):
        return ""
    branches = [f"{row.branch}" for row in m.drivers]
    return max((one for one in branches if all(meets(line, one) is not False for line in lines)), key=int, default="")


def _is_off_pin(m: Matrix, torch: str, line: SpecLine) -> bool:
    """Whether a torch release brings, and requires, another version of this package than the spec allows."""
    pinned = pinned_by_torch(m, torch.partition("+")[0]).get(line.package, "")
    return bool(pinned) and meets(line, pinned) is False


def _met(s: Snapshot, line: SpecLine) -> bool:
    found = have(s, line)
    return isinstance(found, str) and meets(line, found) is True


def _packages(s: Snapshot, m: Matrix, lines: Sequence[SpecLine], found: str) -> tuple[list[Step], str]:
    """(companions that match torch first; one command for all others, so that one install does not undo another; what
    only the file names that was found in a step of its own, after them; which companions match no torch here)."""
    if not lines or isinstance(s.python.distributions, Missing):
        return [], ""
    steps: list[Step] = []
    for line in lines:
        if line.package in COMPANIONS and (fix := _companion(s, m, line)):
            steps += fix.steps
            for one in fix.steps:
                s = s.replace(one.changes)
    lines = [line for line in lines if not _met(s, line)]
    torch = known(s.torch.version)
    misfits = [line for line in lines if torch and (line.package in COMPANIONS or _is_off_pin(m, torch, line))]
    lines = [line for line in lines if line not in misfits]
    own = {line.package for line in lines if not found or line.file != found}
    ours = [line for line in lines if line.package in own]
    theirs = [line for line in lines if line.package not in own]
    for some, file in ((ours, ""), (theirs, found)):
        steps += _others(s, some, file) if some else []
        for one in steps[-1:]:
            s = s.replace(one.changes)
    words = ", ".join(f"{line.package} {line.allowed}" for line in misfits)
    return steps, f"No {words} is known to work with torch {torch}: change one of these lines." if misfits else ""


def _companion(s: Snapshot, m: Matrix, line: SpecLine) -> Fix | None:
    """The one that matches this torch, where the spec allows it."""
    torch = known(s.torch.version)
    fix = install_companion(s, m, torch, Distribution(name=line.package, version="", location="")) if torch else None
    after = s
    for one in fix.steps if fix else ():
        after = after.replace(one.changes)
    return fix if _met(after, line) else None


def _others(s: Snapshot, lines: Sequence[SpecLine], found: str) -> list[Step]:
    allowed: dict[str, list[str]] = {}
    for line in lines:
        allowed.setdefault(line.package, []).append(line.allowed)
    packages = [f"{name}{','.join(some)}".replace(" ", "") for name, some in allowed.items()]
    try:
        installed = {name: example(",".join(some)) for name, some in allowed.items()}
    except ValueError:  # lines of two files that contradict each other
        return []
    site = site_packages(s)
    put = [Distribution(name=name, version=version, location=site) for name, version in installed.items()]
    changes: dict[str, Any] = {"python.distributions": with_distributions(s, put)}
    text = f"Install {', '.join(allowed)} versions that meet the spec."
    text = f"{text} {named_by(found, len(allowed))}" if found else text
    return [step(s, Install(packages=tuple(packages)), text, changes=changes)]
