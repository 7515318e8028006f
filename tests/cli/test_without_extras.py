"""A plain install, without the extras: what needs one says which, in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dockerfile", "dockerfile_parse", "ruamel", "requests", "docker", "mcp", "anyio"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def test_what_needs_an_extra_names_it(tmp_path: Path) -> None:
    """The packages are hidden from the interpreter, as if pip had not installed them."""
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    (tmp_path / "Dockerfile").write_text("FROM nvidia/cuda:12.8.0-runtime-ubuntu22.04\n")
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    for words, extra in (
        (["dockerfile", "Dockerfile"], "gpudoctor[image]"),
        (["dockerfile", "compose.yaml"], "gpudoctor[image]"),
        (["image", "registry.invalid/x:1"], "gpudoctor[image]"),
        (["mcp"], "gpudoctor[mcp]"),
    ):
        command = [sys.executable, "-m", "gpudoctor", *words]
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in (2, 3) and done.stdout == "", done
        assert done.stderr.count("\n") == 1 and extra in done.stderr and "internal error" not in done.stderr, (
            done.stderr
        )
