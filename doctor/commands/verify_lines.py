"""`resolve -r FILE --verify`: solve the changed file with the user's uv, else pip; nothing is installed or built."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from compat_matrix.resolver import Question

from .write import echo

_TIMEOUT_S = 600
_GLIBC = 34
"""2.34: Ubuntu 22.04, Debian 12 and RHEL 9 have it or a newer one."""
_PLATFORMS = {
    "linux_x86_64": (f"x86_64-manylinux_2_{_GLIBC}", "x86_64"),
    "linux_aarch64": (f"aarch64-manylinux_2_{_GLIBC}", "aarch64"),
    "windows": ("x86_64-pc-windows-msvc", ""),
}
"""Platform of the matrix -> what uv calls it, and the architecture in the tags of its wheels."""


def verify(path: str, before: str, after: str, unsolved: tuple[int, ...], q: Question) -> int:
    """0: the changed file can be solved from wheels alone; 1: it cannot; 3: no solver could be run. Printed on stderr.

    before, after: the text without and with the changes; unsolved: lines of `before` for paths and repositories, which
    are left out because only their own code knows what they need.
    """
    what = "The file" if before == after else "The changed file"
    left_out = [before.splitlines()[number - 1].strip() for number in unsolved]
    for text in left_out:
        echo(f"skipped, because it is not on an index: {text}", err=True)
    folder = Path(path).resolve().parent
    code, last = _solve(_apart(after, left_out, folder), q)
    if code == 0:
        echo(f"{what} can be installed: its indexes have wheels for all packages.", err=True)
    elif code == 1:
        old = 0 if before == after else _solve(_apart(before, left_out, folder), q)[0]
        also = " It could not be installed before the changes either." if old == 1 else ""
        echo(f"{what} cannot be installed.{also}", err=True)
    echo(last, err=True, nl=bool(last))
    return code


def _apart(text: str, left_out: list[str], folder: Path) -> str:
    """The text for a temporary folder: without these lines, and with whole paths."""

    def absolute(found: re.Match[str]) -> str:
        return found[0] if "://" in found[2] else f"{found[1]}{folder / found[2]}"

    rows = [row for row in text.splitlines() if row.strip() not in left_out]
    options = r"^(\s*(?:-r|-c|-f|--requirement|--constraint|--find-links)[\s=]+)(\S+)"
    return "\n".join(re.sub(options, absolute, row) for row in rows) + "\n"


def _solve(text: str, q: Question) -> tuple[int, str]:
    """(0, '') solved; (1, why) not; (3, why) not tried."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text(text, "utf-8")
        command = _command(folder, q)
        echo(f"$ {shlex.join(command)}", err=True)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, cwd=folder,
                env={**os.environ, "NO_COLOR": "1"},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return 3, f"could not be tried: {error}"
    if done.returncode == 0:
        return 0, ""
    return 1, "\n".join((done.stderr or done.stdout).strip().splitlines()[-6:])


def _command(folder: str, q: Question) -> list[str]:
    uv_platform, arch = _PLATFORMS[q.platform]
    python = q.python.rstrip("t")
    version = ["--python-version", python] if python else []
    if shutil.which("uv"):
        return [
            *("uv", "pip", "compile", "--quiet", "--no-header", "--only-binary", ":all:"),
            *("--index-strategy", "unsafe-best-match"),  # as pip treats indexes, which most files are written for
            *("--python", sys.executable, "--no-python-downloads"),  # it solves for any Python; else uv downloads one
            *("--python-platform", uv_platform, *version, "requirements.txt"),
        ]
    tags = [f"manylinux_2_{minor}_{arch}" for minor in range(_GLIBC, 4, -1)] if arch else ["win_amd64"]
    tags += [f"manylinux2014_{arch}"] if arch else []  # pip adds manylinux2010 and manylinux1, but no older 2_x
    return [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", os.devnull, "--only-binary"),
        *(":all:", *(word for tag in tags for word in ("--platform", tag)), *version, "--target", folder),
        *("-r", "requirements.txt"),
    ]
