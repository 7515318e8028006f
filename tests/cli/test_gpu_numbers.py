"""GPUs of the machine, of the session and in CUDA's list, through the real commands and fake driver libraries."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Machine
from tests.fakes.fixtures import fakes, on_machine
from tests.machines.generate import gpu_lines, mig

from ..rows import share
from .command import COMMAND, gpudoctor

__all__ = ["fakes", "on_machine"]

FEWER, EXPECT, MASK, MIG = (
    "cuda-lists-fewer-gpus", "gpu-expectation-unmet", "cuda-visible-devices-wrong", "mig-limitations",
)  # fmt: skip
NAMESPACE = Path(__file__).parents[1] / "realdriver" / "namespace.sh"
UUIDS = [f"GPU-{i:08x}-2330-4a5b-8c6d-2330{i:08x}" for i in range(8)]


def box(*models: str, **changes: object) -> Machine:
    """The driver of a machine with these GPUs; two underscores stand for a dot."""
    lines: dict[str, object] = {"driver.version": "580.82.07", "cuda.version": 13000, "gpus": len(models)}
    for index, model in enumerate(models):
        lines.update(gpu_lines(index, model, f"0000:{0x18 + 0x11 * index:02x}:00.0"))
    lines.update({"gpu.*.fabric": "3 0", "pair.*.p2p": 0, "pair.*.topology": 50})
    lines.update({key.replace("__", "."): value for key, value in changes.items()})
    return Machine("box", {key: str(value) for key, value in lines.items() if value is not None})


H100X8 = ("h100",) * 8
SEVEN = mig(0, *((f"1g.10gb slice {i}", 9728, i + 7) for i in range(7)))


@dataclass
class Row:
    """What is looked at and what must be found, of the checks that count GPUs."""

    machine: Machine
    expect: str = ""
    found: dict[str, str] = field(default_factory=dict)
    said: str = ""
    """Words of the first finding's title and of healthcheck's line."""
    env: dict[str, str] = field(default_factory=dict)


ROWS: dict[str, Row] = {
    "all eight": Row(box(*H100X8), "8xH100"),
    "a mask of two, eight expected": Row(
        box(*H100X8), "8xH100", {EXPECT: "unknown"}, "CUDA_VISIBLE_DEVICES=0,1", {"CUDA_VISIBLE_DEVICES": "0,1"}
    ),
    "a mask of two, two expected": Row(box(*H100X8), "2xH100", env={"CUDA_VISIBLE_DEVICES": "0,1"}),
    "a mask of two, three expected": Row(box(*H100X8), "3xH100", {EXPECT: "fail"}, "", {"CUDA_VISIBLE_DEVICES": "0,1"}),
    "a mask of two, no number expected": Row(box(*H100X8), "", env={"CUDA_VISIBLE_DEVICES": "0,1"}),
    "a mask of UUIDs": Row(box(*H100X8), "2xH100", env={"CUDA_VISIBLE_DEVICES": f"{UUIDS[3]},{UUIDS[5]}"}),
    "a mask of UUIDs, eight expected": Row(
        box(*H100X8),
        "8xH100",
        {EXPECT: "unknown"},
        "CUDA_VISIBLE_DEVICES",
        {"CUDA_VISIBLE_DEVICES": f"{UUIDS[3]},{UUIDS[5]}"},
    ),
    "a mask that hides all, on purpose": Row(box(*H100X8), "any", env={"CUDA_VISIBLE_DEVICES": ""}),
    "CUDA drops one": Row(box(*H100X8, cuda__count=7), "", {FEWER: "fail"}, "CUDA lists 7 of 8"),
    "CUDA drops one of two": Row(
        box("a100", "a100", cuda__count=1), "2xA100", {FEWER: "fail", EXPECT: "fail"}, "CUDA lists 1 of 2"
    ),
    "CUDA drops one of two, one expected": Row(
        box("a100", "a100", cuda__count=1), "1xA100", {FEWER: "fail"}, "CUDA lists 1 of 2"
    ),
    "CUDA drops one that the mask names": Row(
        box("a100", "a100", cuda__count=1), "", {FEWER: "fail"}, "CUDA lists 1 of 2", {"CUDA_VISIBLE_DEVICES": "0,1"}
    ),
    "a client of the MPS server": Row(
        box("a100", "a100", cuda__count=1), "1xA100", env={"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps"}
    ),
    "seven MIG instances": Row(box("a100", **SEVEN), "7xA100"),
    "seven MIG instances, eight expected": Row(box("a100", **SEVEN), "8xA100", {EXPECT: "fail"}, "found 1 x"),
    "one of seven MIG instances": Row(
        box("a100", **SEVEN), "1", env={"CUDA_VISIBLE_DEVICES": "MIG-00000003-20b2-5a5b-8c6d-000000000000"}
    ),
    "MIG beside whole GPUs": Row(box("a100", "a100", **SEVEN), "8xA100", {FEWER: "warn"}),
    "one of eight in MIG mode without instances": Row(
        box(*H100X8, gpu__7__mig=1), "8xH100", {MIG: "warn", EXPECT: "fail"}
    ),
    "one of eight in MIG mode, no number expected": Row(box(*H100X8, gpu__7__mig=1), "", {MIG: "warn"}),
    "WSL": Row(Machine.load("wsl2-rtx3060"), "1xRTX3060"),
    "a board without NVML": Row(box("gb10", nvml__library="absent"), "1"),
    "a virtual GPU": Row(
        box("a100", gpu__0__name="GRID A100-10C", gpu__0__virtualization=2, gpu__0__vgpu_licensed=1), "1xA100"
    ),
}


PARTS = 9
"""Rows that lie side by side in the table are alike: each part has some of every kind, and the first is quick."""


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_each_number_of_gpus_is_told_from_the_others(part: int, on_machine: Callable[..., dict[str, str]]) -> None:
    rows = {name: ROWS[name] for name in share(ROWS, part, PARTS)}
    environments = {name: on_machine(row.machine, **row.env) for name, row in rows.items()}

    def look(name: str) -> tuple[dict[str, Any], str]:
        flags = ("--expect", ROWS[name].expect) if ROWS[name].expect else ()
        report = gpudoctor("check", "--no-import", "--format", "json", *flags, env=environments[name])
        if not ROWS[name].found and name not in ("all eight", "a mask of two, two expected"):
            return json.loads(report.stdout), ""
        return json.loads(report.stdout), gpudoctor("healthcheck", *flags, env=environments[name]).stdout.decode()

    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip(rows, pool.map(look, rows), strict=True))
    for name, row in rows.items():
        report, line = answers[name]
        findings = {f["id"]: f for f in report["findings"] if f["id"] in (FEWER, EXPECT, MASK, MIG)}
        assert {key: f["status"] for key, f in findings.items()} == row.found, (name, findings)
        first = next(iter(findings.values()), None)
        for status, code, word in (("fail", 1, "FAIL"), ("unknown", 3, "UNKNOWN")):
            if status in row.found.values():
                assert first and first["status"] == status and first["facts"]["gpus_of_session"], name
                assert report["exit_code"] == code or status == "unknown", name
                assert row.said in first["title"] and row.said in line and line.startswith(word), (name, line)
                break
        else:
            assert not any(key in line for key in (FEWER, EXPECT, MASK)), (name, line)
        if name in ("one of eight in MIG mode, no number expected", "one of eight in MIG mode without instances"):
            assert "OK 8x" not in line
        if name == "all eight":
            assert "8x" in line and "CUDA lists" not in line


def test_a_gpu_that_nvml_leaves_out_is_asked_by_opening_its_node(
    on_machine: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    """The live command, with a /dev and a /proc/driver of its own: NVML lists one of the two GPUs that the driver holds."""
    held, dev, folder = tmp_path / "held", tmp_path / "dev", tmp_path / "recorded"
    dev.mkdir()
    for minor, bus in enumerate(("0000:18:00.0", "0000:29:00.0")):
        (held / "nvidia/gpus" / bus).mkdir(parents=True)
        (held / "nvidia/gpus" / bus / "information").write_text(f"Device Minor: \t {minor}\nGPU Excluded:\t No\n")
    nodes = "mknod -m 666 /dev/nvidia0 c 195 0 && mknod -m 666 /dev/nvidia1 c 195 1"
    script = f'mount --bind "$1" /proc/driver && {nodes} && shift && exec "$@"'
    inside = ["unshare", "--mount", "--propagation", "private", "sh", str(NAMESPACE), str(dev)]
    command = [*inside, "sh", "-c", script, "sh", str(held), str(COMMAND), "record", str(folder), "--no-import"]
    env = on_machine(box("h100", "h100", gpus=1))
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode and ("unshare" in done.stderr or "mount" in done.stderr or "mknod" in done.stderr):
        pytest.skip(f"this user may not make such a namespace: {done.stderr[:100]}")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(gpudoctor("check", "--replay", folder, "--no-import", "--format", "json").stdout)
    (asked,) = report["snapshot"]["driver"]["unlisted_gpus"]
    assert (asked["pci_address"], asked["node"]) == ("0000:29:00.0", "/dev/nvidia1")
    assert asked["opening"] in ("ENXIO", "EPERM"), "no driver behind it here, or a control group's no"
    nodes_seen = [node["path"] for node in report["snapshot"]["driver"]["device_nodes"]]
    assert nodes_seen == ["/dev/nvidia0", "/dev/nvidia1"]
