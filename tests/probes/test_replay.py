"""What was recorded is judged like what was seen: the same Snapshot from the machine and from its recording."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from doctor.probes.collect import Options, gather_all, snapshot_of
from doctor.snapshot import Missing
from doctor.snapshot.redact import LocalNames, redact
from doctor.targets.agent import AgentResult
from doctor.targets.recording import Recording, read_recording, write_recording

from ..rows import for_each
from .tree import OPEN_DRIVER, Tree, fatbin

SITE = "/home/jane/venv/lib/python3.11/site-packages"


def machine(tree: Tree) -> Recording:
    """A machine with everything, and agents that answered, crashed and hung."""
    tree.kernel().file("/proc/driver/nvidia/version", OPEN_DRIVER).pci("0000:65:00.0", "10DE", "2330", driver="nvidia")
    tree.file("/dev/nvidia0").file("/dev/nvidiactl").folder("/sys/module/nvidia").python(
        "/home/jane/venv", cfg="version = 3.11.9\n"
    )
    requires = 'Requires-Dist: nvidia-cudnn-cu12 (==9.10.2.21) ; platform_system == "Linux"'
    tree.torch(SITE, "2.6.0+cu124", "12.4", requires).file(
        f"{SITE}/torch/lib/libtorch_cuda.so", fatbin("special_kernels")
    )
    tree.distribution(SITE, "nvidia_cudnn_cu12", "9.10.2.21").file(f"{SITE}/bitsandbytes/x.so", fatbin("variants"))
    tree.file("/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10", "x")
    tree.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.570.86.10")
    recording = tree.gather({"LD_LIBRARY_PATH": "/home/jane/lib", "HOME": "/home/jane"}, python="/home/jane/venv")
    recording.agents = {
        "cuda_driver": AgentResult(
            [{"begin": "cuInit"}, {"field": "init", "error": 803, "name": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}],
            stderr_tail="words of jane\n",
            noise=["hello"],
            seconds=0.25,
        ),
        "nvml": AgentResult([{"begin": "nvmlInit_v2"}], -9, "hang", "nvmlInit_v2", seconds=20.0),
        "torch": AgentResult([{"begin": "import"}], -11, "crash", "import", "Segmentation fault", 1.5),
    }
    return recording


def test_replay_is_the_same_snapshot(tree: Tree, tmp_path: Path) -> None:
    recording = machine(tree)
    seen = snapshot_of(recording)
    assert seen.torch.sass == ("8.0", "9.0") and seen.driver.cu_init == 803 and len(seen.driver.faults) == 1
    write_recording(str(tmp_path / "record"), recording)
    replayed = read_recording(str(tmp_path / "record"))
    assert snapshot_of(replayed) == seen
    assert replayed.agents["nvml"].guilty == "nvmlInit_v2" and replayed.agents["cuda_driver"].noise == ["hello"]


@for_each("import_torch", [False, True])
def test_replay_of_this_machine(tmp_path: Path, import_torch: bool) -> None:
    recording = gather_all(Options(python=sys.prefix, import_torch=import_torch))
    assert set(recording.agents) >= {"cuda_driver", "nvml"}
    write_recording(str(tmp_path / "record"), recording)
    assert snapshot_of(read_recording(str(tmp_path / "record"))) == snapshot_of(recording)


def test_a_redacted_recording_hides_names_and_keeps_what_is_judged(tree: Tree, tmp_path: Path) -> None:
    recording = machine(tree)
    seen = snapshot_of(recording)
    write_recording(
        str(tmp_path / "record"), recording, lambda value: redact(value, LocalNames(user="jane", home="/home/jane"))
    )
    written = "".join(path.read_text() for path in (tmp_path / "record").iterdir())
    assert "jane" not in written
    assert json.loads((tmp_path / "record" / "manifest.json").read_text())["redacted"] is True
    hidden = snapshot_of(read_recording(str(tmp_path / "record")))
    for fact in (
        "torch.version",
        "torch.sass",
        "torch.cuda",
        "torch.requires",
        "driver.kernel_version",
        "driver.pci_devices",
        "driver.cu_init",
        "driver.libcuda_version",
        "driver.device_nodes",
        "python.patient.version",
        "host.cpu_model",
    ):
        assert hidden.fact(fact) == seen.fact(fact), fact
    for snapshot in (seen, hidden):
        assert not isinstance(snapshot.python.distributions, Missing)
    assert [(d.name, d.version) for d in hidden.python.distributions] == [  # type: ignore[union-attr]
        (d.name, d.version)
        for d in seen.python.distributions  # type: ignore[union-attr]
    ]


def test_half_a_character_in_a_strangers_recording_can_still_be_reported(tmp_path: Path) -> None:
    from msgspec.json import encode

    (tmp_path / "manifest.json").write_text('{"schema_version": 1}')
    (tmp_path / "files.jsonl").write_text(
        '{"at": "file", "path": "/etc/os-release", "text": "ID=\\ud800x\\ud83d\\ude00"}\n'
    )
    (tmp_path / "nvml.jsonl").write_text('{"field": "library", "error": -1, "text": "\\udcff"}\n')
    snapshot = snapshot_of(read_recording(str(tmp_path)))
    assert snapshot.host.os_id == "\ufffdx\U0001f600"
    assert encode(snapshot)


def test_sources_that_were_not_asked_have_no_file(tree: Tree, tmp_path: Path) -> None:
    recording = tree.kernel().gather()
    write_recording(str(tmp_path / "record"), recording)
    assert sorted(path.name for path in (tmp_path / "record").iterdir()) == ["files.jsonl", "manifest.json"]
    assert isinstance(snapshot_of(read_recording(str(tmp_path / "record"))).driver.nvml_init, Missing)
