"""`resolve --keep`: nothing where nothing is wrong, else the smallest change, which what-if then finds sound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import run
from doctor.report.json import render_json
from doctor.snapshot import Missing, Snapshot

from ..healthy import healthy
from ..judging import report
from ..rows import Faults
from ..torches import not_asked, with_other_build, with_torch, with_version, without_torch
from .test_what_if import at


def machine(model: str, driver: str, torch: str = "", tag: str = "", **versions: str) -> Snapshot:
    s = not_asked(at(driver, model)).replace({"driver.cu_init": Missing("not-asked")})
    if model == "gtx1080":
        s = s.replace({"driver.kernel_flavour": "proprietary"})
    s = with_version(with_torch(s, torch, tag) if torch else s, **versions)
    return not_asked(s)


ROWS: list[tuple[str, Snapshot, tuple[str, ...], dict[str, Any]]] = [
    ("sound", machine("h100", "580.82.07"), (), {"change": ""}),
    ("sound, with bitsandbytes", machine("h100", "580.82.07", bitsandbytes="0.48.1"), (), {"change": ""}),
    ("other build of the release", machine("gtx1080", "580.82.07"), (), {"torch": "2.8.0", "tag": "cu126"}),
    ("driver too old for the build", machine("a100", "535.261.03", "2.9.1", "cu130"), (), {"torch": "2.9.1", "tag": ""}),
    ("no build of the release", machine("rtx5090", "580.82.07", "2.5.1", "cu124"), (), {"torch": "2.7", "tag": ""}),
    ("companion of another release", machine("h100", "580.82.07", torchvision="0.22.0"), (),
     {"torch": "2.8.0", "tag": "", "vision": "0.23.0"}),
    ("CPU build", not_asked(with_other_build(healthy("l4"))), (), {"torch": "2.8.0", "tag": ""}),
    ("cupy by its wheel's name", machine("gtx1080", "580.82.07", cupy_cuda12x="13.6.0"), (),
     {"torch": "2.8.0", "tag": "cu126", "with": "cupy-cuda12x"}),
    ("no torch", without_torch(healthy("l4")), (), {"torch": "2.", "tag": ""}),
    ("another package", machine("h100", "580.82.07"), ("vllm",), {"torch": "2.", "tag": "", "with": "vllm=="}),
]  # fmt: skip


def test_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "report.json"
    with Faults() as faults:
        for name, s, wishes, wanted in ROWS:
            with faults.of(name):
                saved.write_bytes(render_json(report(s)))
                words = ["resolve", *wishes, "--keep", "--from", str(saved)]
                assert run([*words, "--format", "json"]) == 0
                kept = json.loads(capsys.readouterr().out)
                assert run(words) == 0
                text = capsys.readouterr().out
                if wanted.get("change") == "":
                    assert kept["wrong"] == "" and kept["request"] is None, kept
                    assert text.startswith("No change needed"), text
                    continue
                assert kept["wrong"] and kept["changes"], kept
                assert text.splitlines()[0] == kept["pip"]
                packages = " ".join(kept["request"]["packages"])
                assert f"torch=={wanted['torch']}" in packages, kept
                assert wanted["tag"] in kept["pip"] and wanted.get("with", "") in packages, kept
                assert f"torchvision=={wanted.get('vision', '')}" in packages or "torchvision" not in packages, kept
                # The change does what it is for: after it nothing has to change, by the judge nothing fails.
                new = kept["changes"][0].partition("-> torch ")[2].split(" ")[0]
                if new:
                    assert run(["what-if", "--from", str(saved), "--torch", new, "--format", "json"]) in (0, 3)
                    capsys.readouterr()


def test_nothing_would_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "report.json"
    saved.write_bytes(render_json(report(machine("rtx5090", "535.261.03"))))
    assert run(["resolve", "--keep", "--from", str(saved)]) == 3
    assert "No package change would fix this" in capsys.readouterr().out
    assert run(["resolve", "--keep", "--from", str(saved), "--driver", "580"]) == 0
    assert "No change needed" in capsys.readouterr().out


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "report.json"
    night = machine("h100", "580.82.07").replace({"torch.version": "2.12.0.dev20260101+cu130"})
    saved.write_bytes(render_json(report(night)))
    rows = [
        (("--keep", "--gpu", "T4"), 2),
        (("--keep", "--python", "3.12"), 2),
        (("--keep", "--format", "pyproject"), 2),
        (("--keep", "--from", str(tmp_path / "none.json")), 2),
        (("nonsense", "--keep", "--from", str(saved)), 3),
        (("--keep", "--from", str(saved)), 3),
    ]
    with Faults() as faults:
        for words, code in rows:
            with faults.of(" ".join(words)):
                assert run(["resolve", *words]) == code
                printed = capsys.readouterr()
                assert printed.out == "" and len(printed.err.splitlines()) == 1, printed


def test_a_torch_whose_builds_the_matrix_does_not_know_is_no_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3 and one line, however it is unknown."""
    with Faults() as faults:
        for version, cuda in (("2.12.0.dev20260101+cu130", "13.0"), ("2.8.0+cu115", "11.5"), ("of our own", "12.8")):
            with faults.of(version):
                s = machine("h100", "580.82.07").replace({"torch.version": version, "torch.cuda": cuda})
                saved = tmp_path / f"{len(version)}.json"
                saved.write_bytes(render_json(report(s)))
                assert run(["resolve", "--keep", "--from", str(saved)]) == 3
                printed = capsys.readouterr()
                assert printed.out == "" and len(printed.err.splitlines()) == 1, printed
                assert version.partition("+")[0] in printed.err
