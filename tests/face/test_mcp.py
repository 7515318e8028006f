"""The MCP server, asked by the SDK's own client over stdio, in an environment that has torch."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ..cli.command import save
from ..healthy import healthy
from .environments import VERSION, with_torch

pytestmark = pytest.mark.mcp

USER = "zaphod"
ASKED: dict[str, dict[str, Any]] = {
    "check": {"expect": "any"},
    "explain": {"text": f"RTX 5090, torch 2.5.1+cu121: no kernel image; ssh {USER}@magrathea-17.example"},
    "compare": {"old": "{folder}/old.json", "new": "{folder}/new.json", "ignore": ["host.kernel"]},
    "matrix_query": {"question": "driver for cuda 12.8"},
    "resolve": {"gpus": ["RTX 5090"], "driver": "575", "packages": ["torch"]},
    "what_if": {"os": "linux", "gpus": ["RTX 5090"], "driver": "575", "torch": "2.5.1+cu121"},
    "fit": {"params": "70B", "gpus": "RTX 4090", "task": "inference", "batch": 2},
    "image": {"reference": "{folder}/image", "drivers": ["535"], "gpus": ["A100"]},
    "dockerfile": {"files": ["{folder}/Dockerfile"]},
}
"""Each tool with good arguments. {folder}: with the user's name in it."""


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
        for name, given in ASKED.items():
            answers[name] = await session.call_tool(name, _in(folder / "home" / USER, given))
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
            *((f"{name} {number}", name, given) for number, (name, given, _) in enumerate(BAD)),
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


BAD: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("resolve", {"gpus": ["Voodoo 2"], "driver": "575"}, "Voodoo"),
    ("resolve", {"gpus": ["A100"], "os": "beos"}, "beos"),
    ("resolve", {"gpus": "A100"}, "gpus"),
    ("resolve", {"gpus": ["A100"], "packages": ["-r", "/etc/passwd"]}, "-r"),
    ("resolve", {"verify": True}, "verify"),
    ("what_if", {}, "nothing to change: give --driver"),
    ("what_if", {"driver": "580", "report": "/no/such.json"}, "No such file"),
    ("fit", {"gpus": "A100-40GB"}, "--params"),
    ("fit", {"params": "7B", "gpus": "A100-40GB", "batch": 0}, "batch"),
    ("fit", {"params": "7B", "gpus": "A100-40GB", "meta_device": True}, "meta_device"),
    ("fit", {"params": "7B", "gpus": "RTX 509O"}, "did you mean"),
    ("image", {}, "reference"),
    ("image", {"reference": f"/home/{USER}/no-such.tar", "drivers": ["535"]}, "no such file"),
    ("image", {"reference": "a b"}, "a b"),
    ("image", {"reference": "--ca=/etc/passwd"}, "--ca"),
    ("compare", {}, "old"),
    ("compare", {"old": "-"}, "carries the protocol"),
    ("compare", {"old": f"/home/{USER}/none.json", "new": "x"}, "No such file"),
    ("check", {"spec": ["/no/such.toml"]}, "No such file"),
    ("dockerfile", {}, "either files or text"),
    ("dockerfile", {"files": ["a"], "text": "FROM b"}, "either files or text"),
    ("dockerfile", {"text": "RUN nothing"}, "FROM"),
    ("dockerfile", {"files": ["--output=x"]}, "--output"),
    ("dockerfile", {"files": ["x"] * 65}, "files"),
)
"""A tool, bad arguments, and a word of the line."""


def _in(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(given).replace("{folder}", str(folder)))


def _home(folder: Path) -> None:
    """A Dockerfile with a fault, and an unpacked image."""
    (folder / "Dockerfile").write_text(
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
        "RUN pip install torch --index-url https://download.pytorch.org/whl/cpu\n"
    )
    save(folder, healthy(), name="old.json")
    save(folder, healthy().replace({"driver.cu_init": 802}), name="new.json")
    (folder / "image" / "etc").mkdir(parents=True)
    (folder / "image" / "etc" / "os-release").write_text("ID=debian\n")


def test_its_tools_and_their_answers(tmp_path: Path) -> None:
    import anyio

    environment = with_torch(tmp_path / "home" / USER / "venv")
    _home(tmp_path / "home" / USER)
    answers = anyio.run(_talk, tmp_path, environment)
    tools = {tool.name: tool for tool in answers["tools"]}
    assert set(tools) == set(ASKED)
    for name, tool in tools.items():
        hints = tool.annotations
        assert hints.read_only_hint and hints.destructive_hint is False
        assert hints.open_world_hint is (name == "image"), "a registry may be asked"
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
    assert answers["resolve"].structured_content["candidates"][0]["torch"] in answers["resolve"].content[0].text
    changed = answers["what_if"].structured_content
    assert "RTX 5090" in str(changed["what_if"]) and changed["then"]["findings"][0]["id"] == "torch-lacks-new-gpu-sm"
    assert answers["fit"].structured_content["exit_code"] == 1
    assert answers["image"].structured_content["exit_code"] in (0, 3)
    fault = answers["dockerfile"].structured_content
    assert fault["exit_code"] == 1 and fault["answer"]["findings"][0]["line"] == 2
    assert all(answers[name].content[0].text.strip() for name in ASKED)
    bad = {f"{name} {number}": words for number, (name, _, words) in enumerate(BAD)}
    for name, words in {**REFUSALS, **bad, "target": "gpudoctor mcp --allow-target"}.items():
        line = answers[name].content[0].text
        assert answers[name].is_error and words in line, (name, line)
        assert "\n" not in line and len(line) <= 400 and USER not in line, (name, line)
    assert not answers["still there"].is_error


def test_a_target_where_it_is_allowed(tmp_path: Path) -> None:
    import anyio

    answers = anyio.run(_talk, tmp_path, with_torch(tmp_path / "venv"), "--allow-target")
    outside = {tool.name for tool in answers["tools"] if tool.annotations.open_world_hint}
    assert outside == {"check", "image"}
    line = answers["target"].content[0].text
    assert answers["target"].is_error and "--allow-target" not in line and "docker" in line, line
