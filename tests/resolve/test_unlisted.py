"""A release that the matrix does not list is unknown, or what both its neighbors are: never 'nothing fits'."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from compat_matrix.resolver import Question, resolve
from compat_matrix.unlisted import Unlisted, unlisted
from compat_matrix.wish import Wish, distribution_of
from compat_matrix.wishes import KNOWN
from doctor.cli import run

from ..judging import matrix
from ..rows import Faults, for_each
from .released import PACKAGES, listed, made_up

M = matrix()
MACHINE = ["--gpu", "H100", "--driver", "580"]
MACHINES = (
    MACHINE,
    ["--gpu", "RTX 4090", "--driver", "581.57", "--os", "windows"],
    ["--gpu", "RTX 5090", "--driver", "575.57.08"],
    ["--gpu", "V100", "--driver", "535.129.03", "--python", "3.10"],
)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(["resolve", *MACHINE, *words])
    return code, capsys.readouterr().out


@pytest.mark.slow
@for_each("package", PACKAGES)
def test_no_made_up_release_is_said_to_fit_nothing(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    several = made_up(package)
    chosen = [*several[:2], *several[2 :: max(1, len(several) // 20)]]
    assert len(chosen) >= 9
    with Faults() as faults:
        for version, machine in product(chosen, MACHINES):
            with faults.of(f"{package}=={version} {machine}"):
                code = run(["resolve", *machine, f"{package}=={version}"])
                out = capsys.readouterr().out
                assert out.startswith(f"This matrix does not list {package} {version}; "), out
                assert "Nothing fits" not in out and "were rejected" not in out and "No build" not in out
                assert code == (0 if "most likely" in out else 3), (code, out)
                pins = [line for line in out.splitlines() if " install " in line]
                assert bool(pins) == (code == 0) and all(f"=={version}" in line for line in pins), out


@pytest.mark.slow
@for_each("package", PACKAGES)
def test_a_line_with_a_made_up_release_is_named(
    package: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone in a file, and beside a line that is judged: unknown is neither dead nor silent."""
    file, several = tmp_path / "requirements.txt", made_up(package)
    with Faults() as faults:
        for version, machine in product(several[:: max(1, len(several) // 4)], MACHINES[:3]):
            with faults.of(f"{package}=={version} {machine}"):
                file.write_text(f"{package}=={version}\n")
                assert run(["resolve", "-r", str(file), *machine]) == 3
                out = capsys.readouterr().out
                assert f"line 1: {package}=={version} is not listed in this matrix, so it was not judged" in out, out
                assert "No line is known to fail here." in out, out
                file.write_text(f"torch==2.4.1\n{package}=={version}\n")
                run(["resolve", "-r", str(file), *machine])
                assert f"line 2: {package}=={version} is not listed" in capsys.readouterr().out


@for_each("package", PACKAGES)
def test_the_neighbors_are_the_nearest(package: str) -> None:
    """By packaging's own order, whatever the order of a set is."""
    have = sorted(map(Version, listed(package)))
    with Faults() as faults:
        for version in random.sample(made_up(package), 9):
            with faults.of(f"{package} {version}"):
                below = max((one for one in have if one < Version(version)), default=None)
                above = min((one for one in have if one > Version(version)), default=None)
                for wish in (f"=={version}", version, f"==={version}"):
                    found = unlisted(M, wished(package, wish))
                    assert isinstance(found, Unlisted) and found.pin == version, found
                    near = [Version(one) if one else None for one in (found.below, found.above)]
                    assert near == [below, above], found


def wished(package: str, specifier: str = "") -> Wish:
    name, distribution = distribution_of(package)
    return Wish(name, specifier, distribution)


def test_the_answer_does_not_depend_on_the_order_of_sets() -> None:
    pins = ["sglang==0.4.14", "xformers==0.0.28.7", "flash-attn~=2.8.4", "flash-attn==9.9", "cupy==13.4.0.9"]
    code = f"from doctor.cli import run\nfor pin in {pins!r}: run(['resolve', *{MACHINE!r}, pin])"
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1 and b"0.4.10.post2 and 0.5.1. " in answers.pop()


@for_each("package", KNOWN)
def test_every_listed_release_is_listed(package: str) -> None:
    for version in listed(package):
        assert unlisted(M, Wish(package, version)) is None and unlisted(M, Wish(package, f"=={version}")) is None, (
            version
        )
    assert unlisted(M, Wish(package)) is None and unlisted(M, Wish(package, ">0")) is None


@for_each(
    ("wish", "chosen"),
    [
        ("xformers==0.0.28.post1", "xformers==0.0.28.post1"),
        ("xformers==0.0.28.post3", "xformers==0.0.28.post3"),
        ("flash-attn==2.7.1.post4", "flash_attn-2.7.1.post4+"),
        ("flash-attn==2.7.1.post1", ""),  # withdrawn; post4 is another release
    ],
)
def test_a_post_release_is_that_one_alone(wish: str, chosen: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = answer(capsys, "--gpu", "A100", "--python", "3.10", wish)
    assert (code == 0, chosen in out.splitlines()[0]) == (bool(chosen), True), out
    assert bool(chosen) != out.startswith("This matrix does not list")


@for_each(("package", "version"), [("flash-attn", "2.8.3.post2"), ("flash-attn", "2.3.5"), ("flash-attn", "2.0.6"),
          ("flash-attn", "1.0.9"), ("vllm", "0.1.2"), ("xformers", "0.0.8")])  # fmt: skip
@for_each("form", ["text", "requirements"])
def test_a_release_without_wheels_is_not_called_unlisted(
    package: str, version: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["resolve", *MACHINE, f"{package}=={version}", "--format", form])
    words = " ".join("".join(capsys.readouterr()).split())
    assert code == 3 and "does not list" not in words and "Nothing fits" not in words
    assert f"lists no wheels for {package} {version}" in words and f"matrix query {package} {version}" in words
    assert run(["matrix", "query", package, version]) == 0
    assert "sdist" in capsys.readouterr().out
    (tmp_path / "requirements.txt").write_text(f"{package}=={version}\n")
    assert run(["resolve", *MACHINE, "-r", str(tmp_path / "requirements.txt")]) == 3
    words = " ".join("".join(capsys.readouterr()).split())
    assert f"lists no wheels for {package} {version}, which is built from source, so it was not judged" in words


@for_each(("package", "version"), [("vllm", "0.2.5"), ("vllm", "0.1.4"), ("sglang", "0.1.5"), ("sglang", "0.4.0"),
          ("xformers", "0.0.13")])  # fmt: skip
def test_a_release_without_its_torch_is_not_called_unlisted(
    package: str, version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["resolve", *MACHINE, f"{package}=={version}"]) == 3
    words = " ".join("".join(capsys.readouterr()).split())
    assert words.startswith(
        f"This matrix does not say which torch version {package} {version} works with. Run gpudoctor"
    )
    assert "Nothing fits" not in words and "likely" not in words
    (tmp_path / "requirements.txt").write_text(f"{package}=={version}\n")
    assert run(["resolve", *MACHINE, "-r", str(tmp_path / "requirements.txt")]) == 3
    words = " ".join("".join(capsys.readouterr()).split())
    assert f"does not say which torch version {package} {version} works with, so it was not judged" in words


def test_neighbors_that_agree_make_it_likely(capsys: pytest.CaptureFixture[str]) -> None:
    """vLLM 0.30 and 0.31 pin the same torch."""
    have = listed("vllm")
    assert "0.30.5" not in have and {"0.30.0", "0.31.0"} <= set(have)
    code, out = answer(capsys, "vllm==0.30.5")
    assert code == 0 and "Both work with torch 2.13.0 for CUDA 13.0" in out.replace("\n  ", " ")
    assert "pip install torch==2.13.0 vllm==0.30.5" in out
    code, out = answer(capsys, "vllm==0.30.5", "--format", "json")
    data: dict[str, Any] = json.loads(out)
    assert data["unlisted"] == [{"wish": "vllm==0.30.5", "below": "0.30.0", "above": "0.31.0"}]
    assert len(data["candidates"]) == 1 and "vllm==0.30.5" in data["candidates"][0]["pip"]


@pytest.mark.slow
@for_each("package", PACKAGES)
def test_a_range_between_two_releases_is_judged_as_a_release_there(package: str) -> None:
    name, distribution = distribution_of(package)
    with Faults() as faults:
        for version in made_up(package)[::9]:
            with faults.of(f"{package} {version}"):
                pin, range_ = (
                    resolve(M, Question(gpus=("9.0",), driver="580.65.06", wishes=(Wish(name, asked, distribution),)))
                    for asked in (f"=={version}", f">={version},<={version}")
                )
                (beside,), (own,) = pin.unlisted, range_.unlisted
                assert (beside.below, beside.above) == (own.below, own.above)
                builds = [[one.build for one in answer.candidates] for answer in (pin, range_)]
                assert builds[0] == builds[1], builds
                written = [chosen.requirement for one in range_.candidates for chosen in one.chosen]
                assert all(one.endswith(f">={version},<={version}") for one in written), written


@for_each(
    ("wish", "between", "code"),
    [
        ("vllm>=0.31.2,<0.31.5", "0.31.0 and 0.32.0", 0),
        ("vllm<0.31.5,>=0.31.2", "0.31.0 and 0.32.0", 0),
        ("vllm~=0.31.4", "0.31.0 and 0.32.0", 0),
        ("vllm==0.31.7.*", "0.31.0 and 0.32.0", 0),
        ("jax[cuda12]>0.11.2,<0.12", "0.11.2 and 0.12.0", 0),
        ("vllm!=0.31.0,>0.30.0,<0.32.0", "0.30.0 and 0.32.0", 0),  # what it leaves out is no neighbor
        ("vllm>0.30.0,<0.32.0,!=0.31.0", "0.30.0 and 0.32.0", 0),
        ("cupy>=13.6.0,!=13.6.0,<14", "13.5.1 and 14.0.0", 3),
        ("vllm>0.31.5,<0.31.2", "0.31.0 and 0.32.0", 3),  # no version is in it
        ("flash-attn>2.8.1,<2.8.2", "2.8.1 and 2.8.2", 3),
        ("torch>2.9.1,<2.10", "2.9.1 and 2.10.0", 3),
    ],
)
def test_the_neighbors_of_a_range(wish: str, between: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    found, out = answer(capsys, wish)
    words = " ".join(out.split("\n\n")[0].split())
    assert f"; it lists {between}" in words and found == code, out
    assert ("most likely" in words) == (code == 0), out


@for_each(
    ("specifier", "is_empty"),
    [(">0,<1", False), (">1,<1.4", False), ("~=2.1", False), ("==1.*", False), ("<3", False), ("1.2.3", False),
     (">1.0,<1.0.0.1", False), (">2,<1", True), (">=1.5,!=1.5,<=1.5", True), ("==1.2,==1.3", True)],
)  # fmt: skip
def test_a_range_that_no_version_is_in(specifier: str, is_empty: bool) -> None:
    assert Unlisted(wish=Wish("vllm", specifier)).is_empty is is_empty


def test_neighbors_that_differ_leave_it_open(capsys: pytest.CaptureFixture[str]) -> None:
    have = listed("vllm")
    said = [answer(capsys, f"vllm=={one}.post7")[0] for one in have[:-1:5] if "post" not in one]
    assert 3 in said and 0 in said


@for_each(
    "pin",
    ["tensorflow==2.15.9", "tensorflow==1.8.7", "torchvision==0.12.0.post9", "torchaudio==0.8.1.post99",
     "torch==2.5.0.post9", "flash-attn==2.3.6rc9", "onnxruntime-gpu==1.31.9", "torch==2.7.0.post1", "vllm==0.33.0rc1",
     "jax==0.12.0.9", "jax[cuda12]==0.12.0.9", "cupy-cuda12x==13.4.0.9", "onnxruntime-gpu>=1.31.2", "torch>=2.15.1.dev1"],
)  # fmt: skip
def test_releases_that_once_fitted_nothing_or_were_replaced(pin: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = answer(capsys, pin)
    first = " ".join(out.split("\n\n")[0].split())
    assert first.startswith("This matrix does not list ") and code == (0 if "most likely" in first else 3), out
    assert code == 3 or pin in out, out


@for_each("form", ["requirements", "pyproject", "html"])
def test_other_formats_say_it_too(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    for package, code in (("vllm==0.30.5", 0), ("torch==2.99", 3)):
        assert run(["resolve", *MACHINE, package, "--format", form]) == code
        printed = capsys.readouterr()
        said = printed.out if form == "html" else printed.err
        assert "This matrix does not list" in said and "No build runs on this machine" not in printed.out


def test_a_machine_without_a_build_is_still_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["resolve", "--gpu", "GTX 680", "--driver", "470", "vllm"])
    assert code == 3 and "Nothing fits" in capsys.readouterr().out


@for_each("gpu", ["RTX 6090", "foo", "10de:ffff", "13.0", "Jetson Foo", "2x RTX 6090"])
def test_a_gpu_that_the_matrix_does_not_list_is_no_wrong_usage(gpu: str) -> None:
    """By name, PCI id, capability or module: every command that is asked about one says so alike."""
    assert run(["resolve", "--gpu", gpu, "--driver", "580"]) == 3
    assert run(["what-if", "--os", "linux", "--gpu", gpu, "--driver", "580", "--torch", "2.8"]) == 3
    if gpu.isascii() and gpu[:1].isalpha():
        assert run(["fit", "--params", "7B", "--gpus", gpu]) == 3


@for_each("gpu", ["Radeon 7900", "", "0x A100"])
def test_what_is_no_gpu_of_nvidia_is_wrong_usage(gpu: str) -> None:
    assert run(["resolve", "--gpu", gpu, "--driver", "580"]) == 2


def test_a_driver_that_is_not_given_is_unknown_and_not_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["resolve", "--gpu", "H100"]) == 0
    unknown = capsys.readouterr().out
    assert "H100 · driver unknown · Linux" in unknown and "If there is no driver yet, install one first" in unknown
    assert run(["resolve", "--gpu", "H100", "--driver", "none"]) == 0
    none = capsys.readouterr().out
    assert "H100 · no driver yet · Linux" in none and "\nFirst install a driver" in none


@for_each(("gpu", "branch"), [("GTX 580", "390"), ("GTX 680", "470")])
def test_a_gpu_that_no_branch_with_updates_drives_gets_the_newest_that_ended(
    gpu: str, branch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one that `matrix query driver for gpu` names too."""
    assert run(["resolve", "--gpu", gpu]) == 3
    words = " ".join(capsys.readouterr().out.split())
    assert f"supports all of these GPUs: the newest that does is {branch}, which has reached end of life." in words, (
        words
    )
    assert run(["matrix", "query", "driver", "for", "gpu", gpu]) == 0
    assert f"to install: branch {branch} " in capsys.readouterr().out
