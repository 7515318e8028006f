"""Poor shells: few descriptors, little memory, no home, no /tmp, no /proc, odd locales and variables."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .engine import COMMAND, Attack
from .ground import Ground

_COMMANDS = (
    ["check", "--no-import", "--expect", "any"], ["check", "--format", "json", "--expect", "any", "--timeout", "5"],
    ["healthcheck", "--expect", "any"], ["explain", "CUDA error 804"], ["record", "out", "--no-import"],
    ["list-checks"],["fix", "--no-import", "--expect", "any"],
)  # fmt: skip
_LIMITS = (
    "ulimit -n 4", "ulimit -n 5", "ulimit -n 6", "ulimit -n 8", "ulimit -n 10", "ulimit -n 12", "ulimit -n 16",
    "ulimit -n 24", "ulimit -v 40000", "ulimit -v 60000", "ulimit -v 80000", "ulimit -v 120000",
    "ulimit -v 200000", "ulimit -v 400000",
    "ulimit -s 64", "ulimit -s 128", "ulimit -s 256", "ulimit -f 0", "ulimit -f 1", "ulimit -c 0", "ulimit -l 0",
    "ulimit -i 0", "ulimit -q 0", "umask 777", "umask 000", "trap '' TERM HUP INT PIPE CHLD",
    "mkdir gone; cd gone; rmdir ../gone", "mkdir no; cd no; chmod 0 .", "nice -n 19 true", "set -o noclobber",
)  # fmt: skip
_ENVIRONMENTS: tuple[dict[str, str | None], ...] = (
    {"HOME": None}, {"HOME": "/nowhere"}, {"HOME": ""}, {"HOME": "relative"}, {"HOME": "/dev/null"}, {"PATH": None},
    {"PATH": ""}, {"PATH": "/nowhere"}, {"TMPDIR": "/nowhere"}, {"TMPDIR": "/dev/null"}, {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "LANG": ""}, {"LC_ALL": "xx_YY.UTF-8"}, {"LANG": "\x1b[31m"}, {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONWARNINGS": "error"},
    {"PYTHONOPTIMIZE": "2"}, {"PYTHONDEVMODE": "1"}, {"PYTHONMALLOC": "debug"}, {"PYTHONHASHSEED": "0"},
    {"PYTHONUNBUFFERED": "1"}, {"PYTHONVERBOSE": ""}, {"PYTHONINSPECT": ""}, {"PYTHONNOUSERSITE": "1"},
    {"COLUMNS": "0"}, {"COLUMNS": "-5"}, {"COLUMNS": "many"}, {"COLUMNS": "9" * 30}, {"TERM": "nonsense"},
    {"NO_COLOR": ""},
    {"CUDA_VISIBLE_DEVICES": "\x1b[31m\u202e$(touch $TRAP)"}, {"CUDA_VISIBLE_DEVICES": "0," * 20000},
    {"TORCH_LIB": "x" * 90000}, {"LD_LIBRARY_PATH": ":".join(f"/nowhere/{n}" for n in range(6000))},
    {"VIRTUAL_ENV": "/dev/zero"},
    {"VIRTUAL_ENV": "\n"}, {"CONDA_PREFIX": "/proc/self/fd"}, {"CUDA_HOME": "/dev/stdin"}, {"TZ": "nonsense"},
    {"LD_BIND_NOW": "1"}, {"MALLOC_ARENA_MAX": "x"}, {"GPUDOCTOR_TIMEOUT": "x"}, {"SOURCE_DATE_EPOCH": "-1"},
    {"PIP_CACHE_DIR": "/dev/null/x", "XDG_CACHE_HOME": "\x01"}, {"PYENV_VERSION": "$(touch $TRAP)"},
)  # fmt: skip
_RIGHTS = "+dac_override,+dac_read_search"
_SOMEONE = f"setpriv --reuid 54321 --clear-groups --inh-caps {_RIGHTS} --ambient-caps {_RIGHTS}"
"""Limits of processes do not bind root; this is somebody who may still read and write all."""
_SPACES = {
    "no /tmp": "mount -t tmpfs -o ro,size=4k t /tmp",
    "no /dev/shm": "mount -t tmpfs -o size=0,nr_inodes=1 t /dev/shm",
    "an empty /proc": "mount -t tmpfs t /proc",
    "an empty /sys": "mount -t tmpfs t /sys",
    "an empty /dev": "mount -t tmpfs t /dev",
    "an empty /etc": "mount -t tmpfs t /etc",
}


def attacks(ground: Ground) -> list[Attack]:
    """Each limit and each environment with each kind of command, in turn."""
    found = []
    for at, limit in enumerate(_LIMITS):
        if _starts(limit):
            for number, words in enumerate(_COMMANDS):
                if (at + number) % 2 == 0 or words[0] == "healthcheck":
                    found.append(_attack(limit, words, shell=f"{limit}; exec {{it}}"))
    for at, env in enumerate(_ENVIRONMENTS):
        for number, words in enumerate(_COMMANDS):
            if (at + number) % 3 == 0 or words[0] == "healthcheck":
                name = " ".join(f"{key}={str(value)[:20]!r}" for key, value in env.items())
                found.append(_attack(name, words, env=env))
    if os.geteuid() == 0 and shutil.which("setpriv"):
        for most in (1, 2, 3, 4):
            shell = f'{_SOMEONE} bash -c \'ulimit -u {most}; exec "$0" "$@"\' {{it}}'
            found += [_attack(f"{most} processes of this user", words, shell=shell) for words in _COMMANDS]
    if os.geteuid() == 0 and shutil.which("unshare"):
        for at, (name, mount) in enumerate(_SPACES.items()):
            for number, words in enumerate(_COMMANDS):
                if (at + number) % 2 == 0:
                    shell = f'unshare -m bash -c \'{mount}; exec "$0" "$@"\' {{it}}'
                    found.append(_attack(name, words, shell=shell))
    return found


def _attack(name: str, words: list[str], shell: str = "", env: dict[str, str | None] | None = None) -> Attack:
    given = env or {}
    one = words[0] == "healthcheck"
    return Attack(
        f"{' '.join(words[:2])} with {name}",
        words,
        env={key: value for key, value in given.items() if value is not None},
        without=tuple(key for key, value in given.items() if value is None),
        shell=shell,
        codes=frozenset({0, 1}) if one else frozenset({0, 1, 2, 3}),
        report=words[0] not in ("record", "healthcheck"),
    )


def _starts(limit: str) -> bool:
    """Whether this Python itself starts under the limit and loads what every program of its kind needs."""
    probe = (
        f"cd $(mktemp -d); {limit}; exec '{Path(COMMAND).parent / 'python'}' -c 'import json, subprocess, threading'"
    )
    return subprocess.run(["/bin/bash", "-c", probe], capture_output=True, check=False).returncode == 0
