"""A release that the matrix does not list is unknown, or what both its neighbors are: never 'nothing fits'."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compat_matrix.unlisted import _versions, unlisted
from compat_matrix.versions import numbers
from compat_matrix.wish import Wish
from compat_matrix.wishes import KNOWN
from doctor.cli import run

from ..judging import matrix
from ..rows import for_each

M = matrix()
MACHINE = ["--gpu", "H100", "--driver", "580"]


def listed(package: str) -> list[str]:
    return sorted(_versions(M, package), key=numbers)


def made_up(package: str) -> list[str]:
    """A release after the newest one, one before the oldest, and one in each of some gaps."""
    have = listed(package)
    first, last = have[0].split(".")[0], have[-1].split(".")[0]
    gaps = [f"{'.'.join(map(str, numbers(one)))}.7.7" for one in have[:-1:4]]
    gaps.append(f"{'.'.join(map(str, numbers(have[-1])))}.post77")
    return [f"{int(last) + 3}.1.0", *(["0.0.0.1"] if int(first) >= 0 else []), *gaps]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(["resolve", *MACHINE, *words])
    return code, capsys.readouterr().out


@pytest.mark.slow
@for_each("package", KNOWN)
def test_no_made_up_release_is_said_to_fit_nothing(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    have = set(listed(package))
    assert have, "the matrix knows the package"
    for version in made_up(package):
        if version in have or unlisted(M, Wish(package, version)) is None:
            continue
        code, out = answer(capsys, f"{package}=={version}")
        assert out.startswith(f"This matrix does not list {package} {version}; "), out
        assert "Nothing fits" not in out and "were rejected" not in out and "No build" not in out
        assert code == (0 if "most likely" in out else 3), (code, out)
        assert ("pip install" in out) == (code == 0)


@for_each("package", KNOWN)
def test_every_listed_release_is_listed(package: str) -> None:
    for version in listed(package):
        assert unlisted(M, Wish(package, f"=={version}" if "post" in version else version)) is None, version
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


@for_each("version", ["2.8.3.post2", "2.3.5", "2.0.6"])
@for_each("form", ["text", "requirements"])
def test_a_release_without_wheels_is_not_called_unlisted(
    version: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["resolve", *MACHINE, f"flash-attn=={version}", "--format", form])
    words = " ".join("".join(capsys.readouterr()).split())
    assert code == 3 and "does not list" not in words and "Nothing fits" not in words
    assert f"lists no wheels of flash-attn {version}" in words and f"matrix query flash-attn {version}" in words
    assert run(["matrix", "query", "flash-attn", version]) == 0
    assert "sdist" in capsys.readouterr().out


def test_neighbors_that_agree_make_it_likely(capsys: pytest.CaptureFixture[str]) -> None:
    """vLLM 0.30 and 0.31 pin the same torch."""
    have = listed("vllm")
    assert "0.30.5" not in have and {"0.30.0", "0.31.0"} <= set(have)
    code, out = answer(capsys, "vllm==0.30.5")
    assert code == 0 and "both work with torch 2.13.0 for CUDA 13.0" in out.replace("\n  ", " ")
    assert "pip install torch==2.13.0 vllm==0.30.5" in out
    code, out = answer(capsys, "vllm==0.30.5", "--format", "json")
    data: dict[str, Any] = json.loads(out)
    assert data["unlisted"] == [{"wish": "vllm==0.30.5", "below": "0.30.0", "above": "0.31.0"}]
    assert len(data["candidates"]) == 1 and "vllm==0.30.5" in data["candidates"][0]["pip"]


def test_neighbors_that_differ_leave_it_open(capsys: pytest.CaptureFixture[str]) -> None:
    have = listed("vllm")
    first = [unlisted(M, Wish("vllm", f"{'.'.join(map(str, numbers(one)))}.7.7")) for one in have[:-1]]
    said = [answer(capsys, f"vllm=={one.pin}")[0] for one in first if one]
    assert 3 in said and 0 in said


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
