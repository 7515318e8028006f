"""The MCP server, asked by the SDK's own client over stdio, in an environment that has torch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from .environments import VERSION, with_torch

pytestmark = pytest.mark.mcp

USER = "zaphod"
LOG = f"RTX 5090, torch 2.5.1+cu121: no kernel image; ssh {USER}@magrathea-17.example"


async def _talk(folder: Path, environment: Path, *flags: str) -> dict[str, Any]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    env = {"VIRTUAL_ENV": str(environment), "HOME": str(folder / "home" / USER), "LOGNAME": USER, "USER": USER,
           "PATH": os.environ["PATH"]}  # fmt: skip
    words = ["-m", "gpudoctor", "mcp", *flags]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=folder, env=env)
    async with stdio_client(command) as (receive, send), ClientSession(receive, send) as session:
        await session.initialize()
        answers: dict[str, Any] = {"tools": (await session.list_tools()).tools}
        for name, given in (
            ("check", {"expect": "any"}),
            ("explain", {"text": LOG}),
            ("matrix_query", {"question": "driver for cuda 12.8"}),
        ):
            answers[name] = await session.call_tool(name, given)
        for key, name, given in (
            ("refused", "matrix_query", {"question": "gpu Voodoo 2"}),
            ("misnamed", "explain", {"words": "x"}),
            ("missing", "explain", {}),
            ("none", "reboot", {}),
            ("huge", "check", {"expect": "x" * 300_000}),
            ("nul", "check", {"python": "a\0b"}),
            ("number", "check", {"require": 7}),
            ("program", "check", {"python": "/bin/false"}),
            ("lost", "check", {"report": f"{folder}/home/{USER}/report.json"}),
            ("target", "check", {"target": "docker:no-such-container"}),
        ):
            answers[key] = await session.call_tool(name, given)
        answers["still there"] = await session.call_tool("matrix_query", {"question": "torch 2.11.0"})
        return answers


REFUSALS = {
    "refused": "Voodoo",
    "misnamed": "words",
    "missing": "text",
    "none": "no such tool: reboot",
    "huge": "expect",
    "nul": "NUL",
    "number": "require",
    "program": "is not the interpreter or folder of a Python environment",
    "lost": "No such file",
}


def test_its_tools_and_their_answers(tmp_path: Path) -> None:
    import anyio

    environment = with_torch(tmp_path / "home" / USER / "venv")
    answers = anyio.run(_talk, tmp_path, environment)
    tools = {tool.name: tool for tool in answers["tools"]}
    assert set(tools) == {"check", "explain", "matrix_query"}
    for name, tool in tools.items():
        hints = tool.annotations
        assert hints.read_only_hint and hints.destructive_hint is False and hints.open_world_hint is False
        assert tool.description and tool.input_schema["additionalProperties"] is False
        assert not answers[name].is_error, answers[name]
        jsonschema.Draft202012Validator(tool.output_schema).validate(answers[name].structured_content)
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert USER not in str(answers[name])
    checked = answers["check"].structured_content
    assert checked["verdict"] in ("pass", "warn") and VERSION in checked["machine"]["torch"]
    assert "torch is not installed" not in answers["check"].content[0].text
    found = answers["explain"].structured_content["findings"]
    assert found[0]["id"] == "torch-lacks-new-gpu-sm"
    assert all(step["destructive"] in (True, False) for fix in found[0]["fixes"] for step in fix["steps"])
    assert answers["explain"].content[0].text.startswith("### gpudoctor: FAIL")
    assert "570" in answers["matrix_query"].content[0].text
    for name, words in {**REFUSALS, "target": "gpudoctor mcp --allow-target"}.items():
        line = answers[name].content[0].text
        assert answers[name].is_error and words in line, (name, line)
        assert "\n" not in line and len(line) <= 400 and USER not in line, (name, line)
    assert not answers["still there"].is_error


def test_a_target_where_it_is_allowed(tmp_path: Path) -> None:
    import anyio

    answers = anyio.run(_talk, tmp_path, with_torch(tmp_path / "venv"), "--allow-target")
    assert {tool.name: tool.annotations.open_world_hint for tool in answers["tools"]} == {
        "check": True, "explain": False, "matrix_query": False
    }  # fmt: skip
    line = answers["target"].content[0].text
    assert answers["target"].is_error and "--allow-target" not in line and "docker" in line, line
