"""The tools of the MCP server without the protocol: the environment they examine, and what they refuse."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.findings import Fix, Step
from doctor.report.brief import render_brief
from gpudoctor._tools import TOOLS, Check, Explain, Query
from gpudoctor._values import Refused

from ..cli.command import gpudoctor, save
from ..healthy import healthy
from ..judging import report
from ..shared import made_once
from .environments import VERSION, with_torch

READ_ONLY = {"import_torch": False, "expect": "any"}


@pytest.fixture(scope="module")
def active(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with torch."""
    return made_once(tmp_path_factory, "active", with_torch)


def call(name: str, allow_target: bool = False, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return TOOLS[name].call(arguments, allow_target)


def refusal(name: str, allow_target: bool = False, **arguments: Any) -> str:
    with pytest.raises(Refused) as refused:
        call(name, allow_target, **arguments)
    line = str(refused.value)
    assert line and "\n" not in line and "Traceback" not in line, line[:500]
    return line


def test_the_environment_is_the_one_that_the_command_examines(active: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    path = f"{active}/bin:{os.environ['PATH']}"
    for name, value in (("VIRTUAL_ENV", str(active)), ("CONDA_PREFIX", str(active)), ("PATH", path)):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            words, data = call("check", **READ_ONLY)
            said = json.loads(gpudoctor("check", "--no-import", "--expect", "any", "--format", "json").stdout)
        assert VERSION in data["machine"]["torch"] and VERSION in words, (name, data["machine"])
        assert [one["id"] for one in data["findings"]] == [one["id"] for one in said["findings"]], name
        assert data["verdict"] == said["verdict"]


def test_python_names_another_environment(active: Path, tmp_path: Path) -> None:
    other = with_torch(tmp_path / "other", "2.7.1+cpu")
    for python in (other, other / "bin" / "python"):
        _, data = call("check", python=str(python), expect="any")
        assert "2.7.1+cpu" in data["machine"]["torch"], data["machine"]
    mark = tmp_path / "ran"
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for wrong in (str(script), "/bin/false", "/nonexistent"):
        assert "is not the interpreter or folder of a Python environment" in refusal("check", python=wrong)
    assert not mark.exists()


def test_a_report_and_a_recording_are_judged_again(tmp_path: Path) -> None:
    saved = save(tmp_path, healthy().replace({"gpus": ()}))
    _, data = call("check", report=str(saved), expect="8xH100")
    assert data["verdict"] == "fail"
    _, data = call("check", report=str(save(tmp_path, healthy(), name="sound.json")), require=["no-such-package"])
    assert data["verdict"] == "fail" and "no-such-package" in data["findings"][0]["title"]
    recording = tmp_path / "recording"
    recording.mkdir()
    (recording / "manifest.json").write_text('{"schema_version": 1}')
    assert call("check", report=str(recording))[1]["verdict"] == "unknown"
    os.mkfifo(tmp_path / "pipe")
    for wrong in ("-", "/dev/stdin", "/etc/passwd", str(tmp_path), str(tmp_path / "pipe")):
        refusal("check", report=wrong)


def test_a_target_only_where_the_user_allowed_it() -> None:
    assert "gpudoctor mcp --allow-target" in refusal("check", target="docker:web")
    assert "--target" in refusal("check", True, target="ssh:-oProxyCommand=touch x")
    for pair in (
        {"python": "/usr", "target": "docker:x"},
        {"python": "/usr", "report": "x"},
        {"target": "docker:x", "report": "x"},
    ):
        assert "cannot be used together" in refusal("check", True, **pair)


def _hostile(kind: type[msgspec.Struct]) -> Iterator[dict[str, Any]]:
    """One argument wrong at a time; what is required beside it is right."""
    right = {"text": "no kernel image", "question": "torch 2.11.0"}
    needed = {name: right[name] for name in kind.__struct_fields__ if name in right}
    for name in kind.__struct_fields__:
        wrong: list[Any] = [7, 1.5, {"a": 1}, [[]], [7], "" if name in right else []]
        if name not in ("import_torch", "text"):
            wrong += ["a\0b", ["a\0b"], "x" * 300_000, ["x" * 300_000], ["x"] * 100_000, "\ud800", ["\ud800"]]
        if name in ("require", "spec"):
            wrong = [value for value in wrong if value != []] + ["--no-redact", ["--no-redact"], ["a b"]]
        yield from ({**needed, name: value} for value in wrong)
    yield {**needed, "cwd": "/"}
    yield dict.fromkeys(needed) or {"expect": "--no-redact"}


@pytest.mark.slow
def test_every_argument_is_held_against_its_type() -> None:
    """NUL bytes, huge texts, wrong types, options as values: each is one line, and quick; none reaches a shell."""
    for name, kind in (("check", Check), ("explain", Explain), ("matrix_query", Query)):
        assert TOOLS[name].takes is kind
        for arguments in _hostile(kind):
            assert len(refusal(name, **arguments)) < 1000, (name, str(arguments)[:100])
    for expect in ("--", "--no-redact", "-o/tmp/x"):
        assert expect in refusal("check", expect=expect)
    for question in ("--matrix /etc/passwd", "-h", "x"):
        refusal("matrix_query", question=question)
    assert call("explain", text="a log with\0NUL: no kernel image " + "x" * 300_000)[1]["verdict"] == "unknown"


def test_a_spec_and_a_comparison(tmp_path: Path) -> None:
    spec, Dockerfile = tmp_path / "team.toml", tmp_path / "Dockerfile"
    spec.write_text('torch = ">=2.9"\n')
    old = save(tmp_path, healthy(), name="old.json")
    new = save(tmp_path, healthy().replace({"driver.cu_init": 802}), name="new.json")
    _, data = call("check", report=str(old), spec=[str(spec)])
    assert [one["id"] for one in data["findings"]] == ["spec-not-met"]
    Dockerfile.write_text("FROM python:3.11\nRUN pip install torch==2.8.0\n")
    _, data = call("dockerfile", files=[str(Dockerfile)], spec=[str(spec)])
    assert data["exit_code"] == 1 and "spec-not-met" in {one["rule"] for one in data["answer"]["findings"]}
    words, data = call("compare", old=str(old), new=str(new))
    assert data["exit_code"] == 1 and data["answer"]["appeared"] and data["answer"]["redacted"]
    assert "New failure" in words and call("compare", old=str(old), new=str(old))[1]["exit_code"] == 0
    assert "carries the protocol" in refusal("compare", old="-")
    assert "No such file" in refusal("compare", old=str(tmp_path / "none.json"), new=str(new))
    assert "states no versions" in refusal("check", report=str(old), spec=[str(_empty(tmp_path))])


def _empty(folder: Path) -> Path:
    path = folder / "empty.toml"
    path.write_text("")
    return path


def test_a_destructive_step_is_marked_in_both_parts_of_the_answer() -> None:
    made = report(healthy().replace({"gpus": ()}))
    step = Step(text="Reset it.", command="sudo nvidia-smi --gpu-reset", where="host", destructive=True)
    finding = msgspec.structs.replace(made.findings[0], fixes=(Fix(id="x", title="Reset", steps=(step,)),))
    text = render_brief(msgspec.structs.replace(made, findings=(finding,)), {})
    assert "Reset it. *(" in text and "cannot be undone" in text
    with_steps = {name for name, tool in TOOLS.items() if "destructive" in tool.about}
    assert with_steps == {"check", "explain", "what_if", "image"}
