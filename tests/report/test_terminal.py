"""The terminal report: the cause first, commands that can be copied, and nothing that was not looked at called well."""

from __future__ import annotations

import re

import pytest

from doctor.judge.report import CheckResult
from doctor.report.markdown import render_markdown
from doctor.report.terminal import Look, render_terminal

from ..healthy import healthy
from ..judging import report
from .samples import LAYERS, finding, hostile, sick, steps

PLAIN = Look(width=80)


def rows(look: Look = PLAIN, **changes: object) -> list[str]:
    return render_terminal(sick(**changes), LAYERS, look).split("\n")


def row_of(text: str, lines: list[str]) -> int:
    """Index of the first row that holds the text."""
    return next(i for i, row in enumerate(lines) if text in row)


def test_the_root_cause_comes_first_and_its_consequences_under_it() -> None:
    lines = rows()
    order = ["title of driver-not-loaded", "Fix: Install a build that fits", "This also shows as", "title of cpu-only-torch",
             "title of driver-too-old-for-gpu", "Also found", "title of torch-not-installed", "title of no-nvidia-gpu",
             "hardware ", "A remark", "FAIL  exit 1"]  # fmt: skip
    places = [row_of(text, lines) for text in order]
    assert places == sorted(places)


def test_two_subjects_of_one_check_are_one_block() -> None:
    assert sum("explain no-nvidia-gpu" in row for row in rows()) == 1
    assert sum("title of no-nvidia-gpu" in row for row in rows()) == 2


def test_eight_gpus_of_one_fault_are_told_in_two_lines() -> None:
    one = [finding("torch-dropped-old-gpu-sm", title="no code for it", subject=f"GPU-{i}") for i in range(8)]
    two = [finding("cudnn-dropped-old-gpu", title="no cuDNN for it", subject=f"GPU-{i}",
                   downstream_of=("torch-dropped-old-gpu-sm",)) for i in range(8)]  # fmt: skip
    told = sick(findings=(*one, *two))
    for text in (render_terminal(told, LAYERS), render_markdown(told, LAYERS)):
        assert text.count("no code for it") == 2 and ", 7 more of them" in text
        assert text.count("no cuDNN for it") == 1 and ", 8 of them" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 300])
def test_commands_stand_alone_and_whole_at_every_width(width: int) -> None:
    lines = [row.strip(" ") for row in rows(Look(width=width))]
    for step in steps():
        for command in step.command.split("\n"):
            if command:
                assert command.replace("\t", " ").strip() in lines


@pytest.mark.parametrize("verbose", [0, 1, 2])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_nothing_but_commands_and_long_words_is_wider_than_the_terminal(width: int, verbose: int) -> None:
    commands = {line.strip() for step in steps() for line in step.command.replace("\t", " ").split("\n")}
    for row in rows(Look(width=width, verbose=verbose)):
        broken_as_far_as_possible = len(row.split()) == 1
        assert len(row) <= width or row.strip() in commands or broken_as_far_as_possible, row


def test_every_place_is_said_and_what_cannot_be_done_here_is_marked() -> None:
    text = " ".join("\n".join(rows()).split())
    for where in ("in this Python environment", "in the Dockerfile", "where the container or job is started", "on the host",
                  "at your provider", "in this shell", "in your program", "on Windows"):  # fmt: skip
        assert where in text
    assert text.count("not possible from here") == 2
    assert "as root, cannot be undone" in text
    assert re.findall(r"(?<=\s)(\d)\. ", "\n".join(rows())) == list("12345678")


def test_the_second_way_is_named_and_told_with_v() -> None:
    assert not any("second-way" in row for row in rows())
    assert "Use another card" in "\n".join(rows())
    assert any("second-way" in row for row in rows(Look(verbose=1)))


def test_a_group_with_something_unknown_is_not_well() -> None:
    lines = rows()
    line = lines[row_of("hardware  ", lines)]
    assert line.startswith("?")
    assert "1 not known" in line
    assert "driver.cu_init: timeout" in " ".join("\n".join(lines).split())


def test_a_group_of_skipped_checks_has_no_tick() -> None:
    checks = tuple(CheckResult(id=name, status="skipped", reason="left out") for name in LAYERS)
    text = "\n".join(rows(checks=checks, findings=(), verdict="pass", exit_code=0))
    assert "✓" not in text
    assert f"{len(LAYERS)} skipped" in text


def test_a_passing_group_is_one_line_and_v_opens_it() -> None:
    calm = report(healthy())
    closed, opened = (render_terminal(calm, LAYERS, Look(verbose=v)) for v in (0, 1))
    assert "no-nvidia-gpu" not in closed
    for check in calm.checks:
        assert check.id in opened
        assert " ".join(check.reason.split()) in " ".join(opened.split())
    assert "healthy" not in closed


def test_vv_tells_all_facts_with_their_witnesses() -> None:
    seen = healthy().replace({"witnesses": {"driver.kernel_version": ("/proc/driver/nvidia/version",)}})
    text = " ".join(render_terminal(report(seen), LAYERS, Look(verbose=2)).split())
    assert "driver.kernel_version: 580.82.07 [/proc/driver/nvidia/version]" in text
    assert "gpus[0].name: NVIDIA H100 80GB HBM3" in text
    assert "host.cpu_model: not known (not-asked)" in text


def test_nvidia_smi_s_cuda_version_is_explained_where_it_differs() -> None:
    def text(cuda: str) -> str:
        return " ".join(render_terminal(report(healthy(cuda=cuda)), LAYERS, PLAIN).split())

    assert "nvidia-smi shows is the highest that the driver supports, not what is installed" in text("13.0")
    assert "nvidia-smi" not in text("12.8"), "torch's CUDA and the driver's are the same here"


@pytest.mark.parametrize("verbose", [0, 2])
def test_ascii_is_ascii(verbose: int) -> None:
    for found in (sick(), hostile()):
        assert render_terminal(found, LAYERS, Look(verbose=verbose, ascii_=True)).isascii()


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_no_control_character_of_a_fact_reaches_the_terminal(verbose: int) -> None:
    text = render_terminal(hostile(), LAYERS, Look(verbose=verbose))
    assert not [c for c in text if not c.isprintable() and c != "\n"]


def test_colour_changes_no_word() -> None:
    for found in (sick(), report(healthy())):
        coloured = render_terminal(found, LAYERS, Look(width=80, verbose=1, colour=True))
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_terminal(found, LAYERS, Look(width=80, verbose=1))


def test_a_circle_of_causes_is_still_told() -> None:
    from .samples import finding

    circle = (finding("cpu-only-torch", downstream_of=("no-nvidia-gpu",)), finding("no-nvidia-gpu", downstream_of=("cpu-only-torch",)))
    text = "\n".join(rows(findings=circle))
    assert "title of cpu-only-torch" in text and "title of no-nvidia-gpu" in text
