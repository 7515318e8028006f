"""Broken modules where a user's environment has them: gpudoctor's own imports do not come from there."""

from __future__ import annotations

import sys
from functools import partial

from gpudoctor._path import NEEDED

from .engine import Attack
from .ground import Ground

_STANDARD = ("json", "dataclasses", "decimal", "tomllib", "socket", "html", "logging", "subprocess", "selectors")
"""None that Python itself may load before anything of ours."""
_NAMES = (*NEEDED, *_STANDARD, "doctor", "compat_matrix", "requests", "docker", "mcp", "typing_extensions")
_HARMS = {
    "raises ImportError": "raise ImportError('broken')",
    "raises SystemExit": "raise SystemExit(0)",
    "is no Python": "((",
    "ends the process": "import os\nos._exit(7)",
    "sleeps": "import time\ntime.sleep(600)",
    "is empty": "",
    "writes": "print('hello')",
}
_MODULE = f"set -- {{it}}; shift; exec '{sys.executable}' -m gpudoctor \"$@\""
_PLACES = {
    "in PYTHONPATH": "export PYTHONPATH=$PWD/bad; exec {it}",
    "in a relative PYTHONPATH": "export PYTHONPATH=bad:/nowhere; exec {it}",
    "in PYTHONPATH, as a module": f"export PYTHONPATH=$PWD/bad:; {_MODULE}",
    "in the current folder, as a module": f"cd bad; {_MODULE}",
}


def attacks(ground: Ground) -> list[Attack]:
    """Each module, broken in several ways and places, in turn; and all of them at once."""
    commands = (
        ["healthcheck", "--expect", "any", "--python", str(ground.bare)],
        ["check", "--expect", "any", "--no-import", "--format", "json", "--python", str(ground.bare)],
        ["list-checks"],
        ["explain", "CUDA error 804"],
        ["matrix", "show"],
    )
    places, harms = list(_PLACES.items()), list(_HARMS.items())
    found = []
    for at, name in enumerate(_NAMES):
        for turn in range(4):
            place, shell = places[(at + turn) % len(places)]
            harm, source = harms[(at + 2 * turn) % len(harms)]
            words = commands[(at + turn) % len(commands)]
            found.append(_attack(f"{name} {harm} {place}", words, shell, {name: source}))
    for harm, source in harms:
        for number, (place, shell) in enumerate(places):
            words = commands[number % len(commands)]
            found.append(_attack(f"all of them: one {harm}, {place}", words, shell, dict.fromkeys(_NAMES, source)))
    return found


def _attack(name: str, words: list[str], shell: str, modules: dict[str, str]) -> Attack:
    codes = frozenset({0, 1} if words[0] == "healthcheck" else {0, 1, 3} if words[0] == "check" else {0})
    return Attack(f"{words[0]}: {name}", words, partial(_broken, modules), shell=shell, codes=codes, report=True)


def _broken(modules: dict[str, str], attack: Attack) -> None:
    folder = attack.folder / "bad"
    folder.mkdir()
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source + "\n")
