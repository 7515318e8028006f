"""What torch says of itself, from its text and from a library that gcc makes here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.elf import ElfError
from doctor.formats.pytorch import TorchVersionFile, compiled_arch_list, parse_version_file

from ..rows import for_each

CUDA_2_15 = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.15.0+cu132'
debug = False
cuda: Optional[str] = '13.2'
git_version = 'd0f2af8b66b20da4baa50644c0cd3f887a2eae2e'
hip: Optional[str] = None
rocm: Optional[str] = None
xpu: Optional[str] = None
"""


def test_a_cuda_build() -> None:
    found = parse_version_file(CUDA_2_15)
    assert found == TorchVersionFile(
        "2.15.0+cu132", "13.2", None, None, "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e", False
    )
    assert found is not None and found.build == "cuda"


@for_each(
    ("text", "build"),
    [
        ("__version__ = '1.8.0'\ndebug = False\ncuda = '10.2'\ngit_version = 'x'\nhip = None\n", "cuda"),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n", "cpu"),
        ("__version__ = \"2.9.0\"\r\ncuda = None\r\nhip: Optional[str] = '6.4.43482'\r\n", "rocm"),
        ("__version__ = '2.8.0+xpu'\ncuda = None\nhip = None\nxpu: Optional[str] = '20250101'\n", "xpu"),
    ],
)
def test_other_builds(text: str, build: str) -> None:
    found = parse_version_file(text)
    assert found is not None and found.build == build


def test_code_in_the_file_is_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    text = f"__version__ = open({str(marker)!r}, 'w').name\ncuda = '12.4'\n"
    assert parse_version_file(text) is None
    assert not marker.exists()


@given(st.text(max_size=300))
def test_no_text_is_too_odd(text: str) -> None:
    assert parse_version_file(text) is None or "__version__" in text


def library(folder: Path, strings: list[str]) -> str:
    lines = "\n".join(f'const char *s{i}(void) {{ return "{text}"; }}' for i, text in enumerate(strings))
    (folder / "lib.c").write_text(lines + "\n")
    out = folder / "libtorch_python.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", out, folder / "lib.c"], check=True)
    return str(out)


def test_the_compiled_list_is_found_among_other_strings(tmp_path: Path) -> None:
    path = library(tmp_path, ["sm_70", "expected sm_80 sm_90", "sm_75 sm_80 sm_86 sm_90a compute_90", "sm_80 or sm_90"])
    assert compiled_arch_list(path) == ("sm_75", "sm_80", "sm_86", "sm_90a", "compute_90")


def test_it_is_found_across_the_border_of_two_reads(tmp_path: Path) -> None:
    path = library(tmp_path, ["x" * n for n in (1 << 20, 1 << 16)] + ["sm_37 sm_50 sm_90"] + ["y" * (1 << 20)])
    assert compiled_arch_list(path) == ("sm_37", "sm_50", "sm_90")


def test_rocm_lists_its_own_names(tmp_path: Path) -> None:
    assert compiled_arch_list(library(tmp_path, ["gfx900 gfx90a gfx1100"])) == ("gfx900", "gfx90a", "gfx1100")


def test_a_cpu_build_has_none(tmp_path: Path) -> None:
    assert compiled_arch_list(library(tmp_path, ["compute_mode", "sm_count"])) is None


def test_a_damaged_library_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "libtorch_python.so").write_bytes(b"\x7fELF\x02\x01")
    with pytest.raises(ElfError):
        compiled_arch_list(str(tmp_path / "libtorch_python.so"))
