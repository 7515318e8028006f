"""Ten real logs of 100 kB and more, which any Linux machine with Python writes and which hold no personal names.

What is masked in them is masked too much. Each is what a command printed just now, whole lines of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LEAST, _MOST = 100_000, 400_000
_IMPORTS = (
    "import asyncio, email.mime.text, http.server, json, logging.config, sqlite3, unittest.mock, xml.dom.minidom, "
    "pip._internal.cli.main, multiprocessing.pool, concurrent.futures, urllib.request, ctypes, tarfile"
)
_PYTHON = (sys.executable, "-c", _IMPORTS)
_COLLECT = (sys.executable, "-m", "pytest", "--collect-only", "-n", "0", "tests/text", "tests/checks", "tests/fit")
_RUFF = (sys.executable, "-m", "ruff", "check", "--no-cache", "--verbose", "--show-files")
_PACKAGES = "${Package} ${Version} ${Architecture} ${Installed-Size} ${Depends}\\n"
_OFTEN = f"{_IMPORTS}; import os; [os.system('true') for _ in range(300)]"
_MACROS = "echo '#include <stdio.h>\n#include <math.h>' | gcc -E -dD -v -x c -"
_SUMS = "find /usr/lib /usr/share -type f -size -9k | head -3000 | xargs sha256sum"
_COMMANDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "imports, verbose": ((sys.executable, "-v", "-c", _IMPORTS), {}),
    "the dynamic linker's bindings": (_PYTHON, {"LD_DEBUG": "bindings"}),
    "the dynamic linker's search": ((sys.executable, "-c", _OFTEN), {"LD_DEBUG": "libs"}),
    "a listing with owners": (("ls", "-lR", "/usr/lib", "/usr/share", "/etc"), {}),
    "a listing with sizes": (("find", "/usr/lib", "/usr/share", "-ls"), {}),
    "tests, collected": (_COLLECT, {}),
    "a linter's settings and files": (_RUFF, {"RUST_LOG": "debug"}),
    "symbols of libraries": (("sh", "-c", "cat /usr/lib/*/libstdc++.so.6 | strings -n 8"), {}),
    "bytecode, disassembled": ((sys.executable, "-m", "dis", "tests/test_docs.py"), {}),
    "system calls": (("strace", "-f", *_PYTHON), {}),
    "options of a compiler": (("gcc", "-v", "--help"), {}),
    "macros of a compiler": (("sh", "-c", _MACROS), {}),
    "installed packages": (("dpkg-query", "-W", "-f", _PACKAGES), {}),
    "checksums of files": (("sh", "-c", _SUMS), {}),
}
"""More than ten, for not every machine has each program."""


def big_logs() -> Iterator[tuple[str, str]]:
    """Name and text of each log that this machine can write."""
    for name, (command, variables) in _COMMANDS.items():
        environment = {**os.environ, **variables}
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, env=environment, timeout=300, check=False)
        except OSError:
            continue
        text = (done.stdout + done.stderr)[:_MOST].decode("utf-8", "replace")
        if len(text) >= _LEAST:
            yield name, text[: text.rfind("\n") + 1]
