"""The kernel of the driver proof: it does what the CPU computes, none of it is idle, and every ptxas takes it."""

from __future__ import annotations

import random
import re
import subprocess
from array import array
from functools import cache
from pathlib import Path

import pytest

from compat_matrix import Matrix
from doctor.patient.driver_kernel import BLOCKS, PTX, ROUNDS, THREADS, mixed

from ..rows import for_each
from .ptx import run, statements

TEXT = PTX.decode("ascii")
SIZE = 8


def data(blocks: int = 3) -> list[int]:
    """Random numbers, and those at which shifts, carries and roundings turn."""
    edges = [0, 1, 0xFF, 0x100, 0x7FFFFFFF, 0x80000000, 0xFFFFFF00, 0xFFFFFFFF]
    return edges + [random.getrandbits(32) for _ in range((blocks - 1) * SIZE)]


@for_each("rounds", [1, 2, ROUNDS])
def test_the_kernel_computes_what_the_cpu_computes(rounds: int) -> None:
    source, seed = data(), random.getrandbits(32)
    assert run(TEXT, source, seed, rounds, SIZE) == list(mixed(array("I", source), seed, rounds, SIZE))


def test_one_block_of_the_size_that_is_launched() -> None:
    source = [random.getrandbits(32) for _ in range(THREADS)]
    assert run(TEXT, source, 7, ROUNDS, THREADS) == list(mixed(array("I", source), 7, ROUNDS))
    assert f"tile[{THREADS}]" in TEXT and BLOCKS * THREADS == 65536


NEEDED = [line for line in statements(TEXT) if not line.startswith(("cvta", "ret")) and not line.endswith(":")]


@for_each("line", sorted(set(NEEDED)))
def test_no_instruction_is_idle(line: str) -> None:
    """A GPU on which one of them did nothing gives a wrong result (or none)."""
    source, seed = data(), random.getrandbits(32)
    body = "; ".join(word for word in statements(TEXT) if word != line)
    right = list(mixed(array("I", source), seed, ROUNDS, SIZE))
    try:
        wrong = run("{" + body + ";}", source, seed, ROUNDS, SIZE)
    except (KeyError, ValueError, AssertionError):
        return
    assert wrong != right


def test_the_fused_multiply_add_is_rounded_once() -> None:
    """Product and sum rounded one after the other give other bits: a wrong FMA unit is seen."""
    source, seed = data(9), random.getrandbits(32)
    apart = TEXT.replace("fma.rn.f32 a, a, b, c;", "mul.rn.f32 a, a, b; add.rn.f32 a, a, c;")
    assert apart != TEXT
    assert run(apart, source, seed, 1, SIZE) != run(TEXT, source, seed, 1, SIZE)


def test_results_depend_on_every_bit_that_goes_in() -> None:
    source, seed = data(1), random.getrandbits(32)
    right = mixed(array("I", source), seed, ROUNDS, SIZE)
    for bit in range(32):
        other = [value ^ 1 << bit if i == 3 else value for i, value in enumerate(source)]
        assert mixed(array("I", other), seed, ROUNDS, SIZE)[3] != right[3]
        assert mixed(array("I", source), seed ^ 1 << bit, ROUNDS, SIZE) != right


def directive(name: str) -> str:
    found = re.search(rf"^\.{name} (?:sm_)?([\d.]+)$", TEXT, re.M)
    assert found
    return found[1]


def test_every_driver_since_450_runs_its_target() -> None:
    """The target is no newer than the oldest architecture of any branch of drivers."""
    branches = [row for row in Matrix.load().rows("drivers") if row.branch >= 450]
    assert len(branches) > 10
    for row in branches:
        assert int(row.min_compute_capability.replace(".", "")) >= int(directive("target")), row.branch


@cache
def known(prefix: str) -> list[str]:
    """Architectures that the local ptxas names."""
    words = subprocess.run(["ptxas", "--help"], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(rf"'({prefix}_\d+[a-z]?)'", words)))


def assemble(text: str, arch: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "kernel.ptx").write_text(text)
    command = ["ptxas", f"-arch={arch}", "kernel.ptx", "-o", "kernel.cubin"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.nvcc
def test_it_assembles_for_every_architecture(tmp_path: Path) -> None:
    archs = known("sm") + known("compute")
    assert len(known("sm")) >= 5
    said = {arch: assemble(TEXT, arch, tmp_path) for arch in archs}
    assert {arch: (done.returncode, done.stdout + done.stderr) for arch, done in said.items()} == dict.fromkeys(
        archs, (0, "")
    )


@pytest.mark.nvcc
def test_a_newer_target_would_leave_architectures_out(tmp_path: Path) -> None:
    """So the test above can fail: PTX for the newest architecture is refused for the oldest."""
    plain = [arch for arch in known("sm") if arch[-1].isdigit()]
    newest = max(plain, key=lambda arch: int(arch[3:]))
    oldest = min(plain, key=lambda arch: int(arch[3:]))
    text = TEXT.replace(".target sm_30", f".target {newest}").replace(".version 3.0", ".version 9.0")
    assert assemble(text, oldest, tmp_path).returncode != 0


@pytest.mark.nvcc
def test_its_isa_is_the_first_that_knows_its_target(tmp_path: Path) -> None:
    versions = subprocess.run(["ptxas", "--list-version"], capture_output=True, text=True, check=True).stdout.split()
    before = versions[versions.index(directive("version")) - 1]
    done = assemble(TEXT.replace(".version 3.0", f".version {before}"), known("sm")[-1], tmp_path)
    assert done.returncode != 0 and f"does not support .target sm_{directive('target')}" in done.stdout + done.stderr
