"""A copy of this checkout with its own environment, where changed code can run without harm to the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

ROOT = Path.cwd()
"""The checkout that is meant: this is started in its folder."""


def copy_checkout(folder: Path) -> Path:
    """The files of the checkout as they are now, committed or not, in `folder`, which must not exist yet.

    Its `.venv` has this environment's packages, but its own gpudoctor: no test can import the checkout by accident.
    """
    git = ["git", "-C", str(ROOT)]
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(folder)], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["git", "-C", str(folder), "checkout", "-q", "--detach", head], check=True)
    changes = subprocess.run([*git, "diff", "--binary", "HEAD"], capture_output=True, check=True).stdout
    if changes:
        subprocess.run(["git", "-C", str(folder), "apply", "-"], input=changes, check=True)
    new = subprocess.run([*git, "ls-files", "-oz", "--exclude-standard"], capture_output=True, check=True).stdout
    for name in filter(None, new.decode().split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    _make_environment(folder)
    return folder


def _make_environment(folder: Path) -> None:
    venv, ours = folder / ".venv", Path(sys.prefix)
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", "--symlinks", str(venv)], check=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(venv)}))
    # A path of a .pth file is not searched for further .pth files: the editable install of the checkout is left out.
    (packages / "copy.pth").write_text(f"{folder}\n{sysconfig.get_path('purelib')}\n", "utf-8")
    for script in (ours / "bin").iterdir():
        there = venv / "bin" / script.name
        if there.exists() or there.is_symlink() or not script.is_file():
            continue
        with open(script, "rb") as opened:
            script_of_python = opened.readline().startswith(f"#!{ours}/bin/python".encode())
        if script_of_python:
            text = script.read_text("utf-8")
            there.write_text(text.replace(f"#!{ours}/bin/", f"#!{venv}/bin/", 1), "utf-8")
            there.chmod(0o755)
        else:
            there.symlink_to(script)


def python_of(folder: Path) -> str:
    return str(folder / ".venv" / "bin" / "python")


_CAGE = """
mount --bind "$1" "$1"
mount -o remount,bind,ro /
shift
exec "$@"
"""


def isolation(writable: Path) -> tuple[str, ...]:
    """The command that keeps a run to itself: it sees its own processes alone and can write nowhere but in this folder.

    What a changed `kill` or `rmtree` then does, it does to the copy. Empty where this machine has no unshare, or no
    right to it.
    """
    return (*_unshare(), "sh", "-ec", _CAGE, "sh", str(writable)) if _unshare() else ()


@cache
def _unshare() -> tuple[str, ...]:
    command = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    for rights in ((), ("--user", "--map-root-user")):
        try:
            attempt = [*command, *rights, "sh", "-ec", _CAGE, "sh", "/tmp", "true"]
            if not subprocess.run(attempt, capture_output=True, check=False).returncode:
                return (*command, *rights)
        except OSError:
            break
    return ()


def environment(**more: str) -> dict[str, str]:
    """This process's variables, without what points to this environment."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
    return {**{key: value for key, value in os.environ.items() if key not in dropped}, **more}
