"""What the NVIDIA kernel driver writes of itself, in the forms seen across drivers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import proc_nvidia as nv

from ..rows import for_each

GCC = "\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"


@for_each(
    ("line", "version", "flavour"),
    [
        ("NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023", "535.129.03", "proprietary"),
        ("NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12 09:19:07 UTC 2022", "390.157", "proprietary"),
        ("NVIDIA UNIX aarch64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021", "470.57.02", "proprietary"),
        (
            "NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (builder@host)  Thu Jan 23 22:43:10 UTC 2025",
            "570.86.15",
            "open",
        ),
        ("NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  (buildbrain@host)", "540.4.0", "open"),
        ("NVIDIA UNIX Open Kernel Module for x86_64  620.70.06  Release Build", "620.70.06", "open"),
        ("NVIDIA UNIX x86_64 Kernel Module", None, "proprietary"),
    ],
)
def test_driver_version(line: str, version: str | None, flavour: str) -> None:
    assert nv.parse_driver_version(f"NVRM version: {line}{GCC}") == nv.KernelDriver(version, flavour, line)


@for_each("text", ["", GCC, "NVIDIA-SMI has failed", "\0\0"])
def test_what_is_not_the_version_file(text: str) -> None:
    assert nv.parse_driver_version(text) is None


@given(st.text(max_size=200))
def test_no_text_is_too_odd(text: str) -> None:
    nv.parse_driver_version("NVRM version: " + text)
