"""Tokens, passwords, cookies and credentials inside any text: every finder reads it as it came."""

from __future__ import annotations

from collections.abc import Iterator

from .mask_blocks import find_blocks
from .mask_columns import secret_columns
from .mask_commands import find_in_commands
from .mask_keyed import find_keyed
from .mask_tokens import find_tokens
from .mask_urls import find_in_urls
from .spans import Scan, Span, replaced
from .translated_keys import find_translated

_SHORTEST = 6


def mask_secrets(text: str) -> str:
    """`text` without tokens, passwords, and what stands in URLs before `@` or behind `?`."""
    return replaced(text, find_secrets(Scan(text)))


def find_secrets(scan: Scan) -> Iterator[Span]:
    """Every secret of a text."""
    if len(scan.text) >= _SHORTEST:
        for find in (find_tokens, find_keyed, find_in_commands, find_in_urls, find_blocks, secret_columns):
            yield from find(scan)
        yield from (Span(start, end) for start, end, kind in find_translated(scan) if kind == "secret")
