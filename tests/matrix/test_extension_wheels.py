"""Wheels beside PyPI: each row gives addresses of the form that its project's setup.py looks for."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

from packaging.specifiers import Specifier

from compat_matrix import Matrix
from compat_matrix.wish import allowed

NAME = re.compile(
    r"https://github\.com/[\w-]+/[\w-]+/releases/download/v([\w.]+)/"
    r"\w+-\1\+cu1[123]\d?torch[12]\.\d+cxx11abi(TRUE|FALSE)-cp3\d+-cp3\d+-linux_(x86_64|aarch64)\.whl"
)


def test_every_combination_of_every_row(m: Matrix) -> None:
    seen = 0
    for row in m.extension_wheels:
        for torch in row.torch:
            for python in row.pythons:
                for abi in row.abis:
                    for platform in row.platforms:
                        found = m.extension_wheel(
                            row.package,
                            torch=f"{torch}.0",
                            cuda=f"{row.cuda}.8",
                            python=python,
                            abi=abi == "TRUE",
                            platform=platform,
                            version=row.version,
                        )
                        gone = f"{torch} {python}" in row.absent
                        assert bool(found.url) is not gone and bool(found.reason) is gone, (row, torch, python)
                        assert gone or NAME.fullmatch(found.url), found.url
                        seen += 1
    assert seen > 200


def test_why_there_is_none(m: Matrix) -> None:
    def ask(package: str = "flash-attn", **changed: object) -> str:
        told = {
            "torch": "2.8.0",
            "cuda": "12.8",
            "python": "3.12.3",
            "abi": True,
            "platform": "linux_x86_64",
            **changed,
        }
        return m.extension_wheel(package, **told).reason  # type: ignore[arg-type]

    assert ask() == ""
    assert "no wheels for apex are known" in ask("apex")
    assert "windows" in ask(platform="windows")
    assert "with CUDA 13" in ask(cuda="13.0")
    assert "Python 3.14" in ask(python="3.14") and "Python unknown" in ask(python=None)
    assert "ABI" in ask(abi=None)


def test_flash_attn_has_what_its_workflow_built_at_each_tag(m: Matrix) -> None:
    """The matrix of .github/workflows/publish.yml at each tag, every combination and nothing beside it.

    `new_abi_alone`: compiled with a torch of the new C++ ABI, whatever the file's label says.
    """
    wrong = []
    for built in json.loads(Path(__file__).with_name("flash_attn_wheels.json").read_text("utf-8")):
        version = built["version"]
        for cuda, torch, python, abi in product(
            ("11", "12", "13"), (f"2.{n}" for n in range(9)), (f"3.{n}" for n in range(8, 15)), (False, True)
        ):
            there = cuda in built["cuda"] and torch in built["torch"].split() and python in built["python"].split()
            there = there and not {f"{torch} {python}", f"{torch} cu{cuda}"} & set(built["without"])
            there = there and (abi or torch not in built.get("new_abi_alone", "").split())
            tag, short = built["cuda"].get(cuda), f"cp{python.replace('.', '')}"
            name = f"flash_attn-{version}+{tag}torch{torch}cxx11abi{str(abi).upper()}-{short}-{short}-linux_x86_64.whl"
            found = m.extension_wheel(
                "flash-attn",
                torch=f"{torch}.0",
                cuda=f"{cuda}.0",
                python=python,
                abi=abi,
                platform="linux_x86_64",
                version=version,
            )
            if found.url.rpartition("/")[2] != (name if there else ""):
                wrong.append(f"{name if there else 'nothing'}, not {found.url or found.reason}")
    assert not wrong, "\n".join(wrong[:20])


def test_flash_attn_wheels_that_were_added_to_a_release_later(m: Matrix) -> None:
    """Named in public install scripts; issue 2212 asks for the same with Python 3.11, which there is not."""

    def ask(torch: str, cuda: str, python: str, platform: str) -> str:
        found = m.extension_wheel("flash-attn", torch=torch, cuda=cuda, python=python, abi=True, platform=platform)
        return found.url.rpartition("/")[2] or found.reason

    for torch, cuda, platform in (("2.9.1", "12", "linux_x86_64"), ("2.9.1", "12", "linux_aarch64"),
                                  ("2.9.0", "13", "linux_x86_64"), ("2.10.0", "13", "linux_x86_64")):  # fmt: skip
        minor = torch.rpartition(".")[0]
        name = f"flash_attn-2.8.3+cu{cuda}torch{minor}cxx11abiTRUE-cp312-cp312-{platform}.whl"
        assert ask(torch, f"{cuda}.0", "3.12", platform) == name
    assert "torch 2.9 and Python 3.11" in ask("2.9.1", "12.8", "3.11", "linux_x86_64")
    assert "torch 2.9 on linux aarch64, not 2.8" in ask("2.8.0", "12.8", "3.12", "linux_aarch64")


def test_an_exact_release_is_not_its_post_release(m: Matrix) -> None:
    """`==2.8.3` takes what pip takes: never 2.8.3.post1, whatever package the matrix lists."""
    versions = {row.version for rows in (m.extensions, m.frameworks, m.extension_wheels) for row in rows}
    posts = sorted(one for one in versions if ".post" in one)
    assert len(posts) > 20
    for version in posts:
        base = version.partition(".post")[0]
        assert not allowed(base, version), version
        assert allowed(version, version)
        assert not Specifier(f"=={base}").contains(version)
