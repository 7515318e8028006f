"""Near and far: copies from and to host memory of the GPU's NUMA node, and of another one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.patient.speed_nodes import Nodes, cpus_of
from doctor.probes.measured import parse_measured
from doctor.snapshot import Rate, known

from ..judging import report
from ..judging import run as judged
from .fake_site import run
from .proving import environment, variables
from .stories import BOARDS, changed, proven, rates

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="one core: nothing to be bound to")


def sysfs(root: Path, nodes: dict[int, str], gpu_node: str, address: str = "0000:18:00.0") -> Path:
    """A folder with nodes (number to cpulist) and one GPU."""
    for node, cpus in nodes.items():
        folder = root / f"sys/devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus + "\n")
        (folder / "distance").write_text(" ".join("10" if n == node else f"{20 + n}" for n in sorted(nodes)) + "\n")
    device = root / "sys/bus/pci/devices" / address
    device.mkdir(parents=True)
    (device / "numa_node").write_text(gpu_node + "\n")
    (device / "local_cpulist").write_text(nodes.get(int(gpu_node), "") + "\n")
    return root


@pytest.fixture(scope="module")
def speedy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("speedy"), "speed")


def copies(fakes: Path, speedy: Path, folder: Path, root: Path, **told: Any) -> dict[str, Rate]:
    env = variables(fakes, folder, "h200x8", {"gpus": "1", "gpu.0.pci.bus": "0000:18:00.0"}, devices=1, **told)
    only = "copy h2d-pinned,copy d2h-pinned,copy h2d-pageable"
    result = run(
        "torch_speed", env, "--device", "cuda:0", "--root", str(root), "--only", only, python=str(speedy / "bin/python")
    )
    measured = parse_measured({"torch_speed": [result]}, {"level": "quick", "device": "cuda"})
    assert not measured.ended and all(copy.right for copy in known(measured.copies) or ())
    assert {copy.what for copy in known(measured.copies) or ()} == {rate.what for rate in known(measured.rates) or ()}
    return {rate.what: rate for rate in known(measured.rates) or ()}


@pytest.mark.slow
def test_near_and_far_are_both_measured(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    near, far = CORES[1], CORES[0]  # the first is where nothing is bound
    root = sysfs(tmp_path / "root", {0: str(far), 1: str(near)}, "1")
    found = copies(fakes, speedy, tmp_path, root, far_cpus=[far], far_share=0.5)
    assert list(found) == ["h2d-pinned", "h2d-far", "d2h-pinned", "d2h-far", "h2d-pageable"]
    share = {what: rate.value / 55 for what, rate in found.items()}  # a busy machine takes some of it
    assert all(0.3 < share[what] < 0.6 for what in ("h2d-far", "d2h-far")), share
    assert all(0.75 < share[what] < 1.05 for what in ("h2d-pinned", "d2h-pinned", "h2d-pageable")), share
    nodes = {what: (rate.detail["gpu_node"], rate.detail["host_node"]) for what, rate in found.items()}
    assert nodes == {**dict.fromkeys(found, (1, 1)), "h2d-far": (1, 0), "d2h-far": (1, 0)}


@pytest.mark.slow
def test_one_node_is_measured_as_it_is(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    found = copies(fakes, speedy, tmp_path, sysfs(tmp_path / "root", {0: f"{CORES[0]}-{CORES[-1]}"}, "0"))
    assert list(found) == ["h2d-pinned", "d2h-pinned", "h2d-pageable"] and "gpu_node" not in found["h2d-pinned"].detail


@pytest.mark.slow
def test_a_node_without_an_allowed_core_is_told(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    here, never = f"{CORES[0]}-{CORES[-1]}", "4000"
    found = copies(fakes, speedy, tmp_path, sysfs(tmp_path / "root", {0: here, 1: never}, "1"))
    assert (found["h2d-pinned"].detail["gpu_node"], found["h2d-pinned"].detail["host_node"]) == (1, -1)


def test_the_farthest_node_and_what_cannot_be_read(tmp_path: Path) -> None:
    root = sysfs(tmp_path / "root", {0: str(CORES[0]), 2: str(CORES[1]), 3: str(CORES[1])}, "0")
    nodes = Nodes.__new__(Nodes)
    nodes.root, nodes.near, nodes.far = str(root), 0, -1
    assert [nodes.distance(node) for node in (0, 2, 3, 7)] == [10, 22, 23, 0]
    assert cpus_of("0-2,8") == {0, 1, 2, 8} and cpus_of("") == cpus_of("x,1-") == set()
    empty = Nodes(0, str(tmp_path / "nothing"))
    assert (empty.near, empty.far) == (-1, -1)
    with empty.bound(-1) as bound:
        assert not bound


def test_a_sound_far_link_is_never_a_warning() -> None:
    b = BOARDS["h100"]
    near = {"mib": 128, "gpu_node": 1, "host_node": 1}
    far = Rate(kind="copy", device="cuda:0", what="h2d-far", value=12.0, unit="GB/s", detail={**near, "host_node": 0})
    own = tuple(replace(r, detail=near) if r.what == "h2d-pinned" else r for r in rates(b))
    s = proven(b, rates=(*own, far))
    assert report(s).verdict == "pass" and judged("h2d-below-range", s) == ("pass", "", [])
    slow = tuple(replace(r, value=15.0) if r.what == "h2d-pinned" else r for r in own)
    assert judged("h2d-below-range", changed(s, rates=slow))[0] == "warn"
    elsewhere = tuple(replace(r, detail={**near, "host_node": -1}) if r.what == "h2d-pinned" else r for r in slow)
    status, _, (finding,) = judged("h2d-below-range", changed(s, rates=elsewhere))
    assert (status, finding.severity) == ("pass", "info") and "NUMA node 1" in finding.detail
