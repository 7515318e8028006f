"""What a user pins is what the answer installs: never another release, silently."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat_matrix.resolver import Question, resolve
from compat_matrix.versions import by_release, is_same, order
from compat_matrix.wish import allowed
from doctor.cli import run
from doctor.resolve.choice import lines
from doctor.resolve.machine import wish

from ..judging import matrix
from ..rows import Faults, for_each
from .released import PACKAGES, listed, made_up

M = matrix()
MACHINES = (
    Question(gpus=("9.0",), driver="580.178.04", eligible=True),
    Question(gpus=("8.9",), driver="581.57", os="windows"),
    Question(gpus=("7.0",), driver="535.129.03", python="3.10"),
    Question(gpus=("12.0",), driver="575.57.08"),
)


def installed(package: str, words: str) -> list[Version]:
    """The releases of a package that a command installs. Raises AssertionError for one that is not pinned."""
    found = []
    for text in (word.strip("'") for word in re.findall(r"'[^']*'|\S+", words)):
        if wheel := re.search(r"/([a-z_0-9]+)-(\d[^+-]*)[+-][^/]*\.whl", text.lower()):
            found += [Version(wheel[2])] if wheel[1].replace("_", "-") == package else []
        elif re.match(r"[a-z][\w.-]*(?:\[[\w,-]+\])?[=<>]", text):
            need = Requirement(text)
            plugin = "".join(f"jax-{extra}-plugin" for extra in need.extras if need.name == "jax")
            if package in (need.name, plugin) or need.name.startswith(f"{package}-cuda"):
                (pin,) = need.specifier
                assert pin.operator == "==" and not pin.version.endswith("*"), text
                found.append(Version(Version(pin.version).public))
    return found


def one_pin(package: str, version: str, q: Question) -> int:
    """How many builds an answer has for a pin; each installs that release."""
    answer = resolve(M, replace(q, wishes=(wish(M, f"{package}=={version}"),)))
    for one in answer.candidates[:3]:
        how = lines(M, replace(q, wishes=(wish(M, f"{package}=={version}"),)), one)
        for words in (how.pip, how.uv):
            assert installed(package, words) == [Version(version)], words
    return len(answer.candidates)


@pytest.mark.slow
@for_each("package", PACKAGES)
def test_a_pin_is_kept(package: str) -> None:
    """Of releases that are listed (but a minor that stands for releases which are no longer published), and of others."""
    fitting = 0
    several = [one for one in listed(package) if one.count(".") > 1]
    several += made_up(package)[:: max(1, len(made_up(package)) // 40)]
    with Faults() as faults:
        for version, q in product(several, MACHINES):
            with faults.of(f"{package}=={version} on {q.gpus[0]} {q.driver}"):
                fitting += one_pin(package, version, q)
    assert fitting > 3


@for_each(
    ("pin", "written"),
    [
        ("torch==2.6.0+cu124", "torch==2.6.0 "),  # the default index has that build
        ("torch==2.6.0+cu118", "torch==2.6.0+cu118"),
        ("torchvision==0.21.0+cu118", "torchvision==0.21.0+cu118"),
        ("xformers==0.0.33+cu126", "torch==2.9.0+cu126 xformers==0.0.33"),
        ("torch==2.6.0+cpu", ""),
        ("torchvision==0.21.0+cpu", ""),
        ("torch==2.6.0+cu999", ""),
        ("vllm==0.33.0+cu118", ""),
    ],
)
def test_a_build_that_is_named_is_that_one(pin: str, written: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["resolve", pin, "--gpu", "A100", "--driver", "580"])
    out = capsys.readouterr().out
    assert (code == 0, written in out.splitlines()[0]) == (bool(written), True), out
    assert written or out.startswith("Nothing fits "), out


@for_each("pin", ["torchaudio==2.11.0", "torchaudio==2.11.1", "torchvision==0.29.1", "torchvision==0.29.2", "onnxruntime-gpu==1.31.1", "tensorflow==2.20.0",
                  "cupy-cuda12x==13.4.0", "jax-cuda13-plugin==0.12.0", "torch==2.7.0", "vllm==0.30.5"])  # fmt: skip
def test_pins_that_once_were_replaced(pin: str) -> None:
    package, _, version = pin.partition("==")
    assert one_pin(package, version, MACHINES[0])


@for_each("specifier", ["2.8", "2", "2.8.0", "==2.8", "==2.8.*", ">=2.8.1", ">2.8", "<2.9", "~=2.8.1", "!=2.8.0,<3"])
def test_what_a_specifier_allows_is_what_pip_allows(specifier: str) -> None:
    """A bare '2.8' is every 2.8.*, as people write it to `resolve`; all others as PEP 440 has them."""
    as_pip = SpecifierSet(f"=={specifier}" + ".*" * (specifier.count(".") < 2) if specifier[0] == "2" else specifier)
    versions = [
        "2.7.9",
        "2.8",
        "2.8.0",
        "2.8.0.0",
        "2.8.0.9",
        "2.8.0.post1",
        "2.8.1rc1",
        "2.8.1",
        "2.9.0.dev1",
        "2.10",
        "3",
    ]
    for version in versions:
        assert allowed(specifier, version) == as_pip.contains(version, prereleases=True), version


def test_the_order_is_that_of_packaging() -> None:
    parts = (
        ("", "1!", "v"), ("1", "1.0", "1.0.1", "0", "2.0.0.1"), ("", "a1", ".b", "rc2", "-alpha.3", "preview"),
        ("", ".post1", "-1", ".rev2", "post"), ("", ".dev1", "dev"), ("", "+cu128", "+cu128.1"),
    )  # fmt: skip
    every = ["".join(some) for some in product(*parts)]
    for text in ("1.x", "main", "", "1.0+", "1..2", "1.0 rc"):
        assert order(text) is None, text
    for _ in range(4_000):
        one, other = random.choice(every), random.choice(every)
        mine, theirs = Version(Version(one).public), Version(Version(other).public)
        assert (by_release(one) < by_release(other)) == (mine < theirs), (one, other)
        assert (order(one) == order(other)) == (mine == theirs), (one, other)
        assert is_same(one, other) == SpecifierSet(f"=={other}").contains(one, prereleases=True), (one, other)
