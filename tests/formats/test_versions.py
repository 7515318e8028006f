"""Version spellings, as they stand in drivers, headers and wheels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import versions


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("570.86.10", (570, 86, 10)),
        ("535.54", (535, 54)),
        (" 470.256.02\n", (470, 256, 2)),
        ("32.0.15.6094", (32, 0, 15, 6094)),
    ],
)
def test_drivers(text: str, numbers: tuple[int, ...]) -> None:
    assert versions.parse_driver(text) == numbers


@pytest.mark.parametrize("text", ["", "570", "570.x", "570.86.10-1", "latest", "570..1", "٥٧٠.86"])
def test_what_is_no_driver_is_none(text: str) -> None:
    assert versions.parse_driver(text) is None


def test_drivers_compare_field_by_field() -> None:
    older, newer = versions.parse_driver("535.54.03"), versions.parse_driver("535.129.03")
    assert older is not None and newer is not None and older < newer


def test_cuda() -> None:
    assert versions.parse_cuda("12.8") == (12, 8)
    assert versions.parse_cuda("12.8.1") == (12, 8, 1)
    assert versions.parse_cuda("12") is None
    assert [versions.cuda_from_int(n) for n in (9020, 11080, 12080, 13000)] == ["9.2", "11.8", "12.8", "13.0"]
    assert [versions.cuda_from_int(n) for n in (0, -1, 12, 12081, 10**9)] == [None] * 5
    assert [versions.cuda_tag(v) for v in ("9.2", "11.8", "12.8.1", "?")] == ["cu92", "cu118", "cu128", None]


def test_cudnn_and_nccl_changed_their_arithmetic() -> None:
    assert [versions.cudnn_from_int(n) for n in (7605, 8902, 90100, 91002, 92800)] == [
        "7.6.5",
        "8.9.2",
        "9.1.0",
        "9.10.2",
        "9.28.0",
    ]
    assert [versions.nccl_from_int(n) for n in (2708, 2804, 20903, 21805, 22703, 23203)] == [
        "2.7.8",
        "2.8.4",
        "2.9.3",
        "2.18.5",
        "2.27.3",
        "2.32.3",
    ]
    assert versions.cudnn_from_int(0) is None
    assert versions.nccl_from_int(-5) is None
    assert versions.cudnn_from_int(12345) is None


@pytest.mark.parametrize(
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
    for parse in (versions.parse_driver, versions.parse_cuda, versions.parse_torch, versions.cuda_tag):
        parse(text)
    assert versions.parse_torch("x" + text) is None


@given(st.integers())
def test_no_number_is_too_odd(number: int) -> None:
    for parse in (versions.cuda_from_int, versions.cudnn_from_int, versions.nccl_from_int):
        answer = parse(number)
        assert answer is None or number > 0
