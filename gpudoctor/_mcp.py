"""A server of the Model Context Protocol over stdio: check, explain and matrix_query, for assistants; all only read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from msgspec import Struct

from doctor import __version__
from doctor.findings import Finding
from doctor.judge.report import Answer, Need, PossibleCause
from doctor.report import facts
from doctor.report.brief import render_brief

from ._face import check, explain
from ._values import Refused, Report


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


_LIST = {"type": "array", "items": {"type": "string"}}
_CHECK = {
    "type": "object",
    "properties": {
        "expect": {"type": "string", "description": "gpu, any, none, 8, H100 or 8xH100"},
        "require": {**_LIST, "description": "packages that must be installed and fit"},
        "import_torch": {"type": "boolean", "description": "false: only read torch's files", "default": True},
    },
    "additionalProperties": False,
}
_EXPLAIN = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "an error, a log, nvidia-smi, collect_env, a question"}},
    "required": ["text"],
    "additionalProperties": False,
}
_QUERY = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "as of `gpudoctor matrix query`: driver for cuda 12.8"}
    },
    "required": ["question"],
    "additionalProperties": False,
}


def _schema(kind: type) -> dict[str, Any]:
    """The type's JSON Schema, with `type: object` at its root as the protocol wants it."""
    _, components = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    return {**components[kind.__name__], "$defs": components}


def _diagnosed(report: Report) -> tuple[str, dict[str, Any]]:
    """In words, and as data."""
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


def _check(expect: str | None = None, require: list[str] | None = None, import_torch: bool = True) -> Any:
    return _diagnosed(check(expect=expect, require=require or (), import_torch=import_torch))


def _explain(text: str) -> Any:
    return _diagnosed(explain(text))


def _matrix_query(question: str) -> Any:
    command = [sys.executable, "-m", "gpudoctor", "matrix", "query", "--format"]
    shown = [
        subprocess.run([*command, kind, "--", question], capture_output=True, text=True, check=False)
        for kind in ("json", "text")
    ]
    if not shown[0].stdout:
        raise Refused(shown[0].stderr.strip().removeprefix("gpudoctor: "))
    return shown[1].stdout, {"answer": json.loads(shown[0].stdout)}


class _Tool(NamedTuple):
    """What a tool is, takes and answers, and the function that does it."""

    title: str
    about: str
    takes: dict[str, Any]
    answer: type
    does: Callable[..., Any]


TOOLS = {
    "check": _Tool(
        title="Check this machine",
        about="Diagnose NVIDIA GPU, driver, container, CUDA libraries, Python and torch of this machine: the root "
        "cause, the facts that prove it, and the steps that fix it. Changes nothing; names and addresses are masked.",
        takes=_CHECK,
        answer=Diagnosis,
        does=_check,
    ),
    "explain": _Tool(
        title="Explain an error or a log",
        about="Diagnose a text about a GPU problem: an error, a log, nvidia-smi, torch's collect_env, or a question "
        "such as 'driver 535, torch 2.8.0+cu129'. What the text does not prove is told with its probability.",
        takes=_EXPLAIN,
        answer=Diagnosis,
        does=_explain,
    ),
    "matrix_query": _Tool(
        title="Ask the compatibility matrix",
        about="Which driver, CUDA, torch, cuDNN, GPU and Python go together, each with its source; offline. Questions: "
        "'driver 535.129.03 cuda 12.8', 'torch for gpu GTX 1080', 'gpu RTX 5090', 'driver for cuda 12.8', "
        "'torch 2.11.0'.",
        takes=_QUERY,
        answer=Matrix,
        does=_matrix_query,
    ),
}


async def _listed(_context: Any, _params: Any) -> types.ListToolsResult:
    hints = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, title=tool.title, description=tool.about, input_schema=tool.takes,
                       output_schema=_schema(tool.answer), annotations=hints)
            for name, tool in TOOLS.items()
        ]
    )  # fmt: skip


async def _called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """The answer in words and as data; a refusal is an error of the tool, in one line."""
    tool = TOOLS.get(params.name)
    if tool is None:
        return _refusal(f"no such tool: {params.name}")
    given = params.arguments or {}
    unknown = set(given) - set(tool.takes["properties"])
    missing = set(tool.takes.get("required", ())) - set(given)
    if unknown or missing:
        return _refusal(f"{params.name}: " + "; ".join([f"no argument {name}" for name in sorted(unknown)]
                        + [f"{name} is missing" for name in sorted(missing)]))  # fmt: skip
    try:
        words, data = await anyio.to_thread.run_sync(lambda: tool.does(**given))
    except (Refused, TypeError, AttributeError) as error:
        return _refusal(str(error))
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)], structured_content=data)


def _refusal(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)], is_error=True)


async def _serve() -> None:
    server: Server[Any] = Server(
        "gpudoctor", version=__version__, on_list_tools=_listed, on_call_tool=_called,
        instructions="Finds out why a GPU, CUDA or PyTorch does not work here, and how to fix it. Only reads.",
    )  # fmt: skip
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


def serve() -> None:
    """Answer requests on stdin until it ends."""
    anyio.run(_serve)
