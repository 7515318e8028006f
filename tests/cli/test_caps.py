"""Where gpudoctor stops counting it says so, in text and in JSON, and takes the number for no count."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Machine
from tests.fakes.fixtures import fakes

from ..proof.proving import environment, run, variables
from .command import gpudoctor

__all__ = ["fakes"]


_TORCH = """
import types
__version__, float32 = "2.8.0+cu128", "float32"
version = types.SimpleNamespace(cuda="12.8", hip=None)
_C = types.SimpleNamespace(_cuda_getArchFlags=lambda: "sm_90", _nccl_version=lambda: 22703)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91002))

class Tensor:
    def reshape(self, *shape): return self
    to = cpu = __add__ = __matmul__ = __truediv__ = reshape

arange = lambda count, dtype: Tensor()
device = lambda kind, index: (kind, index)
equal = allclose = lambda *given, **more: True
cuda = types.SimpleNamespace(
    is_available=lambda: True, device_count=lambda: COUNT, init=lambda: None, synchronize=lambda: None,
    get_device_name=lambda index: "NVIDIA H100 80GB HBM3", get_device_capability=lambda index: (9, 0),
)
"""


def rack(count: int) -> dict[str, str]:
    """Changes that make the healthy machine one of `count` like GPUs."""
    one = Machine.load("healthy-h100").scenario
    lines = {key.replace("gpu.0.", "gpu.*."): value for key, value in one.items() if key.startswith("gpu.0.")}
    lines.update(gpus=str(count), **{"pair.*.p2p": "0", "pair.*.topology": "50"})
    for index in range(count):
        lines[f"gpu.{index}.uuid"] = f"GPU-{index:08x}-2330-4a5b-8c6d-233000000000"
        lines[f"gpu.{index}.pci.bus"] = f"{index // 32:04x}:{index % 32:02x}:00.0"
    return lines


def looked(report: dict[str, Any]) -> dict[str, tuple[int, int | None]]:
    return {cap["what"]: (cap["looked"], cap.get("listed")) for cap in report["snapshot"].get("caps", ())}


def status(report: dict[str, Any], name: str) -> str:
    return next(check["status"] for check in report["checks"] if check["id"] == name)


@pytest.mark.parametrize("counts", [(17,), pytest.param((16, 256, 257, 300), marks=pytest.mark.slow)])
def test_gpus_at_the_cap_and_above(fakes: Path, tmp_path: Path, counts: tuple[int, ...]) -> None:
    prefix = environment(tmp_path, None)
    faults = []
    for count in counts:
        env = variables(fakes, tmp_path / str(count), driver=rack(count))
        words = ["check", "--no-import", "--python", str(prefix), "--expect", f"{count}xH100"]
        done = run([*words, "--format", "json"], env)
        report = json.loads(done.stdout)
        wanted = {"gpu-pairs": (16, count)} if count > 16 else {}
        if count > 256:
            wanted |= {"gpus": (256, count), "cuda-devices": (256, count)}
        if looked(report) != wanted:
            faults.append((count, looked(report)))
        ids = {finding["id"] for finding in report["findings"]}
        cut = {"required-fact-missing", "gpu-expectation-unmet"}
        if (ids & cut) != (cut if count > 256 else set()) or [f for f in report["findings"] if f["status"] == "fail"]:
            faults.append((count, [(f["id"], f["title"]) for f in report["findings"]]))
        text = run(words, env).stdout
        told = f"256 of {count} GPUs that NVML lists" in " ".join(text.split())
        if told is not (count > 256) or ("300" in text) is not (count == 300):
            faults.append((count, text))
        line = run(["healthcheck", "--python", str(prefix)], env).stdout
        if ("OK" in line) is not (count <= 256):
            faults.append((count, line))
    assert not faults


@pytest.mark.slow
def test_gpus_that_torch_lists(fakes: Path, tmp_path: Path) -> None:
    faults = []
    for count in (64, 65):
        prefix = environment(tmp_path / str(count), _TORCH.replace("COUNT", str(count)))
        env = variables(fakes, tmp_path / str(count), driver=rack(count))
        report = json.loads(run(["check", "--format", "json", "--python", str(prefix)], env).stdout)
        wanted = {"torch-devices": (64, 65)} if count == 65 else {}
        if {k: v for k, v in looked(report).items() if k != "gpu-pairs"} != wanted:
            faults.append((count, looked(report)))
        ran = report["snapshot"]["torch_run"]["kernel_ran"]
        if ran is not True if count == 64 else ran.get("missing") != "not-asked":
            faults.append((count, ran))
        if status(report, "gpu-path-not-available") != ("pass" if count == 64 else "unknown"):
            faults.append((count, [c for c in report["checks"] if c["id"] == "gpu-path-not-available"]))
    assert not faults


def test_processes_and_links(fakes: Path, tmp_path: Path) -> None:
    """More processes than are listed: the rest is told, not dropped."""
    prefix = environment(tmp_path, None)
    for count in (256, 257):
        processes = {f"gpu.0.process.{n}": f"compute {n + 100} 10 python" for n in range(count)}
        env = variables(fakes, tmp_path / str(count), driver=processes)
        report = json.loads(run(["check", "--no-import", "--format", "json", "--python", str(prefix)], env).stdout)
        assert looked(report) == ({"gpu-processes": (256, 257)} if count == 257 else {})
        assert len(report["snapshot"]["gpus"][0]["processes"]) == 256


def test_lists_of_the_file_system(tmp_path: Path) -> None:
    """Folders of variables, of packages and of pth files, at the cap and one above."""
    cases = {
        "ld-library-path": (64, lambda n: {"LD_LIBRARY_PATH": ":".join(f"/nothing/{i}" for i in range(n))}),
        "path": (256, lambda n: {"PATH": ":".join([*(f"/nothing/{i}" for i in range(n - 1)), "/usr/bin"])}),
    }
    faults = []
    for what, (cap, env) in cases.items():
        for more in (0, 1):
            done = gpudoctor("check", "--no-import", "--expect", "any", "--format", "json", env=env(cap + more))
            found = {k: v for k, v in looked(json.loads(done.stdout)).items() if k == what}
            if found != ({what: (cap, cap + 1)} if more else {}):
                faults.append((what, more, found))
    for more in (0, 1):
        prefix = environment(tmp_path / str(more), None)
        site = next((prefix / "lib").glob("python3*")) / "site-packages"
        for number in range(64 + more):
            (site / f"a{number:03}.pth").write_text(f"{site}/folder{number}\n")
            if number < 63 + more:
                (site / f"folder{number}").mkdir()
        done = gpudoctor("check", "--no-import", "--expect", "any", "--format", "json", "--python", prefix)
        found = looked(json.loads(done.stdout))
        wanted = {"pth-files": (64, 65), "package-folders": (64, None)}
        if {k: v for k, v in found.items() if k in wanted} != (wanted if more else {}):
            faults.append((more, found))
        if more:
            place = next(c["place"] for c in json.loads(done.stdout)["snapshot"]["caps"] if c["what"] == "pth-files")
            text = gpudoctor("check", "--no-import", "--expect", "any", "--python", prefix, env={"COLUMNS": "100"})
            said = " ".join(text.stdout.decode().split())
            if "64 of 65 .pth files" not in said or os.path.basename(place) != "site-packages":
                faults.append((place, said))
    assert not faults


def test_a_recording_keeps_its_caps(tmp_path: Path) -> None:
    env = {"LD_LIBRARY_PATH": ":".join(f"/nothing/{i}" for i in range(65))}
    assert gpudoctor("record", tmp_path / "it", "--no-import", env=env).returncode == 0
    done = gpudoctor("check", "--replay", tmp_path / "it", "--expect", "any", "--format", "json")
    assert looked(json.loads(done.stdout)) == {"ld-library-path": (64, 65)}
    with open(tmp_path / "it" / "files.jsonl", "a", encoding="utf-8") as file:
        for what in ("gpus", "no-such-list", 7, None, ["gpus"]):
            for number in (-1, "many", 1 << 80, True, 1.5, None, [], 5):
                file.write(
                    json.dumps({"at": "cap", "what": what, "looked": number, "listed": number, "path": 3}) + "\n"
                )
    done = gpudoctor("check", "--replay", tmp_path / "it", "--expect", "any", "--format", "json")
    assert looked(json.loads(done.stdout)) == {"ld-library-path": (64, 65), "gpus": (5, 5)}
