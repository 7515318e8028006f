"""The tools of the MCP server: what each takes and answers, typed (its JSON Schema comes from the types), and does.

An assistant may have read a hostile page, so its arguments are bounded, `python` must be the interpreter of an
environment, and `target` is off unless the user allowed it when the server was started.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from doctor.findings import Finding
from doctor.judge.report import Answer, Need, PossibleCause
from doctor.report import facts
from doctor.report.brief import render_brief

from ._face import flag, many, run
from ._interpreter import interpreter
from ._values import Refused, Report

_LONGEST = 4096
"""Characters of an argument that reaches a command line; a path is never longer on Linux."""
_MOST = 64
"""Elements of a list."""

_Word = Annotated[str, Meta(min_length=1, max_length=_LONGEST)]
_EXPECT = Meta(description="What GPUs are expected: gpu (default), any, none, 8, H100 or 8xH100")
_REQUIRE = Meta(description="Packages that must be installed and fit", max_length=_MOST)


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `check`. At most one of python, target and report."""

    expect: Annotated[_Word | None, _EXPECT] = None
    require: Annotated[tuple[_Word, ...], _REQUIRE] = ()
    python: Annotated[
        _Word | None,
        Meta(
            description="Interpreter or folder of the Python environment to examine. Default: the active one "
            "(VIRTUAL_ENV, CONDA_PREFIX, ...), as for the command gpudoctor check"
        ),
    ] = None
    target: Annotated[
        _Word | None,
        Meta(
            description="docker:NAME, podman:NAME, ssh:HOST or kubectl:NAMESPACE/POD instead of this machine; works "
            "only if the user started the server as gpudoctor mcp --allow-target"
        ),
    ] = None
    report: Annotated[
        _Word | None, Meta(description="Path of a saved JSON report, or of a recording's folder, to judge again")
    ] = None
    import_torch: Annotated[
        bool, Meta(description="false: read torch's files only, and run nothing of the environment")
    ] = True


class Explain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `explain`."""

    text: Annotated[str, Meta(description="An error, a log, nvidia-smi, collect_env, a question", min_length=1)]
    expect: Annotated[_Word | None, _EXPECT] = None
    require: Annotated[tuple[_Word, ...], _REQUIRE] = ()


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `matrix_query`."""

    question: Annotated[_Word, Meta(description="As for `gpudoctor matrix query`: driver for cuda 12.8")]


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The part of a report that a reader needs; the root cause is the first finding."""

    verdict: str
    """pass, warn, fail or unknown."""
    machine: dict[str, str]
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    possible: tuple[PossibleCause, ...] = ()
    """Of a text that proves none: causes with how often such a guess was right."""
    answers: tuple[Answer, ...] = ()
    """Of a text that asks."""
    needs: tuple[Need, ...] = ()
    """Commands whose output would decide what is open."""
    passed: int
    unknown: tuple[str, ...]
    """Ids of checks for which a fact was missing."""


class Matrix(Struct, frozen=True, kw_only=True):
    """An answer of the compatibility matrix."""

    answer: Any
    """Rows and grades, with their sources."""


def _diagnosed(report: Report) -> tuple[str, dict[str, Any]]:
    """As text, and as data."""
    text = report.text
    answer = Diagnosis(
        verdict=report.verdict,
        machine=dict(facts.table(report.snapshot, text is not None)),
        findings=report.findings,
        remarks=tuple(f"{one.title}. {one.detail}".rstrip() for one in report.remarks),
        possible=text.possible if text else (),
        answers=text.answers if text else (),
        needs=report.needs,
        passed=sum(one.status == "pass" for one in report.checks),
        unknown=tuple(one.id for one in report.checks if one.status == "unknown"),
    )
    from doctor.commands.assess import about

    return render_brief(report, about(report)[1]), msgspec.to_builtins(answer)


def _check(arguments: Check, allow_target: bool) -> tuple[str, dict[str, Any]]:
    where = [name for name in ("python", "target", "report") if getattr(arguments, name) is not None]
    if len(where) > 1:
        raise Refused(f"{where[0]} and {where[1]} cannot be used together")
    if arguments.target is not None and not allow_target:
        raise Refused("target is off: the user can start the server as gpudoctor mcp --allow-target")
    words = flag("--expect", arguments.expect) + many("--require", arguments.require)
    words += ["--no-import"] * (not arguments.import_torch) + flag("--target", arguments.target)
    if arguments.python is not None:
        words += flag("--python", _environment(arguments.python))
    if arguments.report is not None:
        if arguments.report == "-":
            raise Refused("report: give the path of a file; standard input belongs to the protocol")
        words += flag("--replay" if Path(arguments.report).is_dir() else "--from", arguments.report)
    return _diagnosed(run(["check", *words], Report))


def _environment(python: str) -> str:
    """The interpreter that may be run for this argument."""
    found = interpreter(python)
    if not found:
        raise Refused(f"python {python[:200]!r} is not the interpreter or folder of a Python environment")
    return found


def _explain(arguments: Explain, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    words = flag("--expect", arguments.expect) + many("--require", arguments.require)
    return _diagnosed(run(["explain", "-", *words], Report, arguments.text))


def _matrix_query(arguments: Query, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    command = [sys.executable, "-m", "gpudoctor", "matrix", "query", "--format"]
    shown = [
        subprocess.run(
            [*command, kind, "--", arguments.question],
            stdin=subprocess.DEVNULL,  # ours is the protocol's
            capture_output=True,
            text=True,
            check=False,
        )
        for kind in ("json", "text")
    ]
    if not shown[0].stdout:
        raise Refused(shown[0].stderr.strip().removeprefix("gpudoctor: "))
    return shown[1].stdout, {"answer": json.loads(shown[0].stdout)}


class Tool(NamedTuple):
    """What a tool is, takes and answers, and the function that does it."""

    title: str
    about: str
    takes: type[Struct]
    answer: type
    does: Callable[[Any, bool], tuple[str, dict[str, Any]]]

    def call(self, arguments: dict[str, Any], allow_target: bool) -> tuple[str, dict[str, Any]]:
        """The answer as text and as data. Raises Refused with one line."""
        try:
            given = msgspec.convert(arguments, self.takes)
        except msgspec.ValidationError as error:
            raise Refused(str(error)) from None
        except UnicodeEncodeError:
            raise Refused("an argument is not valid Unicode") from None
        for name in self.takes.__struct_fields__:
            value = getattr(given, name)
            for word in value if isinstance(value, tuple) else (value,):
                if isinstance(word, str):
                    _sendable(name, word)
        return self.does(given, allow_target)


def _sendable(name: str, word: str) -> None:
    """A text may hold NUL bytes, as logs do; what becomes a word of a command line may not."""
    if name != "text" and "\0" in word:
        raise Refused(f"{name} contains a NUL character")
    try:
        word.encode()
    except UnicodeEncodeError:
        raise Refused(f"{name} is not valid Unicode") from None


_MARKS = "A step with \"destructive\": true (marked 'cannot be undone') needs the user's consent."

TOOLS = {
    "check": Tool(
        title="Check this machine",
        about="Diagnose NVIDIA GPU, driver, container, CUDA libraries, Python and torch of this machine, or of a saved "
        "report: the root cause, the facts that prove it, and the steps that fix it. Changes nothing; names and "
        f"addresses are masked. {_MARKS}",
        takes=Check,
        answer=Diagnosis,
        does=_check,
    ),
    "explain": Tool(
        title="Explain an error or a log",
        about="Diagnose a text about a GPU problem: an error, a log, nvidia-smi, torch's collect_env, or a question "
        "such as 'driver 535, torch 2.8.0+cu129'. What the text does not prove is shown with its probability. "
        f"{_MARKS}",
        takes=Explain,
        answer=Diagnosis,
        does=_explain,
    ),
    "matrix_query": Tool(
        title="Ask the compatibility matrix",
        about="Which driver, CUDA, torch, cuDNN, GPU and Python go together, each with its source; offline. Questions: "
        "'driver 535.129.03 cuda 12.8', 'torch for gpu GTX 1080', 'gpu RTX 5090', 'driver for cuda 12.8', "
        "'torch 2.11.0'.",
        takes=Query,
        answer=Matrix,
        does=_matrix_query,
    ),
}
