"""`gpudoctor mcp`: a Model Context Protocol server for AI assistants."""

from __future__ import annotations

import click

from ..guard import Refusal
from .click_flags import Command


@click.command(cls=Command)
@click.option(
    "--allow-target", is_flag=True, help="Let the assistant examine containers, pods and hosts (check --target)."
)
def mcp(allow_target: bool) -> int:
    """Run a Model Context Protocol (MCP) server on stdio, so that an AI assistant can use gpudoctor.

    Its tools: check, explain, compare, matrix_query, resolve, what_if, fit, image and dockerfile.

    It only reads, and masks names, addresses and UUIDs. It examines the same environment as gpudoctor check:
    VIRTUAL_ENV, CONDA_PREFIX, ... Needs the mcp extra.
    """
    try:
        from gpudoctor._mcp import serve
    except ImportError as error:
        from ..extra import extra_line

        raise Refusal(f"mcp needs the {error.name or error} package: {extra_line('mcp')}") from None
    serve(allow_target)
    return 0
