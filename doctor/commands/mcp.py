"""`gpudoctor mcp`: a server of the Model Context Protocol for assistants."""

from __future__ import annotations

import click

from ..guard import Refusal


@click.command()
def mcp() -> int:
    """Serve check, explain and matrix_query to an assistant over stdio (Model Context Protocol).

    It only reads, and masks names, addresses and UUIDs. Needs pip install 'gpudoctor[mcp]'.
    """
    try:
        from gpudoctor._mcp import serve
    except ImportError as error:
        from ..extra import extra_line

        raise Refusal(f"mcp needs the package {error.name or error}: {extra_line('mcp')}") from None
    serve()
    return 0
