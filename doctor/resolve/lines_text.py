"""The answer for the lines of a file, as text."""

from __future__ import annotations

import shlex

from .files.edit import note
from .files.lines import RequirementFile
from .instead import Answered
from .machine import Machine


def lines_text(path: str, machine: Machine, file: RequirementFile, answered: Answered, verify: str) -> str:
    """verify: the command that solves the changed file against its indexes; '' if there is none."""
    rows = [f"{path} on {machine}"]
    if not answered.dead:
        gives = f" (the file installs torch {answered.takes})" if answered.takes else ""
        rows += [f"  No line is known to fail here{gives}."]
    for one in answered.dead:
        rows += [f"  line {one.number}: {one.text}", f"    cannot work here: {one.reason}"]
    if answered.instead and file.kind == "lock":
        rows += ["", *_for_a_lock(machine, file, answered)]
    elif answered.changes:
        rows += ["", *_changes(file, answered, verify)]
    elif answered.system:
        rows += ["", f"Editing the file cannot fix this: install {answered.system} from NVIDIA's repository."]
    elif answered.dead:
        rows += ["", "No replacement fits; run gpudoctor resolve to see why."]
    rows += ["", *answered.unknown] if answered.unknown else []
    return "\n".join(rows) + "\n"


def _changes(file: RequirementFile, answered: Answered, verify: str) -> list[str]:
    write = [one for one in answered.instead if one.write]
    delete = [one for one in answered.instead if not one.write]
    rows = []
    urls = [] if no_index(file, answered) else answered.index.split()
    if write or urls:
        rows += ["Use instead:", *(f"  --extra-index-url {url}" for url in urls)]
        rows += ["\n  ".join(f"  {one.write}{note(one)}".split("\n")) for one in write]
    if delete:
        rows += ["Delete:", *(f"  {one.text}{note(one)}" for one in delete)]
    if answered.add:
        rows += ["Add:", *(f"  {row}" if row else "" for row in answered.add.splitlines())]
    if file.regenerate and file.kind == "requirements":
        rows += ["", f"This file is generated: change its source, then run  {file.regenerate}"]
    elif file.regenerate:
        rows += ["", f"Then run  {file.regenerate}"]
    if note_ := no_index(file, answered):
        rows += ["", note_]
    if verify:
        rows += ["", "This was not tested against an index. To do that:", f"  {verify}"]
    return rows


def no_index(file: RequirementFile, answered: Answered) -> str:
    """What to pass to the installer if the file has no place for an index; '' if it has one."""
    if not answered.index or file.kind in ("requirements", "conda"):
        return ""
    if file.kind == "pep621" and any(one.indexes for one in file.lines):
        return f"The index is set in Hatch's env-vars: change it there to  {answered.index}"
    if file.kind == "pixi":
        url = answered.index.split()[0]
        return f'[project] cannot specify an index: move torch to [tool.pixi.pypi-dependencies], with  index = "{url}"'
    flags = " ".join(f"--extra-index-url {url}" for url in answered.index.split())
    return f"This file cannot specify an index; pass this to the installer:  {flags}"


_SOURCE = {"pipenv lock": "Pipfile", "pixi lock": "pixi.toml", "conda-lock": "environment.yml"}


def _for_a_lock(machine: Machine, file: RequirementFile, answered: Answered) -> list[str]:
    first = answered.instead[0].write.partition("+")[0]
    rows = ["Use instead:", *(f"  {one.write}{note(one)}" for one in answered.instead)]
    if file.regenerate in _SOURCE:
        return [*rows, f"in {_SOURCE[file.regenerate]} (resolve -r reads that too), then run {file.regenerate}"]
    return [
        *rows,
        f"in pyproject.toml, then run {file.regenerate}; to print the tables for the index:",
        "",
        f"  gpudoctor resolve '{first}' {' '.join(machine_flags(machine))} --format pyproject",
    ]


def machine_flags(machine: Machine) -> list[str]:
    """The machine as flags of gpudoctor resolve."""
    flags = [f"--gpu {shlex.quote(f'{card.count}x' * (card.count > 1) + card.name)}" for card in machine.cards]
    flags += [f"--driver {machine.driver}"] if machine.driver else []
    usual = Machine(cards=())
    return flags + [
        f"--{name} {getattr(machine, name)}"
        for name in ("os", "arch", "python")
        if getattr(machine, name) != getattr(usual, name)
    ]
