"""Version spellings, as they stand in drivers, headers and wheels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import versions

from ..rows import for_each


def test_cuda() -> None:
    assert [versions.cuda_from_int(n) for n in (9020, 11080, 12080, 13000)] == ["9.2", "11.8", "12.8", "13.0"]
    assert [versions.cuda_from_int(n) for n in (0, -1, 12, 12081, 10**9)] == [None] * 5


def test_cudnn_changed_its_arithmetic() -> None:
    assert [versions.cudnn_from_int(n) for n in (7605, 8902, 90100, 91002, 92800)] == [
        "7.6.5",
        "8.9.2",
        "9.1.0",
        "9.10.2",
        "9.28.0",
    ]
    assert versions.cudnn_from_int(0) is None
    assert versions.cudnn_from_int(12345) is None


@for_each(
    ("text", "public", "build", "toolkit", "prerelease"),
    [
        ("2.6.0+cu124", "2.6.0", "cuda", "12.4", False),
        ("1.8.0+cu111", "1.8.0", "cuda", "11.1", False),
        ("1.13.1+cu117.with.pypi.cudnn", "1.13.1", "cuda", "11.7", False),
        ("1.7.1+cu92", "1.7.1", "cuda", "9.2", False),
        ("2.15.0", "2.15.0", "", None, False),
        ("2.13.0+cpu", "2.13.0", "cpu", None, False),
        ("2.0.0+cpu.cxx11.abi", "2.0.0", "cpu", None, False),
        ("2.7.0+rocm6.2.4", "2.7.0", "rocm", "6.2.4", False),
        ("2.5.1+xpu", "2.5.1", "xpu", None, False),
        ("2.8.0a0+34c6371d24.nv25.08", "2.8.0a0", "vendor", None, True),
        ("2.9.0.dev20250901+cu130", "2.9.0.dev20250901", "cuda", "13.0", True),
        ("2.6.0rc1", "2.6.0rc1", "", None, True),
        ("2.3.0.post1", "2.3.0.post1", "", None, False),
    ],
)
def test_torch(text: str, public: str, build: str, toolkit: str | None, prerelease: bool) -> None:
    found = versions.parse_torch(text)
    assert found is not None
    assert (found.public, found.build, found.toolkit, found.prerelease) == (public, build, toolkit, prerelease)
    assert found.release == tuple(int(part) for part in text.split("+")[0].split(".")[:2]) + found.release[2:]


@given(st.text(max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    versions.parse_torch(text)
    assert versions.parse_torch("x" + text) is None


@given(st.integers())
def test_no_number_is_too_odd(number: int) -> None:
    for parse in (versions.cuda_from_int, versions.cudnn_from_int):
        answer = parse(number)
        assert answer is None or number > 0
