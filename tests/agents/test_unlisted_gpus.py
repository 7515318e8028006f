"""The agent that asks the kernel about GPUs that NVML does not list: as a real process, on real devices and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.probes.agents import own_agent
from doctor.probes.unlisted import parse_unlisted, to_ask
from doctor.snapshot import Driver, Missing, Snapshot, UnlistedGpu
from doctor.targets.agent import AgentResult

from .run import DEADLINE_S, SHORT_S, run_agent

ADDRESSES = [f"0000:{bus:02x}:00.0" for bus in range(0x10, 0x17)]
LOG = """6,100,5000000,-;nvidia-nvlink: Nvlink Core is being initialized
3,901,88001122,-;NVRM: GPU at PCI:0000:11:00: GPU-5f3a9c1e-2330-4a5b-8c6d-000000000001
3,902,88001123,-;NVRM: Xid (PCI:0000:11:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
3,903,88001124,-;NVRM: Xid (PCI:0000:10:00): 31, pid=4711, name=python, MMU Fault
"""


def machine(root: Path, log: str | None = LOG) -> Path:
    """A /proc and /dev in which each GPU answers otherwise: devices of this machine stand in for the nodes."""
    (root / "dev").mkdir(parents=True)
    for minor, target in enumerate(("/dev/null", "/dev/tty", "", "/etc/passwd", "/dev/null")):
        if target:
            (root / "dev" / f"nvidia{minor}").symlink_to(target)
    for minor, address in enumerate(ADDRESSES[:6]):
        folder = root / "proc/driver/nvidia/gpus" / address
        folder.mkdir(parents=True)
        text = f"Model: \t\t NVIDIA L4\nBus Location: \t {address}\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n"
        if minor == 4:
            text = text.replace("No\n", "Yes\n")
        (folder / "information").write_text("Model: NVIDIA L4\n" if minor == 5 else text)
    if log is not None:
        (root / "dev" / "kmsg").write_text(log)
    return root


def asked(root: Path, *addresses: str, deadline_s: float = DEADLINE_S) -> tuple[AgentResult, dict[str, UnlistedGpu]]:
    result = run_agent(own_agent("unlisted_gpus", str(root), *addresses), deadline_s)
    found = driver(result).unlisted_gpus
    assert isinstance(found, tuple)
    return result, {gpu.pci_address: gpu for gpu in found}


def driver(result: AgentResult) -> Driver:
    return Snapshot().replace(parse_unlisted(result)[0]).driver


def test_each_answer_becomes_a_fact(tmp_path: Path) -> None:
    result, gpus = asked(machine(tmp_path), *ADDRESSES)
    assert (result.fault, result.returncode) == (None, 0)
    told = [(gpu.node, gpu.opening, gpu.excluded, gpu.fell_off_in_log) for gpu in gpus.values()]
    assert told == [
        ("/dev/nvidia0", "ok", False, False),
        ("/dev/nvidia1", "ENXIO", False, True),
        ("/dev/nvidia2", Missing("absent", "no such node"), False, False),
        ("/dev/nvidia3", "ENOTTY", False, False),
        ("/dev/nvidia4", "ok", True, False),
        (
            Missing("absent", "not reported"),
            Missing("absent", "not reported"),
            Missing("absent", "not reported"),
            False,
        ),
        (Missing("absent", "ENOENT"), Missing("absent", "ENOENT"), Missing("absent", "ENOENT"), False),
    ]
    assert sorted(path.name for path in (tmp_path / "dev").iterdir()) == [
        "kmsg",
        "nvidia0",
        "nvidia1",
        "nvidia3",
        "nvidia4",
    ]


def test_without_a_kernel_log_it_is_not_known(tmp_path: Path) -> None:
    _, gpus = asked(machine(tmp_path, log=None), ADDRESSES[0])
    assert gpus[ADDRESSES[0]].fell_off_in_log == Missing("absent", "ENOENT")


@pytest.mark.slow
def test_a_driver_that_does_not_answer_costs_only_what_comes_after(tmp_path: Path) -> None:
    path = machine(tmp_path) / "proc/driver/nvidia/gpus" / ADDRESSES[1] / "information"
    path.unlink()
    os.mkfifo(path)
    result, gpus = asked(tmp_path, *ADDRESSES[:2], deadline_s=SHORT_S)
    assert result.fault == "hang"
    assert gpus[ADDRESSES[0]].node == "/dev/nvidia0" and gpus[ADDRESSES[1]].fell_off_in_log is True
    for gpu in gpus.values():
        assert isinstance(gpu.opening, Missing) and gpu.opening.reason == "timeout"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes device nodes")
def test_a_node_without_a_driver(tmp_path: Path) -> None:
    node = machine(tmp_path) / "dev/nvidia0"
    node.unlink()
    try:
        os.mknod(node, 0o020666, os.makedev(195, 200))
    except OSError:
        pytest.skip("this root may not make device nodes")
    _, gpus = asked(tmp_path, ADDRESSES[0])
    assert gpus[ADDRESSES[0]].opening in ("ENXIO", "ENODEV", "EPERM", "EACCES"), "no driver, or a control group's no"


def test_only_gpus_that_nvml_leaves_out_are_asked() -> None:
    held = {"at": "dir", "path": "/proc/driver/nvidia/gpus", "names": ["0000:18:00.0", "0000:3A:00.0", "x", 5]}

    def said(*lines: dict[str, Any], **more: Any) -> list[str]:
        return to_ask([{"at": "env"}, held], AgentResult([{"begin": "nvmlInit"}, *lines], **more))

    ready = {"field": "init", "value": 0}
    first, second = (
        {"field": "pci", "gpu": i, "value": {"bus_id": bus}}
        for i, bus in enumerate(("00000000:18:00.0", "00000000:3A:00.0"))
    )
    assert said(ready, first) == ["0000:3a:00.0"]
    assert said(ready, first, {"field": "handle", "gpu": 1, "error": 15}) == ["0000:3a:00.0"]
    assert said(ready, first, second) == said({"field": "init", "error": 9}) == said() == []
    assert said({"field": "init", "error": 15}) == ["0000:18:00.0", "0000:3a:00.0"]
    assert said(ready, first, fault="hang") == [], "what NVML did not get to is not missing"
    assert to_ask([held], None) == to_ask([{**held, "names": 5}], AgentResult([ready])) == []
