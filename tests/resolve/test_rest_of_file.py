"""`resolve -r`: what has to change with torch in the rest of a file, so that what is written can be installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat_matrix import Matrix
from compat_matrix.requires import agree, torch_asks
from doctor.cli import run

from ..installs.environments import UV
from ..installs.wheels import make_wheel
from ..rows import for_each, quickly

WHL = "https://download.pytorch.org/whl"
BLACKWELL = ["--gpu", "RTX 5090", "--driver", "575"]


def answer(file: Path, machine: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    run(["resolve", "-r", str(file), *machine, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def changed(file: Path, machine: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    run(["resolve", "-r", str(file), *machine, "--format", "edited"])
    return capsys.readouterr().out


@for_each(
    ("before", "machine", "after"),
    [
        (  # as the public file has it
            "torch==2.1.2\ntriton==2.1.0\ntyping-extensions==4.9.0\nnvidia-cudnn-cu12==8.9.2.26\n", BLACKWELL,
            f"--extra-index-url {WHL}/cu128\ntorch==2.7.1+cu128\ntyping-extensions>=4.10.0\n",
        ),
        (  # the others of a freeze: sympy of torch 2.5 is pinned, other packages of NVIDIA are nobody's of torch
            ("# frozen\ntorch==2.5.1  # keep\nsympy==1.13.1\nnvidia-nccl-cu12==2.21.5\nnvidia-ml-py==12.535.133\n"
            "networkx==3.2\nrequests==2.31.0\n"), BLACKWELL,
            (f"# frozen\n--extra-index-url {WHL}/cu128\ntorch==2.7.1+cu128  # keep\nsympy>=1.13.3\n"
            "nvidia-ml-py==12.535.133\nnetworkx==3.2\nrequests==2.31.0\n"),
        ),
        (  # wheels of another CUDA major, ranges that agree and one that does not, what is not pinned
            "torch==1.13.1\nnvidia-cublas-cu11==11.10.3.66\ntyping_extensions>=4,<5\ntriton<3\nfilelock\nnvidia-cudnn-cu12\n",
            BLACKWELL,
            f"--extra-index-url {WHL}/cu128\ntorch==2.7.1+cu128\ntyping_extensions>=4,<5\nfilelock\nnvidia-cudnn-cu12\n",
        ),
        (  # its index is replaced where it stands, on the mirror that it is of
            f"--index-url {WHL}/cu118\ntorch==2.1.2\ntorchvision==0.16.2\n", BLACKWELL,
            f"--index-url {WHL}/cu128\ntorch==2.7.1+cu128\ntorchvision==0.22.1+cu128\n",
        ),
        (
            "--extra-index-url=https://mirror.example/pytorch-wheels/cu118/\ntorch==2.1.2+cu118\n", BLACKWELL,
            "--extra-index-url https://mirror.example/pytorch-wheels/cu128\ntorch==2.7.1+cu128\n",
        ),
        (
            f"-f {WHL}/cu111/torch_stable.html\ntorch==1.9.1+cu111\ntorchtext==0.10.1\n", BLACKWELL,
            f"--extra-index-url {WHL}/cu128\ntorch==2.7.1+cu128\ntorchtext==0.18.0\n",
        ),
        (  # a range stays one, an extra and a marker too; an unpinned companion goes with torch by itself
            "torch[opt-einsum]>=2.1,<3 ; python_version >= '3.9'\ntorchvision\ntorchaudio>=2\n", BLACKWELL,
            (f"--extra-index-url {WHL}/cu129\ntorch[opt-einsum]>=2.1,<=2.13.0 ; python_version >= \"3.9\"\ntorchvision\n"
            "torchaudio>=2\n"),
        ),
        (  # a torchaudio that names no torch would be taken with this older one
            "torch==2.5.1\ntorchaudio\ntorchvision\n", BLACKWELL,
            f"--extra-index-url {WHL}/cu128\ntorch==2.7.1+cu128\ntorchaudio==2.7.1+cu128\ntorchvision\n",
        ),
        (  # a range that no build of this machine is in
            "torch>=2.0,<2.5\n", BLACKWELL, f"--extra-index-url {WHL}/cu128\ntorch>=2.0,<=2.7.1\n",
        ),
        (  # nothing of another build is left behind where plain PyPI does
            f"--extra-index-url {WHL}/cpu\ntorch==2.8.0+cpu\n", BLACKWELL,
            f"--extra-index-url {WHL}/cu129\ntorch==2.8.0+cu129\n",
        ),
        ("torch==2.8.0\ntriton==3.3.0\n", ["--gpu", "H100", "--driver", "580"], "torch==2.8.0\ntriton==3.3.0\n"),
    ],
)  # fmt: skip
def test_the_changed_file(
    before: str, machine: list[str], after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(before)
    assert changed(file, machine, capsys) == after
    found = answer(file, machine, capsys)
    assert all(one["reason"] for one in found["instead"])
    file.write_text(after)
    assert not answer(file, machine, capsys)["dead"]


def test_the_text_tells_what_to_delete_and_that_it_was_not_solved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.1.2\ntriton==2.1.0\n")
    run(["resolve", "-r", str(file), *BLACKWELL])
    printed = capsys.readouterr().out
    assert "Delete:\n  triton==2.1.0    # line 2: torch 2.7.1 installs triton==3.3.1" in printed
    assert "This was not tested against an index" in printed and "--verify" in printed
    file.write_text("torch==2.8.0\n")
    run(["resolve", "-r", str(file), *BLACKWELL])
    assert "not solved" not in capsys.readouterr().out


@for_each(
    ("text", "command"),
    [
        ("#\n#    pip-compile --output-file=requirements.txt requirements.in\n#\ntorch==2.1.2\n",
         "pip-compile --output-file=requirements.txt requirements.in"),
        (("# This file was autogenerated by uv via the following command:\n#    uv pip compile requirements.in -o r.txt\n"
         "torch==2.1.2\n"), "uv pip compile requirements.in -o r.txt"),
        ("torch==2.1.2 \\\n    --hash=sha256:00\n", "uv pip compile --generate-hashes requirements.in"),
        ("#    uv pip compile $(rm -rf x)\ntorch==2.1.2\n", ""),
        ("torch==2.1.2\n", ""),
        *((f"#\n# This file is autogenerated by pip-compile with Python 3.10\n# by the following command:\n#\n#    {head}\n#\n{text}", command)
          for text, hashes in (("torch==2.1.2\n", ""), ("torch==2.1.2 \\\n    --hash=sha256:00\n", " --generate-hashes"))
          for head, command in (
            ("pip-compile --generate-hashes -o a.txt a.in", "pip-compile --generate-hashes -o a.txt a.in"),
            ("pip-compile --extra=dev --pip-args='--use-feature=x y' pyproject.toml", "pip-compile --extra=dev --pip-args='--use-feature=x y' pyproject.toml"),
            ("pip-compile --index-url=https://u:****@example.org/simple", f"pip-compile{hashes} requirements.in"),
            ("pip-compile $(rm -rf x)", f"pip-compile{hashes} requirements.in"),
            ("make requirements", f"pip-compile{hashes} requirements.in"))),
    ],
)  # fmt: skip
def test_a_generated_file_names_the_command_that_makes_it(
    text: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    assert answer(file, BLACKWELL, capsys)["regenerate"] == command
    run(["resolve", "-r", str(file), *BLACKWELL])
    printed = capsys.readouterr().out
    assert (f"then run  {command}" in printed) if command else ("This file is generated" not in printed)


def _index(folder: Path, m: Matrix, releases: tuple[str, ...]) -> None:
    """Wheels with the requirements that torch's own have, and what they ask for in an old and a new version."""
    versions: dict[str, set[str]] = {"typing-extensions": {"4.9.0"}, "setuptools": {"69.0"}}
    for row in (row for row in m.requires_rows if row.torch in releases):
        cuda = [text.replace("[", "==").partition("==")[0] for text in row.cuda]
        own = tuple(f"{name}==99" for name in cuda)  # of another index than PyPI: other versions
        make_wheel(folder, "torch", row.torch, (*row.requires, *row.cuda))
        make_wheel(folder, "torch", f"{row.torch}+cu128", (*row.requires, *own))
        for text in (*row.requires, *row.cuda):
            name, _, version = text.partition(";")[0].partition("==")
            name = name.partition("[")[0].partition(">")[0].partition("<")[0].partition("~")[0].strip()
            versions.setdefault(name, set()).update({"99", *([version.strip()] if version else [])})
    for name, several in versions.items():
        for version in several:
            make_wheel(folder, name, version)


@pytest.mark.slow
@pytest.mark.parametrize(
    "torch", quickly(["2.5.1", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.0", "2.4.0", "2.6.0", "2.7.0"], 9)
)
def test_what_is_written_for_a_freeze_of_any_release_can_be_installed(
    torch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Solved by uv before and after, against an index whose torch asks for what the published one does."""
    m = Matrix.load()
    wheels = tmp_path / "wheels"
    _index(wheels, m, (torch, "2.7.0", "2.7.1"))
    file = tmp_path / "requirements.txt"
    build = next(r for r in m.releases if r.torch == torch).pypi_linux_x86_64
    asks = torch_asks(m, torch, build, "linux_x86_64", "3.11") or ()
    frozen = [f"{a.name}{a.specifier}" for a in asks if (a.specifier or "").startswith("==")]
    frozen += ["typing-extensions==4.9.0", "setuptools==69.0"]
    file.write_text("\n".join(["--no-index", "--find-links wheels", f"torch=={torch}", *frozen]) + "\n")
    words = ["resolve", "-r", str(file), *BLACKWELL, "--python", "3.11"]
    capsys.readouterr()
    assert run([*words, "--verify"]) == 1
    told = capsys.readouterr()
    assert "The changed file can be installed" in told.err, told
    file.write_text(changed(file, words[3:], capsys))
    assert run([*words, "--verify"]) == 0
    assert "The file can be installed" in capsys.readouterr().err


def test_a_file_that_no_index_answers_is_not_called_installable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paths and repositories are left out: their code is not run."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "setup.py").write_text("open('ran', 'w')\n")
    file = tmp_path / "requirements.txt"
    file.write_text("--no-index\n--find-links wheels\ntorch==2.1.2\n-e .\n./local\ngit+https://example.org/x.git\n")
    assert run(["resolve", "-r", str(file), *BLACKWELL, "--verify"]) == 1
    told = capsys.readouterr().err
    assert "The changed file cannot be installed. It could not be installed before the changes either." in told
    assert told.count("skipped, because it is not on an index") == 3 and not (tmp_path / "ran").exists()


@for_each(
    ("one", "other", "agrees"),
    [
        ("==4.9.0", ">=4.10.0", False), ("==4.10.0", ">=4.10.0", True), ("<4.10", ">=4.10.0", False),
        ("~=4.9", ">=4.10", True), ("~=4.9.0", ">=4.10", False), (">=2.1,<3", "==3.3.1", False),
        ("!=3.3.1", "==3.3.1", False), ("==1.13.*", "==1.13.1", True), ("<82", ">=77.0.3", True),
        (">1,<2", ">=1.5", True), ("<2", ">=1.99", True), ("", "==1", True), ("==x", "", False),
    ],
)  # fmt: skip
def test_two_specifiers_agree_where_a_version_fulfils_both(one: str, other: str, agrees: bool) -> None:
    assert agree(one, other) == agree(other, one) == agrees


def test_every_release_says_what_it_asks_for() -> None:
    m = Matrix.load()
    assert [row.torch for row in m.requires_rows] == [row.torch for row in m.releases]
    for row in m.releases:
        named = {
            ask.name: ask.specifier for ask in torch_asks(m, row.torch, row.pypi_linux_x86_64, "linux_x86_64") or ()
        }
        if row.triton and "triton" in named:
            assert named["triton"] == (row.triton if row.triton.startswith("~") else f"=={row.triton.lstrip('=')}")
        cudnn = next((spec for name, spec in named.items() if name.startswith("nvidia-cudnn")), None)
        assert cudnn in (None, f"=={row.cudnn}"), row.torch


@for_each(
    ("torch", "tag", "platform", "python", "name", "asked"),
    [
        ("2.15.0", "", "linux_x86_64", "3.14", "cuda-bindings", True),
        ("2.15.0", "", "linux_x86_64", "3.15", "cuda-bindings", False),
        ("2.15.0", "", "linux_x86_64", "3.15t", "triton", True),
        ("2.14.1", "", "linux_x86_64", "3.15", "triton", False),
        ("2.5.1", "cu124", "linux_x86_64", "3.12", "triton", True),
        ("2.5.1", "cu124", "linux_aarch64", "3.12", "triton", False),
        ("2.11.0", "", "linux_aarch64", "3.12", "triton", True),
        ("2.11.0", "cu130", "windows", "3.12", "triton", False),
        ("2.3.1", "cu121", "windows", "3.11", "mkl", True),
        ("2.3.1", "cu121", "linux_x86_64", "3.11", "mkl", False),
        ("2.4.1", "cu124", "windows", "3.12", "setuptools", True),
        ("2.4.1", "cu124", "windows", "3.11", "setuptools", False),
    ],
)  # fmt: skip
def test_the_markers_of_the_metadata_decide(
    torch: str, tag: str, platform: str, python: str, name: str, asked: bool
) -> None:
    m = Matrix.load()
    own = next(row for row in m.releases if row.torch == torch).pypi_linux_x86_64
    assert (name in {ask.name for ask in torch_asks(m, torch, tag or own, platform, python) or ()}) == asked


@for_each(
    ("text", "gpu", "dead", "written", "told"),
    [
        ("tensorrt==8.6.1\n", "RTX 5090", [1], "tensorrt>=10.8.0", ""),
        ("tensorrt-cu12==10.7.0 ; python_version >= '3.8'\n", "B200", [1], 'tensorrt-cu12>=10.8.0 ; python_version >= "3.8"', ""),
        ("nvidia-tensorrt==8.4.1.5\n", "RTX 5090", [], "", ""),  # older than what is listed: not known
        ("tensorrt==10.5.0\n", "V100", [1], "tensorrt<10.5.0", ""),
        ("tensorrt==10.13.0.35\ntensorrt>=8\n", "RTX 5090", [], "", ""),
        ("tensorrt==8.6.1\n", "H100", [], "", ""),
        ("torch==2.1.2\nauto-gptq==0.6.0\n", "RTX 5090", [1], "torch==2.7.1+cu128", "line 2: auto-gptq is compiled"),
        ("torch==2.1.2\ntorch_scatter\n", "RTX 5090", [1], "torch==2.7.1+cu128", "line 2: torch-scatter is compiled"),
        ("torch==2.1.2\ndetectron2==0.6\n", "A100", [], "", ""),  # nothing has to change
    ],
)  # fmt: skip
def test_packages_with_cuda_code_beside_torch(
    text: str, gpu: str, dead: list[int], written: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    found = answer(file, ["--gpu", gpu, "--driver", "580"], capsys)
    assert [one["number"] for one in found["dead"]] == dead
    assert [one["write"] for one in found["instead"]] == ([written] if written else [])
    assert any(one.startswith(told) for one in found["unknown"]) if told else "compiled" not in str(found["unknown"])


@for_each(
    ("text", "gpu", "driver", "dead", "written", "told"),
    [
        # bitsandbytes loads the library of torch's CUDA: of old releases none is for CUDA 12.8, which sm_120 needs
        ("bitsandbytes==0.42.0\n", "RTX 5090", "580", [1], ["bitsandbytes==0.50.2"], ""),
        ("bitsandbytes==0.45.2\n", "B200", "580", [1], ["bitsandbytes==0.50.2"], ""),
        ("bitsandbytes==0.45.3\n", "RTX 5090", "580", [], [], ""),
        ("bitsandbytes==0.42.0\n", "A100", "535", [], [], ""),
        ("torch==2.8.0\nbitsandbytes==0.41.1\n", "RTX 5090", "580", [2], ["bitsandbytes==0.50.2"], ""),
        ("torch==2.3.1\nbitsandbytes==0.43.1\n", "A100", "535", [], [], ""),
        # without a wheel flash-attn is built for the torch that is there
        ("torch==2.8.0\nflash-attn==2.6.3\n", "H100", "580", [], [], "line 2: flash-attn==2.6.3 has no wheel"),
        ("flash-attn==2.6.3\n", "A100", "550", [], [], ""),
        ("flash-attn\nmamba-ssm\n", "RTX 5090", "580", [], [], ""),
        ("torch==2.3.1\nflash-attn\n", "T4", "535", [2], [], ""),
        ("torch==2.8.0\nflash-attn==2.6.3\nbitsandbytes==0.41.1\n", "RTX 5090", "580", [3], ["bitsandbytes==0.50.2"], ""),
        ("xformers==0.0.28.post3\n", "RTX 5090", "580", [1], ["xformers==0.0.32.post2", "torch==2.8.0"], ""),
    ],
)  # fmt: skip
def test_unknown_is_not_dead_and_old_is_not_silent(
    text: str, gpu: str, driver: str, dead: list[int], written: list[str], told: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    found = answer(file, ["--gpu", gpu, "--driver", driver], capsys)
    assert [one["number"] for one in found["dead"]] == dead, found
    assert [one["write"] for one in found["instead"]] == written
    assert any(one.startswith(told) for one in found["unknown"]) or not told, found["unknown"]


@pytest.mark.parametrize("solver", ["uv", "pip"])
def test_verify_solves_for_a_python_that_is_not_here_with_wheels_for_an_older_glibc(
    solver: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip takes each platform tag as it is; uv would download the Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    if solver == "uv":
        (folder / "uv").symlink_to(UV)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", "http://127.0.0.1:9/")
    tags = ("manylinux_2_17_x86_64.manylinux2014_x86_64", "manylinux2014_x86_64", "manylinux_2_24_x86_64",
            "manylinux_2_31_x86_64")  # fmt: skip
    for number, tag in enumerate(tags):
        make_wheel(tmp_path / "wheels", f"own{number}", "1.0", tag=f"cp310-cp310-{tag}")
    file = tmp_path / "requirements.txt"
    names = "".join(f"own{number}\n" for number in range(len(tags)))
    file.write_text(f"--no-index\n--find-links wheels\n{names}")
    assert run(["resolve", "-r", str(file), *BLACKWELL, "--python", "3.10", "--verify"]) == 0
    told = capsys.readouterr().err
    assert "The file can be installed" in told and "download" not in told.replace("--no-python-downloads", ""), told
