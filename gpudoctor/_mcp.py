"""A Model Context Protocol server over stdio, for AI assistants: commands that only read."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from doctor import __version__
from doctor.commands.local_names import local_names
from doctor.report.clean import visible
from doctor.snapshot.redact import redact

from ._tools import TOOLS
from ._values import Refused

_LONGEST_LINE = 400


def _schema(kind: type) -> dict[str, Any]:
    """The type's JSON Schema, with `type: object` at its root as the protocol requires."""
    _, components = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    root = components.pop(kind.__name__)
    return {**root, "$defs": components} if components else root


def _listed(allow_target: bool) -> types.ListToolsResult:
    hints = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    outside = hints.model_copy(update={"open_world_hint": True})  # a registry, or a target
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, title=tool.title, description=tool.about, input_schema=_schema(tool.takes),
                       output_schema=_schema(tool.answer),
                       annotations=outside if name == "image" or (allow_target and name == "check") else hints)
            for name, tool in TOOLS.items()
        ]
    )  # fmt: skip


async def _called(params: types.CallToolRequestParams, allow_target: bool) -> types.CallToolResult:
    """The answer as text and as data; a refusal is a tool error in one line."""
    tool = TOOLS.get(params.name)
    if tool is None:
        return _refusal(f"no such tool: {params.name}")
    try:
        words, data = await anyio.to_thread.run_sync(tool.call, params.arguments or {}, allow_target)
    except (Refused, OSError) as error:
        return _refusal(f"{params.name}: {error}")
    return types.CallToolResult(content=[_text(words)], structured_content=data)


def _text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=visible(words))


def _refusal(words: str) -> types.CallToolResult:
    """One line, without names and addresses of this machine."""
    line = redact(" ".join(words.encode("utf-8", "backslashreplace").decode().split()), local_names())
    line = line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..."
    return types.CallToolResult(content=[_text(line)], is_error=True)


async def _serve(allow_target: bool) -> None:
    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        return _listed(allow_target)

    async def called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _called(params, allow_target)

    server: Server[Any] = Server(
        "gpudoctor", version=__version__, on_list_tools=listed, on_call_tool=called,
        instructions="Finds out why a GPU, CUDA or PyTorch does not work here, and how to fix it. Changes nothing.",
    )  # fmt: skip
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


def serve(allow_target: bool = False) -> None:
    """Answer requests on stdin until it ends. `allow_target`: `check` may look into containers and other machines."""
    anyio.run(_serve, allow_target)
