"""Importers: rows made anew from what publishers publish, against the shipped ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat_matrix import Matrix
from compat_matrix.importers.__main__ import main

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]
NEEDS = (
    "filelock", 'cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"',
    'nvidia-cudnn-cu13==9.19.0.56; platform_system == "Linux"', 'nvidia-nccl-cu13==2.28.9; platform_system == "Linux"',
    'triton==3.6.0; platform_system == "Linux"', 'optree>=0.13.0; extra == "optree"',
)  # fmt: skip
"""What torch 2.11.0 on PyPI requires of these, by pip's report."""
NOTES = """\
| PyTorch version | Python | C++ | Stable CUDA | Experimental CUDA | Stable ROCm |
| --- | --- | --- | --- | --- | --- |
| 2.14 | >=3.10 | C++20 | CUDA 12.6 (CUDNN 9.10.2.21), CUDA 13.0 (CUDNN 9.24.0.43), CUDA 13.2 (CUDNN 9.24.0.43) | -- | 7.14 |
| 2.7 | >=3.9 | C++17 | CUDA 11.8 (CUDNN 9.1.0.70), CUDA 12.6 (CUDNN 9.5.1.17) | CUDA 12.8 (CUDNN 9.7.1.26) | ROCm 6.3 |
"""
MANIFEST = {"release_date": "2024-11-20", "release_label": "12.6.3", "cuda_cudart": {"version": "12.6.77"}}


def report(version: str = "2.11.0", requires: tuple[str, ...] = NEEDS) -> str:
    """What `pip install --dry-run --no-deps --report` says of a wheel of torch."""
    url = f"https://files.index.example/packages/torch-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    about = {"name": "torch", "version": version, "requires_python": ">=3.10", "requires_dist": list(requires)}
    return json.dumps({"version": "1", "install": [{"download_info": {"url": url}, "metadata": about}]})


def run(what: str, path: Path, *more: str) -> int:
    return main([what, str(path), *more])


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_wheels_that_were_read_have_the_architectures_of_their_rows(capsys: Capture) -> None:
    assert run("wheels", ROOT / "benchmarks" / "wheels.jsonl") == 0
    assert capsys.readouterr().out == "wheels: 47 rows read: 0 added, 0 changed, 0 contradicted\n"


def test_what_agrees_and_what_does_not(tmp_path: Path, capsys: Capture) -> None:
    assert run("torch-notes", written(tmp_path, "RELEASE.md", NOTES)) == 0
    assert run("torch-notes", written(tmp_path, "RELEASE.md", NOTES.replace("9.5.1.17", "9.5.1.18"))) == 1
    printed = capsys.readouterr().out
    assert printed.count('"9.5.1.18"') == 2  # 2.7.0 and 2.7.1
    assert printed.count("(kept: the row is measured, this is documented)") == 2
    assert printed.endswith("0 added, 0 changed, 2 contradicted\n")
    assert run("toolkit", written(tmp_path, "redistrib.json", MANIFEST)) == 0
    assert run("toolkit", written(tmp_path, "redistrib.json", {**MANIFEST, "release_date": "2024-11-21"})) == 1
    assert 'toolkits 12.6.3: release_date: "2024-11-20" -> "2024-11-21"' in capsys.readouterr().out


def test_a_report_of_pip(tmp_path: Path, capsys: Capture) -> None:
    assert run("torch", written(tmp_path, "pip.json", report())) == 1
    (line, count) = capsys.readouterr().out.splitlines()
    assert line.startswith("torch_releases 2.11.0: pythons_linux_x86_64:") and '-> ["3.11"]' in line
    assert count == "torch: 1 rows read: 0 added, 1 changed, 0 contradicted"
    other = report(requires=tuple(text.replace("9.19.0.56", "9.20.0.1") for text in NEEDS))
    assert run("torch", written(tmp_path, "pip.json", other)) == 1
    assert 'cudnn: "9.19.0.56" -> "9.20.0.1"' in capsys.readouterr().out


def test_a_new_release_is_written_with_its_source(tmp_path: Path, copy: Path, capsys: Capture) -> None:
    path = written(tmp_path, "pip.json", report("2.99.0"))
    assert run("torch", path, "--data", str(copy), "--write") == 1
    assert "torch_releases 2.99.0: new" in capsys.readouterr().out
    row = json.loads((copy / "torch_releases.json").read_text("utf-8"))[-1]
    assert row["torch"] == "2.99.0" and row["cuda_runtime"] == "cuda-toolkit 13.0.2" and row["confidence"] == "measured"
    assert row["pypi_linux_x86_64"] == "cu130" and row["pythons_linux_x86_64"] == ["3.11"] and row["triton"] == "3.6.0"
    assert json.loads((copy / "sources.json").read_text("utf-8"))[row["source"]].startswith("the report of pip")
    assert run("torch", path, "--data", str(copy)) == 0


def test_a_surer_row_is_overwritten_only_by_force(tmp_path: Path, copy: Path) -> None:
    path = written(tmp_path, "RELEASE.md", NOTES.replace("9.5.1.17", "9.5.1.18"))
    before = (copy / "torch_releases.json").read_text("utf-8")
    run("torch-notes", path, "--data", str(copy), "--write")
    assert json.loads((copy / "torch_releases.json").read_text("utf-8")) == json.loads(before)
    run("torch-notes", path, "--data", str(copy), "--write", "--force")
    assert "9.5.1.18" in (copy / "torch_releases.json").read_text("utf-8")
    assert all("unknown field" not in text for text in Matrix.load(str(copy)).lint())


def test_pci_ids(tmp_path: Path, capsys: Capture) -> None:
    text = (
        "#\tVersion: 2026.01.02\n10dd  Other\n\t2b85  Nothing [GeForce RTX 5090]\n10de  NVIDIA Corporation\n"
        "\t2330  GH100 [H100 SXM5 80GB]\n\t2b85  GB202 [GeForce RTX 5090]\n\tfffe  GB202 [GeForce RTX 5090]\n\t\t1043 1234  A board\n"
        # another chip with the name of a listed GPU is another board, maybe of another compute capability
        "\tfff1  GF119 [GeForce GT 710]\n\tfff2  GK106 [GeForce GTX 750 Ti]\n\tfff3  GP107GL [Quadro P2000]\n"
        "\tfffd  GB202M [GeForce RTX 5090]\n\tfff4  GB20 [GeForce RTX 5090]\n10df  Emulex\n"
    )
    assert run("pci", written(tmp_path, "pci.ids", text)) == 1
    (line, _) = capsys.readouterr().out.splitlines()
    assert line.startswith("gpus nvidia-geforce-rtx-5090:") and '"2B85", "FFFD", "FFFE"]' in line


@pytest.mark.parametrize(
    ("what", "content", "words"),
    [
        ("toolkit", "{}", "not a CUDA redistrib"),
        ("toolkit", "[1", "delimiter"),
        ("torch", "{}", "not a report of pip"),
        ("torch", '{"install": [7]}', "not a report of pip"),
        ("torch-notes", "# nothing\n", "no release compatibility matrix"),
        ("pci", "nothing", "not a pci.ids"),
        ("wheels", '{"name": "numpy"}', "no wheel of torch"),
        ("pci", None, "No such file"),
    ],
)
def test_another_file_is_refused_in_one_line(
    tmp_path: Path, capsys: Capture, what: str, content: str | None, words: str
) -> None:
    path = tmp_path / "given"
    if content is not None:
        path.write_text(content, "utf-8")
    assert run(what, path) == 2
    printed = capsys.readouterr()
    assert words in printed.err and printed.err.count("\n") == 1 and printed.out == ""
