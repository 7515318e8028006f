"""The answer for people: the line to paste, why, what else, and why not the others."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from compat_matrix.candidate import Candidate
from compat_matrix.driver_for_build import undriven
from compat_matrix.framework_wishes import FRAMEWORKS
from compat_matrix.resolver import FILTERS, Answer, Question, Rejected
from compat_matrix.versions import numbers, tag_cuda
from compat_matrix.which_torch import kept_release, which_torch
from compat_matrix.wishes import WHEELS

from .choice import USUAL_PYTHON, lines, pythons
from .machine import Machine

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.drivers import Platform
    from compat_matrix.wish import Chosen

MOST = 5
_TAGS = 6
GRADES = {
    "native": "which the driver supports",
    "minor-version": "through minor-version compatibility",
    "forward-compat": "through forward compatibility",
    "no-driver": "once a driver is installed",
}
_WIDTH = 100


def text(m: Matrix, machine: Machine, q: Question, answer: Answer, *, explain_all: bool = False) -> str:
    """The whole answer."""
    rows = [*_wrapped(not_listed(answer)), ""] if answer.unlisted else []
    if answer.unlisted and not answer.candidates:
        return "\n".join(rows[:-1]) + "\n"
    if answer.candidates:
        first = answer.candidates[0]
        rows += [lines(m, q, first).pip, "", f"For {machine}", *_about(m, machine, q, first, answer)]
        others = answer.candidates[1:] if explain_all else _unlike(answer.candidates)
        if others:
            rows += ["", "All other builds that fit:" if explain_all else "Also possible:"]
            rows += [row for one in others for row in _short(m, q, one, first)]
    else:
        rows += [f"Nothing fits {machine}" + (f" and {', '.join(map(str, q.wishes))}" if q.wishes else "") + "."]
        rows += _nothing(m, machine, q, answer)
    notes = [*machine.notes, *([f"{m.differs}."] if m.differs else [])]
    rows += ["", *_wrapped(notes)] if notes else []
    if answer.unlisted:  # the others were not judged
        return "\n".join(rows) + "\n"
    rows += ["", "Why not the others:" if answer.candidates else "Why the builds were rejected:"]
    rows += _all_out(answer.rejected) if explain_all else _out(answer)
    return "\n".join(rows) + "\n"


def not_listed(answer: Answer) -> list[str]:
    """A sentence for each release that the matrix does not list: its neighbors, and the conclusion from them."""
    rows = []
    for one in answer.unlisted:
        known = f"Run gpudoctor matrix query {one.name} to see what is known"
        if one.is_source:
            rows.append(f"This matrix lists no wheels for {one.name}, which is built from source. {known}.")
            continue
        if one.is_open:
            rows.append(f"This matrix does not say which torch version {one.name} works with. {known}.")
            continue
        if one.below and one.above:
            beside = f"it lists {one.below} and {one.above}"
        elif not one.below and not one.above:
            rows.append(f"This matrix does not list {one.name}: what it works with is unknown.")
            continue
        else:
            which = " with wheels" if one.wish.package in WHEELS else ""
            beside = f"its newest{which} is {one.below}" if one.below else f"its oldest{which} is {one.above}"
        if answer.candidates:
            build = answer.candidates[0].build
            most = f"Both work with torch {build.torch} for CUDA {tag_cuda(build.tag)} here, so it most likely does too"
            rows.append(f"This matrix does not list {one.name}; {beside}. {most}.")
        else:
            rows.append(f"This matrix does not list {one.name}; {beside}. What it works with is unknown.")
    return rows


def _about(m: Matrix, machine: Machine, q: Question, one: Candidate, answer: Answer) -> list[str]:
    how = lines(m, q, one)
    rows = [f"  torch {one.build.torch} for CUDA {tag_cuda(one.build.tag)}: {one.why}; {_code(one)}."]
    rows += [f"  {chosen.package} {chosen.version}{_for_python(m, q, one, chosen)}" for chosen in one.chosen]
    rows += ["", f"uv:      {how.uv}"]
    rows += [f"conda:   {how.conda}"] if how.conda else []
    rows += [f"Docker:  {how.image[0]}", *(f"         {line}" for line in how.image[1:])] if how.image else []
    if one.gives_up:
        rows += ["", "Trade-offs:", *_wrapped(f"- {lost}" for lost in one.gives_up)]
    differs = _uv_differs(machine, one, answer) if answer.uv not in ("", one.build.tag) else ""
    rows += ["", *_wrapped([differs])] if differs else []
    return rows


def _uv_differs(machine: Machine, one: Candidate, answer: Answer) -> str:
    """Why uv's choice, based on the driver alone, differs from this one: because of a GPU, an older torch there, or
    what that build gives up."""
    choice = f"uv's --torch-backend=auto, based on the driver alone, would choose {answer.uv}"
    newest_there = max((o.build.torch for o in answer.candidates if o.build.tag == answer.uv), key=numbers, default="")
    if newest_there and numbers(newest_there) < numbers(one.build.torch):
        return f"{choice}, where the newest torch is {newest_there}."
    same = next((o for o in answer.candidates if (o.build.tag, o.build.torch) == (answer.uv, one.build.torch)), None)
    if same and (more := [lost for lost in same.gives_up if lost not in one.gives_up]):
        return f"{choice}: that build of torch {one.build.torch} {'; '.join(more)}."
    there = [out for out in answer.rejected if out.build.tag == answer.uv and out.filter == "architecture"]
    if not there:
        return ""
    newest = max(there, key=lambda out: numbers(out.build.torch))
    lost = ", ".join(card.name for card in machine.cards if f"for {card.capability}:" in newest.reason)
    return f"{choice}; for the {lost}, that build {newest.reason}."


def _code(one: Candidate) -> str:
    return "machine code for " + ", ".join(
        gpu if gpu == target else f"{gpu} (its {target} code)" for gpu, target in one.served.items()
    )


def _for_python(m: Matrix, q: Question, one: Candidate, chosen: Chosen) -> str:
    """Which Python it needs, if the machine's is unknown: a wheel given by its URL is for one alone, and old releases
    have no wheels for a recent one."""
    tag = re.search(r"-cp(3)(\d+)-", chosen.url)
    if q.python:
        return ""
    if tag:
        return f" (this wheel is for Python {tag[1]}.{tag[2]}; give yours with --python)"
    first, *_, last = (*(listed := pythons(m, q, one)), listed[-1])
    span = first if first == last else f"{first} to {last}"
    return "" if last == USUAL_PYTHON else f" (has wheels for Python {span})"


def _unlike(candidates: tuple[Candidate, ...]) -> list[Candidate]:
    """The best build for each other CUDA version, then the next best overall, up to the number shown."""
    first, *rest = candidates
    best: dict[str, Candidate] = {first.build.tag: first}
    for one in rest:
        best.setdefault(one.build.tag, one)
    others = list(best.values())[1:]
    return (others + [one for one in rest if one not in others])[: MOST - 1]


def _short(m: Matrix, q: Question, one: Candidate, first: Candidate) -> list[str]:
    lost = [text for text in one.gives_up if text not in first.gives_up]
    gives_up = f"; trade-offs: {'; '.join(lost)}" if lost else ""
    head = f"- torch {one.build.torch} for CUDA {tag_cuda(one.build.tag)}, {GRADES[one.grade]}{gives_up}"
    return [*_wrapped([head]), f"    {lines(m, q, one).pip}"]


def _nothing(m: Matrix, machine: Machine, q: Question, answer: Answer) -> list[str]:
    rows = []
    if answer.conflict:
        several = len(answer.conflict) > 1
        word = "These cannot be combined on this machine" if several else "No build for this machine works with"
        rows += [f"{word}: {', '.join(map(str, answer.conflict))}."]
        rows += _without_torch(answer)
    held = undriven(m, q.driver, q.os, q.gpus)
    rows += [f"{held[0][0].upper()}{held[0][1:]}."] if held else []
    for card in machine.cards:
        if m.compute_capability(card.capability) is None:
            target = f"sm_{card.capability.replace('.', '')}"
            rows += [f"This matrix does not list {target} ({card.name}): a newer torch may support it."]
    rows += _mixed(m, machine, q)
    rows += _driver_advice(m, machine, q)
    return rows


def _without_torch(answer: Answer) -> list[str]:
    """That a framework may work here in an environment without torch, which this answer does not judge."""
    names = [str(wish) for wish in answer.conflict if wish.package in FRAMEWORKS]
    if not names:
        return []
    need = f"{' and '.join(names)} {'does' if len(names) == 1 else 'do'} not need torch"
    return [f"{need}. Without torch: write what you need into FILE, and run gpudoctor resolve -r FILE."]


def _mixed(m: Matrix, machine: Machine, q: Question) -> list[str]:
    """If each GPU alone has a build: which GPU to leave out for which build."""
    from msgspec.structs import replace

    from compat_matrix.resolver import resolve

    if len({card.capability for card in machine.cards}) < 2:
        return []
    rows = ["No single build supports all of these GPUs. If you leave one out:"]
    for lost in {card.capability: card for card in machine.cards}.values():
        rest = tuple(gpu for gpu in q.gpus if gpu != lost.capability)
        found = resolve(m, replace(q, gpus=rest)).candidates
        if found:
            rows += [f"- without the {lost.name} ({lost.capability}): {lines(m, replace(q, gpus=rest), found[0]).pip}"]
    return [*rows, "  (to keep programs off a GPU, leave it out of CUDA_VISIBLE_DEVICES)"] if len(rows) > 1 else []


def _driver_advice(m: Matrix, machine: Machine, q: Question) -> list[str]:
    """If a newer driver would help: which branch, and which build it would allow."""
    from msgspec.structs import replace

    from compat_matrix.resolver import resolve

    if not q.driver or not q.gpus or any(card.tegra for card in machine.cards):
        return []
    system = "linux" if q.os == "linux" else "windows"
    floors = [b.branch for b in m.drivers if b.branch > numbers(q.driver)[0]]
    branch = m.branch_to_install(q.gpus, floor=min(floors, default=0)) if system == "linux" else None
    if branch is None:
        return []
    then = resolve(m, replace(q, driver=branch.latest_seen or f"{branch.branch}.0")).candidates
    if not then:
        return []
    return [f"With driver branch {branch.branch} on the host, you could install: {lines(m, q, then[0]).pip}"]


def installed_note(m: Matrix, machine: Machine, q: Question) -> tuple[str, ...]:
    """What check would do with the installed torch: keep the minor release if a build of it fits."""
    choice = which_torch(m, q, machine.torch, machine.tag)
    if choice is None or not choice.which.installed:
        return ()
    which, build = choice.which, choice.build.build
    if not which.keeps:
        return (f"torch {machine.torch} is installed here, and no build of torch {which.installed} fits.",)
    if (build.torch, build.tag) == (kept_release(machine.torch)[0], machine.tag):
        return (f"torch {machine.torch} is installed here and fits: no change needed.",)
    kept = f"install torch {build.torch} for CUDA {which.cuda} (gpudoctor resolve --keep)"
    return (
        f"torch {machine.torch} is installed here. To keep torch {which.installed}, as gpudoctor check does, {kept}.",
    )


def no_driver(m: Matrix, machine: Machine) -> str:
    """Which driver to install first if there is none yet."""
    platform: Platform = "linux" if machine.os == "linux" else "windows"
    capabilities = [card.capability for card in machine.cards]
    branch = m.branch_to_install(capabilities, platform=platform)
    if branch is None:
        ended = m.branches_for(capabilities, platform)[-1:]
        newest = "".join(f": the newest that does is {one.branch}, which has reached end of life" for one in ended)
        return f"No driver branch that still gets updates supports all of these GPUs{newest}."
    module = {"required": " (the open kernel module)"}
    needs = {row.open_module for card in machine.cards if (row := m.compute_capability(card.capability))}
    open_ = module["required"] if "required" in needs else ""
    first = "If there is no driver yet, install one first" if machine.driver_unknown else "First install a driver"
    return f"{first}: branch {branch.branch}{open_} or newer."


def _out(answer: Answer) -> list[str]:
    """One line per CUDA version without a build for this machine, newest first: what its nearest build lacks."""
    by_tag: dict[str, list[Rejected]] = {}
    here = {one.build.tag for one in answer.candidates}
    for out in answer.rejected:
        if out.build.tag not in here:
            by_tag.setdefault(out.build.tag, []).append(out)
    tags = sorted(by_tag.items(), key=lambda item: numbers(tag_cuda(item[0])), reverse=True)
    rows = []
    for tag, outs in tags[:_TAGS]:
        best = max(outs, key=lambda out: (FILTERS.index(out.filter), numbers(out.build.torch)))
        rows.append(f"- {tag} ({_span(outs)}): {best.reason}")
    if len(tags) > _TAGS:
        rows.append(f"- {len(tags) - _TAGS} older: --explain-all")
    return _wrapped(rows)


def _span(outs: list[Rejected]) -> str:
    versions = sorted({out.build.torch for out in outs}, key=numbers)
    return f"torch {versions[0]}" if len(versions) == 1 else f"torch {versions[0]} to {versions[-1]}"


def _all_out(rejected: tuple[Rejected, ...]) -> list[str]:
    outs = sorted(rejected, key=lambda out: (numbers(out.build.torch), numbers(tag_cuda(out.build.tag))), reverse=True)
    return _wrapped(f"- torch {out.build.torch} {out.build.tag}: {out.filter}: {out.reason}" for out in outs)


def _wrapped(rows: Iterable[str]) -> list[str]:
    found: list[str] = []
    for row in rows:
        found += textwrap.wrap(row, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return found
