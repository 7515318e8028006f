"""Packages that changed: which one somebody changed, which ones followed it, and how to install the old versions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from compat_matrix.torchs import pypi_tag
from compat_matrix.versions import torch_version

from ..fixes.install import Install, name_of, remove_line, step
from ..fixes.machine import wheel_platform
from ..fixes.packages import needs_new_environment
from ..fixes.which_torch import COMPANIONS
from ..snapshot import Distribution, Snapshot, known
from .answer import PackageChange, PutBack

if TYPE_CHECKING:
    from compat_matrix import Matrix

TORCH = "torch"
_CUDA_WHEELS = re.compile(r"nvidia-|triton$|pytorch-triton")
"""What torch brings along."""
_INSTALLERS = ("pip", "setuptools", "uv", "wheel")
"""Never removed: the next command needs them."""
_EXTRA = re.compile(r"\bextra\s*==")


class Packages(NamedTuple):
    """The packages of both environments that have other versions, or that only one of them has."""

    old: Mapping[str, Distribution]
    new: Mapping[str, Distribution]
    followed: Mapping[str, tuple[str, ...]]
    """Each package that was changed to those that changed because of it."""


def packages(old: Snapshot, new: Snapshot) -> Packages:
    """What changed; nothing where one of the lists is unknown or partial."""
    was, now = _listed(old), _listed(new)
    names = [name for name in sorted({*was, *now}) if _version(was, name, old) != _version(now, name, new)]
    before = {name: was[name] for name in names if name in was}
    after = {name: now[name] for name in names if name in now}
    followed: dict[str, tuple[str, ...]] = {}
    left = dict.fromkeys(names)
    while left:
        wanted = {other: _followers(other, left, (was, now)) for other in left}
        of_others = {name for other in left for name in wanted[other]}
        lead = TORCH if TORCH in left else next((name for name in left if name not in of_others), next(iter(left)))
        followed[lead] = tuple(name for name in left if name != lead and name in wanted[lead])
        left = {name: None for name in left if name != lead and name not in followed[lead]}
    return Packages(before, after, followed)


def is_same_environment(old: Snapshot, new: Snapshot) -> bool:
    """Whether it is one environment at two times, or in two containers: what another one has is not to be removed, and
    what runs on one kind of machine need not run on another."""
    facts = ("python.patient.prefix", "python.patient.version", "host.system", "host.architecture")
    if any(known(old.fact(name)) != known(new.fact(name)) for name in facts):
        return False
    models = [{known(gpu.name) for gpu in known(s.gpus) or ()} for s in (old, new)]
    return models[0] <= models[1] or models[1] <= models[0]


def in_text(found: Packages, old: Snapshot, new: Snapshot) -> tuple[PackageChange, ...]:
    """Each package that was changed, as a sentence."""
    rows = []
    for name, followed in found.followed.items():
        before, after = _version(found.old, name, old), _version(found.new, name, new)
        if before and after:
            words = f"{name} {after} replaced {before}"
        else:
            words = f"{name} {after} was installed" if after else f"{name} {before} was removed"
        words += f"; {_counted(followed)} followed" if followed else ""
        rows.append(PackageChange(name=name, before=before, after=after, followed=followed, words=words))
    return tuple(rows)


def put_back(
    found: Packages, old: Snapshot, new: Snapshot, m: Matrix, only: Collection[str] | None = None
) -> tuple[PutBack, ...]:
    """Commands for NEW's environment, torch's own first; none for what no index has under that version.

    only: these packages, and those that followed them.
    """
    if only is not None:
        found = found._replace(followed={name: found.followed[name] for name in found.followed if name in only})
    if not found.followed or needs_new_environment(new):
        return ()
    rows = []
    with_torch = (TORCH, *found.followed.get(TORCH, ()))
    if TORCH in found.old and (request := _torch_request(found, old, new, m)):
        own = tuple(name_of(line) for line in request.packages)
        rows.append(_row(new, request, _leftovers(found, with_torch), f"torch {_version(found.old, TORCH, old)}", own))
    others = [name for lead, names in found.followed.items() if lead != TORCH for name in (lead, *names)]
    again = [name for name in others if name in found.old and _is_published(found.old[name])]
    only_new = [name for name in others if name not in found.old and name not in _INSTALLERS]
    by_conda = [name for name in only_new if found.new[name].installer == "conda"]
    request = Install(packages=tuple(f"{name}=={found.old[name].version}" for name in again))
    by_pip = [name for name in only_new if name not in by_conda]
    if again or by_pip:
        what = [*again, *by_pip]
        several = f"the other {len(what)} packages" if rows else f"these {len(what)} packages"
        alone = f"{what[0]} {found.old[what[0]].version}" if again else what[0]
        title = alone if len(what) == 1 else several
        rows.append(_row(new, request if again else None, by_pip, title, tuple(what)))
    return tuple(rows)


def _row(s: Snapshot, request: Install | None, remove: Sequence[str], title: str, names: tuple[str, ...]) -> PutBack:
    lines = [remove_line(s, remove, by_conda=False)] if remove else []
    lines += [step(s, request, "").command] if request else []
    text = f"Install {title} again" if request else f"Remove {title}"
    if request and title.endswith("packages"):
        text = f"Undo the changes to {title}"
    return PutBack(text=text, command=" && ".join(lines), packages=names)


def _torch_request(found: Packages, old: Snapshot, new: Snapshot, m: Matrix) -> Install | None:
    """None for a nightly, a vendor's or conda's build, and one of an index that the matrix does not have."""
    was = found.old[TORCH]
    parts = torch_version(_version(found.old, TORCH, old))
    if parts is None or parts.kind != "release" or not _is_published(was):
        return None
    index = ""
    if parts.local and ("+" in was.version or pypi_tag(m, parts.base, wheel_platform(new)) != parts.local):
        row = m.index_url(parts.local)
        if row is None:
            return None
        index = row.url
    names = [name for name in (TORCH, *COMPANIONS) if name in found.old and _is_published(found.old[name])]
    lines = [f"{name}=={found.old[name].version}" for name in names]
    return Install(packages=tuple(lines), index=index, again=tuple(n for n in names if _is_same(found, n)))


def _leftovers(found: Packages, names: Sequence[str]) -> list[str]:
    """What came along and would stay: pip removes no package that only the newer torch requires."""
    return [name for name in names if name not in found.old and found.new[name].installer != "conda"]


def _is_same(found: Packages, name: str) -> bool:
    """Whether pip would take the version that is installed for the old one: another build of it."""
    now = found.new.get(name)
    return now is not None and now.version.partition("+")[0] == found.old[name].version.partition("+")[0]


def _is_published(one: Distribution) -> bool:
    """Whether an index may have it: not conda's, not a project's own folder or a wheel from an address."""
    local = "+" in one.version and one.name not in (TORCH, *COMPANIONS)
    return one.installer in ("", "pip", "uv") and not (one.editable or one.wheel or one.problem or local)


def _listed(s: Snapshot) -> dict[str, Distribution]:
    """The packages that an import would take, by name."""
    found = () if s.python.distributions_partial else known(s.python.distributions) or ()
    return {one.name: one for one in reversed(found)}


def _version(listed: Mapping[str, Distribution], name: str, s: Snapshot) -> str:
    """Empty if it is not installed. Of torch with its build, which its metadata may lack."""
    if name not in listed:
        return ""
    return (known(s.torch.version) if name == TORCH else None) or listed[name].version


def _followers(name: str, names: Mapping[str, object], both: Sequence[Mapping[str, Distribution]]) -> set[str]:
    """Of these packages those that changed because this one did: what it requires in another version than before."""
    lines = [_required(listed[name]) if name in listed else {} for listed in both]
    if name != TORCH:
        return {other for other in names if other != name and lines[0].get(other) != lines[1].get(other)}
    unknown = not all(lines[at] for at, listed in enumerate(both) if TORCH in listed)
    found = {other for other in names if other in COMPANIONS}
    for other in names:
        if _CUDA_WHEELS.match(other) or any(other in one for one in lines):
            found |= {other} if unknown or lines[0].get(other) != lines[1].get(other) else set()
    of_found = [_followers(other, names, both) for other in found if other not in COMPANIONS]
    return found.union(*of_found) - {TORCH}


def _required(one: Distribution) -> dict[str, str]:
    """Name to the line that requires it."""
    lines = [line for line in known(one.requires) or () if not _EXTRA.search(line)]
    return {re.sub(r"[-_.]+", "-", name_of(line)).lower(): line for line in lines}


def _counted(names: Sequence[str]) -> str:
    """`14 nvidia-* packages, triton and torchvision`."""
    cuda = [name for name in names if name.startswith("nvidia-")]
    count = len({re.sub(r"-cu\d+$", "", name) for name in cuda})  # of another CUDA major version they have other names
    words = [f"{count} nvidia-* packages"] if count > 2 else cuda
    words += [name for name in names if not name.startswith("nvidia-")]
    words = [*words[:4], f"{len(words) - 4} more"] if len(words) > 5 else words
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
