"""The terminal report: the cause first, commands that can be copied, and nothing that was not looked at called well."""

from __future__ import annotations

import re

from msgspec.structs import replace

from doctor.findings import Finding, Fix, Step
from doctor.judge.report import CheckResult, Report
from doctor.report.groups import in_words
from doctor.report.json import render_json
from doctor.report.lines import plain
from doctor.report.markdown import render_markdown
from doctor.report.terminal import Display, render_terminal
from doctor.report.waiting import waiting_lines
from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import report
from ..rows import for_each
from .samples import COMMAND, LAYERS, finding, hostile, sick, steps

PLAIN = Display(width=80)


def rows(display: Display = PLAIN, **changes: object) -> list[str]:
    return render_terminal(sick(**changes), LAYERS, display).split("\n")


def row_of(text: str, lines: list[str]) -> int:
    """Index of the first row that holds the text."""
    return next(i for i, row in enumerate(lines) if text in row)


def test_the_root_cause_comes_first_and_its_consequences_under_it() -> None:
    lines = rows()
    order = ["title of driver-not-loaded", "Fix: Install a build that fits", "This also causes", "title of cpu-only-torch",
             "title of driver-too-old-for-gpu", "Also found", "title of torch-not-installed", "title of no-nvidia-gpu",
             "hardware ", "A remark", "FAIL  exit 1"]  # fmt: skip
    places = [row_of(text, lines) for text in order]
    assert places == sorted(places)


def test_two_subjects_of_one_check_are_one_block() -> None:
    assert sum("explain no-nvidia-gpu" in row for row in rows()) == 1
    assert sum("title of no-nvidia-gpu" in row for row in rows()) == 2


def test_eight_gpus_of_one_fault_are_told_in_two_lines() -> None:
    one = [finding("torch-dropped-old-gpu-sm", title="no code for it", subject=f"GPU-{i}") for i in range(8)]
    two = [
        finding(
            "cudnn-dropped-old-gpu",
            title="no cuDNN for it",
            subject=f"GPU-{i}",
            cause="torch-dropped-old-gpu-sm",
        )
        for i in range(8)
    ]
    told = sick(findings=(*one, *two))
    for text, ending in ((render_terminal(told, LAYERS), 1), (render_markdown(told, LAYERS), 0)):
        assert text.count("no code for it") == 2 + ending and ", 7 more like it" in text
        assert text.count("no cuDNN for it") == 1 and ", 8 such findings" in text


@for_each("width", [40, 60, 80, 100, 300])
def test_commands_stand_alone_and_whole_at_every_width(width: int) -> None:
    lines = [row.strip(" ") for row in rows(Display(width=width))]
    for step in steps():
        for command in step.command.split("\n"):
            if command:
                assert command.replace("\t", " ").strip() in lines


@for_each("verbose", [0, 1, 2])
@for_each("width", [60, 80, 100])
def test_nothing_but_commands_and_long_words_is_wider_than_the_terminal(width: int, verbose: int) -> None:
    commands = {line.strip() for step in steps() for line in step.command.replace("\t", " ").split("\n")}
    for row in rows(Display(width=width, verbose=verbose)):
        broken_as_far_as_possible = len(row.split()) == 1
        assert len(row) <= width or row.strip() in commands or broken_as_far_as_possible, row


def test_every_place_is_said_and_what_cannot_be_done_here_is_marked() -> None:
    text = " ".join("\n".join(rows()).split())
    for where in (
        "in this Python environment",
        "in the Dockerfile",
        "where the container or job is started",
        "on the host",
        "at your provider",
        "in this shell",
        "in your program",
        "on Windows",
    ):
        assert where in text
    assert text.count("not possible from here") == 2
    assert "as root, cannot be undone" in text
    assert re.findall(r"(?<=\s)(\d)\. ", "\n".join(rows())) == list("12345678")


def test_the_second_way_is_named_and_told_with_v() -> None:
    assert not any("second-way" in row for row in rows())
    assert "Use another card" in "\n".join(rows())
    assert any("second-way" in row for row in rows(Display(verbose=1)))


def test_a_group_with_something_unknown_is_not_well() -> None:
    lines = rows()
    line = lines[row_of("hardware  ", lines)]
    assert line.startswith("?")
    assert "1 unknown" in line
    assert "1 check needs to know whether CUDA starts (cuInit) (no response in time)." in waiting(
        ("driver.cu_init: timeout",)
    )


def waiting(reasons: tuple[str, ...], path: str = "") -> str:
    """What is told once below the groups; `path`: the fact that the fix of the first failure brings back."""
    names = [name for name in LAYERS if name != "driver-not-loaded"]
    checks = tuple(CheckResult(id=name, status="unknown", reason=r) for name, r in zip(names, reasons, strict=False))
    step = Step(text="Load it.", where="host", changes={path: Missing("recheck")} if path else {})
    root = finding("driver-not-loaded", fixes=(Fix(id="load", title="Load", steps=(step,)),))
    return " ".join(plain(waiting_lines(sick(checks=checks, findings=(root,)), 80)).split())


def test_a_reason_is_told_once() -> None:
    lost = tuple(f"gpus.{name}: error: NVML 15: GPU is lost" for name in ("name", "temperature_c", "mig_enabled"))
    assert waiting(lost) == "? 3 checks need GPU readings (error: NVML 15: GPU is lost)."
    assert (
        waiting((*lost, "host.libc: absent"), "gpus")
        == "? 3 checks can run after the fix above. ? 1 check needs to know which C library this system has (missing)."
    )
    many = tuple(f"host.fact_{n}: absent" for n in range(9))
    assert waiting(many).endswith("? 6 checks are still undecided for other reasons (-v lists them).")


def test_what_was_seen_is_for_v() -> None:
    assert not any(row.lstrip().startswith(("Seen:", "Inferred:")) for row in rows())
    assert any("Seen: " in row for row in rows(Display(verbose=1)))


def test_a_mark_never_stands_before_the_name_of_a_fault_that_is_absent() -> None:
    (gpu,) = healthy().gpus  # type: ignore[misc]
    calm = report(healthy().replace({"gpus": (replace(gpu, persistence_mode=False),)}))
    assert calm.remarks and all(check.words for check in calm.checks if check.status == "pass")
    for text in (render_terminal(calm, LAYERS, Display(verbose=1, width=110)), render_markdown(calm, LAYERS)):
        assert "The driver is loaded" in text and not re.search(r"[✓✅] \S*driver-not-loaded", text)
        for remark in calm.remarks:
            row = next(row for row in text.splitlines() if remark.id in row)
            assert re.search("^ *i |ℹ️", row), "a remark has no tick"


def test_the_report_ends_with_the_first_thing_to_type() -> None:
    lines = rows()
    assert COMMAND in [row.strip() for row in lines[-4:]]
    assert any(row.startswith("title of driver-not-loaded.") for row in lines[-24:]), "what is wrong, once more"


def test_a_group_of_skipped_checks_has_no_tick() -> None:
    checks = tuple(CheckResult(id=name, status="skipped", reason="left out") for name in LAYERS)
    text = "\n".join(rows(checks=checks, findings=(), verdict="pass", exit_code=0))
    assert "✓" not in text
    assert f"{len(LAYERS)} skipped" in text


def test_a_passing_group_is_one_line_and_v_opens_it() -> None:
    calm = report(healthy())
    closed, opened = (render_terminal(calm, LAYERS, Display(verbose=v)) for v in (0, 1))
    assert "no-nvidia-gpu" not in closed
    for check in calm.checks:
        assert check.id in opened
        assert in_words(check) in " ".join(opened.split())
    assert " ms" not in opened
    assert "healthy" not in closed


def test_vv_tells_all_facts_with_their_witnesses() -> None:
    seen = healthy().replace({"witnesses": {"driver.kernel_version": ("/proc/driver/nvidia/version",)}})
    text = " ".join(render_terminal(report(seen), LAYERS, Display(verbose=2)).split())
    assert "driver.kernel_version: 580.82.07 [/proc/driver/nvidia/version]" in text
    assert "gpus[0].name: NVIDIA H100 80GB HBM3" in text
    assert "host.cpu_model: unknown (not-asked)" in text


def test_nvidia_smi_s_cuda_version_is_explained_where_it_differs() -> None:
    def text(cuda: str) -> str:
        return " ".join(render_terminal(report(healthy(cuda=cuda)), LAYERS, Display(verbose=1)).split())

    assert "nvidia-smi shows is the highest that the driver supports, not the installed version" in text("13.0")
    assert "nvidia-smi" not in text("12.8"), "torch's CUDA and the driver's are the same here"


def test_notes_that_change_nothing_are_one_line() -> None:
    """With -v all; without, those of the layer of a cause, of what is going to be built, and of how far it looked."""

    def note(name: str, layer: str) -> Finding:
        return finding(name, "pass", severity="info", title=f"note of {name}", layer=layer)

    plain = [note("persistence-mode-off", "driver"), note("jit-build-toolchain-missing", "extension")]
    calm = replace(report(healthy(cuda="12.8")), remarks=(*plain, plain[0]))
    assert notes(calm) == ["i 2 notes: -v"]
    assert notes(calm, verbose=1) == ["i note of persistence-mode-off.", "i note of jit-build-toolchain-missing."]
    assert notes(replace(calm, remarks=(plain[0],))) == ["i 1 note: -v"]
    assert notes(replace(calm, remarks=())) == []
    building = replace(calm, policy=replace(calm.policy, building=True))
    assert notes(building) == ["i note of jit-build-toolchain-missing.", "i 1 note: -v"]
    cause = replace(
        calm, findings=(finding("driver-not-loaded"), finding("triton-lacks-gpu-arch", cause="driver-not-loaded"))
    )
    assert notes(cause) == ["i note of persistence-mode-off.", "i 1 note: -v"], "a consequence makes none matter"
    part = replace(calm, remarks=(*plain, note("looked-at-in-part", "hardware")))
    assert notes(part) == ["i note of looked-at-in-part.", "i 2 notes: -v"]
    old = replace(calm, matrix=replace(calm.matrix, notes=("The matrix is 91 days old",)))
    assert notes(old) == ["i The matrix is 91 days old", "i 2 notes: -v"]
    assert all(one.title in render_json(calm).decode() for one in plain)


def notes(found: Report, verbose: int = 0) -> list[str]:
    """The notes of a screen that is wide enough for one line each."""
    rows = render_terminal(found, LAYERS, Display(width=110, verbose=verbose)).splitlines()
    return [row for row in rows if row.startswith("i ")]


@for_each("verbose", [0, 2])
def test_ascii_is_ascii(verbose: int) -> None:
    for found in (sick(), hostile()):
        assert render_terminal(found, LAYERS, Display(verbose=verbose, ascii_=True)).isascii()


@for_each("verbose", [0, 1, 2])
def test_no_control_character_of_a_fact_reaches_the_terminal(verbose: int) -> None:
    text = render_terminal(hostile(), LAYERS, Display(verbose=verbose))
    assert not [c for c in text if not c.isprintable() and c != "\n"]


def test_colour_changes_no_word() -> None:
    for found in (sick(), report(healthy())):
        coloured = render_terminal(found, LAYERS, Display(width=80, verbose=1, colour=True))
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_terminal(found, LAYERS, Display(width=80, verbose=1))
