"""Planted faults among many harmless changes: `compare` names what was planted, and only that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from benchmarks import case_file
from doctor.compare.atoms import Atom
from doctor.compare.explain import Unit, smallest
from doctor.findings import Policy
from doctor.fleet.facts import field_of
from doctor.report.compare_words import fact_text
from doctor.snapshot import CodeLibrary, CodeSection, Distribution, EnvVar, Missing, Snapshot, known

from ..healthy import healthy
from ..rows import Faults, for_each
from ..scenarios.fact_cases import FOLDER, cases, changed
from ..torches import not_asked, with_torch
from .machines import COUNT, SITE, answer, harmless, named

PAIRS = 20


class Planted(msgspec.Struct, frozen=True):
    """A fault: the machine that it is planted in, its facts by path, and the policy to judge by."""

    name: str
    gpus: tuple[str, ...]
    container: bool
    facts: dict[str, object]
    policy: Policy


@cache
def planted() -> tuple[Planted, ...]:
    """Every scenario machine that is told from a sound one by facts (not by measurements) and on which a check finds
    what it does not find on the sound one."""
    rows = case_file.read(FOLDER.with_suffix(".jsonl"))
    policies = {case.name: case.policy for case in cases()}
    return tuple(
        Planted(name, tuple(row["gpus"]), row.get("container", False), row["facts"], policies[name])
        for name, row in rows.items()
        if not {"measured", "target.kind"} & row["facts"].keys()  # what was measured, and what somebody wrote
    )


def broken(s: Snapshot, facts: dict[str, object]) -> Snapshot:
    return msgspec.convert(changed(msgspec.to_builtins(s), facts), Snapshot, strict=False)


def wrongly_named(one: Planted, seed: int) -> list[str]:
    """What an explanation names that was not planted, and findings that are not explained; of one planted fault among
    harmless changes."""
    base = healthy(*one.gpus, container=one.container)
    before, after, paths = harmless(base, seed)
    found = answer(before, _after(after, one, base), one.policy)
    wrong = []
    for finding in found.appeared:
        facts = named(finding)
        wrong += [f"{finding.id} is not explained"] if not facts else []
        wrong += [
            f"{finding.id}: {fact.path}"
            for fact in facts
            if not _is_planted(fact.path, one) or fact.path in paths - one.facts.keys()
        ]
    return wrong


def _after(after: Snapshot, one: Planted, base: Snapshot) -> Snapshot:
    """The machine with harmless changes and the fault: a list keeps what harmless changes added."""
    spoilt = broken(base, one.facts)
    for path in one.facts:
        value = spoilt.fact(path)
        if path in ("host.environment", "python.distributions") and isinstance(value, tuple):
            was = base.fact(path)
            more = [item for item in after.fact(path) if item not in was]
            value = (*value, *more)
        elif path == "gpus" and isinstance(value, tuple):
            value = tuple(_gpu(gpu, after) for gpu in value)
        after = after.replace({path: value})
    return after


def _gpu(gpu: object, after: Snapshot) -> object:
    like = (known(after.gpus) or (None,))[0]
    names = ("vbios", "temperature_slowdown_c", "clock_sm_max_mhz")
    own = {} if like is None else {name: getattr(like, name) for name in names}
    return replace(gpu, **own)  # type: ignore[type-var]


def _is_planted(path: str, one: Planted) -> bool:
    field = field_of(path)
    return any(field == name or field.startswith(f"{name}.") for name in one.facts)


def test_enough_faults_are_there() -> None:
    assert len(planted()) > 300


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_one_planted_fact_among_thirty_is_named_alone(seed: int) -> None:
    """A few of them; `test_every_planted_fault` has all."""
    lone = [one for one in planted() if len(one.facts) == 1]
    with Faults() as faults:
        for number, one in enumerate(Random(seed).sample(lone, PAIRS)):
            with faults.of(f"{one.name}, seed {number}"):
                assert not wrongly_named(one, number)


@pytest.mark.slow
def test_every_planted_fault() -> None:
    with Faults() as faults:
        for number, one in enumerate(planted()):
            with faults.of(f"{one.name}, seed {number}"):
                assert not wrongly_named(one, number)


def test_what_breaks_nothing_is_no_explanation() -> None:
    with Faults() as faults:
        for seed in range(10):
            with faults.of(f"seed {seed}"):
                before, after, paths = harmless(healthy("h100", "h100", container=seed % 2 == 0), seed)
                found = answer(before, after)
                assert not found.matters and not found.appeared and not found.cured and found.exit_code == 0
                seen = {fact.path for fact in found.facts}
                seen |= {f"python.distributions[{one.name}]" for one in found.packages}
                assert len(paths) == COUNT and paths <= seen
                back = answer(after, before)
                assert not back.matters and {f.path for f in back.facts} == {f.path for f in found.facts}


H100 = healthy("h100")


def with_version(s: Snapshot, name: str, version: str) -> Snapshot:
    found = known(s.python.distributions) or ()
    return s.replace(
        {"python.distributions": tuple(replace(d, version=version) if d.name == name else d for d in found)}
    )


def with_extension(s: Snapshot) -> Snapshot:
    """bitsandbytes, built for GPUs up to Hopper."""
    library = CodeLibrary(
        path=f"{SITE}/bitsandbytes/libbitsandbytes_cuda128.so",
        package="bitsandbytes",
        sass=("8.0", "8.6", "9.0"),
        sections=(CodeSection(section=".nv_fatbin", containers=4),),
    )
    package = Distribution(name="bitsandbytes", version="0.45.0", location=SITE)
    packages = known(s.python.distributions) or ()
    return s.replace({"python.extensions": (library,), "python.distributions": (*packages, package)})


def with_requirement(s: Snapshot) -> Snapshot:
    return s.replace({"container.requirements": (EnvVar("NVIDIA_REQUIRE_CUDA", "driver>=570"),)})


NUMPY_1 = with_version(H100, "numpy", "1.26.4")
TORCH_2_2 = with_torch(H100, "2.2.0", "cu121")
BOX, OLD_DRIVER = not_asked(healthy("h100", container=True)), {"driver": "535.183.01", "cuda": "12.2"}
TWO = {
    "a CUDA 13 build and an older driver": (
        not_asked(H100),
        not_asked(with_torch(H100, "2.9.1", "cu130")),
        not_asked(healthy("h100", **OLD_DRIVER)),  # type: ignore[arg-type]
        not_asked(with_torch(healthy("h100", **OLD_DRIVER), "2.9.1", "cu130")),  # type: ignore[arg-type]
        ("torch", "driver."),
    ),
    "an older build and a newer GPU": (
        not_asked(H100),
        not_asked(with_torch(H100, "2.6.0", "cu124")),
        not_asked(healthy("rtx5090")),
        not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124")),
        ("python.distributions[torch]", "gpus."),
    ),
    "NumPy 2 and a torch built with NumPy 1": (
        NUMPY_1,
        with_version(TORCH_2_2, "numpy", "1.26.4"),
        with_version(NUMPY_1, "numpy", "2.2.6"),
        with_version(TORCH_2_2, "numpy", "2.2.6"),
        ("torch.", "python.distributions[numpy]"),
    ),
    "an extension without code and a newer GPU": (
        H100,
        with_extension(H100),
        healthy("rtx5090"),
        with_extension(healthy("rtx5090")),
        ("python.extensions", "gpus."),
    ),
    "an image's requirement and an older driver": (
        BOX,
        with_requirement(BOX),
        not_asked(healthy("h100", container=True, **OLD_DRIVER)),  # type: ignore[arg-type]
        with_requirement(not_asked(healthy("h100", container=True, **OLD_DRIVER))),  # type: ignore[arg-type]
        ("container.requirements", "driver."),
    ),
}
"""Sound, with one change, with the other, with both; and the beginnings of the paths that both have to name."""


@for_each("name", list(TWO))
def test_two_changes_that_break_it_only_together_are_both_named(name: str) -> None:
    sound, one, other, both, paths = TWO[name]
    assert not answer(sound, one).appeared and not answer(sound, other).appeared
    before, after, quiet = harmless(sound, 7)
    lists = ("host.environment", "python.distributions")
    more = {path: [item for item in after.fact(path) if item not in sound.fact(path)] for path in lists}
    spoilt = both.replace({path: (*both.fact(path), *more[path]) for path in lists})
    spoilt = spoilt.replace(
        {path: after.fact(path) for path in quiet if path.startswith(("host.c", "host.m", "host.o"))}
    )
    found = answer(before, spoilt)
    assert found.appeared and found.exit_code == (1 if any(f.status == "fail" for f in found.appeared) else 0)
    for finding in found.appeared:
        facts = {fact.path for fact in named(finding)}
        assert facts and all(path.startswith(paths) for path in facts), finding
        assert all(any(path.startswith(begin) for path in facts) for begin in paths), finding


def test_an_answer_is_no_explanation_where_a_fact_is() -> None:
    """A driver that was upgraded without a reboot, and device nodes that were closed: not what NVML and cuInit said."""
    number, folder = "580.95.05", "/usr/lib/x86_64-linux-gnu"
    libraries = {
        "driver.nvml_library_version": number,
        "driver.nvml_library_path": f"{folder}/libnvidia-ml.so.{number}",
        "driver.libcuda_version": number,
        "driver.libcuda_path": f"{folder}/libcuda.so.{number}",
    }
    answers = {"driver.nvml_init": 18, "driver.cu_init": 803, "gpus": Missing("error"), "driver.cuda_devices": ()}
    nodes = tuple(replace(n, mode=0o660, readable=False, writable=False) for n in known(BOX.driver.device_nodes) or ())
    closed = {"driver.device_nodes": nodes, "driver.cu_init": 100, "driver.cuda_devices": ()}
    rows = {
        "driver-library-version-mismatch": (
            not_asked(H100),
            {**libraries, **answers},
            ["driver.nvml_library_version", "driver.libcuda_version"],
        ),
        "container-device-permission-denied": (BOX, closed, ["driver.device_nodes[/dev/nvidia0].mode"]),
    }
    with Faults() as faults:
        for name, (sound, changes, paths) in rows.items():
            with faults.of(name):
                before, after, _ = harmless(sound, 3)
                (finding,) = answer(before, after.replace(changes)).appeared
                assert (finding.id, finding.explained) == (name, "facts")
                assert [[fact.path for fact in way.facts] for way in finding.ways] == [paths], finding.ways


def test_permissions_are_octal() -> None:
    before, after = BOX, BOX.replace({"driver.device_file_mode": 0o600})
    found = answer(before.replace({"driver.device_file_mode": 0o666}), after)
    assert [fact_text(fact) for fact in found.facts] == ["mode of device nodes: 0666 -> 0600"]


def test_the_smallest_set_is_found_and_nothing_else() -> None:
    """Of many units: exactly what is needed, and of two sets that are each enough the smaller."""
    units = [(Atom(f"host.fact_{number}"),) for number in range(30)]

    def needs(*sets: set[int]) -> Callable[[Iterable[Unit]], bool]:
        def cures(some: Iterable[Unit]) -> bool:
            found = set(some)
            return any({units[number] for number in one} <= found for one in sets)

        return cures

    rng = Random(4)
    with Faults() as faults:
        for size in (1, 2, 3, 5, 9):
            wanted = set(rng.sample(range(30), size))
            with faults.of(f"{sorted(wanted)}"):
                assert set(smallest(units, needs(wanted))) == {units[number] for number in wanted}
        for wanted, other in (({3, 20}, {1, 5, 9}), ({28, 29}, {0, 1, 2}), ({0, 1}, {27, 28, 29}), ({7}, {2, 9})):
            with faults.of(f"{sorted(wanted)} or {sorted(other)}"):
                assert set(smallest(units, needs(other, wanted))) == {units[number] for number in wanted}
