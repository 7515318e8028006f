"""A fake NVIDIA driver: real shared libraries in C, answered from a machine's scenario, loaded by LD_LIBRARY_PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent
MACHINES = SOURCES.parent / "machines"
ABSENT = "absent"


def build_fakes(folder: Path) -> Path:
    """Compile `libcuda.so`, `libnvidia-ml.so` and `libnvidia-ml-old.so` (a driver before 450) into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source, flags in (
        ("libcuda.so", "libcuda.c", ["-Wl,-soname,libcuda.so.1"]),
        ("libnvidia-ml.so", "libnvidia_ml.c", ["-Wl,-soname,libnvidia-ml.so.1"]),
        ("libnvidia-ml-old.so", "libnvidia_ml.c", ["-Wl,-soname,libnvidia-ml.so.1", "-DOLD_DRIVER"]),
    ):
        command = [
            "gcc",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-shared",
            "-fPIC",
            *flags,
            "-o",
            name,
            SOURCES / source,
        ]
        subprocess.run(command, cwd=folder, check=True)
    return folder


def read_scenario(text: str) -> dict[str, str]:
    """`key = value` lines; `#` begins a comment line."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.lstrip().startswith("#"))
    return {key.strip(): value.strip() for key, value in pairs}


@dataclass
class Machine:
    """A machine: what its driver answers (scenario) and what its files say. See machines/README.md."""

    name: str
    scenario: dict[str, str]
    files: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, name: str) -> Machine:
        """A machine of tests/machines by its folder's name."""
        folder = MACHINES / name
        files = json.loads((folder / "files.json").read_text("utf-8"))
        return cls(name, read_scenario((folder / "scenario.txt").read_text("utf-8")), files)

    def with_(self, **changes: str) -> Machine:
        """A copy with scenario keys changed; `__` in a name stands for a dot (fail__cuInit="hang")."""
        changed = {key.replace("__", "."): value for key, value in changes.items()}
        return Machine(self.name, {**self.scenario, **changed}, self.files)

    def install(self, fakes: Path, folder: Path, old: bool = False) -> dict[str, str]:
        """Put the driver libraries into a folder, named as a driver of this version names them.

        Returns what the environment needs beside its own variables. `nvml.library` and `cuda.library` in the scenario
        are the versions in the files' names (default: the driver's), or `absent`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        driver = self.scenario.get("driver.version", "580.82.07")
        for key, soname, built in (
            ("nvml.library", "libnvidia-ml.so", "libnvidia-ml-old.so" if old else "libnvidia-ml.so"),
            ("cuda.library", "libcuda.so", "libcuda.so"),
        ):
            version = self.scenario.get(key, driver)
            if version != ABSENT:
                shutil.copy(fakes / built, folder / f"{soname}.{version}")
                if version != "1":
                    (folder / f"{soname}.1").symlink_to(f"{soname}.{version}")
        text = folder / "scenario.txt"
        text.write_text("".join(f"{key} = {value}\n" for key, value in self.scenario.items()), "utf-8")
        return {"LD_LIBRARY_PATH": str(folder), "GPUDOCTOR_FAKE_SCENARIO": str(text)}

    def environment(self, fakes: Path, folder: Path, old: bool = False, **more: str) -> dict[str, str]:
        """A whole environment for a child on this machine: ours, without what would change the driver's answers."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "NVIDIA_", "LD_", "GPUDOCTOR_"))}
        return {**clean, **self.install(fakes, folder, old), **more}


def machine_names() -> list[str]:
    """Names of all machines."""
    return sorted(path.parent.name for path in MACHINES.glob("*/scenario.txt"))
