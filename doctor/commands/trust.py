"""`gpudoctor trust FILE`: trust a configuration file found in a folder, so that all of it applies."""

from __future__ import annotations

import click

from .click_flags import Command
from .write import echo


@click.command(cls=Command)
@click.argument("config", metavar="[FILE]", required=False)
@click.option("--remove", is_flag=True, help="Stop trusting FILE.")
@click.option("--list", "list_", is_flag=True, help="List the trusted files and whether they have changed since.")
def trust(config: str | None, remove: bool, list_: bool) -> int:
    """Trust a gpudoctor.toml or pyproject.toml as it is now, so that all of it applies.

    An untrusted file that gpudoctor finds (in this folder or above) can only add requirements or make them stricter
    (require, expect, fail-on). It can silence notes and warnings, but never a failure, and it cannot choose a matrix.
    Read a file before you trust it; after each change, trust it again.
    """
    from ..guard import Refusal
    from . import config_files, trusted
    from .config import policy_of

    if list_:
        if config or remove:
            raise Refusal("--list cannot be used with FILE")
        for path, digest in sorted(trusted.trusted().items()):
            echo(f"{path}{_state(path, digest)}")
        return 0
    if not config:
        raise Refusal("give a FILE, or --list")
    if remove:
        if not trusted.forget(config):
            raise Refusal(f"{config} is not trusted")
        return 0
    data = config_files.read(config)
    policy_of(config, config_files.table_of(config, data, must=True) or {})
    trusted.trust(config, data)
    return 0


def _state(path: str, digest: str) -> str:
    import hashlib

    from ..guard import Refusal
    from . import config_files

    try:
        data = config_files.read(path)
    except Refusal:
        return "  (cannot be read)"
    return "" if hashlib.sha256(data).hexdigest() == digest else "  (changed since then, so not trusted)"
