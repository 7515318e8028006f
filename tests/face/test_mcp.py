"""The MCP server, asked by the SDK's own client over stdio."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

pytestmark = pytest.mark.mcp


async def _talk(folder: Path) -> dict[str, Any]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = StdioServerParameters(command=sys.executable, args=["-m", "gpudoctor", "mcp"], cwd=folder)
    async with stdio_client(command) as (receive, send), ClientSession(receive, send) as session:
        await session.initialize()
        answers: dict[str, Any] = {"tools": (await session.list_tools()).tools}
        for name, given in (
            ("check", {"expect": "any", "import_torch": False}),
            ("explain", {"text": "RTX 5090, torch 2.5.1+cu121: no kernel image; ssh zaphod@magrathea-17.example"}),
            ("matrix_query", {"question": "driver for cuda 12.8"}),
        ):
            answers[name] = await session.call_tool(name, given)
        answers["refused"] = await session.call_tool("matrix_query", {"question": "gpu Voodoo 2"})
        answers["wrong"] = await session.call_tool("explain", {"words": "x"})
        answers["none"] = await session.call_tool("reboot", {})
        return answers


def test_its_tools_and_their_answers(tmp_path: Path) -> None:
    import anyio

    answers = anyio.run(_talk, tmp_path)
    tools = {tool.name: tool for tool in answers["tools"]}
    assert set(tools) == {"check", "explain", "matrix_query"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools.values())
    for name, tool in tools.items():
        assert not answers[name].is_error, answers[name]
        jsonschema.Draft202012Validator(tool.output_schema).validate(answers[name].structured_content)
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    assert answers["check"].structured_content["verdict"] in ("pass", "warn")
    found = answers["explain"].structured_content["findings"]
    assert found[0]["id"] == "torch-lacks-new-gpu-sm" and "zaphod" not in str(answers["explain"])
    assert answers["explain"].content[0].text.startswith("### gpudoctor: FAIL")
    assert "570" in answers["matrix_query"].content[0].text
    for name, words in (("refused", "Voodoo"), ("wrong", "text is missing"), ("none", "no such tool: reboot")):
        assert answers[name].is_error and words in answers[name].content[0].text
