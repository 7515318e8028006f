"""`resolve --python VERSION` on a machine with a GPU: a version to resolve for, not an environment to look at."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import gpudoctor, one_line
from ..rows import Faults

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
FORMS = {
    "a version": ["--python", "3.11"],
    "with =": ["--python=3.11"],
    "a patch release": ["--python", "3.11.9"],
    "a driver": ["--driver", "535", "--python", "3.11"],
    "a package": ["vllm", "--python", "3.11"],
    "free threading": ["--python", "3.13t"],
    "this Python's own": ["--python", OWN],
    "another system": ["--os", "linux", "--arch", "aarch64", "--python", "3.12"],
}


@pytest.mark.slow
def test_every_form_on_a_machine_with_a_gpu(on_machine: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    env = on_machine("healthy-h100")
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")

    def answer(*words: str) -> dict[str, Any]:
        done = gpudoctor("resolve", *words, "--format", "json", env=env, cwd=tmp_path)
        assert done.returncode == 0, done
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    with Faults() as faults:
        for name, words in {**FORMS, "a file": ["-r", "requirements.txt", "--python", "3.11"]}.items():
            with faults.of(name):
                wanted = words[-1].removeprefix("--python=").removesuffix(".9")
                assert answer(*words)["machine"]["python"] == wanted
        with faults.of("a wheel for it"):
            best = answer("--python", "3.9")["candidates"][0]
            assert best == answer("--gpu", "H100", "--driver", "580.82.07", "--python", "3.9")["candidates"][0]
        with faults.of("the Python face"):
            ask = "import gpudoctor; print(gpudoctor.resolve(python='3.11').best.torch)"
            subprocess.run([sys.executable, "-c", ask], env=env, check=True, capture_output=True, timeout=60)
        for wrong in ("three", "2.7", "3", "/usr/bin/python3", "python3.12"):
            with faults.of(wrong):
                said = one_line(gpudoctor("resolve", "--python", wrong, env=env))
                assert "is not a Python 3 version, such as 3.12" in said
