"""A sound machine's own spec: it passes there, and fails on every copy with one version changed, naming that one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tomllib
from msgspec.structs import replace

from doctor.commands.run_print_spec import spec_text
from doctor.commands.spec_file import spec_of
from doctor.findings import Policy
from doctor.findings.spec import SpecLine
from doctor.judge import load, run_check
from doctor.snapshot import Distribution, Missing, Snapshot, known

from ..judging import matrix


def printed(s: Snapshot) -> tuple[SpecLine, ...]:
    """The lines of the spec that `print spec` writes for this machine, read as `--spec` reads them."""
    return spec_of("team.toml", tomllib.loads(spec_text(s, matrix(), "a test")))


def names_off(s: Snapshot, spec: tuple[SpecLine, ...]) -> tuple[str, list[str]]:
    """(status of the check, names of the lines that are not met)."""
    found = run_check(load("spec-not-met"), s, matrix(), Policy(spec=spec))
    rows = found.findings[0].facts.get("deviations", ()) if found.findings else ()
    return found.status, [row["name"] for row in rows]


def copies(s: Snapshot, spec: tuple[SpecLine, ...]) -> Iterator[tuple[str, Snapshot]]:
    """(name of the line, the machine with that version alone changed): the number that the line fixes, one higher."""
    for line in spec:
        yield line.name, s.replace(_CHANGES[line.key](s, line))


def faults(s: Snapshot) -> list[str]:
    """What is wrong with this machine's own spec; empty if it is as it should be."""
    spec = printed(s)
    status, names = names_off(s, spec)
    wrong = [] if status == "pass" else [f"its own spec is {status}: {names}"]
    for name, copy in copies(s, spec):
        status, names = names_off(copy, spec)
        if (status, names) != ("fail", [name]):
            wrong.append(f"with another {name}: {status} {names}")
    return wrong


def _higher(version: str, allowed: str) -> str:
    """2.9.1+cu128 as ==2.8.* does not allow it: 2.10."""
    numbers = allowed.removeprefix("==").removesuffix(".*").split(".")
    return ".".join([*numbers[:-1], str(int(numbers[-1]) + 1), *version.split("+")[0].split(".")[len(numbers) :]])


def _facts(s: Snapshot, line: SpecLine, *paths: str) -> dict[str, Any]:
    """Those of the facts that are known, with a higher version."""
    return {path: _higher(fact, line.allowed) for path in paths if isinstance(fact := s.fact(path), str)}


def _library(s: Snapshot, line: SpecLine) -> dict[str, Any]:
    loader = tuple(
        replace(one, version=_higher(one.version, line.allowed))
        if one.name == f"lib{line.key}" and not isinstance(one.version, Missing)
        else one
        for one in known(s.cuda.libraries) or ()
    )
    of_torch = _facts(s, line, f"torch_run.{line.key}_version", f"torch.{line.key}_bundled")
    return {**of_torch, **({} if isinstance(s.cuda.libraries, Missing) else {"cuda.libraries": loader})}


def _gpu(s: Snapshot, line: SpecLine) -> dict[str, Any]:
    """One GPU fewer, or one MIG instance of a GPU alone; where nothing can be taken away, another model."""
    gpus, devices = known(s.gpus) or (), known(s.driver.cuda_devices)
    if len(gpus) > 1:
        return {"gpus": gpus[:-1], **({} if devices is None else {"driver.cuda_devices": devices[:-1]})}
    parts = known(gpus[0].mig_instances) or ()
    if len(parts) > 1:
        return {"gpus": (replace(gpus[0], mig_instances=parts[:-1]),)}
    changes: dict[str, Any] = {"gpus": tuple(replace(one, name=_OTHER) for one in gpus)}
    if devices is not None:
        changes["driver.cuda_devices"] = tuple(replace(one, name=_OTHER) for one in devices)
    return changes


_OTHER = "NVIDIA GeForce GTX 970"


def _package(s: Snapshot, line: SpecLine) -> dict[str, Any]:
    every = known(s.python.distributions) or ()
    changed = [
        replace(d, version=_higher(d.version, line.allowed)) if d.name == line.package else d
        for d in every
        if isinstance(d, Distribution)
    ]
    return {"python.distributions": tuple(changed)}


_CHANGES: dict[str, Any] = {
    "torch": lambda s, line: _facts(s, line, "torch.version"),
    "driver": lambda s, line: _facts(s, line, "driver.kernel_version", "driver.nvml_driver_version"),
    "cuda": lambda s, line: _facts(
        s, line, *(("torch.cuda",) if known(s.torch.version) else ("cuda.nvcc_version", "container.image_cuda"))
    ),
    "cudnn": _library,
    "nccl": _library,
    "python": lambda s, line: _facts(s, line, "python.patient.version"),
    "gpu": _gpu,
    "os": lambda s, line: {"host.os_version": "1.0"},
    "package": _package,
}
