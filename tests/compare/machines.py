"""Pairs of machines: one that is sound, and the same with many harmless changes and what somebody planted."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from doctor.commands.assess import load_known
from doctor.compare.answer import Comparison, FactChange, FindingChange, Side
from doctor.compare.compare import Question, compare
from doctor.findings import Policy
from doctor.snapshot import Distribution, EnvVar, Snapshot, known

from ..healthy import healthy
from ..judging import POLICY, matrix, report
from ..torches import not_asked, with_torch

SITE = "/opt/venv/lib/python3.11/site-packages"
_VARIABLES = ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "LANG", "TZ", "EDITOR", "WANDB_MODE", "HF_HOME", "TMPDIR",
              "PYTHONUNBUFFERED", "NCCL_DEBUG", "MKL_NUM_THREADS", "TRITON_CACHE_DIR")  # fmt: skip
_PACKAGES = ("requests", "rich", "pandas", "scipy", "pillow", "tqdm", "pyyaml", "einops", "click", "jinja2", "sympy",
             "regex", "psutil", "aiohttp")  # fmt: skip
_FIELDS: dict[str, tuple[Any, Any]] = {
    "host.kernel": ("6.8.0-45-generic", "6.8.0-51-generic"),
    "host.os_name": ("Ubuntu 22.04.4 LTS", "Ubuntu 22.04.5 LTS"),
    "host.cpu_cores": (32, 48),
    "host.cpu_model": ("AMD EPYC 9554", "AMD EPYC 9654"),
    "host.memory_total_mib": (515_000, 600_000),
    "host.shm_mib": (64_000, 96_000),
    "host.open_files": (1_048_576, 524_288),
    "host.chassis": ("server", "rack"),
    "engines.toolkit_version": ("1.17.4", "1.17.8"),
    "python.chosen_because": ("VIRTUAL_ENV", "--python"),
    "python.patient.ensurepip": (False, True),
    "cuda.gcc_version": ("11.4.0", "12.3.0"),
}
"""Path to its value before and after."""
_OF_GPUS: dict[str, tuple[Any, Any]] = {
    "vbios": ("96.00.74.00.01", "96.00.99.00.01"),
    "temperature_slowdown_c": (87, 90),
    "clock_sm_max_mhz": (1965, 1980),
}
COUNT = 29


def harmless(s: Snapshot, seed: int, count: int = COUNT) -> tuple[Snapshot, Snapshot, set[str]]:
    """(before, after, paths): a machine with other variables, packages and limits, none of which breaks anything."""
    rng = Random(seed)
    kinds = [
        *(("variable", name) for name in _VARIABLES),
        *(("package", name) for name in _PACKAGES),
        *(("field", name) for name in _FIELDS),
        *(("gpu", name) for name in _OF_GPUS),
    ]
    variables = list(known(s.host.environment) or ())
    packages = list(known(s.python.distributions) or ())
    old_variables, old_packages = list(variables), list(packages)
    fields: list[str] = []
    of_gpus: list[str] = []
    paths = set()
    for kind, name in rng.sample(kinds, count):
        how = rng.choice(("changed", "appeared", "gone"))
        if kind == "variable":
            old_variables += [EnvVar(name, "1")] if how != "appeared" else []
            variables += [EnvVar(name, "2")] if how != "gone" else []
            paths.add(f"host.environment[{name}]")
        elif kind == "package":
            old_packages += [Distribution(name=name, version="1.0", location=SITE)] if how != "appeared" else []
            packages += [Distribution(name=name, version="1.1", location=SITE)] if how != "gone" else []
            paths.add(f"python.distributions[{name}]")
        elif kind == "gpu":
            of_gpus.append(name)
            paths.add(f"gpus.{name}")
        else:
            fields.append(name)
            paths.add(name)
    lists = (old_variables, old_packages), (variables, packages)
    sides = []
    for after, (some, others) in enumerate(lists):
        changes = {name: _FIELDS[name][after] for name in fields}
        own = {name: _OF_GPUS[name][after] for name in of_gpus}
        if known(s.gpus):
            changes["gpus"] = tuple(replace(gpu, **own) for gpu in known(s.gpus) or ())
        changes |= {"host.environment": tuple(some), "python.distributions": tuple(others)}
        sides.append(s.replace(changes))
    return sides[0], sides[1], paths


def upgraded() -> tuple[Snapshot, Snapshot]:
    """A sound machine, and the same after an upgrade of its packages to a torch that its driver is too old for."""
    old = not_asked(with_torch(healthy("h100", "h100", driver="550.163.01", cuda="12.4"), "2.6.0", "cu124"))
    new = not_asked(with_torch(healthy("h100", "h100", driver="550.163.01", cuda="12.4"), "2.11.0", "cu130"))
    sides = []
    for s, numpy, kernel in ((old, "1.26.4", "6.8.0-45-generic"), (new, "2.2.6", "6.8.0-51-generic")):
        packages = known(s.python.distributions) or ()
        found = tuple(replace(one, version=numpy) if one.name == "numpy" else one for one in packages)
        found += (Distribution(name="einops", version="0.8.1", location=SITE),) if s is new else ()
        variables = (EnvVar("NCCL_DEBUG", "INFO"),) if s is new else ()
        sides.append(s.replace({"python.distributions": found, "host.kernel": kernel, "host.environment": variables}))
    return sides[0], sides[1]


def answer(old: Snapshot, new: Snapshot, policy: Policy = POLICY) -> Comparison:
    """What `compare` says of two machines."""
    before, after = report(old, policy), report(new, policy)
    sides = [
        Side(name=name, gathered_at="", machine="", verdict=one.verdict, unknown=())
        for name, one in (("old", before), ("new", after))
    ]
    return compare(
        Question(
            old=sides[0],
            new=sides[1],
            before=before,
            after=after,
            typed=new,
            matrix=matrix(),
            load=load_known,
            is_ignored=lambda fact: False,
            redacted=True,
        )
    )


def named(one: FindingChange) -> list[FactChange]:
    """All facts that an explanation names."""
    return [fact for way in one.ways for fact in way.facts]
