"""`what-if` says what judging a Snapshot says that was built with the other driver, GPU, torch or Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import run
from doctor.commands.run_what_if import changed
from doctor.judge.report import Report
from doctor.report.json import render_json
from doctor.snapshot import Missing, Snapshot

from ..healthy import MODELS, healthy
from ..judging import matrix, report
from ..rows import Faults, for_each
from ..sickness import cuda_says, env, not_given, not_installed, not_loaded, nvml_says, without_libcuda
from ..torches import not_asked, with_torch, without_torch

NOTHING: dict[str, Any] = {"driver": None, "gpus": (), "torch": None, "new_python": None}
DRIVERS = ("470.256.02", "535.261.03", "550.163.01", "570.211.01", "580.82.07", "590.44.01")
BUILDS = (("2.7.1", "cu118"), ("2.8.0", "cu126"), ("2.8.0", "cu128"), ("2.8.0", "cu129"), ("2.9.1", "cu130"))


def at(driver: str, *models: str, **facts: Any) -> Snapshot:
    row = matrix().driver_branch(driver).row
    assert row is not None
    return healthy(*models, driver=driver, cuda=row.cuda, **facts)


def what_if(s: Snapshot, **changes: Any) -> Snapshot:
    return changed(s, matrix(), {**NOTHING, **changes})[0]


def found(judged: Report) -> set[str]:
    return {f.id for f in judged.findings if f.status in ("fail", "warn")}


def not_run(s: Snapshot) -> Snapshot:
    """Built of files and tables alone: that CUDA starts and a kernel runs there would be the builder's own claim."""
    again = Missing("recheck")
    return not_asked(s).replace({"driver.cu_init": again, "driver.cuda_devices": again})


def agree(asked: Snapshot, built: Snapshot) -> set[str]:
    """Nothing is found that is not there, and what is there and not found is unknown; returns what both found."""
    says, is_ = report(asked), report(not_run(built))
    unknown = {c.id for c in says.checks if c.status == "unknown"}
    assert found(says) <= found(is_), f"found only by what-if: {found(says) - found(is_)}"
    lost = found(is_) - found(says) - unknown
    assert not lost, f"passed by what-if: {lost}"
    return found(says)


def test_another_driver() -> None:
    decided: set[str] = set()
    with Faults() as faults:
        for model in MODELS:
            for i, now in enumerate(DRIVERS):
                then = DRIVERS[i - 2]
                with faults.of(f"{model}: {now} to {then}"):
                    inside = i % 2 == 1
                    asked = what_if(at(now, model, container=inside), driver=then)
                    built = at(then, model, container=inside)
                    decided |= agree(asked, built)
                    for name in asked.driver.__struct_fields__:
                        value = getattr(asked.driver, name)
                        assert isinstance(value, Missing) or value == getattr(built.driver, name), name
    assert {"driver-too-old-for-cuda-build", "driver-too-old-for-gpu"} & decided, decided


@pytest.mark.slow
def test_another_torch() -> None:
    decided: set[str] = set()
    with Faults() as faults:
        for i, model in enumerate(MODELS):
            base = not_run(at(DRIVERS[1 + i % 4], model))
            for version, tag in BUILDS:
                with faults.of(f"{model}: {version}+{tag}"):
                    decided |= agree(what_if(base, torch=f"{version}+{tag}"), with_torch(base, version, tag))
            with faults.of(f"{model}: none"):
                agree(what_if(base, torch="none"), without_torch(base))
    assert {"torch-dropped-old-gpu-sm", "torch-lacks-new-gpu-sm"} <= decided, decided


def test_other_gpus() -> None:
    decided: set[str] = set()
    with Faults() as faults:
        for i, model in enumerate(MODELS):
            driver, name = DRIVERS[i % 6], str(MODELS[model]["name"])
            for now in ("h100", "gtx1080"):
                with faults.of(f"{now} to {name} on {driver}"):
                    decided |= agree(what_if(at(driver, now), gpus=(name,)), at(driver, model))
    assert "torch-dropped-old-gpu-sm" in decided, decided


def test_another_python() -> None:
    for version in ("3.10", "3.12", "3.13"):
        agree(what_if(healthy(), new_python=version), healthy().replace({"python.patient.version": version}))
    assert what_if(healthy(), new_python="3.13").python.patient.version == "3.13"


def test_a_python_without_a_wheel_of_torch() -> None:
    asked = what_if(healthy(), new_python="3.15")
    assert "torch-not-installed" in found(report(asked))
    both = what_if(healthy(), new_python="3.14", torch="2.15.0+cu132")
    assert both.torch.version == "2.15.0+cu132" and "torch-not-installed" not in found(report(both))


def test_all_at_once() -> None:
    asked = what_if(at("580.82.07", "h100"), driver="535.261.03", gpus=("GTX 1080",), torch="2.8.0+cu128")
    assert "torch-dropped-old-gpu-sm" in agree(asked, with_torch(at("535.261.03", "gtx1080"), "2.8.0", "cu128"))


def test_a_sick_machine_with_its_driver_replaced() -> None:
    """A new driver repairs what was the driver's, and nothing that was not."""
    repaired = {
        "not installed": not_installed,
        "not loaded": not_loaded,
        "no libcuda": without_libcuda,
        "NVML mismatch": lambda s: nvml_says(cuda_says(s, 803), 18),
    }
    stays = {
        "masked": lambda s: env(cuda_says(s, 100), CUDA_VISIBLE_DEVICES=""),
        "not given": lambda s: not_given(s),
    }
    sound = at("590.44.01", "l4")
    with Faults() as faults:
        for name, spoil in repaired.items():
            with faults.of(name):
                agree(what_if(spoil(at("535.261.03", "l4")), driver="590.44.01"), sound)
        for name, spoil in stays.items():
            with faults.of(name):
                inside = name == "not given"
                was = spoil(at("535.261.03", "l4", container=inside))
                both = agree(what_if(was, driver="590.44.01"), spoil(at("590.44.01", "l4", container=inside)))
                assert both or not inside, f"{name}: nothing found"


def test_the_command_prints_what_is_gone_new_and_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "report.json"
    old = not_run(with_torch(at("470.256.02", "rtx4090"), "2.9.1", "cu130"))
    saved.write_bytes(render_json(report(env(old, CUDA_VISIBLE_DEVICES="7"))))
    words = ["what-if", "--from", str(saved), "--driver", "580"]
    code = run([*words, "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    difference, judged = told["what_if"], told["report"]
    assert code == judged["exit_code"]
    gone = {one["id"] for one in difference["gone"]}
    stays = {one["id"] for one in difference["stays"]}
    assert gone and all(f["id"] not in gone for f in judged["findings"])
    assert stays <= {f["id"] for f in judged["findings"]}
    assert run(words) == code
    printed = capsys.readouterr().out
    assert printed.startswith("With driver 580.") and "  Gone: " in printed
    assert run([*words, "--format", "markdown"]) == code
    assert "**Gone**" in capsys.readouterr().out
    assert stays == {"cuda-visible-devices-wrong"} and "  Stays: " in printed, stays
    assert run([*words, "--torch", "2.8.0+cu126", "--gpu", "RTX 3060"]) == 1


def test_a_machine_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["what-if", "--os", "linux", "--gpu", "GTX 1080", "--driver", "535", "--torch", "2.8"]) == 1
    assert "torch-dropped-old-gpu-sm" in capsys.readouterr().out
    assert run(["what-if", "--os", "linux", "--gpu", "GTX 1080", "--driver", "535", "--torch", "2.8+cu126"]) == 3


@for_each(
    "flags",
    [
        ("--gpu", "GTX 1080", "--driver", "535", "--torch", "2.8"),
        ("--gpu", "RTX 5090", "--driver", "570", "--torch", "2.6.0+cu124"),
        ("--gpu", "V100", "--driver", "580", "--torch", "2.9.1+cu130"),
        ("--gpu", "B200", "--driver", "570", "--torch", "2.5.1"),
    ],
)
def test_no_library_of_a_named_torch_is_called_read(flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["what-if", "--os", "linux", *flags]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert f"the published build {flags[-1][:3]}" in told
    assert "torch's libraries" not in told and "libtorch" not in told and "get_arch_list" not in told


def test_in_short_it_is_the_verdict_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["what-if", "--os", "linux", "--gpu", "RTX 5090", "--driver", "570", "--torch", "2.6.0+cu124"]
    assert run([*line, "-q"]) == 1
    short = capsys.readouterr().out
    assert short.startswith("FAIL  exit 1") and "pip install" in short and "New:" not in short
    assert run(line) == 1 and "New:" in capsys.readouterr().out


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = ("--os", "linux", "--gpu", "RTX 4090")
    rows: list[tuple[tuple[str, ...], int]] = [
        ((), 2),
        (("--os", "linux", "--driver", "580"), 2),
        (("--os", "linux", "--from", "x", "--gpu", "T4"), 2),
        (("--from", str(tmp_path / "none.json"), "--driver", "580"), 2),
        ((*here, "--driver", "fast"), 2),
        ((*here, "--driver", "9999"), 3),
        ((*here, "--driver", "none"), 2),
        ((*here, "--torch", "2"), 2),
        ((*here, "--torch", "2.8.0+cpu"), 2),
        ((*here, "--torch", "99.1"), 3),
        ((*here, "--torch", "2.8.0+cu111"), 3),
        ((*here, "--python", "2.7"), 2),
        (("--os", "linux", "--gpu", "Jetson AGX Orin"), 2),
        (("--os", "wsl", "--gpu", "RTX 3060", "--driver", "572"), 2),
        (("--os", "linux", "--gpu", "RTX 9999", "--driver", "580"), 3),
    ]
    with Faults() as faults:
        for words, code in rows:
            with faults.of(" ".join(words)):
                assert run(["what-if", *words]) == code
                printed = capsys.readouterr()
                assert printed.out == "" and len(printed.err.splitlines()) == 1, printed


@pytest.mark.parametrize("torch", ["2.8", "2.8.0+cu126"])
def test_a_torch_without_a_wheel_for_the_named_python_is_not_judged_as_installed(
    torch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("what-if", "--os", "linux", "--gpu", "H100", "--torch", torch, "--python")
    assert run((*words, "3.14")) == 3
    assert "not for the newer 3.14" in capsys.readouterr().err
    run((*words, "3.13"))
    assert "not for" not in "".join(capsys.readouterr())
