"""A real virtual environment with a torch that computes nothing, for what is examined from outside."""

from __future__ import annotations

import json
import shutil
import venv
from pathlib import Path

from ..scenarios.torch_build import distribution

FAKE = Path(__file__).parents[1] / "scenarios" / "fake_torch.py"
VERSION = "2.8.0+cpu"


def with_torch(folder: Path, version: str = VERSION, copies: bool = False) -> Path:
    """The prefix of a new venv; `copies`: with a copy of the interpreter instead of a link to it."""
    venv.EnvBuilder(symlinks=not copies).create(folder)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    package = site / "torch"
    package.mkdir()
    shutil.copy(FAKE, package / "__init__.py")
    (package / "version.py").write_text(f"__version__ = {version!r}\ndebug = False\ncuda = None\nhip = None\n")
    (package / "build.json").write_text(json.dumps({"archs": [], "nccl": None, "cudnn": None}))
    distribution(site, "torch", version)
    return folder
