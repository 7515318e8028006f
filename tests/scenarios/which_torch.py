"""The torch that each command names for one machine, and where two differ, why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from compat_matrix.resolver import resolve
from compat_matrix.which_torch import Choice, kept_release, minor_of, which_torch
from doctor.commands.assess import assess
from doctor.commands.run_what_if import changed
from doctor.findings import Fix, Policy
from doctor.fixes.which_torch import installed_torch
from doctor.judge.plan import plan
from doctor.judge.preflight import preflight
from doctor.resolve.keep import keep
from doctor.resolve.machine import Unclear, of_snapshot
from doctor.snapshot import Snapshot, known
from doctor.text import excerpt, read

from ..judging import matrix


class Named(Struct, frozen=True, kw_only=True):
    """A torch ('2.9.1+cu128') that a command names. fix: '' where the command prints no fix."""

    command: str
    torch: str
    fix: str = ""
    note: str = ""


class Difference(Struct, frozen=True, kw_only=True):
    """Two commands that name two builds. why: '' where nothing says it: a defect."""

    named: Named
    resolve: str
    why: str


class Answers(Struct, frozen=True, kw_only=True):
    """What the commands say. resolve: its first build, '' where it has none; why_none: its own sentence then."""

    named: tuple[Named, ...]
    resolve: str
    why_none: str
    differences: tuple[Difference, ...]


def answers(s: Snapshot, policy: Policy) -> Answers:
    """Ask every command."""
    m = matrix()
    report = assess(s, m, policy)
    named = [one for f in report.findings for fix in f.fixes for one in _of_fix("check", fix)]
    named += [one for planned in plan(s, m, policy, assess=assess).fixes for one in _of_fix("fix", planned.fix)]
    first, why_none, choice = "", "", None
    try:
        machine = of_snapshot(s, m)
        q = machine.question([])
        found = resolve(m, q).candidates
        first = f"{found[0].build.torch}+{found[0].build.tag}" if found else ""
        why_none = "" if found else "no build fits this machine"
        choice = which_torch(m, q, *installed_torch(s, m))
    except Unclear as unclear:
        why_none = str(unclear)
    named += _in_an_image(s, policy)
    named += _kept(s)
    named += _without_torch(s, policy) if first else []
    named += _asked(s) if first else []
    differences = [
        Difference(named=one, resolve=first or "nothing", why=_why(s, one, choice, why_none))
        for one in named
        if one.torch != first
    ]
    return Answers(named=tuple(named), resolve=first, why_none=why_none, differences=tuple(differences))


def _in_an_image(s: Snapshot, policy: Policy) -> Iterator[Named]:
    """`image`: this environment as that of an image, and this machine as the host that it would run on."""
    report = preflight(s, s, "host", matrix(), policy)[1]
    return (one for f in report.findings for fix in f.fixes for one in _of_fix("image", fix))


def _of_fix(command: str, fix: Fix) -> Iterator[Named]:
    for step in fix.steps:
        version = step.changes.get("torch.version")
        if isinstance(version, str):
            yield Named(command=command, torch=version, fix=fix.id, note=fix.note)


def _kept(s: Snapshot) -> Iterator[Named]:
    """`resolve --keep`, where something has to change."""
    m = matrix()
    try:
        machine = of_snapshot(s, m)
        kept = keep(m, s, machine.question([]))
    except Unclear:
        return
    for change in kept.changes if kept.request else ():
        if change.startswith(("torch ", "no torch")):
            version = change.partition(" -> torch ")[2].split()[0]
            yield Named(command="resolve --keep", torch=version, note="\n".join(kept.notes))


def _without_torch(s: Snapshot, policy: Policy) -> Iterator[Named]:
    """`what-if --torch none`: what check then names for the empty environment."""
    nothing: dict[str, Any] = {"driver": None, "gpus": (), "torch": "none", "new_python": None}
    m = matrix()
    then = changed(s, m, nothing)[0]
    for finding in assess(then, m, policy).findings:
        if finding.id == "torch-not-installed":
            for fix in finding.fixes[:1]:
                yield from _of_fix("what-if --torch none", fix)


def _asked(s: Snapshot) -> Iterator[Named]:
    """`explain "which torch ..."`, and resolve on the same words: they speak of no Python and no platform."""
    m = matrix()
    machine = of_snapshot(s, m)
    names = {card.name for card in machine.cards}
    if len(names) != 1 or not machine.driver or machine.arch != "x86_64" or machine.os != "linux":
        return
    text = f"Which torch should I install for an NVIDIA {names.pop()} with driver {machine.driver}?"
    told = assess(read(excerpt(text.encode()), "argument"), m, Policy()).text
    lines = [one.text for one in told.answers] if told else []
    for line in (line for line in lines if line.startswith("Install torch ")):
        torch, _, cuda = line.removeprefix("Install torch ").rstrip(".").partition(" for CUDA ")
        yield Named(command="explain", torch=f"{torch}+cu{cuda.replace('.', '')}")


def _why(s: Snapshot, one: Named, choice: Choice | None, why_none: str) -> str:
    """The reason for a build that is not resolve's, as the commands themselves state it."""
    base, minor = kept_release(known(s.torch.version) or "")
    if one.fix == "newer-driver-and-torch":
        return "it is for the driver that the same fix installs first"
    if one.fix == "use-some-gpus":
        return "it is for the GPUs that the same fix leaves to programs"
    if minor and minor_of(one.torch) == minor:
        fits = choice is not None and f"{choice.build.build.torch}+{choice.build.build.tag}" == one.torch
        again = one.torch.partition("+")[0] == base
        said = "the newest that fits" in one.note or one.fix.startswith("reinstall") or bool(why_none)
        return f"it keeps the installed release {minor}" if (fits or again) and said else ""
    if one.command == "resolve --keep" and "No build of torch" in one.note:
        return "--keep takes the nearest release where no build of the installed one fits"
    if why_none:
        return why_none
    return ""


def newest_is_named(answer: Answers) -> list[str]:
    """Fixes that install another torch and do not say which policy chose it, and what the newest is."""
    return [
        f"{one.command}: {one.fix}: {one.note}"
        for one in answer.named
        if one.fix.startswith(("install-torch", "new-python", "newer-driver-and-torch", "use-some"))
        and "the newest that fits" not in one.note.lower()
    ]


def adds_warnings(s: Snapshot, policy: Policy, torch: str) -> list[str]:
    """What is found with this build in the place of the installed one, and was not found before."""
    m = matrix()
    nothing: dict[str, Any] = {"driver": None, "gpus": (), "torch": torch, "new_python": None}
    then = changed(s, m, nothing)[0]
    before = {f.id for f in assess(s, m, policy).findings}
    return [f"{f.id}: {f.title}" for f in assess(then, m, policy).findings if f.id not in before]
