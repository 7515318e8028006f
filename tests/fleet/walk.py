"""A newcomer's walk along a page: the block that follows `<!-- walk -->`, pasted line by line into one folder."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ..cli.command import COMMAND
from ..reaction import HANG_S

INSTALL = "pipx install '.[fleet]'"
"""Carried out by tests/test_readme.py, on a fresh copy."""
PLACES = Path(__file__).parents[2] / "docs" / "places"


def lines_of(page: str) -> list[str]:
    """The commands of the walk, without the install, which comes first."""
    (block,) = re.findall(r"^<!-- walk -->\n```sh\n(.*?)```$", (PLACES / page).read_text("utf-8"), re.S | re.M)
    first, *rest = block.splitlines()
    assert first.startswith(INSTALL)
    return [line.partition("  #")[0].rstrip() for line in rest]


def walked(page: str, folder: Path, env: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """What each line prints; none fails. names: what stands on the page to what this cluster has; env: its own."""
    own = {**env, "PATH": f"{COMMAND.parent}:{env['PATH']}"}
    found: dict[str, str] = {}
    for line in lines_of(page):
        pasted = line
        for there, here in names.items():
            pasted = pasted.replace(there, here)
        done = subprocess.run(
            ["sh", "-c", pasted], env=own, cwd=folder, capture_output=True, text=True, timeout=HANG_S, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), (pasted, done)
        found[line + " again" * (line in found)] = done.stdout
    return found
