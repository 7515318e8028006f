"""Every format of every command is one document that a real parser of that format reads whole."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec.structs import replace

from doctor.cli import gpudoctor as program
from doctor.cli import run
from doctor.report.healthline import healthline
from doctor.report.json import render_json
from doctor.snapshot import EnvVar, known

from ..cli.command import save
from ..healthy import healthy
from ..images.layouts import Layout
from ..images.modelled import IMAGES
from ..judging import report
from ..rows import Faults, share
from ..scenarios.causes import listed_once, rendered
from ..topo.test_topo_command import hung
from ..torches import not_asked, with_torch
from .measured_samples import full_measured, told
from .parsers import PARSERS, read_github, read_json, read_sarif
from .samples import HOSTILE

SCHEMAS = {
    "check": "report",
    "prove": "report",
    "explain": "report",
    "watch": "report",
    "image": "image",
    "topo": "topo",
    "compare": "compare",
    "fleet report": "fleet",
}
"""The published schema of what a command prints as JSON."""
APART = ("healthcheck",)
"""Answers before a deadline and ends its process: it is run in one of its own."""
WATCH = ("watch", "-o", "-", "--", "true")


def documents(command: click.Command, way: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every command that has a choice of formats, with them."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if inner := command.get_command(context, name):
                yield from documents(inner, (*way, name))
        return
    for option in command.params:
        if "--format" in option.opts and isinstance(option.type, click.Choice):
            yield " ".join(way), tuple(map(str, option.type.choices))


FORMATS = dict(documents(program))


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, list[tuple[str, ...]]]:
    """Command lines of each command: a sound answer, a sick one, and one with markup in the facts."""
    layout = Layout(tmp_path / "image")
    layout.tag("latest", IMAGES["pytorch:2.6.0"](layout))
    sound = str(save(tmp_path, healthy("h100", "h100")))
    sick = not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124"))
    hidden = sick.replace({"host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", HOSTILE),)})
    bad, odd = str(save(tmp_path, sick, name="sick.json")), str(save(tmp_path, hidden, name="odd.json"))
    measured, log, recipe = tmp_path / "measured.json", tmp_path / "log.txt", tmp_path / "Dockerfile"
    measured.write_bytes(render_json(told(full_measured())))
    log.write_text(f"{HOSTILE}\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    recipe.write_text(
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nENV CUDA_VISIBLE_DEVICES=''\nRUN pip install torch\n"
    )
    pins = tmp_path / "requirements.txt"
    pins.write_text("torch==2.6.0\nnumpy\n")
    reports = [("--from", one) for one in (sound, bad, odd)]
    here = ("--gpu", "RTX 5090", "--driver", "575")
    spool, database = tmp_path / "spool", str(tmp_path / "fleet.db")
    spool.mkdir()
    for name, one in (("n1", sound), ("n2", bad), ("n3", odd)):
        (spool / f"{name}.json").write_bytes(Path(one).read_bytes())
    assert run(["fleet", "load", str(spool), "-o", database, "--nodes", "n[1-4]"]) == 0
    earlier = shutil.copy(database, tmp_path / "earlier.db")
    return {
        "check": [("check", *one) for one in reports],
        "healthcheck": [("healthcheck", *reports[0]), ("healthcheck", *reports[2])],
        "prove": [("prove", "--from", str(measured))],
        "watch": [WATCH],
        "resolve": [("resolve", *here), ("resolve", *here, "-r", str(pins)), ("resolve", "--gpu", "GTX 1080", "--driver", "535")],
        "what-if": [
            ("what-if", *reports[0], "--torch", "2.6.0+cu124", "--gpu", "RTX 5090"),
            ("what-if", *reports[1], "--torch", "2.9.1+cu128"),
            ("what-if", *reports[2], "--driver", "590"),
        ],
        "dockerfile": [("dockerfile", str(recipe)), ("dockerfile", str(recipe), "--driver", "535", "--gpu", "T4")],
        "fit": [("fit", "--params", "7B", "--gpus", "8xA100-40GB"), ("fit", "--params", "70B", "--gpus", "RTX 4090")],
        "topo": [("topo", "--from", str(save(tmp_path, hung(), name="hung.json")))],
        "compare": [("compare", sound, bad), ("compare", bad, odd), ("compare", f"{database}:n1", sound), ("compare", odd, sound)],
        "fix": [("fix", *one) for one in reports],
        "fleet report": [("fleet", "report", database), ("fleet", "report", database, "--since", str(earlier))],
        "image": [("image", str(layout.folder), "--driver", "535.183.01", "--gpu", "RTX 5090")],
        "list-checks": [("list-checks",)],
        "explain": [("explain", "driver 535, torch 2.8.0+cu129"), ("explain", str(log))],
        "matrix age": [("matrix", "age")],
        "matrix lint": [("matrix", "lint")],
        "matrix query": [("matrix", "query", "driver 535.129.03 cuda 12.8")],
        "matrix show": [("matrix", "show", "gpus")],
        "matrix sources": [("matrix", "sources")],
    }  # fmt: skip


def test_every_command_with_formats_is_tried_and_every_format_has_a_parser(commands: dict[str, Any]) -> None:
    assert set(commands) == set(FORMATS)
    assert {one for some in FORMATS.values() for one in some} == set(PARSERS)


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_format_of_every_command_parses(
    commands: dict[str, list[tuple[str, ...]]], capfdbinary: pytest.CaptureFixture[bytes], quick: bool
) -> None:
    """Quick: an eighth of the rows, and what-if, which writes sentences of its own into each."""
    rows = [
        (name, line, one)
        for name in FORMATS
        if name != "watch"
        for line in commands[name]
        for one in FORMATS[name]
        if one in ("text", "json") or ("-r" in line) == (one == "edited")  # a changed file is printed as itself
    ]
    if quick:
        rows = [*share(rows, 0, 8), *(("what-if", commands["what-if"][-1], one) for one in FORMATS["what-if"])]
    with Faults() as faults:
        for name, line, format_ in rows:
            with faults.of(f"{' '.join(line[:3])} --format {format_}"):
                parse(name, format_, *answer(name, [*line, "--format", format_], capfdbinary))


NO_STEPS = {"healthcheck", "list-checks", *(name for name in FORMATS if name.startswith("matrix "))}
"""Commands that list, or answer in a line: nothing of it is left out by -q."""


def test_every_command_with_formats_has_the_same_ways_to_write() -> None:
    with Faults() as faults:
        for name, formats in FORMATS.items():
            with faults.of(name):
                command: Any = program
                for word in name.split():
                    command = command.get_command(click.Context(command), word)
                names = {opt for param in command.params for opt in param.opts}
                assert {"-f", "-o", "--output"} <= names
                assert ("--json" in names) == ("json" in formats)
                assert name == "healthcheck" or {"--ascii", "--no-color"} <= names
                assert ("-q" in names) == (name not in NO_STEPS)


@pytest.mark.slow
def test_short_ways_to_ask_for_a_format_give_the_same_bytes(
    commands: dict[str, list[tuple[str, ...]]], capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    written = tmp_path / "answer"
    with Faults() as faults:
        for name, formats in FORMATS.items():
            if name in ("watch", "healthcheck"):
                continue
            line = commands[name][0]
            for short, long in ((["--json"], "json"), (["-f", "md"], "markdown")):
                if long not in formats:
                    continue
                with faults.of(f"{name} {short}"):
                    code, data = answer(name, [*line, *short], capfdbinary)
                    again, whole = answer(name, [*line, "--format", long, "-o", str(written)], capfdbinary)
                    assert code == again and whole == b""
                    assert undated(written.read_bytes()) == undated(data)


def undated(data: bytes) -> bytes:
    """Without the time at which it was made, and how long that took."""
    return re.sub(rb'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|"duration_ms": [\d.e-]+', b"", data)


@pytest.mark.slow
def test_a_quiet_answer_is_a_verdict_and_a_step(
    commands: dict[str, list[tuple[str, ...]]], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Some lines of the whole answer's end or beginning, with the same exit code and without characters beyond ASCII."""
    with Faults() as faults:
        for name in FORMATS:
            if name in NO_STEPS or name == "watch":
                continue
            for line in commands[name]:
                with faults.of(" ".join(line[:3])):
                    code, whole = answer(name, [*line], capfdbinary)
                    short_code, short = answer(name, [*line, "-q", "--ascii"], capfdbinary)
                    assert short_code == code and short.strip()
                    assert short.isascii()
                    assert len(short.splitlines()) <= min(len(whole.splitlines()), 16)
                    assert "above" not in short.decode()


@pytest.mark.slow
def test_every_format_of_a_watched_run_parses() -> None:
    with Faults() as faults:
        for format_ in FORMATS["watch"]:
            with faults.of(format_):
                line = [WATCH[0], "--format", format_, *WATCH[1:]]
                parse("watch", format_, *in_a_process(line))


def answer(name: str, line: list[str], captured: pytest.CaptureFixture[bytes]) -> tuple[int, bytes]:
    """Exit code, and what was written to stdout."""
    if name in APART:
        return in_a_process(line)
    code = run(line)
    return code, captured.readouterr().out


def in_a_process(line: list[str]) -> tuple[int, bytes]:
    done = subprocess.run([sys.executable, "-m", "gpudoctor", *line], capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout


def parse(name: str, format_: str, code: int, data: bytes) -> None:
    assert code in (0, 1, 3), code
    text = data.decode("utf-8")
    if format_ != "json":
        PARSERS[format_](text)
        return
    found = read_json(text, SCHEMAS.get(name, ""))
    if name == "what-if":
        from msgspec import json as msgspec_json

        read_json(msgspec_json.encode(found["report"]).decode(), "report")


def test_a_cause_of_several_gpus_in_the_same_words_is_one_error() -> None:
    for count in (1, 4):
        found = report(not_asked(with_torch(healthy(*["rtx5090"] * count), "2.6.0", "cu124")))
        assert len([f for f in found.findings if not f.cause]) == count
        listed_once(found)
        levels = [one["level"] for one in read_sarif(rendered(found, "sarif")) if one["ruleId"] == found.findings[0].id]
        assert levels == ["error"] and "more)" not in healthline(found)


def test_the_same_fault_of_two_boards_is_two_errors() -> None:
    s = healthy("h100", "h100")
    spoilt = s.replace({"gpus": tuple(replace(gpu, row_remap_failed=True) for gpu in known(s.gpus) or ())})
    assert [one[0] for one in read_github(rendered(report(spoilt), "github"))].count("error") == 2
    assert "(+1 more)" in healthline(report(spoilt))
