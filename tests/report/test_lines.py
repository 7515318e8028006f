"""One line for health checks, whatever the report; and wrapped prose."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.report.clean import ascii_only, printable
from doctor.report.healthline import healthline
from doctor.report.lines import plain, wrap

from ..healthy import healthy
from ..judging import report
from ..rows import for_each
from ..sickness import without_nvml
from .samples import finding, hostile, sick


def test_fail_is_told_before_unknown_and_ok() -> None:
    assert healthline(sick()) == "FAIL driver-not-loaded: title of driver-not-loaded", (
        "its consequences are not counted"
    )
    two = sick(
        findings=(finding("driver-not-loaded"), finding("cpu-only-torch"), finding("cpu-only-torch", subject="x"))
    )
    assert healthline(two) == "FAIL driver-not-loaded: title of driver-not-loaded (+1 more)"
    unknown = sick(findings=(finding("no-nvidia-gpu", "unknown"),), verdict="unknown", exit_code=3)
    assert healthline(unknown) == "UNKNOWN no-nvidia-gpu: title of no-nvidia-gpu"
    warning = sick(findings=(finding("cpu-only-torch", "warn"),), verdict="warn", exit_code=0)
    assert healthline(warning).startswith("OK 1x NVIDIA H100") and healthline(warning).endswith(
        "(warning: cpu-only-torch)"
    )
    assert healthline(report(healthy())).startswith("OK")


def test_ok_names_the_gpu_that_only_cuda_lists() -> None:
    s = without_nvml(healthy(container=True)).replace({"container.driver_capabilities": "compute"})
    assert healthline(report(s)).startswith("OK 1x NVIDIA H100 80GB HBM3, driver")


@given(st.text(max_size=300), st.sampled_from(["fail", "unknown", "warn"]))
def test_the_line_is_one_line_of_80_ascii_characters(title: str, status: str) -> None:
    text = healthline(sick(findings=(finding("no-nvidia-gpu", status, title=title),)))
    assert len(text) <= 80 and text.isascii() and text.isprintable()
    assert text.split()[0] in ("OK", "FAIL", "UNKNOWN")


def test_hostile_facts_stay_in_one_line() -> None:
    assert healthline(hostile()).isprintable()


@given(st.text(max_size=400), st.integers(30, 120), st.text(" ", max_size=8))
def test_wrapping_loses_no_word(text: str, width: int, indent: str) -> None:
    said = " ".join(plain(wrap(text, width, indent)).split())
    assert said == " ".join(printable(text).split())


@for_each(("text", "expected"), [("a\x1b[0m", "a\\x1b[0m"), ("a\tb\nc", "a b c"), ("\u202e", "\\u202e"), ("ü", "ü")])
def test_control_characters_are_shown(text: str, expected: str) -> None:
    assert printable(text) == expected


@given(st.text(max_size=200))
def test_ascii_only_is_ascii(text: str) -> None:
    assert ascii_only(text).isascii()
