"""The user's own site folder (PEP 370): searched before the environment's where it is enabled."""

from __future__ import annotations

from ..findings.patterns import lazy
from ..snapshot import Distribution

_USER = lazy(
    r"([/\\]\.local[/\\]lib[/\\]python\d)|([/\\]Roaming[/\\]Python[/\\])|([/\\]Library[/\\]Python[/\\]\d)"
)


def in_user_site(d: Distribution) -> bool:
    """Whether the distribution lies in a user site folder such as ~/.local/lib/python3.11/site-packages."""
    return bool(_USER.search(d.location))
