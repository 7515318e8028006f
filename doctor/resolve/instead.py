"""What to write in place of dead lines: the smallest change that makes the file fit a machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from compat_matrix.builds import _build
from compat_matrix.candidate import Candidate
from compat_matrix.companions import expected, free_release
from compat_matrix.framework_wishes import allowed_releases
from compat_matrix.installer import PYPI, Installer, installer_takes
from compat_matrix.resolver import Question, resolve
from compat_matrix.rows_library import Framework
from compat_matrix.versions import numbers
from compat_matrix.wish import Chosen, allowed

from ..fixes.install import name_of
from .files.lines import Pinned
from .keep import smallest_change

if TYPE_CHECKING:
    from compat_matrix import Matrix

OWN = ("torch", "torchvision", "torchaudio")


class DeadLine(Struct, frozen=True):
    """A line, and why it is dead."""

    number: int
    text: str
    reason: str


class Instead(Struct, frozen=True):
    """What to write in place of a requirement. number: 0 for a new line; write: '' to delete it; text: what it
    replaces, because a line may hold several."""

    number: int
    write: str
    reason: str = ""
    text: str = ""


class Answered(Struct, frozen=True, kw_only=True):
    """takes: the torch that the lines install ('' unknown); gives: the torch that the changed lines install
    ('2.7.1+cu128'); index: what to add to the file's indexes; unknown: sentences about what the matrix does not list;
    add: tables to add to a TOML file, for torch's index; dead_elsewhere: the first dead line of each other extra or
    group."""

    takes: str = ""
    dead: tuple[DeadLine, ...] = ()
    instead: tuple[Instead, ...] = ()
    gives: str = ""
    index: str = ""
    unknown: tuple[str, ...] = ()
    add: str = ""
    unwritable: str = ""
    """Why the file cannot be edited, if a change has no place in it."""
    dead_elsewhere: tuple[DeadLine, ...] = ()
    system: str = ""
    """The system package with which the lines work as they are, if no other build works with them."""

    @property
    def changes(self) -> bool:
        """Whether there is something to write; for a file with a named index, that may be only the index."""
        return bool(self.instead or self.add)


def instead(
    m: Matrix,
    q: Question,
    lines: Sequence[Pinned],
    dead: Sequence[DeadLine],
    base: str,
    tag: str,
    unknown: list[str],
    takes: str = "",
) -> Answered:
    """The answer for dead lines. base, tag: the torch that they install, '' if unknown."""
    torch = next((one for one in lines if one.wish.package == "torch"), None)
    have = tuple(one.wish for one in lines if one.wish.package not in OWN)
    base = base or exact_of(torch)
    # no requirement file can ask for cuda-compat
    found = smallest_change(m, q, have, base, tag, compat=False) or smallest_change(m, q, have, base, tag)
    if found is None and q.python:
        other = instead(m, replace(q, python=""), lines, dead, base, tag, unknown, takes)
        if other.instead:
            note = f"Nothing fits for Python {q.python}. The lines below need a newer Python."
            return replace(other, unknown=(note, *other.unknown))
    if found is None:
        named = {(line.number, line.text) for line in dead}
        more = [out for one in lines if (one.number, one.text) not in named and (out := dead_alone(m, q, one))]
        return Answered(takes=takes, dead=(*dead, *more), unknown=tuple(unknown))
    one, without = found
    if one.compat_package:
        return Answered(takes=takes, dead=tuple(dead), unknown=tuple(unknown), system=one.compat_package)
    ranked = _build(m, one.build, one.grade, one.why, one.served, python=None, packages=OWN[1:])
    tagged = bool(ranked.tagged) and (not one.build.pypi_default or any(line.local for line in lines))
    texts = {name_of(text): text for text in (ranked.tagged if tagged else ranked.requirements)}
    texts.update({chosen.package: chosen.requirement for chosen in one.chosen})
    chosen = {choice.package: choice for choice in one.chosen}
    own_index = ranked.tagged_index_url if tagged else one.index
    gives = f"{one.build.torch}+{one.build.tag}"
    reasons = {(line.number, line.text) for line in dead}
    written = []
    for line in lines:
        if line.wish.package in OWN and line.wish.package not in texts and "+" in line.text:
            free = f"{line.name}=={line.wish.specifier}{line.tail}"  # no build of this release is for one torch only
            written.append(Instead(line.number, free, f"matches torch {one.build.torch}", line.text))
            continue
        new = _written(
            m, q, line, texts.get(line.wish.package, ""), one, chosen.get(line.wish.package), bool(own_index)
        )
        if new:
            why = "cannot work as it is" if (line.number, line.text) in reasons else f"matches torch {one.build.torch}"
            written.append(Instead(line.number, new, why, line.text))
    if torch is None and (base, tag) != (one.build.torch, one.build.tag):
        written.append(Instead(0, texts["torch"], "otherwise the installer chooses a different torch"))
    known = {line.wish.package for line in lines if (line.number, line.text) in reasons}
    sentences = [*unknown]
    sentences += [
        f"{name} has no wheel for torch {one.build.torch}, so it has to be built"
        for name in without
        if name not in known
    ]
    if not q.python and any(choice.url for choice in one.chosen):
        sentences.append("The wheel's URL is for Python 3.12; use --python VERSION for a different one.")
    indexes = [c.index for c in one.chosen if c.index] + ([own_index] if own_index else [])
    return Answered(
        takes=takes,
        dead=tuple(dead),
        instead=tuple(written),
        gives=gives,
        index=" ".join(dict.fromkeys(indexes)),
        unknown=tuple(sentences),
    )


def _written(
    m: Matrix, q: Question, line: Pinned, new: str, one: Candidate, choice: Chosen | None, indexed: bool
) -> str:
    """What to write for a line; '' if it stays. A range stays a range if every installer then chooses this build."""
    base_version, _, local = new.partition("==")[2].partition("+")
    if not new or (base_version == line.wish.specifier and local == line.local):
        return ""
    spec = line.wish.specifier
    if line.wish.package == "torch" and not exact_of(line):
        bounded = _bounded(m, q, spec, one, indexed)
        from packaging.specifiers import SpecifierSet

        if bounded and SpecifierSet(bounded) == SpecifierSet(spec):
            return line.text  # only its index changes
        return f"torch{line.extras}{bounded}{line.tail}" if bounded else _tailed(new, line)
    if line.wish.package in OWN:
        goes = expected(m, one.build.torch, line.wish.package)
        if new.startswith(f"{line.wish.package}>=") and "+" not in line.text and _some_release(m, line, new):
            return ""  # its metadata keeps the installer from a release that needs a newer torch
        pins_torch = goes is not None and goes.relation == "=="
        pins_torch = pins_torch and not free_release(m, line.wish.package, spec)
        stays = pins_torch and "+" not in line.text and not spec[:1].isdigit() and allowed(spec, base_version)
        return "" if stays else _tailed(new, line)
    other = _other_build(line, choice)
    if choice and not choice.rank and not choice.url and not spec[:1].isdigit() and allowed(spec, choice.version):
        if not other:
            return ""  # the newest release is the one that fits
        new = f"{new.partition('==')[0]}{spec}"
        return f"{new}{line.tail}"
    return _up_to(new, line, choice) or _tailed(new, line)


def _up_to(new: str, line: Pinned, choice: Chosen | None) -> str:
    """A range with an upper bound, so that the rest of the file may still need an older release; '' if it has to be
    this one."""
    spec = line.wish.specifier
    if choice is None or choice.url or spec[:1].isdigit() or spec.startswith("==") or "+" in new:
        return ""
    newest = new.partition("==")[2]
    if newest.endswith(".*"):
        rows = [row for row in choice.rows if isinstance(row, Framework)]
        newest = allowed_releases(rows[0], spec)[-1] if rows else ""
    if not newest or not allowed(spec, newest):
        return ""
    named = new.partition("==")[0]
    named = f"{named}{line.extras}" if "[" not in named else named
    return f"{named}{','.join(filter(None, (spec, f'<={newest}')))}{line.tail}"


def _other_build(line: Pinned, choice: Chosen | None) -> bool:
    """Whether the line names the build for another CUDA: jax[cuda13], cupy-cuda11x."""
    own = line.wish.distribution
    return bool(choice and own and any(getattr(row, "package", own) != own for row in choice.rows))


def _some_release(m: Matrix, line: Pinned, floor: str) -> bool:
    """Whether the line allows a listed release from a floor such as 'torchvision>=0.29.1' on."""
    rows = [row for row in m.companion_rows if row.package == line.wish.package and not row.yanked]
    least = floor.partition(">=")[2]
    return any(numbers(row.version) >= numbers(least) and allowed(line.wish.specifier, row.version) for row in rows)


def _tailed(new: str, line: Pinned) -> str:
    """A requirement with the extras and marker of the line it replaces."""
    name, equals, version = new.partition("==")
    extras = line.extras if equals and "[" not in name else ""
    return f"{name}{extras}{equals}{version}{line.tail}"


def _bounded(m: Matrix, q: Question, spec: str, one: Candidate, indexed: bool) -> str:
    """A range with an upper bound so that pip and uv choose this build from its index and PyPI; '' for none."""
    lower = ",".join(part for part in spec.split(",") if part and not re.match(r"<", part))
    bounded = ",".join(filter(None, (lower, f"<={one.build.torch}")))
    indexes = (one.build.tag, PYPI) if indexed else (PYPI,)
    installers: tuple[Installer, ...] = ("pip", "uv")
    for installer in installers:
        taken = installer_takes(m, installer, bounded, indexes, q.platform, q.python)
        if taken is None or (taken.torch, taken.tag) != (one.build.torch, one.build.tag):
            return ""
    return bounded


def exact_of(torch: Pinned | None) -> str:
    """The version that a line pins; '' for a range."""
    return torch.wish.specifier if torch and torch.wish.specifier[:1].isdigit() else ""


def dead_alone(m: Matrix, q: Question, one: Pinned) -> DeadLine | None:
    """The line, if it cannot run on this machine with any torch."""
    answer = resolve(m, replace(q, wishes=(one.wish,), assume_builds=True))
    outs = [out for out in answer.rejected if out.filter in ("wish", "companion")]
    if answer.candidates or not outs:
        return None
    near = [out for out in outs if "requires torch" not in out.reason] or outs  # for the torch that it works with
    return DeadLine(one.number, one.text, max(near, key=lambda out: numbers(out.build.torch)).reason)
