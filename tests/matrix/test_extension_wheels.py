"""Wheels beside PyPI: each row gives addresses of the form that its project's setup.py looks for."""

from __future__ import annotations

import re

from compat_matrix import Matrix

NAME = re.compile(
    r"https://github\.com/[\w-]+/[\w-]+/releases/download/v([\w.]+)/"
    r"\w+-\1\+cu1[123]torch2\.\d+cxx11abi(TRUE|FALSE)-cp3\d+-cp3\d+-linux_(x86_64|aarch64)\.whl"
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
    assert "no wheels of apex are known" in ask("apex")
    assert "windows" in ask(platform="windows")
    assert "with CUDA 13" in ask(cuda="13.0")
    assert "Python 3.14" in ask(python="3.14") and "Python unknown" in ask(python=None)
    assert "ABI" in ask(abi=None)
