"""Scratch environments of each kind that people have, made in milliseconds, and what is installed in them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import uv

from ..shared import pip_wheel

UV = uv.find_uv_bin()
BASE = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
KINDS = ("pip", "uv", "uv-seeded")
"""A venv with pip; one by `uv venv` (no pip); one by `uv venv --seed`. `system` and `conda` are no venvs."""
NOWHERE = "http://127.0.0.1:9"
_LIST = """
import json, sys
from importlib.metadata import distributions
found = {}
for d in distributions():
    found.setdefault(d.metadata["Name"], d.version)
print(json.dumps(found))
"""


@dataclass
class Room:
    """A scratch home: where commands run as pasted, with no network and no settings but the default index."""

    folder: Path
    index: str
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "bin").mkdir(parents=True, exist_ok=True)
        for name, target in (("uv", UV), ("python3", BASE), ("python", BASE)):
            if not (self.folder / "bin" / name).exists():
                (self.folder / "bin" / name).symlink_to(target)

    @property
    def env(self) -> dict[str, str]:
        proxies = {f"{scheme}_proxy": NOWHERE for scheme in ("http", "https", "all")}
        return {
            "HOME": str(self.folder),
            "PATH": f"{self.folder}/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": self.index,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_COMPILE": "1",
            "UV_DEFAULT_INDEX": self.index,
            "UV_CACHE_DIR": str(self.folder / "uv-cache"),
            "UV_NO_CONFIG": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            **proxies,
            **self.variables,
        }

    def run(self, line: str) -> str:
        """One command line, as pasted into a shell that stays open; what it said."""
        told = f"{line}\nenv -0 > {shlex.quote(str(self.folder / '.variables'))}"
        done = subprocess.run(
            ["bash", "-euc", told],
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.folder,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (
            f"exit code {done.returncode}: {line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
        after = (row.partition("=") for row in (self.folder / ".variables").read_text().split("\0") if row)
        before, now = self.env, {k: v for k, _, v in after}
        for gone in self.variables.keys() - now.keys():
            del self.variables[gone]
        own = ("_", "SHLVL", "PWD", "OLDPWD")
        self.variables.update({k: v for k, v in now.items() if before.get(k) != v and k not in own})
        return done.stdout + done.stderr


@dataclass
class Patient:
    """An environment in a room. `python`: its interpreter."""

    room: Room
    kind: str
    prefix: Path

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    @property
    def typed(self) -> str:
        """Its interpreter as a word of a shell's line."""
        return shlex.quote(str(self.python))

    @property
    def installed(self) -> dict[str, str]:
        """Name to version, as the environment's own importlib.metadata has it; of two copies the one that is imported."""
        done = subprocess.run([self.python, "-c", _LIST], capture_output=True, text=True, env=self.room.env, check=True)
        listed: dict[str, str] = json.loads(done.stdout)
        return {name.lower().replace("_", "-"): version for name, version in listed.items()}

    def put(self, *wanted: str, index: str = "", by: str = "") -> None:
        """Install what the story begins with, whatever the kind, in the name of the kind's own tool."""
        more = ["--default-index", index] if index else []
        self.room.run(shlex.join(["uv", "pip", "install", "-q", "--python", str(self.python), *more, *wanted]))
        for path in self.prefix.glob("lib/python*/site-packages/*.dist-info/INSTALLER"):
            path.unlink()  # a hard link into uv's cache
            path.write_text(f"{by or ('pip' if self.kind == 'pip' else 'uv')}\n")

    def drop(self, *names: str) -> None:
        self.room.run(shlex.join(["uv", "pip", "uninstall", "-q", "--python", str(self.python), *names]))


def make(room: Room, kind: str, template: Path, name: str = "env") -> Patient:
    """An empty environment. `template`: a folder that keeps pip."""
    prefix = room.folder / name
    if kind == "system":
        _system(prefix)
    elif kind == "conda":
        _system(prefix)
        (prefix / "conda-meta").mkdir()
    elif kind == "pip":
        subprocess.run([BASE, "-m", "venv", "--without-pip", prefix], check=True, env=room.env)
    else:
        seed = ["--seed"] if kind == "uv-seeded" else []
        room.run(shlex.join(["uv", "venv", "-q", "--python", str(BASE), *seed, str(prefix)]))
    if kind in ("pip", "system"):
        for part in _pip(template).iterdir():
            (prefix / "lib" / _LIB / "site-packages" / part.name).symlink_to(part)
    return Patient(room, kind, prefix)


def _system(prefix: Path) -> None:
    """A Python of its own, as a system or conda has it: the interpreter copied, the standard library linked."""
    (prefix / "bin").mkdir(parents=True)
    own = prefix / "lib" / _LIB
    (own / "site-packages").mkdir(parents=True)
    shutil.copy(BASE, prefix / "bin" / _LIB)
    for name in ("python", "python3"):
        (prefix / "bin" / name).symlink_to(_LIB)
    library = Path(sys.base_prefix) / "lib" / _LIB
    kept = {"site-packages", "EXTERNALLY-MANAGED"}
    text = (library / "sysconfig.py").read_text("utf-8")
    if _DEBIANS in text:
        kept |= {"sysconfig.py", "sitecustomize.py", "__pycache__"}
        (own / "sysconfig.py").write_text(text.replace(_DEBIANS, "True"), "utf-8")
        (own / "sitecustomize.py").write_text(
            f"import site\nsite.addsitedir({str(own / 'site-packages')!r})\n", "utf-8"
        )
    for part in library.iterdir():
        if part.name not in kept:
            (own / part.name).symlink_to(part)


_DEBIANS = 'sys.base_prefix != sys.prefix or hasattr(sys, "real_prefix")'
"""Outside of a venv Debian's own Python has its packages in dist-packages, unlike conda's and one built from source."""
_LIB = f"python{sys.version_info[0]}.{sys.version_info[1]}"


def _pip(template: Path) -> Path:
    """A folder with pip as ensurepip brings it: linked into each environment, so that it is compiled once."""
    if not template.exists():
        with zipfile.ZipFile(pip_wheel()) as archive:
            archive.extractall(template)
    return template
