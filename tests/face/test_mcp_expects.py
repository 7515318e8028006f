"""What an assistant expects of a machine is validated as on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import fakes, on_machine  # noqa: F401 (fixtures)

pytestmark = pytest.mark.mcp


async def _ask(folder: Path, env: dict[str, str], *given: dict[str, Any]) -> list[Any]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = StdioServerParameters(command=sys.executable, args=["-m", "gpudoctor", "mcp"], cwd=folder, env=env)
    async with stdio_client(command) as (receive, send), ClientSession(receive, send) as session:
        await session.initialize()
        return [await session.call_tool("check", {"import_torch": False, **one}) for one in given]


def test_a_wrong_expectation_is_refused(tmp_path: Path, on_machine: Callable[..., dict[str, str]]) -> None:  # noqa: F811
    import anyio

    env = on_machine("healthy-h100")
    model, package = anyio.run(_ask, tmp_path, env, {"expect": "8xH20O"}, {"require": ["flash attn; rm"]})
    assert model.is_error and "did you mean 8xH200, 8xH20?" in model.content[0].text
    assert package.is_error and "is not a valid package name" in package.content[0].text


def test_a_check_that_the_configuration_names_is_required(
    tmp_path: Path,
    on_machine: Callable[..., dict[str, str]],  # noqa: F811
) -> None:
    import anyio

    (tmp_path / "gpudoctor.toml").write_text('only = ["matmul-below-range"]\n')
    (answer,) = anyio.run(_ask, tmp_path, on_machine("healthy-h100"), {})
    assert answer.structured_content["verdict"] == "unknown"
    assert "matmul-below-range was not checked" in answer.content[0].text
