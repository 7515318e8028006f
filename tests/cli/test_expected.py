"""`--expect` of a GPU that does not exist: wrong usage with the nearest names, in every command and by every way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import gpudoctor as face
from doctor.findings import Expect
from doctor.snapshot import CallFault, Missing, Snapshot
from doctor.snapshot.measured import Measured
from tests.fakes import Machine
from tests.fakes.fixtures import fakes, on_machine  # noqa: F401 (fixtures)

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import gpu, healthy
from ..judging import POLICY, matrix, report
from ..rows import for_each
from .command import gpudoctor, one_line, save

WRONG = "8xH20O"
H200 = healthy(*["h100"] * 8)
PRINTED = (
    "systemd",
    "slurm-prolog",
    "slurm-healthcheck",
    "kubernetes",
    "kubernetes-fleet",
    "node-problem-detector",
    "compose",
    "github-action",
)


def hanging(s: Snapshot) -> Snapshot:
    """NVML does not answer; CUDA does."""
    gap = Missing("timeout", "nvmlInit_v2 did not return")
    fault = CallFault(library="nvml", call="nvmlInit_v2", fault="hang", detail="did not return")
    return s.replace({"gpus": gap, "driver.nvml_init": gap, "driver.faults": (fault,)})


def refused(text: str) -> None:
    assert WRONG in text and "did you mean 8xH200, 8xH20?" in text, text


@for_each("what", PRINTED, quick=4)
def test_no_file_is_printed_for_it(what: str) -> None:
    refused(one_line(gpudoctor("print", what, "--expect", WRONG)))
    assert b"8xH200" in gpudoctor("print", what, "--expect", "8xH200").stdout


@pytest.mark.slow
def test_print_takes_a_newer_matrix(tmp_path: Path) -> None:
    bundle = json.loads(gpudoctor("matrix", "export", "-").stdout)
    own = {"id": "r900", "name": "NVIDIA R900", "aliases": [], "device_ids": ["3FFF"], "subsystems": []}
    for table in ("gpus", "gpu_specs"):
        rows = bundle["tables"][table]
        like = next(row for row in rows if row["id"] == "nvidia-h200")
        rows.append({name: own.get(name, value) for name, value in like.items()})
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps(bundle))
    one_line(gpudoctor("print", "slurm-prolog", "--expect", "8xR900"))
    made = gpudoctor("print", "slurm-prolog", "--expect", "8xR900", "--matrix", newer)
    assert made.returncode == 0 and b'--expect "8xR900"' in made.stdout, made
    one_line(gpudoctor("print", "slurm-prolog", "--matrix", tmp_path / "none.json"))


@pytest.mark.slow
def test_every_command_that_judges_a_saved_report_refuses_it(tmp_path: Path) -> None:
    path = save(tmp_path, H200.with_(measured=Measured(level="quick")))
    for command in (["check"], ["fix"], ["prove"], ["what-if", "--driver", "580.82.07"]):
        refused(one_line(gpudoctor(*command, "--from", path, "--expect", WRONG)))
    refused(one_line(gpudoctor("healthcheck", "--from", path, "--expect", WRONG), code=1))
    refused(one_line(gpudoctor("explain", "-", "--expect", WRONG, data=b"GPU 0: NVIDIA H200 (UUID: GPU-1)")))


def test_a_configuration_is_held_to_the_same(tmp_path: Path) -> None:
    path = save(tmp_path, H200)
    config = tmp_path / "gpudoctor.toml"
    config.write_text(f'expect = "{WRONG}"\n')
    refused(one_line(gpudoctor("check", "--from", path, "--config", config)))
    refused(one_line(gpudoctor("healthcheck", "--from", path, "--config", config), code=1))


def test_python_is_held_to_the_same(tmp_path: Path) -> None:
    path = save(tmp_path, H200)
    with pytest.raises(face.Refused, match="8xH200, 8xH20"):
        face.check(source=path, expect=WRONG)
    with pytest.raises(face.Refused, match="is not a valid package name"):
        face.check(source=path, require=["flash attn; rm"])


def test_a_name_that_the_driver_reports_is_enough() -> None:
    from msgspec.structs import replace

    newer = tuple(replace(gpu("h100", i), name="NVIDIA R900", pci_device_id="3fff") for i in range(2))
    s = healthy("h100", "h100").replace({"gpus": newer})
    found = report(s, replace(POLICY, expect=Expect.parse("2xR900")))
    assert not [f for f in found.findings if f.id == "gpu-expectation-unmet"]


@for_each(("machine", "verdict"), [(hanging(healthy()), "fail"), (without_gpu(healthy()), "fail")])
def test_where_the_driver_gives_no_answer_all_else_is_judged(machine: Snapshot, verdict: str) -> None:
    from msgspec.structs import replace

    found = report(machine, replace(POLICY, expect=Expect.parse(WRONG)))
    assert found.verdict == verdict
    row = next(check for check in found.checks if check.id == "gpu-expectation-unmet")
    assert row.status == "unknown", row


@pytest.mark.slow
def test_the_driver_of_this_machine_is_asked(tmp_path: Path, on_machine: Callable[..., dict[str, str]]) -> None:  # noqa: F811
    mark, env = tmp_path / "ran", on_machine("healthy-h100")
    refused(one_line(gpudoctor("check", "--expect", WRONG, env=env)))
    refused(one_line(gpudoctor("healthcheck", "--expect", WRONG, env=env), code=1))
    refused(one_line(gpudoctor("watch", "--expect", WRONG, "--", "touch", mark, env=env)))
    refused(one_line(gpudoctor("prove", "--expect", WRONG, env=env)))
    assert not mark.exists(), "refused before the program starts"
    newer = on_machine(Machine.load("healthy-h100").with_(gpu__0__name="NVIDIA R900"))
    assert gpudoctor("print", "slurm-prolog", "--expect", "1xR900", env=newer).returncode == 0
    assert b"gpu-expectation-unmet" not in gpudoctor("healthcheck", "--expect", "1xR900", env=newer).stdout


@pytest.mark.slow
def test_a_hung_driver_stays_a_failure(on_machine: Callable[..., dict[str, str]]) -> None:  # noqa: F811
    hung = on_machine("nvml-hangs-init")
    done = gpudoctor("check", "--expect", WRONG, "--timeout", "3", "--no-import", "--format", "json", env=hung)
    assert done.returncode == 1, done
    assert "driver-not-answering" in {found["id"] for found in json.loads(done.stdout)["findings"]}


def test_the_words_of_expect_are_suggested_too() -> None:
    assert "did you mean none?" in one_line(gpudoctor("print", "compose", "--expect", "nonee"))
    assert matrix().nearest_models("nonee") == []
