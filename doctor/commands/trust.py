"""`gpudoctor trust FILE`: let a configuration file that is found in a folder count in full."""

from __future__ import annotations

import click

from .click_flags import Command
from .write import echo


@click.command(cls=Command)
@click.argument("config", metavar="[FILE]", required=False)
@click.option("--remove", is_flag=True, help="Stop trusting FILE.")
@click.option("--list", "list_", is_flag=True, help="List the trusted files, and those that changed since.")
def trust(config: str | None, remove: bool, list_: bool) -> int:
    """Let a gpudoctor.toml or pyproject.toml count in full, as it is now.

    A file that gpudoctor only finds (in this folder or above) may add and tighten: require, expect, fail-on. It can
    silence remarks and warnings, never a failure, and it cannot choose a matrix. Read a file before you trust it; after
    each change, trust it again.
    """
    from ..guard import Refusal
    from . import config_files, trusted
    from .config import policy_of

    if list_:
        if config or remove:
            raise Refusal("--list takes no FILE")
        for path, digest in sorted(trusted.trusted().items()):
            echo(f"{path}{_state(path, digest)}")
        return 0
    if not config:
        raise Refusal("say which FILE, or --list")
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
    return "" if hashlib.sha256(data).hexdigest() == digest else "  (changed since: not trusted)"
