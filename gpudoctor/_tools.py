"""The MCP server's tools: their typed arguments and answers (the JSON Schemas come from the types), and what they do.

An assistant may have read a hostile page, so its arguments are bounded, `python` must be the interpreter of an
environment, and `target` is off unless the user allowed it when starting the server.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from doctor.findings import Finding
from doctor.judge.report import Answer, Need, PossibleCause
from doctor.report import facts
from doctor.report.brief import render_brief

from . import _command_tools as commands
from ._command_tools import MOST, Word
from ._face import flag, many, run
from ._interpreter import interpreter
from ._values import Refused, Report, Resolution

_EXPECT = Meta(description="Expected GPUs: gpu (default), any, none, 8, H100 or 8xH100")
_REQUIRE = Meta(description="Packages that must be installed and compatible", max_length=MOST)


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `check`. At most one of python, target and report."""

    expect: Annotated[Word | None, _EXPECT] = None
    require: Annotated[tuple[Word, ...], _REQUIRE] = ()
    python: Annotated[
        Word | None,
        Meta(
            description="Interpreter or folder of the Python environment to examine. Default: the active one "
            "(VIRTUAL_ENV, CONDA_PREFIX, ...), as for gpudoctor check"
        ),
    ] = None
    target: Annotated[
        Word | None,
        Meta(
            description="docker:NAME, podman:NAME, ssh:HOST or kubectl:NAMESPACE/POD instead of this machine; works "
            "only if the user started the server as gpudoctor mcp --allow-target"
        ),
    ] = None
    report: Annotated[
        Word | None, Meta(description="Path of a saved JSON report, or of a recording's folder, to diagnose again")
    ] = None
    import_torch: Annotated[
        bool, Meta(description="false: only read torch's files, and run nothing from the environment")
    ] = True
    spec: commands.Specs = ()


class Explain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `explain`."""

    text: Annotated[
        str, Meta(description="An error, a log, output of nvidia-smi or collect_env, or a question", min_length=1)
    ]
    expect: Annotated[Word | None, _EXPECT] = None
    require: Annotated[tuple[Word, ...], _REQUIRE] = ()


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `matrix_query`."""

    question: Annotated[
        Word, Meta(description="A question as for `gpudoctor matrix query`, such as: driver for cuda 12.8")
    ]


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The part of a report that a reader needs; the root cause is the first finding."""

    verdict: str
    """pass, warn, fail or unknown."""
    machine: dict[str, str]
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    possible: tuple[PossibleCause, ...] = ()
    """For a text that proves none: causes, with how often such a guess was right."""
    answers: tuple[Answer, ...] = ()
    """For a text that asks a question."""
    needs: tuple[Need, ...] = ()
    """Commands whose output would decide what is still open."""
    passed: int
    unknown: tuple[str, ...]
    """Ids of checks for which a fact was missing."""


class Matrix(Struct, frozen=True, kw_only=True):
    """An answer from the compatibility matrix."""

    answer: Any
    """Rows and grades, with their sources."""


class Change(Struct, frozen=True, kw_only=True):
    """What `what_if` found."""

    what_if: Any
    """What was changed; findings that are gone, new or still there."""
    then: Diagnosis


def diagnosed(report: Report) -> tuple[str, dict[str, Any]]:
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
        raise Refused(
            "target is not allowed; to allow it, the user can start the server as gpudoctor mcp --allow-target"
        )
    words = flag("--expect", arguments.expect) + many("--require", arguments.require)
    words += ["--no-import"] * (not arguments.import_torch) + flag("--target", arguments.target)
    words += many("--spec", arguments.spec)
    if arguments.python is not None:
        words += flag("--python", _environment(arguments.python))
    if arguments.report is not None:
        if arguments.report == "-":
            raise Refused("report must be the path of a file, because standard input carries the protocol")
        words += flag("--replay" if Path(arguments.report).is_dir() else "--from", arguments.report)
    return diagnosed(run(["check", *words], Report))


def _environment(python: str) -> str:
    """The interpreter that may be run for this argument."""
    found = interpreter(python)
    if not found:
        raise Refused(f"python {python[:200]!r} is not the interpreter or folder of a Python environment")
    return found


def _explain(arguments: Explain, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    words = flag("--expect", arguments.expect) + many("--require", arguments.require)
    return diagnosed(run(["explain", "-", *words], Report, arguments.text))


def _what_if(arguments: commands.WhatIf, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    text, data, _ = commands.printed(["what-if", *commands.options(arguments)], [])
    return text, {"what_if": data["what_if"], "then": diagnosed(msgspec.convert(data["report"], Report))[1]}


def _matrix_query(arguments: Query, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    text, data, _ = commands.printed(["matrix", "query"], [arguments.question])
    return text, {"answer": data}


class Tool(NamedTuple):
    """A tool: its description, arguments and answer, and the function that does the work."""

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
    """A text may contain NUL bytes, as logs do; a word of a command line may not."""
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
        about="Diagnose the NVIDIA GPU, driver, container, CUDA libraries, Python and torch on this machine, or in a "
        "saved report: the root cause, the evidence, and the steps that fix it. Changes nothing; names and addresses "
        f"are masked. {_MARKS}",
        takes=Check,
        answer=Diagnosis,
        does=_check,
    ),
    "explain": Tool(
        title="Explain an error or a log",
        about="Diagnose a text about a GPU problem: an error, a log, output of nvidia-smi or torch's collect_env, or a "
        "question such as 'driver 535, torch 2.8.0+cu129'. Causes that the text does not prove are shown with their "
        f"probability. {_MARKS}",
        takes=Explain,
        answer=Diagnosis,
        does=_explain,
    ),
    "matrix_query": Tool(
        title="Ask the compatibility matrix",
        about="Look up which driver, CUDA, torch, cuDNN, GPU and Python work together, with sources; offline. "
        "Questions: 'driver 535.129.03 cuda 12.8', 'torch for gpu GTX 1080', 'gpu RTX 5090', 'driver for cuda 12.8', "
        "'torch 2.11.0'.",
        takes=Query,
        answer=Matrix,
        does=_matrix_query,
    ),
    "resolve": Tool(
        title="Find out what to install",
        about="Find the torch build (and vllm, flash-attn ...) that runs on this machine or one that you describe, "
        "with the lines that install it, and why other builds do not run. Offline; nothing is installed.",
        takes=commands.Resolve,
        answer=Resolution,
        does=commands.resolve,
    ),
    "what_if": Tool(
        title="Try out a change without making it",
        about="Show what would be wrong on this machine with a different driver, GPU, torch or Python: which problems "
        f"go away, which are new, and which stay. Nothing is changed. {_MARKS}",
        takes=commands.WhatIf,
        answer=Change,
        does=_what_if,
    ),
    "compare": Tool(
        title="Find out what changed",
        about="Compare a saved report with a newer one, or with this machine: which problems are new or fixed, which "
        "changed fact explains each of them, and what else changed. Changes nothing; names are masked. exit_code: 0 "
        "no new failure, 1 a new failure, 3 something required is unknown on one side.",
        takes=commands.Compare,
        answer=commands.Answered,
        does=commands.compare,
    ),
    "fit": Tool(
        title="Check whether a model fits",
        about="Calculate whether training or inference fits into the memory of these GPUs, part by part, and if not, "
        "find the first way to split it that fits. Reads no weights; offline. exit_code: 0 it fits, 1 it does not, 3 "
        "unknown.",
        takes=commands.Fit,
        answer=commands.Answered,
        does=commands.fit,
    ),
    "image": Tool(
        title="Check whether a container image runs",
        about="Check whether a container image runs on this host, or on hosts that you describe: driver, CUDA, torch. "
        "Contacts the registry; nothing is pulled. exit_code: 0 it runs on every host, 1 it does not run on at least "
        f"one, 3 unknown. {_MARKS}",
        takes=commands.Image,
        answer=commands.Answered,
        does=commands.image,
    ),
    "dockerfile": Tool(
        title="Check a Dockerfile",
        about="Find GPU problems in Dockerfiles, compose files and Kubernetes manifests, with line numbers; nothing "
        "is built. exit_code: 0 nothing failed, 1 something failed, 3 unknown.",
        takes=commands.Dockerfile,
        answer=commands.Answered,
        does=commands.dockerfile,
    ),
}
