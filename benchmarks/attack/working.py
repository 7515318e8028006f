"""A working folder that holds modules, programs, settings and libraries of a stranger: nothing of it is executed."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

from .engine import TRAP, Attack
from .ground import Ground

_MODULE = f"import os\nopen(os.environ[{TRAP!r}], 'a').write(__file__ + '\\n')\n"
_SCRIPT = f'#!/bin/sh\necho "$0" >> "${TRAP}"\n'
_LIBRARY = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) {
    FILE *trap = fopen(getenv("TRAP"), "a");
    if (trap) fprintf(trap, "library\\n"), fclose(trap);
}
"""
_MODULES = (
    "torch", "json", "re", "os", "signal", "encodings", "sitecustomize", "usercustomize", "numpy", "pip", "msgspec",
    "click", "doctor", "compat_matrix", "agent_boot", "torch_facts", "torch_proof", "gather", "ctypes", "pynvml",
    "typing","typing_extensions", "packaging", "tomllib", "tomli", "site", "codecs", "subprocess", "warnings",
    "antigravity",
)  # fmt: skip
_PROGRAMS = (
    "python", "python3", "pip", "pip3", "uv", "conda", "nvidia-smi", "ldconfig", "gcc", "nvcc", "bash", "sh", "env",
    "git","lspci", "modinfo", "uname", "docker", "kubectl", "pyenv",
)  # fmt: skip
_SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so", "libcudart.so.12", "libnccl.so.2")
_SETTINGS = {
    "uv.toml": "this is no TOML", "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/simple\n",
    ".python-version": "9.9","pyproject.toml": "[build-system]\nbuild-backend = 'torch'\n",
    "setup.py": _MODULE, "conftest.py": _MODULE,
    "pyvenv.cfg": "home = .\n", "python311._pth": ".\nimport torch\n", "evil.pth": "import torch\n",
    ".env": "X=$(touch t)","requirements.txt": "./torch.py\n", "gpudoctor.toml": "expect = 'any'\n",
    ".pypirc": "[distutils]\n",
}  # fmt: skip


def attacks(ground: Ground) -> list[Attack]:
    """Every command, with the folder on each path that is searched."""
    _library(ground)
    found = []
    for at, env in enumerate(_PLACES):
        for number, words in enumerate(_commands(ground)):
            if (at + number) % 2 and words[0] not in ("check", "fix"):
                continue
            one = words[0] == "healthcheck"
            codes = frozenset({0, 1}) if one else frozenset({0, 1, 2, 3})
            said = " ".join(f"{name}={value!r}" for name, value in env.items())
            found.append(
                Attack(
                    f"{' '.join(words[:3])} {said}", words, partial(_trapped, ground), env=env, codes=codes, report=None
                )
            )
    return found


_PLACES: tuple[dict[str, str], ...] = (
    {}, {"PYTHONPATH": ""}, {"LD_LIBRARY_PATH": ":"}, {"PYTHONPATH": ":/nowhere", "LD_LIBRARY_PATH": ""},
    {"PATH": ":/usr/bin:/bin"}, {"PATH": "/usr/bin:/bin:"}, {"VIRTUAL_ENV": ""}, {"CONDA_PREFIX": ""},
    {"CUDA_HOME": "", "CUDA_PATH": "."}, {"PYTHONSTARTUP": "torch.py"}, {"PYTHONUSERBASE": "."}, {"CC": "./gcc"},
    {"HOME": "."}, {"XDG_CONFIG_HOME": "."}, {"TMPDIR": "."}, {"BASH_ENV": "./sh", "ENV": "./sh"},
    {"PIP_CONFIG_FILE": "x"},{"EDITOR": "./sh", "PAGER": "./sh", "BROWSER": "./sh"},
)  # fmt: skip


def _commands(ground: Ground) -> list[list[str]]:
    torch, bare = str(ground.torch), str(ground.bare)
    return [
        ["check", "--python", torch],
        ["check", "--no-import", "--expect", "any"],
        ["healthcheck", "--python", torch],
        ["record", "out", "--python", torch],
        ["fix", "--python", bare],
        ["fix", "--apply", "--yes", "--no-import", "--python", bare, "--expect", "none"],
        ["prove", "--quick", "--device", "cpu", "--python", bare],
        ["watch", "--", "/bin/true"],
        ["explain", "CUDA error 804"],
        ["list-checks"],
        ["matrix", "show"],
        ["schema"],
    ]


def _trapped(ground: Ground, attack: Attack) -> None:
    """Every trap in the folder."""
    folder = attack.folder
    for name in _MODULES:
        (folder / f"{name}.py").write_text(_MODULE)
    for name in _PROGRAMS:
        (folder / name).write_text(_SCRIPT)
        (folder / name).chmod(0o755)
    for name, text in _SETTINGS.items():
        (folder / name).write_text(text)
    if library := _library(ground):
        for name in _SONAMES:
            (folder / name).symlink_to(library)


def _library(ground: Ground) -> Path | None:
    """A shared library that tells when it is loaded; None without a compiler."""
    path = ground.scratch / "trap.so"
    if not path.exists() and ground.fakes:
        command = ["gcc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", str(path)]
        subprocess.run(command, input=_LIBRARY.encode(), check=True)
    return path if path.exists() else None
