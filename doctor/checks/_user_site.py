"""The user's own site folder (PEP 370): searched before the environment's if it is enabled."""

from __future__ import annotations

from ..findings.patterns import lazy
from ..snapshot import Distribution, Snapshot, known

_USER = lazy(r"([/\\]\.local[/\\]lib[/\\]python\d)|([/\\]Roaming[/\\]Python[/\\])|([/\\]Library[/\\]Python[/\\]\d)")


def in_user_site(s: Snapshot, d: Distribution) -> bool:
    """Whether it is in a user site folder: ~/.local/lib/python3.11/site-packages, or the one under PYTHONUSERBASE."""
    base = known(s.host.env("PYTHONUSERBASE"))
    return bool(_USER.search(d.location) or (base and d.location.startswith(f"{base.rstrip('/')}/lib/python")))
